/* SPDX-License-Identifier: Apache-2.0
 * Update of the partitioned plan: a warp takes tiles of its block in turn,
 * reads the state of the next while it computes, and posts the ids of those
 * that fired.
 */
#ifndef VOLLEY_CUDA_PARTITION_UPDATE_CUH
#define VOLLEY_CUDA_PARTITION_UPDATE_CUH

#include "area_update.cuh"
#include "partition_block.cuh"

#include "kernels/models/digest.h"

/* The current tile: neuron j of a lane is number 32 * j + lane. */
struct tile_work {
    vly_cuda_slice_tile tile;
    const partition_area *area;
    uint32_t *kept; /* packed counts of the lane's first neuron */
    uint32_t state[VLY_CUDA_TILE_ROWS][VLY_CUDA_MAX_FIELDS];
    uint32_t draws[VLY_CUDA_TILE_ROWS];
    uint32_t sum[VLY_CUDA_TILE_ROWS]; /* if narrow, words of two */
    uint32_t *extra; /* of the lane's first neuron, or NULL: nothing came */
};

#if VLY_CUDA_SPLICED
/* Of a user's model: reads the fields of row J. */
template <int J>
static __device__ __forceinline__ void
read_program_row(const vly_cuda_partition &partition, const tile_work &work,
                 const vly_cuda_block_program &program)
{
    const uint32_t i = 32 * J + threadIdx.x % 32;
    const uint32_t last = work.tile.n - 1;
    program_read<J>(program.number,
                    partition.state + work.tile.state + (i < last ? i : last),
                    work.area->n);
}
#endif

/* All reads of a tile: a lane has the reads of all its neurons in flight, with
 * one base address. Values that are not read are set to 0: otherwise words of
 * the previous tile would be kept in registers. */
template <int MODEL, int KIND, bool SPAN>
static __device__ __forceinline__ void
read_tile(const vly_cuda_partition &partition, const partition_block &block,
          uint64_t burst, uint32_t base, uint32_t q, bool any_input,
          tile_work *work)
{
    const uint32_t lane = threadIdx.x % 32;
    const uint32_t number = own_tile(partition, block, q);
    const uint4 v = __ldg((const uint4 *)partition.tiles + number);
    work->tile = {v.x, v.y, v.z, v.w};
    const partition_area *area = block.areas + v.x;
    work->area = area;
#if VLY_CUDA_SPLICED
    const vly_cuda_block_program program = block.programs.list[v.x];
    if (has_program<MODEL>(program)) {
        read_program_row<0>(partition, *work, program);
        read_program_row<1>(partition, *work, program);
        read_program_row<2>(partition, *work, program);
        read_program_row<3>(partition, *work, program);
    }
#endif
    work->kept = draws_of<SPAN>(partition, burst, number) + lane;
    const uint32_t n = fields_of<MODEL>(area->model);
#pragma unroll
    for (uint32_t i = 0; i < VLY_CUDA_MAX_FIELDS; i++) {
        const uint32_t *state = partition.state + v.y + i * area->n + lane;
#pragma unroll
        for (uint32_t j = 0; j < VLY_CUDA_TILE_ROWS; j++)
            work->state[j][i] =
                i < n && 32 * j + lane < v.z ? state[32 * j] : 0;
    }
    const uint32_t packed = area->packed;
#pragma unroll
    for (uint32_t j = 0; j < VLY_CUDA_TILE_ROWS; j++)
        work->draws[j] =
            packed != 0 && 32 * j + lane < v.z ? work->kept[32 * j] : 0;
    const uint32_t place =
        (block.rank + q * partition.cluster) * partition.tile;
    if constexpr (KIND == KIND_PAIR) {
        read_pair(partition, block, q, v.z, work->sum);
    } else if constexpr (KIND == KIND_NARROW) {
        work->extra = any_input
                          ? partition.extra + number * partition.tile + lane
                          : nullptr;
        read_slice<VLY_CUDA_TILE_ROWS / 2>(partition, block,
                                           block.ring + place / 2 + lane,
                                           (v.z + 1) / 2, work->sum);
    } else {
        read_slice<VLY_CUDA_TILE_ROWS>(
            partition, block, block.ring + base + place + lane, v.z, work->sum);
    }
}

