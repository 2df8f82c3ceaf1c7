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

static __device__ __forceinline__ uint32_t
program_spliced(const vly_cuda_view &view, const vly_cuda_program &program,
                uint64_t burst, uint32_t i, uint32_t neuron, const float in[2])
{
    uint32_t fired;
    asm volatile("//VLY_STEP %0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, "
                 "%11, %12"
                 : "=&r"(fired)
                 : "r"(program.number), "l"(program.state + i),
                   "l"(program.n * sizeof(uint32_t)), "l"(program.coefs),
                   "r"(i), "r"(neuron), "f"(in[0]), "f"(in[1]),
                   "r"(view.key_low), "r"(view.key_high), "r"((uint32_t)burst),
                   "r"((uint32_t)(burst >> 32))
                 : "memory");
    return fired;
}

#endif
