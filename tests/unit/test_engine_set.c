/* SPDX-License-Identifier: Apache-2.0
 * Parameters changed while a net runs: a net changed before its first burst is
 * the net that was compiled with the change; what is refused changes nothing.
 */
#include "engine_fixture.h"

#include <math.h>

/* A net with the change by vly_net_set, and one compiled with it. */
static void set_equals_compiled(const char *path, const char *text,
                                double value)
{
    fixture f;
    fixture g;
    fixture_init(&f, genome_mixed);
    fixture_init_with(&g, genome_mixed, path, text);
    vly_net *plain = fixture_net(&f, "cpu:1");
    vly_net *set = fixture_net(&f, "cpu:1");
    vly_net *compiled = fixture_net(&g, "cpu:1");
    assert_ok(vly_net_set(set, path, value, &f.error), f.error);
    fingerprint a = fixture_run(&f, set, 60);
    fingerprint b = fixture_run(&g, compiled, 60);
    fingerprint c = fixture_run(&f, plain, 60);
    if (a.digest != b.digest || a.state != b.state)
        fail_msg("%s: set and compiled differ", path);
    if (a.digest == c.digest && a.state == c.state)
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
    set_equals_compiled("area.X.tau_m_ms", "20", 20);
    set_equals_compiled("area.D.tau_m_ms", "12", 12);
    set_equals_compiled("area.Z.d", "4", 4);
    set_equals_compiled("area.F.firing_threshold", "6", 6);
    set_equals_compiled("area.F.excitability", "1", 1);
    set_equals_compiled("area.F.refractory_period", "3", 3);
    set_equals_compiled("stimulus.noise.rate_hz", "1500", 1500);
    set_equals_compiled("stimulus.drive.amplitude", "20", 20);
    set_equals_compiled("stimulus.hum.sd_pa", "50", 50);
}

/* A chance of 1 and one above it, in a running net. */
static void generator_rate(void **state)
{
    static const char *const text =
        "format = 1\n[run]\ndt_ms = 0.5\nbursts = 60\n"
        "[area.P]\ngenerator = \"poisson\"\nneurons = 50\nrate_hz = 0\n";
    static const char *const path = "stimulus.generator/P.rate_hz";
    fixture f;
    vly_stats stats = {.struct_size = sizeof stats};
    (void)state;
    fixture_init(&f, text);
    vly_net *net = fixture_net(&f, "cpu:2");
    assert_ok(vly_net_run(net, 10, &f.error), f.error);
    assert_ok(vly_net_set(net, path, 2000, &f.error), f.error);
    assert_ok(vly_net_run(net, 10, &f.error), f.error);
    assert_fails(vly_net_set(net, path, 2001, &f.error), VLY_E_INVALID,
                 &f.error, "wanted at most 2000: one event a burst of 0.5 ms");
    assert_ok(vly_net_run(net, 10, &f.error), f.error);
    assert_ok(vly_net_stats(net, &stats, &f.error), f.error);
    assert_int_equal(stats.spikes, 20 * 50);
    vly_net_destroy(net);
    fixture_deinit(&f);
}

/* ---- dc ---------------------------------------------------------------- */

/* dc that starts and stops is i_e changed by hand at these bursts. */
static void dc_as_constant_input(void **state)
{
    static const char *const dc_text =
        "format = 1\n[run]\ndt_ms = 0.5\nbursts = 60\n"
        "[area.E]\nmodel = \"lif_psc_exp\"\nneurons = 2\ni_e_pa = 100\n"
        "[[stimulus]]\nid = \"a\"\nkind = \"dc\"\nto = \"E\"\n"
        "amplitude_pa = 300\nstart_burst = 7\nstop_burst = 40\n"
        "[[stimulus]]\nid = \"b\"\nkind = \"dc\"\nto = \"E\"\n"
        "amplitude_pa = 50\nstart_burst = 0\nstop_burst = 20\n";
    static const uint64_t until[] = {7, 20, 40, 200};
    static const double input[] = {150, 450, 400, 100};
    static const char *const hand_text =
        "format = 1\n[run]\ndt_ms = 0.5\nbursts = 60\n"
        "[area.E]\nmodel = \"lif_psc_exp\"\nneurons = 2\n";
    fixture f;
    fixture g;
    (void)state;
    fixture_init(&f, dc_text);
    fixture_init(&g, hand_text);
    vly_net *dc = fixture_net(&f, "cpu:1");
    vly_net *hand = fixture_net(&g, "cpu:1");
    for (int i = 0; i < 4; i++) {
        assert_ok(vly_net_set(hand, "area.E.i_e_pa", input[i], &g.error),
                  g.error);
        fingerprint a = fixture_run(&f, dc, until[i] - vly_net_burst(dc));
        fingerprint b = fixture_run(&g, hand, until[i] - vly_net_burst(hand));
        assert_same(&a, &b);
    }
    /* all at once, and an amplitude changed while it acts */
    vly_net_destroy(dc);
    dc = fixture_net(&f, "cpu:1");
    fingerprint a = fixture_run(&f, dc, 200);
    fingerprint b = fixture_run(&g, hand, 0);
    assert_same(&a, &b);
    vly_net_destroy(dc);
    vly_net_destroy(hand);
    fixture_deinit(&f);
    fixture_deinit(&g);
}

