/* SPDX-License-Identifier: Apache-2.0
 * Rules of the connectome: degrees, ranges, flags, uniformity. Statistical
 * tests have fixed seeds and a significance of 1e-4.
 */
#include "volley_test.h"

#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/random.h"
#include "connectome/connectome_work.h"
#include "connectome_builder.h"

static vly_connectome *built(const builder *b)
{
    vly_error error = VLY_ERROR_INIT;
    vly_connectome *connectome = NULL;
    assert_ok(vly_connectome_build(&b->genome, 2, &connectome, &error), error);
    return connectome;
}

static void assert_refused(const builder *b, const char *text)
{
    vly_error error = VLY_ERROR_INIT;
    vly_connectome *connectome = NULL;
    assert_int_equal(vly_connectome_build(&b->genome, 1, &connectome, &error),
                     VLY_E_PARSE);
    assert_null(connectome);
    if (!strstr(error.message, text))
        fail_msg("\"%s\" lacks \"%s\"", error.message, text);
}

/* Rows monotone, targets in range and ascending. */
static void assert_rows(const vly_connectome *c, uint32_t p)
{
    const vly_projection_desc *desc = &c->desc.projections[p];
    const vly_connectome_area *from = &c->areas[desc->source_area];
    const vly_connectome_area *to = &c->areas[desc->target_area];
    assert_int_equal(desc->row[0], 0);
    for (uint32_t k = 0; k < from->n_neurons; k++) {
        assert_true(desc->row[k] <= desc->row[k + 1]);
        for (uint64_t i = desc->row[k]; i < desc->row[k + 1]; i++) {
            assert_true(desc->target[i] >= to->first);
            assert_true(desc->target[i] < to->first + to->n_neurons);
            if (i > desc->row[k])
                assert_true(desc->target[i] >= desc->target[i - 1]);
        }
    }
    assert_int_equal(desc->row[from->n_neurons], c->projections[p].n_synapses);
}

static uint64_t count_self(const vly_projection_desc *desc, uint32_t n)
{
    uint64_t count = 0;
    for (uint32_t k = 0; k < n; k++)
        for (uint64_t i = desc->row[k]; i < desc->row[k + 1]; i++)
            count += desc->target[i] == k;
    return count;
}

static uint64_t count_twice(const vly_projection_desc *desc, uint32_t n)
{
    uint64_t count = 0;
    for (uint32_t k = 0; k < n; k++)
        for (uint64_t i = desc->row[k] + 1; i < desc->row[k + 1]; i++)
            count += desc->target[i] == desc->target[i - 1];
    return count;
}

/* chi-square of the cells of a bins x bins table over (source, target) */
static double chi2_pairs(const vly_connectome *c, uint32_t bins)
{
    const vly_projection_desc *desc = &c->desc.projections[0];
    const vly_connectome_area *from = &c->areas[desc->source_area];
    const vly_connectome_area *to = &c->areas[desc->target_area];
    double *cells = calloc((size_t)bins * bins, sizeof(*cells));
    double chi2 = 0.0;
    for (uint32_t k = 0; k < from->n_neurons; k++)
        for (uint64_t i = desc->row[k]; i < desc->row[k + 1]; i++) {
            uint64_t t = desc->target[i] - to->first;
            cells[(uint64_t)k * bins / from->n_neurons * bins +
                  t * bins / to->n_neurons]++;
        }
    double mean = (double)c->projections[0].n_synapses / ((double)bins * bins);
    for (uint32_t i = 0; i < bins * bins; i++)
        chi2 += (cells[i] - mean) * (cells[i] - mean) / mean;
    free(cells);
    return chi2;
}

static void one_to_one_rule(void **state)
{
    (void)state;
    builder b;
    builder_init(&b);
    builder_area(&b, "A", "lif_psc_delta", 5);
    builder_area(&b, "B", "lif_psc_delta", 5);
    builder_pair(&b, "m", 0, 1, VLY_RULE_ONE_TO_ONE);
    vly_connectome *c = built(&b);
    const vly_projection_desc *desc = &c->desc.projections[0];
    for (uint32_t k = 0; k < 5; k++) {
        assert_int_equal(desc->row[k], k);
        assert_int_equal(desc->target[k], 5 + k);
    }
    assert_int_equal(desc->base_delay, 10);
    assert_null(desc->delay);
    vly_connectome_destroy(c);
    b.areas[1].n_neurons = 4;
    assert_refused(&b, "test.toml:10:1: map m: one_to_one from A (5 neurons)");
}

