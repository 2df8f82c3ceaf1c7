/* SPDX-License-Identifier: Apache-2.0
 * How equations are integrated: the propagator of linear systems against closed
 * forms in double, the order of the other methods by halving dt.
 */
#include "neuron_fixture.h"

#include <math.h>

/* ---- the propagator ----------------------------------------------------- */

/* Entry of e^(A h) - 1; column n: the constant. NaN: it is no coefficient */
static double entry(const neuron *n, uint32_t row, uint32_t column)
{
    const vly_neuron_model *model = n->model;
    for (uint32_t i = 0; i < model->n_coefs; i++)
        if (model->coefs[i].kind == VLY_COEF_WHOLE && !model->coefs[i].held &&
            model->coefs[i].row == row && model->coefs[i].column == column)
            return n->coefs[i];
    return (double)NAN;
}

static void assert_near(double found, double wanted, double relative)
{
    if (!(fabs(found - wanted) <= relative * fabs(wanted)))
        fail_msg("%.17g, wanted %.17g within %g", found, wanted, relative);
}

#define CURRENT                                                                \
    "[neuron.n]\nparam = { tau_m = \"10 ms\", tau_s = \"10 ms\", c_m = \"1 "   \
    "pF\", i_e = \"3 pA\" }\nport = { ex = \"pA\" }\n"                         \
    "state = { v = \"1 mV\", i = \"2 pA\" }\n"                                 \
    "eq = \"v' = -v/tau_m + (i + i_e)/c_m; i' = -i/tau_s\"\n"                  \
    "on.ex = \"i += in\"\nspike = \"v >= 1 kV\"\nreset = \"v = 0 mV\"\n"

/* The closed form, in long double, is well conditioned for every pair of time
 * constants: h e^(-h/s) expm1(b)/b with b = h (1/s - 1/m). */
static void check_current(double tau_m, double tau_s, double h, double bound)
{
    neuron n;
    neuron_make(&n, CURRENT, h);
    n.params[neuron_param(&n, "tau_m_ms")] = tau_m;
    n.params[neuron_param(&n, "tau_s_ms")] = tau_s;
    neuron_start(&n);
    long double b = h * (1.0L / tau_s - 1.0L / tau_m);
    long double mean = b > 0 || b < 0 ? expm1l(b) / b : 1.0L;
    double coupled = (double)(h * expl(-h / (long double)tau_s) * mean);
    double decay = (double)expm1l(-h / (long double)tau_m);
    assert_near(entry(&n, 0, 0), decay, bound);
    assert_near(entry(&n, 1, 1), (double)expm1l(-h / (long double)tau_s),
                bound);
    assert_near(entry(&n, 0, 2), -3 * tau_m * decay, bound);
    /* where everything has decayed, of the largest value */
    if (!(fabs(entry(&n, 0, 1) - coupled) <= bound * (fabs(coupled) + 1)))
        fail_msg("%.17g, wanted %.17g", entry(&n, 0, 1), coupled);
    neuron_free(&n);
}

static void coupled(void **state)
{
    (void)state;
    static const double steps[] = {1e-3, 0.1, 1, 10};
    for (int i = 0; i < 4; i++) {
        check_current(10, 10, steps[i], 1e-15); /* tau_m = tau_syn */
        check_current(10, 10 + 2e-6, steps[i], 1e-15);
        check_current(10, 10 - 2e-6, steps[i], 1e-15);
        check_current(10, 0.5, steps[i], 2e-14);
        check_current(20, 100, steps[i], 2e-15);
    }
    check_current(10, 10, 1000, 1e-13); /* 100 time constants */
    check_current(10, 5, 1000, 1e-13);
}

static void oscillation(void **state)
{
    (void)state;
    neuron n;
    neuron_make(
        &n,
        "[neuron.n]\nparam = { tau = \"50 ms\", w = \"0.7 kHz\" }\n"
        "port = { ex = \"mV\" }\nstate = { v = \"3 mV\", u = \"0 mV\" }\n"
        "eq = \"v' = -v/tau - w*u; u' = w*v - u/tau\"\n"
        "on.ex = \"v += in\"\nspike = \"v >= 1 kV\"\n"
        "reset = \"v = 0 mV\"\n",
        0.5);
    double decay = exp(-0.5 / 50);
    assert_near(entry(&n, 0, 0), decay * cos(0.35) - 1, 1e-14);
    assert_near(entry(&n, 0, 1), -decay * sin(0.35), 1e-14);
    assert_near(entry(&n, 1, 0), decay * sin(0.35), 1e-14);
    assert_near(entry(&n, 1, 1), decay * cos(0.35) - 1, 1e-14);
    for (int k = 1; k <= 200; k++) {
        neuron_burst(&n);
        double size = 3 * exp(-0.01 * k);
        assert_close((double)neuron_field(&n, "v"), size * cos(0.35 * k), 2e-5);
        assert_close((double)neuron_field(&n, "u"), size * sin(0.35 * k), 2e-5);
    }
    neuron_free(&n);
}

