/* SPDX-License-Identifier: Apache-2.0
 * SONATA edges: the same genome as the same synapses in comma-separated text;
 * what is refused.
 */
#include "test_genome_text.h"

#include <math.h>
#include <sys/stat.h>

#include "sonata_writer.h"

#define FOLDER VLY_TEST_BINARY_DIR "/genome_sonata"
#define MAP                                                                    \
    "format = 1\n[run]\ndt_ms = 0.1\n[area.A]\nmodel = \"lif_psc_delta\"\n"    \
    "neurons = 3\n[area.B]\nmodel = \"lif_psc_delta\"\nneurons = 4\n"          \
    "[[map]]\nfrom = \"A\"\nto = \"B\"\nrule = \"file\"\nfile = \"e.h5\"\n"

static int64_t source[4];
static int64_t target[4];
static int64_t order[4];
static double weight[4];
static double delay[4];
static sonata_edges edges;

static int reset(void **state)
{
    (void)state;
    static const int64_t sources[] = {2, 0, 2, 0};
    static const int64_t targets[] = {2, 3, 0, 1};
    static const double weights[] = {4, -2, 0.25, 1.5};
    static const double delays[] = {2, 1, 0.1, 0.5};
    mkdir(FOLDER, 0777);
    for (int i = 0; i < 4; i++) {
        source[i] = sources[i];
        target[i] = targets[i];
        order[i] = i;
        weight[i] = weights[i];
        delay[i] = delays[i];
    }
    edges = (sonata_edges){.population = "A_to_B",
                           .source = source,
                           .target = target,
                           .order = order,
                           .weight = weight,
                           .delay = delay,
                           .n = 4,
                           .n_source = 4};
    return 0;
}

static vly_status load(const char *text, vly_genome **genome, vly_error *error)
{
    return vly_genome_parse(text, strlen(text), FOLDER "/t.toml", NULL, 0,
                            genome, error);
}

static void refused(const char *text, const char *message)
{
    char wanted[1024];
    vly_error error = VLY_ERROR_INIT;
    vly_genome *genome = NULL;
    uint64_t before = vly_memory_live();
    assert_true(sonata_write(FOLDER "/e.h5", &edges));
    snprintf(wanted, sizeof(wanted), FOLDER "/t.toml:14:8: e.h5: %s", message);
    assert_int_equal(load(text, &genome, &error), VLY_E_PARSE);
    assert_string_equal(error.message, wanted);
    assert_true(vly_memory_live() == before);
}

static vly_hash hash_of(const char *text)
{
    vly_error error = VLY_ERROR_INIT;
    vly_genome *genome = NULL;
    assert_ok(load(text, &genome, &error), error);
    vly_hash hash = genome->hash;
    vly_genome_destroy(genome);
    return hash;
}

static void same_as_text(void **state)
{
    (void)state;
    FILE *file = fopen(FOLDER "/e.csv", "w");
    assert_non_null(file);
    fprintf(file, "source,target,weight,delay\n2,2,4,2\n0,3,-2,1\n"
                  "2,0,0.25,0.1\n0,1,1.5,0.5\n");
    fclose(file);
    assert_true(sonata_write(FOLDER "/e.h5", &edges));
    vly_hash sonata = hash_of(MAP);
    vly_hash named = hash_of(MAP "population = \"A_to_B\"\n");
    vly_hash text = hash_of(
        "format = 1\n[run]\ndt_ms = 0.1\n[area.A]\nmodel = \"lif_psc_delta\"\n"
        "neurons = 3\n[area.B]\nmodel = \"lif_psc_delta\"\nneurons = 4\n"
        "[[map]]\nfrom = \"A\"\nto = \"B\"\nrule = \"file\"\n"
        "file = \"e.csv\"\n");
    assert_memory_equal(&sonata, &text, sizeof(text));
    assert_memory_equal(&sonata, &named, sizeof(text));
}

