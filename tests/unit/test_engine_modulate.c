/* SPDX-License-Identifier: Apache-2.0
 * Modulators: values of the host and spikes of an area change weights, the same
 * as the second simulator says, whatever the threads and the length of the
 * runs; snapshots, swaps, checkpoints and fail-over keep them.
 */
#include "engine_fixture.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "plugin/registry.h"
#include "second_learning.h"
#include "second_simulator.h"

#define AREAS                                                                  \
    "format = 1\n[run]\ndt_ms = 0.5\nbursts = 400\n"                           \
    "[area.A]\nmodel = \"lif_psc_delta\"\nneurons = 40\n"                      \
    "v_mv = { uniform = [-70, -50] }\n"                                        \
    "[area.D]\nmodel = \"lif_psc_delta\"\nneurons = 3\n"
#define RULE(name)                                                             \
    "[plasticity." name "]\nrule = \"stdp_reward\"\nw_max_mv = 3\n"            \
    "a_plus_mv = 0.5\na_minus_mv = 0.3\ntau_c_ms = 60\ntau_n_ms = 20\n"        \
    "interval_ms = 2\n"
#define MAP(name)                                                              \
    "[[map]]\nid = \"" name "\"\nfrom = \"A\"\nto = \"A\"\n"                   \
    "rule = \"fixed_in_degree\"\nin_degree = 6\n"                              \
    "weight_mv = { uniform = [0, 3] }\ndelay_ms = 1\nplasticity = \"" name     \
    "\"\n"
#define NOISE                                                                  \
    "[[stimulus]]\nkind = \"poisson\"\nto = \"A\"\nrate_hz = 500\n"            \
    "weight_mv = 8\n"
/* D fires in bursts 100 and 130 */
#define DOPAMINE                                                               \
    "[[stimulus]]\nkind = \"spikes\"\nto = \"D\"\nneurons = [0, 1, 2]\n"       \
    "times_ms = [50, 65]\nweight_mv = 40\n"

/* p by spikes and by the host, q by the host alone, r without a modulator */
static const char *const genome_reward =
    AREAS RULE("p") "modulator = \"D\"\nincrement = 20\n" RULE(
        "q") "base = 1\n[plasticity.r]\nrule = \"stdp\"\nw_max_mv = "
             "3\n" MAP("p") MAP("q") MAP("r") NOISE DOPAMINE;

static void give(fixture *f, vly_net *net, uint64_t burst, const char *name,
                 double value)
{
    assert_ok(vly_net_modulate(net, burst, name, value, &f->error), f->error);
}

/* ---- what it does ------------------------------------------------------- */

static void read_weights(fixture *f, vly_net *net, const char *map, double *w)
{
    assert_ok(
        vly_net_weights_read(net, map, 0, 0, 240, w, NULL, NULL, &f->error),
        f->error);
}

/* Without a modulator at work eligible synapses keep their weights. */
static void nothing_without_it(void **state)
{
    fixture f;
    double before[240], after[240], rewarded[240];
    (void)state;
    fixture_init(&f, AREAS RULE("p") MAP("p") NOISE);
    vly_net *net = fixture_net(&f, "cpu:2");
    read_weights(&f, net, "p", before);
    fixture_run(&f, net, 200);
    read_weights(&f, net, "p", after);
    assert_memory_equal(before, after, sizeof before);
    give(&f, net, 210, "p", 30);
    fixture_run(&f, net, 11); /* it counts after its burst */
    read_weights(&f, net, "p", after);
    assert_memory_equal(before, after, sizeof before);
    fixture_run(&f, net, 100);
    read_weights(&f, net, "p", rewarded);
    uint32_t n_changed = 0;
    for (int i = 0; i < 240; i++)
        n_changed += rewarded[i] != before[i];
    assert_true(n_changed > 200);
    vly_net_destroy(net);
    fixture_deinit(&f);
}

