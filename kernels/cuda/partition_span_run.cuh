/* SPDX-License-Identifier: Apache-2.0
 * The kernel of the partitioned plan on one device of a span, and the choice of
 * its instance: burst_span.cu has those with sums of 32 bits,
 * burst_span_narrow.cu those with sums of 16, burst_spliced_span.cu those for
 * nets with users' models. Pairs of blocks that have a part of their slice once
 * are left out: a span has more room for accumulators.
 */
#ifndef VOLLEY_CUDA_PARTITION_SPAN_RUN_CUH
#define VOLLEY_CUDA_PARTITION_SPAN_RUN_CUH

#include "partition_burst.cuh"

/* The instance for sums of 16 bits; burst_span_narrow.cu. */
const void *vly_cuda_span_narrow_kernel(uint32_t unit, uint32_t model);

/* As run_partition; ends early, without results, if another block is waited for
 * too long. */
template <int MODEL, uint32_t UNIT, int KIND>
static __global__ void __launch_bounds__(THREADS, 1)
    run_span(const __grid_constant__ vly_cuda_view view,
             const __grid_constant__ vly_cuda_launch launch,
             const __grid_constant__ vly_cuda_partition partition)
{
    __shared__ partition_shared shared;
    extern __shared__ __align__(16) uint32_t dynamic[];
    const partition_block block = make_block(view, partition, &shared, dynamic);
    block_load<MODEL>(view, launch, partition, block);
    draw_first(view, partition, block, launch.burst);
    if (threadIdx.x < 32)
        sum_counts(view, block);
    __syncthreads();
    uint32_t k = 0;
    uint32_t total = 0; /* spikes of the burst before */
    while (k < launch.n_bursts &&
           has_room_of(view, launch, shared.head, shared.held,
                       partition.span.log_room)) {
        const uint32_t base =
            (uint32_t)((launch.burst + k) % partition.ring) * partition.slice;
        const uint32_t posted = k > 0 ? posted_of(partition, total) : 0;
        if (posted != 0) {
            post_span<UNIT == 1>(partition, block, k, posted);
            pass_posts(partition, block, k);
            if (shared.lost != 0)
                break;
        }
        deliver_burst<UNIT, KIND, true>(view, launch, partition, block,
                                        launch.burst + k, k, total, base,
                                        posted);
        if (k > 0)
            write_all(view, partition, block, k, shared.head - total);
        draw_ahead(view, partition, block, launch.burst + k);
        meet_delivered<KIND, true>(partition, block, k, base);
        if (threadIdx.x == 0)
            end_phase(&shared, 0);
        update_tiles<MODEL, false, KIND, true>(
            view, partition, block, launch.burst + k, k + 1, base,
            KIND == KIND_NARROW && has_inputs(launch, k));
        if (threadIdx.x == 0)
            end_phase(&shared, 1);
        send_spikes<true>(view, partition, block, launch.burst + k, k + 1, base,
                          nullptr);
        k++;
        total = pass_span_gate(partition, block, k);
        if (shared.lost != 0)
            break;
        if (threadIdx.x == 0) {
            keep_account(view, block, launch.burst + k - 1, total);
            end_phase(&shared, 2);
        }
        __syncthreads();
    }
    if (shared.lost != 0) { /* the same in all threads of the block */
        if (threadIdx.x == 0)
            launch.done->barrier = shared.lost;
        return;
    }
    if (k > 0) {
        write_all(view, partition, block, k, shared.head - total);
        __syncthreads();
        block_store(view, launch, partition, block, k, shared.head);
    }
}

template <uint32_t UNIT, int KIND>
static const void *pick_span_model(uint32_t model)
{
#if VLY_CUDA_SPLICED
    if (model == VLY_CUDA_ONLY_PROGRAMS)
        return (const void *)run_span<VLY_CUDA_ONLY_PROGRAMS, UNIT, KIND>;
    return (const void *)run_span<VLY_CUDA_N_MODELS, UNIT, KIND>;
#else
    switch (model) {
    case VLY_CUDA_MODEL_lif_psc_delta:
        return (const void *)run_span<VLY_CUDA_MODEL_lif_psc_delta, UNIT, KIND>;
    case VLY_CUDA_MODEL_lif_psc_exp:
        return (const void *)run_span<VLY_CUDA_MODEL_lif_psc_exp, UNIT, KIND>;
    case VLY_CUDA_MODEL_izhikevich:
        return (const void *)run_span<VLY_CUDA_MODEL_izhikevich, UNIT, KIND>;
    default:
        return (const void *)run_span<VLY_CUDA_N_MODELS, UNIT, KIND>;
    }
#endif
}

template <int KIND>
static const void *pick_span_unit(uint32_t unit, uint32_t model)
{
    return unit == 4   ? pick_span_model<4, KIND>(model)
           : unit == 2 ? pick_span_model<2, KIND>(model)
                       : pick_span_model<1, KIND>(model);
}

#endif
