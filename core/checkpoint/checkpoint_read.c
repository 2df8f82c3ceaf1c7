/* SPDX-License-Identifier: Apache-2.0
 * Header, tables and sections of a file. Magic, version, sizes and checksums
 * are checked before use; checkpoint_load.c checks the content of the sections.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <zstd.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/transfer.h"
#include "checkpoint/checkpoint_format.h"

static vly_status open_file(vly_checkpoint_source *source, vly_error *error)
{
    struct stat info;
    /* opening a pipe without a writer would block */
    source->file = open(source->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (source->file < 0 || fstat(source->file, &info) != 0)
        return vly_fail(error, VLY_E_IO, "%s: cannot be read: %s", source->path,
                        strerror(errno));
    if (!S_ISREG(info.st_mode))
        return vly_fail(error, S_ISDIR(info.st_mode) ? VLY_E_IO : VLY_E_INVALID,
                        "%s: cannot be read: not a file, wanted a checkpoint",
                        source->path);
    source->n_bytes = (uint64_t)info.st_size;
    return VLY_OK;
}

vly_status vly_checkpoint_source_bytes(const vly_checkpoint_source *source,
                                       uint64_t offset, void *to, size_t n,
                                       vly_error *error)
{
    unsigned char *bytes = to;
    for (size_t at = 0; at < n;) {
        ssize_t done =
            vly_transfer_read_at(source->file, bytes + at, n - at, offset + at);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return vly_fail(error, VLY_E_IO, "%s: cannot be read: %s",
                            source->path, strerror(errno));
        if (done == 0)
            return vly_checkpoint_damaged(error, source->path,
                                          "cut while it was being read");
        at += (size_t)done;
    }
    return VLY_OK;
}

/* ---- header ------------------------------------------------------------ */

static vly_status check_version(const vly_checkpoint_source *source,
                                vly_error *error)
{
    uint32_t found = source->header.version;
    if (found >= VLY_CHECKPOINT_VERSION_OLDEST &&
        found <= VLY_CHECKPOINT_VERSION)
        return VLY_OK;
    return vly_fail(error, VLY_E_PARSE,
                    "%s: checkpoint of version %" PRIu32
                    ", %s than the versions %u to %u that this engine reads",
                    source->path, found,
                    found < VLY_CHECKPOINT_VERSION ? "older" : "newer",
                    VLY_CHECKPOINT_VERSION_OLDEST, VLY_CHECKPOINT_VERSION);
}

/* Magic and version are at the same place in every version, so they are checked
 * even if the rest is missing. */
static vly_status check_magic(vly_checkpoint_source *source, vly_error *error)
{
    size_t n = sizeof source->header;
    n = source->n_bytes < n ? (size_t)source->n_bytes : n;
    vly_status status = VLY_OK;
    VLY_TRY(vly_checkpoint_source_bytes(source, 0, &source->header, n, error));
    size_t n_magic = sizeof source->header.magic;
    if (memcmp(source->header.magic, VLY_CHECKPOINT_MAGIC,
               n < n_magic ? n : n_magic) != 0)
        return vly_fail(error, VLY_E_PARSE,
                        "%s: not a checkpoint: it does not begin with %s",
                        source->path, VLY_CHECKPOINT_MAGIC);
    if (n >= offsetof(vly_checkpoint_header, file_bytes)) {
        if (source->header.endian != VLY_CHECKPOINT_ENDIAN)
            return vly_checkpoint_damaged(
                error, source->path,
                "byte order 0x%08" PRIX32 ", wanted 0x%08" PRIX32,
                source->header.endian, VLY_CHECKPOINT_ENDIAN);
        VLY_TRY(check_version(source, error));
    }
    if (source->n_bytes < sizeof source->header)
        return vly_checkpoint_damaged(
            error, source->path, "%" PRIu64 " bytes, wanted at least %zu (cut)",
            source->n_bytes, sizeof source->header);
out:
    return status;
}

static vly_status check_header(vly_checkpoint_source *source, vly_error *error)
{
    const vly_checkpoint_header *header = &source->header;
    vly_status status = VLY_OK;
    VLY_TRY(check_magic(source, error));
    vly_hash sum = vly_checkpoint_header_sum(header);
    if (memcmp(&sum, &header->header_checksum, sizeof sum) != 0)
        return vly_checkpoint_damaged(error, source->path,
                                      "checksum of the header is wrong");
    if (header->file_bytes != source->n_bytes)
        return vly_checkpoint_damaged(error, source->path,
                                      "%" PRIu64 " bytes, wanted %" PRIu64
                                      " (cut or grown)",
                                      source->n_bytes, header->file_bytes);
    if (!memchr(header->engine, 0, sizeof header->engine))
        return vly_checkpoint_damaged(error, source->path,
                                      "the engine's version does not end");
out:
    return status;
}

