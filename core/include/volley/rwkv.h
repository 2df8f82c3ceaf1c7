/* SPDX-License-Identifier: Apache-2.0
 * volley.rwkv/1: the operations of RWKV-7 around its matrix products and its
 * recurrence (volley/wkv.h), one operation a plan.
 *
 * Rows are tokens: [batch][seq], dense. The residual stream x is fp32; inputs
 * and outputs of products have `type`; vectors (biases, mixing and norm
 * weights) are fp32. Sums are kept in fp32, a value is rounded once, when it is
 * stored. With the names of vly_rwkv_run:
 *
 *   EMBED     x = table[token]; with NORM: x = LN(table[token])
 *   MIX       n = LN(x); d = n(token before) - n; mixed_i = n + d * mix_i
 *             of the first token of a sequence, n(token before) is `last`; then
 *             `last` is n of the last token
 *   PRODUCTS  y_i = f_i(W_i x_i), or y_i += f_i(W_i x_i) with ADD, all in one
 *   ACTIVATE  lora_w = tanh(lora_w), lora_g = sigmoid(lora_g), in place
 *   PREPARE   w, a, v', g = lora_*, or with LORA the products matrix_* lora_*;
 *             z  = bias_w + w;  decay = exp(-exp(wkv_w)) is
 *             exp(-exp(-1/2) sigmoid(z)):  wkv_w = -log(1 + exp(-z)) - 1/2
 *             i  = sigmoid(bias_a + a)
 *             kk = k * k_k, then by head kk / max(|kk|, 1e-12)
 *             wkv_r = r;  wkv_k = k * (1 + (i - 1) * k_a)
 *             wkv_v = v + (v_first - v) * sigmoid(bias_v + v')
 *             wkv_a = -kk;  wkv_b = kk * i
 *             with FIRST (the first layer): wkv_v = v, and v_first = v
 *   FINISH    y = (GN(wkv_y) + wkv_v * sum(wkv_r wkv_k r_k)) * g, by head
 *   STEP      PREPARE, one token of volley.wkv/1 and FINISH, seq 1
 *   ADD       x += y
 *   NORM      y = LN(x); with LAST: of the last token of each sequence only
 *
 *   LN(x) = (x - mean) / sqrt(variance + eps) * norm_weight + norm_bias, over
 *   width; GN the same over each head's 64, with group_weight and group_bias.
 *
 * A model is EMBED, then for each layer MIX (6), PRODUCTS (r k v w1 a1 v1 g1),
 * STEP with LORA, PRODUCTS (output, ADD), MIX (1), PRODUCTS (key, RELU2),
 * PRODUCTS (value, ADD): seven launches; then NORM and the head. For many
 * tokens products are volley.gemm/1's, ACTIVATE, PREPARE, volley.wkv/1 and
 * FINISH replace STEP, and ADD is beta = 1 or a separate operation.
 *
 * Source   Peng et al. 2025, arXiv:2503.14456
 */
#ifndef VOLLEY_RWKV_H
#define VOLLEY_RWKV_H

#include <volley/accelerator.h>

