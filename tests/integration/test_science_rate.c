/* SPDX-License-Identifier: Apache-2.0
 * Rates as they are written: what the neurons of a generator area fire, and in
 * how many bursts a stimulus adds something, against the binomial distribution,
 * over bursts of 0.05 to 2 ms.
 */
#include <math.h>
#include <stdio.h>

#include "science_net.h"

enum { NEURONS = 2000, BURSTS = 500 };

/* A correct engine is farther off once in 1.7 million comparisons. */
#define SDS 5.0

typedef struct rate_case {
    double dt_ms;
    double rate_hz;
} rate_case;

static const rate_case cases[] = {
    {0.05, 20},  {0.1, 500}, {0.1, 5000}, {0.25, 8}, {0.3, 2000},
    {0.5, 1999}, {1, 500},   {1, 990},    {2, 5},    {2, 499.99}};
enum { N_CASES = sizeof(cases) / sizeof(cases[0]) };

static double spikes_of(const char *text)
{
    science_net s;
    vly_stats stats = {.struct_size = sizeof stats};
    science_open(&s, text);
    assert_ok(vly_net_run(s.net, BURSTS, &s.error), s.error);
    assert_ok(vly_net_stats(s.net, &stats, &s.error), s.error);
    science_close(&s);
    return (double)stats.spikes;
}

/* n independent draws with this chance */
static void expect_binomial(double found, double chance, const rate_case *c)
{
    double n = (double)NEURONS * BURSTS;
    double sd = sqrt(n * chance * (1.0 - chance));
    if (!(fabs(found - n * chance) <= SDS * sd))
        fail_msg("dt %g ms, %g /s: %.0f spikes, wanted %.1f +- %.1f", c->dt_ms,
                 c->rate_hz, found, n * chance, SDS * sd);
}

static void generator(void **state)
{
    char text[256];
    (void)state;
    for (int i = 0; i < N_CASES; i++) {
        const rate_case *c = &cases[i];
        snprintf(text, sizeof text,
                 "format = 1\n[run]\ndt_ms = %.17g\n[area.A]\n"
                 "generator = \"poisson\"\nneurons = %d\nrate_hz = %.17g\n",
                 c->dt_ms, NEURONS, c->rate_hz);
        expect_binomial(spikes_of(text), c->rate_hz * c->dt_ms / 1000, c);
    }
}

/* The largest rate that there is: a spike in every burst, without a draw that
 * could fail; and none at all. */
static void generator_ends(void **state)
{
    (void)state;
    assert_true(spikes_of("format = 1\n[run]\ndt_ms = 0.1\n[area.A]\n"
                          "generator = \"poisson\"\nneurons = 2000\n"
                          "rate_hz = 10000\n") == (double)NEURONS * BURSTS);
    assert_true(spikes_of("format = 1\n[run]\nrate_hz = 3000\n[area.A]\n"
                          "generator = \"poisson\"\nneurons = 2000\n"
                          "rate_hz = 3000\n") == (double)NEURONS * BURSTS);
    assert_true(spikes_of("format = 1\n[area.A]\ngenerator = \"poisson\"\n"
                          "neurons = 2000\nrate_hz = 0\n") == 0.0);
}

static double spikes_of_stimulus(const rate_case *c, const char *kind)
{
    char text[512];
    snprintf(text, sizeof text,
             "format = 1\n[run]\ndt_ms = %.17g\n[area.A]\n"
             "model = \"lif_psc_delta\"\nneurons = %d\ne_l_mv = 0\n"
             "v_reset_mv = 0\nv_th_mv = 0.5\nt_ref_ms = 0\n[[stimulus]]\n"
             "kind = \"%s\"\nto = \"A\"\nrate_hz = %.17g\nweight_mv = 1\n",
             c->dt_ms, NEURONS, kind, c->rate_hz);
    return spikes_of(text);
}

/* Neurons that fire in every burst in which anything arrives: one event at
 * most, or any number of them. */
static void stimuli(void **state)
{
    (void)state;
    for (int i = 0; i < N_CASES; i++) {
        const rate_case *c = &cases[i];
        double mean = c->rate_hz * c->dt_ms / 1000;
        expect_binomial(spikes_of_stimulus(c, "bernoulli"), mean, c);
        expect_binomial(spikes_of_stimulus(c, "poisson"), -expm1(-mean), c);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(generator),
    cmocka_unit_test(generator_ends),
    cmocka_unit_test(stimuli),
};

VLY_TEST_MAIN(tests)
