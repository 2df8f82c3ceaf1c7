/* SPDX-License-Identifier: Apache-2.0
 * The neurons of genomes/neurons, each beside its equations as its source has
 * them, with the input of its genome. neuron_gallery.c has the method and what
 * the bounds are derived from.
 */
#include "neuron_gallery.h"
#include "volley_test.h"

#include <math.h>

static const double E = 2.718281828459045;

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
        .fields = {"v_mv"},
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

static double gif_chance(const double *x, double dt_ms)
{
    double rate = 0.001 * exp((x[V] - (-35 + x[5] + x[6])) / 0.5);
    return -expm1(-rate * dt_ms);
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
        .fields = {"v_mv", [5] = "q_1_mv", "q_2_mv"},
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
        .chance = gif_chance,
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
        .fields = {"v_mv", [TH_SPIKE] = "th_spike_mv", "th_voltage_mv"},
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
        .fields = {"v_mv", [3] = "th_1_mv", "th_2_mv"},
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
        .fields = {"v_mv", "w_pa"},
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

static double above_minus_50(const double *x)
{
    return x[V] + 50;
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
        .fields = {"v_s_mv", "v_d_mv"},
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
    cmocka_unit_test(gallery_cond_alpha),
    cmocka_unit_test(gallery_cond_beta),
    cmocka_unit_test(gallery_hh),
    cmocka_unit_test(test_gif),
    cmocka_unit_test(test_glif),
    cmocka_unit_test(test_mat2),
    cmocka_unit_test(test_lif_adapting),
    cmocka_unit_test(gallery_adex),
    cmocka_unit_test(gallery_qif),
    cmocka_unit_test(gallery_leaky),
    cmocka_unit_test(gallery_nmda),
    cmocka_unit_test(test_two_compartments),
};

VLY_TEST_MAIN(tests)