/* Three spikes of the area are a value of three increments. */
static void spikes_are_values(void **state)
{
    static const char *const texts[2] = {
        AREAS RULE("p") "modulator = \"D\"\nincrement = 20\n" MAP("p")
            NOISE DOPAMINE,
        AREAS RULE("p") MAP("p") NOISE DOPAMINE};
    double w[2][240];
    (void)state;
    for (int i = 0; i < 2; i++) {
        fixture f;
        fixture_init(&f, texts[i]);
        vly_net *net = fixture_net(&f, "cpu:2");
        for (uint64_t burst = 100; i == 1 && burst <= 130; burst += 30) {
            give(&f, net, burst, "p", 45);
            give(&f, net, burst, "p", 15); /* they add */
        }
        fixture_run(&f, net, 400);
        read_weights(&f, net, "p", w[i]);
        vly_net_destroy(net);
        fixture_deinit(&f);
    }
    assert_memory_equal(w[0], w[1], sizeof w[0]);
}

/* ---- the same everywhere ------------------------------------------------ */

static void give_all(fixture *f, vly_net *net)
{
    give(f, net, 120, "p", 12.3);
    give(f, net, 130, "p", -55.5); /* beside spikes */
    give(f, net, 121, "q", 40);
    give(f, net, 310, "q", -8);
    give(f, net, 121, "q", 0.125);
}

static fingerprint expected(fixture *f, const char *backend)
{
    vly_net *net = fixture_net(f, backend);
    give_all(f, net);
    fingerprint all = fixture_run(f, net, 400);
    vly_net_destroy(net);
    return all;
}

static void any_threads_any_length(void **state)
{
    static const char *const backends[] = {"cpu:2", "cpu:3", "cpu:7"};
    fixture f;
    (void)state;
    fixture_init(&f, genome_reward);
    fingerprint wanted = expected(&f, "cpu:1");
    for (int i = 0; i < 3; i++) {
        fingerprint found = expected(&f, backends[i]);
        assert_same(&found, &wanted);
    }
    vly_net *net = fixture_net(&f, "cpu:3");
    fingerprint found = {0};
    for (uint32_t done = 0; done < 400; done++) {
        if (done == 119)
            give_all(&f, net);
        found = fixture_run(&f, net, 1);
    }
    assert_same(&found, &wanted);
    vly_net_destroy(net);
    fixture_deinit(&f);
}

static void give_second(second_file *file, uint64_t burst, void *arg)
{
    static const struct {
        uint64_t burst;
        const char *rule;
        int map;
        int32_t value;
    } values[] = {{120, "p", 0, 806093},
                  {130, "p", 0, -3637248},
                  {121, "q", 1, 2629632},
                  {310, "q", 1, -524288}};
    const uint32_t *projection = arg;
    for (int i = 0; i < 4; i++)
        if (values[i].burst == burst) {
            second_reward *r =
                file->projections[projection[values[i].map]].learning->reward;
            r->is_given = 1;
            r->given = values[i].value;
        }
}

static void as_second_simulator(void **state)
{
    static const char path[] = "test_engine_modulate.vlc";
    fixture f;
    second_file file;
    second_result result = {.before = give_second};
    uint32_t projection[2] = {0, 0};
    (void)state;
    fixture_init(&f, genome_reward);
    for (uint32_t p = 0; p < f.connectome->desc.n_projections; p++)
        if (strcmp(f.connectome->desc.projections[p].map, "q") == 0)
            projection[1] = p;
    result.before_arg = projection;
    assert_ok(vly_connectome_save(f.connectome, path, &f.error), f.error);
    assert_int_equal(second_file_read(path, &file), 0);
    assert_int_equal(second_run(&file, 400, &result), 0);
    second_file_free(&file);
    unlink(path);
    fingerprint found = expected(&f, "cpu:2");
    assert_true(found.spikes > 100);
    assert_true(found.digest == result.digest);
    assert_true(found.state == result.state_digest);
    /* shares of w_max: a change is computed in a few float operations, each off
     * by 2^-24 of it, and the changes of a synapse are a few w_max in all;
     * 1.2e-7 was seen */
    assert_true(result.distance <= 1e-6);
    fixture_deinit(&f);
}

