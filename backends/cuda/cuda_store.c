/* SPDX-License-Identifier: Apache-2.0
 * Rows on the device: the synapses of all fixed projections with the same base
 * delay, by source. Projections are sent in pieces and merged there.
 *
 * A piece is gathered by several threads of the host into one of a few pinned
 * slots; meanwhile the slot before it crosses the bus and the one before that
 * is merged. Straight from the pageable arrays of the host every copy went
 * through a buffer of the driver, on one thread.
 */
#include "cuda_store.h"

#include <string.h>
#include <unistd.h>

#include "cuda_error.h"
#include "cuda_memory.h"
#include "cuda_shard.h"

#define GATHER_THREADS 8u /* enough to saturate the bus */
#define GATHER_ALONE (UINT64_C(1) << 20)

typedef struct slot {
    uint8_t *host; /* pinned */
    uint8_t *device;
    cudaEvent_t free; /* its piece has been merged */
} slot;

typedef struct conveyor {
    vly_cuda_shard *shard;
    slot slots[VLY_CUDA_ROW_SLOTS];
    uint64_t slot_bytes;
    uint32_t next;
    uint32_t n_threads;
} conveyor;

static uint32_t n_sources(const vly_net_desc *desc,
                          const vly_projection_desc *p)
{
    return vly_cuda_area_desc(desc, p->source_area)->n_neurons;
}

/* ---- pieces ------------------------------------------------------------ */

/* Rows [from, to) of a projection. */
typedef struct piece {
    const vly_projection_desc *p;
    uint32_t from;
    uint32_t to;
    uint32_t has_synapses; /* 0: only the lengths of rows */
} piece;

enum { ROWS, TARGETS, WEIGHTS, DELAYS, N_ARRAYS };

/* Arrays of a piece, in their order in a slot. */
typedef struct piece_arrays {
    const void *from[N_ARRAYS];
    uint64_t at[N_ARRAYS + 1];
    uint8_t *to;
    uint32_t n_tasks;
} piece_arrays;

static void lay_out(const piece *of, piece_arrays *arrays)
{
    const vly_projection_desc *p = of->p;
    uint64_t first = p->row[of->from];
    uint64_t n = of->has_synapses ? p->row[of->to] - first : 0;
    uint64_t n_weights = p->weight ? n : 0;
    uint64_t n_delays = p->delay ? n : 0;
    memset(arrays, 0, sizeof *arrays);
    arrays->from[ROWS] = p->row + of->from;
    arrays->from[TARGETS] = p->target + first;
    arrays->from[WEIGHTS] = p->weight ? p->weight + first : NULL;
    arrays->from[DELAYS] = p->delay ? p->delay + first : NULL;
    arrays->at[TARGETS] = (of->to - of->from + UINT64_C(1)) * sizeof *p->row;
    arrays->at[WEIGHTS] = arrays->at[TARGETS] + n * sizeof *p->target;
    arrays->at[DELAYS] = arrays->at[WEIGHTS] + n_weights * sizeof *p->weight;
    arrays->at[N_ARRAYS] = arrays->at[DELAYS] + n_delays;
}

static uint64_t piece_bytes(const piece *of)
{
    piece_arrays arrays;
    lay_out(of, &arrays);
    return arrays.at[N_ARRAYS];
}

/* Takes as many rows from of->from on as fit into a slot, at least one. */
static void choose_end(piece *of, uint64_t slot_bytes, uint32_t n)
{
    uint32_t low = of->from + 1;
    uint32_t high = n;
    while (low < high) {
        of->to = low + (high - low + 1) / 2;
        if (piece_bytes(of) <= slot_bytes)
            low = of->to;
        else
            high = of->to - 1;
    }
    of->to = low;
}

/* ---- slots ------------------------------------------------------------- */

static uint64_t largest_piece(const vly_net_desc *desc)
{
    uint64_t largest = 0;
    for (uint32_t i = 0; i < desc->n_projections; i++) {
        piece at = {.p = vly_cuda_projection_desc(desc, i), .has_synapses = 1};
        uint32_t n = n_sources(desc, at.p);
        for (; at.from < n; at.from = at.to) {
            choose_end(&at, VLY_CUDA_ROW_BYTES, n);
            uint64_t bytes = piece_bytes(&at);
            largest = bytes > largest ? bytes : largest;
        }
    }
    return largest;
}

