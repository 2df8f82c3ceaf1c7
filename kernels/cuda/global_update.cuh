/* SPDX-License-Identifier: Apache-2.0
 * Update of the plan for every net: stimuli, step and spikes of the block's
 * neurons. Nets of one model with one port take several neurons a thread, with
 * all their reads in flight before the first step; data common to an area is
 * read once for them (16 M x 100 on an H200: 882 us a burst instead of 1,580).
 * Other nets are updated neuron by neuron.
 */
#ifndef VOLLEY_CUDA_GLOBAL_UPDATE_CUH
#define VOLLEY_CUDA_GLOBAL_UPDATE_CUH

#define VLY_CUDA_TWO_PORT_MODELS 1
#include "area_update.cuh"
#if VLY_CUDA_PROGRAMS
#include "program_update.cuh"
#endif

#include "kernels/models/digest.h"

#define THREADS VLY_CUDA_THREADS
#define ROWS 4u                /* neurons of a thread at a time */
#define BATCH (ROWS * THREADS) /* spikes that may come at a time */
#define LIST 5120u /* spikes of a block before they are written; > BATCH */

/* Shared memory of a block. */
struct block_shared {
    uint32_t ids[LIST];
    uint32_t gains[LIST];
    uint32_t n_list;
    uint32_t base;  /* of the list in the burst's part of the log */
    uint64_t head;  /* log position of the burst to come */
    uint32_t go;    /* 1: another burst */
    long long time; /* end of the last phase */
    uint64_t cycles[3];
#if VLY_CUDA_LEARNS
    const vly_cuda_learnings *learnings;
    uint32_t flush; /* 1: a ring is full */

#endif
#if VLY_CUDA_PROGRAMS
    const vly_cuda_programs *programs;
    uint32_t *values; /* of their steps, of this block */
#endif
#if VLY_CUDA_SPLICED
    vly_cuda_program program; /* of area_index, with its coefficients */
    uint32_t coefs[VLY_CUDA_QUAD_COEFS];
    uint32_t vary; /* 1: not all are the same for all its neurons */
#endif
    uint32_t area_index; /* the area that is in ... */
    partition_area area; /* ... if any; nets of one model with one port */
};

#define NO_AREA 0xffffffffu

/* ---- spikes ------------------------------------------------------------ */

/* Appends to the block's list. */
static __device__ __forceinline__ void
list_append(block_shared *shared, uint32_t fired, uint32_t id, uint32_t gain)
{
    const uint32_t lane = threadIdx.x % 32;
    const uint32_t votes = __ballot_sync(0xffffffffu, fired != 0);
    if (votes == 0)
        return;
    uint32_t base = 0;
    if (lane == 0)
        base = atomicAdd(&shared->n_list, (uint32_t)__popc(votes));
    base = __shfl_sync(0xffffffffu, base, 0);
    if (fired != 0) {
        uint32_t at = base + (uint32_t)__popc(votes & ((1u << lane) - 1u));
        shared->ids[at] = id;
        shared->gains[at] = gain;
    }
}

static __device__ __forceinline__ uint64_t warp_sum(uint64_t x)
{
    for (int d = 16; d > 0; d /= 2)
        x += __shfl_xor_sync(0xffffffffu, x, d);
    return x;
}

/* Writes the list to the log, with its digest and its events. */
static __device__ void list_flush(const vly_cuda_view &view,
                                  block_shared *shared, uint64_t burst,
                                  uint64_t mixed, uint64_t *n_events)
{
    vly_cuda_record *record =
        view.records + ((uint32_t)burst & view.record_mask);
    __syncthreads();
    const uint32_t n = shared->n_list;
    __syncthreads(); /* no thread appends before all have read it */
    if (n == 0)
        return;
    if (threadIdx.x == 0)
        shared->base = atomicAdd(&record->count, n);
    __syncthreads();
    const uint64_t start = shared->head + shared->base;
    uint64_t digest = 0;
    for (uint32_t i = threadIdx.x; i < n; i += blockDim.x) {
        uint32_t id = shared->ids[i];
        uint32_t gain = shared->gains[i];
        uint64_t at = (start + i) & view.log_mask;
        view.log_ids[at] = id;
        view.log_gains[at] = gain;
        digest += vly_digest_pair(mixed, id, gain);
        *n_events += view.out_degree[id];
#if VLY_CUDA_LEARNS
        learning_fired(*shared->learnings, burst, id);
#endif
    }
    digest = warp_sum(digest);
    if (threadIdx.x % 32 == 0 && threadIdx.x < n)
        atomicAdd((unsigned long long *)&record->digest,
                  (unsigned long long)digest);
    __syncthreads();
    if (threadIdx.x == 0)
        shared->n_list = 0;
    __syncthreads();
}

