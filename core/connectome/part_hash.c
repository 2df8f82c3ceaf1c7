/* SPDX-License-Identifier: Apache-2.0
 * The hash of a whole connectome of which each rank has a part.
 *
 * The hash is that of the connectome's file, whose sections are hashed block by
 * block. Most sections are the same on all ranks. Of the synapses, ranks give
 * each other some rows at a time: a row of the whole is the rows of the ranks
 * one after the other, because targets ascend and so do the neurons of the
 * ranks. Each rank sees all bytes of the file pass and hashes its share of the
 * blocks.
 */
#include "connectome/part_make.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "connectome/connectome_image.h"

enum { STREAMS = 4, ROWS = 0, TARGETS, WEIGHTS, DELAYS };
/* Synapses of all ranks in one gather, and their rows on all ranks. */
#define TOGETHER (UINT64_C(1) << 20)

static const uint32_t section_of[STREAMS] = {
    VLY_SECTION_ROWS, VLY_SECTION_TARGETS, VLY_SECTION_WEIGHTS,
    VLY_SECTION_DELAYS};

/* A section whose bytes pass in the order of the file. */
typedef struct stream {
    uint32_t number;
    uint64_t at;           /* bytes so far */
    unsigned char *buffer; /* [VLY_FILE_BLOCK] */
    vly_hash *blocks;      /* those of other ranks only at the end */
    uint64_t n_blocks;
} stream;

typedef struct whole_projection {
    uint64_t n_synapses;
    double weight_min;
    double weight_max;
} whole_projection;

typedef struct part_hash {
    vly_rank_part *part;
    const vly_ranks *ranks;
    vly_error *error;
    const vly_net_desc *desc; /* of the part */
    whole_projection *of;     /* [n_projections] */
    stream streams[STREAMS];
    vly_storage work;
    uint32_t *lengths; /* [n_ranks][n_lengths] of the present rows */
    uint32_t n_lengths;
    uint64_t *taken; /* [n_ranks] bytes of a gather */
} part_hash;

/* ---- gathers ------------------------------------------------------------ */

static vly_status another(const part_hash *h, uint32_t rank)
{
    return vly_fail(h->error, VLY_E_INVALID,
                    "rank %u has built another network than this rank",
                    (unsigned)rank);
}

static vly_status gather(part_hash *h, const void *mine, uint64_t n_bytes,
                         const vly_piece **pieces)
{
    return h->ranks->gather(h->ranks->context, h->part->tag++, mine, n_bytes,
                            pieces, h->error);
}

static void *take(part_hash *h, uint64_t count, size_t size)
{
    return vly_storage_alloc(&h->work, (size_t)count, size, true);
}

/* Numbers and extremes of the synapses of all ranks. */
static vly_status projections_sum(part_hash *h,
                                  const vly_connectome *connectome)
{
    const uint32_t n = h->desc->n_projections;
    const vly_piece *pieces;
    vly_status status = VLY_OK;
    for (uint32_t p = 0; p < n; p++)
        h->of[p] = (whole_projection){connectome->projections[p].n_synapses,
                                      connectome->projections[p].weight_min,
                                      connectome->projections[p].weight_max};
    VLY_TRY(gather(h, h->of, n * sizeof *h->of, &pieces));
    for (uint32_t r = 0; r < h->ranks->n_ranks; r++) {
        const whole_projection *theirs = pieces[r].data;
        if (pieces[r].n_bytes != n * sizeof *theirs)
            VLY_TRY(another(h, r));
        for (uint32_t p = 0; p < n && r != h->ranks->rank; p++) {
            whole_projection *sum = &h->of[p];
            if (theirs[p].n_synapses == 0)
                continue;
            if (sum->n_synapses == 0 || theirs[p].weight_min < sum->weight_min)
                sum->weight_min = theirs[p].weight_min;
            if (sum->n_synapses == 0 || theirs[p].weight_max > sum->weight_max)
                sum->weight_max = theirs[p].weight_max;
            sum->n_synapses += theirs[p].n_synapses;
        }
    }
out:
    return status;
}

/* ---- streams ------------------------------------------------------------ */

static uint32_t owner_of(const part_hash *h, const stream *s, uint64_t block)
{
    return (uint32_t)((block + s->number) % h->ranks->n_ranks);
}

