/* SPDX-License-Identifier: Apache-2.0
 * The head of a stream as bytes: what stream_head.c reads.
 */
#include "base/error.h"
#include "base/memory.h"
#include "record/stream_format.h"

typedef struct head_sizes {
    size_t n_listed;
    size_t n_text;
    size_t n_bytes;
} head_sizes;

static bool measure(const vly_stream_head *head, uint32_t version,
                    head_sizes *sizes)
{
    bool fits = true;
    size_t bytes = 0;
    size_t part = 0;
    *sizes = (head_sizes){0};
    for (uint32_t a = 0; a < head->n_areas; a++)
        sizes->n_text += strlen(head->areas[a].name) + 1;
    for (uint32_t r = 0; r < head->n_reports; r++) {
        const vly_stream_report *report = &head->reports[r];
        sizes->n_text += strlen(report->field) + strlen(report->unit) + 2;
        sizes->n_listed += report->neurons ? report->n_neurons : 0;
    }
    bytes = vly_stream_head_bytes(version) + sizeof(vly_hash) + sizes->n_text;
    fits =
        vly_size_mul(head->n_areas, sizeof(vly_stream_file_area), &part) &&
        vly_size_add(bytes, part, &bytes) &&
        vly_size_mul(head->n_reports, sizeof(vly_stream_file_report), &part) &&
        vly_size_add(bytes, part, &bytes) &&
        vly_size_mul(sizes->n_listed, sizeof(uint32_t), &part) &&
        vly_size_add(bytes, part, &bytes);
    sizes->n_bytes = bytes;
    return fits && sizes->n_text <= UINT32_MAX;
}

static unsigned char *put(unsigned char *at, const void *bytes, size_t n)
{
    memcpy(at, bytes, n);
    return at + n;
}

/* Returns the place of the text in all texts. */
static uint32_t put_text(unsigned char *text, size_t *n, const char *what)
{
    uint32_t at = (uint32_t)*n;
    size_t length = strlen(what) + 1;
    memcpy(text + at, what, length);
    *n += length;
    return at;
}

static void fill_head(const vly_stream_head *head, uint32_t version,
                      const head_sizes *sizes, unsigned char *bytes)
{
    vly_stream_file_head file = {.magic = VLY_STREAM_MAGIC,
                                 .version = version,
                                 .endian = VLY_STREAM_ENDIAN,
                                 .head_bytes = sizes->n_bytes,
                                 .genome_hash = head->genome_hash,
                                 .connectome_hash = head->connectome_hash,
                                 .dt_ms = head->dt_ms,
                                 .first_burst = head->first_burst,
                                 .n_areas = head->n_areas,
                                 .n_reports = head->n_reports,
                                 .n_listed = sizes->n_listed,
                                 .text_bytes = sizes->n_text,
                                 .purpose = head->purpose,
                                 .connectome_digest = head->connectome_digest};
    size_t n_text = 0;
    unsigned char *text =
        bytes + sizes->n_bytes - sizeof(vly_hash) - sizes->n_text;
    unsigned char *at = put(bytes, &file, vly_stream_head_bytes(version));
    for (uint32_t a = 0; a < head->n_areas; a++) {
        const vly_spike_area *area = &head->areas[a];
        vly_stream_file_area entry = {area->first, area->n_neurons,
                                      area->recorded,
                                      put_text(text, &n_text, area->name)};
        at = put(at, &entry, sizeof entry);
    }
    for (uint32_t r = 0; r < head->n_reports; r++) {
        const vly_stream_report *report = &head->reports[r];
        vly_stream_file_report entry = {
            .record = report->record,
            .area = report->area,
            .type = report->type,
            .n_neurons = report->n_neurons,
            .interval = report->interval,
            .listed = report->neurons != NULL,
            .field = put_text(text, &n_text, report->field),
            .unit = put_text(text, &n_text, report->unit),
            .mean = report->mean};
        at = put(at, &entry, sizeof entry);
    }
    for (uint32_t r = 0; r < head->n_reports; r++)
        if (head->reports[r].neurons)
            at = put(at, head->reports[r].neurons,
                     head->reports[r].n_neurons * sizeof(uint32_t));
}

void vly_stream_head_seal(vly_stream_head_image *made)
{
    size_t n = made->n - sizeof(vly_hash);
    vly_hash sum = vly_hash_bytes((vly_hash){{0, 0}}, made->bytes, n);
    memcpy(made->bytes + n, &sum, sizeof sum);
}

vly_status vly_stream_head_make(const vly_stream_head *head, uint32_t version,
                                vly_stream_head_image *made, vly_error *error)
{
    head_sizes sizes;
    if (!measure(head, version, &sizes))
        return vly_fail_nomem(error, SIZE_MAX, "the head of a stream");
    made->bytes = vly_calloc(sizes.n_bytes, 1);
    if (!made->bytes)
        return vly_fail_nomem(error, sizes.n_bytes, "the head of a stream");
    made->n = sizes.n_bytes;
    fill_head(head, version, &sizes, made->bytes);
    vly_stream_head_seal(made);
    return VLY_OK;
}