/* Whether the next neurons may be more than the list has room for. Flushing
 * costs a round trip of an atomic to memory, so it is done rarely. */
static __device__ __forceinline__ bool list_is_full(block_shared *shared)
{
    __syncthreads();
    const uint32_t n = shared->n_list;
    __syncthreads();
    return n > LIST - BATCH;
}

/* ---- neuron by neuron -------------------------------------------------- */

/* 1 if the neuron fired */
template <int MODEL>
static __device__ __forceinline__ uint32_t update_neuron(
    const vly_cuda_view &view, const vly_cuda_area *area, uint32_t i,
    uint64_t burst, uint32_t slot, uint32_t *gain, uint64_t *n_candidates)
{
    const uint32_t neuron = area->first + i;
    const uint64_t n = view.n_neurons;
    uint32_t *input = view.input + (uint64_t)slot * view.n_ports * n + neuron;
    uint32_t drawn[VLY_CUDA_PROGRAM_PORTS] = {0, 0};
    uint32_t any = draw_stimuli(view, area, burst, neuron, drawn);
    if (area->feagi != 0) {
        uint8_t *mark = view.mark + slot * n + neuron;
        if (__ldcg(mark) != 0) {
            *mark = 0;
            any = 1;
        }
        if (any == 0)
            return 0;
    }
    vly_cuda_words words;
    load_state<MODEL>(area, i, &words);
    load_coefs<MODEL>(area, i, &words);
    uint32_t sum = __ldcg(input) + drawn[0];
    *input = 0;
    float in1 = 0.0f;
    if (view.n_ports > 1) {
        uint32_t sum1 = __ldcg(input + n) + drawn[1];
        input[n] = 0;
        in1 = (float)(int32_t)sum1 * area->scale[1];
    }
    *n_candidates += 1;
    uint32_t fired = step_words<MODEL>(view, area->model, burst, neuron,
                                       (float)(int32_t)sum * area->scale[0],
                                       &words, gain, in1);
    store_state<MODEL>(area, i, &words);
    return fired;
}

template <int MODEL>
static __device__ __forceinline__ void
update_tile(const vly_cuda_view &view, block_shared *shared, uint32_t tile,
            uint64_t burst, uint32_t slot, uint64_t *n_candidates)
{
    const vly_cuda_tile part = view.tiles[tile];
    const vly_cuda_area *area = view.areas + part.area;
    const uint32_t i = part.first + threadIdx.x;
    uint32_t fired = 0;
    uint32_t gain = 0;
#if VLY_CUDA_PROGRAMS
    if (MODEL == VLY_CUDA_ONLY_PROGRAMS || area->model == VLY_CUDA_N_MODELS) {
        if (threadIdx.x < part.n) {
            fired = program_update(view, *shared->programs, shared->values,
                                   part.area, i, burst, slot);
            *n_candidates += 1;
        }
        list_append(shared, fired, area->first + i, 1u << view.feagi_q);
        return;
    }
#endif
    if (threadIdx.x < part.n)
        fired = update_neuron<MODEL>(view, area, i, burst, slot, &gain,
                                     n_candidates);
    list_append(shared, fired, area->first + i, gain);
}

/* ---- several neurons a thread ------------------------------------------ */

template <int MODEL> static __host__ __device__ constexpr bool has_one_port()
{
    switch (MODEL) {
#define VLY_CUDA_CASE(name) case VLY_CUDA_MODEL_##name:
        VLY_CUDA_EACH_ONE_PORT(VLY_CUDA_CASE)
#undef VLY_CUDA_CASE
        return true;
    }
    return false;
}

/* Adjacent neurons of one area. The fields of an area are stored one after
 * another. */
struct batch_view {
    uint32_t *state; /* of the first neuron */
    uint32_t *input;
    uint32_t id;    /* global, of the first neuron */
    uint32_t index; /* of the area */
    uint32_t n;
    uint32_t n_tiles;
};

#if VLY_CUDA_SPLICED
/* By the first warp: the program of an area, of few coefficients. */
static __device__ void load_program(block_shared *shared, uint32_t index)
{
    const vly_cuda_program *program = shared->programs->list + index;
    if (threadIdx.x >= 32)
        return;
    uint32_t mask = 0;
    if (threadIdx.x < program->n_coefs) {
        const vly_cuda_column column = program->coefs[threadIdx.x];
        shared->coefs[threadIdx.x] = column.words[0];
        mask = column.mask;
    }
    const uint32_t vary = __ballot_sync(0xffffffffu, mask != 0);
    if (threadIdx.x == 0) {
        shared->program = *program;
        shared->vary = vary != 0 ? 1 : 0;
    }
}
#endif

