/* SPDX-License-Identifier: Apache-2.0
 * genomes/kumar.toml against tests/golden/kumar_reference.csv: the same network
 * simulated 10 times by NEST's iaf_cond_alpha (kumar_reference.py), with
 * connections, states and input of its own. Rates, irregularity and correlation
 * of spikes; conductances and potentials.
 *
 * Figures are compared as science_sample.h says: with 9 degrees of freedom t is
 * beyond 8 once in 45,000 comparisons. With three runs rates are found that are
 * wrong by 30%, CVs and conductances by 9% and potentials by 0.3 mV. What the
 * paper's abstract claims is asked too: conductances 2 to 5 times those at
 * rest, a mean potential a few mV (here 2 to 10) below the threshold, low rates
 * (below 20/s), irregular (CV above 0.5; a regular neuron has 0) and
 * asynchronous (pairs correlated by less than 0.02).
 */
#include "volley_test.h"

#include <math.h>
#include <stdlib.h>

#include <volley/volley.h>

#include "science_sample.h"
#include "spike_statistics.h"

enum {
    RUNS = 3,
    N_E = 4000,
    N_I = 1000,
    BURSTS = 12000,
    FROM = 2000,
    BIN = 20, /* bursts of a count */
    BINS = (BURSTS - FROM) / BIN,
    SAMPLED = 100,
    EVERY = 10, /* bursts from sample to sample */
    LEAST = 5   /* spikes of a neuron whose CV counts */
};

static const double G_L = 16.7, V_TH = -50;
static const char *const spike_names[SCIENCE_FIGURES] = {"rate E", "rate I",
                                                         "CV E", "pairs"};
static const char *const membrane_names[SCIENCE_FIGURES] = {"G/G_L", "sd G/G_L",
                                                            "V", "sd V"};
static const char *const networks[2] = {"spikes", "membrane"};

typedef struct measured {
    spike_statistics spikes;
    uint8_t counts[BINS][N_E];
} measured;

static vly_status count_spikes(void *arg, uint64_t burst, const uint32_t *ids,
                               uint32_t n_ids, uint64_t burst_digest)
{
    measured *m = arg;
    for (uint32_t i = 0; burst >= FROM && i < n_ids && ids[i] < N_E; i++)
        m->counts[(burst - FROM) / BIN][ids[i]]++;
    return spike_statistics_add(&m->spikes, burst, ids, n_ids, burst_digest);
}

/* Sum of counts and of their squares over bins. */
static double variance_of(double sum, double squares)
{
    return squares / BINS - sum * sum / BINS / BINS;
}

/* Mean covariance of the counts of two neurons, over their mean variance. */
static double correlation_of(const measured *m)
{
    double own = 0, sum_all = 0, squares_all = 0;
    for (int k = 0; k < N_E; k++) {
        double sum = 0, squares = 0;
        for (int b = 0; b < BINS; b++) {
            sum += m->counts[b][k];
            squares += m->counts[b][k] * m->counts[b][k];
        }
        own += variance_of(sum, squares);
    }
    for (int b = 0; b < BINS; b++) {
        double all = 0;
        for (int k = 0; k < N_E; k++)
            all += m->counts[b][k];
        sum_all += all;
        squares_all += all * all;
    }
    return (variance_of(sum_all, squares_all) - own) / own / (N_E - 1);
}

static void add(double x, double *sum, double *squares)
{
    *sum += x;
    *squares += x * x;
}

