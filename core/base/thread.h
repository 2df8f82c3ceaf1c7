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

/* A thread that is sent no signal that asks the process to stop: those are the
 * business of the thread that runs a net. what: it is for, in a message. Counts
 * as an allocation for tests of failure. Errors  E_NOMEM */
vly_status vly_thread_start(pthread_t *thread, void *(*entry)(void *),
                            void *arg, const char *what, vly_error *error);

/* The calling thread gets from now on only processor time that nobody else
 * wants: SCHED_IDLE, or the lowest priority where the system has none or
 * forbids it. Says which; NULL: neither. */
const char *vly_thread_background(void);
/* The calling thread's nice value is from now on so much above what it was, 19
 * at most, and it leaves a real-time policy for that. Where the system has none
 * for a thread nothing changes. */
void vly_thread_nicer(int by);
/* Another thread is to stand back no longer, because somebody waits for its
 * end. Linux lets only who has the right to do so (RLIMIT_NICE); without it
 * nothing changes. */
void vly_thread_foreground(pthread_t thread);
/* Processor time of the calling thread so far. */
uint64_t vly_thread_ns(void);
/* How long it has been ready to run and no processor was there for it, so far;
 * 0 for ever where the system does not tell (Linux: /proc, CONFIG_SCHED_INFO).
 * Cost  opening, reading and closing a file of /proc */
uint64_t vly_thread_waited_ns(void);
/* The same of the threads that help with gangs, summed, of the first 15: where
 * so many have waited nobody asks for more. Never less than before.
 * Cost  the same for each */
uint64_t vly_thread_pool_waited_ns(void);

/* A condition that is waited for by the monotonic clock: the wall clock may be
 * set meanwhile. Waits at most ns; spurious ends are the caller's business. */
void vly_condition_init(pthread_cond_t *condition);
void vly_condition_wait(pthread_cond_t *condition, pthread_mutex_t *lock,
                        uint64_t ns);

uint64_t vly_clock_ns(void); /* monotonic */
/* Both clocks at one time, as far as the system lets this thread read them
 * without a break of more than a tenth of a millisecond in four tries; else the
 * try with the shortest break. wall_ns: since 1970. */
void vly_clock_both(uint64_t *steady_ns, uint64_t *wall_ns);

#endif
