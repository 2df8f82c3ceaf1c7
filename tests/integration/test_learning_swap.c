/* SPDX-License-Identifier: Apache-2.0
 * test_learning_swap [OTHER]: nets with every rule of plasticity, rules of
 * users and delays of both kinds, on cpu:1 and on another backend (cpu:3). A
 * net moves from one to the other every few bursts, directly or through a file,
 * or runs on the other one only. On the way the user changes and freezes rules,
 * writes weights and gives values to modulators. Spikes, state, weights and
 * traces are those of the net that stays on cpu:1. STDP has a net of its own,
 * which every plan of a backend can run.
 */
#include <stdlib.h>
#include <unistd.h>

#include "../unit/engine_fixture.h"
#include "device_test.h"
#include "learning_genomes.h"

#define MAPS_MOST 6u
#define WEIGHTS_MOST 1200u
#define WRITTEN 10u /* act() may write weights of a map before this one */

static const char *other = "cpu:3";
static vly_registry *registry; /* to ask whether there is one */

/* A net, and what its user does before a burst. */
typedef struct subject {
    const char *genome;
    uint64_t bursts;
    uint64_t least_spikes;
    const char *maps[MAPS_MOST + 1]; /* that learn; NULL after the last */
    void (*act)(fixture *f, vly_net *net, uint64_t burst);
    uint64_t acts[8]; /* bursts before which it does something; 0: no more */
} subject;

/* ---- users ------------------------------------------------------------- */

static void set(fixture *f, vly_net *net, const char *path, double value)
{
    assert_ok(vly_net_set(net, path, value, &f->error), f->error);
}

static void act_stdp(fixture *f, vly_net *net, uint64_t burst)
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

static const subject stdp = {
    .genome = genome_stdp,
    .bursts = 420,
    .least_spikes = 1500,
    .maps = {"power", "triplet", "pairs", "inhibits", "nearest"},
    .act = act_stdp,
    .acts = {60, 100, 140, 180, 300}};

/* A value for a modulator; a move loses those of later bursts. */
static void give(fixture *f, vly_net *net, uint64_t burst, const char *map,
                 double value)
{
    assert_ok(vly_net_modulate(net, burst, map, value, &f->error), f->error);
}

static void act_others(fixture *f, vly_net *net, uint64_t burst)
{
    double w[7] = {0, 1.5, 0.25, 2, 0.001, 1, 2};
    if (burst == 30) {
        give(f, net, 30, "given", 400.25);
        give(f, net, 30, "reward", 1 / 65536.0);
    }
    if (burst == 60) {
        set(f, net, "plasticity.reward.frozen", 1);
        set(f, net, "plasticity.fade.U", 0.2);
    }
    if (burst == 100) {
        set(f, net, "plasticity.reward.frozen", 0);
        set(f, net, "plasticity.steps.frozen", 1);
        set(f, net, "plasticity.given.base", -1);
        give(f, net, 100, "reward", 900);
        give(f, net, 100, "given", -16000.123);
    }
    if (burst == 140) {
        set(f, net, "plasticity.steps.frozen", 0);
        set(f, net, "plasticity.steps.ltp_multiplier", 5);
        set(f, net, "plasticity.use.U", 0.6);
        assert_ok(vly_net_weights_write(net, "reward", 0, 3, 7, w, &f->error),
                  f->error);
    }
    if (burst == 180)
        give(f, net, 180, "given", 3000);
}

static const subject others = {.genome = genome_other_rules,
                               .bursts = 240,
                               .least_spikes = 700,
                               .maps = {"reward", "given", "steps"},
                               .act = act_others,
                               .acts = {30, 60, 100, 140, 180}};

static void act_users(fixture *f, vly_net *net, uint64_t burst)
{
    double w[7] = {0, 1.5, 0.25, 2, 0.001, 1, 2};
    if (burst == 60)
        set(f, net, "plasticity.triplet.frozen", 1);
    if (burst == 100)
        set(f, net, "plasticity.pair.alpha", 2.5);
    if (burst == 140)
        assert_ok(vly_net_weights_write(net, "pair", 0, 3, 7, w, &f->error),
                  f->error);
    if (burst == 180) {
        set(f, net, "plasticity.triplet.frozen", 0);
        set(f, net, "plasticity.again.eta", 0.03);
    }
}

static const subject users = {
    .genome = genome_users,
    .bursts = 260,
    .least_spikes = 1500,
    .maps = {"pair", "again", "triplet", "after", "before", "own"},
    .act = act_users,
    .acts = {60, 100, 140, 180}};

static bool acts_at(const subject *s, uint64_t burst)
{
    bool acts = false;
    for (const uint64_t *at = s->acts; *at != 0; at++)
        acts |= *at == burst;
    return acts;
}

/* The first burst after `burst` before which the user acts or the net moves. */
static uint64_t next_stop(const subject *s, uint64_t burst, uint64_t every)
{
    uint64_t at = burst + 1;
    while (at < s->bursts && !acts_at(s, at) && (every == 0 || at % every != 0))
        at++;
    return at;
}

/* ---- what it leaves ---------------------------------------------------- */

typedef struct outcome {
    fingerprint print;
    double w[MAPS_MOST][WEIGHTS_MOST];
} outcome;