/* Runs on and samples; mean and deviation of conductances and potentials. */
static void run_sampled(vly_net *net, double figures[SCIENCE_FIGURES])
{
    static double v[SAMPLED], ex[SAMPLED], in[SAMPLED];
    double g_sum = 0, g_squares = 0, v_sum = 0, v_squares = 0;
    vly_error error = {.struct_size = sizeof error};
    const int samples = (BURSTS - FROM) / EVERY;
    for (int s = 0; s < samples; s++) {
        assert_ok(vly_net_run(net, EVERY, &error), error);
        assert_ok(vly_net_read(net, "E", "v_mv", 0, SAMPLED, v, &error), error);
        assert_ok(vly_net_read(net, "E", "g_ex_ns", 0, SAMPLED, ex, &error),
                  error);
        assert_ok(vly_net_read(net, "E", "g_in_ns", 0, SAMPLED, in, &error),
                  error);
        for (int k = 0; k < SAMPLED; k++) {
            add((G_L + ex[k] + in[k]) / G_L, &g_sum, &g_squares);
            add(v[k], &v_sum, &v_squares);
        }
    }
    const double n = (double)samples * SAMPLED;
    figures[0] = g_sum / n;
    figures[1] = sqrt(g_squares / n - figures[0] * figures[0]);
    figures[2] = v_sum / n;
    figures[3] = sqrt(v_squares / n - figures[2] * figures[2]);
}

static void run(int index, measured *m, science_sample ours[2])
{
    char seed[16];
    double membrane[SCIENCE_FIGURES];
    vly_error error = {.struct_size = sizeof error};
    vly_registry *registry = NULL;
    vly_genome *genome = NULL;
    vly_connectome *connectome = NULL;
    vly_net *net = NULL;
    snprintf(seed, sizeof seed, "%d", 100 + index);
    const vly_override overrides[] = {{"run.seed_network", seed},
                                      {"run.seed_state", seed},
                                      {"run.seed_input", seed}};
    memset(m->counts, 0, sizeof m->counts);
    assert_ok(vly_registry_create(&registry, &error), error);
    assert_ok(vly_genome_load(VLY_TEST_SOURCE_DIR "/genomes/kumar.toml",
                              overrides, 3, &genome, &error),
              error);
    assert_ok(vly_connectome_build(genome, 2, &connectome, &error), error);
    assert_ok(vly_net_create(connectome, registry, "cpu:1", 0, &net, &error),
              error);
    assert_true(spike_statistics_init(&m->spikes, N_E + N_I, FROM));
    vly_net_on_spikes(net, count_spikes, m);
    assert_ok(vly_net_run(net, FROM, &error), error);
    run_sampled(net, membrane);
    group_statistics e =
        spike_statistics_group(&m->spikes, 0, N_E, LEAST, BURSTS - FROM, 0.1);
    group_statistics i =
        spike_statistics_group(&m->spikes, N_E, N_I, LEAST, BURSTS - FROM, 0.1);
    science_sample_add(&ours[0],
                       (double[SCIENCE_FIGURES]){e.rate_hz, i.rate_hz, e.cv,
                                                 correlation_of(m)});
    science_sample_add(&ours[1], membrane);
    spike_statistics_deinit(&m->spikes);
    vly_net_destroy(net);
    vly_connectome_destroy(connectome);
    vly_genome_destroy(genome);
    vly_registry_destroy(registry);
}

static void test_high_conductance(void **state)
{
    static measured m;
    science_sample ours[2] = {{0}}, reference[2] = {{0}};
    (void)state;
    science_sample_read("kumar_reference.csv", networks, reference);
    assert_true(reference[0].n == 10 && reference[1].n == 10);
    for (int index = 0; index < RUNS; index++)
        run(index, &m, ours);
    const int spikes =
        science_sample_agree(&ours[0], &reference[0], "spikes", spike_names, 8);
    const int membrane = science_sample_agree(&ours[1], &reference[1],
                                              "membrane", membrane_names, 8);
    const double *s = ours[0].sum;
    const double *c = ours[1].sum;
    assert_true(spikes && membrane);
    assert_true(s[0] > 0 && s[0] < 20 * RUNS && s[1] < 20 * RUNS);
    assert_true(s[2] > 0.5 * RUNS && s[3] < 0.02 * RUNS);
    assert_true(c[0] > 2 * RUNS && c[0] < 5 * RUNS);
    assert_true(c[2] < (V_TH - 2) * RUNS && c[2] > (V_TH - 10) * RUNS);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_high_conductance)};

VLY_TEST_MAIN(tests)
