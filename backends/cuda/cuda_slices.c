/* SPDX-License-Identifier: Apache-2.0
 * Rows by source in parts by slice, out of rows by source: those of one group
 * of the partitioned plan.
 */
#include "cuda_slices.h"

#include <string.h>

#include "cuda_error.h"
#include "cuda_memory.h"
#include "cuda_net.h"

static uint32_t base_of(const vly_cuda_shard *shard, uint32_t group)
{
    return shard->partition_delay + group * shard->partition.ring;
}

static bool overlaps(const vly_cuda_shard *shard, const vly_cuda_group *from,
                     uint32_t base)
{
    return from->base_delay < base + shard->partition.ring &&
           from->base_delay + from->delay_max >= base;
}

/* Whether positions may need more than 32 bits: kernels of a span with units of
 * one synapse, which large nets have. */
static bool is_wide(const vly_cuda_shard *shard)
{
    return shard->net->n_shards > 1 && shard->partition.unit == 1;
}

/* Temporary data while the rows of a group are made. */
typedef struct slices_work {
    uint32_t *offset;  /* [n_neurons][own_slices + 1] */
    uint32_t *away;    /* [n_neurons][own_slices] of pairs, or NULL */
    uint64_t *row;     /* [n_neurons + 1] */
    uint32_t *longest; /* units of a part */
} slices_work;

static vly_status make_work(vly_cuda_shard *shard, slices_work *work,
                            vly_error *error)
{
    uint64_t n = shard->net->desc->n_neurons;
    uint64_t n_slices = shard->partition.own_slices;
    vly_status status = VLY_OK;
    VLY_TRY(vly_cuda_device_alloc(shard, n * (n_slices + 1),
                                  sizeof *work->offset, &work->offset, error));
    if (shard->partition.once > 0)
        VLY_TRY(vly_cuda_device_alloc(shard, n * n_slices, sizeof *work->away,
                                      &work->away, error));
    VLY_TRY(vly_cuda_device_alloc(shard, n + 1, sizeof *work->row, &work->row,
                                  error));
    VLY_TRY(vly_cuda_device_alloc(shard, 1, sizeof *work->longest,
                                  &work->longest, error));
out:
    return status;
}

/* Of a span: a piece of the rows of the host, whose synapses are counted or
 * filled in. */
typedef struct slices_piece {
    uint32_t base;
    const slices_work *work;
    uint32_t *synapses; /* NULL: counted */
} slices_piece;

static int take_piece(vly_cuda_shard *shard, const vly_cuda_part *part,
                      const vly_projection_desc *p, void *arg)
{
    const slices_piece *to = arg;
    cudaStream_t stream = (cudaStream_t)shard->stream;
    return !to->synapses
               ? (int)vly_cuda_launch_span_count(
                     &shard->view, part, &shard->partition, p->base_delay,
                     to->base, to->work->offset, stream)
               : (int)vly_cuda_launch_span_fill(
                     &shard->view, part, &shard->partition, p->base_delay,
                     to->base, to->work->row, to->work->offset, to->synapses,
                     stream);
}

static vly_status take_pieces(vly_cuda_shard *shard, uint32_t base,
                              const slices_work *work, uint32_t *synapses,
                              vly_error *error)
{
    slices_piece to = {.base = base, .work = work, .synapses = synapses};
    return vly_cuda_store_pieces(shard, base, base + shard->partition.ring - 1,
                                 take_piece, &to, error);
}

static vly_status count_rows(vly_cuda_shard *shard, uint32_t base,
                             const slices_work *work, vly_error *error)
{
    vly_status status = VLY_OK;
    cudaStream_t stream = (cudaStream_t)shard->stream;
    cudaError_t code = cudaSuccess;
    if (shard->net->n_shards > 1) {
        VLY_TRY(take_pieces(shard, base, work, NULL, error));
    }
    for (uint32_t g = 0; g < shard->view.n_groups && code == cudaSuccess; g++)
        if (overlaps(shard, &shard->store.groups[g], base))
            code = vly_cuda_launch_partition_count(
                &shard->view, &shard->store.groups[g], &shard->partition, base,
                work->offset, work->away, stream);
    if (code == cudaSuccess)
        code = vly_cuda_launch_partition_scan(
            shard->net->desc->n_neurons, &shard->partition, work->away,
            work->offset, work->row + 1, work->longest, stream);
    if (code == cudaSuccess)
        code = vly_cuda_launch_row_sums(work->row, shard->net->desc->n_neurons,
                                        stream);
    return vly_cuda_check((int)code, "counting rows by slice", error);
out:
    return status;
}

static vly_status fill_rows(vly_cuda_shard *shard, uint32_t base,
                            const slices_work *work, uint32_t *synapses,
                            vly_error *error)
{
    cudaStream_t stream = (cudaStream_t)shard->stream;
    cudaError_t code = cudaSuccess;
    if (shard->net->n_shards > 1)
        return take_pieces(shard, base, work, synapses, error);
    for (uint32_t g = 0; g < shard->view.n_groups && code == cudaSuccess; g++)
        if (overlaps(shard, &shard->store.groups[g], base))
            code = vly_cuda_launch_partition_fill(
                &shard->view, &shard->store.groups[g], &shard->partition, base,
                work->row, work->offset, synapses, stream);
    if (code == cudaSuccess && work->away)
        code = vly_cuda_launch_partition_order(
            shard->net->desc->n_neurons, &shard->partition, work->row,
            work->away, work->offset, synapses, stream);
    return vly_cuda_check((int)code, "filling rows by slice", error);
}

