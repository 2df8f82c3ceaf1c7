/* SPDX-License-Identifier: Apache-2.0
 * A token of RWKV-7 in one launch (rwkv_token.cu): no ABI, no allocation.
 * Weights and the inputs of products are of one 16-bit type.
 */
#ifndef VLY_RWKV_TOKEN_H
#define VLY_RWKV_TOKEN_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    VLY_CUDA_RWKV_TOKEN_IN = 8,        /* first products of a layer */
    VLY_CUDA_RWKV_TOKEN_CHUNKS = 26,   /* of 32 of the ranks together */
    VLY_CUDA_RWKV_TOKEN_ROWS = 0x7fff, /* of the first products together */
    VLY_CUDA_RWKV_TOKEN_CLUSTER = 8,   /* blocks that receive values of others
                                        * together */
};

/* Pointers of a layer; in the device's memory, 16 bytes aligned. */
typedef struct vly_cuda_rwkv_token_layer {
    const float *norm_weight[2]; /* of time mixing, of channel mixing */
    const float *norm_bias[2];
    const float *mix[2]; /* [6][width], [width] */
    float *last[2];
    const void *in[VLY_CUDA_RWKV_TOKEN_IN]; /* r k v, then in any order w1 a1
                                               g1 v1 */
    const void *output, *key, *value;
    const void *matrix[4]; /* w a v g */
    const float *bias[3];  /* w a v */
    const float *k_k, *k_a, *r_k, *group_weight, *group_bias;
    const float *state_in; /* NULL: zeros */
    float *state_out;
    const void *reserved; /* the size is made of 16 bytes */
} vly_cuda_rwkv_token_layer;

/* The first products of the first layer (v1 is not there), and of the others:
 * rows are counted through. */
typedef struct vly_cuda_rwkv_token_kind {
    uint32_t n;
    uint32_t first[VLY_CUDA_RWKV_TOKEN_IN + 1]; /* first[n]: of all */
    uint32_t mix[VLY_CUDA_RWKV_TOKEN_IN];       /* of the six */
    uint32_t activation[VLY_CUDA_RWKV_TOKEN_IN];
    uint32_t lora_at[4]; /* first rows of w1 a1 v1 g1 */
} vly_cuda_rwkv_token_kind;

typedef struct vly_cuda_rwkv_token {
    const vly_cuda_rwkv_token_layer *layer; /* [n_layers], device */
    uint32_t n_layers, width, hidden;
    uint32_t vocabulary; /* rows of the head */
    uint32_t rank[4];    /* w a v g */
    uint32_t type;       /* VLY_CUDA_F16, VLY_CUDA_BF16 */
    uint32_t table_rows;
    const int32_t *token; /* NULL: token_value */
    int32_t token_value;
    const void *table;         /* [table_rows][width] type */
    const float *table_weight; /* of its norm; NULL: none */
    const float *table_bias;
    const float *out_weight, *out_bias;
    const void *head;
    void *logits; /* of the device, or of the host where that is mapped */
    uint32_t type_logits; /* VLY_CUDA_F32 or type */
    float eps, eps_group;
    /* exchange: zeros before the first launch, of vly_cuda_rwkv_token_bytes */
    char *exchange;
    vly_cuda_rwkv_token_kind kind[2];
    /* made by vly_cuda_rwkv_token_plan */
    uint32_t blocks, shared; /* of the launch */
    uint32_t piece, shift, slots, ahead, low, vectors;
    uint32_t second; /* bytes of the second vector */
    uint32_t log_q[2];
    uint32_t at[5]; /* of the exchange: bytes */
    uint32_t bytes; /* likewise, all */
} vly_cuda_rwkv_token;

/* Number of concurrent blocks with so much shared memory each on this thread's
 * device, in clusters. A cudaError_t as int. */
int vly_cuda_rwkv_token_room(uint32_t shared, uint32_t *blocks);

/* Plans a launch of at most so many blocks, each with at most so much shared
 * memory. Returns NULL, or the reason of a failure (the end of a sentence such
 * as "a width of 100, wanted a multiple of 64"), in a buffer of this thread. */
const char *vly_cuda_rwkv_token_plan(vly_cuda_rwkv_token *token,
                                     uint32_t blocks, uint32_t shared);

/* Needs the whole device (a cooperative launch) and compute capability 9.0. A
 * cudaError_t as int. */
int vly_cuda_rwkv_token_run(const vly_cuda_rwkv_token *token, void *stream);

#ifdef __cplusplus
}
#endif
#endif