static void all_to_all_rule(void **state)
{
    (void)state;
    builder b;
    builder_init(&b);
    builder_area(&b, "A", "lif_psc_delta", 7);
    builder_pair(&b, "m", 0, 0, VLY_RULE_ALL_TO_ALL);
    vly_connectome *c = built(&b);
    assert_int_equal(c->desc.n_synapses, 49);
    assert_int_equal(count_self(&c->desc.projections[0], 7), 7);
    assert_rows(c, 0);
    vly_connectome_destroy(c);
    b.pairs[0].self = false;
    c = built(&b);
    assert_int_equal(c->desc.n_synapses, 42);
    assert_int_equal(count_self(&c->desc.projections[0], 7), 0);
    assert_int_equal(c->desc.out_degree[3], 6);
    assert_rows(c, 0);
    vly_connectome_destroy(c);
}

static void total_number_rule(void **state)
{
    (void)state;
    builder b;
    builder_init(&b);
    builder_area(&b, "A", "lif_psc_delta", 300);
    builder_area(&b, "B", "lif_psc_delta", 500);
    vly_pair *pair = builder_pair(&b, "m", 0, 1, VLY_RULE_FIXED_TOTAL_NUMBER);
    pair->count = 200001;
    vly_connectome *c = built(&b);
    assert_int_equal(c->desc.n_synapses, 200001);
    assert_rows(c, 0);
    assert_true(count_twice(&c->desc.projections[0], 300) > 50000);
    assert_true(chi2_pairs(c, 20) < chi2_limit(399));
    vly_connectome_destroy(c);
}

static void total_number_no_self(void **state)
{
    (void)state;
    builder b;
    builder_init(&b);
    builder_area(&b, "A", "lif_psc_delta", 40);
    vly_pair *pair = builder_pair(&b, "m", 0, 0, VLY_RULE_FIXED_TOTAL_NUMBER);
    pair->count = 156000;
    pair->self = false;
    vly_connectome *c = built(&b);
    const vly_projection_desc *desc = &c->desc.projections[0];
    assert_int_equal(c->desc.n_synapses, 156000);
    assert_int_equal(count_self(desc, 40), 0);
    assert_rows(c, 0);
    double cells[40][40] = {{0}};
    double chi2 = 0.0;
    for (uint32_t k = 0; k < 40; k++)
        for (uint64_t i = desc->row[k]; i < desc->row[k + 1]; i++)
            cells[k][desc->target[i]]++;
    for (int k = 0; k < 40; k++)
        for (int t = 0; t < 40; t++)
            if (k != t)
                chi2 += (cells[k][t] - 100.0) * (cells[k][t] - 100.0) / 100.0;
    assert_true(chi2 < chi2_limit(1559));
    vly_connectome_destroy(c);
}

/* n of the pairs, each at most once: small (Floyd) and large (permutation) */
static void total_number_once(void **state)
{
    (void)state;
    static const uint32_t sizes[] = {60, 1500};
    for (int i = 0; i < 2; i++) {
        builder b;
        uint32_t n = sizes[i];
        builder_init(&b);
        builder_area(&b, "A", "lif_psc_delta", n);
        vly_pair *pair =
            builder_pair(&b, "m", 0, 0, VLY_RULE_FIXED_TOTAL_NUMBER);
        pair->count = (uint64_t)n * (n - 1) / 3;
        pair->multiple = false;
        pair->self = false;
        vly_connectome *c = built(&b);
        assert_int_equal(c->desc.n_synapses, pair->count);
        assert_int_equal(count_self(&c->desc.projections[0], n), 0);
        assert_int_equal(count_twice(&c->desc.projections[0], n), 0);
        assert_rows(c, 0);
        vly_connectome_destroy(c);
        pair->self = true;
        pair->count = (uint64_t)n * n / 3;
        c = built(&b);
        assert_rows(c, 0);
        /* variance of a hypergeometric cell is below that of Poisson */
        assert_true(chi2_pairs(c, 10) < chi2_limit(99));
        vly_connectome_destroy(c);
        pair->count = (uint64_t)n * n;
        c = built(&b);
        assert_int_equal(count_twice(&c->desc.projections[0], n), 0);
        assert_int_equal(count_self(&c->desc.projections[0], n), n);
        vly_connectome_destroy(c);
        pair->count++;
        assert_refused(&b, "map m (A -> A): count is");
    }
}

