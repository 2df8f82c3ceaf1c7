/* SPDX-License-Identifier: Apache-2.0
 * From the program of a user's model to the steps of the interpreter on the
 * device.
 */
#ifndef VOLLEY_CUDA_STEPS_H
#define VOLLEY_CUDA_STEPS_H

#include "backends/common/backend_common.h"
#include "cuda_base.h"
#include "kernels/cuda/program_kernels.h"

typedef struct vly_cuda_steps {
    vly_cuda_step steps[VLY_PROGRAM_MAX_OPS];
    uint32_t numbers[VLY_PROGRAM_MAX_OPS];
    uint16_t out[VLY_PROGRAM_MAX_FIELDS]; /* places, like fired */
    uint32_t n_steps;
    uint32_t n_numbers; /* at least 1 */
    uint32_t n_slots;
    uint32_t fired;
} vly_cuda_steps;

/* made and the rest of the memory are the caller's, as they are large. */
typedef struct vly_cuda_step_maker {
    uint32_t last[VLY_PROGRAM_MAX_OPS]; /* last reader; n_ops: the end */
    uint16_t place[VLY_PROGRAM_MAX_OPS];
    vly_common_folded folded;
    uint8_t taken[VLY_PROGRAM_MAX_OPS]; /* slots */
} vly_cuda_step_maker;

/* The program has been checked (vly_common_check_program). */
void vly_cuda_steps_make(const vly_program *from, vly_cuda_step_maker *maker,
                         vly_cuda_steps *made);

#endif
