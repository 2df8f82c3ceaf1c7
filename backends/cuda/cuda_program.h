/* SPDX-License-Identifier: Apache-2.0
 * Users' models on a device: their programs as steps of an interpreter
 * (kernels/cuda/program_update.cuh). Plan `global` alone runs them.
 */
#ifndef VOLLEY_CUDA_PROGRAM_H
#define VOLLEY_CUDA_PROGRAM_H

#include "cuda_base.h"
#include "kernels/cuda/program_kernels.h"

typedef struct vly_cuda_program_set {
    vly_cuda_programs view;   /* for kernels; list NULL: no programs */
    vly_cuda_column *columns; /* on the device: of all areas with a program */
    uint32_t n_programs;      /* different ones */
    uint32_t n_rows;          /* neurons of a thread at a time: 1, or 4 */
    void *library;            /* cuda_splice.c: NULL without ... */
    const void *kernel;       /* ... a kernel that the driver has compiled */
} vly_cuda_program_set;

/* The first area with a program; n_areas: none has one. */
uint32_t vly_cuda_program_first(const vly_net_desc *desc);
bool vly_cuda_has_programs(const vly_cuda_shard *shard);
/* Steps, columns and room for values of all areas with a program. Their fields
 * and coefficients and the number of blocks are known. */
vly_status vly_cuda_program_create(vly_cuda_shard *shard, vly_error *error);
/* Copies the address of a column that was changed on the host. */
vly_status vly_cuda_program_column(vly_cuda_shard *shard, uint32_t area,
                                   uint32_t coef, vly_error *error);
/* What info->plan says of them, into text; nothing without programs. */
void vly_cuda_program_say(const vly_cuda_shard *shard, char *text, size_t size);

#endif
