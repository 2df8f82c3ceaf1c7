/* SPDX-License-Identifier: Apache-2.0
 * Parts of areas and pools as ends of maps, stimuli and records: what a text
 * means, the keys of draws, the resolved text, files, included genomes, rule
 * distance.
 */
#include "test_genome_text.h"

#include "connectome/connectome.h"
#include "second_rules.h"

#define AREAS                                                                  \
    "format = 1\n[run]\ndt_ms = 0.1\n"                                         \
    "[area.E1]\nmodel = \"lif_psc_exp\"\nneurons = 10\n"                       \
    "[area.E2]\nmodel = \"lif_psc_exp\"\nneurons = 20\n"                       \
    "[area.I]\nmodel = \"lif_psc_exp\"\nneurons = 5\n"
#define DENSE "rule = \"all_to_all\"\nweight_pa = 1\n"

static vly_connectome *built(const vly_genome *genome)
{
    vly_error error = VLY_ERROR_INIT;
    vly_connectome *connectome = NULL;
    assert_ok(vly_connectome_build(genome, 1, &connectome, &error), error);
    assert_int_equal(second_rules_check(genome, connectome), 0);
    return connectome;
}

static void assert_resolves(const vly_genome *genome)
{
    vly_genome *again = genome_of(genome->resolved);
    assert_memory_equal(&again->hash, &genome->hash, sizeof genome->hash);
    vly_genome_destroy(again);
}

