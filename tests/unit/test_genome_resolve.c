/* SPDX-License-Identifier: Apache-2.0
 * The resolved text reads back to the same hash, and resolves to itself but
 * for the comments; what changes a spike changes the hash and the rest does
 * not.
 */
#include "test_genome_text.h"

#include <stdlib.h>

#include "random_genome.h"

/* Text without comments, which name the lines of the source. */
static void strip(char *text)
{
    char *to = text;
    bool comment = false;
    for (char *at = text; *at; at++) {
        comment = (comment || *at == '#') && *at != '\n';
        if (!comment)
            *to++ = *at;
    }
    *to = 0;
}

static void fixed_point(const char *path)
{
    vly_error error = VLY_ERROR_INIT;
    vly_genome *genome = NULL;
    vly_genome *again = NULL;
#if !defined(VLY_TEST_SONATA)
    if (strstr(path, "/sonata.toml") != NULL)
        return; /* built without HDF5 */
#endif
    assert_ok(vly_genome_load(path, NULL, 0, &genome, &error), error);
    assert_ok(vly_genome_parse(genome->resolved, strlen(genome->resolved), path,
                               NULL, 0, &again, &error),
              error);
    assert_memory_equal(&genome->hash, &again->hash, sizeof(vly_hash));
    assert_true(genome->n_bursts == again->n_bursts);
    assert_int_equal(genome->n_records, again->n_records);
    assert_true(genome->n_synapses_max == again->n_synapses_max);
    strip(genome->resolved);
    strip(again->resolved);
    assert_string_equal(genome->resolved, again->resolved);
    vly_genome_destroy(genome);
    vly_genome_destroy(again);
}

static void every_genome(void **state)
{
    (void)state;
    assert_true(each_genome("tests/golden/genome", fixed_point) >= 5);
    each_genome("genomes", fixed_point);
    assert_true(each_genome("genomes/gallery", fixed_point) >= 30);
}

static void every_random_genome(void **state)
{
    (void)state;
    random_coverage coverage;
    memset(&coverage, 0, sizeof(coverage));
    for (uint64_t seed = 1; seed <= 200; seed++) {
        char *text = random_genome(seed, RANDOM_ALL, &coverage, NULL);
        assert_non_null(text);
        vly_genome *genome = genome_of(text);
        vly_genome *again = genome_of(genome->resolved);
        assert_memory_equal(&genome->hash, &again->hash, sizeof(vly_hash));
        vly_genome_destroy(genome);
        vly_genome_destroy(again);
        free(text);
    }
}

#define BASE                                                                   \
    "format = 1\n[run]\nms = 10\n[area.E]\nmodel = \"izhikevich\"\n"           \
    "neurons = 10\n"
#define MAP                                                                    \
    "[[map]]\nfrom = \"E\"\nto = \"E\"\nrule = \"pairwise_bernoulli\"\n"       \
    "p = 0.5\nweight = 1\n"

static vly_hash hash_of(const char *text)
{
    vly_genome *genome = genome_of(text);
    vly_hash hash = genome->hash;
    vly_genome_destroy(genome);
    return hash;
}

static bool same(const char *a, const char *b)
{
    vly_hash x = hash_of(a);
    vly_hash y = hash_of(b);
    return memcmp(&x, &y, sizeof(x)) == 0;
}

static void hash_is_of_content(void **state)
{
    (void)state;
    const char *base = BASE MAP;
    assert_true(same(base, "# a comment\n" BASE "\n\n" MAP));
    assert_true(same(base, "title = \"x\"\n" BASE MAP));
    assert_true(same(base, BASE "a = 0.02\n" MAP)); /* the default */
    assert_true(same(base, BASE "a = \"=1/50\"\n" MAP));
    assert_true(same(base, BASE MAP "delay_ms = 1\n"));
    assert_true(same(base, BASE MAP "delay_bursts = 1\nself = true\n"));
    assert_true(same(base, BASE MAP "[[record]]\nwhat = \"spikes\"\n"
                                    "from = \"E\"\n"));
    assert_false(same(base, BASE "a = 0.03\n" MAP));
    assert_false(same(base, BASE "v = -65\n" MAP)); /* no longer derived */
    assert_false(same(base, BASE MAP "self = false\n"));
    assert_false(same(base, BASE MAP "id = \"m\"\n"));
    assert_false(same(base, BASE MAP "delay_ms = 2\n"));
    assert_false(same(base, BASE));
}

static void origins_are_named(void **state)
{
    (void)state;
    const vly_override set = {"area.E.c", "-50"};
    vly_genome *genome =
        genome_with("format = 1\n[model.n]\ntype = \"izhikevich\"\nd = 2\n"
                    "[area.E]\nmodel = \"n\"\nneurons = 1\nb = 0.25\n",
                    &set, 1);
    const char *text = genome->resolved;
    assert_non_null(strstr(text, "\na = 0.02  # default\n"));
    assert_non_null(strstr(text, "\nb = 0.25  # line 8\n"));
    assert_non_null(strstr(text, "\nc = -50  # --set\n"));
    assert_non_null(strstr(text, "\nd = 2  # model n, line 4\n"));
    assert_non_null(strstr(text, "\nseed_input = 3  # default\n"));
    assert_non_null(strstr(text, "\n# u: default of the model\n"));
    vly_genome_destroy(genome);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(every_genome),
    cmocka_unit_test(every_random_genome),
    cmocka_unit_test(hash_is_of_content),
    cmocka_unit_test(origins_are_named),
};
VLY_TEST_MAIN(tests)
