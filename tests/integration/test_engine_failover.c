/* SPDX-License-Identifier: Apache-2.0
 * A device fails in every call and at every burst; the net goes on elsewhere
 * with the digest, the state and the spikes of one that never failed. The
 * network has every model, two ports, delays, pulses, dc; the host injects,
 * changes parameters and writes state on the way.
 */
#include "../unit/engine_fixture.h"
#include "each_allocation.h"

#include <stdlib.h>

enum { BURSTS = 60 };

/* Callbacks of a host. */
typedef struct witness {
    spike_log log;
    uint64_t digests[BURSTS]; /* as told, without ids */
    uint64_t n_digests;
    uint32_t n_kept;
    uint32_t n_failed;
    uint32_t n_done;
    uint32_t n_wrong;
    uint64_t burst; /* of the last failure's snapshot */
    uint64_t failed_burst;
    char from[64];
    char to[64];
    char reason[256];
    bool forgets;     /* what was wrong */
    vly_net *stopped; /* by the event */
} witness;

static int hear(void *arg, const vly_failover_event *event)
{
    witness *w = arg;
    w->n_kept += event->kind == VLY_FAILOVER_KEPT;
    w->n_done += event->kind == VLY_FAILOVER_DONE;
    if (event->kind == VLY_FAILOVER_FAILED) {
        w->n_failed++;
        w->burst = event->burst;
        w->failed_burst = event->failed_burst;
        (void)snprintf(w->from, sizeof w->from, "%s", event->from);
        (void)snprintf(w->to, sizeof w->to, "%s", event->to);
        (void)snprintf(w->reason, sizeof w->reason, "%s", event->reason);
        if (w->stopped)
            vly_net_stop(w->stopped);
    }
    if (event->kind != VLY_FAILOVER_WRONG)
        return 0;
    w->n_wrong++;
    while (w->log.n != 0 && w->log.bursts[w->log.n - 1] >= event->burst)
        w->log.n--;
    w->log.n_calls -= event->failed_burst - event->burst;
    w->n_digests -= event->failed_burst - event->burst;
    return w->forgets;
}

static vly_status hear_digest(void *arg, uint64_t burst, const uint32_t *ids,
                              uint32_t n_ids, uint64_t digest)
{
    witness *w = arg;
    (void)ids;
    (void)n_ids;
    if (burst != w->n_digests || burst >= BURSTS)
        return VLY_E_INVALID;
    w->digests[w->n_digests++] = digest;
    return VLY_OK;
}

static void setup(fixture *f)
{
    char path[512];
    fixture_init(f, genome_mixed);
    (void)snprintf(path, sizeof path, "%s/flaky.so", VLY_TEST_PLUGINS);
    assert_ok(vly_registry_add(f->registry, path, &f->error), f->error);
}

/* Actions of a host before burst t: all of them change later bursts. */
static void act(fixture *f, vly_net *net, uint64_t t)
{
    static double each[30];
    double values[3] = {-58, -54, -61};
    uint64_t digest = 0;
    const uint32_t *ids = NULL;
    uint32_t n = 0;
    vly_error *e = &f->error;
    if (t % 5 == 0)
        assert_ok(vly_net_inject(net, t + 7, "F", (uint32_t)t % 12, 0, 30, e),
                  *e);
    if (t % 7 == 0)
        assert_ok(vly_net_inject(net, t, "D", (uint32_t)t % 30, 0, 25, e), *e);
    if (t % 12 == 3 || t == 58)
        assert_ok(vly_net_set(net, "area.D.tau_m_ms", 8 + (double)t, e), *e);
    if (t % 12 == 5)
        assert_ok(
            vly_net_set(net, "stimulus.noise.rate_hz", 2600 + (double)t, e),
            *e);
    if (t == 15)
        assert_ok(vly_net_set(net, "stimulus.part.amplitude", 650, e), *e);
    if (t == 21)
        assert_ok(vly_net_set(net, "area.F.postsynaptic_current", 2, e), *e);
    if (t == 27) {
        for (int i = 0; i < 30; i++)
            each[i] = 6 + i;
        assert_ok(vly_net_set_each(net, "D", "tau_m_ms", each, 30, e), *e);
    }
    if (t % 10 == 6 || t == 58)
        assert_ok(vly_net_write(net, "X", "v_mv", 2, 3, values, e), *e);
    if (t % 10 == 7)
        assert_ok(vly_net_read(net, "X", "v_mv", 2, 3, values, e), *e);
    if (t % 10 == 8)
        assert_ok(vly_net_state_digest(net, &digest, e), *e);
    if (t % 10 == 9)
        assert_ok(vly_net_fired(net, &ids, &n, e), *e);
}

