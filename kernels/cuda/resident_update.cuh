/* SPDX-License-Identifier: Apache-2.0
 * Update of the resident plan: the data that a thread keeps of its neuron
 * between bursts, its stimuli, its step and the record of its spikes.
 */
#ifndef VOLLEY_CUDA_RESIDENT_UPDATE_CUH
#define VOLLEY_CUDA_RESIDENT_UPDATE_CUH

#include "resident_mail.cuh"
#include "update_neuron.cuh"

#include "kernels/models/digest.h"

/* The data that a thread keeps of its neuron between bursts: little, since all
 * of it is in registers while the thread delivers. */
struct resident_neuron {
    vly_cuda_words words;
    vly_philox_words draw; /* of the first stimulus, for four bursts */
    vly_philox_words next; /* the same for the next four, in work */
    uint32_t id;           /* 0xffffffff: none */
    uint32_t area;
    uint32_t stimulus;
    uint32_t drawn;
    uint32_t fired;   /* in this burst */
    uint32_t n_fired; /* bursts */
    float scale;
};

/* resident_neuron.stimulus */
enum { NO_STIMULUS, OTHER_STIMULI, FIRST_STIMULUS };

static __device__ uint32_t find_area(const vly_cuda_view &view, uint32_t id)
{
    uint32_t low = 0;
    uint32_t high = view.n_areas;
    while (high - low > 1) {
        uint32_t middle = (low + high) / 2;
        if (view.areas[middle].first <= id)
            low = middle;
        else
            high = middle;
    }
    return low;
}

#if VLY_CUDA_SPLICED

/* Whether the neuron has a user's model, whose fields `read` or else writes. */
template <int MODEL>
static __device__ __forceinline__ bool
move_program(const vly_cuda_view &view, const resident_block &block,
             const resident_neuron *neuron, bool read)
{
    const uint32_t number = block.programs.list[neuron->area].number;
    if (!has_program<MODEL>(block.programs.list[neuron->area]))
        return false;
    const vly_cuda_program *program = view.programs + neuron->area;
    uint32_t *state =
        program->state + (neuron->id - block.programs.list[neuron->area].first);
    if (read)
        program_read<VLY_CUDA_KEPT_ROW>(number, state, program->n);
    else
        program_write(number, state, program->n);
    return true;
}

static __device__ __forceinline__ uint32_t
step_program(const vly_cuda_view &view, const resident_block &block,
             const vly_cuda_block_program &program, uint64_t burst,
             const resident_neuron *neuron, float in)
{
    const uint32_t place = neuron->id - program.first;
#if defined(__NVCC__) /* fields are in registers; in memory in tests */
    uint32_t *state = nullptr;
    const uint64_t n = 0;
#else
    uint32_t *state = view.programs[neuron->area].state + place;
    const uint64_t n = view.programs[neuron->area].n;
#endif
    return program_spliced<VLY_CUDA_KEPT_ROW>(
        view, program.number, state, n,
        block_coefs(view, block.programs, program, neuron->area), burst, place,
        neuron->id, in, 0.0f);
}

#endif

template <int MODEL>
static __device__ __forceinline__ void
neuron_load(const vly_cuda_view &view, const vly_cuda_resident &resident,
            const resident_block &block, uint32_t number,
            resident_neuron *neuron)
{
    neuron->id = 0xffffffffu;
    neuron->stimulus = NO_STIMULUS;
    uint64_t id = (uint64_t)number * resident.n_blocks + blockIdx.x;
    if (id >= view.n_neurons)
        return;
    neuron->id = (uint32_t)id;
    neuron->area = find_area(view, neuron->id);
    const vly_cuda_area *area = view.areas + neuron->area;
    neuron->n_fired = 0;
    neuron->scale = area->scale[0];
    if (area->n_stimuli > 0) {
        const vly_cuda_stimulus *first = view.stimuli + area->stimulus_first;
        neuron->stimulus = neuron->id - first->first < first->n ? FIRST_STIMULUS
                                                                : OTHER_STIMULI;
    }
#if VLY_CUDA_SPLICED
    if (move_program<MODEL>(view, block, neuron, true))
        return;
#endif
    load_state<MODEL>(area, neuron->id - area->first, &neuron->words);
    load_coefs<MODEL>(area, neuron->id - area->first, &neuron->words);
}

template <int MODEL>
static __device__ __forceinline__ void neuron_store(const vly_cuda_view &view,
                                                    const resident_block &block,
                                                    resident_neuron *neuron)
{
    if (neuron->id == 0xffffffffu)
        return;
#if VLY_CUDA_SPLICED
    if (move_program<MODEL>(view, block, neuron, false))
        return;
#endif
    const vly_cuda_area *area = view.areas + neuron->area;
    store_state<MODEL>(area, neuron->id - area->first, &neuron->words);
}

/* ---- stimuli ----------------------------------------------------------- */

