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
    refused(MAP, "/edges/A_to_B/0/syn_weight: no such data");
    edges.weight = weight;
    refused(MAP "population = \"x\"\n", "/edges/x/: no such population");
    edges.second = 1;
    refused(MAP, "/edges: 2 populations, wanted one, or population = \"NAME\" "
                 "in the map");
    refused(MAP "population = \"A_to_B\"\n",
            "/edges/A_to_B/1: a second edge group, wanted one");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup(same_as_text, reset),
    cmocka_unit_test_setup(the_map_counts, reset),
    cmocka_unit_test_setup(edges_refused, reset),
    cmocka_unit_test_setup(files_refused, reset),
};
VLY_TEST_MAIN(tests)
