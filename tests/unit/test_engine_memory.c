/* SPDX-License-Identifier: Apache-2.0
 * The n-th allocation fails: a net that stood goes on as if nothing had been
 * asked of it (a run may have done some of its bursts), and no block is lost.
 */
#include "engine_fixture.h"

#include "engine/validate.h"

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

/* Tries a step with every allocation failing in turn until it succeeds; the
 * net must be as it was after each failure. */
static void until_it_works(fixture *f, vly_net *net, vly_net *twin,
                           step_fn step)
{
    for (uint64_t n = 1;; n++) {
        uint64_t burst = vly_net_burst(net);
        vly_memory_fail_at(n);
        vly_status status = step(f, net, &f->error);
        vly_memory_fail_at(0);
        if (status == VLY_OK)
            break;
        assert_int_equal(status, VLY_E_NOMEM);
        assert_int_equal(f->error.status, VLY_E_NOMEM);
        if (step != do_run)
            assert_int_equal(vly_net_burst(net), burst);
        assert_true(n < 500);
    }
    assert_ok(step(f, twin, &f->error), f->error);
    fingerprint a = fixture_run(f, net, 1);
    fingerprint b = fixture_run(f, twin, 1);
    assert_same(&a, &b);
}

static void a_standing_net(void **state)
{
    static const step_fn steps[] = {do_inject,  do_run,   do_set,   do_stimulus,
                                    do_dc,      do_fired, do_write, do_swap,
                                    do_restore, do_run};
    fixture f;
    (void)state;
    fixture_init(&f, genome_mixed);
    uint64_t live = vly_memory_live();
    vly_net *net = fixture_net(&f, "cpu:1");
    vly_net *twin = fixture_net(&f, "cpu:1");
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++)
        until_it_works(&f, net, twin, steps[i]);
    vly_net_destroy(net);
    vly_net_destroy(twin);
    assert_int_equal(vly_memory_live(), live);
    fixture_deinit(&f);
}

static void creation(void **state)
{
    fixture f;
    vly_net *net = NULL;
    (void)state;
    fixture_init(&f, genome_mixed);
    uint64_t live = vly_memory_live();
    for (uint64_t n = 1; !net; n++) {
        vly_memory_fail_at(n);
        vly_status status = vly_net_create(f.connectome, f.registry, "cpu:1", 1,
                                           &net, &f.error);
        vly_memory_fail_at(0);
        if (status == VLY_OK)
            break;
        assert_int_equal(status, VLY_E_NOMEM);
        assert_null(net);
        assert_int_equal(vly_memory_live(), live);
    }
    vly_net_destroy(net);
    assert_int_equal(vly_memory_live(), live);
    fixture_deinit(&f);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_standing_net),
    cmocka_unit_test(creation),
};

VLY_TEST_MAIN(tests)
