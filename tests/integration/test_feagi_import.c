/* SPDX-License-Identifier: Apache-2.0
 * test_feagi_import [fill]: genomes of FEAGI. What is made of the files in
 * tests/golden/feagi, to the byte; their sizes and the digest of a run, beside
 * what golden.csv has; spikes that go where the mappings of the JSON say.
 * With `fill` it writes the texts and prints the rows instead.
 */
#include "volley_test.h"

#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/writer.h"
#include "connectome/connectome.h"
#include "engine_trace.h"
#include "feagi_graph.h"
#include "genome/genome.h"
#include "tools/feagi/feagi_genome.h"

#define FOLDER VLY_TEST_SOURCE_DIR "/tests/golden/feagi/"

enum { BURSTS = 60, REACH_BURSTS = 40 };

static bool fill;
static vly_registry *registry;
static vly_error error = VLY_ERROR_INIT;

typedef struct imported {
    char *text;
    feagi_value root;
    feagi_genome genome;
    char *toml;
    size_t n_toml;
} imported;

static char *read_all(const char *path, size_t *n)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        fail_msg("%s: not there", path);
    char *text = vly_malloc(1 << 20, 1);
    assert_non_null(text);
    *n = fread(text, 1, (1 << 20) - 1, file);
    text[*n] = 0;
    fclose(file);
    return text;
}

static void import(const char *path, imported *out)
{
    size_t n = 0;
    *out = (imported){.text = read_all(path, &n)};
    assert_ok(feagi_json_parse(out->text, n, path, &out->root, &error), error);
    assert_ok(feagi_genome_read(&out->genome, &out->root, path, &error), error);
    out->toml = feagi_toml_write(&out->genome, &out->n_toml);
    assert_non_null(out->toml);
}

static void imported_free(imported *i)
{
    vly_free(i->toml);
    feagi_genome_free(&i->genome);
    feagi_json_free(&i->root);
    vly_free(i->text);
}

/* ---- what is made ------------------------------------------------------- */

static const char *const samples[] = {"flat_2_0", "flat_3_0", "areas_2_1",
                                      "essential_2_1"};
enum { N_SAMPLES = sizeof(samples) / sizeof(samples[0]) };

/* Nothing but the file's content is in it: twice the same, and what was. */
static void texts(void **state)
{
    (void)state;
    for (int i = 0; i < N_SAMPLES; i++) {
        char json[512];
        char toml[512];
        size_t n = 0;
        imported a;
        imported b;
        uint64_t live = vly_memory_live();
        snprintf(json, sizeof json, FOLDER "%s.json", samples[i]);
        snprintf(toml, sizeof toml, FOLDER "%s.toml", samples[i]);
        import(json, &a);
        import(json, &b);
        if (fill)
            assert_ok(vly_writer_save(toml, a.toml, a.n_toml, &error), error);
        char *wanted = read_all(toml, &n);
        assert_string_equal(a.toml, wanted);
        assert_string_equal(b.toml, wanted);
        assert_int_equal(a.n_toml, n);
        vly_free(wanted);
        imported_free(&a);
        imported_free(&b);
        assert_true(vly_memory_live() == live);
    }
}

/* The text with input onto its sensor areas. */
static vly_genome *with_input(const imported *from)
{
    vly_genome *genome = NULL;
    char *text = vly_format("%s", "");
    for (uint32_t i = 0; i < from->genome.n_areas; i++) {
        const feagi_area *area = &from->genome.areas[i];
        if (area->left_out || (area->id[0] != 'i' && area->name[0] != 'i'))
            continue;
        char *more = vly_format("%s\n[[stimulus]]\nkind = \"poisson\"\nto = "
                                "\"%s\"\nrate_hz = 2\nweight = 20\n",
                                text, area->name);
        vly_free(text);
        text = more;
    }
    char *all = vly_format("%s%s", from->toml, text);
    assert_non_null(all);
    assert_ok(vly_genome_parse(all, strlen(all), "t", NULL, 0, &genome, &error),
              error);
    vly_free(text);
    vly_free(all);
    return genome;
}

