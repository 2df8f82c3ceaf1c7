/* SPDX-License-Identifier: Apache-2.0
 * Segments of the resident plan, which replace the rows by source: how long
 * they are, and where.
 *
 * Segments of one area have one size in a block, so that a spike's id says
 * where its segment is: the largest that occurs there, as long as all of them
 * take no more than LIMIT_BYTES a synapse. Beyond that sizes are lowered, area
 * by area, where most bytes are saved for each segment that no longer fits;
 * such a segment is linked to its rest (cuda_kernels.h), which costs a second
 * read that waits for the first.
 */
#include "cuda_net.h"

#include <string.h>

/* A synapse: 4 bytes, and as much again for padding, links and the table. */
#define LIMIT_BYTES 8u
/* Links that hold up the next burst against those read during the exchange. */
#define URGENT_LINKS 16.0
#define LINK_QUADS 65535u /* a link counts so many */
/* More device memory than that is not worth it: padding of short segments. */
#define SYNAPSE_BYTES 16u
#define FREE_BYTES (UINT64_C(256) << 20)

/* Segments while they are made. */
typedef struct segment_maker {
    vly_backend_net *net;
    uint32_t *count;       /* on the device: [2][n_neurons][n_blocks] */
    vly_cuda_sizes *sizes; /* [2][n_areas] */
    uint32_t *most;        /* [2][n_areas] quads of the largest segment */
    uint32_t *room;        /* [2][n_areas] quads of a segment at most */
    vly_cuda_class *classes[VLY_CUDA_N_PARTS]; /* [n_blocks][n_areas] */
    uint64_t *rest; /* [2][n_blocks] quads that do not fit into segments */
} segment_maker;

static uint64_t counts_of(const vly_backend_net *net)
{
    return (uint64_t)net->desc->n_neurons * net->resident.n_blocks;
}

/* ---- sizes ------------------------------------------------------------- */

static vly_status count_segments(segment_maker *m, vly_error *error)
{
    vly_backend_net *net = m->net;
    vly_status status =
        vly_cuda_device_alloc(net, VLY_CUDA_N_PARTS * counts_of(net),
                              sizeof *m->count, &m->count, error);
    for (uint32_t g = 0; g < net->view.n_groups && status == VLY_OK; g++)
        status = vly_cuda_check((int)vly_cuda_launch_segment_count(
                                    &net->view, &net->groups[g], &net->resident,
                                    m->count, (cudaStream_t)net->stream),
                                "counting segments", error);
    return status;
}

static vly_status measure_segments(segment_maker *m, vly_error *error)
{
    vly_backend_net *net = m->net;
    uint32_t n_areas = net->view.n_areas;
    uint32_t n_blocks = net->resident.n_blocks;
    vly_cuda_sizes *sizes = NULL;
    vly_status status = vly_cuda_device_alloc(net, VLY_CUDA_N_PARTS * n_areas,
                                              sizeof *sizes, &sizes, error);
    for (uint32_t i = 0; i < VLY_CUDA_N_PARTS * n_areas && status == VLY_OK;
         i++) {
        const vly_cuda_area *area = &net->areas[i % n_areas];
        const uint32_t *count = m->count + i / n_areas * counts_of(net) +
                                (uint64_t)area->first * n_blocks;
        status = vly_cuda_check(
            (int)vly_cuda_launch_segment_sizes(
                count, area->n, n_blocks, sizes + i, (cudaStream_t)net->stream),
            "measuring segments", error);
    }
    if (status == VLY_OK)
        status = vly_cuda_download(net, m->sizes, sizes,
                                   VLY_CUDA_N_PARTS * n_areas * sizeof *sizes,
                                   error);
    vly_cuda_device_release(net, sizes);
    for (uint32_t i = 0; i < VLY_CUDA_N_PARTS * n_areas; i++)
        for (uint32_t b = 0; b < n_blocks; b++)
            if (m->most[i] < m->sizes[i].largest[b])
                m->most[i] = m->sizes[i].largest[b];
    return status;
}

/* Segments of area i of 2 * n_areas that do not fit into `room` quads. */
static uint64_t links_at(const segment_maker *m, uint32_t i, uint32_t room)
{
    uint64_t n = 0;
    for (uint32_t q = room + 1; room < m->most[i] && q < VLY_CUDA_SIZES; q++)
        n += m->sizes[i].n[q];
    return n;
}

