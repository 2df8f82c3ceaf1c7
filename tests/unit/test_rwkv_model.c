/* SPDX-License-Identifier: Apache-2.0
 * test_rwkv_model [DEVICE]: RWKV-7 models of several sizes against the
 * reference in double, in every format of weights and activations; on the
 * processor, or on a device as in "cuda:0,early=1" (not there: skipped, or
 * failed where it is required).
 *
 * What is allowed: the reference is computed again with its stored values
 * changed at random by the unit of the type they are stored in (fp32: by 2^-22,
 * as sums of some hundred terms and exp are worse than one rounding), a number
 * of times. No logit may be further away than twice the largest change seen of
 * any logit. Weights are compared as they are stored, so formats have
 * no part in it: what packing may lose is checked by itself.
 */
#include "test_rwkv_fixture.h"

#include <math.h>
#include <stdlib.h>

#include <volley/accelerator.h>

#include "accelerator/accelerator.h"
#include "monitor/rwkv_pack.h"
#include "monitor/small_float.h"

enum { N_TOKENS = 6, N_DRAWS = 4, MOST = 1000 };

/* ---- weights as they are stored ------------------------------------------ */

typedef struct stored {
    const vly_rwkv_sizes *sizes;
    vly_rwkv_format format;
    vly_rwkv_format activation;
} stored;

static uint32_t element_of(vly_rwkv_format format)
{
    return format == VLY_RWKV_FORMAT_F16    ? VLY_ELEMENT_F16
           : format == VLY_RWKV_FORMAT_BF16 ? VLY_ELEMENT_BF16
                                            : VLY_ELEMENT_F32;
}

static bool is_large(vly_rwkv_tensor id)
{
    return id == VLY_RWKV_RECEPTANCE || id == VLY_RWKV_KEY ||
           id == VLY_RWKV_VALUE || id == VLY_RWKV_OUTPUT ||
           id == VLY_RWKV_FFN_KEY || id == VLY_RWKV_FFN_VALUE;
}

static double widened(uint32_t type, const void *from, uint64_t i)
{
    const uint16_t *halves = from;
    if (type == VLY_ELEMENT_F16)
        return (double)vly_float_from_half(halves[i]);
    if (type == VLY_ELEMENT_BF16)
        return (double)vly_float_from_bfloat(halves[i]);
    return (double)((const float *)from)[i];
}

/* Packed and unpacked. int8 and int4 are never more than half a scale away. */
static void through(uint32_t type, uint32_t type_scale, const float *x,
                    uint64_t rows, uint64_t columns, double *out)
{
    const uint64_t n = rows * columns;
    const uint64_t each = type == VLY_ELEMENT_I8 ? columns : RWKV_GROUP;
    void *packed = calloc(n, 4);
    void *scales = calloc(n, 4);
    assert_int_equal(
        rwkv_pack(type, type_scale, x, rows, columns, packed, scales), n);
    for (uint64_t i = 0; i < n; i++) {
        const int8_t *bytes = packed;
        if (type != VLY_ELEMENT_I8 && type != VLY_ELEMENT_I4) {
            out[i] = widened(type, packed, i);
            continue;
        }
        const double scale = widened(type_scale, scales, i / each);
        int q = bytes[i];
        if (type == VLY_ELEMENT_I4) {
            q = ((const uint8_t *)packed)[i / 2] >> (i % 2 * 4) & 15;
            q = q > 7 ? q - 16 : q;
        }
        out[i] = q * scale;
        assert_close(out[i], x[i], scale * 0.500001);
    }
    free(packed);
    free(scales);
}

static void give(void *context, vly_rwkv_tensor id, uint32_t layer, uint64_t n,
                 double *out)
{
    const stored *s = context;
    const bool is_small =
        s->format == VLY_RWKV_FORMAT_W8 || s->format == VLY_RWKV_FORMAT_W4;
    uint64_t rows, columns;
    uint32_t type = VLY_ELEMENT_F32;
    float *x = malloc(n * sizeof *x);
    rwkv_reference_shape(s->sizes, id, layer, &rows, &columns);
    for (uint64_t i = 0; i < n; i++)
        x[i] = test_rwkv_weight(id, layer, i, columns);
    if (rows > 1)
        type = !is_small                               ? element_of(s->format)
               : s->activation == VLY_RWKV_FORMAT_BF16 ? VLY_ELEMENT_BF16
                                                       : VLY_ELEMENT_F16;
    if (is_large(id) && is_small)
        type =
            s->format == VLY_RWKV_FORMAT_W8 ? VLY_ELEMENT_I8 : VLY_ELEMENT_I4;
    through(type, element_of(s->activation), x, rows, columns, out);
    free(x);
}

