/* SPDX-License-Identifier: Apache-2.0
 * Weights, delays, parameters and initial values against their distributions
 * (libm here only), fixed seeds, significance 1e-4.
 */
#include "volley_test.h"

#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/number.h"
#include "connectome/value_law.h"
#include "connectome_builder.h"

#define N 200000

static vly_connectome *built(const builder *b)
{
    vly_error error = VLY_ERROR_INIT;
    vly_connectome *connectome = NULL;
    assert_ok(vly_connectome_build(&b->genome, 2, &connectome, &error), error);
    return connectome;
}

static vly_pair *synapses(builder *b)
{
    builder_init(b);
    builder_area(b, "A", "lif_psc_delta", 100);
    vly_pair *pair = builder_pair(b, "m", 0, 0, VLY_RULE_FIXED_TOTAL_NUMBER);
    pair->count = N;
    return pair;
}

static double cdf_normal(double x, double mean, double sd)
{
    return 0.5 * erfc((mean - x) / (sd * sqrt(2.0)));
}

/* Cumulative share of a value below x */
static double cdf_of(const vly_value *v, double x)
{
    switch (v->kind) {
    case VLY_VALUE_NORMAL:
        return cdf_normal(x, v->a, v->b);
    case VLY_VALUE_LOGNORMAL:
        return x > 0.0 ? cdf_normal(log(x), v->a, v->b) : 0.0;
    case VLY_VALUE_EXPONENTIAL:
        return x / v->a > 0.0 ? 1.0 - exp(-x / v->a) : 0.0;
    default:
        return x < v->a ? 0.0 : x > v->b ? 1.0 : (x - v->a) / (v->b - v->a);
    }
}

/* Kolmogorov-Smirnov distance times sqrt(n): integers j stand for j unit, so
 * the step of the sample is compared at the cells' edges. */
static double ks_integers(const int32_t *sample, size_t n, double unit,
                          const vly_value *v, double lo, double hi)
{
    static double counts[65536];
    double from = cdf_of(v, lo), to = cdf_of(v, hi);
    double sum = 0.0, worst = 0.0;
    memset(counts, 0, sizeof(counts));
    for (size_t i = 0; i < n; i++)
        counts[sample[i] + 32768]++;
    for (int32_t j = -32768; j < 32768; j++) {
        double edge = (j + 0.5) * unit;
        if (edge < lo)
            continue;
        sum += counts[j + 32768];
        double share = edge > hi ? 1.0 : (cdf_of(v, edge) - from) / (to - from);
        double off = fabs(sum / (double)n - share);
        worst = off > worst ? off : worst;
    }
    return worst * sqrt((double)n);
}

#define KS_LIMIT 2.23 /* sqrt(-log(1e-4 / 2) / 2) */

static void weight_laws(void **state)
{
    (void)state;
    const struct {
        vly_value value;
        double lo, hi;
    } cases[] = {
        {value_normal(87.8, 8.78), 87.8 - 6 * 8.78, 87.8 + 6 * 8.78},
        {value_clip(value_normal(-351.2, 35.12), -HUGE_VAL, 0.0),
         -351.2 - 6 * 35.12, 0.0},
        {value_clip(value_normal(0.1, 0.2), 0.0, HUGE_VAL), 0.0, 1.3},
        {value_clip(value_normal(0.0, 1.0), 2.0, 3.0), 2.0, 3.0},
        {value_uniform(-0.5, 1.5), -0.5, 1.5},
        {{.kind = VLY_VALUE_LOGNORMAL, .a = 1.0, .b = 0.5}, 0.0, 55.0},
        {{.kind = VLY_VALUE_EXPONENTIAL, .a = 2.0}, 0.0, 14.0},
        {{.kind = VLY_VALUE_EXPONENTIAL, .a = -2.0}, -14.0, 0.0},
    };
    static int32_t sample[N];
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        builder b;
        vly_value v = cases[i].value;
        synapses(&b)->weight = v;
        vly_connectome *c = built(&b);
        double unit = (double)c->desc.areas[0].scale[0];
        for (int k = 0; k < N; k++) {
            sample[k] = vly_weight_at(&c->desc.projections[0], (uint64_t)k);
            assert_true(sample[k] * unit >= cases[i].lo - 1e-9);
            assert_true(sample[k] * unit <= cases[i].hi + 1e-9);
        }
        /* a negative exponential's cumulative share runs the other way */
        if (v.kind == VLY_VALUE_EXPONENTIAL && v.a < 0.0) {
            for (int k = 0; k < N; k++)
                sample[k] = -sample[k];
            v.a = -v.a;
            assert_true(ks_integers(sample, N, unit, &v, 0.0, 14.0) < KS_LIMIT);
        } else {
            assert_true(ks_integers(sample, N, unit, &v, cases[i].lo,
                                    cases[i].hi) < KS_LIMIT);
        }
        assert_true(c->projections[0].worst_rounding < 1e-3);
        vly_connectome_destroy(c);
    }
}

