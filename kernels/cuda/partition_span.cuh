/* SPDX-License-Identifier: Apache-2.0
 * The exchange of the partitioned plan over several devices. A block writes its
 * ids to the mail of every device while it updates, then its count to the gate
 * of every device, and polls the gate of its own device: no read crosses the
 * link. All devices are launched by one host, which waits for all of them
 * before it launches again.
 *
 * An id has the number of its burst beside it, in one word of 64 bits, so that
 * a reader sees whether it has come: the count need not wait for the ids, which
 * would be a fence of the whole system, a way over the link and back. Numbers
 * are of 32 bits; before they repeat, the host clears mail and gates.
 *
 * Below it, what only spans do besides: the log on every device, and stimuli
 * that are drawn ahead.
 */
#ifndef VOLLEY_CUDA_PARTITION_SPAN_CUH
#define VOLLEY_CUDA_PARTITION_SPAN_CUH

#include "area_update.cuh"
#include "partition_deliver.cuh"

/* By a thread for each device, after a barrier of the block. The word of a
 * burst is overwritten two bursts later, so what lies there is always two
 * numbers older. log: the log is read on the device in later bursts, and what
 * the block has written there, before the barrier, must come before the word.
 */
static __device__ __forceinline__ void
send_count(const vly_cuda_partition &partition, uint32_t tag, uint32_t n,
           bool log)
{
    if (threadIdx.x >= partition.span.n)
        return;
    const uint32_t number = span_number(partition, tag);
    uint32_t *gate = partition.span.gate[threadIdx.x];
    if (log)
        __threadfence();
    asm volatile("st.relaxed.sys.global.u32 [%0], %1;" ::"l"(
                     gate + (number & 1) * partition.n_blocks +
                     span_block_number(partition)),
                 "r"(number << 16 | n)
                 : "memory");
}

/* As gate_read, but gives up after the limit. WHOLE: the word is the number
 * alone, without a count. */
template <bool WHOLE = false>
static __device__ __forceinline__ uint32_t span_read(
    const vly_cuda_partition &partition, const uint32_t *word, uint32_t number)
{
    uint32_t spins = 0;
    uint64_t begin = 0;
    for (;;) {
        uint32_t v;
        asm volatile("ld.relaxed.sys.global.u32 %0, [%1];"
                     : "=r"(v)
                     : "l"(word)
                     : "memory");
        if (WHOLE ? v == number : v >> 16 == (number & 0xffffu))
            return WHOLE ? 0 : v & 0xffffu;
        if (++spins % 1024 != 0)
            continue;
        const uint64_t now = time_ns();
        begin = begin == 0 ? now : begin;
        if (now - begin > partition.span.limit_ns)
            return SPAN_LOST;
    }
}

/* As pass_gate, for the blocks of all devices; shared->lost is not 0 if one was
 * waited for too long. All threads. */
static __device__ __forceinline__ uint32_t
pass_span_gate(const vly_cuda_partition &partition,
               const partition_block &block, uint32_t tag)
{
    const uint32_t number = span_number(partition, tag);
    const uint32_t n_groups = partition_span_groups(&partition);
    const uint32_t *gate = partition.gate + (number & 1) * partition.n_blocks;
    for (uint32_t t = threadIdx.x; t < 32 * n_groups; t += THREADS) {
        uint32_t n = 0;
        if (t < partition.n_blocks)
            n = span_read(partition, gate + t, number);
        if (n == SPAN_LOST) {
            block.shared->lost = t + 1;
            n = 0;
        }
        uint32_t sum = n;
        for (uint32_t d = 1; d < 32; d *= 2) {
            const uint32_t other = __shfl_up_sync(0xffffffffu, sum, d);
            sum += t % 32 >= d ? other : 0;
        }
        block.before[t] = sum - n;
        if (t % 32 == 31)
            block.sums[t / 32] = sum;
    }
    __syncthreads();
    uint32_t total = 0;
    for (uint32_t g = 0; g < n_groups; g++) {
        if (threadIdx.x == g)
            block.firsts[g] = total;
        total += block.sums[g];
    }
    return total;
}

/* Waits until all blocks of the device have posted; shared->lost is not 0 if
 * one was waited for too long. The words of this gate lie behind those of the
 * counts. They have all bits of the number, since not every burst posts and an
 * old word may lie there. */
static __device__ __forceinline__ void
pass_posts(const vly_cuda_partition &partition, const partition_block &block,
           uint32_t tag)
{
    const uint32_t number = span_number(partition, tag);
    uint32_t *gate = partition.gate + 2 * (uint64_t)partition.n_blocks;
    __syncthreads();
    if (threadIdx.x == 0)
        asm volatile(
            "st.release.gpu.global.u32 [%0], %1;" ::"l"(gate + blockIdx.x),
            "r"(number)
            : "memory");
    for (uint32_t t = threadIdx.x; t < gridDim.x; t += THREADS)
        if (span_read<true>(partition, gate + t, number) == SPAN_LOST)
            block.shared->lost =
                partition.first_slice * partition.cluster + t + 1;
    __syncthreads();
}

