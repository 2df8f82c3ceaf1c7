/* SPDX-License-Identifier: Apache-2.0
 * The plan of attention on the processor, shared by its two ways: reference
 * (double, plain loops) and blocked (fp32, an online softmax over blocks of
 * keys).
 */
#ifndef VOLLEY_ATTENTION_CPU_H
#define VOLLEY_ATTENTION_CPU_H

#include <volley/attention.h>

#include "accel_common.h"
#include "attention_kernels.h"

typedef struct vly_attention_way vly_attention_way;

struct vly_attention_plan {
    vly_attention_desc desc;
    const vly_attention_way *way;
    const vly_attention_kernels *kernels;
    float scale; /* of the scores; that of fp8 comes with the run */
    uint32_t n_threads;
    uint32_t n_splits; /* blocked: pieces of the keys, joined afterwards */
    uint32_t reserved;
    uint64_t scratch_bytes; /* of a thread */
    uint64_t workspace_bytes;
    uint8_t *scratch; /* [n_threads][scratch_bytes] */
    vly_accel_candidates looked_at;
};

/* Functions of a way. Both get a run that has been checked. */
struct vly_attention_way {
    const char *name;
    /* sets scratch_bytes, workspace_bytes, n_splits and the units */
    void (*plan)(vly_attention_plan *plan, uint64_t *n_units);
    void (*forward)(const vly_attention_plan *plan,
                    const vly_attention_run *run);
    void (*backward)(const vly_attention_plan *plan,
                     const vly_attention_run *run);
};

extern const vly_attention_way vly_attention_reference;
extern const vly_attention_way vly_attention_blocked;

/* ---- work for threads -------------------------------------------------- */

/* Calls body(work, unit, thread) for every unit of [0, n_units) in ascending
 * order of their begin, thread below n_threads. A unit writes only its own
 * results and depends only on the run, so results do not depend on the number
 * of threads. */
void vly_attention_units(uint32_t n_threads, uint64_t n_units,
                         void (*body)(void *work, uint64_t unit,
                                      uint32_t thread),
                         void *work);

#endif
