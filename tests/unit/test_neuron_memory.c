/* SPDX-License-Identifier: Apache-2.0
 * The 1st, 2nd, 3rd ... allocation fails while a model is made: an error, no
 * crash, nothing left. Models that are too large are refused with a sentence,
 * in little time whatever their names stand for.
 */
#include "neuron_fixture.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/memory.h"
#include "genome/user_model.h"

static const char *const models[] = {
    "[neuron.n]\nparam = { tau = \"10 ms\", c_m = { value = \"250 pF\", range "
    "= "
    "[\"1 pF\", \"1 nF\"], text = \"of the membrane\" }, t_ref = \"2 ms\", "
    "not_used "
    "= 1 }\nport = { ex = \"pA\", inh = \"pA\" }\n"
    "state = { v = \"0 mV\", i = \"0 pA\", g = 1 }\n"
    "eq = \"x = 1 + exp(v/(1 mV)); v' = -v*x/tau + i/c_m hold; i' = -i/tau\"\n"
    "on = { ex = \"i += in\", inh = \"i -= in*2\" }\n"
    "spike = \"rises(v, 10 mV)\"\nreset = \"v = 0 mV; g += 1\"\n"
    "refractory = \"t_ref\"\n",
    "[neuron.n]\nport = { ex = \"1\" }\nstate = { x = 1, y = 2 }\n"
    "update = \"\"\"\n    z = x/y + sqrt(x)\n    x = z + ex\n    y = if x > 2 "
    "then z else tanh(y)\n\"\"\"\nspike = \"x >= 10\"\nreset = \"x = 0\"\n",
    "[neuron.n]\nport = { ex = \"1\" }\nstate = { x = 1, y = 2 }\n"
    "eq = \"x' = -x*y/(1 ms); y' = -y*exp(x)/(2 ms)\"\non.ex = \"x += in\"\n"
    "spike = \"x >= 10\"\nreset = \"x = 0\"\nmethod = \"rk4\"\n"};

static void every_allocation(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++) {
        uint64_t before = vly_memory_live();
        uint64_t at = 0;
        vly_status status;
        do {
            vly_error error = VLY_ERROR_INIT;
            neuron n;
            vly_memory_fail_at(++at);
            status = neuron_try(&n, models[i], &error);
            vly_memory_fail_at(0);
            if (status != VLY_OK) {
                assert_int_equal(status, VLY_E_NOMEM);
                assert_non_null(strstr(error.message, "out of memory"));
                assert_true(error.bytes_requested > 0);
                assert_null(n.model);
            }
            neuron_free(&n);
            assert_true(vly_memory_live() == before);
        } while (status != VLY_OK && at < 10000);
        assert_int_equal(status, VLY_OK);
        assert_true(at > 10);
    }
}

/* The model with its description and its text, as a genome holds it. */
static void every_allocation_of_use(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++) {
        uint64_t before = vly_memory_live();
        uint64_t at = 0;
        vly_status status;
        do {
            vly_error error = VLY_ERROR_INIT;
            const vly_model_info *model = NULL;
            vly_memory_fail_at(++at);
            status = vly_model_define(models[i], "t", &model, &error);
            vly_memory_fail_at(0);
            assert_int_equal(status, model ? VLY_OK : VLY_E_NOMEM);
            vly_model_drop(model);
            assert_true(vly_memory_live() == before);
        } while (status != VLY_OK && at < 10000);
        assert_int_equal(status, VLY_OK);
    }
}

/* What a saved connectome has gives the same model again. */
static void definitions(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++) {
        vly_error error = VLY_ERROR_INIT;
        const vly_model_info *first = NULL;
        const vly_model_info *again = NULL;
        assert_ok(vly_model_define(models[i], "t", &first, &error), error);
        assert_ok(
            vly_model_define(vly_model_definition(first), "t", &again, &error),
            error);
        assert_true(first->table_hash == again->table_hash);
        assert_string_equal(vly_model_definition(first),
                            vly_model_definition(again));
        vly_model_hold(first);
        vly_model_drop(first);
        assert_string_equal(first->id, "n");
        vly_model_drop(first);
        vly_model_drop(again);
    }
}

/* ---- sizes -------------------------------------------------------------- */

static char text[200000];
static size_t used;

