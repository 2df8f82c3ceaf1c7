/* SPDX-License-Identifier: Apache-2.0
 * What a model's program does in a burst, against the same calculation in
 * double: operations, the order of the parts, refractory time, spikes, notes.
 */
#include "neuron_fixture.h"

#include <math.h>

#include "base/memory.h"
#include "genome/model_info.h"
#include "genome/written_model.h"

/* ---- operations --------------------------------------------------------- */

typedef struct operation {
    const char *text;
    double (*value)(double x, double y);
} operation;

#define OPERATION(name, expression)                                            \
    static double name(double x, double y)                                     \
    {                                                                          \
        (void)x;                                                               \
        (void)y;                                                               \
        return expression;                                                     \
    }
OPERATION(sum_of, x + y)
OPERATION(difference_of, x - y)
OPERATION(product_of, x *y)
OPERATION(quotient_of, x / y)
OPERATION(by_number, x / 4)
OPERATION(number_by, 4 / x)
OPERATION(inverse_of, 1 / x)
OPERATION(by_parameter, x / 3)
OPERATION(parameter_by, 3 / x)
OPERATION(power_of_3, x *x *x)
OPERATION(power_of_5, x *x *x *x *x)
OPERATION(power_of_minus_2, 1 / (x * x))
OPERATION(power_of_0, 1)
OPERATION(minus_of, -x)
OPERATION(exp_of, exp(x))
OPERATION(exprel_of, expm1(x) / x)
OPERATION(decay_mean_of, -expm1(-x) / x)
OPERATION(decay_mean_of_size, -expm1(-fabs(x)) / fabs(x))
OPERATION(decay_mean_of_minus, expm1(fabs(x)) / fabs(x))
OPERATION(decay_mean_of_square, -expm1(-x *x) / (x * x))
OPERATION(sqrt_of, sqrt(fabs(x)))
OPERATION(sigmoid_of, 1 / (1 + exp(-x)))
OPERATION(tanh_of, tanh(x))
OPERATION(abs_of, fabs(x))
OPERATION(min_of, x < y ? x : y)
OPERATION(max_of, x > y ? x : y)
OPERATION(clip_of, x<-1 ? -1 : x> 2 ? 2 : x)
OPERATION(if_less, x < y ? x + 1 : y + 2)
OPERATION(if_both, x > 0 && y > 0 ? 1 : -1)
OPERATION(if_one, x > 0 || y > 0 ? 1 : -1)
OPERATION(if_not, !(x >= y) ? 1 : -1)
OPERATION(if_zero, x > 0 ? x : 0)
OPERATION(first, x)
OPERATION(second, y)
OPERATION(current, x *(exp(-0.5 / 5) - exp(-0.5 / 10)) / (1.0 / 10 - 1.0 / 5))
OPERATION(polynomial, ((0.04 * x + 5) * x + 140) - y)
OPERATION(decayed, exp(-0.5 / 10) * x + log(3) * y)