/* ---- kept --------------------------------------------------------------- */

/* At burst 125 one value has come and decays, and others are to come. */
static void kept_by_state(void **state)
{
    char path[] = "/tmp/volley_modulate_XXXXXX";
    fixture f;
    vly_state *kept = NULL;
    vly_state *loaded = NULL;
    vly_net *resumed = NULL;
    (void)state;
    fixture_init(&f, genome_reward);
    fingerprint wanted = expected(&f, "cpu:2");
    int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    vly_net *net = fixture_net(&f, "cpu:3");
    give_all(&f, net);
    fixture_run(&f, net, 125);
    assert_ok(vly_net_snapshot(net, &kept, &f.error), f.error);
    assert_ok(vly_net_swap(net, "cpu:2", 0, &f.error), f.error);
    fingerprint swapped = fixture_run(&f, net, 275);
    assert_same(&swapped, &wanted);
    give(&f, net, 500, "p", 7); /* undone too */
    assert_ok(vly_net_restore(net, kept, &f.error), f.error);
    fingerprint restored = fixture_run(&f, net, 275);
    assert_same(&restored, &wanted);
    assert_ok(vly_state_save(kept, path, &f.error), f.error);
    assert_ok(vly_state_load(path, &loaded, &f.error), f.error);
    assert_ok(vly_net_resume(f.connectome, f.registry, "cpu:1", 0, loaded,
                             &resumed, &f.error),
              f.error);
    fingerprint again = fixture_run(&f, resumed, 275);
    assert_same(&again, &wanted);
    unlink(path);
    vly_state_destroy(kept);
    vly_state_destroy(loaded);
    vly_net_destroy(net);
    vly_net_destroy(resumed);
    fixture_deinit(&f);
}

/* Values before and after the snapshot of fail-over, and one by a path. */
static fingerprint with_reward(fixture *f, bool fails)
{
    vly_net *net = fixture_net(f, "cpu:1");
    give_all(f, net);
    fixture_run(f, net, 100);
    if (fails)
        assert_ok(
            vly_net_failover(net, "cpu:2", 0, 1000000, NULL, NULL, &f->error),
            f->error);
    give(f, net, 140, "p", 3);
    fixture_run(f, net, 20);
    assert_ok(vly_net_set(net, "plasticity.q.reward", 9, &f->error), f->error);
    fixture_run(f, net, 30);
    if (fails) { /* as if the device had failed */
        net->dead.status = VLY_E_DEVICE;
        vly_status status = VLY_E_DEVICE;
        assert_true(vly_failover_again(net, &status, &f->error));
        assert_int_equal(vly_net_burst(net), 150);
    }
    fingerprint all = fixture_run(f, net, 250);
    vly_net_destroy(net);
    return all;
}

static void kept_by_failover(void **state)
{
    fixture f;
    (void)state;
    fixture_init(&f, genome_reward);
    fingerprint wanted = with_reward(&f, false);
    fingerprint found = with_reward(&f, true);
    fingerprint less = expected(&f, "cpu:1");
    assert_same(&found, &wanted);
    assert_true(less.state != wanted.state);
    fixture_deinit(&f);
}

