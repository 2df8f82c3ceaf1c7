/* SPDX-License-Identifier: Apache-2.0
 * The models' tables as data.
 */
#include "test_genome_text.h"

#include <math.h>

#include "base/number.h"
#include "base/propagator.h"
#include "genome/model_info.h"

static uint32_t param_index(const vly_model_info *model, const char *name)
{
    for (uint32_t i = 0; i < model->n_params; i++)
        if (strcmp(model->params[i].name, name) == 0)
            return i;
    fail_msg("no parameter %s", name);
    return 0;
}

static uint32_t coef_word(const vly_model_info *model, const uint32_t *words,
                          const char *name)
{
    for (uint32_t i = 0; i < model->n_coefs; i++)
        if (strcmp(model->coefs[i].name, name) == 0)
            return words[i];
    fail_msg("no coefficient %s", name);
    return 0;
}

static double coef_float(const vly_model_info *model, const uint32_t *words,
                         const char *name)
{
    return (double)vly_float_from_bits(coef_word(model, words, name));
}

static void tables_are_complete(void **state)
{
    (void)state;
    assert_int_equal(vly_model_count(), 8);
    assert_null(vly_model_at(8));
    assert_null(vly_model_find("hh"));
    for (uint32_t i = 0; i < vly_model_count(); i++) {
        const vly_model_info *model = vly_model_at(i);
        assert_ptr_equal(vly_model_find(model->id), model);
        assert_true(model->n_ports >= 1 && model->n_params > 0);
        assert_true(strlen(model->scheme) > 20);
        assert_true(strlen(model->scheme_source) > 5);
        assert_true(model->n_fields > 0 && model->n_coefs > 0);
        assert_true(model->table_hash != 0);
        for (uint32_t j = 0; j < i; j++)
            assert_true(vly_model_at(j)->table_hash != model->table_hash);
        for (uint32_t j = 0; j < model->n_params; j++) {
            const vly_param_info *param = &model->params[j];
            assert_true(param->lo <= param->init && param->init <= param->hi);
        }
    }
    assert_int_equal(vly_model_find("feagi")->flags, VLY_AREA_FEAGI);
    assert_string_equal(vly_model_find("lif_psc_exp")->ports[0].suffix, "pa");
    assert_string_equal(vly_model_find("izhikevich")->ports[0].suffix, "");
}

/* NEST's form of the same integral, far from equal time constants. */
static double propagator_plain(double dt, double tau_m, double tau_syn)
{
    return (vly_exp(-dt / tau_m) - vly_exp(-dt / tau_syn)) * tau_m * tau_syn /
           (tau_m - tau_syn);
}

static void propagator_is_exact(void **state)
{
    (void)state;
    const double pairs[][2] = {{10, 0.5}, {0.5, 10}, {20, 2}, {5, 5.5}};
    for (int i = 0; i < 4; i++) {
        double plain = propagator_plain(0.1, pairs[i][0], pairs[i][1]);
        assert_close(vly_propagator(0.1, pairs[i][0], pairs[i][1]), plain,
                     1e-13);
    }
    /* equal, and so near that the plain form has no digit left */
    double limit = 0.1 * vly_exp(-0.01);
    assert_close(vly_propagator(0.1, 10, 10), limit, 1e-17);
    assert_close(vly_propagator(0.1, 10, 10 * (1 + 1e-15)), limit, 1e-16);
    assert_close(vly_propagator(0.1, 10 * (1 + 1e-15), 10), limit, 1e-16);
    /* no overflow, no NaN at the ends of the ranges */
    assert_true(vly_propagator(1000, 1e6, 1e-3) >= 0);
    assert_true(vly_propagator(1000, 1e-3, 1e6) >= 0);
    assert_true(vly_propagator(1e-4, 1e-3, 1e-3) > 0);
}

/* The integral of u e^(-u/tau_syn) e^(-(dt-u)/tau_m) from 0 to dt by Simpson's
 * rule: 4000 steps leave less than 1e-12 of it for these. */
static double rise_plain(double dt, double tau_m, double tau_syn)
{
    enum { STEPS = 4000 };
    double sum = 0;
    for (int i = 0; i <= STEPS; i++) {
        double u = dt * i / STEPS;
        double weight = i == 0 || i == STEPS ? 1 : i % 2 == 1 ? 4 : 2;
        sum += weight * u * vly_exp(-u / tau_syn) * vly_exp(-(dt - u) / tau_m);
    }
    return sum * dt / STEPS / 3;
}

