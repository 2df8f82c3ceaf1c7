/* SPDX-License-Identifier: Apache-2.0
 * Weights read and written, rules changed and frozen, while a net runs; every
 * change is kept by snapshots, swaps, checkpoints and fail-over.
 */
#include "engine_fixture.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

static const char *const genome_learns =
    "format = 1\n[run]\ndt_ms = 0.5\nbursts = 400\n"
    "[area.A]\nmodel = \"lif_psc_delta\"\nneurons = 40\n"
    "v_mv = { uniform = [-70, -50] }\n"
    "[area.B]\nmodel = \"lif_psc_delta\"\nneurons = 10\n"
    "[plasticity.p]\nrule = \"stdp\"\nw_max_mv = 3\nlambda = 0.05\n"
    "[plasticity.q]\nrule = \"stdp_inhibitory\"\nw_max_mv = -2\neta_mv = 0.01\n"
    "[[map]]\nid = \"plain\"\nfrom = \"A\"\nto = \"B\"\n"
    "rule = \"fixed_in_degree\"\nin_degree = 5\n"
    "weight_mv = { uniform = [0.5, 1] }\ndelay_ms = 1\n"
    "[[map]]\nid = \"plastic\"\nfrom = [\"A\", \"B\"]\nto = \"A\"\n"
    "rule = \"fixed_in_degree\"\nin_degree = 6\n"
    "weight_mv = { uniform = [0, 3] }\ndelay_ms = 1\nplasticity = \"p\"\n"
    "[[map]]\nid = \"inhibits\"\nfrom = \"B\"\nto = \"A\"\n"
    "rule = \"all_to_all\"\nweight_mv = -1\ndelay_ms = 1\n"
    "plasticity = \"q\"\n"
    "[[stimulus]]\nkind = \"poisson\"\nto = \"*\"\nrate_hz = 500\n"
    "weight_mv = 8\n";

typedef struct weights {
    vly_net_projection_info info;
    double w[512];
    uint32_t source[512];
    uint32_t target[512];
} weights;

static weights read_all(fixture *f, vly_net *net, const char *map,
                        uint32_t part)
{
    weights all = {.info = {.struct_size = sizeof all.info}};
    assert_ok(vly_net_projection(net, map, part, &all.info, &f->error),
              f->error);
    assert_true(all.info.n_synapses <= 512);
    assert_ok(vly_net_weights_read(net, map, part, 0, all.info.n_synapses,
                                   all.w, all.source, all.target, &f->error),
              f->error);
    return all;
}

/* ---- reading ----------------------------------------------------------- */

static void parts(void **state)
{
    fixture f;
    (void)state;
    fixture_init(&f, genome_learns);
    vly_net *net = fixture_net(&f, "cpu:2");
    weights a = read_all(&f, net, "plastic", 0);
    weights b = read_all(&f, net, "plastic", 1);
    weights plain = read_all(&f, net, "plain", 0);
    assert_string_equal(a.info.source, "A");
    assert_string_equal(b.info.source, "B");
    assert_string_equal(b.info.target, "A");
    assert_string_equal(b.info.plasticity, "p");
    assert_string_equal(b.info.rule, "stdp");
    assert_string_equal(b.info.weight_suffix, "mv");
    assert_true(b.info.learns && !plain.info.learns);
    assert_true(b.info.w_max == 3.0 && plain.info.w_max == 0.0);
    assert_int_equal(a.info.n_synapses, 40 * 6);
    assert_int_equal(plain.info.n_synapses, 10 * 5);
    for (uint32_t i = 0; i < b.info.n_synapses; i++) {
        assert_true(b.source[i] < 10 && b.target[i] < 40);
        assert_true(b.w[i] >= 0 && b.w[i] <= 3);
        assert_true(
            i == 0 || b.source[i] > b.source[i - 1] ||
            (b.source[i] == b.source[i - 1] && b.target[i] >= b.target[i - 1]));
    }
    for (uint32_t i = 0; i < plain.info.n_synapses; i++)
        assert_true(plain.w[i] >= 0.5 && plain.w[i] <= 1);
    /* a part of them is the same numbers */
    double w[7];
    uint32_t source[7];
    assert_ok(vly_net_weights_read(net, "plastic", 1, 100, 7, w, source, NULL,
                                   &f.error),
              f.error);
    for (uint32_t i = 0; i < 7; i++) {
        assert_true(w[i] == b.w[100 + i]);
        assert_int_equal(source[i], b.source[100 + i]);
    }
    /* by the number of the net */
    vly_net_projection_info same = {.struct_size = sizeof same};
    assert_ok(vly_net_projection(net, NULL, b.info.index, &same, &f.error),
              f.error);
    assert_string_equal(same.map, "plastic");
    vly_net_destroy(net);
    fixture_deinit(&f);
}

