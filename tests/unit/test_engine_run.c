/* SPDX-License-Identifier: Apache-2.0
 * The burst loop: results by hand, runs in pieces, functions called for every
 * burst, fired lists, stop, statistics.
 */
#include "engine_fixture.h"

#include <pthread.h>
#include <signal.h>

static void chain_by_hand(void **state)
{
    static const uint64_t bursts[] = {10, 25, 31, 46, 61};
    static const uint32_t ids[] = {0, 1, 0, 1, 2};
    static spike_log log;
    vly_stats stats = {.struct_size = sizeof stats};
    vly_area_stats area = {.struct_size = sizeof area};
    fixture f;
    (void)state;
    fixture_init(&f, genome_three);
    log = (spike_log){.fail_at = UINT64_MAX};
    vly_net *net = fixture_net(&f, "cpu:1");
    vly_net_on_spikes(net, spike_log_add, &log);
    assert_ok(vly_net_run(net, 100, &f.error), f.error);
    assert_int_equal(log.n_calls, 100);
    assert_int_equal(log.n, 5);
    for (uint32_t i = 0; i < 5; i++) {
        assert_int_equal(log.bursts[i], bursts[i]);
        assert_int_equal(log.ids[i], ids[i]);
    }
    assert_ok(vly_net_stats(net, &stats, &f.error), f.error);
    assert_int_equal(stats.bursts, 100);
    assert_int_equal(stats.spikes, 5);
    assert_int_equal(stats.events, 4);
    assert_int_equal(stats.neurons, 3);
    assert_int_equal(stats.synapses, 2);
    assert_string_equal(stats.backend, "cpu:1");
    assert_true(stats.device[0] != 0);
    for (uint32_t a = 0; a < 3; a++) {
        assert_int_equal(vly_net_area_stats(net, a, &area), VLY_OK);
        assert_int_equal(area.spikes, a < 2 ? 2 : 1);
        assert_int_equal(area.first, a);
    }
    assert_int_equal(vly_net_area_stats(net, 3, &area), VLY_E_INVALID);
    vly_net_destroy(net);
    fixture_deinit(&f);
}

static void digest_by_hand(void **state)
{
    fixture f;
    (void)state;
    fixture_init(&f, genome_three);
    vly_net *net = fixture_net(&f, "cpu:1");
    fingerprint print = fixture_run(&f, net, 12);
    uint64_t wanted = 0;
    for (uint64_t t = 0; t < 12; t++)
        wanted = vly_mix64(
            wanted ^
            (t == 10 ? vly_spike_hash(
                           0, UINT32_C(1) << f.connectome->desc.feagi_q, t)
                     : 0));
    assert_true(print.digest == wanted);
    vly_net_destroy(net);
    fixture_deinit(&f);
}

static void pieces_of_any_length(void **state)
{
    static const uint64_t lengths[] = {1, 2, 3, 7, 59, 1000, 1024, 1025};
    fixture f;
    (void)state;
    fixture_init(&f, genome_mixed);
    vly_net *net = fixture_net(&f, "cpu:1");
    fingerprint whole = fixture_run(&f, net, 2500);
    assert_true(whole.spikes > 100);
    vly_net_destroy(net);
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        net = fixture_net(&f, "cpu:1");
        uint64_t left = 2500;
        while (left > 0) {
            uint64_t n = left < lengths[i] ? left : lengths[i];
            assert_ok(vly_net_run(net, n, &f.error), f.error);
            left -= n;
        }
        fingerprint print = fixture_run(&f, net, 0);
        assert_same(&print, &whole);
        vly_net_destroy(net);
    }
    fixture_deinit(&f);
}

/* The sum over bursts of their spikes, squared. */
static void assert_squares(vly_net *net, const spike_log *log)
{
    vly_stats stats = {.struct_size = sizeof stats};
    uint64_t squares = 0;
    uint64_t most = 0;
    for (uint32_t i = 0, n = 0; i < log->n; i++) {
        n = i > 0 && log->bursts[i] == log->bursts[i - 1] ? n + 1 : 1;
        squares += 2 * n - 1; /* n squared less n - 1 squared */
        most = n > most ? n : most;
    }
    assert_true(most > 1);
    assert_int_equal(vly_net_stats(net, &stats, NULL), VLY_OK);
    assert_int_equal(stats.spikes_squared, squares);
}

