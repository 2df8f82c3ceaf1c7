/* SPDX-License-Identifier: Apache-2.0
 * The kernels of the plan for every net: accumulators in global memory, added
 * to by integer atomics, many bursts in one persistent launch with two
 * grid-wide barriers a burst:
 *     deliver | barrier | stimuli, update, spikes to the log | barrier
 * In burst t every group of rows delivers the spikes of burst t - base_delay; a
 * further delay d goes to slot (t + d) mod ring.
 *
 * With VLY_CUDA_LEARNS, maps that learn are delivered too (learning_rows.cuh),
 * with VLY_CUDA_PROGRAMS, users' models are updated too (program_update.cuh);
 * burst_global.cu has no instruction for them. With VLY_CUDA_PROGRAM_PORTS 4,
 * users' models may have three or four ports; the kernels of other nets have no
 * instruction for these. With VLY_CUDA_USERS_RULES, maps may learn by rules of
 * users (users_rule.cuh).
 */
#ifndef VOLLEY_CUDA_GLOBAL_BURST_CUH
#define VOLLEY_CUDA_GLOBAL_BURST_CUH

#include "learning_kernels.h"

#if VLY_CUDA_LEARNS
#include "learning_rows.cuh"
#include "short_term.cuh"
#endif

#include "global_update.cuh"
#include "grid_barrier.cuh"

#define UNROLL 4

/* By one thread: adds the time since the last call to the phase. */
static __device__ __forceinline__ void end_phase(block_shared *shared,
                                                 int phase)
{
    long long now = clock64();
    shared->cycles[phase] += (uint64_t)(now - shared->time);
    shared->time = now;
}

/* ---- delivery ---------------------------------------------------------- */

struct slot_ring {
    uint32_t *input;
    uint8_t *mark;
    uint64_t n; /* neurons */
    uint32_t ports;
    uint32_t now; /* slot of the burst that delivers the spikes */
    uint32_t ring;
    uint32_t delay_min; /* smaller delays have been delivered */
};

static __device__ __forceinline__ void
deliver_one(const slot_ring &to, uint64_t synapse, uint32_t gain)
{
    uint32_t target = (uint32_t)synapse;
    uint32_t high = (uint32_t)(synapse >> 32);
    uint32_t value = (uint32_t)(int32_t)(int16_t)(high & 0xffffu);
    uint32_t delay = (high >> 16) & 0xffu;
    uint32_t flags = high >> 24;
    if (delay < to.delay_min)
        return;
    uint32_t slot = to.now + delay;
    slot = slot >= to.ring ? slot - to.ring : slot;
    uint64_t port = flags & VLY_CUDA_SYNAPSE_PORT;
    value <<= (flags >> VLY_CUDA_SYNAPSE_SHIFT) * VLY_CUDA_SHIFT_STEP;
    if ((flags & VLY_CUDA_SYNAPSE_GAIN) != 0) {
        value *= gain;
        to.mark[slot * to.n + target] = 1;
    }
    atomicAdd(to.input + (slot * to.ports + port) * to.n + target, value);
}

/* Part `part` of n_parts of one row, by one warp. */
static __device__ __forceinline__ void
deliver_part(const vly_cuda_group &group, const slot_ring &to, uint32_t id,
             uint32_t gain, uint32_t part, uint32_t n_parts)
{
    const uint32_t lane = threadIdx.x % 32;
    const uint64_t begin = group.row[id];
    const uint64_t end = group.row[id + 1];
    const uint64_t stride = 32ull * n_parts;
    uint64_t j = begin + 32ull * part + lane;
    for (; j + (UNROLL - 1) * stride < end; j += UNROLL * stride) {
        uint64_t synapse[UNROLL];
#pragma unroll
        for (int u = 0; u < UNROLL; u++)
            synapse[u] = __ldcs(group.synapses + j + u * stride);
#pragma unroll
        for (int u = 0; u < UNROLL; u++)
            deliver_one(to, synapse[u], gain);
    }
    for (; j < end; j += stride)
        deliver_one(to, __ldcs(group.synapses + j), gain);
}

