/* SPDX-License-Identifier: Apache-2.0
 * The kernel of the partitioned plan for a host that goes burst by burst: the
 * launch stays on the device between runs and executes commands. The bursts see
 * one long launch. State is in global memory and complete after the gate, so
 * the first block publishes it at once; the log is written while the host
 * processes the results. linger_partition.cu has the instances with sums of 32
 * bits, linger_narrow.cu those with sums of 16.
 */
#ifndef VOLLEY_CUDA_LINGER_PARTITION_CUH
#define VOLLEY_CUDA_LINGER_PARTITION_CUH

#include "partition_burst.cuh"

#include "linger.cuh"

/* The instance for sums of 16 bits; linger_narrow.cu. */
const void *vly_cuda_linger_narrow_kernel(uint32_t unit, uint32_t model);

/* Where a launch is. */
struct linger_state {
    uint32_t k;        /* bursts done */
    uint32_t total;    /* spikes of the burst before */
    bool is_logged;    /* they are in the log */
    bool is_delivered; /* to the burst that comes next */
};

/* Inputs of burst k of the command, by the first block of a cluster, or with
 * sums of 16 bits by the block that updates the neuron: after delivery, so that
 * their reads overlap with it. */
template <int KIND>
static __device__ __forceinline__ void
add_inputs(const vly_cuda_view &view, const vly_cuda_partition &partition,
           const vly_cuda_linger &linger, const linger_shared &waiting,
           const partition_block &block, uint32_t k, uint32_t tag,
           uint32_t base)
{
    const uint32_t *row = waiting.command + VLY_CUDA_COMMAND_ROW;
    if (KIND != KIND_NARROW && block.rank != 0)
        return;
    for (uint32_t i = row[k] + threadIdx.x; i < row[k + 1]; i += THREADS) {
        const uint2 input = read_input(linger, i, tag);
        const neuron_place to = find_place(view, partition, input.x);
        add_input<KIND>(partition, block, base, to, input.y);
    }
}

/* Writes the spikes of the previous burst to the log, unless done already. */
static __device__ __forceinline__ void
log_own(const vly_cuda_view &view, const vly_cuda_partition &partition,
        const partition_block &block, linger_state *at)
{
    if (at->k > 0 && !at->is_logged)
        write_own<false>(view, partition, block, at->k,
                         block.shared->head - at->total,
                         read_own(partition, block, at->k));
    at->is_logged = true;
}

/* Delivers to the next burst while the host processes the results. If
 * accumulators hold one burst only, the delivery is discarded when the launch
 * leaves. */
template <uint32_t UNIT, int KIND>
static __device__ __forceinline__ void
deliver_ahead(const vly_cuda_view &view, const vly_cuda_partition &partition,
              const linger_shared &waiting, const partition_block &block,
              linger_state *at)
{
    if (partition.ring > 1 || at->is_delivered)
        return;
    deliver_burst<UNIT, KIND>(view, waiting.launch, partition, block,
                              waiting.launch.burst + at->k, at->k, at->total,
                              0);
    at->is_delivered = true;
}

template <int MODEL, uint32_t UNIT, int KIND>
static __device__ __forceinline__ void
run_burst(const vly_cuda_view &view, const vly_cuda_partition &partition,
          const vly_cuda_linger &linger, const linger_shared &waiting,
          const partition_block &block, uint32_t first, uint32_t tag,
          linger_state *at)
{
    const vly_cuda_launch &launch = waiting.launch;
    const uint64_t burst = launch.burst + at->k;
    const uint32_t base = (uint32_t)(burst % partition.ring) * partition.slice;
    if (!at->is_delivered)
        deliver_burst<UNIT, KIND>(view, launch, partition, block, burst, at->k,
                                  at->total, base);
    const uint32_t *row =
        waiting.command + VLY_CUDA_COMMAND_ROW + at->k - first;
    const bool any_input = KIND == KIND_NARROW && row[0] != row[1];
    add_inputs<KIND>(view, partition, linger, waiting, block, at->k - first,
                     tag, base);
    log_own(view, partition, block, at);
    meet_delivered<KIND>(partition, block, at->k, base);
    if (threadIdx.x == 0)
        end_phase(block.shared, 0);
    update_tiles<MODEL, true, KIND>(view, partition, block, burst, at->k + 1,
                                    base, any_input);
    if (threadIdx.x == 0)
        end_phase(block.shared, 1);
    send_spikes(view, partition, block, burst, at->k + 1, base,
                &launch.done->n_events);
    at->k++;
    at->total = pass_gate(partition, block, at->k);
    at->is_logged = false;
    at->is_delivered = false;
    if (threadIdx.x == 0) {
        keep_account(view, block, burst, at->total);
        end_phase(block.shared, 2);
    }
    __syncthreads();
}

/* The first n spikes of the block, from mail on: how many of all blocks are
 * smaller than each. */
