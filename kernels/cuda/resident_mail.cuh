/* SPDX-License-Identifier: Apache-2.0
 * The exchange of the resident plan: every block writes the codes of its
 * neurons that fired into lines that all other blocks poll. A line is 16 bytes,
 * written and read in one access: a tag of the burst and seven codes. Codes
 * that do not fit are read from a second place, in words that also have the
 * tag.
 */
#ifndef VOLLEY_CUDA_RESIDENT_MAIL_CUH
#define VOLLEY_CUDA_RESIDENT_MAIL_CUH

#include "cuda_kernels.h"
#include "line_access.cuh"
#if VLY_CUDA_SPLICED
#include "program_splice.cuh"
#endif

#define LIST 4096u     /* spikes delivered at a time */
#define LINE_CODES 7u  /* of neurons */
#define NOBODY 0xffffu /* in place of a code */
#define OVER 0xfffeu   /* more than the lines hold; their number follows */
#define AREA_SHIFT 26  /* an entry of the list: area, id */
#define ID_MASK 0x3ffffffu
#define PACKED_NEURONS 1024u /* a code has 10 bits of number, 6 of area ... */
#define PACKED_AREAS 63u     /* ... and the last area is NOBODY, OVER */

/* Segments of the sources of an area: that of id begins at segments +
 * id * quads. */
struct alignas(16) resident_class {
    const uint4 *segments;
    uint32_t first;
    uint32_t quads;
};

/* Their rests: that of the source with `rank` marked ones before it begins at
 * rests + rank * quads. */
struct alignas(16) resident_rest {
    const uint4 *rests;
    uint32_t quads;
    uint32_t reserved;
};

/* The first stimulus of an area, for one launch. */
struct alignas(16) resident_source {
    uint32_t from; /* bursts of the launch in which it acts */
    uint32_t until;
    uint32_t base;
    uint32_t step;
    uint32_t n; /* thresholds */
    uint32_t always;
    uint32_t at; /* its table, or NO_TABLE */
    uint32_t stream;
    uint32_t n_stimuli;
    uint32_t reserved[3];
};

#define NO_TABLE 0xffffffffu
#define TABLE_WORDS 2048u
#define GUIDE_WORDS 64u /* 256 bytes before the thresholds of a table */
#define GUIDE_MOST 255u /* in a byte: this many or more */

struct alignas(16) resident_shared {
    uint32_t list[2][LIST]; /* spikes, by the parity of the burst */
    resident_class classes[VLY_CUDA_N_PARTS][VLY_CUDA_RESIDENT_AREAS];
    resident_rest rests[VLY_CUDA_N_PARTS][VLY_CUDA_RESIDENT_AREAS];
    resident_source sources[VLY_CUDA_RESIDENT_AREAS];
    uint32_t tables[TABLE_WORDS];
    uint2 got[2];  /* spikes in the list, blocks with more than lines hold */
    uint64_t head; /* log position of the first spike of this burst ... */
    uint64_t log_from; /* ... and of the one before */
    uint32_t n_fired;  /* of this block */
    uint32_t over[VLY_CUDA_MAIL_BLOCKS];
    uint32_t over_n[VLY_CUDA_MAIL_BLOCKS];
    /* Cycles of delivery, update and exchange, as the last thread sees them:
     * 32 bits are enough for one launch of some milliseconds. */
    uint32_t cycles[3];
    uint32_t time;
};

/* Shared memory: fired, resident_shared, marks of sources with rests, ring
 * [max_delay][slice], counts [max_delay] of the last bursts, users' models. */
struct resident_block {
    resident_shared *shared;
    uint16_t *fired; /* codes, laid out as lines without their tags */
    uint32_t *ring;
    uint32_t *counts;
    uint32_t ring_words;
    uint32_t n_areas;
    uint32_t step; /* of the classes of shifts */
#if VLY_CUDA_SPLICED
    block_programs programs;
#endif
};

static __device__ __forceinline__ uint32_t word_read(const uint32_t *at)
{
    uint32_t v;
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];"
                 : "=r"(v)
                 : "l"(at)
                 : "memory");
    return v;
}

static __device__ __forceinline__ void word_write(uint32_t *at, uint32_t v)
{
    asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(at), "r"(v)
                 : "memory");
}

/* A line of the mail of a block; lines of all blocks are adjacent, so that a
 * warp polls few sectors. There are copies, since many readers of one line
 * delay each other and the writer. */
static __device__ __forceinline__ uint32_t *
mail_line(const vly_cuda_resident &resident, uint32_t tag, uint32_t copy,
          uint32_t line, uint32_t from)
{
    const uint32_t row =
        (tag & 1) * VLY_CUDA_MAIL_ROWS + (copy << resident.line_shift) + line;
    return resident.mail + 4 * (row * resident.n_blocks + from);
}

/* place of the code of spike i of the block */
static __device__ __forceinline__ uint32_t fired_at(uint32_t i)
{
    return i + i / LINE_CODES + 1;
}

static __device__ __forceinline__ void
send_more(const vly_cuda_resident &resident, const uint16_t *fired,
          uint32_t tag, uint32_t n)
{
    const uint64_t box = (tag & 1) * resident.n_blocks + blockIdx.x;
    for (uint32_t i = threadIdx.x % 32; i < n; i += 32)
        word_write(resident.mail_more + box * resident.slice + i,
                   tag << 16 | fired[fired_at(i)]);
}

