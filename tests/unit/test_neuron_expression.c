/* SPDX-License-Identifier: Apache-2.0
 * Expressions of neuron models in double precision: the start of a state
 * variable against the same calculation in C.
 */
#include "neuron_fixture.h"

#include <math.h>
#include <stdlib.h>

static void text_of(char *text, size_t size, const char *start)
{
    (void)snprintf(text, size,
                   "[neuron.n]\n"
                   "param = { a = 2, b = 3, c = 5, t = \"10 ms\", u = "
                   "\"0.02 s\", v = \"-65 mV\" }\n"
                   "port = { ex = \"1\" }\n"
                   "state.y = '''\n%s'''\n"
                   "update = \"y = ex\"\nspike = \"y >= 1e9\"\n",
                   start);
}

static void check(const char *start, double wanted)
{
    char text[8000];
    neuron n;
    text_of(text, sizeof text, start);
    neuron_make(&n, text, 0.1);
    double values[VLY_NEURON_FIELDS_MAX] = {(double)NAN};
    vly_neuron_start(n.model, n.params, 0.1, values);
    if (!(fabs(values[0] - wanted) <= 1e-13 * fabs(wanted)))
        fail_msg("%s is %.17g, wanted %.17g", start, values[0], wanted);
    neuron_free(&n);
}

static void precedence(void **state)
{
    (void)state;
    check("1 + 2*3", 7);
    check("(1 + 2)*3", 9);
    check("2*3^2", 18);
    check("-2^2", -4);
    check("(-2)^2", 4);
    check("2^-2", 0.25);
    check("2^3*2", 16);
    check("8/4/2", 1);
    check("8/(4/2)", 4);
    check("8 - 4 - 2", 2);
    check("8 - (4 - 2)", 6);
    check("-a - -b", 1);
    check("- - a", 2);
    check("1 - 2*-3", 7);
    check("a^0", 1);
    check("a*b + c/a - b", 5.5);
    check("1e3*2.5e-1", 250);
    check(".5 + 0.25", 0.75);
    check("exp(1)^2", exp(2));
    check("1/2 + 1/4", 0.75);
}

static void conditions(void **state)
{
    (void)state;
    check("if a < b then 1 else 2", 1);
    check("if b < a then 1 else 2", 2);
    check("if a <= 2 then 1 else 2", 1);
    check("if a < 2 then 1 else 2", 2);
    check("if a >= 2 then 1 else 2", 1);
    check("if a > 2 then 1 else 2", 2);
    check("if v < 0 then 1 else 2", 1); /* 0 has every unit */
    check("if not a < b then 1 else 2", 2);
    check("if not not a < b then 1 else 2", 1);
    check("if 1 > 2 and 1 > 2 or 2 > 1 then 1 else 0", 1);
    check("if 2 > 1 or 2 > 1 and 1 > 2 then 1 else 0", 1);
    check("if (2 > 1 or 2 > 1) and 1 > 2 then 1 else 0", 0);
    check("if not 1 > 2 and 1 > 2 then 1 else 0", 0);
    check("if not (1 > 2 and 1 > 2) then 1 else 0", 1);
    check("if a + 1 <= b then a else b*2", 2);
    check("if a > b then 1 else if b > c then 2 else 3", 3);
    check("1 + (if a > b then 1 else 2)", 3);
    check("if a > b then 1 else 2 + 10", 12);
    check("if 0 < 0 then 0 else 4", 4);
}

static void units(void **state)
{
    (void)state;
    check("1 s/t", 100);
    check("u/t", 2);
    check("t/u", 0.5);
    check("5 mV/2 ms*t/mV", 25);
    check("3 mV^2/(1 mV)^2", 3);
    check("3 mV^-1*2 mV", 6);
    check("1 V/mV", 1000);
    check("v/mV", -65);
    check("(v + 0.1 V)/mV", 35);
    check("1 nS*1 GOhm", 1);
    check("10 Hz*1 s", 10);
    check("1 pF*1 GOhm/ms", 1);
    check("1 M/mM", 1000);
    check("(v + 0)/(1 mV)", -65);
    check("dt/ms", 0.1);
    check("3mV/mV", 3);
    check("2 ms/ms^2*1 ms", 2);
}

