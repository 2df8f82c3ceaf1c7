/* SPDX-License-Identifier: Apache-2.0
 * [plasticity] and maps that learn: values, ports, hash, resolve, --set, [use].
 */
#include "test_genome_text.h"

#include <unistd.h>

#include "genome/genome_reader.h"

#define HEAD                                                                   \
    "format = 1\n"                                                             \
    "[run]\ndt_ms = 0.1\n"                                                     \
    "[area.E]\nmodel = \"lif_psc_exp\"\nneurons = 10\n"                        \
    "[area.C]\nmodel = \"lif_cond_exp\"\nneurons = 10\n"
#define TABLE                                                                  \
    "[plasticity.p]\nrule = \"stdp\"\nw_max_pa = \"=2*1.5\"\nlambda = 0.02\n"
#define MAP                                                                    \
    "[[map]]\nid = \"m\"\nfrom = \"E\"\nto = \"E\"\nrule = \"all_to_all\"\n"   \
    "weight_pa = 1\ndelay_ms = 1.5\n"
#define LEARNS "plasticity = \"p\"\n"

static double param(const vly_plasticity *of, const char *name)
{
    for (uint32_t i = 0; i < of->info->n_params; i++)
        if (strcmp(of->info->params[i].name, name) == 0)
            return of->params[i];
    fail_msg("no %s", name);
    return 0.0;
}

static void values(void **state)
{
    (void)state;
    vly_genome *g = genome_of(HEAD TABLE MAP LEARNS);
    assert_int_equal(g->n_plasticities, 1);
    assert_int_equal(g->n_notes, 0);
    const vly_plasticity *p = g->pairs[0].plasticity;
    assert_ptr_equal(p, &g->plasticities[0]);
    assert_string_equal(p->name, "p");
    assert_string_equal(p->info->id, "stdp");
    assert_string_equal(p->suffix, "pa");
    assert_true(p->w_max == 3.0);
    assert_true(param(p, "lambda") == 0.02);
    assert_true(param(p, "tau_plus_ms") == 20.0);
    assert_false(p->dendritic || p->nearest || p->frozen);
    assert_int_equal(g->pairs[0].port, 0);
    vly_genome_destroy(g);
    g = genome_of(HEAD "[plasticity.p]\nrule = \"stdp_inhibitory\"\n"
                       "w_max_pa = -5\neta_pa = 0.25\ndelay = \"dendritic\"\n"
                       "nearest = true\nfrozen = true\n"
                       "[[map]]\nfrom = \"E\"\nto = \"E\"\n"
                       "rule = \"all_to_all\"\nweight_pa = "
                       "{ uniform = [-5, 0] }\n" LEARNS);
    p = g->pairs[0].plasticity;
    assert_true(p->w_max == -5.0 && param(p, "eta") == 0.25);
    assert_true(p->dendritic && p->nearest && p->frozen);
    vly_genome_destroy(g);
}

/* Without `port` the sign of w_max chooses one of two. */
static void ports(void **state)
{
    (void)state;
    static const struct {
        const char *w_max;
        uint32_t port;
    } cases[] = {{"5", 0}, {"-5", 1}};
    for (int i = 0; i < 2; i++) {
        char text[1024];
        snprintf(text, sizeof text,
                 HEAD "[plasticity.p]\nrule = \"stdp\"\nw_max_ns = %s\n"
                      "[[map]]\nfrom = \"E\"\nto = \"C\"\n"
                      "rule = \"all_to_all\"\nweight_ns = 0\n" LEARNS,
                 cases[i].w_max);
        vly_genome *g = genome_of(text);
        assert_int_equal(g->pairs[0].port, cases[i].port);
        vly_genome_destroy(g);
    }
}

static vly_hash hash_of(const char *text)
{
    vly_genome *g = genome_of(text);
    vly_hash hash = g->hash;
    vly_genome_destroy(g);
    return hash;
}

static bool same(vly_hash a, vly_hash b)
{
    return a.lane[0] == b.lane[0] && a.lane[1] == b.lane[1];
}

