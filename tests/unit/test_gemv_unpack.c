/* SPDX-License-Identifier: Apache-2.0
 * Weights of 8 and 4 bits as pairs of 16-bit floats: every value in every
 * place, beside what stands around it, is exact; and A is put into the same
 * order.
 */
#include "volley_test.h"

#include "element.h"
#include "kernels/accelerators/gemv_unpack.h"

typedef float to_float(uint16_t);

static float half(uint32_t word, uint32_t upper, to_float *convert)
{
    return convert((uint16_t)(word >> (upper * 16)));
}

/* One half of a pair as the device computes it: the difference, or the fused
 * product and sum, of which every step is a whole number below 2048 or a 16th
 * of one, so that rounding to 16 bits changes nothing. */
static float value(vly_unpack_pair pair, uint32_t upper, to_float *convert)
{
    const float word = half(pair.word, upper, convert);
    const float minus = half(pair.minus, upper, convert);
    if (pair.scale == 0)
        return word - minus;
    return word * half(pair.scale, upper, convert) + minus;
}

static int nibble(uint32_t word, uint32_t i)
{
    return (int)((word >> (4 * i) & 15u) ^ 8u) - 8;
}

static int byte(uint32_t word, uint32_t i)
{
    return (int)((word >> (8 * i) & 255u) ^ 128u) - 128;
}

/* Words in which every nibble and byte takes every value, beside others. */
static uint32_t word_of(uint32_t i)
{
    uint32_t x = i * 0x9e3779b9u;
    x = (x ^ (x >> 15)) * 0x85ebca6bu;
    x ^= x >> 13;
    /* the low 11 bits of i: a place and a value, the rest is noise */
    const uint32_t place = i % 4, low = i / 4 % 256;
    return (x & ~(255u << (8 * place))) | low << (8 * place);
}

enum { WORDS = 1 << 16 };

static void int4_is_exact(void **state)
{
    (void)state;
    for (uint32_t w = 0; w < WORDS; w++) {
        const uint32_t word = word_of(w);
        for (uint32_t i = 0; i < 4; i++)
            for (uint32_t upper = 0; upper < 2; upper++) {
                const float x = (float)nibble(word, i + 4 * upper);
                assert_true(value(vly_unpack_i4_f16(word, i), upper,
                                  vly_f16_to_f32) == x);
                assert_true(value(vly_unpack_i4_bf16(word, i), upper,
                                  vly_bf16_to_f32) == x);
            }
    }
}

static void int8_is_exact(void **state)
{
    (void)state;
    for (uint32_t w = 0; w < WORDS; w++) {
        const uint32_t word = word_of(w);
        for (uint32_t i = 0; i < 2; i++)
            for (uint32_t upper = 0; upper < 2; upper++) {
                const float x = (float)byte(word, 2 * i + upper);
                assert_true(value(vly_unpack_i8_f16(word, i), upper,
                                  vly_f16_to_f32) == x);
                assert_true(value(vly_unpack_i8_bf16(word, i), upper,
                                  vly_bf16_to_f32) == x);
            }
    }
}

/* Pair i of A is elements i and i + 4, as of the weights. */
static void a_stands_as_the_weights_do(void **state)
{
    (void)state;
    const uint32_t words[4] = {0x00010000u, 0x00030002u, 0x00050004u,
                               0x00070006u}; /* element e is e */
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(vly_unpack_match_i4(words, i), i | (i + 4) << 16);
}

static void bytes_are_selected(void **state)
{
    (void)state;
    for (uint32_t s = 0; s < 0x8888; s++) {
        uint32_t wanted = 0;
        for (uint32_t i = 0; i < 4; i++)
            wanted |= (0x10u + (s >> (4 * i) & 7u)) << (8 * i);
        assert_int_equal(vly_unpack_bytes(0x13121110u, 0x17161514u, s), wanted);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(int4_is_exact),
        cmocka_unit_test(int8_is_exact),
        cmocka_unit_test(a_stands_as_the_weights_do),
        cmocka_unit_test(bytes_are_selected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
