/* SPDX-License-Identifier: Apache-2.0
 * Sections of a file of version 1: each is one frame of zstd, with a checksum
 * that is chained over blocks of 1 MiB. Read only; README.md has the layout.
 */
#include <inttypes.h>
#include <string.h>

#include <zstd.h>

#include "base/error.h"
#include "base/memory.h"
#include "checkpoint/checkpoint_format.h"

static vly_status check_entry(const vly_checkpoint_source *source,
                              const vly_checkpoint_entry_1 *entry,
                              uint32_t part, uint64_t at, vly_error *error)
{
    const char *name = vly_checkpoint_part_name(part);
    uint64_t left = source->n_bytes - at;
    if (entry->id != part + 1 ||
        entry->element_bytes != vly_checkpoint_part_bytes(part) ||
        entry->offset != at)
        return vly_checkpoint_damaged(
            error, source->path, "section %s is not where it should be", name);
    if (entry->stored_bytes > left)
        return vly_checkpoint_damaged(error, source->path,
                                      "section %s has %" PRIu64
                                      " bytes, %" PRIu64 " are left",
                                      name, entry->stored_bytes, left);
    uint64_t most = entry->stored_bytes < UINT64_MAX / VLY_CHECKPOINT_RATIO_MAX
                        ? entry->stored_bytes * VLY_CHECKPOINT_RATIO_MAX
                        : UINT64_MAX;
    if (entry->n > most / entry->element_bytes ||
        (entry->n == 0) != (entry->stored_bytes == 0))
        return vly_checkpoint_damaged(error, source->path,
                                      "section %s claims %" PRIu64
                                      " elements in %" PRIu64 " bytes",
                                      name, entry->n, entry->stored_bytes);
    return VLY_OK;
}

static vly_status read_table(const vly_checkpoint_source *source,
                             vly_checkpoint_entry_1 table[VLY_PARTS],
                             vly_error *error)
{
    const vly_checkpoint_header *header = &source->header;
    size_t n_table = VLY_PARTS * sizeof *table;
    uint64_t at = VLY_CHECKPOINT_HEAD_BYTES_1;
    vly_status status = VLY_OK;
    if (header->n_sections != VLY_PARTS || header->entry_bytes != sizeof *table)
        return vly_checkpoint_damaged(error, source->path,
                                      "%" PRIu32
                                      " sections with entries of %" PRIu32
                                      " bytes, wanted %d of %zu",
                                      header->n_sections, header->entry_bytes,
                                      (int)VLY_PARTS, sizeof *table);
    if (source->n_bytes < at)
        return vly_checkpoint_damaged(
            error, source->path, "%" PRIu64 " bytes, wanted at least %zu (cut)",
            source->n_bytes, VLY_CHECKPOINT_HEAD_BYTES_1);
    VLY_TRY(vly_checkpoint_source_bytes(source, sizeof *header, table, n_table,
                                        error));
    vly_hash sum = vly_checkpoint_table_sum(table, n_table);
    if (memcmp(&sum, &header->table_checksum, sizeof sum) != 0)
        return vly_checkpoint_damaged(
            error, source->path, "checksum of the table of sections is wrong");
    for (uint32_t part = 0; part < VLY_PARTS; part++) {
        VLY_TRY(check_entry(source, &table[part], part, at, error));
        at += table[part].stored_bytes;
    }
    if (at != source->n_bytes)
        status = vly_checkpoint_damaged(
            error, source->path, "%" PRIu64 " bytes after the last section",
            source->n_bytes - at);
out:
    return status;
}

/* ---- one section ------------------------------------------------------- */

/* Processes the bytes of a section block by block. */
typedef struct section_work section_work;
typedef vly_status (*section_take)(section_work *work, size_t n,
                                   vly_error *error);
struct section_work {
    const vly_checkpoint_source *source;
    const vly_checkpoint_entry_1 *entry;
    unsigned char *block; /* [VLY_CHECKPOINT_BLOCK_1], the current bytes */
    vly_hash sum;
    ZSTD_DCtx *zstd;
    ZSTD_outBuffer out;
    size_t left; /* 0: the frame has ended */
};

static vly_status each_block(section_work *work, section_take take,
                             vly_error *error)
{
    const vly_checkpoint_entry_1 *entry = work->entry;
    vly_status status = VLY_OK;
    for (uint64_t at = 0; at < entry->stored_bytes;) {
        uint64_t left = entry->stored_bytes - at;
        size_t n = left < VLY_CHECKPOINT_BLOCK_1 ? (size_t)left
                                                 : VLY_CHECKPOINT_BLOCK_1;
        VLY_TRY(vly_checkpoint_source_bytes(work->source, entry->offset + at,
                                            work->block, n, error));
        VLY_TRY(take(work, n, error));
        at += n;
    }
out:
    return status;
}