static void block_end(part_hash *h, stream *s, uint64_t block, uint64_t n)
{
    if (owner_of(h, s, block) == h->ranks->rank && block < s->n_blocks)
        s->blocks[block] =
            vly_hash_bytes((vly_hash){{0, 0}}, s->buffer, (size_t)n);
}

/* bytes NULL: zeros */
static void stream_put(part_hash *h, stream *s, const void *bytes, uint64_t n)
{
    const unsigned char *from = bytes;
    while (n > 0) {
        const uint64_t block = s->at / VLY_FILE_BLOCK;
        const uint64_t in = s->at % VLY_FILE_BLOCK;
        const uint64_t some = n < VLY_FILE_BLOCK - in ? n : VLY_FILE_BLOCK - in;
        if (owner_of(h, s, block) == h->ranks->rank) {
            if (from)
                memcpy(s->buffer + in, from, (size_t)some);
            else
                memset(s->buffer + in, 0, (size_t)some);
        }
        s->at += some;
        n -= some;
        from = from ? from + some : NULL;
        if (in + some == VLY_FILE_BLOCK)
            block_end(h, s, block, VLY_FILE_BLOCK);
    }
}

/* Each array of a section begins at a multiple of 64 bytes. */
static void stream_align(part_hash *h, stream *s)
{
    stream_put(h, s, NULL,
               (VLY_FILE_ALIGN - s->at % VLY_FILE_ALIGN) % VLY_FILE_ALIGN);
}

static vly_status streams_init(part_hash *h, const vly_image *image)
{
    for (uint32_t i = 0; i < STREAMS; i++) {
        const uint64_t n = image->sections[section_of[i]].bytes;
        stream *s = &h->streams[i];
        s->number = i;
        s->n_blocks = (n + VLY_FILE_BLOCK - 1) / VLY_FILE_BLOCK;
        s->buffer = take(h, VLY_FILE_BLOCK, 1);
        s->blocks = take(h, s->n_blocks, sizeof *s->blocks);
        if (!s->buffer || !s->blocks)
            return vly_fail_nomem(h->error, VLY_FILE_BLOCK + s->n_blocks * 16,
                                  "the hash of the network");
    }
    return VLY_OK;
}

/* ---- synapses ----------------------------------------------------------- */

/* Of the present rows, the array of a stream: bytes of each rank. */
static vly_status array_put(part_hash *h, uint32_t number, const void *mine,
                            uint32_t n_rows)
{
    const uint32_t element = vly_section_element(section_of[number]);
    const uint32_t n_ranks = h->ranks->n_ranks;
    const uint32_t *own = h->lengths + (size_t)h->ranks->rank * h->n_lengths;
    const vly_piece *pieces;
    vly_status status = VLY_OK;
    uint64_t n_own = 0;
    uint64_t *at = h->taken;
    memset(at, 0, n_ranks * sizeof *at);
    for (uint32_t k = 0; k < n_rows; k++)
        n_own += own[k];
    VLY_TRY(gather(h, mine, n_own * element, &pieces));
    for (uint32_t k = 0; k < n_rows; k++)
        for (uint32_t r = 0; r < n_ranks; r++) {
            const uint64_t n =
                (uint64_t)h->lengths[(size_t)r * h->n_lengths + k] * element;
            if (n > pieces[r].n_bytes - at[r])
                VLY_TRY(another(h, r));
            if (n > 0)
                stream_put(h, &h->streams[number],
                           (const unsigned char *)pieces[r].data + at[r], n);
            at[r] += n;
        }
    for (uint32_t r = 0; r < n_ranks; r++)
        if (at[r] != pieces[r].n_bytes)
            VLY_TRY(another(h, r));
out:
    return status;
}

/* The lengths of rows [first, first + n) on all ranks. *end: where the rows
 * before them end in the whole; becomes where these end. */
