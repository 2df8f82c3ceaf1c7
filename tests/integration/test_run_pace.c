/* SPDX-License-Identifier: Apache-2.0
 * Bursts in real time, on made-up times: when the next burst is due under each
 * policy, what counts as missed, where jitter is counted.
 */
#include "volley_test.h"

#include "base/thread.h"
#include "tools/run/run_pace.h"

enum { MS = 1000000 };

/* One burst from `begin` to `end`, in ms. */
static bool burst(run_pace *pace, uint64_t begin, uint64_t end)
{
    run_pace_started(pace, begin * MS);
    return run_pace_done(pace, end * MS);
}

static void kept(void **state)
{
    (void)state;
    run_pace pace;
    run_pace_begin(&pace, RUN_PACE_SLIP, 100, 1000 * (uint64_t)MS);
    for (uint64_t k = 0; k < 50; k++) {
        assert_int_equal(run_pace_due_ns(&pace), (1000 + 10 * k) * MS);
        /* late by a ms, done when the next one is due: kept */
        assert_true(burst(&pace, 1001 + 10 * k, 1010 + 10 * k));
    }
    assert_int_equal(pace.n_bursts, 50);
    assert_int_equal(pace.n_missed, 0);
    assert_int_equal(pace.bins[10], 50); /* 512 to 1024 us */
    assert_int_equal(run_pace_jitter_below_us(&pace, 0.5), 1024);
    assert_int_equal(pace.jitter_max_ns, MS);
}

static void slip(void **state)
{
    (void)state;
    run_pace pace;
    run_pace_begin(&pace, RUN_PACE_SLIP, 100, 0);
    assert_true(burst(&pace, 0, 5));
    assert_false(burst(&pace, 10, 37)); /* was due at 20 */
    assert_int_equal(run_pace_due_ns(&pace), 37 * MS);
    assert_true(burst(&pace, 37, 47));
    assert_int_equal(run_pace_due_ns(&pace), 47 * MS);
    assert_int_equal(pace.n_missed, 1);
    assert_int_equal(pace.n_skipped, 0);
    assert_int_equal(pace.slipped_ns, 17 * MS);
}

static void skip_times(void **state)
{
    (void)state;
    run_pace pace;
    run_pace_begin(&pace, RUN_PACE_SKIP, 100, 0);
    assert_false(burst(&pace, 0, 37)); /* 10, 20 and 30 have passed */
    assert_int_equal(run_pace_due_ns(&pace), 40 * MS);
    assert_int_equal(pace.n_skipped, 3);
    assert_false(burst(&pace, 40, 60)); /* just met the time after */
    assert_int_equal(run_pace_due_ns(&pace), 60 * MS);
    assert_int_equal(pace.n_skipped, 4);
    assert_true(burst(&pace, 60, 61));
    assert_int_equal(run_pace_due_ns(&pace), 70 * MS);
    assert_int_equal(pace.n_missed, 2);
    assert_int_equal(pace.slipped_ns, 0);
}

/* A period that is not a whole number of ns: the schedule does not drift. */
static void no_drift(void **state)
{
    (void)state;
    run_pace pace;
    run_pace_begin(&pace, RUN_PACE_STOP, 3, 7);
    pace.tick = 3000000000;
    assert_int_equal(run_pace_due_ns(&pace), UINT64_C(1000000000000000007));
    assert_int_equal(run_pace_policy_read(NULL), RUN_PACE_SLIP);
    assert_int_equal(run_pace_policy_read("stop"), RUN_PACE_STOP);
    assert_int_equal(run_pace_policy_read("stops"), RUN_PACE_NONE);
}

/* Beyond every bin: the last one, and the limit is the largest. */
static void endless_jitter(void **state)
{
    (void)state;
    run_pace pace;
    run_pace_begin(&pace, RUN_PACE_SLIP, 0.001, 0);
    assert_true(burst(&pace, 999999, 1000000));
    assert_int_equal(pace.bins[RUN_PACE_BINS - 1], 1);
    assert_true(run_pace_jitter_below_us(&pace, 1) > 999999000);
}

static bool stop_asked;
static bool stopped(void)
{
    return stop_asked;
}

static void waiting(void **state)
{
    (void)state;
    run_pace pace;
    uint64_t begin = vly_clock_ns();
    stop_asked = false;
    run_pace_begin(&pace, RUN_PACE_SLIP, 20, begin);
    for (int k = 0; k < 3; k++) {
        assert_true(run_pace_wait(&pace, stopped));
        uint64_t now = vly_clock_ns();
        assert_true(now >= run_pace_due_ns(&pace));
        run_pace_started(&pace, now);
        run_pace_done(&pace, now);
    }
    assert_true(vly_clock_ns() - begin >= 100 * (uint64_t)MS);
    stop_asked = true;
    pace.tick = 1000000;
    assert_false(run_pace_wait(&pace, stopped));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(kept),           cmocka_unit_test(slip),
    cmocka_unit_test(skip_times),     cmocka_unit_test(no_drift),
    cmocka_unit_test(endless_jitter), cmocka_unit_test(waiting),
};

VLY_TEST_MAIN(tests)
