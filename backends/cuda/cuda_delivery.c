/* SPDX-License-Identifier: Apache-2.0
 * Rows on the device: the synapses of all projections with the same base
 * delay, by source. Projections are uploaded in parts and merged there.
 */
#include "cuda_net.h"

#include <string.h>

#define PART_SYNAPSES (UINT64_C(32) << 20) /* 224 MB on the device */

/* What parts are uploaded to. */
typedef struct staging {
    uint64_t *row;
    uint32_t *target;
    int16_t *weight;
    uint8_t *delay;
} staging;

static uint32_t n_sources(const vly_net_desc *desc,
                          const vly_projection_desc *p)
{
    return vly_cuda_area_desc(desc, p->source_area)->n_neurons;
}

/* Rows [from, *to) with at most PART_SYNAPSES synapses, at least one row. */
static uint32_t part_end(const vly_projection_desc *p, uint32_t from,
                         uint32_t n)
{
    uint64_t limit = p->row[from] + PART_SYNAPSES;
    uint32_t low = from + 1;
    uint32_t high = n;
    while (low < high) {
        uint32_t middle = low + (high - low + 1) / 2;
        if (p->row[middle] <= limit)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

static vly_status staging_create(vly_backend_net *net, staging *made,
                                 vly_error *error)
{
    uint64_t rows = 1;
    uint64_t synapses = 0;
    for (uint32_t i = 0; i < net->desc->n_projections; i++) {
        const vly_projection_desc *p = vly_cuda_projection_desc(net->desc, i);
        uint32_t n = n_sources(net->desc, p);
        rows = n + UINT64_C(1) > rows ? n + UINT64_C(1) : rows;
        for (uint32_t from = 0; from < n;) {
            uint32_t to = part_end(p, from, n);
            uint64_t held = p->row[to] - p->row[from];
            synapses = held > synapses ? held : synapses;
            from = to;
        }
    }
    memset(made, 0, sizeof *made);
    vly_status status =
        vly_cuda_device_alloc(net, rows, sizeof(uint64_t), &made->row, error);
    if (status == VLY_OK)
        status = vly_cuda_device_alloc(net, synapses, sizeof(uint32_t),
                                       &made->target, error);
    if (status == VLY_OK)
        status = vly_cuda_device_alloc(net, synapses, sizeof(int16_t),
                                       &made->weight, error);
    if (status == VLY_OK)
        status = vly_cuda_device_alloc(net, synapses, 1, &made->delay, error);
    return status;
}

static void staging_release(vly_backend_net *net, const staging *made)
{
    vly_cuda_device_release(net, made->row);
    vly_cuda_device_release(net, made->target);
    vly_cuda_device_release(net, made->weight);
    vly_cuda_device_release(net, made->delay);
}

static vly_cuda_part make_part(const vly_backend_net *net,
                               const vly_projection_desc *p, const staging *to,
                               uint32_t from, uint32_t end)
{
    const vly_area_desc *source = vly_cuda_area_desc(net->desc, p->source_area);
    return (vly_cuda_part){
        .row = to->row,
        .target = to->target,
        .weight = to->weight,
        .delay = p->delay != NULL ? to->delay : NULL,
        .source_first = source->first + from,
        .n_sources = end - from,
        .port = p->port,
        .gain = (p->flags & VLY_PROJECTION_GAIN) != 0,
    };
}

static vly_status add_lengths(vly_backend_net *net,
                              const vly_projection_desc *p, const staging *to,
                              uint64_t *row, vly_error *error)
{
    uint32_t n = n_sources(net->desc, p);
    vly_cuda_part part = make_part(net, p, to, 0, n);
    vly_status status = vly_cuda_upload(net, to->row, p->row,
                                        (n + UINT64_C(1)) * sizeof *row, error);
    if (status != VLY_OK)
        return status;
    return vly_cuda_check((int)vly_cuda_launch_row_lengths(
                              &part, row + 1, (cudaStream_t)net->stream),
                          "lengths of rows", error);
}

static vly_status add_rows(vly_backend_net *net, const vly_projection_desc *p,
                           const staging *to, uint64_t *cursor,
                           uint64_t *synapses, vly_error *error)
{
    uint32_t n = n_sources(net->desc, p);
    vly_status status = VLY_OK;
    for (uint32_t from = 0; from < n && status == VLY_OK;) {
        uint32_t end = part_end(p, from, n);
        uint64_t first = p->row[from];
        uint64_t count = p->row[end] - first;
        vly_cuda_part part = make_part(net, p, to, from, end);
        status = vly_cuda_upload(net, to->row, p->row + from,
                                 (end - from + UINT64_C(1)) * sizeof(uint64_t),
                                 error);
        if (status == VLY_OK)
            status = vly_cuda_upload(net, to->target, p->target + first,
                                     count * sizeof(uint32_t), error);
        if (status == VLY_OK)
            status = vly_cuda_upload(net, to->weight, p->weight + first,
                                     count * sizeof(int16_t), error);
        if (status == VLY_OK && p->delay != NULL)
            status =
                vly_cuda_upload(net, to->delay, p->delay + first, count, error);
        if (status == VLY_OK)
            status = vly_cuda_check(
                (int)vly_cuda_launch_row_fill(&part, cursor, synapses,
                                              (cudaStream_t)net->stream),
                "filling rows", error);
        from = end;
    }
    return status;
}

static vly_status group_create(vly_backend_net *net, const staging *to,
                               vly_cuda_group *group, vly_error *error)
{
    const vly_net_desc *desc = net->desc;
    uint64_t *row = NULL;
    uint64_t *cursor = NULL;
    uint64_t *synapses = NULL;
    uint64_t total = 0;
    vly_status status = vly_cuda_device_alloc(
        net, desc->n_neurons + UINT64_C(1), sizeof *row, &row, error);
    for (uint32_t i = 0; i < desc->n_projections && status == VLY_OK; i++) {
        const vly_projection_desc *p = vly_cuda_projection_desc(desc, i);
        if (p->base_delay != group->base_delay)
            continue;
        total += p->row[n_sources(desc, p)];
        status = add_lengths(net, p, to, row, error);
    }
    if (status == VLY_OK)
        status =
            vly_cuda_check((int)vly_cuda_launch_row_sums(
                               row, desc->n_neurons, (cudaStream_t)net->stream),
                           "sums of rows", error);
    if (status == VLY_OK)
        status = vly_cuda_device_alloc(net, total, sizeof *synapses, &synapses,
                                       error);
    if (status == VLY_OK)
        status = vly_cuda_device_alloc(net, desc->n_neurons, sizeof *cursor,
                                       &cursor, error);
    if (status == VLY_OK && desc->n_neurons > 0)
        status = vly_cuda_check(
            (int)cudaMemcpyAsync(
                cursor, row, (size_t)desc->n_neurons * sizeof *row,
                cudaMemcpyDeviceToDevice, (cudaStream_t)net->stream),
            "cursors of rows", error);
    for (uint32_t i = 0; i < desc->n_projections && status == VLY_OK; i++) {
        const vly_projection_desc *p = vly_cuda_projection_desc(desc, i);
        if (p->base_delay == group->base_delay)
            status = add_rows(net, p, to, cursor, synapses, error);
    }
    if (status == VLY_OK)
        status = vly_cuda_synchronize(net, "building rows", error);
    vly_cuda_device_release(net, cursor);
    net->n_synapses += total;
    group->row = row;
    group->synapses = synapses;
    return status;
}

static void find_groups(vly_backend_net *net)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < net->desc->n_projections; i++) {
        const vly_projection_desc *p = vly_cuda_projection_desc(net->desc, i);
        uint32_t g = 0;
        while (g < n && net->groups[g].base_delay != p->base_delay)
            g++;
        if (g == n) {
            net->groups[n].base_delay = p->base_delay;
            net->groups[n++].delay_max = 0;
        }
        if (p->delay != NULL && p->delay_max > net->groups[g].delay_max)
            net->groups[g].delay_max = p->delay_max;
    }
    net->view.n_groups = n;
}

vly_status vly_cuda_delivery_create(vly_backend_net *net, vly_error *error)
{
    staging to = {0};
    vly_cuda_group *groups = NULL;
    vly_status status =
        vly_cuda_alloc(net, net->desc->n_projections, sizeof *net->groups,
                       &net->groups, error);
    if (status != VLY_OK)
        return status;
    find_groups(net);
    status = staging_create(net, &to, error);
    for (uint32_t g = 0; g < net->view.n_groups && status == VLY_OK; g++)
        status = group_create(net, &to, &net->groups[g], error);
    staging_release(net, &to);
    if (status == VLY_OK)
        status = vly_cuda_device_alloc(net, net->view.n_groups, sizeof *groups,
                                       &groups, error);
    if (status == VLY_OK)
        status = vly_cuda_upload(net, groups, net->groups,
                                 net->view.n_groups * sizeof *groups, error);
    net->view.groups = groups;
    return status;
}
