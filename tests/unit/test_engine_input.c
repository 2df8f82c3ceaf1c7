/* SPDX-License-Identifier: Apache-2.0
 * Input of the host: injection (sums, rounding, clamps, refusals) and spike
 * lists, alone and together.
 */
#include "engine_fixture.h"

#include <math.h>

/* One neuron that keeps what it gets: no leak worth naming, no threshold in
 * reach. Its potential is the sum of its input. */
static const char *const genome_sum =
    "format = 1\n[run]\ndt_ms = 1\nbursts = 10\n"
    "[area.S]\nmodel = \"feagi\"\nneurons = 3\n"
    "firing_threshold = 1e9\n"
    "[[stimulus]]\nid = \"one\"\nkind = \"spikes\"\nto = \"S\"\n"
    "neurons = [0]\nbursts = [[2, 2, 3]]\nweight = 5\n";

static double potential(fixture *f, vly_net *net, uint32_t index)
{
    double value = NAN;
    assert_ok(vly_net_read(net, "S", "potential", index, 1, &value, &f->error),
              f->error);
    return value;
}

static void inject(fixture *f, vly_net *net, uint64_t burst, uint32_t index,
                   double value)
{
    assert_ok(vly_net_inject(net, burst, "S", index, 0, value, &f->error),
              f->error);
}

static void sums_and_order(void **state)
{
    fixture f;
    (void)state;
    fixture_init(&f, genome_sum);
    vly_net *net = fixture_net(&f, "cpu:1");
    inject(&f, net, 4, 1, 100);
    inject(&f, net, 2, 0, 1);
    inject(&f, net, 2, 0, -0.5);
    inject(&f, net, 0, 2, 7);
    inject(&f, net, 2, 0, 1);
    assert_ok(vly_net_run(net, 1, &f.error), f.error);
    assert_true(potential(&f, net, 2) == 7.0);
    assert_true(potential(&f, net, 0) == 0.0);
    inject(&f, net, 1, 2, 1);
    assert_ok(vly_net_run(net, 2, &f.error), f.error);
    assert_true(potential(&f, net, 2) == 8.0);
    /* twice 5 of the list, in burst 2, and what was injected */
    assert_true(potential(&f, net, 0) == 11.5);
    assert_true(potential(&f, net, 1) == 0.0);
    assert_ok(vly_net_run(net, 2, &f.error), f.error);
    assert_true(potential(&f, net, 0) == 16.5);
    assert_true(potential(&f, net, 1) == 100.0);
    assert_int_equal(net->pending.n, 0);
    vly_net_destroy(net);
    fixture_deinit(&f);
}

/* floor(value * 2^Q + 0.5), whatever the sign */
static void rounding(void **state)
{
    fixture f;
    (void)state;
    fixture_init(&f, genome_sum);
    vly_net *net = fixture_net(&f, "cpu:1");
    double unit = (double)f.connectome->desc.areas[0].scale[0];
    inject(&f, net, 0, 0, 2.49 * unit);
    inject(&f, net, 0, 1, 2.5 * unit);
    inject(&f, net, 0, 2, -2.5 * unit);
    assert_ok(vly_net_run(net, 1, &f.error), f.error);
    assert_true(potential(&f, net, 0) == 2 * unit);
    assert_true(potential(&f, net, 1) == 3 * unit);
    assert_true(potential(&f, net, 2) == -2 * unit);
    vly_net_destroy(net);
    fixture_deinit(&f);
}

static void clamps(void **state)
{
    fixture f;
    (void)state;
    fixture_init(&f, genome_sum);
    vly_net *net = fixture_net(&f, "cpu:1");
    uint64_t n = 0;
    for (int i = 0; i < 1000; i++) {
        inject(&f, net, 0, 0, 1e300);
        inject(&f, net, 0, 1, -1e300);
        inject(&f, net, 0, 2, i % 2 == 0 ? 1e300 : -1e300);
    }
    assert_ok(vly_net_inputs(net, 1, &n, &f.error), f.error);
    assert_int_equal(n, 3);
    assert_int_equal(net->buffers.inputs[0].value, (1 << 30) - 1);
    assert_int_equal(net->buffers.inputs[1].value, -((1 << 30) - 1));
    assert_int_equal(net->buffers.inputs[2].value, 0);
    assert_ok(vly_net_run(net, 1, &f.error), f.error);
    assert_true(potential(&f, net, 0) > 0.0);
    assert_true(potential(&f, net, 1) < 0.0);
    assert_true(potential(&f, net, 2) == 0.0);
    assert_true(vly_sum_saturated(INT64_MAX, 1) == INT64_MAX);
    assert_true(vly_sum_saturated(INT64_MIN, -1) == INT64_MIN);
    assert_true(vly_sum_saturated(5, -7) == -2);
    vly_net_destroy(net);
    fixture_deinit(&f);
}

