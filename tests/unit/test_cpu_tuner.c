/* SPDX-License-Identifier: Apache-2.0
 * The choice of threads on machines that are made up: what a burst costs with
 * each number of them, and when. No clock is read.
 */
#include "volley_test.h"

#include "backends/cpu/cpu_tuner.h"

/* ns of a burst with n threads, `now` ns after the start. */
typedef double (*machine)(uint32_t n, double now);

typedef struct made_up {
    vly_cpu_tuner tuner;
    double now;
    uint64_t bursts;
    uint64_t alone; /* bursts with one thread */
} made_up;

/* Runs n bursts in calls of at most `most`. */
static void run(made_up *m, machine cost, uint64_t n, uint64_t most)
{
    while (n > 0) {
        uint64_t left = n < most ? n : most;
        const uint64_t call = left;
        const uint32_t threads = vly_cpu_tuner_next(&m->tuner, &left);
        assert_true(left >= 1 && left <= call);
        const double ns = cost(threads, m->now) * (double)left;
        vly_cpu_tuner_took(&m->tuner, left, (uint64_t)ns);
        m->now += ns;
        m->bursts += left;
        m->alone += threads == 1 ? left : 0;
        n -= left;
    }
}

static uint32_t chosen(const made_up *m)
{
    assert_true(m->tuner.n_measurements > 0);
    return m->tuner.choices[m->tuner.chosen].n_threads;
}

static made_up start(uint32_t n_most)
{
    made_up m = {.now = 0};
    vly_cpu_tuner_init(&m.tuner, n_most);
    return m;
}

/* ---- machines ----------------------------------------------------------- */

static double gains(uint32_t n, double now)
{
    (void)now;
    return n == 1 ? 20e3 : 20e3 / 1.7;
}

static double gains_little(uint32_t n, double now)
{
    (void)now;
    return n == 1 ? 20e3 : 20e3 / 1.03;
}

/* Another program has one of the two processors. */
static double is_busy(uint32_t n, double now)
{
    (void)now;
    return n == 1 ? 20e3 : 400e3;
}

/* ... from 2 s on. */
static double becomes_busy(uint32_t n, double now)
{
    return now < 2e9 ? gains(n, now) : is_busy(n, now);
}

static double becomes_idle(uint32_t n, double now)
{
    return now < 2e9 ? is_busy(n, now) : gains(n, now);
}

/* Of sixteen, four are best. */
static double best_of_many(uint32_t n, double now)
{
    (void)now;
    return 400e3 / (double)(n < 4 ? n : 4) + 10e3 * (double)n;
}

/* A long burst: 30 ms. */
static double is_slow(uint32_t n, double now)
{
    (void)now;
    return 30e6 / (double)n;
}

static double is_no_time(uint32_t n, double now)
{
    (void)n;
    (void)now;
    return 0.0;
}

/* ------------------------------------------------------------------------- */

static void fastest_is_chosen(void **state)
{
    (void)state;
    static const struct {
        machine cost;
        uint32_t n_most;
        uint32_t want;
        double best; /* ns */
    } cases[] = {
        {gains, 2, 2, 20e3 / 1.7}, {gains_little, 2, 1, 20e3},
        {is_busy, 2, 1, 20e3},     {best_of_many, 16, 4, 140e3},
        {best_of_many, 3, 3, 0.0}, {best_of_many, 4, 4, 140e3},
        {is_slow, 8, 8, 30e6 / 8},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        /* whole calls, those of 4096 bursts, and bursts one by one */
        static const uint64_t most[] = {UINT64_MAX, 4096, 1};
        for (int k = 0; k < 3; k++) {
            made_up m = start(cases[i].n_most);
            uint64_t n = 200000;
            if (cases[i].cost == is_slow)
                n = 1000;
            run(&m, cases[i].cost, n, most[k]);
            assert_int_equal(m.bursts, n);
            assert_int_equal(chosen(&m), cases[i].want);
            /* what the choice costs */
            if (cases[i].best > 0.0)
                assert_true(m.now <= 1.1 * cases[i].best * (double)n);
        }
    }
}

static char printed[200];

/* Whole tries, of one thread and of two in turn, in us a burst. Prints too. */
static uint32_t chosen_of(const double tries[VLY_CPU_ROUNDS][2])
{
    made_up m = start(2);
    while (m.tuner.block == 0)
        run(&m, gains, 1, 1);
    for (uint32_t t = 0; m.tuner.n_measurements == 0; t++) {
        uint64_t left = UINT64_MAX;
        assert_true(t < 2 * VLY_CPU_ROUNDS);
        const uint32_t n = vly_cpu_tuner_next(&m.tuner, &left);
        vly_cpu_tuner_took(
            &m.tuner, left,
            (uint64_t)(tries[m.tuner.round][n - 1] * 1e3 * (double)left));
    }
    vly_cpu_tuner_print(&m.tuner, printed, sizeof printed);
    return chosen(&m);
}

