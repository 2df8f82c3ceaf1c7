/* SPDX-License-Identifier: Apache-2.0
 * Delivery of the resident plan: segments of the spikes of a burst are added
 * to the block's ring of accumulators in shared memory, by groups of threads
 * that share a segment.
 */
#ifndef VOLLEY_CUDA_RESIDENT_DELIVER_CUH
#define VOLLEY_CUDA_RESIDENT_DELIVER_CUH

#include "resident_mail.cuh"

/* 1: weights have shifts; burst_shifted.cu, linger_shifted.cu. */
#if !defined(RESIDENT_SHIFTED)
#define RESIDENT_SHIFTED 0
#endif
/* 1: maps learn; burst_learners.cu. */
#if !defined(RESIDENT_LEARNS)
#define RESIDENT_LEARNS 0
#endif

/* Moves one class of shifts down, if the place is beyond the first. Takes the
 * smaller value: place - ring_words wraps if it is not. */
static __device__ __forceinline__ void
leave_class(const resident_block &block, uint32_t *place, uint32_t *weight)
{
    const uint32_t below = min(*place, *place - block.ring_words);
    *weight <<= below != *place ? block.step : 0;
    *place = below;
}

static __device__ __forceinline__ void add_event(const resident_block &block,
                                                 uint32_t base, uint32_t word)
{
    uint32_t place = word & 0xffffu;
    uint32_t weight = (uint32_t)((int32_t)word >> 16);
    if (RESIDENT_SHIFTED) { /* three classes at most */
        leave_class(block, &place, &weight);
        leave_class(block, &place, &weight);
    }
    const uint32_t at = base + place;
    /* the smaller one: at - ring_words wraps if at is in the ring */
    const uint32_t wrapped = min(at, at - block.ring_words);
    atomicAdd(block.ring + wrapped, weight);
}

/* Segments are filled from the front with words that are not 0: padding is
 * seen at the first word of a quad, or adds up to three times 0 somewhere. */
static __device__ __forceinline__ void add_quad(const resident_block &block,
                                                uint32_t base, uint4 v)
{
    if (v.x == 0)
        return;
    add_event(block, base, v.x);
    add_event(block, base, v.y);
    add_event(block, base, v.z);
    add_event(block, base, v.w);
}

/* c: a resident_class or resident_rest, read in one piece */
static __device__ __forceinline__ const uint4 *class_segments(uint4 c)
{
    return (const uint4 *)((uint64_t)c.y << 32 | c.x);
}

/* Destination in the log for the spikes of a list, if it is the block's turn,
 * and in the log that the block keeps for itself if maps learn. */
struct list_log {
    uint64_t start; /* place of the first entry */
    bool writes;
    uint32_t *own; /* or NULL */
    uint32_t own_mask;
};

static __device__ __forceinline__ void write_log(const vly_cuda_view &view,
                                                 const list_log &log,
                                                 uint32_t i, uint32_t entry)
{
    const uint64_t place = (log.start + i) & view.log_mask;
    view.log_ids[place] = entry & ID_MASK;
    view.log_gains[place] = 1u << view.feagi_q;
}

/* Groups of 1 << shift threads share a segment; group is one of n_groups. */
struct list_groups {
    uint32_t shift;
    uint32_t group;
    uint32_t n_groups;
};

static __device__ __forceinline__ list_groups make_groups(uint32_t shift,
                                                          uint32_t thread,
                                                          uint32_t n_threads)
{
    return {shift, thread >> shift, n_threads >> shift};
}

/* The data that a thread reads of a segment at once: a dependent read costs as
 * much as an exchange. */
struct segment_part {
    uint4 v;
    uint4 w;
};

static __device__ __forceinline__ vly_cuda_marks *
block_marks(const resident_block &block, const vly_cuda_segments &part)
{
    return (vly_cuda_marks *)(block.shared + 1) + part.marks_at;
}

/* Quads of a segment: [0, quads) from segment on, [quads, end) from rest on,
 * which points as far before the rest. */
struct segment_place {
    const uint4 *segment;
    const uint4 *rest;
    uint32_t quads;
    uint32_t end;
};

