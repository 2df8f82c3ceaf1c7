/* SPDX-License-Identifier: Apache-2.0
 * test_learning_swap [OTHER]: a net that learns by every rule, with delays of
 * both kinds, on cpu:1 and on another backend (cpu:3): moved after every so
 * many bursts, by way of files, or on the other one all the time, with rules
 * changed and frozen and weights written on the way. Spikes, state, weights and
 * traces are those of the net that never moves.
 */
#include <stdlib.h>
#include <unistd.h>

#include "../unit/engine_fixture.h"
#include "device_test.h"

#define BURSTS 420u
#define WEIGHTS_MOST 1200u
#define WRITTEN 10u /* weights of a map before this one may be by act() */

static const char *other = "cpu:3";
static vly_registry *registry; /* to ask whether there is one */

static const char *const maps[] = {"power", "triplet", "pairs", "inhibits",
                                   "nearest"};

/* R fires in nearly every burst, so that rings of spikes are full. */
static const char *const genome_all_rules =
    "format = 1\n[run]\ndt_ms = 0.5\nbursts = 420\n"
    "[area.A]\nmodel = \"lif_psc_delta\"\nneurons = 40\n"
    "v_mv = { uniform = [-70, -50] }\n"
    "[area.B]\nmodel = \"lif_psc_exp2\"\nneurons = 30\ni_e_pa = 400\n"
    "[area.R]\nmodel = \"lif_psc_delta\"\nneurons = 4\nt_ref_ms = 0\n"
    "[plasticity.power]\nrule = \"stdp_power\"\nw_max_mv = 3\nlambda = 0.1\n"
    "delay = \"dendritic\"\n"
    "[plasticity.triplet]\nrule = \"stdp_triplet\"\nw_max_pa = 90\n"
    "a2_minus = 0.02\na3_plus = 0.02\n"
    "[plasticity.pairs]\nrule = \"stdp\"\nw_max_mv = 2\nlambda = 0.05\n"
    "mu_plus = 0.3\nmu_minus = 0\n"
    "[plasticity.inhibits]\nrule = \"stdp_inhibitory\"\nw_max_mv = -2\n"
    "eta_mv = 0.01\n"
    "[plasticity.nearest]\nrule = \"stdp\"\nw_max_pa = -60\nnearest = true\n"
    "delay = \"dendritic\"\n"
    "[[map]]\nid = \"plain\"\nfrom = \"A\"\nto = \"B\"\n"
    "rule = \"fixed_in_degree\"\nin_degree = 5\n"
    "weight_pa = { uniform = [10, 40] }\ndelay_ms = { uniform = [1, 4] }\n"
    "[[map]]\nid = \"power\"\nfrom = \"A\"\nto = \"A\"\n"
    "rule = \"fixed_in_degree\"\nin_degree = 20\n"
    "weight_mv = { uniform = [0, 3] }\ndelay_ms = 2\nplasticity = \"power\"\n"
    "[[map]]\nid = \"triplet\"\nfrom = \"A\"\nto = \"B\"\n"
    "rule = \"all_to_all\"\nweight_pa = { uniform = [0, 90] }\n"
    "delay_ms = 0.5\nplasticity = \"triplet\"\n"
    "[[map]]\nid = \"pairs\"\nfrom = \"B\"\nto = \"R\"\n"
    "rule = \"all_to_all\"\nweight_mv = 1\ndelay_ms = 3.5\n"
    "plasticity = \"pairs\"\n"
    "[[map]]\nid = \"inhibits\"\nfrom = \"B\"\nto = \"A\"\n"
    "rule = \"all_to_all\"\nweight_mv = -0.1\ndelay_ms = 1\n"
    "plasticity = \"inhibits\"\n"
    "[[map]]\nid = \"nearest\"\nfrom = \"B\"\nto = \"B\"\n"
    "rule = \"fixed_in_degree\"\nin_degree = 9\nweight_pa = -5\n"
    "delay_ms = 1.5\nplasticity = \"nearest\"\n"
    "[[stimulus]]\nkind = \"poisson\"\nto = \"A\"\nrate_hz = 900\n"
    "weight_mv = 8\n"
    "[[stimulus]]\nkind = \"poisson\"\nto = \"R\"\nrate_hz = 9000\n"
    "weight_mv = 30\n";