/* ---- rounding ---------------------------------------------------------- */

static double off_of(fixture *f, vly_net *net, const char *path, double value)
{
    double off = -1.0;
    assert_ok(vly_net_set(net, path, value, &f->error), f->error);
    assert_ok(vly_net_rounding(net, path, &off, &f->error), f->error);
    return off;
}

static void rounding_is_told(void **state)
{
    static const char *const wrong[] = {"area.X.nothing",
                                        "area.x.tau_m_ms",
                                        "stimulus.none.sd",
                                        "stimulus.noise.nothing",
                                        "stimulus.drive.rate_hz",
                                        "area.X",
                                        "noise",
                                        "map.DD.weight",
                                        "",
                                        NULL};
    vly_area_stats area = {.struct_size = sizeof area};
    fixture f;
    double off = -1.0;
    (void)state;
    fixture_init(&f, genome_mixed);
    vly_net *net = fixture_net(&f, "cpu:1");
    /* 2^-32 a burst of 0.5 ms is 4.6566e-7/s; a Poisson table goes up */
    const double unit_hz = 2000.0 / 4294967296.0;
    assert_close(off_of(&f, net, "stimulus.noise.rate_hz", 2.5 * unit_hz), 0.2,
                 1e-6);
    assert_close(off_of(&f, net, "stimulus.noise.rate_hz", 1e3), 0, 1e-5);
    assert_int_equal(vly_net_area_stats(net, 2, &area), VLY_OK);
    const double unit_mv = 1.0 / (double)(UINT64_C(1) << area.q[0]);
    assert_close(off_of(&f, net, "stimulus.noise.weight", 1.6 * unit_mv), 0.25,
                 1e-9);
    assert_close(off_of(&f, net, "stimulus.noise.weight_mv", 7 * unit_mv), 0,
                 0);
    /* bursts of 0.5 ms; real numbers are not rounded */
    assert_close(off_of(&f, net, "area.D.t_ref_ms", 1.25), 0.2, 1e-12);
    assert_close(off_of(&f, net, "area.D.t_ref_ms", 1.5), 0, 0);
    assert_close(off_of(&f, net, "area.D.tau_m_ms", 7.77), 0, 0);
    assert_close(off_of(&f, net, "stimulus.drive.amplitude", 1e-9), 0, 0);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        off = -1.0;
        assert_int_equal(vly_net_rounding(net, wrong[i], &off, &f.error),
                         VLY_E_INVALID);
        assert_close(off, -1.0, 0);
    }
    vly_net_destroy(net);
    fixture_deinit(&f);
}

/* ---- one value a neuron ------------------------------------------------ */

static void one_value_a_neuron(void **state)
{
    fixture f;
    double values[25];
    (void)state;
    fixture_init(&f, genome_mixed);
    vly_net *each = fixture_net(&f, "cpu:1");
    vly_net *one = fixture_net(&f, "cpu:1");
    for (int i = 0; i < 25; i++)
        values[i] = 15;
    assert_ok(vly_net_set_each(each, "X", "tau_m_ms", values, 25, &f.error),
              f.error);
    assert_ok(vly_net_set(one, "area.X.tau_m_ms", 15, &f.error), f.error);
    fingerprint a = fixture_run(&f, each, 30);
    fingerprint b = fixture_run(&f, one, 30);
    assert_same(&a, &b);
    values[7] = -1;
    assert_fails(vly_net_set_each(each, "X", "tau_m_ms", values, 25, &f.error),
                 VLY_E_INVALID, &f.error, "area.X.tau_m_ms[7] is -1");
    assert_fails(vly_net_set_each(each, "X", "tau_m_ms", values, 24, &f.error),
                 VLY_E_INVALID, &f.error, "24 values, wanted 25");
    values[7] = 16;
    assert_ok(vly_net_set_each(each, "X", "tau_m_ms", values, 25, &f.error),
              f.error);
    a = fixture_run(&f, each, 30);
    b = fixture_run(&f, one, 30);
    assert_true(a.state != b.state);
    vly_net_destroy(each);
    vly_net_destroy(one);
    fixture_deinit(&f);
}

