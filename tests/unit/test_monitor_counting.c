/* SPDX-License-Identifier: Apache-2.0
 * What counting foretells beside a model. That the score goes by it is in
 * test_monitor_surprise.
 */
#include "monitor/counting.h"

#include <math.h>

#include "volley_test.h"

/* The same bin of a metric for the same number. */
static const uint8_t *text_of(uint32_t number)
{
    static uint8_t text[VLY_TOKENS_PER_RECORD];
    for (uint32_t m = 0; m < VLY_METRICS; m++)
        text[m + 1] = (uint8_t)(1 + m * VLY_TOKEN_BINS +
                                (number * 7 + m * 5) % VLY_TOKEN_BINS);
    return text;
}

/* Nats of a bin that was seen k of n times are -log((k + 1/2) / (n + 17/2)),
 * and no record says more than 4. */
static void test_counting_nats(void **state)
{
    (void)state;
    vly_counting counting = {0};
    double nats[VLY_METRICS];
    const double first = log((VLY_COUNTING_WAITS + 8.5) / 0.5);
    const double then =
        log((VLY_COUNTING_WAITS + 9.5) / (1 + 0.5)); /* of n, once */
    for (uint32_t m = 0; m < VLY_METRICS; m++)
        nats[m] = 30;
    /* the first ones say something of times only */
    for (int i = 0; i < VLY_COUNTING_WAITS; i++)
        vly_counting_learn(&counting, text_of(6), nats, 0);
    for (uint32_t m = 0; m < VLY_METRICS; m++)
        assert_close(counting.behind[m], m <= VLY_METRIC_DYNAMICS ? 4 : 0, 0);
    for (uint32_t m = 0; m < VLY_METRICS; m++)
        nats[m] = first + 0.5;
    nats[6] = NAN;
    nats[7] = 0;
    vly_counting_learn(&counting, text_of(5), nats, 0);
    for (uint32_t m = 0; m < VLY_METRICS; m++)
        nats[m] = then - 1;
    for (int i = 1; i < VLY_COUNTING_WAITS; i++)
        vly_counting_learn(&counting, text_of(5), nats, 0);
    /* a record waits before it says something */
    for (uint32_t m = VLY_METRIC_DYNAMICS + 1; m < VLY_METRICS; m++)
        assert_close(counting.behind[m], 0, 0);
    vly_counting_learn(&counting, text_of(5), nats, 0);
    assert_close(counting.behind[5], 0.5, 1e-12);
    assert_close(counting.behind[6], 4, 0);
    assert_close(counting.behind[7], -first, 1e-12);
    assert_true(vly_counting_leads(&counting, 5));
    assert_false(vly_counting_leads(&counting, 7));
    vly_counting_learn(&counting, text_of(5), nats, 0);
    assert_close(counting.behind[5], (0.5 - 1) / 2, 1e-12);
    assert_false(vly_counting_leads(&counting, 5));
    /* counts are halved, so what was long ago weighs less */
    for (uint32_t n = 2; n < 5000; n++)
        vly_counting_learn(&counting, text_of(n < 600 ? 5 : 6), nats, 0);
    const double *seen = counting.seen[2];
    const uint32_t old = (5 * 7 + 2 * 5) % VLY_TOKEN_BINS;
    assert_true(counting.total[2] < 512 && seen[old] < 1);
    assert_true(seen[(old + 7) % VLY_TOKEN_BINS] > 255);
}

/* A metric without a value is not counted, and nothing is said of it. */
static void test_absent(void **state)
{
    (void)state;
    vly_counting counting = {0};
    double nats[VLY_METRICS];
    for (uint32_t m = 0; m < VLY_METRICS; m++)
        nats[m] = 30;
    const uint32_t absent = 1u << VLY_METRIC_DYNAMICS | 1u << VLY_METRIC_FAN;
    for (int i = 0; i < 3 * VLY_COUNTING_WAITS; i++)
        vly_counting_learn(&counting, text_of(5), nats, absent);
    for (uint32_t m = 0; m < VLY_METRICS; m++) {
        const bool counts = !(absent & 1u << m);
        assert_int_equal(counting.total[m] > 0, counts);
        assert_int_equal(vly_counting_leads(&counting, m), counts);
    }
    vly_counting_learn(&counting, text_of(5), nats, 0);
    assert_true(vly_counting_leads(&counting, VLY_METRIC_DYNAMICS));
}

/* What a fault's own records say of the model is dropped when it is told of. */
static void test_dropped(void **state)
{
    (void)state;
    vly_counting counting = {0};
    double nats[VLY_METRICS] = {0};
    for (uint32_t n = 0; n < 60; n++)
        vly_counting_learn(&counting, text_of(5), nats, 0);
    const double before = counting.behind[5];
    for (uint32_t m = 0; m < VLY_METRICS; m++)
        nats[m] = 12;
    for (int i = 0; i < 6; i++)
        vly_counting_learn(&counting, text_of(6), nats, 0);
    assert_false(vly_counting_leads(&counting, 5));
    vly_counting_drop(&counting);
    for (uint32_t m = 0; m < VLY_METRICS; m++)
        nats[m] = 0;
    for (int i = 0; i < 2 * VLY_COUNTING_WAITS; i++)
        vly_counting_learn(&counting, text_of(5), nats, 0);
    assert_true(counting.behind[5] < 0 && before < 0);
    /* all but the first, and of 66 those that waited; then 8 of 16 */
    assert_int_equal(counting.n[5], 66 - 2 * VLY_COUNTING_WAITS + 8);
    assert_int_equal(counting.n[0], 66 + 2 * VLY_COUNTING_WAITS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counting_nats),
        cmocka_unit_test(test_absent),
        cmocka_unit_test(test_dropped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
