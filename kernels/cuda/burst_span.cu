/* SPDX-License-Identifier: Apache-2.0
 * The partitioned plan on several devices of one host, each with a part of the
 * slices (partition_span.cuh). A device has a launch of its own, which is
 * cooperative, so that all its blocks run at once; launches of parts of one
 * device, for tests, are not, since such launches do not run beside each other:
 * there the host sees to it that all blocks fit.
 */
#include "partition_config.cuh"
#include "partition_span_run.cuh"

static const void *pick(const vly_cuda_view *view,
                        const vly_cuda_partition *partition)
{
    return partition->narrow != 0
               ? vly_cuda_span_narrow_kernel(partition->unit, view->model)
               : pick_span_unit<KIND_COPIES>(partition->unit, view->model);
}

cudaError_t vly_cuda_span_clusters(const vly_cuda_view *view,
                                   const vly_cuda_partition *partition,
                                   uint64_t bytes, uint32_t *n_clusters)
{
    return count_clusters(pick(view, partition), partition->cluster, bytes,
                          n_clusters);
}

cudaError_t vly_cuda_launch_span(const vly_cuda_view *view,
                                 const vly_cuda_launch *launch,
                                 const vly_cuda_partition *partition,
                                 const void *spliced, cudaStream_t stream)
{
    cudaLaunchAttribute attributes[2];
    cudaLaunchConfig_t config = make_config(
        partition->own_slices * partition->cluster, partition->cluster,
        partition_dynamic(view, partition), stream, attributes);
    attributes[0].val.cooperative = partition->span.is_shared == 0;
    void *arguments[3] = {(void *)view, (void *)launch, (void *)partition};
    return cudaLaunchKernelExC(
        &config, spliced != nullptr ? spliced : pick(view, partition),
        arguments);
}