static void constant_rate(void **state)
{
    (void)state;
    neuron n;
    neuron_make(&n,
                "[neuron.n]\nparam = { k = \"0.25 mV/ms\", z = \"0 mV/ms\" }\n"
                "port = { ex = \"mV\" }\n"
                "state = { v = \"0 mV\", u = \"1 mV\", sum = \"0 mV*ms\" }\n"
                "eq = \"v' = k; u' = 0; sum' = v + z*dt\"\n"
                "on.ex = \"v += in; u += in\"\nspike = \"v >= 1 kV\"\n"
                "reset = \"v = 0 mV\"\n",
                0.5);
    assert_true(entry(&n, 0, 3) == 0.125);
    for (int k = 1; k <= 64; k++) {
        neuron_burst(&n);
        assert_true(neuron_field(&n, "v") == 0.125f * (float)k);
        assert_true(neuron_field(&n, "u") == 1.0f);
        assert_close((double)neuron_field(&n, "sum"), 0.125 * 0.25 * k * k,
                     1e-5);
    }
    neuron_free(&n);
}

/* alpha function: the peak is the weight, at tau */
static void alpha(void **state)
{
    (void)state;
    neuron n;
    neuron_make(
        &n,
        "[neuron.n]\nparam = { tau = \"2 ms\" }\nport = { ex = \"pA\" }\n"
        "state = { d = \"0 pA/ms\", i = \"0 pA\" }\n"
        "eq = \"d' = -d/tau; i' = d - i/tau\"\n"
        "on.ex = \"d += 2.718281828459045/tau*in\"\n"
        "spike = \"i >= 1 kA\"\nreset = \"i = 0 pA\"\n",
        0.125);
    n.in[0] = 100;
    neuron_burst(&n);
    for (int k = 1; k <= 160; k++) {
        double t = 0.125 * k;
        neuron_burst(&n);
        assert_close((double)neuron_field(&n, "i"),
                     100 * t / 2 * exp(1 - t / 2), 1e-4);
    }
    neuron_free(&n);
}

/* ---- order -------------------------------------------------------------- */

/* The error after 16 ms with this method and dt. */
static double error_of(const char *equations, const char *method, double dt_ms,
                       double exact)
{
    char text[600];
    neuron n;
    (void)snprintf(text, sizeof text,
                   "[neuron.n]\nparam = { tau = \"10 ms\" }\n"
                   "port = { ex = \"1\" }\nstate = { x = 1, y = 1 }\n"
                   "eq = \"%s\"\non.ex = \"x += in; y += in\"\n"
                   "spike = \"x >= 1e9\"\nreset = \"x = 0\"\n"
                   "method = \"%s\"\n",
                   equations, method);
    neuron_make(&n, text, dt_ms);
    for (double t = 0; t < 15.999; t += dt_ms)
        neuron_burst(&n);
    double error = fabs((double)neuron_field(&n, "x") - exact);
    neuron_free(&n);
    return error;
}

typedef struct problem {
    const char *equations;
    double exact; /* x after 16 ms */
} problem;

/* Errors at 2 dt and at dt: least to most powers of 2 apart. */
static void check_order(const char *method, double least, double most,
                        double dt_ms)
{
    const double a = exp(1.6);
    /* a square; with a linear part; with an exact variable, which the middle
     * of a burst reads */
    const problem problems[] = {
        {"x' = -x*x/tau; y' = -y*x/tau", 1 / 2.6},
        {"x' = -x/tau - x^2/tau; y' = -y*x/tau", 1 / (2 * a - 1)},
        {"x' = -x*y/tau; y' = -y/tau", exp(1 / a - 1)},
        /* what grows: a linear part above 0 */
        {"x' = x*y/tau; y' = -y/tau", exp(1 - 1 / a)},
        {"x' = x/tau - x^2/(4*tau); y' = -y*x/tau", 4 / (1 + 3 / a)},
    };
    for (int p = 0; p < 5; p++) {
        const char *equations = problems[p].equations;
        double exact = problems[p].exact;
        double coarse = error_of(equations, method, 2 * dt_ms, exact);
        double fine = error_of(equations, method, dt_ms, exact);
        double found = log2(coarse / fine);
        if (!(found >= least && found <= most))
            fail_msg("%s of %s: %g at %g ms, %g at %g ms: order %.2f, wanted "
                     "%.2f to %.2f",
                     method, equations, coarse, 2 * dt_ms, fine, dt_ms, found,
                     least, most);
        /* down to single precision */
        double last = error_of(equations, method, 0.25, exact);
        if (strcmp(method, "rk4") == 0 && !(last <= 8 * 0x1p-24))
            fail_msg("rk4 of %s: %g at 0.25 ms", equations, last);
    }
}

