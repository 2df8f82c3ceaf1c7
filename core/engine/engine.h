/* SPDX-License-Identifier: Apache-2.0
 * What the files of the engine share: the net and its parts. A net is used by
 * one thread at a time; only `stop` is touched by others, atomically.
 */
#ifndef VOLLEY_ENGINE_ENGINE_H
#define VOLLEY_ENGINE_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include <volley/volley.h>

#include "connectome/connectome.h"
#include "engine/failover.h"
#include "engine/live.h"
#include "engine/pending.h"

/* Bursts of one call of the backend: what a burst costs the host (a call, a
 * look at the inputs) is shared by so many; the digests of a call are 32 KB. */
#define VLY_CHUNK_BURSTS 4096u
/* Ids of one recorded call, besides room for a burst of all neurons: 16 MB, for
 * a device stands still from one call to the next. */
#define VLY_CHUNK_SPIKES (1u << 22)
/* First bursts of a backend's net whose recorded spikes are all checked. */
#define VLY_CHECK_BURSTS 64u
/* Largest |input| of the host for one neuron, port and burst. */
#define VLY_INPUT_MAX ((INT64_C(1) << 30) - 1)
/* Largest sum of everything else that may arrive there. */
#define VLY_LOAD_MAX (UINT64_C(1) << 30)

typedef struct vly_counters {
    uint64_t spikes;
    uint64_t events;
    uint64_t candidates;
    uint64_t squares; /* of each burst's spikes; a file of a state has none */
} vly_counters;

/* Where a net runs. */
typedef struct vly_engine_device {
    const vly_backend *backend;
    vly_backend_net *net;
    uint32_t index;     /* of the device */
    uint32_t n_threads; /* as resolved */
    char *spec;         /* as resolved, with its options: opens the same */
    char name[64];      /* "cpu:4" as resolved */
    char model[128];    /* the device's own name; "" unknown */
    uint32_t n_checked; /* bursts of this net whose ids were looked at, at most
                           VLY_CHECK_BURSTS */
} vly_engine_device;

/* Buffers of one call of the backend. */
typedef struct vly_engine_buffers {
    uint64_t *digests;      /* [VLY_CHUNK_BURSTS] */
    uint32_t *spike_counts; /* [VLY_CHUNK_BURSTS] */
    uint32_t *spikes;       /* [spikes_capacity], made when recording */
    uint32_t *spike_gains;  /* as many; NULL if all gains are 1 << Q */
    uint64_t spikes_capacity;
    uint64_t *area_spikes; /* [2][n_areas] of one call: as the backend says,
                              as its ids say */
    vly_input *inputs;     /* [inputs_capacity] */
    uint64_t inputs_capacity;
} vly_engine_buffers;

struct vly_net {
    const vly_connectome *connectome;
    vly_registry *registry;
    vly_genome *own_genome; /* of vly_net_open */
    vly_connectome *own_connectome;
    vly_registry *own_registry;

    vly_engine_device device;
    vly_live live;       /* parameters in force */
    vly_pending pending; /* injected, not yet delivered */
    uint64_t burst;      /* done */
    uint64_t digest;     /* H of the last one */
    uint64_t dc_next;    /* burst at which dc must be summed again */
    vly_counters counters;
    uint64_t *area_spikes; /* [n_areas] */
    uint64_t run_ns;
    uint64_t delivery_ns;
    uint64_t dynamics_ns;
    uint64_t exchange_ns;
    uint64_t drain_ns;

    bool running;  /* within vly_net_run: its functions may only look */
    uint32_t stop; /* atomic: vly_net_stop sets it, a run takes it */
    vly_spikes_fn on_spikes;
    void *on_spikes_arg;
    vly_spikes_fn on_bursts;
    void *on_bursts_arg;
    bool count_areas; /* asked for */

    vly_engine_buffers buffers;
    bool fired_asked;      /* fired lists are read: record the last burst */
    uint64_t fired_burst;  /* bursts done when fired was filled */
    const uint32_t *fired; /* in buffers.spikes or fired_own */
    uint32_t n_fired;
    uint32_t *fired_own;

    vly_error dead;         /* status not VLY_OK: the device failed, for ever */
    vly_failover *failover; /* NULL: not asked for */
    bool rerunning;         /* bursts since the snapshot, once more */
    bool muted;             /* and nothing is told of them */
};

/* What the words of a state are of: one area. */
typedef struct vly_state_area {
    uint32_t first;
    uint32_t n_neurons;
    uint32_t n_fields;
    uint32_t n_params;
} vly_state_area;

/* What a vly_state owns. It refers to no connectome: a file of it can be read
 * before there is one. */
