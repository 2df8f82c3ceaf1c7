/* SPDX-License-Identifier: Apache-2.0
 * The plan of volley.rwkv/1 on the processor, shared by its operations. A unit
 * of work writes only its own results, and the sums of each value have one
 * order: no bit depends on threads, on the other rows of a run, or on the
 * number of calls for a sequence.
 */
#ifndef VOLLEY_RWKV_CPU_H
#define VOLLEY_RWKV_CPU_H

#include <volley/rwkv.h>

#include "attention_kernels.h"

enum {
    VLY_RWKV_CHUNK = 16, /* rows of a unit */
};

struct vly_rwkv_plan {
    vly_rwkv_desc desc;
    const vly_attention_kernels *kernels;
    const vly_rwkv_loops *loops;
    uint32_t n_threads;
    uint32_t n_rows; /* of this run, without rows after a length */
    uint32_t *rows;  /* [batch * seq] their numbers, ascending */
    uint64_t scratch_floats;
    float *scratch; /* [n_threads][scratch_floats] */
    float *shared;  /* PRODUCTS: x as fp32; MIX: the previous last */
};

/* ---- the operations: rwkv_cpu_rows.c, _products.c, _heads.c ------------- */

/* Floats per thread, and floats shared by all threads. */
typedef struct vly_rwkv_needs {
    uint64_t thread;
    uint64_t shared;
    double work; /* unit: about 50 us of a thread */
} vly_rwkv_needs;

typedef struct vly_rwkv_operation {
    void (*needs)(const vly_rwkv_desc *desc, vly_rwkv_needs *needs);
    /* the run has been checked, plan->rows is set */
    void (*run)(const vly_rwkv_plan *plan, const vly_rwkv_run *run);
} vly_rwkv_operation;

extern const vly_rwkv_operation vly_rwkv_cpu_embed;
extern const vly_rwkv_operation vly_rwkv_cpu_mix;
extern const vly_rwkv_operation vly_rwkv_cpu_products;
extern const vly_rwkv_operation vly_rwkv_cpu_activate;
extern const vly_rwkv_operation vly_rwkv_cpu_heads; /* prepare finish step */
extern const vly_rwkv_operation vly_rwkv_cpu_add;
extern const vly_rwkv_operation vly_rwkv_cpu_norm;

/* ---- for them ---------------------------------------------------------- */

static inline float *vly_rwkv_scratch(const vly_rwkv_plan *plan,
                                      uint32_t thread)
{
    return plan->scratch + thread * plan->scratch_floats;
}

/* tokens of a sequence in this run */
static inline uint32_t vly_rwkv_tokens(const vly_rwkv_plan *plan,
                                       const vly_rwkv_run *run, uint32_t batch)
{
    if (!(plan->desc.flags & VLY_RWKV_LENGTHS))
        return plan->desc.seq;
    return (uint32_t)((const int32_t *)run->length)[batch];
}

/* Calls body for chunks of 16 rows of plan->rows, times `times` (heads). */
void vly_rwkv_chunks(const vly_rwkv_plan *plan, uint64_t times,
                     void (*body)(void *work, uint64_t unit, uint32_t thread),
                     void *work);
/* Element `at` of an array of fp32, fp16 or bf16. */
const void *vly_rwkv_at(uint32_t type, const void *array, uint64_t at);
void *vly_rwkv_at_out(uint32_t type, void *array, uint64_t at);

#endif