static void hashes(void **state)
{
    (void)state;
    vly_hash plain = hash_of(HEAD MAP);
    vly_hash learns = hash_of(HEAD TABLE MAP LEARNS);
    /* a table that no map names changes nothing, nor does its name */
    assert_true(same(plain, hash_of(HEAD TABLE MAP)));
    assert_false(same(plain, learns));
    assert_true(same(learns, hash_of(HEAD "[plasticity.q]\nrule = \"stdp\"\n"
                                          "w_max_pa = 3\nlambda = 0.02\n" MAP
                                          "plasticity = \"q\"\n")));
    static const char *const more[] = {"alpha = 1.1\n", "tau_minus_ms = 21\n",
                                       "delay = \"dendritic\"\n",
                                       "nearest = true\n", "frozen = true\n"};
    for (size_t i = 0; i < sizeof more / sizeof more[0]; i++) {
        char text[1024];
        snprintf(text, sizeof text, HEAD TABLE "%s" MAP LEARNS, more[i]);
        assert_false(same(learns, hash_of(text)));
    }
    assert_false(same(
        learns, hash_of(HEAD "[plasticity.p]\nrule = \"stdp\"\n"
                             "w_max_pa = 3.5\nlambda = 0.02\n" MAP LEARNS)));
    assert_false(
        same(hash_of(HEAD "[plasticity.p]\nrule = \"stdp\"\nw_max_pa = 3\n"
                          "tau_plus_ms = 20\n" MAP LEARNS),
             hash_of(HEAD "[plasticity.p]\nrule = \"stdp_power\"\n"
                          "w_max_pa = 3\n" MAP LEARNS)));
}

static void resolved(void **state)
{
    (void)state;
    static const char *const texts[] = {
        HEAD TABLE MAP LEARNS,
        HEAD "[plasticity.\"x/y\"]\nrule = \"stdp_inhibitory\"\n"
             "w_max_ns = -2.5\neta_ns = 0.01\ndelay = \"dendritic\"\n"
             "frozen = true\n[[map]]\nlink = [\"E -> C\", \"C -> C\"]\n"
             "rule = \"all_to_all\"\nweight_ns = -1\nplasticity = \"x/y\"\n",
        HEAD
        "[plasticity.p]\nrule = \"stdp_triplet\"\nw_max_pa = 1\n" MAP LEARNS};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        vly_genome *g = genome_of(texts[i]);
        vly_genome *again = genome_of(g->resolved);
        assert_true(same(g->hash, again->hash));
        vly_genome *third = genome_of(again->resolved);
        assert_true(same(g->hash, third->hash));
        assert_non_null(strstr(g->resolved, "plasticity = \""));
        vly_genome_destroy(g);
        vly_genome_destroy(again);
        vly_genome_destroy(third);
    }
    vly_genome *g = genome_of(texts[0]);
    assert_non_null(strstr(g->resolved, "[plasticity.\"p\"]\n"
                                        "rule = \"stdp\"  # line 11\n"
                                        "w_max_pa = 3  # line 12\n"
                                        "tau_plus_ms = 20  # default\n"));
    vly_genome_destroy(g);
}

static void overrides(void **state)
{
    (void)state;
    const vly_override set[] = {{"plasticity.p.lambda", "0.5"},
                                {"plasticity.p.w_max_pa", "4"},
                                {"plasticity.p.delay", "dendritic"},
                                {"plasticity.p.frozen", "true"}};
    vly_genome *g = genome_with(HEAD TABLE MAP LEARNS, set, 4);
    const vly_plasticity *p = &g->plasticities[0];
    assert_true(param(p, "lambda") == 0.5 && p->w_max == 4.0);
    assert_true(p->dendritic && p->frozen);
    assert_non_null(strstr(g->resolved, "lambda = 0.5  # --set\n"));
    assert_non_null(strstr(g->resolved, "delay = \"dendritic\"  # --set\n"));
    vly_genome_destroy(g);
    const vly_override off = {"map.m.plasticity", "q"};
    assert_refused_with(
        HEAD TABLE MAP LEARNS, &off, 1,
        "--set map.m.plasticity=q: no [plasticity.q], wanted p");
    const vly_override small = {"plasticity.p.w_max_pa", "0.5"};
    assert_refused_with(HEAD TABLE MAP LEARNS, &small, 1,
                        "t:19:13: weight_pa is 1, wanted 0 to 0.5: w_max_pa of "
                        "[plasticity.p]");
    const vly_override wrong = {"plasticity.q.lambda", "0.5"};
    assert_refused_with(HEAD TABLE MAP LEARNS, &wrong, 1,
                        "--set plasticity.q.lambda=0.5: no plasticity q, "
                        "wanted p");
    const vly_override typo = {"plasticiti.p.lambda", "0.5"};
    assert_refused_with(HEAD TABLE MAP LEARNS, &typo, 1,
                        "--set plasticiti.p.lambda=0.5: unknown path, no "
                        "plasticiti, did you mean plasticity?");
}

