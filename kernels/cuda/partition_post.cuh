/* SPDX-License-Identifier: Apache-2.0
 * Positions of parts of rows, posted for all slices: a block then reads
 * adjacent words, instead of a word of the index for each spike.
 */
#ifndef VOLLEY_CUDA_PARTITION_POST_CUH
#define VOLLEY_CUDA_PARTITION_POST_CUH

#include "partition_deliver.cuh"

/* The parts that word q of an index row has, to the places of a spike: `to` is
 * that of slice 0, those of other slices are `stride` apart. at: of the word's
 * first part, from the row's start. */
static __device__ __forceinline__ void
write_parts(uint32_t *to, uint64_t stride, uint32_t n_slices, uint32_t q,
            const uint4 &v, uint32_t at)
{
    const uint32_t slice = q * VLY_CUDA_INDEX_PARTS;
    const uint32_t lengths[3] = {v.y, v.z, v.w};
    to += slice * stride;
#pragma unroll
    for (uint32_t p = 0; p < VLY_CUDA_INDEX_PARTS; p++) {
        const uint32_t length = lengths[p / 4] >> p % 4 * 8 & 0xffu;
        if (slice + p < n_slices)
            to[p * stride] = at << 8 | length;
        at += length;
    }
}

/* Posts the positions of the parts of the block's spikes, for all slices: a
 * warp takes 32 spikes and a word of the index. After a barrier: ids are in the
 * mail. */
static __device__ __forceinline__ void
post_parts(const vly_cuda_partition &partition, const partition_block &block,
           uint32_t tag)
{
    const uint32_t n_mail = block.shared->n_mail;
    const uint32_t n = n_mail < partition.post ? n_mail : partition.post;
    const uint32_t n_words = partition.groups[0].index_words;
    const uint32_t n_items = (n + 31) / 32 * n_words;
    const uint4 *index = (const uint4 *)partition.groups[0].index;
    for (uint32_t q = threadIdx.x / 32; q < n_items; q += WARPS) {
        const uint32_t word = q % n_words;
        const uint32_t i = q / n_words * 32 + threadIdx.x % 32;
        if (i >= n)
            continue;
        const uint4 *row =
            index + (uint64_t)mail_read(own_mail(partition, tag) + i) * n_words;
        const uint4 v = __ldg(row + word);
        const uint32_t start = __ldg((const uint32_t *)row);
        const uint32_t place = blockIdx.x * partition.post + i;
        if (word == 0)
            rows_of(partition, tag)[place] = start;
        write_parts(parts_of(partition, tag, 0) + place,
                    (uint64_t)gridDim.x * partition.post, partition.n_slices,
                    word, v, v.x - start);
    }
}

/* ---- in a span -------------------------------------------------------------
 * A device has the index of its own slices only. So its blocks post after the
 * gate, for the spikes of all blocks of all devices, in the order of the gate's
 * counts: a reader need not look for the block of a spike. */

/* How many spikes of a burst have their parts posted. */
static __device__ __forceinline__ uint32_t
posted_of(const vly_cuda_partition &partition, uint32_t total)
{
    if (total < partition.post_least)
        return 0;
    return total < partition.post ? total : partition.post;
}

/* The warps of a device divide the words of the index of all spikes: 32 spikes
 * and a word at a time. */
template <bool WIDE>
static __device__ void post_span(const vly_cuda_partition &partition,
                                 const partition_block &block, uint32_t tag,
                                 uint32_t n)
{
    const vly_cuda_partition_group group = partition.groups[0];
    const uint32_t n_words = group.index_words;
    const uint32_t n_items = (n + 31) / 32 * n_words;
    const uint32_t n_warps = gridDim.x * WARPS;
    const uint32_t warp = threadIdx.x / 32 * gridDim.x + blockIdx.x;
    const uint32_t lane = threadIdx.x % 32;
    uint32_t item = (uint32_t)((uint64_t)n_items * warp / n_warps);
    const uint32_t end = (uint32_t)((uint64_t)n_items * (warp + 1) / n_warps);
    uint32_t turn = item / n_words;
    uint32_t q = item % n_words;
    uint64_t row = 0;   /* of the index */
    uint32_t start = 0; /* of the spike's row, its low bits */
    bool known = false;
    for (; item < end; item++) {
        const uint32_t i = 32 * turn + lane;
        if (!known) {
            const spike_place at =
                find_spikes<true>(partition, block, 32 * turn, n);
            uint32_t id = i < n ? span_mail_read(partition, block, tag,
                                                 at.block, at.number)
                                : SPAN_LOST;
            id = id == SPAN_LOST ? 0 : id; /* lost: nothing is delivered */
            row = (uint64_t)id * n_words;
            start = __ldg((const uint32_t *)((const uint4 *)group.index + row));
            known = true;
        }
        if (i < n) {
            const uint4 v = __ldg((const uint4 *)group.index + row + q);
            if (q == 0)
                span_rows_of(partition)[i] =
                    (WIDE ? high_of(group, row) : 0) + start;
            uint32_t at = v.x - start;
            if (WIDE) /* the index has so many bits of both */
                at &= (uint32_t)((1ull << VLY_CUDA_INDEX_BITS) - 1);
            write_parts(partition.parts + i, partition.post,
                        partition.own_slices, q, v, at);
        }
        q++;
        if (q == n_words) {
            q = 0;
            turn++;
            known = false;
        }
    }
}

#endif