/* ---- tables ------------------------------------------------------------ */

static const char *part_fault(const vly_checkpoint_entry *entry, uint32_t part)
{
    static const char none[VLY_TRACE_NAME_BYTES];
    if (entry->id != part + 1 ||
        entry->element_bytes != vly_checkpoint_part_bytes(part) ||
        entry->type != vly_checkpoint_part_type(part) || entry->index != 0 ||
        memcmp(entry->name, none, sizeof none) != 0)
        return "is not where it should be";
    return NULL;
}

static vly_status check_entry(const vly_checkpoint_source *source, uint32_t i,
                              uint64_t first_frame, vly_error *error)
{
    const vly_checkpoint_entry *entry = &source->pieces[i].entry;
    const char *fault = NULL;
    char name[64];
    if (i < VLY_PARTS) {
        fault = part_fault(entry, i);
        snprintf(name, sizeof name, "%s", vly_checkpoint_part_name(i));
    } else {
        fault = vly_checkpoint_entry_fault(
            entry, i > VLY_PARTS ? &source->pieces[i - 1].entry : NULL);
        if (!fault &&
            entry->element_bytes != vly_stored_bytes((vly_stored)entry->type))
            fault = "has elements of another size than its type";
        snprintf(name, sizeof name, "%" PRIu32 " (id %" PRIu32 ")", i + 1,
                 entry->id);
    }
    if (!fault && (entry->reserved != 0 || entry->first_frame != first_frame ||
                   entry->frame_elements !=
                       vly_checkpoint_frame_elements(entry->element_bytes) ||
                   entry->n_frames != vly_checkpoint_frame_count(
                                          entry->n, entry->element_bytes) ||
                   entry->n_frames > source->header.n_frames - first_frame))
        fault = "is cut into other frames than it should be";
    if (fault)
        return vly_checkpoint_damaged(error, source->path, "section %s %s",
                                      name, fault);
    return VLY_OK;
}

/* The entries and the maximum size of a frame have been checked. */
static vly_status check_frames(vly_checkpoint_source *source,
                               const vly_checkpoint_frame *frames, uint64_t at,
                               vly_error *error)
{
    uint64_t f = 0;
    for (uint32_t i = 0; i < source->n_pieces; i++) {
        vly_checkpoint_piece *piece = &source->pieces[i];
        char name[64];
        vly_checkpoint_entry_name(&piece->entry, name);
        for (uint64_t k = 0; k < piece->entry.n_frames; k++, f++) {
            size_t n = vly_checkpoint_frame_bytes(&piece->entry, k);
            uint64_t stored = frames[f].stored_bytes;
            if (frames[f].offset != at)
                return vly_checkpoint_damaged(
                    error, source->path,
                    "frame %" PRIu64 " of section %s is not where it should be",
                    k, name);
            if (stored > source->n_bytes - at)
                return vly_checkpoint_damaged(
                    error, source->path,
                    "section %s has %" PRIu64 " bytes, %" PRIu64 " are left",
                    name, stored, source->n_bytes - at);
            if (stored > ZSTD_compressBound(n) ||
                n > stored * VLY_CHECKPOINT_RATIO_MAX)
                return vly_checkpoint_damaged(
                    error, source->path,
                    "section %s claims a frame of %zu bytes in %" PRIu64, name,
                    n, stored);
            at += stored;
            piece->stored_bytes += stored;
        }
    }
    if (at != source->n_bytes)
        return vly_checkpoint_damaged(
            error, source->path, "%" PRIu64 " bytes after the last section",
            source->n_bytes - at);
    return VLY_OK;
}

static vly_status check_counts(const vly_checkpoint_source *source,
                               vly_error *error)
{
    const vly_checkpoint_header *header = &source->header;
    static const uint8_t none[sizeof header->reserved];
    uint64_t left = source->n_bytes - sizeof *header;
    if (header->entry_bytes != sizeof(vly_checkpoint_entry) ||
        header->n_sections < VLY_PARTS ||
        memcmp(header->reserved, none, sizeof none) != 0)
        return vly_checkpoint_damaged(
            error, source->path,
            "%" PRIu32 " sections with entries of %" PRIu32
            " bytes, wanted %d or more of %zu",
            header->n_sections, header->entry_bytes, (int)VLY_PARTS,
            sizeof(vly_checkpoint_entry));
    if (header->n_sections > left / sizeof(vly_checkpoint_entry) ||
        header->n_frames >
            (left - header->n_sections * sizeof(vly_checkpoint_entry)) /
                sizeof(vly_checkpoint_frame))
        return vly_checkpoint_damaged(
            error, source->path,
            "%" PRIu32 " sections and %" PRIu64
            " frames do not fit into %" PRIu64 " bytes",
            header->n_sections, header->n_frames, source->n_bytes);
    return VLY_OK;
}