/* every UINT64_MAX: no fail-over. pieces: bursts of one run. */
static fingerprint live(fixture *f, const char *backend, const char *target,
                        uint64_t every, uint64_t pieces, witness *w)
{
    vly_net *net = fixture_net(f, backend);
    w->log = (spike_log){.fail_at = UINT64_MAX};
    vly_net_on_spikes(net, spike_log_add, &w->log);
    if (every != UINT64_MAX)
        assert_ok(vly_net_failover(net, target, 1, every, hear, w, &f->error),
                  f->error);
    for (uint64_t t = 0; t < BURSTS; t += pieces) {
        for (uint64_t k = t; k < t + pieces; k++)
            act(f, net, k == t ? t : t + BURSTS);
        assert_ok(vly_net_run(net, pieces, &f->error), f->error);
    }
    vly_stats stats = {.struct_size = sizeof stats};
    assert_ok(vly_net_stats(net, &stats, &f->error), f->error);
    fingerprint print = fixture_run(f, net, 0);
    vly_net_destroy(net);
    return print;
}

static void assert_same_log(const spike_log *a, const spike_log *b)
{
    assert_int_equal(a->n, b->n);
    assert_int_equal(a->n_calls, b->n_calls);
    assert_memory_equal(a->bursts, b->bursts, a->n * sizeof *a->bursts);
    assert_memory_equal(a->ids, b->ids, a->n * sizeof *a->ids);
}

/* ---- every burst, every call ------------------------------------------- */

static void in_run_at_every_burst(void **state)
{
    static const uint64_t intervals[] = {0, 1, 2, 7, 1000};
    static witness quiet;
    static witness w;
    fixture f;
    char spec[64];
    (void)state;
    setup(&f);
    fingerprint wanted = live(&f, "cpu:1", NULL, UINT64_MAX, 1, &quiet);
    assert_true(wanted.spikes > 50);
    for (uint64_t at = 0; at < BURSTS; at++)
        for (int k = 0; k < 5; k++) {
            w = (witness){0};
            (void)snprintf(spec, sizeof spec, "flaky,at=%d", (int)at);
            fingerprint print =
                live(&f, spec, k % 2 ? "cpu:2" : "cpu:1", intervals[k], 1, &w);
            assert_same(&print, &wanted);
            assert_same_log(&w.log, &quiet.log);
            assert_int_equal(w.n_failed, 1);
            assert_int_equal(w.n_done, 1);
            assert_int_equal(w.failed_burst, at);
            assert_true(w.burst <= at);
            if (intervals[k] != 0)
                assert_true(at - w.burst <= intervals[k]);
            assert_string_equal(w.from, "flaky:0");
            assert_string_equal(w.to, k % 2 ? "cpu:2" : "cpu:1");
            assert_non_null(strstr(w.reason, "device lost"));
        }
    fixture_deinit(&f);
}

/* Runs of several bursts: what a failing run had done is done again. */
static void in_long_runs(void **state)
{
    static witness quiet;
    static witness w;
    fixture f;
    char spec[64];
    (void)state;
    setup(&f);
    fingerprint wanted = live(&f, "cpu:2", NULL, UINT64_MAX, 20, &quiet);
    for (uint64_t at = 0; at < BURSTS; at++) {
        w = (witness){0};
        (void)snprintf(spec, sizeof spec, "flaky,at=%d", (int)at);
        fingerprint print = live(&f, spec, "cpu:1", at % 9 + 1, 20, &w);
        assert_same(&print, &wanted);
        assert_same_log(&w.log, &quiet.log);
        assert_int_equal(w.n_failed, 1);
    }
    fixture_deinit(&f);
}

