/* SPDX-License-Identifier: Apache-2.0
 * The plan sliced: neurons are cut into slices whose inputs fit the shared
 * memory of a work group, and rows by slice. It is for nets whose events all
 * arrive base_delay bursts after their spike, without FEAGI areas, and worth it
 * where a part of a row is long enough to pay for looking it up.
 */
#include "vulkan_net.h"

#include <string.h>
#include <unistd.h>

#define PIECE_BYTES (UINT64_C(16) << 20) /* more only if one part is longer */
#define BLOCK_BYTES (UINT64_C(1) << 30)
#define ANY_AREA UINT32_MAX
#define GATHER_THREADS 16u
#define MIN_PART 4u /* synapses of a spike in a slice, in the mean */

/* Segments of one group, while they are made. */
typedef struct cutter {
    vly_backend_net *net;
    vly_common_heap heap; /* of what follows */
    uint32_t base_delay;
    const vly_vulkan_slice *slices;
    uint32_t *slice_of;  /* [n_neurons] */
    uint32_t *offsets;   /* [n_slices][n_neurons + 1] */
    uint32_t **position; /* [n_projections][n_sources] done of each row */
    uint32_t *written;   /* [n_neurons] of the slice at hand */
    vly_vulkan_segments *segments;
    vly_vulkan_buffer *piece;
    vly_vulkan_buffer *block; /* that is being filled */
    uint64_t block_used;
    uint64_t bytes_left; /* of the group */
    uint32_t slice;      /* at hand */
    uint32_t from;       /* sources of the piece */
    uint32_t to;
    uint32_t n_tasks;
    _Atomic uint32_t is_long; /* 1: a slice has 2^32 synapses or more */
} cutter;

static uint32_t *offsets_of(const cutter *c, uint32_t slice)
{
    return c->offsets + slice * (c->net->desc->n_neurons + (size_t)1);
}

/* ---- choosing ---------------------------------------------------------- */

/* Slices of about `size` neurons; writes them if slices is not NULL. Those of
 * one model lie together. */
static uint32_t cut_areas(const vly_backend_net *net, uint32_t size,
                          vly_vulkan_slice *slices,
                          vly_vulkan_model_tiles *models)
{
    uint32_t n = 0;
    for (uint32_t m = 0; m < VLY_VULKAN_N_MODELS; m++) {
        uint32_t first = n;
        for (uint32_t a = 0; a < net->desc->n_areas; a++) {
            uint32_t left = net->area[a].n;
            if (net->info[a].model->index != m || left == 0)
                continue;
            uint32_t parts = (left - 1) / size + 1;
            for (; parts > 0; parts--) {
                uint32_t here = left / parts;
                if (slices != NULL)
                    slices[n] = (vly_vulkan_slice){
                        .area = a, .first = net->area[a].n - left, .n = here};
                left -= here;
                n++;
            }
        }
        if (models != NULL)
            models[m] = (vly_vulkan_model_tiles){first, n - first};
    }
    return n;
}

/* The largest slices that fit, smaller where units would have none. */
static uint32_t choose_size(const vly_backend_net *net)
{
    uint32_t most = net->shape.sums / net->view->n_ports;
    most = most < VLY_VULKAN_SLICE_NEURONS ? most : VLY_VULKAN_SLICE_NEURONS;
    uint32_t even = net->desc->n_neurons / net->device->n_units + 1;
    return even < most ? even : most;
}

static const char *why_not(const vly_backend_net *net)
{
    const vly_net_desc *desc = net->desc;
    if (net->n_driven < desc->n_neurons)
        return "it has FEAGI areas";
    if (net->view->ring > 1)
        return "delays of one map differ";
    if (desc->n_neurons == 0)
        return "it has no neurons";
    return NULL;
}

vly_status vly_vulkan_plan_choose(vly_backend_net *net, uint32_t plan,
                                  vly_error *error)
{
    const char *why = why_not(net);
    if (plan == VLY_VULKAN_PLAN_GLOBAL)
        return VLY_OK;
    if (plan == VLY_VULKAN_PLAN_SLICED && why != NULL)
        return vly_common_fail(error, VLY_E_UNSUPPORTED,
                               "plan=sliced is not for this net: %s", why);
    if (why != NULL)
        return VLY_OK;
    net->slice_size = choose_size(net);
    uint64_t n = cut_areas(net, net->slice_size, NULL, NULL);
    uint64_t part = net->desc->n_synapses / net->desc->n_neurons / n;
    net->is_sliced = plan == VLY_VULKAN_PLAN_SLICED ||
                     (net->device->n_units > 1 && part >= MIN_PART);
    return VLY_OK;
}

/* ---- lengths ----------------------------------------------------------- */