/* ---- a user ------------------------------------------------------------ */

static void set(fixture *f, vly_net *net, const char *path, double value)
{
    assert_ok(vly_net_set(net, path, value, &f->error), f->error);
}

static void act(fixture *f, vly_net *net, uint64_t burst)
{
    double w[7] = {0, 1.5, 0.25, 2, 0.001, 1, 2};
    if (burst == 60)
        set(f, net, "plasticity.power.frozen", 1);
    if (burst == 100)
        set(f, net, "plasticity.pairs.lambda", 0.3);
    if (burst == 140)
        assert_ok(vly_net_weights_write(net, "pairs", 0, 3, 7, w, &f->error),
                  f->error);
    if (burst == 180) {
        set(f, net, "plasticity.power.frozen", 0);
        set(f, net, "plasticity.nearest.frozen", 1);
    }
    if (burst == 300)
        set(f, net, "plasticity.inhibits.eta_mv", 0.04);
}

static bool acts_at(uint64_t burst)
{
    return burst == 60 || burst == 100 || burst == 140 || burst == 180 ||
           burst == 300;
}

/* The first burst from `burst` on at which somebody acts or the net moves. */
static uint64_t next_stop(uint64_t burst, uint64_t every)
{
    uint64_t at = burst + 1;
    while (at < BURSTS && !acts_at(at) && (every == 0 || at % every != 0))
        at++;
    return at;
}

/* ---- what it leaves ---------------------------------------------------- */

typedef struct outcome {
    fingerprint print;
    double w[sizeof maps / sizeof maps[0]][WEIGHTS_MOST];
} outcome;

static void take(fixture *f, vly_net *net, outcome *all)
{
    all->print = fixture_run(f, net, 0);
    for (size_t m = 0; m < sizeof maps / sizeof maps[0]; m++) {
        vly_net_projection_info info = {.struct_size = sizeof info};
        assert_ok(vly_net_projection(net, maps[m], 0, &info, &f->error),
                  f->error);
        assert_true(info.n_synapses > 0 && info.n_synapses <= WEIGHTS_MOST);
        assert_ok(vly_net_weights_read(net, maps[m], 0, 0, info.n_synapses,
                                       all->w[m], NULL, NULL, &f->error),
                  f->error);
    }
}

static outcome *new_outcome(void)
{
    outcome *all = calloc(1, sizeof *all);
    assert_non_null(all);
    return all;
}

static void assert_same_outcome(const outcome *a, const outcome *b)
{
    assert_same(&a->print, &b->print);
    assert_memory_equal(a->w, b->w, sizeof a->w);
}

/* every: bursts after which the net moves; 0: never */
static outcome *live(fixture *f, const char *first, uint64_t every)
{
    outcome *all = new_outcome();
    vly_net *net = fixture_net(f, first);
    bool moved = false;
    for (uint64_t t = 0; t < BURSTS;) {
        act(f, net, t);
        if (every != 0 && t % every == 0) {
            moved = !moved;
            assert_ok(vly_net_swap(net, moved ? other : first, 1, &f->error),
                      f->error);
        }
        uint64_t n = next_stop(t, every) - t;
        assert_ok(vly_net_run(net, n, &f->error), f->error);
        t += n;
    }
    take(f, net, all);
    vly_net_destroy(net);
    return all;
}