/* All spikes of one burst along one group of rows, by the whole grid. */
static __device__ void deliver_set(const vly_cuda_view &view,
                                   const vly_cuda_group &group,
                                   const slot_ring &to, uint64_t burst)
{
    const vly_cuda_record *record =
        view.records + ((uint32_t)burst & view.record_mask);
    const uint32_t count = __ldcg(&record->count);
    if (count == 0)
        return;
    const uint64_t start = __ldcg(&record->start);
    const uint32_t n_warps = gridDim.x * (blockDim.x / 32);
    uint32_t warp = threadIdx.x / 32 * gridDim.x + blockIdx.x;
#if VLY_CUDA_LEARNS
    warp = n_warps - 1 - warp; /* the first ones have rows that learn */
#endif
    uint32_t n_parts = 1;
    while (n_parts < 32 && (uint64_t)count * n_parts * 2 <= n_warps)
        n_parts *= 2;
    const uint64_t items = (uint64_t)count * n_parts;
    for (uint64_t q = warp; q < items; q += n_warps) {
        uint64_t at = (start + q / n_parts) & view.log_mask;
        uint32_t id = __ldcg(view.log_ids + at);
        uint32_t gain = __ldcg(view.log_gains + at);
        deliver_part(group, to, id, gain, (uint32_t)q % n_parts, n_parts);
    }
}

static __device__ void deliver_inputs(const vly_cuda_view &view,
                                      const vly_cuda_launch &launch,
                                      const slot_ring &to, uint32_t k)
{
    const uint32_t end = launch.input_row[k + 1];
    uint32_t i = launch.input_row[k] + blockIdx.x * blockDim.x + threadIdx.x;
    for (; i < end; i += gridDim.x * blockDim.x) {
        vly_cuda_input input = launch.inputs[i];
        uint64_t row = (uint64_t)to.now * to.ports + input.port;
        atomicAdd(view.input + row * to.n + input.neuron,
                  (uint32_t)input.value);
        if (input.feagi != 0)
            to.mark[to.now * to.n + input.neuron] = 1;
    }
}

static __device__ void deliver_burst(const vly_cuda_view &view,
                                     const vly_cuda_launch &launch,
                                     uint64_t burst, uint32_t k)
{
    slot_ring to = {view.input,
                    view.mark,
                    view.n_neurons,
                    view.n_ports,
                    (uint32_t)(burst % view.ring),
                    view.ring,
                    0};
    if (launch.input_row != nullptr)
        deliver_inputs(view, launch, to, k);
    for (uint32_t g = 0; g < view.n_groups; g++) {
        vly_cuda_group group = view.groups[g];
        if (burst >= group.base_delay)
            deliver_set(view, group, to, burst - group.base_delay);
    }
}

/* ---- the burst loop ---------------------------------------------------- */

/* Whether a burst may begin: even if every neuron fires, no spike that is
 * still needed may be overwritten. By one thread, after the barrier. */
static __device__ uint32_t has_room(const vly_cuda_view &view,
                                    const vly_cuda_launch &launch,
                                    uint64_t burst, uint64_t head)
{
    uint64_t oldest = burst > view.max_delay ? burst - view.max_delay : 0;
    uint64_t tail = head;
    if (oldest < burst)
        tail = __ldcg(&view.records[(uint32_t)oldest & view.record_mask].start);
    if (launch.keep != 0 && tail > launch.head)
        tail = launch.head;
    return head + view.n_neurons - tail <= view.log_mask + 1 &&
           head + view.n_neurons <= launch.head_limit;
}

static __device__ void add_counters(vly_cuda_done *done, uint64_t n_events,
                                    uint64_t n_candidates)
{
    n_events = warp_sum(n_events);
    n_candidates = warp_sum(n_candidates);
    if (threadIdx.x % 32 != 0)
        return;
    if (n_events != 0)
        atomicAdd((unsigned long long *)&done->n_events,
                  (unsigned long long)n_events);
    if (n_candidates != 0)
        atomicAdd((unsigned long long *)&done->n_candidates,
                  (unsigned long long)n_candidates);
}