/* fn for every row of the group whose source is in [from, to), of maps to one
 * area, or to any of them. */
static void each_row(cutter *c, uint32_t target, uint32_t from, uint32_t to,
                     void (*fn)(cutter *c, uint32_t p, uint32_t source,
                                uint32_t k))
{
    const vly_net_desc *desc = c->net->desc;
    for (uint32_t i = 0; i < desc->n_projections; i++) {
        const vly_projection_desc *p = vly_common_projection_desc(desc, i);
        const vly_area_desc *area = vly_common_area_desc(desc, p->source_area);
        uint32_t last = area->first + area->n_neurons;
        if (p->base_delay != c->base_delay ||
            (target != ANY_AREA && target != p->target_area))
            continue;
        uint32_t id = from > area->first ? from : area->first;
        for (last = last < to ? last : to; id < last; id++)
            fn(c, i, id, id - area->first);
    }
}

static void count_row(cutter *c, uint32_t i, uint32_t source, uint32_t k)
{
    const vly_projection_desc *p = vly_common_projection_desc(c->net->desc, i);
    for (uint64_t j = p->row[k]; j < p->row[k + 1]; j++)
        offsets_of(c, c->slice_of[p->target[j]])[source + 1]++;
}

static uint32_t share(uint32_t n, uint32_t task, uint32_t n_tasks)
{
    return (uint32_t)((uint64_t)n * task / n_tasks);
}

static void count_task(void *arg, uint32_t task)
{
    cutter *c = arg;
    uint32_t n = c->net->desc->n_neurons;
    each_row(c, ANY_AREA, share(n, task, c->n_tasks),
             share(n, task + 1, c->n_tasks), count_row);
}

/* From numbers to places, slice by slice. */
static void sum_task(void *arg, uint32_t task)
{
    cutter *c = arg;
    uint32_t n = c->net->view->n_slices;
    uint32_t end = share(n, task + 1, c->n_tasks);
    for (uint32_t s = share(n, task, c->n_tasks); s < end; s++) {
        uint32_t *offsets = offsets_of(c, s);
        uint64_t sum = 0;
        for (uint32_t id = 0; id < c->net->desc->n_neurons; id++) {
            sum += offsets[id + 1];
            offsets[id + 1] = (uint32_t)sum;
        }
        if (sum > UINT32_MAX)
            c->is_long = 1;
    }
}

/* All tasks, also where no threads could be made. */
static void run_tasks(cutter *c, void (*body)(void *arg, uint32_t task))
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    c->n_tasks = cores < 1                ? 1
                 : cores < GATHER_THREADS ? (uint32_t)cores
                                          : GATHER_THREADS;
    if (c->n_tasks > 1 &&
        vly_common_host->parallel_for(vly_common_host->context, c->n_tasks,
                                      body, c) == VLY_OK)
        return;
    c->n_tasks = 1;
    body(c, 0);
}

/* ---- words ------------------------------------------------------------- */

/* Targets ascend, so what a slice has of a row follows what slices before it
 * in the same area had. Parts of several projections follow each other. */
static void fill_row(cutter *c, uint32_t i, uint32_t source, uint32_t k)
{
    const vly_net_desc *desc = c->net->desc;
    const vly_projection_desc *p = vly_common_projection_desc(desc, i);
    const vly_vulkan_slice *slice = &c->slices[c->slice];
    const vly_area_desc *area = vly_common_area_desc(desc, slice->area);
    const uint32_t first = area->first + slice->first;
    const uint32_t *offsets = offsets_of(c, c->slice);
    uint32_t *out = (uint32_t *)c->piece->mapped + offsets[source] -
                    offsets[c->from] + c->written[source];
    uint32_t *done = &c->position[i][k];
    uint64_t j = p->row[k] + *done;
    for (; j < p->row[k + 1] && p->target[j] - first < slice->n; j++) {
        uint32_t port = p->port == VLY_PORT_BY_SIGN
                            ? (uint32_t)(p->weight[j] < 0)
                            : p->port;
        *out++ = (p->target[j] - first) | port << 15 |
                 (uint32_t)(uint16_t)p->weight[j] << 16;
    }
    c->written[source] += (uint32_t)(j - p->row[k]) - *done;
    *done = (uint32_t)(j - p->row[k]);
}

static void fill_task(void *arg, uint32_t task)
{
    cutter *c = arg;
    uint32_t n = c->to - c->from;
    uint32_t from = c->from + share(n, task, c->n_tasks);
    uint32_t to = c->from + share(n, task + 1, c->n_tasks);
    if (from < to)
        memset(c->written + from, 0, (to - from) * sizeof *c->written);
    each_row(c, c->slices[c->slice].area, from, to, fill_row);
}

