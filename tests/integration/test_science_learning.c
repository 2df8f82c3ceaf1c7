/* SPDX-License-Identifier: Apache-2.0
 * The shipped genomes whose synapses learn, by rates and weights:
 *
 * brunel_plastic  github.com/nasiryahm/SNNSimulatorComparison
 * vogels          Vogels et al. 2011, doi:10.1126/science.1211095
 * song            Song, Miller and Abbott 2000, doi:10.1038/78829
 * morrison, hpc_benchmark   scaled down: they build, run and learn
 *
 * test_science_learning short|brunel|vogels|song
 */
#include "volley_test.h"

#include <math.h>
#include <stdlib.h>

#include "connectome/connectome.h"
#include "science_weights.h"
#include "spike_statistics.h"

typedef struct learner {
    vly_registry *registry;
    vly_genome *genome;
    vly_connectome *connectome;
    vly_net *net;
    vly_error error;
    uint64_t done; /* bursts */
} learner;

static void open_genome(learner *l, const char *file, const char *backend,
                        const vly_override *overrides, uint32_t n_overrides)
{
    char path[1000];
    *l = (learner){.error = {.struct_size = sizeof(vly_error)}};
    snprintf(path, sizeof path, VLY_TEST_SOURCE_DIR "/genomes/%s", file);
    assert_ok(vly_registry_create(&l->registry, &l->error), l->error);
    assert_ok(
        vly_genome_load(path, overrides, n_overrides, &l->genome, &l->error),
        l->error);
    assert_ok(vly_connectome_build(l->genome, 2, &l->connectome, &l->error),
              l->error);
    assert_ok(vly_net_create(l->connectome, l->registry, backend, 0, &l->net,
                             &l->error),
              l->error);
}

static void close_genome(learner *l)
{
    vly_net_destroy(l->net);
    vly_connectome_destroy(l->connectome);
    vly_genome_destroy(l->genome);
    vly_registry_destroy(l->registry);
}

static uint64_t bursts_of(double seconds)
{
    return (uint64_t)(seconds * 1e4 + 0.5); /* of 0.1 ms */
}

/* Rate and CV of the neurons [first, first + n) from now until `until_s`. */
static group_statistics run_until(learner *l, double until_s, uint32_t first,
                                  uint32_t n)
{
    spike_statistics s;
    uint64_t until = bursts_of(until_s);
    uint64_t bursts = until - l->done;
    assert_true(
        spike_statistics_init(&s, l->connectome->desc.n_neurons, l->done));
    vly_net_on_spikes(l->net, spike_statistics_add, &s);
    assert_ok(vly_net_run(l->net, bursts, &l->error), l->error);
    vly_net_on_spikes(l->net, NULL, NULL);
    l->done = until;
    group_statistics g = spike_statistics_group(&s, first, n, 3, bursts, 0.1);
    spike_statistics_deinit(&s);
    return g;
}

static weight_figures figures_of(learner *l, const char *map, double w_max)
{
    science_weights w = science_weights_read(l->net, l->connectome, map);
    weight_figures figures = science_weights_figures(&w, w_max);
    science_weights_free(&w);
    return figures;
}

static bool within(const char *what, double value, double lo, double hi)
{
    if (value >= lo && value <= hi)
        return true;
    fprintf(stderr, "%s is %g, wanted %g to %g\n", what, value, lo, hi);
    return false;
}

/* ---- short ------------------------------------------------------------- */

/* Digests of spikes and of the state with its weights, after `bursts`. */
static void digests_of(const char *file, const char *backend,
                       const vly_override *scale, uint64_t bursts,
                       uint64_t digests[2])
{
    learner l;
    vly_stats stats = {.struct_size = sizeof stats};
    open_genome(&l, file, backend, scale, scale ? 1 : 0);
    assert_ok(vly_net_run(l.net, bursts, &l.error), l.error);
    digests[0] = vly_net_digest(l.net);
    assert_ok(vly_net_state_digest(l.net, &digests[1], &l.error), l.error);
    assert_ok(vly_net_stats(l.net, &stats, &l.error), l.error);
    assert_true(stats.spikes > 0);
    close_genome(&l);
}

static void same_on_threads(const char *file, const vly_override *scale,
                            uint64_t bursts)
{
    uint64_t one[2], three[2];
    digests_of(file, "cpu:1", scale, bursts, one);
    digests_of(file, "cpu:3", scale, bursts, three);
    assert_memory_equal(one, three, sizeof one);
}

static void test_threads(void **state)
{
    (void)state;
    same_on_threads("brunel_plastic.toml", NULL, 500);
}