static void row_of(const char *name, char *row, size_t size)
{
    char json[512];
    char path[512];
    imported from;
    trace t = {0};
    trace other = {0};
    uint64_t n_synapses = 0;
    vly_connectome *connectome = NULL;
    snprintf(json, sizeof json, FOLDER "%s.json", name);
    snprintf(path, sizeof path, "%s/feagi_%ld.connectome", VLY_TEST_BINARY_DIR,
             (long)getpid());
    import(json, &from);
    vly_genome *genome = with_input(&from);
    assert_ok(vly_connectome_build(genome, 2, &connectome, &error), error);
    for (uint32_t i = 0; i < connectome->desc.n_projections; i++)
        n_synapses += connectome->projections[i].n_synapses;
    assert_int_equal(trace_engine(connectome, NULL, registry, "cpu:1", BURSTS,
                                  NULL, 0, &t, &error),
                     0);
    assert_int_equal(trace_engine(connectome, NULL, registry, "cpu:3", BURSTS,
                                  "cpu:2", 7, &other, &error),
                     0);
    assert_true(trace_equal(&t, "cpu:1", &other, "cpu:3, cpu:2"));
    trace_free(&other);
    assert_ok(vly_connectome_save(connectome, path, &error), error);
    int second = trace_second(path, BURSTS, &other);
    unlink(path);
    assert_int_equal(second, 0);
    assert_true(trace_equal(&t, "cpu:1", &other, "the second simulator"));
    snprintf(
        row, size,
        "%s,%u,%u,%u,%" PRIu64 ",%u,%d,%" PRIu64 ",%016" PRIx64 ",%016" PRIx64,
        name, genome->n_areas, genome->n_neurons, from.genome.n_maps,
        n_synapses, feagi_report_count(&from.genome.report, FEAGI_LEFT_OUT),
        BURSTS, t.spikes, t.digest, t.state_digest);
    trace_free(&t);
    trace_free(&other);
    vly_connectome_destroy(connectome);
    vly_genome_destroy(genome);
    imported_free(&from);
}

static void rows(void **state)
{
    (void)state;
    size_t n = 0;
    char *golden = read_all(FOLDER "golden.csv", &n);
    for (int i = 0; i < N_SAMPLES; i++) {
        char row[512];
        row_of(samples[i], row, sizeof row);
        if (fill)
            printf("%s\n", row);
        else if (!strstr(golden, row))
            fail_msg("golden.csv lacks: %s", row);
    }
    vly_free(golden);
}

/* ---- where spikes go ---------------------------------------------------- */

/* Every neuron of one area is kicked once; the areas that fire. */
static void fire_from(const imported *from, const char *area, bool *fired)
{
    vly_genome *genome = NULL;
    vly_connectome *connectome = NULL;
    vly_net *net = NULL;
    char *text = vly_format("%s\n[[stimulus]]\nkind = \"pulse\"\nto = \"%s\"\n"
                            "weight = 20\n",
                            from->toml, area);
    assert_non_null(text);
    assert_ok(
        vly_genome_parse(text, strlen(text), "t", NULL, 0, &genome, &error),
        error);
    assert_ok(vly_connectome_build(genome, 2, &connectome, &error), error);
    assert_ok(vly_net_create(connectome, registry, "cpu:2", 0, &net, &error),
              error);
    vly_net_count_areas(net, 1);
    assert_ok(vly_net_run(net, REACH_BURSTS, &error), error);
    for (uint32_t i = 0; i < genome->n_areas; i++) {
        vly_area_stats stats = {.struct_size = sizeof stats};
        assert_int_equal(vly_net_area_stats(net, i, &stats), VLY_OK);
        fired[i] = stats.spikes > 0;
    }
    vly_net_destroy(net);
    vly_connectome_destroy(connectome);
    vly_genome_destroy(genome);
    vly_free(text);
}

/* In the essential genome no threshold stops a spike: exactly the neurons that
 * the graph reaches fire. */
static void propagation(void **state)
{
    (void)state;
    imported from;
    feagi_graph graph;
    uint32_t n_sensors = 0;
    uint32_t n_motors = 0;
    import(FOLDER "essential_2_1.json", &from);
    assert_int_equal(feagi_graph_read(FOLDER "essential_2_1.json", &graph), 0);
    assert_int_equal(graph.n_areas, from.genome.n_areas);
    for (uint32_t a = 0; a < graph.n_areas; a++) {
        bool reached[FEAGI_GRAPH_AREAS] = {false};
        bool fired[FEAGI_GRAPH_AREAS] = {false};
        if (graph.areas[a][0] != 'i')
            continue;
        n_sensors++;
        feagi_graph_reach(&graph, a, reached);
        feagi_graph_reach(&graph, feagi_graph_area(&graph, "_power"), reached);
        fire_from(&from, graph.areas[a], fired);
        for (uint32_t b = 0; b < graph.n_areas; b++) {
            uint32_t here = feagi_area_find(&from.genome, graph.areas[b]);
            assert_true(here < from.genome.n_areas);
            if (fired[here] != reached[b])
                fail_msg("%s %s when %s is kicked, its mappings %s it",
                         graph.areas[b], fired[here] ? "fires" : "is silent",
                         graph.areas[a], reached[b] ? "reach" : "do not reach");
            n_motors += reached[b] && graph.areas[b][0] == 'o';
        }
    }
    assert_int_equal(n_sensors, 9);
    assert_int_equal(n_motors, 2); /* left and right edge turn the wheels */
    imported_free(&from);
}

static int prepare(void **state)
{
    (void)state;
    return vly_registry_create(&registry, &error) != VLY_OK;
}

static int clean(void **state)
{
    (void)state;
    vly_registry_destroy(registry);
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts),
        cmocka_unit_test(rows),
        cmocka_unit_test(propagation),
    };
    fill = argc > 1 && strcmp(argv[1], "fill") == 0;
    return cmocka_run_group_tests(tests, prepare, clean) ? 1 : 0;
}
