/* SPDX-License-Identifier: Apache-2.0
 * The weights of an RWKV-7 model in a .safetensors file: native names
 * (blocks.0.att.receptance.weight) or those of fla and Hugging Face
 * (model.layers.0.attn.r_proj.weight), one table of tensors. Before use it is
 * checked that every tensor of the model exists with its shape, and that there
 * are no unknown tensors.
 *
 * Sizes come from the shapes: width D from the embedding, layers L from the
 * names, ranks R of the four low-rank products from their matrices. Matrices
 * are returned as [out, in], rows of a product y = W x, independent of the
 * file: the native low-rank ones (x W there) are transposed when they are read.
 * Source  reference implementation RWKV-LM/RWKV-v7, names as there
 */
#ifndef VOLLEY_MONITOR_RWKV_WEIGHTS_H
#define VOLLEY_MONITOR_RWKV_WEIGHTS_H

#include <stdbool.h>
#include <stdint.h>

#include <volley/plugin.h>

/* X(id, scope, rows, columns, native name, fla name). Scope M: once a model; L:
 * in every layer; V: in every layer but the first, where it is ignored. Shape
 * [rows, columns] as handed out; a vector has one row. D width, F hidden width
 * of the channel mixing, N vocabulary, RW RA RV RG ranks. Native names of
 * matrices with a rank are [columns, rows] in the file. */
#define VLY_RWKV_TENSORS(X)                                                    \
    X(EMB, M, N, D, "emb.weight", "model.embeddings.weight")                   \
    X(LN0_WEIGHT, M, 1, D, "blocks.0.ln0.weight",                              \
      "model.layers.0.pre_norm.weight")                                        \
    X(LN0_BIAS, M, 1, D, "blocks.0.ln0.bias", "model.layers.0.pre_norm.bias")  \
    X(LN_OUT_WEIGHT, M, 1, D, "ln_out.weight", "model.norm.weight")            \
    X(LN_OUT_BIAS, M, 1, D, "ln_out.bias", "model.norm.bias")                  \
    X(HEAD, M, N, D, "head.weight", "lm_head.weight")                          \
    X(LN1_WEIGHT, L, 1, D, "ln1.weight", "attn_norm.weight")                   \
    X(LN1_BIAS, L, 1, D, "ln1.bias", "attn_norm.bias")                         \
    X(LN2_WEIGHT, L, 1, D, "ln2.weight", "ffn_norm.weight")                    \
    X(LN2_BIAS, L, 1, D, "ln2.bias", "ffn_norm.bias")                          \
    X(X_R, L, 1, D, "att.x_r", "attn.x_r")                                     \
    X(X_W, L, 1, D, "att.x_w", "attn.x_w")                                     \
    X(X_K, L, 1, D, "att.x_k", "attn.x_k")                                     \
    X(X_V, L, 1, D, "att.x_v", "attn.x_v")                                     \
    X(X_A, L, 1, D, "att.x_a", "attn.x_a")                                     \
    X(X_G, L, 1, D, "att.x_g", "attn.x_g")                                     \
    X(W0, L, 1, D, "att.w0", "attn.w_lora.lora.2.bias")                        \
    X(W1, L, RW, D, "att.w1", "attn.w_lora.lora.0.weight")                     \
    X(W2, L, D, RW, "att.w2", "attn.w_lora.lora.2.weight")                     \
    X(A0, L, 1, D, "att.a0", "attn.a_lora.lora.2.bias")                        \
    X(A1, L, RA, D, "att.a1", "attn.a_lora.lora.0.weight")                     \
    X(A2, L, D, RA, "att.a2", "attn.a_lora.lora.2.weight")                     \
    X(V0, V, 1, D, "att.v0", "attn.v_lora.lora.2.bias")                        \
    X(V1, V, RV, D, "att.v1", "attn.v_lora.lora.0.weight")                     \
    X(V2, V, D, RV, "att.v2", "attn.v_lora.lora.2.weight")                     \
    X(G1, L, RG, D, "att.g1", "attn.g_lora.lora.0.weight")                     \
    X(G2, L, D, RG, "att.g2", "attn.g_lora.lora.2.weight")                     \
    X(K_K, L, 1, D, "att.k_k", "attn.k_k")                                     \
    X(K_A, L, 1, D, "att.k_a", "attn.k_a")                                     \
    X(R_K, L, 1, D, "att.r_k", "attn.r_k")                                     \
    X(RECEPTANCE, L, D, D, "att.receptance.weight", "attn.r_proj.weight")      \
    X(KEY, L, D, D, "att.key.weight", "attn.k_proj.weight")                    \
    X(VALUE, L, D, D, "att.value.weight", "attn.v_proj.weight")                \
    X(OUTPUT, L, D, D, "att.output.weight", "attn.o_proj.weight")              \
    X(LN_X_WEIGHT, L, 1, D, "att.ln_x.weight", "attn.g_norm.weight")           \
    X(LN_X_BIAS, L, 1, D, "att.ln_x.bias", "attn.g_norm.bias")                 \
    X(FFN_X_K, L, 1, D, "ffn.x_k", "ffn.x_k")                                  \
    X(FFN_KEY, L, F, D, "ffn.key.weight", "ffn.key.weight")                    \
    X(FFN_VALUE, L, D, F, "ffn.value.weight", "ffn.value.weight")

