/* SPDX-License-Identifier: Apache-2.0
 * Users' models on the device: their programs as steps of an interpreter, and
 * the launchers of the plan for every net with them. Launchers only enqueue.
 *
 * A step reads and writes places. A value that a step makes has a slot, which
 * another value takes after its last reader; numbers, fields and coefficients
 * are read where they are.
 */
#ifndef VOLLEY_CUDA_PROGRAM_KERNELS_H
#define VOLLEY_CUDA_PROGRAM_KERNELS_H

#include "learning_kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

/* In place of a model: all areas have programs. */
#define VLY_CUDA_ONLY_PROGRAMS (VLY_CUDA_N_MODELS + 1)
/* The same, small ones with one port, several neurons a thread: compiled by the
 * driver only. */
#define VLY_CUDA_QUAD_PROGRAMS (VLY_CUDA_N_MODELS + 2)
#define VLY_CUDA_QUAD_FIELDS 6u /* of a program at most */
#define VLY_CUDA_QUAD_COEFS 32u
/* Rows of a thread, and instead of one where a neuron is updated by itself. */
#define VLY_CUDA_QUAD_ROWS 4
#define VLY_CUDA_NO_ROW 4
/* Likewise: the fields of the one neuron of a thread stay in registers. */
#define VLY_CUDA_KEPT_ROW 5

/* A place: its kind in two bits, an index below them. */
#define VLY_CUDA_PLACE_BITS 14u
#define VLY_CUDA_PLACE_MASK ((1u << VLY_CUDA_PLACE_BITS) - 1u)
enum {
    VLY_CUDA_PLACE_SLOT,
    VLY_CUDA_PLACE_NUMBER,
    VLY_CUDA_PLACE_FIELD,
    VLY_CUDA_PLACE_COEF,
};

/* The codes of vly_program_code, in their order, and a copy. */
typedef struct vly_cuda_step {
    uint16_t code;
    uint16_t slot; /* of its result */
    uint16_t a;    /* places; those not read are valid, too */
    uint16_t b;
    uint32_t lo; /* of STORE; port of INPUT; stream of UNIFORM; place c */
    uint32_t hi;
} vly_cuda_step;

typedef struct vly_cuda_column {
    const uint32_t *words;
    uint32_t mask; /* 0 if uniform, otherwise ~0 */
    uint32_t reserved;
} vly_cuda_column;

/* The model of an area; all 0: a built-in one. Pointers are of the device. */
typedef struct vly_cuda_program {
    const vly_cuda_step *steps;
    const uint32_t *numbers;
    const vly_cuda_column *coefs;
    const uint16_t *out; /* [n_fields] places of what the fields become */
    uint32_t *state;     /* [n_fields][n] */
    uint64_t n;
    uint32_t n_steps;
    uint32_t n_fields;
    uint32_t fired;  /* place */
    uint32_t number; /* among the different programs of the net */
    uint32_t n_coefs;
    uint32_t reserved;
} vly_cuda_program;

/* Of an area, in the shared memory of a block of plans resident and
 * partitioned, after which come the coefficients of all areas. */
typedef struct vly_cuda_block_program {
    const vly_cuda_column *columns;
    uint32_t number; /* or VLY_CUDA_NO_PROGRAM */
    uint32_t vary;   /* 1: a coefficient is not the same for all neurons */
    uint32_t first;  /* global id of the area's first neuron */
    uint32_t n_fields;
    uint32_t reserved[2];
} vly_cuda_block_program;
#define VLY_CUDA_NO_PROGRAM 0xffffffffu

/* Their bytes, with those that align them. */
#if defined(__CUDACC__)
static __host__ __device__ __forceinline__ uint32_t
#else
static inline uint32_t
#endif
vly_cuda_block_programs_bytes(const vly_cuda_view *view)
{
    return view->program_coefs == 0
               ? 0
               : 16u + view->n_areas *
                           ((uint32_t)sizeof(vly_cuda_block_program) +
                            view->program_coefs * (uint32_t)sizeof(uint32_t));
}

