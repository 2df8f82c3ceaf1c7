/* SPDX-License-Identifier: Apache-2.0
 * The four regimes of Brunel 2000 (doi:10.1023/A:1008925309027, figure 8) by
 * rate, irregularity of single neurons and synchrony of the population. The
 * paper's simulations: SI fast 60.7, AI 37.7, SI slow 5.5 spikes/s a neuron;
 * SR close to the largest possible rate.
 *
 * Synchrony: variance over mean of the spikes of all neurons in bins of 1 ms,
 * divided by the number of neurons in thousands; independent neurons give
 * about 1 / 12.5.
 */
#include "volley_test.h"

#include <stdlib.h>

#include <volley/volley.h>

#include "spike_statistics.h"

enum { N_NEURONS = 12500, FROM = 2000, UNTIL = 10000, BIN = 10 };

typedef struct regime {
    const char *name, *g, *eta;
    double rate_lo, rate_hi; /* spikes/s */
    double cv_lo, cv_hi;
    double synchrony_lo, synchrony_hi;
} regime;

/* The rates of the paper with room for another network of the same kind; CV
 * and synchrony separate regular from irregular and synchronous from not.
 * Measured here: 333, 58.3, 37.5, 6.1 spikes/s; CV 0.00, 0.77, 0.43, 0.60;
 * synchrony 167, 39, 8.9, 21. AI is close to the border of SI fast. */
static const regime regimes[] = {
    {"SR", "3", "2", 250, 400, 0, 0.3, 50, 1e9},
    {"SI fast", "6", "4", 52, 70, 0.4, 1.2, 20, 1e9},
    {"AI", "5", "2", 32, 44, 0.3, 1.2, 0, 15},
    {"SI slow", "4.5", "0.9", 3, 9, 0.3, 1.2, 20, 1e9},
};

typedef struct population {
    spike_statistics single;
    uint32_t bins[(UNTIL - FROM) / BIN];
} population;

static vly_status add(void *arg, uint64_t burst, const uint32_t *ids,
                      uint32_t n_ids, uint64_t digest)
{
    population *p = arg;
    if (burst >= FROM && burst < UNTIL)
        p->bins[(burst - FROM) / BIN] += n_ids;
    return spike_statistics_add(&p->single, burst, ids, n_ids, digest);
}

static double synchrony(const population *p)
{
    const double n = (UNTIL - FROM) / BIN;
    double sum = 0, square = 0;
    for (int k = 0; k < (UNTIL - FROM) / BIN; k++) {
        sum += p->bins[k];
        square += (double)p->bins[k] * p->bins[k];
    }
    double mean = sum / n;
    return mean > 0 ? (square / n - mean * mean) / mean / (N_NEURONS / 1000.0)
                    : 0;
}

static void run_regime(const regime *r, population *p)
{
    vly_error error = {.struct_size = sizeof error};
    const vly_override overrides[] = {{"var.g", r->g}, {"var.eta", r->eta}};
    vly_registry *registry = NULL;
    vly_genome *genome = NULL;
    vly_connectome *connectome = NULL;
    vly_net *net = NULL;
    assert_ok(vly_registry_create(&registry, &error), error);
    assert_ok(vly_genome_load(VLY_TEST_SOURCE_DIR "/genomes/brunel.toml",
                              overrides, 2, &genome, &error),
              error);
    assert_ok(vly_connectome_build(genome, 2, &connectome, &error), error);
    assert_ok(vly_net_create(connectome, registry, "cpu", 0, &net, &error),
              error);
    assert_true(spike_statistics_init(&p->single, N_NEURONS, FROM));
    vly_net_on_spikes(net, add, p);
    assert_ok(vly_net_run(net, UNTIL, &error), error);
    vly_net_destroy(net);
    vly_connectome_destroy(connectome);
    vly_genome_destroy(genome);
    vly_registry_destroy(registry);
}

static bool check(const char *regime_name, const char *what, double value,
                  double lo, double hi)
{
    if (value >= lo && value <= hi)
        return true;
    fprintf(stderr, "%s: %s is %g, wanted %g to %g\n", regime_name, what, value,
            lo, hi);
    return false;
}

static void test_regimes(void **state)
{
    (void)state;
    bool good = true;
    printf("%-8s %10s %6s %10s\n", "regime", "rate 1/s", "CV", "synchrony");
    for (size_t k = 0; k < sizeof regimes / sizeof regimes[0]; k++) {
        const regime *r = &regimes[k];
        population p = {0};
        run_regime(r, &p);
        group_statistics g = spike_statistics_group(&p.single, 0, N_NEURONS, 3,
                                                    UNTIL - FROM, 0.1);
        double s = synchrony(&p);
        printf("%-8s %10.2f %6.2f %10.3f\n", r->name, g.rate_hz, g.cv, s);
        good &= check(r->name, "rate", g.rate_hz, r->rate_lo, r->rate_hi);
        good &= check(r->name, "CV", g.cv, r->cv_lo, r->cv_hi);
        good &=
            check(r->name, "synchrony", s, r->synchrony_lo, r->synchrony_hi);
        spike_statistics_deinit(&p.single);
    }
    assert_true(good);
}

static const struct CMUnitTest tests[] = {cmocka_unit_test(test_regimes)};

VLY_TEST_MAIN(tests)
