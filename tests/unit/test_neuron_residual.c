/* SPDX-License-Identifier: Apache-2.0
 * Variables marked `compensated`, against the equations in double:
 * lif_psc_exp_compensated.toml just above its least current, in bursts of 0.001
 * ms; other methods; bounds.
 */
#include "neuron_fixture.h"

#include <math.h>
#include <stdlib.h>

static char *gallery_text(bool compensated)
{
    char *text = calloc(8192, 1);
    FILE *file = fopen(VLY_TEST_SOURCE_DIR
                       "/genomes/neurons/lif_psc_exp_compensated.toml",
                       "rb");
    assert_non_null(text);
    assert_non_null(file);
    assert_true(fread(text, 1, 8191, file) > 1000);
    fclose(file);
    char *mark = strstr(text, " compensated\n");
    assert_non_null(mark);
    for (; mark && !compensated; mark = strstr(text, " compensated\n"))
        memset(mark, ' ', strlen(" compensated"));
    return text;
}

/* v with what single precision does not hold of it */
static double both(const neuron *n)
{
    return (double)neuron_field(n, "v") + (double)neuron_field(n, "v_residual");
}

typedef struct figures {
    uint32_t first; /* burst of the first spike, from 1; 0: none */
    uint32_t n_spikes;
    double worst; /* largest error of v, mV */
} figures;

/* The equations in double, by their propagator; 200 ms. */
static figures run(bool compensated, double dt_ms, double i_e, double weight)
{
    const double tau_m = 20, tau_s = 2, c_m = 250;
    const double decay = expm1(-dt_ms / tau_m), fade = exp(-dt_ms / tau_s);
    const double weigh =
        (fade - exp(-dt_ms / tau_m)) * tau_m * tau_s / (tau_s - tau_m) / c_m;
    char *text = gallery_text(compensated);
    figures made = {0};
    neuron n;
    double v = -65, i = 0;
    uint32_t left = 0;
    neuron_make(&n, text, dt_ms);
    n.params[neuron_param(&n, "i_e_pa")] = i_e;
    neuron_start(&n);
    for (uint32_t b = 1; b <= (uint32_t)(200 / dt_ms + 0.5); b++) {
        double in = b % 7000 == 0 ? weight : 0;
        n.in[0] = (float)in;
        bool fired = neuron_burst(&n);
        if (left == 0)
            v += decay * (v + 65 - i_e * tau_m / c_m) + weigh * i;
        left -= left > 0;
        i = fade * i + in;
        made.n_spikes += fired;
        if (fired && !made.first)
            made.first = b;
        if (compensated && fired != (v >= -50) && left == 0)
            fail_msg("burst %u: v is %.17g, and the neuron %s", b, v,
                     fired ? "fired" : "did not fire");
        if (fired) {
            v = -65;
            left = (uint32_t)(2 / dt_ms + 0.5);
        }
        if (compensated)
            made.worst = fmax(made.worst, fabs(both(&n) - v));
    }
    neuron_free(&n);
    free(text);
    return made;
}

static void above_least(void **state)
{
    (void)state;
    const double least = 15 * 250 / 20.; /* pA */
    figures f = run(true, 0.001, 1.002 * least, 0);
    printf("    0.2%% above the least current, dt 0.001 ms: first spike at "
           "%.3f ms, v within %.1e mV\n",
           f.first * 0.001, f.worst);
    assert_int_equal(f.first, (uint32_t)ceil(20 * log(1.002 / 0.002) / 0.001));
    assert_true(f.worst < 1e-9);
    assert_int_equal(run(false, 0.001, 1.002 * least, 0).n_spikes, 0);
    f = run(true, 0.001, 230, 300);
    printf("    with arrivals: %u spikes, v within %.1e mV\n", f.n_spikes,
           f.worst);
    assert_true(f.n_spikes > 4);
    assert_true(f.worst < 1e-9);
    f = run(true, 0.1, 230, 0);
    assert_true(f.n_spikes > 4);
    assert_true(f.worst < 1e-9);
}

#define DECAY                                                                  \
    "[neuron.n]\nparam = { tau = \"20 ms\" }\nport = { ex = \"mV\" }\n"        \
    "state = { v = { value = \"-70.6 mV\", range = [\"-80 mV\", \"-40 mV\"] "  \
    "} }\neq = \"v' = %s %s\"\non.ex = \"v += in\"\nspike = \"v >= 1 V\"\n"    \
    "method = \"%s\"\n"

