/* SPDX-License-Identifier: Apache-2.0
 * Backends that behave otherwise than the CPU's: fewer bursts a call, no state
 * digest, failures in the middle of a change. They are the CPU backend behind
 * a table with single functions replaced.
 */
#include "engine_fixture.h"

#include <stdlib.h>
#include <unistd.h>

static const vly_backend *real;
static vly_backend wrapped;
static uint64_t most_bursts;

static void wrap(vly_net *net)
{
    real = net->device.backend;
    wrapped = *real;
    net->device.backend = &wrapped;
}

/* ---- fewer bursts ------------------------------------------------------ */

static vly_status run_some(vly_backend_net *net, vly_run *run, vly_error *error)
{
    uint64_t wanted = run->n_bursts;
    run->n_bursts = wanted < most_bursts ? wanted : most_bursts;
    vly_status status = real->net_run(net, run, error);
    run->n_bursts = wanted;
    return status;
}

static void fewer_bursts_than_asked(void **state)
{
    static spike_log logs[2];
    fixture f;
    (void)state;
    fixture_init(&f, genome_mixed);
    vly_net *some = fixture_net(&f, "cpu:1");
    vly_net *all = fixture_net(&f, "cpu:1");
    wrap(some);
    wrapped.net_run = run_some;
    most_bursts = 3;
    for (int i = 0; i < 2; i++) {
        logs[i] = (spike_log){.fail_at = UINT64_MAX};
        vly_net_on_spikes(i == 0 ? some : all, spike_log_add, &logs[i]);
    }
    assert_ok(vly_net_inject(some, 29, "D", 3, 0, 50, &f.error), f.error);
    assert_ok(vly_net_inject(all, 29, "D", 3, 0, 50, &f.error), f.error);
    fingerprint a = fixture_run(&f, some, 60);
    fingerprint b = fixture_run(&f, all, 60);
    assert_same(&a, &b);
    assert_memory_equal(&logs[0], &logs[1], sizeof logs[0]);
    most_bursts = 0;
    assert_fails(vly_net_run(some, 5, &f.error), VLY_E_DEVICE, &f.error,
                 "did no burst");
    assert_int_equal(vly_net_run(some, 0, NULL), VLY_E_DEVICE);
    vly_net_destroy(some);
    vly_net_destroy(all);
    fixture_deinit(&f);
}

static vly_status run_wrong(vly_backend_net *net, vly_run *run,
                            vly_error *error)
{
    vly_status status = real->net_run(net, run, error);
    run->spike_counts[0]++;
    return status;
}

static void counts_that_do_not_fit(void **state)
{
    static spike_log log;
    fixture f;
    (void)state;
    fixture_init(&f, genome_mixed);
    log = (spike_log){.fail_at = UINT64_MAX};
    vly_net *net = fixture_net(&f, "cpu:1");
    wrap(net);
    wrapped.net_run = run_wrong;
    vly_net_on_spikes(net, spike_log_add, &log);
    assert_fails(vly_net_run(net, 5, &f.error), VLY_E_DEVICE, &f.error,
                 "do not fit");
    assert_int_equal(log.n_calls, 0);
    vly_net_destroy(net);
    fixture_deinit(&f);
}

static void digest_by_the_host(void **state)
{
    fixture f;
    (void)state;
    fixture_init(&f, genome_mixed);
    vly_net *net = fixture_net(&f, "cpu:1");
    uint64_t digest = 0;
    fingerprint print = fixture_run(&f, net, 20);
    wrap(net);
    wrapped.state_digest = NULL;
    assert_ok(vly_net_state_digest(net, &digest, &f.error), f.error);
    assert_true(digest == print.state);
    vly_net_destroy(net);
    fixture_deinit(&f);
}

/* ---- a change that fails half way -------------------------------------- */

static uint64_t fails_after;

/* The n-th call fails, those before and after work. */
static vly_status coef_fails_once(vly_backend_net *net, uint32_t area,
                                  uint32_t coef, const vly_column *column,
                                  vly_error *error)
{
    if (fails_after-- == 0)
        return vly_fail(error, VLY_E_NOMEM, "no room for a coefficient");
    return real->coef_write(net, area, coef, column, error);
}