static void functions(void **state)
{
    (void)state;
    check("exp(-t/u)", exp(-0.5));
    check("exprel(1)", expm1(1));
    check("exprel(0)", 1);
    check("exprel(-a)", expm1(-2) / -2);
    check("decay_mean(2)", -expm1(-2) / 2);
    check("decay_mean(0)", 1);
    check("sqrt(9 mV^2)/mV", 3);
    check("sqrt((2 mV)^2)/mV", 2);
    check("sigmoid(0)", 0.5);
    check("sigmoid(2)", 1 / (1 + exp(-2)));
    check("tanh(1)", tanh(1));
    check("abs(v)/mV", 65);
    check("abs(c)", 5);
    check("min(a, b) + max(a, c)", 7);
    check("max(v, 0)/mV + min(0, v)/mV", -65);
    check("clip(7, a, c) + clip(-7, a, c) + clip(4, a, c)", 11);
    check("log(10)", log(10));
    check("expm1(0.001)", expm1(0.001));
    check("propagator(t, u)/ms",
          (exp(-0.1 / 20) - exp(-0.1 / 10)) / (1.0 / 10 - 1.0 / 20));
    check("propagator(t, t)/ms", 0.1 * exp(-0.1 / 10));
    check("propagator(10 ms, 20 ms)/ms",
          (exp(-0.1 / 20) - exp(-0.1 / 10)) / (1.0 / 10 - 1.0 / 20));
    check("propagator_rise(t, t)/ms/ms", 0.5 * 0.01 * exp(-0.1 / 10));
    /* a quotient of 2 and more: without it nearly all digits cancel */
    const double b = 0.1 / 0.04 - 0.1 / 10;
    check("propagator_rise(t, 0.04 ms)/ms/ms",
          0.01 * exp(-0.1 / 10) * (1 - (1 + b) * exp(-b)) / (b * b));
}

static void layout(void **state)
{
    (void)state;
    check("1 # + 1", 1);
    check("  1+1\t", 2);
    check("(1 + # one\n  1 # and one\n + 1)", 3);
    check("max(1,\n 2)", 2);
    check("(\n\n((1))\n)", 1);
}

static void refuse(const char *start, const char *message)
{
    char text[16000];
    text_of(text, sizeof text, start);
    neuron_refused(text, message);
}

static char *repeated(const char *part, int n, const char *end)
{
    size_t length = strlen(part);
    char *text = malloc(length * (size_t)n + strlen(end) + 1);
    assert_non_null(text);
    for (int i = 0; i < n; i++)
        memcpy(text + length * (size_t)i, part, length);
    strcpy(text + length * (size_t)n, end);
    return text;
}

static void limits(void **state)
{
    (void)state;
    char *text = repeated("1 + ", 999, "1");
    check(text, 1000); /* 1,999 operations */
    free(text);
    text = repeated("1 + ", 1000, "1");
    refuse(text, "5:3999: more than 2000 operations in one expression together "
                 "with what its names stand for, wanted fewer");
    free(text);
    text = repeated("(", 99, "1");
    char *whole = repeated(")", 99, "");
    char both[400];
    (void)snprintf(both, sizeof both, "%s%s", text, whole);
    check(both, 1);
    free(text);
    free(whole);
    text = repeated("(", 5000, "1");
    refuse(text, "5:101: more than 100 levels of ( ), - and if, wanted fewer");
    free(text);
    text = repeated("-", 5000, "1");
    refuse(text, "5:100: more than 100 levels of ( ), - and if, wanted fewer");
    free(text);
    text = repeated("if a > b then 1 else ", 200, "1");
    refuse(text, "5:2094: more than 100 levels of ( ), - and if, wanted fewer");
    free(text);
    text = repeated("x", 3000, "");
    refuse(text, "5:1: unknown name xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
                 "xxxxxxxxxxxxxxxxxx, wanted one of a, b, c, t, u, v");
    free(text);
    text = repeated("9", 400, "");
    refuse(text, "5:1: a number out of range, wanted one up to 1e30");
    free(text);
    refuse("1e30*10", "5:5: a number beyond 1e30, wanted a smaller one");
    refuse("1/1e-31", "5:2: a number beyond 1e30, wanted a smaller one");
    refuse("1/(a - a)", "4:11: y starts at inf, wanted -1.07374e+09 to "
                        "1.07374e+09, its range");
    refuse("sqrt(-1)", "5:1: not a finite number, wanted another one");
    refuse("2^+1", "5:3: a power, wanted a whole number from -16 to 16; of "
                   "parameters exp(y*log(x)) is x to the y");
}