static void delay_laws(void **state)
{
    (void)state;
    const struct {
        vly_value value;
        uint32_t first, last;
    } cases[] = {
        {value_normal(1.5, 0.75), 1, 60},
        {value_clip(value_normal(1.5, 0.75), 1.0, 2.0), 10, 20},
        {value_uniform(0.5, 2.0), 5, 20},
        {{.kind = VLY_VALUE_EXPONENTIAL, .a = 1.0}, 1, 70},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        builder b;
        double counts[300] = {0};
        double chi2 = 0.0, cells = 0.0;
        synapses(&b)->delay_ms = cases[i].value;
        vly_connectome *c = built(&b);
        const vly_projection_desc *desc = &c->desc.projections[0];
        const vly_value *v = &cases[i].value;
        double lo = (cases[i].first - 0.5) * 0.1;
        double hi = (cases[i].last + 0.5) * 0.1;
        if (v->clipped) {
            lo = v->clip_lo;
            hi = v->clip_hi;
        }
        double total = cdf_of(v, hi) - cdf_of(v, lo);
        assert_int_equal(desc->base_delay, cases[i].first);
        assert_true(desc->base_delay + desc->delay_max <= cases[i].last);
        assert_int_equal(c->desc.max_delay, desc->base_delay + desc->delay_max);
        for (int k = 0; k < N; k++) {
            assert_true(desc->delay[k] <= desc->delay_max);
            counts[desc->base_delay + desc->delay[k]]++;
        }
        for (uint32_t d = cases[i].first; d <= cases[i].last; d++) {
            double from = fmax((d - 0.5) * 0.1, lo);
            double to = fmin((d + 0.5) * 0.1, hi);
            double mean = N * (cdf_of(v, to) - cdf_of(v, from)) / total;
            if (mean < 5.0)
                continue;
            chi2 += (counts[d] - mean) * (counts[d] - mean) / mean;
            cells++;
        }
        assert_true(chi2 < chi2_limit(cells - 1.0));
        vly_connectome_destroy(c);
    }
}

static void delay_constants(void **state)
{
    (void)state;
    builder b;
    vly_error error = VLY_ERROR_INIT;
    synapses(&b)->delay_ms = value_number(1.26);
    vly_connectome *c = built(&b);
    assert_int_equal(c->desc.projections[0].base_delay, 13);
    assert_null(c->desc.projections[0].delay);
    vly_connectome_destroy(c);
    /* all in one burst: no array either */
    b.pairs[0].delay_ms = value_uniform(0.96, 1.04);
    c = built(&b);
    assert_int_equal(c->desc.projections[0].base_delay, 10);
    assert_null(c->desc.projections[0].delay);
    vly_connectome_destroy(c);
    c = NULL;
    b.pairs[0].delay_ms = value_number(0.04);
    assert_int_equal(vly_connectome_build(&b.genome, 1, &c, &error),
                     VLY_E_PARSE);
    assert_non_null(strstr(error.message, "delay: 0.04 ms, wanted 1 to"));
    b.pairs[0].delay_ms = value_uniform(0.1, 7000.0);
    assert_int_equal(vly_connectome_build(&b.genome, 1, &c, &error),
                     VLY_E_PARSE);
    assert_non_null(strstr(error.message, "wanted at most 65536 values"));
    assert_null(c);
}

enum { SIDE = 300 };