/* n entries of so many bytes, and the checksum of them all. */
static vly_status read_table(const vly_checkpoint_source *source, uint64_t at,
                             size_t n, size_t size, const vly_hash *checksum,
                             const char *what, void **table, vly_error *error)
{
    *table = vly_malloc(n, size);
    if (!*table)
        return vly_fail_nomem(error, n * size, "a checkpoint");
    vly_status status = VLY_OK;
    VLY_TRY(vly_checkpoint_source_bytes(source, at, *table, n * size, error));
    vly_hash sum = vly_checkpoint_table_sum(*table, n * size);
    if (memcmp(&sum, checksum, sizeof sum) != 0)
        return vly_checkpoint_damaged(
            error, source->path, "checksum of the table of %s is wrong", what);
out:
    return status;
}

static vly_status make_pieces(vly_checkpoint_source *source,
                              const vly_checkpoint_entry *entries,
                              vly_error *error)
{
    uint64_t first_frame = 0;
    vly_status status = VLY_OK;
    source->pieces =
        vly_calloc(source->header.n_sections, sizeof *source->pieces);
    if (!source->pieces)
        return vly_fail_nomem(
            error, source->header.n_sections * sizeof *source->pieces,
            "a checkpoint");
    source->n_pieces = source->header.n_sections;
    for (uint32_t i = 0; i < source->n_pieces; i++)
        source->pieces[i].entry = entries[i];
    for (uint32_t i = 0; i < source->n_pieces; i++) {
        VLY_TRY(check_entry(source, i, first_frame, error));
        first_frame += entries[i].n_frames;
    }
    if (first_frame != source->header.n_frames)
        status = vly_checkpoint_damaged(
            error, source->path,
            "%" PRIu64 " frames, and the sections have %" PRIu64,
            source->header.n_frames, first_frame);
out:
    return status;
}

static vly_status read_sections(vly_checkpoint_source *source, vly_error *error)
{
    const vly_checkpoint_header *header = &source->header;
    void *entries = NULL;
    void *frames = NULL;
    uint64_t at = sizeof *header;
    vly_status status = VLY_OK;
    VLY_TRY(check_counts(source, error));
    VLY_TRY(read_table(source, at, header->n_sections,
                       sizeof(vly_checkpoint_entry), &header->table_checksum,
                       "sections", &entries, error));
    at += header->n_sections * sizeof(vly_checkpoint_entry);
    VLY_TRY(read_table(source, at, (size_t)header->n_frames,
                       sizeof(vly_checkpoint_frame), &header->frames_checksum,
                       "frames", &frames, error));
    at += header->n_frames * sizeof(vly_checkpoint_frame);
    VLY_TRY(make_pieces(source, entries, error));
    VLY_TRY(check_frames(source, frames, at, error));
    for (uint32_t i = 0; i < source->n_pieces; i++) {
        vly_checkpoint_piece *piece = &source->pieces[i];
        piece->owned =
            vly_malloc((size_t)piece->entry.n, piece->entry.element_bytes);
        if (!piece->owned) {
            status = vly_fail_nomem(error,
                                    piece->entry.n * piece->entry.element_bytes,
                                    "a checkpoint");
            goto out;
        }
    }
    status = vly_frames_read(source->file, source->path, source->pieces,
                             source->n_pieces, frames, error);
out:
    vly_free(entries);
    vly_free(frames);
    return status;
}

vly_status vly_checkpoint_source_read(vly_checkpoint_source *source,
                                      vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(open_file(source, error));
    VLY_TRY(check_header(source, error));
    status = source->header.version == 1
                 ? vly_checkpoint_read_old(source, error)
                 : read_sections(source, error);
out:
    return status;
}

void vly_checkpoint_source_deinit(vly_checkpoint_source *source)
{
    if (source->file >= 0)
        close(source->file);
    for (uint32_t i = 0; i < source->n_pieces; i++)
        vly_free(source->pieces[i].owned);
    vly_free(source->pieces);
}
