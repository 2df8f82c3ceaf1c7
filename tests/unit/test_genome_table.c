/* SPDX-License-Identifier: Apache-2.0
 * Tables in place of files: the same genome as from a file, every type of
 * column, what is refused; and synapses read back from the connectome.
 */
#include "test_genome_text.h"

#include <math.h>

#include "connectome/connectome.h"

#define HEAD                                                                   \
    "format = 1\n[run]\ndt_ms = 0.1\n[area.A]\nmodel = \"lif_psc_delta\"\n"    \
    "neurons = 3\n[area.B]\nmodel = \"lif_psc_delta\"\nneurons = 4\n"
#define MAP                                                                    \
    HEAD "[[map]]\nid = \"m\"\nfrom = \"A\"\nto = \"B\"\nrule = \"file\"\n"    \
         "file = \"edges\"\n"
#define PARAM                                                                  \
    "format = 1\n[area.A]\nmodel = \"lif_psc_delta\"\nneurons = 3\n"           \
    "tau_m_ms = { file = \"p\", column = \"tau\" }\n"

#define N_EDGES 4
static const uint32_t sources[N_EDGES] = {2, 0, 2, 0};
static const int64_t targets[N_EDGES] = {2, 3, 0, 1};
static const double weights[N_EDGES] = {4, -2, 0.25, 1.5};
static const double delays[N_EDGES] = {2.0, 1, .1, 0.5};

typedef struct given {
    vly_table_column columns[4];
    vly_table table;
} given;

static void give(given *g)
{
    *g = (given){.columns = {{"target", targets, VLY_COLUMN_I64, 0},
                             {"source", sources, VLY_COLUMN_U32, 0},
                             {"delay_ms", delays, VLY_COLUMN_F64, 0},
                             {"weight_mv", weights, VLY_COLUMN_F64, 0}},
                 .table = {.name = "edges", .n_rows = N_EDGES, .n_columns = 4}};
    g->table.columns = g->columns;
}

static vly_status load(const char *text, const vly_table *tables, uint32_t n,
                       vly_genome **genome, vly_error *error)
{
    const vly_genome_source source = {.struct_size = sizeof source,
                                      .name = "t",
                                      .text = text,
                                      .n_bytes = strlen(text),
                                      .tables = tables,
                                      .n_tables = n};
    return vly_genome_read(&source, genome, error);
}

static vly_genome *loaded(const char *text, const vly_table *table)
{
    vly_error error = VLY_ERROR_INIT;
    vly_genome *genome = NULL;
    assert_ok(load(text, table, 1, &genome, &error), error);
    return genome;
}

static void refused(const char *text, const vly_table *tables, uint32_t n,
                    vly_status wanted, const char *message)
{
    vly_error error = VLY_ERROR_INIT;
    vly_genome *genome = NULL;
    uint64_t before = vly_memory_live();
    assert_int_equal(load(text, tables, n, &genome, &error), wanted);
    assert_null(genome);
    assert_string_equal(error.message, message);
    assert_true(vly_memory_live() == before);
}

static void same_as_a_file(void **state)
{
    (void)state;
    given g;
    char path[1024], quoted[1040];
    vly_error error = VLY_ERROR_INIT;
    vly_genome *other = NULL;
    snprintf(path, sizeof path, "%s/table_edges.csv", VLY_TEST_BINARY_DIR);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("source,target,weight,delay\n2,2,4,2\n0,3,-2,1\n2,0,0.25,.1\n"
          "0,1,1.5,0.5\n",
          file);
    fclose(file);
    give(&g);
    vly_genome *genome = loaded(MAP, &g.table);
    snprintf(quoted, sizeof quoted, "\"%s\"", path);
    const vly_override at = {"map.m.file", quoted};
    assert_ok(vly_genome_parse(MAP, strlen(MAP), "t", &at, 1, &other, &error),
              error);
    assert_int_equal(genome->pairs[0].edges->n, N_EDGES);
    assert_memory_equal(&genome->hash, &other->hash, sizeof genome->hash);
    assert_non_null(strstr(genome->resolved, "file = \"edges\""));
    assert_int_equal(genome->n_inputs, 0);
    vly_genome_destroy(other);
    vly_genome_destroy(genome);
}