/* A state whose modulator or eligibility no run has is refused. */
static void damaged_states(void **state)
{
    fixture f;
    vly_state *kept = NULL;
    (void)state;
    fixture_init(&f, genome_reward);
    vly_net *net = fixture_net(&f, "cpu:1");
    give(&f, net, 5, "p", 3);
    fixture_run(&f, net, 20);
    assert_ok(vly_net_snapshot(net, &kept, &f.error), f.error);
    assert_ok(vly_net_restore(net, kept, &f.error), f.error);
    uint32_t *words = kept->snapshot.weights;
    const uint32_t modulator = 2 * 240 + 4 * 40;
    const struct {
        uint32_t at;
        uint32_t word;
    } cases[] = {{240, 0x80000000u},
                 {modulator, 0x7fc00000u},
                 {modulator + 1, 0},
                 {modulator + 1, 416},
                 {modulator + 1, UINT32_MAX}};
    assert_int_equal(words[modulator + 1], 15);
    for (int i = 0; i < 5; i++) {
        uint32_t was = words[cases[i].at];
        words[cases[i].at] = cases[i].word;
        assert_fails(vly_net_restore(net, kept, &f.error), VLY_E_INVALID,
                     &f.error, "out of range");
        words[cases[i].at] = was;
    }
    assert_ok(vly_net_restore(net, kept, &f.error), f.error);
    /* a value for a projection that there is not */
    give(&f, net, 100, "p", 3);
    vly_state_destroy(kept);
    assert_ok(vly_net_snapshot(net, &kept, &f.error), f.error);
    kept->pending.entries[0].neuron += 77;
    assert_fails(vly_net_restore(net, kept, &f.error), VLY_E_INVALID, &f.error,
                 "input of a neuron");
    vly_state_destroy(kept);
    vly_net_destroy(net);
    fixture_deinit(&f);
}

/* ---- refused ------------------------------------------------------------ */

static void refused(void **state)
{
    static const struct {
        uint64_t burst;
        const char *name;
        double value;
        const char *message;
    } cases[] = {
        {9, "p", 1, "burst 9 is done, wanted 10 or later"},
        {10, "o", 1, "no synapse learns by a [plasticity.o]"},
        {10, "r", 1, "plasticity.r has no modulator: its rule is stdp"},
        {10, NULL, 1, "plasticity is NULL"},
        {10, "p", 16384, "is 16384 1/s, wanted -16383 to 16383"},
        {10, "p", -1e9, "wanted -16383 to 16383"},
        {10, "p", 1e-6, "which is rounded to 0"},
    };
    fixture f;
    (void)state;
    fixture_init(&f, genome_reward);
    vly_net *net = fixture_net(&f, "cpu:1");
    fixture_run(&f, net, 10);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_fails(vly_net_modulate(net, cases[i].burst, cases[i].name,
                                      cases[i].value, &f.error),
                     VLY_E_INVALID, &f.error, cases[i].message);
    assert_fails(vly_net_modulate(net, 10, "p", (double)NAN, &f.error),
                 VLY_E_INVALID, &f.error, "wanted -16383 to 16383");
    assert_int_equal(net->pending.n, 0);
    assert_fails(vly_net_set(net, "plasticity.r.reward", 1, &f.error),
                 VLY_E_INVALID, &f.error, "has no modulator");
    assert_fails(vly_net_set(net, "plasticity.p.tau_n_ms", 1, &f.error),
                 VLY_E_INVALID, &f.error, "cannot change in a running net");
    assert_fails(vly_net_set(net, "plasticity.p.interval_ms", 4, &f.error),
                 VLY_E_INVALID, &f.error, "cannot change in a running net");
    assert_fails(vly_net_set(net, "plasticity.p.modulator", 1, &f.error),
                 VLY_E_INVALID, &f.error, "cannot change in a running net");
    assert_fails(vly_net_set(net, "plasticity.r.lambda", 1e-18, &f.error),
                 VLY_E_INVALID, &f.error,
                 "plasticity.r: wanted a coefficient up (of lambda) that is 0 "
                 "or from 2^-40");
    assert_ok(vly_net_set(net, "plasticity.r.lambda", 0, &f.error), f.error);
    assert_ok(vly_net_set(net, "plasticity.p.tau_c_ms", 30, &f.error), f.error);
    assert_ok(vly_net_set(net, "plasticity.p.increment", -30, &f.error),
              f.error);
    double off = 1;
    assert_ok(vly_net_rounding(net, "plasticity.p.reward", &off, &f.error),
              f.error);
    assert_true(off == 0.0);
    vly_net_destroy(net);
    fixture_deinit(&f);
}

/* ---- room --------------------------------------------------------------- */