/* Published weights are those of much larger networks and longer runs: what is
 * checked is that a small one, with Poisson input for the synapses that it does
 * not have, stays irregular, near the rate, and learns, and that no weights run
 * away: after 1 s 10% is more than chance moves the mean of all weights. */
static void check_scaled(const char *file, const char *scale, uint32_t n_e,
                         double published_w, double published_hz)
{
    const vly_override override = {"var.scale", scale};
    char text[100];
    learner l;
    same_on_threads(file, &override, 500);
    open_genome(&l, file, "cpu:1", &override, 1);
    weight_figures first = figures_of(&l, "learns", 150);
    group_statistics g = run_until(&l, 1, 0, n_e);
    weight_figures last = figures_of(&l, "learns", 150);
    snprintf(text, sizeof text, "%.1f +- 0, published %.2f pA, %.1f Hz",
             first.mean, published_w, published_hz);
    printf("%s at scale %s, 1 s: w %.2f +- %.2f pA, %.2f Hz, CV %.2f (at "
           "first %s)\n",
           file, scale, last.mean, last.sd, g.rate_hz, g.cv, text);
    assert_true(first.sd < 0.01 && last.sd > 0.1);
    assert_true(
        within("mean weight", last.mean, 0.9 * published_w, 1.1 * published_w));
    assert_true(within("rate", g.rate_hz, published_hz / 3, published_hz * 2));
    close_genome(&l);
}

static void test_scaled(void **state)
{
    (void)state;
    check_scaled("morrison.toml", "0.02", 1800, 45.65, 8.8);
    check_scaled("hpc_benchmark.toml", "0.1", 900, 44.47, 7.5);
}

/* ---- Brunel, 10,000 neurons -------------------------------------------- */

enum { BRUNEL_E = 8000, BRUNEL_ALL = 10000 };

/* Static: the published rate, with 3% for another network of the same kind.
 * Plastic: the published rates with axonal and with dendritic delays, and
 * weights between the published mean and that of independent Poisson spikes,
 * .3311 w_max = .0993 mV. Published CV and deviation of the weights are .21 and
 * .0057 mV; a program of 50 lines in double, eager, with a network of its own,
 * gives CV .153, and with learning 31.8 and 30.3 Hz, .0984 +- .0074 mV, as
 * Volley does. The bounds are around these. */
static void test_brunel(void **state)
{
    const vly_override frozen = {"plasticity.learn.frozen", "true"};
    bool good = true;
    learner l;
    (void)state;
    open_genome(&l, "brunel_plastic.toml", "cpu", &frozen, 1);
    group_statistics fixed = run_until(&l, 1, 0, BRUNEL_ALL);
    close_genome(&l);
    printf("static: %.2f Hz, CV %.3f; published 35.3 Hz, CV .21\n",
           fixed.rate_hz, fixed.cv);
    good &= within("static rate", fixed.rate_hz, 34.3, 36.3);
    good &= within("static CV", fixed.cv, 0.14, 0.17);
    open_genome(&l, "brunel_plastic.toml", "cpu", NULL, 0);
    group_statistics early = run_until(&l, 1, 0, BRUNEL_E);
    run_until(&l, 6, 0, BRUNEL_E);
    weight_figures w = figures_of(&l, "learns", 0.3);
    group_statistics late = run_until(&l, 6.5, 0, BRUNEL_E);
    close_genome(&l);
    printf("plastic: E %.2f Hz in the first second, %.2f Hz after 6 s, "
           "w %.4f +- %.4f mV; reference 31.7 -> 29.3 to 31 Hz, w .0979 +- "
           ".0057 mV\n",
           early.rate_hz, late.rate_hz, w.mean, w.sd);
    good &= within("first second", early.rate_hz, 31, 33);
    good &= within("rate after 6 s", late.rate_hz, 29.3, 31);
    good &= within("mean weight", w.mean, 0.0979, 0.0993);
    good &= within("deviation of weights", w.sd, 0.0070, 0.0080);
    assert_true(good);
}

/* ---- inhibition that balances ------------------------------------------ */

/* Rates of E in the first second, at 10 s and, if until is more, at the end. */
static void run_vogels(const char *alpha, double until, double rates[3])
{
    const vly_override override = {"plasticity.balance.alpha", alpha};
    enum { N_E = 8000 };
    learner l;
    open_genome(&l, "vogels.toml", "cpu", &override, 1);
    rates[0] = run_until(&l, 0.2, 0, N_E).rate_hz;
    run_until(&l, 9, 0, N_E);
    rates[1] = run_until(&l, 10, 0, N_E).rate_hz;
    rates[2] = rates[1];
    if (until > 10) {
        run_until(&l, until - 1, 0, N_E);
        rates[2] = run_until(&l, until, 0, N_E).rate_hz;
    }
    weight_figures w = figures_of(&l, "learns", 100);
    printf("alpha %s: E %.1f Hz in 0.2 s, %.2f Hz at 10 s, %.2f Hz at %g s, "
           "w %.2f nS\n",
           alpha, rates[0], rates[1], rates[2], until, w.mean);
    close_genome(&l);
}

