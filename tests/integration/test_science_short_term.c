/* SPDX-License-Identifier: Apache-2.0
 * genomes/tsodyks.toml: short-term plasticity beside the numbers of NEST's test
 * of tsodyks_synapse (testsuite/pytests/test_tsodyks_synapse.py) and the fixed
 * points of tsodyks2.
 *
 * Bounds. Published numbers have five decimals: 5e-6. A gain is rounded to
 * 2^-16, so it is off by 2^-17. What an event adds is rounded to a unit of the
 * port, off by half of one, and so is the weight before. The float operations
 * of a gain and of a potential are off by less than 1e-6 of it. A potential of
 * the neuron is a sum over events, each of which raises it by at most r = tau_m
 * tau_syn / (C (tau_m - tau_syn)) * (e^-(t/tau_m) - e^-(t/tau_syn)) at t =
 * ln(tau_m / tau_syn) tau_m tau_syn / (tau_m - tau_syn): .0608 mV/pA.
 */
#include "volley_test.h"

#include <math.h>

#include "connectome/connectome.h"
#include "science_net.h"

#define DECIMALS 5e-6
#define GAIN 0x1p-17

static double read_one(science_net *s, const char *area, uint32_t neuron)
{
    double value;
    assert_ok(vly_net_read(s->net, area, "v_mv", neuron, 1, &value, &s->error),
              s->error);
    return value;
}

static double unit_of(const science_net *s, const char *map)
{
    for (uint32_t p = 0; p < s->connectome->desc.n_projections; p++)
        if (strcmp(s->connectome->projections[p].map, map) == 0)
            return s->connectome->projections[p].unit;
    fail_msg("no map %s", map);
    return 0.0;
}

static void check(const char *what, double value, double wanted, double bound)
{
    printf("%-24s %.5f, published %.5f, off by %.1e of %.1e\n", what, value,
           wanted, fabs(value - wanted), bound);
    if (!(fabs(value - wanted) <= bound))
        fail_msg("%s is %.7f, wanted %.5f +- %.1e", what, value, wanted, bound);
}

static void nest(science_net *s)
{
    const double tau_m = 40, tau_syn = 3, c_m = 40;
    double t = log(tau_m / tau_syn) * tau_m * tau_syn / (tau_m - tau_syn);
    double r = tau_m * tau_syn / (c_m * (tau_m - tau_syn)) *
               (exp(-t / tau_m) - exp(-t / tau_syn));
    double event = r * (250 * GAIN + unit_of(s, "nest"));
    assert_ok(vly_net_run(s->net, 1250, &s->error), s->error);
    check("NEST, 125 ms", read_one(s, "neuron", 0), 5.30244,
          DECIMALS + event + 6e-6);
    assert_ok(vly_net_run(s->net, 500, &s->error), s->error);
    check("NEST, 175 ms", read_one(s, "neuron", 0), 4.32217,
          DECIMALS + 2 * event + 6e-6);
}

/* Potentials of an area jump by 10 mV times the gain from 0: the largest of the
 * last period of all rates. */
static void fixed_points(science_net *s)
{
    static const double rates[4] = {5, 10, 20, 40};
    static const double wanted[2][4] = {{.18113, .10515, .05713, .02985},
                                        {.08744, .13471, .16549, .13878}};
    static const char *const areas[2] = {"depressed", "facilitated"};
    static const char *const maps[2] = {"depression", "facilitation"};
    double most[2][4] = {{0}};
    assert_ok(vly_net_run(s->net, 98000 - 1750, &s->error), s->error);
    for (int burst = 0; burst < 2000; burst++) {
        assert_ok(vly_net_run(s->net, 1, &s->error), s->error);
        for (int a = 0; a < 2; a++)
            for (uint32_t k = 0; k < 4; k++) {
                double v = read_one(s, areas[a], k);
                most[a][k] = v > most[a][k] ? v : most[a][k];
            }
    }
    for (int a = 0; a < 2; a++)
        for (int k = 0; k < 4; k++) {
            char what[64];
            double unit = unit_of(s, maps[a]);
            snprintf(what, sizeof what, "%s, %g/s", areas[a], rates[k]);
            check(what, most[a][k] / 10, wanted[a][k],
                  DECIMALS + GAIN + unit / 10 + 1e-6);
        }
}

static void test_gate(void **state)
{
    (void)state;
    science_net s;
    science_open_file(&s, VLY_TEST_SOURCE_DIR "/genomes/tsodyks.toml");
    nest(&s);
    fixed_points(&s);
    science_close(&s);
}

static const struct CMUnitTest tests[] = {cmocka_unit_test(test_gate)};

VLY_TEST_MAIN(tests)
