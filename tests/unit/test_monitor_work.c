/* SPDX-License-Identifier: Apache-2.0
 * Work of a burst: what waiting, single records and activity do to it, and what
 * a device does that became slower.
 */
#include "monitor/work.h"

#include "volley_test.h"

/* A record of 100 bursts that work so many us each, beside so much waiting. */
static double feed(vly_work *work, uint64_t us, uint64_t waited_us,
                   uint64_t events)
{
    const vly_record record = {.bursts = 100,
                               .run_ns = 100 * (us + waited_us) * 1000,
                               .engine_waited_ns = 100 * waited_us * 1000,
                               .events = 100 * events};
    return vly_work_judge(work, &record, true);
}

/* Sound records of a busy machine. */
static void begin(vly_work *work)
{
    *work = (vly_work){.n = 0};
    for (uint64_t i = 0; i < 200; i++)
        assert_true(feed(work, 100 + i % 7, i * 37 % 900, 1000) < 0.5);
}

static void test_slower(void **state)
{
    (void)state;
    vly_work work;
    begin(&work);
    for (int i = 1; i < VLY_WORK_LASTS; i++)
        assert_true(feed(&work, 300, 500, 1000) < 0.5);
    /* a factor of 3 is 101 levels, a spread 32 */
    assert_close(feed(&work, 300, 500, 1000), 101 / 32.0, 0.2);
    /* as soon as one record is as usual it is over */
    assert_true(feed(&work, 100, 500, 1000) < 0.5);
    begin(&work);
    for (int i = 0; i < 10; i++)
        assert_close(feed(&work, 30, 0, 1000), 0, 0);
}

/* Twice the events may take twice the time, and no more. */
static void test_activity(void **state)
{
    (void)state;
    vly_work work;
    begin(&work);
    for (int i = 0; i < 10; i++)
        assert_true(feed(&work, 205, 100, 2000) < 0.5);
    begin(&work);
    double last = 0;
    for (int i = 0; i < 10; i++)
        last = feed(&work, 600, 100, 2000);
    assert_true(last > 2);
    /* fewer events are no reason to take longer */
    begin(&work);
    for (int i = 0; i < 10; i++)
        last = feed(&work, 300, 100, 500);
    assert_true(last > 2.5);
}

/* Neither a record without a burst nor one that nearly only waited says
 * anything, nor is it learned from. */
static void test_untold(void **state)
{
    (void)state;
    vly_work work;
    const vly_record still = {.run_ns = 5000000};
    const vly_record none = {.bursts = 7};
    const vly_record waited = {
        .bursts = 100, .run_ns = 6400000, .engine_waited_ns = 6300000};
    const vly_record more = {
        .bursts = 100, .run_ns = 6400000, .engine_waited_ns = 9000000};
    begin(&work);
    const vly_work before = work;
    assert_close(vly_work_judge(&work, &still, true), 0, 0);
    assert_close(vly_work_judge(&work, &none, true), 0, 0);
    assert_close(vly_work_judge(&work, &waited, true), 0, 0);
    assert_close(vly_work_judge(&work, &more, true), 0, 0);
    assert_int_equal(work.n, before.n);
    assert_int_equal(work.work.spread, before.work.spread);
}

/* What other threads of the net waited hides how much they worked. */
static void test_threads(void **state)
{
    (void)state;
    vly_work work;
    vly_record record = {.bursts = 100,
                         .run_ns = 100000 * 300,
                         .threads_waited_ns = 100000 * 40,
                         .events = 100000};
    begin(&work);
    const uint64_t n = work.n;
    for (int i = 0; i < 10; i++)
        assert_close(vly_work_judge(&work, &record, true), 0, 0);
    assert_int_equal(work.n, n);
    record.threads_waited_ns = 100000 * 35;
    double got = 0;
    for (int i = 0; i < VLY_WORK_LASTS; i++)
        got = vly_work_judge(&work, &record, false);
    assert_true(got > 2.5);
}

/* A device is nobody else's: a quarter more lies as far out there as twice the
 * time on a processor. */
static void test_device(void **state)
{
    (void)state;
    for (int on_device = 0; on_device < 2; on_device++) {
        vly_work work = {.n = 0};
        vly_record record = {.bursts = 100,
                             .run_ns = 13400000,
                             .events = 100000,
                             .on_device = on_device};
        double got = 0;
        for (int i = 0; i < 100; i++)
            got = vly_work_judge(&work, &record, true);
        assert_close(got, 0, 0);
        record.run_ns = 16800000; /* 20.9 levels more */
        for (int i = 0; i < VLY_WORK_LASTS; i++)
            got = vly_work_judge(&work, &record, false);
        assert_close(got, on_device ? 20.9 / 8 : 20.9 / 32, 0.2);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slower), cmocka_unit_test(test_activity),
        cmocka_unit_test(test_untold), cmocka_unit_test(test_threads),
        cmocka_unit_test(test_device)};
    return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
