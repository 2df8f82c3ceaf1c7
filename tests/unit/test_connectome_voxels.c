/* SPDX-License-Identifier: Apache-2.0
 * Rules between voxels, synapse by synapse: what a sentence leaves easy to get
 * wrong. Neurons are numbered in their areas.
 */
#include "test_genome_text.h"

#include <stdlib.h>

#include "connectome/connectome.h"
#include "genome/genome_map.h"

/* "source>target target ..." of every source that has targets. */
static void edges_of(const char *text, char *edges, size_t size)
{
    vly_error error = VLY_ERROR_INIT;
    vly_connectome *connectome = NULL;
    vly_genome *genome = genome_of(text);
    assert_ok(vly_connectome_build(genome, 2, &connectome, &error), error);
    edges[0] = 0;
    if (connectome->desc.n_projections == 0) { /* a map that makes none */
        vly_connectome_destroy(connectome);
        vly_genome_destroy(genome);
        return;
    }
    const vly_projection_desc *desc = &connectome->desc.projections[0];
    const vly_connectome_area *to = &connectome->areas[desc->target_area];
    uint32_t n = connectome->areas[desc->source_area].n_neurons;
    size_t at = 0;
    for (uint32_t k = 0; k < n; k++)
        for (uint64_t i = desc->row[k]; i < desc->row[k + 1]; i++) {
            if (i == desc->row[k])
                at += (size_t)snprintf(edges + at, size - at, "%s%u>",
                                       at ? ", " : "", (unsigned)k);
            at += (size_t)snprintf(edges + at, size - at, "%s%u",
                                   i > desc->row[k] ? " " : "",
                                   (unsigned)(desc->target[i] - to->first));
            assert_true(at < size);
        }
    vly_connectome_destroy(connectome);
    vly_genome_destroy(genome);
}

/* A of these voxels to B of those; to NULL: A to itself. */
static void assert_edges(const char *from, const char *to, const char *map,
                         const char *wanted)
{
    char text[1024];
    char edges[4096];
    snprintf(text, sizeof text,
             "format = 1\n[area.A]\nmodel = \"feagi\"\nvoxels = %s\n"
             "[area.B]\nmodel = \"feagi\"\nvoxels = %s\n[[map]]\n"
             "from = \"A\"\nto = \"%s\"\nweight = 1\n%s\n",
             from, to ? to : "[1, 1, 1]", to ? "B" : "A", map);
    edges_of(text, edges, sizeof edges);
    assert_string_equal(edges, wanted);
}