/* The trend, not the target of 3 Hz, which takes minutes of model time. The
 * reference, which is printed, falls to 0.71 from 10 to 25 s: 0.85 is half of
 * that fall. Rates stay between the target and the reference's 8.7 Hz with 15%
 * for another network of the same kind. */
static void test_vogels(void **state)
{
    double low[3], high[3];
    (void)state;
    printf("reference: 164 Hz at first, 8.7 at 10 s, 6.2 at 25 s, 4.6 at 60 s; "
           "linear theory 3 Hz\n");
    run_vogels("0.12", 25, low);
    run_vogels("0.24", 10, high);
    assert_true(low[0] > 50);
    assert_true(within("rate at 10 s", low[1], 3, 10));
    assert_true(low[2] < 0.85 * low[1] && low[2] > 3);
    assert_true(high[1] > 1.1 * low[1]);
}

/* ---- competition of inputs --------------------------------------------- */

typedef struct song_case {
    const char *rate_hz; /* of the inputs */
    double seconds;
    double out, cv, mean, low, high; /* reference; cv: printed only */
} song_case;

/* Rates of the last fifth. A run of one neuron has about 15 Hz * 100 s spikes:
 * 2.5% of chance in its rate, and as much from how weights drift; 10% is three
 * standard deviations. A share of 1,000 inputs has one of 0.015 by chance: 0.06
 * is four of them. */
static bool check_song(const song_case *c)
{
    const vly_override override = {"area.inputs.rate_hz", c->rate_hz};
    enum { INPUTS = 1000 };
    bool good = true;
    learner l;
    open_genome(&l, "song.toml", "cpu:1", &override, 1);
    run_until(&l, 0.8 * c->seconds, INPUTS, 1);
    group_statistics g = run_until(&l, c->seconds, INPUTS, 1);
    weight_figures w = figures_of(&l, "learns", 15);
    close_genome(&l);
    printf("%s Hz in: %.1f Hz out, CV %.2f, w %.3f of w_max, %.2f below .1, "
           "%.2f above .9; reference %.1f Hz, %.2f, %.3f, %.2f, %.2f\n",
           c->rate_hz, g.rate_hz, g.cv, w.mean / 15, w.low, w.high, c->out,
           c->cv, c->mean, c->low, c->high);
    good &= within("output", g.rate_hz, 0.9 * c->out, 1.1 * c->out);
    good &= within("mean weight", w.mean / 15, c->mean - 0.04, c->mean + 0.04);
    good &= within("share below .1", w.low, c->low - 0.06, c->low + 0.06);
    good &= within("share above .9", w.high, c->high - 0.06, c->high + 0.06);
    return good;
}

static void test_song(void **state)
{
    static const song_case cases[] = {
        {"15", 500, 14.9, 0.91, 0.456, 0.32, 0.24},
        {"40", 500, 29.1, 0, 0.184, 0.58, 0.053}};
    bool good = true;
    (void)state;
    for (int k = 0; k < 2; k++)
        good &= check_song(&cases[k]);
    assert_true(good);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest shorts[] = {cmocka_unit_test(test_threads),
                                        cmocka_unit_test(test_scaled)};
    const struct CMUnitTest brunel[] = {cmocka_unit_test(test_brunel)};
    const struct CMUnitTest vogels[] = {cmocka_unit_test(test_vogels)};
    const struct CMUnitTest song[] = {cmocka_unit_test(test_song)};
    const char *name = argc > 1 ? argv[1] : "";
    if (strcmp(name, "short") == 0)
        return cmocka_run_group_tests(shorts, NULL, NULL) ? 1 : 0;
    if (strcmp(name, "brunel") == 0)
        return cmocka_run_group_tests(brunel, NULL, NULL) ? 1 : 0;
    if (strcmp(name, "vogels") == 0)
        return cmocka_run_group_tests(vogels, NULL, NULL) ? 1 : 0;
    if (strcmp(name, "song") == 0)
        return cmocka_run_group_tests(song, NULL, NULL) ? 1 : 0;
    fprintf(stderr, "wanted short, brunel, vogels or song\n");
    return 2;
}
