/* SPDX-License-Identifier: Apache-2.0
 * Nets with short-term plasticity: changes while events are under way,
 * snapshots, files, fail-over, and what is refused.
 */
#include "engine_fixture.h"

#include <stdlib.h>
#include <unistd.h>

/* Spikes of every area; maps of one delay and of many, by sign, of both rules;
 * with ends (x_start) that are not those of a source without a past. */
static const char *const genome_gains =
    "format = 1\n[run]\ndt_ms = 0.5\nbursts = 400\n"
    "[area.A]\nmodel = \"lif_psc_delta\"\nneurons = 40\n"
    "[area.B]\nmodel = \"lif_psc_exp2\"\nneurons = 10\n"
    "[plasticity.d]\nrule = \"tsodyks2\"\ntau_rec_ms = 30\nx_start = 0.5\n"
    "[plasticity.f]\nrule = \"tsodyks\"\nU = 0.1\ntau_rec_ms = 20\n"
    "tau_fac_ms = 50\nu_start = 0.3\nx_start = 0.6\ny_start = 0.2\n"
    "[[map]]\nid = \"many\"\nfrom = \"A\"\nto = \"A\"\n"
    "rule = \"fixed_in_degree\"\nin_degree = 8\n"
    "weight_mv = { uniform = [0, 3] }\n"
    "delay_ms = { uniform = [1, 20] }\nplasticity = \"d\"\n"
    "[[map]]\nid = \"signed\"\nfrom = \"A\"\nto = \"B\"\n"
    "rule = \"fixed_in_degree\"\nin_degree = 12\n"
    "weight_pa = { uniform = [-1000, 5000] }\n"
    "delay_ms = { uniform = [1, 9] }\nplasticity = \"f\"\n"
    "[[map]]\nid = \"one\"\nfrom = \"B\"\nto = \"A\"\nrule = \"all_to_all\"\n"
    "weight_mv = -2\ndelay_ms = 1.5\nplasticity = \"d\"\n"
    "[[stimulus]]\nid = \"s\"\nkind = \"poisson\"\nto = \"A\"\n"
    "rate_hz = 3000\nweight_mv = 0.9\n";

/* In the middle of events under way. */
static void change(fixture *f, vly_net *net)
{
    assert_ok(vly_net_set(net, "plasticity.d.U", 0.05, &f->error), f->error);
    assert_ok(vly_net_set(net, "plasticity.f.U", 0.6, &f->error), f->error);
}

static fingerprint expected(fixture *f, const char *backend)
{
    vly_net *net = fixture_net(f, backend);
    fixture_run(f, net, 100);
    change(f, net);
    fingerprint all = fixture_run(f, net, 150);
    assert_true(all.spikes > 500);
    vly_net_destroy(net);
    return all;
}

static void changes_at_once(void **state)
{
    fixture f;
    (void)state;
    fixture_init(&f, genome_gains);
    fingerprint wanted = expected(&f, "cpu:1");
    fingerprint threads = expected(&f, "cpu:3");
    assert_same(&threads, &wanted);
    /* there and back: as if nothing had been changed */
    vly_net *net = fixture_net(&f, "cpu:2");
    fixture_run(&f, net, 250);
    fingerprint unchanged = fixture_run(&f, net, 0);
    vly_net_destroy(net);
    assert_true(unchanged.digest != wanted.digest);
    net = fixture_net(&f, "cpu:2");
    fixture_run(&f, net, 100);
    change(&f, net);
    assert_ok(vly_net_set(net, "plasticity.d.U", 0.5, &f.error), f.error);
    assert_ok(vly_net_set(net, "plasticity.f.U", 0.1, &f.error), f.error);
    fingerprint back = fixture_run(&f, net, 150);
    assert_same(&back, &unchanged);
    vly_net_destroy(net);
    fixture_deinit(&f);
}

