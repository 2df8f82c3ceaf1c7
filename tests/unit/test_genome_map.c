/* SPDX-License-Identifier: Apache-2.0
 * [[map]]: lists, globs, links, matrices, exceptions, weights, delays.
 */
#include "test_genome_text.h"

#include "genome/genome_reader.h"

#define AREAS                                                                  \
    "format = 1\n[run]\ndt_ms = 0.1\n"                                         \
    "[area.E1]\nmodel = \"lif_psc_exp\"\nneurons = 10\n"                       \
    "[area.E2]\nmodel = \"lif_psc_exp\"\nneurons = 20\n"                       \
    "[area.I1]\nmodel = \"lif_psc_exp\"\nneurons = 5\n[[map]]\n"
#define RULE "rule = \"pairwise_bernoulli\"\n"

static void globs(void **state)
{
    (void)state;
    assert_true(vly_glob_match("*", ""));
    assert_true(vly_glob_match("L*E", "L23/E"));
    assert_true(vly_glob_match("?1", "E1"));
    assert_true(vly_glob_match("*a*b", "xaab"));
    assert_false(vly_glob_match("?1", "E12"));
    assert_false(vly_glob_match("L*E", "L23/I"));
    assert_false(vly_glob_match("?", ""));
    /* quadratic at worst, not exponential */
    assert_false(
        vly_glob_match("*a*a*a*a*a*a*a*a*a*a*a*a*b",
                       "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"));
}

static void matrix_and_exception(void **state)
{
    (void)state;
    vly_genome *genome = genome_of(
        AREAS
        "id = \"m\"\nfrom = [\"E*\", \"I1\"]\nto = [\"I1\", \"E?\"]\n" RULE
        "p = [[0.1, 0.2, 0.3], [0.4, 0, 0.6], [0.7, 0.8, 0.9]]\n"
        "weight_pa = [[1, 2, -3]]\ndelay_ms = [[1], [2], [3]]\n"
        "except = [{ from = \"E1\", to = \"*\", weight_pa = 9 },\n"
        "  { from = \"*\", to = \"E2\", p = 0.5, delay_bursts = 4 },\n"
        "  { from = \"E1\", to = \"E2\", p = 0.25 }]\n");
    static const struct {
        const char *stream;
        double p, weight, delay;
    } wanted[] = {
        {"m|E1|I1", 0.1, 9, 1},   {"m|E2|I1", 0.2, 2, 1},
        {"m|I1|I1", 0.3, -3, 1},  {"m|E1|E1", 0.4, 9, 2},
        {"m|I1|E1", 0.6, -3, 2},  {"m|E1|E2", 0.25, 9, 0.4},
        {"m|E2|E2", 0.5, 2, 0.4}, {"m|I1|E2", 0.5, -3, 0.4},
    };
    assert_int_equal(genome->n_pairs, 8); /* p = 0 is left out */
    for (uint32_t i = 0; i < 8; i++) {
        const vly_pair *pair = &genome->pairs[i];
        assert_string_equal(pair->stream, wanted[i].stream);
        assert_string_equal(pair->map, "m");
        assert_close(pair->p, wanted[i].p, 0);
        assert_close(pair->weight.a, wanted[i].weight, 0);
        assert_close(pair->delay_ms.a, wanted[i].delay, 1e-12);
        assert_true(pair->self);
        assert_false(pair->multiple);
    }
    vly_genome_destroy(genome);
}

static void links_and_defaults(void **state)
{
    (void)state;
    vly_genome *genome =
        genome_of(AREAS "link = [\"E1 -> I1\", \"E* -> E2\"]\n"
                        "rule = \"fixed_in_degree\"\nin_degree = 3\n"
                        "weight_pa = 1\n");
    static const char *const streams[] = {"|E1|I1|0", "|E1|E2|0", "|E2|E2|0"};
    assert_int_equal(genome->n_pairs, 3);
    for (uint32_t i = 0; i < 3; i++) {
        assert_string_equal(genome->pairs[i].stream, streams[i]);
        assert_close(genome->pairs[i].delay_ms.a, 0.1, 0);
        assert_true(genome->pairs[i].multiple);
        assert_int_equal(genome->pairs[i].in_degree, 3);
    }
    assert_true(genome->n_synapses_max == 3 * (5 + 20 + 20));
    vly_genome_destroy(genome);
    assert_refused(AREAS "link = [\"E1 -> I1\", \"E1 -> I*\"]\n" RULE
                         "p = 1\nweight_pa = 1\n",
                   "t:14:8: link names E1 -> I1 twice, wanted each once");
    assert_refused(AREAS "from = [\"E1\", \"E*\"]\nto = \"I1\"\n" RULE,
                   "t:14:15: from names area E1 twice, wanted each area once");
}

/* A map without an id draws the same whatever other maps stand before it, and
 * names with / are never taken apart. */
static void streams_of_maps(void **state)
{
    (void)state;
    vly_genome *genome = genome_of(
        AREAS "from = \"E1\"\nto = \"I1\"\n" RULE "p = 1\nweight_pa = 1\n"
              "[[map]]\nid = \"a/E1\"\nfrom = \"E1\"\nto = \"I1\"\n" RULE
              "p = 1\nweight_pa = 1\n"
              "[[map]]\nfrom = \"E*\"\nto = \"I1\"\n" RULE
              "p = 1\nweight_pa = 1\n");
    static const char *const streams[] = {"|E1|I1|0", "a/E1|E1|I1", "|E1|I1|1",
                                          "|E2|I1|0"};
    assert_int_equal(genome->n_pairs, 4);
    for (uint32_t i = 0; i < 4; i++)
        assert_string_equal(genome->pairs[i].stream, streams[i]);
    vly_genome_destroy(genome);
}

