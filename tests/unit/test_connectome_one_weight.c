/* SPDX-License-Identifier: Apache-2.0
 * Projections whose weights are all one: which have no weights, what is read
 * from them, their file, and the weights that an older plugin gets.
 */
#include "test_connectome_learning.h"

#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "connectome/connectome_digest.h"
#include "connectome/connectome_work.h"
#include "connectome_path.h"
#include "plugin/all_weights.h"
#include "plugin/registry.h"

/* ---- which have none ------------------------------------------------------
 */

#define AREA                                                                   \
    "format = 1\n[run]\ndt_ms = 0.1\nms = 10\n"                                \
    "[area.E]\nmodel = \"lif_psc_exp\"\nneurons = 300\n"                       \
    "[area.C]\nmodel = \"lif_cond_exp\"\nneurons = 100\n"                      \
    "[area.F]\nmodel = \"feagi\"\nneurons = 50\n"
#define TO(to, keys)                                                           \
    "[[map]]\nfrom = \"E\"\nto = \"" to "\"\nrule = \"fixed_in_degree\"\n"     \
    "in_degree = 7\n" keys "\n"
#define FADES "[plasticity.f]\nrule = \"tsodyks2\"\ntau_rec_ms = 50\n"
#define LEARNS "[plasticity.p]\nrule = \"stdp\"\nw_max_pa = 9\n"

typedef struct one_case {
    const char *text;
    int32_t weight; /* in units of the projection; 0: it has weights */
    uint32_t n_projections;
} one_case;

static const one_case cases[] = {
    {AREA TO("E", "weight_pa = 3"), 24576, 1},
    {AREA TO("E", "weight_pa = -3"), -24576, 1},
    {AREA TO("E", "weight_pa = { uniform = [3, 4] }"), 0, 1},
    {AREA TO("E", "weight_pa = { uniform = [3, 3] }"), 24576, 1},
    /* one integer, although it is drawn */
    {AREA TO("F", "weight = { uniform = [6.6, 7.4] }"), 7, 1},
    {AREA TO("F", "weight = -9\ndelay_ms = { uniform = [1, 9] }"), -9, 1},
    {AREA TO("C", "weight_ns = -2"), -32768, 1},
    /* parts of a map of far delays */
    {AREA TO("E", "weight_pa = 3\ndelay_ms = { uniform = [1, 90] }"), 24576, 4},
    {AREA FADES TO("E", "weight_pa = 3\nplasticity = \"f\""), 24576, 1},
    {AREA LEARNS TO("E", "weight_pa = 3\nplasticity = \"p\""), 0, 1},
};

static void assert_case(const one_case *at, const vly_connectome *c)
{
    assert_int_equal(c->desc.n_projections, at->n_projections);
    for (uint32_t p = 0; p < c->desc.n_projections; p++) {
        const vly_projection_desc *desc = &c->desc.projections[p];
        const uint64_t n = c->projections[p].n_synapses;
        assert_true(n > 0);
        assert_int_equal(desc->weight != NULL, at->weight == 0);
        assert_int_equal(desc->one_weight, at->weight);
        double *weights = vly_malloc((size_t)n, sizeof *weights);
        vly_error error = VLY_ERROR_INIT;
        assert_non_null(weights);
        assert_ok(vly_connectome_synapses(c, p, 0, n, NULL, NULL, weights, NULL,
                                          &error),
                  error);
        for (uint64_t i = 0; i < n && at->weight; i++) {
            assert_int_equal(vly_weight_at(desc, i), at->weight);
            assert_true(weights[i] == at->weight * c->projections[p].unit);
        }
        if (at->weight)
            assert_true(weights[0] == c->projections[p].weight_min &&
                        weights[0] == c->projections[p].weight_max);
        vly_free(weights);
    }
}

static void which_have_none(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        vly_connectome *c = built(cases[i].text);
        assert_case(&cases[i], c);
        vly_connectome_destroy(c);
    }
}

/* ---- every weight ---------------------------------------------------------
 */

/* The same connectome as an older engine held it: with every weight. */
static vly_connectome *with_all(const char *text)
{
    const vly_backend older = {.flags = VLY_BACKEND_ALL_WEIGHTS};
    vly_error error = VLY_ERROR_INIT;
    vly_net_desc *own = NULL;
    vly_connectome *c = built(text);
    assert_ok(vly_all_weights(&older, &c->desc, &own, &error), error);
    if (!own)
        return c;
    assert_true(vly_storage_adopt(c->storage, own, 0));
    c->desc.projections = own->projections;
    return c;
}

