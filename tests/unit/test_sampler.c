/* SPDX-License-Identifier: Apache-2.0
 * Tokens from logits: those of an independent implementation, draw by draw;
 * shares of many draws; what may never be drawn; wrong logits and options.
 */
#include "monitor/sampler.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/random.h"
#include "volley_test.h"

#define GOLDEN VLY_TEST_SOURCE_DIR "/tests/golden/sampler_reference.csv"

static vly_sampler *create(uint32_t vocabulary,
                           const vly_sampler_options *options)
{
    vly_error error = VLY_ERROR_INIT;
    vly_sampler *sampler = NULL;
    assert_ok(vly_sampler_create(vocabulary, options, &sampler, &error), error);
    return sampler;
}

static uint32_t next(vly_sampler *sampler, const float *logits)
{
    vly_error error = VLY_ERROR_INIT;
    uint32_t token = UINT32_MAX;
    assert_ok(vly_sampler_next(sampler, logits, &token, &error), error);
    return token;
}

/* ---- the reference --------------------------------------------------------
 */

enum { N_TOKENS = 500, N_STEPS = 40 };

/* sampler_reference.py's */
static float reference_logit(uint32_t step, uint32_t token)
{
    const uint32_t word = vly_philox_block(77, token, 0, step, 0).w[0];
    return ((float)(word >> 8) - 0x1p23f) * 0x1p-20f;
}

static void check_reference(char *options_line, char *tokens_line)
{
    vly_sampler_options o = VLY_SAMPLER_OPTIONS_INIT;
    unsigned long long seed = 0;
    static float logits[4][N_TOKENS];
    for (uint32_t step = 0; step < 4; step++)
        for (uint32_t token = 0; token < N_TOKENS; token++)
            logits[step][token] = reference_logit(step, token);
    assert_int_equal(sscanf(options_line, "%lf,%u,%lf,%lf,%lf,%lf,%llu",
                            &o.temperature, &o.top_k, &o.top_p, &o.repetition,
                            &o.presence, &o.frequency, &seed),
                     7);
    o.seed = seed;
    vly_sampler *sampler = create(N_TOKENS, &o);
    assert_int_equal(vly_sampler_see(sampler, 3, NULL), VLY_OK);
    assert_int_equal(vly_sampler_see(sampler, 5, NULL), VLY_OK);
    assert_int_equal(vly_sampler_see(sampler, 3, NULL), VLY_OK);
    char *at = tokens_line;
    for (uint32_t step = 0; step < N_STEPS; step++, at++) {
        const uint32_t wanted = (uint32_t)strtoul(at, &at, 10);
        const uint32_t token = next(sampler, logits[step % 4]);
        if (token != wanted)
            fail_msg("draw %u of %s is %u, wanted %u", step, options_line,
                     token, wanted);
    }
    vly_sampler_destroy(sampler);
}

static void test_reference(void **state)
{
    (void)state;
    char line[2][1024];
    int n = 0;
    FILE *file = fopen(GOLDEN, "r");
    assert_non_null(file);
    while (fgets(line[0], sizeof line[0], file)) {
        if (line[0][0] == '#')
            continue;
        assert_non_null(fgets(line[1], sizeof line[1], file));
        check_reference(line[0], line[1]);
        n++;
    }
    fclose(file);
    assert_int_equal(n, 8);
}

/* ---- shares ---------------------------------------------------------------
 */

/* Of 20,000 draws; no share is further off than five standard deviations. */
static void check_shares(vly_sampler_options options, const float *logits,
                         const double *shares, uint32_t n)
{
    enum { DRAWS = 20000 };
    uint32_t counts[16] = {0};
    vly_sampler *sampler = create(n, &options);
    for (uint32_t i = 0; i < DRAWS; i++) {
        const uint32_t token = next(sampler, logits);
        assert_true(token < n);
        counts[token]++;
    }
    for (uint32_t t = 0; t < n; t++) {
        const double p = shares[t];
        assert_close((double)counts[t] / DRAWS, p,
                     5 * sqrt(p * (1 - p) / DRAWS));
    }
    vly_sampler_destroy(sampler);
}

