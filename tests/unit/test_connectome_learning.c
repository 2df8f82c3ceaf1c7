/* SPDX-License-Identifier: Apache-2.0
 * Projections that learn: their unit and the bound of their port by w_max, the
 * description for backends, the numbers at burst 0, the digest.
 */
#include "test_connectome_learning.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/memory.h"
#include "connectome/connectome_digest.h"
#include "connectome/learning_layout.h"
#include "connectome_path.h"
#include "digest_parts.h"

static void assert_refused(const char *text, const char *message)
{
    vly_error error = VLY_ERROR_INIT;
    vly_connectome *connectome = NULL;
    assert_int_equal(try_build(text, &connectome, &error), VLY_E_PARSE);
    assert_null(connectome);
    assert_string_equal(error.message, message);
}

/* ---- units -----------------------------------------------------------------
 */

/* 20 pA: 20 * 2^10 = 20480 fits int16. A weight of 1 alone would have q 14. */
static void unit_by_w_max(void **state)
{
    (void)state;
    vly_connectome *c = built(HEAD STDP("20") MAP("1"));
    const vly_projection_desc *p = &c->desc.projections[0];
    assert_int_equal(c->areas[0].q[0], 10);
    assert_int_equal(p->weight[0], 1024);
    assert_int_equal(p->shift, 0);
    assert_int_equal(p->flags, VLY_PROJECTION_PLASTIC);
    assert_int_equal(p->learning->most, 20480u << 16);
    assert_int_equal(c->areas[0].load[0][7], 20 * 20480);
    vly_connectome_destroy(c);
}

/* Beside weights of another size each map has a unit of its own, so that w_max
 * has 512 units at least; a map that learns is one projection, whatever its
 * weights are. */
static void unit_of_its_own(void **state)
{
    (void)state;
    vly_connectome *c = built(HEAD STDP("1") STATIC("3000") MAP("0.001"));
    const vly_projection_desc *p = &c->desc.projections[1];
    double unit = c->projections[1].unit;
    assert_int_equal(c->desc.n_projections, 2);
    assert_string_equal(p->map, "m");
    /* 3000 pA has shift 12 at q = 15, where 1 pA is 2^15, one too many */
    assert_int_equal(c->areas[0].q[0], 15);
    assert_int_equal(p->shift, 6);
    assert_int_equal(p->learning->most, 512u << 16);
    assert_close(p->learning->most * unit / 65536.0, 1.0, 1e-9);
    assert_close(p->weight[0] * unit, 0.001, unit);
    vly_connectome_destroy(c);
    c = built(HEAD STDP("1000") STATIC("0.01")
                  MAP("{ lognormal = [-2, 3], clip = [0, 1000] }"));
    assert_int_equal(c->desc.n_projections, 2);
    p = &c->desc.projections[1];
    assert_true(p->shift > 0);
    assert_true(p->learning->most >= 512u << 16);
    assert_close(p->learning->most * c->projections[1].unit / 65536.0, 1000.0,
                 1e-6);
    vly_connectome_destroy(c);
}

/* Rounding never brings m above its bound. */
static void weights_at_the_bound(void **state)
{
    (void)state;
    static const char *const w_max[] = {"0.3", "2.999", "1e-3", "7.77",
                                        "123.4"};
    for (size_t i = 0; i < sizeof w_max / sizeof w_max[0]; i++)
        for (int sign = 0; sign < 2; sign++) {
            char text[1024];
            const char *minus = sign ? "-" : "";
            snprintf(text, sizeof text,
                     HEAD "[plasticity.p]\nrule = \"stdp\"\nw_max_pa = %s%s\n"
                          "[[map]]\nfrom = \"E\"\nto = \"E\"\n"
                          "rule = \"all_to_all\"\nweight_pa = %s%s\n"
                          "plasticity = \"p\"\n" STATIC("900"),
                     minus, w_max[i], minus, w_max[i]);
            vly_connectome *c = built(text);
            const vly_projection_desc *p = &c->desc.projections[0];
            const uint32_t *m = c->start.weights;
            assert_int_equal(p->learning->flags,
                             sign ? VLY_LEARNING_NEGATIVE : 0);
            for (int k = 0; k < 400; k++) {
                assert_true(m[k] <= p->learning->most);
                assert_true(p->learning->most - m[k] < 65536u);
                assert_true(sign ? p->weight[k] < 0 : p->weight[k] > 0);
            }
            vly_connectome_destroy(c);
        }
}

/* 40,000 weights of 0.1 alone would have q 18; at w_max = 1.9 and q = 14 they
 * could add 40,000 * 31,130 > 2^30. */
static void bound_by_w_max(void **state)
{
    (void)state;
    vly_connectome *c =
        built("format = 1\n[area.A]\nmodel = \"lif_psc_exp\"\n"
              "neurons = 40000\n[area.E]\nmodel = \"lif_psc_exp\"\n"
              "neurons = 1\n" STDP("1.9") "[[map]]\nfrom = \"A\"\nto = \"E\"\n"
                                          "rule = \"all_to_all\"\nweight_pa = "
                                          "0.1\nplasticity = \"p\"\n");
    assert_int_equal(c->areas[1].q[0], 13);
    assert_int_equal(c->areas[1].load[0][0], 40000 * 15565);
    vly_connectome_destroy(c);
}

