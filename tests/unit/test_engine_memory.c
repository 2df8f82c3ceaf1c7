/* SPDX-License-Identifier: Apache-2.0
 * The n-th allocation fails: a net that stood goes on as if nothing had been
 * asked of it (a run may have done some of its bursts), and no block is lost.
 */
#include "engine_fixture.h"

#include "connectome/connectome_digest.h"

/* A failure for want of memory says so, and how much was wanted. */
static void assert_says_so(vly_status status, const vly_error *error)
{
    assert_int_equal(status, VLY_E_NOMEM);
    assert_int_equal(error->status, VLY_E_NOMEM);
    if (!strstr(error->message, "out of memory") || error->bytes_requested == 0)
        fail_msg("%s (%llu bytes)", error->message,
                 (unsigned long long)error->bytes_requested);
}

typedef vly_status (*step_fn)(fixture *f, vly_net *net, vly_error *error);

static vly_status do_run(fixture *f, vly_net *net, vly_error *error)
{
    (void)f;
    /* to the next multiple: what was done before a failure stays done */
    return vly_net_run(net, 12 - vly_net_burst(net) % 12, error);
}

static vly_status do_inject(fixture *f, vly_net *net, vly_error *error)
{
    (void)f;
    return vly_net_inject(net, 30, "F", 1, 0, 20, error);
}

static vly_status do_set(fixture *f, vly_net *net, vly_error *error)
{
    (void)f;
    return vly_net_set(net, "area.F.postsynaptic_current", 2, error);
}

static vly_status do_stimulus(fixture *f, vly_net *net, vly_error *error)
{
    (void)f;
    return vly_net_set(net, "stimulus.noise.rate_hz", 1800, error);
}

static vly_status do_dc(fixture *f, vly_net *net, vly_error *error)
{
    (void)f;
    return vly_net_set(net, "stimulus.part.amplitude", 400, error);
}

static vly_status do_fired(fixture *f, vly_net *net, vly_error *error)
{
    const uint32_t *ids = NULL;
    uint32_t n = 0;
    (void)f;
    return vly_net_fired(net, &ids, &n, error);
}

static vly_status do_write(fixture *f, vly_net *net, vly_error *error)
{
    double value = -55;
    (void)f;
    return vly_net_write(net, "X", "v_mv", 2, 1, &value, error);
}

static vly_status do_swap(fixture *f, vly_net *net, vly_error *error)
{
    (void)f;
    return vly_net_swap(net, "cpu:2", 1, error);
}

static vly_status do_restore(fixture *f, vly_net *net, vly_error *error)
{
    vly_state *kept = NULL;
    (void)f;
    vly_status status = vly_net_snapshot(net, &kept, error);
    if (status == VLY_OK)
        status = vly_net_restore(net, kept, error);
    vly_state_destroy(kept);
    return status;
}

static vly_status do_snapshot(fixture *f, vly_net *net, vly_error *error)
{
    vly_state *kept = NULL;
    (void)f;
    vly_status status = vly_net_snapshot(net, &kept, error);
    if (status != VLY_OK)
        assert_null(kept);
    vly_state_destroy(kept);
    return status;
}

/* all or nothing: the net that goes on beside shows it */
static vly_status do_inject_many(fixture *f, vly_net *net, vly_error *error)
{
    static const uint32_t indices[] = {7, 3, 3, 0};
    static const double values[] = {2, 1, 1, 5};
    (void)f;
    return vly_net_inject_many(net, vly_net_burst(net) + 1, "F", 0, indices,
                               values, 4, error);
}

static vly_status do_set_each(fixture *f, vly_net *net, vly_error *error)
{
    double values[30];
    (void)f;
    for (int i = 0; i < 30; i++)
        values[i] = 8 + i % 3;
    return vly_net_set_each(net, "D", "tau_m_ms", values, 30, error);
}

static vly_status do_read(fixture *f, vly_net *net, vly_error *error)
{
    double values[25];
    uint64_t digest = 0;
    (void)f;
    vly_status status = vly_net_read(net, "X", "v_mv", 0, 25, values, error);
    return status == VLY_OK ? vly_net_state_digest(net, &digest, error)
                            : status;
}

/* recorded: ids and gains cross to the host */
static vly_status do_record(fixture *f, vly_net *net, vly_error *error)
{
    static spike_log log;
    log = (spike_log){.fail_at = UINT64_MAX};
    vly_net_on_spikes(net, spike_log_add, &log);
    vly_net_count_areas(net, 1);
    vly_status status = do_run(f, net, error);
    vly_net_on_spikes(net, NULL, NULL);
    vly_net_count_areas(net, 0);
    return status;
}

