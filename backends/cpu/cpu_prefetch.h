/* SPDX-License-Identifier: Apache-2.0
 * Rows of synapses ahead of their delivery: they are scattered in memory, so
 * the ranges of a batch of spikes are looked up together and rows are
 * prefetched some ahead.
 */
#ifndef VOLLEY_CPU_PREFETCH_H
#define VOLLEY_CPU_PREFETCH_H

#include "cpu_net.h"
#include "cpu_vectorise.h"

#define VLY_CPU_BATCH 64u
#define VLY_CPU_AHEAD 8u
#define VLY_CPU_AHEAD_SYNAPSES 128u /* of a row; then the hardware follows */

#if defined(__GNUC__)
#define PREFETCH(address) __builtin_prefetch(address)
#else
#define PREFETCH(address) ((void)(address))
#endif

/* How many synapses of a range are prefetched. */
INLINE uint64_t vly_cpu_ahead(vly_cpu_range range)
{
    const uint64_t n = range.end - range.begin;
    return n < VLY_CPU_AHEAD_SYNAPSES ? n : VLY_CPU_AHEAD_SYNAPSES;
}

/* n elements of that many bytes, n > 0; gcc removes a call that only
 * prefetches, so it is inlined. */
INLINE void vly_cpu_prefetch(const void *array, uint64_t n, uint64_t bytes)
{
    const char *begin = array;
    for (uint64_t at = 0; at < n * bytes; at += 64)
        PREFETCH(begin + at);
    PREFETCH(begin + n * bytes - 1);
}

#endif