/* Sources from c->from on whose parts fit the piece, at least one. */
static void take_sources(cutter *c)
{
    const uint32_t *offsets = offsets_of(c, c->slice);
    uint64_t most = c->piece->bytes / sizeof(uint32_t);
    uint32_t low = c->from + 1;
    uint32_t high = c->net->desc->n_neurons;
    while (low < high) {
        uint32_t middle = low + (high - low + 1) / 2;
        if (offsets[middle] - offsets[c->from] <= most)
            low = middle;
        else
            high = middle - 1;
    }
    c->to = low;
}

/* The words of the slice to where they begin in the block. */
static vly_status send_words(cutter *c, uint64_t begin, vly_error *error)
{
    vly_backend_net *net = c->net;
    const uint32_t *offsets = offsets_of(c, c->slice);
    vly_status status = VLY_OK;
    uint32_t n = net->desc->n_neurons;
    for (c->from = 0; c->from < n && status == VLY_OK; c->from = c->to) {
        take_sources(c);
        uint64_t bytes = (offsets[c->to] - offsets[c->from]) * UINT64_C(4);
        if (bytes == 0)
            continue;
        run_tasks(c, fill_task);
        const VkBufferCopy range = {0, begin + offsets[c->from] * UINT64_C(4),
                                    bytes};
        status = vly_vulkan_once(net, error);
        if (status != VLY_OK)
            return status;
        vkCmdCopyBuffer(net->once, c->piece->buffer, c->block->buffer, 1,
                        &range);
        status = vly_vulkan_once_end(net, "sending rows", error);
    }
    return status;
}

/* Bytes for one slice in a block of many, which the device has few of. */
static vly_status take_block(cutter *c, uint64_t bytes, uint64_t *offset,
                             vly_error *error)
{
    vly_backend_net *net = c->net;
    vly_status status = VLY_OK;
    if (c->block == NULL || c->block_used + bytes > c->block->bytes) {
        uint64_t size =
            c->bytes_left < BLOCK_BYTES ? c->bytes_left : BLOCK_BYTES;
        size = size < net->device->allocation_max ? size
                                                  : net->device->allocation_max;
        status = vly_vulkan_buffer_create(net, VLY_VULKAN_ON_DEVICE,
                                          size > bytes ? size : bytes, 1,
                                          &c->block, error);
        c->block_used = 0;
    }
    *offset = c->block_used;
    c->block_used += bytes;
    c->bytes_left -= bytes;
    return status;
}

static uint64_t slice_bytes(const cutter *c, uint32_t slice)
{
    uint32_t n = c->net->desc->n_neurons;
    return (n + UINT64_C(1) + offsets_of(c, slice)[n]) * sizeof(uint32_t);
}

/* Offsets, then words. */
static vly_status send_slice(cutter *c, vly_error *error)
{
    vly_backend_net *net = c->net;
    uint64_t table = (net->desc->n_neurons + UINT64_C(1)) * sizeof(uint32_t);
    uint64_t at;
    vly_status status = take_block(c, slice_bytes(c, c->slice), &at, error);
    if (status == VLY_OK)
        status = vly_vulkan_upload(net, c->block, at, offsets_of(c, c->slice),
                                   table, error);
    if (status == VLY_OK)
        status = send_words(c, at + table, error);
    if (status != VLY_OK)
        return status;
    net->segment_bytes += slice_bytes(c, c->slice);
    c->segments[c->slice] = (vly_vulkan_segments){
        c->block->address + at, c->block->address + at + table};
    return VLY_OK;
}

/* ---- groups ------------------------------------------------------------ */

static vly_status cut_group(cutter *c, vly_error *error)
{
    vly_backend_net *net = c->net;
    const uint32_t n_slices = net->view->n_slices;
    uint64_t words = net->desc->n_neurons + UINT64_C(1);
    memset(c->offsets, 0, n_slices * words * sizeof *c->offsets);
    for (uint32_t i = 0; i < net->desc->n_projections; i++) {
        const vly_projection_desc *p = vly_common_projection_desc(net->desc, i);
        uint32_t n = vly_common_area_desc(net->desc, p->source_area)->n_neurons;
        if (p->base_delay == c->base_delay)
            net->n_synapses += p->row[n];
    }
    run_tasks(c, count_task);
    run_tasks(c, sum_task);
    if (c->is_long)
        return vly_common_fail(error, VLY_E_UNSUPPORTED,
                               "plan=sliced is not for this net: a slice has "
                               "2^32 synapses or more");
    c->block = NULL;
    c->bytes_left = 0;
    for (uint32_t s = 0; s < n_slices; s++)
        c->bytes_left += slice_bytes(c, s);
    vly_status status = VLY_OK;
    for (c->slice = 0; c->slice < n_slices && status == VLY_OK; c->slice++)
        status = send_slice(c, error);
    return status;
}

