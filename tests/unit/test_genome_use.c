/* SPDX-License-Identifier: Apache-2.0
 * [use.NAME]: what an included genome becomes, and what is refused in it.
 */
#include "test_genome_text.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = VLY_TEST_BINARY_DIR "/use_XXXXXX";

/* A file of the test's folder; name may have one folder in it. */
static void put(const char *name, const char *text)
{
    char path[1024];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fputs(text, file) >= 0, 1);
    fclose(file);
}

static vly_genome *load(const char *name, const vly_override *overrides,
                        uint32_t n)
{
    char path[1024];
    vly_error error = VLY_ERROR_INIT;
    vly_genome *genome = NULL;
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    assert_ok(vly_genome_load(path, overrides, n, &genome, &error), error);
    return genome;
}

/* message: after the folder's name and / */
static void refused(const char *name, const char *message)
{
    char path[1024];
    char wanted[2048];
    vly_error error = VLY_ERROR_INIT;
    vly_genome *genome = NULL;
    uint64_t before = vly_memory_live();
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    snprintf(wanted, sizeof(wanted), "%s/%s", folder, message);
    assert_int_equal(vly_genome_load(path, NULL, 0, &genome, &error),
                     refusal(message));
    assert_string_equal(error.message, wanted);
    assert_true(vly_memory_live() == before);
}

static const char column[] = "format = 1\n"
                             "title = \"column\"\n"
                             "[run]\n"
                             "dt_ms = 0.5\n"
                             "[var]\n"
                             "n = 10\n"
                             "g = 4\n"
                             "[model.m]\n"
                             "type = \"lif_psc_delta\"\n"
                             "tau_m_ms = \"=2*n\"\n"
                             "[area.E]\n"
                             "model = \"m\"\n"
                             "neurons = \"=4*n\"\n"
                             "[area.I]\n"
                             "model = \"m\"\n"
                             "neurons = \"=n\"\n"
                             "[area.Th]\n"
                             "model = \"lif_psc_delta\"\n"
                             "neurons = 5\n"
                             "[[map]]\n"
                             "id = \"all\"\n"
                             "from = [\"E\", \"I\"]\n"
                             "to = \"*\"\n"
                             "rule = \"fixed_in_degree\"\n"
                             "in_degree = 3\n"
                             "weight_mv = [[1, \"=-g\"]]\n"
                             "except = [{ from = \"I\", to = \"Th\","
                             " weight_mv = -9 }]\n"
                             "[[map]]\n"
                             "link = [\"Th -> ?\"]\n"
                             "rule = \"all_to_all\"\n"
                             "weight_mv = 0.1\n"
                             "[[stimulus]]\n"
                             "id = \"noise\"\n"
                             "kind = \"poisson\"\n"
                             "to = \"*\"\n"
                             "rate_hz = 1000\n"
                             "weight_mv = 5\n"
                             "[[record]]\n"
                             "what = \"spikes\"\n"
                             "from = \"E\"\n";

#define OWN                                                                    \
    "format = 1\n"                                                             \
    "[run]\n"                                                                  \
    "dt_ms = 0.1\n"                                                            \
    "[var]\n"                                                                  \
    "k = 7\n"                                                                  \
    "[area.relay]\n"                                                           \
    "model = \"lif_psc_delta\"\n"                                              \
    "neurons = 3\n"

static const char two[] = OWN "[use.V1]\n"
                              "file = \"parts/column.toml\"\n"
                              "areas = { Th = \"relay\" }\n"
                              "set = { \"var.g\" = \"=k\","
                              " \"area.I.neurons\" = 12 }\n"
                              "[use.second]\n"
                              "file = \"parts/column.toml\"\n"
                              "prefix = \"V2\"\n"
                              "areas = { Th = \"V1/I\" }\n"
                              "[[map]]\n"
                              "from = \"V1/E\"\n"
                              "to = \"V2/*\"\n"
                              "rule = \"all_to_all\"\n"
                              "weight_mv = 1\n";

