/* SPDX-License-Identifier: Apache-2.0
 * RWKV-7 models with random weights, and the tiny golden one.
 */
#ifndef TEST_RWKV_FIXTURE_H
#define TEST_RWKV_FIXTURE_H

#include "volley_test.h"

#include "monitor/rwkv.h"
#include "rwkv_reference.h"

#define GOLDEN VLY_TEST_SOURCE_DIR "/tests/golden/rwkv7/"

extern vly_registry *test_registry;
extern vly_error test_error;

int test_rwkv_open(void **state);
int test_rwkv_close(void **state);

/* Skips the test where the device ("cuda:0,early=1") is not there, with the
 * reason; fails it where it is required. */
void test_rwkv_need(const char *device);

/* A weight of a random model: a function of its place alone, of sizes that keep
 * activations near 1. */
float test_rwkv_weight(vly_rwkv_tensor id, uint32_t layer, uint64_t element,
                       uint64_t columns);
/* The same as a source; it points to *sizes. type: what AUTO takes. */
vly_rwkv_source test_rwkv_source(const vly_rwkv_sizes *sizes, uint32_t type);
/* Sizes of random models: width, layers, vocabulary, ranks differ. */
extern const vly_rwkv_sizes test_rwkv_sizes[];
extern const uint32_t test_rwkv_n_sizes;

vly_rwkv_model *test_rwkv_model(const vly_rwkv_sizes *sizes, const char *device,
                                vly_rwkv_format format,
                                vly_rwkv_format activation);
vly_rwkv_context *test_rwkv_context(const vly_rwkv_model *model, uint32_t n,
                                    uint32_t chunk, uint32_t flags);
/* Tokens of a random text. */
void test_rwkv_text(uint32_t vocabulary, uint32_t seed, uint32_t n,
                    uint32_t *tokens);

typedef struct test_rwkv_trial {
    uint32_t size;
    vly_rwkv_format format;
    vly_rwkv_format activation;
} test_rwkv_trial;

void test_rwkv_feed(vly_rwkv_context *context, const uint32_t *tokens,
                    uint32_t n, float *logits);
/* Logits after n tokens, fed one by one, in one thread: what others must be. */
void test_rwkv_one_by_one(const test_rwkv_trial *t, const uint32_t *tokens,
                          uint32_t n, float *logits);

#endif