static void test_shares(void **state)
{
    (void)state;
    /* weights 8, 4, 2, 2, 0 in this order of ids: 2, 0, 1, 3, 4 */
    const float logits[5] = {(float)log(4), (float)log(2), (float)log(8),
                             (float)log(2), -INFINITY};
    vly_sampler_options o = VLY_SAMPLER_OPTIONS_INIT;
    check_shares(o, logits, (double[]){.25, .125, .5, .125, 0}, 5);
    o.temperature = 0.5;
    check_shares(o, logits, (double[]){16 / 88., 4 / 88., 64 / 88., 4 / 88., 0},
                 5);
    o.temperature = 1;
    o.top_k = 2;
    check_shares(o, logits, (double[]){1 / 3., 0, 2 / 3., 0, 0}, 5);
    o.top_k = 3; /* of equals the first */
    check_shares(o, logits, (double[]){4 / 14., 2 / 14., 8 / 14., 0, 0}, 5);
    o.top_k = 5;
    check_shares(o, logits, (double[]){.25, .125, .5, .125, 0}, 5);
    o.top_k = 0;
    o.top_p = 0.3; /* one reaches it */
    check_shares(o, logits, (double[]){0, 0, 1, 0, 0}, 5);
    o.top_p = 0.6;
    check_shares(o, logits, (double[]){1 / 3., 0, 2 / 3., 0, 0}, 5);
    o.top_p = 0.999;
    check_shares(o, logits, (double[]){.25, .125, .5, .125, 0}, 5);
    o.top_k = 3; /* p is of what k leaves: 8 of 14 are 0.571 */
    o.top_p = 0.56;
    check_shares(o, logits, (double[]){0, 0, 1, 0, 0}, 5);
}

static void test_greedy(void **state)
{
    (void)state;
    vly_sampler_options o = VLY_SAMPLER_OPTIONS_INIT;
    const float logits[4] = {1, 3, -FLT_MAX, 3};
    const float low[4] = {-FLT_MAX, -INFINITY, -FLT_MAX, -INFINITY};
    o.temperature = 0;
    o.top_p = 0.1;
    vly_sampler *sampler = create(4, &o);
    for (int i = 0; i < 3; i++)
        assert_int_equal(next(sampler, logits), 1);
    assert_int_equal(next(sampler, low), 0);
    vly_sampler_destroy(sampler);
}

/* ---- penalties ------------------------------------------------------------
 */

/* The tokens of greedy draws from the same logits, after a prompt. */
static void check_penalty(vly_sampler_options options, const float *logits,
                          uint32_t seen, const uint32_t *wanted)
{
    options.temperature = 0;
    vly_sampler *sampler = create(3, &options);
    assert_int_equal(vly_sampler_see(sampler, seen, NULL), VLY_OK);
    for (int i = 0; i < 4; i++)
        assert_int_equal(next(sampler, logits), wanted[i]);
    vly_sampler_destroy(sampler);
}

static void test_penalties(void **state)
{
    (void)state;
    const float logits[3] = {2, 1, -1};
    vly_sampler_options o = VLY_SAMPLER_OPTIONS_INIT;
    check_penalty(o, logits, 0, (const uint32_t[]){0, 0, 0, 0});
    o.presence = 1.5; /* 0.5, 1, -1; then 0.5, -0.5, -1 */
    check_penalty(o, logits, 0, (const uint32_t[]){1, 0, 0, 0});
    o.presence = 0;
    o.frequency = 0.75; /* 1.25, 0.5, 1; 0.5, 0.25, 1 ... */
    check_penalty(o, logits, 0, (const uint32_t[]){0, 1, 0, 1});
    o.frequency = 0;
    o.repetition = 4; /* 0.5 against 1; 0.5 against 0.25 */
    check_penalty(o, logits, 0, (const uint32_t[]){1, 0, 0, 0});
    /* below 0 it multiplies: -4 */
    check_penalty(o, (const float[]){-2, -5, -1}, 2,
                  (const uint32_t[]){0, 2, 2, 2});
    o.repetition = 0.25;
    check_penalty(o, logits, 1, (const uint32_t[]){1, 1, 1, 1});
}

/* ---- what is refused ------------------------------------------------------
 */

