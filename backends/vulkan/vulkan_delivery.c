/* SPDX-License-Identifier: Apache-2.0
 * Rows on the device: the synapses of all projections with the same base delay,
 * by source. Host threads write pieces of the rows into a buffer that is copied
 * to the device. A block of rows is as large as the device allows; each row is
 * found by its address. Plan sliced has shorter synapses and an index instead
 * of a table of addresses, written in the same pieces.
 */
#include "vulkan_net.h"

#include <string.h>
#include <unistd.h>

#define PIECE_BYTES (UINT64_C(16) << 20) /* more only if one row is longer */
#define BLOCK_BYTES (UINT64_C(1) << 30)
#define GATHER_THREADS 16u
#define GATHER_ALONE (UINT64_C(1) << 20)

/* Rows of one group, while they are built. */
typedef struct builder {
    vly_backend_net *net;
    vly_vulkan_group *group;
    const vly_projection_desc **parts; /* of the group, by source area */
    uint32_t *part_first;              /* [n_areas + 1] */
    uint32_t *degree;                  /* [n_neurons] synapses, or quads */
    uint64_t *address;                 /* [n_neurons] of rows */
    vly_vulkan_buffer *piece;
    vly_vulkan_buffer *index;       /* plan sliced: entries of all neurons */
    vly_vulkan_buffer *index_piece; /* of those of the piece */
    vly_vulkan_slice_room room[GATHER_THREADS]; /* plan sliced */
    uint32_t piece_rows;                        /* at most */
    uint32_t from;                              /* neurons of the piece */
    uint32_t to;
    uint32_t n_tasks;
    uint32_t *cuts; /* [GATHER_THREADS + 1] neurons at which tasks begin */
} builder;

static uint32_t count_threads(void)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    return cores < 1                ? 1
           : cores < GATHER_THREADS ? (uint32_t)cores
                                    : GATHER_THREADS;
}

/* ---- what belongs to a group ------------------------------------------- */

/* Tables are filled when rows are built. */
static vly_status find_groups(vly_backend_net *net, vly_error *error)
{
    vly_common_delays *delays = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(vly_common_alloc(&net->heap, net->fixed->n_projections,
                             sizeof *delays, &delays, error));
    net->n_groups = vly_common_base_delays(net->fixed, delays);
    for (uint32_t g = 0; g < net->n_groups; g++)
        net->groups[g] = (vly_vulkan_group){.base_delay = delays[g].base,
                                            .delay_max = delays[g].most};
    vly_common_release(&net->heap, delays);
out:
    return status;
}

/* Sorted by source area, by counting. */
static void find_parts(builder *b)
{
    const vly_net_desc *desc = b->net->fixed;
    uint32_t n = 0;
    memset(b->part_first, 0, (desc->n_areas + (size_t)1) * sizeof n);
    for (uint32_t pass = 0; pass < 2; pass++) {
        for (uint32_t i = 0; i < desc->n_projections; i++) {
            const vly_projection_desc *p = vly_common_projection_desc(desc, i);
            if (p->base_delay != b->group->base_delay)
                continue;
            if (pass == 0)
                b->part_first[p->source_area]++;
            else
                b->parts[--b->part_first[p->source_area]] = p;
        }
        /* turns counts into the ends of areas; the second pass lowers them */
        for (uint32_t a = 0; a < desc->n_areas && pass == 0; a++)
            b->part_first[a] = n += b->part_first[a];
        b->part_first[desc->n_areas] = n;
    }
}

static vly_status count_synapses(builder *b, vly_error *error)
{
    const vly_net_desc *desc = b->net->desc;
    for (uint32_t a = 0; a < desc->n_areas; a++) {
        const vly_area_desc *area = vly_common_area_desc(desc, a);
        for (uint32_t k = 0; k < area->n_neurons; k++) {
            uint64_t n = 0;
            for (uint32_t i = b->part_first[a]; i < b->part_first[a + 1]; i++)
                n += b->parts[i]->row[k + 1] - b->parts[i]->row[k];
            if (n > UINT32_MAX)
                return vly_support_fail(error, VLY_E_UNSUPPORTED,
                                        "area %s: neuron %u has %llu synapses "
                                        "of one base delay, the vulkan backend "
                                        "takes up to 2^32 - 1",
                                        area->name, k, (unsigned long long)n);
            b->degree[area->first + k] = (uint32_t)n;
            b->net->n_synapses += n;
        }
    }
    return VLY_OK;
}

