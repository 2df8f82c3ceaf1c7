/* SPDX-License-Identifier: Apache-2.0
 * Spikes on their way off the device: put in order of ids, burst by burst,
 * through a bitmap in shared memory (one window of ids after the other, if
 * the net is larger). Spikes that stay there, counted by area. And the digest
 * of a field.
 */
#include "cuda_kernels.h"

#include "kernels/models/digest.h"

#define THREADS 256u
#define WARPS (THREADS / 32)
#define WINDOW_WORDS 4096u /* of bitmap: 131,072 ids, with sums 32 KB */
#define COUNT_AREAS 2048u  /* counted at a time */
#define COUNT_BLOCKS 128u
#define SORT_BLOCKS 256u

struct sort_shared {
    uint32_t bits[WINDOW_WORDS];
    uint32_t before[WINDOW_WORDS]; /* ids in earlier words */
    uint32_t total[WARPS];         /* ids in the words of a warp */
};

/* Sum of n over the lanes up to this one. */
static __device__ __forceinline__ uint32_t sum_lanes(uint32_t n)
{
    for (uint32_t d = 1; d < 32; d *= 2) {
        const uint32_t more = __shfl_up_sync(0xffffffffu, n, d);
        n += threadIdx.x % 32 >= d ? more : 0;
    }
    return n;
}

/* before[] from the first n_words of bits[], a multiple of THREADS; returns the
 * number of ids in them. A warp has consecutive words, a lane one of each 32:
 * neighbours in shared memory do not wait for each other. */
static __device__ uint32_t sum_window(sort_shared *shared, uint32_t n_words)
{
    const uint32_t warp = threadIdx.x / 32;
    const uint32_t each = n_words / WARPS;
    const uint32_t first = warp * each + threadIdx.x % 32;
    const uint32_t end = (warp + 1) * each;
    uint32_t sum = 0;
    for (uint32_t i = first; i < end; i += 32)
        sum += (uint32_t)__popc(shared->bits[i]);
    sum = sum_lanes(sum);
    if (threadIdx.x % 32 == 31)
        shared->total[warp] = sum;
    __syncthreads();
    uint32_t base = 0;
    uint32_t all = 0;
    for (uint32_t w = 0; w < WARPS; w++) {
        base += w < warp ? shared->total[w] : 0;
        all += shared->total[w];
    }
    for (uint32_t i = first; i < end; i += 32) {
        const uint32_t n = (uint32_t)__popc(shared->bits[i]);
        const uint32_t upto = sum_lanes(n);
        shared->before[i] = base + upto - n;
        base += __shfl_sync(0xffffffffu, upto, 31);
    }
    __syncthreads();
    return all;
}

/* Words of a window if `left` ids are left, a multiple of THREADS. */
static __device__ __forceinline__ uint32_t window_words(uint64_t left)
{
    const uint64_t n = (left + 31) / 32;
    return n < WINDOW_WORDS ? ((uint32_t)n + THREADS - 1) / THREADS * THREADS
                            : WINDOW_WORDS;
}

/* Ids of a burst below `low`. All threads of the block. */
static __device__ uint32_t count_below(const vly_cuda_view &view,
                                       const vly_cuda_record &record,
                                       uint64_t low, uint32_t *total)
{
    uint32_t n = 0;
    for (uint32_t i = threadIdx.x; i < record.count; i += THREADS)
        n += view.log_ids[(record.start + i) & view.log_mask] < low;
    n = sum_lanes(n);
    if (threadIdx.x % 32 == 31)
        total[threadIdx.x / 32] = n;
    __syncthreads();
    uint32_t all = 0;
    for (uint32_t w = 0; w < WARPS; w++)
        all += total[w];
    __syncthreads();
    return all;
}

