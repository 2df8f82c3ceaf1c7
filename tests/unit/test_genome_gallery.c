/* SPDX-License-Identifier: Apache-2.0
 * genomes/gallery: each rule of the format has a genome there, and so have
 * generator areas and [use], with the numbers of neurons and synapses that were
 * worked out by hand, and with the synapses that the second rules say, for any
 * number of threads.
 */
#include "test_genome_text.h"

#include "connectome/connectome.h"
#include "genome/genome_map.h"
#include "second_rules.h"

static const struct {
    const char *file;
    const char *rule;
    uint32_t neurons;
    uint64_t synapses;
} gallery[] = {
    /* one for each of the 6 neurons of A */
    {"one_to_one", "one_to_one", 12, 6},
    /* 4 * 3 to B and 4 * 3 within A */
    {"all_to_all", "all_to_all", 7, 24},
    /* the count that is asked for */
    {"fixed_total_number", "fixed_total_number", 18, 35},
    /* 3 for each of the 7 neurons of B */
    {"fixed_in_degree", "fixed_in_degree", 17, 21},
    /* 10 * 3 to B and 10 * 9 within A */
    {"fixed_out_degree", "fixed_out_degree", 17, 120},
    /* 8 * 5 to B and 8 * 7 within A */
    {"pairwise_bernoulli", "pairwise_bernoulli", 13, 96},
    /* 3 * 3 voxels have one further along x, 4 * 2 one nearer along y */
    {"vectors", "vectors", 24, 17},
    /* first 4 * 3 * 2 = 24, second 3 * 3 * 2 = 18, third 4 * 3 = 12 less the
     * 3 that the first has too */
    {"patterns", "patterns", 48, 51},
    /* 2 tiles along x times 2 along y; in each, 4 voxels reach 2 * 2 voxels
     * of B */
    {"composite", "composite", 52, 64},
    /* 5 pairs along x times 4 along y */
    {"projector", "projector", 22, 20},
    /* one for each voxel of A, because the exchanged sizes agree */
    {"projector_xy", "projector_xy", 16, 8},
    /* one for each voxel of A, because the exchanged sizes agree */
    {"projector_xz", "projector_xz", 60, 30},
    /* 2 pairs along x, 6 along y of B, 4 along z of B */
    {"projector_yz", "projector_yz", 72, 48},
    /* 1 pair along x, 4 along y, 2 along z */
    {"project_from_end_x", "project_from_end_x", 40, 8},
    /* 3 pairs along x, 1 along y, 1 along z */
    {"project_from_end_y", "project_from_end_y", 15, 3},
    /* 4 pairs along x (two fall on one voxel), 1 along y, 1 along z */
    {"project_from_end_z", "project_from_end_z", 24, 4},
    /* 2 * 2 * 2 voxels that both have, times 2 neurons */
    {"block_to_block", "block_to_block", 28, 16},
    /* one for each voxel of A */
    {"block_connection", "block_connection", 56, 50},
    /* each of 3 bits is set in 4 of 8 numbers */
    {"expander_x", "expander_x", 11, 12},
    /* the numbers 0 to 7 have 12 bits set */
    {"reducer_x", "reducer_x", 11, 12},
    /* one for each neuron of A */
    {"randomizer", "randomizer", 47, 20},
    /* 4 voxels along x have a partner, times 2 along y */
    {"lateral_pairs_x", "lateral_pairs_x", 10, 8},
    /* one voxel to one of 2 neurons */
    {"last_to_first", "last_to_first", 43, 2},
    /* 3 * 3 * 2 voxels have one */
    {"lateral_plus_x", "lateral_+x", 24, 18},
    /* 3 * 3 * 2 voxels have one */
    {"lateral_minus_x", "lateral_-x", 24, 18},
    /* 4 * 2 * 2 voxels have one */
    {"lateral_plus_y", "lateral_+y", 24, 16},
    /* 4 * 2 * 2 voxels have one */
    {"lateral_minus_y", "lateral_-y", 24, 16},
    /* 4 * 3 * 1 voxels have one */
    {"lateral_plus_z", "lateral_+z", 24, 12},
    /* 4 * 3 * 1 voxels have one */
    {"lateral_minus_z", "lateral_-z", 24, 12},
    /* one for each of the 4 * 3 * 2 voxels of B */
    {"0-0-0_to_all", "0-0-0_to_all", 32, 24},
    /* one for each of the 4 * 3 * 2 voxels of A */
    {"all_to_0-0-0", "all_to_0-0-0", 32, 24},
    /* 8 neurons of generators and 6 that each hears of all of them */
    {"generators", "all_to_all", 14, 48},
    /* 2 * 8 in, 8 * 7 + 8 * 2 out of E, 2 * 8 back */
    {"column", "all_to_all", 12, 104},
    /* 3 * 8 + 88, 8 * 8 + 88, 8 back; the genome's own map comes first */
    {"use", "one_to_one", 23, 272},
    /* 3 * 2, and 5 for each of the 6 neurons of C */
    {"parts", "all_to_all", 24, 36},
    /* 25 * 5 */
    {"input", "all_to_all", 30, 125},
    {"waves", "all_to_all", 25, 100},
    /* what the seed makes of 80 normal degrees of the mean 10 */
    {"drawn", "fixed_in_degree", 100, 816},
    /* 8 for each of the 10 neurons of I, 5 for each of 80, and what the seed
     * makes of 0.5 * 4 * 20 * 19 and 0.025 * 12 * 20 * 20 */
    {"copies", "pairwise_bernoulli", 90, 80 + 400 + 781 + 108},
};
enum { N_GALLERY = sizeof gallery / sizeof gallery[0] };

