/* SPDX-License-Identifier: Apache-2.0
 * Maps that learn and maps with short-term plasticity in plan global:
 * structures on the device and launchers. learner_kernels.h is for maps that
 * learn in plan resident.
 */
#ifndef VOLLEY_CUDA_LEARNING_KERNELS_H
#define VOLLEY_CUDA_LEARNING_KERNELS_H

#include "cuda_kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- burst_learning.cu -------------------------------------------------- */

/* The order of kernels/rules/plasticity.def. */
enum {
#define VLY_EACH_PLASTICITY(id) VLY_CUDA_RULE_##id,
#include "kernels/rules/plasticity.def"
    VLY_CUDA_N_RULES,
    VLY_CUDA_RULE_USERS = VLY_CUDA_N_RULES, /* every rule of a user */
    /* what else a net may need of a kernel (learning_needs.cuh) */
    VLY_CUDA_NEEDS_WINDOWS,
    VLY_CUDA_NEEDS_SHORT_TERM,
    VLY_CUDA_N_NEEDS
};
#define VLY_CUDA_RULE_COEFS 8u

/* A step of a user's rule: an operation on places. A place is a slot of the
 * thread, of which the first five have the weight and the traces, or with
 * RULE_NUMBER a number. Those not read are valid, too. */
#define VLY_CUDA_RULE_NUMBER 0x8000u
#define VLY_CUDA_RULE_STEPS 128u /* of a function */
/* Live at a time are 5 fields and n values. Each of these took a step, and a
 * step leaves at most two fewer: n + (n - 1) / 2 is at most STEPS, n at most
 * 85. */
#define VLY_CUDA_RULE_SLOTS 90u
typedef struct vly_cuda_rule_step {
    uint8_t code; /* of vly_program_code */
    uint8_t slot; /* of its result */
    uint16_t a;
    uint16_t b;
    uint16_t c;
} vly_cuda_rule_step;

/* Its functions: [0] at an arrival, [1] at a spike of the target. */
typedef struct vly_cuda_rule_program {
    vly_cuda_rule_step steps[2][VLY_CUDA_RULE_STEPS];
    uint32_t numbers[2][VLY_CUDA_RULE_STEPS];
} vly_cuda_rule_program;

/* The words of the coefficients, where a user's rule has them: a union would
 * change the code of built-in rules (nvcc 13.0 copies it in other parts). */
typedef struct vly_cuda_users_rule {
    vly_cuda_rule_program *program; /* on the device */
    uint32_t n_steps[2];
    uint32_t result[2]; /* place of the change; UINT32_MAX: there is none */
    uint32_t most;
    uint32_t reserved;
} vly_cuda_users_rule;

/* Flags of vly_learning_desc. */
#define VLY_CUDA_LEARNING_DENDRITIC 2u
#define VLY_CUDA_LEARNING_NEAREST 4u
#define VLY_CUDA_LEARNING_FROZEN 8u
#define VLY_CUDA_LEARNING_WINDOW 16u
/* not a flag of the ABI: FEAGI targets */
#define VLY_CUDA_LEARNING_GAIN (1u << 31)
/* What is longer ago than the first gets the second as its age. */
#define VLY_CUDA_AGE_PERIOD (1u << 29)
#define VLY_CUDA_AGE_NEVER (1u << 30)

/* x k bursts after its spike is x * factor[k]: the numbers of vly_trace_at. A
 * table that ends at `bursts` has a 0 there, for all later ones. */
#define VLY_CUDA_FACTORS (1u << 16) /* of a table at most */
typedef struct vly_cuda_trace {
    const float *factor; /* [last + 1] */
    uint32_t last;       /* bursts, or FACTORS - 1 if that is less */
    float rate;
    uint32_t bursts; /* 0: the rule does not have it */
    uint32_t reserved;
} vly_cuda_trace;

