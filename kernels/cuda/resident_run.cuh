/* SPDX-License-Identifier: Apache-2.0
 * The kernel of the resident plan, a launch of many bursts, and which of its
 * instances a net needs: burst_resident.cu has those of nets whose weights have
 * no shifts, burst_shifted.cu, which defines RESIDENT_SHIFTED, the others, and
 * burst_learners.cu, which defines RESIDENT_LEARNS, those with maps that learn.
 * burst_spliced_resident.cu, burst_spliced_shifted.cu and
 * burst_spliced_learners.cu define VLY_CUDA_SPLICED: those of nets with users'
 * models.
 */
#ifndef VOLLEY_CUDA_RESIDENT_RUN_CUH
#define VOLLEY_CUDA_RESIDENT_RUN_CUH

#include "resident_burst.cuh"

/* The instance for weights with shifts; burst_shifted.cu. */
const void *vly_cuda_shifted_kernel(const vly_cuda_view *view,
                                    const vly_cuda_resident *resident);

template <int MODEL, bool KEEP, int RULE>
static __device__ __forceinline__ void
run_bursts(const vly_cuda_view &view, const vly_cuda_launch &launch,
           const vly_cuda_resident &resident, const vly_cuda_learners *learners)
{
    extern __shared__ uint4 dynamic[];
    const resident_block block = make_block(view, resident, dynamic);
#if RESIDENT_LEARNS
    if (RULE != ANY_RULE)
        load_factors(learners->list[0]);
#endif
    resident_shared *shared = block.shared;
    const warp_roles roles = assign_roles(resident, KEEP);
    block_load(view, launch, resident, block);
    if (KEEP)
        sources_load(view, launch.burst, shared);
    uint64_t n_events = 0;
    launch_state at = start_launch(view, launch, resident, block);
#if RESIDENT_LEARNS
    const resident_learner &learner =
        make_learner(view, *learners, resident, block);
    __syncthreads();
    learner_load(view, launch, block, learner);
    if (at.more)
        learner_deliver<RULE, true>(view, *learners, resident, block, learner,
                                    launch.burst, at.slot, KEEP, true, nullptr,
                                    0);
    __syncthreads();
#else
    const resident_learner learner = {};
#endif
    if (at.more)
        deliver_log(view, launch, resident, block, at.base);
    resident_neuron neuron;
    neuron.id = 0xffffffffu;
    if (KEEP && roles.updates) {
        neuron_load<MODEL>(view, resident, block, threadIdx.x, &neuron);
        neuron_draw(view, shared, launch.burst, 0, true, &neuron);
    }
    if (roles.keeps)
        shared->time = (uint32_t)clock();
    while (at.more) {
        const uint64_t burst = launch.burst + at.k;
        if (launch.input_row != nullptr)
            take_inputs(launch, resident, block, at.k, at.base);
        uint32_t arrivals = NOTHING_LEARNS;
#if RESIDENT_LEARNS
        arrivals = learner_slot(view, launch, learner, at.k, at.room, at.slot);
#endif
        if (roles.updates)
            update_block<MODEL, KEEP>(view, resident, block, learner, burst,
                                      at.k, at.base, &neuron, &n_events);
#if RESIDENT_LEARNS
        /* before what arrives is delivered; else it comes after the mail */
        if (KEEP && roles.updates && neuron.fired != 0 &&
            arrivals != NOTHING_LEARNS)
            learner_fired(learner, burst, neuron.id, threadIdx.x);
#endif
        exchange<KEEP, RULE>(view, resident, block, learner, roles, burst, at.k,
                             at.base, at.n_before, is_logged(resident, at),
                             arrivals, &neuron, learners);
        __syncthreads();
        finish_burst<KEEP>(view, launch, resident, block, learner, roles, burst,
                           &at);
#if RESIDENT_LEARNS
        if (at.more && arrivals == NOTHING_LEARNS) {
            learner_deliver<RULE>(view, *learners, resident, block, learner,
                                  burst + 1, at.slot, KEEP, true,
                                  shared->list[(resident.tag + at.k) & 1],
                                  at.n_before);
            __syncthreads();
        }
#endif
    }
    if (is_logged(resident, at))
        log_list(view, shared->list[(resident.tag + at.k) & 1], at.n_before,
                 {shared->log_from, true, nullptr, 0});
#if RESIDENT_LEARNS
    learner_store(learner, at.k);
#endif
    if (KEEP && at.k > 0) {
        neuron_store<MODEL>(view, block, &neuron);
        n_events = neuron_events(view, &neuron);
    }
    if (at.k > 0)
        block_store(view, launch, resident, block, at.k, n_events, roles);
}

