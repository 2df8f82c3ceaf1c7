/* SPDX-License-Identifier: Apache-2.0
 * The plan for many events a burst: targets are distributed to slices whose
 * accumulators are in shared memory, rows are sorted by slice, and one launch
 * stays on the device for many bursts, with one exchange a burst:
 *     deliver | cluster | update | ids to mail, counts to the gate ... gate
 * A slice has a cluster of blocks, each with a copy of the accumulators and its
 * part of the spikes, so that there are fewer and longer parts of rows: with
 * one block a slice most sectors that are read also contain synapses of another
 * slice. The gate is a barrier that carries the counts: each block writes a
 * word with a tag in its high half, and all blocks poll these words.
 */
#include "partition_config.cuh"
#include "partition_run.cuh"

static const void *pick(const vly_cuda_view *view,
                        const vly_cuda_partition *partition)
{
    if (partition->narrow != 0)
        return vly_cuda_narrow_kernel(partition->unit, view->model);
    return partition->once != 0
               ? pick_unit<KIND_PAIR>(partition->unit, view->model)
               : pick_unit<KIND_COPIES>(partition->unit, view->model);
}

uint64_t vly_cuda_partition_bytes(const vly_cuda_view *view,
                                  const vly_cuda_partition *partition)
{
    return partition_dynamic(view, partition) + partition_static();
}

cudaError_t vly_cuda_partition_clusters(const vly_cuda_view *view,
                                        const vly_cuda_partition *partition,
                                        uint64_t bytes, uint32_t *n_clusters)
{
    return count_clusters(pick(view, partition), partition->cluster, bytes,
                          n_clusters);
}

uint32_t vly_cuda_partition_kind(const vly_cuda_partition *partition)
{
    return partition->narrow != 0 ? KIND_NARROW
           : partition->once != 0 ? KIND_PAIR
                                  : KIND_COPIES;
}

cudaError_t vly_cuda_launch_partition(const vly_cuda_view *view,
                                      const vly_cuda_launch *launch,
                                      const vly_cuda_partition *partition,
                                      const void *spliced, cudaStream_t stream)
{
    cudaLaunchAttribute attributes[2];
    cudaLaunchConfig_t config = make_config(
        partition->n_slices * partition->cluster, partition->cluster,
        partition_dynamic(view, partition), stream, attributes);
    void *arguments[3] = {(void *)view, (void *)launch, (void *)partition};
    return cudaLaunchKernelExC(
        &config, spliced != nullptr ? spliced : pick(view, partition),
        arguments);
}
