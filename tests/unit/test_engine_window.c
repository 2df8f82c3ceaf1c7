/* SPDX-License-Identifier: Apache-2.0
 * A net that learns by FEAGI's rule, from the engine: the weights of every
 * burst beside a count by hand, threads, changes while it runs, states, and
 * states that no run can have made.
 */
#include "engine_fixture.h"

#include "connectome/learning_layout.h"

#include <stdlib.h>
#include <unistd.h>

/* Noise makes A fire irregularly and B nearly always; B drives itself. */
static const char *const genome_window =
    "format = 1\n[run]\ndt_ms = 1\nbursts = 400\n"
    "[area.A]\nmodel = \"feagi\"\nneurons = 70\nfiring_threshold = 2\n"
    "[area.B]\nmodel = \"feagi\"\nneurons = 66\nfiring_threshold = 3\n"
    "leak_coefficient = 0.5\n"
    "[plasticity.p]\nrule = \"feagi_stdp\"\nw_max = 60\n"
    "plasticity_window = 3\nplasticity_constant = 2\nltp_multiplier = 4\n"
    "ltd_multiplier = 1\n"
    "[plasticity.q]\nrule = \"feagi_stdp\"\nw_max = -9\nltd_multiplier = 2\n"
    "[[map]]\nid = \"ab\"\nfrom = \"A\"\nto = \"B\"\n"
    "rule = \"fixed_in_degree\"\nin_degree = 5\nweight = 12\n"
    "delay_bursts = 2\nplasticity = \"p\"\n"
    "[[map]]\nid = \"bb\"\nfrom = \"B\"\nto = \"B\"\n"
    "rule = \"fixed_in_degree\"\nin_degree = 3\nweight = -2\n"
    "plasticity = \"q\"\n"
    "[[stimulus]]\nkind = \"poisson\"\nto = \"*\"\nrate_hz = 900\n"
    "weight = 2\n";

enum { WINDOW = 3, UP = 8, DOWN = 2, W_MAX = 60, BURSTS = 150, MOST = 136 };

typedef struct fired_log {
    bool fired[BURSTS][MOST];
} fired_log;

static vly_status log_fired(void *arg, uint64_t burst, const uint32_t *ids,
                            uint32_t n_ids, uint64_t digest)
{
    fired_log *log = arg;
    (void)digest;
    for (uint32_t i = 0; i < n_ids; i++)
        log->fired[burst][ids[i]] = true;
    return VLY_OK;
}

/* Bursts of the last WINDOW ones up to `burst` in which the neuron fired. */
static int counted(const fired_log *log, uint64_t burst, uint32_t id)
{
    int n = 0;
    for (uint64_t k = 0; k < WINDOW; k++)
        n += log->fired[burst - k][id];
    return n;
}

/* The weights of map ab after every burst, from the spikes alone. */
static void by_hand(void **state)
{
    static fired_log log;
    static double w[512], now[512];
    static uint32_t source[512], target[512];
    fixture f;
    vly_net_projection_info info = {.struct_size = sizeof info};
    uint32_t n_up = 0, n_down = 0, n_same = 0;
    (void)state;
    fixture_init(&f, genome_window);
    vly_net *net = fixture_net(&f, "cpu:2");
    memset(&log, 0, sizeof log);
    vly_net_on_spikes(net, log_fired, &log);
    assert_ok(vly_net_projection(net, "ab", 0, &info, &f.error), f.error);
    assert_int_equal(info.n_synapses, 5 * 66);
    for (uint32_t i = 0; i < info.n_synapses; i++)
        w[i] = 12;
    for (uint64_t burst = 0; burst < BURSTS; burst++) {
        fixture_run(&f, net, 1);
        assert_ok(vly_net_weights_read(net, "ab", 0, 0, info.n_synapses, now,
                                       source, target, &f.error),
                  f.error);
        for (uint32_t i = 0; i < info.n_synapses; i++) {
            int a = burst < WINDOW - 1 ? 0 : counted(&log, burst, source[i]);
            int b =
                burst < WINDOW - 1 ? 0 : counted(&log, burst, 70 + target[i]);
            double step = a + b == 0 ? 0 : a + b == 2 * WINDOW ? UP : -DOWN;
            n_up += step > 0;
            n_down += step < 0;
            n_same += step == 0 && burst >= WINDOW - 1;
            w[i] += step;
            w[i] = w[i] < 0 ? 0 : w[i] > W_MAX ? W_MAX : w[i];
            if (now[i] != w[i])
                fail_msg("burst %d, synapse %d: weight %g, wanted %g",
                         (int)burst, (int)i, now[i], w[i]);
        }
    }
    printf("%u up, %u down, %u the same\n", n_up, n_down, n_same);
    assert_true(n_up > 100 && n_down > 1000 && n_same > 100);
    vly_net_destroy(net);
    fixture_deinit(&f);
}

