/* SPDX-License-Identifier: Apache-2.0
 * The partitioned plan: its tiles, what it keeps, and what a launch needs.
 */
#include "cuda_net.h"

/* ---- making ------------------------------------------------------------ */

/* Shared memory for the kernel that will run: of one model, if all areas have
 * the same. */
static vly_status prepare(vly_backend_net *net, vly_error *error)
{
    uint32_t n_clusters = 0;
    vly_status status = vly_cuda_check(
        (int)vly_cuda_partition_clusters(
            &net->view, &net->partition,
            vly_cuda_partition_bytes(&net->view, &net->partition), &n_clusters),
        "shared memory of a block", error);
    if (status == VLY_OK && n_clusters < net->partition.n_slices)
        status = vly_cuda_fail(error, VLY_E_DEVICE,
                               "the device runs %u clusters of %u blocks at "
                               "once, wanted %u",
                               n_clusters, net->partition.cluster,
                               net->partition.n_slices);
    return status;
}

/* Tiles area by area, and where those of each begin. */
static vly_status create_tiles(vly_backend_net *net, vly_error *error)
{
    vly_cuda_partition *partition = &net->partition;
    uint32_t n_areas = net->view.n_areas;
    vly_cuda_slice_tile *tiles = NULL;
    vly_cuda_slice_tile *host = NULL;
    uint32_t *first = NULL;
    uint32_t *first_host = NULL;
    vly_status status = vly_cuda_device_alloc(net, partition->n_tiles,
                                              sizeof *tiles, &tiles, error);
    if (status == VLY_OK)
        status =
            vly_cuda_device_alloc(net, n_areas, sizeof *first, &first, error);
    if (status == VLY_OK)
        status =
            vly_cuda_alloc(net, partition->n_tiles, sizeof *host, &host, error);
    if (status == VLY_OK)
        status = vly_cuda_alloc(net, n_areas, sizeof *first_host, &first_host,
                                error);
    if (status != VLY_OK)
        return status;
    uint32_t at = 0;
    for (uint32_t a = 0; a < n_areas; a++) {
        first_host[a] = at;
        for (uint32_t i = 0; i < net->areas[a].n; at++) {
            uint32_t left = net->areas[a].n - i;
            uint32_t n = left < partition->tile ? left : partition->tile;
            host[at] =
                (vly_cuda_slice_tile){a, (uint32_t)net->info[a].state_at + i, n,
                                      net->areas[a].first + i};
            i += n;
        }
    }
    status = vly_cuda_upload(net, tiles, host,
                             partition->n_tiles * sizeof *tiles, error);
    if (status == VLY_OK)
        status = vly_cuda_upload(net, first, first_host,
                                 n_areas * sizeof *first, error);
    vly_cuda_release(net, host);
    vly_cuda_release(net, first_host);
    partition->state = net->state;
    partition->tiles = tiles;
    partition->area_tile = first;
    return status;
}

/* What sums of 16 bits need: words for what the host gives, divisors. */
static vly_status create_narrow(vly_backend_net *net, vly_error *error)
{
    vly_cuda_partition *p = &net->partition;
    uint32_t *divisor = NULL;
    vly_status status =
        vly_cuda_device_alloc(net, (uint64_t)p->n_tiles * p->tile,
                              sizeof *p->extra, &p->extra, error);
    if (status == VLY_OK)
        status = vly_cuda_device_alloc(net, net->view.n_areas, sizeof *divisor,
                                       &divisor, error);
    p->divisor = divisor;
    if (status == VLY_OK)
        status = vly_cuda_upload(net, divisor, net->divisors,
                                 net->view.n_areas * sizeof *divisor, error);
    return status;
}

static vly_status create_exchange(vly_backend_net *net, vly_error *error)
{
    vly_cuda_partition *p = &net->partition;
    uint64_t n_blocks = (uint64_t)p->n_slices * p->cluster;
    /* what can be posted: parts of an index with words, of delay 1 */
    if (net->partition_groups[0].index_words == 0 ||
        net->partition_groups[0].base_delay != 1)
        p->post = 0;
    vly_status status = vly_cuda_device_alloc(
        net, p->ring > 1 ? (uint64_t)p->n_slices * p->ring * p->slice : 1,
        sizeof *p->at_rest, &p->at_rest, error);
    if (status == VLY_OK)
        status = vly_cuda_device_alloc(net, (uint64_t)p->n_tiles * p->tile,
                                       sizeof *p->draws, &p->draws, error);
    if (status == VLY_OK)
        status = vly_cuda_device_alloc(net, 2 * n_blocks, sizeof *p->gate,
                                       &p->gate, error);
    if (status == VLY_OK)
        status = vly_cuda_device_alloc(net, 2 * n_blocks * p->mail_room,
                                       sizeof *p->mail, &p->mail, error);
    uint64_t n_posted = 2 * n_blocks * p->post;
    if (status == VLY_OK && p->post > 0)
        status = vly_cuda_device_alloc(net, n_posted * p->n_slices,
                                       sizeof *p->parts, &p->parts, error);
    if (status == VLY_OK && p->post > 0)
        status = vly_cuda_device_alloc(net, n_posted, sizeof *p->rows, &p->rows,
                                       error);
    if (status == VLY_OK)
        net->partition_bytes += n_posted * (p->n_slices + 1) * sizeof(uint32_t);
    return status;
}