static int setup(void **state)
{
    char path[1024];
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof(path), "%s/parts", folder);
    if (mkdir(path, 0777) != 0)
        return -1;
    put("parts/column.toml", column);
    put("two.toml", two);
    return 0;
}

static int teardown(void **state)
{
    char command[1100];
    (void)state;
    snprintf(command, sizeof(command), "rm -rf %s", folder);
    return system(command);
}

static const vly_pair *pair_of(const vly_genome *genome, const char *map,
                               const char *from, const char *to)
{
    for (uint32_t i = 0; i < genome->n_pairs; i++) {
        const vly_pair *pair = &genome->pairs[i];
        if (strcmp(pair->map, map) == 0 &&
            strcmp(genome->areas[pair->from].name, from) == 0 &&
            strcmp(genome->areas[pair->to].name, to) == 0)
            return pair;
    }
    return NULL;
}

static void parts(void **state)
{
    (void)state;
    static const char *const names[] = {"relay", "V1/E", "V1/I", "V2/E",
                                        "V2/I"};
    static const uint32_t sizes[] = {3, 40, 12, 40, 10};
    vly_genome *genome = load("two.toml", NULL, 0);
    assert_int_equal(genome->n_areas, 5);
    for (uint32_t i = 0; i < 5; i++) {
        assert_string_equal(genome->areas[i].name, names[i]);
        assert_int_equal(genome->areas[i].n_neurons, sizes[i]);
    }
    /* its own step and length count, and so does its title */
    assert_true(genome->dt_ms == 0.1);
    assert_null(genome->title);
    assert_string_equal(genome->areas[1].model_name, "V1/m");
    assert_true(genome->areas[1].params[1].a == 20); /* tau_m_ms */
    /* g of the first is k of the including genome, of the second its own */
    assert_true(pair_of(genome, "V1/all", "V1/I", "V1/E")->weight.a == -7);
    assert_true(pair_of(genome, "V2/all", "V2/I", "V2/E")->weight.a == -4);
    /* bound areas: exceptions, globs and links follow */
    assert_true(pair_of(genome, "V1/all", "V1/I", "relay")->weight.a == -9);
    assert_true(pair_of(genome, "V2/all", "V2/I", "V1/I")->weight.a == -9);
    assert_non_null(pair_of(genome, "map:1", "V1/E", "V2/I"));
    assert_non_null(pair_of(genome, "map:3", "relay", "V1/E"));
    /* a glob of the file reaches nothing outside of it */
    assert_null(pair_of(genome, "map:3", "relay", "V2/E"));
    assert_int_equal(genome->n_stimuli, 6);
    assert_string_equal(genome->stimuli[0].id, "V1/noise");
    assert_int_equal(genome->n_records, 2);
    vly_genome_destroy(genome);
}

static void resolved(void **state)
{
    (void)state;
    vly_genome *genome = load("two.toml", NULL, 0);
    vly_genome *again = genome_of(genome->resolved);
    assert_memory_equal(&again->hash, &genome->hash, sizeof(vly_hash));
    assert_non_null(strstr(genome->resolved, "parts/column.toml line 13"));
    vly_genome_destroy(again);
    /* the hash is that of the content: a comment in the file changes nothing,
       a number does */
    put("parts/column.toml", "# a comment\n");
    char *text = vly_format("# a comment\n%s", column);
    assert_non_null(text);
    put("parts/column.toml", text);
    again = load("two.toml", NULL, 0);
    assert_memory_equal(&again->hash, &genome->hash, sizeof(vly_hash));
    vly_genome_destroy(again);
    *strstr(text, "1000") = '2';
    put("parts/column.toml", text);
    again = load("two.toml", NULL, 0);
    assert_memory_not_equal(&again->hash, &genome->hash, sizeof(vly_hash));
    vly_free(text);
    put("parts/column.toml", column);
    vly_genome_destroy(again);
    vly_genome_destroy(genome);
}