static void one_try_does_not_decide(void **state)
{
    (void)state;
    /* one thread waited for a processor; two do not gain */
    const double waited[][2] = {{1800, 40}, {20, 40}, {20, 40}};
    assert_int_equal(chosen_of(waited), 1);
    /* two threads wait now and then, and lose by that what they gain */
    const double waits[][2] = {{20, 12}, {20, 500}, {20, 12}};
    assert_int_equal(chosen_of(waits), 1);
    const double gain[][2] = {{20, 12}, {1800, 12}, {20, 14}};
    assert_int_equal(chosen_of(gain), 2);
    const double dropped[][2] = {{20, 31}, {20, 0}, {20, 0}};
    assert_int_equal(chosen_of(dropped), 1);
}

static void it_follows_the_machine(void **state)
{
    (void)state;
    made_up m = start(2);
    run(&m, becomes_busy, 100000, 4096); /* 1.2 s */
    assert_int_equal(chosen(&m), 2);
    while (m.now < 2e9)
        run(&m, becomes_busy, 1000, 4096);
    const double begin = m.now;
    run(&m, becomes_busy, 500000, 4096); /* 10 s with one thread */
    assert_int_equal(chosen(&m), 1);
    assert_true(m.now - begin <= 1.3 * 20e3 * 500000);
    m = start(2);
    run(&m, becomes_idle, 90000, 4096); /* 1.8 s */
    assert_int_equal(chosen(&m), 1);
    run(&m, becomes_idle, 5000000, 4096);
    assert_int_equal(chosen(&m), 2);
    assert_true(m.alone < m.bursts / 4);
}

static void limits(void **state)
{
    (void)state;
    made_up m = start(1);
    uint64_t n = 123456;
    assert_int_equal(vly_cpu_tuner_next(&m.tuner, &n), 1);
    assert_int_equal(n, 123456);
    run(&m, gains, 100000, 4096);
    assert_int_equal(m.tuner.n_measurements, 0);
    vly_cpu_tuner_init(&m.tuner, 1024);
    assert_int_equal(m.tuner.n_choices, VLY_CPU_CHOICES);
    for (uint32_t c = 0; c < VLY_CPU_CHOICES; c++)
        assert_int_equal(m.tuner.choices[c].n_threads, 1u << c);
    vly_cpu_tuner_init(&m.tuner, 3);
    assert_int_equal(m.tuner.n_choices, 3);
    assert_int_equal(m.tuner.choices[1].n_threads, 2);
    assert_int_equal(m.tuner.choices[2].n_threads, 3);
    /* a clock that stands still */
    m = start(4);
    run(&m, is_no_time, 100000, 4096);
    assert_int_equal(m.bursts, 100000);
}

static void text(void **state)
{
    (void)state;
    char found[200];
    static const double wait[VLY_CPU_ROUNDS][2] = {
        {20, 20}, {320, 20}, {20, 20}};
    assert_int_equal(chosen_of(wait), 1);
    assert_string_equal(printed, "1 of 2 threads (a burst takes 120 us with 1, "
                                 "20 with 2; not so in most tries)");
    made_up m = start(2);
    vly_cpu_tuner_print(&m.tuner, found, sizeof found);
    assert_string_equal(found, "up to 2 threads, not measured yet");
    run(&m, is_busy, 100000, 4096);
    vly_cpu_tuner_print(&m.tuner, found, sizeof found);
    assert_string_equal(
        found, "1 of 2 threads (a burst takes 20 us with 1, 400 with 2)");
    m = start(128); /* vly_net_info.plan has room for it */
    run(&m, is_slow, 10000, 4096);
    vly_cpu_tuner_print(&m.tuner, found, sizeof found);
    assert_true(strlen(found) < 160);
    assert_string_equal(found + strlen(found) - 10, " with 128)");
    m = start(2);
    run(&m, is_busy, 100000, 4096);
    char small[30]; /* cut, and ended */
    vly_cpu_tuner_print(&m.tuner, small, sizeof small);
    assert_string_equal(small, "1 of 2 threads (a burst takes");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fastest_is_chosen),
        cmocka_unit_test(one_try_does_not_decide),
        cmocka_unit_test(it_follows_the_machine),
        cmocka_unit_test(limits),
        cmocka_unit_test(text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
