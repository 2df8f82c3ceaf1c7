/* SPDX-License-Identifier: Apache-2.0
 * Choices and mixtures of parameters, degrees from a distribution: what is
 * read, what the connectome draws, the resolved text.
 */
#include "test_genome_text.h"

#include <math.h>

#include "connectome/connectome.h"
#include "second_rules.h"

#define HEAD                                                                   \
    "format = 1\n[run]\ndt_ms = 0.1\n[area.A]\nmodel = \"lif_psc_exp\"\n"      \
    "neurons = 4000\n"

static vly_connectome *built(const vly_genome *genome)
{
    vly_error error = VLY_ERROR_INIT;
    vly_connectome *connectome = NULL;
    assert_ok(vly_connectome_build(genome, 2, &connectome, &error), error);
    assert_int_equal(second_rules_check(genome, connectome), 0);
    return connectome;
}

static void assert_resolves(const vly_genome *genome)
{
    vly_genome *again = genome_of(genome->resolved);
    assert_memory_equal(&again->hash, &genome->hash, sizeof genome->hash);
    vly_genome_destroy(again);
}

static const vly_param_column *column_of(const vly_connectome *connectome,
                                         const char *name)
{
    const vly_connectome_area *area = &connectome->areas[0];
    for (uint32_t i = 0; i < area->model->n_params; i++)
        if (strcmp(area->model->params[i].name, name) == 0)
            return &area->params[i];
    fail_msg("no parameter %s", name);
    return NULL;
}

/* Within 6 standard deviations of what the shares say. */
static void assert_share(uint32_t n, double share)
{
    double mean = 4000 * share;
    assert_true(fabs(n - mean) <= 6 * sqrt(mean * (1 - share)));
}

static void choice(void **state)
{
    (void)state;
    vly_genome *genome =
        genome_of(HEAD "tau_m_ms = { choice = [10, 20, 30], p = [0.5, 0.3, "
                       "0.2] }\nc_m_pf = { choice = [100, 200] }\n");
    vly_connectome *connectome = built(genome);
    const vly_param_column *tau = column_of(connectome, "tau_m_ms");
    const vly_param_column *c_m = column_of(connectome, "c_m_pf");
    uint32_t counts[3] = {0};
    uint32_t n_both = 0;
    uint32_t n_small = 0;
    for (uint32_t i = 0; i < 4000; i++) {
        assert_true(tau->values[i] == 10 || tau->values[i] == 20 ||
                    tau->values[i] == 30);
        counts[(int)tau->values[i] / 10 - 1]++;
        n_small += c_m->values[i] == 100;
        n_both += c_m->values[i] == 100 && tau->values[i] == 10;
    }
    assert_share(counts[0], 0.5);
    assert_share(counts[1], 0.3);
    assert_share(counts[2], 0.2);
    assert_share(n_small, 0.5);
    assert_share(n_both, 0.25); /* two parameters choose apart */
    assert_resolves(genome);
    vly_connectome_destroy(connectome);
    vly_genome_destroy(genome);
}

static void mixture(void **state)
{
    (void)state;
    vly_genome *genome = genome_of(
        HEAD "tau_m_ms = { mixture = [{ uniform = [10, 12] }, { normal = [20, "
             "0.5] }, 40], p = [0.25, 0.5, 0.25] }\n");
    vly_connectome *connectome = built(genome);
    const vly_param_column *tau = column_of(connectome, "tau_m_ms");
    uint32_t counts[3] = {0};
    double sum = 0;
    for (uint32_t i = 0; i < 4000; i++) {
        double x = tau->values[i];
        int k = x <= 12 ? 0 : x < 30 ? 1 : 2;
        assert_true(k == 0 ? x >= 10 : k == 1 ? x > 17 && x < 23 : x == 40);
        counts[k]++;
        sum += k == 1 ? x : 0;
    }
    assert_share(counts[0], 0.25);
    assert_share(counts[1], 0.5);
    assert_true(fabs(sum / counts[1] - 20) <= 6 * 0.5 / sqrt(counts[1]));
    assert_resolves(genome);
    vly_connectome_destroy(connectome);
    vly_genome_destroy(genome);
}

/* A choice of one, and one that is certain, are that value. */
static void certain(void **state)
{
    (void)state;
    vly_genome *genome =
        genome_of(HEAD "tau_m_ms = { choice = [7] }\n"
                       "c_m_pf = { choice = [100, 200], p = [0, 1] }\n");
    vly_connectome *connectome = built(genome);
    for (uint32_t i = 0; i < 4000; i++) {
        assert_true(column_of(connectome, "tau_m_ms")->values[i] == 7);
        assert_true(column_of(connectome, "c_m_pf")->values[i] == 200);
    }
    vly_connectome_destroy(connectome);
    vly_genome_destroy(genome);
}

static void degrees(void **state)
{
    (void)state;
    vly_genome *genome =
        genome_of(HEAD "[[map]]\nid = \"m\"\nfrom = \"A\"\nto = \"A[:1000]\"\n"
                       "rule = \"fixed_in_degree\"\nself = false\n"
                       "in_degree = { normal = [30, 5] }\nweight_pa = 1\n");
    assert_int_equal(genome->pairs[0].in_degree, 60);
    vly_connectome *connectome = built(genome);
    const vly_projection_desc *of = &connectome->desc.projections[0];
    uint32_t in[1000] = {0};
    double sum = 0;
    double squares = 0;
    for (uint64_t i = 0; i < of->row[4000]; i++)
        in[of->target[i]]++;
    for (uint32_t k = 0; k < 1000; k++) {
        assert_true(in[k] <= 60);
        sum += in[k];
        squares += (in[k] - 30.0) * (in[k] - 30.0);
    }
    assert_true(fabs(sum / 1000 - 30) <= 6 * 5 / sqrt(1000));
    assert_true(fabs(sqrt(squares / 1000) - 5) <= 6 * 5 / sqrt(2000));
    assert_resolves(genome);
    vly_connectome_destroy(connectome);
    vly_genome_destroy(genome);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(choice),
    cmocka_unit_test(mixture),
    cmocka_unit_test(certain),
    cmocka_unit_test(degrees),
};
VLY_TEST_MAIN(tests)
