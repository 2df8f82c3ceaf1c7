/* SPDX-License-Identifier: Apache-2.0
 * One run that is moved between cpu:1 and cpu:3 after every burst, and at each
 * single burst, against one that never moves: spikes in flight, injection
 * pending, dc that starts and stops, parameters changed on the way.
 */
#include "../unit/engine_fixture.h"

#define BURSTS 60u

/* What a user does between bursts. */
static void act(fixture *f, vly_net *net, uint64_t burst)
{
    if (burst % 5 == 0)
        assert_ok(vly_net_inject(net, burst + 7, "F", (uint32_t)burst % 12, 0,
                                 30, &f->error),
                  f->error);
    if (burst % 7 == 0)
        assert_ok(vly_net_inject(net, burst, "D", (uint32_t)burst % 30, 0, 25,
                                 &f->error),
                  f->error);
    if (burst == 12)
        assert_ok(vly_net_set(net, "area.D.tau_m_ms", 8, &f->error), f->error);
    if (burst == 15)
        assert_ok(vly_net_set(net, "stimulus.part.amplitude", 650, &f->error),
                  f->error);
    if (burst == 21)
        assert_ok(vly_net_set(net, "area.F.postsynaptic_current", 2, &f->error),
                  f->error);
    if (burst == 33)
        assert_ok(vly_net_set(net, "stimulus.noise.rate_hz", 2600, &f->error),
                  f->error);
    if (burst == 38)
        assert_ok(vly_net_set(net, "stimulus.beat.weight", 6, &f->error),
                  f->error);
}

/* moves: bit t set: the net moves before burst t */
static fingerprint live(fixture *f, uint64_t moves)
{
    vly_net *net = fixture_net(f, "cpu:1");
    bool there = false;
    for (uint64_t t = 0; t < BURSTS; t++) {
        act(f, net, t);
        if (moves >> t & 1u) {
            there = !there;
            assert_ok(
                vly_net_swap(net, there ? "cpu:3" : "cpu:1", 1, &f->error),
                f->error);
        }
        assert_ok(vly_net_run(net, 1, &f->error), f->error);
    }
    fingerprint print = fixture_run(f, net, 0);
    vly_net_destroy(net);
    return print;
}

static void at_every_burst(void **state)
{
    fixture f;
    (void)state;
    fixture_init(&f, genome_mixed);
    fingerprint wanted = live(&f, 0);
    assert_true(wanted.spikes > 50);
    fingerprint print = live(&f, UINT64_MAX);
    assert_same(&print, &wanted);
    fixture_deinit(&f);
}

static void at_each_single_burst(void **state)
{
    fixture f;
    (void)state;
    fixture_init(&f, genome_mixed);
    fingerprint wanted = live(&f, 0);
    for (uint64_t t = 0; t < BURSTS; t++) {
        fingerprint print = live(&f, UINT64_C(1) << t);
        assert_same(&print, &wanted);
    }
    fixture_deinit(&f);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(at_every_burst),
    cmocka_unit_test(at_each_single_burst),
};

VLY_TEST_MAIN(tests)