static vly_status conveyor_open(vly_cuda_shard *shard, conveyor *made,
                                vly_error *error)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    vly_status status = VLY_OK;
    memset(made, 0, sizeof *made);
    made->shard = shard;
    made->n_threads = cores < 1                ? 1
                      : cores < GATHER_THREADS ? (uint32_t)cores
                                               : GATHER_THREADS;
    made->slot_bytes = largest_piece(shard->store.fixed);
    for (uint32_t i = 0; i < VLY_CUDA_ROW_SLOTS; i++) {
        slot *s = &made->slots[i];
        VLY_TRY(
            vly_cuda_pinned_alloc(shard, made->slot_bytes, 1, &s->host, error));
        VLY_TRY(vly_cuda_device_alloc(shard, made->slot_bytes, 1, &s->device,
                                      error));
        VLY_TRY(vly_cuda_check(
            (int)cudaEventCreateWithFlags(&s->free, cudaEventDisableTiming),
            "making an event", error));
    }
out:
    return status;
}

static void conveyor_close(conveyor *c)
{
    (void)cudaStreamSynchronize((cudaStream_t)c->shard->stream);
    for (uint32_t i = 0; i < VLY_CUDA_ROW_SLOTS; i++) {
        slot *s = &c->slots[i];
        if (s->free)
            (void)cudaEventDestroy(s->free);
        vly_cuda_device_release(c->shard, s->host);
        vly_cuda_device_release(c->shard, s->device);
    }
}

/* Copies a share of every array. */
static void gather_task(void *arg, uint32_t task)
{
    const piece_arrays *arrays = arg;
    for (uint32_t a = 0; a < N_ARRAYS; a++) {
        uint64_t bytes = arrays->at[a + 1] - arrays->at[a];
        uint64_t first = bytes * task / arrays->n_tasks;
        uint64_t last = bytes * (task + 1) / arrays->n_tasks;
        if (first < last)
            memcpy(arrays->to + arrays->at[a] + first,
                   (const uint8_t *)arrays->from[a] + first,
                   (size_t)(last - first));
    }
}

static void gather(const conveyor *c, piece_arrays *arrays)
{
    arrays->n_tasks = arrays->at[N_ARRAYS] < GATHER_ALONE ? 1 : c->n_threads;
    if (arrays->n_tasks > 1 &&
        vly_cuda_host->parallel_for(vly_cuda_host->context, arrays->n_tasks,
                                    gather_task, arrays) == VLY_OK)
        return;
    arrays->n_tasks = 1; /* also used if no threads could be created */
    gather_task(arrays, 0);
}

/* Starts the transfer of the piece; *part is the input of a kernel. Call
 * `slot_merged` after that kernel. */
static vly_status send_piece(conveyor *c, const piece *of, vly_cuda_part *part,
                             vly_error *error)
{
    slot *s = &c->slots[c->next];
    const vly_area_desc *source =
        vly_cuda_area_desc(c->shard->store.fixed, of->p->source_area);
    const vly_common_port to = vly_common_port_of(c->shard->store.fixed, of->p);
    piece_arrays arrays;
    lay_out(of, &arrays);
    arrays.to = s->host;
    vly_status status = VLY_OK;
    VLY_TRY(vly_cuda_check((int)cudaEventSynchronize(s->free), "merging rows",
                           error));
    gather(c, &arrays);
    const uint8_t *at = s->device;
    *part = (vly_cuda_part){
        .row = (const void *)at,
        .target = (const void *)(at + arrays.at[TARGETS]),
        .weight =
            of->p->weight ? (const void *)(at + arrays.at[WEIGHTS]) : NULL,
        .delay = of->p->delay ? at + arrays.at[DELAYS] : NULL,
        .source_first = source->first + of->from,
        .n_sources = of->to - of->from,
        .port = to.port,
        .plane = to.plane,
        .one_weight = of->p->weight ? 0 : of->p->one_weight,
        .gain = (of->p->flags & VLY_PROJECTION_GAIN) != 0,
        .shift = vly_common_shift(c->shard->store.fixed, of->p),
    };
    return vly_cuda_check((int)cudaMemcpyAsync(s->device, s->host,
                                               (size_t)arrays.at[N_ARRAYS],
                                               cudaMemcpyHostToDevice,
                                               (cudaStream_t)c->shard->stream),
                          "copy to the device", error);
out:
    return status;
}

