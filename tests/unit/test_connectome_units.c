/* SPDX-License-Identifier: Apache-2.0
 * q, Q, the bound and loads by hand, and what is refused.
 */
#include "volley_test.h"

#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/memory.h"
#include "connectome_builder.h"

static vly_connectome *built(const builder *b)
{
    vly_error error = VLY_ERROR_INIT;
    vly_connectome *connectome = NULL;
    assert_ok(vly_connectome_build(&b->genome, 2, &connectome, &error), error);
    return connectome;
}

static void assert_refused(const builder *b, const char *text)
{
    vly_error error = VLY_ERROR_INIT;
    vly_connectome *connectome = NULL;
    assert_int_equal(vly_connectome_build(&b->genome, 1, &connectome, &error),
                     VLY_E_PARSE);
    assert_null(connectome);
    if (!strstr(error.message, text))
        fail_msg("\"%s\" lacks \"%s\"", error.message, text);
}

static void two_areas(builder *b, const char *model, uint32_t n)
{
    builder_init(b);
    builder_area(b, "A", model, n);
    builder_area(b, "B", model, 1);
}

/* 20 mV: 20 * 2^10 = 20480 fits int16, 2^11 does not. */
static void q_of_constants(void **state)
{
    (void)state;
    static const struct {
        double weight;
        int q;
        int stored;
    } cases[] = {{20.0, 10, 20480},   {-20.0, 10, -20480},  {1.0, 14, 16384},
                 {-1.0, 15, -32768},  {87.8, 8, 22477},     {0.001, 24, 16777},
                 {32767.0, 0, 32767}, {32768.0, -1, 16384}, {1e9, -15, 30518},
                 {0.0, 24, 0}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        builder b;
        two_areas(&b, "lif_psc_exp", 1);
        builder_pair(&b, "m", 0, 1, VLY_RULE_ALL_TO_ALL)->weight =
            value_number(cases[i].weight);
        vly_connectome *c = built(&b);
        assert_int_equal(c->areas[1].q[0], cases[i].q);
        assert_int_equal(c->areas[0].q[0], 12);
        assert_close((double)c->desc.areas[1].scale[0], pow(2.0, -cases[i].q),
                     0.0);
        assert_int_equal(c->desc.projections[0].one_weight, cases[i].stored);
        int load = cases[i].stored < 0 ? -cases[i].stored : cases[i].stored;
        assert_int_equal(c->areas[1].load[0][0], load);
        double back = cases[i].stored * pow(2.0, -cases[i].q);
        assert_close(c->projections[0].weight_max, back, 0.0);
        if (cases[i].weight != 0.0)
            assert_close(c->projections[0].worst_rounding,
                         fabs(back / cases[i].weight - 1.0), 1e-12);
        vly_connectome_destroy(c);
    }
}

static void weights_lost(void **state)
{
    (void)state;
    builder b;
    two_areas(&b, "lif_psc_exp", 1);
    builder_pair(&b, "big", 0, 1, VLY_RULE_ALL_TO_ALL)->weight =
        value_number(3000.0);
    builder_pair(&b, "small", 0, 1, VLY_RULE_ALL_TO_ALL)->weight =
        value_number(1e-5);
    assert_refused(&b, "test.toml:11:1: map small (A -> B): weight 1e-05 would "
                       "become 0: q is 15 (units of 2^-15), because of weight "
                       "3000 of map big");
    b.pairs[1].weight = value_number(1e11);
    assert_refused(&b, "map small (A -> B): weight too large");
    b.pairs[1].weight = value_normal(1e-5, 1e-6);
    assert_refused(&b, "weight 1e-05 would become 0");
    b.pairs[1].weight = value_number(0x1p-16);
    vly_connectome *c = built(&b);
    assert_int_equal(c->desc.projections[1].one_weight, 1);
    assert_close(c->projections[1].worst_rounding, 1.0, 1e-12);
    assert_close(c->projections[1].share_coarse, 1.0, 0.0);
    vly_connectome_destroy(c);
}

/* A map's unit is its own where that of the port would be too coarse: 0.3
 * beside 9000 was 0.5. */
