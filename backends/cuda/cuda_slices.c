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

/* What is made on the way to the rows of a group. */
typedef struct slices_work {
    uint32_t *offset;  /* [n_neurons][n_slices + 1] */
    uint32_t *away;    /* [n_neurons][n_slices] of pairs, or NULL */
    uint64_t *row;     /* [n_neurons + 1] */
    uint32_t *longest; /* units of a part */
} slices_work;

static vly_status make_work(vly_backend_net *net, slices_work *work,
                            vly_error *error)
{
    uint64_t n = net->desc->n_neurons;
    uint64_t n_slices = net->partition.n_slices;
    vly_status status = vly_cuda_device_alloc(
        net, n * (n_slices + 1), sizeof *work->offset, &work->offset, error);
    if (status == VLY_OK && net->partition.once > 0)
        status = vly_cuda_device_alloc(net, n * n_slices, sizeof *work->away,
                                       &work->away, error);
    if (status == VLY_OK)
        status = vly_cuda_device_alloc(net, n + 1, sizeof *work->row,
                                       &work->row, error);
    if (status == VLY_OK)
        status = vly_cuda_device_alloc(net, 1, sizeof *work->longest,
                                       &work->longest, error);
    return status;
}

static vly_status count_rows(vly_backend_net *net, uint32_t base,
                             const slices_work *work, vly_error *error)
{
    cudaStream_t stream = (cudaStream_t)net->stream;
    cudaError_t code = cudaSuccess;
    for (uint32_t g = 0; g < net->view.n_groups && code == cudaSuccess; g++)
        if (overlaps(net, &net->groups[g], base))
            code = vly_cuda_launch_partition_count(
                &net->view, &net->groups[g], &net->partition, base,
                work->offset, work->away, stream);
    if (code == cudaSuccess)
        code = vly_cuda_launch_partition_scan(
            net->desc->n_neurons, &net->partition, work->away, work->offset,
            work->row + 1, work->longest, stream);
    if (code == cudaSuccess)
        code =
            vly_cuda_launch_row_sums(work->row, net->desc->n_neurons, stream);
    return vly_cuda_check((int)code, "counting rows by slice", error);
}

static vly_status fill_rows(vly_backend_net *net, uint32_t base,
                            const slices_work *work, uint32_t *synapses,
                            vly_error *error)
{
    cudaStream_t stream = (cudaStream_t)net->stream;
    cudaError_t code = cudaSuccess;
    for (uint32_t g = 0; g < net->view.n_groups && code == cudaSuccess; g++)
        if (overlaps(net, &net->groups[g], base))
            code = vly_cuda_launch_partition_fill(
                &net->view, &net->groups[g], &net->partition, base, work->row,
                work->offset, synapses, stream);
    if (code == cudaSuccess && work->away != NULL)
        code = vly_cuda_launch_partition_order(
            net->desc->n_neurons, &net->partition, work->row, work->away,
            work->offset, synapses, stream);
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

/* Numbers of 32 bits count units, those of 16 what only one block has. */
static vly_status check_sizes(const vly_backend_net *net, uint64_t total,
                              uint32_t longest, vly_error *error)
{
    uint32_t unit = net->partition.unit;
    if (total > UINT32_MAX)
        return vly_cuda_fail(error, VLY_E_UNSUPPORTED,
                             "cuda option plan=partitioned: %llu units of "
                             "%u synapses, wanted fewer than 2^32",
                             (unsigned long long)total, unit);
    if (net->partition.once > 0 && longest >= 65536 / unit)
        return vly_cuda_fail(error, VLY_E_UNSUPPORTED,
                             "cuda option plan=partitioned: %u units of %u "
                             "synapses from one neuron into one slice, wanted "
                             "fewer than %u",
                             longest, unit, 65536 / unit);
    return VLY_OK;
}

vly_status vly_cuda_slices_create(vly_backend_net *net, uint32_t index,
                                  vly_error *error)
{
    vly_cuda_partition_group *group = &net->partition_groups[index];
    uint64_t n_neurons = net->desc->n_neurons;
    uint32_t base = base_of(net, index);
    slices_work work = {NULL, NULL, NULL, NULL};
    uint32_t *synapses = NULL;
    uint32_t longest = 0;
    uint64_t total = 0; /* units */
    vly_status status = make_work(net, &work, error);
    if (status == VLY_OK)
        status = count_rows(net, base, &work, error);
    if (status == VLY_OK)
        status = vly_cuda_download(net, &longest, work.longest, sizeof longest,
                                   error);
    if (status == VLY_OK)
        status = vly_cuda_download(net, &total, work.row + n_neurons,
                                   sizeof total, error);
    if (status == VLY_OK)
        status = check_sizes(net, total, longest, error);
    uint64_t unit_bytes = net->partition.unit * sizeof *synapses;
    if (status == VLY_OK)
        status =
            vly_cuda_device_alloc(net, total, unit_bytes, &synapses, error);
    if (status == VLY_OK)
        status = fill_rows(net, base, &work, synapses, error);
    *group =
        (vly_cuda_partition_group){.synapses = synapses, .base_delay = base};
    if (status == VLY_OK && longest <= VLY_CUDA_INDEX_UNITS)
        status = make_index(net, group, work.offset, work.row, error);
    else if (status == VLY_OK)
        status = keep_offsets(net, group, work.offset, work.row, error);
    if (group->index != (const void *)work.offset)
        vly_cuda_device_release(net, work.offset);
    vly_cuda_device_release(net, work.away);
    vly_cuda_device_release(net, work.row);
    vly_cuda_device_release(net, work.longest);
    net->partition_bytes += total * unit_bytes;
    return status;
}