static void every_type(void **state)
{
    (void)state;
    given g;
    static const float f32[] = {2, 0, 2, 0};
    static const int32_t i32[] = {2, 0, 2, 0};
    static const uint64_t u64[] = {2, 0, 2, 0};
    static const float weak[] = {4, -2, 0.25F, 1.5F};
    static const double f64[] = {2, 0, 2, 0};
    const vly_table_column columns[] = {{"source", f32, VLY_COLUMN_F32, 0},
                                        {"source", i32, VLY_COLUMN_I32, 0},
                                        {"source", u64, VLY_COLUMN_U64, 0},
                                        {"source", f64, VLY_COLUMN_F64, 0}};
    give(&g);
    vly_genome *genome = loaded(MAP, &g.table);
    g.columns[3] = (vly_table_column){"weight", weak, VLY_COLUMN_F32, 0};
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++) {
        g.columns[1] = columns[i];
        vly_genome *other = loaded(MAP, &g.table);
        assert_memory_equal(&genome->hash, &other->hash, sizeof genome->hash);
        vly_genome_destroy(other);
    }
    vly_genome_destroy(genome);
}

/* Rows in order are taken over without a sort. */
static void rows_in_order(void **state)
{
    (void)state;
    given g;
    static const uint32_t from[] = {0, 0, 2, 2};
    static const int64_t to[] = {1, 3, 0, 2};
    static const int64_t twins[] = {1, 3, 2, 2};
    static const double weight[] = {1.5, -2, 0.25, 4};
    static const double delay[] = {0.5, 1, .1, 2.0};
    give(&g);
    vly_genome *genome = loaded(MAP, &g.table);
    g.columns[0].data = to;
    g.columns[1].data = from;
    g.columns[2].data = delay;
    g.columns[3].data = weight;
    vly_genome *other = loaded(MAP, &g.table);
    assert_memory_equal(&genome->hash, &other->hash, sizeof genome->hash);
    vly_genome_destroy(other);
    vly_genome_destroy(genome);
    g.columns[0].data = twins;
    refused(MAP, &g.table, 1, VLY_E_PARSE,
            "t:15:8: edges: row 3 (from 0): the second synapse from this "
            "source to this target, wanted one, or multiple = true in the map");
}