/* Weights and delays of all pairs of neurons, by their indices. */
static void read_square(const vly_connectome *c, float weight[SIDE][SIDE],
                        uint32_t delay[SIDE][SIDE])
{
    uint64_t n = 0;
    for (uint32_t p = 0; p < c->desc.n_projections; p++) {
        const vly_projection_desc *desc = &c->desc.projections[p];
        assert_int_equal(c->projections[p].pair, 0);
        assert_true(desc->delay_max <= 255);
        for (uint32_t k = 0; k < SIDE; k++)
            for (uint64_t i = desc->row[k]; i < desc->row[k + 1]; i++, n++) {
                const uint32_t t = desc->target[i];
                assert_true(i == desc->row[k] || t > desc->target[i - 1]);
                assert_true(delay[k][t] == 0);
                weight[k][t] =
                    (float)vly_weight_at(desc, i) * (float)(1 << desc->shift);
                delay[k][t] =
                    desc->base_delay + (desc->delay ? desc->delay[i] : 0);
                assert_true(!desc->delay || desc->delay[i] <= desc->delay_max);
            }
    }
    assert_int_equal(n, SIDE * SIDE);
}

/* More than 256 values: a projection for each 256 bursts, beside those for
 * shifts; each synapse keeps the weight of its place. */
static void delays_apart(void **state)
{
    (void)state;
    static float weight[2][SIDE][SIDE];
    static uint32_t delay[2][SIDE][SIDE];
    const vly_value delays[] = {value_number(1), value_uniform(0.05, 90.05)};
    double counts[30] = {0}, chi2 = 0;
    for (int k = 0; k < 2; k++) {
        builder b;
        builder_init(&b);
        builder_area(&b, "A", "lif_psc_delta", SIDE);
        vly_pair *pair = builder_pair(&b, "m", 0, 0, VLY_RULE_ALL_TO_ALL);
        pair->weight = value_lognormal(-3, 2);
        pair->delay_ms = delays[k];
        vly_connectome *c = built(&b);
        /* three shifts, of the largest weights few synapses */
        assert_int_equal(c->desc.n_projections, k ? 10 : 3);
        read_square(c, weight[k], delay[k]);
        assert_int_equal(c->desc.max_delay, k ? 900 : 10);
        vly_connectome_destroy(c);
    }
    assert_memory_equal(weight[0], weight[1], sizeof weight[0]);
    for (int k = 0; k < SIDE; k++)
        for (int t = 0; t < SIDE; t++) {
            assert_true(delay[1][k][t] >= 1 && delay[1][k][t] <= 900);
            counts[(delay[1][k][t] - 1) / 30]++;
        }
    for (int k = 0; k < 30; k++) {
        const double mean = SIDE * SIDE / 30.0;
        chi2 += (counts[k] - mean) * (counts[k] - mean) / mean;
    }
    assert_true(chi2 < chi2_limit(29));
}

/* Every integer of a small table has the share it should, exactly. */
static void table_shares(void **state)
{
    (void)state;
    vly_law law;
    vly_discrete table = {0};
    const char *reason;
    vly_value v = value_uniform(0.0, 4.0);
    assert_true(vly_law_init(&law, &v, &reason));
    vly_integers range = vly_law_integers(&law, 1.0, VLY_ROUND_INSIDE, -1e300);
    assert_close(range.first, 0.0, 0.0);
    assert_close(range.last, 4.0, 0.0);
    assert_int_equal(vly_discrete_init(&table, &law, 1.0, range), VLY_OK);
    assert_int_equal(table.n_thresholds, 4);
    static const uint32_t wanted[] = {0x20000000, 0x60000000, 0xa0000000,
                                      0xe0000000};
    for (int i = 0; i < 4; i++) {
        assert_int_equal(table.thresholds[i], wanted[i]);
        assert_int_equal(vly_discrete_draw(&table, wanted[i] - 1), i);
        assert_int_equal(vly_discrete_draw(&table, wanted[i]), i + 1);
    }
    assert_int_equal(vly_discrete_draw(&table, 0), 0);
    assert_int_equal(vly_discrete_draw(&table, UINT32_MAX), 4);
    vly_discrete_deinit(&table);
}

