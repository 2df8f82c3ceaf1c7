/* SPDX-License-Identifier: Apache-2.0
 * Admission of work to a device. Bursts are guaranteed: they begin at once; on
 * an exclusive device they wait for at most the one step in progress. Steps of
 * other classes (a token of a model) request admission: burstable ones wait for
 * bursts, best-effort ones (the monitor) also for burstable ones, for their
 * share of time, and while they are paused.
 *
 * The burst loop pays one atomic operation on its own word before a call of the
 * engine and one after it; only a thread that has to wait takes a lock.
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
     * gives the monitor only idle time, see vly_thread_background. */
    bool exclusive;
    double budget; /* share of time for best effort, above 0, at most 1 */
    uint64_t (*clock_ns)(void *context); /* NULL: vly_clock_ns */
    void *context;
} vly_gate_options;

typedef enum vly_gate_answer {
    VLY_GATE_GO,    /* the step may run: call vly_gate_leave when it is done */
    VLY_GATE_BURST, /* a burst is running, or due before a step would be done */
    VLY_GATE_STEP,  /* another step is running, or a more important one waits */
    VLY_GATE_BUDGET, /* its share is used up */
    VLY_GATE_PAUSED,
    VLY_GATE_CLOSED
} vly_gate_answer;

/* Statistics so far. */
typedef struct vly_gate_usage {
    uint64_t steps;
    uint64_t spent_ns;      /* as reported by vly_gate_leave */
    uint64_t longest_ns;    /* step */
    uint64_t denied[6];     /* by vly_gate_answer: number of refused requests */
    uint64_t burst_waits;   /* bursts that waited for a step */
    uint64_t burst_wait_ns; /* in all, and the longest */
    uint64_t burst_wait_longest_ns;
    double budget;
    bool paused;
} vly_gate_usage;

/* Errors  E_INVALID the budget; E_NOMEM */
vly_status vly_gate_create(const vly_gate_options *options, vly_gate **gate,
                           vly_error *error);
/* No thread may be inside or waiting. NULL is legal. */
void vly_gate_destroy(vly_gate *gate);

/* ---- bursts [burst-thread]; all take NULL for no gate ------------------- */

/* Before a call of the engine. Waits for the step under way if the device is
 * exclusive. */
void vly_gate_burst_begin(vly_gate *gate);
/* After a call of the engine. next_ns: when the next burst is due, by the
 * gate's clock; a step that would not be done by then does not begin. 0: not
 * known. */
void vly_gate_burst_end(vly_gate *gate, uint64_t next_ns);
/* Between two calls of a loop without gaps: if a step waits for bursts and has
 * a share of time left, admits one step and waits for its end. Without this the
 * monitor would never run beside such a loop. true: there was one. */
bool vly_gate_offer(vly_gate *gate);

/* ---- steps [any-thread] ------------------------------------------------- */

/* Whether a step of this class may begin. qos: VLY_QOS_BURSTABLE or
 * _BEST_EFFORT. Does not wait. *wait_ns: time after which a new request makes
 * sense; UINT64_MAX: only after a change. */
vly_gate_answer vly_gate_try(vly_gate *gate, uint32_t qos, uint64_t *wait_ns);
/* Waits. true: go; false: the gate was closed. */
bool vly_gate_enter(vly_gate *gate, uint32_t qos);
/* The same with a time limit. VLY_GATE_GO, VLY_GATE_CLOSED, or the reason of
 * the refusal. */
vly_gate_answer vly_gate_enter_for(vly_gate *gate, uint32_t qos,
                                   uint64_t most_ns);
/* The step is done; what it cost counts against its share: wall time of an
 * exclusive device, processor time beside bursts (a thread that only gets idle
 * time would otherwise pay for its waiting). */
void vly_gate_leave(vly_gate *gate, uint32_t qos, uint64_t spent_ns);

void vly_gate_pause(vly_gate *gate, bool paused); /* best effort only */
/* Errors  E_INVALID */
vly_status vly_gate_budget(vly_gate *gate, double budget, vly_error *error);
/* Waiting and later requests are refused. */
void vly_gate_close(vly_gate *gate);
void vly_gate_usage_get(vly_gate *gate, vly_gate_usage *usage);

/* ---- memory ------------------------------------------------------------- */

/* Whether best effort may allocate this many more bytes of a device. An eighth
 * of the device stays free for bursts, and so does an eighth of the quota of
 * its account (vly_device_memory_limit).
 * account  "cuda:0", or NULL if there is none
 * Errors   E_NOMEM with bytes requested and available; those of available() */
vly_status vly_gate_admit(const vly_memory *memory, uint32_t device,
                          const char *account, uint64_t bytes,
                          vly_error *error);

#endif
