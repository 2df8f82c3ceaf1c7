/* SPDX-License-Identifier: Apache-2.0
 * Philox and the count of thresholds for many neurons at once: part of
 * cpu_kernels.c where AVX2 or AVX-512 is on. The same function as draw_each.
 *
 * Each 64-bit lane holds one 32-bit word; the multiplier reads the low half
 * only, so the upper half may hold anything. Even neurons are in one set of
 * lanes and odd ones in another, so that one shift and one blend give the words
 * in order.
 */
#include <immintrin.h>

#if defined(__AVX512F__)
#define LANES 16
typedef uint64_t v64 __attribute__((vector_size(64)));
typedef uint32_t v32 __attribute__((vector_size(64)));
typedef uint16_t v16 __attribute__((vector_size(32)));
#define MULTIPLY(a, b) ((v64)_mm512_mul_epu32((__m512i)(a), (__m512i)(b)))
#else
#define LANES 8
typedef uint64_t v64 __attribute__((vector_size(32)));
typedef uint32_t v32 __attribute__((vector_size(32)));
typedef uint16_t v16 __attribute__((vector_size(16)));
#define MULTIPLY(a, b) ((v64)_mm256_mul_epu32((__m256i)(a), (__m256i)(b)))
#endif

/* One round. x1 and x3 become 64-bit products, of which only the low words
 * count. */
#define ROUND(x0, x1, x2, x3)                                                  \
    do {                                                                       \
        v64 p0 = MULTIPLY(x0, m0);                                             \
        v64 p1 = MULTIPLY(x2, m1);                                             \
        x0 = (p1 >> 32) ^ x1 ^ k0;                                             \
        x1 = p1;                                                               \
        x2 = (p0 >> 32) ^ x3 ^ k1;                                             \
        x3 = p0;                                                               \
    } while (0)

static inline v32 join(v64 even, v64 odd)
{
    return (v32)((even & UINT64_C(0xffffffff)) | (odd << 32));
}

static inline void philox_lanes(const vly_cpu_draw *draw, uint32_t id,
                                v32 words[4])
{
    const v64 zero = {0};
    const v64 m0 = zero + VLY_PHILOX_M0;
    const v64 m1 = zero + VLY_PHILOX_M1;
    uint32_t key_low = (uint32_t)draw->key;
    uint32_t key_high = (uint32_t)(draw->key >> 32);
    v64 a0 = zero + (uint32_t)draw->block;
    v64 a1 = zero + (draw->block >> 32);
    v64 a2 = zero;
    v64 a3 = zero + draw->stream;
    v64 b0 = a0;
    v64 b1 = a1;
    v64 b3 = a3;
    for (uint32_t i = 0; i < LANES / 2; i++)
        a2[i] = id + 2 * i;
    v64 b2 = a2 + 1;
    for (int i = 0; i < VLY_PHILOX_ROUNDS; i++) {
        const v64 k0 = zero + key_low;
        const v64 k1 = zero + key_high;
        ROUND(a0, a1, a2, a3);
        ROUND(b0, b1, b2, b3);
        key_low += VLY_PHILOX_W0;
        key_high += VLY_PHILOX_W1;
    }
    words[0] = join(a0, b0);
    words[1] = join(a1, b1);
    words[2] = join(a2, b2);
    words[3] = join(a3, b3);
}

static void draw_all(const vly_cpu_draw *draw)
{
    const uint32_t n_thresholds = draw->n_thresholds;
    uint32_t i = 0;
    for (; i + LANES <= draw->n; i += LANES) {
        v32 words[4];
        v32 counts[4] = {{0}, {0}, {0}, {0}};
        philox_lanes(draw, draw->id + i, words);
        for (uint32_t j = 0; j < n_thresholds; j++) {
            const v32 threshold = (v32){0} + draw->thresholds[j];
            for (uint32_t w = 0; w < 4; w++)
                counts[w] -= (v32)(words[w] >= threshold);
        }
        for (uint32_t w = 0; w < 4; w++) {
            v16 narrow = __builtin_convertvector(counts[w], v16);
            memcpy(draw->counts[w] + i, &narrow, sizeof narrow);
        }
    }
    draw_each(draw, i);
}