static vly_genome *load(const char *path)
{
    vly_error error = VLY_ERROR_INIT;
    vly_genome *genome = NULL;
    assert_ok(vly_genome_load(path, NULL, 0, &genome, &error), error);
    return genome;
}

static vly_connectome *build(const vly_genome *genome, uint32_t n_threads)
{
    vly_error error = VLY_ERROR_INIT;
    vly_connectome *connectome = NULL;
    assert_ok(vly_connectome_build(genome, n_threads, &connectome, &error),
              error);
    return connectome;
}

static void numbers(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < N_GALLERY; i++) {
        char path[1024];
        snprintf(path, sizeof path, "%s/genomes/gallery/%s.toml",
                 VLY_TEST_SOURCE_DIR, gallery[i].file);
        vly_genome *genome = load(path);
        vly_connectome *connectome = build(genome, 1);
        vly_connectome *again = build(genome, 3);
        assert_string_equal(vly_rules[genome->pairs[0].rule].name,
                            gallery[i].rule);
        assert_int_equal(genome->n_neurons, gallery[i].neurons);
        if (connectome->desc.n_synapses != gallery[i].synapses)
            fail_msg("%s has %u synapses, wanted %u", gallery[i].file,
                     (unsigned)connectome->desc.n_synapses,
                     (unsigned)gallery[i].synapses);
        assert_true(genome->n_synapses_max >= gallery[i].synapses);
        assert_int_equal(second_rules_check(genome, connectome), 0);
        assert_memory_equal(&connectome->hash, &again->hash,
                            sizeof again->hash);
        vly_connectome_destroy(connectome);
        vly_connectome_destroy(again);
        vly_genome_destroy(genome);
    }
}

/* The 1st, 2nd, 3rd ... allocation of the connectome fails. */
static void every_allocation(void **state)
{
    (void)state;
    static const char *const files[] = {"fixed_out_degree", "composite",
                                        "vectors"};
    for (int i = 0; i < 3; i++) {
        char path[1024];
        vly_status status;
        uint64_t n = 0;
        snprintf(path, sizeof path, "%s/genomes/gallery/%s.toml",
                 VLY_TEST_SOURCE_DIR, files[i]);
        vly_genome *genome = load(path);
        uint64_t before = vly_memory_live();
        do {
            vly_error error = VLY_ERROR_INIT;
            vly_connectome *connectome = NULL;
            vly_memory_fail_at(++n);
            status = vly_connectome_build(genome, 2, &connectome, &error);
            vly_memory_fail_at(0);
            if (status != VLY_OK)
                assert_int_equal(status, VLY_E_NOMEM);
            vly_connectome_destroy(connectome);
            assert_true(vly_memory_live() == before);
        } while (status != VLY_OK && n < 10000);
        assert_int_equal(status, VLY_OK);
        assert_true(n > 10);
        vly_genome_destroy(genome);
    }
}

static void one_file(const char *path)
{
    (void)path;
}

/* Those of files and distances are in test_gallery_space.c. */
enum { N_ELSEWHERE = 5 };

/* No file without a row, no rule without a file. */
static void complete(void **state)
{
    (void)state;
    assert_int_equal(each_genome("genomes/gallery", one_file),
                     N_GALLERY + N_ELSEWHERE);
    for (uint32_t rule = 0; rule < VLY_RULES; rule++) {
        bool found = rule == VLY_RULE_FILE || rule == VLY_RULE_DISTANCE;
        for (uint32_t i = 0; i < N_GALLERY; i++)
            found |= strcmp(gallery[i].rule, vly_rules[rule].name) == 0;
        if (!found)
            fail_msg("rule %s has no genome in genomes/gallery",
                     vly_rules[rule].name);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(numbers),
    cmocka_unit_test(every_allocation),
    cmocka_unit_test(complete),
};
VLY_TEST_MAIN(tests)
