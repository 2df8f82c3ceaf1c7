/* SPDX-License-Identifier: Apache-2.0
 * Philox4x32-10 for consecutive counters, with the vectors that the processor
 * has, chosen when it runs. Every version gives the words of vly_philox_block.
 *
 * A 64-bit lane holds one 32-bit word of a counter's block; the multiplier
 * reads the low half only, so the upper half may hold anything. Lane 2k has
 * counter k and lane 2k + 1 counter k + half of the lanes: then the two
 * interleaving instructions, which work on pairs of lanes, leave whole blocks
 * in order. Every round waits for the one before, so with AVX2 two groups of
 * counters are in work at a time. Nanoseconds a word on a Xeon (Sapphire
 * Rapids), one group at a time: one by one 2.5, AVX2 1.2, AVX-512 0.56.
 */
#include "connectome/draw_words.h"

#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#if defined(__x86_64__)

/* random.c, from the paper */
#define PHILOX_M0 UINT64_C(0xD2511F53)
#define PHILOX_M1 UINT64_C(0xCD9E8D57)
#define PHILOX_W0 UINT32_C(0x9E3779B9)
#define PHILOX_W1 UINT32_C(0xBB67AE85)
#define PHILOX_ROUNDS 10

typedef uint64_t v4 __attribute__((vector_size(32)));
typedef uint64_t v8 __attribute__((vector_size(64)));

#define AVX2 __attribute__((target("avx2")))
#define AVX512 __attribute__((target("avx512f")))
#define MULTIPLY_4(a, b) ((v4)_mm256_mul_epu32((__m256i)(a), (__m256i)(b)))
#define MULTIPLY_8(a, b) ((v8)_mm512_mul_epu32((__m512i)(a), (__m512i)(b)))

/* The two keys of each round. */
static void keys_make(const vly_draws *draws, uint64_t keys[PHILOX_ROUNDS][2])
{
    uint32_t low = (uint32_t)draws->seed;
    uint32_t high = (uint32_t)(draws->seed >> 32);
    for (int round = 0; round < PHILOX_ROUNDS; round++) {
        keys[round][0] = low;
        keys[round][1] = high;
        low += PHILOX_W0;
        high += PHILOX_W1;
    }
}

/* One round of vectors x[4] of type `lanes`; finally the low halves of x[1] and
 * x[3] hold the result. */
#define ROUND(lanes, multiply, x, key)                                         \
    do {                                                                       \
        const lanes p0 = multiply(x[0], (lanes){0} + PHILOX_M0);               \
        const lanes p1 = multiply(x[2], (lanes){0} + PHILOX_M1);               \
        x[0] = (p1 >> 32) ^ x[1] ^ (key)[0];                                   \
        x[1] = p1;                                                             \
        x[2] = (p0 >> 32) ^ x[3] ^ (key)[1];                                   \
        x[3] = p0;                                                             \
    } while (0)

/* Words 0 and 1 (or 2 and 3) of each counter side by side. */
#define JOIN(low, high) (((low)&UINT64_C(0xffffffff)) | ((high) << 32))

AVX2 static inline void start_4(const vly_draws *draws, uint64_t block, v4 *x)
{
    x[0] = (v4){0, 2, 1, 3} + block;
    x[1] = x[0] >> 32;
    x[2] = (v4){0} + draws->name[1];
    x[3] = (v4){0} + draws->name[0];
}

AVX2 static inline void store_4(const v4 *x, uint32_t *words)
{
    __m256i low = (__m256i)JOIN(x[0], x[1]);
    __m256i high = (__m256i)JOIN(x[2], x[3]);
    _mm256_storeu_si256((void *)words, _mm256_unpacklo_epi64(low, high));
    _mm256_storeu_si256((void *)(words + 8), _mm256_unpackhi_epi64(low, high));
}

