/* SPDX-License-Identifier: Apache-2.0
 * The neurons of genomes/neurons, each beside its equations as its source has
 * them, with the input of its genome. neuron_gallery.c has the method and what
 * the bounds are derived from.
 */
#include "neuron_gallery.h"
#include "volley_test.h"

#include <math.h>

static const double E = 2.718281828459045;

/* f = sum of terms, size = sum of their absolute values */
#define TERMS(i, ...)                                                          \
    do {                                                                       \
        const double terms_[] = {__VA_ARGS__};                                 \
        f[i] = size[i] = 0;                                                    \
        for (size_t t_ = 0; t_ < sizeof terms_ / sizeof terms_[0]; t_++) {     \
            f[i] += terms_[t_];                                                \
            size[i] += fabs(terms_[t_]);                                       \
        }                                                                      \
    } while (0)

/* ---- alpha currents ----------------------------------------------------- */

enum { V };

static void psc_alpha_rates(const double *x, double *f, double *size)
{
    TERMS(V, -70 / 10., -x[V] / 10, x[1] / 250, x[3] / 250, 390 / 250.);
    TERMS(1, x[2], -x[1] / 2);
    TERMS(2, -x[2] / 2);
    TERMS(3, x[4], -x[3] / 2);
    TERMS(4, -x[4] / 2);
}

static double above_55(const double *x)
{
    return x[V] + 55;
}

static void psc_alpha_reset(double *x)
{
    x[V] = -70;
}

static void test_psc_alpha(void **state)
{
    (void)state;
    const double up = E / 2 * 300, down = -E / 2 * 400;
    const gallery_neuron neuron = {
        .name = "iaf_psc_alpha",
        .field = "v_mv",
        .n = 5,
        .dt_ms = 0.1,
        .ms = 200,
        .start = {-70},
        .rates = psc_alpha_rates,
        .events = {{20, 2, up},
                   {60, 2, up},
                   {61, 2, up},
                   {62, 2, up},
                   {63, 2, up},
                   {140, 2, up},
                   {50, 4, down},
                   {100, 4, down}},
        .above = above_55,
        .reset = psc_alpha_reset,
        .t_ref_ms = 2,
        .held = 1 << V,
    };
    gallery_check(&neuron);
}

/* ---- alpha and beta conductances ---------------------------------------- */

/* of which, with time constants of rise and decay */
static void cond_rates(const double *x, double *f, double *size,
                       const double *tau)
{
    TERMS(V, -16.6667 / 250 * x[V], -16.6667 / 250 * 70, -x[1] / 250 * x[V],
          -x[3] / 250 * x[V], -x[3] / 250 * 85);
    TERMS(1, x[2], -x[1] / tau[0]);
    TERMS(2, -x[2] / tau[1]);
    TERMS(3, x[4], -x[3] / tau[2]);
    TERMS(4, -x[4] / tau[3]);
}

static void cond_alpha_rates(const double *x, double *f, double *size)
{
    cond_rates(x, f, size, (const double[]){1, 1, 2, 2});
}

static void test_cond_alpha(void **state)
{
    (void)state;
    const double up = E * 8, down = E / 2 * 10;
    const gallery_neuron neuron = {
        .name = "iaf_cond_alpha",
        .field = "v_mv",
        .n = 5,
        .dt_ms = 0.5,
        .ms = 62,
        .start = {-70},
        .rates = cond_alpha_rates,
        .events = {{5, 2, up},
                   {20, 2, up},
                   {22, 2, up},
                   {60, 2, up},
                   {61, 2, up},
                   {62, 2, up},
                   {63, 2, up},
                   {64, 2, up},
                   {65, 2, up},
                   {12, 4, down},
                   {40, 4, down}},
        .above = above_55,
        .order = 2,
    };
    gallery_check(&neuron);
}

static void cond_beta_rates(const double *x, double *f, double *size)
{
    cond_rates(x, f, size, (const double[]){0.5, 2, 1, 8});
}

