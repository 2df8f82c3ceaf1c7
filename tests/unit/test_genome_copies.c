/* SPDX-License-Identifier: Apache-2.0
 * Copies of areas: names, values of one copy, --set, maps between the same and
 * other copies, the resolved text, included genomes.
 */
#include "test_genome_text.h"

#define TOP                                                                    \
    "format = 1\n[run]\ndt_ms = 0.1\n[var]\nn = 3\n"                           \
    "[area.E]\nmodel = \"lif_psc_exp\"\nneurons = 10\ncopies = \"=n\"\n"       \
    "[area.I]\nmodel = \"lif_psc_exp\"\nneurons = 4\ncopies = 3\n"             \
    "[area.J]\nmodel = \"lif_psc_exp\"\nneurons = 5\n"
#define DENSE "rule = \"all_to_all\"\nweight_pa = 1\n"

static void assert_resolves(const vly_genome *genome)
{
    vly_genome *again = genome_of(genome->resolved);
    assert_memory_equal(&again->hash, &genome->hash, sizeof genome->hash);
    vly_genome_destroy(again);
}

static void assert_pairs(const vly_genome *genome, const char *const *pairs,
                         uint32_t n)
{
    assert_int_equal(genome->n_pairs, n);
    for (uint32_t i = 0; i < n; i++) {
        char text[140];
        snprintf(text, sizeof text, "%s %s",
                 genome->areas[genome->pairs[i].from].name,
                 genome->areas[genome->pairs[i].to].name);
        assert_string_equal(text, pairs[i]);
    }
}

static void names(void **state)
{
    (void)state;
    static const char *const areas[] = {"E/0", "E/1", "E/2", "I/0",
                                        "I/1", "I/2", "J"};
    vly_genome *genome =
        genome_of(TOP "[area.\"E/1\"]\nneurons = 12\ntau_m_ms = 20\n"
                      "[[map]]\nfrom = \"E/1\"\nto = \"I\"\n" DENSE
                      "[[map]]\nfrom = \"+E\"\nto = \"J\"\n" DENSE
                      "[[map]]\nfrom = \"E[2:4]\"\nto = \"J\"\n" DENSE
                      "[[map]]\nfrom = \"?\"\nto = \"J\"\n" DENSE);
    assert_int_equal(genome->n_areas, 7);
    for (uint32_t i = 0; i < 7; i++) {
        assert_string_equal(genome->areas[i].name, areas[i]);
        assert_int_equal(genome->areas[i].n_neurons, i == 1  ? 12
                                                     : i < 3 ? 10
                                                     : i < 6 ? 4
                                                             : 5);
    }
    assert_int_equal(genome->n_neurons, 10 + 12 + 10 + 12 + 5);
    assert_int_equal(genome->n_pairs, 3 + 3 + 3 + 7);
    assert_string_equal(genome->pairs[3].pool->from.name, "E/0+E/1+E/2");
    assert_string_equal(genome->pairs[8].pool->from.name, "E/2[2:4]");
    assert_resolves(genome);
    vly_genome_destroy(genome);
}

static void maps(void **state)
{
    (void)state;
    static const char *const same[] = {
        "E/0 E/0", "I/0 E/0", "E/1 E/1", "I/1 E/1", "E/2 E/2", "I/2 E/2",
        "E/0 I/0", "I/0 I/0", "E/1 I/1", "I/1 I/1", "E/2 I/2", "I/2 I/2"};
    vly_genome *genome = genome_of(
        TOP "[[map]]\nid = \"m\"\nfrom = [\"E\", \"I\"]\nto = [\"E\", \"I\"]\n"
            "copies = \"same\"\nrule = \"pairwise_bernoulli\"\n"
            "p = [[0.1, 0.2], [0.3, 0.4]]\nweight_pa = [[1, -1]]\n"
            "except = [{ from = \"E/1\", to = \"I\", p = 0.9 }]\n");
    assert_pairs(genome, same, 12);
    for (uint32_t i = 0; i < 12; i++) {
        const vly_pair *pair = &genome->pairs[i];
        double p = (i < 6 ? 0.1 : 0.3) + (i % 2 ? 0.1 : 0.0);
        assert_close(pair->p, i == 8 ? 0.9 : p, 1e-15);
        assert_close(pair->weight.a, i % 2 ? -1 : 1, 0);
    }
    assert_string_equal(genome->pairs[8].stream, "m|E/1|I/1");
    assert_resolves(genome);
    vly_genome_destroy(genome);
    static const char *const other[] = {"E/1 I/0", "E/2 I/0", "E/0 I/1",
                                        "E/2 I/1", "E/0 I/2", "E/1 I/2"};
    genome = genome_of(TOP "[[map]]\nfrom = \"E\"\nto = \"I\"\n"
                           "copies = \"other\"\n" DENSE);
    assert_pairs(genome, other, 6);
    assert_resolves(genome);
    vly_genome_destroy(genome);
    genome = genome_of(TOP "[[map]]\nlink = [\"E -> I\"]\n"
                           "copies = \"other\"\n" DENSE);
    assert_pairs(genome, other, 6);
    vly_genome_destroy(genome);
}

/* A sweep down to one copy. */
static void one_copy(void **state)
{
    (void)state;
    const vly_override set = {"area.E.copies", "1"};
    vly_genome *genome = genome_with(
        TOP "[[map]]\nfrom = \"E\"\nto = \"E\"\ncopies = \"other\"\n" DENSE,
        &set, 1);
    assert_int_equal(genome->n_areas, 5);
    assert_string_equal(genome->areas[0].name, "E/0");
    assert_int_equal(genome->n_pairs, 0);
    assert_int_equal(vly_genome_note_count(genome), 1);
    assert_string_equal(vly_genome_note(genome, 0),
                        "t:17:1: map:1 makes no synapse: there is one copy");
    assert_resolves(genome);
    vly_genome_destroy(genome);
}

