/* SPDX-License-Identifier: Apache-2.0
 * Results for a host that runs one burst at a time, written to host memory by
 * the device: one small kernel instead of separate copies of done, records and
 * fields (about 5 us each, and as much until the host sees the end of the last
 * one); the host polls a flag.
 */
#include "cuda_kernels.h"

#define THREADS 256u

static __device__ __forceinline__ void copy_words(uint32_t *to,
                                                  const void *from, uint32_t n)
{
    for (uint32_t i = threadIdx.x; i < n; i += THREADS)
        to[i] = __ldcg((const uint32_t *)from + i);
}

/* One block. */
static __global__ void __launch_bounds__(THREADS)
    publish(const __grid_constant__ vly_cuda_view view, uint64_t burst,
            uint32_t n_bursts, const vly_cuda_done *done,
            const __grid_constant__ vly_cuda_watches watches,
            vly_cuda_published *published)
{
    copy_words((uint32_t *)&published->done, done,
               sizeof *done / sizeof(uint32_t));
    for (uint32_t k = 0; k < n_bursts; k++)
        copy_words((uint32_t *)&published->records[k],
                   view.records + ((uint32_t)(burst + k) & view.record_mask),
                   sizeof *view.records / sizeof(uint32_t));
    for (uint32_t w = 0; w < watches.n; w++)
        copy_words(published->words + watches.list[w].at, watches.list[w].from,
                   watches.list[w].n);
    __threadfence_system();
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence_system();
        *(volatile uint32_t *)&published->flag = watches.number;
    }
}

cudaError_t vly_cuda_launch_publish(const vly_cuda_view *view,
                                    const vly_cuda_launch *launch,
                                    const vly_cuda_watches *watches,
                                    vly_cuda_published *published,
                                    cudaStream_t stream)
{
    publish<<<1, THREADS, 0, stream>>>(*view, launch->burst, launch->n_bursts,
                                       launch->done, *watches, published);
    return cudaGetLastError();
}