/* Quads of the segments and their rests, `room` quads each at most. */
static uint64_t quads_at(const segment_maker *m, uint32_t i, uint32_t room)
{
    const vly_backend_net *net = m->net;
    const vly_cuda_sizes *sizes = &m->sizes[i];
    uint64_t sum = 0;
    for (uint32_t b = 0; b < net->resident.n_blocks; b++)
        sum += sizes->largest[b] < room ? sizes->largest[b] : room;
    sum *= net->areas[i % net->view.n_areas].n;
    for (uint32_t q = room + 1; room < m->most[i] && q < VLY_CUDA_SIZES; q++)
        sum += sizes->rest[q] - sizes->n[q] * room;
    return sum;
}

/* The next smaller room: one quad less, or the largest whose rests are known.
 * As large as it was if a link could not count the rest. */
static uint32_t smaller(const segment_maker *m, uint32_t i, uint32_t room)
{
    uint32_t next = room > 1 ? room - 1 : room;
    if (next > VLY_CUDA_SIZES - 2)
        next = VLY_CUDA_SIZES - 2;
    return m->most[i] - next < LINK_QUADS ? next : room;
}

/* Links for each quad that the next smaller room saves; less than 0 if it saves
 * none. */
static double price(const segment_maker *m, uint32_t i, uint32_t room)
{
    uint32_t next = smaller(m, i, room);
    uint64_t quads = quads_at(m, i, room);
    uint64_t less = quads_at(m, i, next);
    double links = (double)(links_at(m, i, next) - links_at(m, i, room));
    if (less >= quads)
        return -1.0;
    links *= i < m->net->view.n_areas ? URGENT_LINKS : 1.0;
    return links / (double)(quads - less);
}

/* The cheapest step until the limit is reached, or none saves anything. */
static void limit_rooms(segment_maker *m)
{
    const vly_backend_net *net = m->net;
    uint32_t n = VLY_CUDA_N_PARTS * net->view.n_areas;
    uint64_t table = VLY_CUDA_N_PARTS * sizeof(vly_cuda_class) *
                     net->resident.n_blocks * net->view.n_areas;
    double prices[VLY_CUDA_N_PARTS * VLY_CUDA_RESIDENT_AREAS] = {0.0};
    uint64_t quads = table / 16;
    for (uint32_t i = 0; i < n; i++) {
        quads += quads_at(m, i, m->room[i]);
        prices[i] = price(m, i, m->room[i]);
    }
    while (quads * 16 > LIMIT_BYTES * net->n_synapses) {
        uint32_t best = n;
        for (uint32_t i = 0; i < n; i++)
            if (prices[i] >= 0.0 && (best == n || prices[i] < prices[best]))
                best = i;
        if (best == n)
            return;
        uint32_t next = smaller(m, best, m->room[best]);
        quads -= quads_at(m, best, m->room[best]) - quads_at(m, best, next);
        m->room[best] = next;
        prices[best] = price(m, best, next);
    }
}

static void choose_rooms(segment_maker *m)
{
    uint32_t wanted = m->net->wanted.quads;
    for (uint32_t i = 0; i < VLY_CUDA_N_PARTS * m->net->view.n_areas; i++) {
        m->room[i] = m->most[i];
        while (wanted > 0 && m->room[i] > wanted &&
               smaller(m, i, m->room[i]) < m->room[i])
            m->room[i] = smaller(m, i, m->room[i]);
    }
    if (wanted == 0)
        limit_rooms(m);
}

/* ---- places ------------------------------------------------------------ */

/* Where each class begins, block by block, with m->rest behind its segments. */
static void place_classes(segment_maker *m, uint32_t p)
{
    const vly_backend_net *net = m->net;
    uint32_t n_areas = net->view.n_areas;
    uint32_t n_blocks = net->resident.n_blocks;
    vly_cuda_segments *part = &m->net->resident.part[p];
    uint64_t at = 0;
    part->quads = 0;
    part->linked = 0;
    for (uint32_t b = 0; b < n_blocks; b++) {
        for (uint32_t a = 0; a < n_areas; a++) {
            uint32_t i = p * n_areas + a;
            uint32_t largest = m->sizes[i].largest[b];
            uint32_t quads = largest < m->room[i] ? largest : m->room[i];
            m->classes[p][b * n_areas + a] =
                (vly_cuda_class){at, net->areas[a].first, quads};
            at += (uint64_t)quads * net->areas[a].n;
            part->quads = part->quads < quads ? quads : part->quads;
            part->linked |= quads < largest;
        }
        at += m->rest[p * n_blocks + b];
    }
    part->n_quads = at;
}

