/* SPDX-License-Identifier: Apache-2.0
 * The conversions of plugins/common against those of core/conformance, which
 * are made by other means: every value of the small types, and of every two
 * neighbours the middle between them with the numbers next to it.
 */
#include <math.h>
#include <stdlib.h>

#include "volley_test.h"

#include "accel_common.h"
#include "conformance/conformance_element.h"
#include "element.h"

const char vly_support_plugin[] = "test";

static const uint32_t small_types[] = {VLY_ELEMENT_F16, VLY_ELEMENT_BF16,
                                       VLY_ELEMENT_E4M3, VLY_ELEMENT_I8,
                                       VLY_ELEMENT_I4};
#define N_SMALL (sizeof small_types / sizeof small_types[0])

static bool same(double a, double b)
{
    return (isnan(a) && isnan(b)) || (a == b && signbit(a) == signbit(b));
}

static void test_every_value(void **state)
{
    (void)state;
    for (uint32_t t = 0; t < N_SMALL; t++) {
        const uint32_t type = small_types[t];
        const uint32_t n_bits = conformance_element_bits(type);
        assert_int_equal(vly_element_bits(type), n_bits);
        for (uint32_t bits = 0; bits < 1u << n_bits; bits++) {
            /* int4: the low half of the byte, then the high half */
            const uint32_t word = n_bits == 4 ? bits | bits << 4 : bits;
            for (uint32_t half = 0; half < (n_bits == 4 ? 2u : 1u); half++) {
                float x = 0.0f;
                double y = 0.0;
                vly_element_to_f32(type, &word, half, &x, 1);
                vly_element_to_f64(type, &word, half, &y, 1);
                if (!same((double)x, conformance_decode(type, bits)) ||
                    !same(y, (double)x))
                    fail_msg("%s 0x%x is %g, wanted %g", vly_element_name(type),
                             bits, (double)x, conformance_decode(type, bits));
            }
        }
    }
}

/* x to the type, from float if it is one and from double */
static void check_from(uint32_t type, double x)
{
    const uint64_t wanted = conformance_encode(type, x);
    const float f = (float)x;
    uint64_t found = 0;
    vly_element_from_f64(type, &x, &found, 0, 1);
    if (found != wanted)
        fail_msg("%s of %.17g (double) is 0x%llx, wanted 0x%llx",
                 vly_element_name(type), x, (unsigned long long)found,
                 (unsigned long long)wanted);
    if ((double)f != x)
        return;
    found = 0;
    vly_element_from_f32(type, &f, &found, 0, 1);
    if (found != wanted)
        fail_msg("%s of %.9g is 0x%llx, wanted 0x%llx", vly_element_name(type),
                 (double)f, (unsigned long long)found,
                 (unsigned long long)wanted);
}

static void test_every_rounding(void **state)
{
    (void)state;
    for (uint32_t t = 0; t < N_SMALL; t++) {
        const uint32_t type = small_types[t];
        const uint32_t n_bits = conformance_element_bits(type);
        for (uint32_t bits = 0; bits < 1u << n_bits; bits++) {
            const double x = conformance_decode(type, bits);
            const uint32_t above = bits + 1u < 1u << n_bits ? bits + 1u : bits;
            const double next = conformance_decode(type, above);
            if (!isfinite(x))
                continue;
            check_from(type, x);
            if (!isfinite(next) || (x < 0) != (next < 0))
                continue;
            const double middle = (x + next) / 2;
            check_from(type, middle);
            check_from(type, nextafter(middle, INFINITY));
            check_from(type, nextafter(middle, -INFINITY));
            check_from(type, (double)nextafterf((float)middle, INFINITY));
            check_from(type, (double)nextafterf((float)middle, -INFINITY));
        }
    }
}

static void test_ends(void **state)
{
    (void)state;
    static const double ends[] = {
        65504,    65519.99, 65520,     65536,  1e30,    INFINITY,  448,
        463.9,    464,      464.1,     480,    0x1p-24, 0x1p-25,   0x1.8p-25,
        0x1p-149, 0x1p-133, 0x1p-134,  0x1p-9, 0x1p-10, 0x1.8p-10, 3.3895e38,
        3.4e38,   1e300,    0x1p-1000, 0.0,    127.5,   128,       7.5,
        8,        2.5,      3.5};
    for (uint32_t t = 0; t < N_SMALL; t++)
        for (uint32_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
            const bool is_whole = small_types[t] == VLY_ELEMENT_I8 ||
                                  small_types[t] == VLY_ELEMENT_I4;
            check_from(small_types[t], ends[i]);
            if (!is_whole || ends[i] != 0.0)
                check_from(small_types[t], -ends[i]);
        }
    for (uint32_t t = 0; t < N_SMALL; t++) {
        const float nan_f = NAN;
        double back = 0.0;
        uint64_t bits = 0;
        vly_element_from_f32(small_types[t], &nan_f, &bits, 0, 1);
        vly_element_to_f64(small_types[t], &bits, 0, &back, 1);
        assert_true(conformance_element_roundoff(small_types[t]) < 1.0
                        ? isnan(back)
                        : back == 0.0);
    }
}

