/* SPDX-License-Identifier: Apache-2.0
 * Segments of the resident plan, which replace the rows by source: their
 * lengths and places.
 *
 * In a block all segments of an area have one size, so a spike's id gives the
 * place of its segment. It is the size of the longest segment, as long as all
 * take at most LIMIT_BYTES a synapse. Beyond that segments get shorter, in the
 * area that saves most bytes for each segment that no longer fits; synapses
 * that do not fit go into a rest. Marks in shared memory locate the rest, so
 * segment and rest are read at the same time: a link at the end of the segment,
 * read first, cost 0.15 to 0.8 us a burst (bench/README.md).
 */
#include "cuda_segments.h"

#include <string.h>

#include "cuda_error.h"
#include "cuda_memory.h"
#include "cuda_net.h"

/* Bytes per synapse: 4, and as many for padding and tables. */
#define LIMIT_BYTES 8u
/* Limit of device memory for padding of short segments. */
#define SYNAPSE_BYTES 16u
#define FREE_BYTES (UINT64_C(256) << 20)

/* State while segments are made. */
typedef struct segment_maker {
    vly_cuda_shard *shard;
    uint32_t *count;         /* on the device: [2][n_neurons][n_blocks] */
    vly_cuda_sizes *sizes;   /* [2][n_areas] */
    uint32_t *most;          /* [2][n_areas] quads of the longest segment */
    uint32_t *room;          /* [2][n_areas] quads without a rest */
    uint32_t *ranks;         /* [n_blocks][n_areas + 1] of the present part */
    vly_cuda_class *classes; /* [n_blocks][n_areas] of the present part */
} segment_maker;

static uint64_t counts_of(const vly_cuda_shard *shard)
{
    return (uint64_t)shard->net->desc->n_neurons * shard->resident.n_blocks;
}

/* ---- sizes ------------------------------------------------------------- */

static vly_status count_segments(segment_maker *m, vly_error *error)
{
    vly_cuda_shard *shard = m->shard;
    vly_status status = VLY_OK;
    VLY_TRY(vly_cuda_device_alloc(shard, VLY_CUDA_N_PARTS * counts_of(shard),
                                  sizeof *m->count, &m->count, error));
    for (uint32_t g = 0; g < shard->view.n_groups; g++)
        VLY_TRY(vly_cuda_check((int)vly_cuda_launch_segment_count(
                                   &shard->view, &shard->store.groups[g],
                                   &shard->resident, m->count,
                                   (cudaStream_t)shard->stream),
                               "counting segments", error));
out:
    return status;
}

static vly_status measure_segments(segment_maker *m, vly_error *error)
{
    vly_cuda_shard *shard = m->shard;
    uint32_t n_areas = shard->view.n_areas;
    uint32_t n_blocks = shard->resident.n_blocks;
    vly_cuda_sizes *sizes = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(vly_cuda_device_alloc(shard, VLY_CUDA_N_PARTS * n_areas,
                                  sizeof *sizes, &sizes, error));
    for (uint32_t i = 0; i < VLY_CUDA_N_PARTS * n_areas; i++) {
        const vly_cuda_area *area = &shard->areas[i % n_areas];
        const uint32_t *count = m->count + i / n_areas * counts_of(shard) +
                                (uint64_t)area->first * n_blocks;
        VLY_TRY(vly_cuda_check((int)vly_cuda_launch_segment_sizes(
                                   count, area->n, n_blocks, sizes + i,
                                   (cudaStream_t)shard->stream),
                               "measuring segments", error));
    }
    VLY_TRY(vly_cuda_download(shard, m->sizes, sizes,
                              VLY_CUDA_N_PARTS * n_areas * sizeof *sizes,
                              error));
out:
    vly_cuda_device_release(shard, sizes);
    for (uint32_t i = 0; i < VLY_CUDA_N_PARTS * n_areas; i++)
        for (uint32_t b = 0; b < n_blocks; b++)
            if (m->most[i] < m->sizes[i].largest[b])
                m->most[i] = m->sizes[i].largest[b];
    return status;
}

/* Segments of area i of 2 * n_areas that have a rest. */
static uint64_t rests_at(const segment_maker *m, uint32_t i, uint32_t room)
{
    uint64_t n = 0;
    for (uint32_t q = room + 1; room < m->most[i] && q < VLY_CUDA_SIZES; q++)
        n += m->sizes[i].n[q];
    return n;
}

/* Upper bound of the quads of segments and rests: blocks with a shorter longest
 * segment also have shorter rests. */