static void orders(void **state)
{
    (void)state;
    check_order("euler", 0.9, 1.2, 0.25);
    check_order("euler", 0.9, 1.2, 0.125);
    check_order("heun", 1.9, 2.3, 1);
    check_order("heun", 1.9, 2.3, 0.5);
    check_order("exponential", 1.7, 2.3, 1);
    check_order("exponential", 1.8, 2.3, 0.5);
    check_order("auto", 1.8, 2.3, 0.5);
    /* in double the three have 3.26, 3.63 and 4.53 */
    check_order("rk4", 3.2, 4.6, 2);
}

/* What is linear in the variable itself is exact, whatever the sign of its
 * factor, which stands still: x' = g x + c. */
static void linear_part(void **state)
{
    (void)state;
    static const double factors[] = {-30, -3, -0.2, -1e-4, 0, 1e-4, 0.2, 3, 14};
    for (size_t i = 0; i < sizeof factors / sizeof factors[0]; i++)
        for (int c = 0; c < 2; c++) {
            const double g = factors[i];
            const double mean = g < 0 || g > 0 ? expm1(0.5 * g) / g : 0.5;
            neuron n;
            neuron_make(&n,
                        "[neuron.n]\nport = { ex = \"1\" }\n"
                        "state = { x = 2, g = 0, c = 0 }\n"
                        "eq = \"x' = (g*x + c)/(1 ms)\"\n"
                        "on.ex = \"x += in; g += in; c += in\"\n"
                        "spike = \"1 < 0\"\n",
                        0.5);
            neuron_set(&n, "g", (float)g);
            neuron_set(&n, "c", (float)c);
            neuron_burst(&n);
            assert_close((double)neuron_field(&n, "x"),
                         2 * exp(0.5 * g) + mean * c,
                         2e-6 * (2 + exp(0.5 * g)));
            neuron_free(&n);
        }
}

/* At how many places v may grow: there |x| is taken. */
static uint32_t places(const char *g, const char *range)
{
    char text[600];
    neuron n;
    (void)snprintf(
        text, sizeof text,
        "[neuron.n]\nparam = { tau = \"9 ms\", c_m = \"1 pF\", g_l = { value "
        "= \"1 nS\", range = [\"%s nS\", \"9 nS\"] } }\nport = { ex = "
        "\"nS\" }\nstate = { v = \"0 mV\", g = { value = \"1 nS\", range = "
        "[\"%s nS\", \"9 nS\"] }, d = { value = \"0 nS/ms\", range = [\"0 "
        "nS/ms\", \"9 nS/ms\"] }, m = { value = 0, range = [0, 1] } }\n"
        "eq = \"\"\"\nv' = -(g_l + %s)*v/c_m - v^3/(1 mV^2*tau)\n"
        "g' = d - g/tau\nd' = -d/tau\nm' = exp(v/mV)*(1 - m)/tau - m/tau\n"
        "\"\"\"\non.ex = \"d += in/tau\"\nspike = \"1 < 0\"\n",
        range, range, g);
    neuron_make(&n, text, 0.5);
    const vly_program *program = vly_neuron_program(n.model);
    uint32_t found = 0;
    for (uint32_t i = 0; i < program->n_ops; i++)
        found += program->ops[i].code == VLY_PROGRAM_ABSOLUTE;
    neuron_free(&n);
    return found;
}

/* A factor that is known not to be above 0 takes no operation for growth: at
 * the middle of the burst, too, of variables that are solved exactly and of
 * gates. */
