/* SPDX-License-Identifier: Apache-2.0
 * A net of the CPU backend: the structures, and which file does what.
 *
 * Threads own slices: contiguous ranges of neurons, cut at multiples of 64
 * within an area. A thread writes the inputs, the state and the spikes of its
 * slice only, so nothing is atomic, and integer input makes the result the
 * same for any number of threads. One barrier a burst; the last thread to
 * reach it joins the fired sets (cpu_run.c) before it lets all go on.
 * A thread may run several slices, one after the other (cpu_tuner.h).
 *
 * Delays: in burst t every projection delivers the fired set of burst t -
 * base_delay, kept in the history. An event with a further delay d goes to slot
 * (t + d) mod ring of the target area, so a long base delay costs history only.
 */
#ifndef VOLLEY_CPU_NET_H
#define VOLLEY_CPU_NET_H

#include <volley/plugin.h>

#include "backends/common/backend_common.h"
#include "backends/common/common_ranks.h"
#include "cpu_kernels.h"
#include "cpu_program.h"
#include "cpu_tuner.h"

#define VLY_CPU_SLICE 64u /* neurons: a line of marks, four of inputs */

/* One coefficient of an area. */
typedef struct vly_cpu_column {
    const uint32_t *words; /* [1] or [n], the desc's or own */
    uint32_t *own;         /* copy made by coef_write, or NULL */
    uint32_t *fill;        /* [VLY_CPU_CHUNK] words[0], for mixed areas */
    uint32_t uniform;
    uint32_t mask; /* words[i & mask]: 0 if uniform, else all ones */
} vly_cpu_column;

typedef struct vly_cpu_area {
    const vly_common_model *model;
    const char *name;
    uint32_t first;
    uint32_t n;
    uint32_t n_ports;
    uint32_t all_uniform; /* every coefficient */
    float scale[VLY_PORTS_MAX];
    uint32_t ring;         /* slots: largest delay_max of its input + 1 */
    uint32_t now;          /* slot of the burst to come */
    uint64_t stride;       /* words from the inputs of port 0 to those of 1 */
    uint64_t block_offset; /* from the marks of a slot to its block marks */
    /* Both tables hold every slot twice, `ring` apart: slot[now + d] is that of
     * delay d without a division. */
    uint32_t **slot; /* [2 ring] inputs: [n] a port, 2's complement */
    uint8_t **mark;  /* [2 ring] FEAGI: [n] 1 = candidate, then one byte for
                        every 64 neurons: 1 = look inside */
    uint32_t *field[VLY_PROGRAM_MAX_FIELDS]; /* [n] each */
    vly_cpu_column *coef;                    /* [model->n_coefs] */
    const vly_program *from;                 /* of a user's model, or NULL */
    vly_cpu_program *program;
    vly_common_model own; /* what model points to, then */
    uint32_t *stimuli;    /* [n_stimuli] indices */
    uint32_t n_stimuli;
    uint32_t reserved;
} vly_cpu_area;

typedef struct vly_cpu_learning vly_cpu_learning;     /* cpu_learning.h */
typedef struct vly_cpu_short_term vly_cpu_short_term; /* cpu_short_term.h */

typedef struct vly_cpu_projection {
    const vly_projection_desc *desc;
    vly_cpu_learning *learning;     /* NULL: its weights stay as they are */
    vly_cpu_short_term *short_term; /* NULL: its spikes have no gains */
    uint32_t *split;      /* [sources][n_parts - 1] offsets within the row */
    uint32_t first_slice; /* first thread with neurons of the target area */
    uint32_t n_parts;     /* threads with neurons of the target area */
} vly_cpu_projection;

typedef struct vly_cpu_stimulus {
    vly_stimulus_desc desc; /* thresholds: own copy */
    uint32_t *thresholds;
    uint32_t area;
    uint32_t offset;     /* first - first of the area */
    uint16_t *counts[4]; /* [n] k of the four bursts of a Philox block */
} vly_cpu_stimulus;

/* Fired sets of the last n_slots bursts, each in one piece of a ring. */
typedef struct vly_cpu_history {
    uint32_t n_slots;
    uint32_t next;   /* slot of the burst to come */
    uint64_t *start; /* [n_slots] position, modulo capacity */
    uint32_t *row;   /* [n_slots][n_areas + 1] area by area, within the set */
    uint64_t head;
    uint64_t capacity;
    uint32_t *ids;   /* [capacity] */
    uint32_t *gains; /* [capacity] */
} vly_cpu_history;

