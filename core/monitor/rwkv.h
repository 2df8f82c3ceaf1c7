/* SPDX-License-Identifier: Apache-2.0
 * An RWKV-7 model on a device: logits of the next token, sequence by sequence.
 * Runs on volley.rwkv/1, volley.wkv/1, volley.gemm/1 and volley.memory/1 of the
 * plugins, so a processor and a GPU are the same code; only the plugins access
 * device memory.
 *
 * A model holds weights and never changes. A context holds the states of a
 * number of sequences and the memory of a run; contexts of one model are
 * independent. On the processor a token has the same bits whether it comes
 * alone, in a batch or in a prompt, with any number of threads and before or
 * after its state was saved: every sum has one order
 * (plugins/attention/rwkv_loops.h).
 */
#ifndef VOLLEY_MONITOR_RWKV_H
#define VOLLEY_MONITOR_RWKV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <volley/volley.h>

#include "base/random.h"
#include "monitor/rwkv_weights.h"

/* Weights of the large matrices (X(name, value, text)). W8: int8 with a scale a
 * row; W4: int4 with a scale for each 128 of a row; embedding, head and the
 * low-rank matrices then have 16 bits. Vectors are fp32 always. */
#define VLY_RWKV_FORMATS(X)                                                    \
    X(AUTO, 0, "auto")                                                         \
    X(F32, 1, "fp32")                                                          \
    X(F16, 2, "fp16")                                                          \
    X(BF16, 3, "bf16")                                                         \
    X(W8, 4, "w8")                                                             \
    X(W4, 5, "w4")

typedef enum vly_rwkv_format {
#define VLY_RWKV_FORMAT_ENUM(name, value, text) VLY_RWKV_FORMAT_##name = value,
    VLY_RWKV_FORMATS(VLY_RWKV_FORMAT_ENUM)
#undef VLY_RWKV_FORMAT_ENUM
        VLY_RWKV_N_FORMATS = 6
} vly_rwkv_format;

const char *vly_rwkv_format_name(uint32_t format);
/* Errors  E_INVALID unknown name; the message lists the names */
vly_status vly_rwkv_format_parse(const char *text, vly_rwkv_format *format,
                                 vly_error *error);

/* The source of weights. */
typedef struct vly_rwkv_source {
    const char *name; /* in messages: a path */
    vly_rwkv_sizes sizes;
    uint32_t type; /* of its matrices: what AUTO takes. VLY_ELEMENT_F32 ... */
    uint32_t reserved;
    void *context;
    /* as vly_rwkv_weights_read */
    vly_status (*read)(void *context, vly_rwkv_tensor id, uint32_t layer,
                       uint64_t first, uint64_t n_rows, float *out,
                       vly_error *error);
} vly_rwkv_source;

/* Those of a file, which stays open as long as source is used. */
void vly_rwkv_source_of(const vly_rwkv_weights *weights,
                        vly_rwkv_source *source);

typedef struct vly_rwkv_options {
    vly_rwkv_format format;
    /* Type of inputs and outputs of products: AUTO, F32, F16 or BF16. AUTO is
     * fp32 on the processor; on other devices the type of the weights, and fp16
     * with W8 and W4. fp16 takes no weights of fp32 or bf16, bf16 none of fp32
     * or fp16. */
    vly_rwkv_format activation;
    uint32_t n_threads; /* of the processor; 0: all cores */
    bool best_effort;   /* weights and contexts leave room for all others */
} vly_rwkv_options;

typedef struct vly_rwkv_model vly_rwkv_model;
typedef struct vly_rwkv_context vly_rwkv_context;

typedef struct vly_rwkv_model_info {
    vly_rwkv_sizes sizes;
    vly_rwkv_format format;     /* never AUTO */
    vly_rwkv_format activation; /* likewise */
    uint64_t bytes;             /* of weights on the device */
    /* of them what a token reads: all but the embedding */
    uint64_t token_bytes;
    vly_hash fingerprint; /* of sizes and weights as the source has them */
} vly_rwkv_model_info;

/* Loads all weights to the device.
 * device   "cpu", "cpu:4", "cuda:0", with options as accelerators take them
 * options  NULL: AUTO and all cores
 * Errors   E_INVALID     an option; a weight too large for fp16; W4 of a width
 *                        that is not a multiple of 128
 *          E_UNSUPPORTED no plugin has what is needed, E_DEVICE, E_ABI;
 *          E_NOMEM; those of the source
 * Thread   [main-thread] */