static void change(fixture *f, vly_net *net)
{
    static const double w[4] = {60, 0, 31, 7};
    assert_ok(vly_net_weights_write(net, "ab", 0, 3, 4, w, &f->error),
              f->error);
    assert_ok(vly_net_set(net, "plasticity.p.ltp_multiplier", 1, &f->error),
              f->error);
    assert_ok(vly_net_set(net, "plasticity.q.frozen", 1, &f->error), f->error);
}

static fingerprint expected(fixture *f)
{
    vly_net *net = fixture_net(f, "cpu:1");
    fixture_run(f, net, 101);
    change(f, net);
    fingerprint all = fixture_run(f, net, 149);
    vly_net_destroy(net);
    return all;
}

static void kept_by_state(void **state)
{
    fixture f;
    vly_state *kept = NULL;
    vly_state *loaded = NULL;
    vly_net *resumed = NULL;
    char path[] = "/tmp/volley_window_XXXXXX";
    (void)state;
    fixture_init(&f, genome_window);
    fingerprint wanted = expected(&f);
    int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    vly_net *net = fixture_net(&f, "cpu:3");
    fixture_run(&f, net, 101);
    change(&f, net);
    fixture_run(&f, net, 50);
    assert_ok(vly_net_snapshot(net, &kept, &f.error), f.error);
    assert_ok(vly_net_swap(net, "cpu:2", 0, &f.error), f.error);
    fingerprint swapped = fixture_run(&f, net, 99);
    assert_same(&swapped, &wanted);
    assert_ok(vly_net_restore(net, kept, &f.error), f.error);
    fingerprint restored = fixture_run(&f, net, 99);
    assert_same(&restored, &wanted);
    assert_ok(vly_state_save(kept, path, &f.error), f.error);
    assert_ok(vly_state_load(path, &loaded, &f.error), f.error);
    assert_ok(vly_net_resume(f.connectome, f.registry, "cpu:4", 0, loaded,
                             &resumed, &f.error),
              f.error);
    fingerprint again = fixture_run(&f, resumed, 99);
    assert_same(&again, &wanted);
    unlink(path);
    vly_state_destroy(kept);
    vly_state_destroy(loaded);
    vly_net_destroy(net);
    vly_net_destroy(resumed);
    fixture_deinit(&f);
}

static void kept_by_failover(void **state)
{
    fixture f;
    (void)state;
    fixture_init(&f, genome_window);
    vly_net *net = fixture_net(&f, "cpu:1");
    fixture_run(&f, net, 101);
    assert_ok(vly_net_failover(net, "cpu:2", 0, 1000000, NULL, NULL, &f.error),
              f.error);
    change(&f, net);
    fixture_run(&f, net, 50);
    net->dead.status = VLY_E_DEVICE; /* as if the device had failed */
    vly_status status = VLY_E_DEVICE;
    assert_true(vly_failover_again(net, &status, &f.error));
    assert_int_equal(vly_net_burst(net), 151);
    fingerprint all = fixture_run(&f, net, 99);
    fingerprint wanted = expected(&f);
    assert_same(&all, &wanted);
    vly_net_destroy(net);
    fixture_deinit(&f);
}

/* Runs that are no whole numbers, longer than the window, or too old. */
static void damaged(void **state)
{
    static const struct {
        float run;
        uint32_t age;
        bool good;
    } words[] = {
        {1.0f, 1, true},  {3.0f, 2, true},   {1.5f, 1, false},
        {4.0f, 1, false}, {0.0f, 1, false},  {1.0f, 0, false},
        {1.0f, 3, false}, {-1.0f, 1, false}, {0.0f, VLY_NEVER, true},
    };
    fixture f;
    vly_state *kept = NULL;
    vly_learning_layout layout;
    (void)state;
    fixture_init(&f, genome_window);
    vly_net *net = fixture_net(&f, "cpu:1");
    fixture_run(&f, net, 20);
    assert_ok(vly_net_snapshot(net, &kept, &f.error), f.error);
    assert_ok(vly_state_fits(kept, f.connectome, &f.error), f.error);
    vly_learning_layout_of(&f.connectome->desc, 0, &layout);
    assert_int_equal(layout.n_words, 5 * 66 + 2 * (70 + 66));
    uint32_t *all = kept->snapshot.weights;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        for (int side = 0; side < 2; side++) {
            uint32_t *run = all + (side ? layout.y[0] : layout.x[0]) + 2;
            uint32_t *age =
                all + (side ? layout.y_age[0] : layout.x_age[0]) + 2;
            const uint32_t was[2] = {*run, *age};
            *run = vly_float_bits(words[i].run);
            *age = words[i].age;
            vly_status status = vly_state_fits(kept, f.connectome, &f.error);
            if (words[i].good)
                assert_ok(status, f.error);
            else
                assert_fails(status, VLY_E_INVALID, &f.error,
                             "a weight or a trace of map ab");
            *run = was[0];
            *age = was[1];
        }
    vly_state_destroy(kept);
    vly_net_destroy(net);
    fixture_deinit(&f);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(by_hand),
    cmocka_unit_test(kept_by_state),
    cmocka_unit_test(kept_by_failover),
    cmocka_unit_test(damaged),
};

VLY_TEST_MAIN(tests)