vly_status vly_cuda_partition_create(vly_backend_net *net, vly_error *error)
{
    uint32_t n = net->partition.n_groups;
    vly_cuda_partition_group *groups = NULL;
    vly_status status = prepare(net, error);
    if (status == VLY_OK)
        status = create_tiles(net, error);
    if (status == VLY_OK && net->partition.narrow) /* rows are divided by it */
        status = create_narrow(net, error);
    if (status == VLY_OK)
        status = vly_cuda_alloc(net, n, sizeof *net->partition_groups,
                                &net->partition_groups, error);
    for (uint32_t g = 0; g < n && status == VLY_OK; g++)
        status = vly_cuda_slices_create(net, g, error);
    if (status == VLY_OK)
        status = vly_cuda_device_alloc(net, n, sizeof *groups, &groups, error);
    if (status == VLY_OK)
        status = vly_cuda_upload(net, groups, net->partition_groups,
                                 n * sizeof *groups, error);
    net->partition.groups = groups;
    if (status == VLY_OK)
        status = create_exchange(net, error);
    if (status == VLY_OK)
        status = vly_cuda_synchronize(net, "rows by slice", error);
    if (status != VLY_OK)
        return status; /* the rows by source are still there */
    vly_cuda_delivery_release(net);
    return VLY_OK;
}

void vly_cuda_partition_release(vly_backend_net *net)
{
    vly_cuda_partition *p = &net->partition;
    vly_cuda_partition_group *groups = net->partition_groups;
    for (uint32_t g = 0; groups != NULL && g < p->n_groups; g++) {
        vly_cuda_device_release(net, groups[g].index);
        vly_cuda_device_release(net, groups[g].synapses);
    }
    vly_cuda_release(net, groups);
    net->partition_groups = NULL;
    net->partition_bytes = 0;
    vly_cuda_device_release(net, p->groups);
    vly_cuda_device_release(net, p->tiles);
    vly_cuda_device_release(net, p->area_tile);
    vly_cuda_device_release(net, p->at_rest);
    vly_cuda_device_release(net, p->draws);
    vly_cuda_device_release(net, p->gate);
    vly_cuda_device_release(net, p->mail);
    vly_cuda_device_release(net, p->parts);
    vly_cuda_device_release(net, p->rows);
    vly_cuda_device_release(net, p->extra);
    vly_cuda_device_release(net, p->divisor);
    p->groups = NULL;
    p->tiles = NULL;
    p->area_tile = NULL;
    p->at_rest = NULL;
    p->draws = NULL;
    p->gate = NULL;
    p->mail = NULL;
    p->parts = NULL;
    p->rows = NULL;
    p->extra = NULL;
    p->divisor = NULL;
}

/* ---- running ----------------------------------------------------------- */

vly_status vly_cuda_partition_restore(vly_backend_net *net, vly_error *error)
{
    vly_status status = VLY_OK;
    for (uint32_t g = 0; g < net->partition.n_groups; g++)
        for (uint32_t ago = 1; ago < net->partition.ring && status == VLY_OK;
             ago++)
            if (net->burst >=
                (uint64_t)net->partition_groups[g].base_delay + ago)
                status =
                    vly_cuda_check((int)vly_cuda_launch_partition_restore(
                                       &net->view, &net->partition, net->burst,
                                       g, ago, (cudaStream_t)net->stream),
                                   "restoring events", error);
    return status;
}

int vly_cuda_partition_ready(vly_backend_net *net)
{
    const vly_cuda_partition *p = &net->partition;
    return (int)cudaMemsetAsync(
        p->gate, 0, 2 * (size_t)p->n_slices * p->cluster * sizeof *p->gate,
        (cudaStream_t)net->stream);
}

int vly_cuda_partition_launch(vly_backend_net *net,
                              const vly_cuda_launch *launch)
{
    int code = vly_cuda_partition_ready(net);
    if (code == (int)cudaSuccess)
        code = (int)vly_cuda_launch_partition(
            &net->view, launch, &net->partition, (cudaStream_t)net->stream);
    return code;
}