/* One index word covers several parts. */
static vly_status make_index(vly_cuda_shard *shard,
                             vly_cuda_partition_group *group, uint32_t *offset,
                             const uint64_t *row, vly_error *error)
{
    uint32_t n_neurons = shard->net->desc->n_neurons;
    uint32_t parts = VLY_CUDA_INDEX_PARTS;
    uint32_t n_words = (shard->partition.own_slices + parts - 1) / parts;
    uint64_t n = (uint64_t)n_neurons * n_words;
    vly_cuda_index_word *index = NULL;
    uint64_t *carry = NULL;
    vly_status status =
        vly_cuda_device_alloc(shard, n, sizeof *index, &index, error);
    if (status == VLY_OK && is_wide(shard))
        status = vly_cuda_device_alloc(shard, VLY_CUDA_INDEX_CARRIES,
                                       sizeof *carry, &carry, error);
    if (status == VLY_OK && carry)
        status = vly_cuda_upload(shard, carry, group->carry,
                                 sizeof group->carry, error);
    if (status == VLY_OK)
        status = vly_cuda_check((int)vly_cuda_launch_partition_index(
                                    n_neurons, &shard->partition, row, offset,
                                    n_words, index, carry,
                                    (cudaStream_t)shard->stream),
                                "index of rows", error);
    if (status == VLY_OK && carry)
        status = vly_cuda_download(shard, group->carry, carry,
                                   sizeof group->carry, error);
    if (status == VLY_OK)
        status = vly_cuda_synchronize(shard, "index of rows", error);
    vly_cuda_device_release(shard, carry);
    if (status != VLY_OK)
        return status;
    group->index = index;
    group->index_words = n_words;
    shard->partition_bytes += n * sizeof *index;
    return VLY_OK;
}

/* Computes the ends of parts in units. */
static vly_status keep_offsets(vly_cuda_shard *shard,
                               vly_cuda_partition_group *group,
                               uint32_t *offset, const uint64_t *row,
                               vly_error *error)
{
    uint32_t n_neurons = shard->net->desc->n_neurons;
    vly_status status = VLY_OK;
    VLY_TRY(vly_cuda_check((int)vly_cuda_launch_partition_ends(
                               n_neurons, &shard->partition, row, offset,
                               (cudaStream_t)shard->stream),
                           "offsets of rows", error));
    VLY_TRY(vly_cuda_synchronize(shard, "offsets of rows", error));
    group->index = offset;
    shard->partition_bytes += (uint64_t)n_neurons *
                              (shard->partition.own_slices + 1) *
                              sizeof *offset;
out:
    return status;
}

/* Units are counted in 32 bits, in an index with carries in 2 more; those of a
 * single block in 16. */
static vly_status check_sizes(const vly_cuda_shard *shard, uint64_t total,
                              uint32_t longest, vly_error *error)
{
    uint32_t unit = shard->partition.unit;
    uint64_t most = UINT32_MAX;
    if (is_wide(shard) && longest <= VLY_CUDA_INDEX_UNITS)
        most = (UINT64_C(1) << VLY_CUDA_INDEX_BITS) *
                   (VLY_CUDA_INDEX_CARRIES + 1) -
               1;
    if (total > most)
        return vly_cuda_fail(error, VLY_E_UNSUPPORTED,
                             "cuda option plan=partitioned: %llu units of "
                             "%u synapses, wanted at most %llu",
                             (unsigned long long)total, unit,
                             (unsigned long long)most);
    if (shard->partition.once > 0 && longest >= 65536 / unit)
        return vly_cuda_fail(error, VLY_E_UNSUPPORTED,
                             "cuda option plan=partitioned: %u units of %u "
                             "synapses from one neuron into one slice, wanted "
                             "fewer than %u",
                             longest, unit, 65536 / unit);
    return VLY_OK;
}

vly_status vly_cuda_slices_create(vly_cuda_shard *shard, uint32_t index,
                                  vly_error *error)
{
    vly_cuda_partition_group *group = &shard->partition_groups[index];
    uint64_t n_neurons = shard->net->desc->n_neurons;
    uint32_t base = base_of(shard, index);
    slices_work work = {NULL, NULL, NULL, NULL};
    uint32_t *synapses = NULL;
    uint32_t longest = 0;
    uint64_t total = 0; /* units */
    vly_status status = make_work(shard, &work, error);
    if (status == VLY_OK)
        status = count_rows(shard, base, &work, error);
    if (status == VLY_OK)
        status = vly_cuda_download(shard, &longest, work.longest,
                                   sizeof longest, error);
    if (status == VLY_OK)
        status = vly_cuda_download(shard, &total, work.row + n_neurons,
                                   sizeof total, error);
    if (status == VLY_OK)
        status = check_sizes(shard, total, longest, error);
    uint64_t unit_bytes = shard->partition.unit * sizeof *synapses;
    if (status == VLY_OK)
        status =
            vly_cuda_device_alloc(shard, total, unit_bytes, &synapses, error);
    if (status == VLY_OK)
        status = fill_rows(shard, base, &work, synapses, error);
    *group =
        (vly_cuda_partition_group){.synapses = synapses, .base_delay = base};
    memset(group->carry, 0xff, sizeof group->carry); /* none */
    if (status == VLY_OK && longest <= VLY_CUDA_INDEX_UNITS)
        status = make_index(shard, group, work.offset, work.row, error);
    else if (status == VLY_OK)
        status = keep_offsets(shard, group, work.offset, work.row, error);
    if (group->index != (const void *)work.offset)
        vly_cuda_device_release(shard, work.offset);
    vly_cuda_device_release(shard, work.away);
    vly_cuda_device_release(shard, work.row);
    vly_cuda_device_release(shard, work.longest);
    shard->partition_bytes += total * unit_bytes;
    return status;
}