/* One pair, of a source in burst 10 and a target that fires two bursts after
 * its arrival: c = a_plus e^(-1/20), and the weight takes base * 0.001 of it in
 * each burst. */
#define PAIR                                                                   \
    "format = 1\n[run]\ndt_ms = 1\nbursts = 900\n"                             \
    "[area.P]\ngenerator = \"spikes\"\nneurons = 1\nbursts = [[10]]\n"         \
    "[area.T]\nmodel = \"lif_psc_delta\"\nneurons = 1\nt_ref_ms = 0\n"         \
    "[[map]]\nid = \"m\"\nfrom = \"P\"\nto = \"T\"\n"                          \
    "rule = \"all_to_all\"\nweight_mv = 0.1\ndelay_ms = 1\n"                   \
    "plasticity = \"a\"\n"                                                     \
    "[[stimulus]]\nkind = \"spikes\"\nto = \"T\"\nbursts = [12]\n"             \
    "weight_mv = 30\n"                                                         \
    "[plasticity.a]\nrule = \"stdp_reward\"\nw_max_mv = 1\ninterval_ms = 1\n"  \
    "tau_c_ms = 1e9\na_minus_mv = 0\n"

static double pair_weight(const char *genome, const char *key, double value)
{
    fixture f;
    double w = 0.0;
    fixture_init(&f, genome);
    vly_net *net = fixture_net(&f, "cpu:1");
    if (key)
        assert_ok(vly_net_set(net, key, value, &f.error), f.error);
    fixture_run(&f, net, 813); /* 800 changes */
    assert_ok(vly_net_weights_read(net, "m", 0, 0, 1, &w, NULL, NULL, &f.error),
              f.error);
    vly_net_destroy(net);
    fixture_deinit(&f);
    return w;
}

/* An eligibility is not bounded by the weight's bound. */
static void far_above_the_weights(void **state)
{
    const double exact = 0.1 + 800 * 0.001 * 0.5 * exp(-1.0 / 20.0);
    (void)state;
    assert_close(pair_weight(PAIR "a_plus_mv = 0.5\nbase = 1\n", NULL, 0),
                 exact, 1e-3);
    assert_close(pair_weight(PAIR "a_plus_mv = 10\nbase = 0.05\n", NULL, 0),
                 exact, 1e-3);
    assert_close(pair_weight(PAIR "a_plus_mv = 1000\nbase = 5e-4\n", NULL, 0),
                 exact, 1e-3);
    assert_close(pair_weight(PAIR "a_plus_mv = 1e6\nbase = 5e-7\n", NULL, 0),
                 exact, 1e-3);
}

/* A parameter that changes has the unit of the eligibilities that there are. */
static void changed_in_their_unit(void **state)
{
    const double exact = 0.1 + 800 * 0.001 * 0.5 * exp(-1.0 / 20.0);
    (void)state;
    assert_close(pair_weight(PAIR "a_plus_mv = 100\nbase = 1\n",
                             "plasticity.a.a_plus_mv", 0.5),
                 exact, 1e-3);
    assert_close(pair_weight(PAIR "a_plus_mv = 0.3\nbase = 1.25\n",
                             "plasticity.a.a_plus_mv", 0.4),
                 exact, 1e-3);
    /* after the pair, it is of no use any more */
    fixture f;
    double w = 0.0;
    fixture_init(&f, PAIR "a_plus_mv = 100\nbase = 5e-3\n");
    vly_net *net = fixture_net(&f, "cpu:1");
    fixture_run(&f, net, 400);
    assert_ok(vly_net_set(net, "plasticity.a.a_plus_mv", 1e-3, &f.error),
              f.error);
    assert_ok(vly_net_set(net, "plasticity.a.a_minus_mv", 1e-3, &f.error),
              f.error);
    fixture_run(&f, net, 413);
    assert_ok(vly_net_weights_read(net, "m", 0, 0, 1, &w, NULL, NULL, &f.error),
              f.error);
    assert_close(w, exact, 1e-3);
    vly_net_destroy(net);
    fixture_deinit(&f);
}

