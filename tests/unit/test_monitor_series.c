/* SPDX-License-Identifier: Apache-2.0
 * Numbers that are no telemetry as records. That Python makes the same of them
 * is in command_series.
 */
#include "monitor/series.h"

#include <math.h>

#include "monitor/extremes.h"
#include "volley_test.h"

static void test_levels(void **state)
{
    (void)state;
    static const double first[] = {1, 3, 1, 3}; /* mean 2, deviation 1 */
    vly_series series;
    vly_record record;
    vly_record_note note;
    uint8_t text[VLY_TOKENS_PER_RECORD];
    vly_series_init(&series, first, 4);
    assert_close(series.mean, 2, 0);
    assert_close(series.deviation, 1, 0);
    vly_series_make(&series, 2.5, &record, text, &note);
    assert_int_equal(note.level[VLY_METRIC_RATE], 2048);
    assert_int_equal(note.level[VLY_METRIC_PACE], 256);
    assert_int_equal(note.level[VLY_METRIC_BURST], -256);
    assert_int_equal(note.level[VLY_METRIC_DISPERSION], 0);
    assert_int_equal(record.burst, 1);
    assert_int_equal(record.bursts, 1);
    /* the first one is where the series is; the step from it is large */
    for (uint32_t m = 0; m < VLY_METRICS; m++) {
        assert_int_equal(vly_token_metric(text[m + 1]), m);
        assert_int_equal(vly_token_bin(text[m + 1]), 0);
    }
    vly_series_make(&series, 1, &record, text, &note);
    assert_int_equal(note.level[VLY_METRIC_RATE], -4096);
    assert_int_equal(note.level[VLY_METRIC_DISPERSION], -6144);
    assert_int_equal(note.z16[VLY_METRIC_RATE], -16 * 6144 / 64);
    assert_int_equal(vly_token_bin(text[VLY_METRIC_RATE + 1]), -8);
    assert_int_equal(vly_token_bin(text[VLY_METRIC_DISPERSION + 1]), -8);
    assert_int_equal(vly_token_bin(text[VLY_METRIC_PACE + 1]), 0);
    assert_int_equal(record.burst, 2);
}

/* The model is asked about the value and its step only. */
static void test_nats(void **state)
{
    (void)state;
    double nats[VLY_METRICS];
    double sum = 0;
    for (uint32_t m = 0; m < VLY_METRICS; m++)
        nats[m] = m + 1;
    vly_series_nats(nats);
    for (uint32_t m = 0; m < VLY_METRICS; m++)
        sum += nats[m];
    assert_close(nats[VLY_METRIC_RATE], VLY_METRIC_RATE + 1, 0);
    assert_close(sum, VLY_METRIC_RATE + VLY_METRIC_DISPERSION + 2, 0);
}

/* What is far too large is cut, what never moved is measured by its size. */
static void test_limits(void **state)
{
    (void)state;
    static const double still[] = {50, 50};
    static const double nothing[] = {0};
    static const double huge[] = {1e308, 1e308};
    vly_series series;
    vly_record record;
    vly_record_note note;
    uint8_t text[VLY_TOKENS_PER_RECORD];
    vly_series_init(&series, still, 2);
    vly_series_make(&series, 100, &record, text, &note);
    assert_int_equal(note.level[VLY_METRIC_RATE], 4096);
    vly_series_make(&series, 1e300, &record, text, &note);
    assert_int_equal(note.level[VLY_METRIC_RATE], 1000000000);
    vly_series_make(&series, -1e300, &record, text, &note);
    assert_int_equal(note.level[VLY_METRIC_RATE], -1000000000);
    assert_int_equal(note.level[VLY_METRIC_DISPERSION], -2000000000);
    vly_series_init(&series, nothing, 1);
    vly_series_make(&series, 1e-9, &record, text, &note);
    assert_int_equal(note.level[VLY_METRIC_RATE], 4096);
    vly_series_init(&series, huge, 2); /* their sum is infinite */
    vly_series_make(&series, 1e308, &record, text, &note);
    assert_true(note.level[VLY_METRIC_RATE] <= 0);
}

/* The rule about times finds values above all before them, and below. */
static void test_both_ways(void **state)
{
    (void)state;
    for (int way = -1; way <= 1; way++) {
        static const double first[] = {-1, 1};
        vly_series series;
        vly_extremes extremes = {0};
        double far[2] = {0, 0};
        uint32_t metric[2];
        vly_series_init(&series, first, 2);
        for (int i = 0; i <= 100; i++) {
            vly_record record;
            vly_record_note note;
            uint8_t text[VLY_TOKENS_PER_RECORD];
            const double value = i % 7 - 3 + (i < 100 ? 0 : 10 * way);
            vly_series_make(&series, value, &record, text, &note);
            vly_extremes_judge(&extremes, note.level, far, metric);
            if (i >= 30 && i < 100)
                assert_close(far[0], 0, 0);
        }
        /* the range is 6, a quarter of it 1.5; the last value is -1 */
        assert_close(far[0], way == 0 ? 0 : way > 0 ? 6 / 1.5 : 8 / 1.5, 1e-9);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_levels),
        cmocka_unit_test(test_nats),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_both_ways),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