/* Every synapse of a target is a word of the target's own sequence: the pair's
 * rows, from n_from sources to n_to targets. */
static void check_words(const builder *b, uint32_t n_from, uint32_t n_to)
{
    const vly_pair *pair = &b->genome.pairs[0];
    const bool others = pair->from == pair->to && !pair->self;
    vly_draws draws;
    vly_connectome *c = built(b);
    const vly_projection_desc *desc = &c->desc.projections[0];
    assert_int_equal(vly_draws_init(&draws, b->genome.seed_network,
                                    "map:", pair->stream, ":", "source"),
                     VLY_OK);
    const uint32_t first = c->desc.areas[pair->to].first;
    uint64_t *at = malloc(n_from * sizeof *at);
    assert_non_null(at);
    memcpy(at, desc->row, n_from * sizeof *at);
    for (uint32_t t = 0; t < n_to; t++)
        for (uint32_t k = 0; k < pair->in_degree; k++) {
            uint32_t word = vly_draws_word(&draws, ((uint64_t)t << 34) + k);
            uint32_t source = vly_below(word, n_from - others);
            source += others && source >= t;
            assert_true(at[source] < desc->row[source + 1]);
            assert_int_equal(desc->target[at[source]++], first + t);
        }
    free(at);
    vly_connectome_destroy(c);
}

/* Of whatever length, and wherever the loops over them are cut. */
static void in_degree_words(void **state)
{
    (void)state;
    static const uint32_t sizes[][2] = {{1, 3},    {3, 70},    {150, 200},
                                        {1021, 7}, {1027, 40}, {2500, 9}};
    for (uint32_t i = 0; i < 12; i++) {
        const uint32_t n = sizes[i / 2][1];
        builder b;
        builder_init(&b);
        builder_area(&b, "A", "lif_psc_delta", n);
        vly_pair *pair = builder_pair(&b, "m", 0, 0, VLY_RULE_FIXED_IN_DEGREE);
        pair->in_degree = sizes[i / 2][0];
        pair->multiple = true;
        pair->self = i & 1;
        check_words(&b, n, n);
    }
}

/* More rows than 4,096 buckets of 1,024. */
static void in_degree_many_rows(void **state)
{
    (void)state;
    builder b;
    builder_init(&b);
    builder_area(&b, "A", "lif_psc_delta", 5000000);
    builder_area(&b, "B", "lif_psc_delta", 300);
    vly_pair *pair = builder_pair(&b, "m", 0, 1, VLY_RULE_FIXED_IN_DEGREE);
    pair->in_degree = 2000;
    pair->multiple = true;
    check_words(&b, 5000000, 300);
}

static void in_degree_rule(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        builder b;
        uint32_t degrees[200] = {0};
        builder_init(&b);
        builder_area(&b, "A", "lif_psc_delta", 200);
        vly_pair *pair = builder_pair(&b, "m", 0, 0, VLY_RULE_FIXED_IN_DEGREE);
        pair->in_degree = 150;
        pair->self = i & 1;
        pair->multiple = i & 2;
        vly_connectome *c = built(&b);
        const vly_projection_desc *desc = &c->desc.projections[0];
        assert_rows(c, 0);
        for (uint64_t k = 0; k < c->desc.n_synapses; k++)
            degrees[desc->target[k]]++;
        for (int t = 0; t < 200; t++)
            assert_int_equal(degrees[t], 150);
        uint64_t own = count_self(desc, 200);
        uint64_t twice = count_twice(desc, 200);
        assert_true(pair->self ? own > 0 : own == 0);
        assert_true(pair->multiple ? twice > 0 : twice == 0);
        double chi2 = 0.0;
        for (int k = 0; k < 200; k++) {
            double off = (double)(desc->row[k + 1] - desc->row[k]) - 150.0;
            chi2 += off * off / 150.0;
        }
        assert_true(chi2 < chi2_limit(199));
        vly_connectome_destroy(c);
        pair->multiple = false;
        pair->in_degree = pair->self ? 201 : 200;
        assert_refused(&b, pair->self ? "in_degree is 201, wanted at most 200"
                                      : "in_degree is 200, wanted at most 199");
    }
}