static void decays(void **state)
{
    (void)state;
    assert_int_equal(places("g", "0"), 0);
    assert_int_equal(places("g", "-0.1"), 2);
    assert_int_equal(places("g*m", "0"), 0);
    assert_int_equal(places("g*m", "-0.1"), 2);
    assert_int_equal(places("g*m^2 + m*d*tau", "0"), 0);
    assert_int_equal(places("m*(1 nS) - g", "0"), 2);
}

#define GROWS(reset)                                                           \
    "[neuron.n]\nport = { ex = \"1\" }\nstate = { x = 1, y = 0 }\n"            \
    "eq = \"x' = x*x/(10 ms); y' = x*x/(10 ms)\"\non.ex = \"x += in\"\n"       \
    "spike = \"x >= 2\"\nreset = \"" reset "\"\n"

/* What grows is cut at the threshold where a spike resets it, and only there:
 * x = 1 / (1 - t / 10 ms) reaches 2 at 5 ms. */
static void cut(void **state)
{
    (void)state;
    neuron n;
    neuron_make(&n, GROWS("x = 1"), 1);
    assert_int_equal(n.n_notes, 0);
    for (int k = 1; k <= 6; k++)
        assert_int_equal(neuron_burst(&n), k == 6);
    assert_true(neuron_field(&n, "x") == 1.0f);
    /* y had x at the middle of the last burst: not above 2 */
    assert_true(neuron_field(&n, "y") < 1.0f + 0.4f + 0.01f);
    neuron_free(&n);
    neuron_make(&n, GROWS("y = 0"), 1);
    assert_int_equal(n.n_notes, 1);
    for (int k = 1; k <= 8; k++)
        neuron_burst(&n);
    assert_close((double)neuron_field(&n, "x"), 5, 0.5);
    neuron_free(&n);
}

#define REFRACTORY                                                             \
    "[neuron.n]\nparam = { tau = \"10 ms\", k = 0, t_ref = \"8 ms\" }\n"       \
    "port = { ex = \"1\" }\nstate = { v = 0, drive = 3 }\n"                    \
    "eq = \"v' = (drive - v%s)/tau %s; drive' = 0\"\n"                         \
    "on.ex = \"v += in; drive += in\"\nspike = \"v >= 1\"\n"                   \
    "reset = \"v = 0.5\"\nrefractory = \"t_ref\"\nmethod = \"%s\"\n%s"

static void make_refractory(neuron *n, const char *more, const char *mark,
                            const char *method, const char *end)
{
    char text[600];
    (void)snprintf(text, sizeof text, REFRACTORY, more, mark, method, end);
    neuron_make(n, text, 0.1);
}

/* A neuron that cannot fire is not stopped at its threshold: v goes to 3 while
 * it is refractory, whether or not the equation is solved exactly, and comes
 * back when the drive ends. */
static void not_cut(void **state)
{
    (void)state;
    static const char *const methods[] = {"exponential", "heun", "rk4",
                                          "euler"};
    static const char *const marks[] = {"", "compensated"};
    static const char *const ends[] = {"", "substeps = 2\n"};
    for (int m = 0; m < 4; m++)
        for (int k = 0; k < 4; k++) {
            neuron exact;
            neuron n;
            uint32_t n_spikes = 0;
            double most = 0;
            make_refractory(&exact, "", marks[k / 2], "auto", ends[k % 2]);
            assert_true(exact.model->states[0].exact);
            make_refractory(&n, " + k*v*v", marks[k / 2], methods[m],
                            ends[k % 2]);
            for (int b = 0; b < 200; b++) {
                if (b == 95) {
                    neuron_set(&exact, "drive", -2);
                    neuron_set(&n, "drive", -2);
                }
                const bool fired = neuron_burst(&exact);
                assert_int_equal(neuron_burst(&n), fired);
                const double v = (double)neuron_field(&exact, "v");
                assert_close((double)neuron_field(&n, "v"), v,
                             m == 3 ? 0.1 : 1e-3);
                most = v > most ? v : most;
                n_spikes += fired;
            }
            assert_int_equal(n_spikes, 1);
            assert_true(most > 1.3);
            neuron_free(&exact);
            neuron_free(&n);
        }
    /* one that stands still needs no operation for it */
    neuron held;
    make_refractory(&held, " + k*v*v", "hold", "rk4", "");
    const vly_program *program = vly_neuron_program(held.model);
    for (uint32_t i = 0; i < program->n_ops; i++)
        assert_true(program->ops[i].code != VLY_PROGRAM_OR);
    neuron_free(&held);
}