/* tau_m_ms makes three coefficients: whichever fails, all are taken back. */
static void change_taken_back(void **state)
{
    fixture f;
    (void)state;
    fixture_init(&f, genome_mixed);
    vly_net *twin = fixture_net(&f, "cpu:1");
    vly_net *net = fixture_net(&f, "cpu:1");
    wrap(net);
    wrapped.coef_write = coef_fails_once;
    for (uint64_t n = 0; n < 3; n++) {
        fails_after = n;
        assert_fails(vly_net_set(net, "area.X.tau_m_ms", 30, &f.error),
                     VLY_E_NOMEM, &f.error, "no room");
        fails_after = UINT64_MAX;
        fingerprint a = fixture_run(&f, net, 3);
        fingerprint b = fixture_run(&f, twin, 3);
        assert_same(&a, &b);
    }
    assert_ok(vly_net_set(net, "area.X.tau_m_ms", 30, &f.error), f.error);
    assert_ok(vly_net_set(twin, "area.X.tau_m_ms", 30, &f.error), f.error);
    fingerprint a = fixture_run(&f, net, 30);
    fingerprint b = fixture_run(&f, twin, 30);
    assert_same(&a, &b);
    vly_net_destroy(net);
    vly_net_destroy(twin);
    fixture_deinit(&f);
}

static vly_status coef_never_again(vly_backend_net *net, uint32_t area,
                                   uint32_t coef, const vly_column *column,
                                   vly_error *error)
{
    if (fails_after == 0)
        return vly_fail(error, VLY_E_NOMEM, "no room for a coefficient");
    fails_after--;
    return real->coef_write(net, area, coef, column, error);
}

/* If the change cannot be undone, the state of the net is undefined: it is
 * dead. */
static void change_not_taken_back(void **state)
{
    fixture f;
    (void)state;
    fixture_init(&f, genome_mixed);
    vly_net *net = fixture_net(&f, "cpu:1");
    wrap(net);
    wrapped.coef_write = coef_never_again;
    fails_after = 1;
    assert_fails(vly_net_set(net, "area.X.tau_m_ms", 30, &f.error), VLY_E_NOMEM,
                 &f.error, "no room");
    assert_fails(vly_net_run(net, 1, &f.error), VLY_E_NOMEM, &f.error,
                 "no room");
    vly_net_destroy(net);
    fixture_deinit(&f);
}

/* ---- device errors of other functions ---------------------------------- */

static vly_status read_lost(vly_backend_net *net, uint32_t area, uint32_t field,
                            uint32_t first, uint32_t count, uint32_t *words,
                            vly_error *error)
{
    (void)net;
    (void)area;
    (void)field;
    (void)first;
    (void)count;
    (void)words;
    return vly_fail(error, VLY_E_DEVICE, "fell off the bus");
}

static void any_device_error_is_sticky(void **state)
{
    fixture f;
    double value = 0;
    (void)state;
    fixture_init(&f, genome_mixed);
    vly_net *net = fixture_net(&f, "cpu:1");
    wrap(net);
    wrapped.field_read = read_lost;
    assert_fails(vly_net_read(net, "D", "v_mv", 0, 1, &value, &f.error),
                 VLY_E_DEVICE, &f.error, "fell off the bus");
    assert_fails(vly_net_run(net, 1, &f.error), VLY_E_DEVICE, &f.error,
                 "fell off the bus");
    vly_net_destroy(net);
    fixture_deinit(&f);
}

/* ---- all in one -------------------------------------------------------- */

static void open_and_close(void **state)
{
    char path[] = "/tmp/volley_open_XXXXXX";
    vly_error error = VLY_ERROR_INIT;
    vly_net *net = NULL;
    fixture f;
    (void)state;
    int file = mkstemp(path);
    assert_true(file >= 0);
    assert_int_equal(write(file, genome_three, strlen(genome_three)),
                     strlen(genome_three));
    close(file);
    fixture_init(&f, genome_three);
    vly_net *wanted = fixture_net(&f, "cpu:1");
    assert_ok(vly_net_open(path, "cpu:2", &net, &error), error);
    assert_ok(vly_net_run(net, 100, &error), error);
    fingerprint print = fixture_run(&f, wanted, 100);
    assert_true(vly_net_digest(net) == print.digest);
    vly_net_close(net);
    net = NULL;
    assert_int_equal(vly_net_open(path, "nothing", &net, &error),
                     VLY_E_UNSUPPORTED);
    unlink(path);
    assert_int_equal(vly_net_open(path, "cpu", &net, &error), VLY_E_IO);
    assert_null(net);
    vly_net_destroy(wanted);
    fixture_deinit(&f);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(fewer_bursts_than_asked),
    cmocka_unit_test(counts_that_do_not_fit),
    cmocka_unit_test(digest_by_the_host),
    cmocka_unit_test(change_taken_back),
    cmocka_unit_test(change_not_taken_back),
    cmocka_unit_test(any_device_error_is_sticky),
    cmocka_unit_test(open_and_close),
};

VLY_TEST_MAIN(tests)
