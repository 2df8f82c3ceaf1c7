/* SPDX-License-Identifier: Apache-2.0
 * The functions of kernels/models/program.h against double, with the bounds
 * given there, over all their arguments.
 */
#include "volley_test.h"

#include <math.h>

#include "base/number.h"
#include "kernels/models/program.h"

static const double U = 0x1p-24;

/* Every float of [1, 4): Newton's steps are the same in every other pair of
 * octaves, where only exponents differ. */
static void inverse_is_near(void **state)
{
    (void)state;
    double worst = 0;
    for (uint32_t bits = 0x3f800000u; bits < 0x40800000u; bits++) {
        double exact = 1.0 / (double)vly_float(bits);
        double found = (double)vly_inverse_f32(vly_float(bits));
        double error = fabs(found - exact) / exact;
        worst = error > worst ? error : worst;
    }
    printf("inverse: worst relative error %.3f u in [1, 4), bound 2.5 u\n",
           worst / U);
    assert_true(worst <= 2.5 * U);
    /* every octave from 2^-40 to 2^80, both signs */
    for (int e = -40; e < 80; e++)
        for (uint32_t k = 0; k < 8192; k++) {
            float x = ldexpf(1.0f + (float)k * 0x1p-13f, e);
            double exact = 1.0 / (double)x;
            double error = fabs((double)vly_inverse_f32(x) - exact) / exact;
            if (!(error <= 2.5 * U))
                fail_msg("1 / %a: %g u", (double)x, error / U);
            assert_true(vly_inverse_f32(-x) == -vly_inverse_f32(x));
        }
}

static void inverse_is_clamped(void **state)
{
    (void)state;
    float least = vly_inverse_f32(0x1p80f);
    float most = vly_inverse_f32(0x1p-40f);
    assert_close((double)most, 0x1p40, 2.5 * U * 0x1p40);
    assert_close((double)least, 0x1p-80, 2.5 * U * 0x1p-80);
    assert_true(vly_inverse_f32(0.0f) == most);
    assert_true(vly_inverse_f32(-0.0f) == -most);
    assert_true(vly_inverse_f32(0x1p-41f) == most);
    assert_true(vly_inverse_f32(0x1p-149f) == most);
    assert_true(vly_inverse_f32(0x1p100f) == least);
    assert_true(vly_inverse_f32(-0x1.fffffep127f) == -least);
    assert_true(vly_inverse_f32(INFINITY) == least);
    assert_true(vly_inverse_f32(-INFINITY) == -least);
    assert_true(vly_inverse_f32(vly_float(0x7fc00000u)) == most);
    assert_true(vly_inverse_f32(vly_float(0xffc00001u)) == most);
    assert_true(vly_inverse_f32(vly_float(0xff800001u)) == most);
}

static void root_is_near(void **state)
{
    (void)state;
    double worst = 0;
    for (uint32_t bits = 0x3f800000u; bits < 0x40800000u; bits++) {
        double exact = sqrt((double)vly_float(bits));
        double found = (double)vly_root_f32(vly_float(bits));
        double error = fabs(found - exact) / exact;
        worst = error > worst ? error : worst;
    }
    printf("root: worst relative error %.3f u in [1, 4), bound 3.1 u\n",
           worst / U);
    assert_true(worst <= 3.1 * U);
    for (int e = -80; e < 80; e++)
        for (uint32_t k = 1; k < 8192; k++) {
            float x = ldexpf(1.0f + (float)k * 0x1p-13f, e);
            double exact = sqrt((double)x);
            double error = fabs((double)vly_root_f32(x) - exact) / exact;
            if (!(error <= 3.1 * U))
                fail_msg("root of %a: %g u", (double)x, error / U);
        }
}

static void root_is_clamped(void **state)
{
    (void)state;
    float most = vly_root_f32(0x1p80f);
    assert_close((double)most, 0x1p40, 3.1 * U * 0x1p40);
    assert_true(vly_root_f32(0x1p81f) == most);
    assert_true(vly_root_f32(INFINITY) == most);
    assert_true(vly_root_f32(0.0f) == 0.0f);
    assert_true(vly_root_f32(-0.0f) == 0.0f);
    assert_true(vly_root_f32(-4.0f) == 0.0f);
    assert_true(vly_root_f32(-INFINITY) == 0.0f);
    assert_true(vly_root_f32(0x1p-81f) == 0.0f);
    assert_true(vly_root_f32(0x1p-149f) == 0.0f);
    assert_true(vly_root_f32(vly_float(0x7fc00000u)) == 0.0f);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(inverse_is_near),
    cmocka_unit_test(inverse_is_clamped),
    cmocka_unit_test(root_is_near),
    cmocka_unit_test(root_is_clamped),
};
VLY_TEST_MAIN(tests)