static vly_status lengths_put(part_hash *h, const uint64_t *row, uint32_t first,
                              uint32_t n, uint64_t *end)
{
    uint32_t *own = h->lengths + (size_t)h->ranks->rank * h->n_lengths;
    const vly_piece *pieces;
    vly_status status = VLY_OK;
    for (uint32_t k = 0; k < n; k++)
        own[k] =
            (uint32_t)(row[first + (size_t)k + 1] - row[first + (size_t)k]);
    VLY_TRY(gather(h, own, n * sizeof *own, &pieces));
    for (uint32_t r = 0; r < h->ranks->n_ranks; r++) {
        if (pieces[r].n_bytes != n * sizeof *own)
            VLY_TRY(another(h, r));
        memmove(h->lengths + (size_t)r * h->n_lengths, pieces[r].data,
                n * sizeof *own);
    }
    for (uint32_t k = 0; k < n; k++) {
        for (uint32_t r = 0; r < h->ranks->n_ranks; r++)
            *end += h->lengths[(size_t)r * h->n_lengths + k];
        stream_put(h, &h->streams[ROWS], end, sizeof *end);
    }
out:
    return status;
}

/* The weights of n rows from `at` on; those that are all one are written out.
 */
static vly_status weights_put(part_hash *h, const vly_projection_desc *desc,
                              uint64_t at, uint64_t end, uint32_t n)
{
    vly_status status = VLY_OK;
    int16_t *made = NULL;
    if (desc->weight)
        return array_put(h, WEIGHTS, desc->weight + at, n);
    made = vly_malloc((size_t)(end - at), sizeof *made);
    if (!made)
        return vly_fail_nomem(h->error, (end - at) * sizeof *made,
                              "the hash of the network");
    for (uint64_t i = at; i < end; i++)
        made[i - at] = (int16_t)desc->one_weight;
    status = array_put(h, WEIGHTS, made, n);
    vly_free(made);
    return status;
}

static vly_status projection_put(part_hash *h, uint32_t p)
{
    const vly_projection_desc *desc = &h->desc->projections[p];
    const uint32_t n_rows = h->desc->areas[desc->source_area].n_neurons;
    const uint64_t mean = n_rows ? h->of[p].n_synapses / n_rows + 1 : 1;
    const uint64_t some = TOGETHER / mean + 1;
    const uint32_t together =
        some < h->n_lengths ? (uint32_t)some : h->n_lengths;
    uint64_t end = 0;
    vly_status status = VLY_OK;
    for (uint32_t i = 0; i < STREAMS; i++)
        if (i != DELAYS || desc->delay)
            stream_align(h, &h->streams[i]);
    stream_put(h, &h->streams[ROWS], &end, sizeof end);
    for (uint32_t first = 0; first < n_rows; first += together) {
        const uint32_t n =
            n_rows - first < together ? n_rows - first : together;
        const uint64_t at = desc->row[first];
        VLY_TRY(lengths_put(h, desc->row, first, n, &end));
        VLY_TRY(array_put(h, TARGETS, desc->target + at, n));
        VLY_TRY(weights_put(h, desc, at, desc->row[first + (size_t)n], n));
        if (desc->delay)
            VLY_TRY(array_put(h, DELAYS, desc->delay + at, n));
    }
out:
    return status;
}

/* The hashes of blocks that other ranks have made; then those of sections. */
static vly_status blocks_gather(part_hash *h, vly_hash checksums[VLY_SECTIONS])
{
    const vly_piece *pieces;
    vly_status status = VLY_OK;
    uint64_t n_all = 0;
    uint64_t n_mine = 0;
    for (uint32_t i = 0; i < STREAMS; i++)
        n_all += h->streams[i].n_blocks;
    vly_hash *mine = take(h, n_all, sizeof *mine);
    uint64_t *at = take(h, h->ranks->n_ranks, sizeof *at);
    if (!mine || !at)
        return vly_fail_nomem(h->error, n_all * sizeof *mine,
                              "the hash of the network");
    for (uint32_t i = 0; i < STREAMS; i++)
        for (uint64_t b = 0; b < h->streams[i].n_blocks; b++)
            if (owner_of(h, &h->streams[i], b) == h->ranks->rank)
                mine[n_mine++] = h->streams[i].blocks[b];
    VLY_TRY(gather(h, mine, n_mine * sizeof *mine, &pieces));
    for (uint32_t i = 0; i < STREAMS; i++) {
        stream *s = &h->streams[i];
        for (uint64_t b = 0; b < s->n_blocks; b++) {
            const uint32_t r = owner_of(h, s, b);
            if (pieces[r].n_bytes < (at[r] + 1) * sizeof *mine)
                VLY_TRY(another(h, r));
            memcpy(&s->blocks[b],
                   (const unsigned char *)pieces[r].data +
                       at[r]++ * sizeof *mine,
                   sizeof *mine);
        }
        checksums[section_of[i]] =
            vly_hash_bytes((vly_hash){{0, 0}}, s->blocks,
                           (size_t)s->n_blocks * sizeof *s->blocks);
    }
    for (uint32_t r = 0; r < h->ranks->n_ranks; r++)
        if (pieces[r].n_bytes != at[r] * sizeof *mine)
            VLY_TRY(another(h, r));
out:
    return status;
}

