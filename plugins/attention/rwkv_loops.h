/* SPDX-License-Identifier: Apache-2.0
 * The vector loops of volley.rwkv/1, compiled once for each instruction set
 * like those of attention (attention_kernels.h). Each has one order of its
 * sums, whatever other rows are computed with it: a token has the same bits
 * alone, in a batch and in a sequence.
 */
#ifndef VOLLEY_RWKV_LOOPS_H
#define VOLLEY_RWKV_LOOPS_H

#include <stdint.h>

enum {
    VLY_RWKV_PANEL = 16, /* outputs of a product at once */
    VLY_RWKV_GROUP = 128 /* weights of int4 with one scale */
};

/* out[i][j] = sum over k of x[i][k] w[first + j][k], i < n_x, j < n_w. */
typedef struct vly_rwkv_dots {
    const float *const *x; /* [n_x] rows of k elements */
    const void *w;         /* [..][k] of type */
    const float *group;    /* int4: scales of these rows, [n_w][k / 128] */
    float *out;            /* [n_x][16] */
    uint64_t first;
    uint32_t type;
    uint32_t n_x;
    uint32_t n_w; /* 1 to 16 */
    uint32_t k;
} vly_rwkv_dots;

/* One head of one token: second products of the four gates without their
 * biases in w, a and mixed_v, replaced by the inputs of volley.wkv/1. */
typedef struct vly_rwkv_head {
    float r[64];
    float w[64];       /* raw, then wkv_w */
    float k[64];       /* likewise */
    float v[64];       /* likewise */
    float a[64];       /* raw, then wkv_a */
    float b[64];       /* out */
    float mixed_v[64]; /* raw; not read with is_first */
    float v_first[64]; /* likewise */
    float g[64];
    float y[64]; /* of the recurrence, then of finish */
    uint32_t is_first;
    float eps;
    const float *bias_w; /* [64], of this head, as all below */
    const float *bias_a;
    const float *bias_v;
    const float *k_k;
    const float *k_a;
    const float *r_k;
    const float *group_weight;
    const float *group_bias;
} vly_rwkv_head;

typedef struct vly_rwkv_loops {
    void (*dots)(const vly_rwkv_dots *dots);
    /* n weights of any type from element `at` on, as fp32; group: scales of
     * the row's groups of int4, from its first */
    void (*unpack)(uint32_t type, const void *w, uint64_t at, uint32_t n,
                   const float *group, float *to);
    /* fp32 to fp32, fp16 or bf16; any n, to is aligned to its elements */
    void (*save)(uint32_t type, const float *from, uint32_t n, void *to);
    /* y[i] = f(y[i]), VLY_RWKV_IDENTITY ...; n a multiple of 16 */
    void (*activate)(uint32_t activation, float *y, uint32_t n);
    /* LN over n, a multiple of 64 */
    void (*norm)(const float *x, uint32_t n, float eps, const float *weight,
                 const float *bias, float *y);
    /* y = now + (before - now) * mix */
    void (*lerp)(const float *now, const float *before, const float *mix,
                 uint32_t n, float *y);
    void (*prepare)(vly_rwkv_head *head);
    void (*finish)(vly_rwkv_head *head);
} vly_rwkv_loops;

#endif