/* The two words of a modulator in a snapshot. */
typedef struct vly_cuda_modulator {
    float value;
    uint32_t age;
} vly_cuda_modulator;

#define VLY_CUDA_NEWEST 12u

/* What nearly all synapses need of a target. Half of them need no more than the
 * first four bursts and the last 16 bytes. */
typedef struct vly_cuda_newest {
    uint32_t burst[VLY_CUDA_NEWEST]; /* of the last spikes, newest first */
    float after[2];                  /* traces y after the newest */
    uint32_t count;                  /* spikes so far, modulo 2^32 */
    uint32_t reserved;
} vly_cuda_newest;

/* A projection that learns; arrays as in vly_common_traces, on the device. */
typedef struct vly_cuda_learning {
    const uint64_t *row;    /* [n_sources + 1] */
    const uint32_t *target; /* global ids */
    int32_t *master;
    uint32_t *arrived;       /* [n_sources] */
    float *before[2];        /* [n_sources], or NULL */
    vly_cuda_newest *newest; /* [n_targets] */
    uint32_t *post;          /* [n_targets][mask + 1] */
    float *post_before[2];   /* or NULL */
    uint32_t *flushed;       /* [1] burst up to which all rows are up to date */
    uint32_t *full;          /* [1] burst that begins with a flush */
    /* WINDOW, of sources and targets; the arrays of spikes and traces are NULL
     */
    uint32_t *runs[2]; /* [n][2] run and last burst of each neuron */
    uint32_t *recent;  /* [2] burst of the newest spike */
    vly_cuda_trace source[2];
    vly_cuda_trace target_trace[2];
    uint32_t coefs[VLY_CUDA_RULE_COEFS];
    uint32_t rule; /* VLY_CUDA_RULE_* */
    uint32_t flags;
    uint32_t source_first;
    uint32_t n_sources;
    uint32_t target_first;
    uint32_t n_targets;
    uint32_t base_delay;
    uint32_t lag;
    uint32_t reach;
    uint32_t mask;
    uint32_t port;
    uint32_t sign; /* 1, or -1 modulo 2^32 */
    uint32_t shift;
    uint32_t most_parts; /* of a row: a warp each */
    uint32_t window;     /* D of a rule of windows */
    /* rules with an eligibility; otherwise interval is 0, pointers NULL */
    uint32_t interval; /* bursts */
    uint32_t modulator_first;
    uint32_t n_modulator;
    vly_cuda_trace modulator_trace;
    int32_t *eligibility;          /* [synapses] */
    vly_cuda_modulator *modulator; /* [1] */
} vly_cuda_learning;

/* The order of kernels/rules/short_term.def. */
enum {
#define VLY_EACH_SHORT_TERM(id) VLY_CUDA_SHORT_##id,
#include "kernels/rules/short_term.def"
    VLY_CUDA_N_SHORT_RULES
};

/* A source of a map with short-term plasticity, in 16 bytes. */
typedef struct vly_cuda_source {
    float x;
    float u;
    float y;
    uint32_t last; /* burst of its last spike */
} vly_cuda_source;

/* A projection with short-term plasticity. */
typedef struct vly_cuda_short_term {
    const uint64_t *row;    /* [n_sources + 1] */
    const uint32_t *target; /* global ids */
    const int16_t *weight;  /* NULL: all are one_weight */
    const uint8_t *delay;   /* NULL: all 0 */
    vly_cuda_source *head;  /* [n_sources] after the spikes that arrived */
    vly_cuda_source *tail;  /* [n_sources] after those not under way any more */
    uint32_t coefs[VLY_CUDA_RULE_COEFS];
    uint32_t rule; /* VLY_CUDA_SHORT_* */
    uint32_t bursts;
    uint32_t source_first;
    uint32_t n_sources;
    uint32_t base_delay;
    uint32_t reach; /* base_delay and the largest further delay */
    uint32_t port;  /* 2: by sign */
    uint32_t shift;
    uint32_t most_parts; /* of a row: a warp each */
    int32_t one_weight;
} vly_cuda_short_term;