/* The same; at each move the net ends and another one continues from a file. */
static outcome *live_in_files(fixture *f, uint64_t every)
{
    char path[] = "/tmp/volley_learn_XXXXXX";
    int file = mkstemp(path);
    outcome *all = new_outcome();
    vly_net *net = fixture_net(f, other);
    bool moved = false;
    assert_true(file >= 0);
    close(file);
    for (uint64_t t = 0; t < BURSTS;) {
        vly_state *state = NULL;
        act(f, net, t);
        if (t % every == 0) {
            moved = !moved;
            assert_ok(vly_net_snapshot(net, &state, &f->error), f->error);
            assert_ok(vly_state_save(state, path, &f->error), f->error);
            vly_state_destroy(state);
            vly_net_destroy(net);
            assert_ok(vly_state_load(path, &state, &f->error), f->error);
            assert_ok(vly_net_resume(f->connectome, f->registry,
                                     moved ? "cpu:2" : other, 1, state, &net,
                                     &f->error),
                      f->error);
            vly_state_destroy(state);
        }
        uint64_t n = next_stop(t, every) - t;
        assert_ok(vly_net_run(net, n, &f->error), f->error);
        t += n;
    }
    take(f, net, all);
    vly_net_destroy(net);
    unlink(path);
    return all;
}

/* ---- tests ------------------------------------------------------------- */

static fixture *start(void)
{
    static fixture f;
    device_require(registry, other);
    fixture_init(&f, genome_all_rules);
    return &f;
}

static void test_stays(void **state)
{
    (void)state;
    fixture *f = start();
    outcome *wanted = live(f, "cpu:1", 0);
    assert_true(wanted->print.spikes > 1500);
    outcome *found = live(f, other, 0);
    assert_same_outcome(found, wanted);
    /* every map has learned */
    outcome *before = new_outcome();
    vly_net *net = fixture_net(f, "cpu:1");
    take(f, net, before);
    vly_net_destroy(net);
    for (size_t m = 0; m < sizeof maps / sizeof maps[0]; m++)
        assert_memory_not_equal(before->w[m] + WRITTEN, found->w[m] + WRITTEN,
                                sizeof found->w[m] -
                                    WRITTEN * sizeof found->w[m][0]);
    free(before);
    free(wanted);
    free(found);
    fixture_deinit(f);
}

static void test_moves(void **state)
{
    (void)state;
    fixture *f = start();
    outcome *wanted = live(f, "cpu:1", 0);
    static const uint64_t lengths[] = {3, 20, 90};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        outcome *found = live(f, "cpu:1", lengths[i]);
        assert_same_outcome(found, wanted);
        free(found);
        found = live_in_files(f, 2 * lengths[i] + 1);
        assert_same_outcome(found, wanted);
        free(found);
    }
    free(wanted);
    fixture_deinit(f);
}

/* 50 bursts and the digest of the state, or why they could not be made. */
static vly_status try_net(fixture *f, const char *spec, uint64_t *state)
{
    vly_net *net = NULL;
    f->error = (vly_error){.struct_size = sizeof f->error};
    vly_status status =
        vly_net_create(f->connectome, f->registry, spec, 1, &net, &f->error);
    if (status == VLY_OK)
        status = vly_net_run(net, 50, &f->error);
    if (status == VLY_OK)
        status = vly_net_state_digest(net, state, &f->error);
    vly_net_destroy(net);
    return status;
}

/* Where the device has less memory than the net needs, there is one message
 * with the bytes; where it has enough, the net is what it is elsewhere. */
static void test_little_memory(void **state)
{
    (void)state;
    fixture *f = start();
    if (strncmp(other, "vulkan", 6) != 0) {
        print_message("skipped: %s has no option memory=N\n", other);
        fixture_deinit(f);
        skip();
    }
    uint64_t wanted = 0;
    uint64_t found = 0;
    assert_ok(try_net(f, "cpu:1", &wanted), f->error);
    uint32_t n_refused = 0;
    vly_status status = VLY_E_NOMEM;
    for (uint32_t kib = 4096; status != VLY_OK; kib += 24) {
        char spec[120];
        snprintf(spec, sizeof spec, "%.80s,memory=%u", other, kib);
        status = try_net(f, spec, &found);
        assert_true(status == VLY_OK || status == VLY_E_NOMEM);
        assert_true(status == VLY_OK ||
                    f->error.bytes_requested > f->error.bytes_available);
        n_refused += status != VLY_OK;
    }
    assert_true(n_refused > 10);
    assert_true(found == wanted);
    fixture_deinit(f);
}

