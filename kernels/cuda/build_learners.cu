/* SPDX-License-Identifier: Apache-2.0
 * Synapses that learn, between the rows of their projection and the blocks of
 * the resident plan: a thread takes a row, so that each has one writer and the
 * order of synapses within a block is that of the row.
 */
#include "learner_kernels.h"

#define THREADS 256u

/* Number of the source of this thread. */
static __device__ __forceinline__ uint32_t row_number(void)
{
    return blockIdx.x * blockDim.x + threadIdx.x;
}

static __global__ void count_rows(const __grid_constant__ vly_cuda_learning l,
                                  uint32_t n_blocks, uint64_t *at)
{
    const uint32_t k = row_number();
    if (k >= l.n_sources)
        return;
    for (uint64_t j = l.row[k]; j < l.row[k + 1]; j++) {
        const uint64_t block = l.target[j] % n_blocks;
        at[(uint64_t)k * n_blocks + block + 1]++;
    }
}

static __global__ void move_rows(const __grid_constant__ vly_cuda_learning l,
                                 const __grid_constant__ vly_cuda_learner part,
                                 uint32_t n_blocks, uint16_t *number,
                                 uint32_t *cursor, uint32_t outwards)
{
    const uint32_t k = row_number();
    if (k >= l.n_sources)
        return;
    for (uint64_t j = l.row[k]; j < l.row[k + 1]; j++) {
        const uint32_t target = l.target[j];
        const uint64_t row = (uint64_t)k * n_blocks + target % n_blocks;
        const uint64_t at = part.at[row] + cursor[row]++;
        if (outwards != 0) {
            l.master[j] = part.master[at];
            continue;
        }
        part.master[at] = l.master[j];
        if (number != nullptr)
            number[at] = (uint16_t)(target / n_blocks);
    }
}

static __global__ void states_in(const __grid_constant__ vly_cuda_learning l,
                                 const __grid_constant__ vly_cuda_learner part,
                                 uint32_t n_blocks)
{
    const uint32_t k = row_number();
    if (k >= l.n_sources)
        return;
    vly_cuda_arrival source;
    source.arrived = l.arrived[k];
    for (int t = 0; t < 2; t++)
        source.before[t] = l.before[t] != nullptr ? l.before[t][k] : 0.0f;
    for (uint32_t b = 0; b <= n_blocks; b++) { /* the last one: the end */
        source.at = (uint32_t)part.at[(uint64_t)k * n_blocks + b];
        part.source[(uint64_t)k * (n_blocks + 1) + b] = source;
    }
}

/* What is known of sources is the same in all blocks. The last spikes of
 * targets are those of their rings. */
static __global__ void states_out(const __grid_constant__ vly_cuda_learning l,
                                  const __grid_constant__ vly_cuda_learner part,
                                  uint32_t n_blocks, uint32_t burst)
{
    const uint32_t k = row_number();
    if (k == 0)
        *l.flushed = burst;
    if (k < l.n_sources) {
        const vly_cuda_arrival source =
            part.source[(uint64_t)k * (n_blocks + 1)];
        l.arrived[k] = source.arrived;
        for (int t = 0; t < 2; t++)
            if (l.before[t] != nullptr)
                l.before[t][k] = source.before[t];
    }
    if (k >= l.n_targets)
        return;
    vly_cuda_newest *newest = l.newest + k;
    const uint32_t *ring = l.post + (uint64_t)k * (l.mask + 1);
    for (uint32_t n = 0; n < VLY_CUDA_NEWEST; n++)
        newest->burst[n] = ring[(newest->count - 1 - n) & l.mask];
}

/* ---- launchers --------------------------------------------------------- */

static uint32_t blocks_of(uint32_t n)
{
    return n / THREADS + 1;
}

cudaError_t vly_cuda_launch_learner_count(const vly_cuda_learning *learning,
                                          uint32_t n_blocks, uint64_t *at,
                                          cudaStream_t stream)
{
    count_rows<<<blocks_of(learning->n_sources), THREADS, 0, stream>>>(
        *learning, n_blocks, at);
    return cudaGetLastError();
}

cudaError_t vly_cuda_launch_learner_move(const vly_cuda_learning *learning,
                                         const vly_cuda_learner *learner,
                                         uint32_t n_blocks, uint16_t *number,
                                         uint32_t *cursor, uint32_t outwards,
                                         cudaStream_t stream)
{
    move_rows<<<blocks_of(learning->n_sources), THREADS, 0, stream>>>(
        *learning, *learner, n_blocks, number, cursor, outwards);
    return cudaGetLastError();
}

cudaError_t vly_cuda_launch_learner_states(const vly_cuda_learning *learning,
                                           const vly_cuda_learner *learner,
                                           uint32_t n_blocks, uint32_t burst,
                                           uint32_t outwards,
                                           cudaStream_t stream)
{
    const uint32_t n = learning->n_sources > learning->n_targets
                           ? learning->n_sources
                           : learning->n_targets;
    if (outwards != 0)
        states_out<<<blocks_of(n), THREADS, 0, stream>>>(*learning, *learner,
                                                         n_blocks, burst);
    else
        states_in<<<blocks_of(n), THREADS, 0, stream>>>(*learning, *learner,
                                                        n_blocks);
    return cudaGetLastError();
}