/* After 20 ms in bursts of 0.0005 ms. */
static double end_of(const char *rate, const char *mark, const char *method,
                     bool compensated)
{
    char text[500];
    neuron n;
    (void)snprintf(text, sizeof text, DECAY, rate, mark, method);
    neuron_make(&n, text, 0.0005);
    if (compensated)
        assert_close(both(&n), -70.6, 1e-12);
    for (int b = 0; b < 40000; b++)
        neuron_burst(&n);
    double v = compensated ? both(&n) : (double)neuron_field(&n, "v");
    neuron_free(&n);
    return v;
}

/* The change of a burst is rounded to a share of 2^-23 of its terms, tau times
 * over; without the residual it may be lost in v. */
static void methods(void **state)
{
    (void)state;
    static const char *const names[] = {"exponential", "heun", "rk4", "euler",
                                        "exact"};
    static const char *const bent = "(-60 mV - v)*(1 + 0*v*v/(1 mV^2))/tau";
    static const char *const straight = "(-60 mV - v)/tau";
    const double wanted = -60 - 10.6 * exp(-1.0);
    for (int i = 0; i < 5; i++) {
        const char *rate = i == 4 ? straight : bent;
        double v = end_of(rate, "compensated", names[i], true);
        double plain = end_of(rate, "", names[i], false);
        double bound = i == 4 ? 1e-9 : i == 3 ? 1e-4 : 1.5e-6;
        printf("    %s: off by %.1e mV, %.1e mV without the residual\n",
               names[i], fabs(v - wanted), fabs(plain - wanted));
        if (!(fabs(v - wanted) < bound))
            fail_msg("%s: %.12g, wanted %.12g", names[i], v, wanted);
        assert_true(fabs(plain - wanted) > 2 * fabs(v - wanted));
    }
}

/* What is beyond the range is the bound, with nothing beside it. */
static void bounds(void **state)
{
    (void)state;
    char text[500];
    neuron n;
    (void)snprintf(text, sizeof text, DECAY, "(-60 mV - v)/tau", "compensated",
                   "auto");
    neuron_make(&n, text, 0.1);
    neuron_burst(&n);
    assert_true(fabs((double)neuron_field(&n, "v_residual")) > 1e-9);
    n.in[0] = 100;
    neuron_burst(&n);
    assert_true(neuron_field(&n, "v") == -40.0f);
    assert_true(neuron_field(&n, "v_residual") == 0.0f);
    n.in[0] = -100;
    neuron_burst(&n);
    assert_true(neuron_field(&n, "v") == -80.0f);
    assert_true(neuron_field(&n, "v_residual") == 0.0f);
    assert_string_equal(vly_neuron_scheme(n.model),
                        "v exactly (matrix exponential); compensated: v");
    neuron_free(&n);
}

/* A change beyond all floats takes v to the bound on its side, as without the
 * mark. */
static void infinite_change(void **state)
{
    (void)state;
    static const char *const names[] = {"exponential", "heun", "rk4", "euler"};
    static const char *const rate = "(v/(1 mV))^16*(v/(1 mV))^8*(1 mV/ms)";
    for (int i = 0; i < 8; i++) {
        char text[500];
        neuron n;
        (void)snprintf(text, sizeof text, DECAY, rate,
                       i < 4 ? "compensated" : "", names[i % 4]);
        neuron_make(&n, text, 0.1);
        neuron_burst(&n);
        if (neuron_field(&n, "v") != -40.0f)
            fail_msg("%s%s: v is %g", names[i % 4],
                     i < 4 ? ", compensated" : "",
                     (double)neuron_field(&n, "v"));
        if (i < 4)
            assert_true(neuron_field(&n, "v_residual") == 0.0f);
        neuron_free(&n);
    }
}

static void twice(void **state)
{
    (void)state;
    char text[500];
    (void)snprintf(text, sizeof text, DECAY, "-v/tau",
                   "compensated compensated", "auto");
    neuron_refused(text,
                   "5:31: unexpected compensated, wanted an operator, the "
                   "end of the line or a ;");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(above_least), cmocka_unit_test(methods),
    cmocka_unit_test(bounds),      cmocka_unit_test(infinite_change),
    cmocka_unit_test(twice),
};
VLY_TEST_MAIN(tests)