struct vly_state {
    vly_hash genome_hash;
    vly_hash connectome_hash;
    vly_hash connectome_digest; /* 0: not known, the hash is compared */
    uint32_t n_neurons;
    vly_state_area *areas; /* [n_areas] */
    vly_snapshot snapshot;
    vly_overlay *overlay;
    vly_pending pending;
    uint64_t digest;
    vly_counters counters;
    uint64_t *area_spikes; /* [n_areas] */
    uint32_t n_areas;
};

/* VLY_OK, or the failure that ended the net. Errors E_INVALID from within a
 * function that vly_net_run calls: the backend is already further. */
vly_status vly_net_alive(const vly_net *net, vly_error *error);
/* Copies a failure; either may be NULL. */
void vly_error_copy(const vly_error *from, vly_error *to);
/* After a slot of a backend: VLY_OK, or a status that a backend may give with
 * a sentence that ends. Any other status becomes E_DEVICE with what it was. */
vly_status vly_backend_said(const char *backend, vly_status status,
                            vly_error *why);
/* Does what net_run returned fit what it was asked? Recorded spikes are held
 * against digests and numbers by area. Errors E_DEVICE what does not */
vly_status vly_backend_run_check(const vly_net *net, const vly_run *run,
                                 vly_error *error);
/* counts[area] += ids of it; ids ascend and are all of some area. */
void vly_count_areas(const vly_net_desc *desc, const uint32_t *ids,
                     uint32_t n_ids, uint64_t *counts);
/* The counts of a snapshot; what it holds. Errors E_DEVICE what is wrong */
vly_status vly_backend_counts_check(const vly_net *net,
                                    const vly_snapshot *snapshot,
                                    vly_error *error);
vly_status vly_backend_fired_check(const vly_net *net,
                                   const vly_snapshot *snapshot,
                                   vly_error *error);
/* What the backend said; a device error (or any, if fatal) ends the net. */
vly_status vly_net_failed(vly_net *net, vly_status status, bool fatal,
                          const vly_error *what, vly_error *error);

/* Opens the backend of spec ("auto", "cpu:4") for this connectome in the state
 * of the snapshot. Errors E_INVALID spec; E_UNSUPPORTED, E_DEVICE reason. */
vly_status vly_device_open(const vly_connectome *connectome,
                           vly_registry *registry, const char *spec,
                           uint32_t n_threads, const vly_snapshot *snapshot,
                           vly_engine_device *device, vly_error *error);
void vly_device_close(vly_engine_device *device);

/* A checked snapshot with memory of its own; release frees what it points to.
 */
vly_status vly_snapshot_take(const vly_net *net, vly_snapshot *snapshot,
                             vly_error *error);
void vly_snapshot_release(vly_snapshot *snapshot);
vly_status vly_snapshot_copy(const vly_snapshot *snapshot, vly_snapshot *copy,
                             vly_error *error);
/* Sum of vly_state_hash over all fields. */
uint64_t vly_snapshot_digest(const vly_connectome *connectome,
                             const vly_snapshot *snapshot);

/* The same by the areas of the state. */
uint64_t vly_state_words_digest(const vly_state *state);

/* Is the state one in itself: counts, ids, rows? For states that were read.
 * Errors  E_PARSE what is wrong, without the file's name */
vly_status vly_state_shape_check(const vly_state *state, vly_error *error);
/* Is it one of this connectome, with values that may be there?
 * Errors  E_INVALID another genome or connectome; what is out of range */
vly_status vly_state_fits(const vly_state *state,
                          const vly_connectome *connectome, vly_error *error);

/* A net without a device; vly_net_destroy takes it. */
vly_status vly_net_alloc(const vly_connectome *connectome,
                         vly_registry *registry, vly_net **net,
                         vly_error *error);

/* vly_net_snapshot of a net that may be running. */
vly_status vly_state_take(vly_net *net, vly_state **state, vly_error *error);
vly_status vly_state_copy(const vly_state *state, vly_state **copy,
                          vly_error *error);
/* The net on this backend in this state, with more injected input (NULL: none)
 * than is pending there; the backend it was on is closed. On failure it stays
 * as it was. */
vly_status vly_net_revive(vly_net *net, const vly_state *state,
                          const char *backend, uint32_t n_threads,
                          const vly_pending *more, vly_error *error);
/* Runs until so many bursts are done; a stop is left for the run that goes on
 * afterwards. */
vly_status vly_net_rerun(vly_net *net, uint64_t until, vly_error *error);

/* Inputs of bursts [burst, burst + n) in buffers.inputs: spike lists and
 * injection, sorted, summed, clamped. */
vly_status vly_net_inputs(vly_net *net, uint64_t n_bursts, uint64_t *n_inputs,
                          vly_error *error);

/* Area by name. Errors E_INVALID no such area, with the names there are. */
vly_status vly_net_area(const vly_net *net, const char *name, uint32_t *area,
                        vly_error *error);

#endif