static __device__ __forceinline__ uint32_t clamp_burst(uint64_t burst,
                                                       uint64_t first)
{
    const uint64_t k = burst > first ? burst - first : 0;
    return k < 0xffffffffu ? (uint32_t)k : 0xffffffffu;
}

/* By one thread for each area. */
static __device__ void source_load(const vly_cuda_view &view, uint64_t burst,
                                   uint32_t a, resident_source *source)
{
    const vly_cuda_area *area = view.areas + a;
    resident_source s = {0, 0, 0, 0, 0, 0, NO_TABLE, 0, area->n_stimuli};
    if (s.n_stimuli > 0) {
        const vly_cuda_stimulus *first = view.stimuli + area->stimulus_first;
        s.from = clamp_burst(first->start, burst);
        s.until = clamp_burst(first->stop, burst);
        s.base = (uint32_t)first->base;
        s.step = (uint32_t)first->step;
        s.n = first->n_thresholds;
        s.always = first->always;
        s.stream = first->stream;
    }
    *source = s;
}

/* The first stimulus of each area, with a guide to its thresholds: how many are
 * not above the first number of each of 256 intervals. Tables without room are
 * searched in global memory. All threads. */
static __device__ void sources_load(const vly_cuda_view &view, uint64_t burst,
                                    resident_shared *shared)
{
    const uint32_t a = threadIdx.x;
    uint32_t at = 0;
    if (a < view.n_areas)
        source_load(view, burst, a, &shared->sources[a]);
    __syncthreads();
    for (uint32_t i = 0; i < a && i < view.n_areas; i++)
        at += shared->sources[i].n + GUIDE_WORDS;
    __syncthreads();
    if (a < view.n_areas && shared->sources[a].n_stimuli > 0 &&
        at + GUIDE_WORDS + shared->sources[a].n <= TABLE_WORDS)
        shared->sources[a].at = at;
    __syncthreads();
    for (uint32_t i = threadIdx.x / 32; i < view.n_areas;
         i += blockDim.x / 32) {
        const resident_source s = shared->sources[i];
        if (s.at == NO_TABLE)
            continue;
        const uint32_t *thresholds =
            view.stimuli[view.areas[i].stimulus_first].thresholds;
        for (uint32_t j = threadIdx.x % 32; j < s.n; j += 32)
            shared->tables[s.at + GUIDE_WORDS + j] = thresholds[j];
    }
    __syncthreads();
    for (uint32_t j = threadIdx.x; j < 256 * view.n_areas; j += blockDim.x) {
        const resident_source s = shared->sources[j / 256];
        if (s.at == NO_TABLE)
            continue;
        uint32_t *table = shared->tables + s.at;
        const uint32_t k = count_thresholds(table + GUIDE_WORDS, s.n, j << 24);
        ((uint8_t *)table)[j % 256] =
            (uint8_t)(k < GUIDE_MOST ? k : GUIDE_MOST);
    }
}

