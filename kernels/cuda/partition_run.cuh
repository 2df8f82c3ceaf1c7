/* SPDX-License-Identifier: Apache-2.0
 * The kernel of the partitioned plan, a launch of many bursts, and the choice
 * of its instance for a net: burst_partition.cu has those with sums of 32 bits,
 * burst_narrow.cu those with sums of 16, burst_spliced_partition.cu those for
 * nets with users' models.
 */
#ifndef VOLLEY_CUDA_PARTITION_RUN_CUH
#define VOLLEY_CUDA_PARTITION_RUN_CUH

#include "partition_burst.cuh"

/* The instance for sums of 16 bits; burst_narrow.cu. */
const void *vly_cuda_narrow_kernel(uint32_t unit, uint32_t model);

template <int MODEL, uint32_t UNIT, int KIND>
static __global__ void __launch_bounds__(THREADS, 1)
    run_partition(const __grid_constant__ vly_cuda_view view,
                  const __grid_constant__ vly_cuda_launch launch,
                  const __grid_constant__ vly_cuda_partition partition)
{
    __shared__ partition_shared shared;
    extern __shared__ __align__(16) uint32_t dynamic[];
    const partition_block block = make_block(view, partition, &shared, dynamic);
    block_load<MODEL>(view, launch, partition, block);
    if (threadIdx.x < 32)
        sum_counts(view, block);
    __syncthreads();
    uint32_t k = 0;
    uint32_t total = 0; /* spikes of the burst before */
    while (k < launch.n_bursts &&
           has_room(view, launch, shared.head, shared.held)) {
        const uint32_t base =
            (uint32_t)((launch.burst + k) % partition.ring) * partition.slice;
        const uint32_t own = k > 0 ? read_own(partition, block, k) : 0;
        deliver_burst<UNIT, KIND>(view, launch, partition, block,
                                  launch.burst + k, k, total, base);
        if (k > 0)
            write_own<true>(view, partition, block, k, shared.head - total,
                            own);
        meet_delivered<KIND>(partition, block, k, base);
        if (threadIdx.x == 0)
            end_phase(&shared, 0);
        update_tiles<MODEL, false, KIND>(
            view, partition, block, launch.burst + k, k + 1, base,
            KIND == KIND_NARROW && has_inputs(launch, k));
        if (threadIdx.x == 0)
            end_phase(&shared, 1);
        send_spikes(view, partition, block, launch.burst + k, k + 1, base,
                    nullptr);
        k++;
        total = pass_gate(partition, block, k);
        if (threadIdx.x == 0) {
            keep_account(view, block, launch.burst + k - 1, total);
            end_phase(&shared, 2);
        }
        __syncthreads();
    }
    if (k > 0) {
        write_own<true>(view, partition, block, k, shared.head - total,
                        read_own(partition, block, k));
        __syncthreads();
        block_store(view, launch, partition, block, k, shared.head);
    }
}

template <uint32_t UNIT, int KIND> static const void *pick_model(uint32_t model)
{
#if VLY_CUDA_SPLICED
    if (model == VLY_CUDA_ONLY_PROGRAMS)
        return (const void *)run_partition<VLY_CUDA_ONLY_PROGRAMS, UNIT, KIND>;
    return (const void *)run_partition<VLY_CUDA_N_MODELS, UNIT, KIND>;
#else
    switch (model) {
    case VLY_CUDA_MODEL_lif_psc_delta:
        return (const void *)
            run_partition<VLY_CUDA_MODEL_lif_psc_delta, UNIT, KIND>;
    case VLY_CUDA_MODEL_lif_psc_exp:
        return (
            const void *)run_partition<VLY_CUDA_MODEL_lif_psc_exp, UNIT, KIND>;
    case VLY_CUDA_MODEL_izhikevich:
        return (
            const void *)run_partition<VLY_CUDA_MODEL_izhikevich, UNIT, KIND>;
    default:
        return (const void *)run_partition<VLY_CUDA_N_MODELS, UNIT, KIND>;
    }
#endif
}

template <int KIND> static const void *pick_unit(uint32_t unit, uint32_t model)
{
    return unit == 4   ? pick_model<4, KIND>(model)
           : unit == 2 ? pick_model<2, KIND>(model)
                       : pick_model<1, KIND>(model);
}

#endif