static void overrides(void **state)
{
    (void)state;
    const vly_override list[] = {
        {"area.V1/E.neurons", "\"=k\""},
        {"use.second.set.\"var.n\"", "5"},
        {"var.k", "8"},
        {"stimulus.V2/noise.rate_hz", "0"},
        {"use.V1.set.\"area.I.neurons\"", "11"},
    };
    vly_genome *genome = load("two.toml", list, 5);
    assert_int_equal(genome->areas[1].n_neurons, 8);
    assert_int_equal(genome->areas[2].n_neurons, 11);
    assert_int_equal(genome->areas[3].n_neurons, 20);
    assert_true(pair_of(genome, "V1/all", "V1/I", "V1/E")->weight.a == -8);
    assert_true(genome->stimuli[3].rate_hz == 0);
    vly_genome_destroy(genome);
}

/* An include changes no draw of what was there. */
static void streams(void **state)
{
    (void)state;
    put("one.toml", OWN "[[map]]\n"
                        "link = [\"relay -> relay\"]\n"
                        "rule = \"all_to_all\"\n"
                        "weight_mv = 1\n"
                        "[use.V1]\n"
                        "file = \"parts/column.toml\"\n"
                        "areas = { Th = \"relay\" }\n");
    vly_genome *genome = load("one.toml", NULL, 0);
    assert_string_equal(genome->pairs[0].stream, "|relay|relay|0");
    assert_int_equal(genome->areas[0].first, 0);
    vly_genome_destroy(genome);
}

static void nested(void **state)
{
    (void)state;
    put("parts/outer.toml", "format = 1\n"
                            "[area.in]\n"
                            "model = \"lif_psc_delta\"\n"
                            "neurons = 2\n"
                            "[use.c]\n"
                            "file = \"column.toml\"\n"
                            "areas = { Th = \"in\" }\n");
    put("nested.toml", OWN "[use.a]\n"
                           "file = \"parts/outer.toml\"\n"
                           "set = { \"area.c/E.neurons\" = 6 }\n"
                           "[use.plain]\n"
                           "prefix = \"\"\n"
                           "file = \"parts/outer.toml\"\n"
                           "areas = { in = \"relay\" }\n");
    vly_genome *genome = load("nested.toml", NULL, 0);
    assert_int_equal(genome->n_areas, 6);
    assert_string_equal(genome->areas[1].name, "a/in");
    assert_string_equal(genome->areas[2].name, "a/c/E");
    assert_int_equal(genome->areas[2].n_neurons, 6);
    assert_string_equal(genome->areas[4].name, "c/E");
    assert_non_null(pair_of(genome, "c/all", "c/E", "relay"));
    vly_genome_destroy(genome);
}

static void circles(void **state)
{
    (void)state;
    put("a.toml", OWN "[use.b]\nfile = \"parts/b.toml\"\n");
    put("parts/b.toml", OWN "[use.c]\nfile = \"c.toml\"\n");
    put("parts/c.toml", OWN "[use.a]\nfile = \"../a.toml\"\n");
    refused("a.toml", "parts/c.toml:10:8: includes itself: a.toml -> "
                      "parts/b.toml -> c.toml -> ../a.toml, wanted no circle");
    /* not the first file itself */
    put("d.toml", OWN "[use.b]\nfile = \"parts/c.toml\"\n");
    refused("d.toml",
            "parts/../parts/b.toml:10:8: includes itself: parts/c.toml -> "
            "../a.toml -> parts/b.toml -> c.toml, wanted no circle");
    /* twice is no circle, but no end may come of it either */
    put("e0.toml", OWN);
    for (int i = 1; i < 10; i++) {
        char name[32];
        char *text = vly_format(OWN "[use.a]\nfile = \"e%d.toml\"\n"
                                    "[use.b]\nfile = \"e%d.toml\"\n",
                                i - 1, i - 1);
        assert_non_null(text);
        snprintf(name, sizeof(name), "e%d.toml", i);
        put(name, text);
        vly_free(text);
    }
    vly_error error = VLY_ERROR_INIT;
    vly_genome *genome = NULL;
    char path[1024];
    snprintf(path, sizeof(path), "%s/e9.toml", folder);
    assert_int_equal(vly_genome_load(path, NULL, 0, &genome, &error),
                     VLY_E_PARSE);
    assert_non_null(strstr(error.message,
                           "more than 256 files are included, wanted fewer"));
    for (int i = 0; i < 20; i++) {
        char name[32];
        char *text =
            i == 0 ? vly_format(OWN)
                   : vly_format(OWN "[use.a]\nfile = \"f%d.toml\"\n", i - 1);
        assert_non_null(text);
        snprintf(name, sizeof(name), "f%d.toml", i);
        put(name, text);
        vly_free(text);
    }
    refused("f19.toml", "f3.toml:10:8: included 16 files deep, wanted less");
}

