/* SPDX-License-Identifier: Apache-2.0
 * Declarations shared by the files behind rwkv.h: the internals of models and
 * contexts.
 */
#ifndef VOLLEY_MONITOR_RWKV_PARTS_H
#define VOLLEY_MONITOR_RWKV_PARTS_H

#include <stdbool.h>

#include "accelerator/accelerator.h"
#include "monitor/rwkv.h"

/* Every array on a device begins at a multiple of 256; what is cut out of one
 * at a multiple of this (a row of 64 in 16 bits). */
enum { RWKV_ALIGN = 256, RWKV_PLAN_ALIGN = 128 };

/* LN and GN of the reference implementation. */
#define RWKV_EPS 1e-5f
#define RWKV_GROUP_EPS 64e-5f

/* ---- models ------------------------------------------------------------ */

/* One tensor on the device. */
typedef struct rwkv_slot {
    uint64_t w;     /* bytes from the beginning of the arena */
    uint64_t scale; /* likewise; int8 and int4 */
    uint32_t type;  /* VLY_ELEMENT_* */
    uint32_t there; /* 0: this layer has none */
} rwkv_slot;

struct vly_rwkv_model {
    vly_rwkv_model_info info;
    vly_accelerator parts; /* volley.rwkv/1, wkv/1, memory/1 */
    vly_accelerator gemm;  /* struct_size of gemm.gemm 0: there is none */
    vly_error no_gemm;     /* why */
    uint32_t type;         /* of activations, VLY_ELEMENT_* */
    uint32_t type_base;    /* embedding, head, low-rank matrices */
    uint32_t type_large;   /* the other matrices */
    bool best_effort;      /* its memory, see vly_rwkv_options */
    char *arena;
    rwkv_slot *slots; /* [layers][VLY_RWKV_N_TENSORS] */
};

const rwkv_slot *rwkv_slot_of(const vly_rwkv_model *model, vly_rwkv_tensor id,
                              uint32_t layer);
const void *rwkv_at(const vly_rwkv_model *model, vly_rwkv_tensor id,
                    uint32_t layer);
/* [rows, columns] of a tensor */
void rwkv_shape(const vly_rwkv_sizes *sizes, vly_rwkv_tensor id, uint64_t *rows,
                uint64_t *columns);
bool rwkv_is_host(const vly_rwkv_model *model);
/* Bytes of so many elements, up to a multiple of RWKV_ALIGN; UINT64_MAX if that
 * is not a size. */
uint64_t rwkv_bytes(uint64_t elements, uint32_t type);
uint32_t rwkv_bits(uint32_t type);
/* Memory of the model's device. On the processor the system overcommits memory
 * and kills the process that uses it, so the free memory is checked first.
 * Errors  E_NOMEM with bytes requested and available; those of alloc */
vly_status rwkv_alloc(const vly_rwkv_model *model, uint64_t bytes,
                      const char *what, char **memory, vly_error *error);

/* Fills the arena, whose slots are placed, and the fingerprint. */
vly_status rwkv_load(vly_rwkv_model *model, const vly_rwkv_source *source,
                     vly_error *error);

/* ---- contexts ---------------------------------------------------------- */

enum { RWKV_MOST_LINEAR = 7 };

/* Products that run together: by volley.rwkv/1, otherwise each by
 * volley.gemm/1, followed by the operation `after`. */
typedef struct rwkv_linear {
    uint32_t n;
    uint32_t adds_after; /* gemm: y is kept apart, then added by ADD */
    vly_rwkv_product product[RWKV_MOST_LINEAR];
    vly_rwkv_plan *fused;
    vly_gemm_plan *gemm[RWKV_MOST_LINEAR];
    vly_rwkv_plan *after; /* ACTIVATE or ADD; NULL: nothing is left */
} rwkv_linear;

/* Plans for one number of tokens. */
typedef struct rwkv_pass {
    uint32_t seq;
    uint32_t rows;
    uint32_t flags;   /* VLY_RWKV_LENGTHS */
    uint32_t is_step; /* STEP runs, not PREPARE, wkv, FINISH */
    uint32_t is_lora; /* with the second products of the gates */
    uint32_t runs;
    vly_rwkv_plan *embed;
    vly_rwkv_plan *mix_time;
    vly_rwkv_plan *mix_channel;
    vly_rwkv_plan *heads[2]; /* of the first layer, of the others */
    vly_wkv_plan *wkv;
    vly_rwkv_plan *finish;
    vly_rwkv_plan *norm;
    rwkv_linear in[2];     /* r k v w1 a1 g1, and v1 but in the first layer */
    rwkv_linear second[2]; /* w2 a2 g2, and v2 */
    rwkv_linear output;
    rwkv_linear key;
    rwkv_linear value;
    rwkv_linear head;
    vly_rwkv_chain *chain; /* all of it in one, where the device has chains;
                              token and logits are the context's own */
    vly_graph *graph;
} rwkv_pass;

/* Arrays of the device; rows = n_sequences * chunk. */
typedef struct rwkv_arrays {
    void *token;
    void *length;
    void *x;
    void *mixed; /* [6][rows][width] */
    void *r;
    void *k;
    void *v;
    void *lora[4]; /* w a v g */
    void *gate[3]; /* w a v: second products, where gemm makes them */
    void *g;
    void *v_first;
    void *wkv[6]; /* r w k v a b */
    void *wkv_y;
    void *y;
    void *hidden;
    void *apart; /* what ADD adds */
    void *normed;
    void *logits;
    void *workspace;
} rwkv_arrays;

/* Runs that are written down, not done. */
typedef struct rwkv_record {
    vly_rwkv_plan **plans;
    vly_rwkv_run *runs;
    uint32_t n;
    uint32_t most;
} rwkv_record;

struct vly_rwkv_context {
    const vly_rwkv_model *model;
    rwkv_record *record; /* NULL: runs are done */
    uint32_t n;          /* sequences */
    uint32_t chunk;
    uint32_t flags;
    uint32_t reserved;
    void *stream;
    rwkv_pass pass[2]; /* one token, and chunk (none where chunk is 1) */
    rwkv_arrays at;
    char *arena;
    uint64_t bytes;
    uint64_t workspace_bytes;
    char *last[2]; /* [layers][n][width] fp32 */
    char *state;   /* [layers][n][heads][64][64] fp32 */
    int32_t *host; /* [n * chunk] tokens, [n] lengths */
    char *own;     /* of rwkv_own: host memory, of which the device knows */
    char how[256];
};

/* Makes and destroys the plans of a pass; seq and rows are set. */
vly_status rwkv_pass_init(vly_rwkv_context *context, rwkv_pass *pass,
                          vly_error *error);
void rwkv_pass_deinit(const vly_rwkv_model *model, rwkv_pass *pass);
/* Host memory for one token and its logits, made once.
 * Errors  E_NOMEM; those of the device */
vly_status rwkv_own(vly_rwkv_context *context, vly_error *error);
void rwkv_own_free(vly_rwkv_context *context);
int32_t *rwkv_own_token(const vly_rwkv_context *context);
float *rwkv_own_logits(const vly_rwkv_context *context); /* [vocabulary] */
/* All of a pass into the stream, as a chain or a graph where there are such. */
vly_status rwkv_pass_run(vly_rwkv_context *context, rwkv_pass *pass,
                         vly_error *error);

#endif
