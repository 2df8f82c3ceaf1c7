/* SPDX-License-Identifier: Apache-2.0
 * Declarations shared by the files of the engine: the net and its parts. A net
 * is used by one thread at a time; other threads write only `stop`, atomically.
 */
#ifndef VOLLEY_ENGINE_ENGINE_H
#define VOLLEY_ENGINE_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include <volley/volley.h>

#include "connectome/connectome.h"
#include "engine/failover.h"
#include "engine/live.h"
#include "engine/memory_net.h"
#include "engine/pending.h"

/* Bursts of one call of the backend: the host's cost of a call (the call
 * itself, a look at the inputs) is shared by this many bursts; the digests of a
 * call take 32 KB. */
#define VLY_CHUNK_BURSTS 4096u
/* Ids of one recorded call, besides room for a burst of all neurons: 16 MB,
 * since a device is idle between two calls. */
#define VLY_CHUNK_SPIKES (1u << 22)
/* Number of first bursts of a backend's net in which all recorded spikes are
 * checked. */
#define VLY_CHECK_BURSTS 64u
/* Largest sum of all other input that may arrive there. */
#define VLY_LOAD_MAX (UINT64_C(1) << 30)

typedef struct vly_counters {
    uint64_t spikes;
    uint64_t events;
    uint64_t candidates;
    uint64_t squares; /* of each burst's spikes; a file of a state has none */
} vly_counters;

/* "cuda:1", "cuda:0-3" or, of the host, "cpu:4". device: the first of so many.
 */
#define VLY_DEVICE_NAME_BYTES 64u
void vly_device_name(const char *id, const vly_backend *table,
                     const vly_device_spec *device, uint32_t n_devices,
                     char name[VLY_DEVICE_NAME_BYTES]);

/* Where a net runs. */
typedef struct vly_engine_device {
    const vly_backend *backend;
    vly_backend_net *net;
    vly_net_desc *own_desc; /* all_weights.h; NULL: the connectome's */
    uint32_t index;         /* of the device */
    uint32_t n_threads;     /* as resolved */
    char *spec; /* as resolved, with its options: opens the same device
                 * again */
    char name[VLY_DEVICE_NAME_BYTES]; /* as resolved */
    char model[128];                  /* the device's own name; "" unknown */
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
    uint64_t *area_spikes; /* [2][n_areas] of one call: counts of the backend,
                            * counts of its ids */
    vly_input *inputs;     /* [inputs_capacity] */
    uint64_t inputs_capacity;
    vly_input *modulations; /* [n_modulations] of the same memory */
    uint64_t n_modulations;
} vly_engine_buffers;

struct vly_net {
    const vly_connectome *connectome;
    vly_registry *registry;
    vly_genome *own_genome; /* of vly_net_open */
    vly_connectome *own_connectome;
    vly_registry *own_registry;

    vly_engine_device device;
    vly_live live;          /* parameters in force */
    vly_pending pending;    /* injected, not yet delivered */
    vly_memory_net *memory; /* NULL: no area remembers */
    uint64_t burst;         /* done */
    uint64_t digest;        /* H of the last one */
    uint64_t dc_next;       /* burst at which dc must be summed again */
    vly_counters counters;
    uint64_t *area_spikes; /* [n_areas] */
    uint64_t run_ns;
    uint64_t delivery_ns;
    uint64_t dynamics_ns;
    uint64_t exchange_ns;
    uint64_t drain_ns;

    bool running;  /* inside vly_net_run: callbacks may only read the net */
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

    vly_error dead; /* status not VLY_OK: the device failed permanently */
    vly_failover *failover; /* NULL: not asked for */
    bool rerunning;         /* replaying the bursts since the snapshot */
    bool muted;             /* and callbacks are not called for them */
    bool on_trial;          /* no device: changes are only tried */

    uint32_t bounds_area;  /* net_bounds: where the last field was found, */
    uint32_t bounds_first; /* and the number of fields before this area */
};

/* The layout of the words of a state: one area. */
typedef struct vly_state_area {
    uint32_t first;
    uint32_t n_neurons;
    uint32_t n_fields;
    uint32_t n_params;
} vly_state_area;

/* The data of a vly_state. It does not refer to a connectome: its file can be
 * read before one exists. */
struct vly_state {
    vly_hash genome_hash;
    vly_hash connectome_hash;
    vly_hash connectome_digest; /* 0: not known, the hash is compared */
    uint32_t n_neurons;
    vly_state_area *areas; /* [n_areas] */
    vly_snapshot snapshot;
    vly_overlay *overlay;
    vly_pending pending;
    vly_memory_words memory;
    uint64_t digest;
    vly_counters counters;
    uint64_t *area_spikes; /* [n_areas] */
    uint32_t n_areas;
};

/* VLY_OK, or the failure that ended the net. Errors E_INVALID when called from
 * a callback of vly_net_run: the backend is already ahead. */
vly_status vly_net_alive(const vly_net *net, vly_error *error);
/* Copies a failure; either may be NULL. */
void vly_error_copy(const vly_error *from, vly_error *to);
/* Checks the return value of a slot of a backend: VLY_OK, or a status that a
 * backend may return with a terminated message. Any other status becomes
 * E_DEVICE with its number. */
