/* SPDX-License-Identifier: Apache-2.0
 * Snapshot, restore, swap: what is put back goes on as if nothing had been,
 * with spikes in flight, injection pending and parameters changed.
 */
#include "engine_fixture.h"

/* Everything at once: injection for later bursts, changed parameters. */
static void disturb(fixture *f, vly_net *net)
{
    double values[30];
    for (int i = 0; i < 30; i++)
        values[i] = 5 + i % 7;
    uint64_t burst = vly_net_burst(net);
    assert_ok(vly_net_inject(net, burst + 3, "F", 2, 0, 50, &f->error),
              f->error);
    assert_ok(vly_net_inject(net, burst + 20, "D", 7, 0, 30, &f->error),
              f->error);
    assert_ok(vly_net_set_each(net, "D", "tau_m_ms", values, 30, &f->error),
              f->error);
    assert_ok(vly_net_set(net, "stimulus.noise.rate_hz", 2500, &f->error),
              f->error);
    assert_ok(vly_net_set(net, "stimulus.beat.weight", 7, &f->error), f->error);
    assert_ok(vly_net_set(net, "stimulus.drive.amplitude", 15, &f->error),
              f->error);
}

static void goes_on_as_before(void **state)
{
    fixture f;
    (void)state;
    fixture_init(&f, genome_mixed);
    for (uint64_t at = 0; at < 40; at += 3) {
        vly_state *kept = NULL;
        vly_net *net = fixture_net(&f, "cpu:1");
        assert_ok(vly_net_run(net, at, &f.error), f.error);
        disturb(&f, net);
        assert_ok(vly_net_snapshot(net, &kept, &f.error), f.error);
        fingerprint wanted = fixture_run(&f, net, 60 - at);
        /* another life, forgotten */
        assert_ok(vly_net_set(net, "area.F.firing_threshold", 1, &f.error),
                  f.error);
        assert_ok(vly_net_set(net, "stimulus.hum.mean", 90, &f.error), f.error);
        assert_ok(vly_net_inject(net, 70, "X", 0, 0, 1000, &f.error), f.error);
        assert_ok(vly_net_run(net, 30, &f.error), f.error);
        assert_ok(vly_net_restore(net, kept, &f.error), f.error);
        assert_int_equal(vly_net_burst(net), at);
        fingerprint print = fixture_run(&f, net, 60 - at);
        assert_same(&print, &wanted);
        vly_net_destroy(net);
        /* and into a fresh net with other threads, twice from one state */
        net = fixture_net(&f, "cpu:3");
        for (int twice = 0; twice < 2; twice++) {
            assert_ok(vly_net_restore(net, kept, &f.error), f.error);
            print = fixture_run(&f, net, 60 - at);
            assert_same(&print, &wanted);
        }
        vly_net_destroy(net);
        vly_state_destroy(kept);
    }
    fixture_deinit(&f);
}

static void digest_of_the_state(void **state)
{
    fixture f;
    vly_state *kept = NULL;
    uint64_t digest = 0;
    (void)state;
    fixture_init(&f, genome_mixed);
    vly_net *net = fixture_net(&f, "cpu:2");
    for (int i = 0; i < 5; i++) {
        assert_ok(vly_net_run(net, 7, &f.error), f.error);
        assert_ok(vly_net_state_digest(net, &digest, &f.error), f.error);
        assert_ok(vly_net_snapshot(net, &kept, &f.error), f.error);
        assert_true(digest ==
                    vly_snapshot_digest(f.connectome, &kept->snapshot));
        vly_state_destroy(kept);
    }
    vly_net_destroy(net);
    fixture_deinit(&f);
}

static void of_another_connectome(void **state)
{
    fixture f;
    fixture g;
    fixture same;
    vly_state *kept = NULL;
    (void)state;
    fixture_init(&f, genome_mixed);
    fixture_init(&same, genome_mixed);
    fixture_init_with(&g, genome_mixed, "area.X.tau_m_ms", "20");
    vly_net *net = fixture_net(&f, "cpu:1");
    vly_net *other = fixture_net(&g, "cpu:1");
    vly_net *twin = fixture_net(&same, "cpu:1");
    assert_ok(vly_net_run(net, 9, &f.error), f.error);
    assert_ok(vly_net_snapshot(net, &kept, &f.error), f.error);
    fingerprint wanted = fixture_run(&f, net, 9);
    /* the net and its connectome may go before the state */
    vly_net_destroy(net);
    fixture_deinit(&f);
    assert_fails(vly_net_restore(other, kept, &g.error), VLY_E_INVALID,
                 &g.error, "connectome");
    assert_int_equal(vly_net_burst(other), 0);
    assert_ok(vly_net_restore(twin, kept, &same.error), same.error);
    fingerprint print = fixture_run(&same, twin, 9);
    assert_same(&print, &wanted);
    vly_state_destroy(kept);
    vly_state_destroy(NULL);
    vly_net_destroy(other);
    vly_net_destroy(twin);
    fixture_deinit(&g);
    fixture_deinit(&same);
}