/* A block takes a burst, or every gridDim.y-th window of its ids. */
static __global__ void __launch_bounds__(THREADS)
    sort_spikes(const __grid_constant__ vly_cuda_view view, uint64_t burst,
                uint32_t *ids, uint32_t *gains)
{
    __shared__ sort_shared shared;
    const uint64_t step = gridDim.y * (WINDOW_WORDS * 32ull);
    const uint64_t first =
        view.records[(uint32_t)burst & view.record_mask].start;
    const vly_cuda_record record =
        view.records[(uint32_t)(burst + blockIdx.x) & view.record_mask];
    const uint64_t to = record.start - first;
    uint32_t placed = 0;
    for (uint64_t low = blockIdx.y * (WINDOW_WORDS * 32ull);
         low < view.n_neurons && placed < record.count; low += step) {
        if (gridDim.y > 1)
            placed = count_below(view, record, low, shared.total);
        const uint32_t n_words = window_words(view.n_neurons - low);
        for (uint32_t i = threadIdx.x; i < n_words; i += THREADS)
            shared.bits[i] = 0;
        __syncthreads();
        for (uint32_t i = threadIdx.x; i < record.count; i += THREADS) {
            uint64_t id = view.log_ids[(record.start + i) & view.log_mask];
            if (id - low < WINDOW_WORDS * 32ull)
                atomicOr(&shared.bits[(id - low) / 32],
                         1u << (uint32_t)((id - low) % 32));
        }
        __syncthreads();
        const uint32_t n = sum_window(&shared, n_words);
        for (uint32_t i = threadIdx.x; i < record.count; i += THREADS) {
            uint64_t at = (record.start + i) & view.log_mask;
            uint64_t id = view.log_ids[at];
            if (id - low >= WINDOW_WORDS * 32ull)
                continue;
            uint32_t word = (uint32_t)((id - low) / 32);
            uint32_t below = (1u << (uint32_t)((id - low) % 32)) - 1u;
            uint64_t rank = placed + shared.before[word] +
                            (uint32_t)__popc(shared.bits[word] & below);
            ids[to + rank] = (uint32_t)id;
            if (gains != nullptr)
                gains[to + rank] = view.log_gains[at];
        }
        placed += n;
        __syncthreads();
    }
}

/* Areas low to low + n - 1 of the view: where they begin, and a counter. */
struct count_shared {
    uint32_t first[COUNT_AREAS];
    uint32_t count[COUNT_AREAS];
};

/* Windows of areas, all of them together are the net: most nets have one. */
static __global__ void __launch_bounds__(THREADS)
    count_areas(const __grid_constant__ vly_cuda_view view, uint64_t head,
                const vly_cuda_done *done, uint64_t *counts)
{
    __shared__ count_shared shared;
    if (done->n_bursts == 0)
        return;
    const uint64_t end = done->head;
    const uint64_t stride = (uint64_t)gridDim.x * THREADS;
    for (uint32_t low = 0; low < view.n_areas; low += COUNT_AREAS) {
        const uint32_t left = view.n_areas - low;
        const uint32_t n = left < COUNT_AREAS ? left : COUNT_AREAS;
        for (uint32_t a = threadIdx.x; a < n; a += THREADS) {
            shared.first[a] = view.areas[low + a].first;
            shared.count[a] = 0;
        }
        const uint32_t limit =
            n < left ? view.areas[low + n].first : view.n_neurons;
        __syncthreads();
        uint64_t i = head + (uint64_t)blockIdx.x * THREADS + threadIdx.x;
        for (; i < end; i += stride) {
            const uint32_t id = view.log_ids[i & view.log_mask];
            uint32_t from = 0;
            uint32_t to = n;
            while (to - from > 1) {
                uint32_t middle = (from + to) / 2;
                if (shared.first[middle] <= id)
                    from = middle;
                else
                    to = middle;
            }
            if (id >= shared.first[0] && id < limit)
                atomicAdd(&shared.count[from], 1u);
        }
        __syncthreads();
        for (uint32_t a = threadIdx.x; a < n; a += THREADS)
            if (shared.count[a] != 0)
                atomicAdd((unsigned long long *)(counts + low + a),
                          (unsigned long long)shared.count[a]);
        __syncthreads();
    }
}

static __global__ void sum_state(const uint32_t *words, uint32_t first,
                                 uint32_t n, uint32_t field, uint64_t *digest)
{
    const uint64_t mixed = vly_digest_mix(field);
    uint64_t sum = 0;
    for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n;
         i += gridDim.x * blockDim.x)
        sum += vly_digest_pair(mixed, first + i, words[i]);
    for (int d = 16; d > 0; d /= 2)
        sum += __shfl_xor_sync(0xffffffffu, sum, d);
    if (threadIdx.x % 32 == 0)
        atomicAdd((unsigned long long *)digest, (unsigned long long)sum);
}