static vly_status send_classes(segment_maker *m, uint32_t p,
                               vly_cuda_class *classes, vly_error *error)
{
    const vly_backend_net *net = m->net;
    return vly_cuda_upload(m->net, classes, m->classes[p],
                           (uint64_t)net->resident.n_blocks *
                               net->view.n_areas * sizeof *classes,
                           error);
}

static vly_status measure_rests(segment_maker *m, uint32_t p, vly_error *error)
{
    vly_backend_net *net = m->net;
    uint32_t n_blocks = net->resident.n_blocks;
    uint64_t *rest = NULL;
    vly_status status =
        vly_cuda_device_alloc(net, n_blocks, sizeof *rest, &rest, error);
    if (status == VLY_OK)
        status = vly_cuda_check(
            (int)vly_cuda_launch_segment_rests(
                &net->view, n_blocks, &net->resident.part[p],
                m->count + p * counts_of(net), rest, (cudaStream_t)net->stream),
            "measuring rests", error);
    if (status == VLY_OK)
        status = vly_cuda_download(net, m->rest + p * n_blocks, rest,
                                   n_blocks * sizeof *rest, error);
    vly_cuda_device_release(net, rest);
    return status;
}

/* The table of a part, on the host and on the device. */
static vly_status create_classes(segment_maker *m, uint32_t p, vly_error *error)
{
    vly_backend_net *net = m->net;
    vly_cuda_segments *part = &net->resident.part[p];
    uint64_t n = (uint64_t)net->resident.n_blocks * net->view.n_areas;
    vly_cuda_class *classes = NULL;
    vly_status status =
        vly_cuda_device_alloc(net, n, sizeof *classes, &classes, error);
    if (status != VLY_OK)
        return status;
    part->classes = classes;
    place_classes(m, p);
    status = send_classes(m, p, classes, error);
    if (status == VLY_OK && part->linked != 0) {
        status = measure_rests(m, p, error);
        place_classes(m, p);
        if (status == VLY_OK)
            status = send_classes(m, p, classes, error);
    }
    net->segment_bytes += n * sizeof *classes + part->n_quads * 16;
    return status;
}

/* ---- synapses ---------------------------------------------------------- */

/* The first quad behind the segments of a block, from its first one on. */
static uint64_t segments_end(const segment_maker *m, uint32_t p, uint32_t block)
{
    const vly_backend_net *net = m->net;
    uint32_t n_areas = net->view.n_areas;
    const vly_cuda_class *own = m->classes[p] + (size_t)block * n_areas;
    const vly_cuda_class *last = own + n_areas - 1;
    return last->at + (uint64_t)last->quads * net->areas[n_areas - 1].n -
           own->at;
}

static vly_status write_links(segment_maker *m, uint32_t p, uint32_t *segments,
                              vly_error *error)
{
    vly_backend_net *net = m->net;
    uint32_t n_blocks = net->resident.n_blocks;
    uint32_t host[VLY_CUDA_MAIL_BLOCKS] = {0};
    uint32_t *next = NULL;
    for (uint32_t b = 0; b < n_blocks; b++) {
        uint64_t end = segments_end(m, p, b);
        if (end + m->rest[p * n_blocks + b] > UINT32_MAX)
            return vly_cuda_fail(
                error, VLY_E_UNSUPPORTED,
                "cuda option plan=resident: %llu quads of synapses in a "
                "block, wanted fewer than 2^32; more blocks have fewer",
                (unsigned long long)(end + m->rest[p * n_blocks + b]));
        host[b] = (uint32_t)end;
    }
    vly_status status =
        vly_cuda_device_alloc(net, n_blocks, sizeof *next, &next, error);
    if (status == VLY_OK)
        status =
            vly_cuda_upload(net, next, host, n_blocks * sizeof *next, error);
    if (status == VLY_OK)
        status =
            vly_cuda_check((int)vly_cuda_launch_segment_links(
                               &net->view, n_blocks, &net->resident.part[p],
                               m->count + p * counts_of(net), segments, next,
                               (cudaStream_t)net->stream),
                           "linking segments", error);
    if (status == VLY_OK)
        status = vly_cuda_synchronize(net, "linking segments", error);
    vly_cuda_device_release(net, next);
    return status;
}