static __device__ __forceinline__ void find_rest(const resident_block &block,
                                                 const vly_cuda_segments &part,
                                                 uint32_t p, uint32_t entry,
                                                 segment_place *place)
{
    const uint32_t id = entry & ID_MASK;
    const vly_cuda_marks marks = block_marks(block, part)[id / 32];
    const uint32_t bit = 1u << (id % 32);
    if ((marks.bits & bit) == 0)
        return;
    const uint4 r =
        *(const uint4 *)(block.shared->rests[p] + (entry >> AREA_SHIFT));
    const uint32_t rank =
        marks.before + (uint32_t)__popc(marks.bits & (bit - 1));
    place->rest = class_segments(r) + (uint64_t)rank * r.z - place->quads;
    place->end += r.z;
}

static __device__ __forceinline__ segment_place
find_segment(const resident_block &block, const vly_cuda_segments &part,
             uint32_t p, uint32_t entry)
{
    const uint4 c =
        *(const uint4 *)(block.shared->classes[p] + (entry >> AREA_SHIFT));
    const uint4 *segment =
        class_segments(c) + (uint64_t)(entry & ID_MASK) * c.w;
    segment_place place = {segment, segment, c.w, c.w};
    if (part.marks != nullptr)
        find_rest(block, part, p, entry, &place);
    return place;
}

static __device__ __forceinline__ uint4 read_quad(const segment_place &place,
                                                  uint32_t q)
{
    return q < place.end
               ? __ldcs((q < place.quads ? place.segment : place.rest) + q)
               : make_uint4(0, 0, 0, 0);
}

static __device__ __forceinline__ segment_part
read_segment(const resident_block &block, const vly_cuda_segments &part,
             uint32_t p, uint32_t entry, const list_groups &groups)
{
    const uint32_t share = 1u << groups.shift;
    const uint32_t q = threadIdx.x & (share - 1);
    const segment_place place = find_segment(block, part, p, entry);
    return {read_quad(place, q), read_quad(place, q + share)};
}

/* Where all maps learn, a part has no segments. */
static __device__ __forceinline__ bool
has_segments(const vly_cuda_segments &part)
{
    return !RESIDENT_LEARNS || part.quads != 0;
}

/* The rest of a segment. */
static __device__ __forceinline__ void
add_beyond(const resident_block &block, const vly_cuda_segments &part,
           uint32_t p, uint32_t entry, uint32_t base, const list_groups &groups)
{
    const uint32_t share = 1u << groups.shift;
    const segment_place place = find_segment(block, part, p, entry);
#pragma unroll 1
    for (uint32_t q = (threadIdx.x & (share - 1)) + 2 * share; q < place.end;
         q += share)
        add_quad(block, base, read_quad(place, q));
}

/* Spikes [groups.group, n) of a list, every n_groups-th; part: of the first
 * of them, if it has been read. base: word of the ring for a delay of 1. */
static __device__ __forceinline__ void
deliver_list(const resident_block &block, uint32_t p,
             const vly_cuda_resident &resident, const uint32_t *list,
             uint32_t n, uint32_t base, const list_groups &groups,
             segment_part part, bool is_read)
{
    const vly_cuda_segments &segments = resident.part[p];
    if (!has_segments(segments))
        return;
    const bool is_longer = segments.quads > 2u << groups.shift;
#pragma unroll 1
    for (uint32_t e = groups.group; e < n; e += groups.n_groups) {
        if (!is_read)
            part = read_segment(block, segments, p, list[e], groups);
        is_read = false;
        add_quad(block, base, part.v);
        add_quad(block, base, part.w);
        if (is_longer)
            add_beyond(block, segments, p, list[e], base, groups);
    }
}

#define NOT_READ                                                               \
    {                                                                          \
        {0, 0, 0, 0},                                                          \
        {                                                                      \
            0, 0, 0, 0                                                         \
        }                                                                      \
    }