static vly_status synapses_hash(part_hash *h, const vly_image *image,
                                vly_hash checksums[VLY_SECTIONS])
{
    vly_status status;
    uint32_t most = 1;
    for (uint32_t a = 0; a < h->desc->n_areas; a++)
        most = h->desc->areas[a].n_neurons > most ? h->desc->areas[a].n_neurons
                                                  : most;
    const uint64_t rows = TOGETHER / h->ranks->n_ranks + 1;
    h->n_lengths = rows < most ? (uint32_t)rows : most;
    h->lengths =
        take(h, (uint64_t)h->n_lengths * h->ranks->n_ranks, sizeof *h->lengths);
    h->taken = take(h, h->ranks->n_ranks, sizeof *h->taken);
    if (!h->lengths || !h->taken)
        return vly_fail_nomem(h->error, TOGETHER * 4, "lengths of rows");
    VLY_TRY(streams_init(h, image));
    for (uint32_t p = 0; p < h->desc->n_projections; p++)
        VLY_TRY(projection_put(h, p));
    for (uint32_t i = 0; i < STREAMS; i++) {
        stream *s = &h->streams[i];
        if (s->at != image->sections[section_of[i]].bytes)
            VLY_TRY(vly_fail(
                h->error, VLY_E_INVALID,
                "the ranks' synapses have %llu bytes in section "
                "%u of the network, wanted %llu",
                (unsigned long long)s->at, section_of[i],
                (unsigned long long)image->sections[section_of[i]].bytes));
        if (s->at % VLY_FILE_BLOCK != 0)
            block_end(h, s, s->at / VLY_FILE_BLOCK, s->at % VLY_FILE_BLOCK);
    }
    VLY_TRY(blocks_gather(h, checksums));
out:
    return status;
}

/* ---- all ---------------------------------------------------------------- */

static uint32_t synapse_sections(void)
{
    uint32_t bits = 0;
    for (uint32_t i = 0; i < STREAMS; i++)
        bits |= UINT32_C(1) << section_of[i];
    return bits;
}

vly_status vly_part_hash(vly_maker *maker, vly_connectome *connectome)
{
    part_hash h = {.part = maker->part,
                   .ranks = maker->part->ranks,
                   .error = maker->error,
                   .desc = &connectome->desc};
    vly_hash checksums[VLY_SECTIONS];
    vly_image image = {0};
    vly_connectome whole = *connectome;
    const uint32_t n = h.desc->n_projections;
    vly_connectome_projection *projections = take(&h, n, sizeof *projections);
    vly_status status = VLY_OK;
    h.of = take(&h, n, sizeof *h.of);
    if (!projections || !h.of)
        VLY_TRY(vly_fail_nomem(h.error, n * sizeof *projections, "maps"));
    VLY_TRY(projections_sum(&h, connectome));
    whole.desc.n_synapses = connectome->n_synapses_whole;
    whole.projections = projections;
    for (uint32_t p = 0; p < n; p++) {
        projections[p] = connectome->projections[p];
        projections[p].n_synapses = h.of[p].n_synapses;
        projections[p].weight_min = h.of[p].weight_min;
        projections[p].weight_max = h.of[p].weight_max;
    }
    VLY_TRY(vly_image_lay(&image, &whole, h.error));
    VLY_TRY(vly_image_checksums(&image, synapse_sections(), maker->n_threads,
                                checksums, h.error));
    VLY_TRY(synapses_hash(&h, &image, checksums));
    vly_image_sign(&image, checksums);
    connectome->hash = image.header.hash;
out:
    vly_image_deinit(&image);
    vly_storage_deinit(&h.work);
    return status;
}