static void laws_refused(void **state)
{
    (void)state;
    vly_law law;
    const char *reason = NULL;
    vly_value v = value_clip(value_uniform(0.0, 1.0), 2.0, 3.0);
    assert_false(vly_law_init(&law, &v, &reason));
    assert_string_equal(reason, "its clip leaves nothing of it");
    v = (vly_value){.kind = VLY_VALUE_DRAW};
    assert_false(vly_law_init(&law, &v, &reason));
    v = value_number(NAN);
    assert_false(vly_law_init(&law, &v, &reason));
    v = value_clip((vly_value){.kind = VLY_VALUE_LOGNORMAL, .b = 1.0}, -2.0,
                   -1.0);
    assert_false(vly_law_init(&law, &v, &reason));
}

static int compare_double(const void *a, const void *b)
{
    double x, y;
    memcpy(&x, a, sizeof(x));
    memcpy(&y, b, sizeof(y));
    return (x > y) - (x < y);
}

static void parameter_laws(void **state)
{
    (void)state;
    static double sample[20000];
    const vly_value values[] = {
        value_normal(-55.0, 2.0),
        value_clip(value_normal(-55.0, 2.0), -53.0, -50.0),
        value_uniform(-60.0, -50.0),
    };
    const double lo[] = {-1e9, -53.0, -60.0}, hi[] = {0.0, -50.0, -50.0};
    for (size_t i = 0; i < 3; i++) {
        builder b;
        double worst = 0.0;
        builder_init(&b);
        builder_area(&b, "A", "lif_psc_exp", 20000);
        *builder_param(&b, 0, "v_th_mv") = values[i];
        vly_connectome *c = built(&b);
        const vly_param_column *column = &c->areas[0].params[5];
        assert_string_equal(c->areas[0].model->params[5].name, "v_th_mv");
        assert_false(column->uniform);
        memcpy(sample, column->values, sizeof(sample));
        assert_int_equal(c->desc.areas[0].coefs[5].words[7],
                         vly_float_bits((float)sample[7]));
        qsort(sample, 20000, sizeof(*sample), compare_double);
        assert_true(sample[0] >= lo[i] && sample[19999] <= hi[i]);
        double from = cdf_of(&values[i], lo[i]);
        double all = cdf_of(&values[i], hi[i]) - from;
        for (int k = 0; k < 20000; k++) {
            double share = (cdf_of(&values[i], sample[k]) - from) / all;
            worst = fmax(worst, fabs(share - (k + 0.5) / 20000.0));
        }
        assert_true(worst * sqrt(20000.0) < KS_LIMIT);
        vly_connectome_destroy(c);
    }
}

/* Izhikevich 2003: c and d by one draw; u = b v by the table. */
static void named_draws(void **state)
{
    (void)state;
    builder b;
    builder_everything(&b);
    vly_connectome *c = built(&b);
    const vly_connectome_area *area = &c->areas[2];
    const double *cs = NULL, *ds = NULL, *bs = NULL;
    for (uint32_t p = 0; p < area->model->n_params; p++) {
        const char *name = area->model->params[p].name;
        const double *values = area->params[p].values;
        cs = strcmp(name, "c") ? cs : values;
        ds = strcmp(name, "d") ? ds : values;
        bs = strcmp(name, "b") ? bs : values;
    }
    const uint32_t *u = c->start.state + 200 * 3 + 50 * 2 + 20;
    for (int i = 0; i < 20; i++) {
        double r = sqrt((cs[i] + 65.0) / 15.0);
        assert_close(ds[i], 8.0 - 6.0 * r * r, 1e-12);
        assert_close(bs[i], 0.2 + 0.001 * i, 0.0);
        assert_int_equal(u[i], vly_float_bits((float)(bs[i] * -65.0)));
    }
    vly_connectome_destroy(c);
}