static void refused(void **state)
{
    fixture f;
    (void)state;
    fixture_init(&f, genome_sum);
    vly_net *net = fixture_net(&f, "cpu:1");
    vly_error *e = &f.error;
    assert_ok(vly_net_run(net, 3, e), f.error);
    assert_fails(vly_net_inject(net, 2, "S", 0, 0, 1, e), VLY_E_INVALID, e,
                 "burst 2 is done");
    assert_fails(vly_net_inject(net, 3, "T", 0, 0, 1, e), VLY_E_INVALID, e,
                 "no area T; there are S");
    assert_fails(vly_net_inject(net, 3, NULL, 0, 0, 1, e), VLY_E_INVALID, e,
                 "NULL");
    assert_fails(vly_net_inject(net, 3, "S", 3, 0, 1, e), VLY_E_INVALID, e,
                 "neuron 3 of area S");
    assert_fails(vly_net_inject(net, 3, "S", 0, 1, 1, e), VLY_E_INVALID, e,
                 "port 1");
    assert_fails(vly_net_inject(net, 3, "S", 0, 0, (double)NAN, e),
                 VLY_E_INVALID, e, "finite");
    assert_int_equal(vly_net_inject(net, 3, "S", 0, 9, 1, NULL), VLY_E_INVALID);
    assert_int_equal(net->pending.n, 0);
    vly_net_destroy(net);
    fixture_deinit(&f);
}

/* Nothing reaches an area that only fires; one that a stimulus reaches can be
 * reached by others too. */
static void generators(void **state)
{
    static const char *const text =
        "format = 1\n[run]\ndt_ms = 1\n"
        "[area.clock]\ngenerator = \"pulse\"\nneurons = 2\nperiod_ms = "
        "5\ncount = 2\n"
        "[area.S]\nmodel = \"lif_psc_delta\"\nneurons = 2\n"
        "[[stimulus]]\nid = \"other\"\nkind = \"spikes\"\nto = \"S\"\n"
        "neurons = [0]\ntimes_ms = [[1]]\nweight_mv = 1\n";
    fixture f;
    (void)state;
    fixture_init(&f, text);
    vly_net *net = fixture_net(&f, "cpu:1");
    vly_error *e = &f.error;
    assert_fails(vly_net_inject(net, 0, "clock", 1, 0, 1, e), VLY_E_INVALID, e,
                 "area clock is a generator, which nothing reaches");
    assert_int_equal(net->pending.n, 0);
    assert_ok(vly_net_inject(net, 0, "S", 1, 0, 1, e), f.error);
    vly_net_destroy(net);
    fixture_deinit(&f);
}

/* A conductance is added with the sign of its port, a current with both. */
static void conductances(void **state)
{
    static const char *const text =
        "format = 1\n[area.G]\nmodel = \"adex\"\nneurons = 2\n"
        "[area.I]\nmodel = \"lif_psc_exp2\"\nneurons = 2\n";
    fixture f;
    (void)state;
    fixture_init(&f, text);
    vly_net *net = fixture_net(&f, "cpu:1");
    vly_error *e = &f.error;
    assert_fails(vly_net_inject(net, 0, "G", 1, 0, -1, e), VLY_E_INVALID, e,
                 "value is -1 nS, wanted 0 or more: area G");
    assert_fails(vly_net_inject(net, 0, "G", 1, 1, 1, e), VLY_E_INVALID, e,
                 "value is 1 nS, wanted 0 or less: area G");
    for (uint32_t port = 0; port < 2; port++) {
        double sign = port == 0 ? 1 : -1;
        assert_ok(vly_net_inject(net, 0, "G", 1, port, sign, e), f.error);
        assert_ok(vly_net_inject(net, 0, "G", 0, port, 0, e), f.error);
        assert_ok(vly_net_inject(net, 0, "I", 1, port, sign, e), f.error);
        assert_ok(vly_net_inject(net, 0, "I", 1, port, -sign, e), f.error);
    }
    assert_int_equal(net->pending.n, 8);
    vly_net_destroy(net);
    fixture_deinit(&f);
}

/* Injection far ahead waits; a run across chunks finds it. */
static void far_ahead(void **state)
{
    fixture f;
    (void)state;
    fixture_init(&f, genome_sum);
    vly_net *net = fixture_net(&f, "cpu:1");
    inject(&f, net, 5000, 1, 3);
    inject(&f, net, 2000, 1, 2);
    assert_ok(vly_net_run(net, 3000, &f.error), f.error);
    assert_true(potential(&f, net, 1) == 2.0);
    assert_int_equal(net->pending.n, 1);
    assert_ok(vly_net_run(net, 2001, &f.error), f.error);
    assert_true(potential(&f, net, 1) == 5.0);
    vly_net_destroy(net);
    fixture_deinit(&f);
}