static void units_of_maps(void **state)
{
    (void)state;
    builder b;
    two_areas(&b, "lif_psc_exp", 1);
    builder_pair(&b, "big", 0, 1, VLY_RULE_ALL_TO_ALL)->weight =
        value_number(9000.0);
    builder_pair(&b, "small", 0, 1, VLY_RULE_ALL_TO_ALL)->weight =
        value_number(0.3);
    builder_pair(&b, "middle", 0, 1, VLY_RULE_ALL_TO_ALL)->weight =
        value_number(-40.0);
    vly_connectome *c = built(&b);
    const vly_projection_desc *p = c->desc.projections;
    assert_int_equal(c->areas[1].q[0], 13); /* 1 + 12 */
    assert_int_equal(p[0].shift, 12);
    assert_int_equal(p[0].one_weight, 18000);
    assert_int_equal(p[1].shift, 0);
    assert_int_equal(p[1].one_weight, 2458);
    assert_int_equal(p[2].shift, 6);
    assert_int_equal(p[2].one_weight, -5120);
    assert_int_equal(c->areas[1].load[0][0],
                     (18000 << 12) + 2458 + (5120 << 6));
    for (int i = 0; i < 3; i++)
        assert_true(c->projections[i].worst_rounding < 1e-3);
    assert_close(c->projections[0].weight_max, 9000.0, 0.0);
    assert_close(c->projections[2].weight_min, -40.0, 0.0);
    vly_connectome_destroy(c);
    /* nothing changes where one unit is fine */
    b.pairs[1].weight = value_number(300.0);
    c = built(&b);
    assert_int_equal(c->areas[1].q[0], 1);
    for (int i = 0; i < 3; i++)
        assert_int_equal(c->desc.projections[i].shift, 0);
    vly_connectome_destroy(c);
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The weights of pair 0 in the port's unit, ascending. */
static double *weights_of(const vly_connectome *c, uint64_t *n)
{
    double *weights = vly_calloc(c->desc.n_synapses, sizeof(*weights));
    assert_non_null(weights);
    *n = 0;
    for (uint32_t p = 0; p < c->desc.n_projections; p++)
        for (uint64_t i = 0; i < c->projections[p].n_synapses; i++)
            weights[(*n)++] = vly_weight_at(&c->desc.projections[p], i) *
                              c->projections[p].unit;
    qsort(weights, *n, sizeof(*weights), compare_doubles);
    return weights;
}

/* lognormal(-0.7, 2) had a mean of 13.1 and a median of 4.0 */
static void wide_law(void **state)
{
    (void)state;
    builder b;
    two_areas(&b, "lif_psc_exp", 1000);
    b.areas[1].n_neurons = 300;
    b.genome.n_neurons += 299;
    builder_pair(&b, "m", 0, 1, VLY_RULE_ALL_TO_ALL)->weight =
        value_lognormal(-0.7, 2.0);
    vly_connectome *c = built(&b);
    uint64_t n;
    double mean = 0.0;
    double *weights = weights_of(c, &n);
    assert_int_equal(n, 300000);
    for (uint64_t i = 0; i < n; i++)
        mean += weights[i] / (double)n;
    /* 300,000 draws: a standard error of 1.3% of the median, 0.05 of the mean
     * (sd 26.8), which only the far end makes */
    assert_close(weights[n / 2], exp(-0.7), 0.02);
    assert_close(mean, exp(1.3), 0.25);
    /* rows and targets are those of one map */
    assert_true(c->desc.n_projections > 1 && c->desc.n_projections <= 3);
    uint64_t total = 0;
    for (uint32_t p = 0; p < c->desc.n_projections; p++) {
        const vly_projection_desc *desc = &c->desc.projections[p];
        assert_int_equal(c->projections[p].pair, 0);
        assert_true(c->projections[p].worst_rounding < 1e-3);
        total += desc->row[1000];
        for (uint32_t k = 0; k < 1000; k++)
            for (uint64_t i = desc->row[k] + 1; i < desc->row[k + 1]; i++)
                assert_true(desc->target[i] >= desc->target[i - 1]);
        for (uint64_t i = 0; desc->shift && i < desc->row[1000]; i++)
            assert_true(vly_weight_at(desc, i) >= 512);
    }
    assert_int_equal(total, n);
    assert_int_equal(c->desc.out_degree[0], 300);
    vly_free(weights);
    vly_connectome_destroy(c);
}

static uint64_t load_by_hand(const vly_connectome *c, uint32_t neuron)
{
    uint64_t load = 0;
    for (uint32_t p = 0; p < c->desc.n_projections; p++) {
        const vly_projection_desc *desc = &c->desc.projections[p];
        for (uint64_t i = 0; i < c->projections[p].n_synapses; i++)
            if (desc->target[i] == neuron)
                load += (uint64_t)abs(vly_weight_at(desc, i)) << desc->shift;
    }
    return load;
}

/* A constant gets a note from 0.1% on, because all its synapses are off by it.
 */
static void constants_are_told_of(void **state)
{
    static const struct {
        double weight;
        double off; /* 0: not told */
    } cases[] = {{0.0126, 103 / (0.0126 * 8192) - 1},
                 {0.01255, 103 / (0.01255 * 8192) - 1},
                 {0.3, 0}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        builder b;
        two_areas(&b, "lif_psc_exp", 1);
        builder_pair(&b, "big", 0, 1, VLY_RULE_ALL_TO_ALL)->weight =
            value_number(9000.0);
        builder_pair(&b, "small", 0, 1, VLY_RULE_ALL_TO_ALL)->weight =
            value_number(cases[i].weight);
        vly_connectome *c = built(&b);
        assert_int_equal(c->areas[1].q[0], 13);
        assert_close(c->projections[0].share_coarse, 0.0, 0.0);
        assert_close(c->projections[1].share_coarse, cases[i].off != 0, 0.0);
        assert_close(c->projections[1].worst_coarse, fabs(cases[i].off), 1e-9);
        vly_connectome_destroy(c);
    }
}

/* The bound holds for what is added, whatever the unit. */
static void wide_bound(void **state)
{
    (void)state;
    builder b;
    two_areas(&b, "lif_psc_exp", 20000);
    builder_pair(&b, "big", 0, 1, VLY_RULE_ALL_TO_ALL)->weight =
        value_number(9000.0);
    builder_pair(&b, "small", 0, 1, VLY_RULE_ALL_TO_ALL)->weight =
        value_number(0.3);
    vly_connectome *c = built(&b);
    uint64_t load = load_by_hand(c, 20000);
    assert_int_equal(c->areas[1].load[0][0], load);
    assert_true(load <= UINT64_C(1) << 30);
    /* q as large as the bound allows: 20,000 * 9000.3 = 1.8e8 */
    assert_int_equal(c->areas[1].q[0], 2);
    assert_close(c->projections[1].share_coarse, 1.0, 0.0);
    assert_close(c->projections[1].worst_coarse, 1.0 / 6.0, 1e-9);
    vly_connectome_destroy(c);
}

/* 70,000 synapses of 1.0: 2^14 each is above 2^30 = 65,536 * 2^14, so q = 13 */
static void bound_lowers_q(void **state)
{
    (void)state;
    builder b;
    two_areas(&b, "lif_psc_exp", 70000);
    builder_pair(&b, "m", 0, 1, VLY_RULE_ALL_TO_ALL);
    vly_connectome *c = built(&b);
    assert_int_equal(c->areas[1].q[0], 13);
    assert_int_equal(c->areas[1].load[0][0], 70000 * 8192);
    assert_int_equal(c->desc.projections[0].one_weight, 8192);
    vly_connectome_destroy(c);
    b.areas[0].n_neurons = 65536;
    b.areas[1].first = b.genome.n_neurons = 65536;
    b.genome.n_neurons++;
    c = built(&b);
    assert_int_equal(c->areas[1].q[0], 14);
    assert_int_equal(c->areas[1].load[0][0], 1 << 30);
    vly_connectome_destroy(c);
    /* a stimulus of at most 1 * 2^14 on top is one too many */
    vly_stimulus *list = builder_stimulus(&b, "s", 1, VLY_STIMULUS_SPIKES);
    static uint64_t bursts[] = {5};
    static uint32_t neurons[] = {0};
    list->weight = 1.0;
    list->bursts = bursts;
    list->neurons = neurons;
    list->n_spikes = 1;
    c = built(&b);
    assert_int_equal(c->areas[1].q[0], 13);
    assert_int_equal(c->stimuli[0].inputs[0].value, 8192);
    vly_connectome_destroy(c);
}

static void bound_refused(void **state)
{
    (void)state;
    builder b;
    two_areas(&b, "lif_psc_exp", 40000);
    builder_pair(&b, "big", 0, 1, VLY_RULE_ALL_TO_ALL)->weight =
        value_number(2e9); /* 30518 at q = -16 */
    builder_pair(&b, "more", 0, 1, VLY_RULE_ALL_TO_ALL)->weight =
        value_number(1e6);
    assert_refused(&b,
                   "test.toml:10:1: area B, neuron 0, port 0: synapses may "
                   "add 1221320000 and stimuli 0 in one burst, wanted at most "
                   "2^30 = 1073741824 together, even at q = -16; map big from "
                   "A has the largest share, 1220720000");
}

/* A: psp 4, 100 neurons; weight 255 from each: 255 * (4 << Q) * 100 <= 2^30
 * gives Q = 13. */
static void feagi_gains(void **state)
{
    (void)state;
    builder b;
    two_areas(&b, "feagi", 100);
    *builder_param(&b, 0, "postsynaptic_current") = value_number(4.0);
    vly_pair *pair = builder_pair(&b, "m", 0, 1, VLY_RULE_ALL_TO_ALL);
    pair->weight = value_number(-255.0);
    vly_connectome *c = built(&b);
    assert_int_equal(c->desc.feagi_q, 13);
    assert_int_equal(c->areas[1].q[0], 13);
    assert_close((double)c->desc.areas[1].scale[0], 1.0 / 8192.0, 0.0);
    assert_int_equal(c->desc.projections[0].flags, VLY_PROJECTION_GAIN);
    assert_int_equal(c->desc.projections[0].one_weight, -255);
    assert_close(c->projections[0].weight_min, -255.0, 0.0);
    assert_int_equal(c->areas[1].load[0][0], 255 * (4 << 13) * 100);
    vly_connectome_destroy(c);
    /* driven by the membrane: 255, so 255 * 255 * 100 * 2^Q: Q = 7 */
    *builder_param(&b, 0, "mp_driven_psp") = value_number(1.0);
    c = built(&b);
    assert_int_equal(c->desc.feagi_q, 7);
    vly_connectome_destroy(c);
    /* divided by an out-degree of 1: no change; twice the map: half each */
    *builder_param(&b, 0, "mp_driven_psp") = value_number(0.0);
    *builder_param(&b, 0, "psp_uniform_distribution") = value_number(0.0);
    *builder_pair(&b, "n", 0, 0, VLY_RULE_ONE_TO_ONE) = b.pairs[1];
    b.pairs[1] = b.pairs[0];
    b.genome.n_pairs = 2;
    b.pairs[1].stream = b.names[0][2];
    c = built(&b);
    assert_int_equal(c->desc.out_degree[7], 2);
    assert_int_equal(c->desc.feagi_q, 13);
    assert_int_equal(c->areas[1].load[0][0], 255 * (2 << 13) * 200);
    vly_connectome_destroy(c);
    b.pairs[0].weight = value_number(1.5);
    assert_refused(&b, "wanted whole numbers from -255 to 255");
    b.pairs[0].weight = value_number(256.0);
    assert_refused(&b, "wanted whole numbers from -255 to 255");
}

/* Whole numbers only: a distribution between two of them leaves nothing. */
static void feagi_lost(void **state)
{
    (void)state;
    const vly_value lost[] = {
        value_uniform(0.1, 0.4),
        value_normal(0.2, 0.04),
        value_normal(0.0, 0.04),
        value_normal(0.3, 0.12), /* 5% become 1 */
        {.kind = VLY_VALUE_EXPONENTIAL, .a = -0.2},
        value_clip(value_normal(3.0, 2.0), -0.4, 0.4),
    };
    builder b;
    two_areas(&b, "feagi", 20);
    vly_pair *pair = builder_pair(&b, "m", 0, 1, VLY_RULE_ALL_TO_ALL);
    for (size_t i = 0; i < sizeof(lost) / sizeof(lost[0]); i++) {
        pair->weight = lost[i];
        assert_refused(&b, "would become 0, wanted whole numbers from -255 to "
                           "255 (target model feagi)");
    }
    pair->weight = lost[0];
    pair->weight.origin.line = 12;
    pair->weight.origin.column = 8;
    assert_refused(&b, "test.toml:12:8: map m (A -> B): weight 0.25 would");
    const vly_value kept[] = {value_uniform(0.0, 1.0), value_uniform(-1.0, 1.0),
                              value_normal(0.4, 5.0), value_normal(0.0, 1.0),
                              value_number(0.0)};
    for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++) {
        pair->weight = kept[i];
        vly_connectome *c = built(&b);
        assert_true(c->projections[0].worst_rounding < 0.01);
        vly_connectome_destroy(c);
    }
}