/* ---- plan sliced: quads of rows --------------------------------------- */

static uint32_t share(uint32_t n, uint32_t task, uint32_t n_tasks)
{
    return (uint32_t)((uint64_t)n * task / n_tasks);
}

static void count_task(void *arg, uint32_t task)
{
    const builder *b = arg;
    const vly_net_desc *desc = b->net->desc;
    uint32_t id = share(desc->n_neurons, task, b->n_tasks);
    uint32_t end = share(desc->n_neurons, task + 1, b->n_tasks);
    for (uint32_t a = 0; a < desc->n_areas; a++) {
        const vly_area_desc *area = vly_common_area_desc(desc, a);
        const vly_projection_desc **parts = b->parts + b->part_first[a];
        uint32_t n = b->part_first[a + 1] - b->part_first[a];
        for (; id < end && id - area->first < area->n_neurons; id++)
            b->degree[id] = vly_vulkan_slice_quads(
                b->net, parts, n, id - area->first, b->room[task].places);
    }
}

static void count_quads(builder *b)
{
    b->n_tasks = count_threads();
    if (b->n_tasks > 1 &&
        vly_support_host->parallel_for(vly_support_host->context, b->n_tasks,
                                       count_task, b) == VLY_OK)
        return;
    b->n_tasks = 1; /* also where no threads could be made */
    count_task(b, 0);
}

static vly_status open_rooms(builder *b, vly_error *error)
{
    vly_common_heap *heap = &b->net->heap;
    vly_status status = VLY_OK;
    for (uint32_t t = 0; t < GATHER_THREADS; t++) {
        vly_vulkan_slice_room *room = &b->room[t];
        /* no synapse takes more than a quad */
        VLY_TRY(
            vly_common_alloc(heap, b->net->longest_row, 16, &room->row, error));
        VLY_TRY(vly_common_alloc(heap, b->net->index_bytes, 1, &room->entries,
                                 error));
        VLY_TRY(vly_common_alloc(heap, b->net->view->n_slices,
                                 sizeof *room->places, &room->places, error));
    }
out:
    return status;
}

static void close_rooms(builder *b)
{
    for (uint32_t t = 0; t < GATHER_THREADS; t++) {
        vly_common_release(&b->net->heap, b->room[t].row);
        vly_common_release(&b->net->heap, b->room[t].entries);
        vly_common_release(&b->net->heap, b->room[t].places);
    }
}

/* ---- writing a piece --------------------------------------------------- */

static uint64_t row_bytes(const builder *b, uint32_t id)
{
    return b->degree[id] * (b->net->is_sliced ? UINT64_C(16) : UINT64_C(8));
}

/* Writes the row of neuron k of area a into the piece, at its address. Writes
 * to that memory are slow unless they are in order, so parts are sorted in
 * other memory first. */
static void write_neuron(const builder *b, uint32_t task, uint32_t a,
                         uint32_t k, uint32_t id)
{
    const uint32_t first = b->part_first[a];
    const uint32_t end = b->part_first[a + 1];
    const uint64_t entry_bytes = b->net->index_bytes;
    uint8_t *piece = b->piece->mapped;
    uint8_t *out = piece + (b->address[id] - b->address[b->from]);
    if (!b->net->is_sliced) {
        vly_vulkan_row(b->net->desc, b->parts + first, end - first, k,
                       (uint32_t *)(void *)out);
        return;
    }
    const vly_vulkan_slice_room *room = &b->room[task];
    uint8_t *entries = b->index_piece->mapped;
    vly_vulkan_slice_row(b->net, b->group, b->parts + first, end - first, k,
                         b->address[id], room);
    memcpy(out, room->row, (size_t)row_bytes(b, id));
    memcpy(entries + (id - b->from) * entry_bytes, room->entries,
           (size_t)entry_bytes);
}