/* What starts a difference of two exponentials with the peak 1: its height is
 * at the time where its derivative is 0. */
static double beta_start(double rise, double decay)
{
    double t = log(decay / rise) * rise * decay / (decay - rise);
    return (1 / rise - 1 / decay) / (exp(-t / decay) - exp(-t / rise));
}

static void test_cond_beta(void **state)
{
    (void)state;
    const double up = beta_start(0.5, 2) * 9, down = beta_start(1, 8) * 10;
    const gallery_neuron neuron = {
        .name = "iaf_cond_beta",
        .field = "v_mv",
        .n = 5,
        .dt_ms = 0.5,
        .ms = 60,
        .start = {-70},
        .rates = cond_beta_rates,
        .events = {{5, 2, up},
                   {20, 2, up},
                   {22, 2, up},
                   {60, 2, up},
                   {61, 2, up},
                   {62, 2, up},
                   {63, 2, up},
                   {64, 2, up},
                   {65, 2, up},
                   {12, 4, down},
                   {40, 4, down}},
        .above = above_55,
        .order = 2,
    };
    gallery_check(&neuron);
}

/* ---- Hodgkin-Huxley ----------------------------------------------------- */

enum { M = 1, H, K, HH_EX, HH_IN };

/* As in hh_cond_exp_traub.cpp of NEST; none of its quotients is met at 0/0. */
static void traub_gates(double v, double *open, double *shut)
{
    double x = v + 63;
    open[0] = 0.32 * (13 - x) / expm1((13 - x) / 4);
    shut[0] = 0.28 * (x - 40) / expm1((x - 40) / 5);
    open[1] = 0.128 * exp((17 - x) / 18);
    shut[1] = 4 / (1 + exp((40 - x) / 5));
    open[2] = 0.032 * (15 - x) / expm1((15 - x) / 5);
    shut[2] = 0.5 * exp((10 - x) / 40);
}

static void traub_rates(const double *x, double *f, double *size)
{
    double open[3], shut[3];
    double na = 20000 * pow(x[M], 3) * x[H], k = 6000 * pow(x[K], 4);
    traub_gates(x[V], open, shut);
    TERMS(V, na * 50 / 200, -na * x[V] / 200, -k * 90 / 200, -k * x[V] / 200,
          -10 * 60 / 200., -10 * x[V] / 200, -x[HH_EX] * x[V] / 200,
          -x[HH_IN] * 80 / 200, -x[HH_IN] * x[V] / 200);
    for (int i = 0; i < 3; i++)
        TERMS(M + i, open[i], -open[i] * x[M + i], -shut[i] * x[M + i]);
    TERMS(HH_EX, -x[HH_EX] / 5);
    TERMS(HH_IN, -x[HH_IN] / 10);
}

static double above_33(const double *x)
{
    return x[V] + 33;
}

static void test_hh(void **state)
{
    double open[3], shut[3];
    (void)state;
    gallery_neuron neuron = {
        .name = "hh_cond_exp_traub",
        .field = "v_mv",
        .n = 6,
        .dt_ms = 0.02,
        .ms = 25,
        .start = {-60},
        .rates = traub_rates,
        .events = {{5, HH_EX, 20},
                   {20, HH_EX, 20},
                   {21, HH_EX, 20},
                   {40, HH_EX, 20},
                   {41, HH_EX, 20},
                   {42, HH_EX, 20},
                   {12, HH_IN, 10}},
        .above = above_33,
        .rises = true,
        .order = 2,
    };
    traub_gates(-60, open, shut);
    for (int i = 0; i < 3; i++)
        neuron.start[M + i] = open[i] / (open[i] + shut[i]);
    gallery_check(&neuron);
}

/* ---- moving thresholds -------------------------------------------------- */

enum { EX = 1, IN };

