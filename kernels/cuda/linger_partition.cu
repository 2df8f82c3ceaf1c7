/* SPDX-License-Identifier: Apache-2.0
 * Launches of the partitioned plan that stay on the device between runs
 * (linger_partition.cuh).
 */
#include "linger_partition.cuh"

#include "partition_config.cuh"

static const void *pick(const vly_cuda_view *view,
                        const vly_cuda_partition *partition)
{
    return partition->narrow != 0
               ? vly_cuda_linger_narrow_kernel(partition->unit, view->model)
               : pick_linger_unit<KIND_COPIES>(partition->unit, view->model);
}

cudaError_t vly_cuda_linger_partition_fit(const vly_cuda_view *view,
                                          const vly_cuda_partition *partition,
                                          int *fits)
{
    const void *kernel = pick(view, partition);
    cudaLaunchAttribute attributes[2];
    cudaLaunchConfig_t config = make_config(
        partition->n_slices * partition->cluster, partition->cluster,
        partition_dynamic(view, partition), nullptr, attributes);
    int n = 0;
    *fits = 0;
    if (partition->once != 0) /* not made for it */
        return cudaSuccess;
    cudaError_t code = allow_shared(kernel);
    if (code != cudaSuccess)
        return code;
    if (partition->cluster == 1) {
        code = cudaOccupancyMaxActiveBlocksPerMultiprocessor(
            &n, kernel, (int)THREADS, config.dynamicSmemBytes);
        *fits = n > 0;
        return code;
    }
    config.attrs = attributes + 1; /* the count is the same for both kinds */
    config.numAttrs = 1;
    code = cudaOccupancyMaxActiveClusters(&n, kernel, &config);
    *fits = n >= (int)partition->n_slices;
    return code;
}

cudaError_t vly_cuda_linger_partition(const vly_cuda_view *view,
                                      const vly_cuda_launch *launch,
                                      const vly_cuda_partition *partition,
                                      const vly_cuda_linger *linger,
                                      cudaStream_t stream)
{
    cudaLaunchAttribute attributes[2];
    cudaLaunchConfig_t config = make_config(
        partition->n_slices * partition->cluster, partition->cluster,
        partition_dynamic(view, partition), stream, attributes);
    void *arguments[4] = {(void *)view, (void *)launch, (void *)partition,
                          (void *)linger};
    return cudaLaunchKernelExC(&config, pick(view, partition), arguments);
}