/* The map's weight and delay count where it gives them. */
static void the_map_counts(void **state)
{
    (void)state;
    vly_error error = VLY_ERROR_INIT;
    vly_genome *genome = NULL;
    assert_true(sonata_write(FOLDER "/e.h5", &edges));
    assert_ok(load(MAP "weight_mv = 3\ndelay_ms = 2\n", &genome, &error),
              error);
    assert_null(genome->pairs[0].edges->weight);
    assert_null(genome->pairs[0].edges->delay);
    vly_genome_destroy(genome);
}

static void edges_refused(void **state)
{
    (void)state;
    source[2] = -1;
    refused(MAP, "/edges/A_to_B/source_node_id[2]: is -1, wanted a whole "
                 "number from 0 to 2");
    source[2] = 3;
    refused(MAP, "/edges/A_to_B/source_node_id[2]: is 3, wanted a whole number "
                 "from 0 to 2");
    source[2] = 2;
    target[3] = INT64_MAX;
    refused(MAP, "/edges/A_to_B/target_node_id[3]: is 9223372036854775807, "
                 "wanted a whole number from 0 to 3");
    target[3] = 3;
    refused(MAP, "/edges/A_to_B/target_node_id[3]: the second synapse from its "
                 "source to this target, wanted one, or multiple = true in the "
                 "map");
    target[3] = 1;
    weight[1] = (double)NAN;
    refused(MAP, "/edges/A_to_B/0/syn_weight[1]: is not finite, wanted a "
                 "finite number");
    weight[1] = 1;
    delay[0] = 0;
    refused(MAP, "/edges/A_to_B/0/delay[0]: delay is 0 ms, wanted 1 to 65535 "
                 "bursts of 0.1 ms");
    delay[0] = 1;
    order[2] = 3;
    refused(MAP, "/edges/A_to_B/edge_group_index: not 0, 1, 2 and so on, "
                 "wanted that order");
}

static void files_refused(void **state)
{
    (void)state;
    edges.n_source = 3;
    refused(MAP, "/edges/A_to_B/target_node_id: another length than "
                 "source_node_id, wanted the same");
    edges.n_source = 4;
    edges.weight = NULL;
    refused(MAP, "/edges/A_to_B/0/syn_weight: no such data, wanted it, or in "
                 "the map a weight or edge_types_file with syn_weight");
    edges.weight = weight;
    refused(MAP "population = \"x\"\n", "/edges/x/: no such population");
    edges.second = 1;
    refused(MAP, "/edges: 2 populations, wanted one, or population = \"NAME\" "
                 "in the map");
    refused(MAP "population = \"A_to_B\"\n",
            "/edges/A_to_B/1: a second edge group, wanted one");
}

/* ---- nsyns, edge types, what is not taken over -------------------------- */