static void swap_refused_goes_on(void **state)
{
    fixture f;
    vly_stats stats = {.struct_size = sizeof stats};
    (void)state;
    fixture_init(&f, genome_mixed);
    vly_net *net = fixture_net(&f, "cpu:1");
    vly_net *other = fixture_net(&f, "cpu:1");
    assert_ok(vly_net_run(net, 10, &f.error), f.error);
    disturb(&f, net);
    assert_ok(vly_net_run(other, 10, &f.error), f.error);
    disturb(&f, other);
    assert_fails(vly_net_swap(net, "nothing", 0, &f.error), VLY_E_UNSUPPORTED,
                 &f.error, "nothing");
    assert_int_equal(vly_net_swap(net, "cpu:0x", 0, NULL), VLY_E_INVALID);
    fingerprint print = fixture_run(&f, net, 30);
    fingerprint wanted = fixture_run(&f, other, 30);
    assert_same(&print, &wanted);
    assert_ok(vly_net_swap(net, "cpu:2", 0, &f.error), f.error);
    assert_ok(vly_net_stats(net, &stats, &f.error), f.error);
    assert_string_equal(stats.backend, "cpu:2");
    assert_int_equal(stats.bursts, 40);
    assert_int_equal(stats.spikes, wanted.spikes);
    vly_net_destroy(net);
    vly_net_destroy(other);
    fixture_deinit(&f);
}

/* The list that was kept is of the burst that is forgotten, even where both
 * lives have done as many bursts. */
static void fired_of_the_state(void **state)
{
    fixture f;
    const uint32_t *ids = NULL;
    uint32_t n = 0;
    vly_state *kept = NULL;
    (void)state;
    fixture_init(&f, genome_three);
    vly_net *net = fixture_net(&f, "cpu:1");
    vly_net *other = fixture_net(&f, "cpu:1");
    assert_ok(vly_net_run(net, 11, &f.error), f.error); /* A fired in 10 */
    assert_ok(vly_net_snapshot(net, &kept, &f.error), f.error);
    assert_ok(vly_net_set(other, "stimulus.kick.weight_mv", 1, &f.error),
              f.error);
    assert_ok(vly_net_run(other, 11, &f.error), f.error);
    assert_ok(vly_net_fired(other, &ids, &n, &f.error), f.error);
    assert_int_equal(n, 0);
    assert_ok(vly_net_restore(other, kept, &f.error), f.error);
    assert_ok(vly_net_fired(other, &ids, &n, &f.error), f.error);
    assert_int_equal(n, 1);
    assert_int_equal(ids[0], 0);
    vly_net_destroy(net);
    vly_net_destroy(other);
    vly_state_destroy(kept);
    fixture_deinit(&f);
}

/* Three neurons that are updated in every burst; restored with the state. */
static void candidates_counted(void **state)
{
    fixture f;
    vly_stats stats = {.struct_size = sizeof stats};
    vly_state *kept = NULL;
    (void)state;
    fixture_init(&f, genome_three);
    vly_net *net = fixture_net(&f, "cpu:2");
    assert_ok(vly_net_run(net, 7, &f.error), f.error);
    assert_ok(vly_net_snapshot(net, &kept, &f.error), f.error);
    assert_ok(vly_net_run(net, 13, &f.error), f.error);
    assert_ok(vly_net_stats(net, &stats, &f.error), f.error);
    assert_int_equal(stats.candidates, 20 * 3);
    assert_ok(vly_net_restore(net, kept, &f.error), f.error);
    assert_ok(vly_net_stats(net, &stats, &f.error), f.error);
    assert_int_equal(stats.candidates, 7 * 3);
    vly_net_destroy(net);
    vly_state_destroy(kept);
    fixture_deinit(&f);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(fired_of_the_state),
    cmocka_unit_test(candidates_counted),
    cmocka_unit_test(goes_on_as_before),
    cmocka_unit_test(digest_of_the_state),
    cmocka_unit_test(of_another_connectome),
    cmocka_unit_test(swap_refused_goes_on),
};

VLY_TEST_MAIN(tests)
