/* SPDX-License-Identifier: Apache-2.0
 * Short-term plasticity between launches: events under way are delivered again,
 * or taken away, with the gains that follow from the states before them.
 */
#include "short_term.cuh"

#define THREADS VLY_CUDA_THREADS
#define BLOCKS 64

/* The head becomes the tail. */
static __global__ void reset_head(const __grid_constant__ vly_cuda_short_term s)
{
    uint32_t k = blockIdx.x * blockDim.x + threadIdx.x;
    for (; k < s.n_sources; k += gridDim.x * blockDim.x)
        *(uint4 *)(s.head + k) = __ldcg((const uint4 *)(s.tail + k));
}

/* Events of the spikes of burst `fired` that arrive in `burst` or later. */
static __global__ void __launch_bounds__(VLY_CUDA_THREADS, 1)
    deliver_again(const __grid_constant__ vly_cuda_view view,
                  const __grid_constant__ vly_cuda_short_term s, uint64_t burst,
                  uint64_t fired, uint32_t sign)
{
    const uint32_t ago = (uint32_t)(burst - fired) - s.base_delay;
    short_term_rows(view, s, fired, (uint32_t)((burst - ago) % view.ring), ago,
                    sign);
}

static __global__ void
advance_head(const __grid_constant__ vly_cuda_view view,
             const __grid_constant__ vly_cuda_short_term s, uint64_t fired)
{
    short_term_advance(view, s, s.head, fired);
}

static __global__ void
renew_sources(const __grid_constant__ vly_cuda_short_term s, uint32_t now)
{
    uint32_t k = blockIdx.x * blockDim.x + threadIdx.x;
    for (; k < s.n_sources; k += gridDim.x * blockDim.x) {
        if (now - s.head[k].last > VLY_CUDA_AGE_PERIOD)
            s.head[k].last = now - VLY_CUDA_AGE_NEVER;
        if (now - s.tail[k].last > VLY_CUDA_AGE_PERIOD)
            s.tail[k].last = now - VLY_CUDA_AGE_NEVER;
    }
}

/* ---- launchers --------------------------------------------------------- */

cudaError_t vly_cuda_launch_short_term_reset(const vly_cuda_short_term *s,
                                             cudaStream_t stream)
{
    reset_head<<<BLOCKS, THREADS, 0, stream>>>(*s);
    return cudaGetLastError();
}

cudaError_t vly_cuda_launch_short_term_again(const vly_cuda_view *view,
                                             const vly_cuda_short_term *s,
                                             uint64_t burst, uint64_t fired,
                                             uint32_t sign, cudaStream_t stream)
{
    deliver_again<<<BLOCKS, THREADS, 0, stream>>>(*view, *s, burst, fired,
                                                  sign);
    cudaError_t code = cudaGetLastError();
    if (code != cudaSuccess)
        return code;
    advance_head<<<BLOCKS, THREADS, 0, stream>>>(*view, *s, fired);
    return cudaGetLastError();
}

cudaError_t vly_cuda_launch_short_term_renew(const vly_cuda_short_term *s,
                                             uint64_t burst,
                                             cudaStream_t stream)
{
    renew_sources<<<BLOCKS, THREADS, 0, stream>>>(*s, (uint32_t)burst);
    return cudaGetLastError();
}