static __global__ void __launch_bounds__(THREADS)
    take_spikes(const __grid_constant__ vly_cuda_view view, uint64_t burst,
                uint32_t n_bursts, const vly_cuda_record *records,
                uint64_t head, uint64_t n, const uint32_t *ids,
                const uint32_t *gains)
{
    const uint64_t stride = (uint64_t)gridDim.x * THREADS;
    const uint64_t first = (uint64_t)blockIdx.x * THREADS + threadIdx.x;
    for (uint64_t k = first; k < n_bursts; k += stride)
        view.records[(uint32_t)(burst + k) & view.record_mask] = records[k];
    for (uint64_t i = first; i < n; i += stride) {
        const uint64_t at = (head + i) & view.log_mask;
        view.log_ids[at] = ids[i];
        view.log_gains[at] = gains != nullptr ? gains[i] : 1u << view.feagi_q;
    }
}

static __global__ void move_log(const __grid_constant__ vly_cuda_view view,
                                uint64_t from, uint64_t to, uint32_t *ids,
                                uint32_t *gains, uint64_t mask)
{
    for (uint64_t i = from + blockIdx.x * blockDim.x + threadIdx.x; i < to;
         i += gridDim.x * blockDim.x) {
        ids[i & mask] = view.log_ids[i & view.log_mask];
        gains[i & mask] = view.log_gains[i & view.log_mask];
    }
}

cudaError_t vly_cuda_launch_sort(const vly_cuda_view *view, uint64_t burst,
                                 uint32_t n_bursts, uint32_t *ids,
                                 uint32_t *gains, cudaStream_t stream)
{
    if (n_bursts == 0)
        return cudaSuccess;
    /* of few bursts of a large net, windows at the same time */
    const uint32_t n_windows = view->n_neurons / (WINDOW_WORDS * 32u) + 1;
    uint32_t n = SORT_BLOCKS / n_bursts;
    n = n < n_windows ? n : n_windows;
    sort_spikes<<<dim3(n_bursts, n > 1 ? n : 1), THREADS, 0, stream>>>(
        *view, burst, ids, gains);
    return cudaGetLastError();
}

cudaError_t vly_cuda_launch_count_areas(const vly_cuda_view *view,
                                        const vly_cuda_launch *launch,
                                        uint64_t *counts, cudaStream_t stream)
{
    const uint32_t blocks =
        launch->n_bursts <= VLY_CUDA_SHORT_BURSTS ? 4 : COUNT_BLOCKS;
    count_areas<<<blocks, THREADS, 0, stream>>>(*view, launch->head,
                                                launch->done, counts);
    return cudaGetLastError();
}

cudaError_t vly_cuda_launch_state_digest(const uint32_t *words, uint32_t first,
                                         uint32_t n, uint32_t field,
                                         uint64_t *digest, cudaStream_t stream)
{
    if (n == 0)
        return cudaSuccess;
    uint32_t blocks = (n - 1) / THREADS + 1;
    blocks = blocks < 256 ? blocks : 256;
    sum_state<<<blocks, THREADS, 0, stream>>>(words, first, n, field, digest);
    return cudaGetLastError();
}

cudaError_t vly_cuda_launch_take(const vly_cuda_view *view, uint64_t burst,
                                 uint32_t n_bursts,
                                 const vly_cuda_record *records, uint64_t head,
                                 uint64_t n, const uint32_t *ids,
                                 const uint32_t *gains, cudaStream_t stream)
{
    const uint64_t most = n > n_bursts ? n : n_bursts;
    uint64_t blocks = (most + THREADS - 1) / THREADS;
    if (blocks == 0)
        return cudaSuccess;
    blocks = blocks < 128 ? blocks : 128; /* more do not read a bus faster */
    take_spikes<<<(uint32_t)blocks, THREADS, 0, stream>>>(
        *view, burst, n_bursts, records, head, n, ids, gains);
    return cudaGetLastError();
}

cudaError_t vly_cuda_launch_log_move(const vly_cuda_view *view, uint64_t from,
                                     uint64_t to, uint32_t *ids,
                                     uint32_t *gains, uint64_t mask,
                                     cudaStream_t stream)
{
    if (from == to)
        return cudaSuccess;
    move_log<<<256, THREADS, 0, stream>>>(*view, from, to, ids, gains, mask);
    return cudaGetLastError();
}