static void write_task(void *arg, uint32_t task)
{
    const builder *b = arg;
    const vly_net_desc *desc = b->net->desc;
    uint32_t id = b->cuts[task];
    uint32_t end = b->cuts[task + 1];
    if (id == end)
        return;
    uint32_t a = vly_common_area_of(desc, id);
    while (id < end) {
        const vly_area_desc *area = vly_common_area_desc(desc, a);
        uint32_t last = area->first + area->n_neurons;
        for (last = last < end ? last : end; id < last; id++)
            write_neuron(b, task, a, id - area->first, id);
        a++;
    }
}

/* Cuts the piece into tasks of about equal bytes. */
static void cut_piece(builder *b, uint64_t bytes)
{
    b->n_tasks = bytes < GATHER_ALONE ? 1 : count_threads();
    uint32_t id = b->from;
    for (uint32_t t = 0; t < b->n_tasks; t++) {
        b->cuts[t] = id;
        uint64_t wanted = bytes / b->n_tasks * (t + 1);
        while (id < b->to && b->address[id] - b->address[b->from] < wanted)
            id++;
    }
    b->cuts[b->n_tasks] = b->to;
}

static void record_index(const builder *b)
{
    const uint64_t each = b->net->index_bytes;
    const VkBufferCopy range = {0, b->from * each, (b->to - b->from) * each};
    vkCmdCopyBuffer(b->net->once, b->index_piece->buffer, b->index->buffer, 1,
                    &range);
}

static vly_status send_piece(builder *b, vly_vulkan_buffer *block,
                             uint64_t bytes, vly_error *error)
{
    vly_backend_net *net = b->net;
    uint64_t offset = b->address[b->from] - block->address;
    if (bytes == 0 && !net->is_sliced)
        return VLY_OK;
    cut_piece(b, bytes);
    if (b->n_tasks == 1 ||
        vly_support_host->parallel_for(vly_support_host->context, b->n_tasks,
                                       write_task, b) != VLY_OK) {
        b->n_tasks = 1; /* also where no threads could be made */
        b->cuts[1] = b->to;
        write_task(b, 0);
    }
    const VkBufferCopy range = {0, offset, bytes};
    vly_status status = VLY_OK;
    VLY_TRY(vly_vulkan_once(net, error));
    if (bytes > 0)
        vkCmdCopyBuffer(net->once, b->piece->buffer, block->buffer, 1, &range);
    if (net->is_sliced)
        record_index(b);
    status = vly_vulkan_once_end(net, "sending rows", error);
out:
    return status;
}

/* ---- blocks ------------------------------------------------------------ */

/* Bytes of the rows from `from` on that fit in `most`, at least one row. *to:
 * the neuron after the last of them. */
static uint64_t take_rows(const builder *b, uint32_t from, uint32_t end,
                          uint64_t most, uint32_t *to)
{
    uint64_t bytes = 0;
    uint32_t id = from;
    for (; id < end; id++) {
        uint64_t more = row_bytes(b, id);
        if (id > from && bytes + more > most)
            break;
        bytes += more;
    }
    *to = id;
    return bytes;
}

static vly_status fill_block(builder *b, uint32_t from, uint32_t to,
                             uint64_t bytes, vly_error *error)
{
    vly_vulkan_buffer *block = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(vly_vulkan_buffer_create(b->net, VLY_VULKAN_ON_DEVICE, bytes, 1,
                                     &block, error));
    uint64_t at = block->address;
    for (uint32_t id = from; id < to; id++) {
        b->address[id] = at;
        at += row_bytes(b, id);
    }
    for (b->from = from; b->from < to; b->from = b->to) {
        uint32_t end =
            to - b->from < b->piece_rows ? to : b->from + b->piece_rows;
        uint64_t n = take_rows(b, b->from, end, b->piece->bytes, &b->to);
        VLY_TRY(send_piece(b, block, n, error));
    }
out:
    return status;
}