/* Maps without an id are counted in their own file. */
static void included_records(void **state)
{
    static const char *const named[] = {"m",     "map:3", "a/m",
                                        "map:6", "b/m",   "map:9"};
    char path[512], text[2048];
    vly_error error = VLY_ERROR_INIT;
    vly_genome *g = NULL;
    (void)state;
    snprintf(path, sizeof path, VLY_TEST_BINARY_DIR "/samples.%d.toml",
             (int)getpid());
#define SAMPLES                                                                \
    "[[map]]\nfrom = \"E\"\nto = \"E\"\nrule = \"one_to_one\"\n"               \
    "weight_pa = 1\n[[map]]\nfrom = \"E\"\nto = \"E\"\n"                       \
    "rule = \"one_to_one\"\nweight_pa = 1\n" LEARNS                            \
    "[[record]]\nwhat = \"weights\"\nmap = \"m\"\ninterval_bursts = 5\n"       \
    "[[record]]\nwhat = \"weights\"\nmap = \"map:3\"\ninterval_bursts = 5\n"
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("format = 1\n[area.E]\nmodel = \"lif_psc_exp\"\nneurons = 10\n" TABLE
              MAP LEARNS SAMPLES,
          file);
    fclose(file);
    snprintf(text, sizeof text,
             HEAD TABLE MAP LEARNS SAMPLES
             "[use.a]\nfile = \"%s\"\n[use.b]\nfile = \"%s\"\n",
             path, path);
    assert_ok(vly_genome_parse(text, strlen(text), "t", NULL, 0, &g, &error),
              error);
    assert_int_equal(g->n_weight_records, 6);
    for (uint32_t r = 0; r < 6; r++)
        assert_string_equal(g->weight_records[r].map, named[r]);
    assert_string_equal(g->pairs[5].map, "map:6");
    assert_string_equal(g->pairs[5].plasticity->name, "a/p");
    vly_genome *again = genome_of(g->resolved);
    for (uint32_t r = 0; r < 6; r++)
        assert_string_equal(again->weight_records[r].map, named[r]);
    assert_true(same(g->hash, again->hash));
    vly_genome_destroy(again);
    vly_genome_destroy(g);
    unlink(path);
}

