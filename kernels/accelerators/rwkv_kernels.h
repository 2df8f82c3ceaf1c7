/* SPDX-License-Identifier: Apache-2.0
 * Launchers of the operations of RWKV-7 around its products and its recurrence
 * (volley/rwkv.h has the formulas): no ABI, no allocation. All return a
 * cudaError_t as int; work goes into the stream.
 *
 * Element types are numbered as in volley/accelerator.h: 0 fp32, 1 fp16, 2
 * bf16, 4 int8, 5 int4. Rows are [batch][seq]; of a sequence those from
 * length[b] on are not written. early: a kernel may start while the one before
 * it in the stream still runs; it then only fetches weights (compute capability
 * 9.0, otherwise without effect).
 */
#ifndef VLY_RWKV_KERNELS_H
#define VLY_RWKV_KERNELS_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    VLY_CUDA_RWKV_DIM = 64,
    VLY_CUDA_RWKV_MOST_WIDTH = 16384,   /* of a row that is normalised */
    VLY_CUDA_RWKV_SHARED_COLUMNS = 320, /* of few rows, with one block */
    VLY_CUDA_RWKV_PRODUCTS = 8,
    VLY_CUDA_RWKV_MOST_ROWS = 8,     /* of products */
    VLY_CUDA_RWKV_MOST_RANKS = 8192, /* together, of products in heads */
};

/* ---- rwkv_rows.cu ---------------------------------------------------------
 */

/* Members that an operation does not use are ignored. */
typedef struct vly_cuda_rwkv_rows {
    const int32_t *token;
    const void *table;
    float *x;
    const float *norm_weight; /* embed: NULL: not used */
    const float *norm_bias;
    const float *mix;
    float *last;
    void *mixed;
    void *y;
    const int32_t *length; /* NULL: seq */
    uint32_t batch, seq, width;
    uint32_t n_mix, vocabulary;
    uint32_t type, type_matrix;
    uint32_t only_last; /* norm: y is [batch][width] */
    uint32_t early;
    float eps;
} vly_cuda_rwkv_rows;

int vly_cuda_rwkv_embed(const vly_cuda_rwkv_rows *args, void *stream);
int vly_cuda_rwkv_mix(const vly_cuda_rwkv_rows *args, void *stream);
/* rwkv_mix_many.cu: the same for prompts, where arrays are aligned to 16 */
bool vly_cuda_rwkv_can_mix_many(const vly_cuda_rwkv_rows *args);
int vly_cuda_rwkv_mix_many(const vly_cuda_rwkv_rows *args, void *stream);
int vly_cuda_rwkv_norm(const vly_cuda_rwkv_rows *args, void *stream);
int vly_cuda_rwkv_add(const vly_cuda_rwkv_rows *args, void *stream);

/* tanh of w [rows][rank_w], sigmoid of g [rows][rank_g], in place */
typedef struct vly_cuda_rwkv_activate {
    void *w;
    void *g;
    const int32_t *length;
    uint32_t batch, seq;
    uint32_t rank_w, rank_g;
    uint32_t type;
    uint32_t early;
} vly_cuda_rwkv_activate;

int vly_cuda_rwkv_activations(const vly_cuda_rwkv_activate *args, void *stream);

/* ---- rwkv_heads.cu, rwkv_step.cu --------------------------------------------
 */

typedef struct vly_cuda_rwkv_heads {
    const void *r, *k, *v;
    const void *lora[4];   /* w a v g: [rows][rank], or [rows][width] */
    const void *matrix[4]; /* [width][rank]; is_lora */
    const float *bias[3];  /* w a v */
    const float *k_k;
    const float *k_a;
    void *v_first; /* out where is_first */
    void *wkv_r, *wkv_w, *wkv_k, *wkv_v, *wkv_a, *wkv_b;
    const void *wkv_y;
    void *g; /* prepare: output if is_lora, otherwise input */
    const float *r_k;
    const float *group_weight;
    const float *group_bias;
    const float *state_in; /* NULL: zeros */
    float *state_out;
    void *y;
    const int32_t *length;
    uint32_t batch, seq, width;
    uint32_t rank[4];
    uint32_t type, type_wkv, type_matrix;
    uint32_t is_lora, is_first;
    uint32_t whole; /* matrices and ranks are made of 16 bytes */
    uint32_t early;
    float eps;
} vly_cuda_rwkv_heads;

int vly_cuda_rwkv_prepare(const vly_cuda_rwkv_heads *args, void *stream);
int vly_cuda_rwkv_prepare_lora(const vly_cuda_rwkv_heads *args, void *stream);
int vly_cuda_rwkv_finish(const vly_cuda_rwkv_heads *args, void *stream);
/* prepare, one token of the recurrence and finish; seq is 1 */
int vly_cuda_rwkv_step(const vly_cuda_rwkv_heads *args, void *stream);

/* ---- rwkv_products.cu -------------------------------------------------------
 */

/* f, numbered as in volley/rwkv.h */
enum {
    VLY_CUDA_RWKV_IDENTITY = 0,
    VLY_CUDA_RWKV_RELU2 = 1,
    VLY_CUDA_RWKV_TANH = 2,
    VLY_CUDA_RWKV_SIGMOID = 3,
};

typedef struct vly_cuda_rwkv_product {
    const void *x;     /* [rows][k] */
    const void *w;     /* [n][k], 16 bytes aligned, rows of whole 16 bytes */
    const void *scale; /* int8 [n], int4 [n][k/128]; of type */
    void *y;           /* [rows][n] */
    uint32_t n, k;
    uint32_t type_w, type_y;
    uint32_t activation;
    uint32_t adds;  /* y += */
    uint32_t first; /* block; the launcher's */
    uint32_t reserved;
} vly_cuda_rwkv_product;

/* y_i = f_i(W_i x_i) of up to 8 rows, all in one launch for each type of
 * weights. fp32 x takes all weights, fp16 and bf16 their own, int8 and int4. */
typedef struct vly_cuda_rwkv_products {
    vly_cuda_rwkv_product product[VLY_CUDA_RWKV_PRODUCTS];
    const int32_t *length;
    uint32_t n_products;
    uint32_t seq;
    uint32_t rows; /* batch * seq */
    uint32_t type;
    uint32_t early;
    uint32_t reserved;
} vly_cuda_rwkv_products;

int vly_cuda_rwkv_multiply(const vly_cuda_rwkv_products *args, void *stream);

#ifdef __cplusplus
}
#endif
#endif