static void signs_of_patterns(void **state)
{
    (void)state;
    static const struct {
        const char *from, *to, *wanted; /* 3 voxels to 4 */
    } cases[] = {
        {"*", "*", "0>0 1 2 3, 1>0 1 2 3, 2>0 1 2 3"},
        {"*", "?", "0>0, 1>1, 2>2"},
        {"?", "*", "0>0, 1>1, 2>2"},
        {"?", "?", "0>0, 1>1, 2>2"},
        {"*", "!", "0>1 2 3, 1>0 2 3, 2>0 1 3"},
        {"!", "!", "0>1 2 3, 1>0 2 3, 2>0 1 3"},
        {"!", "*", "0>1 2 3, 1>0 2 3, 2>0 1 3"},
        {"1", "*", "1>0 1 2 3"},
        {"*", "3", "0>3, 1>3, 2>3"},
        {"1", "3", "1>3"},
        {"1", "?", "1>1"},
        {"1", "!", "1>0 2 3"},
        {"?", "2", "2>2"},
        {"!", "2", "0>2, 1>2"},
        {"?", "3", ""}, /* no voxel 3 in A */
        {"!", "3", "0>3, 1>3, 2>3"},
        {"3", "*", ""},
        {"*", "4", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char map[200], side[2][16];
        const char *tokens[2] = {cases[i].from, cases[i].to};
        for (int k = 0; k < 2; k++)
            snprintf(side[k], sizeof side[k],
                     tokens[k][0] < '0' || tokens[k][0] > '9' ? "\"%s\"" : "%s",
                     tokens[k]);
        snprintf(map, sizeof map,
                 "rule = \"patterns\"\npatterns = [[[%s, 0, 0], [%s, 0, 0]]]",
                 side[0], side[1]);
        assert_edges("[3, 1, 1]", "[4, 1, 1]", map, cases[i].wanted);
    }
}

/* Neuron of voxel x, y: 2 x + y. Patterns that overlap, in any order. */
static void patterns_add_up(void **state)
{
    (void)state;
    assert_edges("[2, 2, 1]", "[2, 2, 1]",
                 "rule = \"patterns\"\npatterns = ["
                 "[[1, \"*\", 0], [\"*\", 1, 0]], "
                 "[[\"*\", \"*\", \"*\"], [\"?\", \"?\", \"?\"]], "
                 "[[1, 1, 0], [0, \"*\", 0]]]",
                 "0>0, 1>1, 2>1 2 3, 3>0 1 3");
    /* the same within one area, a neuron to itself left out */
    assert_edges("[2, 2, 1]", NULL,
                 "rule = \"patterns\"\nself = false\npatterns = ["
                 "[[1, \"*\", 0], [\"*\", 1, 0]], "
                 "[[\"*\", \"*\", \"*\"], [\"?\", \"?\", \"?\"]]]",
                 "2>1 3, 3>1");
}

/* Sizes that do not divide each other: floor(c to / from), floor(v from / to)
 */
static void projector_ratios(void **state)
{
    (void)state;
    assert_edges("[3, 1, 1]", "[5, 1, 1]", "rule = \"projector\"",
                 "0>0 1, 1>2 3, 2>4");
    assert_edges("[5, 1, 1]", "[3, 1, 1]", "rule = \"projector\"",
                 "0>0, 1>0, 2>1, 3>1, 4>2");
    assert_edges("[7, 1, 1]", "[7, 1, 1]", "rule = \"projector\"",
                 "0>0, 1>1, 2>2, 3>3, 4>4, 5>5, 6>6");
    assert_edges("[1, 3, 1]", "[2, 1, 2]", "rule = \"projector\"",
                 "0>0 1 2 3, 1>0 1 2 3, 2>0 1 2 3");
    /* x of the target from y of the source */
    assert_edges("[1, 3, 1]", "[3, 1, 2]", "rule = \"projector_xy\"",
                 "0>0 1, 1>2 3, 2>4 5");
    /* voxel 0, 0, 3 (the last of 4) onto z = 0 of two */
    assert_edges("[1, 2, 4]", "[1, 2, 2]", "rule = \"project_from_end_z\"",
                 "3>0, 7>2");
    assert_edges("[2, 1, 1]", "[3, 2, 1]", "rule = \"project_from_end_x\"",
                 "1>0 1");
}

/* Target 6 = 110: bits 1 and 2. y and z of the source do not matter. */
static void bits(void **state)
{
    (void)state;
    assert_edges("[4, 1, 1]", "[7, 2, 1]", "rule = \"expander_x\"",
                 "0>2 6 10, 1>4 6 12, 2>8 10 12");
    assert_edges("[2, 1, 2]", "[3, 1, 1]", "rule = \"expander_x\"",
                 "0>1, 1>1, 2>2, 3>2");
    assert_edges("[7, 1, 1]", "[2, 2, 1]", "rule = \"reducer_x\"",
                 "1>0, 2>2, 3>0 2, 5>0, 6>2");
    assert_edges("[40, 1, 1]", "[2, 1, 1]", "rule = \"expander_x\"", "0>1");
}

static void pairs_and_ends(void **state)
{
    (void)state;
    /* 2 would reach 3, which the source has not */
    assert_edges("[3, 1, 1]", "[5, 1, 1]", "rule = \"lateral_pairs_x\"",
                 "0>1, 1>0");
    assert_edges("[5, 1, 1]", "[3, 1, 1]", "rule = \"lateral_pairs_x\"",
                 "0>1, 1>0, 3>2");
    assert_edges("[21, 1, 1]", "[2, 1, 1]", "rule = \"block_connection\"",
                 "0>0, 1>0, 2>0, 3>0, 4>0, 5>0, 6>0, 7>0, 8>0, 9>0, "
                 "10>1, 11>1, 12>1, 13>1, 14>1, 15>1, 16>1, 17>1, 18>1, 19>1");
    assert_edges("[2, 2, 1]", "[2, 1, 1]\nneurons_per_voxel = 2",
                 "rule = \"last_to_first\"", "3>0 1");
    assert_edges("[2, 1, 1]", NULL, "rule = \"0-0-0_to_all\"\nself = false",
                 "0>1");
}

/* 7 voxels in tiles of 2: 0 to 2, and 6 left over; 0 and 2 are chosen. */
static void composite_tiles(void **state)
{
    (void)state;
#define TILES(mapper)                                                          \
    "rule = \"composite\"\ncomposite = { src_seed = [2, 1, 1], src_pattern = " \
    "[[1, 1], [1, 0], [1, 0]], mapper = " mapper " }"
    assert_edges("[7, 1, 1]", "[4, 1, 1]", TILES("\"projector\""),
                 "0>0 1, 1>2 3, 4>0 1, 5>2 3");
    assert_edges("[7, 1, 1]", "[3, 1, 1]",
                 TILES("{ vectors = [[1, 0, 0], [0, 0, 0], [9, 0, 0]] }"),
                 "0>0 1, 1>1 2, 4>0 1, 5>1 2");
    assert_edges("[7, 1, 1]", "[3, 1, 1]",
                 TILES("{ patterns = [[[1, 0, 0], [\"!\", 0, 0]]] }"),
                 "1>0 2, 5>0 2");
    assert_edges("[7, 1, 1]", "[2, 1, 1]", TILES("\"last_to_first\""),
                 "1>0, 5>0");
}

/* A morphology by name gives what its text gives in place. */
static void by_name(void **state)
{
    (void)state;
#define AREAS                                                                  \
    "format = 1\n[morphology.up]\nfunction = \"lateral_+x\"\n"                 \
    "[morphology.tile.composite]\nsrc_seed = [2, 1, 1]\n"                      \
    "src_pattern = [[1, 0], [1, 0], [1, 0]]\nmapper = \"up\"\n"                \
    "[area.A]\nmodel = \"feagi\"\nvoxels = [4, 1, 1]\n"                        \
    "[[map]]\nfrom = \"A\"\nto = \"A\"\nweight = 1\n"
    static const char *const texts[][2] = {
        {AREAS "rule = \"function\"\nmorphology = \"up\"\n",
         AREAS "rule = \"lateral_+x\"\n"},
        {AREAS "rule = \"composite\"\nmorphology = \"tile\"\n",
         AREAS "rule = \"composite\"\ncomposite = { src_seed = [2, 1, 1], "
               "src_pattern = [[1, 0], [1, 0], [1, 0]], mapper = "
               "\"lateral_+x\" }\n"},
    };
    static const char *const wanted[] = {"0>1, 1>2, 2>3", "0>1, 1>2, 2>1, 3>2"};
    for (int i = 0; i < 2; i++) {
        char edges[256];
        vly_genome *named = genome_of(texts[i][0]);
        vly_genome *given = genome_of(texts[i][1]);
        assert_memory_equal(&named->hash, &given->hash, sizeof(vly_hash));
        vly_genome_destroy(named);
        vly_genome_destroy(given);
        edges_of(texts[i][0], edges, sizeof edges);
        assert_string_equal(edges, wanted[i]);
    }
}

/* Every voxel of 3 x 2 x 2 equally often; chi-square of 11, 1e-4: 37.4. */
static void randomizer_is_uniform(void **state)
{
    (void)state;
    vly_error error = VLY_ERROR_INIT;
    vly_connectome *connectome = NULL;
    vly_genome *genome = genome_of(
        "format = 1\n[area.A]\nmodel = \"feagi\"\nvoxels = [40, 30, 10]\n"
        "[area.B]\nmodel = \"feagi\"\nvoxels = [3, 2, 2]\n[[map]]\n"
        "from = \"A\"\nto = \"B\"\nrule = \"randomizer\"\nweight = 1\n");
    assert_ok(vly_connectome_build(genome, 2, &connectome, &error), error);
    double counts[12] = {0}, chi2 = 0;
    assert_int_equal(connectome->desc.n_synapses, 12000);
    for (uint32_t i = 0; i < 12000; i++)
        counts[connectome->desc.projections[0].target[i] - 12000]++;
    for (int i = 0; i < 12; i++)
        chi2 += (counts[i] - 1000) * (counts[i] - 1000) / 1000;
    assert_true(chi2 < 37.4);
    vly_connectome_destroy(connectome);
    vly_genome_destroy(genome);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(signs_of_patterns),
    cmocka_unit_test(patterns_add_up),
    cmocka_unit_test(projector_ratios),
    cmocka_unit_test(bits),
    cmocka_unit_test(pairs_and_ends),
    cmocka_unit_test(composite_tiles),
    cmocka_unit_test(by_name),
    cmocka_unit_test(randomizer_is_uniform),
};
VLY_TEST_MAIN(tests)
