/* SPDX-License-Identifier: Apache-2.0
 * Where a slice finds its part of a row: position and length, by the index of
 * the partitioned plan (vly_cuda_partition_group).
 */
#ifndef VOLLEY_CUDA_PARTITION_INDEX_CUH
#define VOLLEY_CUDA_PARTITION_INDEX_CUH

#include "partition_block.cuh"

static __device__ __forceinline__ uint32_t read_once(const uint32_t *at)
{
    uint32_t v;
    asm("ld.global.nc.L1::no_allocate.u32 %0, [%1];" : "=r"(v) : "l"(at));
    return v;
}

static __device__ __forceinline__ uint4 read_once(const uint4 *at)
{
    uint4 v;
    asm("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
        : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
        : "l"(at));
    return v;
}

/* Positions in units: WIDE ones may need more than 32 bits. */
template <bool WIDE> struct place_type {
    typedef uint32_t type;
};
template <> struct place_type<true> {
    typedef uint64_t type;
};
template <bool WIDE> using place_of = typename place_type<WIDE>::type;

/* A row's part: its position and its number of units. */
template <bool WIDE> struct row_part {
    place_of<WIDE> at;
    uint32_t n;
};

/* Where a slice has its length in a word of the index, and 1 in the bytes of
 * the lengths before its own, which are summed. */
struct part_finder {
    uint32_t slice;
    uint32_t word;
    uint32_t number;
    uint32_t before[VLY_CUDA_INDEX_PARTS / 4];
};

static __device__ __forceinline__ part_finder make_finder(uint32_t slice)
{
    part_finder f;
    f.slice = slice;
    f.word = slice / VLY_CUDA_INDEX_PARTS;
    f.number = slice % VLY_CUDA_INDEX_PARTS;
#pragma unroll
    for (uint32_t i = 0; i < VLY_CUDA_INDEX_PARTS / 4; i++) {
        const uint32_t n = f.number > 4 * i ? f.number - 4 * i : 0;
        f.before[i] = n < 4 ? 0x01010101u & ((1u << 8 * n) - 1) : 0x01010101u;
    }
    return f;
}

/* The high bits of a position, by the word of the index that has its low ones.
 */
static __device__ __forceinline__ uint64_t
high_of(const vly_cuda_partition_group &group, uint64_t word)
{
    uint64_t high = 0;
#pragma unroll
    for (uint32_t k = 0; k < VLY_CUDA_INDEX_CARRIES; k++)
        high += word >= group.carry[k] ? 1ull << VLY_CUDA_INDEX_BITS : 0;
    return high;
}

template <bool WIDE>
static __device__ __forceinline__ row_part<WIDE>
find_part(const vly_cuda_partition &partition,
          const vly_cuda_partition_group &group, const part_finder &f,
          uint32_t source)
{
    if (group.index_words == 0) {
        const uint32_t *at = (const uint32_t *)group.index +
                             (uint64_t)source * (partition.own_slices + 1) +
                             f.slice;
        const uint32_t begin = read_once(at);
        return {begin, read_once(at + 1) - begin};
    }
    const uint64_t word = (uint64_t)source * group.index_words + f.word;
    const uint4 v = read_once((const uint4 *)group.index + word);
    const uint32_t own = f.number < 4 ? v.y : f.number < 8 ? v.z : v.w;
    const uint32_t n = own >> f.number % 4 * 8 & 0xffu;
    if constexpr (WIDE) {
        const uint32_t before =
            __dp4a(v.y, f.before[0],
                   __dp4a(v.z, f.before[1], __dp4a(v.w, f.before[2], 0u)));
        return {high_of(group, word) + v.x + before, n};
    }
    return {__dp4a(v.y, f.before[0],
                   __dp4a(v.z, f.before[1], __dp4a(v.w, f.before[2], v.x))),
            n};
}

#endif