static void learns_and_counts(void **state)
{
    fixture f;
    vly_weights_stats stats = {.struct_size = sizeof stats};
    (void)state;
    fixture_init(&f, genome_learns);
    vly_net *net = fixture_net(&f, "cpu:2");
    weights before = read_all(&f, net, "inhibits", 0);
    assert_ok(vly_net_weights_stats(net, "inhibits", 0, &stats, &f.error),
              f.error);
    assert_true(stats.mean == -1.0 && stats.mean_start == -1.0);
    assert_true(stats.sd == 0.0 && stats.n == 400);
    fixture_run(&f, net, 400);
    weights after = read_all(&f, net, "inhibits", 0);
    double sum = 0.0, squares = 0.0, low = 0.0;
    uint64_t zero = 0, most = 0;
    uint32_t changed = 0;
    for (uint32_t i = 0; i < 400; i++) {
        changed += after.w[i] != before.w[i];
        sum += after.w[i];
        squares += after.w[i] * after.w[i];
        zero += after.w[i] == 0.0;
        most += after.w[i] == -2.0;
        low = after.w[i] < low ? after.w[i] : low;
    }
    assert_true(changed > 300);
    assert_ok(vly_net_weights_stats(net, "inhibits", 0, &stats, &f.error),
              f.error);
    assert_true(fabs(stats.mean - sum / 400) <= 1e-9);
    assert_true(fabs(stats.sd - sqrt(squares / 400 - sum * sum / 160000)) <=
                1e-7);
    assert_true(stats.mean_start == -1.0);
    assert_true(stats.min == low);
    assert_int_equal(stats.n_at_zero, zero);
    assert_int_equal(stats.n_at_most, most);
    vly_net_destroy(net);
    fixture_deinit(&f);
}

