/* SPDX-License-Identifier: Apache-2.0
 * Cases of volley.rwkv/1: the arrays of a case, and the expected results.
 */
#ifndef VOLLEY_CONFORMANCE_RWKV_H
#define VOLLEY_CONFORMANCE_RWKV_H

#include <stdbool.h>
#include <stdint.h>

#include <volley/rwkv.h>

/* X(field of vly_rwkv_run), without those of products. */
#define RWKV_SLOTS(X)                                                          \
    X(token)                                                                   \
    X(table)                                                                   \
    X(x)                                                                       \
    X(norm_weight)                                                             \
    X(norm_bias)                                                               \
    X(mix)                                                                     \
    X(last)                                                                    \
    X(mixed)                                                                   \
    X(r)                                                                       \
    X(k)                                                                       \
    X(v)                                                                       \
    X(lora_w)                                                                  \
    X(lora_a)                                                                  \
    X(lora_v)                                                                  \
    X(lora_g)                                                                  \
    X(matrix_w)                                                                \
    X(matrix_a)                                                                \
    X(matrix_v)                                                                \
    X(matrix_g)                                                                \
    X(bias_w)                                                                  \
    X(bias_a)                                                                  \
    X(bias_v)                                                                  \
    X(k_k)                                                                     \
    X(k_a)                                                                     \
    X(v_first)                                                                 \
    X(wkv_r)                                                                   \
    X(wkv_w)                                                                   \
    X(wkv_k)                                                                   \
    X(wkv_v)                                                                   \
    X(wkv_a)                                                                   \
    X(wkv_b)                                                                   \
    X(wkv_y)                                                                   \
    X(g)                                                                       \
    X(r_k)                                                                     \
    X(group_weight)                                                            \
    X(group_bias)                                                              \
    X(state_in)                                                                \
    X(state_out)                                                               \
    X(y)                                                                       \
    X(length)

enum {
#define RWKV_SLOT(name) RWKV_##name,
    RWKV_SLOTS(RWKV_SLOT)
#undef RWKV_SLOT
        RWKV_product_x,
    RWKV_product_w = RWKV_product_x + VLY_RWKV_MOST_PRODUCTS,
    RWKV_product_scale = RWKV_product_w + VLY_RWKV_MOST_PRODUCTS,
    RWKV_product_y = RWKV_product_scale + VLY_RWKV_MOST_PRODUCTS,
    RWKV_N_SLOTS = RWKV_product_y + VLY_RWKV_MOST_PRODUCTS
};

enum { RWKV_IN = 1, RWKV_OUT = 2, RWKV_BATCH_MOST = 8 };

/* Weights of a product: of desc.type; int8; int4; of another float type where
 * that is offered (fp32 x). */
enum { RWKV_SAME, RWKV_I8, RWKV_I4, RWKV_OTHER };

typedef struct rwkv_case_product {
    uint32_t n, k, weights, activation, adds, y_is_f32;
} rwkv_case_product;

typedef struct rwkv_case {
    const char *name;
    uint32_t op, flags;
    uint32_t batch, seq, width;
    uint32_t n_mix;
    uint32_t rank[4];
    uint32_t wkv_is_type;  /* type_wkv is type, otherwise fp32 */
    uint32_t other_matrix; /* type_matrix differs from type */
    uint32_t in_place;     /* outputs where the interface allows it */
    uint32_t no_state;     /* state_in is NULL */
    uint32_t n_products;
    rwkv_case_product product[VLY_RWKV_MOST_PRODUCTS];
} rwkv_case;

enum { RWKV_N_CASES = 32 };
extern const rwkv_case rwkv_cases[RWKV_N_CASES];

/* One array. */
typedef struct rwkv_slot {
    uint32_t use;    /* RWKV_IN | RWKV_OUT; 0: not part of the case */
    uint32_t type;   /* VLY_ELEMENT_* */
    uint32_t twin;   /* slot whose memory it shares; itself if none */
    uint32_t by_row; /* elements of a token's row; 0: not by rows */
    uint64_t count;
    double *value;  /* of an input, as rounded; NaN in rows that are not there
                     */
    double *wanted; /* of an output */
    double *bound;  /* error bound; below 0: not written */
} rwkv_slot;

typedef struct rwkv_data {
    const rwkv_case *entry;
    vly_rwkv_desc desc;
    uint64_t seed;
    uint32_t rows;
    uint32_t length[RWKV_BATCH_MOST];
    rwkv_slot slot[RWKV_N_SLOTS];
    double *memory;
} rwkv_data;

/* Makes the description, the arrays, random values and the expected results.
 * Errors  E_NOMEM; the data can be deinit */
vly_status rwkv_data_init(rwkv_data *data, const rwkv_case *entry,
                          uint32_t type, uint64_t seed, vly_error *error);
void rwkv_data_deinit(rwkv_data *data);

/* Whether a sequence has the token of a row. */
bool rwkv_row_is_there(const rwkv_data *data, uint64_t row);

/* conformance_rwkv_truth.c: fills wanted and bound of every output; before,
 * bounds are below 0. */
void rwkv_truth(rwkv_data *data);

#endif
