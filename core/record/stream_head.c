/* SPDX-License-Identifier: Apache-2.0
 * Reading the head of a stream: its areas and reports.
 */
#include <errno.h>
#include <stdio.h>

#include "base/error.h"
#include "base/memory.h"
#include "record/stream_format.h"

static vly_status damaged(const vly_stream_heading *heading, const char *what,
                          vly_error *error)
{
    return vly_fail(error, VLY_E_PARSE, "%s: damaged stream: %s", heading->path,
                    what);
}

static vly_status fail_read(const vly_stream_heading *heading, vly_error *error)
{
    return vly_fail(error, VLY_E_IO, "%s: cannot be read: %s", heading->path,
                    strerror(errno));
}

static vly_status read_file_head(vly_stream_heading *heading,
                                 vly_stream_file_head *file, vly_error *error)
{
    size_t n_oldest = vly_stream_head_bytes(VLY_STREAM_VERSION_OLDEST);
    errno = 0;
    *file = (vly_stream_file_head){.version = 0};
    size_t n = fread(file, 1, n_oldest, heading->file);
    if (ferror(heading->file))
        return fail_read(heading, error);
    if (n < sizeof file->magic ||
        memcmp(file->magic, VLY_STREAM_MAGIC, sizeof file->magic) != 0)
        return vly_fail(error, VLY_E_PARSE,
                        "%s: not a stream of a recording, wanted one",
                        heading->path);
    if (n < n_oldest)
        return damaged(heading, "it ends in its head", error);
    if (file->endian != VLY_STREAM_ENDIAN)
        return damaged(heading, "written in another byte order", error);
    if (file->version < VLY_STREAM_VERSION_OLDEST ||
        file->version > VLY_STREAM_VERSION)
        return vly_fail(error, VLY_E_PARSE,
                        "%s: stream of version %u, wanted %u to %u",
                        heading->path, file->version, VLY_STREAM_VERSION_OLDEST,
                        VLY_STREAM_VERSION);
    n = vly_stream_head_bytes(file->version) - n_oldest;
    if (fread((unsigned char *)file + n_oldest, 1, n, heading->file) < n) {
        if (ferror(heading->file))
            return fail_read(heading, error);
        return damaged(heading, "it ends in its head", error);
    }
    return VLY_OK;
}

/* The size of the head as stored in it. */
static bool is_sized(const vly_stream_heading *heading,
                     const vly_stream_file_head *file)
{
    uint64_t n = vly_stream_head_bytes(file->version) + sizeof(vly_hash);
    if (file->head_bytes > heading->n_file || file->text_bytes > UINT32_MAX ||
        file->n_listed > UINT64_C(1) << 40)
        return false;
    n += file->n_areas * (uint64_t)sizeof(vly_stream_file_area);
    n += file->n_reports * (uint64_t)sizeof(vly_stream_file_report);
    n += file->n_listed * sizeof(uint32_t) + file->text_bytes;
    return n == file->head_bytes;
}

static const char *text_at(const char *text, uint64_t n_text, uint32_t at)
{
    if (at >= n_text || !memchr(text + at, '\0', n_text - at))
        return NULL;
    return text + at;
}

static bool read_areas(vly_stream_heading *heading, const unsigned char *at,
                       const char *text, uint64_t n_text)
{
    uint64_t next = 0;
    for (uint32_t a = 0; a < heading->head.n_areas; a++) {
        vly_stream_file_area entry;
        memcpy(&entry, at + a * sizeof entry, sizeof entry);
        const char *name = text_at(text, n_text, entry.name);
        if (!name || entry.first != next || entry.recorded > 1)
            return false;
        next += entry.n_neurons;
        heading->areas[a] = (vly_spike_area){name, entry.first, entry.n_neurons,
                                             entry.recorded != 0};
    }
    heading->n_neurons = next;
    return next <= UINT32_MAX;
}

static bool is_ascending(const uint32_t *list, uint32_t n, uint32_t limit)
{
    for (uint32_t i = 0; i < n; i++)
        if (list[i] >= limit || (i > 0 && list[i] <= list[i - 1]))
            return false;
    return true;
}