static vly_status open_index(builder *b, vly_error *error)
{
    vly_backend_net *net = b->net;
    uint64_t n = PIECE_BYTES / net->index_bytes;
    n = n < net->desc->n_neurons ? n : net->desc->n_neurons;
    b->piece_rows = n > 0 ? (uint32_t)n : 1;
    net->rows_bytes += net->desc->n_neurons * net->index_bytes;
    vly_status status = VLY_OK;
    VLY_TRY(vly_vulkan_buffer_create(net, VLY_VULKAN_ON_DEVICE,
                                     net->desc->n_neurons, net->index_bytes,
                                     &b->index, error));
    VLY_TRY(vly_vulkan_buffer_create(net, VLY_VULKAN_TO_DEVICE, b->piece_rows,
                                     net->index_bytes, &b->index_piece, error));
out:
    return status;
}

static vly_status fill_rows(builder *b, vly_error *error)
{
    vly_backend_net *net = b->net;
    uint32_t n = net->desc->n_neurons;
    uint64_t longest = 0;
    uint64_t total = 0;
    for (uint32_t id = 0; id < n; id++) {
        uint64_t bytes = row_bytes(b, id);
        longest = bytes > longest ? bytes : longest;
        total += bytes;
    }
    uint64_t piece = total < PIECE_BYTES ? total : PIECE_BYTES;
    piece = longest > piece ? longest : piece;
    uint64_t block = net->device->allocation_max < BLOCK_BYTES
                         ? net->device->allocation_max
                         : BLOCK_BYTES;
    net->rows_bytes += total;
    vly_status status = vly_vulkan_buffer_create(net, VLY_VULKAN_TO_DEVICE,
                                                 piece, 1, &b->piece, error);
    if (status == VLY_OK && net->is_sliced)
        status = open_index(b, error);
    for (uint32_t id = 0; id < n && status == VLY_OK;) {
        uint32_t to;
        uint64_t bytes = take_rows(b, id, n, block, &to);
        status = fill_block(b, id, to, bytes, error);
        id = to;
    }
    vly_vulkan_buffer_release(net, b->piece);
    vly_vulkan_buffer_release(net, b->index_piece);
    b->index_piece = NULL;
    return status;
}

/* ---- groups ------------------------------------------------------------ */

static vly_status send_tables(builder *b, vly_error *error)
{
    vly_backend_net *net = b->net;
    uint64_t n = net->desc->n_neurons;
    vly_vulkan_buffer *row = NULL;
    vly_vulkan_buffer *degree = NULL;
    if (net->is_sliced) {
        b->group->row = b->index->address;
        return VLY_OK;
    }
    net->rows_bytes += n * sizeof *b->address + n * sizeof *b->degree;
    vly_status status = VLY_OK;
    VLY_TRY(vly_vulkan_buffer_create(net, VLY_VULKAN_ON_DEVICE, n,
                                     sizeof *b->address, &row, error));
    VLY_TRY(vly_vulkan_buffer_create(net, VLY_VULKAN_ON_DEVICE, n,
                                     sizeof *b->degree, &degree, error));
    VLY_TRY(vly_vulkan_upload(net, row, 0, b->address, n * sizeof *b->address,
                              error));
    VLY_TRY(vly_vulkan_upload(net, degree, 0, b->degree, n * sizeof *b->degree,
                              error));
    b->group->row = row->address;
    b->group->degree = degree->address;
out:
    return status;
}

