/* SPDX-License-Identifier: Apache-2.0
 * Cases of volley.wkv/1: the data of a case, its reference.
 */
#ifndef VOLLEY_CONFORMANCE_WKV_H
#define VOLLEY_CONFORMANCE_WKV_H

#include <stdint.h>

#include <volley/wkv.h>

enum { WKV_DIM = 64, WKV_SQUARE = WKV_DIM * WKV_DIM, WKV_BATCH_MOST = 4 };

typedef struct wkv_case {
    const char *name;
    uint32_t batch;
    uint32_t seq;
    uint32_t heads;
    uint32_t has_state; /* state_in is given */
    uint32_t in_place;  /* state_out is state_in */
    uint32_t lengths;
    uint32_t strong; /* decays near 0, as exp(-exp(5)), and near 1 */
} wkv_case;

enum { WKV_R, WKV_W, WKV_K, WKV_V, WKV_A, WKV_B, WKV_N_INPUTS };

/* One case in one type. y and state are the results in double, *_bound their
 * error bounds. */
typedef struct wkv_data {
    const wkv_case *entry;
    uint32_t type;
    uint32_t length[WKV_BATCH_MOST];
    uint64_t seed;
    uint64_t n;                  /* elements of r */
    uint64_t n_state;            /* of the state */
    double *input[WKV_N_INPUTS]; /* [batch][seq][heads][dim] */
    double *y;
    double *y_bound;
    double *state; /* after the last token */
    double *state_bound;
    double *memory;
    float *state_in; /* 0 where the case has none */
} wkv_data;

/* Errors  E_NOMEM; the data can be deinit */
vly_status wkv_data_init(wkv_data *data, const wkv_case *entry, uint32_t type,
                         uint64_t seed, vly_error *error);
void wkv_data_deinit(wkv_data *data);

#endif
