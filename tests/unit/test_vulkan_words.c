/* SPDX-License-Identifier: Apache-2.0
 * What steps, stimuli and digests are made of, word by word on every Vulkan
 * device against C: random numbers and hashes of core/base, conversions, exp,
 * the store rule, gains, and sums whose bits show a contraction, another order
 * or a lost rounding.
 */
#include "test_vulkan_device.h"

#include <stdlib.h>

#include "base/number.h"
#include "base/random.h"
#include "kernels/models/digest.h"
#include "kernels/models/exponential.h"
#include "kernels/models/feagi.h"
#include "kernels/rules/tsodyks.h"
#include "test_vulkan_words_spirv.h"
#include "volley_test.h"

#define N (1u << 18)
#define WORDS_IN 8u
#define WORDS_OUT 20u

static const char *const names[WORDS_OUT] = {
    "philox",        "digest, low",
    "digest, high",  "int to float",
    "uint to float", "exp",
    "decay mean",    "store",
    "gain",          "driven psp",
    "x * y + z",     "x * y - (x * y)",
    "(x + z) - x",   "x * 0.1 + x * 0.9",
    "whole number",  "whole number below 0",
    "gained event",  "resources",
    "use",           "gain of a spike",
};

/* The ends of what a word can be come more often than by chance. */
static uint32_t random_word(uint32_t i, uint32_t k)
{
    static const uint32_t ends[] = {0,           1,           0x7fffffffu,
                                    0x80000000u, 0xffffffffu, 0x01000001u,
                                    0xfffffffeu, 0x01000003u};
    uint32_t w = vly_philox_word(77, i, k, 0);
    uint32_t kind = vly_philox_word(78, i, k, 0);
    return kind % 16 == 0 ? ends[kind >> 29] : w;
}

/* +-2^e times a number in [1, 2), lo <= e < hi */
static uint32_t random_float(uint32_t i, uint32_t k, int lo, int hi)
{
    uint32_t w = vly_philox_word(79, i, k, 0);
    uint32_t exponent =
        (uint32_t)(127 + lo) +
        vly_below(vly_philox_word(80, i, k, 0), (uint32_t)(hi - lo));
    return (w & 0x807fffffu) | exponent << 23;
}

static void make_given(uint32_t *given)
{
    for (uint32_t i = 0; i < N; i++) {
        uint32_t *w = given + (size_t)i * WORDS_IN;
        for (uint32_t k = 0; k < 4; k++)
            w[k] = random_word(i, k);
        w[4] = random_float(i, 4, -46, 20); /* below 2^-40 too */
        w[5] = random_float(i, 5, -20, 18);
        w[6] = random_float(i, 6, -20, 20);
        w[7] = random_float(i, 7, -20, 8);
        if (i % 8 == 0) /* near -x y: what is left shows every lost bit */
            w[6] = vly_bits(-(vly_float(w[4]) * vly_float(w[5])));
    }
}

/* A source after a spike, from random shares and up to 2^26 bursts. */
static vly_short_term spike_in_c(const uint32_t *w)
{
    const float share = 1.0f / 65536.0f;
    const vly_tsodyks_coef c = {.U = (float)(w[2] >> 16) * share,
                                .rec = 2e-7f,
                                .fac = 3e-8f,
                                .psc = 0.1f,
                                .by_rec = -1.25f,
                                .by_psc = -0.25f};
    vly_short_term s = {.x = (float)(w[0] >> 16) * share,
                        .u = (float)(w[1] >> 16) * share};
    s.y = (1.0f - s.x) * 0.5f;
    return vly_tsodyks_spike(s, c, w[3] & 0x03ffffffu);
}

/* weight * 2^shift * gain * 2^-16, to the nearest, a half upwards */
static int32_t event_in_c(int16_t weight, uint32_t gain, uint32_t shift)
{
    int64_t exact = (int64_t)weight * gain + (0x8000 >> shift);
    int64_t unit = INT64_C(1) << (16 - shift);
    return (int32_t)(exact >= 0 ? exact / unit : -((unit - 1 - exact) / unit));
}

