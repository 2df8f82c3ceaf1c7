/* SPDX-License-Identifier: Apache-2.0
 * [run], [model], [area]: order, sizes, precedence, distributions.
 */
#include "test_genome_text.h"

#include "genome/genome_reader.h"

static const vly_value *param(const vly_genome *genome, uint32_t area,
                              const char *name)
{
    const vly_model_info *model = genome->areas[area].model;
    for (uint32_t i = 0; i < model->n_params; i++)
        if (strcmp(model->params[i].name, name) == 0)
            return &genome->areas[area].params[i];
    fail_msg("no parameter %s", name);
    return NULL;
}

static void order_of_the_file(void **state)
{
    (void)state;
    static const char *const names[] = {"zebra", "apple", "cherry", "berry/1-x",
                                        "banana"};
    static const uint32_t firsts[] = {0, 3, 7, 9, 11};
    vly_error error = VLY_ERROR_INIT;
    vly_genome *genome = NULL;
    assert_ok(vly_genome_load(VLY_TEST_SOURCE_DIR
                              "/tests/golden/genome/source_order.toml",
                              NULL, 0, &genome, &error),
              error);
    assert_int_equal(genome->n_areas, 5);
    assert_int_equal(genome->n_neurons, 13);
    for (uint32_t i = 0; i < 5; i++) {
        assert_string_equal(genome->areas[i].name, names[i]);
        assert_int_equal(genome->areas[i].first, firsts[i]);
        assert_int_equal(vly_genome_area(genome, names[i]), i);
    }
    assert_true(vly_genome_area(genome, "none") == UINT32_MAX);
    assert_true(genome->n_bursts == 10);
    vly_genome_destroy(genome);
}

static void run_defaults(void **state)
{
    (void)state;
    vly_genome *genome =
        genome_of("format = 1\n[area.a]\nmodel = \"feagi\"\nneurons = 2\n");
    assert_close(genome->dt_ms, 1, 0);
    assert_true(genome->n_bursts == 0);
    assert_true(genome->seed_network == 1 && genome->seed_state == 2);
    assert_true(genome->seed_input == 3);
    assert_null(genome->title);
    assert_int_equal(genome->areas[0].neurons_per_voxel, 1);
    assert_false(genome->areas[0].has_voxels);
    vly_genome_destroy(genome);
}

static void precedence(void **state)
{
    (void)state;
    const vly_override overrides[] = {{"area.B.tau_m_ms", "40"},
                                      {"model.n.e_l_mv", "-80"}};
    vly_genome *genome = genome_with(
        "format = 1\n[model.n]\ntype = \"lif_psc_exp\"\ntau_m_ms = 20\n"
        "c_m_pf = 200\nv_mv = -70\n[area.A]\nmodel = \"n\"\nneurons = 1\n"
        "tau_m_ms = 30\n[area.B]\nmodel = \"n\"\nneurons = 1\ntau_m_ms = 30\n",
        overrides, 2);
    assert_close(param(genome, 0, "tau_m_ms")->a, 30, 0);
    assert_int_equal(param(genome, 0, "tau_m_ms")->origin.kind,
                     VLY_ORIGIN_FILE);
    assert_int_equal(param(genome, 0, "tau_m_ms")->origin.line, 10);
    assert_close(param(genome, 1, "tau_m_ms")->a, 40, 0);
    assert_int_equal(param(genome, 1, "tau_m_ms")->origin.kind, VLY_ORIGIN_SET);
    assert_close(param(genome, 1, "e_l_mv")->a, -80, 0);
    assert_int_equal(param(genome, 1, "e_l_mv")->origin.kind, VLY_ORIGIN_SET);
    assert_close(param(genome, 0, "c_m_pf")->a, 200, 0);
    assert_int_equal(param(genome, 0, "c_m_pf")->origin.kind, VLY_ORIGIN_MODEL);
    assert_close(param(genome, 0, "t_ref_ms")->a, 2, 0);
    assert_int_equal(param(genome, 0, "t_ref_ms")->origin.kind,
                     VLY_ORIGIN_DEFAULT);
    assert_close(genome->areas[1].fields[0].a, -70, 0);
    assert_int_equal(genome->areas[1].fields[1].origin.kind,
                     VLY_ORIGIN_DEFAULT);
    vly_genome_destroy(genome);
}

