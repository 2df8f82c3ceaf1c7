/* SPDX-License-Identifier: Apache-2.0
 * One product of suite attention with its buffers.
 */
#ifndef VOLLEY_BENCH_BENCH_ATTENTION_H
#define VOLLEY_BENCH_BENCH_ATTENTION_H

#include "bench_tensor.h"

enum {
    BENCH_Q,
    BENCH_K,
    BENCH_V,
    BENCH_O,
    BENCH_LSE,
    BENCH_GRAD_O,
    BENCH_GRAD_Q,
    BENCH_GRAD_K,
    BENCH_GRAD_V,
    BENCH_PAGES,
    BENCH_SCALES,
    BENCH_N_TENSORS
};

typedef struct bench_attention_plan {
    vly_attention_plan *plan;
    vly_plan_info info;
    void *workspace;
} bench_attention_plan;

typedef struct bench_attention_work {
    const vly_accelerator *accelerator;
    vly_attention_desc desc; /* of the forward run */
    uint32_t sets;
    bench_attention_plan plans[2]; /* forward, backward */
    const bench_attention_plan *timed;
    bench_tensor tensors[BENCH_N_TENSORS];
} bench_attention_work;

/* What set 0 has got, against float64 on some rows of O, or of the gradients
 * (from the O and lse that the backward run was given): sqrt of the sum of
 * squared differences over that of the values.
 * Errors  E_DEVICE it is more than roundings explain */
vly_status bench_attention_compare(bench_attention_work *work, bool backward,
                                   double *relative, vly_error *error);

#endif