/* Every message names the file that it is about. */
static void places(void **state)
{
    (void)state;
    put("bad.toml", OWN "[use.x]\nfile = \"parts/bad.toml\"\n");
    put("parts/bad.toml", "format = 1\n[area.E]\nmodel = \"feagy\"\n");
    refused("bad.toml",
            "parts/bad.toml:3:9: no model \"feagy\", did you mean feagi?");
    put("parts/bad.toml", "format = 1\n[area.E]\nmodel = \"feagi\"\n"
                          "neurons = \"=m\"\n");
    refused("bad.toml", "parts/bad.toml:4:11: \"=m\": no variable "
                        "m, wanted one of [var], or dt_ms");
    put("parts/bad.toml", "[area.E]\nmodel = \"feagi\"\n");
    refused("bad.toml", "parts/bad.toml:1:1: no format, wanted format = 1");
    put("bad.toml", OWN "[use.x]\nfile = \"parts/column.toml\"\n"
                        "set = { \"area.E.neuron\" = 4 }\n");
    refused("bad.toml", "bad.toml:11:9: unknown key neuron in an [area] of "
                        "lif_psc_delta, did you mean neurons?");
    put("bad.toml", OWN "[use.x]\nfile = \"parts/column.toml\"\n"
                        "set = { \"var.g\" = \"=kk\" }\n");
    refused("bad.toml", "bad.toml:11:19: \"=kk\": no variable kk, "
                        "wanted one of [var], or dt_ms");
}

/* The n-th allocation fails, for every n. */
static void memory_of(const char *name)
{
    char path[1024];
    uint64_t before = vly_memory_live();
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    for (uint64_t n = 1;; n++) {
        vly_error error = VLY_ERROR_INIT;
        vly_genome *genome = NULL;
        vly_memory_fail_at(n);
        vly_status status = vly_genome_load(path, NULL, 0, &genome, &error);
        vly_memory_fail_at(0);
        if (status == VLY_OK) {
            vly_genome_destroy(genome);
            assert_true(n > 100);
            break;
        }
        assert_int_equal(status, VLY_E_NOMEM);
        assert_true(vly_memory_live() == before);
    }
    assert_true(vly_memory_live() == before);
}

static void memory(void **state)
{
    (void)state;
    memory_of("nested.toml");
    memory_of("using.toml"); /* of model_files */
}

/* ---- model_file --------------------------------------------------------- */

#define CELL                                                                   \
    "[neuron.cell]\nparam = { tau = \"10 ms\", th = 1 }\n"                     \
    "port = { ex = \"1\" }\nstate = { v = 0 }\neq = \"v' = -v/tau\"\n"         \
    "on.ex = \"v += in\"\nspike = \"v >= th\"\nreset = \"v = 0\"\n"
#define CELL_AREA "[area.A]\nmodel = \"cell\"\nneurons = 2\n"
#define OF_FILE(file) "[neuron.cell]\nmodel_file = \"" file "\"\n"

