/* SPDX-License-Identifier: Apache-2.0
 * How many threads run a net, measured while it runs. On small nets a second
 * thread gains little, and beside other programs each burst waits for the
 * thread that has no processor. The results of a net are the same with any
 * number, so numbers are tried in turn on the bursts that are to be run anyway.
 *
 * The caller has the clock: ask for a block, run it, say how long it took.
 */
#ifndef VOLLEY_CPU_TUNER_H
#define VOLLEY_CPU_TUNER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VLY_CPU_CHOICES 11u /* 1, 2, 4, ... up to 1024 */
#define VLY_CPU_ROUNDS 3u   /* each is tried so often in a measurement */

typedef struct vly_cpu_choice {
    uint32_t n_threads;
    bool dropped;    /* too slow to be tried again this time */
    uint64_t bursts; /* of this measurement */
    uint64_t ns;
    double tries[VLY_CPU_ROUNDS]; /* ns of a burst, each */
    double burst_ns;              /* mean in the last whole measurement, or 0 */
} vly_cpu_choice;

typedef struct vly_cpu_tuner {
    vly_cpu_choice choices[VLY_CPU_CHOICES]; /* ascending threads */
    uint32_t n_choices;
    uint32_t at;     /* the one that runs */
    uint32_t chosen; /* by the last whole measurement */
    uint32_t round;  /* VLY_CPU_ROUNDS: it is not measuring */
    uint32_t n_measurements;
    uint64_t block;    /* bursts of one try; 0: not known yet */
    uint64_t in_block; /* of them done */
    uint64_t spent_ns; /* by the measurement */
    uint64_t since_ns; /* since it ended, ... */
    uint64_t since_bursts;
} vly_cpu_tuner;

/* Measures 1, 2, 4, ... and n_most threads. */
void vly_cpu_tuner_init(vly_cpu_tuner *tuner, uint32_t n_most);
/* Threads for the next bursts. *n_bursts: how many are left; on return how many
 * to run with them, at least 1 if any are left. */
uint32_t vly_cpu_tuner_next(const vly_cpu_tuner *tuner, uint64_t *n_bursts);
/* n_bursts took so long with the threads that next has named. */
void vly_cpu_tuner_took(vly_cpu_tuner *tuner, uint64_t n_bursts, uint64_t ns);
/* "2 of 4 threads (a burst takes 12.3 us with 1, 8.1 with 2)"; then "; not so
 * in most tries" if another number has the least mean by a single try */
void vly_cpu_tuner_print(const vly_cpu_tuner *tuner, char *text, size_t size);

#endif