static uint64_t quads_at(const segment_maker *m, uint32_t i, uint32_t room)
{
    const vly_cuda_shard *shard = m->shard;
    uint64_t sum = 0;
    for (uint32_t b = 0; b < shard->resident.n_blocks; b++) {
        uint32_t largest = m->sizes[i].largest[b];
        sum += largest < room ? largest : room;
    }
    return sum * shard->areas[i % shard->view.n_areas].n +
           rests_at(m, i, room) * (m->most[i] - room);
}

/* The next smaller size: one quad less, or the largest size that is counted. */
static uint32_t smaller(uint32_t room)
{
    uint32_t next = room > 1 ? room - 1 : room;
    return next < VLY_CUDA_SIZES - 1 ? next : VLY_CUDA_SIZES - 2;
}

/* Number of rests for each quad saved by the next smaller size; negative if it
 * saves none. */
static double price(const segment_maker *m, uint32_t i, uint32_t room)
{
    uint32_t next = smaller(room);
    uint64_t quads = quads_at(m, i, room);
    uint64_t less = quads_at(m, i, next);
    if (less >= quads)
        return -1.0;
    return (double)(rests_at(m, i, next) - rests_at(m, i, room)) /
           (double)(quads - less);
}

/* Bytes of the tables, if all parts with segments have marks. */
static uint64_t table_bytes(const vly_cuda_shard *shard)
{
    uint64_t n = VLY_CUDA_N_PARTS * (uint64_t)shard->resident.n_blocks;
    return n * shard->view.n_areas * sizeof(vly_cuda_class) +
           n * VLY_CUDA_MARKS(shard->view.n_neurons) * sizeof(vly_cuda_marks);
}

/* Takes the cheapest step until the limit is reached or no step saves
 * anything. */
static void limit_rooms(segment_maker *m)
{
    const vly_cuda_shard *shard = m->shard;
    uint32_t n = VLY_CUDA_N_PARTS * shard->view.n_areas;
    double prices[VLY_CUDA_N_PARTS * VLY_CUDA_RESIDENT_AREAS] = {0.0};
    uint64_t bytes = table_bytes(shard);
    for (uint32_t i = 0; i < n; i++) {
        bytes += 16 * quads_at(m, i, m->room[i]);
        prices[i] = price(m, i, m->room[i]);
    }
    while (bytes > LIMIT_BYTES * shard->store.n_synapses) {
        uint32_t best = n;
        for (uint32_t i = 0; i < n; i++)
            if (prices[i] >= 0.0 && (best == n || prices[i] < prices[best]))
                best = i;
        if (best == n)
            return;
        uint32_t next = smaller(m->room[best]);
        bytes -=
            16 * (quads_at(m, best, m->room[best]) - quads_at(m, best, next));
        m->room[best] = next;
        prices[best] = price(m, best, next);
    }
}

/* Do marks for all parts with synapses fit into the shared memory of a block?
 * If not, all segments are as long as the longest. */
static vly_status marks_fit(vly_cuda_shard *shard, int *fit, vly_error *error)
{
    vly_cuda_resident with = shard->resident;
    int shared_bytes = 0;
    vly_status status = vly_cuda_check(
        (int)cudaDeviceGetAttribute(&shared_bytes,
                                    cudaDevAttrMaxSharedMemoryPerBlockOptin,
                                    shard->device),
        "cudaDeviceGetAttribute", error);
    with.n_marks =
        (with.split != 0 ? 2u : 1u) * VLY_CUDA_MARKS(shard->view.n_neurons);
    *fit =
        vly_cuda_resident_bytes(&shard->view, &with) <= (uint64_t)shared_bytes;
    return status;
}

static vly_status choose_rooms(segment_maker *m, vly_error *error)
{
    uint32_t wanted = m->shard->net->wanted.quads;
    uint32_t n = VLY_CUDA_N_PARTS * m->shard->view.n_areas;
    int fit = 0;
    vly_status status = marks_fit(m->shard, &fit, error);
    if (status == VLY_OK && wanted > 0 && !fit)
        status = vly_cuda_fail(error, VLY_E_UNSUPPORTED,
                               "cuda option quads=%u: no room in shared memory "
                               "for the marks of %u neurons",
                               wanted, m->shard->view.n_neurons);
    memcpy(m->room, m->most, n * sizeof *m->room);
    if (status != VLY_OK || !fit)
        return status;
    for (uint32_t i = 0; i < n && wanted > 0; i++)
        while (m->room[i] > wanted)
            m->room[i] = smaller(m->room[i]);
    if (wanted == 0)
        limit_rooms(m);
    return VLY_OK;
}