/* Fired lists after every burst are those that on_spikes tells. */
static void fired_lists(void **state)
{
    static spike_log log;
    fixture f;
    (void)state;
    fixture_init(&f, genome_mixed);
    log = (spike_log){.fail_at = UINT64_MAX};
    vly_net *told = fixture_net(&f, "cpu:1");
    vly_net *asked = fixture_net(&f, "cpu:1");
    const uint32_t *ids = NULL;
    uint32_t n = 99;
    uint32_t at = 0;
    vly_net_on_spikes(told, spike_log_add, &log);
    assert_ok(vly_net_run(told, 60, &f.error), f.error);
    assert_squares(told, &log);
    assert_ok(vly_net_fired(asked, &ids, &n, &f.error), f.error);
    assert_int_equal(n, 0);
    for (uint64_t t = 0; t < 60; t++) {
        /* the first from a snapshot, the others recorded; twice the same */
        assert_ok(vly_net_run(asked, 1, &f.error), f.error);
        for (int twice = 0; twice < 2; twice++)
            assert_ok(vly_net_fired(asked, &ids, &n, &f.error), f.error);
        for (uint32_t i = 0; i < n; i++, at++) {
            assert_int_equal(log.bursts[at], t);
            assert_int_equal(log.ids[at], ids[i]);
        }
    }
    assert_int_equal(at, log.n);
    assert_true(vly_net_digest(told) == vly_net_digest(asked));
    assert_ok(vly_net_fired(told, &ids, &n, &f.error), f.error);
    vly_net_destroy(told);
    /* from a snapshot alone, in the middle of longer runs */
    told = fixture_net(&f, "cpu:1");
    assert_ok(vly_net_run(told, 41, &f.error), f.error);
    assert_ok(vly_net_fired(told, &ids, &n, &f.error), f.error);
    for (uint32_t i = 0, k = 0; k < log.n; k++)
        if (log.bursts[k] == 40) {
            assert_true(i < n);
            assert_int_equal(ids[i++], log.ids[k]);
        }
    assert_ok(vly_net_run(told, 19, &f.error), f.error);
    assert_true(vly_net_digest(told) == vly_net_digest(asked));
    vly_net_destroy(told);
    vly_net_destroy(asked);
    fixture_deinit(&f);
}

static void functions_of_bursts(void **state)
{
    static spike_log spikes;
    static spike_log bursts;
    fixture f;
    (void)state;
    fixture_init(&f, genome_three);
    spikes = (spike_log){.fail_at = UINT64_MAX};
    bursts = (spike_log){.fail_at = 20};
    vly_net *net = fixture_net(&f, "cpu:1");
    vly_net_on_spikes(net, spike_log_add, &spikes);
    vly_net_on_bursts(net, spike_log_add, &bursts);
    assert_fails(vly_net_run(net, 100, &f.error), VLY_E_IO, &f.error, "run");
    assert_int_equal(spikes.last_burst, 20);
    assert_int_equal(bursts.last_burst, 20);
    assert_int_equal(bursts.n, 0);
    /* the net is complete after the chunk and can continue */
    assert_true(vly_net_burst(net) >= 21);
    uint64_t left = 100 - vly_net_burst(net);
    vly_net_on_spikes(net, NULL, NULL);
    vly_net_on_bursts(net, NULL, NULL);
    fingerprint print = fixture_run(&f, net, left);
    vly_net *other = fixture_net(&f, "cpu:2");
    fingerprint wanted = fixture_run(&f, other, 100);
    assert_same(&print, &wanted);
    vly_net_destroy(other);
    vly_net_destroy(net);
    fixture_deinit(&f);
}

typedef struct meddler {
    vly_net *net;
    vly_status inject;
    vly_status run;
    uint64_t burst;
} meddler;

static vly_status meddle(void *arg, uint64_t burst, const uint32_t *ids,
                         uint32_t n_ids, uint64_t digest)
{
    meddler *m = arg;
    (void)ids;
    (void)n_ids;
    (void)digest;
    m->inject = vly_net_inject(m->net, burst + 1, "A", 0, 0, 20, NULL);
    m->run = vly_net_run(m->net, 1, NULL);
    m->burst = vly_net_burst(m->net) - burst;
    return VLY_OK;
}

/* The backend is ahead of the reported burst: input that would be too late is
 * refused, not lost. */
static void no_change_within_a_run(void **state)
{
    fixture f;
    (void)state;
    fixture_init(&f, genome_three);
    meddler m = {.net = fixture_net(&f, "cpu:1")};
    vly_net_on_bursts(m.net, meddle, &m);
    assert_ok(vly_net_run(m.net, 10, &f.error), f.error);
    assert_int_equal(m.inject, VLY_E_INVALID);
    assert_int_equal(m.run, VLY_E_INVALID);
    assert_int_equal(m.burst, 1);
    assert_ok(vly_net_inject(m.net, 10, "A", 0, 0, 20, &f.error), f.error);
    vly_net_destroy(m.net);
    fixture_deinit(&f);
}

/* ---- stop -------------------------------------------------------------- */

static vly_status stop_at(void *arg, uint64_t burst, const uint32_t *ids,
                          uint32_t n_ids, uint64_t digest)
{
    (void)ids;
    (void)n_ids;
    (void)digest;
    if (burst == 3)
        vly_net_stop(arg);
    return VLY_OK;
}

