/* SPDX-License-Identifier: Apache-2.0
 * Projections that learn. A synapse is brought up to date when a spike of its
 * source arrives: the spikes of its target since the last arrival are folded
 * in, then the arrival itself, then its weight is delivered. So a burst touches
 * the rows of the sources that fired, as without learning.
 *
 * Each target keeps its last spikes in a ring. Before a spike that a synapse
 * has not seen would be overwritten, the slice is flushed: the spikes so far
 * are folded into all its synapses. That costs time and changes no result,
 * because the events of a synapse and their order are the same. Snapshots,
 * digests and changes of weights flush too.
 *
 * Threads own slices of targets here too. State of the sources is read by all
 * threads, and written by the one that ends the burst.
 */
#ifndef VOLLEY_CPU_LEARNING_H
#define VOLLEY_CPU_LEARNING_H

#include "backends/common/common_modulator.h"
#include "backends/common/common_traces.h"
#include "cpu_learning_kernels.h"
#include "cpu_net.h"

/* Factors of a table: 256 KB. */
#define VLY_CPU_DECAY_MAX 65536u

/* A rule of windows: runs are in vly_common_traces. Side 0: sources, 1:
 * targets. */
typedef struct vly_cpu_window {
    float *state[2];     /* [n] vly_window_state after the last burst */
    uint32_t *active[2]; /* [n_active] neurons whose state is not 0 */
    uint32_t n_active[2];
    uint32_t *column;  /* [n_targets + 2] synapses of each target; or NULL */
    uint32_t *synapse; /* [synapses] by target: place in the rows */
    uint32_t *source;  /* [synapses] by target */
} vly_cpu_window;

struct vly_cpu_learning {
    vly_common_traces t;
    const vly_common_rule *rule;
    uint32_t index; /* of the projection */
    uint32_t shift; /* of the weights */
    uint32_t *coefs;
    int32_t *master;      /* [synapses] */
    int32_t *eligibility; /* [synapses] what the rule changes; NULL: master */
    vly_common_modulator modulator;
    uint8_t *recent; /* [n_targets] 1: fired since the last flush */
    vly_cpu_decay source[2];
    vly_cpu_decay target[2];
    uint32_t *flushed; /* [n_threads] burst */
    uint8_t *full;     /* [n_threads][64] 1: a ring of the slice is full */
    vly_cpu_window window;
};

static inline bool vly_cpu_has_window(const vly_cpu_learning *l)
{
    return (l->t.flags & VLY_LEARNING_WINDOW) != 0;
}

/* ---- cpu_learning.c ----------------------------------------------------- */

vly_status vly_cpu_learning_create(vly_backend_net *net, vly_error *error);
/* Before the first burst: weights and traces of a snapshot. The fired sets have
 * been loaded. */
void vly_cpu_learning_load(vly_backend_net *net, const vly_snapshot *snapshot);
/* Spikes of the thread's slice in that burst. */
void vly_cpu_learning_fired(vly_backend_net *net, const vly_cpu_thread *thread,
                            uint64_t in_burst);
/* The arrivals of this burst have been delivered. [one thread] */
void vly_cpu_learning_arrived(vly_backend_net *net);

/* ---- cpu_learning_rows.c ------------------------------------------------ */

/* Flushes what must be before this burst. */
void vly_cpu_learning_begin(vly_backend_net *net, const vly_cpu_thread *thread);
/* Delivers the arrivals of the burst to the thread's slice. */
void vly_cpu_learning_deliver(vly_backend_net *net,
                              const vly_cpu_thread *thread,
                              const vly_cpu_projection *projection);
/* Brings all synapses up to date. [between two bursts] */
void vly_cpu_learning_flush(vly_backend_net *net);

/* ---- cpu_window.c: rules of windows ------------------------------------- */

vly_status vly_cpu_window_create(vly_backend_net *net, vly_cpu_learning *l,
                                 vly_error *error);
/* The traces have been loaded. */
void vly_cpu_window_load(vly_cpu_learning *l);
/* The burst before net->burst has ended. [one thread] */
void vly_cpu_windows_fired(vly_backend_net *net);
/* Changes the synapses onto a slice by that burst, once. */
void vly_cpu_window_step(vly_backend_net *net, uint32_t thread,
                         const vly_cpu_projection *projection);
/* Delivers the arrivals of the burst to the thread's slice. */
void vly_cpu_window_deliver(vly_backend_net *net, const vly_cpu_thread *thread,
                            const vly_cpu_projection *projection);
/* Folds the spikes of targets so far into the thread's slice. */
void vly_cpu_learning_flush_slice(vly_backend_net *net,
                                  const vly_cpu_projection *projection,
                                  uint32_t thread);

/* ---- cpu_modulator.c ---------------------------------------------------- */

/* Marks the targets of the slice that fired since its last flush. false: they
 * are too many for fold_recent to be faster, or the rule has no eligibility, so
 * that flushes are rare. */
bool vly_cpu_modulator_recent(const vly_backend_net *net,
                              const vly_cpu_learning *l, uint32_t thread);
/* Turns eligibilities of the thread's slice into weights, if this burst is one
 * of the interval's. */
void vly_cpu_modulator_sweep(vly_backend_net *net,
                             const vly_cpu_projection *projection,
                             uint32_t thread);
/* The burst is at its end. [one thread] */
void vly_cpu_modulators_end(vly_backend_net *net, const vly_run *run);

/* ---- cpu_learning_state.c ----------------------------------------------- */

/* words: of a snapshot's weights, as plugin.h has them */
void vly_cpu_learning_save(vly_backend_net *net, uint32_t *words);
/* Adds to *digest. */
vly_status vly_cpu_learning_digest(vly_backend_net *net, uint64_t *digest,
                                   vly_error *error);
vly_status vly_cpu_learning_read(vly_backend_net *net, uint32_t projection,
                                 uint64_t first, uint64_t count,
                                 int32_t *masters, vly_error *error);
vly_status vly_cpu_learning_write(vly_backend_net *net, uint32_t projection,
                                  uint64_t first, uint64_t count,
                                  const int32_t *masters, vly_error *error);
vly_status vly_cpu_learning_set(vly_backend_net *net, uint32_t projection,
                                const vly_learning_desc *learning,
                                vly_error *error);

#endif