#ifdef __cplusplus
extern "C" {
#endif

#define VLY_RWKV_INTERFACE "volley.rwkv/1"

/* X(name, value, text). All but STEP and PRODUCTS are always offered; those two
 * may be E_UNSUPPORTED, in general or for a shape. */
#define VLY_RWKV_OP_TABLE(X)                                                   \
    X(EMBED, 0, "embed")                                                       \
    X(MIX, 1, "mix")                                                           \
    X(PRODUCTS, 2, "products")                                                 \
    X(ACTIVATE, 3, "activate")                                                 \
    X(PREPARE, 4, "prepare")                                                   \
    X(FINISH, 5, "finish")                                                     \
    X(STEP, 6, "step")                                                         \
    X(ADD, 7, "add")                                                           \
    X(NORM, 8, "norm")

enum {
#define VLY_RWKV_OP_ENUM(name, value, text) VLY_RWKV_##name = (value),
    VLY_RWKV_OP_TABLE(VLY_RWKV_OP_ENUM)
#undef VLY_RWKV_OP_ENUM
        VLY_RWKV_N_OPS = 9
};

/* Flags; an operation refuses flags that do not apply to it. */
enum {
    VLY_RWKV_LENGTHS = 1u,   /* all: length is given */
    VLY_RWKV_FIRST = 2u,     /* PREPARE, STEP: v_first is written */
    VLY_RWKV_LORA = 4u,      /* PREPARE, STEP: the second products as well */
    VLY_RWKV_WITH_NORM = 8u, /* EMBED: norm_weight and norm_bias are applied */
    VLY_RWKV_LAST = 16u,     /* NORM: y is [batch][width] */
};

/* f of a product */
enum {
    VLY_RWKV_IDENTITY = 0,
    VLY_RWKV_RELU2 = 1, /* max(x, 0)^2 */
    VLY_RWKV_TANH = 2,
    VLY_RWKV_SIGMOID = 3,
};

enum {
    VLY_RWKV_PRODUCT_ADD = 1u, /* y += f(W x): y is fp32 */
};

enum { VLY_RWKV_MOST_PRODUCTS = 8, VLY_RWKV_DIM = 64 };

/* x [rows][k] of desc.type; W [n][k]; y [rows][n].
 * Weights are fp32, fp16 or bf16; int8 with a scale a row, [n]; int4 with a
 * scale for each 128 of a row, [n][k/128], k a multiple of 128, stored as in
 * volley/gemm.h. Scales have desc.type. fp32 x takes all of them; fp16 takes
 * fp16, int8 and int4, bf16 takes bf16, int8 and int4. */
typedef struct vly_rwkv_product {
    uint32_t n;
    uint32_t k;
    uint32_t type;       /* of W: VLY_ELEMENT_* */
    uint32_t type_y;     /* desc.type or fp32 */
    uint32_t activation; /* f */
    uint32_t flags;      /* VLY_RWKV_PRODUCT_* */
} vly_rwkv_product;
VLY_SEAL(vly_rwkv_product, 24);

/* Members that an operation does not use are 0 or ignored. */
typedef struct vly_rwkv_desc {
    uint32_t struct_size;
    uint32_t op;          /* VLY_RWKV_* */
    uint32_t flags;       /* VLY_RWKV_LENGTHS ... */
    uint32_t type;        /* fp32, fp16, bf16 */
    uint32_t type_wkv;    /* of wkv_*: fp32 or type; PREPARE, FINISH. STEP keeps
                             its values in fp32 */
    uint32_t type_matrix; /* of table and matrix_*: fp32, fp16, bf16 */
    uint32_t batch;
    uint32_t seq;        /* tokens, the most */
    uint32_t width;      /* a multiple of 64: heads * 64 */
    uint32_t n_mix;      /* MIX: 6 (r w k v a g) or 1 */
    uint32_t vocabulary; /* EMBED: rows of table */
    uint32_t n_products; /* PRODUCTS: 1 to 8 */
    uint32_t rank[4]; /* of w, a, v, g: ACTIVATE (w and g), LORA; any from 1 */
    float eps;        /* LN, GN: above 0 */
    uint32_t align;   /* as in vly_gemm_desc */
    uint64_t workspace_most;
    vly_rwkv_product product[VLY_RWKV_MOST_PRODUCTS];
} vly_rwkv_desc;
VLY_SEAL(vly_rwkv_desc, 272);

/* Pointers of the device; those that an operation does not use are ignored. R
 * is batch * seq rows. Outputs overlap no other array, with these exceptions:
 * state_out may be state_in; wkv_r, wkv_k and wkv_v of PREPARE may be r, k and
 * v where type_wkv is type; y of FINISH and STEP may be g.
 * length [batch] int32: tokens of each sequence, 0 to seq. Later rows are not
 * read and not written; a sequence of 0 tokens keeps last and state (is copied
 * from state_in to state_out), and its row of NORM with LAST is not written. On
 * a device the call does not check the values of length and token: a length is
 * clamped to 0 to seq, and the row of a token outside the table is NaN. */
typedef struct vly_rwkv_run {
    uint32_t struct_size;
    uint32_t reserved; /* 0 */
    const void *token; /* EMBED     [R] int32 */
    const void *table; /*           [vocabulary][width] type_matrix */
    void *x;           /* EMBED out, ADD in and out, MIX NORM in: [R][width]
                          fp32 */
    const void *norm_weight; /* EMBED MIX NORM  [width] fp32 */
    const void *norm_bias;   /* likewise */
    const void *mix;         /* MIX  [n_mix][width] fp32 */
    void *last;              /* MIX  [batch][width] fp32, in and out */
    void *mixed;             /* MIX  [n_mix][R][width] type, out */
    const void *r;           /* PREPARE STEP  [R][width] type */
    const void *k;
    const void *v;
    void *lora_w; /* PREPARE STEP  [R][width] type; LORA and ACTIVATE (w, g:
                     in and out): [R][rank] type. Not lora_v with FIRST */
    void *lora_a;
    void *lora_v;
    void *lora_g;         /* LORA, ACTIVATE only */
    const void *matrix_w; /* LORA  [width][rank] type_matrix */
    const void *matrix_a;
    const void *matrix_v; /* not with FIRST */
    const void *matrix_g;
    const void *bias_w; /* PREPARE STEP  [width] fp32 */
    const void *bias_a;
    const void *bias_v; /* not with FIRST */
    const void *k_k;
    const void *k_a;
    void *v_first; /* PREPARE STEP  [R][width] type; out with FIRST, else in */
    void *wkv_r; /* PREPARE out, FINISH in (r, k, v, y): [R][width] type_wkv */
    void *wkv_w;
    void *wkv_k;
    void *wkv_v;
    void *wkv_a;
    void *wkv_b;
    const void *wkv_y;        /* FINISH in */
    void *g;                  /* PREPARE with LORA out; FINISH, and STEP without
                                 LORA, in: [R][width] type */
    const void *r_k;          /* FINISH STEP  [width] fp32 */
    const void *group_weight; /* likewise */
    const void *group_bias;
    const void *state_in; /* STEP  [batch][heads][64][64] fp32; NULL: zeros */
    void *state_out;
    void *y; /* FINISH STEP NORM out, ADD in: [R][width] type */
    const void *length;
    void *workspace;
    uint64_t workspace_bytes;
    void *stream;
    const void *product_x[VLY_RWKV_MOST_PRODUCTS];
    const void *product_w[VLY_RWKV_MOST_PRODUCTS];
    const void *product_scale[VLY_RWKV_MOST_PRODUCTS]; /* int8, int4 */
    void *product_y[VLY_RWKV_MOST_PRODUCTS];
} vly_rwkv_run;
VLY_SEAL(vly_rwkv_run, 608);

typedef struct vly_rwkv_plan vly_rwkv_plan;   /* the plugin's own */
typedef struct vly_rwkv_chain vly_rwkv_chain; /* likewise */

/* As in vly_gemm; chain_* are all there or NULL.
 *
 * A chain combines several runs, such as those of a token: chain_run has the
 * effect of calling run with each plan and run in order, which may be faster at
 * once than one by one. Its sums may have another order, and intermediate
 * results between its runs, x included, need be neither written nor rounded:
 * only last, state_out and the y of products that no other run of the chain
 * reads (logits) are defined afterwards. No run may overwrite an intermediate
 * result before it is read, and no run may write the weights of another.
 *
 * chain_create copies the runs (stream and workspace are ignored) and no longer
 * needs the plans afterwards; it may allocate device memory and waits for its
 * own copies. Memory that the runs point to must live as long as the chain;
 * chain_run reads the values there (a token, states). Values in host memory
 * (alloc_host of volley.memory/1) may be read before chain_run returns and must
 * not change until the stream was waited for. One run of a chain may be in
 * progress at a time. A chain may need the whole device and then waits until it
 * is free. E_UNSUPPORTED, with the reason, if the plugin cannot combine the
 * runs. */
typedef struct vly_rwkv {
    uint32_t struct_size;
    uint32_t flags; /* 0 */
    vly_status (*supports)(const vly_rwkv_desc *desc, vly_error *error);
    vly_status (*plan_create)(const vly_device_spec *device,
                              const vly_rwkv_desc *desc, vly_rwkv_plan **plan,
                              vly_error *error);
    void (*plan_destroy)(vly_rwkv_plan *plan); /* NULL is legal */
    vly_status (*plan_info)(const vly_rwkv_plan *plan, vly_plan_info *info,
                            vly_error *error);
    vly_status (*run)(vly_rwkv_plan *plan, const vly_rwkv_run *run,
                      vly_error *error);
    vly_status (*chain_create)(const vly_device_spec *device,
                               vly_rwkv_plan *const *plans,
                               const vly_rwkv_run *runs, uint32_t n,
                               vly_rwkv_chain **chain, vly_error *error);
    void (*chain_destroy)(vly_rwkv_chain *chain); /* NULL is legal; none of its
                                                   * runs may be in progress */
    vly_status (*chain_run)(vly_rwkv_chain *chain, void *stream,
                            vly_error *error);
    void *reserved[5]; /* NULL */
} vly_rwkv;
VLY_SEAL(vly_rwkv, 112);

#ifdef __cplusplus
}
#endif
#endif