static void take(fixture *f, const subject *s, vly_net *net, outcome *all)
{
    all->print = fixture_run(f, net, 0);
    for (size_t m = 0; s->maps[m] != NULL; m++) {
        vly_net_projection_info info = {.struct_size = sizeof info};
        assert_ok(vly_net_projection(net, s->maps[m], 0, &info, &f->error),
                  f->error);
        assert_true(info.n_synapses > 0 && info.n_synapses <= WEIGHTS_MOST);
        assert_ok(vly_net_weights_read(net, s->maps[m], 0, 0, info.n_synapses,
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
static outcome *live(fixture *f, const subject *s, const char *first,
                     uint64_t every)
{
    outcome *all = new_outcome();
    vly_net *net = fixture_net(f, first);
    bool moved = false;
    for (uint64_t t = 0; t < s->bursts;) {
        s->act(f, net, t);
        if (every != 0 && t % every == 0) {
            moved = !moved;
            assert_ok(vly_net_swap(net, moved ? other : first, 1, &f->error),
                      f->error);
        }
        uint64_t n = next_stop(s, t, every) - t;
        assert_ok(vly_net_run(net, n, &f->error), f->error);
        t += n;
    }
    take(f, s, net, all);
    vly_net_destroy(net);
    return all;
}

/* The same; at each move the net ends and another one continues from a file. */
static outcome *live_in_files(fixture *f, const subject *s, uint64_t every)
{
    char path[] = "/tmp/volley_learn_XXXXXX";
    int file = mkstemp(path);
    outcome *all = new_outcome();
    vly_net *net = fixture_net(f, other);
    bool moved = false;
    assert_true(file >= 0);
    close(file);
    for (uint64_t t = 0; t < s->bursts;) {
        vly_state *state = NULL;
        s->act(f, net, t);
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
        uint64_t n = next_stop(s, t, every) - t;
        assert_ok(vly_net_run(net, n, &f->error), f->error);
        t += n;
    }
    take(f, s, net, all);
    vly_net_destroy(net);
    unlink(path);
    return all;
}

/* ---- tests ------------------------------------------------------------- */

static fixture *start(const subject *s)
{
    static fixture f;
    device_require(registry, other);
    fixture_init(&f, s->genome);
    return &f;
}

static void check_stays(const subject *s)
{
    fixture *f = start(s);
    outcome *wanted = live(f, s, "cpu:1", 0);
    assert_true(wanted->print.spikes > s->least_spikes);
    outcome *found = live(f, s, other, 0);
    assert_same_outcome(found, wanted);
    /* every map has learned */
    outcome *before = new_outcome();
    vly_net *net = fixture_net(f, "cpu:1");
    take(f, s, net, before);
    vly_net_destroy(net);
    for (size_t m = 0; s->maps[m] != NULL; m++)
        assert_memory_not_equal(before->w[m] + WRITTEN, found->w[m] + WRITTEN,
                                sizeof found->w[m] -
                                    WRITTEN * sizeof found->w[m][0]);
    free(before);
    free(wanted);
    free(found);
    fixture_deinit(f);
}

/* lengths: bursts from one move to the next; 0 after the last. */
static void check_moves(const subject *s, const uint64_t *lengths)
{
    fixture *f = start(s);
    outcome *wanted = live(f, s, "cpu:1", 0);
    for (; *lengths != 0; lengths++) {
        outcome *found = live(f, s, "cpu:1", *lengths);
        assert_same_outcome(found, wanted);
        free(found);
        found = live_in_files(f, s, 2 * *lengths + 1);
        assert_same_outcome(found, wanted);
        free(found);
    }
    free(wanted);
    fixture_deinit(f);
}

static void test_stays(void **state)
{
    (void)state;
    check_stays(&stdp);
}

static void test_moves(void **state)
{
    (void)state;
    check_moves(&stdp, (const uint64_t[]){3, 20, 90, 0});
}

static void test_others_stay(void **state)
{
    (void)state;
    check_stays(&others);
}

static void test_others_move(void **state)
{
    (void)state;
    check_moves(&others, (const uint64_t[]){5, 33, 0});
}

static void test_users_stay(void **state)
{
    (void)state;
    check_stays(&users);
}

static void test_users_move(void **state)
{
    (void)state;
    check_moves(&users, (const uint64_t[]){20, 90, 0});
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
    fixture *f = start(&others);
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

/* 90,000 synapses of each kind of plasticity for one invocation: Mesa's driver
 * for processors ends its loops after 65,535 iterations, so that weights would
 * miss changes. */
static void test_much_for_one(void **state)
{
    (void)state;
    fixture f;
    device_require(registry, other);
    bool is_vulkan = strncmp(other, "vulkan", 6) == 0;
    fixture_init(&f, genome_wide);
    vly_net *net = fixture_net(&f, "cpu:1");
    fingerprint wanted = fixture_run(&f, net, 60);
    vly_net_destroy(net);
    assert_true(wanted.spikes > 1000);
    net =
        fixture_net(&f, is_vulkan ? "vulkan:0,size=1,lanes=1,groups=1" : other);
    fingerprint found = fixture_run(&f, net, 60);
    assert_same(&found, &wanted);
    vly_net_destroy(net);
    fixture_deinit(&f);
}

/* 13,000 spikes of neurons that are no source, before that of the one that is:
 * the same limit. All fire at once. */
static void test_source_among_many(void **state)
{
    (void)state;
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
        cmocka_unit_test(test_others_stay),
        cmocka_unit_test(test_others_move),
        cmocka_unit_test(test_users_stay),
        cmocka_unit_test(test_users_move),
        cmocka_unit_test(test_little_memory),
        cmocka_unit_test(test_much_for_one),
        cmocka_unit_test(test_source_among_many),
    };
    if (argc > 1)
        other = argv[1];
    return cmocka_run_group_tests(tests, group_setup, group_teardown) ? 1 : 0;
}