/* The batch that begins with a tile, and its area to shared memory. All threads
 * of the block. */
template <int MODEL>
static __device__ __forceinline__ batch_view
make_batch(const vly_cuda_view &view, block_shared *shared, uint32_t tile,
           uint32_t end, uint32_t slot)
{
    const vly_cuda_tile first = view.tiles[tile];
    uint32_t upto = first.first + first.n;
    batch_view b;
    if (first.area != shared->area_index) {
        __syncthreads(); /* all have looked */
        if (threadIdx.x == 0) {
            load_area<MODEL>(view, first.area, 1, &shared->area);
            shared->area_index = first.area;
        }
#if VLY_CUDA_SPLICED
        load_program(shared, first.area);
#endif
        __syncthreads();
    }
    b.n_tiles = 1;
    while (b.n_tiles < ROWS && tile + b.n_tiles < end) {
        const vly_cuda_tile next = view.tiles[tile + b.n_tiles];
        if (next.area != first.area)
            break;
        upto = next.first + next.n;
        b.n_tiles++;
    }
    b.n = upto - first.first;
    b.id = shared->area.first + first.first;
    b.index = first.area;
    b.state = view.areas[first.area].field[0] + first.first;
    b.input = view.input + (uint64_t)slot * view.n_neurons + b.id;
    return b;
}

/* A thread's neurons: number j is threadIdx.x + j * THREADS of the batch. */
struct batch_rows {
    uint32_t state[ROWS][VLY_CUDA_MAX_FIELDS];
    uint32_t sum[ROWS];
    uint32_t counts[ROWS];
};

template <int MODEL>
static __device__ __forceinline__ void
read_rows(const vly_cuda_view &view, const partition_area &area,
          const batch_view &b, batch_rows *rows)
{
#pragma unroll
    for (uint32_t j = 0; j < ROWS; j++) {
        const uint32_t i = threadIdx.x + j * THREADS;
        const bool is_there = i < b.n;
        const uint32_t *state = b.state + i;
#pragma unroll
        for (uint32_t f = 0; f < fields_of<MODEL>(MODEL); f++)
            rows->state[j][f] = is_there ? state[f * (uint64_t)area.n] : 0;
        rows->sum[j] = is_there ? __ldcg(b.input + i) : 0;
        rows->counts[j] =
            is_there && area.packed != 0 ? view.draws[b.id + i] : 0;
    }
}

/* 1 if neuron j of the thread fired */
template <int MODEL>
static __device__ __forceinline__ uint32_t update_row(
    const vly_cuda_view &view, const partition_area &area, const batch_view &b,
    uint64_t burst, bool fresh, const batch_rows &rows, uint32_t j)
{
    const uint32_t i = threadIdx.x + j * THREADS;
    vly_cuda_words words;
    uint32_t gain;
    if (rows.sum[j] != 0)
        b.input[i] = 0;
    const uint32_t sum =
        rows.sum[j] + draw_lane(view, &area, b.index, burst, fresh, b.id + i,
                                rows.counts[j], view.draws + b.id + i);
#pragma unroll
    for (uint32_t f = 0; f < VLY_CUDA_MAX_FIELDS; f++)
        words.s[f] = rows.state[j][f];
#pragma unroll
    for (uint32_t c = 0; c < VLY_CUDA_MAX_COEFS; c++)
        words.c[c] = area.coefs[c];
    if (area.uniform == 0)
        load_coefs<MODEL>(view.areas + b.index, b.id + i - area.first, &words);
    const uint32_t fired =
        step_words<MODEL>(view, MODEL, burst, b.id + i,
                          (float)(int32_t)sum * area.scale, &words, &gain);
    constexpr uint32_t counters = make_counters<MODEL>();
    uint32_t *state = b.state + i;
#pragma unroll
    for (uint32_t f = 0; f < fields_of<MODEL>(MODEL); f++)
        if ((counters >> f & 1) == 0 || words.s[f] != rows.state[j][f])
            state[f * (uint64_t)area.n] = words.s[f];
    return fired;
}

#if VLY_CUDA_SPLICED
/* Row J of users' models, as read_rows and update_row. */
template <int J>
static __device__ __forceinline__ void
read_program_row(const block_shared *shared, const batch_view &b)
{
    const uint32_t i = threadIdx.x + J * THREADS;
    program_read<J>(shared->program.number, b.state + (i < b.n ? i : b.n - 1),
                    shared->program.n);
}