/* ---- places ------------------------------------------------------------ */

/* The start of each class, block by block, with its rests after its segments,
 * in the order of m->ranks. Returns whether there are any. */
static bool place_classes(segment_maker *m, uint32_t p)
{
    const vly_cuda_shard *shard = m->shard;
    uint32_t n_areas = shard->view.n_areas;
    vly_cuda_segments *part = &m->shard->resident.part[p];
    uint32_t longest_rest = 0;
    uint64_t at = 0;
    part->quads = 0;
    for (uint32_t b = 0; b < shard->resident.n_blocks; b++)
        for (uint32_t a = 0; a < n_areas; a++) {
            uint32_t room = m->room[p * n_areas + a];
            uint32_t largest = m->sizes[p * n_areas + a].largest[b];
            const uint32_t *rank = m->ranks + b * (n_areas + 1) + a;
            vly_cuda_class *c = &m->classes[b * n_areas + a];
            c->first = shard->areas[a].first;
            c->quads = largest < room ? largest : room;
            c->rest_quads = largest - c->quads;
            c->rest_first = rank[0];
            c->at = at;
            c->rest_at = at + (uint64_t)c->quads * shard->areas[a].n;
            at = c->rest_at + (uint64_t)(rank[1] - rank[0]) * c->rest_quads;
            part->quads = part->quads < largest ? largest : part->quads;
            longest_rest =
                longest_rest < c->rest_quads ? c->rest_quads : longest_rest;
        }
    part->n_quads = at;
    return longest_rest > 0;
}

/* Marks on the device, and m->ranks; classes have their sizes. */
static vly_status create_marks(segment_maker *m, uint32_t p, vly_error *error)
{
    vly_cuda_shard *shard = m->shard;
    vly_cuda_resident *resident = &shard->resident;
    uint64_t n_ranks =
        (uint64_t)resident->n_blocks * (shard->view.n_areas + UINT64_C(1));
    uint32_t n_marks = VLY_CUDA_MARKS(shard->view.n_neurons);
    uint64_t n = (uint64_t)resident->n_blocks * n_marks;
    vly_cuda_marks *marks = NULL;
    uint32_t *ranks = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(vly_cuda_device_alloc(shard, n, sizeof *marks, &marks, error));
    resident->part[p].marks = marks;
    resident->part[p].marks_at = resident->n_marks;
    resident->n_marks += n_marks;
    shard->segment_bytes += n * sizeof *marks;
    status =
        vly_cuda_device_alloc(shard, n_ranks, sizeof *ranks, &ranks, error);
    if (status == VLY_OK)
        status = vly_cuda_check((int)vly_cuda_launch_segment_marks(
                                    &shard->view, resident->n_blocks,
                                    &resident->part[p],
                                    m->count + p * counts_of(shard), marks,
                                    ranks, (cudaStream_t)shard->stream),
                                "marking segments", error);
    if (status == VLY_OK)
        status = vly_cuda_download(shard, m->ranks, ranks,
                                   n_ranks * sizeof *ranks, error);
    vly_cuda_device_release(shard, ranks);
out:
    return status;
}

/* The tables of a part. */
static vly_status create_classes(segment_maker *m, uint32_t p, vly_error *error)
{
    vly_cuda_shard *shard = m->shard;
    vly_cuda_segments *part = &shard->resident.part[p];
    uint64_t n_blocks = shard->resident.n_blocks;
    uint64_t n = n_blocks * shard->view.n_areas;
    vly_cuda_class *classes = NULL;
    memset(m->ranks, 0, (size_t)(n + n_blocks) * sizeof *m->ranks);
    bool has_rests = place_classes(m, p);
    vly_status status =
        vly_cuda_device_alloc(shard, n, sizeof *classes, &classes, error);
    part->classes = classes;
    if (status == VLY_OK)
        status = vly_cuda_upload(shard, classes, m->classes,
                                 n * sizeof *classes, error);
    if (status == VLY_OK && has_rests) {
        status = create_marks(m, p, error);
        (void)place_classes(m, p);
        if (status == VLY_OK)
            status = vly_cuda_upload(shard, classes, m->classes,
                                     n * sizeof *classes, error);
    }
    shard->segment_bytes += n * sizeof *classes + part->n_quads * 16;
    return status;
}

/* ---- synapses ---------------------------------------------------------- */