static void forms(void **state)
{
    (void)state;
    static const struct {
        const char *from, *name;
        uint32_t n_parts, n, first;
    } cases[] = {
        {"E1[2:7]", "E1[2:7]", 1, 5, 2},
        {" E1 [ 2 : 7 ] ", "E1[2:7]", 1, 5, 2},
        {"E1[7:]", "E1[7:10]", 1, 3, 7},
        {"E1[:3]", "E1[0:3]", 1, 3, 0},
        {"E1[9]", "E1[9:10]", 1, 1, 9},
        {"E1 + I", "E1+I", 2, 15, 0},
        {"E1[8:]+E2[0]+I[1:3]", "E1[8:10]+E2[0:1]+I[1:3]", 3, 5, 8},
        {"+E*", "E1+E2", 2, 30, 0},
        {"E*[:4] + I", "E1[0:4]+E2[0:4]+I", 3, 13, 0},
        {"E1[:3] + E1[5:]", "E1[0:3]+E1[5:10]", 2, 8, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[600];
        char stream[200];
        snprintf(text, sizeof text,
                 AREAS "[[map]]\nid = \"m\"\nfrom = \"%s\"\nto = \"I\"\n" DENSE,
                 cases[i].from);
        vly_genome *genome = genome_of(text);
        assert_int_equal(genome->n_pairs, cases[i].n_parts);
        const vly_pool *pool = genome->pairs[0].pool;
        assert_string_equal(pool->from.name, cases[i].name);
        assert_string_equal(pool->to.name, "I");
        snprintf(stream, sizeof stream, "m|%s|I", cases[i].name);
        assert_string_equal(pool->stream, stream);
        snprintf(stream, sizeof stream, "m|%s|I|0|0", cases[i].name);
        assert_string_equal(genome->pairs[0].stream, stream);
        assert_int_equal(pool->from.n_parts, cases[i].n_parts);
        assert_int_equal(pool->from.n_neurons, cases[i].n);
        assert_int_equal(pool->from.parts[0].first, cases[i].first);
        for (uint32_t p = 0; p < genome->n_pairs; p++) {
            assert_ptr_equal(genome->pairs[p].pool, pool);
            assert_int_equal(genome->pairs[p].from, pool->from.parts[p].area);
        }
        assert_resolves(genome);
        vly_connectome_destroy(built(genome));
        vly_genome_destroy(genome);
    }
}

/* The same draws as without the words. */
static void whole_areas(void **state)
{
    (void)state;
    vly_genome *plain =
        genome_of(AREAS "[[map]]\nfrom = [\"E1\", \"E2\"]\nto = \"I\"\n" DENSE);
    vly_genome *other = genome_of(AREAS "[[map]]\nfrom = [\"E1[0:10]\", "
                                        "\"+E2\"]\nto = \"I[:]\"\n" DENSE);
    assert_null(other->pairs[0].pool);
    assert_memory_equal(&plain->hash, &other->hash, sizeof plain->hash);
    vly_genome_destroy(plain);
    vly_genome_destroy(other);
}

static void matrices(void **state)
{
    (void)state;
    vly_genome *genome =
        genome_of(AREAS "[[map]]\nid = \"m\"\n"
                        "from = [\"E1[:4]\", \"E1[4:]\", \"E2 + I\"]\n"
                        "to = [\"I\", \"E1\"]\n"
                        "rule = \"fixed_in_degree\"\n"
                        "in_degree = [[1, 2, 3], [4, 5, 6]]\nweight_pa = 1\n"
                        "except = [{ from = \"E1\", to = \"I\", weight_pa = 7 "
                        "},\n{ from = \"E2+I\", to = \"E1\", weight_pa = 8 }]\n"
                        "[[map]]\nlink = [\"E1[:2] -> I\", \"E1[2:] -> I\"]\n"
                        "rule = \"pairwise_bernoulli\"\np = 0.5\n"
                        "weight_pa = 2\n");
    static const struct {
        uint32_t from, to, in_degree;
        double weight;
    } wanted[] = {{0, 2, 1, 7}, {0, 2, 2, 7}, {1, 2, 3, 1}, {2, 2, 3, 1},
                  {0, 0, 4, 1}, {0, 0, 5, 1}, {1, 0, 6, 8}, {2, 0, 6, 8}};
    assert_int_equal(genome->n_pairs, 10);
    for (uint32_t i = 0; i < 8; i++) {
        const vly_pair *pair = &genome->pairs[i];
        assert_int_equal(pair->from, wanted[i].from);
        assert_int_equal(pair->to, wanted[i].to);
        assert_int_equal(pair->in_degree, wanted[i].in_degree);
        assert_close(pair->weight.a, wanted[i].weight, 0);
    }
    assert_string_equal(genome->pairs[8].pool->stream, "|E1[0:2]|I|0");
    assert_string_equal(genome->pairs[9].pool->stream, "|E1[2:10]|I|0");
    assert_resolves(genome);
    vly_connectome_destroy(built(genome));
    vly_genome_destroy(genome);
}

static void stimuli_and_records(void **state)
{
    (void)state;
    vly_genome *genome = genome_of(
        AREAS "[[stimulus]]\nid = \"s\"\nkind = \"poisson\"\n"
              "to = [\"E1[2:4]\", \"I\", \"E1[6]\"]\nrate_hz = [1, 2, 3]\n"
              "weight_pa = 1\n"
              "[[stimulus]]\nkind = \"spikes\"\nto = \"E2[5:7]\"\n"
              "bursts = [[3], [4, 5]]\nweight_pa = 1\n"
              "[[record]]\nwhat = \"fields\"\nfrom = [\"E1[2:4]\", \"I\"]\n"
              "fields = \"v_mv\"\n");
    assert_int_equal(genome->n_stimuli, 4);
    assert_string_equal(genome->stimuli[0].stream, "s|E1[2:4]");
    assert_string_equal(genome->stimuli[2].stream, "s|E1[6:7]");
    assert_int_equal(genome->stimuli[0].first, 2);
    assert_int_equal(genome->stimuli[0].n_neurons, 2);
    assert_int_equal(genome->stimuli[1].n_neurons, 5);
    assert_close(genome->stimuli[2].rate_hz, 3, 0);
    assert_int_equal(genome->stimuli[3].first, 5);
    assert_int_equal(genome->stimuli[3].n_spikes, 3);
    assert_int_equal(genome->records[0].n_neurons, 2);
    assert_int_equal(genome->records[0].neurons[1], 3);
    assert_int_equal(genome->records[1].n_neurons, 0);
    assert_resolves(genome);
    vly_genome *again = genome_of(genome->resolved);
    assert_int_equal(again->n_records, 2);
    assert_int_equal(again->records[0].n_neurons, 2);
    assert_int_equal(again->records[1].n_neurons, 0);
    vly_genome_destroy(again);
    vly_connectome_destroy(built(genome));
    vly_genome_destroy(genome);
}

static void put_file(const char *name, const char *text)
{
    char path[600];
    snprintf(path, sizeof path, "%s/%s", VLY_TEST_BINARY_DIR, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static vly_genome *genome_at(const char *name, const char *text,
                             vly_error *error)
{
    char path[600];
    vly_genome *genome = NULL;
    snprintf(path, sizeof path, "%s/%s", VLY_TEST_BINARY_DIR, name);
    (void)vly_genome_parse(text, strlen(text), path, NULL, 0, &genome, error);
    return genome;
}

/* Ids count the neurons of the ends. */
static void files(void **state)
{
    (void)state;
    vly_error error = VLY_ERROR_INIT;
    put_file("parts_edges.csv", "source,target,weight_pa\n"
                                "0,0,1\n1,6,2\n2,6,3\n6,1,4\n");
    vly_genome *genome = genome_at(
        "parts.toml",
        AREAS "[[map]]\nid = \"m\"\nfrom = \"E1[8:]+I\"\nto = \"I + E1[3:]\"\n"
              "rule = \"file\"\nfile = \"parts_edges.csv\"\n",
        &error);
    assert_non_null(genome);
    /* E1 8 -> I 0; E1 9 -> E1 4; I 0 -> E1 4; I 4 -> I 1 */
    static const struct {
        uint32_t from, to, source, target;
        double weight;
    } wanted[] = {
        {0, 2, 8, 0, 1}, {2, 2, 4, 1, 4}, {0, 0, 9, 4, 2}, {2, 0, 0, 4, 3}};
    assert_int_equal(genome->n_pairs, 4);
    for (uint32_t i = 0; i < 4; i++) {
        const vly_pair *pair = &genome->pairs[i];
        assert_int_equal(pair->from, wanted[i].from);
        assert_int_equal(pair->to, wanted[i].to);
        assert_int_equal(pair->edges->n, 1);
        assert_int_equal(pair->edges->source[0], wanted[i].source);
        assert_int_equal(pair->edges->target[0], wanted[i].target);
        assert_close(pair->edges->weight[0], wanted[i].weight, 0);
    }
    assert_resolves(genome);
    vly_connectome_destroy(built(genome));
    vly_genome_destroy(genome);
    put_file("parts_self.csv", "source,target,weight_pa\n3,0,1\n");
    genome = genome_at("parts.toml",
                       AREAS "[[map]]\nfrom = \"I + E1[8:]\"\n"
                             "to = \"I[3:]\"\nrule = \"file\"\nself = false\n"
                             "file = \"parts_self.csv\"\n",
                       &error);
    assert_null(genome);
    assert_non_null(strstr(error.message,
                           "map:1: the file connects neuron 3 of area I to "
                           "itself, wanted no such synapse: self is false"));
}

static void included(void **state)
{
    (void)state;
    vly_error error = VLY_ERROR_INIT;
    put_file("parts_part.toml",
             AREAS "[[map]]\nid = \"m\"\nfrom = \"E*[:2] + I\"\n"
                   "to = [\"E*[1:]\", \"I[2]\"]\n" DENSE
                   "[[map]]\nlink = [\"E*[3] -> +E*\"]\n" DENSE
                   "[[stimulus]]\nkind = \"dc\"\nto = \"E*[:3]\"\n"
                   "amplitude_pa = 1\n");
    vly_genome *genome = genome_at(
        "parts_top.toml",
        "format = 1\n[run]\ndt_ms = 0.1\n"
        "[area.own]\nmodel = \"lif_psc_exp\"\nneurons = 9\n"
        "[use.A]\nfile = \"parts_part.toml\"\nareas = { I = \"own\" }\n",
        &error);
    assert_string_equal(genome ? "" : error.message, "");
    static const char *const froms[] = {"A/E1[0:2]+A/E2[0:2]+own", "A/E1[3:4]",
                                        "A/E2[3:4]"};
    assert_int_equal(genome->n_pairs, 9 + 4);
    assert_string_equal(genome->pairs[0].pool->from.name, froms[0]);
    assert_string_equal(genome->pairs[0].pool->to.name, "A/E1[1:10]");
    assert_string_equal(genome->pairs[3].pool->to.name, "A/E2[1:20]");
    assert_string_equal(genome->pairs[6].pool->to.name, "own[2:3]");
    assert_string_equal(genome->pairs[9].pool->from.name, froms[1]);
    assert_string_equal(genome->pairs[9].pool->to.name, "A/E1+A/E2");
    assert_string_equal(genome->pairs[11].pool->from.name, froms[2]);
    assert_int_equal(genome->n_stimuli, 2);
    assert_int_equal(genome->stimuli[1].n_neurons, 3);
    vly_connectome_destroy(built(genome));
    vly_genome_destroy(genome);
}

/* Two areas side by side are one space; weights and delays grow with the
 * distance between places of the areas, not of the pool. */
static void distance(void **state)
{
    (void)state;
    static const char *const draws[] = {
        "draw = \"pairwise_bernoulli\"\n",
        "draw = \"fixed_in_degree\"\ndegree = 2\nmultiple = false\n",
        "draw = \"fixed_out_degree\"\ndegree = 2\n"};
    for (int i = 0; i < 3; i++) {
        char text[1200];
        snprintf(text, sizeof text,
                 "format = 1\n[run]\ndt_ms = 0.1\n"
                 "[area.A]\nmodel = \"lif_psc_exp\"\nvoxels = [10, 1, 1]\n"
                 "[area.B]\nmodel = \"lif_psc_exp\"\nvoxels = [10, 1, 1]\n"
                 "at = [10, 0, 0]\n"
                 "[[map]]\nfrom = \"A[5:] + B[:6]\"\nto = \"B[:4] + A[3:]\"\n"
                 "rule = \"distance\"\nkernel = { constant = 1 }\n%s"
                 "mask = { sphere = 3 }\nself = false\nweight_pa = 100\n"
                 "slope_weight_pa = 10\ndelay_ms = 0.1\nslope_delay_ms = 0.1\n",
                 draws[i]);
        vly_genome *genome = genome_of(text);
        vly_connectome *connectome = built(genome);
        uint32_t n = 0;
        assert_int_equal(genome->n_pairs, 4);
        for (uint32_t p = 0; p < connectome->desc.n_projections; p++) {
            const vly_projection_desc *of = &connectome->desc.projections[p];
            const vly_pair *pair =
                &genome->pairs[connectome->projections[p].pair];
            for (uint32_t k = 0; k < 10; k++)
                for (uint64_t s = of->row[k]; s < of->row[k + 1]; s++) {
                    /* global ids are places on the line */
                    int d = (int)of->target[s] - (int)(10 * pair->from + k);
                    d = d < 0 ? -d : d;
                    assert_true(d >= 1 && d <= 3);
                    assert_int_equal(
                        of->base_delay + (of->delay ? of->delay[s] : 0), 1 + d);
                    n++;
                }
        }
        /* Bernoulli of 1: A 5-9 and B 0-5 reach A 3-9 and B 0-3 within 3 */
        assert_int_equal(n, i == 0 ? 52 : 22);
        assert_resolves(genome);
        vly_connectome_destroy(connectome);
        vly_genome_destroy(genome);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(forms),    cmocka_unit_test(whole_areas),
    cmocka_unit_test(matrices), cmocka_unit_test(stimuli_and_records),
    cmocka_unit_test(files),    cmocka_unit_test(included),
    cmocka_unit_test(distance),
};
VLY_TEST_MAIN(tests)