static vly_value value_of(const char *toml)
{
    char text[512];
    snprintf(text, sizeof(text),
             "format = 1\n[area.a]\nmodel = \"lif_psc_exp\"\nneurons = 3\n"
             "t_ref_ms = %s\n",
             toml);
    vly_genome *genome = genome_of(text);
    vly_value value = *param(genome, 0, "t_ref_ms");
    value.array = NULL;
    value.draw = NULL;
    vly_genome_destroy(genome);
    return value;
}

/* Later stages read one finite interval, whatever was given. */
static void distributions(void **state)
{
    (void)state;
    vly_value value = value_of("{ normal = [10, 1] }");
    assert_int_equal(value.kind, VLY_VALUE_NORMAL);
    assert_true(value.clipped);
    assert_close(value.clip_lo, 4, 0);
    assert_close(value.clip_hi, 16, 0);
    value = value_of("{ normal = [2, 1] }"); /* -4 is outside the range */
    assert_close(value.clip_lo, 0, 0);
    assert_close(value.clip_hi, 8, 0);
    value = value_of("{ normal = [2, 1], clip = [1, inf] }");
    assert_close(value.clip_lo, 1, 0);
    assert_close(value.clip_hi, 8, 0);
    value = value_of("{ normal = [2, 1], clip = [\"-inf\", \"=2+10\"] }");
    assert_close(value.clip_lo, 0, 0);
    assert_close(value.clip_hi, 12, 0);
    value = value_of("{ normal = [2, 0] }");
    assert_int_equal(value.kind, VLY_VALUE_NUMBER);
    assert_close(value.a, 2, 0);
    value = value_of("{ uniform = [1, 5], clip = [2, inf] }");
    assert_int_equal(value.kind, VLY_VALUE_UNIFORM);
    assert_false(value.clipped);
    assert_close(value.a, 2, 0);
    assert_close(value.b, 5, 0);
    value = value_of("{ exponential = 3 }");
    assert_close(value.clip_lo, 0, 0);
    assert_close(value.clip_hi, 60, 0);
    value = value_of("{ lognormal = [0, 0.5] }");
    assert_close(value.clip_lo * value.clip_hi, 1, 1e-12);
    value = value_of("{ base = 5, scale = -3, draw = \"r\" }");
    assert_int_equal(value.kind, VLY_VALUE_DRAW);
    assert_close(value.power, 1, 0);
    value = value_of("[1, \"=2\", 3.5]");
    assert_int_equal(value.kind, VLY_VALUE_ARRAY);
    assert_int_equal(value.n_array, 3);
}

#define AREA                                                                   \
    "format = 1\n[area.a]\nmodel = \"lif_psc_exp\"\nneurons = 3\nt_ref_ms = "

static void refused_distributions(void **state)
{
    (void)state;
    assert_refused(AREA "{ normal = [-100, 1] }\n",
                   "t:5:12: t_ref_ms cannot give a value of its range, wanted "
                   "values from 0 to 1000000");
    assert_refused(AREA "{ normal = [10, 1], clip = [20, 30] }\n",
                   "t:5:39: clip of t_ref_ms leaves nothing of the "
                   "distribution, wanted an interval that it reaches");
    assert_refused(AREA "{ uniform = [-1, 2] }\n",
                   "t:5:24: t_ref_ms is -1, wanted 0 to 1000000");
    assert_refused(
        AREA "{ gauss = [1, 2] }\n",
        "t:5:14: unknown key gauss in t_ref_ms, wanted one of normal, uniform, "
        "lognormal, exponential, clip, base, scale, power, draw, file, column, "
        "choice, mixture, p");
    assert_refused(AREA "{ base = 1, scale = 1 }\n",
                   "t:5:12: t_ref_ms has no draw, wanted draw = \"name\"");
    assert_refused(AREA "{ lognormal = [900, 2] }\n",
                   "t:5:26: t_ref_ms has a distribution without finite "
                   "bounds, wanted smaller numbers");
    assert_refused(AREA "true\n", "t:5:12: t_ref_ms is true, wanted a number, "
                                  "\"=expression\" or a distribution");
    assert_refused(AREA "inf\n",
                   "t:5:12: t_ref_ms is inf, wanted a finite number");
    assert_refused(AREA "1979-05-27\n",
                   "t:5:12: t_ref_ms is a date or time, wanted a number, "
                   "\"=expression\" or a distribution");
}