static vly_status slot_merged(conveyor *c, cudaError_t launched,
                              vly_error *error)
{
    slot *s = &c->slots[c->next];
    c->next = (c->next + 1) % VLY_CUDA_ROW_SLOTS;
    if (launched == cudaSuccess)
        launched = cudaEventRecord(s->free, (cudaStream_t)c->shard->stream);
    return vly_cuda_check((int)launched, "merging rows", error);
}

/* ---- groups ------------------------------------------------------------ */

/* Sends a projection piece by piece; take enqueues the kernel that reads it. */
static vly_status take_pieces(conveyor *c, const vly_projection_desc *p,
                              uint32_t has_synapses, vly_cuda_take take,
                              void *arg, vly_error *error)
{
    uint32_t n = n_sources(c->shard->store.fixed, p);
    vly_status status = VLY_OK;
    piece at = {.p = p, .has_synapses = has_synapses != 0};
    for (; at.from < n; at.from = at.to) {
        vly_cuda_part part;
        choose_end(&at, c->slot_bytes, n);
        VLY_TRY(send_piece(c, &at, &part, error));
        VLY_TRY(
            slot_merged(c, (cudaError_t)take(c->shard, &part, p, arg), error));
    }
out:
    return status;
}

/* The rows of a group while they are made. */
typedef struct group_rows {
    uint64_t *row;
    uint64_t *cursor;
    uint64_t *synapses;
} group_rows;

static int add_lengths(vly_cuda_shard *shard, const vly_cuda_part *part,
                       const vly_projection_desc *p, void *arg)
{
    const group_rows *to = arg;
    (void)p;
    return (int)vly_cuda_launch_row_lengths(part, to->row + 1,
                                            (cudaStream_t)shard->stream);
}

static int add_rows(vly_cuda_shard *shard, const vly_cuda_part *part,
                    const vly_projection_desc *p, void *arg)
{
    const group_rows *to = arg;
    (void)p;
    return (int)vly_cuda_launch_row_fill(part, to->cursor, to->synapses,
                                         (cudaStream_t)shard->stream);
}

static vly_status group_create(conveyor *c, vly_cuda_group *group,
                               vly_error *error)
{
    vly_cuda_shard *shard = c->shard;
    const vly_net_desc *desc = shard->store.fixed;
    group_rows made = {NULL, NULL, NULL};
    uint64_t total = 0;
    vly_status status = VLY_OK;
    VLY_TRY(vly_cuda_device_alloc(shard, desc->n_neurons + UINT64_C(1),
                                  sizeof *made.row, &made.row, error));
    for (uint32_t i = 0; i < desc->n_projections; i++) {
        const vly_projection_desc *p = vly_cuda_projection_desc(desc, i);
        if (p->base_delay != group->base_delay)
            continue;
        total += p->row[n_sources(desc, p)];
        VLY_TRY(take_pieces(c, p, 0, add_lengths, &made, error));
    }
    VLY_TRY(vly_cuda_check(
        (int)vly_cuda_launch_row_sums(made.row, desc->n_neurons,
                                      (cudaStream_t)shard->stream),
        "sums of rows", error));
    VLY_TRY(vly_cuda_device_alloc(shard, total, sizeof *made.synapses,
                                  &made.synapses, error));
    VLY_TRY(vly_cuda_device_alloc(shard, desc->n_neurons, sizeof *made.cursor,
                                  &made.cursor, error));
    if (desc->n_neurons > 0)
        VLY_TRY(vly_cuda_check(
            (int)cudaMemcpyAsync(made.cursor, made.row,
                                 (size_t)desc->n_neurons * sizeof *made.row,
                                 cudaMemcpyDeviceToDevice,
                                 (cudaStream_t)shard->stream),
            "cursors of rows", error));
    for (uint32_t i = 0; i < desc->n_projections; i++) {
        const vly_projection_desc *p = vly_cuda_projection_desc(desc, i);
        if (p->base_delay == group->base_delay)
            VLY_TRY(take_pieces(c, p, 1, add_rows, &made, error));
    }
    VLY_TRY(vly_cuda_synchronize(shard, "building rows", error));
out:
    vly_cuda_device_release(shard, made.cursor);
    shard->store.n_synapses += total;
    group->row = made.row;
    group->synapses = made.synapses;
    return status;
}