typedef struct vly_cuda_programs {
    const vly_cuda_program *list; /* [n_areas]; NULL: no area has one */
    uint32_t *values; /* [blocks][n_slots][VLY_CUDA_THREADS]; NULL: they are in
                         shared memory */
    uint32_t n_slots; /* of a thread */
    uint32_t model;   /* VLY_CUDA_N_MODELS or ONLY_PROGRAMS */
} vly_cuda_programs;

/* How many slots of each thread shared memory has room for. */
cudaError_t vly_cuda_programs_slots(uint32_t *n_slots);
/* vly_cuda_launch_global for a net with programs. */
cudaError_t vly_cuda_launch_programs(const vly_cuda_view *view,
                                     const vly_cuda_launch *launch,
                                     const vly_cuda_programs *programs,
                                     uint32_t n_blocks, cudaStream_t stream);
/* The same by a kernel that the driver has compiled: kernel is a cudaKernel_t
 * of the text of burst_spliced*.cu; learnings is NULL if nothing learns. */
cudaError_t vly_cuda_launch_spliced(const void *kernel,
                                    const vly_cuda_view *view,
                                    const vly_cuda_launch *launch,
                                    const vly_cuda_learnings *learnings,
                                    const vly_cuda_programs *programs,
                                    uint32_t n_blocks, cudaStream_t stream);
/* The same with maps that learn. */
cudaError_t vly_cuda_programs_learning_slots(uint32_t *n_slots);
cudaError_t vly_cuda_launch_programs_learning(
    const vly_cuda_view *view, const vly_cuda_launch *launch,
    const vly_cuda_learnings *learnings, const vly_cuda_programs *programs,
    uint32_t n_blocks, cudaStream_t stream);

/* burst_ports.cu and burst_ports_learning.cu: the same for nets with a model of
 * three or four ports, beside other models or without. */
cudaError_t vly_cuda_ports_slots(uint32_t *n_slots);
cudaError_t vly_cuda_launch_ports(const vly_cuda_view *view,
                                  const vly_cuda_launch *launch,
                                  const vly_cuda_programs *programs,
                                  uint32_t n_blocks, cudaStream_t stream);
cudaError_t vly_cuda_ports_learning_slots(uint32_t *n_slots);
cudaError_t vly_cuda_launch_ports_learning(const vly_cuda_view *view,
                                           const vly_cuda_launch *launch,
                                           const vly_cuda_learnings *learnings,
                                           const vly_cuda_programs *programs,
                                           uint32_t n_blocks,
                                           cudaStream_t stream);
/* burst_ports_rules.cu: for every net with users' models in which maps learn by
 * rules of users. */
cudaError_t vly_cuda_ports_rules_slots(uint32_t *n_slots);
cudaError_t vly_cuda_launch_ports_rules(const vly_cuda_view *view,
                                        const vly_cuda_launch *launch,
                                        const vly_cuda_learnings *learnings,
                                        const vly_cuda_programs *programs,
                                        uint32_t n_blocks, cudaStream_t stream);

/* burst_spliced.cu and burst_spliced_ports.cu, which are compiled to text only:
 * the kernel for a model, and the one for more ports. */
const void *vly_cuda_spliced_kernel(uint32_t model);
const void *vly_cuda_spliced_ports_kernel(void);
const void *vly_cuda_spliced_resident_kernel(uint32_t model, uint32_t threads);
const void *vly_cuda_spliced_shifted_kernel(uint32_t model, uint32_t threads);
const void *vly_cuda_spliced_partition_kernel(uint32_t model, uint32_t unit,
                                              uint32_t kind);
const void *vly_cuda_spliced_span_kernel(uint32_t model, uint32_t unit,
                                         uint32_t kind);
/* And of nets with maps that learn. */
const void *vly_cuda_spliced_learning_kernel(uint32_t model);
const void *vly_cuda_spliced_ports_learning_kernel(void);
const void *vly_cuda_spliced_learners_kernel(uint32_t model, uint32_t threads);

#ifdef __cplusplus
}
#endif

#endif