static void propagator_of_a_rise(void **state)
{
    (void)state;
    /* b = dt (1 / tau_syn - 1 / tau_m) far below -1 to far above 1, on both
     * sides of them, near 0 and at 0 */
    const double cases[][3] = {
        {0.1, 10, 0.5},  {0.1, 10, 0.0999}, {0.1, 10, 0.09},
        {0.1, 10, 0.02}, {0.1, 0.09, 10},   {0.1, 0.0999, 10},
        {0.1, 0.02, 10}, {1, 20, 20.0001},  {1, 20, 20}};
    for (int i = 0; i < 9; i++) {
        const double *c = cases[i];
        double plain = rise_plain(c[0], c[1], c[2]);
        assert_close(vly_propagator_rise(c[0], c[1], c[2]), plain,
                     1e-11 * plain);
    }
    assert_true(vly_propagator_rise(1000, 1e6, 1e-3) >= 0);
    assert_true(vly_propagator_rise(1000, 1e-3, 1e6) >= 0);
    assert_true(vly_propagator_rise(1e-4, 1e-3, 1e-3) > 0);
}

static void coefficients_of_lif(void **state)
{
    (void)state;
    const vly_model_info *model = vly_model_find("lif_psc_exp");
    double params[16];
    uint32_t words[16];
    for (uint32_t i = 0; i < model->n_params; i++)
        params[i] = model->params[i].init;
    vly_model_input input = {.params = params, .dt_ms = 0.1, .dc = 100};
    model->coefs_of(&input, words);
    assert_close(coef_float(model, words, "p22"), vly_exp(-0.01), 1e-7);
    assert_close(coef_float(model, words, "p21"),
                 propagator_plain(0.1, 10, 0.5) / 250, 1e-10);
    assert_close(coef_float(model, words, "drive"),
                 -vly_expm1(-0.01) * 10 / 250 * 100, 1e-8);
    assert_int_equal(coef_word(model, words, "t_ref"), 20);
    params[param_index(model, "t_ref_ms")] = 0.05;
    model->coefs_of(&input, words);
    assert_int_equal(coef_word(model, words, "t_ref"), 1);
}

static void coefficients_of_feagi(void **state)
{
    (void)state;
    const vly_model_info *model = vly_model_find("feagi");
    double params[32];
    uint32_t words[32];
    for (uint32_t i = 0; i < model->n_params; i++)
        params[i] = model->params[i].init;
    params[param_index(model, "firing_threshold_increment_z")] = 0.5;
    params[param_index(model, "excitability")] = 0.5;
    params[param_index(model, "refractory_period")] = 2.6; /* as drawn */
    vly_model_input input = {.params = params, .dt_ms = 1, .voxel = {1, 2, 3}};
    model->coefs_of(&input, words);
    assert_close(coef_float(model, words, "threshold"), 2.5, 0);
    assert_close(coef_float(model, words, "threshold_limit"), 1099511627776.0,
                 0);
    assert_true(coef_word(model, words, "excitability") == 0x80000000u);
    assert_int_equal(coef_word(model, words, "refractory_period"), 3);
    assert_int_equal(coef_word(model, words, "fire_limit"), 65535);
}

static void fields_follow_given_ones(void **state)
{
    (void)state;
    const vly_model_info *model = vly_model_find("izhikevich");
    double params[16];
    double values[4];
    for (uint32_t i = 0; i < model->n_params; i++)
        params[i] = model->params[i].init;
    vly_model_input input = {.params = params, .dt_ms = 1};
    model->fields_of(&input, NULL, values);
    assert_close(values[0], -65, 0);
    assert_close(values[1], -13, 1e-12);
    const double given[] = {-70, (double)NAN};
    model->fields_of(&input, given, values);
    assert_close(values[0], -70, 0);
    assert_close(values[1], -14, 1e-12);
    const double both[] = {-70, 3};
    model->fields_of(&input, both, values);
    assert_close(values[1], 3, 0);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(tables_are_complete),
    cmocka_unit_test(propagator_is_exact),
    cmocka_unit_test(propagator_of_a_rise),
    cmocka_unit_test(coefficients_of_lif),
    cmocka_unit_test(coefficients_of_feagi),
    cmocka_unit_test(fields_follow_given_ones),
};
VLY_TEST_MAIN(tests)
