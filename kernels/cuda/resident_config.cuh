/* SPDX-License-Identifier: Apache-2.0
 * How the kernels of the resident plan are launched.
 */
#ifndef VOLLEY_CUDA_RESIDENT_CONFIG_CUH
#define VOLLEY_CUDA_RESIDENT_CONFIG_CUH

#include "allow_shared.cuh"
#include "resident_burst.cuh"

/* Threads of a block: as many as there are neurons and lines of mail, so that
 * no warp has both. Fewer have more registers, and fewer warps that share an
 * issue slot. */
static uint32_t n_threads(const vly_cuda_resident *resident)
{
    const uint64_t neurons = ((uint64_t)resident->slice + 31) / 32 * 32;
    const uint64_t waiting =
        ((uint64_t)resident->lines * resident->n_blocks + 31) / 32 * 32;
    if (neurons + waiting <= MIN_THREADS)
        return MIN_THREADS;
    return neurons + waiting <= FEW_THREADS ? FEW_THREADS : MANY_THREADS;
}

static bool is_kept(const vly_cuda_view *view,
                    const vly_cuda_resident *resident)
{
    return resident->slice <= PACKED_NEURONS && view->n_areas <= PACKED_AREAS;
}

#endif
