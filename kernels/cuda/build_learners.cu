/* SPDX-License-Identifier: Apache-2.0
 * Synapses that learn, between the order of their projection and that of the
 * blocks of the resident plan. Both are orders within rows, and each is made
 * from the other by sorting with a key, stably: by the block of the target, and
 * back by its number in the block, since target = number * n_blocks + block. So
 * several synapses of one pair keep their order, and the targets are not
 * needed.
 *
 * A warp sorts a row by counting, 32 synapses at a time. Its counts and the
 * sorted masters are in memory of its own and are read from the second-level
 * cache, since other lanes and atomics write them.
 */
#include "learner_kernels.h"
#include "learning_renew.cuh"

#define THREADS 256u
#define ALL 0xffffffffu

/* ---- sorting a row ------------------------------------------------------ */

/* count[q] becomes the number of synapses with a key below q. */
template <class KEY>
static __device__ __forceinline__ void
count_keys(uint32_t *count, uint32_t n_keys, uint32_t n, const KEY &key)
{
    const uint32_t lane = threadIdx.x % 32;
    for (uint32_t q = lane; q < n_keys; q += 32)
        __stcg(count + q, 0u);
    __syncwarp();
    for (uint32_t j = lane; j < n; j += 32)
        atomicAdd(count + key(j), 1u);
    __syncwarp();
    uint32_t before = 0;
    for (uint32_t first = 0; first < n_keys; first += 32) {
        const uint32_t q = first + lane;
        const uint32_t own = q < n_keys ? __ldcg(count + q) : 0;
        uint32_t sum = own;
#pragma unroll
        for (uint32_t d = 1; d < 32; d *= 2) {
            const uint32_t other = __shfl_up_sync(ALL, sum, d);
            sum += lane >= d ? other : 0;
        }
        if (q < n_keys)
            __stcg(count + q, before + sum - own);
        before += __shfl_sync(ALL, sum, 31);
    }
    __syncwarp();
}

/* each(j, place) for synapse j of the row and its place in the sorted row. */
template <class KEY, class EACH>
static __device__ __forceinline__ void
for_places(uint32_t *count, uint32_t n, const KEY &key, const EACH &each)
{
    const uint32_t lane = threadIdx.x % 32;
    for (uint32_t first = 0; first < n; first += 32) {
        const uint32_t j = first + lane;
        const bool is = j < n;
        const uint32_t q = is ? key(j) : ALL; /* no key: keys are numbers */
        const uint32_t same = __match_any_sync(ALL, q);
        const uint32_t rank =
            (uint32_t)__popc(same & ((1u << lane) - 1)); /* those before */
        const uint32_t place = is ? __ldcg(count + q) + rank : 0;
        __syncwarp();
        if (is && rank == 0)
            __stcg(count + q, place + (uint32_t)__popc(same));
        __syncwarp();
        if (is)
            each(j, place);
    }
    __syncwarp();
}

/* What the lanes have put into `sorted`. */
static __device__ __forceinline__ void
put_back(int32_t *master, const int32_t *sorted, uint32_t n)
{
    for (uint32_t j = threadIdx.x % 32; j < n; j += 32)
        master[j] = __ldcg(sorted + j);
    __syncwarp();
}

/* ---- masters and numbers ------------------------------------------------ */

static __device__ __forceinline__ uint32_t warp_number(void)
{
    return (blockIdx.x * blockDim.x + threadIdx.x) / 32;
}

static __global__ void make_rows(const __grid_constant__ vly_cuda_learning l,
                                 const __grid_constant__ vly_cuda_learner part,
                                 uint32_t n_blocks, vly_cuda_learner_work work)
{
    const uint32_t warp = warp_number();
    if (warp >= work.n_warps)
        return;
    uint32_t *count = work.words + (uint64_t)warp * work.size;
    int32_t *sorted = (int32_t *)(count + n_blocks);
    for (uint32_t k = warp; k < l.n_sources; k += work.n_warps) {
        const uint64_t row = l.row[k];
        const uint32_t n = (uint32_t)(l.row[k + 1] - row);
        const uint32_t *target = l.target + row;
        const auto key = [&](uint32_t j) { return target[j] % n_blocks; };
        vly_cuda_arrival *source = part.source + (uint64_t)k * (n_blocks + 1);
        count_keys(count, n_blocks, n, key);
        for (uint32_t b = threadIdx.x % 32; b <= n_blocks; b += 32)
            source[b].at =
                (uint32_t)row + (b < n_blocks ? __ldcg(count + b) : n);
        __syncwarp();
        for_places(count, n, key, [&](uint32_t j, uint32_t place) {
            part.number[row + place] = (uint16_t)(target[j] / n_blocks);
            __stcg(sorted + place, l.master[row + j]);
        });
        put_back(l.master + row, sorted, n);
    }
}