static void gif_rates(const double *x, double *f, double *size)
{
    TERMS(V, -4 * 70 / 80., -4 * x[V] / 80, x[EX] / 80, x[IN] / 80, -x[3] / 80,
          -x[4] / 80, 205 / 80.);
    const double tau[] = {2, 2, 10, 110, 20, 200};
    for (int i = 0; i < 6; i++)
        TERMS(EX + i, -x[EX + i] / tau[i]);
}

static double gif_above(const double *x)
{
    return x[V] - (-35 + x[5] + x[6]);
}

static void gif_reset(double *x)
{
    x[V] = -55;
    x[3] += 20;
    x[4] += 8;
    x[5] += 8;
    x[6] += 2;
}

static void test_gif(void **state)
{
    (void)state;
    const gallery_neuron neuron = {
        .name = "gif_psc_exp",
        .field = "v_mv",
        .n = 7,
        .dt_ms = 0.1,
        .ms = 250,
        .start = {-70},
        .rates = gif_rates,
        .events = {{100, EX, 150},
                   {200, EX, 150},
                   {201, EX, 150},
                   {202, EX, 150},
                   {150, IN, -300}},
        .above = gif_above,
        .reset = gif_reset,
        .t_ref_ms = 4,
        .held = 1 << V,
    };
    gallery_check(&neuron);
}

enum { ASC_1 = 2, ASC_2, TH_SPIKE, TH_VOLTAGE };

static void glif_rates(const double *x, double *f, double *size)
{
    TERMS(V, -9.43 * 78.85 / 58.72, -9.43 * x[V] / 58.72, x[1] / 58.72,
          x[ASC_1] / 58.72, x[ASC_2] / 58.72, 400 / 58.72);
    TERMS(1, -x[1] / 2);
    TERMS(ASC_1, -0.003 * x[ASC_1]);
    TERMS(ASC_2, -0.1 * x[ASC_2]);
    TERMS(TH_SPIKE, -0.009 * x[TH_SPIKE]);
    TERMS(TH_VOLTAGE, 0.005 * 78.85, 0.005 * x[V], -0.09 * x[TH_VOLTAGE]);
}

static double glif_above(const double *x)
{
    return x[V] - (-51.68 + x[TH_SPIKE] + x[TH_VOLTAGE]);
}

static void glif_reset(double *x)
{
    x[V] = -78.85 + 0.2 * (x[V] + 78.85) + 18.51;
    x[ASC_1] = exp(-0.003 * 3.7) * x[ASC_1] - 9.18;
    x[ASC_2] = exp(-0.1 * 3.7) * x[ASC_2] - 198.94;
    x[TH_SPIKE] = exp(-0.009 * 3.7) * x[TH_SPIKE] + 0.37;
}

static void test_glif(void **state)
{
    (void)state;
    const gallery_neuron neuron = {
        .name = "glif_psc",
        .field = "v_mv",
        .n = 6,
        .dt_ms = 0.1,
        .ms = 250,
        .start = {-78.85},
        .rates = glif_rates,
        .events = {{100, 1, 200}, {200, 1, 200}, {201, 1, 200}, {202, 1, 200}},
        .above = glif_above,
        .reset = glif_reset,
        .t_ref_ms = 3.7,
        .held =
            1 << V | 1 << ASC_1 | 1 << ASC_2 | 1 << TH_SPIKE | 1 << TH_VOLTAGE,
    };
    gallery_check(&neuron);
}

static void mat2_rates(const double *x, double *f, double *size)
{
    TERMS(V, -70 / 5., -x[V] / 5, x[EX] / 100, x[IN] / 100, 500 / 100.);
    TERMS(EX, -x[EX] / 1);
    TERMS(IN, -x[IN] / 3);
    TERMS(3, -x[3] / 10);
    TERMS(4, -x[4] / 200);
}

static double mat2_above(const double *x)
{
    return x[V] - (-51 + x[3] + x[4]);
}

static void mat2_reset(double *x)
{
    x[3] += 37;
    x[4] += 2;
}