/* Letters of any script; a ? of a glob is one letter. */
static void names_in_any_script(void **state)
{
    (void)state;
    static const char text[] =
        "format = 1\n[neuron.\"\u03c4-Neuron\"]\nport.ex = \"mV\"\n"
        "state = { v = \"0 mV\" }\neq = \"v' = -v/(10 ms)\"\n"
        "on.ex = \"v += in\"\nspike = \"v > 1 mV\"\n"
        "[var]\n\"größe\" = 7\n"
        "[area.\"皮質/L4\"]\nmodel = \"\u03c4-Neuron\"\nneurons = "
        "\"=2*größe\"\n"
        "[area.\"皮質/L5\"]\nmodel = \"lif_psc_delta\"\nneurons = 3\n"
        "[area.\"Кора\"]\nmodel = \"lif_psc_delta\"\nneurons = 3\n"
        "[[map]]\nid = \"पथ\"\nfrom = \"皮?/L*\"\nto = \"К??а + 皮質/L5[1:]\"\n"
        "rule = \"all_to_all\"\nweight_mv = 1\ndelay_ms = 1\n"
        "[[stimulus]]\nid = \"entrée\"\nkind = \"poisson\"\nto = \"Кора\"\n"
        "rate_hz = 9\nweight_mv = 1\n";
    const vly_override set[] = {{"area.Кора.neurons", "5"},
                                {"map.पथ.weight_mv", "2"},
                                {"stimulus.entrée.rate_hz", "8"}};
    vly_error error = VLY_ERROR_INIT;
    vly_genome *genome = NULL;
    assert_ok(
        vly_genome_parse(text, strlen(text), "t", set, 3, &genome, &error),
        error);
    assert_string_equal(genome->areas[0].name, "皮質/L4");
    assert_string_equal(genome->areas[0].model->id, "τ-Neuron");
    assert_int_equal(genome->areas[0].n_neurons, 14);
    assert_int_equal(genome->areas[2].n_neurons, 5);
    assert_int_equal(genome->n_pairs, 4);
    assert_string_equal(genome->pairs[0].map, "पथ");
    assert_close(genome->pairs[0].weight.a, 2, 0);
    assert_string_equal(genome->stimuli[0].stream, "entrée|Кора");
    vly_genome *again = genome_of(genome->resolved);
    assert_memory_equal(&again->hash, &genome->hash, sizeof genome->hash);
    vly_genome_destroy(again);
    vly_genome_destroy(genome);
}

static void names_refused(void **state)
{
    (void)state;
    static const char *const names[] = {
        "",
        "\xc2\x85",
        "a\xc2\xa0"
        "b",
        "a\xe2\x80\xae"
        "b",
        "“a”",
        "a’",
        "a⁄b",
        "a／b",
        "a＂",
        "a\xe2\x80\x8b",
        "\xef\xbb\xbf"
        "a",
        "a→b",
        "3a",
        "/a",
        "a b",
        "a\"",
        "a\xff",
        "a\xc3",
        "\xed\xa0\x80",
        "éééééééééééééééééééééééééééééééé", /* 64 bytes */
    };
    static const char *const good[] = {
        "é",    "a\u0301",
        "π2",   "ß/ü",
        "皮質", "ﬁ",
        "𠮷",   "aééééééééééééééééééééééééééééééé", /* 63 bytes */
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (vly_name_valid(names[i]))
            fail_msg("\"%s\" is taken for a name", names[i]);
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        if (!vly_name_valid(good[i]))
            fail_msg("\"%s\" is no name", good[i]);
}

/* The column is that of the byte, in characters; toml++ names the one before.
 */
static void invalid_utf8(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *place;
    } cases[] = {{"format = 1\ntitle = \"a\xc3\xa4\xff\"\n", "t.toml:2:12: "},
                 {"format = 1\n\xff", "t.toml:2:1: "},
                 {"\xc3", "t.toml:1:1: "}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        vly_error error = VLY_ERROR_INIT;
        vly_genome *genome = NULL;
        assert_int_equal(vly_genome_parse(cases[i].text, strlen(cases[i].text),
                                          "t.toml", NULL, 0, &genome, &error),
                         VLY_E_PARSE);
        if (strncmp(error.message, cases[i].place, strlen(cases[i].place)) != 0)
            fail_msg("\"%s\", wanted %s", error.message, cases[i].place);
        assert_non_null(strstr(error.message, "wanted UTF-8"));
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(invalid_utf8),
    cmocka_unit_test(order_of_the_file),
    cmocka_unit_test(run_defaults),
    cmocka_unit_test(precedence),
    cmocka_unit_test(distributions),
    cmocka_unit_test(refused_distributions),
    cmocka_unit_test(names_in_any_script),
    cmocka_unit_test(names_refused),
};
VLY_TEST_MAIN(tests)