/* Input of neuron j of the lane. Input of the host is read past the first-level
 * cache, added, and cleared for the next burst. */
template <int KIND>
static __device__ __forceinline__ uint32_t arrived(const tile_work &work,
                                                   uint32_t j)
{
    if constexpr (KIND != KIND_NARROW)
        return work.sum[j];
    const uint32_t word = work.sum[j / 2];
    const int32_t part =
        j % 2 == 0 ? vly_narrow_low(word) : vly_narrow_high(word);
    uint32_t sum = (uint32_t)part * work.area->divisor;
    if (work.extra != nullptr) {
        const uint32_t extra = __ldcg(work.extra + 32 * j);
        if (extra != 0)
            work.extra[32 * j] = 0;
        sum += extra;
    }
    return sum;
}

#if VLY_CUDA_SPLICED

/* A bit if neuron J of the lane fired. */
template <int KIND, bool SPAN, int J>
static __device__ __forceinline__ uint32_t update_program_row(
    const vly_cuda_view &view, const vly_cuda_partition &partition,
    const partition_block &block, uint64_t burst, uint32_t fresh,
    const tile_work &work, const vly_cuda_block_program &program)
{
    const uint32_t i = 32 * J + threadIdx.x % 32;
    const uint32_t id = work.tile.id + i;
    if (i >= work.tile.n)
        return 0;
    const uint32_t sum =
        arrived<KIND>(work, J) +
        draw_lane<SPAN>(view, work.area, work.tile.area, burst, fresh, id,
                        work.draws[J], work.kept + 32 * J);
    return program_spliced<J>(
               view, program.number, partition.state + work.tile.state + i,
               work.area->n,
               block_coefs(view, block.programs, program, work.tile.area),
               burst, id - program.first, id,
               (float)(int32_t)sum * work.area->scale, 0.0f)
           << J;
}

/* All of them, one for each neuron of the lane. */
template <int KIND, bool SPAN>
static __device__ __forceinline__ uint32_t update_program_tile(
    const vly_cuda_view &view, const vly_cuda_partition &partition,
    const partition_block &block, uint64_t burst, uint32_t fresh,
    const tile_work &work, const vly_cuda_block_program &program)
{
    static_assert(VLY_CUDA_TILE_ROWS == VLY_CUDA_QUAD_ROWS, "rows one by one");
    return update_program_row<KIND, SPAN, 0>(view, partition, block, burst,
                                             fresh, work, program) |
           update_program_row<KIND, SPAN, 1>(view, partition, block, burst,
                                             fresh, work, program) |
           update_program_row<KIND, SPAN, 2>(view, partition, block, burst,
                                             fresh, work, program) |
           update_program_row<KIND, SPAN, 3>(view, partition, block, burst,
                                             fresh, work, program);
}

#endif

/* 1 if neuron j of the lane fired */
template <int MODEL, int KIND, bool SPAN>
static __device__ __forceinline__ uint32_t
update_neuron(const vly_cuda_view &view, const vly_cuda_partition &partition,
              uint64_t burst, uint32_t fresh, const tile_work &work,
              const uint32_t coefs[VLY_CUDA_MAX_COEFS], uint32_t j)
{
    const uint32_t id = work.tile.id + 32 * j + threadIdx.x % 32;
    const partition_area *area = work.area;
    const uint32_t sum =
        arrived<KIND>(work, j) +
        draw_lane<SPAN>(view, area, work.tile.area, burst, fresh, id,
                        work.draws[j], work.kept + 32 * j);
    vly_cuda_words words;
#pragma unroll
    for (uint32_t i = 0; i < VLY_CUDA_MAX_FIELDS; i++)
        words.s[i] = work.state[j][i];
#pragma unroll
    for (uint32_t i = 0; i < VLY_CUDA_MAX_COEFS; i++)
        words.c[i] = coefs[i];
    if (area->uniform == 0)
        load_coefs<MODEL>(view.areas + work.tile.area, id - area->first,
                          &words);
    uint32_t gain;
    const uint32_t fired =
        step_words<MODEL>(view, area->model, burst, id,
                          (float)(int32_t)sum * area->scale, &words, &gain);
    uint32_t *state =
        partition.state + work.tile.state + 32 * j + threadIdx.x % 32;
    constexpr uint32_t counters = make_counters<MODEL>();
    const uint32_t n = fields_of<MODEL>(area->model);
#pragma unroll
    for (uint32_t i = 0; i < VLY_CUDA_MAX_FIELDS; i++)
        if (i < n &&
            ((counters >> i & 1) == 0 || words.s[i] != work.state[j][i]))
            state[i * area->n] = words.s[i];
    return fired;
}