static const operation operations[] = {
    {"x + y", sum_of},
    {"x - y", difference_of},
    {"x*y", product_of},
    {"x/y", quotient_of},
    {"x/4", by_number},
    {"4/x", number_by},
    {"1/x", inverse_of},
    {"x/a", by_parameter},
    {"a/x", parameter_by},
    {"x^3", power_of_3},
    {"x^5", power_of_5},
    {"x^-2", power_of_minus_2},
    {"x^0", power_of_0},
    {"-x", minus_of},
    {"exp(x)", exp_of},
    {"exprel(x)", exprel_of},
    {"decay_mean(x)", decay_mean_of},
    {"decay_mean(1*x)", decay_mean_of},
    {"decay_mean(abs(x))", decay_mean_of_size},
    {"decay_mean(-abs(x))", decay_mean_of_minus},
    {"decay_mean(x^2)", decay_mean_of_square},
    {"sqrt(abs(x))", sqrt_of},
    {"sigmoid(x)", sigmoid_of},
    {"tanh(x)", tanh_of},
    {"abs(x)", abs_of},
    {"min(x, y)", min_of},
    {"max(x, y)", max_of},
    {"clip(x, -1, 2)", clip_of},
    {"if x < y then x + 1 else y + 2", if_less},
    {"if y > x then x + 1 else y + 2", if_less},
    {"if x >= y then y + 2 else x + 1", if_less},
    {"if y <= x then y + 2 else x + 1", if_less},
    {"if x > 0 and y > 0 then 1 else -1", if_both},
    {"if x > 0 or y > 0 then 1 else -1", if_one},
    {"if not x >= y then 1 else -1", if_not},
    {"if x > 0 then x else 0", if_zero},
    /* conditions of numbers and of parameters */
    {"if 2 > 1 then x else y", first},
    {"if 2 <= 1 then x else y", second},
    {"if a > 4 or 1 > 2 then x else y", second},
    {"if not a > 4 and 2 > 1 then x else y", first},
    {"x*propagator(10 ms, 5 ms)/ms", current},
    {"x*propagator(tau, 5 ms)/ms", current},
    {"((0.04*x + 5)*x + 140) - y", polynomial},
    {"exp(-dt/tau)*x + log(a)*y", decayed},
};

static void check_operation(const operation *op)
{
    static const double values[] = {-7.5, -1.0, -0.03125, 0.0625, 1.0, 3.25};
    enum { N = sizeof values / sizeof values[0] };
    char text[400];
    neuron n;
    (void)snprintf(text, sizeof text,
                   "[neuron.n]\nparam = { a = 3, tau = \"10 ms\" }\n"
                   "port = { ex = \"1\" }\nstate = { x = 0, y = 0, z = 0 }\n"
                   "update = \"z = %s\"\non.ex = \"x += in\"\n"
                   "spike = \"z >= 1e9\"\n",
                   op->text);
    neuron_make(&n, text, 0.5);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            neuron_set(&n, "x", (float)values[i]);
            neuron_set(&n, "y", (float)values[j]);
            double wanted = op->value(values[i], values[j]);
            assert_false(neuron_burst(&n));
            double found = (double)neuron_field(&n, "z");
            if (!(fabs(found - wanted) <= 3e-6 * fabs(wanted) + 1e-6))
                fail_msg("%s of %g and %g is %.9g, wanted %.9g", op->text,
                         values[i], values[j], found, wanted);
        }
    neuron_free(&n);
}

static void every_operation(void **state)
{
    (void)state;
    bool used[VLY_PROGRAM_CODES] = {false};
    for (size_t i = 0; i < sizeof operations / sizeof operations[0]; i++)
        check_operation(&operations[i]);
    /* the CPU and GPU writers have cases for all of these */
    neuron n;
    neuron_make(
        &n,
        "[neuron.n]\nparam = { t = \"2 ms\" }\nport = { ex = \"1\" }\n"
        "state = { x = 1 }\n"
        "update = \"x = if x < 2 or x > 3 and not x <= 4 then "
        "decay_mean(abs(-x)) - 1/x else sqrt(exp(x))*x + ex*uniform()\"\n"
        "spike = \"x > t/ms\"\nrefractory = \"t\"\n",
        1);
    const vly_program *program = vly_neuron_program(n.model);
    for (uint32_t i = 0; i < program->n_ops; i++)
        used[program->ops[i].code] = true;
    for (uint32_t i = 0; i < VLY_PROGRAM_CODES; i++)
        if (!used[i])
            fail_msg("operation %u is in no program", i);
    neuron_free(&n);
}

/* What decay_mean( ) takes, and whether it is known not to be below 0: then it
 * is one operation, and |x| is not made. */
typedef struct argument {
    const char *text;
    bool from_0;
} argument;

