/* SPDX-License-Identifier: Apache-2.0
 * Intervals of a sweep, and its log between two calls.
 */
#include "volley_test.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "tools/bench/bench_sweep.h"

enum { N = BENCH_SWEEP_ROUNDS };

static double noise(uint32_t i)
{
    return 0.02 * ((double)(i * 2654435761u >> 8) * 0x1p-24 - 0.5);
}

static void test_interval(void **state)
{
    (void)state;
    double base[N], other[N];
    bench_sweep_row row = {.state = BENCH_SWEEP_TIMED};
    for (uint32_t i = 0; i < N; i++) {
        base[i] = 2e-3 * (1.0 + noise(i));
        other[i] = 1e-3 * (1.0 + noise(i + 77));
    }
    bench_sweep_interval(base, other, N, &row);
    assert_true(fabs(row.ratio - 2.0) < 0.02);
    assert_true(row.low <= row.ratio && row.ratio <= row.high);
    assert_true(row.low > 1.9 && row.high < 2.1 && row.high - row.low > 1e-4);
    assert_true(fabs(row.median_s - 1e-3) < 2e-5);
    assert_true(fabs(row.base_s - 2e-3) < 4e-5);
    /* the same numbers give the same interval */
    bench_sweep_row again = {.state = BENCH_SWEEP_TIMED};
    bench_sweep_interval(base, other, N, &again);
    assert_true(again.low == row.low && again.high == row.high);
    /* one sample that is far off moves neither median nor interval much */
    other[3] = 1.0;
    bench_sweep_interval(base, other, N, &again);
    assert_true(fabs(again.ratio - 2.0) < 0.02 && again.low > 1.9);
    /* alike: 1 is inside, without noise it is all there is */
    bench_sweep_interval(base, base, N, &row);
    assert_true(row.ratio == 1.0 && row.low == 1.0 && row.high == 1.0);
}

static bench_sweep one, two;

static void test_log(void **state)
{
    (void)state;
    char path[] = "/tmp/volley_sweep_XXXXXX";
    const int file = mkstemp(path);
    vly_error error = {.struct_size = sizeof error};
    bench_sweep_row row = {.id = "forward \"x\"",
                           .options = "choose=a,config=1",
                           .base = "choose=a,config=0",
                           .choice = "a",
                           .state = BENCH_SWEEP_BEGUN};
    assert_true(file >= 0);
    (void)close(file);
    assert_ok(bench_sweep_open(&one, path, "a device", &error), error);
    assert_null(bench_sweep_find(&one, &row));
    assert_ok(bench_sweep_add(&one, &row, &error), error);
    row.state = BENCH_SWEEP_TIMED;
    row.median_s = 1.25e-3;
    row.base_s = 1.5e-3;
    row.ratio = 1.2;
    row.low = 1.1;
    row.high = 1.3;
    row.error = 0.002;
    assert_ok(bench_sweep_add(&one, &row, &error), error);
    assert_int_equal(one.n_rows, 1);
    assert_ok(bench_sweep_open(&two, path, "a device", &error), error);
    const bench_sweep_row *found = bench_sweep_find(&two, &row);
    assert_non_null(found);
    assert_int_equal(found->state, BENCH_SWEEP_TIMED);
    assert_string_equal(found->choice, "a");
    assert_true(found->read && found->median_s == row.median_s &&
                found->base_s == row.base_s && found->ratio == row.ratio &&
                found->low == row.low && found->high == row.high);
    assert_ok(bench_sweep_open(&two, path, "another device", &error), error);
    assert_null(bench_sweep_find(&two, &row));
    /* what was left is measured again */
    row.state = BENCH_SWEEP_LEFT;
    assert_ok(bench_sweep_add(&one, &row, &error), error);
    assert_null(bench_sweep_find(&one, &row));
    assert_ok(bench_sweep_open(&two, path, "a device", &error), error);
    assert_null(bench_sweep_find(&two, &row));
    assert_int_equal(two.n_damaged, 0);
    (void)unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_interval),
        cmocka_unit_test(test_log),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