/* Both parts, by all threads. */
static __device__ __forceinline__ void
deliver_both(const vly_cuda_resident &resident, const resident_block &block,
             const uint32_t *list, uint32_t n, uint32_t base)
{
#pragma unroll 1
    for (uint32_t p = 0; p < VLY_CUDA_N_PARTS; p++)
        deliver_list(
            block, p, resident, list, n, base,
            make_groups(resident.part[p].shift, threadIdx.x, blockDim.x),
            NOT_READ, false);
}

static __device__ __forceinline__ void log_list(const vly_cuda_view &view,
                                                const uint32_t *list,
                                                uint32_t n, const list_log &log)
{
    if (log.writes)
        for (uint32_t i = threadIdx.x; i < n; i += blockDim.x)
            write_log(view, log, i, list[i]);
    if (RESIDENT_LEARNS && log.own != nullptr)
        for (uint32_t i = threadIdx.x; i < n; i += blockDim.x)
            log.own[((uint32_t)log.start + i) & log.own_mask] =
                list[i] & ID_MASK;
}

/* Spikes of the burst before the launch, from the log. */
static __device__ __forceinline__ void
deliver_log(const vly_cuda_view &view, const vly_cuda_launch &launch,
            const vly_cuda_resident &resident, const resident_block &block,
            uint32_t base)
{
    uint32_t *list = block.shared->list[0];
    vly_cuda_record record = {0, 0, 0, 0};
    if (launch.burst > 0)
        record = view.records[(uint32_t)(launch.burst - 1) & view.record_mask];
    for (uint32_t from = 0; from < record.count; from += LIST) {
        uint32_t n = record.count - from < LIST ? record.count - from : LIST;
        for (uint32_t i = threadIdx.x; i < n; i += blockDim.x) {
            uint32_t id =
                view.log_ids[(record.start + from + i) & view.log_mask];
            list[i] = class_of(block, id) << AREA_SHIFT | id;
        }
        __syncthreads();
        deliver_both(resident, block, list, n, base);
        __syncthreads();
    }
}

/* Spikes that did not fit into the lines of their blocks, n_over of them.
 * Delivers them, if requested, through the other list, which is free. log:
 * position after the spikes of the lines. All threads; none continues before
 * all are done. */
template <bool PACKED>
static __device__ __forceinline__ void
take_over(const vly_cuda_view &view, const vly_cuda_resident &resident,
          const resident_block &block, uint32_t tag, uint32_t base,
          uint32_t n_over, bool deliver, list_log log)
{
    resident_shared *shared = block.shared;
    uint32_t *list = shared->list[(tag + 1) & 1];
    uint32_t o = 0;
    uint32_t low = 0;
    while (o < n_over) {
        uint32_t filled = 0;
        while (o < n_over && filled < LIST) {
            uint32_t n = shared->over_n[o] - low;
            n = n < LIST - filled ? n : LIST - filled;
            for (uint32_t i = threadIdx.x; i < n; i += blockDim.x)
                list[filled + i] = read_more<PACKED>(resident, block, tag,
                                                     shared->over[o], low + i);
            filled += n;
            low += n;
            if (low == shared->over_n[o]) {
                o++;
                low = 0;
            }
        }
        __syncthreads();
        if (deliver)
            deliver_both(resident, block, list, filled, base);
        log_list(view, list, filled, log);
        log.start += filled;
        __syncthreads();
    }
}

/* n_over blocks have more spikes than their lines hold: how many. */
static __device__ __forceinline__ uint32_t
count_over(const resident_shared *shared, uint32_t n_over)
{
    uint32_t n = 0;
    for (uint32_t o = 0; o < n_over; o++)
        n += shared->over_n[o];
    return n;
}

static __device__ __forceinline__ void
take_inputs(const vly_cuda_launch &launch, const vly_cuda_resident &resident,
            const resident_block &block, uint32_t k, uint32_t base)
{
    const uint32_t end = launch.input_row[k + 1];
    for (uint32_t i = launch.input_row[k] + threadIdx.x; i < end;
         i += blockDim.x) {
        vly_cuda_input input = launch.inputs[i];
        if (input.neuron % resident.n_blocks == blockIdx.x)
            atomicAdd(block.ring + base + input.neuron / resident.n_blocks,
                      (uint32_t)input.value);
    }
    __syncthreads();
}

#endif
