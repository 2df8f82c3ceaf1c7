/* SPDX-License-Identifier: Apache-2.0
 * Expressions and [var].
 */
#include "test_genome_text.h"

#include <math.h>

#define VARS "a = 3\nb = \"=2*a\"\nc = \"=later\"\nlater = 7.5\n"

static void source_of(char *text, size_t size, const char *expression)
{
    snprintf(text, size,
             "format = 1\n[var]\n" VARS
             "[area.E]\nmodel = \"lif_psc_exp\"\nneurons = 1\ni_e_pa = %s\n",
             expression);
}

static void values(void **state)
{
    (void)state;
    static const struct {
        const char *expression;
        double value;
    } cases[] = {
        {"2", 2},
        {"-0.0", 0},
        {"\"=1+2*3\"", 7},
        {"\"=(1+2)*3\"", 9},
        {"\"=8/2/2\"", 2},
        {"\"=8-2-2\"", 4},
        {"\"= - - 3\"", 3},
        {"\"=-a*-b\"", 18},
        {"\"=c\"", 7.5},
        {"\"=1e3 + .5\"", 1000.5},
        {"\"=min(3, 1, 2)\"", 1},
        {"\"=max(3, 1, 2)\"", 3},
        {"\"=round(2.5)\"", 3},
        {"\"=round(-2.5)\"", -2},
        {"\"=round(0.49999999999999994)\"", 0},
        {"\"=sqrt(2*b + 4)\"", 4},
        {"\"=log(1)\"", 0},
        {"\"=min(max(a, b), sqrt(16))\"", 4},
    };
    char text[512];
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        source_of(text, sizeof(text), cases[i].expression);
        vly_genome *genome = genome_of(text);
        const vly_area *area = &genome->areas[0];
        bool seen = false;
        for (uint32_t j = 0; j < area->model->n_params; j++) {
            if (strcmp(area->model->params[j].name, "i_e_pa") != 0)
                continue;
            assert_close(area->params[j].a, cases[i].value, 0);
            seen = true;
        }
        assert_true(seen);
        vly_genome_destroy(genome);
    }
}

static void errors(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"=", "\"=\": ends too early, wanted a number, a name or ("},
        {"=1+", "\"=1+\": ends too early, wanted a number, a name or ("},
        {"=1 2", "\"=1 2\": unexpected 2 after the expression"},
        {"=(1", "\"=(1\": a ( without )"},
        {"=1)", "\"=1)\": unexpected ) after the expression"},
        {"=d", "\"=d\": no variable d, wanted one of [var], or dt_ms"},
        {"=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
         "\"="
         "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\": "
         "a name of more than 63 characters: "
         "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"},
        {"=latr", "\"=latr\": no variable latr, did you mean later?"},
        {"=tan(1)",
         "\"=tan(1)\": no function tan, wanted min, max, round, sqrt or log"},
        {"=sqrt(1, 2)",
         "\"=sqrt(1, 2)\": more than one argument for sqrt, wanted one"},
        {"=sqrt(0-1)", "\"=sqrt(0-1)\": square root of a negative number"},
        {"=log(0)", "\"=log(0)\": log of a number that is not positive"},
        {"=1/0", "\"=1/0\": division by zero"},
        {"=1e308*10", "\"=1e308*10\": does not give a finite number"},
        {"=2^3", "\"=2^3\": unexpected ^3 after the expression"},
    };
    char text[512];
    char expression[128];
    char message[256];
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        snprintf(expression, sizeof(expression), "\"%s\"", cases[i][0]);
        source_of(text, sizeof(text), expression);
        snprintf(message, sizeof(message), "t:10:10: %s", cases[i][1]);
        assert_refused(text, message);
    }
}

static void depth_is_limited(void **state)
{
    (void)state;
    char text[2048];
    char expression[1024] = "\"=";
    memset(expression + 2, '(', 300);
    memcpy(expression + 302, "1", 1);
    memset(expression + 303, ')', 300);
    memcpy(expression + 603, "\"", 2);
    source_of(text, sizeof(text), expression);
    vly_error error = VLY_ERROR_INIT;
    vly_genome *genome = NULL;
    assert_int_equal(
        vly_genome_parse(text, strlen(text), "t", NULL, 0, &genome, &error),
        VLY_E_PARSE);
    assert_non_null(strstr(error.message, "nested too deep"));
}