static void run_in_c(const uint32_t *w, uint32_t *out)
{
    const float far = 1e12f;
    float x = vly_float(w[4]);
    float y = vly_float(w[5]);
    float z = vly_float(w[6]);
    float e = vly_float(w[7]);
    uint64_t t = (uint64_t)w[3] << 32 | w[2];
    uint64_t key = (uint64_t)w[1] << 32 | w[0];
    uint64_t hash = vly_spike_hash(w[2], w[3], (uint64_t)w[0] << 32 | w[1]);
    out[0] = vly_philox_word(key, t, w[1] ^ w[2], w[0] ^ w[3]);
    out[1] = (uint32_t)hash;
    out[2] = (uint32_t)(hash >> 32);
    out[3] = vly_bits((float)(int32_t)w[0]);
    out[4] = vly_bits((float)w[0]);
    out[5] = vly_bits(vly_exp_f32(e));
    out[6] = vly_bits(vly_decay_mean_f32(e));
    out[7] = vly_bits(vly_store(x, -16384.0f, 16384.0f));
    out[8] = vly_feagi_gain(w[0] & 255u, w[1] & 1u, w[2] & 15u, w[3] & 1023u);
    out[9] = vly_feagi_driven_psp(e * 3.0f);
    out[10] = vly_bits(vly_store(x * y + z, -far, far));
    out[11] =
        vly_bits(vly_store(x * y - vly_store(x * y, -far, far), -far, far));
    out[12] = vly_bits(vly_store((x + z) - x, -far, far));
    out[13] = vly_bits(vly_store(x * 0.1f + x * 0.9f, -far, far));
    out[14] = vly_bits((float)w[0]);
    out[15] = vly_bits((float)((int32_t)(w[0] >> 1) - 0x40000000));
    out[16] = (uint32_t)event_in_c((int16_t)(w[0] & 0xffff), w[1] % 65537u,
                                   6u * (w[2] % 3u));
    vly_short_term s = spike_in_c(w);
    out[17] = vly_bits(s.x);
    out[18] = vly_bits(s.u);
    out[19] = s.gain;
}

static void compare(uint32_t device, const uint32_t *given,
                    const uint32_t *found, const uint32_t *wanted)
{
    uint32_t n_bad[WORDS_OUT] = {0};
    for (size_t i = 0; i < (size_t)N * WORDS_OUT; i++) {
        if (found[i] == wanted[i])
            continue;
        const uint32_t *w = given + i / WORDS_OUT * WORDS_IN;
        if (n_bad[i % WORDS_OUT]++ == 0)
            print_error("%s on %s: 0x%08x, wanted 0x%08x, of %08x %08x %08x "
                        "%08x %08x %08x %08x %08x\n",
                        names[i % WORDS_OUT], test_vulkan_name(device),
                        found[i], wanted[i], w[0], w[1], w[2], w[3], w[4], w[5],
                        w[6], w[7]);
    }
    for (uint32_t k = 0; k < WORDS_OUT; k++)
        if (n_bad[k] > 0)
            fail_msg("%s: %u of %u words differ", names[k], n_bad[k], N);
}

static void test_words(void **state)
{
    (void)state;
    test_vulkan_open();
    uint32_t *given = calloc((size_t)N * WORDS_IN, sizeof *given);
    uint32_t *found = calloc((size_t)N * WORDS_OUT, sizeof *found);
    uint32_t *wanted = calloc((size_t)N * WORDS_OUT, sizeof *wanted);
    assert_true(given != NULL && found != NULL && wanted != NULL);
    make_given(given);
    for (size_t i = 0; i < N; i++)
        run_in_c(given + i * WORDS_IN, wanted + i * WORDS_OUT);
    for (uint32_t device = 0; device < test_vulkan_count(); device++) {
        test_vulkan_job job = {
            .spirv = test_vulkan_words_spirv,
            .spirv_bytes = sizeof test_vulkan_words_spirv,
            .buffers = {{given, (size_t)N * WORDS_IN * sizeof *given},
                        {found, (size_t)N * WORDS_OUT * sizeof *found}},
            .n_buffers = 2,
            .n_groups = N / 64,
        };
        memset(found, 0, (size_t)N * WORDS_OUT * sizeof *found);
        test_vulkan_run(device, &job);
        compare(device, given, found, wanted);
    }
    free(wanted);
    free(found);
    free(given);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_words)};
    return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
