/* SPDX-License-Identifier: Apache-2.0
 * lif_cond_exp against its equation in double: an excitatory and an inhibitory
 * postsynaptic potential.
 *
 * The reference integrates C V' = g_L (E_L - V) + sum g_k (E_k - V) by the
 * classical Runge-Kutta method, 50 steps a burst, whose own error is below
 * 1e-9 mV.
 *
 * The bound, method. With c = (g_L + sum g_k) / C and, about E_L,
 * h = sum g_k (E_k - E_L) / C, the equation is V' = h - c V. The step is exact
 * for constant c and h, and takes their means over the burst. What is left of
 * one burst of length T is, to the lowest order, T^3 / 12 (h' c - h c'); the
 * next order is smaller by T (c + 1 / tau), which is added. An error does not
 * grow in further bursts, so they sum at most.
 *
 * The bound, float, u = 2^-24. A burst adds at most u |V| for the last sum, and
 * to each of its three terms (x_k |E_k - V|, x = T g / C) 28 u: coefficient,
 * difference, product and sums 7 u, mean of the decay 20 u, product u. These
 * are multiplied by e^-k_l in every further burst: over 1 - e^-k_l. A
 * conductance has the relative error 2 u n after n bursts, as in
 * test_science_lif: 2 u x_0 |E - V| / (1 - p)^2.
 */
#include "science_net.h"

#include <math.h>

static const double U = 0x1p-24;
static const double C = 200, G_L = 10, E_L = -60;
enum { EX, IN };
static const double E[2] = {0, -80}, TAU[2] = {5, 10};
static const double WEIGHT[2] = {4, -32}; /* nS, exact in int16 steps */
static const double AT[2] = {0, 32};      /* ms, what arrived acts from then */

static double conductance(int k, double t)
{
    return t < AT[k] ? 0 : fabs(WEIGHT[k]) * exp(-(t - AT[k]) / TAU[k]);
}

static double slope(double v, double t)
{
    double current = G_L * (E_L - v);
    for (int k = 0; k < 2; k++)
        current += conductance(k, t) * (E[k] - v);
    return current / C;
}

/* From t to t + dt; no conductance jumps inside. */
static double reference(double v, double t, double dt)
{
    enum { N = 50 };
    double h = dt / N;
    /* just above t: what arrives there counts */
    for (int i = 0; i < N; i++) {
        double s = t + i * h + 1e-9;
        double a = slope(v, s), b = slope(v + 0.5 * h * a, s + 0.5 * h);
        double c = slope(v + 0.5 * h * b, s + 0.5 * h);
        double d = slope(v + h * c, s + h - 2e-9);
        v += h / 6 * (a + 2 * b + 2 * c + d);
    }
    return v;
}

/* The error of the method in the burst from t. */
static double burst_bound(double t, double dt)
{
    double c = G_L / C, h = 0, c1 = 0, h1 = 0;
    for (int k = 0; k < 2; k++) {
        double g = conductance(k, t + 1e-9) / C;
        c += g;
        c1 -= g / TAU[k];
        h += g * (E[k] - E_L);
        h1 -= g * (E[k] - E_L) / TAU[k];
    }
    return dt * dt * dt / 12 * fabs(h1 * c - h * c1) *
           (1 + dt * (c + 1 / TAU[EX]));
}

static double float_bound(double terms, double dt)
{
    double sum = U * (80 + 28 * terms) / (1 - exp(-dt * G_L / C));
    for (int k = 0; k < 2; k++) {
        double p = exp(-dt / TAU[k]);
        sum += 2 * U * dt * fabs(WEIGHT[k]) / C * 80 / ((1 - p) * (1 - p));
    }
    return sum;
}

typedef struct outcome {
    double peak, trough; /* about E_L */
    double worst, bound;
} outcome;

static outcome run(double dt)
{
    char text[1000];
    science_net s;
    outcome o = {0};
    double v = E_L, method = 0, terms = 0;
    int n_bursts = (int)(96 / dt + 0.5);
    snprintf(text, sizeof text,
             "format = 1\n[run]\ndt_ms = %g\nbursts = 1\n[area.A]\n"
             "model = \"lif_cond_exp\"\nneurons = 1\nc_m_pf = %g\ng_l_ns = %g\n"
             "e_l_mv = %g\ne_ex_mv = %g\ne_in_mv = %g\ntau_ex_ms = %g\n"
             "tau_in_ms = %g\nv_th_mv = -20\n[[stimulus]]\nkind = \"spikes\"\n"
             "to = \"A\"\nneurons = [0]\nbursts = [[%d]]\nweight_ns = %g\n"
             "[[stimulus]]\nkind = \"spikes\"\nto = \"A\"\nneurons = [0]\n"
             "bursts = [[%d]]\nweight_ns = %g\n",
             dt, C, G_L, E_L, E[EX], E[IN], TAU[EX], TAU[IN], 0, WEIGHT[EX],
             (int)(AT[IN] / dt + 0.5), WEIGHT[IN]);
    science_open(&s, text);
    /* what arrives in burst 0 acts from its end: that is time 0 */
    assert_true(science_next(&s, "v_mv") == E_L);
    for (int n = 0; n < n_bursts; n++) {
        double t = n * dt, sum = dt * G_L / C * fabs(v - E_L);
        for (int k = 0; k < 2; k++)
            sum += dt / C * conductance(k, t + 1e-9) * fabs(E[k] - v);
        terms = sum > terms ? sum : terms;
        method += burst_bound(t, dt);
        v = reference(v, t, dt);
        double distance = fabs(science_next(&s, "v_mv") - v);
        o.worst = distance > o.worst ? distance : o.worst;
        o.peak = v - E_L > o.peak ? v - E_L : o.peak;
        o.trough = v - E_L < o.trough ? v - E_L : o.trough;
    }
    science_close(&s);
    o.bound = method + float_bound(terms, dt);
    printf("dt %g ms: peak %.3f mV, trough %.3f mV, worst error %.3g mV, bound "
           "%.3g mV\n",
           dt, o.peak, o.trough, o.worst, o.bound);
    return o;
}

