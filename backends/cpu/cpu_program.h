/* SPDX-License-Identifier: Apache-2.0
 * Programs of users' models on the CPU: an interpreter over blocks of neurons.
 * Each operation is a vector loop over a block that stays in the first cache,
 * so that the cost of choosing the operation does not count.
 */
#ifndef VOLLEY_CPU_PROGRAM_H
#define VOLLEY_CPU_PROGRAM_H

#include <stdint.h>

#include <volley/plugin.h>

#include "backends/common/backend_common.h"

/* Neurons of a block: some ten blocks of values fit into the first cache. */
#define VLY_CPU_BLOCK 512u

/* Which operands are one word for all neurons. */
enum {
    VLY_CPU_ONE_A = 1,
    VLY_CPU_ONE_B = 2,
    VLY_CPU_ONE_C = 4,
};

/* Steps that do two operations, each still rounded: a product that only one sum
 * reads, a comparison that only one choice between its sides reads. */
enum {
    VLY_CPU_TIMES_PLUS = VLY_PROGRAM_CODES, /* a b + c */
    VLY_CPU_TIMES_MINUS,                    /* a b - c */
    VLY_CPU_MINUS_TIMES,                    /* c - a b */
    VLY_CPU_LESSER,                         /* a < b ? a : b */
    VLY_CPU_GREATER,                        /* b < a ? a : b */
    VLY_CPU_CODES
};

/* d, a, b, c: places, numbers of words' arrays. */
typedef struct vly_cpu_program_step {
    uint8_t code; /* vly_program_code, VLY_CPU_* */
    uint8_t ones;
    uint16_t d;
    uint16_t a;
    uint16_t b;
    uint16_t c;
    uint16_t port; /* of INPUT */
    uint32_t lo;   /* of STORE; stream of UNIFORM */
    uint32_t hi;
} vly_cpu_program_step;

typedef struct vly_cpu_program {
    const vly_program *from;
    vly_cpu_program_step *steps; /* those that differ between neurons */
    uint32_t n_steps;
    uint32_t n_blocks; /* places [0, n_blocks) are blocks of a thread */
    /* places after them: words for all neurons, then fields, then coefficients
     * with one word a neuron */
    uint32_t n_words;
    uint32_t *words;  /* [n_words] */
    uint32_t *place;  /* [n_ops] of every value; steps that are left out too */
    uint32_t *column; /* [n_columns] fields, and n_fields + coefficient */
    uint32_t n_columns;
    uint8_t written[VLY_PROGRAM_MAX_FIELDS]; /* by its own step, in place */
} vly_cpu_program;

/* What a kernel runs: one block. */
typedef struct vly_cpu_program_call {
    const vly_cpu_program_step *steps;
    uint32_t n_steps;
    uint32_t n; /* neurons */
    uint32_t *const *place;
    const uint32_t *input[VLY_PORTS_MAX];
    float scale[VLY_PORTS_MAX];
    uint32_t id; /* of the first neuron */
    uint64_t key;
    uint64_t burst;
} vly_cpu_program_call;

struct vly_backend_net;

typedef void vly_cpu_run_program(const vly_cpu_program_call *call);

struct vly_cpu_area;

/* Made again whenever a coefficient becomes uniform or stops being so. */
vly_status vly_cpu_program_make(vly_common_heap *heap,
                                struct vly_cpu_area *area,
                                vly_cpu_run_program *run, vly_error *error);
void vly_cpu_program_free(vly_common_heap *heap, vly_cpu_program *program);
/* Neurons [at, at + n) of the area, n at most VLY_CPU_BLOCK; flags [n]. Sets
 * their inputs to 0. */
void vly_cpu_program_step_block(const struct vly_backend_net *net,
                                const struct vly_cpu_area *area,
                                uint32_t *blocks, uint32_t at, uint32_t n,
                                uint8_t *flags);

#endif