/* ---- refused ----------------------------------------------------------- */

static void refused_without_change(void **state)
{
    static const struct {
        const char *path;
        double value;
        const char *text;
    } cases[] = {
        {"area.X.tau_m_ms", 0, "tau_m_ms is 0, wanted"},
        {"area.X.tau_m_ms", (double)INFINITY, "wanted a number"},
        {"area.X.tau_m", 5, "did you mean tau_m_ms"},
        {"area.X.v_mv", -60, "vly_net_write"},
        {"area.Y.tau_m_ms", 5, "no area Y"},
        {"area.F.refractory_period", 1.5, "whole number"},
        {"area.F.mp_driven_psp", 0.5, "whole number"},
        {"area.F.firing_threshold", 2e9, "wanted -1e+09 to 1e+09"},
        {"area.X", 5, "wanted area.NAME.PARAMETER"},
        {"map.FG.weight", 5, "nothing else changes"},
        {"stimulus.nose.rate_hz", 5, "did you mean noise"},
        {"stimulus.noise.rate_hz", -5, "wanted 0 to"},
        {"stimulus.noise.rate_hz", 1e9, "table"},
        {"stimulus.noise.sd", 5, "wanted one of rate_hz, weight"},
        {"stimulus.noise.weight_pa", 5, "wanted one of"},
        {"stimulus.noise.weight", 1e8, "2^30"},
        {"stimulus.beat.weight", 1e8, "2^30"},
        {"stimulus.beat.weight", 1e-9, "becomes 0"},
        {"stimulus.noise.weight_mv", 1e-9, "becomes 0"},
        {"stimulus.hum.sd", -1, "wanted 0 to"},
        {"stimulus.drive.mean", 1, "amplitude"},
        {"stimulus.drive.amplitude", 2e9, "wanted"},
    };
    fixture f;
    (void)state;
    fixture_init(&f, genome_mixed);
    vly_net *plain = fixture_net(&f, "cpu:1");
    vly_net *tried = fixture_net(&f, "cpu:1");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_fails(
            vly_net_set(tried, cases[i].path, cases[i].value, &f.error),
            VLY_E_INVALID, &f.error, cases[i].text);
        fingerprint a = fixture_run(&f, plain, 2);
        fingerprint b = fixture_run(&f, tried, 2);
        assert_same(&a, &b);
    }
    assert_int_equal(vly_net_set(tried, NULL, 1, NULL), VLY_E_INVALID);
    vly_net_destroy(plain);
    vly_net_destroy(tried);
    fixture_deinit(&f);
}

/* With two ports the sign chose one. */
static void signs_stay(void **state)
{
    static const char *const text =
        "format = 1\n[run]\ndt_ms = 0.5\nbursts = 60\n"
        "[area.E]\nmodel = \"lif_cond_exp\"\nneurons = 2\n"
        "[[stimulus]]\nid = \"a\"\nkind = \"poisson\"\nto = \"E\"\n"
        "rate_hz = 100\nweight_ns = -20\n"
        "[[stimulus]]\nid = \"b\"\nkind = \"normal\"\nto = \"E\"\n"
        "mean_ns = 3\nsd_ns = 0.1\n";
    fixture f;
    (void)state;
    fixture_init(&f, text);
    vly_net *net = fixture_net(&f, "cpu:1");
    assert_int_equal(f.connectome->stimuli[0].port, 1);
    assert_int_equal(f.connectome->stimuli[1].port, 0);
    assert_fails(vly_net_set(net, "stimulus.a.weight", 20, &f.error),
                 VLY_E_INVALID, &f.error, "wanted the sign of -20");
    assert_fails(vly_net_set(net, "stimulus.b.mean", -3, &f.error),
                 VLY_E_INVALID, &f.error, "wanted the sign of 3");
    assert_fails(vly_net_set(net, "stimulus.b.sd", 0.6, &f.error),
                 VLY_E_INVALID, &f.error, "wanted a mean of at least 6 sd");
    assert_fails(vly_net_set(net, "stimulus.b.mean", 0.5, &f.error),
                 VLY_E_INVALID, &f.error, "wanted a mean of at least 6 sd");
    assert_ok(vly_net_set(net, "stimulus.b.sd", 0.15, &f.error), f.error);
    assert_ok(vly_net_set(net, "stimulus.a.weight", -10, &f.error), f.error);
    assert_ok(vly_net_set(net, "stimulus.b.mean", 1, &f.error), f.error);
    vly_net_destroy(net);
    fixture_deinit(&f);
}

