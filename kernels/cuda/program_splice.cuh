/* SPDX-License-Identifier: Apache-2.0
 * The update of a neuron of a user's model where the interpreter is not: a mark
 * in the kernel's text, in whose place the backend writes the steps of the
 * net's programs before the driver compiles it (backends/cuda/cuda_ptx.h, which
 * has the operands in this order).
 *
 * Plans resident and partitioned have what the steps read of an area in shared
 * memory, loaded once a launch.
 */
#ifndef VOLLEY_CUDA_PROGRAM_SPLICE_CUH
#define VOLLEY_CUDA_PROGRAM_SPLICE_CUH

#include "program_kernels.h"
#include "update_neuron.cuh"

/* Where the step of a neuron finds its coefficients. */
struct program_coefs {
    const vly_cuda_column *columns;
    const uint32_t *words; /* in shared memory, of all neurons of the area;
                              without a row, the inputs of ports 2 and 3 */
    uint32_t vary;         /* 1: not all are the same for all neurons */
};

/* Reads the fields of row ROW of a thread, or of VLY_CUDA_KEPT_ROW, for
 * program_spliced. */
template <int ROW>
static __device__ __forceinline__ void
program_read(uint32_t number, const uint32_t *state, uint64_t n)
{
    asm volatile("//VLY_READ %0, %1, %2, %3"
                 :
                 : "n"(ROW), "r"(number), "l"(state), "l"(n * sizeof(uint32_t))
                 : "memory");
}

/* Writes the fields of VLY_CUDA_KEPT_ROW. */
static __device__ __forceinline__ void
program_write(uint32_t number, uint32_t *state, uint64_t n)
{
    asm volatile("//VLY_WRITE %0, %1, %2, %3"
                 :
                 : "n"(VLY_CUDA_KEPT_ROW), "r"(number), "l"(state),
                   "l"(n * sizeof(uint32_t))
                 : "memory");
}

/* VLY_CUDA_NO_ROW: reads the fields itself, and coefficients from columns. */
template <int ROW>
static __device__ __forceinline__ uint32_t
program_spliced(const vly_cuda_view &view, uint32_t number, uint32_t *state,
                uint64_t n, const program_coefs &coefs, uint64_t burst,
                uint32_t i, uint32_t neuron, float in0, float in1)
{
    uint32_t fired;
    asm volatile("//VLY_STEP %0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, "
                 "%11, %12, %13, %14, %15"
                 : "=&r"(fired)
                 : "n"(ROW), "r"(number), "l"(state), "l"(n * sizeof(uint32_t)),
                   "l"(coefs.columns), "l"(coefs.words), "r"(coefs.vary),
                   "r"(i), "r"(neuron), "f"(in0), "f"(in1), "r"(view.key_low),
                   "r"(view.key_high), "r"((uint32_t)burst),
                   "r"((uint32_t)(burst >> 32))
                 : "memory");
    return fired;
}

/* ---- users' models of a block -------------------------------------------- */

struct block_programs {
    vly_cuda_block_program *list; /* [n_areas] */
    uint32_t *words;              /* [n_areas][program_coefs] */
};

/* From so many words of shared memory on. */
static __device__ __forceinline__ block_programs
place_programs(const vly_cuda_view &view, uint32_t *after)
{
    const uintptr_t at = ((uintptr_t)after + 15) / 16 * 16;
    vly_cuda_block_program *list = (vly_cuda_block_program *)at;
    return {list, (uint32_t *)(list + view.n_areas)};
}

/* All threads; they meet before they use it. */
static __device__ __forceinline__ void load_programs(const vly_cuda_view &view,
                                                     const block_programs &to)
{
    for (uint32_t a = threadIdx.x; a < view.n_areas; a += blockDim.x) {
        const vly_cuda_program *from = view.programs + a;
        to.list[a] = {from->coefs,
                      from->state != nullptr ? from->number
                                             : VLY_CUDA_NO_PROGRAM,
                      0,
                      view.areas[a].first,
                      from->n_fields,
                      {0, 0}};
    }
    __syncthreads();
    for (uint32_t k = threadIdx.x; k < view.n_areas * view.program_coefs;
         k += blockDim.x) {
        const vly_cuda_program *from = view.programs + k / view.program_coefs;
        const uint32_t c = k % view.program_coefs;
        if (c >= from->n_coefs || from->n == 0)
            continue;
        const vly_cuda_column column = from->coefs[c];
        to.words[k] = column.words[0];
        if (column.mask != 0)
            atomicOr(&to.list[k / view.program_coefs].vary, 1u);
    }
}

static __device__ __forceinline__ program_coefs
block_coefs(const vly_cuda_view &view, const block_programs &programs,
            const vly_cuda_block_program &program, uint32_t area)
{
    return {program.columns, programs.words + area * view.program_coefs,
            program.vary};
}

template <int MODEL>
static __device__ __forceinline__ bool
has_program(const vly_cuda_block_program &program)
{
    return MODEL == VLY_CUDA_ONLY_PROGRAMS ||
           program.number != VLY_CUDA_NO_PROGRAM;
}

#endif