typedef enum vly_rwkv_tensor {
#define VLY_RWKV_ENUM(id, scope, rows, columns, native, fla) VLY_RWKV_##id,
    VLY_RWKV_TENSORS(VLY_RWKV_ENUM)
#undef VLY_RWKV_ENUM
        VLY_RWKV_N_TENSORS
} vly_rwkv_tensor;

enum {
    VLY_RWKV_HEAD_WIDTH = 64,
    VLY_RWKV_WIDTH_MAX = 1 << 16,
    VLY_RWKV_LAYERS_MAX = 1024,
    VLY_RWKV_VOCABULARY_MAX = 1 << 24,
    VLY_RWKV_HIDDEN_MAX = 1 << 18
};

/* How native names hold their low-rank matrices. If all R equal D, shapes do
 * not determine it; then the file's metadata may (below). */
enum {
    VLY_RWKV_LORA_NATIVE = 0,     /* w1 is [D, R] */
    VLY_RWKV_LORA_TRANSPOSED = 1, /* w1 is [R, D] */
    VLY_RWKV_LORA_BY_SHAPE = 2,   /* detected; refused if undetermined */
    /* w1 is [D, R], refused if undetermined: for models that are run */
    VLY_RWKV_LORA_SURELY_NATIVE = 3
};

/* Metadata that `volley monitor convert` writes into a file whose shapes do not
 * determine it: low-rank matrices with native names are [D, R]. */
#define VLY_RWKV_LORA_KEY "volley.low_rank"
#define VLY_RWKV_LORA_VALUE "native"

typedef struct vly_rwkv_sizes {
    uint32_t layers;
    uint32_t width;      /* D, a multiple of 64 */
    uint32_t heads;      /* D / 64 */
    uint32_t hidden;     /* F, mostly 4 D */
    uint32_t vocabulary; /* rows of embedding and head */
    uint32_t rank_w;     /* the same in every layer */
    uint32_t rank_a;
    uint32_t rank_v; /* 0 in a model of one layer, which has no v1 */
    uint32_t rank_g;
    uint64_t n_parameters; /* of the table, without what is ignored */
    uint64_t n_bytes;      /* of them in the file */
} vly_rwkv_sizes;

typedef struct vly_rwkv_weights vly_rwkv_weights;

/* Opens, checks names, shapes and types (F32, F16, BF16, also mixed).
 * lora      VLY_RWKV_LORA_*; of no meaning for fla's names
 * Errors    those of vly_safetensors_open; E_PARSE "path: TENSOR ..." missing,
 *           of another shape or type, unknown; E_INVALID nothing tells how
 *           low-rank matrices are held. [any-thread] */
vly_status vly_rwkv_weights_open(const char *path, uint32_t lora,
                                 vly_rwkv_weights **weights, vly_error *error);
void vly_rwkv_weights_close(vly_rwkv_weights *weights); /* NULL is legal */

const vly_rwkv_sizes *vly_rwkv_weights_sizes(const vly_rwkv_weights *weights);
/* Every rank is the width: shapes do not tell how low-rank matrices are held.
 */
bool vly_rwkv_weights_is_square(const vly_rwkv_weights *weights);
const char *vly_rwkv_weights_path(const vly_rwkv_weights *weights);
struct vly_safetensors; /* safetensors.h */
const struct vly_safetensors *
vly_rwkv_weights_file(const vly_rwkv_weights *weights);
/* A text of the file's __metadata__; NULL if there is none. */
const char *vly_rwkv_weights_metadata(const vly_rwkv_weights *weights,
                                      const char *key);

/* Below, layer is 0 where the tensor is one of the model (scope M). */

/* False: this layer has none (V in layer 0, M in others; beyond the last). */
bool vly_rwkv_weights_has(const vly_rwkv_weights *weights, vly_rwkv_tensor id,
                          uint32_t layer);
/* As handed out. */
void vly_rwkv_weights_shape(const vly_rwkv_weights *weights, vly_rwkv_tensor id,
                            uint64_t *rows, uint64_t *columns);
/* VLY_ELEMENT_F32, _F16 or _BF16: what the file has. */
uint32_t vly_rwkv_weights_type(const vly_rwkv_weights *weights,
                               vly_rwkv_tensor id, uint32_t layer);
/* Rows [first, first + n_rows) of [rows, columns] as fp32, which holds every
 * value of the three types.
 * out     [n_rows, columns]
 * Errors  those of vly_safetensors_read; E_INVALID no such layer or rows;
 *         E_PARSE a weight is NaN or infinite: named with its place; E_NOMEM.
 *         [any-thread] */
vly_status vly_rwkv_weights_read(const vly_rwkv_weights *weights,
                                 vly_rwkv_tensor id, uint32_t layer,
                                 uint64_t first, uint64_t n_rows, float *out,
                                 vly_error *error);
/* The tensor's native name in a layer, in words as in messages. */
enum { VLY_RWKV_NAME_BYTES = 64 };
const char *vly_rwkv_native_name(vly_rwkv_tensor id, uint32_t layer,
                                 char name[VLY_RWKV_NAME_BYTES]);
bool vly_rwkv_is_of_layers(vly_rwkv_tensor id); /* scope L or V */

#endif
