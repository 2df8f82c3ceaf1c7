/* SPDX-License-Identifier: Apache-2.0
 * test_engine_swap [OTHER]: one run that is moved between cpu:1 and another
 * backend (cpu:3) after every burst, at each single burst, and by way of files,
 * against one that never moves: spikes in flight, injection pending, dc that
 * starts and stops, parameters changed on the way.
 */
#include <stdlib.h>
#include <unistd.h>

#include "../unit/engine_fixture.h"
#include "device_test.h"

#define BURSTS 60u

static const char *other = "cpu:3";
static vly_registry *registry; /* to ask whether there is one */

/* Actions of a user between bursts. */
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
            assert_ok(vly_net_swap(net, there ? other : "cpu:1", 1, &f->error),
                      f->error);
        }
        assert_ok(vly_net_run(net, 1, &f->error), f->error);
    }
    fingerprint print = fixture_run(f, net, 0);
    vly_net_destroy(net);
    return print;
}

/* As live, but at each move the net ends and another one continues from a
 * file. */
static fingerprint live_in_files(fixture *f, uint64_t every)
{
    char path[] = "/tmp/volley_swap_XXXXXX";
    int file = mkstemp(path);
    vly_net *net = fixture_net(f, "cpu:1");
    assert_true(file >= 0);
    close(file);
    for (uint64_t t = 0; t < BURSTS; t++) {
        vly_state *state = NULL;
        act(f, net, t);
        if (t % every == every - 1) {
            assert_ok(vly_net_snapshot(net, &state, &f->error), f->error);
            assert_ok(vly_state_save(state, path, &f->error), f->error);
            vly_state_destroy(state);
            vly_net_destroy(net);
            assert_ok(vly_state_load(path, &state, &f->error), f->error);
            assert_ok(vly_net_resume(f->connectome, f->registry,
                                     t / every % 2 == 0 ? other : "cpu:1", 1,
                                     state, &net, &f->error),
                      f->error);
            vly_state_destroy(state);
        }
        assert_ok(vly_net_run(net, 1, &f->error), f->error);
    }
    fingerprint print = fixture_run(f, net, 0);
    vly_net_destroy(net);
    unlink(path);
    return print;
}

static void at_every_burst(void **state)
{
    fixture f;
    (void)state;
    device_require(registry, other);
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
    device_require(registry, other);
    fixture_init(&f, genome_mixed);
    fingerprint wanted = live(&f, 0);
    for (uint64_t t = 0; t < BURSTS; t++) {
        fingerprint print = live(&f, UINT64_C(1) << t);
        assert_same(&print, &wanted);
    }
    fixture_deinit(&f);
}

static void in_files(void **state)
{
    fixture f;
    (void)state;
    device_require(registry, other);
    fixture_init(&f, genome_mixed);
    fingerprint wanted = live(&f, 0);
    for (uint64_t every = 1; every < 8; every += 3) {
        fingerprint print = live_in_files(&f, every);
        assert_same(&print, &wanted);
    }
    fixture_deinit(&f);
}

static int group_setup(void **state)
{
    (void)state;
    return vly_registry_create(&registry, NULL) == VLY_OK ? 0 : 1;
}

static int group_teardown(void **state)
{
    (void)state;
    vly_registry_destroy(registry);
    return 0;
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(at_every_burst),
    cmocka_unit_test(at_each_single_burst),
    cmocka_unit_test(in_files),
};

int main(int argc, char **argv)
{
    if (argc > 1)
        other = argv[1];
    return cmocka_run_group_tests(tests, group_setup, group_teardown) ? 1 : 0;
}
