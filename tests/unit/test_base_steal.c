/* SPDX-License-Identifier: Apache-2.0
 * Stolen time: what a thread misses of the wall clock, up to what the machine
 * says was stolen.
 */
#include "base/steal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/thread.h"
#include "volley_test.h"

static const uint64_t ms = 1000000;

static uint64_t read_as(const char *text)
{
    char path[] = "/tmp/volley_steal_XXXXXX";
    const int file = mkstemp(path);
    assert_true(file >= 0);
    assert_int_equal(write(file, text, strlen(text)), strlen(text));
    (void)close(file);
    const uint64_t got = vly_machine_stolen_ns(path);
    (void)unlink(path);
    return got;
}

static void test_file(void **state)
{
    (void)state;
    const uint64_t tick = 1000 * ms / (uint64_t)sysconf(_SC_CLK_TCK);
    assert_int_equal(
        read_as("cpu  1 2 3 4 5 6 7 689 9 0\ncpu0 1 2 3 4 5 6 7 8"),
        689 * tick);
    assert_int_equal(read_as("cpu  1 2 3 4 5 6 7 0 0 0\n"), 0);
    /* an old system, another file, none */
    assert_int_equal(read_as("cpu  1 2 3 4\n"), UINT64_MAX);
    assert_int_equal(read_as("intr 1 2 3 4 5 6 7 8 9\n"), UINT64_MAX);
    assert_int_equal(read_as(""), UINT64_MAX);
    assert_int_equal(vly_machine_stolen_ns("/nonexistent/stat"), UINT64_MAX);
}

/* One more look: so much was missing, so much more the machine says. */
static void take(vly_steal *steal, uint64_t after_ms, uint64_t missing_ms,
                 uint64_t machine_ms)
{
    static uint64_t now = 1000000000;
    steal->missing_ns += missing_ms * ms;
    vly_steal_take(steal, now += after_ms * ms, machine_ms * ms);
}

static void test_take(void **state)
{
    (void)state;
    const uint64_t tick = 1000 * ms / (uint64_t)sysconf(_SC_CLK_TCK);
    vly_steal steal = {.machine_ns = 5000 * ms};
    /* all that is missing was stolen */
    take(&steal, 100, 30, 5030);
    assert_int_equal(steal.stolen_ns, 30 * ms);
    assert_int_equal(steal.n_idle, 0);
    /* the system says so some milliseconds later */
    take(&steal, 100, 40, 5030);
    assert_int_equal(steal.stolen_ns, 30 * ms);
    take(&steal, 10, 0, 5070);
    assert_int_equal(steal.stolen_ns, 70 * ms);
    /* a process that was stopped for 500 ms: nothing was, and what another
     * thread lost a while later is not this one's, but for a tick */
    take(&steal, 500, 500, 5070);
    assert_int_equal(steal.stolen_ns, 70 * ms);
    assert_int_equal(steal.n_idle, 1);
    take(&steal, 50, 0, 6070);
    assert_int_equal(steal.stolen_ns, 70 * ms);
    assert_int_equal(steal.n_idle, 2);
    take(&steal, 50, 100, 6070);
    assert_int_equal(steal.stolen_ns, 70 * ms + tick);
    take(&steal, 50, 100, 6070);
    assert_int_equal(steal.stolen_ns, 70 * ms + tick);
    /* both at once */
    take(&steal, 50, 100, 6100);
    assert_int_equal(steal.stolen_ns, 100 * ms + tick);
    /* a sum that went back (another machine, after it was moved) */
    take(&steal, 50, 100, 100);
    assert_int_equal(steal.stolen_ns, 100 * ms + tick);
    take(&steal, 50, 10, 110);
    assert_int_equal(steal.stolen_ns, 110 * ms + tick);
}

/* No more than was missing, never back, and the file is read now and then. */
static void test_look(void **state)
{
    (void)state;
    vly_steal steal = {0};
    const uint64_t begin = vly_clock_ns();
    uint64_t missing = 0;
    uint64_t before = vly_steal_look(&steal, 0);
    assert_int_equal(before, 0);
    assert_true(steal.read_at_ns >= begin);
    while (vly_clock_ns() - begin < 120 * ms) {
        const uint64_t now = vly_steal_look(&steal, 1000);
        missing += 1000;
        assert_true(now >= before && now <= missing);
        before = now;
    }
    (void)vly_steal_look(&steal, 0);
    if (steal.counts)
        assert_true(steal.read_at_ns >= begin + 40 * ms);
    else
        assert_int_equal(before, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_file),
                                       cmocka_unit_test(test_take),
                                       cmocka_unit_test(test_look)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