static __device__ __forceinline__ void
rank_spikes(const vly_cuda_view &view, const vly_cuda_partition &partition,
            const partition_block &block, linger_shared *waiting,
            const spike_source &from, const uint32_t *mail, uint32_t n)
{
    if (threadIdx.x < n) {
        waiting->rank[threadIdx.x] = 0;
        waiting->own[threadIdx.x] = mail_read(mail + threadIdx.x);
    }
    __syncthreads();
    for (uint32_t i = threadIdx.x & ~31u; i < from.count; i += THREADS) {
        const uint32_t at = i + threadIdx.x % 32;
        const uint32_t id = at < from.count
                                ? fetch_id(view, partition, block, from, at)
                                : 0xffffffffu;
        count_smaller(id, waiting->own, waiting->rank, n);
    }
    __syncthreads();
}

/* Ids of the last burst in order, each by the block that has it: as many are
 * smaller as there are before it. All threads; total: of all blocks. */
static __device__ __forceinline__ void
publish_ids(const vly_cuda_view &view, const vly_cuda_partition &partition,
            const vly_cuda_linger &linger, linger_shared *waiting,
            const partition_block &block, uint32_t k, uint32_t total,
            uint32_t tag)
{
    const uint32_t n_own = block.shared->n_own;
    const uint32_t *own = own_mail(partition, k);
    const spike_source from = {
        mail_of(partition, k), nullptr, nullptr, 0, 0, 0, total};
    for (uint32_t low = 0; low < n_own; low += RANKS) {
        const uint32_t n = n_own - low < RANKS ? n_own - low : RANKS;
        rank_spikes(view, partition, block, waiting, from, own + low, n);
        if (threadIdx.x < n)
            host_write(linger.answer->ids + waiting->rank[threadIdx.x],
                       tag_word(tag, waiting->own[threadIdx.x]));
        __syncthreads();
    }
}

/* By the first block: a command of n bursts is done. */
static __device__ __forceinline__ void
publish_command(const vly_cuda_view &view, const vly_cuda_linger &linger,
                linger_shared *waiting, const partition_block &block,
                const linger_state &at, uint32_t n, uint32_t n_ids,
                uint32_t tag)
{
    if (threadIdx.x == 0)
        note_done(waiting, block, at.k, n_ids);
    uint32_t n_ranged = 0;
    for (uint32_t r = 0; r < linger.n_ranges; r++)
        n_ranged += linger.ranges[r].n;
    __syncthreads();
    publish_answer(view, linger, waiting, &waiting->launch.done->n_events,
                   waiting->launch.burst + at.k - n, n, n_ranged, tag);
}

template <int MODEL, uint32_t UNIT, int KIND>
static __global__ void __launch_bounds__(THREADS, 1)
    linger_partition(const __grid_constant__ vly_cuda_view view,
                     const __grid_constant__ vly_cuda_launch launch,
                     const __grid_constant__ vly_cuda_partition partition,
                     const __grid_constant__ vly_cuda_linger linger)
{
    __shared__ partition_shared shared;
    __shared__ linger_shared waiting;
    extern __shared__ __align__(16) uint32_t dynamic[];
    const partition_block block = make_block(view, partition, &shared, dynamic);
    start_linger(launch, &waiting);
    block_load<MODEL>(view, launch, partition, block);
    if (threadIdx.x < 32)
        sum_counts(view, block);
    __syncthreads();
    linger_state at = {0, 0, true, false};
    uint32_t tag = linger.number;
    while (next_command(linger, &waiting, tag + 1, shared.head)) {
        const uint32_t first = at.k;
        tag++;
        if (threadIdx.x == 0)
            shared.time = (uint32_t)clock();
        while (at.k < waiting.launch.n_bursts &&
               has_room(view, waiting.launch, shared.head, shared.held))
            run_burst<MODEL, UNIT, KIND>(view, partition, linger, waiting,
                                         block, first, tag, &at);
        const bool has_ids = at.k > first && wants_ids(waiting) &&
                             at.total <= VLY_CUDA_LINGER_IDS;
        if (blockIdx.x == 0)
            publish_command(view, linger, &waiting, block, at, at.k - first,
                            has_ids ? at.total : VLY_CUDA_NO_IDS, tag);
        if (has_ids)
            publish_ids(view, partition, linger, &waiting, block, at.k,
                        at.total, tag);
        log_own(view, partition, block, &at);
        deliver_ahead<UNIT, KIND>(view, partition, waiting, block, &at);
        __syncthreads();
    }
    if (at.k > 0)
        block_store(view, launch, partition, block, at.k, shared.head);
}

/* ---- instances --------------------------------------------------------- */

/* Of this file alone: another one has kernels by the same names. */
namespace
{
template <uint32_t UNIT, int KIND> struct linger_kernels {
    template <int MODEL> static const void *of()
    {
        return (const void *)linger_partition<MODEL, UNIT, KIND>;
    }
};
} // namespace

template <int KIND>
static const void *pick_linger_unit(uint32_t unit, uint32_t model)
{
    return unit == 4   ? pick_model<linger_kernels<4, KIND>>(model)
           : unit == 2 ? pick_model<linger_kernels<2, KIND>>(model)
                       : pick_model<linger_kernels<1, KIND>>(model);
}

#endif