/* Tries a step with every allocation failing in turn until it succeeds; the
 * net must be as it was after each failure. */
static void until_it_works(fixture *f, vly_net *net, vly_net *twin,
                           step_fn step)
{
    for (uint64_t n = 1;; n++) {
        uint64_t burst = vly_net_burst(net);
        vly_memory_fail_at(n);
        vly_status status = step(f, net, &f->error);
        bool came = vly_memory_fail_at(0) == 0;
        if (status == VLY_OK) {
            assert_false(came);
            break;
        }
        assert_says_so(status, &f->error);
        if (step != do_run)
            assert_int_equal(vly_net_burst(net), burst);
        assert_true(n < 500);
    }
    assert_ok(step(f, twin, &f->error), f->error);
    fingerprint a = fixture_run(f, net, 1);
    fingerprint b = fixture_run(f, twin, 1);
    assert_same(&a, &b);
}

static void steps_on(const char *backend)
{
    static const step_fn steps[] = {
        do_inject, do_run,      do_set,      do_stimulus, do_dc,
        do_fired,  do_write,    do_snapshot, do_record,   do_inject_many,
        do_read,   do_set_each, do_swap,     do_restore,  do_run};
    fixture f;
    fixture_init(&f, genome_mixed);
    /* kept once made; where no thread can be had it is made by fewer, and the
     * snapshot that asks for it does not fail */
    vly_connectome_digest(f.connectome, 0);
    uint64_t live = vly_memory_live();
    vly_net *net = fixture_net(&f, backend);
    vly_net *twin = fixture_net(&f, backend);
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++)
        until_it_works(&f, net, twin, steps[i]);
    vly_net_destroy(net);
    vly_net_destroy(twin);
    assert_int_equal(vly_memory_live(), live);
    fixture_deinit(&f);
}

static void a_standing_net(void **state)
{
    (void)state;
    steps_on("cpu:1");
    steps_on("cpu:3");
}

/* Until an allocation that fails is not reached. A registry loads a plugin when
 * it is first asked for, and auto asks for another one where the memory was
 * short for a device: what is left is counted when the registry is gone. */
static uint64_t creation_on(const char *backend)
{
    fixture f;
    uint64_t left = 0;
    fixture_init(&f, genome_mixed);
    for (uint64_t n = 1; left == 0; n++) {
        vly_net *net = NULL;
        vly_memory_fail_at(n);
        vly_status status = vly_net_create(f.connectome, f.registry, backend, 1,
                                           &net, &f.error);
        left = vly_memory_fail_at(0);
        if (status != VLY_OK) {
            assert_says_so(status, &f.error);
            assert_null(net);
        }
        vly_net_destroy(net);
    }
    fixture_deinit(&f);
    return vly_memory_live();
}

static void creation(void **state)
{
    (void)state;
    static const char *const backends[] = {"cpu:1", "cpu:3", "auto"};
    for (size_t i = 0; i < sizeof backends / sizeof backends[0]; i++) {
        /* threads are kept, and what plugins have once a process */
        const uint64_t live = creation_on(backends[i]);
        assert_int_equal(creation_on(backends[i]), live);
    }
}

/* Genome, connectome, plugins and net in one call. */
static void all_in_one(void **state)
{
    (void)state;
    static const char path[] = VLY_TEST_SOURCE_DIR "/genomes/three.toml";
    vly_error error = VLY_ERROR_INIT;
    vly_net *net = NULL;
    assert_ok(vly_net_open(path, "cpu:1", &net, &error), error);
    vly_net_close(net);
    uint64_t live = vly_memory_live();
    uint64_t n_failed = 0;
    uint64_t left = 0;
    for (uint64_t n = 1; left == 0; n++) {
        net = NULL;
        vly_memory_fail_at(n);
        vly_status status = vly_net_open(path, "cpu:1", &net, &error);
        left = vly_memory_fail_at(0);
        if (status != VLY_OK) {
            assert_says_so(status, &error);
            assert_null(net);
            n_failed++;
        }
        vly_net_close(net);
        assert_int_equal(vly_memory_live(), live);
    }
    assert_true(n_failed > 100);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_standing_net),
    cmocka_unit_test(creation),
    cmocka_unit_test(all_in_one),
};

VLY_TEST_MAIN(tests)
