/* SPDX-License-Identifier: Apache-2.0
 * The resident plan for nets with maps that learn: see learners_launch.cuh.
 */
#include "learners_launch.cuh"

const void *vly_cuda_learners_kernel(const vly_cuda_view *view,
                                     const vly_cuda_resident *resident)
{
    return pick_run(view, resident);
}

template <uint32_t THREADS, int RULE>
static const void *pick_model_of_one(uint32_t model)
{
    switch (model) {
    case VLY_CUDA_MODEL_lif_psc_delta:
        return (const void *)
            run_one_map<VLY_CUDA_MODEL_lif_psc_delta, THREADS, RULE>;
    case VLY_CUDA_MODEL_lif_psc_alpha:
        return (const void *)
            run_one_map<VLY_CUDA_MODEL_lif_psc_alpha, THREADS, RULE>;
    default:
        return (const void *)run_one_map<VLY_CUDA_N_MODELS, THREADS, RULE>;
    }
}

template <int RULE>
static const void *pick_threads_of_one(uint32_t model, uint32_t threads)
{
    return threads == FEW_THREADS
               ? pick_model_of_one<FEW_THREADS, RULE>(model)
               : pick_model_of_one<MANY_THREADS, RULE>(model);
}

/* A kernel for the net's only map, or NULL. */
static const void *pick_one_map(const vly_cuda_view *view,
                                const vly_cuda_resident *resident,
                                const vly_cuda_learners *learners)
{
    const uint32_t threads = most_threads(view, resident);
    if (resident->n_factors == 0 || threads == 0)
        return nullptr;
    switch (learners->list[0].rule) {
    case VLY_CUDA_RULE_stdp:
        return pick_threads_of_one<VLY_CUDA_RULE_stdp>(view->model, threads);
    case VLY_CUDA_RULE_stdp_power:
        return pick_threads_of_one<VLY_CUDA_RULE_stdp_power>(view->model,
                                                             threads);
    default:
        return nullptr;
    }
}

cudaError_t vly_cuda_launch_learners(const vly_cuda_view *view,
                                     const vly_cuda_launch *launch,
                                     const vly_cuda_resident *resident,
                                     const vly_cuda_learners *learners,
                                     const void *spliced, cudaStream_t stream)
{
    const void *one =
        spliced == nullptr ? pick_one_map(view, resident, learners) : nullptr;
    if (one == nullptr)
        return launch_run(spliced != nullptr ? spliced
                                             : pick_run(view, resident),
                          view, launch, resident, learners, stream);
    /* vly_cuda_resident_prepare does not know the rule */
    const cudaError_t code = allow_shared(one);
    return code == cudaSuccess
               ? launch_run(one, view, launch, resident, learners, stream)
               : code;
}

cudaError_t vly_cuda_launch_learners_flush(const vly_cuda_view *view,
                                           const vly_cuda_resident *resident,
                                           const vly_cuda_learners *learners,
                                           uint64_t burst, cudaStream_t stream)
{
    return launch_flush(view, resident, learners, burst, stream);
}
