/* SPDX-License-Identifier: Apache-2.0
 * Where the partitioned plan finds the ids of spikes: in the mail of the last
 * burst, which has those of each block, or in the log.
 */
#ifndef VOLLEY_CUDA_PARTITION_MAIL_CUH
#define VOLLEY_CUDA_PARTITION_MAIL_CUH

#include "partition_index.cuh"

/* Where ids come from: the mail of the last burst, or the log. */
struct spike_source {
    const uint32_t *mail;  /* [n_blocks][mail_room], or NULL: the log */
    const uint32_t *parts; /* [n_blocks][post] of the slice; of a span [post] */
    const uint32_t *rows;  /* [n_blocks][post]; not of a span */
    uint32_t post;         /* 0: no parts are posted */
    uint32_t tag;          /* of a span's mail, or 0: the log */
    uint64_t start;        /* in the log */
    uint32_t count;
};

/* Read from the second-level cache, which holds the data after the gate. */
static __device__ __forceinline__ uint32_t mail_read(const uint32_t *at)
{
    uint32_t v;
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(at));
    return v;
}

static __device__ __forceinline__ uint64_t mail_read(const uint64_t *at)
{
    uint64_t v;
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(v) : "l"(at));
    return v;
}

#define SPAN_LOST 0xffffffffu

/* Waits for a word of the mail that has not come yet. */
static __device__ __noinline__ uint32_t span_mail_wait(const uint64_t *at,
                                                       uint32_t number,
                                                       uint64_t limit_ns)
{
    const uint64_t begin = time_ns();
    for (;;) {
        for (uint32_t spins = 0; spins < 1024; spins++) {
            uint64_t v;
            asm volatile("ld.relaxed.sys.global.u64 %0, [%1];"
                         : "=l"(v)
                         : "l"(at)
                         : "memory");
            if ((uint32_t)(v >> 32) == number)
                return (uint32_t)v;
        }
        if (time_ns() - begin > limit_ns)
            return SPAN_LOST;
    }
}

/* Spike i of a block, of the mail of a span; SPAN_LOST, and shared->lost, if it
 * does not come. */
static __device__ __forceinline__ uint32_t span_mail_read(
    const vly_cuda_partition &partition, const partition_block &block,
    uint32_t tag, uint32_t from, uint32_t i)
{
    const uint32_t number = span_number(partition, tag);
    const uint64_t *at = partition.span.mail[partition.span.device] +
                         span_mail_at(partition, tag, from) + i;
    uint64_t v;
    asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(v) : "l"(at));
    if ((uint32_t)(v >> 32) == number)
        return (uint32_t)v;
    const uint32_t id = span_mail_wait(at, number, partition.span.limit_ns);
    if (id == SPAN_LOST)
        block.shared->lost = from + 1;
    return id;
}

/* A spike of the last burst: the block that has it, and its number there. */
struct spike_place {
    uint32_t block;
    uint32_t number;
};

/* The same of a span, which has more groups: the last one that begins at or
 * before i, then the block. */
static __device__ __forceinline__ spike_place
find_span_spike(const vly_cuda_partition &partition,
                const partition_block &block, uint32_t i)
{
    const uint32_t n_groups = partition_span_groups(&partition);
    uint32_t group = 0;
    for (uint32_t step = 32; step > 0; step /= 2)
        if (group + step < n_groups && block.firsts[group + step] <= i)
            group += step;
    i -= block.firsts[group];
    uint32_t low = 32 * group;
    for (uint32_t step = 16; step > 0; step /= 2)
        if (low + step < partition.n_blocks && block.before[low + step] <= i)
            low += step;
    return {low, i - block.before[low]};
}

static __device__ __forceinline__ spike_place
find_spike(const partition_shared *shared, uint32_t i)
{
    uint32_t low = 0; /* the group of 32 blocks, then the block */
    while (low + 32 < gridDim.x && i >= shared->group_sum[low / 32]) {
        i -= shared->group_sum[low / 32];
        low += 32;
    }
    for (uint32_t step = 16; step > 0; step /= 2)
        if (low + step < gridDim.x && shared->before[low + step] <= i)
            low += step;
    return {low, i - shared->before[low]};
}

/* The last of 32 lanes whose word is at most x, if the words ascend from 0. */
static __device__ __forceinline__ uint32_t find_lane(uint32_t word, uint32_t x)
{
    uint32_t low = 0;
#pragma unroll
    for (uint32_t step = 16; step > 0; step /= 2) {
        const uint32_t v = __shfl_sync(0xffffffffu, word, (int)(low + step));
        low += v <= x ? step : 0;
    }
    return low;
}

/* Spike first + lane of the last burst. Whole warps: they look for the group of
 * the first one together, and most have all of theirs in that one. */
template <bool SPAN>
static __device__ __forceinline__ spike_place
find_spikes(const vly_cuda_partition &partition, const partition_block &block,
            uint32_t first, uint32_t end)
{
    const uint32_t lane = threadIdx.x % 32;
    const uint32_t i = first + lane;
    uint32_t group = 0;
    uint32_t rest = i; /* of the group */
    uint32_t sum;
    if constexpr (SPAN) {
        const uint32_t n_groups = partition_span_groups(&partition);
        for (uint32_t g = 0; g < n_groups; g += 32)
            group += (uint32_t)__popc(__ballot_sync(
                0xffffffffu,
                g + lane < n_groups && block.firsts[g + lane] <= first));
        group--;
        rest -= block.firsts[group];
        sum = block.sums[group];
    } else {
        sum = block.shared->group_sum[0];
        for (uint32_t x = first; 32 * group + 32 < gridDim.x && x >= sum;) {
            x -= sum;
            rest -= sum;
            sum = block.shared->group_sum[++group];
        }
    }
    const uint32_t *before = SPAN ? block.before : block.shared->before;
    const uint32_t member = find_lane(before[32 * group + lane], rest);
    spike_place at = {32 * group + member, 0};
    at.number = rest - before[at.block];
    if (rest >= sum && i < end) { /* in a later group */
        if constexpr (SPAN)
            at = find_span_spike(partition, block, i);
        else
            at = find_spike(block.shared, i);
    }
    return at;
}

static __device__ __forceinline__ uint32_t read_log(const vly_cuda_view &view,
                                                    const spike_source &from,
                                                    uint32_t i)
{
    return __ldcg(view.log_ids + ((from.start + i) & view.log_mask));
}

static __device__ __forceinline__ uint32_t
fetch_id(const vly_cuda_view &view, const vly_cuda_partition &partition,
         const partition_block &block, const spike_source &from, uint32_t i)
{
    if (from.mail == nullptr)
        return read_log(view, from, i);
    const spike_place at = find_spike(block.shared, i);
    return mail_read(from.mail + (uint64_t)at.block * partition.mail_room +
                     at.number);
}

#endif