static void decay_means(void **state)
{
    (void)state;
    static const argument arguments[] = {
        {"x", false},
        {"-abs(x)", false},
        {"g", true},
        {"g*x", false},
        {"-g*x", false},
        {"g*k", true},
        {"g*a", false}, /* a may be below 0 */
        {"g + k", true},
        {"g - k", false},
        {"-(-g)", true},
        {"g*k/tau*dt", true},
        {"g/(1 + g)", true},
        {"g/(g - 5)", false},
        {"2*g*i_e", false}, /* stimuli add to i_e */
        {"abs(x)", true},
        {"x*x", true},
        {"x^2", true},
        {"x^3", false},
        {"g^3", true},
        {"1 - h", true}, /* h is from 0 to 1 */
        {"h - 1", false},
        {"exp(x)", true},
        {"exprel(x)", true},
        {"decay_mean(x)", true},
        {"sigmoid(x)", true},
        {"tanh(x)", false},
        {"sqrt(x)", true},
        {"max(x, 0)", true},
        {"max(0, x)", true},
        {"max(x, -1)", false},
        {"min(x, 1)", false},
        {"min(g, 1)", true},
        {"clip(x, 0, 1)", true},
        {"clip(x, -1, 1)", false},
        {"if x > 0 then g else k", true},
        {"if x > 0 then g else a", false},
        {"-expm1(-dt/tau)*g", true},
        {"expm1(-dt/tau)*g", false},
        {"log(k)*g", false},
        {"g*abs(a)", true},
        {"g*a^2", true},
        {"g*max(a, 0)", true},
        {"g*exp(a)", true},
        {"g*sqrt(k)", true},
        {"g*(if a > 0 then k else 1)", true},
        {"g*(if a > 0 then k else -1)", false},
        {"u", true}, /* made of what is not below 0 */
        {"uniform()", true},
        {"ex", false}, /* what arrives */
    };
    for (size_t i = 0; i < sizeof arguments / sizeof arguments[0]; i++) {
        char text[600];
        uint32_t n_means = 0;
        bool sized = false;
        neuron n;
        (void)snprintf(
            text, sizeof text,
            "[neuron.n]\nparam = { a = 3, tau = \"10 ms\", i_e = 1, "
            "k = { value = 2, range = [0, 9] } }\nport = { ex = \"1\" }\n"
            "state = { x = 0, z = 0, g = { value = 1, range = [0, 50] }, "
            "h = { value = 1, range = [0, 1] } }\n"
            "update = \"u = exp(x) + g; z = decay_mean(%s) + u\"\n"
            "on.ex = \"x += in; g += in; h += in\"\nspike = \"z >= 1e9\"\n",
            arguments[i].text);
        neuron_make(&n, text, 0.5);
        const vly_program *program = vly_neuron_program(n.model);
        for (uint32_t k = 0; k < program->n_ops; k++) {
            if (program->ops[k].code != VLY_PROGRAM_DECAY_MEAN)
                continue;
            const uint32_t of = program->ops[k].a;
            n_means++; /* of nested ones the last */
            sized = program->ops[of].code == VLY_PROGRAM_ABSOLUTE;
        }
        const bool own =
            strstr(arguments[i].text, "abs(x)") && arguments[i].text[0] == 'a';
        if (n_means == 0 || (sized && !own) == arguments[i].from_0)
            fail_msg("decay_mean(%s) %s", arguments[i].text,
                     arguments[i].from_0 ? "takes |x|" : "is 1 below 0");
        neuron_free(&n);
    }
}

/* As docs/models.md says; measured over 2^26 arguments: 5.93 times 2^-24. */
static void tanh_near(void **state)
{
    (void)state;
    neuron n;
    neuron_make(&n,
                "[neuron.n]\nport = { ex = \"1\" }\nstate = { x = 0, z = 0 }\n"
                "update = \"z = tanh(x)\"\non.ex = \"x += in\"\n"
                "spike = \"1 < 0\"\n",
                1);
    for (int i = -20000; i <= 20000; i++) {
        const double x = (double)(float)(i * 5e-4);
        neuron_set(&n, "x", (float)x);
        neuron_burst(&n);
        assert_close((double)neuron_field(&n, "z"), tanh(x), 6 * 0x1p-24);
    }
    neuron_free(&n);
}

