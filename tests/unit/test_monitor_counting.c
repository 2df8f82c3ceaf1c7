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
    const double at_first = log(17);
    const double then = log(9.5 / 1.5);
    for (uint32_t m = 0; m < VLY_METRICS; m++) {
        assert_false(vly_counting_leads(&counting, m));
        nats[m] = at_first + 0.5;
    }
    nats[3] = NAN;
    nats[4] = 0;
    vly_counting_learn(&counting, text_of(5), nats);
    assert_close(counting.behind[0], 0.5, 1e-12);
    assert_close(counting.behind[3], 4, 0);
    assert_close(counting.behind[4], -at_first, 1e-12);
    assert_true(vly_counting_leads(&counting, 0));
    assert_false(vly_counting_leads(&counting, 4));
    for (uint32_t m = 0; m < VLY_METRICS; m++)
        nats[m] = then - 1;
    vly_counting_learn(&counting, text_of(5), nats);
    assert_close(counting.behind[0], (0.5 - 1) / 2, 1e-12);
    assert_false(vly_counting_leads(&counting, 0));
    /* counts are halved, so what was long ago weighs less */
    for (uint32_t n = 2; n < 5000; n++)
        vly_counting_learn(&counting, text_of(n < 600 ? 5 : 6), nats);
    const double *seen = counting.seen[2];
    const uint32_t old = (5 * 7 + 2 * 5) % VLY_TOKEN_BINS;
    assert_true(counting.total[2] < 512 && seen[old] < 1);
    assert_true(seen[(old + 7) % VLY_TOKEN_BINS] > 255);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counting_nats),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