static vly_status fill_segments(segment_maker *m, uint32_t *const segments[2],
                                vly_error *error)
{
    vly_cuda_shard *shard = m->shard;
    cudaStream_t stream = (cudaStream_t)shard->stream;
    size_t bytes =
        (size_t)(VLY_CUDA_N_PARTS * counts_of(shard)) * sizeof *m->count;
    vly_status status = VLY_OK;
    VLY_TRY(vly_cuda_check((int)cudaMemsetAsync(m->count, 0, bytes, stream),
                           "filling segments", error));
    for (uint32_t g = 0; g < shard->view.n_groups; g++)
        VLY_TRY(
            vly_cuda_check((int)vly_cuda_launch_segment_fill(
                               &shard->view, &shard->store.groups[g],
                               &shard->resident, segments, m->count, stream),
                           "filling segments", error));
    VLY_TRY(vly_cuda_synchronize(shard, "filling segments", error));
out:
    return status;
}

static vly_status create_synapses(segment_maker *m, vly_error *error)
{
    vly_cuda_shard *shard = m->shard;
    uint32_t *segments[VLY_CUDA_N_PARTS] = {NULL, NULL};
    vly_status status = VLY_OK;
    for (uint32_t p = 0; p < VLY_CUDA_N_PARTS && status == VLY_OK; p++) {
        vly_cuda_segments *part = &shard->resident.part[p];
        status = vly_cuda_device_alloc(shard, part->n_quads, 16, &segments[p],
                                       error);
        part->synapses = segments[p];
    }
    return status == VLY_OK ? fill_segments(m, segments, error) : status;
}

/* ---- all of it --------------------------------------------------------- */

static vly_status make_segments(segment_maker *m, uint32_t forced,
                                uint32_t *is_made, vly_error *error)
{
    vly_cuda_shard *shard = m->shard;
    shard->segment_bytes = 0;
    shard->resident.n_marks = 0;
    vly_status status = VLY_OK;
    VLY_TRY(count_segments(m, error));
    VLY_TRY(measure_segments(m, error));
    VLY_TRY(choose_rooms(m, error));
    for (uint32_t p = 0; p < VLY_CUDA_N_PARTS; p++)
        VLY_TRY(create_classes(m, p, error));
    if (!forced && shard->segment_bytes >
                       SYNAPSE_BYTES * shard->store.n_synapses + FREE_BYTES)
        return VLY_OK;
    *is_made = 1;
    VLY_TRY(create_synapses(m, error));
out:
    return status;
}

static vly_status create_maker(segment_maker *m, vly_error *error)
{
    vly_cuda_shard *shard = m->shard;
    uint64_t n = (uint64_t)VLY_CUDA_N_PARTS * shard->view.n_areas;
    uint64_t n_blocks = shard->resident.n_blocks;
    vly_status status = VLY_OK;
    VLY_TRY(vly_cuda_alloc(shard, n, sizeof *m->sizes, &m->sizes, error));
    VLY_TRY(vly_cuda_alloc(shard, n, sizeof *m->most, &m->most, error));
    VLY_TRY(vly_cuda_alloc(shard, n, sizeof *m->room, &m->room, error));
    VLY_TRY(vly_cuda_alloc(shard, n_blocks * (shard->view.n_areas + 1),
                           sizeof *m->ranks, &m->ranks, error));
    VLY_TRY(vly_cuda_alloc(shard, n_blocks * shard->view.n_areas,
                           sizeof *m->classes, &m->classes, error));
out:
    return status;
}

vly_status vly_cuda_segments_create(vly_cuda_shard *shard, uint32_t forced,
                                    uint32_t *is_made, vly_error *error)
{
    segment_maker m = {.shard = shard};
    *is_made = 0;
    vly_status status = VLY_OK;
    VLY_TRY(create_maker(&m, error));
    VLY_TRY(make_segments(&m, forced, is_made, error));
out:
    vly_cuda_device_release(shard, m.count);
    vly_cuda_release(shard, m.classes);
    vly_cuda_release(shard, m.ranks);
    vly_cuda_release(shard, m.room);
    vly_cuda_release(shard, m.most);
    vly_cuda_release(shard, m.sizes);
    return status;
}

void vly_cuda_segments_release(vly_cuda_shard *shard)
{
    for (int p = 0; p < VLY_CUDA_N_PARTS; p++) {
        vly_cuda_segments *part = &shard->resident.part[p];
        vly_cuda_device_release(shard, part->synapses);
        vly_cuda_device_release(shard, part->classes);
        vly_cuda_device_release(shard, part->marks);
        part->synapses = NULL;
        part->classes = NULL;
        part->marks = NULL;
    }
    shard->resident.n_marks = 0;
    shard->segment_bytes = 0;
}
