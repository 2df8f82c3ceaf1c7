/* SPDX-License-Identifier: Apache-2.0
 * Elementary functions against references of 60 digits
 * (tests/golden/number_reference.csv), and at the edges of their domains.
 */
#include "volley_test.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "base/number.h"

typedef struct function_case {
    const char *name;
    double (*function)(double x);
    double (*function2)(double x, double y);
    double max_ulp;  /* bound of the header */
    double absolute; /* error allowed besides */
    unsigned n;
    double worst;
} function_case;

/* beside each line the worst of 6000 other points, in ulp */
static function_case cases[] = {
    {"exp", vly_exp, NULL, 2, 0, 0, 0},                       /* 0.75 */
    {"expm1", vly_expm1, NULL, 2, 0, 0, 0},                   /* 1.27 */
    {"log", vly_log, NULL, 2, 0, 0, 0},                       /* 0.75 */
    {"log1p", vly_log1p, NULL, 2, 0, 0, 0},                   /* 0.74 */
    {"pow", NULL, vly_pow, 2, 0, 0, 0},                       /* 1.30 */
    {"sqrt", vly_sqrt, NULL, 0.5, 0, 0, 0},                   /* 0.50 */
    {"erf", vly_erf, NULL, 4, 0, 0, 0},                       /* 2.20 */
    {"erfc", vly_erfc, NULL, 8, 0, 0, 0},                     /* 3.10 */
    {"normal_cdf", vly_normal_cdf, NULL, 8, 0, 0, 0},         /* 3.50 */
    {"normal_inverse", vly_normal_inverse, NULL, 8, 0, 0, 0}, /* 2.90 */
    {"sin_turns", vly_sin_turns, NULL, 2, 0, 0, 0},           /* 1.2 */
    /* zeros at 1 and 2: the error is absolute there, 5.4e-15; else 2.4 */
    {"log_gamma", vly_log_gamma, NULL, 4, 1e-14, 0, 0},
};

static const size_t n_cases = sizeof(cases) / sizeof(cases[0]);

/* distance to the next double above |x| */
static double ulp(double x)
{
    double size = fabs(x);
    return nextafter(size, INFINITY) - size;
}

static void check_line(char *line)
{
    const char *name = strtok(line, ",");
    double value[4];
    for (int i = 0; i < 4; i++)
        value[i] = strtod(strtok(NULL, ",\n"), NULL);
    for (size_t i = 0; i < n_cases; i++) {
        function_case *c = &cases[i];
        if (strcmp(c->name, name) != 0)
            continue;
        double got = c->function ? c->function(value[0])
                                 : c->function2(value[0], value[1]);
        double error = fabs((got - value[2]) - value[3]);
        double units = error / ulp(value[2]);
        if (!(units <= c->max_ulp || error <= c->absolute))
            fail_msg("%s(%a, %a) is %a, wanted %a: %.2f ulp", name, value[0],
                     value[1], got, value[2], units);
        if (error > c->absolute && units > c->worst)
            c->worst = units;
        c->n++;
        return;
    }
    fail_msg("no function %s", name);
}

static void close_to_the_reference(void **state)
{
    (void)state;
    FILE *file =
        fopen(VLY_TEST_SOURCE_DIR "/tests/golden/number_reference.csv", "r");
    assert_non_null(file);
    char line[256];
    while (fgets(line, sizeof(line), file))
        check_line(line);
    fclose(file);
    for (size_t i = 0; i < n_cases; i++) {
        print_message("%-15s %3u points, at most %.2f ulp\n", cases[i].name,
                      cases[i].n, cases[i].worst);
        assert_int_equal(cases[i].n, 200);
    }
}

static void same_double(double got, double wanted)
{
    if (memcmp(&got, &wanted, sizeof(got)) != 0)
        fail_msg("got %a, wanted %a", got, wanted);
}

static void edges_of_exp_and_log(void **state)
{
    (void)state;
    same_double(vly_exp(0.0), 1.0);
    same_double(vly_exp(-0.0), 1.0);
    same_double(vly_exp(INFINITY), INFINITY);
    same_double(vly_exp(-INFINITY), 0.0);
    same_double(vly_exp(709.79), INFINITY);
    same_double(vly_exp(-745.14), 0.0);
    same_double(vly_exp(-745.13), 0x1p-1074);
    assert_true(vly_exp(709.78) < INFINITY);
    same_double(vly_expm1(0.0), 0.0);
    same_double(vly_expm1(-0.0), -0.0);
    same_double(vly_expm1(-INFINITY), -1.0);
    same_double(vly_expm1(INFINITY), INFINITY);
    same_double(vly_log(1.0), 0.0);
    same_double(vly_log(0.0), -INFINITY);
    same_double(vly_log(INFINITY), INFINITY);
    assert_close(vly_log(0x1p-1074), -744.44007192138126, 1e-12);
    assert_true(isnan(vly_log(-1.0)));
    same_double(vly_log1p(-1.0), -INFINITY);
    same_double(vly_log1p(-0.0), -0.0);
    same_double(vly_log1p(INFINITY), INFINITY);
    assert_true(isnan(vly_log1p(-1.5)));
}