/* Copies of built-in models have no operation more than these. */
static void written(void **state)
{
    (void)state;
    static const struct {
        const char *id;
        uint32_t n_ops;
    } models[] = {{"lif_cond_exp", 49}, {"adex", 99}};
    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++) {
        neuron n;
        char *text =
            vly_written_text(vly_model_find(models[i].id), "own", false);
        assert_non_null(text);
        neuron_make(&n, text, 0.1);
        assert_int_equal(vly_neuron_program(n.model)->n_ops, models[i].n_ops);
        neuron_free(&n);
        vly_free(text);
    }
}

/* ---- order -------------------------------------------------------------- */

/* What is added is added before the variable is stored; what is read was
 * stored. */
static void stores(void **state)
{
    (void)state;
    neuron n;
    neuron_make(&n,
                "[neuron.n]\nport = { ex = \"1\" }\n"
                "state.g = { value = 9, range = [0, 10] }\nstate.y = 0\n"
                "update = \"g = g + 8\"\non.ex = \"g += in\"\n"
                "spike = \"y >= 1e9\"\nreset = \"y = 0\"\n",
                1);
    n.in[0] = -5;
    neuron_burst(&n);
    assert_true(neuron_field(&n, "g") == 10.0f); /* not 5 */
    neuron_set(&n, "g", 9);
    n.in[0] = -9;
    neuron_burst(&n);
    assert_true(neuron_field(&n, "g") == 8.0f);
    neuron_free(&n);
    neuron_make(&n,
                "[neuron.n]\nport = { ex = \"1\" }\n"
                "state.g = { value = 9, range = [0, 10] }\nstate.y = 0\n"
                "update = \"g = g + 8; y = g; g = g + 1e-20\"\n"
                "on.ex = \"g += in\"\nspike = \"y >= 1e9\"\n",
                1);
    n.in[0] = -5;
    neuron_burst(&n);
    assert_true(neuron_field(&n, "y") == 10.0f);
    assert_true(neuron_field(&n, "g") == 5.0f);
    neuron_set(&n, "g", -8);
    neuron_burst(&n);
    assert_true(neuron_field(&n, "g") == 0.0f); /* nothing below 2^-40 */
    neuron_free(&n);
}

/* update, arrivals, spike, reset */
static void parts_in_order(void **state)
{
    (void)state;
    neuron n;
    neuron_make(&n,
                "[neuron.n]\nport = { ex = \"mV\", inh = \"mV\" }\n"
                "state = { v = \"0 mV\", w = 0 }\n"
                "update = \"\"\"\n    double = 2*v\n    v = double + inh\n"
                "\"\"\"\non.ex = \"v += 3*in; w -= in/mV\"\n"
                "spike = \"v >= 10 mV\"\n"
                "reset = \"v = v - 10 mV; w += v/mV\"\n",
                1);
    neuron_set(&n, "v", 2);
    n.in[0] = 1;
    n.in[1] = -0.5f;
    assert_false(neuron_burst(&n));
    assert_true(neuron_field(&n, "v") == 6.5f);
    assert_true(neuron_field(&n, "w") == -1.0f);
    assert_true(neuron_burst(&n));
    assert_true(neuron_field(&n, "v") == 3.0f);
    assert_true(neuron_field(&n, "w") == 2.0f);
    neuron_free(&n);
}

#define RISES                                                                  \
    "[neuron.n]\nport = { ex = \"1\" }\nstate = { v = 0 }\n"                   \
    "update = \"v = ex\"\nspike = \"rises(v, 1)\"\n"