static void schemes(void **state)
{
    (void)state;
    static const char *const wanted[][2] = {
        {"auto", "y exactly (matrix exponential); x: exponential Euler at the "
                 "middle of the burst, 2nd order"},
        {"exponential", "y exactly (matrix exponential); x: exponential Euler "
                        "at the middle of the burst, 2nd order"},
        {"heun", "x, y: Heun, 2nd order"},
        {"rk4", "x, y: Runge-Kutta, 4th order"},
        {"euler", "x, y: Euler, 1st order"}};
    for (int i = 0; i < 5; i++) {
        char text[400];
        neuron n;
        (void)snprintf(text, sizeof text,
                       "[neuron.n]\nport = { ex = \"1\" }\n"
                       "state = { x = 1, y = 1 }\n"
                       "eq = \"x' = -x*y/(1 ms); y' = -y/(2 ms)\"\n"
                       "on.ex = \"x += in\"\nspike = \"x >= 1e9\"\n"
                       "reset = \"x = 0\"\nmethod = \"%s\"\n",
                       wanted[i][0]);
        neuron_make(&n, text, 1);
        assert_string_equal(vly_neuron_scheme(n.model), wanted[i][1]);
        neuron_free(&n);
    }
}

/* ---- substeps ----------------------------------------------------------- */

#define STEPPED                                                                \
    "[neuron.n]\nparam = { tau = \"3 ms\", v_th = 1, t_ref = \"0.6 ms\" }\n"   \
    "port = { ex = \"1\" }\nstate = { v = 0, i = 1.5, w = 0 }\n"               \
    "eq = \"v' = (1 - v*v*0.3 + i - w)/tau hold; i' = (2 - i)/tau; "           \
    "w' = (v - w)/(9 ms)\"\non.ex = \"i += in\"\nspike = \"%s\"\n"             \
    "reset = \"v = -0.5; w += 0.25\"\nrefractory = \"t_ref\"\nmethod = "       \
    "\"%s\"\n%s"

static const char *const names[] = {"v", "i", "w"};

/* A burst of n substeps is n bursts of dt / n, to the bit; arrivals come with
 * the last one. */
static void check_substeps(const char *spike, const char *method, uint32_t n)
{
    char text[800];
    char key[40] = "";
    neuron whole;
    neuron part;
    uint32_t n_spikes = 0;
    (void)snprintf(text, sizeof text, STEPPED, spike, method, key);
    neuron_make(&part, text, 0.4 / n);
    (void)snprintf(key, sizeof key, "substeps = %u\n", n);
    (void)snprintf(text, sizeof text, STEPPED, spike, method, key);
    neuron_make(&whole, text, 0.4);
    for (uint32_t b = 0; b < 60; b++) {
        bool fired = false;
        whole.in[0] = b % 7 == 3 ? 0.75f : 0.0f;
        for (uint32_t s = 0; s < n; s++) {
            part.in[0] = s + 1 == n ? whole.in[0] : 0.0f;
            fired |= neuron_burst(&part);
        }
        assert_int_equal(neuron_burst(&whole), fired);
        n_spikes += fired;
        for (int f = 0; f < 3; f++)
            assert_memory_equal(&(float){neuron_field(&whole, names[f])},
                                &(float){neuron_field(&part, names[f])},
                                sizeof(float));
        assert_int_equal(whole.fields[3], part.fields[3]);
    }
    assert_true(n_spikes > 3 && n_spikes < 60);
    neuron_free(&whole);
    neuron_free(&part);
}

static void substeps(void **state)
{
    (void)state;
    static const char *const methods[] = {"auto", "heun", "rk4", "euler"};
    for (int i = 0; i < 4; i++)
        for (uint32_t n = 1; n <= 5; n += 2) {
            check_substeps("v >= v_th", methods[i], n);
            check_substeps("rises(v, v_th)", methods[i], n);
        }
    /* each substep has draws of its own */
    neuron n;
    neuron_make(&n,
                "[neuron.n]\nport = { ex = \"1\" }\nstate = { x = 0 }\n"
                "update = \"x = x + uniform()\"\non.ex = \"x += in\"\n"
                "spike = \"uniform() < 0.1\"\nsubsteps = 3\n",
                1);
    const vly_program *program = vly_neuron_program(n.model);
    uint32_t streams[8];
    uint32_t n_streams = 0;
    for (uint32_t i = 0; i < program->n_ops; i++)
        if (program->ops[i].code == VLY_PROGRAM_UNIFORM) {
            assert_true(n_streams < 6);
            for (uint32_t k = 0; k < n_streams; k++)
                assert_int_not_equal(streams[k], program->ops[i].a);
            streams[n_streams++] = program->ops[i].a;
        }
    assert_int_equal(n_streams, 6);
    assert_string_equal(vly_neuron_scheme(n.model),
                        "assignments as written in `update`; 3 steps a burst");
    neuron_free(&n);
}