static void out_degrees(void **state)
{
    (void)state;
    vly_genome *genome =
        genome_of(AREAS "from = [\"E1\", \"I1\"]\nto = [\"E2\", \"E1\"]\n"
                        "rule = \"fixed_out_degree\"\n"
                        "out_degree = [[3, 0], [5, 6]]\nweight_pa = 1\n"
                        "except = [{ from = \"I1\", to = \"E1\", "
                        "out_degree = 7 }]\n");
    static const uint32_t wanted[] = {3, 5, 7};
    assert_int_equal(genome->n_pairs, 3); /* 0 is left out */
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(genome->pairs[i].out_degree, wanted[i]);
    assert_true(genome->pairs[0].multiple);
    assert_true(genome->n_synapses_max == 10 * 3 + 10 * 5 + 5 * 7);
    vly_genome_destroy(genome);
    assert_refused(AREAS "from = \"E1\"\nto = \"I1\"\nrule = "
                         "\"fixed_out_degree\"\noutdegree = 3\n",
                   "t:17:1: outdegree: a [[map]] calls it out_degree");
}

static void total_number_from_p(void **state)
{
    (void)state;
    vly_genome *genome = genome_of(AREAS "from = \"E1\"\nto = \"E2\"\nrule = "
                                         "\"fixed_total_number\"\np = 0.3\n"
                                         "weight_pa = 1\n");
    /* ln(0.7) / ln(1 - 1/200) = 71.156 */
    assert_true(genome->pairs[0].count == 71);
    assert_true(genome->n_synapses_max == 71);
    vly_genome_destroy(genome);
}

static const vly_value *delay_of(const char *toml, vly_genome **genome)
{
    char text[1024];
    snprintf(text, sizeof(text),
             AREAS "from = \"E1\"\nto = \"E2\"\nrule = \"all_to_all\"\n"
                   "weight_pa = 1\n%s\n",
             toml);
    *genome = genome_of(text);
    return &(*genome)->pairs[0].delay_ms;
}

static void delays(void **state)
{
    (void)state;
    vly_genome *genome = NULL;
    const vly_value *delay = delay_of("delay_ms = 0.05", &genome);
    assert_close(delay->a, 0.05, 0); /* rounds to one burst */
    vly_genome_destroy(genome);
    delay = delay_of("delay_ms = { normal = [1.5, 0.75] }", &genome);
    assert_close(delay->clip_lo, 0.05, 0);
    assert_close(delay->clip_hi, 6, 0);
    vly_genome_destroy(genome);
    delay = delay_of("delay_bursts = { uniform = [0, 16] }", &genome);
    assert_close(delay->a, 0.05, 1e-15);
    assert_close(delay->b, 1.6, 1e-12);
    vly_genome_destroy(genome);
    delay =
        delay_of("delay_ms = { normal = [20, 5], clip = [10, 30] }", &genome);
    assert_close(delay->clip_lo, 10, 0);
    vly_genome_destroy(genome);
}

static void vectors_of_voxels(void **state)
{
    (void)state;
    vly_genome *genome = genome_of(
        "format = 1\n[morphology.m]\nvectors = [[1, 0, -2], [0, 3, 0]]\n"
        "[area.a]\nmodel = \"feagi\"\nvoxels = [2, 3, 4]\n[[map]]\n"
        "from = \"a\"\nto = \"a\"\nrule = \"vectors\"\nmorphology = \"m\"\n"
        "weight = -7\n");
    const vly_pair *pair = &genome->pairs[0];
    assert_int_equal(pair->n_vectors, 2);
    assert_int_equal(pair->vectors[0][2], -2);
    assert_int_equal(pair->vectors[1][1], 3);
    assert_close(pair->weight.a, -7, 0);
    assert_true(genome->n_synapses_max == 48);
    vly_genome_destroy(genome);
}

/* Without a port the sign chooses, where there are two. */
static void ports(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        uint32_t port;
    } cases[] = {{"", VLY_PORT_BY_SIGN}, {"port = 0\n", 0}, {"port = 1\n", 1}};
    for (int k = 0; k < 3; k++) {
        char text[500];
        snprintf(text, sizeof text,
                 "format = 1\n[area.A]\nmodel = \"lif_psc_exp\"\n"
                 "neurons = 3\n[area.B]\nmodel = \"lif_psc_exp2\"\n"
                 "neurons = 3\n[[map]]\nfrom = \"A\"\nto = \"B\"\n"
                 "rule = \"one_to_one\"\nweight_pa = -5\n%s[[map]]\n"
                 "from = \"B\"\nto = \"A\"\nrule = \"one_to_one\"\n"
                 "weight_pa = -5\n",
                 cases[k].line);
        vly_genome *genome = genome_of(text);
        assert_int_equal(genome->pairs[0].port, cases[k].port);
        assert_int_equal(genome->pairs[1].port, 0);
        assert_int_equal(strstr(genome->resolved, "port = ") != NULL, k > 0);
        vly_genome_destroy(genome);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(globs),
    cmocka_unit_test(matrix_and_exception),
    cmocka_unit_test(links_and_defaults),
    cmocka_unit_test(streams_of_maps),
    cmocka_unit_test(out_degrees),
    cmocka_unit_test(total_number_from_p),
    cmocka_unit_test(delays),
    cmocka_unit_test(vectors_of_voxels),
    cmocka_unit_test(ports),
};
VLY_TEST_MAIN(tests)
