/* SPDX-License-Identifier: Apache-2.0
 * --set: paths, values, messages.
 */
#include "test_genome_text.h"

#include "base/suggest.h"
#include "genome/foreign_names.h"
#include "genome/model_info.h"

#define TEXT                                                                   \
    "format = 1\n[var]\ng = 5\n[model.n]\ntype = \"izhikevich\"\n"             \
    "[area.\"L4/E\"]\nmodel = \"n\"\nneurons = 10\n"                           \
    "[area.I]\nmodel = \"n\"\nneurons = \"=g\"\n"                              \
    "[[map]]\nid = \"EI\"\nfrom = \"L4/E\"\nto = \"I\"\n"                      \
    "rule = \"fixed_total_number\"\np = 0.5\nweight = 1\ndelay_ms = 2\n"       \
    "[[map]]\nfrom = \"I\"\nto = \"I\"\nrule = \"all_to_all\"\nweight = 1\n"   \
    "[[stimulus]]\nid = \"ext\"\nkind = \"dc\"\nto = \"I\"\namplitude = 1\n"   \
    "[neuron.w]\nparam = { tau = \"10 ms\" }\nport = { ex = \"1\" }\n"         \
    "state = { v = 0 }\neq = \"v' = -v/tau\"\non.ex = \"v += in\"\n"           \
    "spike = \"v >= 1\"\nreset = \"v = 0\"\n"

static vly_genome *set(const char *path, const char *value)
{
    vly_override one = {path, value};
    return genome_with(TEXT, &one, 1);
}

static void paths(void **state)
{
    (void)state;
    vly_genome *genome = set("area.\"L4/E\".neurons", "=4*g");
    assert_int_equal(genome->areas[0].n_neurons, 20);
    vly_genome_destroy(genome);
    genome = set("area.L4/E.neurons", "7");
    assert_int_equal(genome->areas[0].n_neurons, 7);
    vly_genome_destroy(genome);
    genome = set("area.L4/E.voxels", "[2, 3, 4]"); /* in place of neurons */
    assert_int_equal(genome->areas[0].n_neurons, 24);
    vly_genome_destroy(genome);
    genome = set("var.g", "3");
    assert_int_equal(genome->areas[1].n_neurons, 3);
    vly_genome_destroy(genome);
    genome = set("run.dt_ms", "0.5"); /* no [run] in the file */
    assert_close(genome->dt_ms, 0.5, 0);
    vly_genome_destroy(genome);
    genome = set("map.EI.count", "12"); /* in place of p */
    assert_true(genome->pairs[0].count == 12);
    vly_genome_destroy(genome);
    genome = set("map.2.weight", "{ normal = [3, 1] }");
    assert_int_equal(genome->pairs[1].weight.kind, VLY_VALUE_NORMAL);
    assert_int_equal(genome->pairs[1].weight.origin.kind, VLY_ORIGIN_SET);
    vly_genome_destroy(genome);
    genome = set("stimulus.ext.amplitude", "2.5");
    assert_close(genome->stimuli[0].mean, 2.5, 0);
    vly_genome_destroy(genome);
    genome = set("model.n.type", "izhikevich");
    vly_genome_destroy(genome);
    genome = set("title", "two words");
    assert_string_equal(genome->title, "two words");
    vly_genome_destroy(genome);
}

static void defined(const char *path, const char *value, const char *wanted)
{
    vly_genome *genome = set(path, value);
    const char *text = vly_model_definition(genome->neuron_models[0]);
    if (!strstr(text, wanted))
        fail_msg("--set %s=%s: %s", path, value, text);
    vly_genome_destroy(genome);
}

/* Keys and names of a [neuron], and its file, which is read before. */
static void neuron_models(void **state)
{
    (void)state;
    defined("neuron.w.substeps", "4", "\"substeps\" = 4\n");
    defined("neuron.w.method", "euler", "\"method\" = \"euler\"\n");
    defined("neuron.w.param.tau", "\"5 ms\"", "{\"tau\" = \"5 ms\"}");
    defined("neuron.w.on.ex", "\"v += 2*in\"", "{\"ex\" = \"v += 2*in\"}");
    defined("neuron.\"w\".spike", "\"v >= 2\"", "\"v >= 2\"");
    const vly_override file = {"neuron.w.model_file", "\"w.toml\""};
    assert_refused_with(TEXT, &file, 1,
                        "t:31:1: param beside model_file, wanted it in that "
                        "file");
}

