/* SPDX-License-Identifier: Apache-2.0
 * lif_psc_exp and lif_psc_exp2 against their closed form in double, and the
 * firing rate of all leaky integrate-and-fire models for constant current
 * against theory.
 *
 * The bound. One burst computes, in float with u = 2^-24 (half an ulp),
 *     V <- E + (p22 (V - E) + (p21 I + drive)),  I <- p11 I + arrivals.
 * With D and J the largest |V - E| and |p21 I + drive|: rounding V - E costs
 * u D, p22 and its product 2 u D, p21 (or drive), product and sum 3 u J, the
 * inner sum u (D + J), the outer sum u (|E| + D); store adds nothing. An error
 * of V is multiplied by p22 in every further burst, so they sum to at most
 *     u (5 D + 4 J + |E|) / (1 - p22).
 * I has the relative error 2 u n after n bursts (p11 and its product): it adds
 * at most sum_n p21 I_0 p11^n 2 u n <= 2 u p21 I_0 / (1 - p11)^2. With two
 * currents there is one more sum, u J, and such a term for each.
 */
#include "volley_test.h"

#include <math.h>
#include <stdlib.h>

#include <volley/volley.h>

#include "spike_statistics.h"

static const double U = 0x1p-24;
static const double DT = 0.1;
static const double C = 250, TAU = 10, TAU_SYN = 0.5;

typedef struct runner {
    vly_registry *registry;
    vly_genome *genome;
    vly_connectome *connectome;
    vly_net *net;
    vly_error error;
} runner;

static void open_text(runner *r, const char *text)
{
    *r = (runner){.error = {.struct_size = sizeof(vly_error)}};
    assert_ok(vly_registry_create(&r->registry, &r->error), r->error);
    assert_ok(vly_genome_parse(text, strlen(text), "test.toml", NULL, 0,
                               &r->genome, &r->error),
              r->error);
    assert_ok(vly_connectome_build(r->genome, 1, &r->connectome, &r->error),
              r->error);
    assert_ok(vly_net_create(r->connectome, r->registry, "cpu:1", 1, &r->net,
                             &r->error),
              r->error);
}

static void close_text(runner *r)
{
    vly_net_destroy(r->net);
    vly_connectome_destroy(r->connectome);
    vly_genome_destroy(r->genome);
    vly_registry_destroy(r->registry);
}

static double next_v(runner *r)
{
    double v;
    assert_ok(vly_net_run(r->net, 1, &r->error), r->error);
    assert_ok(vly_net_read(r->net, "A", "v_mv", 0, 1, &v, &r->error), r->error);
    return v;
}

/* Contribution of the error of a current that starts with i0 and decays. */
static double current_bound(double p21_i0, double tau_syn)
{
    double p11 = exp(-DT / tau_syn);
    return 2 * U * p21_i0 / ((1 - p11) * (1 - p11));
}

static double error_bound(double e_l, double d, double j, double p21_i0)
{
    return U * (5 * d + 4 * j + fabs(e_l)) / (1 - exp(-DT / TAU)) +
           current_bound(p21_i0, TAU_SYN);
}

/* ---- one postsynaptic potential --------------------------------------- */

static void check_psp(double e_l)
{
    char text[1000];
    const double weight = 512; /* pA, exact in int16 steps */
    const double rise = TAU * TAU_SYN / (TAU - TAU_SYN) / C;
    const double p21 = rise * (exp(-DT / TAU) - exp(-DT / TAU_SYN));
    double peak = 0, worst = 0;
    runner r;
    snprintf(text, sizeof text,
             "format = 1\n[run]\ndt_ms = 0.1\nbursts = 600\n[area.A]\n"
             "model = \"lif_psc_exp\"\nneurons = 1\ne_l_mv = %g\n"
             "v_th_mv = %g\nv_reset_mv = %g\n[[stimulus]]\n"
             "kind = \"spikes\"\nto = \"A\"\nneurons = [0]\nbursts = [[0]]\n"
             "weight_pa = %g\n",
             e_l, e_l + 15, e_l, weight);
    open_text(&r, text);
    for (int n = 0; n < 600; n++) {
        /* what arrives in burst 0 acts from the end of that burst */
        double s = n * DT;
        double exact =
            e_l + weight * rise * (exp(-s / TAU) - exp(-s / TAU_SYN));
        double distance = fabs(next_v(&r) - exact);
        worst = distance > worst ? distance : worst;
        peak = exact - e_l > peak ? exact - e_l : peak;
    }
    double bound = error_bound(e_l, peak, p21 * weight, p21 * weight);
    printf("PSP, E_L %g mV: peak %.4f mV, worst error %.3g mV, bound %.3g mV\n",
           e_l, peak, worst, bound);
    assert_true(peak > 0.8);
    assert_true(worst <= bound);
    close_text(&r);
}

static void test_psp(void **state)
{
    (void)state;
    check_psp(-65);
    check_psp(0);
}

