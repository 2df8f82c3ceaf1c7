/* SPDX-License-Identifier: Apache-2.0
 * A burst of the resident plan, in the parts that a launch of many bursts
 * (burst_resident.cu) and one that stays between runs (linger_resident.cu)
 * share, and what their launchers do.
 */
#ifndef VOLLEY_CUDA_RESIDENT_BURST_CUH
#define VOLLEY_CUDA_RESIDENT_BURST_CUH

#include "allow_shared.cuh"
#include "resident_block.cuh"
#include "resident_learning.cuh"

#define USUAL_THREADS VLY_CUDA_RESIDENT_THREADS
#define FEW_THREADS 768u
#define MANY_THREADS VLY_CUDA_THREADS

/* All neurons of the block in one burst. KEEP: one a thread, in registers. */
template <int MODEL, bool KEEP>
static __device__ __forceinline__ void
update_block(const vly_cuda_view &view, const vly_cuda_resident &resident,
             const resident_block &block, const resident_learner &learner,
             uint64_t burst, uint32_t k, uint32_t base, resident_neuron *neuron,
             uint64_t *n_events)
{
    if constexpr (KEEP) {
        neuron_update<MODEL, true>(view, block, burst, threadIdx.x, base,
                                   neuron);
    } else {
        for (uint32_t low = 0; low < resident.slice; low += blockDim.x) {
            const uint32_t number = low + threadIdx.x;
            uint32_t drawn[2] = {0, 0};
            neuron_load<MODEL>(view, resident, block, number, neuron);
            if (neuron->id != 0xffffffffu)
                draw_stimuli(view, view.areas + neuron->area, burst, neuron->id,
                             drawn);
            neuron->drawn = drawn[0];
            neuron_update<MODEL, false>(view, block, burst, number, base,
                                        neuron);
#if RESIDENT_LEARNS
            if (neuron->fired != 0) {
                learner_fired(learner, burst, neuron->id, number);
                learner_follow_up(learner, k, neuron->id, number, NO_FETCH);
            }
#endif
            neuron_account(view, burst, neuron);
            *n_events += neuron_events(view, neuron);
            neuron_store<MODEL>(view, block, neuron);
        }
    }
}

/* By one thread: writes the record of the burst whose spikes have arrived. */
static __device__ __forceinline__ void
keep_account(const vly_cuda_view &view, resident_shared *shared,
             uint32_t *counts, uint32_t tag, uint64_t burst, uint32_t slot,
             uint32_t total)
{
    const uint64_t head = shared->head;
    counts[slot] = total;
    shared->log_from = head;
    shared->head = head + total;
    shared->got[(tag + 1) & 1] = make_uint2(0, 0);
    if (blockIdx.x == 0) {
        vly_cuda_record *record =
            view.records + ((uint32_t)burst & view.record_mask);
        record->start = head;
        record->count = total;
    }
}

/* From the update of a burst to the spikes of all blocks, with other work in
 * between: draws for the next burst, record of this one, log and delivery of
 * the previous one, which has n_before spikes in the list; arrivals: slot of
 * the next burst, to whose maps that learn spikes are delivered, or
 * NOTHING_LEARNS; learners: NULL if there are none. */
template <bool KEEP, int RULE = ANY_RULE>
static __device__ __forceinline__ void
exchange(const vly_cuda_view &view, const vly_cuda_resident &resident,
         const resident_block &block, const resident_learner &learner,
         const warp_roles &roles, uint64_t burst, uint32_t k, uint32_t base,
         uint32_t n_before, bool logs, uint32_t arrivals,
         resident_neuron *neuron, const vly_cuda_learners *learners = nullptr)
{
    resident_shared *shared = block.shared;
    const uint32_t tag = resident.tag + k + 1;
#if RESIDENT_LEARNS
    const bool is_full = learner_is_full(learner, k);
#endif
    uint32_t *at = roles.sends ? send_place(resident, tag) : nullptr;
    /* The warp that sends waits for those that update. All wait: warps that had
     * only arrived took issue slots from the late ones and from it, and with a
     * barrier of a part of the block racecheck reports false hazards
     * (bench/README.md). */
    __syncwarp();
    __syncthreads();
    if (roles.sends) {
        send_mail(resident, block, tag, at);
        if (roles.keeps)
            end_phase(shared, 1);
    }
#if RESIDENT_LEARNS
    if (KEEP && arrivals == NOTHING_LEARNS) {
        if (roles.updates && neuron->fired != 0)
            learner_fired(learner, burst, neuron->id, threadIdx.x);
        if (is_full)
            __syncthreads();
    }
    learner_make_room<RULE>(learner, burst, k, is_full);
    if (KEEP && roles.updates && neuron->fired != 0) {
        learner_follow_up(learner, k, neuron->id, threadIdx.x,
                          (uint32_t)(shared->head - shared->log_from));
    }
    if (roles.keeps)
        learner_follow(learner, k);
#endif
    if (KEEP && roles.updates) {
        neuron_draw(view, shared, burst + 1, k + 1, false, neuron);
        neuron_account(view, burst, neuron);
    }
    const uint32_t *list = shared->list[(tag + 1) & 1];
    if (logs)
        log_list(view, list, n_before, {shared->log_from, true, nullptr, 0});
    if (resident.split != 0)
        deliver_list(
            block, VLY_CUDA_LATER, resident, list, n_before, base,
            later_groups(resident, KEEP, resident.part[VLY_CUDA_LATER].shift),
            NOT_READ, false);
#if RESIDENT_LEARNS
    if (arrivals != NOTHING_LEARNS)
        learner_deliver<RULE>(view, *learners, resident, block, learner,
                              burst + 1, arrivals, KEEP, false, nullptr, 0);
#endif
    if (roles.waits)
        receive_mail<KEEP>(resident, block, tag, blockDim.x - 1 - threadIdx.x);
    if (roles.keeps)
        end_phase(shared, 2);
}