static void stop_between_and_within(void **state)
{
    fixture f;
    (void)state;
    fixture_init(&f, genome_mixed);
    vly_net *net = fixture_net(&f, "cpu:1");
    vly_net_stop(net);
    assert_fails(vly_net_run(net, 5, &f.error), VLY_E_STOPPED, &f.error,
                 "stopped");
    assert_int_equal(vly_net_burst(net), 0);
    assert_ok(vly_net_run(net, 2, &f.error), f.error);
    vly_net_on_bursts(net, stop_at, net);
    assert_int_equal(vly_net_run(net, 100000, &f.error), VLY_E_STOPPED);
    assert_true(vly_net_burst(net) < 100000);
    vly_net_on_bursts(net, NULL, NULL);
    uint64_t left = 3000 - vly_net_burst(net);
    fingerprint print = fixture_run(&f, net, left);
    vly_net *other = fixture_net(&f, "cpu:1");
    fingerprint wanted = fixture_run(&f, other, 3000);
    assert_same(&print, &wanted);
    vly_net_destroy(other);
    vly_net_destroy(net);
    fixture_deinit(&f);
}

static void *stop_soon(void *net)
{
    struct timespec nap = {.tv_nsec = 20 * 1000 * 1000};
    nanosleep(&nap, NULL);
    vly_net_stop(net);
    return NULL;
}

static void stop_from_a_thread(void **state)
{
    fixture f;
    pthread_t thread;
    (void)state;
    fixture_init(&f, genome_mixed);
    vly_net *net = fixture_net(&f, "cpu:2");
    assert_int_equal(pthread_create(&thread, NULL, stop_soon, net), 0);
    vly_status status = vly_net_run(net, UINT64_C(1) << 40, &f.error);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_fails(status, VLY_E_STOPPED, &f.error, "stopped");
    uint64_t done = vly_net_burst(net);
    fingerprint print = fixture_run(&f, net, 0);
    vly_net *other = fixture_net(&f, "cpu:1");
    fingerprint wanted = fixture_run(&f, other, done);
    assert_same(&print, &wanted);
    vly_net_destroy(other);
    vly_net_destroy(net);
    fixture_deinit(&f);
}

static vly_net *signalled;

static void on_alarm(int signal_number)
{
    (void)signal_number;
    vly_net_stop(signalled);
}

static void stop_from_a_signal_handler(void **state)
{
    struct sigaction action = {.sa_handler = on_alarm};
    struct sigaction before;
    timer_t timer;
    struct itimerspec soon = {.it_value = {.tv_nsec = 20 * 1000 * 1000}};
    fixture f;
    (void)state;
    fixture_init(&f, genome_mixed);
    signalled = fixture_net(&f, "cpu:1");
    assert_int_equal(sigaction(SIGALRM, &action, &before), 0);
    assert_int_equal(timer_create(CLOCK_MONOTONIC, NULL, &timer), 0);
    assert_int_equal(timer_settime(timer, 0, &soon, NULL), 0);
    vly_status status = vly_net_run(signalled, UINT64_C(1) << 40, &f.error);
    assert_fails(status, VLY_E_STOPPED, &f.error, "stopped");
    /* on a busy machine the signal may come before the first burst */
    const uint64_t done = vly_net_burst(signalled);
    assert_ok(vly_net_run(signalled, 3, &f.error), f.error);
    assert_int_equal(vly_net_burst(signalled), done + 3);
    timer_delete(timer);
    sigaction(SIGALRM, &before, NULL);
    vly_net_destroy(signalled);
    fixture_deinit(&f);
}

/* ---- choice of the backend --------------------------------------------- */

static void backends_chosen_and_refused(void **state)
{
    fixture f;
    vly_net *net = NULL;
    vly_stats stats = {.struct_size = sizeof stats};
    (void)state;
    fixture_init(&f, genome_three);
    assert_fails(
        vly_net_create(f.connectome, f.registry, "nothing", 0, &net, &f.error),
        VLY_E_UNSUPPORTED, &f.error, "nothing");
    assert_int_equal(
        vly_net_create(f.connectome, f.registry, "cpu:x", 0, &net, &f.error),
        VLY_E_INVALID);
    assert_null(net);
    net = fixture_net(&f, "auto");
    assert_ok(vly_net_run(net, 100, &f.error), f.error);
    vly_net_destroy(net);
    net = fixture_net(&f, "cpu"); /* the fixture asks for one thread */
    assert_ok(vly_net_stats(net, &stats, &f.error), f.error);
    assert_string_equal(stats.backend, "cpu:1");
    assert_fails(vly_net_run(net, UINT64_MAX, NULL) == VLY_E_INVALID
                     ? vly_net_run(net, UINT64_MAX, &f.error)
                     : VLY_OK,
                 VLY_E_INVALID, &f.error, "64 bits");
    vly_net_destroy(net);
    vly_net_destroy(NULL);
    vly_net_close(NULL);
    fixture_deinit(&f);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(chain_by_hand),
    cmocka_unit_test(digest_by_hand),
    cmocka_unit_test(pieces_of_any_length),
    cmocka_unit_test(fired_lists),
    cmocka_unit_test(functions_of_bursts),
    cmocka_unit_test(no_change_within_a_run),
    cmocka_unit_test(stop_between_and_within),
    cmocka_unit_test(stop_from_a_thread),
    cmocka_unit_test(stop_from_a_signal_handler),
    cmocka_unit_test(backends_chosen_and_refused),
};

VLY_TEST_MAIN(tests)