/* The longest part of one source in one slice bounds what a piece must hold:
 * at most all synapses of the source. */
static uint64_t longest_row(const vly_net_desc *desc)
{
    uint32_t longest = 0;
    for (uint32_t id = 0; id < desc->n_neurons; id++)
        longest =
            desc->out_degree[id] > longest ? desc->out_degree[id] : longest;
    return longest * sizeof(uint32_t);
}

static vly_status cutter_open(cutter *c, vly_error *error)
{
    vly_backend_net *net = c->net;
    const vly_net_desc *desc = net->desc;
    vly_common_heap *heap = &c->heap;
    uint64_t n = desc->n_neurons;
    uint64_t piece = desc->n_synapses * sizeof(uint32_t);
    piece = piece < PIECE_BYTES ? piece : PIECE_BYTES;
    piece = longest_row(desc) > piece ? longest_row(desc) : piece;
    vly_status status =
        vly_common_alloc(heap, n, sizeof(uint32_t), &c->slice_of, error);
    if (status == VLY_OK)
        status =
            vly_common_alloc(heap, n, sizeof(uint32_t), &c->written, error);
    if (status == VLY_OK)
        status =
            vly_common_alloc(heap, net->view->n_slices,
                             (n + 1) * sizeof(uint32_t), &c->offsets, error);
    if (status == VLY_OK)
        status = vly_common_alloc(heap, desc->n_projections, sizeof(uint32_t *),
                                  (void *)&c->position, error);
    for (uint32_t i = 0; i < desc->n_projections && status == VLY_OK; i++) {
        uint32_t source = vly_common_projection_desc(desc, i)->source_area;
        uint32_t m = vly_common_area_desc(desc, source)->n_neurons;
        status =
            vly_common_alloc(heap, m, sizeof(uint32_t), &c->position[i], error);
    }
    if (status == VLY_OK)
        status = vly_vulkan_buffer_create(net, VLY_VULKAN_TO_DEVICE, piece, 1,
                                          &c->piece, error);
    for (uint32_t s = 0; s < net->view->n_slices && status == VLY_OK; s++)
        for (uint32_t i = 0; i < c->slices[s].n; i++)
            c->slice_of[net->area[c->slices[s].area].first +
                        c->slices[s].first + i] = s;
    return status;
}

static vly_status fill_tables(cutter *c, vly_error *error)
{
    vly_backend_net *net = c->net;
    const uint32_t n = net->view->n_slices;
    vly_vulkan_buffer *segments = NULL;
    vly_status status = vly_vulkan_buffer_create(
        net, VLY_VULKAN_ON_DEVICE, (uint64_t)net->n_groups * n,
        sizeof *c->segments, &segments, error);
    if (status == VLY_OK)
        status = vly_common_alloc(&c->heap, n, sizeof *c->segments,
                                  &c->segments, error);
    for (uint32_t g = 0; g < net->n_groups && status == VLY_OK; g++) {
        c->base_delay = net->groups[g].base_delay;
        status = cut_group(c, error);
        if (status == VLY_OK)
            status = vly_vulkan_upload(
                net, segments, (uint64_t)g * n * sizeof *c->segments,
                c->segments, n * sizeof *c->segments, error);
    }
    if (status == VLY_OK)
        net->view->segments = segments->address;
    return status;
}

vly_status vly_vulkan_slices_create(vly_backend_net *net, vly_error *error)
{
    cutter c = {.net = net};
    vly_vulkan_slice *slices = NULL;
    vly_vulkan_buffer *table = NULL;
    uint32_t n = cut_areas(net, net->slice_size, NULL, NULL);
    vly_status status =
        vly_common_alloc(&c.heap, n, sizeof *slices, &slices, error);
    if (status == VLY_OK)
        status = vly_vulkan_buffer_create(net, VLY_VULKAN_ON_DEVICE, n,
                                          sizeof *slices, &table, error);
    if (status == VLY_OK) {
        (void)cut_areas(net, net->slice_size, slices, net->slices);
        status =
            vly_vulkan_upload(net, table, 0, slices, n * sizeof *slices, error);
    }
    if (status == VLY_OK) {
        net->view->slices = table->address;
        net->view->n_slices = n;
        c.slices = slices;
        status = cutter_open(&c, error);
    }
    if (status == VLY_OK)
        status = fill_tables(&c, error);
    vly_vulkan_buffer_release(net, c.piece);
    vly_common_release_all(&c.heap);
    return status;
}