/* ---- bounds ---------------------------------------------------------------
 */

static double wanted[N_TOKENS][MOST];

/* Fills wanted; returns how far a logit may be away. */
static double find_bound(const stored *s, const uint32_t *tokens)
{
    static double moved[MOST];
    rwkv_reference reference;
    double most = 0.0;
    double noise = s->activation == VLY_RWKV_FORMAT_F16    ? 0x1p-11
                   : s->activation == VLY_RWKV_FORMAT_BF16 ? 0x1p-8
                                                           : 0x1p-22;
    stored copy = *s;
    assert_true(rwkv_reference_init(&reference, s->sizes, give, &copy));
    for (uint32_t t = 0; t < N_TOKENS; t++)
        rwkv_reference_token(&reference, tokens[t], wanted[t]);
    for (uint32_t d = 0; d < N_DRAWS; d++) {
        rwkv_reference_reset(&reference);
        reference.noise = noise;
        reference.draw = d;
        for (uint32_t t = 0; t < N_TOKENS; t++) {
            rwkv_reference_token(&reference, tokens[t], moved);
            for (uint32_t i = 0; i < s->sizes->vocabulary; i++) {
                const double away = fabs(moved[i] - wanted[t][i]);
                most = away > most ? away : most;
            }
        }
    }
    rwkv_reference_deinit(&reference);
    return 2.0 * most;
}

static void check_model(uint32_t number, const char *device,
                        vly_rwkv_format format, vly_rwkv_format activation)
{
    const stored s = {&test_rwkv_sizes[number], format, activation};
    const uint32_t vocabulary = s.sizes->vocabulary;
    uint32_t tokens[N_TOKENS];
    float *logits = calloc((size_t)N_TOKENS * vocabulary, sizeof *logits);
    test_rwkv_text(vocabulary, number, N_TOKENS, tokens);
    const double bound = find_bound(&s, tokens);
    vly_rwkv_model *model =
        test_rwkv_model(s.sizes, device, format, activation);
    vly_rwkv_context *context =
        test_rwkv_context(model, 1, 4, VLY_RWKV_ALL_LOGITS);
    double most = 0.0;
    assert_ok(vly_rwkv_context_feed(context, tokens, NULL, N_TOKENS, logits,
                                    &test_error),
              test_error);
    for (uint32_t t = 0; t < N_TOKENS; t++)
        for (uint32_t i = 0; i < vocabulary; i++) {
            const double away =
                fabs((double)logits[t * vocabulary + i] - wanted[t][i]);
            assert_close(logits[t * vocabulary + i], wanted[t][i], bound);
            most = away > most ? away : most;
        }
    print_message("%s: %s, activations %s, width %u: %.2g of %.2g allowed\n",
                  device, vly_rwkv_format_name(format),
                  vly_rwkv_format_name(activation), s.sizes->width, most,
                  bound);
    vly_rwkv_context_destroy(context);
    vly_rwkv_model_destroy(model);
    free(logits);
}

static const char *device = "cpu:1";

static void test_sizes(void **state)
{
    (void)state;
    test_rwkv_need(device);
    for (uint32_t i = 0; i < test_rwkv_n_sizes; i++)
        check_model(i, device, VLY_RWKV_FORMAT_F32, VLY_RWKV_FORMAT_F32);
}

/* Size 1 has rows of whole groups of 128. */
static void test_formats(void **state)
{
    (void)state;
    test_rwkv_need(device);
    check_model(1, device, VLY_RWKV_FORMAT_F16, VLY_RWKV_FORMAT_F32);
    check_model(2, device, VLY_RWKV_FORMAT_BF16, VLY_RWKV_FORMAT_F32);
    check_model(0, device, VLY_RWKV_FORMAT_W8, VLY_RWKV_FORMAT_F32);
    check_model(1, device, VLY_RWKV_FORMAT_W4, VLY_RWKV_FORMAT_F32);
    check_model(2, device, VLY_RWKV_FORMAT_F16, VLY_RWKV_FORMAT_F16);
    check_model(1, device, VLY_RWKV_FORMAT_BF16, VLY_RWKV_FORMAT_BF16);
    check_model(0, device, VLY_RWKV_FORMAT_W8, VLY_RWKV_FORMAT_F16);
    check_model(1, device, VLY_RWKV_FORMAT_W8, VLY_RWKV_FORMAT_BF16);
    check_model(1, device, VLY_RWKV_FORMAT_W4, VLY_RWKV_FORMAT_F16);
}