static void in_every_call(void **state)
{
    static const char *const calls[] = {"snapshot", "set",    "write",
                                        "read",     "digest", "info"};
    static witness quiet;
    static witness w;
    fixture f;
    char spec[64];
    (void)state;
    setup(&f);
    fingerprint wanted = live(&f, "cpu:1", NULL, UINT64_MAX, 1, &quiet);
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
        for (uint64_t at = 1; at < BURSTS; at += 4) {
            w = (witness){0};
            (void)snprintf(spec, sizeof spec, "flaky,in=%s,at=%d", calls[i],
                           (int)at);
            fingerprint print = live(&f, spec, "cpu:1", 1 + at % 3, 1, &w);
            assert_same(&print, &wanted);
            assert_same_log(&w.log, &quiet.log);
            if (w.n_failed != 1) /* each is called after every `at` */
                fail_msg("%s at %d: %u failures", calls[i], (int)at,
                         w.n_failed);
        }
    fixture_deinit(&f);
}

/* ---- more than one failure --------------------------------------------- */

static void twice_with_a_swap(void **state)
{
    static witness w;
    fixture f;
    (void)state;
    setup(&f);
    vly_net *whole = fixture_net(&f, "cpu:1");
    fingerprint wanted = fixture_run(&f, whole, BURSTS);
    vly_net *net = fixture_net(&f, "flaky,at=20");
    w = (witness){0};
    assert_ok(vly_net_failover(net, "cpu:2", 1, 8, hear, &w, &f.error),
              f.error);
    assert_ok(vly_net_run(net, 25, &f.error), f.error);
    assert_int_equal(w.n_failed, 1);
    assert_ok(vly_net_swap(net, "flaky,at=25", 1, &f.error), f.error);
    assert_ok(vly_net_run(net, 5, &f.error), f.error);
    assert_int_equal(w.n_failed, 2);
    assert_int_equal(w.burst, 25); /* a swap leaves a snapshot */
    /* a target that dies in the swap: the net stays where it was */
    assert_fails(vly_net_swap(net, "flaky,in=create,at=0", 1, &f.error),
                 VLY_E_DEVICE, &f.error, "device lost");
    assert_ok(vly_net_run(net, 5, &f.error), f.error);
    /* a net that dies in the swap goes to the target from the other backend */
    assert_ok(vly_net_swap(net, "flaky,in=snapshot,at=36", 1, &f.error),
              f.error);
    assert_ok(vly_net_run(net, 2, &f.error), f.error);
    assert_ok(vly_net_swap(net, "cpu:1", 1, &f.error), f.error);
    assert_int_equal(w.n_failed, 3);
    fingerprint print = fixture_run(&f, net, BURSTS - 37);
    assert_same(&print, &wanted);
    vly_net_destroy(net);
    vly_net_destroy(whole);
    fixture_deinit(&f);
}

/* The other backend fails as well: later, at once, and while it is made. */
static void the_target_fails(void **state)
{
    static const struct {
        const char *target;
        const char *says;
        uint64_t burst; /* at which the net ends */
    } cases[] = {
        {"flaky,at=35", "it failed there too", 35},
        {"flaky,at=20", "it failed there too", 20},
        {"flaky,at=18", "no fail-over to flaky,at=18: flaky: device lost", 16},
        {"flaky,in=create,at=3", "no fail-over to flaky,in=create,at=3: ", 20},
    };
    static witness w;
    fixture f;
    (void)state;
    setup(&f);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        vly_net *net = fixture_net(&f, "flaky,at=20");
        vly_error *e = &f.error;
        w = (witness){0};
        assert_ok(vly_net_failover(net, cases[i].target, 1, 8, hear, &w, e),
                  f.error);
        vly_status status = VLY_OK;
        for (int t = 0; t < 50 && status == VLY_OK; t++)
            status = vly_net_run(net, 1, e);
        assert_fails(status, VLY_E_DEVICE, e, cases[i].says);
        assert_non_null(strstr(f.error.message, "device lost, as asked for"));
        assert_int_equal(vly_net_burst(net), cases[i].burst);
        assert_fails(vly_net_run(net, 1, e), VLY_E_DEVICE, e, cases[i].says);
        assert_fails(vly_net_swap(net, "cpu:1", 1, e), VLY_E_DEVICE, e,
                     cases[i].says);
        vly_net_destroy(net);
    }
    fixture_deinit(&f);
}

