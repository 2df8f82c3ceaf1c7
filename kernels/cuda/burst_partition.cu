/* SPDX-License-Identifier: Apache-2.0
 * The plan for many events a burst: targets are dealt out to slices whose
 * accumulators lie in shared memory, rows are sorted by slice, and one launch
 * stays on the device for many bursts, which take one exchange each:
 *     deliver | cluster | update | ids to mail, counts to the gate ... gate
 * A slice has a cluster of blocks, each with a copy of the accumulators and
 * its part of the spikes, so that there are fewer and longer parts of rows:
 * with one block a slice most sectors that are read hold another slice's
 * synapses too. The gate is a barrier that carries the counts: a word of each
 * block, tag in its high half, polled by all.
 */
#include "partition_burst.cuh"

template <int MODEL, uint32_t UNIT, bool PAIR>
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
        deliver_burst<UNIT, PAIR>(view, launch, partition, block,
                                  launch.burst + k, k, total, base);
        if (k > 0)
            write_own<true>(view, partition, block, k, shared.head - total,
                            own);
        meet_delivered(partition, block, k);
        if (threadIdx.x == 0)
            end_phase(&shared, 0);
        update_tiles<MODEL, false, PAIR>(view, partition, block,
                                         launch.burst + k, k + 1, base);
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

/* ---- launchers --------------------------------------------------------- */

template <uint32_t UNIT, bool PAIR>
static const void *pick_model(uint32_t model)
{
    switch (model) {
    case VLY_CUDA_MODEL_lif_psc_delta:
        return (const void *)
            run_partition<VLY_CUDA_MODEL_lif_psc_delta, UNIT, PAIR>;
    case VLY_CUDA_MODEL_lif_psc_exp:
        return (
            const void *)run_partition<VLY_CUDA_MODEL_lif_psc_exp, UNIT, PAIR>;
    case VLY_CUDA_MODEL_izhikevich:
        return (
            const void *)run_partition<VLY_CUDA_MODEL_izhikevich, UNIT, PAIR>;
    default:
        return (const void *)run_partition<VLY_CUDA_N_MODELS, UNIT, PAIR>;
    }
}

template <bool PAIR> static const void *pick_unit(uint32_t unit, uint32_t model)
{
    return unit == 4   ? pick_model<4, PAIR>(model)
           : unit == 2 ? pick_model<2, PAIR>(model)
                       : pick_model<1, PAIR>(model);
}

static const void *pick(const vly_cuda_view *view,
                        const vly_cuda_partition *partition)
{
    return partition->once != 0
               ? pick_unit<true>(partition->unit, view->model)
               : pick_unit<false>(partition->unit, view->model);
}

uint64_t vly_cuda_partition_bytes(const vly_cuda_view *view,
                                  const vly_cuda_partition *partition)
{
    return dynamic_bytes(view, partition) + STATIC_BYTES;
}

cudaError_t vly_cuda_partition_clusters(const vly_cuda_view *view,
                                        const vly_cuda_partition *partition,
                                        uint64_t bytes, uint32_t *n_clusters)
{
    const void *kernel = pick(view, partition);
    const uint32_t cluster = partition->cluster;
    int device = 0;
    int units = 0;
    int major = 0;
    int n = 0;
    *n_clusters = 0;
    cudaError_t code = cudaGetDevice(&device);
    if (code == cudaSuccess)
        code = cudaDeviceGetAttribute(&units, cudaDevAttrMultiProcessorCount,
                                      device);
    if (code == cudaSuccess)
        code = cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor,
                                      device);
    if (code == cudaSuccess)
        code = allow_shared(kernel);
    const uint64_t dynamic = bytes - STATIC_BYTES;
    if (code != cudaSuccess)
        return code;
    if (cluster == 1) {
        code = cudaOccupancyMaxActiveBlocksPerMultiprocessor(
            &n, kernel, (int)THREADS, (size_t)dynamic);
        *n_clusters = n > 0 ? (uint32_t)units : 0;
        return code;
    }
    if (major < 9)
        return cudaSuccess;
    cudaLaunchAttribute attributes[2];
    cudaLaunchConfig_t config =
        make_config((uint32_t)units / cluster * cluster, cluster, dynamic,
                    nullptr, attributes);
    config.attrs = attributes + 1; /* the count is the same for both kinds */
    config.numAttrs = 1;
    code = cudaOccupancyMaxActiveClusters(&n, kernel, &config);
    *n_clusters = n > 0 ? (uint32_t)n : 0;
    return code;
}

cudaError_t vly_cuda_launch_partition(const vly_cuda_view *view,
                                      const vly_cuda_launch *launch,
                                      const vly_cuda_partition *partition,
                                      cudaStream_t stream)
{
    cudaLaunchAttribute attributes[2];
    cudaLaunchConfig_t config = make_config(
        partition->n_slices * partition->cluster, partition->cluster,
        dynamic_bytes(view, partition), stream, attributes);
    void *arguments[3] = {(void *)view, (void *)launch, (void *)partition};
    return cudaLaunchKernelExC(&config, pick(view, partition), arguments);
}