AVX2 static void fill_avx2(const vly_draws *draws, uint64_t block,
                           uint32_t n_blocks, uint32_t *words)
{
    uint64_t keys[PHILOX_ROUNDS][2];
    v4 x[4];
    v4 y[4];
    uint32_t rest[16];
    uint32_t i = 0;
    keys_make(draws, keys);
    for (; i + 8 <= n_blocks; i += 8) {
        start_4(draws, block + i, x);
        start_4(draws, block + i + 4, y);
        for (int round = 0; round < PHILOX_ROUNDS; round++) {
            ROUND(v4, MULTIPLY_4, x, keys[round]);
            ROUND(v4, MULTIPLY_4, y, keys[round]);
        }
        store_4(x, words + 4 * i);
        store_4(y, words + 4 * i + 16);
    }
    for (; i < n_blocks; i += 4) {
        const uint32_t left = n_blocks - i < 4 ? n_blocks - i : 4;
        start_4(draws, block + i, x);
        for (int round = 0; round < PHILOX_ROUNDS; round++)
            ROUND(v4, MULTIPLY_4, x, keys[round]);
        store_4(x, rest);
        memcpy(words + 4 * i, rest, left * 16);
    }
}

/* One group at a time: the loop that has run on machines with AVX-512. Returns
 * the blocks that are done, eight at a time. */
AVX512 static uint32_t fill_avx512(const vly_draws *draws, uint64_t block,
                                   uint32_t n_blocks, uint32_t *words)
{
    uint64_t keys[PHILOX_ROUNDS][2];
    uint32_t i = 0;
    keys_make(draws, keys);
    for (; i + 8 <= n_blocks; i += 8) {
        v8 x[4];
        x[0] = (v8){0, 4, 1, 5, 2, 6, 3, 7} + (block + i);
        x[1] = x[0] >> 32;
        x[2] = (v8){0} + draws->name[1];
        x[3] = (v8){0} + draws->name[0];
        for (int round = 0; round < PHILOX_ROUNDS; round++)
            ROUND(v8, MULTIPLY_8, x, keys[round]);
        __m512i low = (__m512i)JOIN(x[0], x[1]);
        __m512i high = (__m512i)JOIN(x[2], x[3]);
        _mm512_storeu_si512((void *)(words + 4 * i),
                            _mm512_unpacklo_epi64(low, high));
        _mm512_storeu_si512((void *)(words + 4 * i + 16),
                            _mm512_unpackhi_epi64(low, high));
    }
    return i;
}

#endif

static void fill_each(const vly_draws *draws, uint64_t block, uint32_t n_blocks,
                      uint32_t *words)
{
    for (uint32_t i = 0; i < n_blocks; i++) {
        vly_philox made = vly_draws_block(draws, block + i);
        memcpy(words + (size_t)4 * i, made.w, sizeof made.w);
    }
}

void vly_draws_fill(const vly_draws *draws, uint64_t first, uint32_t n,
                    uint32_t words[VLY_WORDS])
{
    const uint64_t block = first >> 2;
    const uint32_t n_blocks = (n + 3) / 4;
#if defined(__x86_64__)
    uint32_t made = 0;
    if (__builtin_cpu_supports("avx512f"))
        made = fill_avx512(draws, block, n_blocks, words);
    if (__builtin_cpu_supports("avx2")) {
        fill_avx2(draws, block + made, n_blocks - made,
                  words + (size_t)4 * made);
        return;
    }
#endif
    fill_each(draws, block, n_blocks, words);
}

/* ---- integers below a limit --------------------------------------------- */

/* The compiler makes vectors of it, for each function that contains it. */
#define BELOW_LOOP                                                             \
    for (uint32_t i = 0; i < n; i++) {                                         \
        const uint32_t x = vly_below(words[i], limit);                         \
        made[i] = x + (x >= own ? 1u : 0u);                                    \
    }

#if defined(__x86_64__)
AVX2 static void below_avx2(const uint32_t *restrict words, uint32_t n,
                            uint32_t limit, uint32_t own,
                            uint32_t *restrict made)
{
    BELOW_LOOP
}
#endif

void vly_words_below(const uint32_t *restrict words, uint32_t n, uint32_t limit,
                     uint32_t own, uint32_t *restrict made)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) {
        below_avx2(words, n, limit, own, made);
        return;
    }
#endif
    BELOW_LOOP
}
