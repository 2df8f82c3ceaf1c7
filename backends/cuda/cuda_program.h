/* SPDX-License-Identifier: Apache-2.0
 * Users' models on a device: their programs as steps of an interpreter
 * (kernels/cuda/program_update.cuh), which plan `global` alone can run, or as
 * instructions (cuda_splice.h).
 */
#ifndef VOLLEY_CUDA_PROGRAM_H
#define VOLLEY_CUDA_PROGRAM_H

#include "cuda_base.h"
#include "kernels/cuda/program_kernels.h"

/* Kernels that the driver has compiled: of each plan, and of plan resident each
 * instance (vly_cuda_resident_threads). */
typedef enum vly_cuda_spliced {
    VLY_CUDA_SPLICED_GLOBAL,
    VLY_CUDA_SPLICED_PARTITION,
    VLY_CUDA_SPLICED_RESIDENT, /* neurons are not kept */
    VLY_CUDA_SPLICED_FEW,      /* they are, by few threads */
    VLY_CUDA_SPLICED_MANY,
    VLY_CUDA_N_SPLICED
} vly_cuda_spliced;

typedef struct vly_cuda_program_set {
    vly_cuda_programs view;   /* for kernels; list NULL: no programs */
    vly_cuda_column *columns; /* on the device: of all areas with a program */
    uint32_t n_programs;      /* different ones */
    uint32_t n_rows; /* of the present plan: neurons of a thread at a time, 1 or
                        4; 0: step by step */
    /* cuda_splice.c: NULL without a kernel */
    void *libraries[VLY_CUDA_N_SPLICED];
    const void *kernels[VLY_CUDA_N_SPLICED];
} vly_cuda_program_set;

/* The first area with a program; n_areas: none has one. */
uint32_t vly_cuda_program_first(const vly_net_desc *desc);
bool vly_cuda_has_programs(const vly_cuda_shard *shard);
/* Coefficients of the model that has most, at least 1; 0 without programs. */
uint32_t vly_cuda_program_most_coefs(const vly_net_desc *desc);
/* Why a plan whose kernels have no interpreter cannot run the net's programs;
 * NULL: it can, or there are none. */
const char *vly_cuda_programs_unfit(const vly_cuda_shard *shard);
/* Steps and columns of all areas with a program, whose fields and coefficients
 * are known. */
vly_status vly_cuda_program_create(vly_cuda_shard *shard, vly_error *error);
/* For plan global, whose number of blocks is known: a kernel that the driver
 * has compiled, or room for values of the interpreter. */
vly_status vly_cuda_program_run(vly_cuda_shard *shard, vly_error *error);
/* Copies the address of a column that was changed on the host. */
vly_status vly_cuda_program_column(vly_cuda_shard *shard, uint32_t area,
                                   uint32_t coef, vly_error *error);
/* What info->plan says of them, into text; nothing without programs. */
void vly_cuda_program_say(const vly_cuda_shard *shard, char *text, size_t size);

#endif