typedef struct vly_cuda_learnings {
    const vly_cuda_learning *list;         /* [n] on the device */
    const vly_cuda_short_term *short_term; /* [n_short] on the device */
    uint32_t n;
    uint32_t n_short;
} vly_cuda_learnings;

/* As vly_cuda_launch_global. */
cudaError_t vly_cuda_launch_learning(const vly_cuda_view *view,
                                     const vly_cuda_launch *launch,
                                     const vly_cuda_learnings *learnings,
                                     uint32_t n_blocks, cudaStream_t stream);
/* Brings all synapses up to date at `burst`. At least once in 2^28 bursts. */
cudaError_t vly_cuda_launch_learning_flush(const vly_cuda_learnings *learnings,
                                           uint64_t burst, uint32_t n_blocks,
                                           cudaStream_t stream);
/* burst_rules.cu: both for nets in which maps learn by rules of users. */
cudaError_t vly_cuda_launch_rules(const vly_cuda_view *view,
                                  const vly_cuda_launch *launch,
                                  const vly_cuda_learnings *learnings,
                                  uint32_t n_blocks, cudaStream_t stream);
cudaError_t vly_cuda_launch_rules_flush(const vly_cuda_learnings *learnings,
                                        uint64_t burst, uint32_t n_blocks,
                                        cudaStream_t stream);
/* short_term.cu, between launches: the head becomes the tail; the events of the
 * spikes of burst `fired` that arrive in `burst` or later are delivered (sign
 * 1) or taken away (-1), and the head goes on; ages are renewed, at least once
 * in 2^28 bursts. */
cudaError_t vly_cuda_launch_short_term_reset(const vly_cuda_short_term *s,
                                             cudaStream_t stream);
cudaError_t vly_cuda_launch_short_term_again(const vly_cuda_view *view,
                                             const vly_cuda_short_term *s,
                                             uint64_t burst, uint64_t fired,
                                             uint32_t sign,
                                             cudaStream_t stream);
cudaError_t vly_cuda_launch_short_term_renew(const vly_cuda_short_term *s,
                                             uint64_t burst,
                                             cudaStream_t stream);
/* *sum += hashes of words [0, n), which are words [at, at + n) of the weights
 * of a snapshot */
cudaError_t vly_cuda_launch_weights_digest(const uint32_t *words, uint64_t n,
                                           uint64_t at, uint64_t *sum,
                                           cudaStream_t stream);

/* ---- learning_taken.cu -------------------------------------------------- */

/* The spikes of other ranks in the bursts [burst, burst + n_bursts), which are
 * in the log: traces of sources and targets remember them. */
cudaError_t vly_cuda_launch_taken(const vly_cuda_view *view,
                                  const vly_cuda_learnings *learnings,
                                  uint64_t burst, uint32_t n_bursts,
                                  cudaStream_t stream);

/* ---- modulator.cu: eligibilities, between launches --------------------- */

/* A value of the host for a modulator. */
typedef struct vly_cuda_given {
    uint64_t burst;
    uint32_t number; /* of the map among those that learn */
    int32_t value;
} vly_cuda_given;

/* Weights of the maps whose interval divides the burst change; all maps are
 * flushed. */
cudaError_t vly_cuda_launch_sweep(const vly_cuda_learnings *learnings,
                                  uint64_t burst, uint32_t n_blocks,
                                  cudaStream_t stream);
/* After a launch that keeps its spikes: all modulators at its end. given
 * [n_given] on the device, sorted by burst. */
cudaError_t vly_cuda_launch_modulators(const vly_cuda_view *view,
                                       const vly_cuda_learnings *learnings,
                                       const vly_cuda_launch *launch,
                                       const vly_cuda_given *given,
                                       uint32_t n_given, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
