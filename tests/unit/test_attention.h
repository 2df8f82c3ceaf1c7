/* SPDX-License-Identifier: Apache-2.0
 * A small attention or recurrence on attention_cpu, for its unit tests.
 */
#ifndef VOLLEY_TEST_ATTENTION_H
#define VOLLEY_TEST_ATTENTION_H

#include "volley_test.h"

#include <volley/attention.h>
#include <volley/volley.h>
#include <volley/wkv.h>

/* The plugin; made by test_attention_open, a cmocka group setup. */
extern const vly_attention *test_attention;
extern const vly_wkv *test_wkv;
extern vly_error test_error;

int test_attention_open(void **state);
int test_attention_close(void **state);

/* Memory of one run: fp32, [batch][seq][heads][dim], from a seed. */
typedef struct test_case {
    vly_attention_desc desc;
    vly_attention_run run;
    float *memory;
    size_t n_q; /* elements */
    size_t n_kv;
    size_t n_o;
} test_case;

/* desc with types, layouts and the workspace set. */
vly_attention_desc test_attention_desc(uint32_t batch, uint32_t heads_q,
                                       uint32_t heads_kv, uint32_t seq_q,
                                       uint32_t seq_kv, uint32_t dim,
                                       uint32_t flags);
void test_case_init(test_case *one, const vly_attention_desc *desc);
void test_case_deinit(test_case *one);
/* Plan, run with a workspace of its own, destroy. */
vly_status test_case_run(test_case *one, uint32_t n_threads,
                         const char *options);
/* Random numbers in [-1, 1). */
float test_random(uint32_t *state);

#endif