static void refused(void **state)
{
    fixture f;
    double w[2] = {1, 1};
    vly_weights_stats stats = {.struct_size = sizeof stats};
    vly_net_projection_info info = {.struct_size = sizeof info};
    (void)state;
    fixture_init(&f, genome_learns);
    vly_net *net = fixture_net(&f, "cpu:1");
    fingerprint before = fixture_run(&f, net, 10);
#define REFUSED(call, text) assert_fails(call, VLY_E_INVALID, &f.error, text)
    REFUSED(vly_net_projection(net, "plastik", 0, &info, &f.error),
            "no map plastik has synapses, did you mean plastic?");
    REFUSED(vly_net_projection(net, "plastic", 2, &info, &f.error),
            "part 2 of map plastic, which has 2 (from 0)");
    REFUSED(
        vly_net_weights_read(net, "plain", 0, 49, 2, w, NULL, NULL, &f.error),
        "synapses 49 to 51 of map plain (B), which has 50");
    REFUSED(vly_net_weights_write(net, "plain", 0, 0, 2, w, &f.error),
            "map plain does not learn: its weights can be read, but not "
            "written");
    REFUSED(vly_net_weights_stats(net, "plain", 0, &stats, &f.error),
            "map plain does not learn");
    w[1] = 3.5;
    REFUSED(vly_net_weights_write(net, "plastic", 0, 8, 2, w, &f.error),
            "weight 3.5 of synapse 9 of map plastic, wanted 0 to 3: w_max of "
            "[plasticity.p]");
    w[1] = NAN;
    REFUSED(vly_net_weights_write(net, "plastic", 0, 8, 2, w, &f.error),
            "of synapse 9 of map plastic, wanted 0 to 3");
    w[1] = 0.5;
    w[0] = -0.5;
    REFUSED(vly_net_weights_write(net, "inhibits", 0, 0, 2, w, &f.error),
            "weight 0.5 of synapse 1 of map inhibits, wanted -2 to 0");
    REFUSED(vly_net_set(net, "plasticity.r.lambda", 0, &f.error),
            "no synapse learns by a [plasticity.r]");
    REFUSED(vly_net_set(net, "plasticity.p.lamda", 0, &f.error),
            "stdp (plasticity p) has no parameter lamda, did you mean lambda?");
    REFUSED(vly_net_set(net, "plasticity.p.lambda", -1, &f.error),
            "plasticity.p.lambda is -1, wanted 0 to");
    REFUSED(vly_net_set(net, "plasticity.p.tau_plus_ms", 10, &f.error),
            "plasticity.p.tau_plus_ms cannot change in a running net: the "
            "traces of past spikes decay by it");
    REFUSED(vly_net_set(net, "plasticity.p.w_max_mv", 2, &f.error),
            "plasticity.p.w_max_mv cannot change in a running net");
    REFUSED(vly_net_set(net, "plasticity.p.frozen", 0.5, &f.error),
            "plasticity.p.frozen is 0.5, wanted 0 or 1");
    double off = -1;
    assert_ok(vly_net_rounding(net, "plasticity.p.lambda", &off, &f.error),
              f.error);
    assert_true(off == 0.0);
#undef REFUSED
    fingerprint after = fixture_run(&f, net, 0);
    assert_same(&before, &after);
    vly_net_destroy(net);
    fixture_deinit(&f);
}

/* ---- changing ---------------------------------------------------------- */

static void set_equals_compiled(const char *path, const char *text,
                                double value)
{
    fixture f;
    fixture g;
    fixture_init(&f, genome_learns);
    fixture_init_with(&g, genome_learns, path, text);
    vly_net *plain = fixture_net(&f, "cpu:1");
    vly_net *set = fixture_net(&f, "cpu:1");
    vly_net *compiled = fixture_net(&g, "cpu:1");
    assert_ok(vly_net_set(set, path, value, &f.error), f.error);
    fingerprint a = fixture_run(&f, set, 200);
    fingerprint b = fixture_run(&g, compiled, 200);
    fingerprint c = fixture_run(&f, plain, 200);
    if (a.digest != b.digest || a.state != b.state)
        fail_msg("%s: set and compiled differ", path);
    if (a.state == c.state)
        fail_msg("%s: nothing has changed", path);
    vly_net_destroy(plain);
    vly_net_destroy(set);
    vly_net_destroy(compiled);
    fixture_deinit(&f);
    fixture_deinit(&g);
}

static void as_if_compiled(void **state)
{
    (void)state;
    set_equals_compiled("plasticity.p.lambda", "0.2", 0.2);
    set_equals_compiled("plasticity.p.mu_plus", "0.4", 0.4);
    set_equals_compiled("plasticity.p.frozen", "true", 1);
    set_equals_compiled("plasticity.q.eta_mv", "0.05", 0.05);
    set_equals_compiled("plasticity.q.frozen", "true", 1);
}

static void frozen(void **state)
{
    fixture f;
    vly_net_projection_info info = {.struct_size = sizeof info};
    (void)state;
    fixture_init(&f, genome_learns);
    vly_net *net = fixture_net(&f, "cpu:2");
    fixture_run(&f, net, 100);
    assert_ok(vly_net_set(net, "plasticity.p.frozen", 1, &f.error), f.error);
    assert_ok(vly_net_projection(net, "plastic", 1, &info, &f.error), f.error);
    assert_int_equal(info.frozen, 1);
    weights before = read_all(&f, net, "plastic", 0);
    fixture_run(&f, net, 100);
    weights kept = read_all(&f, net, "plastic", 0);
    assert_memory_equal(before.w, kept.w, sizeof kept.w);
    assert_ok(vly_net_set(net, "plasticity.p.frozen", 0, &f.error), f.error);
    fixture_run(&f, net, 100);
    weights after = read_all(&f, net, "plastic", 0);
    assert_memory_not_equal(after.w, kept.w, sizeof kept.w);
    vly_net_destroy(net);
    fixture_deinit(&f);
}