/* All neurons of a lane: a bit for each that fired. */
template <int MODEL, int KIND, bool SPAN>
static __device__ __forceinline__ uint32_t
update_tile(const vly_cuda_view &view, const vly_cuda_partition &partition,
            const partition_block &block, uint64_t burst, uint32_t fresh,
            const tile_work &work)
{
#if VLY_CUDA_SPLICED
    const vly_cuda_block_program program = block.programs.list[work.tile.area];
    if (has_program<MODEL>(program))
        return update_program_tile<KIND, SPAN>(view, partition, block, burst,
                                               fresh, work, program);
#else
    (void)block;
#endif
    uint32_t coefs[VLY_CUDA_MAX_COEFS];
#pragma unroll
    for (uint32_t i = 0; i < VLY_CUDA_MAX_COEFS; i++)
        coefs[i] = work.area->coefs[i];
    uint32_t fired = 0;
#pragma unroll
    for (uint32_t j = 0; j < VLY_CUDA_TILE_ROWS; j++)
        if (32 * j + threadIdx.x % 32 < work.tile.n)
            fired |= update_neuron<MODEL, KIND, SPAN>(view, partition, burst,
                                                      fresh, work, coefs, j)
                     << j;
    return fired;
}

/* In a span: an id to the same place of the mail of every device. */
static __device__ __forceinline__ void
post_span(const vly_cuda_partition &partition, uint64_t place, uint32_t number,
          uint32_t id)
{
#pragma unroll 1
    for (uint32_t d = 0; d < partition.span.n; d++)
        asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"(
                         partition.span.mail[d] + place),
                     "l"((uint64_t)number << 32 | id)
                     : "memory");
}

/* Ids of a tile's spikes, a bit for each neuron of a lane, to the block's
 * mail, in any order, and their digest. COUNTS: adds their synaptic events to
 * *n_events. Whole warps. */
template <bool COUNTS, bool SPAN>
static __device__ __forceinline__ uint64_t
post_mail(const vly_cuda_view &view, const vly_cuda_partition &partition,
          const partition_block &block, uint32_t tag, uint64_t burst,
          uint32_t fired, uint32_t id, uint64_t *n_events)
{
    const uint32_t lane = threadIdx.x % 32;
    if (__ballot_sync(0xffffffffu, fired != 0) == 0)
        return 0;
    uint32_t before = 0;
    uint32_t total = 0;
    uint32_t votes[VLY_CUDA_TILE_ROWS];
#pragma unroll
    for (uint32_t j = 0; j < VLY_CUDA_TILE_ROWS; j++) {
        votes[j] = __ballot_sync(0xffffffffu, (fired >> j & 1) != 0);
        total += (uint32_t)__popc(votes[j]);
    }
    if (lane == 0)
        before = atomicAdd(&block.shared->n_mail, total);
    before = __shfl_sync(0xffffffffu, before, 0);
    const uint64_t mixed = vly_digest_mix(burst);
    uint32_t *mail = own_mail(partition, tag);
    uint64_t digest = 0;
    if constexpr (SPAN) {
        /* Most lanes that have a spike have one: all of them at a time. */
        uint32_t place = before;
#pragma unroll
        for (uint32_t j = 0; j < VLY_CUDA_TILE_ROWS; j++)
            place += (uint32_t)__popc(votes[j] & ((1u << lane) - 1));
#pragma unroll 1
        for (uint32_t rest = fired; rest != 0; rest &= rest - 1) {
            const uint32_t neuron = id + 32 * (uint32_t)(__ffs((int)rest) - 1);
            post_span(
                partition,
                span_mail_at(partition, tag, span_block_number(partition)) +
                    place,
                span_number(partition, tag), neuron);
            place++;
            digest += vly_digest_pair(mixed, neuron, 1u << view.feagi_q);
            if (COUNTS)
                *n_events += view.out_degree[neuron];
        }
        return digest;
    }
    /* On one device row by row, which takes 1% less at 1% (1 M neurons). */
#pragma unroll
    for (uint32_t j = 0; j < VLY_CUDA_TILE_ROWS; j++) {
        if ((fired >> j & 1) != 0) {
            const uint32_t place =
                before + (uint32_t)__popc(votes[j] & ((1u << lane) - 1));
            mail[place] = id + 32 * j;
            digest += vly_digest_pair(mixed, id + 32 * j, 1u << view.feagi_q);
            if (COUNTS)
                *n_events += view.out_degree[id + 32 * j];
        }
        before += (uint32_t)__popc(votes[j]);
    }
    return digest;
}