static void feagi_mixed(void **state)
{
    (void)state;
    builder b;
    builder_init(&b);
    builder_area(&b, "A", "lif_psc_exp", 2000);
    builder_area(&b, "F", "feagi", 1);
    builder_pair(&b, "m", 0, 1, VLY_RULE_ALL_TO_ALL)->weight =
        value_number(100.0);
    vly_connectome *c = built(&b);
    /* 2000 * 100 << Q <= 2^30: Q = 12 */
    assert_int_equal(c->desc.feagi_q, 12);
    assert_int_equal(c->areas[1].load[0][0], 200000 << 12);
    vly_connectome_destroy(c);
    builder_area(&b, "H", "feagi", 1);
    *builder_param(&b, 1, "postsynaptic_current") = value_number(255.0);
    builder_pair(&b, "self", 1, 2, VLY_RULE_FIXED_TOTAL_NUMBER)->count = 20000;
    b.pairs[1].weight = value_number(255.0);
    assert_refused(&b, "area H, neuron 0, port 0: synapses may add 1300500000 "
                       "and stimuli 0 in one burst");
}

/* A port of conductances takes its sign from a file too. */
static void ports_of_conductances(void **state)
{
    (void)state;
    uint32_t source[] = {0, 1, 2}, target[] = {0, 0, 0};
    double weight[] = {-3.0, 0.0, 2.0};
    const vly_edge_list edges = {
        .n = 3, .source = source, .target = target, .weight = weight};
    static const char *const models[] = {"lif_cond_exp", "adex",
                                         "lif_psc_exp2"};
    for (int i = 0; i < 3; i++) {
        builder b;
        two_areas(&b, models[i], 3);
        vly_pair *pair = builder_pair(&b, "m", 0, 1, VLY_RULE_FILE);
        pair->edges = &edges;
        pair->port = VLY_PORT_BY_SIGN;
        vly_connectome_destroy(built(&b));
        for (pair->port = 0; i < 2 && pair->port < 2; pair->port++)
            assert_refused(&b, pair->port == 0
                                   ? "map m (A -> B): weight: -3 to 2 at port "
                                     "0, wanted 0 or more: "
                                   : "weight: -3 to 2 at port 1, wanted 0 or "
                                     "less: ");
        pair->port = 0; /* currents may have both */
        weight[0] = i < 2 ? 1.0 : -3.0;
        vly_connectome_destroy(built(&b));
        weight[0] = -3.0;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(q_of_constants),
        cmocka_unit_test(weights_lost),
        cmocka_unit_test(units_of_maps),
        cmocka_unit_test(wide_law),
        cmocka_unit_test(constants_are_told_of),
        cmocka_unit_test(wide_bound),
        cmocka_unit_test(bound_lowers_q),
        cmocka_unit_test(bound_refused),
        cmocka_unit_test(feagi_gains),
        cmocka_unit_test(feagi_lost),
        cmocka_unit_test(feagi_mixed),
        cmocka_unit_test(ports_of_conductances),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
