/* SPDX-License-Identifier: Apache-2.0
 * Threads: a loop over tasks on a fixed number of threads, and the concurrent
 * form that plugins get from the host.
 */
#ifndef VOLLEY_BASE_THREAD_H
#define VOLLEY_BASE_THREAD_H

#include <pthread.h>
#include <stdint.h>

#include <volley/plugin.h>

/* Cores this process may use (its affinity mask), at least 1. */
uint32_t vly_thread_cores(void);

/* Runs body(arg, task) for every task of [0, n_tasks) on at most n_threads
 * threads, tasks handed out in ascending order; returns when all are done.
 * Falls back to fewer threads if they cannot be made (the result never
 * depends on their number). [any-thread], may nest. */
void vly_thread_loop(uint32_t n_threads, uint64_t n_tasks,
                     void (*body)(void *arg, uint64_t task), void *arg);

/* All tasks at the same time, each on a thread of its own (task 0 on the
 * caller): what vly_host.parallel_for promises. Threads are kept for the next
 * call. Errors E_NOMEM: no task has run. */
vly_status vly_thread_gang(uint32_t n_tasks,
                           void (*body)(void *arg, uint32_t task), void *arg);

/* Starts a thread that blocks the signals that ask the process to stop: the
 * thread that runs a net handles those. what: its purpose, for messages. Counts
 * as an allocation for tests of failure.
 * Errors  E_NOMEM */
vly_status vly_thread_start(pthread_t *thread, void *(*entry)(void *),
                            void *arg, const char *what, vly_error *error);

/* From now on the calling thread gets only processor time that no other thread
 * wants: SCHED_IDLE, or the lowest priority if the system lacks or forbids
 * SCHED_IDLE. Returns the name of the one that was set; NULL: neither. */
const char *vly_thread_background(void);
/* Raises the calling thread's nice value by this much, to 19 at most; the
 * thread leaves a real-time policy for that. If the system has no nice value
 * for each thread, nothing changes. */
void vly_thread_nicer(int by);
/* Restores the priority of another thread, because a caller waits for its end.
 * Linux requires a permission for this (RLIMIT_NICE); without it nothing
 * changes. */
void vly_thread_foreground(pthread_t thread);
/* Processor time of the calling thread so far. */
uint64_t vly_thread_ns(void);
/* Total time that it was ready to run and waited for a processor; always 0 if
 * the system does not report it (Linux: /proc, CONFIG_SCHED_INFO).
 * Cost  opening, reading and closing a file of /proc */
uint64_t vly_thread_waited_ns(void);
/* The sum of the same over the threads of the pool, of the first 15 only: more
 * are not needed to detect a busy machine. Never decreases.
 * Cost  the same for each */
uint64_t vly_thread_pool_waited_ns(void);

/* A condition that waits by the monotonic clock, since the wall clock may be
 * set meanwhile. Waits at most ns; the caller handles spurious wake-ups. */
void vly_condition_init(pthread_cond_t *condition);
void vly_condition_wait(pthread_cond_t *condition, pthread_mutex_t *lock,
                        uint64_t ns);

uint64_t vly_clock_ns(void); /* monotonic */
/* Both clocks at the same time: the first of four tries in which the thread
 * reads them within a tenth of a millisecond, otherwise the shortest try.
 * wall_ns: since 1970. */
void vly_clock_both(uint64_t *steady_ns, uint64_t *wall_ns);

#endif
