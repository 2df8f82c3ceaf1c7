/* SPDX-License-Identifier: Apache-2.0
 * The update of a neuron of a user's model where the interpreter is not: a mark
 * in the kernel's text, in whose place the backend writes the steps of the
 * net's programs before the driver compiles it (backends/cuda/cuda_ptx.h, which
 * has the operands in this order).
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

/* Reads the fields of row ROW of a thread, for program_spliced. */
template <int ROW>
static __device__ __forceinline__ void
program_read(uint32_t number, const uint32_t *state, uint64_t n)
{
    asm volatile("//VLY_READ %0, %1, %2, %3"
                 :
                 : "n"(ROW), "r"(number), "l"(state), "l"(n * sizeof(uint32_t))
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

#endif