/* ---- parameters that do not fit ----------------------------------------- */

static void assert_unfit(neuron *n, const char *key, double value,
                         const char *wanted)
{
    double *param = &n->params[neuron_param(n, key)];
    double before = *param;
    *param = value;
    const char *found = vly_neuron_unfit(n->model, n->params, n->dt_ms);
    *param = before;
    if (!found != !wanted || (wanted && strcmp(found, wanted) != 0))
        fail_msg("%s %g: %s, wanted %s", key, value, found ? found : "fits",
                 wanted ? wanted : "that it fits");
}

static void unfit(void **state)
{
    (void)state;
    neuron n;
    neuron_make(&n,
                "[neuron.n]\nparam = { tau = \"10 ms\", c_m = \"1 pF\", v_th = "
                "\"-50 mV\", v_reset = \"-65 mV\", t_ref = \"2 ms\" }\n"
                "port = { ex = \"pA\" }\n"
                "state = { v = \"v_reset\", i = \"0 pA\" }\n"
                "eq = \"v' = -v/tau + i/c_m hold; i' = -i/tau\"\n"
                "on.ex = \"i += in\"\nspike = \"v >= v_th\"\n"
                "reset = \"v = v_reset\"\nrefractory = \"t_ref - 1 ms\"\n",
                0.1);
    assert_unfit(&n, "tau_ms", 5, NULL);
    assert_unfit(&n, "tau_ms", 0, "tau_ms other than 0");
    assert_unfit(&n, "c_m_pf", 0, "c_m_pf other than 0");
    assert_unfit(&n, "c_m_pf", 1e-14,
                 "no division by 0 and no value above 2^40 = 1.1e12 in its "
                 "equations");
    assert_unfit(&n, "v_reset_mv", -50, "v_reset_mv below v_th_mv");
    assert_unfit(&n, "v_reset_mv", -50.0000001, "v_reset_mv below v_th_mv");
    assert_unfit(&n, "v_reset_mv", -50.001, NULL);
    assert_unfit(&n, "t_ref_ms", 0.5,
                 "a refractory time from 0 to 4294967040 bursts");
    assert_unfit(&n, "t_ref_ms", 1, NULL);
    assert_unfit(&n, "t_ref_ms", 1e9,
                 "a refractory time from 0 to 4294967040 bursts");
    neuron_free(&n);
    /* exprel(0/0) is not 1 */
    neuron_make(&n,
                "[neuron.n]\nparam = { a = 0, b = 2 }\nport = { ex = \"1\" }\n"
                "state = { x = 0, y = 0 }\n"
                "update = \"x = x*exprel(a/b) + ex; y = y*decay_mean(a/b)\"\n"
                "spike = \"x >= 1e9\"\nreset = \"x = 0\"\n",
                0.1);
    assert_unfit(&n, "b", 1, NULL);
    assert_unfit(&n, "b", 0, "b other than 0");
    neuron_free(&n);
    /* v > v_th does not hold at v_th */
    neuron_make(&n,
                "[neuron.n]\nparam = { v_th = 1, v_reset = 0 }\n"
                "port = { ex = \"1\" }\nstate = { v = \"log(v_th)\" }\n"
                "update = \"v = v + ex\"\nspike = \"v > v_th\"\n"
                "reset = \"v = v_reset\"\n",
                0.1);
    assert_unfit(&n, "v_th", -1,
                 "a number as the start of every state variable");
    assert_unfit(&n, "v_reset", 1, NULL);
    assert_unfit(&n, "v_reset", 1.5, "v_reset at most v_th");
    neuron_free(&n);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(coupled),       cmocka_unit_test(oscillation),
    cmocka_unit_test(constant_rate), cmocka_unit_test(alpha),
    cmocka_unit_test(orders),        cmocka_unit_test(schemes),
    cmocka_unit_test(unfit),         cmocka_unit_test(cut),
    cmocka_unit_test(substeps),      cmocka_unit_test(not_cut),
    cmocka_unit_test(linear_part),   cmocka_unit_test(decays),
};
VLY_TEST_MAIN(tests)