static bool read_reports(vly_stream_heading *heading, const unsigned char *at,
                         const uint32_t *listed, uint64_t n_listed,
                         const char *text, uint64_t n_text)
{
    for (uint32_t r = 0; r < heading->head.n_reports; r++) {
        vly_stream_file_report entry;
        memcpy(&entry, at + r * sizeof entry, sizeof entry);
        const char *field = text_at(text, n_text, entry.field);
        const char *unit = text_at(text, n_text, entry.unit);
        if (!field || !unit || entry.interval == 0 ||
            entry.area >= heading->head.n_areas || entry.type > VLY_TYPE_U32 ||
            entry.mean > 1)
            return false;
        uint32_t limit = heading->areas[entry.area].n_neurons;
        if (entry.n_neurons > limit ||
            (entry.listed == 0 && entry.n_neurons != limit) ||
            (entry.mean && entry.n_neurons == 0))
            return false;
        if (entry.listed != 0 &&
            (entry.n_neurons > n_listed ||
             !is_ascending(listed, entry.n_neurons, limit)))
            return false;
        heading->reports[r] =
            (vly_stream_report){.record = entry.record,
                                .area = entry.area,
                                .type = entry.type,
                                .n_neurons = entry.n_neurons,
                                .neurons = entry.listed != 0 ? listed : NULL,
                                .mean = entry.mean != 0,
                                .field = field,
                                .unit = unit,
                                .interval = entry.interval};
        if (entry.listed != 0) {
            listed += entry.n_neurons;
            n_listed -= entry.n_neurons;
        }
    }
    return n_listed == 0;
}

static vly_status read_parts(vly_stream_heading *heading,
                             const vly_stream_file_head *file, vly_error *error)
{
    size_t n = (size_t)file->head_bytes;
    size_t n_sum = n - sizeof(vly_hash);
    unsigned char *bytes = heading->bytes;
    vly_hash sum = vly_hash_bytes((vly_hash){{0, 0}}, bytes, n_sum);
    if (memcmp(&sum, bytes + n_sum, sizeof sum) != 0)
        return damaged(heading, "the checksum of its head is another", error);
    const unsigned char *areas = bytes + vly_stream_head_bytes(file->version);
    const unsigned char *reports =
        areas + file->n_areas * sizeof(vly_stream_file_area);
    const unsigned char *listed =
        reports + file->n_reports * sizeof(vly_stream_file_report);
    const char *text = (const char *)(listed + file->n_listed * 4);
    heading->head =
        (vly_stream_head){.genome_hash = file->genome_hash,
                          .connectome_hash = file->connectome_hash,
                          .connectome_digest = file->connectome_digest,
                          .dt_ms = file->dt_ms,
                          .first_burst = file->first_burst,
                          .areas = heading->areas,
                          .n_areas = file->n_areas,
                          .n_reports = file->n_reports,
                          .reports = heading->reports,
                          .purpose = file->purpose};
    /* the parts before are multiples of 4 bytes, and malloc's block is aligned
     */
    const void *aligned = listed;
    if (file->purpose > 2 ||
        !read_areas(heading, areas, text, file->text_bytes) ||
        !read_reports(heading, reports, aligned, file->n_listed, text,
                      file->text_bytes) ||
        !(file->dt_ms > 0))
        return damaged(heading, "its head contradicts itself", error);
    return VLY_OK;
}

vly_status vly_stream_heading_read(vly_stream_heading *heading,
                                   vly_error *error)
{
    vly_stream_file_head file;
    vly_status status = VLY_OK;
    VLY_TRY(read_file_head(heading, &file, error));
    if (!is_sized(heading, &file))
        return damaged(heading, "it ends in its head, or its sizes are wrong",
                       error);
    size_t n = (size_t)file.head_bytes;
    heading->n_bytes = n;
    heading->bytes = vly_malloc(n, 1);
    heading->areas = vly_calloc(file.n_areas, sizeof *heading->areas);
    heading->reports = vly_calloc(file.n_reports, sizeof *heading->reports);
    if (!heading->bytes || !heading->areas || !heading->reports)
        return vly_fail_nomem(error, n, "the head of a stream");
    size_t n_head = vly_stream_head_bytes(file.version);
    memcpy(heading->bytes, &file, n_head);
    errno = 0;
    size_t got = fread(heading->bytes + n_head, 1, n - n_head, heading->file);
    if (ferror(heading->file))
        return fail_read(heading, error);
    if (got < n - n_head)
        return damaged(heading, "it ends in its head", error);
    status = read_parts(heading, &file, error);
out:
    return status;
}

void vly_stream_heading_deinit(vly_stream_heading *heading)
{
    if (heading->file)
        fclose(heading->file);
    vly_free(heading->path);
    vly_free(heading->bytes);
    vly_free(heading->areas);
    vly_free(heading->reports);
}