/* Everything that a host can change of what learns. */
static void change(fixture *f, vly_net *net)
{
    weights all = read_all(f, net, "plastic", 1);
    for (uint32_t i = 0; i < all.info.n_synapses; i++)
        all.w[i] = i % 3 == 0 ? 3.0 : 0.001 * i;
    assert_ok(vly_net_weights_write(net, "plastic", 1, 5,
                                    all.info.n_synapses - 5, all.w + 5,
                                    &f->error),
              f->error);
    weights now = read_all(f, net, "plastic", 1);
    for (uint32_t i = 5; i < all.info.n_synapses; i++)
        assert_true(fabs(now.w[i] - all.w[i]) <= all.info.unit * 0x1p-17);
    assert_true(now.w[6] == 3.0);
    assert_ok(vly_net_set(net, "plasticity.p.lambda", 0.013, &f->error),
              f->error);
    assert_ok(vly_net_set(net, "plasticity.q.frozen", 1, &f->error), f->error);
    double w[3] = {-0.25, -2, 0};
    assert_ok(vly_net_weights_write(net, "inhibits", 0, 3, 3, w, &f->error),
              f->error);
}

/* What the same calls give without anything else. */
static fingerprint expected(fixture *f)
{
    vly_net *net = fixture_net(f, "cpu:1");
    fixture_run(f, net, 100);
    change(f, net);
    fingerprint all = fixture_run(f, net, 150);
    vly_net_destroy(net);
    return all;
}

static void kept_by_state(void **state)
{
    fixture f;
    vly_state *kept = NULL;
    vly_state *loaded = NULL;
    vly_net *resumed = NULL;
    char path[] = "/tmp/volley_weights_XXXXXX";
    (void)state;
    fixture_init(&f, genome_learns);
    fingerprint wanted = expected(&f);
    int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    vly_net *net = fixture_net(&f, "cpu:3");
    fixture_run(&f, net, 100);
    change(&f, net);
    fixture_run(&f, net, 50);
    assert_ok(vly_net_snapshot(net, &kept, &f.error), f.error);
    assert_ok(vly_net_swap(net, "cpu:2", 0, &f.error), f.error);
    fingerprint swapped = fixture_run(&f, net, 100);
    assert_same(&swapped, &wanted);
    /* a change made later is undone too */
    assert_ok(vly_net_set(net, "plasticity.p.lambda", 0.4, &f.error), f.error);
    assert_ok(vly_net_set(net, "plasticity.q.frozen", 0, &f.error), f.error);
    assert_ok(vly_net_restore(net, kept, &f.error), f.error);
    fingerprint restored = fixture_run(&f, net, 100);
    assert_same(&restored, &wanted);
    assert_ok(vly_state_save(kept, path, &f.error), f.error);
    assert_ok(vly_state_load(path, &loaded, &f.error), f.error);
    assert_ok(vly_net_resume(f.connectome, f.registry, "cpu:2", 0, loaded,
                             &resumed, &f.error),
              f.error);
    fingerprint again = fixture_run(&f, resumed, 100);
    assert_same(&again, &wanted);
    vly_net_projection_info info = {.struct_size = sizeof info};
    assert_ok(vly_net_projection(resumed, "inhibits", 0, &info, &f.error),
              f.error);
    assert_int_equal(info.frozen, 1);
    unlink(path);
    vly_state_destroy(kept);
    vly_state_destroy(loaded);
    vly_net_destroy(net);
    vly_net_destroy(resumed);
    fixture_deinit(&f);
}

