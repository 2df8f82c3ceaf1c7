/* SPDX-License-Identifier: Apache-2.0
 * genomes/clusters.toml against tests/golden/clusters_reference.csv: the same
 * networks, with clusters and without, simulated 20 times each in double by
 * clusters_reference.py, with connections and states of its own. Rates, the
 * Fano factor of counts in 100 ms, and how much the rate of a cluster varies.
 *
 * Figures are compared as science_sample.h says: with 19 degrees of freedom t
 * is beyond 6 once in 110,000 comparisons. What the paper claims is asked too:
 * slow fluctuations make the Fano factor larger than 1, and it is less than 1
 * without clusters.
 */
#include "volley_test.h"

#include <math.h>
#include <stdlib.h>

#include <volley/volley.h>

#include "science_sample.h"

enum {
    RUNS = 3,
    N_E = 4000,
    N_I = 1000,
    CLUSTERS = 50,
    BURSTS = 30000,
    FROM = 5000,
    WINDOW = 1000,
    WINDOWS = (BURSTS - FROM) / WINDOW,
    LEAST = 5 /* spikes of a neuron whose Fano factor counts */
};

static const char *const names[SCIENCE_FIGURES] = {"rate E", "rate I", "Fano",
                                                   "sd of a cluster's rate"};
static const char *const networks[2] = {"clustered", "uniform"};

typedef struct counts {
    uint16_t of[WINDOWS][N_E + N_I];
} counts;

static vly_status count_spikes(void *arg, uint64_t burst, const uint32_t *ids,
                               uint32_t n_ids, uint64_t burst_digest)
{
    counts *c = arg;
    (void)burst_digest;
    for (uint32_t i = 0; burst >= FROM && i < n_ids; i++)
        c->of[(burst - FROM) / WINDOW][ids[i]]++;
    return VLY_OK;
}

static void run(const char *const ratio_strength[2], int index, counts *c)
{
    char seed[16];
    vly_error error = {.struct_size = sizeof error};
    vly_registry *registry = NULL;
    vly_genome *genome = NULL;
    vly_connectome *connectome = NULL;
    vly_net *net = NULL;
    snprintf(seed, sizeof seed, "%d", 100 + index);
    const vly_override overrides[] = {{"var.ratio", ratio_strength[0]},
                                      {"var.strength", ratio_strength[1]},
                                      {"run.seed_network", seed},
                                      {"run.seed_state", seed}};
    memset(c, 0, sizeof *c);
    assert_ok(vly_registry_create(&registry, &error), error);
    assert_ok(vly_genome_load(VLY_TEST_SOURCE_DIR "/genomes/clusters.toml",
                              overrides, 4, &genome, &error),
              error);
    assert_ok(vly_connectome_build(genome, 2, &connectome, &error), error);
    assert_ok(vly_net_create(connectome, registry, "cpu:1", 0, &net, &error),
              error);
    vly_net_on_spikes(net, count_spikes, c);
    assert_ok(vly_net_run(net, BURSTS, &error), error);
    vly_net_destroy(net);
    vly_connectome_destroy(connectome);
    vly_genome_destroy(genome);
    vly_registry_destroy(registry);
}

/* Mean and variance. */
static double mean_of(const double *x, int n, double *variance)
{
    double sum = 0, squares = 0;
    for (int i = 0; i < n; i++) {
        sum += x[i];
        squares += x[i] * x[i];
    }
    *variance = (squares - sum * sum / n) / (n - 1);
    return sum / n;
}

static double fano_of(const counts *c)
{
    double sum = 0, x[WINDOWS], variance;
    int n = 0;
    for (int k = 0; k < N_E; k++) {
        for (int w = 0; w < WINDOWS; w++)
            x[w] = c->of[w][k];
        double mean = mean_of(x, WINDOWS, &variance);
        if (mean * WINDOWS < LEAST - 0.5)
            continue;
        sum += variance / mean;
        n++;
    }
    return sum / n;
}

/* Mean over clusters of the deviation of their rates, and the rate of all. */
static double cluster_deviation(const counts *c, double *rate)
{
    double sum = 0, sums = 0, x[WINDOWS], variance;
    for (int k = 0; k < CLUSTERS; k++) {
        for (int w = 0; w < WINDOWS; w++) {
            x[w] = 0;
            for (int i = 0; i < N_E / CLUSTERS; i++)
                x[w] += c->of[w][k * (N_E / CLUSTERS) + i];
            x[w] *= 10.0 * CLUSTERS / N_E; /* of a neuron, in a second */
        }
        sums += mean_of(x, WINDOWS, &variance);
        sum += sqrt(variance);
    }
    *rate = sums / CLUSTERS;
    return sum / CLUSTERS;
}

static double inhibitory_rate(const counts *c)
{
    double sum = 0;
    for (int w = 0; w < WINDOWS; w++)
        for (int i = N_E; i < N_E + N_I; i++)
            sum += c->of[w][i];
    return 10 * sum / WINDOWS / N_I;
}

static void test_clusters(void **state)
{
    static counts c;
    static const char *const settings[2][2] = {{"2.5", "1.9"}, {"1", "1"}};
    science_sample ours[2] = {{0}}, reference[2] = {{0}};
    int good = 1;
    (void)state;
    science_sample_read("clusters_reference.csv", networks, reference);
    assert_true(reference[0].n == 20 && reference[1].n == 20);
    for (int k = 0; k < 2; k++) {
        for (int index = 0; index < RUNS; index++) {
            double x[SCIENCE_FIGURES];
            run(settings[k], index, &c);
            x[1] = inhibitory_rate(&c);
            x[2] = fano_of(&c);
            x[3] = cluster_deviation(&c, &x[0]);
            science_sample_add(&ours[k], x);
        }
        good &= science_sample_agree(&ours[k], &reference[k], networks[k],
                                     names, 6);
    }
    assert_true(good);
    assert_true(ours[0].sum[2] > RUNS && ours[1].sum[2] < 0.9 * RUNS);
}

static const struct CMUnitTest tests[] = {cmocka_unit_test(test_clusters)};

VLY_TEST_MAIN(tests)