template <int MODEL>
static __global__ void __launch_bounds__(VLY_CUDA_THREADS, 1)
    run_bursts(const __grid_constant__ vly_cuda_view view,
               const __grid_constant__ vly_cuda_launch launch
#if VLY_CUDA_LEARNS
               ,
               const __grid_constant__ vly_cuda_learnings learnings
#endif
#if VLY_CUDA_PROGRAMS
               ,
               const __grid_constant__ vly_cuda_programs programs
#endif
    )
{
    __shared__ block_shared shared;
#if VLY_CUDA_PROGRAMS
    extern __shared__ uint32_t dynamic[];
#endif
    uint64_t n_events = 0;
    uint64_t n_candidates = 0;
    uint32_t arrivals = 0;
    uint32_t k = 0;
    if (threadIdx.x == 0) {
        shared.n_list = 0;
        shared.area_index = NO_AREA;
        shared.head = launch.head;
        shared.time = clock64();
#if VLY_CUDA_LEARNS
        shared.learnings = &learnings;
#endif
#if VLY_CUDA_PROGRAMS
        shared.programs = &programs;
        shared.values = dynamic;
        if (programs.values != nullptr)
            shared.values = programs.values + (uint64_t)blockIdx.x *
                                                  programs.n_slots *
                                                  VLY_CUDA_THREADS;
#endif
        for (int i = 0; i < 3; i++)
            shared.cycles[i] = 0;
        shared.go = has_room(view, launch, launch.burst, launch.head);
#if VLY_CUDA_LEARNS
        shared.flush = learning_must_flush(learnings, launch.burst);
#endif
    }
    __syncthreads();
    while (k < launch.n_bursts && shared.go != 0) {
        const uint64_t burst = launch.burst + k;
        vly_cuda_record *record =
            view.records + ((uint32_t)burst & view.record_mask);
#if VLY_CUDA_LEARNS
        if (shared.flush != 0) {
            learning_flush(learnings, burst, false);
            __syncthreads();
            if (threadIdx.x == 0) {
                grid_arrive(view.barrier);
                grid_wait(view.barrier, arrivals + gridDim.x);
            }
            arrivals += gridDim.x;
            __syncthreads();
        }
        learning_deliver(view, learnings, burst);
        short_term_deliver(view, learnings, burst);
#endif
        deliver_burst(view, launch, burst, k);
        __syncthreads();
        if (threadIdx.x == 0) {
            if (blockIdx.x == 0)
                record->start = shared.head;
            end_phase(&shared, 0);
            grid_arrive(view.barrier);
            grid_wait(view.barrier, arrivals + gridDim.x);
            end_phase(&shared, 2);
        }
        __syncthreads();
        update_burst<MODEL>(view, &shared, burst, k == 0, &n_events,
                            &n_candidates);
#if VLY_CUDA_LEARNS
        learning_arrivals(view, learnings, burst);
        short_term_arrivals(view, learnings, burst);
#endif
        __syncthreads();
        arrivals += 2 * gridDim.x;
        if (threadIdx.x == 0) {
            end_phase(&shared, 1);
            grid_arrive(view.barrier);
            grid_wait(view.barrier, arrivals);
            end_phase(&shared, 2);
#if VLY_CUDA_LEARNS
            shared.flush = learning_must_flush(learnings, burst + 1);
#endif
            uint64_t head = shared.head + __ldcg(&record->count);

            shared.head = head;
            shared.go = has_room(view, launch, burst + 1, head);
        }
        __syncthreads();
        k++;
    }
    add_counters(launch.done, n_events, n_candidates);
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        launch.done->head = shared.head;
        launch.done->n_bursts = k;
        for (int i = 0; i < 3; i++)
            launch.done->cycles[i] = shared.cycles[i];
    }
}

static const void *pick_kernel(uint32_t model)
{
#if defined(VLY_CUDA_SPLICED_MODEL) /* the text has no other one */
    (void)model;
    return (const void *)run_bursts<VLY_CUDA_SPLICED_MODEL>;
#elif VLY_CUDA_PROGRAM_PORTS > 2 || (VLY_CUDA_USERS_RULES && !VLY_CUDA_SPLICED)
    (void)model; /* one kernel for all nets that come here */
    return (const void *)run_bursts<VLY_CUDA_N_MODELS>;
#elif VLY_CUDA_PROGRAMS
#if VLY_CUDA_SPLICED
    if (model == VLY_CUDA_QUAD_PROGRAMS)
        return (const void *)run_bursts<VLY_CUDA_QUAD_PROGRAMS>;
#endif
    if (model == VLY_CUDA_ONLY_PROGRAMS)
        return (const void *)run_bursts<VLY_CUDA_ONLY_PROGRAMS>;
    return (const void *)run_bursts<VLY_CUDA_N_MODELS>;
#else
    switch (model) {
    case VLY_CUDA_MODEL_feagi:
        return (const void *)run_bursts<VLY_CUDA_MODEL_feagi>;
#define VLY_CUDA_CASE(name)                                                    \
    case VLY_CUDA_MODEL_##name:                                                \
        return (const void *)run_bursts<VLY_CUDA_MODEL_##name>;
        VLY_CUDA_EACH_TIME_DRIVEN(VLY_CUDA_CASE)
#undef VLY_CUDA_CASE
    default:
        return (const void *)run_bursts<VLY_CUDA_N_MODELS>;
    }
#endif
}

#endif
