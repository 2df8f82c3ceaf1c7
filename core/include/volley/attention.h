/* SPDX-License-Identifier: Apache-2.0
 * volley.attention/1: scaled dot-product attention, forward and backward.
 *
 *   S = scale * Q K^T, masked;  P = softmax(S);  O = P V;  lse = log sum exp S
 *
 * A query head h uses key head h / (heads_q / heads_kv). Element (batch b,
 * position s, head h, i) of a tensor is x[b * batch + s * seq + h * head + i],
 * so [batch][seq][heads][dim] and [batch][heads][seq][dim] are both possible. A
 * query that sees no key, or whose scores are all -inf, gives O = 0, lse = -inf
 * and no gradient.
 *
 * NaN and infinities: keys that a query does not see do not affect its row of
 * S, whatever they hold. A score that is NaN or +inf makes all of its row of O
 * NaN, and its lse NaN or +inf. A value that is not finite makes O NaN or
 * infinite for queries that see it, and may make it NaN for queries of its
 * sequence that do not see it (0 * NaN); values after a sequence's end are
 * never read.
 */
#ifndef VOLLEY_ATTENTION_H
#define VOLLEY_ATTENTION_H

#include <volley/accelerator.h>

#ifdef __cplusplus
extern "C" {
#endif

#define VLY_ATTENTION_INTERFACE "volley.attention/1"

enum {
    VLY_ATTENTION_BACKWARD = 1u, /* the plan is of the gradients */
    /* query i of n_q sees key j of n_kv only where j <= i (top left), or where
     * j - n_kv <= i - n_q (bottom right); n_q and n_kv are this sequence's
     * lengths */
    VLY_ATTENTION_CAUSAL = 2u,
    VLY_ATTENTION_CAUSAL_END = 4u,
    VLY_ATTENTION_LSE = 8u,             /* forward: lse is written */
    VLY_ATTENTION_LENGTHS = 16u,        /* length_q and length_kv are given */
    VLY_ATTENTION_PACKED = 32u,         /* start_q and start_kv are given; not
                                           with LENGTHS or PAGED */
    VLY_ATTENTION_PAGED = 64u,          /* K and V are stored in pages; forward
                                         * only */
    VLY_ATTENTION_DETERMINISTIC = 128u, /* backward: the same bits every time */
    /* fp8: all numbers of scale_q are equal, likewise of scale_k and of
     * scale_v, so libraries with one scale a tensor can be used */
    VLY_ATTENTION_SAME_SCALES = 256u,
};

enum { VLY_ATTENTION_NO_WINDOW = -1 };

/* Elements between neighbours; the innermost dimension is contiguous. With
 * VLY_ATTENTION_PACKED batch is not used: sequence b begins at position
 * start[b]. With VLY_ATTENTION_PAGED batch is the step from page to page. */
typedef struct vly_attention_layout {
    uint64_t batch;
    uint64_t seq;
    uint64_t head;
} vly_attention_layout;
VLY_SEAL(vly_attention_layout, 24);

typedef struct vly_attention_desc {
    uint32_t struct_size;
    uint32_t flags;  /* VLY_ATTENTION_* */
    uint32_t type;   /* of Q, K, V: fp32, fp16, bf16, fp8 (forward only) */
    uint32_t type_o; /* of O and of all gradients; fp8 inputs: fp8, fp16 or
                      * bf16; otherwise as type */
    uint32_t batch;
    uint32_t heads_q;
    uint32_t heads_kv; /* divides heads_q */
    uint32_t seq_q;    /* the longest, below 2^31; 1 is decoding */
    uint32_t seq_kv;
    uint32_t dim;         /* of Q and K: 8 to 256, a multiple of 8 */
    uint32_t dim_v;       /* of V and O, likewise */
    int32_t window_left;  /* keys before its own that a query sees, besides its
                             own, which is as in the causal masks (top left if
                             there is none); VLY_ATTENTION_NO_WINDOW: all */
    int32_t window_right; /* the same for keys after its own */
    uint32_t page_size;   /* positions in a page: 16 or 64 */
    uint32_t pages_most;  /* of a sequence: the row of a page table */
    float scale;          /* 0: 1 / sqrt(dim) */
    uint32_t align;       /* as in vly_gemm_desc */
    uint32_t pages; /* paged: total number of pages of K and V, more than any
                     * number in a page table; 0: not known */
    vly_attention_layout q;
    vly_attention_layout k;
    vly_attention_layout v;
    vly_attention_layout o;  /* a gradient has the layout of its tensor */
    uint64_t workspace_most; /* bytes that a plan may ask for */
} vly_attention_desc;
VLY_SEAL(vly_attention_desc, 176);

/* Pointers of the device; those that the flags do not request are NULL.
 * lse         [batch][heads_q][seq_q] fp32, natural logarithm; packed:
 *             [heads_q][start_q[batch]]. Written forward, read backward.
 * length_*    [batch] int32, 0 to seq_*: positions that exist; later positions
 *             are neither read nor, for O, lse and gradients, written
 * start_*     [batch + 1] int32, from 0, ascending, by at most seq_*
 * page_table  [batch][pages_most] int32: pages of K and V, the same for both
 * scale_*     [batch][heads_kv] fp32, of fp8: stored * scale is the value;
 *             scale_o [1]: factor of O before it becomes fp8
 * Nothing overlaps an output; parts of one block may interleave. The numbers in
 * length_*, start_* and page_table are checked by plugins of the processor only
 * (E_INVALID). */
typedef struct vly_attention_run {
    uint32_t struct_size;
    uint32_t reserved; /* 0 */
    const void *q;
    const void *k;
    const void *v;
    void *o; /* backward: read */
    void *lse;
    const void *grad_o;
    void *grad_q;
    void *grad_k;
    void *grad_v;
    const void *length_q;
    const void *length_kv;
    const void *start_q;
    const void *start_kv;
    const void *page_table;
    const void *scale_q;
    const void *scale_k;
    const void *scale_v;
    const void *scale_o;
    void *workspace;
    uint64_t workspace_bytes;
    void *stream;
} vly_attention_run;
VLY_SEAL(vly_attention_run, 176);

typedef struct vly_attention_plan vly_attention_plan; /* the plugin's own */

/* As in vly_gemm: supports and plan_create are [any-thread], a plan belongs to
 * one thread at a time, run puts work into the stream and can be part of a
 * graph. */
typedef struct vly_attention {
    uint32_t struct_size;
    uint32_t flags; /* 0 */
    vly_status (*supports)(const vly_attention_desc *desc, vly_error *error);
    vly_status (*plan_create)(const vly_device_spec *device,
                              const vly_attention_desc *desc,
                              vly_attention_plan **plan, vly_error *error);
    void (*plan_destroy)(vly_attention_plan *plan); /* NULL is legal */
    vly_status (*plan_info)(const vly_attention_plan *plan, vly_plan_info *info,
                            vly_error *error);
    vly_status (*run)(vly_attention_plan *plan, const vly_attention_run *run,
                      vly_error *error);
    /* [optional] as in vly_gemm */
    vly_status (*plan_candidate)(const vly_attention_plan *plan, uint32_t index,
                                 vly_plan_candidate *candidate, uint32_t *n,
                                 vly_error *error);
    void *reserved[7]; /* NULL */
} vly_attention;
VLY_SEAL(vly_attention, 112);

#ifdef __cplusplus
}
#endif
#endif
