/* SPDX-License-Identifier: Apache-2.0
 * fp16 and bf16 against their definitions: every value, every tie, and numbers
 * near both.
 */
#include "monitor/small_float.h"

#include <volley/accelerator.h>

#include "base/number.h"
#include "base/random.h"
#include "conformance/conformance_element.h"
#include "volley_test.h"

static bool is_nan(float x)
{
    return (vly_float_bits(x) & 0x7fffffffu) > 0x7f800000u;
}

static void check_encode(float x)
{
    const uint16_t half =
        (uint16_t)conformance_encode(VLY_ELEMENT_F16, (double)x);
    const uint16_t bfloat =
        (uint16_t)conformance_encode(VLY_ELEMENT_BF16, (double)x);
    if (vly_half_from_float(x) != half)
        fail_msg("%a is half %04x, wanted %04x", (double)x,
                 vly_half_from_float(x), half);
    if (vly_bfloat_from_float(x) != bfloat)
        fail_msg("%a is bfloat %04x, wanted %04x", (double)x,
                 vly_bfloat_from_float(x), bfloat);
}

static void test_decode(void **state)
{
    (void)state;
    for (uint32_t bits = 0; bits < 1u << 16; bits++) {
        const float half = vly_float_from_half((uint16_t)bits);
        const float bfloat = vly_float_from_bfloat((uint16_t)bits);
        const double h = conformance_decode(VLY_ELEMENT_F16, bits);
        const double b = conformance_decode(VLY_ELEMENT_BF16, bits);
        if (h != h)
            assert_true(is_nan(half));
        else
            assert_int_equal(vly_float_bits(half), vly_float_bits((float)h));
        if (b != b)
            assert_true(is_nan(bfloat));
        else
            assert_int_equal(vly_float_bits(bfloat), vly_float_bits((float)b));
    }
}

static void test_encode(void **state)
{
    (void)state;
    /* the values of both types, what lies halfway, and the neighbours */
    for (uint32_t bits = 0; bits < 1u << 16; bits++) {
        const float half = vly_float_from_half((uint16_t)bits);
        const float bfloat = vly_float_from_bfloat((uint16_t)bits);
        for (uint32_t near = 0; near < 3 && !is_nan(half); near++) {
            check_encode(vly_float_from_bits(vly_float_bits(half) + near - 1));
            check_encode(
                vly_float_from_bits(vly_float_bits(half) + 0xfff + near));
        }
        for (uint32_t near = 0; near < 3 && !is_nan(bfloat); near++)
            check_encode(
                vly_float_from_bits(vly_float_bits(bfloat) + 0x7fff + near));
    }
    for (uint32_t i = 0; i < 200000; i++)
        check_encode(vly_float_from_bits(vly_philox_word(1, i, 0, 0)));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_decode),
    cmocka_unit_test(test_encode),
};

VLY_TEST_MAIN(tests)
