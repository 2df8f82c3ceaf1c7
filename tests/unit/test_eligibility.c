/* SPDX-License-Identifier: Apache-2.0
 * The words of rules with an eligibility, beside whole numbers and doubles.
 */
#include "volley_test.h"

#include <math.h>

#include "base/random.h"
#include "kernels/rules/plasticity_rules.h"

#define MOST VLY_ELIGIBILITY_MOST

/* Number n of a sequence that has all sizes and both signs. */
static int32_t number(uint64_t n)
{
    uint64_t word = vly_mix64(n + 1);
    int32_t size = (int32_t)((uint32_t)word >> (1 + (word >> 32) % 31));
    size = size < MOST ? size : MOST;
    return word >> 63 ? -size : size;
}

static void as_float(void **state)
{
    (void)state;
    for (uint64_t n = 0; n < 200000; n++) {
        int32_t e = number(n);
        assert_true(vly_eligibility_f32(e) == (float)e / 65536.0f);
    }
    assert_true(vly_eligibility_f32(0) == 0.0f);
    assert_true(vly_eligibility_f32(-MOST) == -32767.998046875f);
}

/* The functions round as a conversion of C does; one of GLSL may not. */
static void whole_numbers(void **state)
{
    (void)state;
    for (uint64_t n = 0; n < 200000; n++) {
        int32_t i = number(n);
        uint32_t u = (uint32_t)vly_mix64(n) >> n % 32;
        assert_true(vly_i32_f32(i) == (float)i);
        assert_true(vly_u32_f32(u) == (float)u);
    }
    assert_true(vly_u32_f32(UINT32_MAX) == 4294967296.0f);
    assert_true(vly_i32_f32(0x1000001) == 16777216.0f);
    assert_true(vly_i32_f32(-0x1000003) == -16777220.0f);
    assert_int_equal(vly_bits(vly_i32_f32(0)), 0);
}

/* Smaller than 2^-40 it is 0, without a sign. */
static void stored_modulator(void **state)
{
    (void)state;
    const vly_stdp_reward_coef c = {.increment = 0.0f};
    const float least = 0x1p-40f;
    assert_true(vly_stdp_reward_modulator(least, c, 1, 0) == least);
    assert_true(vly_stdp_reward_modulator(-least, c, 1, 0) == -least);
    for (float d = -0x1p-41f; d < least; d += 0x1p-42f)
        assert_int_equal(vly_bits(vly_stdp_reward_modulator(d, c, 9, 0)), 0);
    float d = 4.0f; /* it decays to 0, and is never tiny on the way */
    for (uint32_t n = 0; n < 1000; n++) {
        d = vly_stdp_reward_modulator(d * 0.75f, c, 1, 0);
        assert_true(d == 0.0f || d >= least);
    }
    assert_true(d == 0.0f);
}

static void changed(void **state)
{
    (void)state;
    for (uint64_t n = 0; n < 200000; n++) {
        int32_t e = number(2 * n);
        float de = (float)number(2 * n + 1) / 65536.0f;
        double exact = e + (double)de * 65536.0;
        exact = fmin(fmax(exact, -MOST), MOST);
        assert_true(fabs(vly_eligibility_change(e, de) - exact) <= 64.0);
        /* small changes are exact */
        float small = (float)(number(n) % 4096) / 65536.0f;
        double sum = e + (double)small * 65536.0;
        sum = fmin(fmax(sum, -MOST), MOST);
        assert_true(vly_eligibility_change(e, small) == sum);
    }
    /* half a unit is rounded away from 0, less is lost */
    assert_int_equal(vly_eligibility_change(7, 0.5f / 65536), 8);
    assert_int_equal(vly_eligibility_change(7, -0.5f / 65536), 6);
    assert_int_equal(vly_eligibility_change(7, -0.49f / 65536), 7);
    assert_int_equal(vly_eligibility_change(MOST, 1e30f), MOST);
    assert_int_equal(vly_eligibility_change(MOST - 1, -1e30f), -1);
    assert_int_equal(vly_eligibility_change(-MOST, -1e30f), -MOST);
    assert_int_equal(vly_eligibility_change(-5, 1e30f), MOST - 5);
}

/* Toward 0: no eligibility stays for ever. */
static void faded(void **state)
{
    static const float factors[] = {0.0f, 0.1f, 0.9f, 0.99f, 0.999999f};
    (void)state;
    for (uint64_t n = 0; n < 200000; n++) {
        int32_t e = number(n);
        float factor = factors[n % 5];
        double exact = fabs((double)e) * (double)factor;
        int32_t left = vly_eligibility_fade(e, factor);
        assert_true(left == 0 || (left < 0) == (e < 0));
        assert_true(fabs(fabs((double)left) - exact) <= 1.0 + exact * 1.2e-7);
        assert_true(fabs((double)left) <= exact * (1 + 1.2e-7));
    }
    int32_t e = 65536;
    uint32_t steps = 0;
    for (; e != 0; steps++)
        e = vly_eligibility_fade(e, 0.99f);
    assert_true(steps > 400 && steps < 1200);
}

/* The rule itself: c, w and n of `volley doc stdp_reward`, in doubles. */
static void rule(void **state)
{
    const vly_stdp_reward_coef c = {.a_plus = 12.5f,
                                    .a_minus = 20.0f,
                                    .interval = 0.01f,
                                    .base = 0.25f,
                                    .increment = 5.0f,
                                    .fade = 0.99f,
                                    .most = 1000u << 16};
    (void)state;
    int32_t e = vly_stdp_reward_post(0, c, 0.75f, 0.0f, 0.0f, 0.0f);
    assert_int_equal(e, 614400); /* 12.5 * 0.75 */
    e = vly_stdp_reward_pre(e, c, 0.0f, 0.0f, 0.5f, 0.0f);
    assert_int_equal(e, 614400 - 655360);
    float d = vly_stdp_reward_modulator(0.5f, c, 3, -65536);
    assert_true(d == 0.5f + 15.0f - 1.0f);
    /* -0.625 * 0.01 * 14.75 = -0.0921875 */
    assert_int_equal(vly_stdp_reward_weight(50 << 16, e, c, d),
                     (50 << 16) - 6042);
    assert_int_equal(vly_stdp_reward_weight(3 << 10, e, c, d), 0);
    assert_int_equal(vly_stdp_reward_fade(e, c), -40550);
    /* without a trace nothing changes */
    assert_int_equal(vly_stdp_reward_post(e, c, 0.0f, 0.0f, 9.0f, 0.0f), e);
}

static const struct CMUnitTest tests[] = {cmocka_unit_test(as_float),
                                          cmocka_unit_test(whole_numbers),
                                          cmocka_unit_test(stored_modulator),
                                          cmocka_unit_test(changed),
                                          cmocka_unit_test(faded),
                                          cmocka_unit_test(rule)};
VLY_TEST_MAIN(tests)