/* Where a launch is. */
struct launch_state {
    uint32_t k;        /* bursts done */
    uint32_t slot;     /* of the ring, for the next burst ... */
    uint32_t base;     /* ... and its first word */
    uint32_t room;     /* spikes until the log is checked again */
    uint32_t turn;     /* bursts until this block logs one */
    uint32_t n_before; /* spikes of the burst before in the list */
    uint32_t head;     /* log position of the next spike, modulo 2^32 */
    bool more;         /* there is a next burst */
};

/* Whether this block logs the burst before. */
static __device__ __forceinline__ bool
is_logged(const vly_cuda_resident &resident, const launch_state &at)
{
    return at.turn == resident.n_blocks - 1;
}

static __device__ __forceinline__ launch_state
start_launch(const vly_cuda_view &view, const vly_cuda_launch &launch,
             const vly_cuda_resident &resident, const resident_block &block)
{
    launch_state at;
    at.room = log_room(view, launch, block);
    at.slot = (uint32_t)(launch.burst % view.max_delay);
    at.base = at.slot * resident.slice;
    at.k = 0;
    at.turn = blockIdx.x;
    at.n_before = 0;
    at.head = (uint32_t)launch.head;
    at.more = launch.n_bursts > 0 && at.room >= view.n_neurons;
    return at;
}

/* Delivers the spikes of the burst, whose mail has arrived, and advances. Other
 * work is done while segments are read. */
template <bool KEEP>
static __device__ __forceinline__ void
finish_burst(const vly_cuda_view &view, const vly_cuda_launch &launch,
             const vly_cuda_resident &resident, const resident_block &block,
             const resident_learner &learner, const warp_roles &roles,
             uint64_t burst, launch_state *at)
{
    resident_shared *shared = block.shared;
    const uint32_t tag = resident.tag + at->k + 1;
    const list_groups urgent = make_groups(resident.part[VLY_CUDA_URGENT].shift,
                                           threadIdx.x, blockDim.x);
    const uint2 got = shared->got[tag & 1];
    const uint32_t *list = shared->list[tag & 1];
    segment_part part = NOT_READ;
    if (urgent.group < got.x && has_segments(resident.part[VLY_CUDA_URGENT]))
        part = read_segment(block, resident.part[VLY_CUDA_URGENT],
                            VLY_CUDA_URGENT, list[urgent.group], urgent);
    uint32_t total = got.x;
    if (got.y != 0)
        total += count_over(shared, got.y);
    if (roles.keeps)
        keep_account(view, shared, block.counts, tag, burst, at->slot, total);
    list_log over = {0, false, nullptr, 0};
#if RESIDENT_LEARNS
    over.own = learner.log;
    over.own_mask = learner.maps->log_mask;
    over.start = at->head;
    log_list(view, list, got.x, over);
    if (roles.keeps)
        learner.starts[at->slot] = at->head;
    at->head += total;
#endif
    at->k++;
    at->n_before = got.x;
    at->turn = at->turn == 0 ? resident.n_blocks - 1 : at->turn - 1;
    at->slot = at->slot + 1 < view.max_delay ? at->slot + 1 : 0;
    at->base = at->slot * resident.slice;
    at->room -= total;
    if (at->room < view.n_neurons)
        at->room = log_room(view, launch, block);
    at->more = at->k < launch.n_bursts && at->room >= view.n_neurons;
    if (at->more)
        deliver_list(block, VLY_CUDA_URGENT, resident, list, got.x, at->base,
                     urgent, part, true);
    __syncthreads();
    if (got.y != 0) {
        over.start = shared->log_from + got.x;
        over.writes = is_logged(resident, *at);
        take_over<KEEP>(view, resident, block, tag, at->base, got.y, at->more,
                        over);
    }
    if (roles.keeps)
        end_phase(shared, 0);
}

/* ---- launchers --------------------------------------------------------- */

/* Threads of a block: as many as there are neurons and lines of mail, so that
 * no warp has both. Fewer have more registers, and fewer warps that share an
 * issue slot. */
static inline uint32_t n_threads(const vly_cuda_resident *resident)
{
    const uint64_t neurons = ((uint64_t)resident->slice + 31) / 32 * 32;
    const uint64_t waiting =
        ((uint64_t)resident->lines * resident->n_blocks + 31) / 32 * 32;
    if (neurons + waiting <= resident->threads)
        return resident->threads;
    if (neurons + waiting <= USUAL_THREADS)
        return USUAL_THREADS;
    return neurons + waiting <= FEW_THREADS ? FEW_THREADS : MANY_THREADS;
}

static inline bool is_kept(const vly_cuda_view *view,
                           const vly_cuda_resident *resident)
{
    return resident->slice <= PACKED_NEURONS && view->n_areas <= PACKED_AREAS;
}

#endif
