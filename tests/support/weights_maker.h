/* SPDX-License-Identifier: Apache-2.0
 * Makes files with the weights of an RWKV-7 model of any size, whole or with
 * something wrong. Has its own list of names and its own writer: shares nothing
 * with core/monitor.
 */
#ifndef VOLLEY_WEIGHTS_MAKER_H
#define VOLLEY_WEIGHTS_MAKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MAKER_F32, MAKER_F16, MAKER_BF16 };

typedef struct maker_model {
    uint32_t layers;
    uint32_t width;
    uint32_t hidden;
    uint32_t vocabulary;
    uint32_t ranks[4]; /* w, a, v, g */
    bool fla;          /* names and layout of fla */
    bool transposed;   /* native names, low-rank matrices as fla has them */
    bool has_v_first;  /* native: layer 0 has v0, v1, v2 as well */
    uint32_t type;
} maker_model;

typedef struct maker_tensor {
    char name[80];
    const char *dtype; /* "F32" */
    uint32_t type;
    uint32_t n_dims;
    uint64_t dims[3];
    uint32_t row; /* of maker_names */
    uint32_t layer;
    bool turned; /* in the file it is [in, out] */
} maker_tensor;

typedef struct maker_list {
    maker_tensor *tensors;
    uint32_t n;
    bool zeros; /* write no weights: the file has a hole, which is quick */
} maker_list;

/* Ends the test's process without memory. */
maker_list maker_init(const maker_model *model);
void maker_deinit(maker_list *list);
maker_tensor *maker_find(maker_list *list, const char *name); /* or NULL */
void maker_remove(maker_list *list, const char *name);
/* false: it cannot be written */
bool maker_write(const maker_list *list, const char *path);

/* The weight of tensor `native` ("att.w1", "emb.weight") in a layer at
 * [out, in] of y = W x; vectors have one row. Every type of the three holds
 * it. */
float maker_value(const char *native, uint32_t layer, uint64_t out,
                  uint64_t in);

#endif