static vly_status builder_open(builder *b, vly_error *error)
{
    vly_common_heap *heap = &b->net->heap;
    const vly_net_desc *desc = b->net->desc;
    vly_status status = VLY_OK;
    VLY_TRY(vly_common_alloc(heap, desc->n_projections, sizeof(void *),
                             (void *)&b->parts, error));
    VLY_TRY(vly_common_alloc(heap, desc->n_areas + UINT64_C(1),
                             sizeof(uint32_t), &b->part_first, error));
    VLY_TRY(vly_common_alloc(heap, desc->n_neurons, sizeof(uint32_t),
                             &b->degree, error));
    VLY_TRY(vly_common_alloc(heap, desc->n_neurons, sizeof(uint64_t),
                             &b->address, error));
    VLY_TRY(vly_common_alloc(heap, GATHER_THREADS + 1, sizeof(uint32_t),
                             &b->cuts, error));
    if (b->net->is_sliced)
        VLY_TRY(open_rooms(b, error));
out:
    return status;
}

static void builder_close(builder *b)
{
    vly_common_heap *heap = &b->net->heap;
    close_rooms(b);
    vly_common_release(heap, (void *)b->parts);
    vly_common_release(heap, b->part_first);
    vly_common_release(heap, b->degree);
    vly_common_release(heap, b->address);
    vly_common_release(heap, b->cuts);
}

vly_status vly_vulkan_groups_create(vly_backend_net *net, vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(vly_common_alloc(&net->heap, net->desc->n_projections,
                             sizeof *net->groups, &net->groups, error));
    VLY_TRY(vly_vulkan_buffer_create(
        net, VLY_VULKAN_ON_DEVICE, net->desc->n_projections,
        sizeof *net->groups, &net->group_table, error));
    VLY_TRY(find_groups(net, error));
    net->view->groups = net->group_table->address;
    net->view->n_groups = net->n_groups;
    status = vly_vulkan_upload(net, net->group_table, 0, net->groups,
                               net->n_groups * sizeof *net->groups, error);
out:
    return status;
}

vly_status vly_vulkan_delivery_create(vly_backend_net *net, vly_error *error)
{
    builder b = {.net = net, .piece_rows = UINT32_MAX};
    vly_status status = builder_open(&b, error);
    for (uint32_t g = 0; g < net->n_groups && status == VLY_OK; g++) {
        b.group = &net->groups[g];
        find_parts(&b);
        status = count_synapses(&b, error);
        if (status == VLY_OK && net->is_sliced)
            count_quads(&b);
        if (status == VLY_OK)
            status = fill_rows(&b, error);
        if (status == VLY_OK)
            status = send_tables(&b, error);
    }
    builder_close(&b);
    if (status == VLY_OK)
        status = vly_vulkan_upload(net, net->group_table, 0, net->groups,
                                   net->n_groups * sizeof *net->groups, error);
    return status;
}

/* ---- events under way -------------------------------------------------- */

/* A fired set of base_delay + ago bursts ago was forwarded `ago` bursts ago:
 * its events with a further delay of ago or more have not arrived yet. */
static vly_status restore_group(vly_backend_net *net, VkPipeline pipeline,
                                uint32_t g, vly_error *error)
{
    const vly_vulkan_group *group = &net->groups[g];
    vly_status status = VLY_OK;
    VLY_TRY(vly_vulkan_once(net, error));
    for (uint32_t ago = 1; ago <= group->delay_max; ago++)
        if ((uint64_t)group->base_delay + ago <= net->burst)
            vly_vulkan_dispatch(net, net->once, pipeline,
                                (vly_vulkan_push){.first = g, .count = ago},
                                net->shape.groups);
    status = vly_vulkan_once_end(net, "restoring events", error);
out:
    return status;
}

vly_status vly_vulkan_restore(vly_backend_net *net, vly_error *error)
{
    VkPipeline pipeline = VK_NULL_HANDLE;
    vly_status status =
        vly_vulkan_pipeline_get(net->device, &net->pipelines, &net->shape,
                                VLY_VULKAN_RESTORE, &pipeline, error);
    *net->launch = (vly_vulkan_launch){.burst = net->burst};
    for (uint32_t g = 0; g < net->n_groups && status == VLY_OK; g++)
        if (net->groups[g].delay_max > 0)
            status = restore_group(net, pipeline, g, error);
    return status;
}
