/* SPDX-License-Identifier: Apache-2.0
 * Built-in models as a user writes them, with sums of what arrives: parameters,
 * fields, bounds and checks are those of the built-in model, also in a saved
 * connectome. That they give the same bits is tested by test_user_models.
 */
#include "volley_test.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "genome/user_model.h"
#include "genome/written_model.h"

static void check_tables(const vly_model_info *made, const vly_model_info *of)
{
    assert_int_equal(made->n_params, of->n_params);
    assert_int_equal(made->n_ports, of->n_ports);
    assert_int_equal(made->n_fields, of->n_fields + 2 * of->n_ports);
    for (uint32_t i = 0; i < of->n_params; i++)
        assert_memory_equal(&made->params[i], &of->params[i],
                            sizeof of->params[i]);
    for (uint32_t i = 0; i < of->n_fields; i++)
        assert_memory_equal(&made->fields[i], &of->fields[i],
                            sizeof of->fields[i]);
    for (uint32_t port = 0; port < of->n_ports; port++) {
        const uint32_t sum = vly_model_sum(made, port);
        assert_int_equal(sum, of->n_fields + 2 * port);
        assert_string_equal(made->ports[port].suffix, of->ports[port].suffix);
        assert_string_equal(made->fields[sum].unit, of->ports[port].unit);
        assert_false(made->fields[sum].declared);
    }
    assert_string_equal(made->dc_suffix, of->dc_suffix);
    assert_int_equal(vly_model_sum(of, 0), UINT32_MAX);
}

/* Defaults of the table, then parameters that do not fit. */
static void check_unfit(const vly_model_info *made, const vly_model_info *of)
{
    double params[64];
    const vly_model_input input = {.params = params, .dt_ms = 0.1};
    for (uint32_t i = 0; i < of->n_params; i++)
        params[i] = of->params[i].init;
    assert_null(vly_model_unfit(made, &input));
    for (uint32_t i = 0; i < of->n_params; i++)
        for (int high = 0; high < 2; high++) {
            params[i] = high ? of->params[i].hi : of->params[i].lo;
            const char *theirs = vly_model_unfit(of, &input);
            const char *ours = vly_model_unfit(made, &input);
            assert_int_equal(theirs == NULL, ours == NULL);
            if (theirs)
                assert_string_equal(theirs, ours);
            params[i] = of->params[i].init;
        }
}

static void check_starts(const vly_model_info *made, const vly_model_info *of)
{
    double params[64], theirs[32], ours[32], given[32];
    const vly_model_input input = {.params = params, .dt_ms = 0.1};
    for (uint32_t i = 0; i < of->n_params; i++)
        params[i] = of->params[i].init;
    for (uint32_t i = 0; i < 32; i++)
        given[i] = (double)NAN;
    for (int pass = 0; pass < 2; pass++) {
        vly_model_fields(of, &input, given, theirs);
        vly_model_fields(made, &input, given, ours);
        for (uint32_t i = 0; i < of->n_fields; i++)
            assert_true(theirs[i] == ours[i]);
        for (uint32_t i = of->n_fields; i < made->n_fields; i++)
            assert_true(ours[i] == 0.0);
        given[0] = -61.5;
    }
}

static void all_models(void **state)
{
    uint32_t n = 0;
    (void)state;
    for (uint32_t i = 0; i < vly_model_count(); i++) {
        const vly_model_info *of = vly_model_at(i);
        const vly_model_info *made = NULL;
        const vly_model_info *saved = NULL;
        vly_error error = VLY_ERROR_INIT;
        if (!vly_written_has(of)) {
            assert_string_equal(of->id, "feagi");
            assert_null(vly_written_text(of, "x", false));
            continue;
        }
        n++;
        assert_ok(vly_model_recorded(of, "t", &made, &error), error);
        assert_ok(
            vly_model_define(vly_model_definition(made), "t", &saved, &error),
            error);
        assert_string_equal(vly_model_definition(made),
                            vly_model_definition(saved));
        assert_true(made->table_hash == saved->table_hash);
        const vly_model_info *const both[] = {made, saved};
        for (int k = 0; k < 2; k++) {
            check_tables(both[k], of);
            check_unfit(both[k], of);
            check_starts(both[k], of);
        }
        vly_model_drop(made);
        vly_model_drop(saved);
    }
    assert_int_equal(n, vly_model_count() - 1);
}

/* A user's model of that name is the user's. */
static void of_a_user(void **state)
{
    const vly_model_info *adex = vly_model_find("adex");
    const vly_model_info *made = NULL;
    vly_error error = VLY_ERROR_INIT;
    (void)state;
    char *text = vly_written_text(adex, "adex/input", true);
    assert_non_null(text);
    char *at = strstr(text, "0.5*(now + then_)");
    assert_non_null(at);
    at[2] = '4';
    assert_ok(vly_model_define(text, "t", &made, &error), error);
    assert_true(made->params[0].hi != adex->params[0].hi);
    assert_true(made->fields[0].declared);
    vly_model_drop(made);
    vly_free(text);
}

static void no_memory(void **state)
{
    const uint64_t live = vly_memory_live();
    const vly_model_info *adex = vly_model_find("adex");
    vly_status status = VLY_E_NOMEM;
    uint64_t n = 0;
    (void)state;
    while (status != VLY_OK) {
        const vly_model_info *made = NULL;
        vly_error error = VLY_ERROR_INIT;
        vly_memory_fail_at(++n);
        status = vly_model_recorded(adex, "t", &made, &error);
        vly_memory_fail_at(0);
        assert_int_equal(status, made ? VLY_OK : VLY_E_NOMEM);
        /* or it would be taken for a user's */
        if (made)
            assert_true(made->params[0].hi == adex->params[0].hi);
        vly_model_drop(made);
        assert_int_equal(vly_memory_live(), live);
    }
    assert_true(n > 20);
}

static const struct CMUnitTest tests[] = {cmocka_unit_test(all_models),
                                          cmocka_unit_test(of_a_user),
                                          cmocka_unit_test(no_memory)};

VLY_TEST_MAIN(tests)