/* Known values, from the types' own documents. */
static void test_known(void **state)
{
    (void)state;
    static const struct {
        uint32_t type;
        uint32_t bits;
        double value;
    } known[] = {{VLY_ELEMENT_F16, 0x3c00, 1.0},
                 {VLY_ELEMENT_F16, 0x7bff, 65504.0},
                 {VLY_ELEMENT_F16, 0x0001, 0x1p-24},
                 {VLY_ELEMENT_F16, 0x3555, 0.333251953125},
                 {VLY_ELEMENT_BF16, 0x3f80, 1.0},
                 {VLY_ELEMENT_BF16, 0x4049, 3.140625},
                 {VLY_ELEMENT_E4M3, 0x7e, 448.0},
                 {VLY_ELEMENT_E4M3, 0x08, 0x1p-6},
                 {VLY_ELEMENT_E4M3, 0x01, 0x1p-9},
                 {VLY_ELEMENT_E4M3, 0x38, 1.0},
                 {VLY_ELEMENT_I8, 0x80, -128.0},
                 {VLY_ELEMENT_I4, 0x8, -8.0},
                 {VLY_ELEMENT_I4, 0x7, 7.0}};
    for (uint32_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        uint64_t bits = 0;
        float x = 0.0f;
        vly_element_to_f32(known[i].type, &known[i].bits, 0, &x, 1);
        vly_element_from_f64(known[i].type, &known[i].value, &bits, 0, 1);
        assert_true((double)x == known[i].value);
        assert_int_equal(bits, known[i].bits);
        assert_true(conformance_decode(known[i].type, known[i].bits) ==
                    known[i].value);
    }
}

/* An array keeps its neighbours; int4 writes half bytes. */
static void test_arrays(void **state)
{
    (void)state;
    enum { N = 37 };
    for (uint32_t t = 0; t < N_SMALL; t++) {
        const uint32_t type = small_types[t];
        unsigned char array[2 * (N + 2)];
        float from[N];
        float to[N];
        memset(array, 0x5a, sizeof array);
        const double before = conformance_element_get(type, array, 0);
        for (int i = 0; i < N; i++)
            from[i] = (float)(i % 15 - 7);
        vly_element_from_f32(type, from, array, 1, N);
        vly_element_to_f32(type, array, 1, to, N);
        for (int i = 0; i < N; i++) {
            assert_true(to[i] == from[i]);
            assert_true(conformance_element_get(type, array, (uint64_t)i + 1) ==
                        (double)from[i]);
        }
        assert_true(conformance_element_get(type, array, 0) == before);
        assert_true(conformance_element_get(type, array, N + 1) == before);
    }
}

static void test_options(void **state)
{
    (void)state;
    static const char *const extra[] = {"isa", NULL};
    static const char *const wrong[] = {
        "tune",   "tune=2", "tune=",    "choose=", "=1",
        "isa2=1", "cache=", "tune=0,,", "tuned=1", "tune=0,isa=a,tune=0"};
    vly_error error = {.struct_size = sizeof error};
    vly_accel_options options;
    char value[8];
    assert_ok(vly_accel_options_parse(NULL, NULL, &options, &error), error);
    assert_true(options.tune && options.cache == VLY_ACCEL_CACHE_DEFAULT);
    assert_string_equal(options.choose, "");
    assert_ok(vly_accel_options_parse("isa=avx2,tune=0,cache=/x/y,choose=plain",
                                      extra, &options, &error),
              error);
    assert_false(options.tune);
    assert_int_equal(options.cache, VLY_ACCEL_CACHE_FOLDER);
    assert_string_equal(options.cache_folder, "/x/y");
    assert_string_equal(options.choose, "plain");
    assert_true(vly_accel_options_value("tune=0,isa=avx2", "isa", value, 8));
    assert_string_equal(value, "avx2");
    assert_false(vly_accel_options_value("xisa=a", "isa", value, 8));
    for (uint32_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        error.message[0] = 0;
        assert_int_equal(
            vly_accel_options_parse(wrong[i], extra, &options, &error),
            VLY_E_INVALID);
        assert_true(strstr(error.message, "option") != NULL);
        assert_string_equal(options.choose, "plain"); /* untouched */
    }
}

static void test_extents(void **state)
{
    (void)state;
    uint64_t bytes = 7;
    assert_true(vly_accel_extent(2, 100, 3, 10, 4, 16, &bytes));
    assert_int_equal(bytes, 2 * (100 + 20 + 4));
    assert_true(vly_accel_extent(1, 0, 3, 10, 3, 4, &bytes));
    assert_int_equal(bytes, 12); /* 23 halves of a byte */
    assert_true(vly_accel_extent(1, UINT64_MAX, 1, UINT64_MAX, 1, 32, &bytes));
    assert_int_equal(bytes, 4);
    assert_true(vly_accel_extent(5, UINT64_MAX, 0, 1, 1, 32, &bytes));
    assert_int_equal(bytes, 0);
    bytes = 7;
    assert_false(vly_accel_extent(1, 0, UINT64_C(1) << 32, UINT64_C(1) << 32, 1,
                                  8, &bytes));
    assert_false(vly_accel_extent(3, UINT64_C(1) << 62, 1, 1, 1, 32, &bytes));
    assert_int_equal(bytes, 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_value),
                                       cmocka_unit_test(test_every_rounding),
                                       cmocka_unit_test(test_ends),
                                       cmocka_unit_test(test_known),
                                       cmocka_unit_test(test_arrays),
                                       cmocka_unit_test(test_options),
                                       cmocka_unit_test(test_extents)};
    return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