static void model_files(void **state)
{
    (void)state;
    /* only the model is taken, with the variables of its file */
    put("parts/cell.toml", "format = 1\n[var]\nt = 5\n" CELL "substeps = "
                           "\"=t-3\"\n[neuron.other]\nwrong = 1\n"
                           "[area.X]\nmodel = \"cell\"\nneurons = 9\n");
    put("inline.toml", "format = 1\n" CELL "substeps = 2\n" CELL_AREA);
    put("with_file.toml", "format = 1\n" CELL_AREA OF_FILE("parts/cell.toml"));
    put("parts/inner.toml", "format = 1\n" CELL_AREA OF_FILE("cell.toml"));
    put("using.toml", "format = 1\n[use.V1]\nfile = \"parts/inner.toml\"\n"
                      "prefix = \"\"\n");
    vly_genome *wanted = load("inline.toml", NULL, 0);
    static const char *const names[] = {"with_file.toml", "using.toml"};
    for (int i = 0; i < 2; i++) {
        vly_genome *found = load(names[i], NULL, 0);
        assert_int_equal(found->n_areas, 1);
        assert_memory_equal(&found->hash, &wanted->hash, sizeof found->hash);
        assert_int_equal(found->n_files, i + 1);
        vly_genome_destroy(found);
    }
    vly_genome_destroy(wanted);
}

static void wrong_model_files(void **state)
{
    (void)state;
    put("a.toml", "format = 1\n" CELL_AREA OF_FILE("parts/none.toml"));
    refused("a.toml",
            "a.toml:6:14: parts/none.toml: No such file or directory");
    put("a.toml", "format = 1\n" CELL_AREA "[neuron.cell]\nmodel_file = 3\n");
    refused("a.toml", "a.toml:6:14: model_file is 3, wanted a string");
    put("a.toml", "format = 1\n" CELL_AREA OF_FILE(
                      "parts/cell.toml") "method = \"rk4\"\n");
    refused("a.toml", "a.toml:7:1: method beside model_file, wanted it in that "
                      "file");
    put("parts/cells.toml", "format = 1\n[neuron.cells]\nwrong = 1\n");
    put("a.toml", "format = 1\n" CELL_AREA OF_FILE("parts/cells.toml"));
    refused("a.toml", "a.toml:6:14: parts/cells.toml has no [neuron.cell], did "
                      "you mean cells?");
    put("parts/cells.toml", "format = 1\n" OF_FILE("cell.toml"));
    refused("a.toml", "parts/cells.toml:3:1: model_file in the file of a "
                      "model, wanted the model");
    put("a.toml", "format = 1\n" CELL_AREA OF_FILE("a.toml"));
    refused("a.toml",
            "a.toml:6:14: includes itself: a.toml -> a.toml, wanted no circle");
    /* the message names the file of a mistake, its line and column */
    put("parts/cells.toml", "format = 1\n[neuron.cell]\nstate = { v = 0 }\n"
                            "port = { ex = \"1\" }\neq = \"\"\"\n  v' = -w\n"
                            "\"\"\"\nspike = \"v >= 1\"\n");
    put("a.toml", "format = 1\n" CELL_AREA OF_FILE("parts/cells.toml"));
    refused("a.toml", "parts/cells.toml:6:9: unknown name w, wanted v");
    put("parts/cells.toml", "[neuron.cell]\nspike = \"v >= 1\"\n");
    refused("a.toml", "parts/cells.toml:1:1: no format, wanted format = 1");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(parts),   cmocka_unit_test(resolved),
    cmocka_unit_test(streams), cmocka_unit_test(overrides),
    cmocka_unit_test(nested),  cmocka_unit_test(circles),
    cmocka_unit_test(places),  cmocka_unit_test(model_files),
    cmocka_unit_test(memory),  cmocka_unit_test(wrong_model_files),
};

int main(void)
{
    return cmocka_run_group_tests(tests, setup, teardown) ? 1 : 0;
}