static void rises(void **state)
{
    (void)state;
    static const float in[] = {0, 1, 2, 0.5f, 0.75f, 1.5f, 1.0f, 0, 3, -2};
    static const bool fires[] = {0, 1, 0, 0, 0, 1, 0, 0, 1, 0};
    neuron n;
    neuron_make(&n, RISES, 1);
    for (size_t i = 0; i < sizeof in / sizeof in[0]; i++) {
        n.in[0] = in[i];
        assert_int_equal(neuron_burst(&n), fires[i]);
    }
    assert_int_equal(n.n_notes, 0);
    neuron_free(&n);
}

/* ---- refractory time ---------------------------------------------------- */

/* What is marked hold stands still, and what arrives there is lost; the
 * current goes on. */
static void refractory(void **state)
{
    (void)state;
    neuron n;
    neuron_make(&n,
                "[neuron.n]\nparam = { t_ref = \"3 ms\", tau = \"10 ms\" }\n"
                "port = { ex = \"mV\", inh = \"mV\" }\n"
                "state = { v = \"0 mV\", i = \"1 mV\" }\n"
                "eq = \"\"\"\n    v' = (i - v)/tau hold\n    i' = -i/tau\n"
                "\"\"\"\non = { ex = \"v += in\", inh = \"i += in\" }\n"
                "spike = \"v >= 10 mV\"\nreset = \"v = 0 mV\"\n"
                "refractory = \"t_ref\"\n",
                1);
    n.in[0] = 20;
    assert_true(neuron_burst(&n));
    double i = (double)neuron_field(&n, "i");
    assert_close(i, exp(-0.1), 1e-6);
    for (int burst = 0; burst < 3; burst++) {
        n.in[0] = 20;
        n.in[1] = 1;
        assert_false(neuron_burst(&n));
        i = i * exp(-0.1) + 1;
        assert_true(neuron_field(&n, "v") == 0.0f);
        assert_close((double)neuron_field(&n, "i"), i, 1e-6);
    }
    n.in[0] = 20;
    assert_true(neuron_burst(&n));
    neuron_free(&n);
}

/* An exact variable that does not stand still beside one that does. */
static void held_system(void **state)
{
    (void)state;
    neuron n;
    neuron_make(&n,
                "[neuron.n]\nparam = { t_ref = \"20 ms\", tau = \"10 ms\" }\n"
                "port = { ex = \"mV\" }\n"
                "state = { v = \"4 mV\", w = \"0 mV\" }\n"
                "eq = \"\"\"\n    v' = -v/tau hold\n    w' = (v - w)/tau\n"
                "\"\"\"\non.ex = \"v += in\"\nspike = \"v >= 10 mV\"\n"
                "reset = \"v = 5 mV\"\nrefractory = \"t_ref\"\n",
                1);
    double v = 4;
    double w = 0;
    for (int burst = 0; burst < 30; burst++) {
        bool held = burst > 2 && burst <= 22;
        n.in[0] = burst == 2 ? 20.0f : 0.0f;
        assert_int_equal(neuron_burst(&n), burst == 2);
        w = held ? v + (w - v) * exp(-0.1) : (w + 0.1 * v) * exp(-0.1);
        v = burst == 2 ? 5 : held ? v : v * exp(-0.1);
        assert_close((double)neuron_field(&n, "v"), v, 1e-5);
        assert_close((double)neuron_field(&n, "w"), w, 1e-5);
    }
    assert_string_equal(vly_neuron_scheme(n.model),
                        "v, w exactly (matrix exponential)");
    neuron_free(&n);
}

/* ---- what others read --------------------------------------------------- */

#define DRIVEN(input)                                                          \
    "[neuron.n]\nparam = { tau = \"10 ms\", c_m = \"250 pF\", i_e = \"0 "      \
    "pA\", i_x = \"0 nA\" }\nport = { ex = \"pA\" }\n"                         \
    "state = { v = \"0 mV\", i = \"0 pA\" }\n"                                 \
    "eq = \"v' = -v/tau + (i + i_e + i_x)/c_m; i' = -i/(2 ms)\"\n"             \
    "on.ex = \"i += in\"\nspike = \"v >= 10 mV\"\nreset = \"v = 0 "            \
    "mV\"\n" input

