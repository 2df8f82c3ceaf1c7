/* SPDX-License-Identifier: Apache-2.0
 * Positions of parts of rows, posted for all slices: a block then reads
 * adjacent words, instead of a word of the index for each spike.
 */
#ifndef VOLLEY_CUDA_PARTITION_POST_CUH
#define VOLLEY_CUDA_PARTITION_POST_CUH

#include "partition_deliver.cuh"

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
        const uint64_t stride = (uint64_t)gridDim.x * partition.post;
        const uint32_t slice = word * VLY_CUDA_INDEX_PARTS;
        const uint32_t place = blockIdx.x * partition.post + i;
        uint32_t *to = parts_of(partition, tag, slice) + place;
        if (word == 0)
            rows_of(partition, tag)[place] = start;
        uint32_t at = v.x - start;
        const uint32_t lengths[3] = {v.y, v.z, v.w};
#pragma unroll
        for (uint32_t p = 0; p < VLY_CUDA_INDEX_PARTS; p++) {
            const uint32_t length = lengths[p / 4] >> p % 4 * 8 & 0xffu;
            if (slice + p < partition.n_slices)
                to[p * stride] = at << 8 | length;
            at += length;
        }
    }
}

/* ---- in a span -------------------------------------------------------------
 * A device knows the parts of its own slices only, so they are posted after the
 * gate, by the blocks of every device for all spikes, in the order in which
 * they are counted there: then no reader looks for the block of a spike. */

/* Of how many spikes parts are posted. */
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
            id = id == SPAN_LOST ? 0 : id; /* then no block reads it */
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
            if (WIDE) /* of which the index has so many bits */
                at &= (uint32_t)((1ull << VLY_CUDA_INDEX_BITS) - 1);
            uint32_t *to = partition.parts + i;
            const uint32_t lengths[3] = {v.y, v.z, v.w};
#pragma unroll
            for (uint32_t p = 0; p < VLY_CUDA_INDEX_PARTS; p++) {
                const uint32_t slice = q * VLY_CUDA_INDEX_PARTS + p;
                const uint32_t length = lengths[p / 4] >> p % 4 * 8 & 0xffu;
                if (slice < partition.own_slices)
                    to[(uint64_t)slice * partition.post] = at << 8 | length;
                at += length;
            }
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