static void columns_refused(void **state)
{
    (void)state;
    given g;
    static const int64_t far[] = {2, 4, 0, 1};
    static const int64_t below[] = {2, -1, 0, 1};
    static const double half[] = {2, 3, 0.5, 1};
    static const double nan[] = {4, -2, 0.25, NAN};
    static const double late[] = {2.0, 1, .1, 1e9};
    static const double zero[] = {2.0, 0, .1, 1};
    static const int64_t huge[] = {4, 3, INT64_MAX, 0};
    const struct {
        uint32_t field;
        vly_table_column column;
        const char *message;
    } cases[] = {
        {0,
         {"target", far, VLY_COLUMN_I64, 0},
         "row 1 (from 0) of column target: target is 4, wanted 0 to 3"},
        {0,
         {"target", below, VLY_COLUMN_I64, 0},
         "row 1 (from 0) of column target: target is -1, wanted 0 to 3"},
        {0,
         {"target", half, VLY_COLUMN_F64, 0},
         "row 2 (from 0) of column target: target is 0.5, wanted 0 to 3"},
        {3,
         {"weight_mv", nan, VLY_COLUMN_F64, 0},
         "row 3 (from 0) of column weight_mv: not a finite number, wanted one"},
        {3,
         {"weight", huge, VLY_COLUMN_I64, 0},
         "row 2 (from 0) of column weight: a whole number beyond 2^53, wanted "
         "a smaller one"},
        {2,
         {"delay", late, VLY_COLUMN_F64, 0},
         "row 3 (from 0) of column delay: delay is 1000000000 ms, wanted 1 to "
         "65535 bursts of 0.1 ms"},
        {2,
         {"delay_ms", zero, VLY_COLUMN_F64, 0},
         "row 1 (from 0) of column delay_ms: delay is 0 ms, wanted 1 to 65535 "
         "bursts of 0.1 ms"},
        {3,
         {"weight_pa", weights, VLY_COLUMN_F64, 0},
         "weight_pa: lif_psc_delta takes weight_mv"},
        {3,
         {"source", sources, VLY_COLUMN_U32, 0},
         "column source beside source, wanted one"},
        {3,
         {"wait", weights, VLY_COLUMN_F64, 0},
         "column wait, wanted source, target, weight and delay"},
        {3,
         {"delay", delays, VLY_COLUMN_F64, 0},
         "column delay beside delay_ms, wanted one"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char message[300];
        give(&g);
        g.columns[cases[i].field] = cases[i].column;
        snprintf(message, sizeof message, "t:15:8: edges: %s",
                 cases[i].message);
        refused(MAP, &g.table, 1, VLY_E_PARSE, message);
    }
    give(&g);
    static const uint32_t twice[] = {0, 0, 0, 0};
    static const int64_t twins[] = {2, 3, 2, 1};
    g.columns[0].data = twins;
    g.columns[1].data = twice;
    refused(MAP, &g.table, 1, VLY_E_PARSE,
            "t:15:8: edges: row 2 (from 0): the second synapse from this "
            "source to this target, wanted one, or multiple = true in the map");
    give(&g);
    g.table.n_columns = 3; /* no weight */
    refused(MAP, &g.table, 1, VLY_E_PARSE,
            "t:15:8: edges: no column weight and no weight in the map, wanted "
            "one of them");
    give(&g);
    g.table.n_rows = 0;
    refused(MAP, &g.table, 1, VLY_E_PARSE,
            "t:15:8: edges has no synapse, wanted one at least");
    give(&g);
    refused(MAP "population = \"x\"\n", &g.table, 1, VLY_E_PARSE,
            "t:15:8: edges is a table of arrays, wanted no population");
}

static void lists_refused(void **state)
{
    (void)state;
    given g;
    vly_error error = VLY_ERROR_INIT;
    vly_genome *genome = NULL;
    give(&g);
    refused(HEAD, &g.table, 1, VLY_E_INVALID,
            "table edges is given and nothing in t names it, wanted file = "
            "\"edges\" in a map of rule file, a parameter or a stimulus");
    const vly_table two[] = {g.table, g.table};
    refused(MAP, two, 2, VLY_E_INVALID,
            "table edges is given twice, wanted once");
    refused(MAP, NULL, 1, VLY_E_INVALID, "tables is NULL, wanted 1");
    g.columns[2].type = 7;
    refused(MAP, &g.table, 1, VLY_E_INVALID,
            "table edges: column delay_ms has type 7, wanted 1 to 6");
    give(&g);
    g.columns[2].data = NULL;
    refused(MAP, &g.table, 1, VLY_E_INVALID,
            "table edges: column delay_ms is NULL, wanted 4 values");
    g.columns[2].name = "";
    refused(MAP, &g.table, 1, VLY_E_INVALID,
            "table edges: column 2 has no name");
    g.table.n_columns = 0;
    refused(MAP, &g.table, 1, VLY_E_INVALID,
            "table edges has 0 columns, wanted 1 to 64");
    g.table.name = NULL;
    refused(MAP, &g.table, 1, VLY_E_INVALID,
            "a table has no name, wanted that of a file in the genome");
    const vly_genome_source small = {.name = "t"};
    assert_int_equal(vly_genome_read(&small, &genome, &error), VLY_E_INVALID);
    assert_int_equal(vly_genome_read(NULL, &genome, &error), VLY_E_INVALID);
    const vly_genome_source absent = {.struct_size = sizeof absent,
                                      .name = "no/such.toml"};
    assert_int_equal(vly_genome_read(&absent, &genome, &error), VLY_E_IO);
}

static void values_of_a_parameter(void **state)
{
    (void)state;
    static const float tau[] = {5, 6.5F, 8};
    static const double wrong[] = {5, -1, 8};
    vly_table_column column = {"tau", tau, VLY_COLUMN_F32, 0};
    vly_table table = {
        .name = "p", .columns = &column, .n_rows = 3, .n_columns = 1};
    const char listed[] = "format = 1\n[area.A]\nmodel = \"lif_psc_delta\"\n"
                          "neurons = 3\ntau_m_ms = [5, 6.5, 8]\n";
    vly_genome *genome = loaded(PARAM, &table);
    vly_genome *other = genome_of(listed);
    assert_memory_equal(&genome->hash, &other->hash, sizeof genome->hash);
    vly_genome_destroy(other);
    vly_genome_destroy(genome);
    table.n_rows = 2;
    refused(PARAM, &table, 1, VLY_E_PARSE,
            "t:5:21: p has 2 rows, wanted 3, one a neuron");
    table.n_rows = 3;
    column = (vly_table_column){"tau", wrong, VLY_COLUMN_F64, 0};
    refused(PARAM, &table, 1, VLY_E_PARSE,
            "t:5:21: p: row 1 (from 0) of column tau: tau_m_ms is -1, wanted "
            "0.001 to 1000000");
    column.name = "other";
    refused(PARAM, &table, 1, VLY_E_PARSE,
            "t:5:21: p: no column tau, wanted it, or column = \"NAME\" in the "
            "genome");
}

static void rounded_delays_are_noted(void **state)
{
    (void)state;
    given g;
    static const double off[] = {2.0, 1, .14, 0.5};
    give(&g);
    g.columns[2].data = off;
    vly_genome *genome = loaded(MAP, &g.table);
    assert_string_equal(vly_genome_note(genome, 0),
                        "t:15:8: edges: 1 of 4 delays are no whole number of "
                        "bursts of dt_ms = 0.1 and were rounded");
    assert_null(vly_genome_note(genome, 1));
    assert_int_equal(vly_genome_note_count(genome), 1);
    vly_genome_destroy(genome);
}

static void read_back(void **state)
{
    (void)state;
    given g;
    vly_error error = VLY_ERROR_INIT;
    vly_connectome *c = NULL;
    vly_projection_info info = {.struct_size = sizeof info};
    uint32_t from[N_EDGES], to[N_EDGES], wait[N_EDGES];
    double weight[N_EDGES];
    static const uint32_t from_want[] = {0, 0, 2, 2}, to_want[] = {1, 3, 0, 2},
                          wait_want[] = {5, 10, 1, 20};
    static const double weight_want[] = {1.5, -2, 0.25, 4};
    give(&g);
    vly_genome *genome = loaded(MAP, &g.table);
    assert_ok(vly_connectome_build(genome, 1, &c, &error), error);
    vly_genome_destroy(genome);
    assert_int_equal(vly_connectome_projection_count(c), 1);
    assert_ok(vly_connectome_projection_info(c, 0, &info, &error), error);
    assert_int_equal(info.n_synapses, N_EDGES);
    assert_string_equal(info.map, "m");
    assert_string_equal(info.unit_name, "mV");
    assert_int_equal(info.target_area, 1);
    assert_int_equal(info.delay_min, 1);
    assert_int_equal(info.delay_max, 20);
    assert_true(info.weight_min == -2 && info.weight_max == 4);
    assert_true(info.worst_rounding == 0);
    assert_ok(vly_connectome_synapses(c, 0, 0, N_EDGES, from, to, weight, wait,
                                      &error),
              error);
    assert_memory_equal(from, from_want, sizeof from);
    assert_memory_equal(to, to_want, sizeof to);
    assert_memory_equal(wait, wait_want, sizeof wait);
    assert_memory_equal(weight, weight_want, sizeof weight);
    for (uint32_t i = 0; i < N_EDGES; i++) { /* one at a time, in any row */
        assert_ok(
            vly_connectome_synapses(c, 0, i, 1, from, to, NULL, NULL, &error),
            error);
        assert_int_equal(from[0], from_want[i]);
        assert_int_equal(to[0], to_want[i]);
    }
    assert_ok(vly_connectome_synapses(c, 0, N_EDGES, 0, from, to, weight, wait,
                                      &error),
              error);
    assert_int_equal(vly_connectome_synapses(c, 0, 1, N_EDGES, from, to, weight,
                                             wait, &error),
                     VLY_E_INVALID);
    assert_int_equal(
        vly_connectome_synapses(c, 1, 0, 0, from, to, weight, wait, &error),
        VLY_E_INVALID);
    info.struct_size = 0;
    assert_int_equal(vly_connectome_projection_info(c, 0, &info, &error),
                     VLY_E_INVALID);
    vly_connectome_destroy(c);
}

/* Every allocation of reading may fail. */
static void memory_fails(void **state)
{
    (void)state;
    given g;
    give(&g);
    uint64_t before = vly_memory_live();
    vly_status status = VLY_E_NOMEM;
    for (uint64_t n = 1; status == VLY_E_NOMEM; n++) {
        vly_genome *genome = NULL;
        vly_error error = VLY_ERROR_INIT;
        vly_memory_fail_at(n);
        status = load(MAP, &g.table, 1, &genome, &error);
        vly_memory_fail_at(0);
        vly_genome_destroy(genome);
        assert_true(vly_memory_live() == before);
        assert_true(n < 10000);
    }
    assert_int_equal(status, VLY_OK);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(same_as_a_file),
    cmocka_unit_test(every_type),
    cmocka_unit_test(rows_in_order),
    cmocka_unit_test(columns_refused),
    cmocka_unit_test(lists_refused),
    cmocka_unit_test(values_of_a_parameter),
    cmocka_unit_test(rounded_delays_are_noted),
    cmocka_unit_test(read_back),
    cmocka_unit_test(memory_fails),
};
VLY_TEST_MAIN(tests)