/* A spike list and the same spikes injected are one and the same. */
static void list_equals_injection(void **state)
{
    static const uint64_t kicks[] = {10, 30, 31};
    fixture f;
    fixture g;
    (void)state;
    fixture_init(&f, genome_three);
    fixture_init(&g, genome_three);
    vly_net *list = fixture_net(&f, "cpu:1");
    vly_net *mixed = fixture_net(&g, "cpu:2");
    for (int i = 0; i < 3; i++) {
        assert_ok(vly_net_inject(mixed, kicks[i], "A", 0, 0, 20.0, &g.error),
                  g.error);
        assert_ok(vly_net_inject(mixed, kicks[i], "A", 0, 0, -20.0, &g.error),
                  g.error);
    }
    fingerprint a = fixture_run(&f, list, 100);
    fingerprint b = fixture_run(&g, mixed, 100);
    assert_same(&a, &b);
    vly_net_destroy(list);
    vly_net_destroy(mixed);
    fixture_deinit(&f);
    fixture_deinit(&g);
}

/* ---- many at once ------------------------------------------------------ */

enum { MANY = 3000, PLACES = 200, AHEAD = 20 };

/* One genome with room for so many: area P, which keeps what it gets. */
static const char *const genome_wide =
    "format = 1\n[run]\ndt_ms = 1\nbursts = 10\n"
    "[area.O]\nmodel = \"feagi\"\nneurons = 5\nfiring_threshold = 1e9\n"
    "[area.P]\nmodel = \"feagi\"\nneurons = 200\nfiring_threshold = 1e9\n";

static uint32_t random_below(uint64_t *seed, uint32_t n)
{
    *seed = vly_mix64(*seed + 1);
    return (uint32_t)((*seed >> 32) * n >> 32);
}

/* In any order, one by one, at once, or a burst at a time: one sum. */
static void many_in_any_order(void **state)
{
    fixture f;
    fingerprint prints[4];
    (void)state;
    fixture_init(&f, genome_wide);
    for (int way = 0; way < 4; way++) {
        vly_net *net = fixture_net(&f, "cpu:1");
        uint64_t seed = 5;
        for (uint32_t i = 0; i < MANY; i++) {
            uint64_t burst = random_below(&seed, AHEAD);
            uint32_t index = random_below(&seed, PLACES);
            double value = (double)random_below(&seed, 9) - 2.0;
            if (way < 2)
                assert_ok(
                    vly_net_inject(net, burst, "P", index, 0, value, &f.error),
                    f.error);
            else
                assert_ok(vly_net_inject_many(net, burst, "P", 0, &index,
                                              &value, 1, &f.error),
                          f.error);
            if (way % 2 == 1 && i % 50 == 0) /* sorted now and then */
                vly_pending_sort(&net->pending);
        }
        prints[way] = fixture_run(&f, net, AHEAD);
        assert_int_equal(net->pending.n, 0);
        if (way > 0)
            assert_same(&prints[way], &prints[0]);
        vly_net_destroy(net);
    }
    fixture_deinit(&f);
}

static void all_or_nothing(void **state)
{
    static const uint32_t indices[] = {199, 0, 7, 200};
    static const double values[] = {1, 2, 3, 4};
    const double bad[] = {1, NAN};
    fixture f;
    (void)state;
    fixture_init(&f, genome_wide);
    vly_net *net = fixture_net(&f, "cpu:1");
    assert_fails(
        vly_net_inject_many(net, 0, "P", 0, indices, values, 4, &f.error),
        VLY_E_INVALID, &f.error, "neuron 200 of area P, which has 200");
    assert_fails(vly_net_inject_many(net, 0, "P", 0, indices, bad, 2, &f.error),
                 VLY_E_INVALID, &f.error, "finite");
    assert_fails(
        vly_net_inject_many(net, 0, "P", 1, indices, values, 3, &f.error),
        VLY_E_INVALID, &f.error, "port 1");
    assert_fails(
        vly_net_inject_many(net, 0, "Q", 0, indices, values, 3, &f.error),
        VLY_E_INVALID, &f.error, "no area Q");
    assert_int_equal(net->pending.n, 0);
    assert_ok(vly_net_inject_many(net, 0, "P", 0, indices, values, 0, &f.error),
              f.error);
    assert_ok(vly_net_inject_many(net, 0, "P", 0, indices, values, 3, &f.error),
              f.error);
    assert_int_equal(net->pending.n, 3);
    assert_ok(vly_net_run(net, 1, &f.error), f.error);
    for (int i = 0; i < 3; i++) {
        double value = NAN;
        assert_ok(vly_net_read(net, "P", "potential", indices[i], 1, &value,
                               &f.error),
                  f.error);
        assert_true(value == values[i]);
    }
    vly_net_destroy(net);
    fixture_deinit(&f);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(sums_and_order),
    cmocka_unit_test(rounding),
    cmocka_unit_test(clamps),
    cmocka_unit_test(refused),
    cmocka_unit_test(generators),
    cmocka_unit_test(conductances),
    cmocka_unit_test(far_ahead),
    cmocka_unit_test(list_equals_injection),
    cmocka_unit_test(many_in_any_order),
    cmocka_unit_test(all_or_nothing),
};

VLY_TEST_MAIN(tests)
