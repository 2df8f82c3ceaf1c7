/* SPDX-License-Identifier: Apache-2.0
 * A device that fails ends its net for ever, with the same sentence.
 */
#include "engine_fixture.h"

static const char *const message = "device lost, as asked for";

static void dead_for_ever(void **state)
{
    fixture f;
    char path[512];
    const uint32_t *ids = NULL;
    uint32_t n = 0;
    double value = 0;
    uint64_t digest = 0;
    vly_state *kept = NULL;
    vly_stats stats = {.struct_size = sizeof stats};
    (void)state;
    fixture_init(&f, genome_three);
    vly_error *e = &f.error;
    (void)snprintf(path, sizeof path, "%s/failing.so", VLY_TEST_PLUGINS);
    assert_ok(vly_registry_add(f.registry, path, e), f.error);
    vly_net *net = fixture_net(&f, "failing,at=20");
    assert_ok(vly_net_run(net, 15, e), f.error);
    vly_state *before = NULL;
    assert_ok(vly_net_snapshot(net, &before, e), f.error);
    uint64_t burst = vly_net_burst(net);
    for (int twice = 0; twice < 2; twice++)
        assert_fails(vly_net_run(net, 15, e), VLY_E_DEVICE, e, message);
    assert_int_equal(vly_net_burst(net), burst);
    assert_fails(vly_net_run(net, 0, e), VLY_E_DEVICE, e, message);
    assert_fails(vly_net_fired(net, &ids, &n, e), VLY_E_DEVICE, e, message);
    assert_fails(vly_net_read(net, "A", "v_mv", 0, 1, &value, e), VLY_E_DEVICE,
                 e, message);
    assert_fails(vly_net_write(net, "A", "v_mv", 0, 1, &value, e), VLY_E_DEVICE,
                 e, message);
    assert_fails(vly_net_set(net, "area.A.tau_m_ms", 5, e), VLY_E_DEVICE, e,
                 message);
    assert_fails(vly_net_set_each(net, "A", "tau_m_ms", &value, 1, e),
                 VLY_E_DEVICE, e, message);
    assert_fails(vly_net_inject(net, 90, "A", 0, 0, 1, e), VLY_E_DEVICE, e,
                 message);
    assert_fails(vly_net_snapshot(net, &kept, e), VLY_E_DEVICE, e, message);
    assert_fails(vly_net_restore(net, before, e), VLY_E_DEVICE, e, message);
    assert_fails(vly_net_swap(net, "cpu:1", 1, e), VLY_E_DEVICE, e, message);
    assert_fails(vly_net_state_digest(net, &digest, e), VLY_E_DEVICE, e,
                 message);
    assert_int_equal(vly_net_run(net, 1, NULL), VLY_E_DEVICE);
    /* what it had done is still told */
    assert_ok(vly_net_stats(net, &stats, e), f.error);
    assert_int_equal(stats.bursts, 15);
    assert_null(kept);
    vly_net_destroy(net);
    /* the last snapshot goes on elsewhere: fail-over */
    net = fixture_net(&f, "cpu:1");
    assert_ok(vly_net_restore(net, before, e), f.error);
    fingerprint print = fixture_run(&f, net, 85);
    vly_net *whole = fixture_net(&f, "cpu:1");
    fingerprint wanted = fixture_run(&f, whole, 100);
    assert_same(&print, &wanted);
    vly_net_destroy(whole);
    vly_net_destroy(net);
    vly_state_destroy(before);
    fixture_deinit(&f);
}

/* A backend that is not the CPU's takes part in a swap like any other. */
static void swap_to_another_plugin(void **state)
{
    fixture f;
    char path[512];
    (void)state;
    fixture_init(&f, genome_three);
    (void)snprintf(path, sizeof path, "%s/failing.so", VLY_TEST_PLUGINS);
    assert_ok(vly_registry_add(f.registry, path, &f.error), f.error);
    vly_net *net = fixture_net(&f, "cpu:1");
    vly_net *whole = fixture_net(&f, "cpu:1");
    assert_ok(vly_net_set(net, "area.B.tau_m_ms", 30, &f.error), f.error);
    assert_ok(vly_net_set(whole, "area.B.tau_m_ms", 30, &f.error), f.error);
    for (uint64_t t = 0; t < 80; t++) {
        assert_ok(vly_net_swap(net, t % 2 ? "cpu:1" : "failing", 1, &f.error),
                  f.error);
        assert_ok(vly_net_run(net, 1, &f.error), f.error);
    }
    fingerprint print = fixture_run(&f, net, 0);
    fingerprint wanted = fixture_run(&f, whole, 80);
    assert_same(&print, &wanted);
    vly_net_destroy(net);
    vly_net_destroy(whole);
    fixture_deinit(&f);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(dead_for_ever),
    cmocka_unit_test(swap_to_another_plugin),
};

VLY_TEST_MAIN(tests)