#if RESIDENT_LEARNS

template <int MODEL, bool KEEP, uint32_t THREADS>
static __global__ void __launch_bounds__(THREADS, 1)
    run_resident(const __grid_constant__ vly_cuda_view view,
                 const __grid_constant__ vly_cuda_launch launch,
                 const __grid_constant__ vly_cuda_resident resident,
                 const __grid_constant__ vly_cuda_learners learners)
{
    run_bursts<MODEL, KEEP, ANY_RULE>(view, launch, resident, &learners);
}

/* For nets with one map that learns, by this rule. */
template <int MODEL, uint32_t THREADS, int RULE>
static __global__ void __launch_bounds__(THREADS, 1)
    run_one_map(const __grid_constant__ vly_cuda_view view,
                const __grid_constant__ vly_cuda_launch launch,
                const __grid_constant__ vly_cuda_resident resident,
                const __grid_constant__ vly_cuda_learners learners)
{
    run_bursts<MODEL, true, RULE>(view, launch, resident, &learners);
}

#else

template <int MODEL, bool KEEP, uint32_t THREADS>
static __global__ void __launch_bounds__(THREADS, 1)
    run_resident(const __grid_constant__ vly_cuda_view view,
                 const __grid_constant__ vly_cuda_launch launch,
                 const __grid_constant__ vly_cuda_resident resident)
{
    run_bursts<MODEL, KEEP, ANY_RULE>(view, launch, resident, nullptr);
}

#endif

#if VLY_CUDA_SPLICED

template <bool KEEP, uint32_t THREADS>
static const void *pick_resident(uint32_t model)
{
    if (model == VLY_CUDA_ONLY_PROGRAMS)
        return (
            const void *)run_resident<VLY_CUDA_ONLY_PROGRAMS, KEEP, THREADS>;
    return (const void *)run_resident<VLY_CUDA_N_MODELS, KEEP, THREADS>;
}

#elif RESIDENT_LEARNS

/* Fewer instances, since each has all rules. */
template <bool KEEP, uint32_t THREADS>
static const void *pick_resident(uint32_t model)
{
    if constexpr (KEEP) {
        switch (model) {
        case VLY_CUDA_MODEL_lif_psc_delta:
            return (const void *)
                run_resident<VLY_CUDA_MODEL_lif_psc_delta, KEEP, THREADS>;
        case VLY_CUDA_MODEL_lif_psc_alpha:
            return (const void *)
                run_resident<VLY_CUDA_MODEL_lif_psc_alpha, KEEP, THREADS>;
        default:
            break;
        }
    }
    return (const void *)run_resident<VLY_CUDA_N_MODELS, KEEP, THREADS>;
}

#else

template <bool KEEP, uint32_t THREADS>
static const void *pick_resident(uint32_t model)
{
    switch (model) {
    case VLY_CUDA_MODEL_lif_psc_delta:
        return (const void *)
            run_resident<VLY_CUDA_MODEL_lif_psc_delta, KEEP, THREADS>;
    case VLY_CUDA_MODEL_lif_psc_exp:
        return (const void *)
            run_resident<VLY_CUDA_MODEL_lif_psc_exp, KEEP, THREADS>;
    case VLY_CUDA_MODEL_izhikevich:
        return (
            const void *)run_resident<VLY_CUDA_MODEL_izhikevich, KEEP, THREADS>;
    default:
        return (const void *)run_resident<VLY_CUDA_N_MODELS, KEEP, THREADS>;
    }
}

#endif

/* For blocks of so many threads at most; 0: neurons are not kept. */
static const void *pick_instance(uint32_t model, uint32_t threads)
{
    if (threads == 0)
        return pick_resident<false, MANY_THREADS>(model);
    return threads == FEW_THREADS ? pick_resident<true, FEW_THREADS>(model)
                                  : pick_resident<true, MANY_THREADS>(model);
}

static inline uint32_t most_threads(const vly_cuda_view *view,
                                    const vly_cuda_resident *resident)
{
    if (!is_kept(view, resident))
        return 0;
    return n_threads(resident) <= FEW_THREADS ? FEW_THREADS : MANY_THREADS;
}

#if !VLY_CUDA_SPLICED
static const void *pick_run(const vly_cuda_view *view,
                            const vly_cuda_resident *resident)
{
    return pick_instance(view->model, most_threads(view, resident));
}
#endif

#endif