/* Conditions that no state changes are noted: v is -100 to 50. */
static void spikes_always(void **state)
{
    (void)state;
    static const struct {
        const char *spike;
        bool always;
    } cases[] = {{"0 < 1", true},
                 {"not (1 < 0 and v > 0)", true},
                 {"v >= th", true},
                 {"v > th or v < 0", false},
                 {"v + u >= th", false},
                 {"v <= -th/2 and u < 1 or not (v < th)", true},
                 {"v < 50 or u < 0", false},
                 {"u >= th", false},
                 {"dt > 0 ms", false},
                 {"1 < 0", false}};
    char text[400];
    neuron n;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bool found = false;
        (void)snprintf(
            text, sizeof text,
            "[neuron.n]\nparam = { th = -100 }\nport = { ex = \"1\" }\n"
            "state = { v = { value = 0, range = [-100, 50] }, u = 1 }\n"
            "update = \"v = u + th; u = 2*v\"\non.ex = \"v += in\"\n"
            "spike = \"%s\"\nreset = \"v -= 1; u -= 1\"\n",
            cases[i].spike);
        neuron_make(&n, text, 1);
        for (uint32_t k = 0; k < n.n_notes; k++)
            found |= strcmp(n.notes[k], "t:7:9: [neuron.n]: spike is true in "
                                        "every state with the parameters by "
                                        "default: the neuron fires in every "
                                        "burst") == 0;
        if (found != cases[i].always)
            fail_msg("%s: %u notes", cases[i].spike, n.n_notes);
        neuron_free(&n);
    }
}

/* A unit below a / as in expressions, of parameters and of ranges. */
static void per_unit(void **state)
{
    (void)state;
    neuron n;
    neuron_make(&n,
                "[neuron.n]\nparam = { a = \"0.02/ms\", b = \"-3 /s\", c = { "
                "value = \"5 1/s\", range = [\"0/s\", \"1/ms\"] } }\n"
                "port = { ex = \"1\" }\nstate.y = { value = \"a + b\", range = "
                "[\"-1/ms\", \"2000/s\"] }\n"
                "update = \"y = ex*c\"\nspike = \"y >= 1e9/ms\"\n",
                0.1);
    assert_true(n.params[neuron_param(&n, "a_per_ms")] == 0.02);
    assert_true(n.params[neuron_param(&n, "b_per_s")] == -3.0);
    uint32_t count;
    const vly_neuron_param *c = vly_neuron_params(n.model, &count) + 2;
    assert_string_equal(c->key, "c_per_s");
    assert_true(c->init == 5.0 && c->lo == 0.0 && c->hi == 1000.0);
    assert_close((double)neuron_field(&n, "y"), 0.017, 1e-8);
    assert_true(n.model->fields[0].lo == -1.0f);
    assert_true(n.model->fields[0].hi == 2.0f);
    neuron_free(&n);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(per_unit),   cmocka_unit_test(precedence),
    cmocka_unit_test(conditions), cmocka_unit_test(units),
    cmocka_unit_test(functions),  cmocka_unit_test(layout),
    cmocka_unit_test(limits),     cmocka_unit_test(spikes_always),
};
VLY_TEST_MAIN(tests)