static void edges_of_pow(void **state)
{
    (void)state;
    same_double(vly_pow(0.0, 0.0), 1.0);
    same_double(vly_pow(1.0, INFINITY), 1.0);
    same_double(vly_pow(0.0, 2.5), 0.0);
    same_double(vly_pow(0.0, -2.0), INFINITY);
    same_double(vly_pow(INFINITY, 0.5), INFINITY);
    same_double(vly_pow(INFINITY, -0.5), 0.0);
    same_double(vly_pow(0.5, INFINITY), 0.0);
    same_double(vly_pow(0.5, -INFINITY), INFINITY);
    same_double(vly_pow(3.0, 1.0), 3.0);
    same_double(vly_pow(3.0, 4.0), 81.0);
    same_double(vly_pow(2.0, -3.0), 0.125);
    same_double(vly_pow(10.0, 22.0), 1e22);
    same_double(vly_pow(2.0, 1024.0), INFINITY);
    same_double(vly_pow(2.0, -1074.0), 0x1p-1074);
    same_double(vly_pow(2.0, -1080.0), 0.0);
    same_double(vly_pow(4.0, 0.5), 2.0);
    same_double(vly_pow(2.0, 1e308), INFINITY);
    same_double(vly_pow(0x1.fffffffffffffp-1, 1e308), 0.0);
    same_double(vly_pow(3.0, 0x1p-1074), 1.0);
    assert_true(isnan(vly_pow(-1.0, 2.0)));
    assert_true(isnan(vly_pow(2.0, NAN)));
    same_double(vly_pow(NAN, 0.0), 1.0);
}

static void edges_of_the_normal(void **state)
{
    (void)state;
    same_double(vly_erf(0.0), 0.0);
    same_double(vly_erf(-0.0), -0.0);
    same_double(vly_erf(INFINITY), 1.0);
    same_double(vly_erf(-INFINITY), -1.0);
    same_double(vly_erfc(0.0), 1.0);
    same_double(vly_erfc(-INFINITY), 2.0);
    same_double(vly_erfc(INFINITY), 0.0);
    same_double(vly_normal_cdf(0.0), 0.5);
    same_double(vly_normal_cdf(-INFINITY), 0.0);
    same_double(vly_normal_cdf(INFINITY), 1.0);
    same_double(vly_normal_inverse(0.0), -INFINITY);
    same_double(vly_normal_inverse(1.0), INFINITY);
    same_double(vly_normal_inverse(0.5), 0.0);
    assert_true(isnan(vly_normal_inverse(-0.1)));
    assert_true(isnan(vly_normal_inverse(1.1)));
    /* subnormal: the distribution itself has one bit left there */
    assert_close(vly_normal_inverse(0x1p-1074), -38.467405617144344, 1e-3);
    same_double(vly_log_gamma(1.0), vly_log_gamma(1.0));
    same_double(vly_log_gamma(INFINITY), INFINITY);
    assert_true(isnan(vly_log_gamma(0.0)));
    assert_true(isnan(vly_log_gamma(-1.5)));
    assert_close(vly_log_gamma(1.0), 0.0, 1e-14);
    assert_close(vly_log_gamma(2.0), 0.0, 1e-14);
}

static void edges_of_the_sine(void **state)
{
    (void)state;
    same_double(vly_sin_turns(0.0), 0.0);
    same_double(vly_sin_turns(0.25), 1.0);
    same_double(vly_sin_turns(0.5), -0.0);
    same_double(vly_sin_turns(0.75), -1.0);
    same_double(vly_sin_turns(-0.25), -1.0);
    same_double(vly_sin_turns(12345.25), 1.0);
    same_double(vly_sin_turns(0x1p51 + 0.25), 0.0); /* it is 0x1p51 */
    same_double(vly_sin_turns(1e300), 0.0);
    assert_true(isnan(vly_sin_turns(INFINITY)));
}

static void nan_gives_nan(void **state)
{
    (void)state;
    for (size_t i = 0; i < n_cases; i++)
        if (cases[i].function)
            assert_true(isnan(cases[i].function(NAN)));
    assert_true(isnan(vly_floor(NAN)));
    assert_true(isnan(vly_sqrt(-1.0)));
}

static void floor_is_exact(void **state)
{
    (void)state;
    static const double x[] = {0.0,        -0.0,    0.5,          -0.5,
                               1.0,        -1.0,    2.999999,     -2.000001,
                               0x1p52,     -0x1p52, 0x1p52 - 0.5, 0x1p-1074,
                               -0x1p-1074, 1e300,   -INFINITY,    INFINITY};
    for (size_t i = 0; i < sizeof(x) / sizeof(x[0]); i++)
        assert_true(vly_floor(x[i]) == floor(x[i]));
}