/* The rows are made later. */
static vly_status find_groups(vly_cuda_shard *shard, vly_error *error)
{
    vly_common_delays *delays = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(vly_cuda_alloc(shard, shard->store.fixed->n_projections,
                           sizeof *delays, &delays, error));
    shard->view.n_groups = vly_common_base_delays(shard->store.fixed, delays);
    for (uint32_t g = 0; g < shard->view.n_groups; g++)
        shard->store.groups[g] = (vly_cuda_group){.base_delay = delays[g].base,
                                                  .delay_max = delays[g].most};
    vly_cuda_release(shard, delays);
out:
    return status;
}

static vly_status create_groups(vly_cuda_shard *shard, vly_error *error)
{
    conveyor c;
    vly_cuda_group *groups = NULL;
    vly_status status = conveyor_open(shard, &c, error);
    for (uint32_t g = 0; g < shard->view.n_groups && status == VLY_OK; g++)
        status = group_create(&c, &shard->store.groups[g], error);
    conveyor_close(&c);
    if (status == VLY_OK)
        status = vly_cuda_device_alloc(shard, shard->view.n_groups,
                                       sizeof *groups, &groups, error);
    if (status == VLY_OK)
        status = vly_cuda_upload(shard, groups, shard->store.groups,
                                 shard->view.n_groups * sizeof *groups, error);
    shard->view.groups = groups;
    return status;
}

vly_status vly_cuda_store_pieces(vly_cuda_shard *shard, uint32_t first,
                                 uint32_t last, vly_cuda_take take, void *arg,
                                 vly_error *error)
{
    const vly_net_desc *desc = shard->store.fixed;
    conveyor c;
    vly_status status = VLY_OK;
    VLY_TRY(conveyor_open(shard, &c, error));
    for (uint32_t i = 0; i < desc->n_projections; i++) {
        const vly_projection_desc *p = vly_cuda_projection_desc(desc, i);
        uint32_t most = p->base_delay + (p->delay ? p->delay_max : 0);
        if (p->base_delay <= last && most >= first)
            VLY_TRY(take_pieces(&c, p, 1, take, arg, error));
    }
out:
    conveyor_close(&c);
    return status;
}

vly_status vly_cuda_store_create(vly_cuda_shard *shard, vly_error *error)
{
    if (shard->view.groups)
        return VLY_OK;
    shard->store.n_synapses = 0;
    vly_status status = VLY_OK;
    VLY_TRY(vly_cuda_alloc(shard, shard->store.fixed->n_projections,
                           sizeof *shard->store.groups, &shard->store.groups,
                           error));
    VLY_TRY(find_groups(shard, error));
    VLY_TRY(create_groups(shard, error));
out:
    if (status != VLY_OK)
        vly_cuda_store_release(shard);
    return status;
}

void vly_cuda_store_release(vly_cuda_shard *shard)
{
    for (uint32_t g = 0; shard->store.groups && g < shard->view.n_groups; g++) {
        vly_cuda_device_release(shard, shard->store.groups[g].row);
        vly_cuda_device_release(shard, shard->store.groups[g].synapses);
    }
    vly_cuda_device_release(shard, shard->view.groups);
    vly_cuda_release(shard, shard->store.groups);
    shard->view.groups = NULL;
    shard->store.groups = NULL;
}