static void test_mat2(void **state)
{
    (void)state;
    const gallery_neuron neuron = {
        .name = "mat2_psc_exp",
        .field = "v_mv",
        .n = 5,
        .dt_ms = 0.1,
        .ms = 250,
        .start = {-70},
        .rates = mat2_rates,
        .events = {{100, EX, 800},
                   {200, EX, 800},
                   {201, EX, 800},
                   {202, EX, 800},
                   {150, IN, -900}},
        .above = mat2_above,
        .reset = mat2_reset,
        .t_ref_ms = 2,
    };
    gallery_check(&neuron);
}

/* ---- adaptation --------------------------------------------------------- */

static void adapting_rates(const double *x, double *f, double *size)
{
    TERMS(V, -30 * 70.6 / 281, -30 * x[V] / 281, -x[1] / 281, x[2] / 281,
          910 / 281.);
    TERMS(1, 4 * x[V] / 144, 4 * 70.6 / 144, -x[1] / 144);
    TERMS(2, -x[2] / 2);
}

static double above_50(const double *x)
{
    return x[V] + 50.4;
}

static void adapting_reset(double *x)
{
    x[V] = -60;
    x[1] += 80.5;
}

static void test_lif_adapting(void **state)
{
    (void)state;
    const gallery_neuron neuron = {
        .name = "lif_adapting",
        .field = "v_mv",
        .n = 3,
        .dt_ms = 0.1,
        .ms = 250,
        .start = {-70.6},
        .rates = adapting_rates,
        .events = {{100, 2, 400}, {200, 2, 400}, {201, 2, 400}, {202, 2, 400}},
        .above = above_50,
        .reset = adapting_reset,
        .t_ref_ms = 2,
        .held = 1 << V,
    };
    gallery_check(&neuron);
}

static void adex_rates(const double *x, double *f, double *size)
{
    TERMS(V, -30 * 70.6 / 281, -30 * x[V] / 281,
          30 * 2 * exp((x[V] + 50.4) / 2) / 281, -x[1] / 281, x[2] / 281,
          x[3] / 281, 700 / 281.);
    TERMS(1, 4 * x[V] / 144, 4 * 70.6 / 144, -x[1] / 144);
    TERMS(2, -x[2] / 2);
    TERMS(3, -x[3] / 2);
}

static double above_0(const double *x)
{
    return x[V];
}

static void test_adex(void **state)
{
    (void)state;
    const gallery_neuron neuron = {
        .name = "adex_psc_exp",
        .field = "v_mv",
        .n = 4,
        .dt_ms = 1,
        .ms = 20,
        .start = {-70.6},
        .rates = adex_rates,
        .events = {{5, 2, 400}, {10, 3, -600}},
        .above = above_0,
        .order = 2,
        .upswing = true,
    };
    gallery_check(&neuron);
}

/* ---- quadratic ---------------------------------------------------------- */

static void qif_rates(const double *x, double *f, double *size)
{
    TERMS(V, (x[V] + 65) * (x[V] + 50) / 200, 80 / 200.);
}

static double above_20(const double *x)
{
    return x[V] - 20;
}

static void test_qif(void **state)
{
    (void)state;
    const gallery_neuron neuron = {
        .name = "qif",
        .field = "v_mv",
        .n = 1,
        .dt_ms = 1,
        .ms = 60,
        .start = {-65},
        .rates = qif_rates,
        .events = {{10, V, 5}},
        .above = above_20,
        .order = 2,
        .upswing = true,
    };
    gallery_check(&neuron);
}

/* ---- no spikes ---------------------------------------------------------- */

static void leaky_rates(const double *x, double *f, double *size)
{
    TERMS(0, 0.1 / (1 + exp(-(x[1] - 10) / 3)) / 5, -x[0] / 5);
    TERMS(1, 6 / 20., -x[1] / 20);
}

static void test_leaky(void **state)
{
    (void)state;
    const gallery_neuron neuron = {
        .name = "leaky_integrator",
        .field = "rate_per_ms",
        .n = 2,
        .dt_ms = 0.5,
        .ms = 200,
        .rates = leaky_rates,
        .events = {{10, 1, 2},
                   {40, 1, 2},
                   {42, 1, 2},
                   {44, 1, 2},
                   {46, 1, 2},
                   {48, 1, 2},
                   {100, 1, -8}},
        .order = 2,
    };
    gallery_check(&neuron);
}

