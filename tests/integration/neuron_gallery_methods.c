/* SPDX-License-Identifier: Apache-2.0
 * Gallery neurons whose equations are not all linear: cases of
 * test_neuron_gallery.
 */
#include "neuron_gallery.h"

#include <math.h>

static const double E = 2.718281828459045;

enum { V };

/* ---- alpha and beta conductances ---------------------------------------- */

static double above_55(const double *x)
{
    return x[V] + 55;
}

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

static void reset_to_60(double *x)
{
    x[V] = -60;
}

void gallery_cond_alpha(void **state)
{
    (void)state;
    const double up = E * 8, down = E / 2 * 10;
    const gallery_neuron neuron = {
        .name = "iaf_cond_alpha",
        .fields = {"v_mv"},
        .n = 5,
        .dt_ms = 0.2,
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
        .reset = reset_to_60,
        .t_ref_ms = 2,
        .held = 1 << V,
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

void gallery_cond_beta(void **state)
{
    (void)state;
    const double up = beta_start(0.5, 2) * 9, down = beta_start(1, 8) * 10;
    const gallery_neuron neuron = {
        .name = "iaf_cond_beta",
        .fields = {"v_mv"},
        .n = 5,
        .dt_ms = 0.2,
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
        .reset = reset_to_60,
        .t_ref_ms = 2,
        .held = 1 << V,
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

void gallery_hh(void **state)
{
    double open[3], shut[3];
    (void)state;
    gallery_neuron neuron = {
        .name = "hh_cond_exp_traub",
        .fields = {"v_mv", "m", "h", "n"},
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

/* ---- AdEx -------------------------------------------------------------- */

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

static void adex_reset(double *x)
{
    x[V] = -60;
}

void gallery_adex(void **state)
{
    (void)state;
    const gallery_neuron neuron = {
        .name = "adex_psc_exp",
        .fields = {"v_mv", "w_pa"},
        .n = 4,
        .dt_ms = 1,
        .ms = 20,
        .start = {-70.6},
        .rates = adex_rates,
        .events = {{5, 2, 400}, {10, 3, -600}},
        .above = above_0,
        .reset = adex_reset,
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

static void qif_reset(double *x)
{
    x[V] = -70;
}

void gallery_qif(void **state)
{
    (void)state;
    const gallery_neuron neuron = {
        .name = "qif",
        .fields = {"v_mv"},
        .n = 1,
        .dt_ms = 1,
        .ms = 60,
        .start = {-65},
        .rates = qif_rates,
        .events = {{10, V, 5}},
        .above = above_20,
        .reset = qif_reset,
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

void gallery_leaky(void **state)
{
    (void)state;
    const gallery_neuron neuron = {
        .name = "leaky_integrator",
        .fields = {"rate_per_ms"},
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

static void nmda_reset(double *x)
{
    x[V] = -55;
}

void gallery_nmda(void **state)
{
    (void)state;
    gallery_neuron neuron = {
        .name = "lif_nmda",
        .fields = {"v_mv", [NMDA] = "g_nmda_ns"},
        .n = 5,
        .dt_ms = 0.5,
        .ms = 60,
        .start = {-70},
        .rates = nmda_rates,
        .events = {{12, GABA, 10}, {45, GABA, 10}, {200, GABA, 10}},
        .above = above_minus_50,
        .reset = nmda_reset,
        .t_ref_ms = 2,
        .held = 1 << V,
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