vly_status vly_rwkv_model_create(const vly_registry *registry,
                                 const vly_rwkv_source *source,
                                 const char *device,
                                 const vly_rwkv_options *options,
                                 vly_rwkv_model **model, vly_error *error);
/* After its contexts. NULL is legal. */
void vly_rwkv_model_destroy(vly_rwkv_model *model);
const vly_rwkv_model_info *vly_rwkv_model_info_of(const vly_rwkv_model *model);

/* ---- contexts ---------------------------------------------------------- */

enum {
    VLY_RWKV_ALL_LOGITS = 1u, /* of every token, not of the last alone */
    /* the device is shared: no launch that needs all of it at once */
    VLY_RWKV_BESIDE = 2u,
};

/* n_sequences states, all zero. chunk: tokens of a sequence that run at once,
 * at least 1; more are taken in several.
 * Errors  E_INVALID, E_UNSUPPORTED, E_NOMEM, E_DEVICE */
vly_status vly_rwkv_context_create(const vly_rwkv_model *model,
                                   uint32_t n_sequences, uint32_t chunk,
                                   uint32_t flags, vly_rwkv_context **context,
                                   vly_error *error);
void vly_rwkv_context_destroy(vly_rwkv_context *context); /* NULL is legal */
/* Bytes of the device that it holds. */
uint64_t vly_rwkv_context_bytes(const vly_rwkv_context *context);
/* Description of how its products run: "products" or that of the plan, and
 * "chain" if single steps are one launch. */
const char *vly_rwkv_context_how(const vly_rwkv_context *context);

/* Reads tokens and returns the logits of the next token.
 * tokens   [n_sequences][n]
 * lengths  [n_sequences] tokens of each, 0 to n; NULL: n each. A sequence
 *          without tokens keeps its state
 * logits   [n_sequences][vocabulary] after the last token of each, or with
 *          ALL_LOGITS [n_sequences][n][vocabulary]; rows without a token are
 *          not written; NULL: not wanted
 * Errors   E_INVALID a token is outside the vocabulary or a length above n:
 *          nothing was done; E_DEVICE: the states are lost
 * Cost     no allocation, except that the first single step makes a chain, or
 * the second one a graph, if the device supports it */
vly_status vly_rwkv_context_feed(vly_rwkv_context *context,
                                 const uint32_t *tokens,
                                 const uint32_t *lengths, uint32_t n,
                                 float *logits, vly_error *error);

/* One token of a context of one sequence.
 * logits   [vocabulary] of the next token, owned by the context: may be read
 * and changed until its next call. With a chain the device writes them there
 * Errors   those of feed; E_INVALID more than one sequence
 * Cost     that of feed; the first call allocates */
vly_status vly_rwkv_context_step(vly_rwkv_context *context, uint32_t token,
                                 float **logits, vly_error *error);

/* ---- states ------------------------------------------------------------ */

/* All to zero, one sequence or, with UINT32_MAX, all of them. */
vly_status vly_rwkv_context_reset(vly_rwkv_context *context, uint32_t sequence,
                                  vly_error *error);
/* Bytes of one saved state. */
size_t vly_rwkv_state_bytes(const vly_rwkv_model *model);
/* A header (magic, version, sizes, fingerprint of the model, checksum) and the
 * state, little endian. bytes [size], size = vly_rwkv_state_bytes */
vly_status vly_rwkv_state_save(vly_rwkv_context *context, uint32_t sequence,
                               void *bytes, size_t size, vly_error *error);
/* Errors  E_INVALID no such sequence; E_PARSE the bytes are not a state, or
 *         damaged, or of another version or model: the state is unchanged */
vly_status vly_rwkv_state_restore(vly_rwkv_context *context, uint32_t sequence,
                                  const void *bytes, size_t size,
                                  vly_error *error);
/* Copies the state of one sequence to another; both contexts belong to one
 * model.
 */
vly_status vly_rwkv_state_fork(const vly_rwkv_context *from,
                               uint32_t from_sequence, vly_rwkv_context *to,
                               uint32_t to_sequence, vly_error *error);

#endif