static void columns_uniform(void **state)
{
    (void)state;
    builder b;
    vly_error error = VLY_ERROR_INIT;
    builder_everything(&b);
    vly_connectome *c = built(&b);
    const vly_area_desc *e = &c->desc.areas[0];
    for (uint32_t k = 0; k < e->n_coefs; k++)
        assert_int_equal(e->coefs[k].uniform,
                         strcmp(c->areas[0].model->coefs[k].name, "v_th") != 0);
    /* feagi: the threshold rises along x by 0.5 */
    const vly_column *threshold = &c->desc.areas[3].coefs[0];
    assert_int_equal(threshold->uniform, 0);
    for (uint32_t i = 0; i < 48; i++)
        assert_int_equal(threshold->words[i],
                         vly_float_bits(1.0f + 0.5f * (float)(i / 12)));
    /* dc on the first half of I only */
    const vly_column *drive = &c->desc.areas[1].coefs[1];
    assert_int_equal(drive->uniform, 0);
    assert_true(drive->words[24] != drive->words[25]);
    assert_int_equal(drive->words[25], 0);
    vly_connectome_destroy(c);
    *builder_param(&b, 0, "tau_m_ms") = value_normal(0.0, 10.0);
    c = NULL;
    assert_int_equal(vly_connectome_build(&b.genome, 1, &c, &error),
                     VLY_E_PARSE);
    assert_non_null(strstr(error.message, "area E: tau_m_ms of neuron"));
    assert_null(c);
}

static void assert_unfit(const builder *b, const char *text)
{
    vly_error error = VLY_ERROR_INIT;
    vly_connectome *c = NULL;
    assert_int_equal(vly_connectome_build(&b->genome, 1, &c, &error),
                     VLY_E_PARSE);
    assert_null(c);
    if (!strstr(error.message, text))
        fail_msg("\"%s\" lacks \"%s\"", error.message, text);
}

/* A reset at or above the threshold fires in every burst. */
static void parameters_unfit(void **state)
{
    (void)state;
    static const char *const models[] = {"lif_psc_delta", "lif_psc_exp"};
    builder b;
    for (int m = 0; m < 2; m++) {
        builder_init(&b);
        builder_area(&b, "N", models[m], 10);
        b.areas[0].origin.line = 4;
        b.areas[0].origin.column = 1;
        *builder_param(&b, 0, "v_reset_mv") = value_number(-50.0);
        assert_unfit(&b, "test.toml:4:1: area N: v_th_mv is -50, v_reset_mv is "
                         "-50, wanted v_reset_mv below v_th_mv");
        builder_param(&b, 0, "v_reset_mv")->origin.line = 9;
        assert_unfit(&b, "test.toml:9:0: area N: v_th_mv");
        /* different doubles, the same float */
        *builder_param(&b, 0, "v_reset_mv") = value_number(-50.0000001);
        assert_unfit(&b, "v_th_mv is -50, v_reset_mv is -50.0000001, equal in "
                         "single precision, wanted v_reset_mv below v_th_mv");
        *builder_param(&b, 0, "v_reset_mv") = value_number(-50.00001);
        vly_connectome_destroy(built(&b));
        double resets[] = {-60, -60, -60, -45, -60, -40, -60, -60, -60, -60};
        *builder_param(&b, 0, "v_reset_mv") = (vly_value){
            .kind = VLY_VALUE_ARRAY, .array = resets, .n_array = 10};
        assert_unfit(&b, "area N, neuron 3: v_th_mv is -50, v_reset_mv is -45, "
                         "wanted v_reset_mv below v_th_mv");
    }
    builder_init(&b);
    builder_area(&b, "Z", "izhikevich", 2);
    *builder_param(&b, 0, "c") = value_number(31.0);
    assert_unfit(&b, "area Z: c is 31, v_peak is 30, wanted c below v_peak");
    builder_init(&b);
    builder_area(&b, "X", "adex", 2);
    *builder_param(&b, 0, "v_reset_mv") = value_number(20.0);
    assert_unfit(&b, "wanted v_reset_mv below v_peak_mv");
    *builder_param(&b, 0, "v_reset_mv") = value_number(-60.0);
    *builder_param(&b, 0, "v_t_mv") = value_number(20.5);
    assert_unfit(&b, "v_peak_mv is 20, wanted v_t_mv below v_peak_mv");
    *builder_param(&b, 0, "v_t_mv") = value_number(-50.0);
    *builder_param(&b, 0, "v_peak_mv") = value_number(-49.999999);
    assert_unfit(&b, "area X: v_t_mv is -50, v_peak_mv is -49.999999, equal in "
                     "single precision, wanted v_t_mv below v_peak_mv");
}