/* A connectome from a file has what a rule needs to be changed. */
static void from_file(void **state)
{
    fixture f;
    vly_connectome *loaded = NULL;
    vly_net *net = NULL;
    char path[] = "/tmp/volley_weights_XXXXXX";
    (void)state;
    fixture_init(&f, genome_learns);
    fingerprint wanted = expected(&f);
    int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    assert_ok(vly_connectome_save(f.connectome, path, &f.error), f.error);
    assert_ok(vly_connectome_load(path, 1, &loaded, &f.error), f.error);
    assert_ok(vly_net_create(loaded, f.registry, "cpu:2", 0, &net, &f.error),
              f.error);
    fixture_run(&f, net, 100);
    change(&f, net);
    fingerprint all = fixture_run(&f, net, 150);
    assert_same(&all, &wanted);
    weights a = read_all(&f, net, "plain", 0);
    assert_true(a.w[0] >= 0.5 && a.w[0] <= 1);
    vly_net_destroy(net);
    vly_connectome_destroy(loaded);
    unlink(path);
    fixture_deinit(&f);
}

/* The log of fail-over has the writes: the net is made again from the snapshot
 * of burst 100, with the changes of burst 120. */
static void kept_by_failover(void **state)
{
    fixture f;
    (void)state;
    fixture_init(&f, genome_learns);
    vly_net *net = fixture_net(&f, "cpu:1");
    fixture_run(&f, net, 100);
    assert_ok(vly_net_failover(net, "cpu:2", 0, 1000000, NULL, NULL, &f.error),
              f.error);
    change(&f, net);
    fixture_run(&f, net, 50);
    /* as if the device had failed */
    net->dead.status = VLY_E_DEVICE;
    vly_status status = VLY_E_DEVICE;
    assert_true(vly_failover_again(net, &status, &f.error));
    assert_int_equal(vly_net_burst(net), 150);
    fingerprint all = fixture_run(&f, net, 100);
    fingerprint wanted = expected(&f);
    assert_same(&all, &wanted);
    vly_net_destroy(net);
    fixture_deinit(&f);
}

/* Every call, with its first, second, ... allocation failing: nothing changes,
 * and nothing is lost. */
static vly_status call(fixture *f, vly_net *net, int which)
{
    static const double w[4] = {0.5, 1, 0, 3};
    double back[4];
    uint32_t ends[4];
    vly_weights_stats stats = {.struct_size = sizeof stats};
    switch (which) {
    case 0:
        return vly_net_set(net, "plasticity.p.lambda", 0.3, &f->error);
    case 1:
        return vly_net_weights_write(net, "plastic", 1, 9, 4, w, &f->error);
    case 2:
        return vly_net_weights_read(net, "inhibits", 0, 9, 4, back, ends, ends,
                                    &f->error);
    default:
        return vly_net_weights_stats(net, "plastic", 0, &stats, &f->error);
    }
}

static void no_memory(void **state)
{
    fixture f;
    (void)state;
    fixture_init(&f, genome_learns);
    vly_net *net = fixture_net(&f, "cpu:1");
    fixture_run(&f, net, 50);
    assert_ok(vly_net_failover(net, "cpu:1", 0, 1000000, NULL, NULL, &f.error),
              f.error);
    for (int which = 0; which < 4; which++) {
        uint64_t left = 0;
        uint64_t n = 1;
        for (; left == 0; n++) {
            fingerprint before = fixture_run(&f, net, 0);
            vly_memory_fail_at(n);
            vly_status status = call(&f, net, which);
            left = vly_memory_fail_at(0);
            if (left != 0) {
                assert_ok(status, f.error);
                break;
            }
            assert_int_equal(status, VLY_E_NOMEM);
            fingerprint after = fixture_run(&f, net, 0);
            assert_same(&before, &after);
        }
        assert_true(n > 1);
    }
    vly_net_destroy(net);
    fixture_deinit(&f);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(parts),
    cmocka_unit_test(learns_and_counts),
    cmocka_unit_test(refused),
    cmocka_unit_test(as_if_compiled),
    cmocka_unit_test(frozen),
    cmocka_unit_test(kept_by_state),
    cmocka_unit_test(no_memory),
    cmocka_unit_test(from_file),
    cmocka_unit_test(kept_by_failover),
};

VLY_TEST_MAIN(tests)