static vly_status add_sum(section_work *work, size_t n, vly_error *error)
{
    (void)error;
    work->sum = vly_hash_bytes(work->sum, work->block, n);
    return VLY_OK;
}

static vly_status verify(section_work *work, vly_error *error)
{
    work->sum = (vly_hash){{work->entry->id, 0}};
    vly_status status = VLY_OK;
    VLY_TRY(each_block(work, add_sum, error));
    if (memcmp(&work->sum, &work->entry->checksum, sizeof work->sum) != 0)
        return vly_checkpoint_damaged(
            error, work->source->path, "checksum of section %s is wrong",
            vly_checkpoint_part_name(work->entry->id - 1));
out:
    return status;
}

static vly_status not_so_long(const section_work *work, vly_error *error)
{
    return vly_checkpoint_damaged(error, work->source->path,
                                  "section %s does not unpack to %" PRIu64
                                  " bytes",
                                  vly_checkpoint_part_name(work->entry->id - 1),
                                  work->entry->n * work->entry->element_bytes);
}

static vly_status inflate_block(section_work *work, size_t n, vly_error *error)
{
    ZSTD_inBuffer in = {work->block, n, 0};
    while (in.pos < in.size) {
        size_t before = in.pos + work->out.pos;
        work->left = ZSTD_decompressStream(work->zstd, &work->out, &in);
        if (ZSTD_isError(work->left))
            return vly_checkpoint_damaged(
                error, work->source->path, "section %s: zstd: %s",
                vly_checkpoint_part_name(work->entry->id - 1),
                ZSTD_getErrorName(work->left));
        /* another frame, or bytes after the end */
        if (in.pos < in.size &&
            (work->left == 0 || in.pos + work->out.pos == before))
            return not_so_long(work, error);
    }
    return VLY_OK;
}

static vly_status inflate(section_work *work, void *to, vly_error *error)
{
    const vly_checkpoint_entry_1 *entry = work->entry;
    work->out =
        (ZSTD_outBuffer){to, (size_t)(entry->n * entry->element_bytes), 0};
    work->left = 1;
    vly_status status = VLY_OK;
    VLY_TRY(each_block(work, inflate_block, error));
    status = work->left == 0 && work->out.pos == work->out.size
                 ? VLY_OK
                 : not_so_long(work, error);
out:
    return status;
}

static vly_status unpack(const vly_checkpoint_source *source,
                         const vly_checkpoint_entry_1 *entry,
                         unsigned char *block, void *to, vly_error *error)
{
    section_work work = {.source = source, .entry = entry, .block = block};
    vly_status status = VLY_OK;
    VLY_TRY(verify(&work, error));
    if (entry->n == 0)
        goto out;
    work.zstd = ZSTD_createDCtx();
    if (!work.zstd) {
        status = vly_fail_nomem(error, ZSTD_DStreamInSize(), "zstd");
        goto out;
    }
    status = inflate(&work, to, error);
out:
    ZSTD_freeDCtx(work.zstd);
    return status;
}

/* ---- all --------------------------------------------------------------- */

static vly_status unpack_all(vly_checkpoint_source *source,
                             const vly_checkpoint_entry_1 table[VLY_PARTS],
                             unsigned char *block, vly_error *error)
{
    vly_status status = VLY_OK;
    for (uint32_t part = 0; part < VLY_PARTS; part++) {
        const vly_checkpoint_entry_1 *entry = &table[part];
        vly_checkpoint_piece *piece = &source->pieces[part];
        piece->entry =
            (vly_checkpoint_entry){.id = part + 1,
                                   .type = vly_checkpoint_part_type(part),
                                   .element_bytes = entry->element_bytes,
                                   .n = entry->n,
                                   .n_frames = entry->n > 0};
        piece->stored_bytes = entry->stored_bytes;
        piece->owned = vly_malloc((size_t)entry->n, entry->element_bytes);
        if (!piece->owned)
            return vly_fail_nomem(error, entry->n * entry->element_bytes,
                                  "a checkpoint");
        VLY_TRY(unpack(source, entry, block, piece->owned, error));
    }
out:
    return status;
}

vly_status vly_checkpoint_read_old(vly_checkpoint_source *source,
                                   vly_error *error)
{
    vly_checkpoint_entry_1 table[VLY_PARTS];
    unsigned char *block = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(read_table(source, table, error));
    block = vly_malloc(1, VLY_CHECKPOINT_BLOCK_1);
    source->pieces = vly_calloc(VLY_PARTS, sizeof *source->pieces);
    if (!block || !source->pieces) {
        status = vly_fail_nomem(error, VLY_CHECKPOINT_BLOCK_1, "a checkpoint");
        goto out;
    }
    source->n_pieces = VLY_PARTS;
    status = unpack_all(source, table, block, error);
out:
    vly_free(block);
    return status;
}
