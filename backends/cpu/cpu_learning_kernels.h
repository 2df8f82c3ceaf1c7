/* SPDX-License-Identifier: Apache-2.0
 * The loops over the synapses of plastic rows, compiled once for each
 * instruction set. All give the same bits.
 *
 * Bursts are counted modulo 2^32: what happened is less than 2^31 bursts ago
 * (cpu_learning.c takes care of it). "Age" is the burst to come minus a burst;
 * a spike of a target that is still on its way in a dendrite has one below 0.
 */
#ifndef VOLLEY_CPU_LEARNING_KERNELS_H
#define VOLLEY_CPU_LEARNING_KERNELS_H

#include <stdint.h>

#include "backends/common/common_traces.h"
#include "kernels/rules/plasticity_rules.h"
#include "kernels/rules/rule_program.h"

/* x k bursts after its spike is x * factor[k], and 0 from `bursts` on. */
typedef struct vly_cpu_decay {
    const float *factor; /* [n + 1]; factor[n] is 0, for vector loops */
    uint32_t n;      /* at most `bursts`; if less, later ones are computed */
    uint32_t bursts; /* 0: the rule has no such trace */
    float rate;
} vly_cpu_decay;

/* Last spikes of each target: a ring of `mask` + 1 entries. */
typedef struct vly_cpu_posts {
    uint32_t mask;
    const vly_common_newest *newest; /* [n_targets] */
    const float *newest_before[2];   /* [n_targets] trace before the newest */
    const uint32_t *count;  /* [n_targets] spikes so far, modulo 2^32 */
    const uint32_t *burst;  /* [n_targets][mask + 1] */
    const float *before[2]; /* [n_targets][mask + 1] trace before each spike */
} vly_cpu_posts;

/* What the rows of a projection have in common in one burst. */
typedef struct vly_cpu_rows {
    const uint32_t *target; /* of all rows */
    const uint8_t *recent;  /* [n_targets], for fold_recent */
    int32_t *master;        /* what the rule changes */
    const int32_t *weight;  /* what is delivered */
    const uint32_t *coefs;
    vly_cpu_posts posts;
    vly_cpu_decay source[2];
    vly_cpu_decay target_decay[2];
    uint32_t first; /* of the target area */
    uint32_t burst; /* to come */
    uint32_t dendritic;
    uint32_t nearest;
    uint32_t *input; /* of the target area's port, in this burst */
    uint32_t sign;   /* 1, or -1 modulo 2^32 */
    uint32_t shift;
} vly_cpu_rows;

/* One row, or a part of it: synapses [begin, end). */
typedef struct vly_cpu_learning_row {
    uint64_t begin;
    uint64_t end;
    uint32_t arrived; /* age of the last arrival */
    /* spikes of targets with ages in [youngest, oldest] are not folded in */
    int32_t youngest;
    int32_t oldest;
    float before[2]; /* trace before the last arrival */
    float after[2];
} vly_cpu_learning_row;

/* Folds spikes of targets into the weights. */
typedef void vly_cpu_fold(const vly_cpu_rows *rows,
                          const vly_cpu_learning_row *row);
/* The same; then the arrival of a spike in the burst to come, which is
 * delivered. x: traces of the source before it. */
typedef void vly_cpu_arrive(const vly_cpu_rows *rows,
                            const vly_cpu_learning_row *row, const float *x);

/* Rules of windows: what all synapses of a projection read in one burst. */
typedef struct vly_cpu_window_rows {
    const uint32_t *target;
    int32_t *master;
    const uint32_t *coefs;
    const float *source_state;
    const float *target_state;
    uint32_t first; /* of the target area */
} vly_cpu_window_rows;

/* Synapses [begin, end) of one source, whose state is x. */
typedef void vly_cpu_window_row(const vly_cpu_window_rows *rows, uint64_t begin,
                                uint64_t end, float x);
/* n synapses of one target, whose state is y, unless the state of the source
 * is not 0: then it is done. */
typedef void vly_cpu_window_column(const vly_cpu_window_rows *rows,
                                   const uint32_t *synapse,
                                   const uint32_t *source, uint32_t n, float y);

enum {
#define VLY_EACH_PLASTICITY(id) VLY_CPU_RULE_##id,
#include "kernels/rules/plasticity.def"
    VLY_CPU_RULE_program, /* of a user: without windows and eligibilities */
    VLY_CPU_N_RULES
};

typedef struct vly_cpu_learning_kernels {
    vly_cpu_fold *fold[VLY_CPU_N_RULES];
    /* the same if only targets with rows->recent have such spikes */
    vly_cpu_fold *fold_recent[VLY_CPU_N_RULES];
    vly_cpu_arrive *arrive[VLY_CPU_N_RULES];
    vly_cpu_window_row *window_row[VLY_CPU_N_RULES];
    vly_cpu_window_column *window_column[VLY_CPU_N_RULES];
    /* n eligibilities become weights by the modulator d, and fade. */
    void (*sweep[VLY_CPU_N_RULES])(const uint32_t *coefs, float d,
                                   int32_t *restrict weight,
                                   int32_t *restrict eligibility, uint64_t n);
    /* delivers the row; the weights do not change */
    void (*deliver)(const vly_cpu_rows *rows, const vly_cpu_learning_row *row);
} vly_cpu_learning_kernels;

extern const vly_cpu_learning_kernels vly_cpu_learning_kernels_scalar;
#if defined(VLY_CPU_X86)
extern const vly_cpu_learning_kernels vly_cpu_learning_kernels_avx2;
extern const vly_cpu_learning_kernels vly_cpu_learning_kernels_avx512;
#endif

/* factor of a trace after k bursts */
static inline float vly_cpu_decayed(const vly_cpu_decay *decay, uint32_t k)
{
    if (k < decay->n)
        return decay->factor[k];
    return vly_trace_at(1.0f, k, decay->rate, decay->bursts);
}

#endif
