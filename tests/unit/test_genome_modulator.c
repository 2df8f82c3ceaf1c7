/* SPDX-License-Identifier: Apache-2.0
 * Rules with an eligibility in a genome: the modulator's area, times in bursts,
 * hash, resolve, [use], and what a connectome makes of it, saved and loaded.
 */
#include "test_genome_text.h"

#include <unistd.h>

#include "connectome/connectome.h"
#include "connectome/learning_layout.h"

#define HEAD                                                                   \
    "format = 1\n[run]\ndt_ms = 0.5\n"                                         \
    "[area.E]\nmodel = \"lif_psc_exp\"\nneurons = 10\n"                        \
    "[area.D]\nmodel = \"lif_psc_exp\"\nneurons = 3\n"
#define TABLE                                                                  \
    "[plasticity.p]\nrule = \"stdp_reward\"\nw_max_pa = 4\na_plus_pa = 0.2\n"  \
    "tau_n_ms = 100\ninterval_ms = 5.3\n"
#define MAP                                                                    \
    "[[map]]\nid = \"m\"\nfrom = \"E\"\nto = \"E\"\nrule = \"all_to_all\"\n"   \
    "weight_pa = 1\ndelay_ms = 1\nplasticity = \"p\"\n"

static void area(void **state)
{
    (void)state;
    vly_genome *with = genome_of(HEAD TABLE "modulator = \"D\"\n" MAP);
    vly_genome *other = genome_of(HEAD TABLE "modulator = \"E\"\n" MAP);
    vly_genome *none = genome_of(HEAD TABLE MAP);
    assert_int_equal(with->plasticities[0].modulator, 1);
    assert_true(none->plasticities[0].modulator == VLY_NO_MODULATOR);
    assert_memory_not_equal(&with->hash, &none->hash, sizeof with->hash);
    assert_memory_not_equal(&with->hash, &other->hash, sizeof with->hash);
    assert_non_null(strstr(with->resolved, "\nmodulator = \"D\"  # line "));
    assert_null(strstr(none->resolved, "modulator"));
    vly_genome *again = genome_of(with->resolved);
    assert_memory_equal(&with->hash, &again->hash, sizeof with->hash);
    vly_genome_destroy(again);
    vly_genome_destroy(with);
    vly_genome_destroy(other);
    vly_genome_destroy(none);
}

/* The modulator of an included genome is its own area. */
static void included(void **state)
{
    vly_error error = VLY_ERROR_INIT;
    vly_genome *g = NULL;
    FILE *file = fopen("test_genome_modulator.toml", "w");
    (void)state;
    assert_non_null(file);
    fputs(HEAD TABLE "modulator = \"D\"\n" MAP, file);
    fclose(file);
    const char *text = "format = 1\n[run]\ndt_ms = 0.5\n"
                       "[area.D]\nmodel = \"lif_psc_exp\"\nneurons = 1\n"
                       "[use.a]\nfile = \"test_genome_modulator.toml\"\n";
    assert_ok(vly_genome_parse(text, strlen(text), "t", NULL, 0, &g, &error),
              error);
    unlink("test_genome_modulator.toml");
    const vly_plasticity *p = g->pairs[0].plasticity;
    assert_string_equal(g->areas[p->modulator].name, "a/D");
    vly_genome_destroy(g);
}

static void assert_modulated(const vly_connectome *c)
{
    const vly_net_desc *desc = &c->desc;
    const vly_learning_desc *l = desc->projections[0].learning;
    vly_learning_layout layout;
    assert_int_equal(l->struct_size, sizeof *l);
    assert_int_equal(l->interval, 11); /* of 0.5 ms, nearest to 5.3 */
    assert_int_equal(l->modulator_area, 1);
    assert_int_equal(l->modulator.bursts, 2080); /* 15 ln 2 * 200, up */
    assert_true(l->modulator.rate == 0.005f);
    vly_learning_layout_of(desc, 0, &layout);
    assert_int_equal(layout.n_synapses, 100);
    assert_int_equal(layout.e, 100);
    assert_int_equal(layout.x[0], 200);
    assert_int_equal(layout.modulator, 240);
    assert_int_equal(layout.n_words, 242);
}