/* ---- the bound --------------------------------------------------------- */

/* 200 sources with weight 100 and psp 100: with Q at its largest for that,
 * 255 is too much. */
static const char *const genome_tight =
    "format = 1\n[run]\ndt_ms = 1\nbursts = 10\n"
    "[area.S]\nmodel = \"feagi\"\nneurons = 200\npostsynaptic_current = 100\n"
    "[area.T]\nmodel = \"feagi\"\nneurons = 2\n"
    "[[map]]\nfrom = \"S\"\nto = \"T\"\nrule = \"all_to_all\"\n"
    "weight = 100\ndelay_bursts = 1\n"
    "[[stimulus]]\nid = \"in\"\nkind = \"poisson\"\nto = \"T\"\n"
    "rate_hz = 10\nweight = 1\n";

static void bound_checked_again(void **state)
{
    fixture f;
    double each[200];
    (void)state;
    fixture_init(&f, genome_tight);
    vly_net *net = fixture_net(&f, "cpu:1");
    uint64_t load = f.connectome->areas[1].load[0][0];
    assert_int_equal(load,
                     UINT64_C(200) * 100 * 100 << f.connectome->desc.feagi_q);
    assert_fails(vly_net_set(net, "area.S.postsynaptic_current", 255, &f.error),
                 VLY_E_INVALID, &f.error, "neuron 0 of area T");
    assert_fails(vly_net_set(net, "area.S.mp_driven_psp", 1, &f.error),
                 VLY_E_INVALID, &f.error, "2^30");
    assert_ok(vly_net_set(net, "area.S.postsynaptic_current", 10, &f.error),
              f.error);
    assert_int_equal(net->live.load[VLY_PORTS_MAX][0], load / 10);
    /* a tenth of the sources may now be strong */
    for (int i = 0; i < 200; i++)
        each[i] = i < 20 ? 255 : 10;
    assert_ok(
        vly_net_set_each(net, "S", "postsynaptic_current", each, 200, &f.error),
        f.error);
    assert_int_equal(net->live.load[VLY_PORTS_MAX][1],
                     UINT64_C(100) * (20 * 255 + 180 * 10)
                         << f.connectome->desc.feagi_q);
    /* what the synapses leave, a stimulus may use, and no more */
    double room = (double)(VLY_LOAD_MAX - net->live.load[VLY_PORTS_MAX][0]) *
                  (double)f.connectome->desc.areas[1].scale[0];
    uint32_t most = f.connectome->desc.stimuli[0].n_thresholds;
    assert_fails(vly_net_set(net, "stimulus.in.weight",
                             vly_floor(room / most) + 1, &f.error),
                 VLY_E_INVALID, &f.error, "2^30");
    assert_ok(vly_net_set(net, "stimulus.in.weight", vly_floor(room / most),
                          &f.error),
              f.error);
    assert_int_equal(
        vly_net_set(net, "area.S.postsynaptic_current", 100, &f.error),
        VLY_E_INVALID);
    /* divided by the out-degree of 2, twice as much fits */
    assert_ok(vly_net_set(net, "stimulus.in.weight", 1, &f.error), f.error);
    assert_ok(vly_net_set(net, "area.S.postsynaptic_current", 100, &f.error),
              f.error);
    assert_int_equal(net->live.load[VLY_PORTS_MAX][0], load);
    assert_ok(vly_net_set(net, "area.S.psp_uniform_distribution", 0, &f.error),
              f.error);
    assert_int_equal(net->live.load[VLY_PORTS_MAX][0], load / 2);
    /* and moves with the net */
    assert_ok(vly_net_swap(net, "cpu:2", 0, &f.error), f.error);
    assert_int_equal(net->live.load[VLY_PORTS_MAX][0], load / 2);
    assert_ok(vly_net_run(net, 5, &f.error), f.error);
    vly_net_destroy(net);
    fixture_deinit(&f);
}