static void test_psp(void **state)
{
    (void)state;
    const double steps[] = {0.0625, 0.125, 0.25, 0.5, 1, 2};
    for (int k = 0; k < 6; k++) {
        outcome o = run(steps[k]);
        assert_true(o.peak > 3 && o.trough < -5);
        assert_true(o.worst <= o.bound);
    }
}

/* A quarter of the error for half the burst. */
static void test_order(void **state)
{
    (void)state;
    double ratio[2] = {run(2).worst / run(1).worst,
                       run(1).worst / run(0.5).worst};
    printf("error for half the burst: 1/%.2f, 1/%.2f\n", ratio[0], ratio[1]);
    for (int k = 0; k < 2; k++)
        assert_true(ratio[k] > 3.5 && ratio[k] < 4.5);
}

/* A large conductance takes V to its reversal potential and not past it: 5,000
 * nS are 25 membrane time constants a millisecond. */
static void test_large(void **state)
{
    (void)state;
    science_net s;
    science_open(&s, "format = 1\n[run]\ndt_ms = 0.5\nbursts = 1\n[area.A]\n"
                     "model = \"lif_cond_exp\"\nneurons = 1\nc_m_pf = 200\n"
                     "g_l_ns = 10\nv_th_mv = 10\n[[stimulus]]\n"
                     "kind = \"spikes\"\nto = \"A\"\nneurons = [0]\n"
                     "bursts = [[0, 20, 40]]\nweight_ns = 5000\n[[stimulus]]\n"
                     "kind = \"spikes\"\nto = \"A\"\nneurons = [0]\n"
                     "bursts = [[10, 30, 50]]\nweight_ns = -5000\n");
    double high = -100, low = 100;
    for (int n = 0; n < 100; n++) {
        double v = science_next(&s, "v_mv");
        high = v > high ? v : high;
        low = v < low ? v : low;
    }
    science_close(&s);
    printf("5,000 nS: V between %.4f and %.4f mV\n", low, high);
    assert_true(high > -5 && high < 1e-3);
    assert_true(low < -80 && low > -85.001);
}

/* Nor does one without measure: 10^6 nS are 250 membrane time constants in a
 * burst. Inhibition makes no spike. */
static void test_huge(void **state)
{
    static const char *const models[] = {"lif_cond_exp", "adex"};
    static const double weights[] = {-3e3, -3e4, -1e5, -3e5, -1e6};
    (void)state;
    for (int m = 0; m < 2; m++)
        for (int k = 0; k < 5; k++) {
            char text[500];
            science_net s;
            snprintf(text, sizeof text,
                     "format = 1\n[run]\ndt_ms = 0.1\nbursts = 1\n[area.A]\n"
                     "model = \"%s\"\nneurons = 1\n[[stimulus]]\n"
                     "kind = \"pulse\"\nto = \"A\"\nstart_ms = 1\n"
                     "period_ms = 20\ncount = 3\nweight_ns = %g\n",
                     models[m], weights[k]);
            science_open(&s, text);
            for (int n = 0; n < 1000; n++) {
                double v = science_next(&s, "v_mv");
                assert_true(v > -85.001 && v < -60);
            }
            science_close(&s);
        }
}

/* Noise onto a conductance keeps the mean that is written, 6 sd wide: after n
 * bursts it is mean / (1 - p), and its own deviation sd / sqrt(1 - p^2). A mean
 * over n bursts deviates by sd / (1 - p) / sqrt(n); 5 of that. */
static void test_noise(void **state)
{
    enum { SKIP = 200, N = 20000 };
    const double p = exp(-0.5 / 2), mean = 6, sd = 1;
    double sum = 0;
    (void)state;
    science_net s;
    science_open(&s, "format = 1\n[run]\ndt_ms = 0.5\nbursts = 1\n[area.A]\n"
                     "model = \"lif_cond_exp\"\nneurons = 1\ntau_ex_ms = 2\n"
                     "[[stimulus]]\nkind = \"normal\"\nto = \"A\"\n"
                     "mean_ns = 6\nsd_ns = 1\n");
    for (int n = 0; n < SKIP; n++)
        science_next(&s, "g_ex_ns");
    for (int n = 0; n < N; n++)
        sum += science_next(&s, "g_ex_ns");
    science_close(&s);
    assert_close(sum / N, mean / (1 - p), 5 * sd / (1 - p) / sqrt(N));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_psp),   cmocka_unit_test(test_order),
    cmocka_unit_test(test_large), cmocka_unit_test(test_huge),
    cmocka_unit_test(test_noise),
};

VLY_TEST_MAIN(tests)