typedef struct vly_cpu_thread {
    uint32_t index;
    uint32_t n_fired;
    uint32_t *low;      /* [n_areas] its neurons of each area, from ... */
    uint32_t *high;     /* [n_areas] ... to, both within the area */
    uint32_t *fired;    /* [slice] */
    uint32_t *gains;    /* [slice] */
    uint32_t *area_end; /* [n_areas] fired up to and with this area */
    uint64_t *drawn;    /* [n_stimuli] Philox block in counts; ~0: none */
    uint8_t *flags;     /* [VLY_CPU_CHUNK] */
    uint32_t *blocks;   /* of programs; NULL: none */
    uint64_t digest;    /* of the burst */
    uint64_t n_events;  /* of the run */
    uint64_t n_candidates;
    uint64_t delivery_ns;
    uint64_t dynamics_ns;
    uint64_t exchange_ns;
    uint64_t n_blocks;
    uint8_t pad[8]; /* a thread's counters share no line with another's */
} vly_cpu_thread;

/* A net that ranks run together (cpu_ranks.h). */
typedef struct vly_cpu_ranks {
    vly_common_rank_net all;
    uint32_t *row; /* [all.most][n_areas + 1] of the bursts that are kept: area
                      by area, within the set */
} vly_cpu_ranks;

struct vly_backend_net {
    const vly_net_desc *desc;
    const vly_cpu_kernels *kernels;
    vly_common_heap heap;
    uint32_t n_threads; /* slices, those of other ranks too */
    uint32_t first_own; /* of these, the slices that threads run: */
    uint32_t n_own;     /* all of them without ranks */
    uint32_t n_areas;
    uint32_t n_projections;
    uint32_t n_stimuli;
    vly_cpu_tuner tuner; /* chooses the threads; n_choices 0: all of them */
    uint64_t burst;      /* done */
    vly_cpu_area *areas;
    vly_cpu_projection *projections;
    vly_cpu_stimulus *stimuli;
    vly_cpu_thread *threads;
    vly_cpu_history history;
    vly_cpu_learning *learning; /* [n_learning] plastic projections, in order */
    vly_cpu_short_term *short_term; /* [n_short_term] in order */
    uint32_t n_learning;
    uint32_t n_short_term;
    vly_cpu_ranks ranks;
    int32_t failed; /* status of a run that failed, or VLY_OK */
};

/* Whether a thread of this rank runs the slice; all without ranks. */
static inline bool vly_cpu_is_own(const vly_backend_net *net, uint32_t slice)
{
    return slice - net->first_own < net->n_own;
}

/* ---- cpu_net.c --------------------------------------------------------- */

/* loops for the widest instructions of this processor */
const vly_cpu_kernels *vly_cpu_best_kernels(void);
vly_status vly_cpu_net_create(const vly_device_spec *device,
                              const vly_net_desc *desc,
                              const vly_snapshot *snapshot,
                              vly_backend_net **net, vly_error *error);
void vly_cpu_net_destroy(vly_backend_net *net);
vly_status vly_cpu_net_info(const vly_backend_net *net, vly_net_info *info,
                            vly_error *error);

/* ---- cpu_delivery.c ---------------------------------------------------- */

typedef struct vly_cpu_range {
    uint64_t begin;
    uint64_t end;
} vly_cpu_range;

/* The synapses of row k that target one slice: part 0 is that of thread
 * projection->first_slice. */
vly_cpu_range vly_cpu_row_part(const vly_cpu_projection *projection, uint32_t k,
                               uint32_t part);
vly_status vly_cpu_delivery_create(vly_backend_net *net, vly_error *error);
/* Delivers to one slice the events that arrive in burst net->burst and those
 * that this burst forwards to later slots. */
void vly_cpu_deliver(vly_backend_net *net, vly_cpu_thread *thread);
void vly_cpu_deliver_inputs(vly_backend_net *net, vly_cpu_thread *thread,
                            const vly_input *inputs, uint64_t n_inputs);
