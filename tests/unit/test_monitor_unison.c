/* SPDX-License-Identifier: Apache-2.0
 * Unison: independent neurons, pulses that come back, one that does not.
 */
#include "monitor/unison.h"

#include "volley_test.h"

enum { BURSTS = 200, PULSE = 400 };

/* A record of bursts of about 20 spikes each (variance about `fano` times
 * that), with so many in which PULSE neurons fire as well. */
static double feed(vly_unison *unison, uint64_t fano, uint64_t pulses)
{
    vly_record record = {.bursts = BURSTS};
    record.spikes = 20 * BURSTS + pulses * PULSE;
    record.squares = 400 * BURSTS + 20 * fano * BURSTS +
                     pulses * (PULSE * PULSE + 2 * 20 * PULSE);
    return vly_unison_judge(unison, &record, true);
}

static void begin(vly_unison *unison)
{
    *unison = (vly_unison){.held = 0};
    for (uint64_t i = 0; i < 200; i++)
        assert_true(feed(unison, 10 + i % 2, 0) < 0.6);
}

static void test_pulses(void **state)
{
    (void)state;
    vly_unison unison;
    double most = 0;
    begin(&unison);
    /* every third record has one */
    for (uint64_t i = 0; i < 15; i++) {
        const double got = feed(&unison, 10, i % 3 == 0);
        most = got > most ? got : most;
        if (i % 3 == 0)
            assert_true(unison.times > 3);
    }
    assert_true(most > 1.5);
    /* one alone is soon forgotten */
    begin(&unison);
    assert_true(feed(&unison, 10, 1) < 1.7);
    for (int i = 0; i < 40; i++)
        most = feed(&unison, 10, 0);
    assert_true(most < 0.1);
}

/* Longer records of the same net say the same. */
static void test_length(void **state)
{
    (void)state;
    vly_unison unison;
    begin(&unison);
    for (uint64_t n = 1; n < 20; n++) {
        const vly_record record = {.bursts = n * BURSTS,
                                   .spikes = n * 20 * BURSTS,
                                   .squares = n * (400 + 210) * BURSTS};
        assert_true(vly_unison_judge(&unison, &record, true) < 0.6);
    }
}

/* Of fewer bursts a variance is known less well: a sixteenth of them, and the
 * same deviation counts for a quarter. */
static void test_fewer(void **state)
{
    (void)state;
    double held[2];
    for (int k = 0; k < 2; k++) {
        vly_unison unison;
        const uint64_t n = k == 0 ? 1600 : 100;
        unison = (vly_unison){.held = 0};
        for (int i = 0; i < 200; i++) {
            const vly_record usual = {
                .bursts = 1600, .spikes = 1600 * 20, .squares = 1600 * 600};
            (void)vly_unison_judge(&unison, &usual, true);
        }
        const vly_record more = {
            .bursts = n, .spikes = n * 20, .squares = n * 700};
        held[k] = vly_unison_judge(&unison, &more, false);
    }
    assert_true(held[0] > 0.5);
    assert_close(held[1], held[0] / 4, 0.01 * held[0]);
}

static void test_untold(void **state)
{
    (void)state;
    vly_unison unison;
    const vly_record records[] = {{.bursts = 7, .spikes = 900, .squares = 900},
                                  {.bursts = 90, .spikes = 15, .squares = 225},
                                  {.bursts = 90, .spikes = 90},
                                  {.bursts = 0}};
    begin(&unison);
    const vly_unison before = unison;
    for (size_t i = 0; i < sizeof records / sizeof records[0]; i++)
        assert_close(vly_unison_judge(&unison, &records[i], true), before.held,
                     0);
    assert_int_equal(unison.late.centre, before.late.centre);
    /* nothing of a fault that goes on is learned */
    vly_record pulse = {.bursts = 100, .spikes = 400, .squares = 160000};
    for (int i = 0; i < 100; i++)
        (void)vly_unison_judge(&unison, &pulse, false);
    assert_int_equal(unison.late.centre, before.late.centre);
    assert_true(unison.held > 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pulses), cmocka_unit_test(test_length),
        cmocka_unit_test(test_fewer), cmocka_unit_test(test_untold)};
    return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
