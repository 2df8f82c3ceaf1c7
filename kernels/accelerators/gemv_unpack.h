/* SPDX-License-Identifier: Apache-2.0
 * int8 and int4 weights as pairs of 16-bit floats, exactly, in two to four
 * integer operations a pair. For CUDA C++ and C11: a test on the host walks
 * through every value.
 *
 * A small whole number u is put into the low bits of the mantissa of a power of
 * two, which makes 2^p + u; then 2^p + offset is subtracted (or the like),
 * which is exact. fp16 has 10 bits below 1024 = 0x6400, bf16 has 7 below 128 =
 * 0x4300.
 *
 * Source  Kim et al. 2022, arXiv:2211.10017 (the fp16 form)
 */
#ifndef VOLLEY_GEMV_UNPACK_H
#define VOLLEY_GEMV_UNPACK_H

#include <stdint.h>

#if defined(__CUDACC__)
#define VLY_UNPACK static __device__ __forceinline__
#else
#define VLY_UNPACK static inline
#endif

/* A pair is two floats in one word, the first in the low half. Its value is
 * word - minus, or, where scale is not 0, word * scale + minus, with scale and
 * minus for both halves. All of it is exact. */
typedef struct vly_unpack_pair {
    uint32_t word;
    uint32_t minus;
    uint32_t scale;
} vly_unpack_pair;

/* The four bytes of low (0 to 3) and high (4 to 7) selected by selector, from
 * its low half-byte on. */
VLY_UNPACK uint32_t vly_unpack_bytes(uint32_t low, uint32_t high,
                                     uint32_t selector)
{
#if defined(__CUDA_ARCH__)
    return __byte_perm(low, high, selector);
#else
    const uint64_t all = (uint64_t)high << 32 | low;
    uint32_t out = 0;
    for (uint32_t i = 0; i < 4; i++)
        out |= (uint32_t)(all >> (selector >> 4 * i & 7u) * 8 & 255u) << 8 * i;
    return out;
#endif
}

/* (word & mask) ^ flip: one operation by inline PTX; the compiler makes two,
 * because an instruction has one immediate. */
VLY_UNPACK uint32_t vly_unpack_bits(uint32_t word, uint32_t mask, uint32_t flip)
{
#if defined(__CUDA_ARCH__)
    uint32_t out;
    asm("lop3.b32 %0, %1, %2, %3, 0x6a;"
        : "=r"(out)
        : "r"(word), "r"(mask), "r"(flip));
    return out;
#else
    return (word & mask) ^ flip;
#endif
}

/* Pair i (0 to 3) of the eight int4 of a word: elements i and i + 4. */
VLY_UNPACK vly_unpack_pair vly_unpack_i4_f16(uint32_t word, uint32_t i)
{
    const uint32_t at = word >> (i / 2 * 8);
    vly_unpack_pair pair;
    if (i % 2 == 0) { /* 1024 + (nibble ^ 8), less 1032 */
        pair.word = vly_unpack_bits(at, 0x000f000fu, 0x64086408u);
        pair.minus = 0x64086408u;
        pair.scale = 0;
    } else { /* 1024 + 16 (nibble ^ 8), times 1/16, less 72 */
        pair.word = vly_unpack_bits(at, 0x00f000f0u, 0x64806480u);
        pair.minus = 0xd480d480u;
        pair.scale = 0x2c002c00u;
    }
    return pair;
}

VLY_UNPACK vly_unpack_pair vly_unpack_i4_bf16(uint32_t word, uint32_t i)
{
    /* 128 + (nibble ^ 8), less 136 */
    vly_unpack_pair pair = {
        vly_unpack_bits(word >> (4 * i), 0x000f000fu, 0x43084308u), 0x43084308u,
        0};
    return pair;
}

/* Pair i (0 or 1) of the four int8 of a word: elements 2 i and 2 i + 1. */
VLY_UNPACK vly_unpack_pair vly_unpack_i8_f16(uint32_t word, uint32_t i)
{
    /* 1024 + (byte ^ 128), less 1152 */
    vly_unpack_pair pair = {
        vly_unpack_bytes(word ^ 0x80808080u, 0x64646464u, i ? 0x4342 : 0x4140),
        0x64806480u, 0};
    return pair;
}

VLY_UNPACK vly_unpack_pair vly_unpack_i8_bf16(uint32_t word, uint32_t i)
{
    /* 128 + the low seven bits, less 128, or 256 where the sign is set: the
     * eighth bit of a bf16 of 128 doubles it */
    const uint32_t spread = vly_unpack_bytes(word, 0, i ? 0x4342 : 0x4140);
    vly_unpack_pair pair = {vly_unpack_bits(spread, 0x007f007fu, 0x43004300u),
                            vly_unpack_bits(spread, 0x00800080u, 0x43004300u),
                            0};
    return pair;
}

/* Pair i of eight 16-bit floats in four words: elements i and i + 4, in the
 * order of the int4 above. */
VLY_UNPACK uint32_t vly_unpack_match_i4(const uint32_t words[4], uint32_t i)
{
    return vly_unpack_bytes(words[i / 2], words[i / 2 + 2],
                            i % 2 ? 0x7632 : 0x5410);
}

#endif