static void refused_when_asked(void **state)
{
    fixture f;
    vly_error *e = &f.error;
    (void)state;
    setup(&f);
    vly_net *net = fixture_net(&f, "flaky,at=20");
    assert_fails(vly_net_failover(net, "nonesuch", 1, 8, NULL, NULL, e),
                 VLY_E_UNSUPPORTED, e, "nonesuch");
    assert_fails(vly_net_failover(net, "cpu:x", 1, 8, NULL, NULL, e),
                 VLY_E_INVALID, e, "cpu:x");
    assert_fails(vly_net_failover(net, "template", 1, 8, NULL, NULL, e),
                 VLY_E_UNSUPPORTED, e, "runs only areas of lif_psc_delta");
    /* asked for, and not wanted any more: as if never asked for */
    assert_ok(vly_net_failover(net, "cpu", 1, 8, NULL, NULL, e), f.error);
    assert_ok(vly_net_run(net, 10, e), f.error);
    assert_ok(vly_net_failover(net, NULL, 0, 0, NULL, NULL, e), f.error);
    assert_fails(vly_net_run(net, 20, e), VLY_E_DEVICE, e, "device lost");
    assert_null(strstr(f.error.message, "fail-over"));
    vly_net_destroy(net);
    fixture_deinit(&f);
}

/* ---- what was told was wrong ------------------------------------------- */

/* A wrong digest is not found only if no ids are reported. */
static void told_wrong(void **state)
{
    static witness quiet;
    static witness w;
    fixture f;
    vly_error *e = &f.error;
    (void)state;
    setup(&f);
    vly_net *whole = fixture_net(&f, "cpu:1");
    quiet = (witness){0};
    vly_net_on_bursts(whole, hear_digest, &quiet);
    fingerprint wanted = fixture_run(&f, whole, BURSTS);
    for (int forgets = 0; forgets < 2; forgets++) {
        vly_net *net = fixture_net(&f, "flaky,at=30,wrong=27");
        w = (witness){.forgets = forgets != 0};
        vly_net_on_bursts(net, hear_digest, &w);
        assert_ok(vly_net_failover(net, "cpu:1", 1, 8, hear, &w, e), f.error);
        for (int t = 0; t < 30; t++)
            assert_ok(vly_net_run(net, 1, e), f.error);
        if (forgets) {
            fingerprint print = fixture_run(&f, net, BURSTS - 30);
            assert_same(&print, &wanted);
            assert_int_equal(w.n_digests, BURSTS);
            assert_memory_equal(w.digests, quiet.digests, sizeof w.digests);
        } else {
            assert_fails(vly_net_run(net, BURSTS - 30, e), VLY_E_DEVICE, e,
                         "results of flaky:0 from burst 24 on were wrong");
        }
        assert_int_equal(w.n_failed, 1);
        assert_int_equal(w.n_wrong, 1);
        assert_int_equal(w.n_done, forgets);
        vly_net_destroy(net);
    }
    vly_net_destroy(whole);
    fixture_deinit(&f);
}

/* ---- stops, restore, functions, memory --------------------------------- */

static void stopped_meanwhile(void **state)
{
    static witness w;
    fixture f;
    (void)state;
    setup(&f);
    vly_net *whole = fixture_net(&f, "cpu:1");
    fingerprint wanted = fixture_run(&f, whole, BURSTS);
    vly_net *net = fixture_net(&f, "flaky,at=30");
    w = (witness){.stopped = net};
    assert_ok(vly_net_failover(net, "cpu:1", 1, 20, hear, &w, &f.error),
              f.error);
    assert_ok(vly_net_run(net, 28, &f.error), f.error);
    assert_fails(vly_net_run(net, BURSTS - 28, &f.error), VLY_E_STOPPED,
                 &f.error, "stopped");
    /* reported bursts are repeated, and no others */
    assert_int_equal(vly_net_burst(net), 30);
    fingerprint print = fixture_run(&f, net, BURSTS - 30);
    assert_same(&print, &wanted);
    vly_net_destroy(net);
    vly_net_destroy(whole);
    fixture_deinit(&f);
}