/* A misspelt bound is an unknown key, not a missing one. */
static void bound_misspelt(void **state)
{
    static const struct {
        const char *key;
        const char *said;
    } cases[] = {
        {"w_mx_pa = 3", "unknown key w_mx_pa in a [plasticity] of rule stdp, "
                        "did you mean w_max_pa?"},
        {"wmax_pa = 3", "unknown key wmax_pa in a [plasticity] of rule stdp, "
                        "did you mean w_max_pa?"},
        {"lambda = 0.1\nw_maxx_mv = 3",
         "unknown key w_maxx_mv in a [plasticity] of rule stdp, did you mean "
         "w_max_mv?"},
        {"Wmax = 3", "Wmax: rule stdp calls it w_max"},
        {"w_max_pA = 3", "w_max_pA: no port has this unit, wanted that of "
                         "weight_<unit>, did you mean w_max_pa?"},
        {"lambda = 0.1", "[plasticity.p] has no w_max, wanted w_max_<unit>"},
        {"w_max_foo = 3", "w_max_foo: no port has this unit, wanted that of "
                          "weight_<unit>"},
        {"lambd = 0.1", "[plasticity.p] has no w_max, wanted w_max_<unit>"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        vly_genome *genome = NULL;
        vly_error error = VLY_ERROR_INIT;
        char text[1024];
        snprintf(text, sizeof text,
                 HEAD "[plasticity.p]\nrule = \"stdp\"\n%s\n" MAP LEARNS,
                 cases[i].key);
        assert_int_equal(
            vly_genome_parse(text, strlen(text), "t", NULL, 0, &genome, &error),
            VLY_E_PARSE);
        if (!strstr(error.message, cases[i].said))
            fail_msg("%s: %s", cases[i].said, error.message);
        assert_int_equal(strstr(error.message, "did you mean") != NULL,
                         strstr(cases[i].said, "did you mean") != NULL);
    }
}

static void unused_tables_are_noted(void **state)
{
    (void)state;
    vly_genome *g = genome_of(HEAD TABLE MAP);
    assert_int_equal(g->n_notes, 1);
    assert_string_equal(g->notes[0],
                        "t:10:13: [plasticity.p] is not used: no map has "
                        "plasticity = \"p\"");
    vly_genome_destroy(g);
}

static void at_most_4096(void **state)
{
    (void)state;
    enum { LINE = 80 };
    vly_error error = VLY_ERROR_INIT;
    vly_genome *genome = NULL;
    char *text = vly_malloc((VLY_PLASTICITIES_MAX + 3) * LINE, 1);
    assert_non_null(text);
    size_t n = (size_t)sprintf(text, HEAD);
    for (uint32_t i = 0; i <= VLY_PLASTICITIES_MAX; i++)
        n += (size_t)sprintf(text + n,
                             "[plasticity.p%u]\nrule = \"stdp\"\n"
                             "w_max_pa = 1\n",
                             (unsigned)i);
    assert_int_equal(vly_genome_parse(text, n, "t", NULL, 0, &genome, &error),
                     VLY_E_PARSE);
    assert_non_null(
        strstr(error.message, ": 4097 plasticities, wanted at most 4096"));
    vly_free(text);
}

/* An included genome's tables get its prefix, and so do its maps' names. */
static void included(void **state)
{
    (void)state;
    char path[512], text[2048];
    vly_error error = VLY_ERROR_INIT;
    snprintf(path, sizeof path, VLY_TEST_BINARY_DIR "/plastic.%d.toml",
             (int)getpid());
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("format = 1\n[var]\nmost = 3\n"
          "[area.E]\nmodel = \"lif_psc_exp\"\nneurons = 10\n"
          "[plasticity.p]\nrule = \"stdp\"\nw_max_pa = \"=most\"\n" MAP LEARNS,
          file);
    fclose(file);
    snprintf(text, sizeof text,
             HEAD "[var]\nmost = 7\n[plasticity.p]\nrule = \"stdp_power\"\n"
                  "w_max_pa = \"=most\"\n" MAP LEARNS "[use.a]\nfile = \"%s\"\n"
                  "set = { \"plasticity.p.alpha\" = \"=2*most\" }\n",
             path);
    vly_genome *g = NULL;
    assert_ok(vly_genome_parse(text, strlen(text), "t", NULL, 0, &g, &error),
              error);
    assert_int_equal(g->n_plasticities, 2);
    assert_int_equal(g->n_pairs, 2);
    assert_int_equal(g->n_notes, 0);
    assert_string_equal(g->pairs[0].plasticity->name, "p");
    assert_true(g->pairs[0].plasticity->w_max == 7.0);
    assert_string_equal(g->pairs[1].plasticity->name, "a/p");
    assert_true(g->pairs[1].plasticity->w_max == 3.0);
    assert_true(param(g->pairs[1].plasticity, "alpha") == 14.0);
    vly_genome *again = genome_of(g->resolved);
    assert_true(same(g->hash, again->hash));
    vly_genome_destroy(again);
    vly_genome_destroy(g);
    unlink(path);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(values),         cmocka_unit_test(ports),
    cmocka_unit_test(hashes),         cmocka_unit_test(resolved),
    cmocka_unit_test(overrides),      cmocka_unit_test(unused_tables_are_noted),
    cmocka_unit_test(at_most_4096),   cmocka_unit_test(included),
    cmocka_unit_test(bound_misspelt), cmocka_unit_test(included_records),
};

VLY_TEST_MAIN(tests)
