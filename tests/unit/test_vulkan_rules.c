/* SPDX-License-Identifier: Apache-2.0
 * A user's rule of plasticity on the Vulkan backend beside the reference, as
 * the ABI gives it: other coefficients are taken, other operations refused, and
 * a device that cannot run it refuses it by name.
 */
#include "kernels/rules/rule_program.h"
#include "test_cuda_pair.h"

enum {
    RULE_SOURCES = 40,
    RULE_FAN = 9,
    RULE_OPS = 4,
    RULE_COEF = 4,
    BURSTS = 48
};

/* on_pre: -coefficient * w, on_post: coefficient * x0 */
typedef struct rule_net {
    test_net net;
    vly_learning_desc learning;
    uint32_t words[VLY_RULE_PROGRAM_HEAD + 1 + 2 * 4 * RULE_OPS];
    uint32_t weights[RULE_SOURCES * RULE_FAN + 2 * RULE_SOURCES];
} rule_net;

static void make_rule_net(rule_net *r)
{
    static const uint32_t poisson[] = {0xc0000000u, 0xf0000000u};
    static const uint32_t ops[2 * RULE_OPS][4] = {
        {VLY_PROGRAM_FIELD, 0, 0, 0},    {VLY_PROGRAM_COEF, 0, 0, 0},
        {VLY_PROGRAM_MULTIPLY, 0, 1, 0}, {VLY_PROGRAM_NEGATE, 2, 0, 0},
        {VLY_PROGRAM_FIELD, 1, 0, 0},    {VLY_PROGRAM_COEF, 0, 0, 0},
        {VLY_PROGRAM_MULTIPLY, 0, 1, 0}, {VLY_PROGRAM_ABSOLUTE, 2, 0, 0}};
    const uint32_t most = 900u << 16;
    uint32_t coefs[NET_COEFS] = {0};
    memset(r, 0, sizeof *r);
    test_net_init(&r->net, 3);
    test_delta_coefs(coefs, 0.9f, 1);
    test_area(&r->net, "lif_psc_delta", RULE_SOURCES, coefs, 6);
    test_stimulus(&r->net, 0, poisson, 2, -20, 90, 0);
    test_random_projection(&r->net, 0, 0, RULE_FAN, 0, 400, 3, 0);
    test_net_finish(&r->net);
    memcpy(r->words, (const uint32_t[]){most, 1, RULE_OPS, RULE_OPS},
           VLY_RULE_PROGRAM_HEAD * sizeof *r->words);
    r->words[RULE_COEF] = test_float(0.3f);
    memcpy(r->words + RULE_COEF + 1, ops, sizeof ops);
    const uint32_t n = sizeof r->words / sizeof *r->words;
    r->learning =
        (vly_learning_desc){.struct_size = sizeof r->learning,
                            .rule = VLY_RULE_PROGRAM "r",
                            .rule_hash = vly_rule_program_hash(r->words, n),
                            .coefs = r->words,
                            .n_coefs = n,
                            .most = most,
                            .source = {{0.05f, 200}},
                            .modulator_area = UINT32_MAX};
    vly_projection_desc *map = &r->net.projections[0];
    map->map = "learns";
    map->flags = VLY_PROJECTION_PLASTIC;
    map->learning = &r->learning;
    for (uint32_t i = 0; i < RULE_SOURCES * RULE_FAN; i++)
        r->weights[i] = (uint32_t)map->weight[i] << 16;
    for (uint32_t i = 0; i < RULE_SOURCES; i++) /* no spike yet */
        r->weights[RULE_SOURCES * (RULE_FAN + 1) + i] = UINT32_MAX;
    r->net.start.weights = r->weights;
    r->net.start.n_weight_bytes = sizeof r->weights;
}

/* Runs both for some bursts; whether their weights have changed. */
static bool rule_runs(const rule_net *r, vly_backend_net *const nets[2])
{
    static int32_t m[3][RULE_SOURCES * RULE_FAN];
    const vly_backend *backends[2] = {pair_cpu, pair_cuda};
    vly_error error = {.struct_size = sizeof error};
    test_run runs[2];
    for (int b = 0; b < 2; b++) {
        if (b == 0)
            assert_ok(backends[b]->learning_read(
                          nets[b], 0, 0, RULE_SOURCES * RULE_FAN, m[2], &error),
                      error);
        pair_run(backends[b], &r->net, nets[b], BURSTS, NULL, 0, &runs[b]);
        assert_ok(backends[b]->learning_read(
                      nets[b], 0, 0, RULE_SOURCES * RULE_FAN, m[b], &error),
                  error);
    }
    pair_assert_run(&runs[0], &runs[1]);
    assert_true(runs[0].run.n_spikes > 100);
    assert_memory_equal(m[0], m[1], sizeof m[0]);
    test_run_deinit(&runs[0]);
    test_run_deinit(&runs[1]);
    return memcmp(m[0], m[2], sizeof m[0]) != 0;
}

/* Coefficients may be replaced, operations may not. A device without infinities
 * and NaN refuses rules of users. */
static void test_rule(void **state)
{
    (void)state;
    rule_net r;
    vly_backend_net *nets[2];
    const vly_backend *backends[2];
    vly_error error = {.struct_size = sizeof error};
    const vly_device_spec spec = {
        .struct_size = sizeof spec, .n_threads = 1, .options = "fault=2"};
    pair_open();
    backends[0] = pair_cpu;
    backends[1] = pair_cuda;
    make_rule_net(&r);
    for (int b = 0; b < 2; b++)
        nets[b] = pair_create(backends[b], &r.net, NULL, NULL);
    assert_true(rule_runs(&r, nets));
    uint32_t words[sizeof r.words / sizeof *r.words];
    memcpy(words, r.words, sizeof words);
    vly_learning_desc other = r.learning;
    other.coefs = words;
    words[RULE_COEF] = 0;
    for (int b = 0; b < 2; b++)
        assert_ok(backends[b]->learning_set(nets[b], 0, &other, &error), error);
    assert_false(rule_runs(&r, nets));
    words[RULE_COEF + 1] = VLY_PROGRAM_NUMBER;
    other.rule_hash = vly_rule_program_hash(words, other.n_coefs);
    for (int b = 0; b < 2; b++) {
        assert_int_equal(backends[b]->learning_set(nets[b], 0, &other, &error),
                         VLY_E_INVALID);
        assert_non_null(strstr(
            error.message, "map learns: rule synapse r with other operations"));
        backends[b]->net_destroy(nets[b]);
    }
    nets[1] = NULL;
    assert_int_equal(pair_cuda->net_create(&spec, &r.net.desc, &r.net.start,
                                           &nets[1], &error),
                     VLY_E_UNSUPPORTED);
    assert_null(nets[1]);
    assert_non_null(
        strstr(error.message, "map learns: its rule synapse r, a "));
    r.net.start.weights = NULL;
    test_net_deinit(&r.net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rule)};
    return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