static __global__ void move_rows(const __grid_constant__ vly_cuda_learning l,
                                 const __grid_constant__ vly_cuda_learner part,
                                 vly_cuda_learner_work work, uint32_t outwards)
{
    const uint32_t warp = warp_number();
    if (warp >= work.n_warps)
        return;
    uint32_t *count = work.words + (uint64_t)warp * work.size;
    int32_t *sorted = (int32_t *)(count + part.n_newest);
    for (uint32_t k = warp; k < l.n_sources; k += work.n_warps) {
        const uint64_t row = l.row[k];
        const uint32_t n = (uint32_t)(l.row[k + 1] - row);
        const uint16_t *number = part.number + row;
        const int32_t *master = l.master + row;
        const auto key = [&](uint32_t j) { return number[j] - part.low; };
        count_keys(count, part.n_newest, n, key);
        for_places(count, n, key, [&](uint32_t j, uint32_t place) {
            const uint32_t from = outwards != 0 ? j : place;
            const uint32_t to = outwards != 0 ? place : j;
            __stcg(sorted + to, master[from]);
        });
        put_back(l.master + row, sorted, n);
    }
}

/* ---- what is known of sources and targets ------------------------------- */

/* A thread an entry; `at` stays. */
static __global__ void states_in(const __grid_constant__ vly_cuda_learning l,
                                 const __grid_constant__ vly_cuda_learner part,
                                 uint32_t n_blocks)
{
    const uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
    const uint64_t k = i / (n_blocks + 1);
    if (k >= l.n_sources)
        return;
    vly_cuda_arrival *source = part.source + i;
    source->arrived = l.arrived[k];
    for (int t = 0; t < 2; t++)
        source->before[t] = l.before[t] != nullptr ? l.before[t][k] : 0.0f;
}

/* What is known of sources is the same in all blocks. The last spikes of
 * targets are those of their rings. */
static __global__ void states_out(const __grid_constant__ vly_cuda_learning l,
                                  const __grid_constant__ vly_cuda_learner part,
                                  uint32_t n_blocks, uint32_t burst)
{
    const uint32_t k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k == 0)
        *l.flushed = burst;
    if (k < l.n_sources) {
        const vly_cuda_arrival source =
            part.source[(uint64_t)k * (n_blocks + 1)];
        l.arrived[k] = source.arrived;
        learning_renew(l.arrived + k, burst);
        for (int t = 0; t < 2; t++)
            if (l.before[t] != nullptr)
                l.before[t][k] = source.before[t];
    }
    if (k >= l.n_targets)
        return;
    vly_cuda_newest *newest = l.newest + k;
    uint32_t *ring = l.post + (uint64_t)k * (l.mask + 1);
    for (uint32_t n = 0; n <= l.mask; n++)
        learning_renew(ring + n, burst);
    for (uint32_t n = 0; n < VLY_CUDA_NEWEST; n++)
        newest->burst[n] = ring[(newest->count - 1 - n) & l.mask];
}

/* ---- launchers --------------------------------------------------------- */

static uint32_t blocks_of(uint64_t n)
{
    return (uint32_t)(n / THREADS + 1);
}

cudaError_t vly_cuda_launch_learner_make(const vly_cuda_learning *learning,
                                         const vly_cuda_learner *learner,
                                         uint32_t n_blocks,
                                         const vly_cuda_learner_work *work,
                                         cudaStream_t stream)
{
    make_rows<<<blocks_of(32ull * work->n_warps), THREADS, 0, stream>>>(
        *learning, *learner, n_blocks, *work);
    return cudaGetLastError();
}

cudaError_t vly_cuda_launch_learner_move(const vly_cuda_learning *learning,
                                         const vly_cuda_learner *learner,
                                         const vly_cuda_learner_work *work,
                                         uint32_t outwards, cudaStream_t stream)
{
    move_rows<<<blocks_of(32ull * work->n_warps), THREADS, 0, stream>>>(
        *learning, *learner, *work, outwards);
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
        states_in<<<blocks_of((uint64_t)learning->n_sources * (n_blocks + 1)),
                    THREADS, 0, stream>>>(*learning, *learner, n_blocks);
    return cudaGetLastError();
}