template <int J>
static __device__ __forceinline__ void
update_program_row(const vly_cuda_view &view, block_shared *shared,
                   const batch_view &b, uint64_t burst, bool fresh,
                   const batch_rows &rows, uint64_t *n_candidates)
{
    const uint32_t i = threadIdx.x + J * THREADS;
    const partition_area &area = shared->area;
    uint32_t fired = 0;
    if (i < b.n) {
        if (rows.sum[J] != 0)
            b.input[i] = 0;
        const uint32_t sum =
            rows.sum[J] + draw_lane(view, &area, b.index, burst, fresh,
                                    b.id + i, rows.counts[J],
                                    view.draws + b.id + i);
        const program_coefs coefs = {shared->program.coefs, shared->coefs,
                                     shared->vary};
        fired = program_spliced<J>(view, shared->program.number, b.state + i,
                                   shared->program.n, coefs, burst,
                                   b.id + i - area.first, b.id + i,
                                   (float)(int32_t)sum * area.scale, 0.0f);
        *n_candidates += 1;
    }
    list_append(shared, fired, b.id + i, 1u << view.feagi_q);
}

/* As update_batch. */
template <int MODEL>
static __device__ __forceinline__ uint32_t
update_programs(const vly_cuda_view &view, block_shared *shared, uint32_t tile,
                uint32_t end, uint64_t burst, uint32_t slot, bool fresh,
                uint64_t *n_candidates)
{
    static_assert(ROWS == VLY_CUDA_QUAD_ROWS, "rows one by one");
    const batch_view b = make_batch<MODEL>(view, shared, tile, end, slot);
    batch_rows rows;
    read_program_row<0>(shared, b);
    read_program_row<1>(shared, b);
    read_program_row<2>(shared, b);
    read_program_row<3>(shared, b);
    read_rows<MODEL>(view, shared->area, b, &rows);
    update_program_row<0>(view, shared, b, burst, fresh, rows, n_candidates);
    update_program_row<1>(view, shared, b, burst, fresh, rows, n_candidates);
    update_program_row<2>(view, shared, b, burst, fresh, rows, n_candidates);
    update_program_row<3>(view, shared, b, burst, fresh, rows, n_candidates);
    return b.n_tiles;
}
#endif

/* Up to ROWS tiles from `tile` on; returns how many. */
template <int MODEL>
static __device__ __forceinline__ uint32_t
update_batch(const vly_cuda_view &view, block_shared *shared, uint32_t tile,
             uint32_t end, uint64_t burst, uint32_t slot, bool fresh,
             uint64_t *n_candidates)
{
    const batch_view b = make_batch<MODEL>(view, shared, tile, end, slot);
    batch_rows rows;
    read_rows<MODEL>(view, shared->area, b, &rows);
#pragma unroll
    for (uint32_t j = 0; j < ROWS; j++) {
        const uint32_t i = threadIdx.x + j * THREADS;
        uint32_t fired = 0;
        if (i < b.n) {
            fired =
                update_row<MODEL>(view, shared->area, b, burst, fresh, rows, j);
            *n_candidates += 1;
        }
        list_append(shared, fired, b.id + i, 1u << view.feagi_q);
    }
    return b.n_tiles;
}

/* ---- a burst ----------------------------------------------------------- */

/* fresh: no counts of the burst's stimuli are kept */
template <int MODEL>
static __device__ void
update_burst(const vly_cuda_view &view, block_shared *shared, uint64_t burst,
             bool fresh, uint64_t *n_events, uint64_t *n_candidates)
{
    const uint64_t mixed = vly_digest_mix(burst);
    const uint32_t slot = (uint32_t)(burst % view.ring);
    const uint64_t n_tiles = view.n_tiles;
    uint32_t tile = (uint32_t)(n_tiles * blockIdx.x / gridDim.x);
    const uint32_t end = (uint32_t)(n_tiles * (blockIdx.x + 1) / gridDim.x);
#if VLY_CUDA_SPLICED
    if constexpr (MODEL == VLY_CUDA_QUAD_PROGRAMS) {
#pragma unroll 1
        while (tile < end) { /* the marks are in the text once */
            tile += update_programs<MODEL>(view, shared, tile, end, burst, slot,
                                           fresh, n_candidates);
            if (tile < end && list_is_full(shared))
                list_flush(view, shared, burst, mixed, n_events);
        }
    } else
#endif
        if constexpr (has_one_port<MODEL>()) {
        while (tile < end) {
            tile += update_batch<MODEL>(view, shared, tile, end, burst, slot,
                                        fresh, n_candidates);
            if (tile < end && list_is_full(shared))
                list_flush(view, shared, burst, mixed, n_events);
        }
    } else {
        while (tile < end) {
            for (uint32_t j = 0; j < ROWS && tile < end; j++)
                update_tile<MODEL>(view, shared, tile++, burst, slot,
                                   n_candidates);
            if (tile < end)
                list_flush(view, shared, burst, mixed, n_events);
        }
    }
    list_flush(view, shared, burst, mixed, n_events);
}

#endif
