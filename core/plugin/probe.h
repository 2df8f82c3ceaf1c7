/* SPDX-License-Identifier: Apache-2.0
 * Probes wrap the table of any backend in a table that times its calls, checks
 * their arguments and results, counts spikes of areas and events of maps, and
 * injects requested faults. The backend is unchanged and unaware; without a
 * fault that changes them, results are those of the backend.
 *
 * One probe belongs to one registry: nets made from it, also by swap, resume
 * and fail-over, are wrapped. PROBES.md has the points and the faults.
 */
#ifndef VOLLEY_PLUGIN_PROBE_H
#define VOLLEY_PLUGIN_PROBE_H

#include <stdbool.h>

#include "plugin/registry.h"

typedef struct vly_probe vly_probe;

/* The plan; borrowed for the call. */
typedef struct vly_probe_plan {
    const char *points;        /* "call.*,check,area.E"; NULL: none */
    const char *const *faults; /* [n_faults] "slow:at=2000,factor=3" */
    uint32_t n_faults;
    const char
        *only; /* id of the only plugin that is wrapped; NULL: every one */
} vly_probe_plan;

/* Errors   E_INVALID  an unknown point or fault: text, column, what was found
 *          and wanted; E_NOMEM
 * Thread   [main-thread] */
vly_status vly_probe_create(const vly_probe_plan *plan, vly_probe **probe,
                            vly_error *error);
/* Call it after destroying the nets and before destroying the registry, whose
 * backends are unwrapped. NULL is legal. */
void vly_probe_destroy(vly_probe *probe);
/* From now on the registry's backends are wrapped.
 * Errors  E_UNSUPPORTED  plan.only is not a usable backend there */
vly_status vly_probe_attach(vly_probe *probe, vly_registry *registry,
                            vly_error *error);
/* Checks that this net has every area and map that is requested by name or
 * pattern.
 * Errors  E_INVALID the point, and a similar one */
vly_status vly_probe_fits(const vly_probe *probe, const vly_net_desc *desc,
                          vly_error *error);

/* Points at backends, "call.net_run", ..., "burst", "check"; NULL after the
 * last. what: what is measured there. [any-thread] */
const char *vly_probe_point_name(uint32_t index, const char **what);
/* Whether this backend has the call. Points that are not calls exist at each
 * backend. */
bool vly_probe_point_is_at(uint32_t index, const vly_backend *backend);

/* ---- results ---------------------------------------------------------- */

#define VLY_PROBE_BINS 65

/* One point. Values are nanoseconds of calls and bursts, spikes of an area and
 * events of a map in a burst. */
typedef struct vly_probe_series {
    const char *backend; /* id as requested; "" for areas and maps */
    const char *point;
    const char *unit; /* "ns", "spikes", "events" */
    uint64_t count;   /* calls, bursts */
    uint64_t failed;  /* calls that returned an error */
    uint64_t sum;
    uint64_t most;
    uint64_t most_burst; /* bursts done at that time */
    /* bin 0: value 0; bin k: 2^(k-1) <= value < 2^k */
    uint64_t bins[VLY_PROBE_BINS];
} vly_probe_series;
/* Points with at least one value, in a fixed order. Texts live as long as the
 * probe. false: index is beyond the last. [any-thread] */
bool vly_probe_series_get(const vly_probe *probe, uint32_t index,
                          vly_probe_series *series);

typedef struct vly_probe_checked {
    const char *name;
    uint64_t looked; /* how often */
    uint64_t failed;
    uint64_t burst; /* bursts done at the first failure */
    char what[200]; /* message of the first failure */
} vly_probe_checked;
/* Every check if "check" was requested, otherwise none. */
bool vly_probe_checked_get(const vly_probe *probe, uint32_t index,
                           vly_probe_checked *checked);

typedef struct vly_probe_injected {
    const char *text; /* as asked for */
    uint64_t times;   /* calls in which it acted; 0: never */
    uint64_t began;   /* bursts done when it first did */
    uint64_t last;    /* the last burst of the call in which it last did */
    char what[160];   /* "12 spikes lost" */
} vly_probe_injected;
bool vly_probe_injected_get(const vly_probe *probe, uint32_t index,
                            vly_probe_injected *injected);

/* The target of a swap to `asked` after this many bursts: `asked`, or the
 * backend of a fault wrong with name=own. Valid as long as `asked` and the
 * probe; probe NULL is legal. */
const char *vly_probe_place(vly_probe *probe, uint64_t burst,
                            const char *asked);

/* The offset of telemetry clocks by fault clock; 0 without it. */
void vly_probe_clock(const vly_probe *probe, int64_t *wall_ns,
                     int64_t *steady_ns);

#endif