/* The same from the other side; 200 of 200 targets without repetition. */
static void out_degree_rule(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        builder b;
        double degrees[200] = {0}, chi2 = 0.0;
        builder_init(&b);
        builder_area(&b, "A", "lif_psc_delta", 200);
        vly_pair *pair = builder_pair(&b, "m", 0, 0, VLY_RULE_FIXED_OUT_DEGREE);
        pair->out_degree = 150;
        pair->self = i & 1;
        pair->multiple = i & 2;
        vly_connectome *c = built(&b);
        const vly_projection_desc *desc = &c->desc.projections[0];
        assert_rows(c, 0);
        for (uint32_t k = 0; k < 200; k++)
            assert_int_equal(desc->row[k], 150 * k);
        uint64_t own = count_self(desc, 200);
        uint64_t twice = count_twice(desc, 200);
        assert_true(pair->self ? own > 0 : own == 0);
        assert_true(pair->multiple ? twice > 0 : twice == 0);
        for (uint64_t k = 0; k < c->desc.n_synapses; k++)
            degrees[desc->target[k]]++;
        for (int t = 0; t < 200; t++)
            chi2 += (degrees[t] - 150.0) * (degrees[t] - 150.0) / 150.0;
        assert_true(chi2 < chi2_limit(199));
        vly_connectome_destroy(c);
        pair->multiple = false;
        pair->out_degree = pair->self ? 200 : 199;
        c = built(&b);
        assert_int_equal(count_twice(&c->desc.projections[0], 200), 0);
        vly_connectome_destroy(c);
        pair->out_degree++;
        assert_refused(&b, pair->self
                               ? "out_degree is 201, wanted at most 200"
                               : "out_degree is 200, wanted at most 199");
    }
}

static void bernoulli_rule(void **state)
{
    (void)state;
    static const double ps[] = {0.003, 0.1, 0.9, 1.0};
    for (int i = 0; i < 4; i++) {
        builder b;
        builder_init(&b);
        builder_area(&b, "A", "lif_psc_delta", 400);
        vly_pair *pair =
            builder_pair(&b, "m", 0, 0, VLY_RULE_PAIRWISE_BERNOULLI);
        pair->p = ps[i];
        vly_connectome *c = built(&b);
        assert_rows(c, 0);
        assert_int_equal(count_twice(&c->desc.projections[0], 400), 0);
        double mean = 160000.0 * ps[i];
        double sd = sqrt(mean * (1.0 - ps[i]));
        assert_close((double)c->desc.n_synapses, mean, 3.9 * sd + 1e-9);
        assert_true(chi2_pairs(c, 8) < chi2_limit(63));
        vly_connectome_destroy(c);
        pair->self = false;
        c = built(&b);
        assert_rows(c, 0);
        assert_int_equal(count_self(&c->desc.projections[0], 400), 0);
        vly_connectome_destroy(c);
    }
}

/* Distances between the targets of a row are geometric. */
static void bernoulli_gaps(void **state)
{
    (void)state;
    builder b;
    double counts[20] = {0};
    double n = 0.0, chi2 = 0.0;
    builder_init(&b);
    builder_area(&b, "A", "lif_psc_delta", 50);
    builder_area(&b, "B", "lif_psc_delta", 5000);
    builder_pair(&b, "m", 0, 1, VLY_RULE_PAIRWISE_BERNOULLI)->p = 0.2;
    vly_connectome *c = built(&b);
    const vly_projection_desc *desc = &c->desc.projections[0];
    for (uint32_t k = 0; k < 50; k++)
        for (uint64_t i = desc->row[k] + 1; i < desc->row[k + 1]; i++) {
            uint32_t gap = desc->target[i] - desc->target[i - 1] - 1;
            counts[gap < 19 ? gap : 19]++;
            n++;
        }
    for (int g = 0; g < 20; g++) {
        double p = pow(0.8, g) * (g < 19 ? 0.2 : 1.0);
        chi2 += (counts[g] - n * p) * (counts[g] - n * p) / (n * p);
    }
    assert_true(chi2 < chi2_limit(19));
    vly_connectome_destroy(c);
}