static fingerprint with_table(const char *table, const char *key)
{
    char text[1200];
    fixture f;
    snprintf(text, sizeof text,
             "format = 1\n[run]\ndt_ms = 0.5\nbursts = 300\n"
             "[area.A]\nmodel = \"lif_psc_delta\"\nneurons = 90\n"
             "[area.B]\nmodel = \"lif_cond_exp\"\nneurons = 30\n%s"
             "[[map]]\nfrom = \"A\"\nto = \"A\"\nrule = \"fixed_in_degree\"\n"
             "in_degree = 8\nweight_mv = { normal = [0, 2] }\n"
             "delay_ms = { uniform = [1, 20] }\n%s"
             "[[map]]\nfrom = \"A\"\nto = \"B\"\nrule = \"all_to_all\"\n"
             "weight_ns = { lognormal = [0.1, 2] }\ndelay_ms = 2\n%s"
             "[[stimulus]]\nid = \"s\"\nkind = \"poisson\"\nto = \"A\"\n"
             "rate_hz = 3000\nweight_mv = 0.9\n",
             table, key, key);
    fixture_init(&f, text);
    vly_net *net = fixture_net(&f, "cpu:2");
    fingerprint all = fixture_run(&f, net, 300);
    vly_net_destroy(net);
    fixture_deinit(&f);
    return all;
}

/* What uses all resources and has them again at once has gain 1: the spikes are
 * those without short-term plasticity. */
static void gain_of_one(void **state)
{
    (void)state;
    fingerprint plain = with_table("", "");
    fingerprint full = with_table("[plasticity.p]\nrule = \"tsodyks2\"\n"
                                  "U = 1\ntau_rec_ms = 0.001\n",
                                  "plasticity = \"p\"\n");
    assert_true(plain.spikes > 500);
    assert_true(full.spikes == plain.spikes && full.digest == plain.digest);
    assert_true(full.state != plain.state); /* it has states of sources */
}

/* A net that has U from the start is one in which it is set before burst 0. */
static void set_equals_compiled(void **state)
{
    fixture f;
    (void)state;
    fixture_init_with(&f, genome_gains, "plasticity.d.U", "0.2");
    vly_net *net = fixture_net(&f, "cpu:1");
    fingerprint compiled = fixture_run(&f, net, 200);
    vly_net_destroy(net);
    fixture_deinit(&f);
    fixture_init(&f, genome_gains);
    net = fixture_net(&f, "cpu:1");
    assert_ok(vly_net_set(net, "plasticity.d.U", 0.2, &f.error), f.error);
    fingerprint set = fixture_run(&f, net, 200);
    assert_true(set.digest == compiled.digest && set.state == compiled.state);
    vly_net_destroy(net);
    fixture_deinit(&f);
}

static void kept_by_state(void **state)
{
    fixture f;
    vly_state *kept = NULL;
    vly_state *loaded = NULL;
    vly_net *resumed = NULL;
    char path[] = "/tmp/volley_gains_XXXXXX";
    (void)state;
    fixture_init(&f, genome_gains);
    fingerprint wanted = expected(&f, "cpu:1");
    int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    vly_net *net = fixture_net(&f, "cpu:3");
    fixture_run(&f, net, 100);
    change(&f, net);
    /* with events under way that were sent before the change, and after it */
    fixture_run(&f, net, 20);
    assert_ok(vly_net_snapshot(net, &kept, &f.error), f.error);
    assert_ok(vly_net_swap(net, "cpu:2", 0, &f.error), f.error);
    fingerprint swapped = fixture_run(&f, net, 130);
    assert_same(&swapped, &wanted);
    assert_ok(vly_net_set(net, "plasticity.d.U", 0.9, &f.error), f.error);
    assert_ok(vly_net_restore(net, kept, &f.error), f.error);
    fingerprint restored = fixture_run(&f, net, 130);
    assert_same(&restored, &wanted);
    assert_ok(vly_state_save(kept, path, &f.error), f.error);
    assert_ok(vly_state_load(path, &loaded, &f.error), f.error);
    assert_ok(vly_net_resume(f.connectome, f.registry, "cpu:2", 0, loaded,
                             &resumed, &f.error),
              f.error);
    fingerprint again = fixture_run(&f, resumed, 130);
    assert_same(&again, &wanted);
    unlink(path);
    vly_state_destroy(kept);
    vly_state_destroy(loaded);
    vly_net_destroy(net);
    vly_net_destroy(resumed);
    fixture_deinit(&f);
}

