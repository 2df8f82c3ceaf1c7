/* SPDX-License-Identifier: Apache-2.0
 * Cases of volley.attention/1: the table, the data of a case, its reference.
 */
#ifndef VOLLEY_CONFORMANCE_ATTENTION_H
#define VOLLEY_CONFORMANCE_ATTENTION_H

#include <stdbool.h>
#include <stdint.h>

#include <volley/attention.h>

#include "conformance/conformance_accel.h"

enum {
    ATTENTION_BATCH_SEQ_HEAD = 0, /* [batch][seq][heads][dim] */
    ATTENTION_BATCH_HEAD_SEQ = 1, /* [batch][heads][seq][dim] */
    ATTENTION_GAPS = 2,           /* as the first, with room between all */
};

enum {
    ATTENTION_PLAIN = 0,
    ATTENTION_NAN_KEY = 1,   /* the last key is NaN */
    ATTENTION_INF_KEY = 2,   /* one element of a key is infinite */
    ATTENTION_INF_VALUE = 3, /* one element of a value is infinite */
    ATTENTION_LARGE = 4,     /* scores of some hundred */
    ATTENTION_NAN_QUERY = 5, /* one query is NaN */
};

/* dim_v 0: as dim. scale 0: the default. The types are a mask of 1 << type. */
typedef struct attention_case {
    const char *name;
    const char *about;
    uint32_t types;
    uint32_t flags; /* VLY_ATTENTION_* but LSE and BACKWARD */
    uint32_t backward;
    uint32_t batch;
    uint32_t heads_q;
    uint32_t heads_kv;
    uint32_t seq_q;
    uint32_t seq_kv;
    uint32_t dim;
    uint32_t dim_v;
    int32_t left; /* windows, 0 in the table: none; n + 1 there: n */
    int32_t right;
    uint32_t page_size;
    uint32_t layout;
    uint32_t special;
    float scale;
    uint32_t no_lse; /* 1: lse is not asked for */
} attention_case;

/* NULL after the last. */
const attention_case *attention_case_get(uint32_t index);
extern const accel_scenario attention_scenarios[];

enum { ATTENTION_BATCH_MOST = 8 };

/* A tensor: its values, [batch][heads][seq][dim], and for results the error
 * bounds. */
typedef struct attention_values {
    double *value;
    double *bound; /* results only */
    uint32_t heads;
    uint32_t seq;
    uint32_t dim;
    uint32_t is_kv;
    uint64_t n;
} attention_values;

enum {
    ATTENTION_Q,
    ATTENTION_K,
    ATTENTION_V,
    ATTENTION_GRAD_O,
    ATTENTION_N_INPUTS,
    ATTENTION_O = ATTENTION_N_INPUTS,
    ATTENTION_LSE,
    ATTENTION_GRAD_Q,
    ATTENTION_GRAD_K,
    ATTENTION_GRAD_V,
    ATTENTION_N_VALUES
};

/* One case in one type. */
typedef struct attention_data {
    const attention_case *entry;
    vly_attention_desc desc; /* of the forward run */
    uint32_t backward;
    uint32_t length_q[ATTENTION_BATCH_MOST];
    uint32_t length_kv[ATTENTION_BATCH_MOST];
    int32_t start_q[ATTENTION_BATCH_MOST + 1];
    int32_t start_kv[ATTENTION_BATCH_MOST + 1];
    int32_t *pages; /* [batch][pages_most] */
    float *scales;  /* fp8: q, k, v, each [batch][heads_kv] */
    float scale_o;
    attention_values values[ATTENTION_N_VALUES];
} attention_data;

/* Numbers of mean 0 and deviation 1 (triangular, within 2.5), and uniform ones
 * in [0, 1). */
double attention_random(uint64_t seed, uint32_t stream, uint64_t i);
double attention_uniform(uint64_t seed, uint32_t stream, uint64_t i);

/* Random data, rounded to the type, and the reference.
 * Errors  E_NOMEM; the data can be deinit */
vly_status attention_data_init(attention_data *data,
                               const attention_case *entry, uint32_t type,
                               uint64_t seed, vly_error *error);
void attention_data_deinit(attention_data *data);
/* Only desc, of the forward run. */
void attention_data_describe(attention_data *data, const attention_case *entry,
                             uint32_t type);

/* Element type of a tensor in memory, its element offset, whether a position
 * exists, and the number of elements from its beginning to its end. */
uint32_t attention_type_of(const attention_data *data, uint32_t which);
uint64_t attention_offset_of(const attention_data *data, uint32_t which,
                             uint32_t batch, uint32_t head, uint32_t position);
bool attention_exists(const attention_data *data, uint32_t which,
                      uint32_t batch, uint32_t position);
uint64_t attention_extent_of(const attention_data *data, uint32_t which);
/* Index into attention_values. */
static inline uint64_t attention_index(const attention_values *values,
                                       uint32_t batch, uint32_t head,
                                       uint32_t position)
{
    return (((uint64_t)batch * values->heads + head) * values->seq + position) *
           values->dim;
}

/* Whether query i sees key j: the mask of volley/attention.h in one function.
 */
bool attention_sees(const attention_data *data, uint32_t batch, uint32_t i,
                    uint32_t j);
/* Fills values and bounds of the results from the inputs. Errors E_NOMEM */
vly_status attention_truth(attention_data *data, vly_error *error);

#endif