static void refused(void **state)
{
    (void)state;
    assert_refused(HEAD STDP("1e-9") MAP("0") STATIC("1e9"),
                   "t:19:13: map m (E -> E): w_max 1e-09 would become 0: q is "
                   "-3 (units of "
                   "2^3), because of weight 1e+09 of map s");
    assert_refused(
        "format = 1\n[area.E]\nmodel = \"lif_psc_exp\"\n"
        "voxels = [9, 1, 1]\n" STDP(
            "2") "[[map]]\nid = \"m\"\n"
                 "from = \"E\"\nto = \"E\"\nrule = \"distance\"\n"
                 "draw = \"pairwise_bernoulli\"\nkernel = { constant = 1 }\n"
                 "weight_pa = 1\nslope_weight_pa = 0.25\n"
                 "plasticity = \"p\"\n",
        "t:8:1: map m (E -> E): its weights reach from 1 to 3, "
        "wanted 0 to 2: w_max of [plasticity.p]");
}

/* ---- description ------------------------------------------------------------
 */

static void descriptions(void **state)
{
    (void)state;
    vly_connectome *c = built(EVERYTHING);
    const vly_projection_desc *p = c->desc.projections;
    assert_int_equal(c->desc.n_projections, 4);
    assert_null(p[0].learning);
    assert_int_equal(p[0].flags, 0);
    for (int k = 1; k < 4; k++) {
        const vly_learning_desc *learning = p[k].learning;
        const vly_plasticity_info *info = vly_plasticity_find(learning->rule);
        assert_int_equal(learning->struct_size, sizeof *learning);
        assert_int_equal(learning->rule_hash, info->table_hash);
        assert_int_equal(learning->n_coefs, info->n_coefs);
        assert_int_equal(learning->coefs[info->n_coefs - 1], learning->most);
        assert_int_equal(p[k].flags, VLY_PROJECTION_PLASTIC);
        assert_null(p[k].delay);
    }
    assert_string_equal(p[1].learning->rule, "stdp");
    assert_int_equal(p[1].learning->flags, 0);
    assert_int_equal(p[1].port, 0);
    assert_int_equal(p[1].base_delay, 15);
    assert_int_equal(p[1].learning->source[0].bursts, 2080);
    assert_int_equal(p[1].learning->source[1].bursts, 0);
    assert_int_equal(p[2].learning->flags, VLY_LEARNING_NEGATIVE |
                                               VLY_LEARNING_DENDRITIC |
                                               VLY_LEARNING_NEAREST);
    assert_int_equal(p[2].port, 1);
    assert_int_equal(p[3].learning->flags, VLY_LEARNING_FROZEN);
    assert_int_equal(p[3].port, 0);
    /* 20 bursts twice, of the dendritic one */
    assert_int_equal(c->desc.max_delay, 40);
    vly_connectome_destroy(c);
}

/* FEAGI's rule: gains as well, one window for both sides, no rates. */
static void windows(void **state)
{
    (void)state;
    vly_connectome *c = built(WINDOWS);
    const vly_projection_desc *p = c->desc.projections;
    assert_int_equal(c->desc.n_projections, 1);
    assert_int_equal(p->flags, VLY_PROJECTION_PLASTIC | VLY_PROJECTION_GAIN);
    assert_int_equal(p->learning->flags, VLY_LEARNING_WINDOW);
    assert_int_equal(p->learning->most, 9 << 16);
    assert_int_equal(p->learning->source[0].bursts, 4);
    assert_int_equal(p->learning->target[0].bursts, 4);
    assert_true(p->learning->source[0].rate == 0.0f);
    /* the bound counts w_max at every synapse: 20 sources of gain 2^Q */
    assert_int_equal(c->areas[2].load[0][0],
                     20u * 9u * (UINT32_C(1) << c->desc.feagi_q));
    assert_int_equal(c->desc.max_delay, 1);
    vly_connectome_destroy(c);
}

