/* SPDX-License-Identifier: Apache-2.0
 * Random tensors of a bench, in several sets that are used in turn, for the
 * suites attention and wkv.
 */
#ifndef VOLLEY_BENCH_BENCH_TENSOR_H
#define VOLLEY_BENCH_BENCH_TENSOR_H

#include "tools/bench/bench_product.h"

enum { BENCH_SETS_MOST = 64 };

/* All 0: no tensor. */
typedef struct bench_tensor {
    uint32_t type;
    uint32_t sets;
    uint64_t count; /* elements of a set */
    uint64_t bytes;
    void *device[BENCH_SETS_MOST];
    void *host; /* copy of set 0 */
} bench_tensor;

enum {
    BENCH_TENSOR_RANDOM = 0, /* mean 0, deviation 0.58: [-1, 1) */
    BENCH_TENSOR_POISON = 1, /* NaN, to be written */
    BENCH_TENSOR_GIVEN = 2,  /* every set is `given` */
};

typedef struct bench_tensor_spec {
    uint32_t type; /* VLY_ELEMENT_* */
    uint32_t what; /* BENCH_TENSOR_* */
    uint64_t count;
    double scale;  /* random: numbers are multiplied with it, then ... */
    double offset; /* ... this is added */
    const void *given;
} bench_tensor_spec;

/* Errors  E_NOMEM, E_DEVICE; the tensor can be freed */
vly_status bench_tensor_make(bench_tensor *tensor,
                             const vly_accelerator *accelerator,
                             const bench_tensor_spec *spec, uint32_t sets,
                             uint64_t seed, vly_error *error);
void bench_tensor_free(bench_tensor *tensor,
                       const vly_accelerator *accelerator);
/* Set 0 from the device to the host's copy. Errors E_DEVICE */
vly_status bench_tensor_get(bench_tensor *tensor,
                            const vly_accelerator *accelerator,
                            vly_error *error);
/* n elements from index first as double */
void bench_tensor_read(const bench_tensor *tensor, uint64_t first, uint64_t n,
                       double *to);

/* The numbers of "2048,8192" into values.
 * Errors  E_INVALID with the part that is not a number
 */
vly_status bench_numbers(const char *text, const char *option, uint32_t least,
                         uint32_t most, uint32_t *values, uint32_t capacity,
                         uint32_t *n, vly_error *error);
/* The types of "fp16,bf16" of a mask of 1 << VLY_ELEMENT_*, likewise. */
vly_status bench_types(const char *text, uint32_t mask, uint32_t *types,
                       uint32_t capacity, uint32_t *n, vly_error *error);

/* ---- suites ---------------------------------------------------------------
 */

/* Checks that --seq, --types and --dims can be read. */
vly_status bench_attention_check(const bench_options *options,
                                 vly_error *error);
vly_status bench_wkv_check(const bench_options *options, vly_error *error);
/* --sizes, --types, --seq of suite rwkv */
vly_status bench_rwkv_check(const bench_options *options, vly_error *error);
/* Adds rows. Errors  as run; E_DEVICE a result is wrong */
vly_status bench_attention(const bench_options *options, bench_results *results,
                           vly_error *error);
vly_status bench_wkv(const bench_options *options, bench_results *results,
                     vly_error *error);
vly_status bench_rwkv(const bench_options *options, bench_results *results,
                      vly_error *error);

#endif