static vly_status fill_segments(segment_maker *m, uint32_t *const segments[2],
                                vly_error *error)
{
    vly_backend_net *net = m->net;
    cudaStream_t stream = (cudaStream_t)net->stream;
    size_t bytes =
        (size_t)(VLY_CUDA_N_PARTS * counts_of(net)) * sizeof *m->count;
    vly_status status =
        vly_cuda_check((int)cudaMemsetAsync(m->count, 0, bytes, stream),
                       "filling segments", error);
    for (uint32_t g = 0; g < net->view.n_groups && status == VLY_OK; g++)
        status = vly_cuda_check((int)vly_cuda_launch_segment_fill(
                                    &net->view, &net->groups[g], &net->resident,
                                    segments, m->count, stream),
                                "filling segments", error);
    return status == VLY_OK
               ? vly_cuda_synchronize(net, "filling segments", error)
               : status;
}

static vly_status create_synapses(segment_maker *m, vly_error *error)
{
    vly_backend_net *net = m->net;
    uint32_t *segments[VLY_CUDA_N_PARTS] = {NULL, NULL};
    vly_status status = VLY_OK;
    for (uint32_t p = 0; p < VLY_CUDA_N_PARTS && status == VLY_OK; p++) {
        vly_cuda_segments *part = &net->resident.part[p];
        status =
            vly_cuda_device_alloc(net, part->n_quads, 16, &segments[p], error);
        part->synapses = segments[p];
        if (status == VLY_OK && part->linked != 0)
            status = write_links(m, p, segments[p], error);
    }
    return status == VLY_OK ? fill_segments(m, segments, error) : status;
}

/* ---- all of it --------------------------------------------------------- */

static vly_status make_segments(segment_maker *m, uint32_t forced,
                                vly_error *error)
{
    vly_backend_net *net = m->net;
    net->segment_bytes = 0;
    vly_status status = count_segments(m, error);
    if (status == VLY_OK)
        status = measure_segments(m, error);
    if (status != VLY_OK)
        return status;
    choose_rooms(m);
    for (uint32_t p = 0; p < VLY_CUDA_N_PARTS && status == VLY_OK; p++)
        status = create_classes(m, p, error);
    if (status != VLY_OK)
        return status;
    if (!forced &&
        net->segment_bytes > SYNAPSE_BYTES * net->n_synapses + FREE_BYTES) {
        net->is_resident = 0;
        return VLY_OK;
    }
    return create_synapses(m, error);
}

vly_status vly_cuda_segments_create(vly_backend_net *net, uint32_t forced,
                                    vly_error *error)
{
    segment_maker m = {.net = net};
    uint64_t n = (uint64_t)VLY_CUDA_N_PARTS * net->view.n_areas;
    uint64_t n_blocks = net->resident.n_blocks;
    vly_status status =
        vly_cuda_alloc(net, n, sizeof *m.sizes, &m.sizes, error);
    if (status == VLY_OK)
        status = vly_cuda_alloc(net, n, sizeof *m.most, &m.most, error);
    if (status == VLY_OK)
        status = vly_cuda_alloc(net, n, sizeof *m.room, &m.room, error);
    if (status == VLY_OK)
        status = vly_cuda_alloc(net, VLY_CUDA_N_PARTS * n_blocks,
                                sizeof *m.rest, &m.rest, error);
    for (int p = 0; p < VLY_CUDA_N_PARTS && status == VLY_OK; p++)
        status = vly_cuda_alloc(net, n_blocks * net->view.n_areas,
                                sizeof *m.classes[p], &m.classes[p], error);
    if (status == VLY_OK)
        status = make_segments(&m, forced, error);
    vly_cuda_device_release(net, m.count);
    for (int p = 0; p < VLY_CUDA_N_PARTS; p++)
        vly_cuda_release(net, m.classes[p]);
    vly_cuda_release(net, m.rest);
    vly_cuda_release(net, m.room);
    vly_cuda_release(net, m.most);
    vly_cuda_release(net, m.sizes);
    if (!net->is_resident)
        vly_cuda_segments_release(net);
    return status;
}

void vly_cuda_segments_release(vly_backend_net *net)
{
    for (int p = 0; p < VLY_CUDA_N_PARTS; p++) {
        vly_cuda_segments *part = &net->resident.part[p];
        vly_cuda_device_release(net, part->synapses);
        vly_cuda_device_release(net, part->classes);
        part->synapses = NULL;
        part->classes = NULL;
    }
    net->segment_bytes = 0;
}