static void connectome(void **state)
{
    static const char path[] = "test_genome_modulator.vlc";
    vly_error error = VLY_ERROR_INIT;
    vly_connectome *built = NULL;
    vly_connectome *loaded = NULL;
    (void)state;
    vly_genome *g = genome_of(HEAD TABLE "modulator = \"D\"\n" MAP);
    assert_ok(vly_connectome_build(g, 1, &built, &error), error);
    assert_modulated(built);
    assert_ok(vly_connectome_save(built, path, &error), error);
    assert_ok(vly_connectome_load(path, 1, &loaded, &error), error);
    unlink(path);
    assert_modulated(loaded);
    const vly_learning_desc *a = built->desc.projections[0].learning;
    const vly_learning_desc *b = loaded->desc.projections[0].learning;
    assert_memory_equal(&a->modulator, &b->modulator, sizeof a->modulator);
    vly_connectome_destroy(built);
    vly_connectome_destroy(loaded);
    vly_genome_destroy(g);
}

/* A file whose eligibilities have the unit of the map, as earlier versions
 * wrote it: a parameter that changes would have another one. */
static void earlier_file(void **state)
{
    static const char path[] = "test_genome_modulator_old.vlc";
    vly_error error = VLY_ERROR_INIT;
    vly_connectome *built = NULL;
    vly_connectome *loaded = NULL;
    float coefs[7];
    (void)state;
    vly_genome *g = genome_of(HEAD TABLE MAP);
    assert_ok(vly_connectome_build(g, 1, &built, &error), error);
    vly_learning_desc *l = NULL;
    memcpy(&l, &built->desc.projections[0].learning, sizeof l);
    assert_int_equal(l->n_coefs, 7);
    memcpy(coefs, l->coefs, sizeof coefs);
    const float scale = coefs[2] / 5.5e-3f; /* of 11 bursts */
    assert_true(scale == 32.0f);
    coefs[0] *= scale;
    coefs[1] *= scale;
    coefs[2] /= scale;
    l->coefs = (const uint32_t *)(const void *)coefs;
    assert_ok(vly_connectome_save(built, path, &error), error);
    assert_int_equal(vly_connectome_load(path, 1, &loaded, &error),
                     VLY_E_PARSE);
    assert_non_null(strstr(error.message,
                           "(map m) learns: its coefficients are not those of "
                           "its parameters, as in files of an earlier "
                           "version"));
    unlink(path);
    vly_connectome_destroy(built);
    vly_genome_destroy(g);
}

/* A map that learns by another rule has no word more than before. */
static void others(void **state)
{
    vly_error error = VLY_ERROR_INIT;
    vly_connectome *c = NULL;
    vly_learning_layout layout;
    (void)state;
    vly_genome *g =
        genome_of(HEAD "[plasticity.p]\nrule = \"stdp\"\nw_max_pa = 4\n" MAP);
    assert_ok(vly_connectome_build(g, 1, &c, &error), error);
    const vly_learning_desc *l = c->desc.projections[0].learning;
    assert_int_equal(l->modulator.bursts, 0);
    assert_int_equal(l->interval, 0);
    vly_learning_layout_of(&c->desc, 0, &layout);
    assert_true(layout.e == VLY_NO_TRACE && layout.modulator == VLY_NO_TRACE);
    assert_int_equal(layout.n_words, 140);
    vly_connectome_destroy(c);
    vly_genome_destroy(g);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(area), cmocka_unit_test(included),
    cmocka_unit_test(connectome), cmocka_unit_test(earlier_file),
    cmocka_unit_test(others)};
VLY_TEST_MAIN(tests)