/* The same when parameters change later: nothing is made. */
static void columns_unfit(void **state)
{
    (void)state;
    builder b;
    vly_error error = VLY_ERROR_INIT;
    builder_init(&b);
    builder_area(&b, "N", "lif_psc_exp", 10);
    vly_connectome *c = built(&b);
    const vly_connectome_area *area = &c->areas[0];
    vly_param_column params[32];
    double th = -70.0, dc = 0.0;
    vly_column *columns = NULL;
    memcpy(params, area->params, area->model->n_params * sizeof(params[0]));
    params[5] = (vly_param_column){.values = &th, .uniform = true};
    assert_int_equal(
        vly_coefs_make(area, params, &dc, true, 0.1, &columns, &error),
        VLY_E_INVALID);
    assert_null(columns);
    assert_string_equal(error.message,
                        "area N: v_th_mv is -70, v_reset_mv is -65, wanted "
                        "v_reset_mv below v_th_mv");
    th = -60.0;
    assert_ok(vly_coefs_make(area, params, &dc, true, 0.1, &columns, &error),
              error);
    vly_coefs_free(columns);
    vly_connectome_destroy(c);
}

/* Closed forms against sums over a fine grid of the cumulative share:
 * mean = hi - integral of the share below x. */
static void law_means(void **state)
{
    (void)state;
    const vly_value values[] = {
        value_uniform(-0.5, 1.5),
        value_normal(3.0, 2.0),
        value_clip(value_normal(3.0, 2.0), 0.0, HUGE_VAL),
        value_clip(value_normal(0.0, 1.0), 8.0, 9.0),
        value_clip(value_normal(0.0, 1.0), -9.0, -8.0),
        {.kind = VLY_VALUE_LOGNORMAL, .a = 1.0, .b = 0.5},
        value_clip((vly_value){.kind = VLY_VALUE_LOGNORMAL, .a = 1.0, .b = 1.5},
                   0.5, 4.0),
        {.kind = VLY_VALUE_EXPONENTIAL, .a = 2.0},
        {.kind = VLY_VALUE_EXPONENTIAL, .a = -2.0},
        value_clip((vly_value){.kind = VLY_VALUE_EXPONENTIAL, .a = -2.0}, -3.0,
                   -1.0),
    };
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        vly_law law;
        const char *reason = "";
        assert_true(vly_law_init(&law, &values[i], &reason));
        double width = law.hi - law.lo, sum = 0.0;
        for (int k = 0; k < 100000; k++)
            sum += vly_law_below(&law, law.lo + (k + 0.5) * 1e-5 * width);
        double mean = law.hi - width * 1e-5 * sum / law.share;
        assert_close(vly_law_mean(&law), mean, 1e-8 * width);
    }
}

/* What a distribution's mean loses: from what is stored, not from its mean
 * before clipping. Beside 6e8 the unit is 8: 2^12 times finer than 16 bits have
 * it. */
static void rounding_of_laws(void **state)
{
    (void)state;
    builder b;
    builder_init(&b);
    builder_area(&b, "A", "lif_psc_delta", 20);
    builder_pair(&b, "big", 0, 0, VLY_RULE_ONE_TO_ONE);
    builder_pair(&b, "m", 0, 0, VLY_RULE_ALL_TO_ALL);
    for (int i = 0; i < 2; i++) {
        b.pairs[0].weight = value_number(i == 0 ? 6e8 : 1.0);
        /* mean 9; in units of 8 only 8 lies inside */
        b.pairs[1].weight = value_clip(value_uniform(0.0, 64.0), 6.0, 12.0);
        vly_connectome *c = built(&b);
        double wanted = i == 0 ? 1.0 / 9.0 : 0.0;
        assert_close(c->projections[1].worst_rounding, wanted, 1e-4);
        vly_connectome_destroy(c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weight_laws),      cmocka_unit_test(delay_laws),
        cmocka_unit_test(delay_constants),  cmocka_unit_test(delays_apart),
        cmocka_unit_test(table_shares),     cmocka_unit_test(laws_refused),
        cmocka_unit_test(parameter_laws),   cmocka_unit_test(named_draws),
        cmocka_unit_test(columns_uniform),  cmocka_unit_test(parameters_unfit),
        cmocka_unit_test(columns_unfit),    cmocka_unit_test(law_means),
        cmocka_unit_test(rounding_of_laws),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