vly_status vly_backend_said(const char *backend, vly_status status,
                            vly_error *why);
/* Checks that the results of net_run fit the request. Recorded spikes are
 * compared with digests and counts by area. Errors E_DEVICE with the mismatch
 */
vly_status vly_backend_run_check(const vly_net *net, const vly_run *run,
                                 vly_error *error);
/* Adds the number of ids in each area to counts[area]; ids ascend and are
 * valid. */
void vly_count_areas(const vly_net_desc *desc, const uint32_t *ids,
                     uint32_t n_ids, uint64_t *counts);
/* Check the counts of a snapshot, and its content. Errors E_DEVICE with the
 * mismatch */
vly_status vly_backend_counts_check(const vly_net *net,
                                    const vly_snapshot *snapshot,
                                    vly_error *error);
vly_status vly_backend_fired_check(const vly_net *net,
                                   const vly_snapshot *snapshot,
                                   vly_error *error);
/* Handles an error of the backend; a device error (or any, if fatal) ends the
 * net. */
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
/* The arrays of a snapshot whose counts are set. */
vly_status vly_snapshot_alloc(vly_snapshot *snapshot, vly_error *error);
void vly_snapshot_release(vly_snapshot *snapshot);
vly_status vly_snapshot_copy(const vly_snapshot *snapshot, vly_snapshot *copy,
                             vly_error *error);
/* Sum of vly_state_hash over all fields. */
uint64_t vly_snapshot_digest(const vly_connectome *connectome,
                             const vly_snapshot *snapshot);

/* The same by the areas of the state. */
uint64_t vly_state_words_digest(const vly_state *state);

/* Checks that a state is consistent: counts, ids, rows. For states read from a
 * file.
 * Errors  E_PARSE with the error, without the file's name */
vly_status vly_state_shape_check(const vly_state *state, vly_error *error);
/* Checks that a state belongs to this connectome and its values are in range.
 * Errors  E_INVALID another genome or connectome; a value out of range */
vly_status vly_state_fits(const vly_state *state,
                          const vly_connectome *connectome, vly_error *error);

/* A net without a device; freed with vly_net_destroy. */
vly_status vly_net_alloc(const vly_connectome *connectome,
                         vly_registry *registry, vly_net **net,
                         vly_error *error);

/* vly_net_snapshot of a net that may be running. */
vly_status vly_state_take(vly_net *net, vly_state **state, vly_error *error);
vly_status vly_state_copy(const vly_state *state, vly_state **copy,
                          vly_error *error);
/* Moves the net to this backend and state, with additional injected input
 * (NULL: none); the previous backend is closed. On failure the net is
 * unchanged. */
vly_status vly_net_revive(vly_net *net, const vly_state *state,
                          const char *backend, uint32_t n_threads,
                          const vly_pending *more, vly_error *error);
/* Runs until this many bursts are done; a stop request is left for the run that
 * follows. */
vly_status vly_net_rerun(vly_net *net, uint64_t until, vly_error *error);

/* Inputs of bursts [burst, burst + n) in buffers.inputs: spike lists and
 * injection, sorted, summed, clamped; values for modulators apart. */
vly_status vly_net_inputs(vly_net *net, uint64_t n_bursts, uint64_t *n_inputs,
                          vly_error *error);

/* Area by name. Errors E_INVALID no such area; the message lists the names. */
vly_status vly_net_area(const vly_net *net, const char *name, uint32_t *area,
                        vly_error *error);

/* What vly_net_set takes. */
#define VLY_SET_PATHS                                                          \
    "area.NAME.PARAMETER, stimulus.ID.KEY or plasticity.NAME.KEY"
/* A change of parameters (net_set.c): a copy of the values in force; then, once
 * it is made and checked, to the backend and in force. */
vly_status vly_net_change_begin(vly_net *net, vly_live *change,
                                vly_error *error);
vly_status vly_net_change_end(vly_net *net, vly_live *change, vly_error *error);
/* vly_net_set without fail-over (net_set.c). */
vly_status vly_net_set_path(vly_net *net, const char *path, double value,
                            vly_error *error);
/* plasticity.NAME.KEY of vly_net_set (net_learning.c). */
vly_status vly_net_set_learning(vly_net *net, const char *name, const char *key,
                                double value, vly_error *error);
/* The port of the target that the projection's synapses reach; of those whose
 * sign chooses it the first (net_weights.c). */
const vly_port_info *vly_projection_port(const vly_connectome *connectome,
                                         uint32_t p);
/* The source of a synapse, in numbers of its area: the last row that begins at
 * or before it. */
uint32_t vly_projection_source(const vly_net_desc *desc, uint32_t p,
                               uint64_t synapse);
/* Whether vly_net_set takes this key of the rule of projection p, which learns.
 * Errors  E_INVALID with the keys that it takes */
vly_status vly_learning_key_check(const vly_connectome *connectome, uint32_t p,
                                  const char *key, vly_error *error);
/* Whether vly_net_set takes this key of the stimulus (net_set.c).
 * Errors  E_INVALID with the keys that it takes */
vly_status vly_stimulus_key_check(const vly_connectome *connectome,
                                  uint32_t stimulus, const char *name,
                                  vly_error *error);

#endif