/* ---- NMDA --------------------------------------------------------------- */

enum { AMPA = 1, GABA, RISE, NMDA };

static void nmda_rates(const double *x, double *f, double *size)
{
    double g = x[AMPA] + x[NMDA] / (1 + exp(-0.062 * x[V]) / 3.57);
    TERMS(V, -25 * 70 / 500., -25 * x[V] / 500, -g * x[V] / 500,
          -x[GABA] * 70 / 500, -x[GABA] * x[V] / 500);
    TERMS(AMPA, -x[AMPA] / 2);
    TERMS(GABA, -x[GABA] / 5);
    TERMS(RISE, -x[RISE] / 2);
    TERMS(NMDA, x[RISE], -x[NMDA] / 100);
}

static double above_minus_50(const double *x)
{
    return x[V] + 50;
}

static void test_nmda(void **state)
{
    (void)state;
    gallery_neuron neuron = {
        .name = "lif_nmda",
        .field = "v_mv",
        .n = 5,
        .dt_ms = 0.5,
        .ms = 60,
        .start = {-70},
        .rates = nmda_rates,
        .events = {{12, GABA, 10}, {45, GABA, 10}, {200, GABA, 10}},
        .above = above_minus_50,
        .order = 2,
    };
    /* 20 nS at 5, 20, 30, ... 150 ms */
    for (int k = 0; k < 14; k++) {
        double at = k == 0 ? 5 : 10 + 10 * k;
        neuron.events[3 + 2 * k] = (gallery_event){at, AMPA, 20};
        neuron.events[4 + 2 * k] = (gallery_event){at, RISE, 0.5 / 2 * 20};
    }
    gallery_check(&neuron);
}

/* ---- two compartments --------------------------------------------------- */

static void two_rates(const double *x, double *f, double *size)
{
    TERMS(0, -10 * 70 / 100., -10 * x[0] / 100, 15 * x[1] / 100,
          -15 * x[0] / 100, x[2] / 100, 450 / 100.);
    TERMS(1, -10 * 70 / 150., -10 * x[1] / 150, 15 * x[0] / 150,
          -15 * x[1] / 150, x[3] / 150);
    TERMS(2, -x[2] / 2);
    TERMS(3, -x[3] / 5);
}

static void two_reset(double *x)
{
    x[0] = -60;
    x[1] += 3;
}

static void test_two_compartments(void **state)
{
    (void)state;
    gallery_neuron neuron = {
        .name = "two_compartments",
        .field = "v_s_mv",
        .n = 4,
        .dt_ms = 0.1,
        .ms = 200,
        .start = {-70, -70},
        .rates = two_rates,
        .above = above_minus_50,
        .reset = two_reset,
        .t_ref_ms = 2,
        .held = 1 << 0,
    };
    /* a spike given at t is at the end of its burst, and arrives 1 ms later */
    const double times[] = {20, 40, 60, 61, 62, 100, 101, 102};
    for (int k = 0; k < 8; k++)
        neuron.events[k] = (gallery_event){times[k] + 1.1, 3, 150};
    gallery_check(&neuron);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_psc_alpha),
    cmocka_unit_test(test_cond_alpha),
    cmocka_unit_test(test_cond_beta),
    cmocka_unit_test(test_hh),
    cmocka_unit_test(test_gif),
    cmocka_unit_test(test_glif),
    cmocka_unit_test(test_mat2),
    cmocka_unit_test(test_lif_adapting),
    cmocka_unit_test(test_adex),
    cmocka_unit_test(test_qif),
    cmocka_unit_test(test_leaky),
    cmocka_unit_test(test_nmda),
    cmocka_unit_test(test_two_compartments),
};

VLY_TEST_MAIN(tests)
