/* SPDX-License-Identifier: Apache-2.0
 * Rules of plasticity of users: keys and units of their parameters, their
 * formulas in double, words that are no program.
 */
#include "volley_test.h"

#include <math.h>

#include "genome/user_rule.h"
#include "kernels/rules/rule_program.h"

static const char definition[] =
    "[synapse.r]\n"
    "param = { tau = \"20 ms\", slow = \"0.1 s\", eta = \"0.25 weight\", "
    "a = { value = 0.5, range = [0, 2], text = \"a share\" } }\n"
    "pre = { x = \"tau\", x2 = \"tau\" }\n"
    "post = { y = \"tau\" }\n"
    "on_pre = \"\"\"\n"
    "    f = exp(-x)*sqrt(w/w_max)      # a name\n"
    "    w += (if y < 1 and w < w_max then eta else 2*eta)*f\n"
    "    \"\"\"\n"
    "on_post = \"w -= w*min(x, x2)*(a + y^2)/(1 + max(x, y))*dt/slow\"\n";

static const vly_plasticity_info *defined(void)
{
    const vly_plasticity_info *rule = NULL;
    vly_error error = VLY_ERROR_INIT;
    assert_ok(vly_plasticity_define(definition, "t", &rule, &error), error);
    return rule;
}

static void keys_and_traces(void **state)
{
    (void)state;
    static const char *const keys[] = {"tau_ms", "slow_s", "eta", "a"};
    const vly_plasticity_info *rule = defined();
    assert_string_equal(rule->id, "r");
    assert_string_equal(vly_plasticity_backend_id(rule), "synapse r");
    assert_int_equal(rule->n_params, 4);
    for (uint32_t i = 0; i < 4; i++) {
        assert_string_equal(rule->params[i].name, keys[i]);
        assert_int_equal(vly_plasticity_scaled(rule, i), i == 2);
        assert_int_equal(vly_plasticity_fixed(rule, i), i == 0);
    }
    assert_string_equal(rule->params[3].text, "a share");
    assert_true(rule->params[3].hi <= 2 && rule->params[3].hi >= 2);
    assert_int_equal(rule->n_traces, 3);
    assert_true(!rule->traces[1].of_target && rule->traces[1].index == 1);
    assert_true(rule->traces[2].of_target && rule->traces[2].index == 0);
    vly_plasticity_drop(rule);
}

/* Of positive numbers only: each operation adds its relative error and no more.
 * on_pre: exp 2.7e-7 with |x| u of its argument, root 3.1 u and half of what is
 * wrong of w/w_max (a coefficient and a product, 1.5 u), three products and two
 * coefficients; on_post: 1/x 2.5 u, 8 products, sums and coefficients of u.
 * Below 1e-6 each; the change is rounded to whole units. */
static void formulas(void **state)
{
    (void)state;
    static const float traces[] = {0.0f, 0.25f, 1.0f, 3.5f};
    const double params[] = {20, 0.1, 0.75, 0.5};
    const double w_max = 3;
    const double unit = 0x1p-12;
    uint32_t words[VLY_RULE_PROGRAM_WORDS];
    const vly_plasticity_info *rule = defined();
    const vly_plasticity_input input = {
        .params = params, .w_max = w_max, .unit = unit, .dt_ms = 0.1};
    assert_null(vly_plasticity_unfit(rule, &input));
    vly_plasticity_coefs(rule, &input, words);
    const int32_t most = (int32_t)vly_plasticity_most(&input);
    for (int i = 0; i < 64; i++) {
        const float x[2] = {traces[i & 3], traces[i >> 2 & 3]};
        const float y[2] = {traces[i >> 4], 0.0f};
        const int32_t m = (most / 256 / 5) * 256; /* all bits are read */
        const double w = m / 65536.0 * unit;
        const double a = (double)x[0];
        const double b = (double)y[0];
        double up = (b < 1 ? 0.75 : 1.5) * exp(-a) * sqrt(w / w_max);
        double down = w * fmin(a, (double)x[1]) * (0.5 + b * b) /
                      (1 + fmax(a, b)) * 0.1 / 100;
        up *= 65536 / unit;
        down *= 65536 / unit;
        int32_t pre = rule->pre(m, words, x, y);
        int32_t post = rule->post(m, words, x, y);
        if (!(m + up > most))
            assert_true(fabs(pre - m - up) <= 0.5 + 1e-6 * up);
        else
            assert_int_equal(pre, most);
        assert_true(fabs(m - post - down) <= 0.5 + 1e-6 * down);
        if (x[0] <= 0 && x[1] <= 0)
            assert_int_equal(post, m);
    }
    vly_plasticity_drop(rule);
}

/* What is not a number changes nothing; without bound is the bound. */
static void not_numbers(void **state)
{
    (void)state;
    assert_int_equal(vly_rule_change(500, 0x7fc00000u, 1000), 500);
    assert_int_equal(vly_rule_change(500, 0xffc00000u, 1000), 500);
    assert_int_equal(vly_rule_change(500, 0x7f800000u, 1000), 1000);
    assert_int_equal(vly_rule_change(500, 0xff800000u, 1000), 0);
    assert_int_equal(vly_rule_change(500, 0x80000000u, 1000), 500);
}

/* A backend takes no words that read beside themselves, and no others than
 * those of the hash. */
static void wrong_words(void **state)
{
    (void)state;
    const double params[] = {20, 0.1, 0.75, 0.5};
    uint32_t words[VLY_RULE_PROGRAM_WORDS];
    const vly_plasticity_info *rule = defined();
    const vly_plasticity_input input = {
        .params = params, .w_max = 3, .unit = 1, .dt_ms = 0.1};
    vly_plasticity_coefs(rule, &input, words);
    const uint32_t n = rule->n_coefs;
    const uint32_t first = VLY_RULE_PROGRAM_HEAD + words[1];
    assert_true(vly_rule_program_good(words, n));
    assert_int_equal(vly_rule_program_hash(words, n), rule->table_hash);
    assert_false(vly_rule_program_good(words, n - 1));
    assert_false(vly_rule_program_good(words, 3));
    for (uint32_t i = 1; i < n; i++) {
        uint32_t was = words[i];
        words[i] ^= 0x40000000u;
        /* of an operation: its code, and a that it reads; the rest is a number
         * or what it does not read */
        if (i < VLY_RULE_PROGRAM_HEAD || (i >= first && (i - first) % 4 == 0))
            assert_false(vly_rule_program_good(words, n));
        assert_int_equal(vly_rule_program_hash(words, n) == rule->table_hash,
                         i >= VLY_RULE_PROGRAM_HEAD && i < first);
        words[i] = was;
    }
    for (uint32_t i = first; i < n; i += 4) {
        const bool second = (i - first) / 4 >= words[2];
        const uint32_t own = (i - first) / 4 - (second ? words[2] : 0);
        uint32_t was = words[i + 1];
        if (vly_rule_operands(words[i]) == 0)
            continue;
        words[i + 1] = own; /* itself */
        assert_false(vly_rule_program_good(words, n));
        words[i + 1] = was;
    }
    vly_plasticity_drop(rule);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(keys_and_traces),
    cmocka_unit_test(formulas),
    cmocka_unit_test(not_numbers),
    cmocka_unit_test(wrong_words),
};

VLY_TEST_MAIN(tests)