/* Where the processor has them: the loops are compiled for each. */
static void test_instructions(void **state)
{
    static const char *const devices[] = {"cpu:1,isa=scalar", "cpu:1,isa=avx2",
                                          "cpu:1,isa=avx512"};
    (void)state;
    for (uint32_t i = 0; i < 3; i++) {
        vly_accelerator found;
        vly_rwkv_plan *plan = NULL;
        vly_rwkv_desc desc = {.struct_size = sizeof desc,
                              .op = VLY_RWKV_ADD,
                              .batch = 1,
                              .seq = 1,
                              .width = 64};
        assert_ok(vly_accelerator_find(test_registry, VLY_RWKV_INTERFACE,
                                       devices[i], 1, &found, &test_error),
                  test_error);
        const vly_status status =
            found.rwkv.plan_create(&found.device, &desc, &plan, &test_error);
        if (status == VLY_E_UNSUPPORTED && i > 0) {
            print_message("%s\n", test_error.message);
            continue;
        }
        assert_ok(status, test_error);
        found.rwkv.plan_destroy(plan);
        check_model(2, devices[i], VLY_RWKV_FORMAT_F32, VLY_RWKV_FORMAT_F32);
        check_model(2, devices[i], VLY_RWKV_FORMAT_F16, VLY_RWKV_FORMAT_F16);
        check_model(1, devices[i], VLY_RWKV_FORMAT_W4, VLY_RWKV_FORMAT_BF16);
        check_model(1, devices[i], VLY_RWKV_FORMAT_W8, VLY_RWKV_FORMAT_F32);
    }
}

/* ---- packing ---------------------------------------------------------------
 */

static void test_packing(void **state)
{
    enum { N = 256 };
    static const uint32_t types[3] = {VLY_ELEMENT_F32, VLY_ELEMENT_F16,
                                      VLY_ELEMENT_BF16};
    float x[N] = {0};
    double out[N];
    uint16_t scales[N];
    uint8_t packed[2 * N];
    (void)state;
    /* rows of every size of numbers, subnormal scales of fp16 among them */
    for (int power = -18; power <= 14; power++)
        for (uint32_t s = 0; s < 3; s++) {
            for (uint32_t i = 0; i < N; i++)
                x[i] = ldexpf(test_rwkv_weight(VLY_RWKV_EMB, 0, i, 4), power);
            through(VLY_ELEMENT_I8, types[s], x, 2, N / 2, out);
            through(VLY_ELEMENT_I4, types[s], x, 2, N / 2, out);
        }
    memset(x, 0, sizeof x);
    through(VLY_ELEMENT_I8, VLY_ELEMENT_F16, x, 1, N, out);
    through(VLY_ELEMENT_I4, VLY_ELEMENT_BF16, x, 1, N, out);
    x[200] = 70000.0f;
    assert_int_equal(
        rwkv_pack(VLY_ELEMENT_F16, VLY_ELEMENT_F16, x, 1, N, packed, scales),
        200);
    x[200] = 1e30f;
    assert_int_equal(
        rwkv_pack(VLY_ELEMENT_I8, VLY_ELEMENT_F16, x, 2, N / 2, packed, scales),
        N / 2);
    assert_int_equal(
        rwkv_pack(VLY_ELEMENT_I4, VLY_ELEMENT_F16, x, 2, N / 2, packed, scales),
        N / 2);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest on_device[] = {
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_formats),
    };
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_packing),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_formats),
        cmocka_unit_test(test_instructions),
    };
    if (argc > 1) {
        device = argv[1];
        return cmocka_run_group_tests(on_device, test_rwkv_open,
                                      test_rwkv_close)
                   ? 1
                   : 0;
    }
    return cmocka_run_group_tests(tests, test_rwkv_open, test_rwkv_close) ? 1
                                                                          : 0;
}