static void put(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void put(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    used +=
        (size_t)vsnprintf(text + used, sizeof text - used, format, arguments);
    va_end(arguments);
    assert_true(used < sizeof text);
}

static void begin(const char *key)
{
    used = 0;
    put("[neuron.n]\nport = { ex = \"1\" }\nstate = { x = 1, y = 1 }\n"
        "on.ex = \"x += in\"\nspike = \"x >= 10\"\nreset = \"x = 0\"\n"
        "%s = '''\n",
        key);
}

/* Names that stand for one another: 2^40 operations, were each walked. */
static void names_of_names(void **state)
{
    (void)state;
    begin("eq");
    put("a0 = x*y\n");
    for (int i = 0; i < 40; i++)
        put("a%d = a%d + a%d\n", i + 1, i, i);
    put("x' = a40/(1 ms)'''\n");
    neuron_refused(text, "17:9: more than 2000 operations in one expression "
                         "together with what its names stand for, wanted "
                         "fewer");
    /* in `update` a name is a value */
    neuron n;
    begin("update");
    put("a0 = x*y\n");
    for (int i = 0; i < 40; i++)
        put("a%d = a%d + a%d\n", i + 1, i, i);
    put("x = a40'''\n");
    neuron_make(&n, text, 1);
    assert_true(vly_neuron_program(n.model)->n_ops < 60);
    neuron_free(&n);
    /* the largest that is taken, in every equation and by every method */
    static const char *const methods[] = {"exponential", "heun", "rk4",
                                          "euler"};
    for (int m = 0; m < 4; m++) {
        begin("eq");
        put("a0 = x*y/(1 ms)\n");
        for (int i = 0; i < 8; i++)
            put("a%d = a%d + a%d\n", i + 1, i, i);
        put("x' = a8\ny' = a8'''\nmethod = \"%s\"\n", methods[m]);
        neuron_make(&n, text, 1);
        assert_true(vly_neuron_program(n.model)->n_ops < 200);
        neuron_free(&n);
    }
}

static void too_large(void **state)
{
    (void)state;
    begin("update");
    for (int i = 0; i < 129; i++)
        put("a%d = x + %d\n", i, i);
    put("'''\n");
    neuron_refused(text, "136:1: more than 128 names, wanted fewer");
    begin("update");
    for (int i = 0; i < 600; i++)
        put("x = x + y\n");
    put("'''\n");
    neuron_refused(text, "520:1: more than 512 lines, wanted fewer");
    begin("update");
    for (int i = 0; i < 500; i++)
        put("x = x*y + %d\n", i + 3);
    put("'''\n");
    neuron_refused(text, "1:9: the model has more than 1024 operations, wanted "
                         "a smaller one");
    begin("update");
    for (int i = 0; i < 170; i++)
        put("x = x + exp(-dt/(%d ms))\n", i + 3);
    put("'''\n");
    neuron_refused(text, "1:9: the model has more than 160 coefficients "
                         "(values of its parameters), wanted a smaller one");
}

/* 23 variables that all depend on one another */
static void most_variables(void **state)
{
    (void)state;
    neuron n;
    used = 0;
    put("[neuron.n]\nport = { ex = \"1\" }\nstate = { ");
    for (int i = 0; i < 23; i++)
        put("x%d = %d, ", i, i);
    used -= 2;
    put(" }\non.ex = \"x0 += in\"\nspike = \"x0 >= 10\"\nreset = \"x0 = 0\"\n"
        "eq = '''\n");
    for (int i = 0; i < 23; i++)
        put("x%d' = (x%d - x%d)/(10 ms)\n", i, (i + 1) % 23, i);
    put("'''\n");
    neuron_refused(text, "1:9: the model has more than 160 coefficients "
                         "(values of its parameters), wanted fewer linear "
                         "equations or method = rk4, which needs no matrix");
    put("method = \"heun\"\n");
    neuron_make(&n, text, 1);
    neuron_free(&n);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(every_allocation),
    cmocka_unit_test(every_allocation_of_use),
    cmocka_unit_test(definitions),
    cmocka_unit_test(names_of_names),
    cmocka_unit_test(too_large),
    cmocka_unit_test(most_variables),
};
VLY_TEST_MAIN(tests)