/* The weight of a spike list holds from the next burst on. */
static void weight_of_a_list(void **state)
{
    static spike_log log;
    fixture f;
    (void)state;
    fixture_init(&f, genome_three);
    vly_net *net = fixture_net(&f, "cpu:1");
    log = (spike_log){.fail_at = UINT64_MAX};
    vly_net_on_spikes(net, spike_log_add, &log);
    assert_ok(vly_net_run(net, 11, &f.error), f.error);
    assert_ok(vly_net_set(net, "stimulus.kick.weight_mv", 10, &f.error),
              f.error);
    assert_ok(vly_net_run(net, 50, &f.error), f.error);
    assert_int_equal(log.n, 2); /* A 10, B 25; the kick of burst 31 is weak */
    vly_net_destroy(net);
    fixture_deinit(&f);
}

static void sentences(void **state)
{
    fixture f;
    (void)state;
    fixture_init(&f, genome_mixed);
    vly_net *net = fixture_net(&f, "cpu:1");
    vly_error *e = &f.error;
    assert_fails(vly_net_set(net, NULL, 3, e), VLY_E_INVALID, e,
                 "path is NULL, wanted area.NAME.PARAMETER");
    /* as when compiled: not 0, and yet nothing of it would be left */
    assert_fails(vly_net_set(net, "stimulus.hum.mean", 1e-30, e), VLY_E_INVALID,
                 e, "becomes 0");
    assert_fails(vly_net_set(net, "stimulus.noise.weight", 1e-30, e),
                 VLY_E_INVALID, e, "becomes 0");
    assert_fails(vly_net_set(net, "stimulus.beat.weight", 1e-30, e),
                 VLY_E_INVALID, e, "becomes 0");
    assert_ok(vly_net_set(net, "stimulus.hum.mean", 0, e), f.error);
    assert_fails(vly_net_set(net, "stimulus.hum.sd", 1e-30, e), VLY_E_INVALID,
                 e, "becomes 0");
    assert_ok(vly_net_set(net, "stimulus.hum.sd", 0, e), f.error);
    vly_net_destroy(net);
    fixture_deinit(&f);
}

static void text_of_nothing(void **state)
{
    vly_error error = VLY_ERROR_INIT;
    vly_genome *genome = NULL;
    (void)state;
    assert_fails(vly_genome_parse("x", 1, NULL, NULL, 0, &genome, &error),
                 VLY_E_INVALID, &error, "name is NULL");
    assert_fails(vly_genome_parse(NULL, 5, "g", NULL, 0, &genome, &error),
                 VLY_E_INVALID, &error, "text is NULL");
    assert_true(vly_genome_parse(NULL, 0, "g", NULL, 0, &genome, &error) !=
                VLY_OK);
    assert_null(genome);
}

/* A list by neuron or over time has no single value that could change. */
static void listed_refused(void **state)
{
    fixture f;
    (void)state;
    fixture_init(&f, "format = 1\n[run]\ndt_ms = 0.1\n[area.A]\n"
                     "model = \"lif_psc_exp\"\nneurons = 3\n"
                     "[[stimulus]]\nid = \"list\"\nkind = \"poisson\"\n"
                     "to = \"A\"\nrate_hz = [10, 0, 0]\nweight_pa = 5\n"
                     "[[stimulus]]\nid = \"steps\"\nkind = \"dc\"\n"
                     "to = \"A\"\nat_ms = [1, 2]\namplitude_pa = [5, 0]\n"
                     "[[stimulus]]\nid = \"equal\"\nkind = \"poisson\"\n"
                     "to = \"A\"\nrate_hz = [10, 10, 10]\nweight_pa = 5\n");
    vly_net *net = fixture_net(&f, "cpu:1");
    assert_fails(vly_net_set(net, "stimulus.list.rate_hz", 5, &f.error),
                 VLY_E_INVALID, &f.error, "has a list of values");
    assert_fails(vly_net_set(net, "stimulus.steps.amplitude", 5, &f.error),
                 VLY_E_INVALID, &f.error, "has a list of values");
    assert_ok(vly_net_set(net, "stimulus.equal.rate_hz", 5, &f.error), f.error);
    vly_net_destroy(net);
    fixture_deinit(&f);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(listed_refused),
    cmocka_unit_test(sentences),
    cmocka_unit_test(text_of_nothing),
    cmocka_unit_test(as_if_compiled),
    cmocka_unit_test(generator_rate),
    cmocka_unit_test(dc_as_constant_input),
    cmocka_unit_test(rounding_is_told),
    cmocka_unit_test(one_value_a_neuron),
    cmocka_unit_test(refused_without_change),
    cmocka_unit_test(signs_stay),
    cmocka_unit_test(bound_checked_again),
    cmocka_unit_test(weight_of_a_list),
};

VLY_TEST_MAIN(tests)