/* 3 x 2 x 2 voxels of 2 neurons onto 2 x 2 x 2 of 1, by hand */
static void vectors_rule(void **state)
{
    (void)state;
    static int32_t list[][3] = {{1, 0, 0}, {0, 0, 1}, {1, 0, 0}, {-1, -1, -1}};
    builder b;
    builder_init(&b);
    builder_voxels(&b, "A", "feagi", 3, 2, 2, 2);
    builder_voxels(&b, "B", "feagi", 2, 2, 2, 1);
    vly_pair *pair = builder_pair(&b, "m", 0, 1, VLY_RULE_VECTORS);
    pair->vectors = list;
    pair->n_vectors = 4;
    vly_connectome *c = built(&b);
    const vly_projection_desc *desc = &c->desc.projections[0];
    assert_rows(c, 0);
    for (uint32_t k = 0; k < 24; k++) {
        uint32_t x = k / 8, y = k / 4 % 2, z = k / 2 % 2;
        uint32_t wanted[3], n = 0;
        if (x >= 1 && y >= 1 && z >= 1) /* {-1, -1, -1} */
            wanted[n++] = ((x - 1) * 2 + y - 1) * 2 + z - 1;
        if (x < 2 && z == 0)
            wanted[n++] = (x * 2 + y) * 2 + 1;
        if (x == 0)
            wanted[n++] = (2 + y) * 2 + z;
        assert_int_equal(desc->row[k + 1] - desc->row[k], n);
        for (uint32_t i = 0; i < n; i++)
            assert_int_equal(desc->target[desc->row[k] + i], 24 + wanted[i]);
    }
    vly_connectome_destroy(c);
}

/* All neurons of a voxel to all of the target voxel; itself left out. */
static void vectors_per_voxel(void **state)
{
    (void)state;
    static int32_t list[][3] = {{0, 0, 0}};
    builder b;
    builder_init(&b);
    builder_voxels(&b, "A", "feagi", 2, 1, 1, 3);
    vly_pair *pair = builder_pair(&b, "m", 0, 0, VLY_RULE_VECTORS);
    pair->vectors = list;
    pair->n_vectors = 1;
    vly_connectome *c = built(&b);
    assert_int_equal(c->desc.n_synapses, 18);
    assert_int_equal(c->desc.projections[0].target[9], 3);
    vly_connectome_destroy(c);
    pair->self = false;
    c = built(&b);
    assert_int_equal(c->desc.n_synapses, 12);
    assert_int_equal(count_self(&c->desc.projections[0], 6), 0);
    vly_connectome_destroy(c);
}

/* Adding a map or an area changes no other draw. */
static void draws_are_apart(void **state)
{
    (void)state;
    builder b;
    builder_init(&b);
    builder_area(&b, "A", "lif_psc_delta", 100);
    builder_pair(&b, "m", 0, 0, VLY_RULE_FIXED_TOTAL_NUMBER)->count = 5000;
    vly_connectome *one = built(&b);
    builder_area(&b, "B", "lif_psc_delta", 100);
    builder_pair(&b, "n", 0, 0, VLY_RULE_FIXED_TOTAL_NUMBER)->count = 5000;
    vly_connectome *two = built(&b);
    const uint32_t *first = one->desc.projections[0].target;
    assert_memory_equal(first, two->desc.projections[0].target, 5000 * 4);
    assert_memory_not_equal(first, two->desc.projections[1].target, 5000 * 4);
    vly_connectome_destroy(one);
    vly_connectome_destroy(two);
}

/* Rows longer than the area and rows of every length are sorted. */
static void long_rows(void **state)
{
    (void)state;
    static const uint32_t targets[] = {3, 70, 300, 70000};
    for (int i = 0; i < 4; i++) {
        builder b;
        builder_init(&b);
        builder_area(&b, "A", "lif_psc_delta", 3);
        builder_area(&b, "B", "lif_psc_delta", targets[i]);
        builder_pair(&b, "m", 0, 1, VLY_RULE_FIXED_TOTAL_NUMBER)->count = 1000;
        vly_connectome *c = built(&b);
        assert_rows(c, 0);
        vly_connectome_destroy(c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_to_one_rule),
        cmocka_unit_test(all_to_all_rule),
        cmocka_unit_test(total_number_rule),
        cmocka_unit_test(total_number_no_self),
        cmocka_unit_test(total_number_once),
        cmocka_unit_test(in_degree_words),
        cmocka_unit_test(in_degree_many_rows),
        cmocka_unit_test(in_degree_rule),
        cmocka_unit_test(out_degree_rule),
        cmocka_unit_test(bernoulli_rule),
        cmocka_unit_test(bernoulli_gaps),
        cmocka_unit_test(vectors_rule),
        cmocka_unit_test(vectors_per_voxel),
        cmocka_unit_test(draws_are_apart),
        cmocka_unit_test(long_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
