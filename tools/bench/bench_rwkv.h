/* SPDX-License-Identifier: Apache-2.0
 * Models of suite rwkv: which ones, and random weights.
 */
#ifndef VOLLEY_BENCH_BENCH_RWKV_H
#define VOLLEY_BENCH_BENCH_RWKV_H

#include "monitor/rwkv.h"
#include "tools/bench/bench.h"

enum { BENCH_RWKV_LIST = 8, BENCH_RWKV_NAME_BYTES = 32 };

typedef struct bench_rwkv_size {
    char name[BENCH_RWKV_NAME_BYTES]; /* "0.1B" */
    vly_rwkv_sizes sizes;
} bench_rwkv_size;

/* Values of --sizes, --types and --seq. */
typedef struct bench_rwkv_lists {
    bench_rwkv_size sizes[BENCH_RWKV_LIST];
    uint32_t n_sizes;
    vly_rwkv_format formats[BENCH_RWKV_LIST];
    uint32_t n_formats;
    uint32_t seq[BENCH_RWKV_LIST];
    uint32_t n_seq;
} bench_rwkv_lists;

/* Errors  E_INVALID with the part that cannot be read */
vly_status bench_rwkv_read(const bench_options *options, bool is_host,
                           bench_rwkv_lists *lists, vly_error *error);
/* A model of that size with random weights on options->backend.
 * Errors  as vly_rwkv_model_create; E_STOPPED by a signal */
vly_status bench_rwkv_model(const bench_options *options,
                            const bench_rwkv_size *size, vly_rwkv_format format,
                            vly_rwkv_model **model, vly_error *error);

#endif
