/* SPDX-License-Identifier: Apache-2.0
 * RWKV-7 models with random weights.
 */
#include "test_rwkv_fixture.h"

#include <volley/accelerator.h>

#include "accelerator/accelerator.h"
#include "base/number.h"
#include "base/random.h"
#include "device_test.h"

vly_registry *test_registry;
vly_error test_error = {.struct_size = sizeof test_error};

#define SIZES(l, d, f, v, rw, ra, rv, rg)                                      \
    {                                                                          \
        .layers = l, .width = d, .heads = d / 64, .hidden = f,                 \
        .vocabulary = v, .rank_w = rw, .rank_a = ra, .rank_v = rv,             \
        .rank_g = rg                                                           \
    }

const vly_rwkv_sizes test_rwkv_sizes[] = {
    SIZES(4, 64, 256, 256, 16, 8, 8, 24),
    SIZES(2, 128, 512, 1000, 32, 32, 16, 64),
    SIZES(3, 192, 320, 256, 5, 7, 3, 9), /* odd ranks, hidden not 4 D */
    SIZES(1, 320, 1280, 1000, 64, 64, 0, 128),
};
const uint32_t test_rwkv_n_sizes =
    sizeof test_rwkv_sizes / sizeof test_rwkv_sizes[0];

int test_rwkv_open(void **state)
{
    (void)state;
    if (vly_registry_create(&test_registry, &test_error) == VLY_OK)
        return 0;
    print_error("%s\n", test_error.message);
    return 1;
}

int test_rwkv_close(void **state)
{
    (void)state;
    vly_registry_destroy(test_registry);
    return 0;
}

/* Middle and half width of a tensor's weights. */
static void range_of(vly_rwkv_tensor id, uint64_t columns, double *middle,
                     double *half)
{
    *middle = 0.0;
    *half = 1.7 / (double)(columns > 0 ? vly_sqrt((double)columns) : 1.0);
    switch ((int)id) {
    case VLY_RWKV_LN0_WEIGHT:
    case VLY_RWKV_LN1_WEIGHT:
    case VLY_RWKV_LN2_WEIGHT:
    case VLY_RWKV_LN_X_WEIGHT:
    case VLY_RWKV_LN_OUT_WEIGHT:
    case VLY_RWKV_K_K:
    case VLY_RWKV_K_A:
        *middle = 0.9;
        *half = 0.3;
        break;
    case VLY_RWKV_X_R:
    case VLY_RWKV_X_W:
    case VLY_RWKV_X_K:
    case VLY_RWKV_X_V:
    case VLY_RWKV_X_A:
    case VLY_RWKV_X_G:
    case VLY_RWKV_FFN_X_K:
        *middle = 0.5;
        *half = 0.5;
        break;
    case VLY_RWKV_W0:
        *middle = -2.0;
        *half = 4.0;
        break;
    case VLY_RWKV_A0:
    case VLY_RWKV_V0:
        *half = 1.5;
        break;
    case VLY_RWKV_EMB:
        *half = 1.0;
        break;
    case VLY_RWKV_R_K:
        *half = 0.3;
        break;
    default:
        break;
    }
}

void test_rwkv_need(const char *device)
{
    vly_accelerator found;
    if (vly_accelerator_find(test_registry, VLY_RWKV_INTERFACE, device, 1,
                             &found, &test_error) == VLY_OK)
        return;
    if (strncmp(device, "cpu", 3) == 0 || device_is_required("cuda"))
        fail_msg("%s", test_error.message);
    print_message("skipped: %s\n", test_error.message);
    skip();
}

float test_rwkv_weight(vly_rwkv_tensor id, uint32_t layer, uint64_t element,
                       uint64_t columns)
{
    double middle, half;
    const uint64_t word =
        vly_mix64(vly_mix64(((uint64_t)id << 32) | layer) ^ element);
    range_of(id, columns, &middle, &half);
    return (float)(middle + half * ((double)(word >> 11) * 0x1p-52 - 1.0));
}

static vly_status read_random(void *context, vly_rwkv_tensor id, uint32_t layer,
                              uint64_t first, uint64_t n_rows, float *out,
                              vly_error *error)
{
    uint64_t rows, columns;
    (void)error;
    rwkv_reference_shape(context, id, layer, &rows, &columns);
    for (uint64_t i = 0; i < n_rows * columns; i++)
        out[i] = test_rwkv_weight(id, layer, first * columns + i, columns);
    return VLY_OK;
}

vly_rwkv_source test_rwkv_source(const vly_rwkv_sizes *sizes, uint32_t type)
{
    vly_rwkv_source source = {
        .name = "random", .sizes = *sizes, .type = type, .read = read_random};
    memcpy(&source.context, &sizes, sizeof sizes);
    return source;
}

vly_rwkv_model *test_rwkv_model(const vly_rwkv_sizes *sizes, const char *device,
                                vly_rwkv_format format,
                                vly_rwkv_format activation)
{
    const vly_rwkv_source source = test_rwkv_source(sizes, VLY_ELEMENT_F32);
    const vly_rwkv_options options = {.format = format,
                                      .activation = activation};
    vly_rwkv_model *model = NULL;
    assert_ok(vly_rwkv_model_create(test_registry, &source, device, &options,
                                    &model, &test_error),
              test_error);
    return model;
}

vly_rwkv_context *test_rwkv_context(const vly_rwkv_model *model, uint32_t n,
                                    uint32_t chunk, uint32_t flags)
{
    vly_rwkv_context *context = NULL;
    assert_ok(
        vly_rwkv_context_create(model, n, chunk, flags, &context, &test_error),
        test_error);
    return context;
}

void test_rwkv_text(uint32_t vocabulary, uint32_t seed, uint32_t n,
                    uint32_t *tokens)
{
    for (uint32_t i = 0; i < n; i++)
        tokens[i] = vly_below(vly_philox_word(seed, i, 7, 7), vocabulary);
}

void test_rwkv_feed(vly_rwkv_context *context, const uint32_t *tokens,
                    uint32_t n, float *logits)
{
    assert_ok(
        vly_rwkv_context_feed(context, tokens, NULL, n, logits, &test_error),
        test_error);
}

void test_rwkv_one_by_one(const test_rwkv_trial *t, const uint32_t *tokens,
                          uint32_t n, float *logits)
{
    vly_rwkv_model *model = test_rwkv_model(&test_rwkv_sizes[t->size], "cpu:1",
                                            t->format, t->activation);
    vly_rwkv_context *context = test_rwkv_context(model, 1, 1, 0);
    for (uint32_t i = 0; i < n; i++)
        assert_ok(vly_rwkv_context_feed(context, tokens + i, NULL, 1, logits,
                                        &test_error),
                  test_error);
    vly_rwkv_context_destroy(context);
    vly_rwkv_model_destroy(model);
}