static void check_drive(const char *text, double dc, double amplitude)
{
    neuron n;
    neuron_make(&n, text, 1);
    double before[VLY_NEURON_COEFS_MAX];
    memcpy(before, n.coefs, sizeof before);
    n.dc = dc;
    neuron_start(&n);
    bool changed = false;
    for (uint32_t i = 0; i < vly_neuron_n_coefs(n.model); i++) {
        bool same = n.coefs[i] == before[i];
        assert_true(same || vly_neuron_coef_driven(n.model, i));
        changed = changed || !same;
    }
    assert_true(changed);
    neuron_burst(&n);
    assert_close((double)neuron_field(&n, "v"),
                 amplitude / 250 * 10 * -expm1(-0.1), 1e-6);
    neuron_free(&n);
}

static void input(void **state)
{
    (void)state;
    check_drive(DRIVEN(""), 25, 25);
    check_drive(DRIVEN("input = \"i_e\"\n"), 25, 25);
    check_drive(DRIVEN("input = \"i_x\"\n"), 0.025, 25);
}

/* A sum and its residual have what one float has not; beyond the bound of the
 * sum nothing is left beside it. */
static void sums(void **state)
{
    neuron n;
    (void)state;
    neuron_make(&n,
                "[neuron.n]\nport = { ex = \"pA\" }\nstate = { v = \"0 mV\" }\n"
                "eq = \"v' = -v/(10 ms)\"\non.ex = \"v += in*(1 GOhm)\"\n"
                "spike = \"v >= 10 mV\"\nreset = \"v = 0 mV\"\n"
                "record_input = true\n",
                1);
    n.in[0] = 1;
    neuron_burst(&n);
    n.in[0] = 0x1p-30f;
    neuron_burst(&n);
    assert_true(neuron_field(&n, "input") == 1.0f);
    assert_true(neuron_field(&n, "input_residual") == 0x1p-30f);
    for (int k = 1; k <= 3; k++) {
        n.in[0] = 0x1p39f;
        neuron_burst(&n);
        const float high = neuron_field(&n, "input");
        const float low = neuron_field(&n, "input_residual");
        assert_true(high == (k == 1 ? 0x1p39f : 0x1p40f));
        assert_true(low == (k == 3 ? 0.0f : 1.0f));
    }
    neuron_free(&n);
}

/* A draw for each uniform( ) that is written, by the model's name and its
 * place among them. */
static uint32_t streams(const neuron *n, uint32_t out[16])
{
    const vly_program *program = vly_neuron_program(n->model);
    uint32_t count = 0;
    for (uint32_t i = 0; i < program->n_ops && count < 16; i++)
        if (program->ops[i].code == VLY_PROGRAM_UNIFORM)
            out[count++] = program->ops[i].a;
    return count;
}

static void draws(void **state)
{
    (void)state;
    uint32_t first[16];
    uint32_t second[16];
    neuron n;
    neuron_make(&n,
                "[neuron.n]\nport = { ex = \"1\" }\nstate = { x = 0, y = 0 }\n"
                "update = \"u = uniform(); x = u + u; y = uniform() - 1\"\n"
                "on.ex = \"y += in*uniform( )\"\n"
                "spike = \"uniform() < 0.25\"\nreset = \"x = 0\"\n",
                1);
    assert_int_equal(streams(&n, first), 4);
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < i; j++)
            assert_true(first[i] != first[j]);
    n.uniform = 0.25f;
    n.in[0] = 2;
    assert_false(neuron_burst(&n));
    assert_true(neuron_field(&n, "x") == 0.5f);
    assert_true(neuron_field(&n, "y") == -0.25f);
    n.uniform = 0.125f;
    assert_true(neuron_burst(&n));
    neuron_free(&n);
    neuron_make(&n,
                "[neuron.m]\nport = { ex = \"1\" }\nstate = { x = 0 }\n"
                "update = \"x = uniform() + ex\"\n"
                "spike = \"uniform() < 0.25\"\n",
                1);
    assert_int_equal(streams(&n, second), 2);
    for (int i = 0; i < 4; i++)
        assert_true(second[0] != first[i] && second[1] != first[i]);
    neuron_free(&n);
}

