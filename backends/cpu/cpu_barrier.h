/* SPDX-License-Identifier: Apache-2.0
 * A barrier whose last thread runs a function before all go on. Waiting spins
 * for about as long as a burst is uneven, then gives the core away, so that
 * more threads than cores work too.
 */
#ifndef VOLLEY_CPU_BARRIER_H
#define VOLLEY_CPU_BARRIER_H

#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>

typedef struct vly_cpu_barrier {
    _Atomic uint32_t arrived;
    _Atomic uint32_t round;
    uint32_t n_threads;
    uint32_t n_spins; /* before the core is given away */
} vly_cpu_barrier;

static inline void vly_cpu_barrier_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

static inline void vly_cpu_barrier_wait(vly_cpu_barrier *barrier,
                                        void (*last)(void *arg), void *arg)
{
    uint32_t round =
        atomic_load_explicit(&barrier->round, memory_order_relaxed);
    uint32_t before =
        atomic_fetch_add_explicit(&barrier->arrived, 1, memory_order_acq_rel);
    if (before + 1 == barrier->n_threads) {
        last(arg);
        atomic_store_explicit(&barrier->arrived, 0, memory_order_relaxed);
        atomic_store_explicit(&barrier->round, round + 1, memory_order_release);
        return;
    }
    uint32_t spins = 0;
    while (atomic_load_explicit(&barrier->round, memory_order_acquire) ==
           round) {
        if (spins++ < barrier->n_spins)
            vly_cpu_barrier_pause();
        else
            (void)sched_yield();
    }
}

#endif