/* As count_thresholds, in few steps. */
static __device__ __forceinline__ uint32_t
count_guided(const vly_cuda_view &view, const resident_shared *shared,
             const resident_source &s, uint32_t area, uint32_t u)
{
    if (s.at == NO_TABLE)
        return count_thresholds(
            view.stimuli[view.areas[area].stimulus_first].thresholds, s.n, u);
    const uint32_t *table = shared->tables + s.at;
    const uint8_t *guide = (const uint8_t *)table;
    const uint32_t cell = u >> 24;
    uint32_t low = guide[cell];
    uint32_t high = cell < 255 ? guide[cell + 1] : GUIDE_MOST;
    high = high < GUIDE_MOST ? high : s.n;
#pragma unroll 1
    while (low < high) {
        const uint32_t middle = (low + high) / 2;
        if (table[GUIDE_WORDS + middle] <= u)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Rounds [from, to) of vly_philox_draw. */
static __device__ __forceinline__ void draw_rounds(const vly_cuda_view &view,
                                                   uint32_t from, uint32_t to,
                                                   vly_philox_words *c)
{
    uint32_t key_low = view.key_low + from * VLY_PHILOX_W0;
    uint32_t key_high = view.key_high + from * VLY_PHILOX_W1;
#pragma unroll 1
    for (uint32_t i = from; i < to; i++) {
        const uint64_t p0 = (uint64_t)VLY_PHILOX_M0 * c->w0;
        const uint64_t p1 = (uint64_t)VLY_PHILOX_M1 * c->w2;
        c->w0 = (uint32_t)(p1 >> 32) ^ c->w1 ^ key_low;
        c->w1 = (uint32_t)p1;
        c->w2 = (uint32_t)(p0 >> 32) ^ c->w3 ^ key_high;
        c->w3 = (uint32_t)p0;
        key_low += VLY_PHILOX_W0;
        key_high += VLY_PHILOX_W1;
    }
}

/* The four bursts that `burst` is one of, before any round. */
static __device__ __forceinline__ vly_philox_words
draw_counter(const resident_neuron *neuron, uint32_t stream, uint64_t burst)
{
    vly_philox_words c;
    c.w0 = (uint32_t)(burst >> 2);
    c.w1 = (uint32_t)(burst >> 34);
    c.w2 = neuron->id;
    c.w3 = stream;
    return c;
}

#define BURST_ROUNDS 3u /* of the next draw, in each of four bursts */

/* The input of the neuron from its stimuli in burst k of the launch, which is
 * `burst`. A draw serves four bursts, and a part of the next one is computed in
 * each of them, so that all take the same time; fresh: no part has been
 * computed. */
static __device__ __forceinline__ void
neuron_draw(const vly_cuda_view &view, const resident_shared *shared,
            uint64_t burst, uint32_t k, bool fresh, resident_neuron *neuron)
{
    neuron->drawn = 0;
    if (neuron->stimulus == NO_STIMULUS)
        return;
    const uint32_t phase = (uint32_t)burst & 3;
    const uint32_t stream = shared->sources[neuron->area].stream;
    uint32_t from = phase * BURST_ROUNDS;
    if (phase == 0)
        neuron->draw = neuron->next;
    if (fresh) {
        neuron->draw = draw_counter(neuron, stream, burst);
        draw_rounds(view, 0, VLY_PHILOX_ROUNDS, &neuron->draw);
        from = 0;
    }
    if (fresh || phase == 0)
        neuron->next = draw_counter(neuron, stream, burst + 4);
    draw_rounds(view, from,
                phase == 3 ? VLY_PHILOX_ROUNDS : (phase + 1) * BURST_ROUNDS,
                &neuron->next);
    const resident_source s = shared->sources[neuron->area];
    if (neuron->stimulus == FIRST_STIMULUS && k >= s.from && k < s.until) {
        const uint32_t n =
            count_guided(view, shared, s, neuron->area,
                         vly_philox_pick(neuron->draw, (uint32_t)burst));
        if ((n | s.always) != 0)
            neuron->drawn = s.base + n * s.step;
    }
#pragma unroll 1
    for (uint32_t i = 1; i < s.n_stimuli; i++) {
        uint32_t drawn[2] = {0, 0};
        draw_stimulus(
            view, view.stimuli + view.areas[neuron->area].stimulus_first + i,
            burst, neuron->id, drawn);
        neuron->drawn += drawn[0];
    }
}

static __device__ __forceinline__ uint64_t warp_sum(uint64_t x)
{
    for (int d = 16; d > 0; d /= 2)
        x += __shfl_xor_sync(0xffffffffu, x, d);
    return x;
}

/* One burst of the neuron of this thread. */
template <int MODEL, bool PACKED>
static __device__ __forceinline__ void
neuron_update(const vly_cuda_view &view, const resident_block &block,
              uint64_t burst, uint32_t number, uint32_t base,
              resident_neuron *neuron)
{
    uint32_t gain = 0;
    neuron->fired = 0;
    if (neuron->id == 0xffffffffu)
        return;
    uint32_t *input = block.ring + base + number;
    uint32_t sum = *input + neuron->drawn;
    *input = 0;
    const float in = (float)(int32_t)sum * neuron->scale;
#if VLY_CUDA_SPLICED
    const vly_cuda_block_program program = block.programs.list[neuron->area];
    if (has_program<MODEL>(program))
        neuron->fired = step_program(view, block, program, burst, neuron, in);
    else
#endif
        neuron->fired =
            step_words<MODEL>(view, view.areas[neuron->area].model, burst,
                              neuron->id, in, &neuron->words, &gain);
    if (neuron->fired != 0)
        block.fired[fired_at(atomicAdd(&block.shared->n_fired, 1u))] =
            (uint16_t)(PACKED ? neuron->area * PACKED_NEURONS | number
                              : number);
}

/* Synaptic events of the neuron's spikes. */
static __device__ __forceinline__ uint64_t
neuron_events(const vly_cuda_view &view, const resident_neuron *neuron)
{
    return neuron->id == 0xffffffffu || neuron->n_fired == 0
               ? 0
               : (uint64_t)neuron->n_fired * view.out_degree[neuron->id];
}

/* Digest and number of spikes: while the mail is on its way. Whole warps. */
static __device__ __forceinline__ void neuron_account(const vly_cuda_view &view,
                                                      uint64_t burst,
                                                      resident_neuron *neuron)
{
    if (__ballot_sync(0xffffffffu, neuron->fired != 0) == 0)
        return;
    uint64_t digest = 0;
    if (neuron->fired != 0) {
        digest = vly_digest_pair(vly_digest_mix(burst), neuron->id,
                                 1u << view.feagi_q);
        neuron->n_fired++;
    }
    digest = warp_sum(digest);
    uint64_t *sum = &view.records[(uint32_t)burst & view.record_mask].digest;
    if (threadIdx.x % 32 == 0)
        atomicAdd((unsigned long long *)sum, (unsigned long long)digest);
}

#endif