static void after_a_restore(void **state)
{
    static witness w;
    fixture f;
    vly_state *early = NULL;
    (void)state;
    setup(&f);
    vly_net *whole = fixture_net(&f, "cpu:1");
    fingerprint wanted = fixture_run(&f, whole, BURSTS);
    vly_net *net = fixture_net(&f, "flaky,at=30");
    w = (witness){0};
    assert_ok(vly_net_failover(net, "cpu:1", 1, 20, hear, &w, &f.error),
              f.error);
    assert_ok(vly_net_run(net, 10, &f.error), f.error);
    assert_ok(vly_net_snapshot(net, &early, &f.error), f.error);
    /* of another time line: must not be done again */
    assert_ok(vly_net_inject(net, 12, "D", 3, 0, 90, &f.error), f.error);
    assert_ok(vly_net_set(net, "area.D.tau_m_ms", 7, &f.error), f.error);
    assert_ok(vly_net_run(net, 15, &f.error), f.error);
    assert_ok(vly_net_restore(net, early, &f.error), f.error);
    vly_state_destroy(early);
    fingerprint print = fixture_run(&f, net, BURSTS - 10);
    assert_int_equal(w.n_failed, 1);
    assert_same(&print, &wanted);
    vly_net_destroy(net);
    vly_net_destroy(whole);
    fixture_deinit(&f);
}

/* A callback that fails during the repetition ends the net. */
static void a_function_that_fails(void **state)
{
    static witness w;
    fixture f;
    (void)state;
    setup(&f);
    vly_net *net = fixture_net(&f, "flaky,at=28,wrong=21");
    w = (witness){.forgets = true, .log.fail_at = UINT64_MAX};
    vly_net_on_bursts(net, spike_log_add, &w.log);
    assert_ok(vly_net_failover(net, "cpu:1", 1, 20, hear, &w, &f.error),
              f.error);
    for (int t = 0; t < 28; t++)
        assert_ok(vly_net_run(net, 1, &f.error), f.error);
    w.log.fail_at = 25;
    for (int twice = 0; twice < 2; twice++)
        assert_fails(vly_net_run(net, 20, &f.error), VLY_E_DEVICE, &f.error,
                     "a function called for every burst ended the run");
    vly_net_destroy(net);
    fixture_deinit(&f);
}

/* The n-th allocation fails, from the first call to the last: either all went
 * well, or there is a sentence, and no block is lost. */
static void without_memory(void **state)
{
    fixture f;
    const uint64_t step = each_allocation();
    uint64_t n_failed = 0;
    uint64_t left = 0;
    (void)state;
    setup(&f);
    vly_net *whole = fixture_net(&f, "cpu:1");
    assert_ok(vly_net_set(whole, "area.D.tau_m_ms", 7, &f.error), f.error);
    fingerprint wanted = fixture_run(&f, whole, BURSTS);
    for (uint64_t n = 1; left == 0; n += step) {
        uint64_t live_blocks = vly_memory_live();
        vly_net *net = fixture_net(&f, "flaky,at=30");
        vly_error *e = &f.error;
        vly_memory_fail_at(n);
        vly_status status = vly_net_failover(net, "cpu:1", 1, 9, NULL, NULL, e);
        if (status == VLY_OK)
            status = vly_net_set(net, "area.D.tau_m_ms", 7, e);
        if (status == VLY_OK)
            status = vly_net_run(net, BURSTS, e);
        left = vly_memory_fail_at(0);
        if (status == VLY_OK) {
            fingerprint print = fixture_run(&f, net, 0);
            assert_same(&print, &wanted);
        } else {
            n_failed++;
            assert_non_null(strstr(f.error.message, "out of memory"));
        }
        vly_net_destroy(net);
        assert_int_equal(vly_memory_live(), live_blocks);
    }
    assert_true(n_failed > least_failures(50));
    vly_net_destroy(whole);
    fixture_deinit(&f);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(in_run_at_every_burst),
    cmocka_unit_test(in_long_runs),
    cmocka_unit_test(in_every_call),
    cmocka_unit_test(twice_with_a_swap),
    cmocka_unit_test(the_target_fails),
    cmocka_unit_test(refused_when_asked),
    cmocka_unit_test(told_wrong),
    cmocka_unit_test(stopped_meanwhile),
    cmocka_unit_test(after_a_restore),
    cmocka_unit_test(a_function_that_fails),
    cmocka_unit_test(without_memory),
};

VLY_TEST_MAIN(tests)