static void test_bad_logits(void **state)
{
    (void)state;
    vly_sampler_options o = VLY_SAMPLER_OPTIONS_INIT;
    o.presence = 0.5;
    float good[64];
    float bad[64];
    for (uint32_t i = 0; i < 64; i++)
        good[i] = reference_logit(0, i) / 4;
    vly_sampler *sampler = create(64, &o);
    vly_sampler *other = create(64, &o);
    static const struct {
        float x;
        const char *text;
    } wrong[] = {{NAN, "the logit of token 63 is NaN, wanted a number"},
                 {-NAN, "the logit of token 63 is NaN"},
                 {INFINITY, "the logit of token 63 is infinite"}};
    for (uint32_t k = 0; k < 30; k++) {
        vly_error error = VLY_ERROR_INIT;
        uint32_t token = 99;
        memcpy(bad, good, sizeof bad);
        bad[63] = wrong[k % 3].x;
        assert_int_equal(vly_sampler_next(sampler, bad, &token, &error),
                         VLY_E_INVALID);
        assert_non_null(strstr(error.message, wrong[k % 3].text));
        for (uint32_t i = 0; i < 64; i++)
            bad[i] = -INFINITY;
        assert_int_equal(vly_sampler_next(sampler, bad, &token, &error),
                         VLY_E_INVALID);
        assert_non_null(strstr(error.message, "all 64 tokens are -inf"));
        assert_int_equal(token, 99);
        /* nothing was drawn, nothing counted */
        assert_int_equal(next(sampler, good), next(other, good));
    }
    vly_error error = VLY_ERROR_INIT;
    assert_int_equal(vly_sampler_see(sampler, 64, &error), VLY_E_INVALID);
    vly_sampler_destroy(sampler);
    vly_sampler_destroy(other);
    vly_sampler_destroy(NULL);
}

/* -inf is never drawn, whatever else is asked. */
static void test_never(void **state)
{
    (void)state;
    float logits[64];
    for (uint32_t i = 0; i < 64; i++)
        logits[i] = i % 8 == 3 ? -FLT_MAX : -INFINITY;
    for (uint32_t k = 0; k < 4; k++) {
        vly_sampler_options o = VLY_SAMPLER_OPTIONS_INIT;
        o.temperature = k == 3 ? 0.001 : 100;
        o.top_k = k == 1 ? 40 : 0;
        o.top_p = k == 2 ? 0.9999999 : 1;
        o.frequency = 100;
        o.repetition = 0.01;
        vly_sampler *sampler = create(64, &o);
        for (uint32_t i = 0; i < 200; i++)
            assert_int_equal(next(sampler, logits) % 8, 3);
        vly_sampler_destroy(sampler);
    }
}

static void test_options(void **state)
{
    (void)state;
    static const struct {
        size_t at;
        double x;
        const char *text;
    } bad[] = {
        {offsetof(vly_sampler_options, temperature), -1, "temperature is -1"},
        {offsetof(vly_sampler_options, temperature), 1e-4, "0.001 to 100"},
        {offsetof(vly_sampler_options, temperature), 101, "temperature is 101"},
        {offsetof(vly_sampler_options, temperature), NAN, "temperature is nan"},
        {offsetof(vly_sampler_options, top_p), 0, "top_p is 0, wanted"},
        {offsetof(vly_sampler_options, top_p), 1.5, "top_p is 1.5, wanted"},
        {offsetof(vly_sampler_options, top_p), NAN, "top_p is nan"},
        {offsetof(vly_sampler_options, repetition), 0, "repetition is 0"},
        {offsetof(vly_sampler_options, repetition), INFINITY, "repetition is"},
        {offsetof(vly_sampler_options, presence), -101, "presence is -101"},
        {offsetof(vly_sampler_options, frequency), NAN, "frequency is nan"},
    };
    const uint64_t live = vly_memory_live();
    for (size_t k = 0; k < sizeof bad / sizeof bad[0]; k++) {
        vly_error error = VLY_ERROR_INIT;
        vly_sampler_options o = VLY_SAMPLER_OPTIONS_INIT;
        vly_sampler *sampler = NULL;
        memcpy((char *)&o + bad[k].at, &bad[k].x, sizeof(double));
        assert_int_equal(vly_sampler_create(5, &o, &sampler, &error),
                         VLY_E_INVALID);
        assert_non_null(strstr(error.message, bad[k].text));
    }
    vly_error error = VLY_ERROR_INIT;
    vly_sampler_options o = VLY_SAMPLER_OPTIONS_INIT;
    vly_sampler *sampler = NULL;
    assert_int_equal(vly_sampler_create(0, &o, &sampler, &error),
                     VLY_E_INVALID);
    for (uint64_t n = 1; n <= 6; n++) {
        vly_memory_fail_at(n);
        assert_int_equal(vly_sampler_create(5, &o, &sampler, &error),
                         VLY_E_NOMEM);
        vly_memory_fail_at(0);
    }
    assert_null(sampler);
    assert_int_equal(vly_memory_live(), live);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_reference),  cmocka_unit_test(test_shares),
    cmocka_unit_test(test_greedy),     cmocka_unit_test(test_penalties),
    cmocka_unit_test(test_bad_logits), cmocka_unit_test(test_never),
    cmocka_unit_test(test_options),
};

VLY_TEST_MAIN(tests)
