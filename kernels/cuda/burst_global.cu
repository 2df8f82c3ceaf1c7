/* SPDX-License-Identifier: Apache-2.0
 * The plan for every net, without learning: see global_burst.cuh.
 */
#include "global_burst.cuh"

/* Events in flight of the spikes of burst `burst - base_delay - ago`. */
static __global__ void __launch_bounds__(VLY_CUDA_THREADS, 1)
    restore_burst(const __grid_constant__ vly_cuda_view view, uint64_t burst,
                  uint32_t index, uint32_t ago)
{
    const vly_cuda_group group = view.groups[index];
    slot_ring to = {view.input,
                    view.mark,
                    view.n_neurons,
                    view.n_ports,
                    (uint32_t)((burst - ago) % view.ring),
                    view.ring,
                    ago};
    deliver_set(view, group, to, burst - ago - group.base_delay);
}

/* ---- launchers --------------------------------------------------------- */

cudaError_t vly_cuda_global_occupancy(const vly_cuda_view *view, int *blocks)
{
    return cudaOccupancyMaxActiveBlocksPerMultiprocessor(
        blocks, pick_kernel(view->model), (int)THREADS, 0);
}

cudaError_t vly_cuda_launch_global(const vly_cuda_view *view,
                                   const vly_cuda_launch *launch,
                                   uint32_t n_blocks, cudaStream_t stream)
{
    void *arguments[2] = {(void *)view, (void *)launch};
    return cudaLaunchCooperativeKernel(pick_kernel(view->model), dim3(n_blocks),
                                       dim3(THREADS), arguments, 0, stream);
}

cudaError_t vly_cuda_launch_restore(const vly_cuda_view *view, uint64_t burst,
                                    uint32_t group, uint32_t ago,
                                    cudaStream_t stream)
{
    restore_burst<<<64, THREADS, 0, stream>>>(*view, burst, group, ago);
    return cudaGetLastError();
}
