/* SPDX-License-Identifier: Apache-2.0
 * Maps that learn where ranks run the net: spikes of other ranks' neurons,
 * after they were written to the log. A rank has the traces of all sources and
 * targets, as they are in a snapshot, and the synapses onto its own neurons.
 */
#include "learning_kernels.h"

#include "learning_rows.cuh"

#define THREADS 256u
#define BLOCKS 64u

/* Neuron id of another rank fired. No row of this rank needs what is left of
 * its ring, so a full one is no reason for a flush. */
static __device__ void taken(const vly_cuda_learnings &learnings,
                             uint64_t burst, uint32_t id)
{
    for (uint32_t p = 0; p < learnings.n; p++) {
        const vly_cuda_learning &l = learnings.list[p];
        const uint32_t i = id - l.target_first;
        if (learning_has_window(l))
            window_fired(l, burst, id);
        else if (i < l.n_targets)
            (void)learning_push(l, burst, i);
    }
}

/* A block has the same neurons in all bursts, so their spikes stay in order
 * without a barrier of the grid. */
static __global__ void __launch_bounds__(THREADS)
    take_fired(const __grid_constant__ vly_cuda_view view,
               const __grid_constant__ vly_cuda_learnings learnings,
               uint64_t burst, uint32_t n_bursts)
{
    for (uint32_t k = 0; k < n_bursts; k++) {
        const vly_cuda_record record =
            view.records[(uint32_t)(burst + k) & view.record_mask];
        for (uint32_t i = threadIdx.x; i < record.count; i += THREADS) {
            const uint32_t id =
                view.log_ids[(record.start + i) & view.log_mask];
            if (id - view.own_first >= view.n_own &&
                id % gridDim.x == blockIdx.x)
                taken(learnings, burst + k, id);
        }
        __syncthreads();
    }
}

cudaError_t vly_cuda_launch_taken(const vly_cuda_view *view,
                                  const vly_cuda_learnings *learnings,
                                  uint64_t burst, uint32_t n_bursts,
                                  cudaStream_t stream)
{
    take_fired<<<BLOCKS, THREADS, 0, stream>>>(*view, *learnings, burst,
                                               n_bursts);
    return cudaGetLastError();
}