static void from_file(void **state)
{
    fixture f;
    vly_connectome *loaded = NULL;
    vly_net *net = NULL;
    char path[] = "/tmp/volley_gains_XXXXXX";
    (void)state;
    fixture_init(&f, genome_gains);
    fingerprint wanted = expected(&f, "cpu:1");
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
    vly_net_destroy(net);
    vly_connectome_destroy(loaded);
    unlink(path);
    fixture_deinit(&f);
}

static void kept_by_failover(void **state)
{
    fixture f;
    (void)state;
    fixture_init(&f, genome_gains);
    vly_net *net = fixture_net(&f, "cpu:1");
    fixture_run(&f, net, 100);
    assert_ok(vly_net_failover(net, "cpu:2", 0, 1000000, NULL, NULL, &f.error),
              f.error);
    change(&f, net);
    fixture_run(&f, net, 50);
    net->dead.status = VLY_E_DEVICE;
    vly_status status = VLY_E_DEVICE;
    assert_true(vly_failover_again(net, &status, &f.error));
    fingerprint all = fixture_run(&f, net, 100);
    fingerprint wanted = expected(&f, "cpu:1");
    assert_same(&all, &wanted);
    vly_net_destroy(net);
    fixture_deinit(&f);
}

static void refused(void **state)
{
    fixture f;
    double w = 1;
    vly_net_projection_info info = {.struct_size = sizeof info};
    (void)state;
    fixture_init(&f, genome_gains);
    vly_net *net = fixture_net(&f, "cpu:1");
    fingerprint before = fixture_run(&f, net, 50);
#define REFUSED(call, text) assert_fails(call, VLY_E_INVALID, &f.error, text)
    REFUSED(vly_net_set(net, "plasticity.d.tau_rec_ms", 10, &f.error),
            "plasticity.d.tau_rec_ms cannot change in a running net");
    REFUSED(vly_net_set(net, "plasticity.f.y_start", 0.1, &f.error),
            "plasticity.f.y_start cannot change in a running net: it is of the "
            "start");
    REFUSED(vly_net_set(net, "plasticity.d.U", 1.5, &f.error),
            "plasticity.d.U is 1.5, wanted 0 to 1");
    REFUSED(vly_net_set(net, "plasticity.d.frozen", 1, &f.error),
            "tsodyks2 (plasticity d) has no parameter frozen");
    REFUSED(vly_net_set(net, "plasticity.d.w_max_mv", 1, &f.error),
            "wanted a parameter of tsodyks2");
    REFUSED(vly_net_weights_write(net, "many", 0, 0, 1, &w, &f.error),
            "map many does not learn");
    /* its weights are those of the genome, and it is known by its rule */
    assert_ok(
        vly_net_weights_read(net, "one", 0, 0, 1, &w, NULL, NULL, &f.error),
        f.error);
    assert_true(w == -2.0);
    assert_ok(vly_net_projection(net, "many", 0, &info, &f.error), f.error);
    assert_int_equal(info.learns, 0);
    assert_string_equal(info.plasticity, "d");
    assert_string_equal(info.rule, "tsodyks2");
    fingerprint after = fixture_run(&f, net, 0);
    assert_same(&after, &before);
    vly_net_destroy(net);
    /* a backend of an older minor, by name */
    vly_status status =
        vly_net_create(f.connectome, f.registry, "template", 0, &net, &f.error);
    assert_int_equal(status, VLY_E_UNSUPPORTED);
    assert_non_null(strstr(f.error.message, "has short-term plasticity, which "
                                            "this backend does not know"));
    fixture_deinit(&f);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(changes_at_once),
    cmocka_unit_test(gain_of_one),
    cmocka_unit_test(set_equals_compiled),
    cmocka_unit_test(kept_by_state),
    cmocka_unit_test(from_file),
    cmocka_unit_test(kept_by_failover),
    cmocka_unit_test(refused),
};

VLY_TEST_MAIN(tests)