/* Puts back the events that were under way in a snapshot, those with gains
 * excepted. */
void vly_cpu_deliver_restore(vly_backend_net *net, vly_cpu_thread *thread);
/* Delivers the set that arrived `ago` bursts ago at delay 0 to one slice again:
 * its events that are still under way. negate: takes them away. */
void vly_cpu_deliver_again(const vly_backend_net *net,
                           const vly_cpu_thread *thread,
                           const vly_cpu_projection *projection, uint32_t ago,
                           bool negate);

/* ---- cpu_stimulus.c ---------------------------------------------------- */

vly_status vly_cpu_stimulus_create(vly_backend_net *net, vly_error *error);
/* Draws the counts of this burst's Philox block where they are missing. */
void vly_cpu_stimulus_draw(vly_backend_net *net, vly_cpu_thread *thread,
                           const vly_cpu_area *area);
/* Adds the stimuli to the inputs of neurons [low, high) of the area. */
void vly_cpu_stimulus_add(vly_backend_net *net, const vly_cpu_area *area,
                          uint32_t low, uint32_t high);
vly_status vly_cpu_stimulus_write(vly_backend_net *net, uint32_t index,
                                  const vly_stimulus_desc *desc,
                                  vly_error *error);

/* ---- cpu_dynamics.c ---------------------------------------------------- */

vly_status vly_cpu_dynamics_create(vly_backend_net *net, vly_error *error);
/* Stimuli, update and fired set of one slice; consumes its inputs. */
void vly_cpu_dynamics(vly_backend_net *net, vly_cpu_thread *thread);
vly_status vly_cpu_coef_write(vly_backend_net *net, uint32_t area,
                              uint32_t coef, const vly_column *column,
                              vly_error *error);

/* ---- cpu_history.c ----------------------------------------------------- */

/* Memory for the ids and the gains of spikes: both or none. */
vly_status vly_cpu_spikes_alloc(vly_backend_net *net, uint64_t capacity,
                                uint32_t **ids, uint32_t **gains,
                                vly_error *error);
vly_status vly_cpu_history_create(vly_backend_net *net, vly_error *error);
/* Makes room for a set of count spikes and returns its position. [one thread]
 */
vly_status vly_cpu_history_push(vly_backend_net *net, uint32_t count,
                                uint32_t **ids, uint32_t **gains,
                                uint32_t **row, vly_error *error);
/* The set fired age bursts before the burst to come, 1 <= age <= n_slots:
 * row [n_areas + 1]. Of the bursts of a window (cpu_ranks.h) it has this rank's
 * neurons only. */
const uint32_t *vly_cpu_history_set(const vly_backend_net *net, uint64_t age,
                                    const uint32_t **ids,
                                    const uint32_t **gains);

/* ---- cpu_run.c --------------------------------------------------------- */

/* What all neurons fired in one burst. */
typedef struct vly_cpu_fired {
    uint32_t *ids; /* [total] */
    uint32_t *gains;
    uint32_t *row; /* [n_areas + 1] */
    uint32_t total;
    uint32_t reserved;
} vly_cpu_fired;

/* Gives the caller burst number `at` of the run. [one thread] */
void vly_cpu_give(const vly_backend_net *net, const vly_cpu_fired *fired,
                  uint64_t digest, uint64_t at, vly_run *run);

vly_status vly_cpu_net_run(vly_backend_net *net, vly_run *run,
                           vly_error *error);

/* ---- cpu_snapshot.c ---------------------------------------------------- */

vly_status vly_cpu_snapshot_load(vly_backend_net *net,
                                 const vly_snapshot *snapshot,
                                 vly_error *error);
vly_status vly_cpu_snapshot_read(vly_backend_net *net, vly_snapshot *snapshot,
                                 vly_error *error);
vly_status vly_cpu_field_read(vly_backend_net *net, uint32_t area,
                              uint32_t field, uint32_t first, uint32_t count,
                              uint32_t *words, vly_error *error);
vly_status vly_cpu_field_write(vly_backend_net *net, uint32_t area,
                               uint32_t field, uint32_t first, uint32_t count,
                               const uint32_t *words, vly_error *error);
vly_status vly_cpu_state_digest(vly_backend_net *net, uint64_t *digest,
                                vly_error *error);

#endif