/* Every device has the whole log: its blocks divide the mail of all blocks, and
 * the warps of a block its share. Counts the synaptic events of all spikes. */
static __device__ __forceinline__ void
write_all(const vly_cuda_view &view, const vly_cuda_partition &partition,
          const partition_block &block, uint32_t k, uint64_t start)
{
    const uint32_t each = WARPS / partition.span.n; /* warps of a mail */
    const uint32_t n_mails = WARPS / each;          /* at a time */
    const uint32_t warp = threadIdx.x / 32;
    uint64_t n_events = 0;
    uint32_t m = blockIdx.x + warp / each * gridDim.x;
    if (warp / each >= n_mails) /* of a number that does not divide 32 */
        m = partition.n_blocks;
    for (; m < partition.n_blocks; m += n_mails * gridDim.x) {
        const uint32_t end =
            m % 32 == 31 ? block.sums[m / 32] : block.before[m + 1];
        const uint32_t n = end - block.before[m];
        const uint64_t at = start + block.firsts[m / 32] + block.before[m];
        for (uint32_t i = warp % each * 32 + threadIdx.x % 32; i < n;
             i += each * 32) {
            const uint32_t id = span_mail_read(partition, block, k, m, i);
            if (id == SPAN_LOST)
                continue;
            view.log_ids[(at + i) & view.log_mask] = id;
            view.log_gains[(at + i) & view.log_mask] = 1u << view.feagi_q;
            n_events += view.out_degree[id];
        }
    }
    n_events = warp_sum(n_events);
    if (threadIdx.x % 32 == 0 && n_events != 0)
        atomicAdd(&block.shared->n_events, (unsigned long long)n_events);
}

/* Draws for row r of the block's neurons, of 32, in the four bursts that
 * `burst` is one of. */
static __device__ __forceinline__ void
draw_row(const vly_cuda_view &view, const vly_cuda_partition &partition,
         const partition_block &block, uint64_t burst, uint32_t r)
{
    const uint32_t rows = partition.tile / 32;
    const uint32_t number = own_tile(partition, block, r / rows);
    const uint4 tile = __ldg((const uint4 *)partition.tiles + number);
    const uint32_t i = r % rows * 32 + threadIdx.x % 32;
    if (block.areas[tile.x].packed == 0 || i >= tile.z)
        return;
    draws_of<true>(partition, burst, number)[i] =
        draw_four(view.stimuli + view.areas[tile.x].stimulus_first,
                  view.key_low, view.key_high, burst, tile.w + i);
}

/* Up to so many rows are drawn in one burst of four, not a quarter in each: on
 * two H200 100,000 neurons took 10.4 instead of 10.6 us
 * (bench/results/cuda.csv). Fewer for tests. */
#ifndef VLY_CUDA_FEW_ROWS
#define VLY_CUDA_FEW_ROWS (2 * WARPS)
#endif

/* Draws a quarter of the block's rows for the next four bursts, for which one
 * Philox block serves: by the warps that have delivered, while others still do.
 */
static __device__ __forceinline__ void
draw_ahead(const vly_cuda_view &view, const vly_cuda_partition &partition,
           const partition_block &block, uint64_t burst)
{
    const uint32_t n = block.shared->n_drawn;
    const uint32_t share = (uint32_t)burst & 3;
    uint32_t first = n * share / 4;
    uint32_t end = n * (share + 1) / 4;
    if (n <= VLY_CUDA_FEW_ROWS) {
        first = 0;
        end = share == 3 ? n : 0;
    }
    if (first >= end)
        return;
    for (;;) {
        uint32_t r = first;
        if (threadIdx.x % 32 == 0)
            r += atomicAdd(&block.shared->drawn, 1u);
        r = __shfl_sync(0xffffffffu, r, 0);
        if (r >= end)
            break;
        draw_row(view, partition, block, burst + 4, r);
    }
}

/* At the begin of a launch, after block_load: draws for its first burst, and
 * what the bursts before it would have drawn. */
static __device__ __forceinline__ void
draw_first(const vly_cuda_view &view, const vly_cuda_partition &partition,
           const partition_block &block, uint64_t burst)
{
    const uint32_t n = block.n_own * (partition.tile / 32);
    if (threadIdx.x == 0) {
        uint32_t any = 0;
        for (uint32_t i = 0; i < view.n_areas; i++)
            any |= block.areas[i].packed;
        block.shared->drawn = 0;
        block.shared->n_drawn = any != 0 ? n : 0;
    }
    for (uint32_t r = threadIdx.x / 32; r < n; r += WARPS) {
        draw_row(view, partition, block, burst, r);
        if (r < n * (burst & 3) / 4)
            draw_row(view, partition, block, burst + 4, r);
    }
}

#endif