static void notes(void **state)
{
    (void)state;
    static const char *const wanted[] = {
        "t:2:15: [neuron.n]: parameter a is not used",
        "t:5:10: [neuron.n]: the name x is not used",
        "t:4:22: [neuron.n]: state variable u never changes",
        ("t:7:9: [neuron.n]: no reset of v: the neuron fires in every burst in "
         "which v is above its threshold; rises(v, ...) fires once")};
    neuron n;
    neuron_make(&n,
                "[neuron.n]\nparam = { a = 1, b = 2 }\nport = { ex = \"1\" }\n"
                "state = { v = 0, u = 1 }\nupdate = \"x = u; v = v + b\"\n"
                "on.ex = \"v += in\"\nspike = \"v >= 10\"\n",
                1);
    for (uint32_t i = 0; i < n.n_notes && i < 4; i++)
        assert_string_equal(n.notes[i], wanted[i]);
    assert_int_equal(n.n_notes, 4);
    neuron_free(&n);
    neuron_make(&n, DRIVEN(""), 1);
    assert_int_equal(n.n_notes, 0);
    neuron_free(&n);
}

static void hashes(void **state)
{
    (void)state;
    neuron a;
    neuron b;
    neuron_make(&a, DRIVEN(""), 1);
    neuron_make(&b, DRIVEN("input = \"i_x\"\n"), 1);
    assert_true(vly_neuron_hash(a.model) == vly_neuron_hash(b.model));
    neuron_free(&b);
    neuron_make(&b, RISES, 1);
    assert_true(vly_neuron_hash(a.model) != vly_neuron_hash(b.model));
    neuron_free(&a);
    neuron_free(&b);
}

/* normal( ) of four draws that are all the same: its middle and its ends. */
static void normal(void **state)
{
    (void)state;
    uint32_t found[16];
    neuron n;
    neuron_make(&n,
                "[neuron.n]\nport = { ex = \"1\" }\nstate = { x = 0, y = 0 }\n"
                "update = \"x = normal(); y = 2*normal() + ex\"\n"
                "spike = \"normal() < -5.3\"\n",
                1);
    assert_int_equal(streams(&n, found), 12);
    for (int i = 0; i < 12; i++)
        for (int j = 0; j < i; j++)
            assert_true(found[i] != found[j]);
    n.uniform = 0.0f;
    assert_true(neuron_burst(&n));
    const float least = neuron_field(&n, "x");
    assert_close((double)least, -5.304847, 1e-5);
    assert_true(neuron_field(&n, "y") == 2 * least);
    n.uniform = 1.0f - 0x1p-24f;
    assert_false(neuron_burst(&n));
    assert_true(neuron_field(&n, "x") == -least);
    n.uniform = 0.5f;
    neuron_burst(&n);
    assert_close((double)neuron_field(&n, "x"), 0, 2.1e-7);
    neuron_free(&n);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(every_operation), cmocka_unit_test(decay_means),
    cmocka_unit_test(tanh_near),       cmocka_unit_test(written),
    cmocka_unit_test(stores),          cmocka_unit_test(parts_in_order),
    cmocka_unit_test(rises),           cmocka_unit_test(refractory),
    cmocka_unit_test(held_system),     cmocka_unit_test(input),
    cmocka_unit_test(notes),           cmocka_unit_test(sums),
    cmocka_unit_test(hashes),          cmocka_unit_test(draws),
    cmocka_unit_test(normal),
};
VLY_TEST_MAIN(tests)