static void older_plugins(void **state)
{
    (void)state;
    const vly_backend newer = {.flags = 0};
    const vly_backend older = {.flags = VLY_BACKEND_ALL_WEIGHTS};
    vly_error error = VLY_ERROR_INIT;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        vly_connectome *c = built(cases[i].text);
        vly_net_desc *own = &c->desc;
        assert_ok(vly_all_weights(&newer, &c->desc, &own, &error), error);
        assert_null(own);
        assert_ok(vly_all_weights(&older, &c->desc, &own, &error), error);
        assert_int_equal(own != NULL, cases[i].weight != 0);
        for (uint32_t p = 0; own && p < own->n_projections; p++) {
            const vly_projection_desc *all = &own->projections[p];
            assert_non_null(all->weight);
            assert_int_equal(all->one_weight, 0); /* reserved, before 1.10 */
            assert_ptr_equal(all->target, c->desc.projections[p].target);
            for (uint64_t k = 0; k < c->projections[p].n_synapses; k++)
                assert_int_equal(all->weight[k], cases[i].weight);
        }
        vly_free(own);
        vly_connectome_destroy(c);
    }
}

/* ---- files ----------------------------------------------------------------
 */

static unsigned char *saved(const vly_connectome *c, size_t *n)
{
    vly_error error = VLY_ERROR_INIT;
    assert_ok(vly_connectome_save(c, path, &error), error);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    *n = (size_t)ftell(file);
    rewind(file);
    unsigned char *bytes = vly_malloc(*n, 1);
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, *n, file), *n);
    fclose(file);
    return bytes;
}

/* The saved file holds the weight of each synapse, also of a map that keeps
 * only one weight in memory. Loading the file keeps only one again. */
static void assert_file(const one_case *at)
{
    vly_connectome *none = built(at->text);
    vly_connectome *all = with_all(at->text);
    vly_hash one = vly_connectome_digest(none, 2);
    vly_hash two = vly_connectome_digest(all, 3);
    size_t n, n_all, n_again;
    assert_memory_equal(&one, &two, sizeof one);
    unsigned char *bytes = saved(none, &n);
    unsigned char *bytes_all = saved(all, &n_all);
    assert_int_equal(n, n_all);
    assert_memory_equal(bytes, bytes_all, n);
    for (int verify = 0; verify < 2; verify++) {
        vly_error error = VLY_ERROR_INIT;
        vly_connectome *read = NULL;
        assert_ok(vly_connectome_load(path, verify, &read, &error), error);
        assert_case(at, read);
        assert_memory_equal(&read->hash, &none->hash, sizeof one);
        one = vly_connectome_digest(read, 1);
        assert_memory_equal(&one, &two, sizeof one);
        unsigned char *again = saved(read, &n_again);
        assert_int_equal(n, n_again);
        assert_memory_equal(bytes, again, n);
        vly_free(again);
        vly_connectome_destroy(read);
    }
    vly_free(bytes);
    vly_free(bytes_all);
    vly_connectome_destroy(none);
    vly_connectome_destroy(all);
}

static void files(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_file(&cases[i]);
}

/* Several megabytes of weights: blocks of one word, beside others; memory that
 * is given back. */
#define LARGE                                                                  \
    "format = 1\n[run]\ndt_ms = 0.1\nms = 10\n"                                \
    "[area.E]\nmodel = \"lif_psc_exp\"\nneurons = 3000\n"
#define MANY(weight)                                                           \
    "[[map]]\nfrom = \"E\"\nto = \"E\"\nrule = \"fixed_in_degree\"\n"          \
    "in_degree = 500\nweight_pa = " weight "\n"

static void large_files(void **state)
{
    (void)state;
    static const char text[] =
        LARGE MANY("5") MANY("{ uniform = [1, 2] }") MANY("5") MANY("-3");
    const uint64_t n_weights = 3 * UINT64_C(1500000);
    vly_connectome *none = built(text);
    vly_connectome *all = with_all(text);
    size_t n, n_all;
    unsigned char *bytes = saved(none, &n);
    unsigned char *bytes_all = saved(all, &n_all);
    assert_int_equal(n, n_all);
    assert_memory_equal(bytes, bytes_all, n);
    vly_connectome *read = NULL;
    vly_error error = VLY_ERROR_INIT;
    assert_ok(vly_connectome_load(path, 1, &read, &error), error);
    assert_null(read->desc.projections[0].weight);
    assert_non_null(read->desc.projections[1].weight);
    assert_null(read->desc.projections[3].weight);
    /* all but the pages at the ends of three arrays */
    assert_in_range(read->n_bytes, n - 2 * n_weights,
                    n - 2 * n_weights + 65536);
    vly_free(bytes);
    vly_free(bytes_all);
    vly_connectome_destroy(read);
    vly_connectome_destroy(none);
    vly_connectome_destroy(all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(which_have_none),
        cmocka_unit_test(older_plugins),
        cmocka_unit_test_setup_teardown(files, make_path, remove_path),
        cmocka_unit_test_setup_teardown(large_files, make_path, remove_path),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
