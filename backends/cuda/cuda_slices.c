/* SPDX-License-Identifier: Apache-2.0
 * Rows by source in parts by slice, out of rows by source: those of one group
 * of the partitioned plan.
 */
#include "cuda_net.h"

static uint32_t base_of(const vly_backend_net *net, uint32_t group)
{
    return net->partition_delay + group * net->partition.ring;
}

static int overlaps(const vly_backend_net *net, const vly_cuda_group *from,
                    uint32_t base)
{
    return from->base_delay < base + net->partition.ring &&
           from->base_delay + from->delay_max >= base;
}

static vly_status count_rows(vly_backend_net *net, uint32_t base,
                             uint32_t *offset, uint64_t *length,
                             uint32_t *longest, vly_error *error)
{
    cudaStream_t stream = (cudaStream_t)net->stream;
    cudaError_t code = cudaSuccess;
    for (uint32_t g = 0; g < net->view.n_groups && code == cudaSuccess; g++)
        if (overlaps(net, &net->groups[g], base))
            code = vly_cuda_launch_partition_count(&net->view, &net->groups[g],
                                                   &net->partition, base,
                                                   offset, stream);
    if (code == cudaSuccess)
        code = vly_cuda_launch_partition_scan(net->desc->n_neurons,
                                              &net->partition, offset,
                                              length + 1, longest, stream);
    if (code == cudaSuccess)
        code = vly_cuda_launch_row_sums(length, net->desc->n_neurons, stream);
    return vly_cuda_check((int)code, "counting rows by slice", error);
}

static vly_status fill_rows(vly_backend_net *net, uint32_t base,
                            const uint64_t *row, uint32_t *offset,
                            uint32_t *synapses, vly_error *error)
{
    cudaError_t code = cudaSuccess;
    for (uint32_t g = 0; g < net->view.n_groups && code == cudaSuccess; g++)
        if (overlaps(net, &net->groups[g], base))
            code = vly_cuda_launch_partition_fill(
                &net->view, &net->groups[g], &net->partition, base, row, offset,
                synapses, (cudaStream_t)net->stream);
    return vly_cuda_check((int)code, "filling rows by slice", error);
}

/* One word for a few parts each. */
static vly_status make_index(vly_backend_net *net,
                             vly_cuda_partition_group *group, uint32_t *offset,
                             const uint64_t *row, vly_error *error)
{
    uint32_t n_neurons = net->desc->n_neurons;
    uint32_t parts = VLY_CUDA_INDEX_PARTS;
    uint32_t n_words = (net->partition.n_slices + parts - 1) / parts;
    uint64_t n = (uint64_t)n_neurons * n_words;
    vly_cuda_index_word *index = NULL;
    vly_status status =
        vly_cuda_device_alloc(net, n, sizeof *index, &index, error);
    if (status == VLY_OK)
        status = vly_cuda_check((int)vly_cuda_launch_partition_index(
                                    n_neurons, &net->partition, row, offset,
                                    n_words, index, (cudaStream_t)net->stream),
                                "index of rows", error);
    if (status == VLY_OK)
        status = vly_cuda_synchronize(net, "index of rows", error);
    if (status != VLY_OK)
        return status;
    group->index = index;
    group->index_words = n_words;
    net->partition_bytes += n * sizeof *index;
    return VLY_OK;
}

/* Ends of parts in units. */
static vly_status keep_offsets(vly_backend_net *net,
                               vly_cuda_partition_group *group,
                               uint32_t *offset, const uint64_t *row,
                               vly_error *error)
{
    uint32_t n_neurons = net->desc->n_neurons;
    vly_status status = vly_cuda_check(
        (int)vly_cuda_launch_partition_ends(n_neurons, &net->partition, row,
                                            offset, (cudaStream_t)net->stream),
        "offsets of rows", error);
    if (status == VLY_OK)
        status = vly_cuda_synchronize(net, "offsets of rows", error);
    if (status != VLY_OK)
        return status;
    group->index = offset;
    net->partition_bytes +=
        (uint64_t)n_neurons * (net->partition.n_slices + 1) * sizeof *offset;
    return VLY_OK;
}

vly_status vly_cuda_slices_create(vly_backend_net *net, uint32_t index,
                                  vly_error *error)
{
    vly_cuda_partition_group *group = &net->partition_groups[index];
    uint64_t n_neurons = net->desc->n_neurons;
    uint64_t n_offsets = n_neurons * (net->partition.n_slices + 1);
    uint32_t base = base_of(net, index);
    uint32_t *offset = NULL;
    uint64_t *row = NULL;
    uint32_t *longest_at = NULL;
    uint32_t *synapses = NULL;
    uint32_t longest = 0;
    uint64_t total = 0; /* units */
    vly_status status =
        vly_cuda_device_alloc(net, n_offsets, sizeof *offset, &offset, error);
    if (status == VLY_OK)
        status =
            vly_cuda_device_alloc(net, n_neurons + 1, sizeof *row, &row, error);
    if (status == VLY_OK)
        status =
            vly_cuda_device_alloc(net, 1, sizeof longest, &longest_at, error);
    if (status == VLY_OK)
        status = count_rows(net, base, offset, row, longest_at, error);
    if (status == VLY_OK)
        status =
            vly_cuda_download(net, &longest, longest_at, sizeof longest, error);
    if (status == VLY_OK)
        status = vly_cuda_download(net, &total, row + n_neurons, sizeof total,
                                   error);
    vly_cuda_device_release(net, longest_at);
    if (status == VLY_OK && total > UINT32_MAX)
        status = vly_cuda_fail(error, VLY_E_UNSUPPORTED,
                               "cuda option plan=partitioned: %llu units of "
                               "%u synapses, wanted fewer than 2^32",
                               (unsigned long long)total, net->partition.unit);
    uint64_t unit_bytes = net->partition.unit * sizeof *synapses;
    if (status == VLY_OK)
        status =
            vly_cuda_device_alloc(net, total, unit_bytes, &synapses, error);
    if (status == VLY_OK)
        status = fill_rows(net, base, row, offset, synapses, error);
    *group =
        (vly_cuda_partition_group){.synapses = synapses, .base_delay = base};
    if (status == VLY_OK && longest <= VLY_CUDA_INDEX_UNITS)
        status = make_index(net, group, offset, row, error);
    else if (status == VLY_OK)
        status = keep_offsets(net, group, offset, row, error);
    if (group->index != (const void *)offset)
        vly_cuda_device_release(net, offset);
    vly_cuda_device_release(net, row);
    net->partition_bytes += total * unit_bytes;
    return status;
}