/* Prefetches the data of the block's own tile q, a lane for each line of 128
 * bytes, while another tile is computed. */
template <int MODEL, bool SPAN>
static __device__ __forceinline__ void
ask_tile(const vly_cuda_partition &partition, const partition_block &block,
         uint64_t burst, uint32_t q)
{
    const uint32_t field = threadIdx.x % 32 / VLY_CUDA_TILE_ROWS;
    const uint32_t j = threadIdx.x % VLY_CUDA_TILE_ROWS;
    if (q >= block.n_own)
        return;
    const uint32_t number = own_tile(partition, block, q);
    const uint4 v = __ldg((const uint4 *)partition.tiles + number);
    const partition_area *area = block.areas + v.x;
    uint32_t n = fields_of<MODEL>(area->model);
#if VLY_CUDA_SPLICED
    if (has_program<MODEL>(block.programs.list[v.x]))
        n = block.programs.list[v.x].n_fields;
#endif
    if (32 * j >= v.z || field > n)
        return;
    const uint32_t *at = field < n ? partition.state + v.y + field * area->n
                                   : draws_of<SPAN>(partition, burst, number);
    asm volatile("prefetch.global.L2 [%0];" ::"l"(at + 32 * j));
}

/* All tiles of the block, spikes to its mail, their digest to the block's, and
 * if COUNTS their synaptic events, which launches of many bursts count when
 * they write the log. */
template <int MODEL, bool COUNTS, int KIND, bool SPAN = false>
static __device__ __forceinline__ void
update_tiles(const vly_cuda_view &view, const vly_cuda_partition &partition,
             const partition_block &block, uint64_t burst, uint32_t tag,
             uint32_t base, bool any_input)
{
    const uint32_t lane = threadIdx.x % 32;
    uint64_t digest = 0;
    uint64_t n_events = 0;
    for (uint32_t q = threadIdx.x / 32; q < block.n_own; q += WARPS) {
        tile_work work;
        read_tile<MODEL, KIND, SPAN>(partition, block, burst, base, q,
                                     any_input, &work);
        ask_tile<MODEL, SPAN>(partition, block, burst, q + WARPS);
        const uint32_t fired = update_tile<MODEL, KIND, SPAN>(
            view, partition, block, burst, tag == 1, work);
        digest +=
            post_mail<COUNTS, SPAN>(view, partition, block, tag, burst, fired,
                                    work.tile.id + lane, &n_events);
    }
    if (__ballot_sync(0xffffffffu, digest != 0) != 0) {
        digest = warp_sum(digest);
        if (lane == 0)
            atomicAdd(&block.shared->digest, (unsigned long long)digest);
    }
    if (COUNTS && __ballot_sync(0xffffffffu, n_events != 0) != 0) {
        n_events = warp_sum(n_events);
        if (lane == 0)
            atomicAdd(&block.shared->n_events, (unsigned long long)n_events);
    }
}

#endif