#define NO_CODES 0xffffffffu

/* By one warp, when all spikes of the block are known; makes room for those of
 * the next burst. at: where the lane writes, or NULL. */
static __device__ __forceinline__ void
send_mail(const vly_cuda_resident &resident, const resident_block &block,
          uint32_t tag, uint32_t *at)
{
    const uint32_t lane = threadIdx.x % 32;
    const uint32_t line = lane & ((1u << resident.line_shift) - 1);
    const uint32_t n = block.shared->n_fired;
    uint4 *lines = (uint4 *)block.fired;
    uint4 v = lines[line];
    if (n > LINE_CODES * resident.lines) {
        v = make_uint4(NO_CODES, NO_CODES, NO_CODES, NO_CODES);
        if (line == 0) {
            v.x = OVER << 16;
            v.y = n;
        }
    }
    v.x = (v.x & 0xffff0000u) | tag;
    if (at != nullptr)
        line_write(at, v);
    if (n == 0)
        return;
    if (n > LINE_CODES * resident.lines)
        send_more(resident, block.fired, tag, n);
    __syncwarp();
    if (lane < resident.lines)
        lines[lane] = make_uint4(NO_CODES, NO_CODES, NO_CODES, NO_CODES);
    if (lane == 0)
        block.shared->n_fired = 0;
}

/* Where a lane of the warp that sends writes. */
static __device__ __forceinline__ uint32_t *
send_place(const vly_cuda_resident &resident, uint32_t tag)
{
    const uint32_t line = threadIdx.x & ((1u << resident.line_shift) - 1);
    const uint32_t copy = threadIdx.x % 32 >> resident.line_shift;
    return line < resident.lines && copy < resident.copies
               ? mail_line(resident, tag, copy, line, blockIdx.x)
               : nullptr;
}

static __device__ __forceinline__ uint32_t class_of(const resident_block &block,
                                                    uint32_t id)
{
    const resident_class *classes = block.shared->classes[0];
    uint32_t low = 0;
    uint32_t high = block.n_areas;
    while (high - low > 1) {
        uint32_t middle = (low + high) / 2;
        if (classes[middle].first <= id)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* An entry of the list. PACKED: a code has the area, else it is searched. */
template <bool PACKED>
static __device__ __forceinline__ uint32_t
make_entry(const vly_cuda_resident &resident, const resident_block &block,
           uint32_t from, uint32_t code)
{
    if (PACKED)
        return code / PACKED_NEURONS << AREA_SHIFT |
               (code % PACKED_NEURONS * resident.n_blocks + from);
    const uint32_t id = code * resident.n_blocks + from;
    return class_of(block, id) << AREA_SHIFT | id;
}

/* Each thread waits for one line of one block: line number of all. */
template <bool PACKED>
static __device__ __forceinline__ void
receive_mail(const vly_cuda_resident &resident, const resident_block &block,
             uint32_t tag, uint32_t number)
{
    resident_shared *shared = block.shared;
    const uint32_t from = number % resident.n_blocks;
    const uint32_t line = number / resident.n_blocks;
    const uint32_t *at =
        mail_line(resident, tag, blockIdx.x % resident.copies, line, from);
    uint4 v;
    do {
        v = line_read(at);
    } while ((v.x & 0xffffu) != tag);
    uint32_t code = v.x >> 16;
    if (code == NOBODY)
        return; /* and no code follows */
    if (code == OVER) {
        uint32_t o = atomicAdd(&shared->got[tag & 1].y, 1u);
        shared->over[o] = from;
        shared->over_n[o] = v.y;
        return;
    }
    if ((v.y & 0xffffu) == NOBODY) { /* most of them */
        shared->list[tag & 1][atomicAdd(&shared->got[tag & 1].x, 1u)] =
            make_entry<PACKED>(resident, block, from, code);
        return;
    }
    uint32_t n = 2;
    n += (v.y >> 16) != NOBODY;
    n += (v.z & 0xffffu) != NOBODY;
    n += (v.z >> 16) != NOBODY;
    n += (v.w & 0xffffu) != NOBODY;
    n += (v.w >> 16) != NOBODY;
    uint32_t *list =
        shared->list[tag & 1] + atomicAdd(&shared->got[tag & 1].x, n);
    list[0] = make_entry<PACKED>(resident, block, from, code);
    for (uint32_t i = 1; i < n; i++) {
        code = v.y & 0xffffu;
        v.y = v.y >> 16 | v.z << 16;
        v.z = v.z >> 16 | v.w << 16;
        v.w = v.w >> 16;
        list[i] = make_entry<PACKED>(resident, block, from, code);
    }
}

/* Spike i of a block that has more than its lines hold, as an entry. */
template <bool PACKED>
static __device__ __forceinline__ uint32_t
read_more(const vly_cuda_resident &resident, const resident_block &block,
          uint32_t tag, uint32_t from, uint32_t i)
{
    const uint64_t box = (tag & 1) * resident.n_blocks + from;
    const uint32_t *at = resident.mail_more + box * resident.slice + i;
    uint32_t word;
    do {
        word = word_read(at);
    } while (word >> 16 != tag);
    return make_entry<PACKED>(resident, block, from, word & 0xffffu);
}

#endif