static void put_types(const char *text)
{
    FILE *file = fopen(FOLDER "/types.csv", "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static vly_genome *loaded(const char *text)
{
    vly_error error = VLY_ERROR_INIT;
    vly_genome *genome = NULL;
    assert_true(sonata_write(FOLDER "/e.h5", &edges));
    assert_ok(load(text, &genome, &error), error);
    return genome;
}

/* Synapses as "source target weight delay; ..." */
static void assert_edges(const char *text, const char *wanted)
{
    char found[600] = "";
    vly_genome *genome = loaded(text);
    const vly_edge_list *list = genome->pairs[0].edges;
    for (uint64_t i = 0; i < list->n; i++)
        snprintf(found + strlen(found), sizeof(found) - strlen(found),
                 "%u %u %g %u;", list->source[i], list->target[i],
                 list->weight ? list->weight[i] : 0,
                 list->delay ? list->delay[i] : 0);
    vly_genome_destroy(genome);
    assert_string_equal(found, wanted);
}

static void assert_notes(const char *text, const char *const *wanted)
{
    vly_genome *genome = loaded(text);
    uint32_t n = 0;
    for (; wanted[n]; n++) {
        if (n == genome->n_notes)
            fail_msg("no note, wanted \"%s\"", wanted[n]);
        if (!strstr(genome->notes[n], wanted[n]))
            fail_msg("\"%s\" lacks \"%s\"", genome->notes[n], wanted[n]);
    }
    assert_int_equal(genome->n_notes, n);
    vly_genome_destroy(genome);
}

#define TYPES MAP "edge_types_file = \"types.csv\"\n"
#define MANY TYPES "multiple = true\n"

static void parallel_synapses(void **state)
{
    (void)state;
    static const int64_t nsyns[] = {3, 1, 0, 2};
    edges.nsyns = nsyns;
    assert_edges(MAP "multiple = true\n",
                 "0 1 1.5 5;0 1 1.5 5;0 3 -2 10;2 2 4 20;2 2 4 20;2 2 4 20;");
    refused(MAP, "/edges/A_to_B/0/nsyns[0]: nsyns is 3, as many synapses from "
                 "a source to a target, wanted one, or multiple = true in the "
                 "map");
}

static void types_of_edges(void **state)
{
    (void)state;
    static const int64_t ids[] = {7, 9, 7, 100};
    edges.types = ids;
    edges.weight = edges.delay = NULL;
    put_types("edge_type_id target_query syn_weight delay nsyns\n"
              "100 \"pop_name=='B c'\" 1.25 0.5 2\n"
              "7 NULL 3 2 NULL\n"
              "9 NULL -4 1 1\n");
    assert_edges(MANY, "0 1 1.25 5;0 1 1.25 5;0 3 -4 10;2 0 3 20;2 2 3 20;");
    vly_genome *genome = loaded(MANY); /* its resolved text names the types */
    vly_hash again = hash_of(genome->resolved);
    assert_memory_equal(&again, &genome->hash, sizeof(again));
    vly_genome_destroy(genome);
    edges.weight = weight; /* an edge's own value comes before its type's */
    assert_edges(MANY, "0 1 1.5 5;0 1 1.5 5;0 3 -2 10;2 0 0.25 20;2 2 4 20;");
    edges.delay = delay;
    assert_edges(MANY "weight_mv = 1\n",
                 "0 1 0 5;0 1 0 5;0 3 0 10;2 0 0 1;2 2 0 20;");
    assert_edges(MAP "weight_mv = 1\n", "0 1 0 5;0 3 0 10;2 0 0 1;2 2 0 20;");
}

static void types_refused(void **state)
{
    (void)state;
    static const int64_t ids[] = {7, 9, 7, 7};
    vly_error error = VLY_ERROR_INIT;
    vly_genome *genome = NULL;
    edges.types = ids;
    edges.delay = NULL;
    put_types("edge_type_id delay\n7 2\n");
    refused(TYPES, "/edges/A_to_B/edge_type_id[1]: is 9, a type that is not in "
                   "types.csv");
    put_types("edge_type_id delay\n7 2\n9 NULL\n");
    refused(TYPES, "/edges/A_to_B/edge_type_id[1]: is 9, a type that has in "
                   "types.csv no delay");
    put_types("edge_type_id delay\n7 2\n9 0\n");
    refused(TYPES, "/edges/A_to_B/edge_type_id[1]: delay is 0 ms, wanted 1 to "
                   "65535 bursts of 0.1 ms");
    put_types("edge_type_id delay nsyns\n7 2 1\n9 1 2.5\n");
    refused(TYPES, "/edges/A_to_B/edge_type_id[1]: nsyns is 2.5, wanted a "
                   "whole number from 0 to 65535");
    edges.types = NULL;
    refused(TYPES, "/edges/A_to_B/edge_type_id: no such data");
    edges.types = ids;
    static const char *const wrong[][2] = {
        {"edge_type_id,delay\n7,2\n",
         ":15:19: types.csv:1:1: no column edge_type_id, wanted SONATA's edge "
         "types: columns that blanks part"},
        {"edge_type_id delay\n7 x\n",
         ":15:19: types.csv:2:3: delay is \"x\", wanted a number"},
        {"edge_type_id delay\n7.5 1\n",
         ":15:19: types.csv:2:1: edge_type_id is 7.5, wanted a whole number"},
        {"edge_type_id delay\n7 1\n7 1\n",
         ":15:19: types.csv: edge_type_id 7 stands twice, wanted each once"},
        {"edge_type_id delay target_query\n7 1 name=='B c'\n",
         ":15:19: types.csv:2:1: 4 fields, wanted 3 as in the header"},
        {"edge_type_id delay\n7\n",
         ":15:19: types.csv:2:1: 1 fields, wanted 2 as in the header"}};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        uint64_t before = vly_memory_live();
        put_types(wrong[i][0]);
        assert_int_equal(load(TYPES, &genome, &error), VLY_E_PARSE);
        if (!strstr(error.message, wrong[i][1]))
            fail_msg("\"%s\" lacks \"%s\"", error.message, wrong[i][1]);
        assert_true(vly_memory_live() == before);
    }
}

static void one_group_of_any_number(void **state)
{
    (void)state;
    static int64_t groups[] = {1, 1, 1, 1};
    edges.group = "1";
    edges.groups = groups;
    assert_edges(MAP, "0 1 1.5 5;0 3 -2 10;2 0 0.25 1;2 2 4 20;");
    groups[2] = 0;
    refused(MAP, "/edges/A_to_B/edge_group_id: names another edge group than "
                 "the one that is there, wanted one group");
    edges.groups = NULL;
    weight[1] = (double)NAN;
    refused(MAP, "/edges/A_to_B/1/syn_weight[1]: is not finite, wanted a "
                 "finite number");
}

static void what_is_left(void **state)
{
    (void)state;
    static const int64_t ids[] = {7, 7, 7, 7};
    static const char *const none[] = {NULL};
    static const char *const in_file[] = {
        "t.toml:14:8: e.h5: not taken over: notes, 0/dynamics_params, 0/sec_x",
        NULL};
    static const char *const in_types[] = {
        "t.toml:14:8: types.csv: not taken over: model_template", NULL};
    static const char *const no_delay[] = {
        "t.toml:14:8: e.h5 has no delay and the map has none: its synapses "
        "take one burst, 0.1 ms",
        NULL};
    assert_notes(MAP, none);
    edges.more = 1;
    assert_notes(MAP, in_file);
    edges.more = 0;
    edges.types = ids;
    assert_notes(MAP, none);
    put_types("edge_type_id model_template dynamics_params syn_weight\n"
              "7 static_synapse NULL 1\n");
    assert_notes(TYPES, in_types);
    edges.delay = NULL;
    assert_notes(MAP, no_delay);
    assert_notes(MAP "delay_ms = 1\n", none);
}

/* The n-th allocation fails: refused as such, and nothing is left. */
static void no_memory(void **state)
{
    (void)state;
    static const int64_t ids[] = {7, 7, 7, 7};
    vly_error error = VLY_ERROR_INIT;
    vly_status status;
    uint64_t n = 0;
    edges.types = ids;
    edges.more = 1;
    put_types("edge_type_id more nsyns\n7 1 2\n");
    assert_true(sonata_write(FOLDER "/e.h5", &edges));
    do {
        uint64_t before = vly_memory_live();
        vly_genome *genome = NULL;
        vly_memory_fail_at(++n);
        status = load(MANY, &genome, &error);
        vly_memory_fail_at(0);
        vly_genome_destroy(genome);
        assert_true(status == VLY_OK || status == VLY_E_NOMEM);
        assert_true(vly_memory_live() == before);
    } while (status != VLY_OK && n < 10000);
    assert_int_equal(status, VLY_OK);
    assert_true(n > 30);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup(same_as_text, reset),
    cmocka_unit_test_setup(the_map_counts, reset),
    cmocka_unit_test_setup(edges_refused, reset),
    cmocka_unit_test_setup(files_refused, reset),
    cmocka_unit_test_setup(parallel_synapses, reset),
    cmocka_unit_test_setup(types_of_edges, reset),
    cmocka_unit_test_setup(types_refused, reset),
    cmocka_unit_test_setup(one_group_of_any_number, reset),
    cmocka_unit_test_setup(what_is_left, reset),
    cmocka_unit_test_setup(no_memory, reset),
};
VLY_TEST_MAIN(tests)