/* ---- one potential of an alpha-shaped current ------------------------- */

/* What happens to V until s after an event whose current peaks at `weight`. */
static double alpha_psp(double weight, double tau_syn, double s)
{
    double a = 1 / tau_syn - 1 / TAU;
    return weight * exp(1) / tau_syn / C * exp(-s / TAU) *
           (1 - (1 + a * s) * exp(-a * s)) / (a * a);
}

/* After n bursts the slope has the relative error u (2 n + 2) and the current
 * u (5 n + 3): each burst adds three roundings to what it has, and takes over
 * the slope's. V gets three roundings more with each. The rest is as for
 * lif_psc_exp, with one sum more. */
static double alpha_bound(double e_l, double weight, double tau_syn, double d)
{
    double p32 = (exp(-DT / TAU) - exp(-DT / tau_syn)) * TAU * tau_syn /
                 (TAU - tau_syn) / C;
    double sum = 0, most = 0;
    for (int n = 0; n < 600; n++) {
        double decay = exp(-n * DT / tau_syn);
        double current = weight * exp(1) / tau_syn * n * DT * decay;
        double pushed = alpha_psp(weight * decay, tau_syn, DT) + p32 * current;
        sum += U * (5 * n + 6) * pushed;
        most = pushed > most ? pushed : most;
    }
    return U * (5 * d + 5 * most + fabs(e_l)) / (1 - exp(-DT / TAU)) + sum;
}

static void check_alpha(double e_l, double tau_syn)
{
    char text[1000];
    const double weight = 512;
    double peak = 0, worst = 0;
    runner r;
    snprintf(text, sizeof text,
             "format = 1\n[run]\ndt_ms = 0.1\nbursts = 600\n[area.A]\n"
             "model = \"lif_psc_alpha\"\nneurons = 1\ne_l_mv = %g\n"
             "v_th_mv = %g\nv_reset_mv = %g\ntau_syn_ms = %.17g\n"
             "[[stimulus]]\nkind = \"spikes\"\nto = \"A\"\nneurons = [0]\n"
             "bursts = [[0]]\nweight_pa = %g\n",
             e_l, e_l + 15, e_l, tau_syn, weight);
    open_text(&r, text);
    for (int n = 0; n < 600; n++) {
        double moved = alpha_psp(weight, tau_syn, n * DT);
        double distance = fabs(next_v(&r) - (e_l + moved));
        worst = distance > worst ? distance : worst;
        peak = moved > peak ? moved : peak;
    }
    double bound = alpha_bound(e_l, weight, tau_syn, peak);
    printf("alpha, E_L %g mV, tau %g ms: peak %.4f mV, worst error %.3g mV, "
           "bound %.3g mV\n",
           e_l, tau_syn, peak, worst, bound);
    assert_true(peak > 0.8 && bound < 1e-3 * peak);
    assert_true(worst <= bound);
    close_text(&r);
}

static void test_alpha(void **state)
{
    (void)state;
    check_alpha(-65, 0.5);
    check_alpha(0, 0.32582722403722841); /* of NEST's hpc_benchmark */
    check_alpha(0, 2);
}

/* ---- two time constants ----------------------------------------------- */

/* Effect on V until s of a current that was `weight` at time 0. */
static double psp(double weight, double tau_syn, double s)
{
    double rise = TAU * tau_syn / (TAU - tau_syn) / C;
    return s < 0 ? 0 : weight * rise * (exp(-s / TAU) - exp(-s / tau_syn));
}

/* Excitation in burst 0, inhibition in burst 50, by the sign of the weight. */
static void check_two(double e_l)
{
    char text[1000];
    const double ex = 512, in = -256, tau_ex = 0.5, tau_in = 4;
    double d = 0, worst = 0;
    runner r;
    snprintf(text, sizeof text,
             "format = 1\n[run]\ndt_ms = 0.1\nbursts = 600\n[area.A]\n"
             "model = \"lif_psc_exp2\"\nneurons = 1\ne_l_mv = %g\n"
             "v_th_mv = %g\nv_reset_mv = %g\ntau_ex_ms = %g\ntau_in_ms = %g\n"
             "[[stimulus]]\nkind = \"spikes\"\nto = \"A\"\nneurons = [0]\n"
             "bursts = [[0]]\nweight_pa = %g\n[[stimulus]]\nkind = "
             "\"spikes\"\nto = \"A\"\nneurons = [0]\nbursts = [[50]]\n"
             "weight_pa = %g\n",
             e_l, e_l + 15, e_l - 1, tau_ex, tau_in, ex, in);
    open_text(&r, text);
    for (int n = 0; n < 600; n++) {
        double moved = psp(ex, tau_ex, n * DT) + psp(in, tau_in, (n - 50) * DT);
        double distance = fabs(next_v(&r) - (e_l + moved));
        worst = distance > worst ? distance : worst;
        d = fabs(moved) > d ? fabs(moved) : d;
    }
    double j_ex = psp(ex, tau_ex, DT), j_in = fabs(psp(in, tau_in, DT));
    double bound =
        U * (5 * d + 5 * (j_ex + j_in) + fabs(e_l)) / (1 - exp(-DT / TAU)) +
        current_bound(j_ex, tau_ex) + current_bound(j_in, tau_in);
    printf("two time constants, E_L %g mV: largest %.4f mV, worst error %.3g "
           "mV, bound %.3g mV\n",
           e_l, d, worst, bound);
    assert_true(d > 0.8);
    assert_true(worst <= bound);
    close_text(&r);
}