/* What has no room in that unit is refused, also in a state. */
static void beyond_their_room(void **state)
{
    static const char message[] =
        "plasticity.a.a_minus_mv is 0.6, wanted at most 0.4999999";
    fixture f, other;
    vly_state *kept = NULL;
    (void)state;
    fixture_init(&f, PAIR "a_plus_mv = 0.3\n");
    vly_net *net = fixture_net(&f, "cpu:1");
    fixture_run(&f, net, 20);
    assert_fails(vly_net_set(net, "plasticity.a.a_minus_mv", 0.6, &f.error),
                 VLY_E_INVALID, &f.error, message);
    assert_ok(vly_net_set(net, "plasticity.a.a_minus_mv", 0.49, &f.error),
              f.error);
    assert_ok(vly_net_snapshot(net, &kept, &f.error), f.error);
    assert_ok(vly_net_restore(net, kept, &f.error), f.error);
    for (uint64_t i = 0; i < kept->overlay->n_learned; i++)
        if (kept->overlay->learned[i] == 0.49)
            kept->overlay->learned[i] = 0.6;
    assert_fails(vly_net_restore(net, kept, &f.error), VLY_E_INVALID, &f.error,
                 message);
    /* a net of other parameters has another unit: it takes no such state */
    fixture_init(&other, PAIR "a_plus_mv = 0.7\n");
    vly_net *larger = fixture_net(&other, "cpu:1");
    assert_ok(vly_net_set(larger, "plasticity.a.a_minus_mv", 0.6, &f.error),
              f.error);
    assert_true(vly_net_restore(larger, kept, &f.error) != VLY_OK);
    vly_net_destroy(larger);
    fixture_deinit(&other);
    vly_state_destroy(kept);
    vly_net_destroy(net);
    fixture_deinit(&f);
}

/* Frozen, neither weights nor eligibilities change; the modulator goes on. */
static void frozen(void **state)
{
    fixture f;
    double before[240], after[240];
    (void)state;
    fixture_init(&f, genome_reward);
    vly_net *net = fixture_net(&f, "cpu:2");
    fixture_run(&f, net, 125);
    read_weights(&f, net, "p", before);
    assert_ok(vly_net_set(net, "plasticity.p.frozen", 1, &f.error), f.error);
    give(&f, net, 140, "p", 100);
    fixture_run(&f, net, 100);
    read_weights(&f, net, "p", after);
    assert_memory_equal(before, after, sizeof before);
    assert_ok(vly_net_set(net, "plasticity.p.frozen", 0, &f.error), f.error);
    fixture_run(&f, net, 20);
    read_weights(&f, net, "p", after);
    assert_memory_not_equal(before, after, sizeof before);
    vly_net_destroy(net);
    fixture_deinit(&f);
}

/* A backend without modulators refuses the net by name of map and rule. */
static void other_backends(void **state)
{
    fixture f;
    vly_backend table = {.struct_size = sizeof table,
                         .flags = VLY_BACKEND_LEARNS};
    (void)state;
    fixture_init(&f, genome_reward);
    assert_fails(
        vly_backend_supports(&table, &f.connectome->desc, &f.error),
        VLY_E_UNSUPPORTED, &f.error,
        "map p learns by stdp_reward, and this backend has no modulators");
    fixture_deinit(&f);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(nothing_without_it),
    cmocka_unit_test(spikes_are_values),
    cmocka_unit_test(any_threads_any_length),
    cmocka_unit_test(as_second_simulator),
    cmocka_unit_test(kept_by_state),
    cmocka_unit_test(kept_by_failover),
    cmocka_unit_test(damaged_states),
    cmocka_unit_test(far_above_the_weights),
    cmocka_unit_test(changed_in_their_unit),
    cmocka_unit_test(beyond_their_room),
    cmocka_unit_test(refused),
    cmocka_unit_test(frozen),
    cmocka_unit_test(other_backends),
};

VLY_TEST_MAIN(tests)