/* Where two formulas meet, the function must not step back. */
static void monotonic_at_the_seams(void **state)
{
    (void)state;
    static const double seams[] = {0.5, 1.0, 2.0, 4.0, 26.0};
    for (size_t i = 0; i < 5; i++) {
        double below = seams[i] * (1.0 - 0x1p-40);
        double above = seams[i] * (1.0 + 0x1p-40);
        assert_true(vly_erfc(below) > vly_erfc(above));
        assert_true(vly_erf(below) <= vly_erf(above));
    }
    for (double p = 0.29; p < 0.31; p += 1e-4)
        assert_true(vly_normal_inverse(p) < vly_normal_inverse(p + 1e-9));
}

static uint32_t stored(double x)
{
    return vly_float_bits(vly_float_store(x, -100.0f, 50.0f));
}

static void stored_floats(void **state)
{
    (void)state;
    assert_int_equal(stored(0.0), 0);
    assert_int_equal(stored(-0.0), 0);
    assert_int_equal(stored(0x1p-41), 0);
    assert_int_equal(stored(-0x1.fffffep-41), 0);
    assert_int_equal(stored(0x1p-40), 0x2B800000u);
    assert_int_equal(stored(-0x1p-40), 0xAB800000u);
    assert_int_equal(stored(1e300), vly_float_bits(50.0f));
    assert_int_equal(stored(-INFINITY), vly_float_bits(-100.0f));
    assert_int_equal(stored(INFINITY), vly_float_bits(50.0f));
    assert_int_equal(stored(NAN), vly_float_bits(-100.0f));
    assert_int_equal(stored(0.1), vly_float_bits(0.1f));
    assert_true(vly_float_from_bits(0x3F800000u) == 1.0f);
}

static void bursts_from_milliseconds(void **state)
{
    (void)state;
    uint64_t bursts = 77;
    assert_true(vly_bursts_from_ms(1.5, 0.1, &bursts));
    assert_int_equal(bursts, 15);
    assert_true(vly_bursts_from_ms(0.0, 0.1, &bursts));
    assert_int_equal(bursts, 0);
    assert_true(vly_bursts_from_ms(0.25, 0.5, &bursts));
    assert_int_equal(bursts, 1);
    assert_true(vly_bursts_from_ms(1000.0, 0.1, &bursts));
    assert_int_equal(bursts, 10000);
    bursts = 77;
    assert_false(vly_bursts_from_ms(-1.0, 0.1, &bursts));
    assert_false(vly_bursts_from_ms(NAN, 0.1, &bursts));
    assert_false(vly_bursts_from_ms(INFINITY, 0.1, &bursts));
    assert_false(vly_bursts_from_ms(1.0, 0.0, &bursts));
    assert_false(vly_bursts_from_ms(1.0, NAN, &bursts));
    assert_false(vly_bursts_from_ms(1e300, 1e-300, &bursts));
    assert_false(vly_bursts_from_ms(0x1p54, 1.0, &bursts));
    assert_int_equal(bursts, 77);
}

static void counts(void **state)
{
    (void)state;
    assert_true(vly_count_of(0.0) == 0 && vly_count_of(-0.0) == 0);
    assert_true(vly_count_of(0.999) == 0 && vly_count_of(1.0) == 1);
    assert_true(vly_count_of(-1.0) == 0 && vly_count_of(-1e300) == 0);
    assert_true(vly_count_of((double)NAN) == 0);
    assert_true(vly_count_of(-(double)INFINITY) == 0);
    assert_true(vly_count_of(0x1p53) == UINT64_C(1) << 53);
    assert_true(vly_count_of(0x1p63) == UINT64_C(1) << 63);
    assert_true(vly_count_of(nextafter(0x1p64, 0)) == UINT64_MAX - 2047);
    assert_true(vly_count_of(0x1p64) == UINT64_MAX);
    assert_true(vly_count_of(1e300) == UINT64_MAX);
    assert_true(vly_count_of((double)INFINITY) == UINT64_MAX);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(close_to_the_reference),
    cmocka_unit_test(edges_of_exp_and_log),
    cmocka_unit_test(edges_of_pow),
    cmocka_unit_test(edges_of_the_normal),
    cmocka_unit_test(edges_of_the_sine),
    cmocka_unit_test(nan_gives_nan),
    cmocka_unit_test(floor_is_exact),
    cmocka_unit_test(monotonic_at_the_seams),
    cmocka_unit_test(stored_floats),
    cmocka_unit_test(bursts_from_milliseconds),
    cmocka_unit_test(counts),
};

VLY_TEST_MAIN(tests)
