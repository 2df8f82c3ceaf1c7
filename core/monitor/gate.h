/* SPDX-License-Identifier: Apache-2.0
 * Who may work on a device, and when. Bursts are guaranteed: they begin at
 * once, and where the device is theirs alone they wait for at most the one step
 * that is under way. Steps of others (a token of a model) ask first: burstable
 * ones wait for bursts, best-effort ones (the monitor) also for burstable ones,
 * for their share of time, and while they are paused.
 *
 * The burst loop pays one atomic operation on a word of its own before a call
 * of the engine and one after it; locks are for who has to wait.
 */
#ifndef VOLLEY_MONITOR_GATE_H
#define VOLLEY_MONITOR_GATE_H

#include <stdbool.h>
#include <stdint.h>

#include <volley/accelerator.h>

typedef struct vly_gate vly_gate;

typedef struct vly_gate_options {
    /* Bursts and steps take turns, because they are on one device. Otherwise a
     * step may run beside a burst: on the processor the system's scheduler
     * gives the monitor only what nobody else wants, see
     * vly_thread_background. */
    bool exclusive;
    double budget; /* share of time for best effort, above 0, at most 1 */
    uint64_t (*clock_ns)(void *context); /* NULL: vly_clock_ns */
    void *context;
} vly_gate_options;

typedef enum vly_gate_answer {
    VLY_GATE_GO,     /* the step is under way: vly_gate_leave when it is done */
    VLY_GATE_BURST,  /* burst work is under way, or due before a step is done */
    VLY_GATE_STEP,   /* another step is under way, or a more important waits */
    VLY_GATE_BUDGET, /* its share is used up */
    VLY_GATE_PAUSED,
    VLY_GATE_CLOSED
} vly_gate_answer;

/* What happened so far. */
typedef struct vly_gate_usage {
    uint64_t steps;
    uint64_t spent_ns;      /* as told by vly_gate_leave */
    uint64_t longest_ns;    /* step */
    uint64_t denied[6];     /* by vly_gate_answer: times it was asked in vain */
    uint64_t burst_waits;   /* bursts that waited for a step */
    uint64_t burst_wait_ns; /* in all, and the longest */
    uint64_t burst_wait_longest_ns;
    double budget;
    bool paused;
} vly_gate_usage;

/* Errors  E_INVALID the budget; E_NOMEM */
vly_status vly_gate_create(const vly_gate_options *options, vly_gate **gate,
                           vly_error *error);
/* Nobody is in it or waits for it any more. NULL is legal. */
void vly_gate_destroy(vly_gate *gate);

/* ---- bursts [burst-thread]; all take NULL for no gate ------------------- */

/* Before a call of the engine. Waits for the step under way if the device is
 * exclusive. */
void vly_gate_burst_begin(vly_gate *gate);
/* After it. next_ns: when the next one is due, by the gate's clock; a step that
 * would not be done by then does not begin. 0: not known. */
void vly_gate_burst_end(vly_gate *gate, uint64_t next_ns);
/* Between two calls of a loop that leaves no gaps: if a step waits for bursts
 * and has a share of time left, one is let in and waited for. Without this the
 * monitor would never run beside such a loop. true: there was one. */
bool vly_gate_offer(vly_gate *gate);

/* ---- steps [any-thread] ------------------------------------------------- */

/* May a step of this class begin? qos: VLY_QOS_BURSTABLE or _BEST_EFFORT. Does
 * not wait. *wait_ns: after how long it is worth to ask again, UINT64_MAX: only
 * a change will help. */
vly_gate_answer vly_gate_try(vly_gate *gate, uint32_t qos, uint64_t *wait_ns);
/* Waits. true: go; false: the gate was closed. */
bool vly_gate_enter(vly_gate *gate, uint32_t qos);
/* The same for at most so long. VLY_GATE_GO, VLY_GATE_CLOSED, or why not. */
vly_gate_answer vly_gate_enter_for(vly_gate *gate, uint32_t qos,
                                   uint64_t most_ns);
/* The step is done; what it cost counts against its share: wall time of an
 * exclusive device, processor time beside bursts (a thread that only gets what
 * is left over would else pay for its waiting). */
void vly_gate_leave(vly_gate *gate, uint32_t qos, uint64_t spent_ns);

void vly_gate_pause(vly_gate *gate, bool paused); /* best effort only */
/* Errors  E_INVALID */
vly_status vly_gate_budget(vly_gate *gate, double budget, vly_error *error);
/* Whoever waits is sent away, and so is who comes later. */
void vly_gate_close(vly_gate *gate);
void vly_gate_usage_get(vly_gate *gate, vly_gate_usage *usage);

/* ---- memory ------------------------------------------------------------- */

/* May best effort have so many bytes more of a device? An eighth of it stays
 * for bursts, and so does an eighth of the quota of its account
 * (vly_device_memory_limit).
 * account  "cuda:0", or NULL where there is none
 * Errors   E_NOMEM with bytes requested and available; those of available() */
vly_status vly_gate_admit(const vly_memory *memory, uint32_t device,
                          const char *account, uint64_t bytes,
                          vly_error *error);

#endif