static void start_numbers(void **state)
{
    (void)state;
    vly_connectome *c = built(EVERYTHING);
    const vly_net_desc *desc = &c->desc;
    const uint32_t *words = c->start.weights;
    uint64_t n = 0;
    for (uint32_t p = 0; p < desc->n_projections; p++) {
        vly_learning_layout at;
        const vly_projection_desc *projection = &desc->projections[p];
        vly_learning_layout_of(desc, p, &at);
        assert_int_equal(vly_learning_words_before(desc, p), n);
        assert_int_equal(vly_learning_words(desc, p), at.n_words);
        if (!projection->learning) {
            assert_int_equal(at.n_words, 0);
            continue;
        }
        uint32_t traces = p == 3 ? 2 : 1;
        assert_int_equal(at.n_synapses, c->projections[p].n_synapses);
        assert_int_equal(at.n_words,
                         at.n_synapses +
                             2 * traces * (at.n_sources + at.n_targets));
        for (uint64_t i = 0; i < at.n_synapses; i++)
            assert_int_equal(words[n + i], (uint32_t)abs(projection->weight[i])
                                               << 16);
        /* values, then ages, of each trace in turn */
        uint64_t next = at.n_synapses;
        for (uint32_t k = 0; k < 2; k++) {
            if (k >= traces) {
                assert_true(at.x[k] == VLY_NO_TRACE && at.y[k] == VLY_NO_TRACE);
                continue;
            }
            assert_int_equal(at.x[k], next);
            assert_int_equal(at.x_age[k], next + at.n_sources);
            next += 2 * (uint64_t)at.n_sources;
        }
        for (uint32_t k = 0; k < traces; k++) {
            assert_int_equal(at.y[k], next);
            assert_int_equal(at.y_age[k], next + at.n_targets);
            next += 2 * (uint64_t)at.n_targets;
            assert_int_equal(words[n + at.y[k]], 0);
            assert_int_equal(words[n + at.y_age[k]], VLY_NEVER);
            assert_int_equal(words[n + at.x[k] + at.n_sources - 1], 0);
            assert_int_equal(words[n + at.x_age[k] + at.n_sources - 1],
                             VLY_NEVER);
        }
        n += at.n_words;
    }
    assert_int_equal(vly_learning_words_all(desc), n);
    assert_int_equal(c->start.n_weight_bytes, 4 * n);
    vly_connectome_destroy(c);
    c = built(HEAD STATIC("1"));
    assert_null(c->start.weights);
    assert_int_equal(c->start.n_weight_bytes, 0);
    vly_connectome_destroy(c);
}

/* ---- digest and memory
 * --------------------------------------------------------- */

static void digests(void **state)
{
    (void)state;
    vly_error error = VLY_ERROR_INIT;
    vly_connectome *c = built(EVERYTHING);
    assert_ok(vly_connectome_save(c, path, &error), error);
    for (uint64_t seed = 0; seed < 5; seed++)
        assert_true(digest_parts_check(c, path, seed, "a test"));
    vly_hash before = vly_connectome_digest_part(c, 0, c->desc.n_neurons, 2);
    for (uint32_t p = 1; p < c->desc.n_projections; p++) {
        vly_learning_desc *learning =
            (void *)(uintptr_t)c->desc.projections[p].learning;
        uint32_t *words[] = {
            &learning->flags,
            (uint32_t *)(uintptr_t)&learning->coefs[0],
            (uint32_t *)(uintptr_t)&learning->coefs[learning->n_coefs - 1],
            &learning->most,
            &learning->source[0].bursts,
            &learning->source[1].bursts,
            &learning->target[0].bursts,
            &learning->target[1].bursts,
        };
        for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
            *words[i] ^= 1u;
            vly_hash after =
                vly_connectome_digest_part(c, 0, c->desc.n_neurons, 2);
            *words[i] ^= 1u;
            assert_true(before.lane[0] != after.lane[0] &&
                        before.lane[1] != after.lane[1]);
        }
    }
    vly_connectome_destroy(c);
}

/* The k-th allocation fails, for every k. */
static void out_of_memory(void **state)
{
    (void)state;
    vly_error error = VLY_ERROR_INIT;
    vly_genome *genome = NULL;
    const char *text = EVERYTHING;
    vly_connectome *c = built(text);
    assert_ok(vly_connectome_save(c, path, &error), error);
    vly_connectome_destroy(c);
    assert_ok(
        vly_genome_parse(text, strlen(text), "t", NULL, 0, &genome, &error),
        error);
    uint64_t live = vly_memory_live();
    for (int load = 0; load < 2; load++) {
        vly_status status = VLY_E_NOMEM;
        for (uint64_t k = 1; status != VLY_OK; k++) {
            vly_memory_fail_at(k);
            c = NULL;
            status = load ? vly_connectome_load(path, 1, &c, &error)
                          : vly_connectome_build(genome, 1, &c, &error);
            vly_memory_fail_at(0);
            if (status != VLY_OK)
                assert_int_equal(status, VLY_E_NOMEM);
            vly_connectome_destroy(c);
            assert_true(vly_memory_live() == live);
        }
    }
    vly_genome_destroy(genome);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(unit_by_w_max),
    cmocka_unit_test(unit_of_its_own),
    cmocka_unit_test(weights_at_the_bound),
    cmocka_unit_test(bound_by_w_max),
    cmocka_unit_test(refused),
    cmocka_unit_test(descriptions),
    cmocka_unit_test(windows),
    cmocka_unit_test(start_numbers),
    cmocka_unit_test_setup_teardown(digests, make_path, remove_path),
    cmocka_unit_test_setup_teardown(out_of_memory, make_path, remove_path),
};

VLY_TEST_MAIN(tests)
