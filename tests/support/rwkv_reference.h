/* SPDX-License-Identifier: Apache-2.0
 * RWKV-7 in double with plain loops, from the equations and none of the
 * engine's code: what models are held against. Rounding can be imitated: every
 * value that a model stores or sums is changed by a random part of `noise`, so
 * that the spread of such answers says how far roundings of that size may move
 * a logit.
 */
#ifndef VOLLEY_TESTS_RWKV_REFERENCE_H
#define VOLLEY_TESTS_RWKV_REFERENCE_H

#include <stdint.h>

#include "monitor/rwkv_weights.h"

typedef struct rwkv_reference {
    vly_rwkv_sizes sizes;
    double *weights[16][VLY_RWKV_N_TENSORS]; /* by layer, as handed out */
    double *last[2];                         /* [layers][width] */
    double *state;                           /* [layers][heads][64][64] */
    double noise;
    uint64_t draw; /* of the noise; any number begins a new one */
} rwkv_reference;

/* All states 0; weights as fp32, handed over by `give` for each tensor. 0: no
 * memory */
int rwkv_reference_init(rwkv_reference *reference, const vly_rwkv_sizes *sizes,
                        void (*give)(void *context, vly_rwkv_tensor id,
                                     uint32_t layer, uint64_t n, double *out),
                        void *context);
void rwkv_reference_deinit(rwkv_reference *reference);
void rwkv_reference_reset(rwkv_reference *reference);
/* logits [vocabulary] */
void rwkv_reference_token(rwkv_reference *reference, uint32_t token,
                          double *logits);
/* rows and columns of a tensor as it is handed out; 0: a layer has none */
uint64_t rwkv_reference_shape(const vly_rwkv_sizes *sizes, vly_rwkv_tensor id,
                              uint32_t layer, uint64_t *rows,
                              uint64_t *columns);

#endif