static void overrides(void **state)
{
    (void)state;
    const vly_override sets[] = {{"var.n", "4"},
                                 {"area.E.neurons", "20"},
                                 {"area.E/3.neurons", "7"},
                                 {"area.\"E/2\".tau_m_ms", "30"}};
    vly_genome *genome = genome_with(TOP, sets, 4);
    assert_int_equal(genome->n_areas, 8);
    assert_int_equal(genome->areas[2].n_neurons, 20);
    assert_int_equal(genome->areas[3].n_neurons, 7);
    assert_resolves(genome);
    vly_genome_destroy(genome);
    const vly_override wrong = {"area.E/3.neurons", "7"};
    assert_refused_with(TOP, &wrong, 1,
                        "--set area.E/3.neurons=7: area E/3, wanted a copy of "
                        "E from 0 to 2");
    const vly_override unknown = {"area.J/0.neurons", "7"};
    assert_refused_with(TOP, &unknown, 1,
                        "--set area.J/0.neurons=7: no area J/0, wanted one "
                        "of E, I, J");
}

static void generators(void **state)
{
    (void)state;
    vly_genome *genome = genome_of(
        "format = 1\n[area.g]\ngenerator = \"poisson\"\nrate_hz = 5\n"
        "neurons = 2\ncopies = 3\n[area.E]\nmodel = \"feagi\"\nneurons = 4\n"
        "copies = 3\n[[map]]\nfrom = \"g\"\nto = \"E\"\ncopies = \"same\"\n"
        "rule = \"all_to_all\"\nweight = 1\n");
    static const char *const pairs[] = {"g/0 E/0", "g/1 E/1", "g/2 E/2"};
    assert_int_equal(genome->n_areas, 6);
    assert_int_equal(genome->n_stimuli, 3);
    assert_string_equal(genome->stimuli[2].id, "generator/g/2");
    assert_pairs(genome, pairs, 3);
    assert_resolves(genome);
    vly_genome_destroy(genome);
}

/* Names of pools are as long as they are. */
static void many(void **state)
{
    (void)state;
    static const vly_override set = {"var.n", "400"};
    vly_genome *genome =
        genome_with(TOP "[[map]]\nfrom = \"+E\"\nto = \"J\"\n" DENSE
                        "[[map]]\nlink = [\"J -> +E\"]\n" DENSE,
                    &set, 1);
    assert_int_equal(genome->n_pairs, 800);
    assert_resolves(genome);
    vly_genome_destroy(genome);
}

static vly_genome *with_part(const char *use)
{
    char path[600];
    char text[600];
    vly_error error = VLY_ERROR_INIT;
    vly_genome *genome = NULL;
    snprintf(path, sizeof path, "%s/copies_top.toml", VLY_TEST_BINARY_DIR);
    snprintf(text, sizeof text,
             "format = 1\n[use.A]\nfile = \"copies_part.toml\"\n%s", use);
    assert_ok(
        vly_genome_parse(text, strlen(text), path, NULL, 0, &genome, &error),
        error);
    return genome;
}

static void included(void **state)
{
    (void)state;
    char path[600];
    snprintf(path, sizeof path, "%s/copies_part.toml", VLY_TEST_BINARY_DIR);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    /* the table of one copy is not one more area: globs match copies */
    assert_true(fputs(TOP "[area.\"E/1\"]\nneurons = 7\n"
                          "[[map]]\nfrom = \"E\"\nto = \"I/1\"\n" DENSE
                          "[[map]]\nfrom = \"E/?\"\nto = \"J\"\n" DENSE
                          "[[map]]\nfrom = \"J\"\nto = \"E*\"\n" DENSE
                          "[[map]]\nfrom = \"+E/1\"\nto = \"J\"\n" DENSE,
                      file) >= 0);
    assert_int_equal(fclose(file), 0);
    vly_genome *genome = with_part("set = { \"area.E.copies\" = 2 }\n");
    static const char *const pairs[] = {
        "A/E/0 A/I/1", "A/E/1 A/I/1", "A/E/0 A/J", "A/E/1 A/J",
        "A/J A/E/0",   "A/J A/E/1",   "A/E/1 A/J"};
    assert_pairs(genome, pairs, 7);
    assert_int_equal(genome->areas[1].n_neurons, 7);
    vly_genome_destroy(genome);
    /* copies of another area instead; its copy 1 keeps its size */
    genome = with_part("areas = { I = \"X\", E = \"X\" }\n"
                       "[area.X]\nmodel = \"lif_psc_exp\"\n"
                       "neurons = 2\ncopies = 3\n");
    static const char *const bound[] = {
        "X/0 X/1", "X/1 X/1", "X/2 X/1", "X/0 A/J", "X/1 A/J",
        "X/2 A/J", "A/J X/0", "A/J X/1", "A/J X/2", "X/1 A/J"};
    assert_int_equal(genome->areas[1].n_neurons, 2);
    assert_pairs(genome, bound, 10);
    vly_genome_destroy(genome);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(names),      cmocka_unit_test(maps),
    cmocka_unit_test(one_copy),   cmocka_unit_test(overrides),
    cmocka_unit_test(generators), cmocka_unit_test(many),
    cmocka_unit_test(included),
};
VLY_TEST_MAIN(tests)