static void test_two(void **state)
{
    (void)state;
    check_two(-65);
    check_two(0);
}

/* ---- a step of constant current --------------------------------------- */

static void check_dc_step(double e_l, int start)
{
    char text[1000];
    const double current = 300; /* pA: 12 of the 15 mV to the threshold */
    const double reach = current * TAU / C;
    const double drive = reach * (1 - exp(-DT / TAU));
    double worst = 0;
    runner r;
    snprintf(text, sizeof text,
             "format = 1\n[run]\ndt_ms = 0.1\nbursts = 1000\n[area.A]\n"
             "model = \"lif_psc_exp\"\nneurons = 1\ne_l_mv = %g\n"
             "v_th_mv = %g\nv_reset_mv = %g\n[[stimulus]]\n"
             "kind = \"dc\"\nto = \"A\"\namplitude_pa = %g\nstart_ms = %g\n",
             e_l, e_l + 15, e_l, current, start * DT);
    open_text(&r, text);
    for (int n = 0; n < 1000; n++) {
        double s = n < start ? 0 : (n + 1 - start) * DT;
        double exact = e_l + reach * (1 - exp(-s / TAU));
        double distance = fabs(next_v(&r) - exact);
        worst = distance > worst ? distance : worst;
    }
    double bound = error_bound(e_l, reach, drive, 0);
    printf("dc step, E_L %g mV, from burst %d: worst error %.3g mV, bound "
           "%.3g mV\n",
           e_l, start, worst, bound);
    assert_true(worst <= bound);
    close_text(&r);
}

static void test_dc_step(void **state)
{
    (void)state;
    check_dc_step(-65, 0);
    check_dc_step(0, 0);
    check_dc_step(-65, 137);
}

/* ---- firing rate ------------------------------------------------------ */

/* Intervals between threshold crossings on the grid: theory rounded up to a
 * whole burst. 1e-3 bursts for the float potential near the threshold. */
static void check_rates(const char *model, const char *parameters)
{
    enum { N = 20, N_BURSTS = 20000 };
    const double t_ref = 2, theta = 15;
    char text[2000];
    int length = snprintf(text, sizeof text,
                          "format = 1\n[run]\ndt_ms = 0.1\nbursts = 1\n"
                          "[area.A]\nmodel = \"%s\"\n%sneurons = %d\n"
                          "t_ref_ms = %g\ni_e_pa = [",
                          model, parameters, (int)N, t_ref);
    for (int k = 0; k < N; k++)
        length += snprintf(text + length, sizeof text - (size_t)length, "%d, ",
                           360 + 37 * k);
    snprintf(text + length, sizeof text - (size_t)length, "]\n");
    spike_statistics s;
    runner r;
    open_text(&r, text);
    assert_true(spike_statistics_init(&s, N, 0));
    vly_net_on_spikes(r.net, spike_statistics_add, &s);
    assert_ok(vly_net_run(r.net, N_BURSTS, &r.error), r.error);
    for (int k = 0; k < N; k++) {
        const neuron_statistics *neuron = &s.neurons[k];
        double reach = (360 + 37 * k) * TAU / C;
        if (reach <= theta) { /* 375 pA: never quite there */
            assert_int_equal(neuron->spikes, 0);
            continue;
        }
        double wanted = (t_ref + TAU * log(reach / (reach - theta))) / DT;
        double interval = neuron->sum / (neuron->spikes - 1.0);
        assert_true(neuron->spikes > 10);
        assert_true(interval >= wanted - 1e-3);
        assert_true(interval <= wanted + 1 + 1e-3);
        /* all the same */
        assert_true(neuron->square * (neuron->spikes - 1.0) ==
                    neuron->sum * neuron->sum);
    }
    spike_statistics_deinit(&s);
    close_text(&r);
}

static void test_rates(void **state)
{
    (void)state;
    check_rates("lif_psc_delta", "");
    check_rates("lif_psc_exp", "");
    check_rates("lif_psc_alpha", "");
    check_rates("lif_psc_exp2", "");
    check_rates("lif_cond_exp", "g_l_ns = 25\ne_l_mv = -65\nv_th_mv = -50\n"
                                "v_reset_mv = -65\n");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_psp),   cmocka_unit_test(test_alpha),
    cmocka_unit_test(test_two),   cmocka_unit_test(test_dc_step),
    cmocka_unit_test(test_rates),
};

VLY_TEST_MAIN(tests)