/* 40,000 synapses for one invocation: Mesa's driver for processors ends its
 * loops after 65,535 iterations, so that weights would miss changes. */
static void test_much_for_one(void **state)
{
    (void)state;
    static const char *const genome_wide =
        "format = 1\n[run]\ndt_ms = 0.5\nbursts = 100\n"
        "[area.A]\nmodel = \"lif_psc_delta\"\nneurons = 200\n"
        "[plasticity.p]\nrule = \"stdp\"\nw_max_mv = 0.2\n"
        "[[map]]\nfrom = \"A\"\nto = \"A\"\nrule = \"all_to_all\"\n"
        "weight_mv = 0.1\ndelay_ms = 1\nplasticity = \"p\"\n"
        "[[stimulus]]\nkind = \"poisson\"\nto = \"A\"\nrate_hz = 400\n"
        "weight_mv = 20\n";
    fixture f;
    device_require(registry, other);
    bool is_vulkan = strncmp(other, "vulkan", 6) == 0;
    fixture_init(&f, genome_wide);
    vly_net *net = fixture_net(&f, "cpu:1");
    fingerprint wanted = fixture_run(&f, net, 100);
    vly_net_destroy(net);
    assert_true(wanted.spikes > 1000);
    net =
        fixture_net(&f, is_vulkan ? "vulkan:0,size=1,lanes=1,groups=1" : other);
    fingerprint found = fixture_run(&f, net, 100);
    assert_same(&found, &wanted);
    vly_net_destroy(net);
    fixture_deinit(&f);
}

/* 13,000 spikes of neurons that are no source, before that of the one that is:
 * the same limit. All fire at once. */
static void test_source_among_many(void **state)
{
    (void)state;
    static const char *const genome_one =
        "format = 1\n[run]\ndt_ms = 0.5\nbursts = 15\n"
        "[area.B]\nmodel = \"lif_psc_delta\"\nneurons = 13000\n"
        "i_e_pa = 1000\n"
        "[area.S]\nmodel = \"lif_psc_delta\"\nneurons = 1\ni_e_pa = 1000\n"
        "[plasticity.p]\nrule = \"stdp\"\nw_max_mv = 0.2\n"
        "[[map]]\nid = \"p\"\nfrom = \"S\"\nto = \"B\"\n"
        "rule = \"all_to_all\"\nweight_mv = 0.1\ndelay_ms = 1\n"
        "plasticity = \"p\"\n";
    const char *const specs[2] = {"cpu:1", other};
    fingerprint found[2];
    fixture f;
    device_require(registry, other);
    fixture_init(&f, genome_one);
    for (int i = 0; i < 2; i++) {
        double w = 0;
        vly_net *net = fixture_net(&f, specs[i]);
        found[i] = fixture_run(&f, net, 15);
        assert_true(found[i].spikes >= 13001);
        assert_ok(
            vly_net_weights_read(net, "p", 0, 0, 1, &w, NULL, NULL, &f.error),
            f.error);
        assert_true(w < 0.0999); /* it has learned */
        vly_net_destroy(net);
    }
    assert_same(&found[1], &found[0]);
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

int main(int argc, char **argv)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stays),
        cmocka_unit_test(test_moves),
        cmocka_unit_test(test_little_memory),
        cmocka_unit_test(test_much_for_one),
        cmocka_unit_test(test_source_among_many),
    };
    if (argc > 1)
        other = argv[1];
    return cmocka_run_group_tests(tests, group_setup, group_teardown) ? 1 : 0;
}