static void cycles_are_refused(void **state)
{
    (void)state;
    assert_refused("format = 1\n[var]\na = \"=a\"\n",
                   "t:3:5: variable a refers to itself, wanted an expression "
                   "of others");
    assert_refused("format = 1\n[var]\na = \"=b\"\nb = \"=c\"\nc = \"=a\"\n",
                   "t:3:5: variable a refers to itself, wanted an expression "
                   "of others");
    assert_refused("format = 1\n[var]\nmin = 1\n",
                   "t:3:1: variable name \"min\", wanted letters, digits and "
                   "_, not the name of a function");
    assert_refused("format = 1\n[var]\na = \"abc\"\n",
                   "t:3:5: a is \"abc\", wanted a number or \"=expression\"");
}

/* A name of every expression, whatever gives the step; included files have
 * that of the genome, and their own [run] does not count. */
static void step(void **state)
{
    (void)state;
    static const char text[] =
        "format = 1\n[run]\n%s\n[var]\nsigma = 3\nn = \"=sigma*sqrt(dt_ms)\"\n"
        "[area.A]\nmodel = \"lif_psc_exp\"\nneurons = 1\n[[stimulus]]\n"
        "kind = \"normal\"\nto = \"A\"\nmean_pa = \"=2*dt_ms\"\nsd_pa = "
        "\"=n\"\n"
        "[use.B]\nfile = \"b.toml\"\nset = { \"var.k\" = \"=8*dt_ms\" }\n";
    static const struct {
        const char *run;
        const char *set;
        double dt_ms;
    } cases[] = {{"", NULL, 1},
                 {"dt_ms = 0.25", NULL, 0.25},
                 {"rate_hz = 4000", NULL, 0.25},
                 {"dt_ms = \"=sigma/12\"", NULL, 0.25},
                 {"dt_ms = 0.1", "0.25", 0.25}};
    FILE *file = fopen(VLY_TEST_BINARY_DIR "/b.toml", "w");
    assert_non_null(file);
    assert_true(fputs("format = 1\n[run]\ndt_ms = 7\n[var]\nk = 1\n"
                      "[area.B]\nmodel = \"lif_psc_exp\"\nneurons = 1\n"
                      "i_e_pa = \"=k\"\ntau_m_ms = \"=dt_ms\"\n",
                      file) >= 0);
    assert_int_equal(fclose(file), 0);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char whole[1024];
        const vly_override set = {"run.dt_ms", cases[i].set};
        vly_error error = VLY_ERROR_INIT;
        vly_genome *genome = NULL;
        snprintf(whole, sizeof whole, text, cases[i].run);
        assert_ok(vly_genome_parse(whole, strlen(whole),
                                   VLY_TEST_BINARY_DIR "/t.toml", &set,
                                   cases[i].set ? 1 : 0, &genome, &error),
                  error);
        assert_close(genome->dt_ms, cases[i].dt_ms, 0);
        assert_close(genome->stimuli[0].mean, 2 * cases[i].dt_ms, 0);
        assert_close(genome->stimuli[0].sd, 3 * sqrt(cases[i].dt_ms), 0);
        const vly_area *area = &genome->areas[1];
        for (uint32_t j = 0; j < area->model->n_params; j++) {
            if (strcmp(area->model->params[j].name, "i_e_pa") == 0)
                assert_close(area->params[j].a, 8 * cases[i].dt_ms, 0);
            if (strcmp(area->model->params[j].name, "tau_m_ms") == 0)
                assert_close(area->params[j].a, cases[i].dt_ms, 0);
        }
        vly_genome_destroy(genome);
    }
    assert_refused("format = 1\n[run]\ndt_ms = \"=2*dt_ms\"\n",
                   "t:3:9: \"=2*dt_ms\": dt_ms refers to itself, wanted an "
                   "expression of others");
    assert_refused("format = 1\n[run]\ndt_ms = \"=a\"\n[var]\n"
                   "a = \"=2*dt_ms\"\n",
                   "t:5:5: variable a refers to itself, wanted an expression "
                   "of others");
    assert_refused("format = 1\n[var]\ndt_ms = 3\n",
                   "t:3:1: variable name \"dt_ms\", wanted another: it is the "
                   "time step of [run] in expressions");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(values),
    cmocka_unit_test(errors),
    cmocka_unit_test(depth_is_limited),
    cmocka_unit_test(cycles_are_refused),
    cmocka_unit_test(step),
};
VLY_TEST_MAIN(tests)
