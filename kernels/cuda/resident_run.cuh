/* SPDX-License-Identifier: Apache-2.0
 * The kernel of the resident plan, a launch of many bursts, and which of its
 * instances a net needs: burst_resident.cu has those of nets whose weights have
 * no shifts, burst_shifted.cu, which defines RESIDENT_SHIFTED, the others.
 */
#ifndef VOLLEY_CUDA_RESIDENT_RUN_CUH
#define VOLLEY_CUDA_RESIDENT_RUN_CUH

#include "resident_burst.cuh"

/* The instance for weights with shifts; burst_shifted.cu. */
const void *vly_cuda_shifted_kernel(const vly_cuda_view *view,
                                    const vly_cuda_resident *resident);

template <int MODEL, bool KEEP, uint32_t THREADS>
static __global__ void __launch_bounds__(THREADS, 1)
    run_resident(const __grid_constant__ vly_cuda_view view,
                 const __grid_constant__ vly_cuda_launch launch,
                 const __grid_constant__ vly_cuda_resident resident)
{
    extern __shared__ uint4 dynamic[];
    const resident_block block = make_block(view, resident, dynamic);
    resident_shared *shared = block.shared;
    const warp_roles roles = assign_roles(resident, KEEP);
    block_load(view, launch, resident, block);
    if (KEEP)
        sources_load(view, launch.burst, shared);
    uint64_t n_events = 0;
    launch_state at = start_launch(view, launch, resident, block);
    if (at.more)
        deliver_log(view, launch, resident, block, at.base);
    resident_neuron neuron;
    neuron.id = 0xffffffffu;
    if (KEEP && roles.updates) {
        neuron_load<MODEL>(view, resident, threadIdx.x, &neuron);
        neuron_draw(view, shared, launch.burst, 0, true, &neuron);
    }
    if (roles.keeps)
        shared->time = (uint32_t)clock();
    while (at.more) {
        const uint64_t burst = launch.burst + at.k;
        if (launch.input_row != nullptr)
            take_inputs(launch, resident, block, at.k, at.base);
        if (roles.updates)
            update_block<MODEL, KEEP>(view, resident, block, burst, at.base,
                                      &neuron, &n_events);
        exchange<KEEP>(view, resident, block, roles, burst, at.k, at.base,
                       at.n_before, is_logged(resident, at), &neuron);
        __syncthreads();
        finish_burst<KEEP>(view, launch, resident, block, roles, burst, &at);
    }
    if (is_logged(resident, at))
        log_list(view, shared->list[(resident.tag + at.k) & 1], at.n_before,
                 {shared->log_from, true});
    if (KEEP && at.k > 0) {
        neuron_store<MODEL>(view, &neuron);
        n_events = neuron_events(view, &neuron);
    }
    if (at.k > 0)
        block_store(view, launch, resident, block, at.k, n_events, roles);
}

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

static const void *pick_run(const vly_cuda_view *view,
                            const vly_cuda_resident *resident)
{
    if (!is_kept(view, resident))
        return pick_resident<false, MANY_THREADS>(view->model);
    return n_threads(resident) <= FEW_THREADS
               ? pick_resident<true, FEW_THREADS>(view->model)
               : pick_resident<true, MANY_THREADS>(view->model);
}

#endif