static void last_one_wins(void **state)
{
    (void)state;
    const vly_override two[] = {{"area.I.neurons", "8"},
                                {"area.I.neurons", "9"}};
    vly_genome *genome = genome_with(TEXT, two, 2);
    assert_int_equal(genome->areas[1].n_neurons, 9);
    vly_genome_destroy(genome);
}

static void messages(void **state)
{
    (void)state;
    static const char *const cases[][3] = {
        {"area.J.neurons", "1", "no area J, wanted one of L4/E, I"},
        {"area.L4.neurons", "1", "no area L4, did you mean L4/E?"},
        {"area.I.neurons", "x",
         "neurons is \"x\", wanted a number or \"=expression\""},
        {"area.I.neurns", "1",
         "unknown key neurns in an [area] of izhikevich, did you mean "
         "neurons?"},
        {"area.I", "1", "the path has too few parts, wanted KIND.NAME.KEY"},
        {"areas.I.neurons", "1", "unknown path, no areas, did you mean area?"},
        {"run.dtms", "1", "unknown key dtms in [run], did you mean dt_ms?"},
        {"var.gg", "1", "no variable gg, wanted g"},
        {"map.IE.p", "1", "no map IE, did you mean EI?"},
        {"map.3.p", "1", "no map 3, wanted EI"},
        {"record.3.from", "1", "no record 3: the file has none"},
        {"stimulus.x.kind", "1", "no stimulus x, wanted ext"},
        {"run.ms", "[1", "the value does not parse, wanted a TOML value"},
        {"run.ms", "1,5",
         "the value does not parse, wanted a TOML value; a number has a point, "
         "not a comma, as in 0.5"},
        {"run.ms", "1\nx = 2", "the value does not parse, wanted a TOML value"},
        {"title",
         "\xc3\xa4"
         "a\xff"
         "b",
         "character 3 of the value has byte 0xff, wanted UTF-8"},
        {"neuron.v.substeps", "4", "no neuron v, wanted w"},
        {"neuron.w.param.tua", "\"5 ms\"", "no param tua, did you mean tau?"},
        {"neuron.w.state.x", "\"1\"", "no state x, wanted v"},
        {"neuron.w.substeps", "40",
         "substeps is 40, wanted a whole number from 1 to 16"},
        {"run..ms", "1", "the path does not parse, wanted area.NAME.KEY"},
        {"run.\"ms", "1", "the path does not parse, wanted area.NAME.KEY"},
        {"map.EI.delay_ms", "0.1",
         "delay_ms is 0.1 ms, wanted at least one burst of dt_ms = 1"},
        {"map.2.id", "EI",
         "id EI of a [[map]] stands on line 13 too, wanted another"},
        {"map.EI.p.x", "1",
         "p is not a table: its parts cannot be set one by one, wanted its "
         "whole "
         "value"},
        {"area.I.a", "{ normal = [\"=h\", 1] }",
         "\"=h\": no variable h, wanted one of [var], or dt_ms"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char message[512];
        vly_override one = {cases[i][0], cases[i][1]};
        snprintf(message, sizeof(message), "--set %s=%s: %s", cases[i][0],
                 cases[i][1], cases[i][2]);
        assert_refused_with(TEXT, &one, 1, message);
    }
}

static void distances(void **state)
{
    (void)state;
    assert_int_equal(vly_suggest_distance("abc", "abc"), 0);
    assert_int_equal(vly_suggest_distance("abc", "acb"), 1);
    assert_int_equal(vly_suggest_distance("", "abc"), 3);
    assert_int_equal(vly_suggest_distance("kitten", "sitting"), 3);
    assert_int_equal(vly_suggest_distance("TAU_M", "tau_m"), 0);
    assert_string_equal(vly_foreign_find("C_m", 0)->ours, "c_m_pf");
    assert_string_equal(vly_foreign_find("I_e", 1)->ours, "i_e");
    assert_null(vly_foreign_find("C_m", 1));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(paths),         cmocka_unit_test(neuron_models),
    cmocka_unit_test(last_one_wins), cmocka_unit_test(messages),
    cmocka_unit_test(distances),
};
VLY_TEST_MAIN(tests)
