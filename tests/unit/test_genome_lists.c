/* SPDX-License-Identifier: Apache-2.0
 * The lists of models and rules: what core reads from a table instead of
 * comparing names is there, for every entry.
 */
#include <string.h>

#include "genome/foreign_names.h"
#include "genome/model_info.h"
#include "genome/rule_info.h"
#include "volley_test.h"

/* ---- models -------------------------------------------------------------- */

static const struct {
    const char *id;
    uint32_t n_ports;
    uint32_t candidates;
} made[] = {
#define VLY_MODEL_READ "tests/unit/test_genome_model.h"
#include "kernels/models/each_model.h"
};
enum { N_MADE = sizeof(made) / sizeof(made[0]) };

static void models_are_those_of_the_build(void **state)
{
    (void)state;
    assert_int_equal(vly_model_count(), N_MADE);
    for (uint32_t i = 0; i < N_MADE; i++) {
        const vly_model_info *model = vly_model_at(i);
        assert_string_equal(model->id, made[i].id);
        assert_int_equal(model->n_ports, made[i].n_ports);
        assert_int_equal((model->flags & VLY_AREA_FEAGI) != 0,
                         made[i].candidates);
    }
}

/* A dc stimulus writes the coefficients again that have the role, no others. */
static void drives(const vly_model_info *model)
{
    double params[64];
    uint32_t before[64], after[64];
    assert_true(model->n_params <= 64 && model->n_coefs <= 64);
    for (uint32_t p = 0; p < model->n_params; p++)
        params[p] = model->params[p].init;
    vly_model_input input = {.params = params, .dt_ms = 0.1};
    model->coefs_of(&input, before);
    input.dc = 1000.0;
    model->coefs_of(&input, after);
    for (uint32_t c = 0; c < model->n_coefs; c++)
        if ((before[c] != after[c]) != vly_model_is(model, VLY_ROLE_DRIVE, c))
            fail_msg("%s: coefficient %s: dc and its role differ", model->id,
                     model->coefs[c].name);
}

static void models_have_their_roles(void **state)
{
    static const vly_model_role gains[] = {VLY_ROLE_GAIN, VLY_ROLE_GAIN_DRIVEN,
                                           VLY_ROLE_GAIN_UNIFORM};
    (void)state;
    for (uint32_t i = 0; i < vly_model_count(); i++) {
        const vly_model_info *model = vly_model_at(i);
        bool feagi = (model->flags & VLY_AREA_FEAGI) != 0;
        drives(model);
        for (int k = 0; k < 3; k++)
            assert_int_equal(vly_model_with(model, gains[k]) < model->n_coefs,
                             feagi);
        for (uint32_t p = 0; p < model->n_params; p++)
            if (vly_model_is(model, VLY_ROLE_IN_BURSTS, p) ||
                vly_model_is(model, VLY_ROLE_MEMBRANE_TIME, p))
                assert_string_equal(model->params[p].unit, "ms");
        /* rest and threshold are told together */
        assert_int_equal(vly_model_with(model, VLY_ROLE_REST) == UINT32_MAX,
                         vly_model_with(model, VLY_ROLE_THRESHOLD) ==
                             UINT32_MAX);
    }
}

static void units_are_whole(void **state)
{
    (void)state;
    assert_true(vly_unit_is_whole("int") && vly_unit_is_whole("bursts") &&
                vly_unit_is_whole("bool") && vly_unit_is_boolean("bool"));
    assert_false(vly_unit_is_whole("ms") || vly_unit_is_whole("1") ||
                 vly_unit_is_boolean("int"));
}

/* What a table says of another simulator is found by the reader of names. */
static void foreign_names_of_tables(void **state)
{
    (void)state;
    assert_string_equal(vly_foreign_find("iaf_psc_exp", 0)->ours,
                        "lif_psc_exp");
    assert_string_equal(vly_foreign_find("iaf_psc_exp", 1)->ours,
                        "lif_psc_exp2");
    const vly_foreign *row = vly_foreign_find("tau_m_ms", 0);
    assert_null(row->ours);
    assert_true(vly_foreign_holds(row, "a [model]", "lif_cond_exp"));
    assert_false(vly_foreign_holds(row, "a [model]", "lif_psc_exp"));
}

/* ---- rules --------------------------------------------------------------- */

/* Rules whose rows are not of VLY_RULE_ROW: drawn, or by distance. */
static const bool has_row[VLY_RULES] = {
    [VLY_RULE_DISTANCE] = true,
#define VLY_RULE_ROW(id, function) [VLY_RULE_##id] = true,
#include "genome/rules/rules.def"
};
static const bool has_synapses[VLY_RULES] = {
#define VLY_RULE_SYNAPSES(id, expression) [VLY_RULE_##id] = true,
#include "genome/rules/rules.def"
};

static void rules_are_whole(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < VLY_RULES; i++) {
        const vly_rule_info *rule = &vly_rules[i];
        bool draws = (rule->traits & VLY_TRAIT_DRAWS_PAIRS) != 0;
        assert_true(rule->name && *rule->name && rule->keys && rule->text);
        assert_int_equal(vly_rule_find(rule->name), i);
        assert_true(has_row[i] || draws);
        assert_true(has_synapses[i]);
        if (draws) /* rule_fixed.c knows these sizes */
            assert_true(rule->size == VLY_SIZE_COUNT ||
                        rule->size == VLY_SIZE_IN_DEGREE ||
                        rule->size == VLY_SIZE_OUT_DEGREE);
        if (rule->traits & VLY_TRAIT_FUNCTION)
            assert_true(rule->traits & VLY_TRAIT_VOXELS);
    }
    assert_int_equal(vly_rule_find("no such rule"), VLY_RULES);
}

/* Digests of genomes hold the numbers. */
static void rules_keep_their_numbers(void **state)
{
    (void)state;
    assert_int_equal(VLY_RULE_ONE_TO_ONE, 0);
    assert_int_equal(VLY_RULE_VECTORS, 5);
    assert_int_equal(VLY_RULE_COMPOSITE, 8);
    assert_int_equal(VLY_RULE_PROJECTOR, 9);
    assert_int_equal(VLY_RULE_RANDOMIZER, 20);
    assert_int_equal(VLY_RULE_ALL_TO_ORIGIN, 30);
    assert_int_equal(VLY_RULE_FILE, 31);
    assert_int_equal(VLY_RULE_DISTANCE, 32);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(models_are_those_of_the_build),
    cmocka_unit_test(models_have_their_roles),
    cmocka_unit_test(units_are_whole),
    cmocka_unit_test(foreign_names_of_tables),
    cmocka_unit_test(rules_are_whole),
    cmocka_unit_test(rules_keep_their_numbers),
};

VLY_TEST_MAIN(tests)
