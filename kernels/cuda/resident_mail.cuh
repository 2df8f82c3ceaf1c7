/* SPDX-License-Identifier: Apache-2.0
 * The exchange of the resident plan: every block writes the numbers of its
 * neurons that fired into lines that all others poll. Every 32-bit word has a
 * tag of the burst in its high half, so a line is valid when all its words
 * have the tag, in whatever order they came; what does not fit in the lines
 * is read from a second place, word by word in the same way.
 */
#ifndef VOLLEY_CUDA_RESIDENT_MAIL_CUH
#define VOLLEY_CUDA_RESIDENT_MAIL_CUH

#include "cuda_kernels.h"

#define LIST 4096u     /* spikes delivered at a time */
#define NOBODY 0xffffu /* in place of an id */

struct resident_shared {
    uint32_t list[2][LIST]; /* ids of the spikes of this burst, the last */
    alignas(16) uint32_t n_list;
    uint32_t n_total; /* spikes of the burst */
    uint32_t n_over;  /* blocks with more than their lines hold */
    uint32_t n_fired; /* of this block */
    uint32_t over[VLY_CUDA_MAIL_BLOCKS];
    uint32_t over_n[VLY_CUDA_MAIL_BLOCKS];
    vly_cuda_class classes[VLY_CUDA_N_PARTS][VLY_CUDA_RESIDENT_AREAS];
};

/* Dynamic shared memory: ring [max_delay][slice], counts [max_delay] of the
 * last bursts, fired [slice]. */
struct resident_block {
    resident_shared *shared;
    uint32_t *ring;
    uint32_t *counts;
    uint32_t *fired;
    uint32_t *list; /* shared->list[0] or [1]: that of this burst */
    uint32_t ring_words;
    uint32_t n_areas;
    const uint4 *segments[VLY_CUDA_N_PARTS];
    uint32_t wide[VLY_CUDA_N_PARTS];
};

static __device__ __forceinline__ uint4 mail_read(const uint32_t *at)
{
    uint4 v;
    asm volatile("ld.relaxed.gpu.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(at)
                 : "memory");
    return v;
}

static __device__ __forceinline__ void mail_write(uint32_t *at, uint4 v)
{
    asm volatile(
        "st.relaxed.gpu.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(at),
        "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w)
        : "memory");
}

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

/* A line of the mail of a block; those of all blocks lie side by side, so that
 * a warp polls few sectors. */
static __device__ __forceinline__ uint32_t *
mail_line(const vly_cuda_resident &resident, uint32_t tag, uint32_t line,
          uint32_t from)
{
    uint32_t row = (tag & 1) * VLY_CUDA_MAIL_LINES + line;
    return resident.mail + 4 * (row * resident.n_blocks + from);
}

/* Word i of the mail: 0 the count, then numbers of neurons. */
static __device__ __forceinline__ uint32_t
mail_word(const resident_block &block, uint32_t tag, uint32_t i, uint32_t n,
          uint32_t room)
{
    uint32_t value = NOBODY;
    if (i == 0)
        value = n;
    else if (n <= room && i - 1 < n)
        value = block.fired[i - 1];
    return tag << 16 | value;
}

static __device__ void send_mail(const vly_cuda_resident &resident,
                                 const resident_block &block, uint32_t tag)
{
    const uint32_t t = threadIdx.x;
    const uint32_t n = block.shared->n_fired;
    const uint32_t room = 4 * resident.lines - 1;
    const uint64_t box = (tag & 1) * resident.n_blocks + blockIdx.x;
    if (t < resident.lines) {
        uint4 v;
        v.x = mail_word(block, tag, 4 * t, n, room);
        v.y = mail_word(block, tag, 4 * t + 1, n, room);
        v.z = mail_word(block, tag, 4 * t + 2, n, room);
        v.w = mail_word(block, tag, 4 * t + 3, n, room);
        mail_write(mail_line(resident, tag, t, blockIdx.x), v);
    }
    if (n > room)
        for (uint32_t i = t; i < n; i += blockDim.x)
            word_write(resident.mail_more + box * resident.slice + i,
                       tag << 16 | block.fired[i]);
}

static __device__ __forceinline__ void
list_add(const vly_cuda_resident &resident, const resident_block &block,
         uint32_t from, uint32_t word)
{
    uint32_t number = word & 0xffffu;
    if (number != NOBODY)
        block.list[atomicAdd(&block.shared->n_list, 1u)] =
            number * resident.n_blocks + from;
}

/* Each thread waits for one line of one block. */
static __device__ void receive_mail(const vly_cuda_resident &resident,
                                    const resident_block &block, uint32_t tag,
                                    uint32_t from, uint32_t line)
{
    resident_shared *shared = block.shared;
    const uint32_t *at = mail_line(resident, tag, line, from);
    uint4 v;
    do {
        v = mail_read(at);
    } while (v.x >> 16 != tag || v.y >> 16 != tag || v.z >> 16 != tag ||
             v.w >> 16 != tag);
    if (line == 0) {
        uint32_t n = v.x & 0xffffu;
        if (n != 0)
            atomicAdd(&shared->n_total, n);
        if (n > 4 * resident.lines - 1) {
            uint32_t o = atomicAdd(&shared->n_over, 1u);
            shared->over[o] = from;
            shared->over_n[o] = n;
        }
    } else {
        list_add(resident, block, from, v.x);
    }
    list_add(resident, block, from, v.y);
    list_add(resident, block, from, v.z);
    list_add(resident, block, from, v.w);
}

/* Appends spikes [low, high) of a block that has more than its lines hold. */
static __device__ void read_more(const vly_cuda_resident &resident,
                                 const resident_block &block, uint32_t tag,
                                 uint32_t from, uint32_t low, uint32_t high)
{
    const uint64_t box = (tag & 1) * resident.n_blocks + from;
    const uint32_t *at = resident.mail_more + box * resident.slice;
    for (uint32_t i = low + threadIdx.x; i < high; i += blockDim.x) {
        uint32_t word;
        do {
            word = word_read(at + i);
        } while (word >> 16 != tag);
        list_add(resident, block, from, word);
    }
}

#endif
