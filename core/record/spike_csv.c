/* SPDX-License-Identifier: Apache-2.0
 * Spikes as CSV. The common part of a burst's lines is formatted once a burst,
 * that of an area once a file: printf for every spike was four times slower.
 */
#include "record/spike_csv.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/writer.h"

typedef struct csv_area {
    char *text; /* "name," quoted if need be */
    size_t n_text;
    uint32_t first;
    uint32_t n_neurons;
    bool recorded;
} csv_area;

struct vly_spike_csv {
    vly_writer *writer;
    csv_area *areas;
    uint32_t n_areas;
    double dt_ms;
    uint64_t n_spikes;
};

/* RFC 4180: a field with a comma, a quote or a line break is quoted. */
static char *field_text(const char *name)
{
    char *text = vly_malloc(2 * strlen(name) + 4, 1);
    if (!text)
        return NULL;
    char *out = text;
    bool quoted = strpbrk(name, ",\"\r\n") != NULL;
    if (quoted)
        *out++ = '"';
    for (const char *c = name; *c != '\0'; c++) {
        if (*c == '"')
            *out++ = '"';
        *out++ = *c;
    }
    if (quoted)
        *out++ = '"';
    *out++ = ',';
    *out = '\0';
    return text;
}

static void free_csv(vly_spike_csv *csv)
{
    for (uint32_t a = 0; csv->areas && a < csv->n_areas; a++)
        vly_free(csv->areas[a].text);
    vly_free(csv->areas);
    vly_free(csv);
}

static vly_status copy_areas(vly_spike_csv *csv, const vly_spike_area *areas,
                             uint32_t n_areas, vly_error *error)
{
    csv->areas = vly_calloc(n_areas, sizeof *csv->areas);
    if (!csv->areas)
        return vly_fail_nomem(error, n_areas * sizeof *csv->areas, "areas");
    csv->n_areas = n_areas;
    for (uint32_t a = 0; a < n_areas; a++) {
        csv_area *area = &csv->areas[a];
        area->text = field_text(areas[a].name);
        if (!area->text)
            return vly_fail_nomem(error, strlen(areas[a].name), "a name");
        area->n_text = strlen(area->text);
        area->first = areas[a].first;
        area->n_neurons = areas[a].n_neurons;
        area->recorded = areas[a].recorded;
    }
    return VLY_OK;
}

static vly_status make_csv(const vly_spike_area *areas, uint32_t n_areas,
                           double dt_ms, vly_spike_csv **csv, vly_error *error)
{
    vly_spike_csv *made = vly_calloc(1, sizeof *made);
    if (!made)
        return vly_fail_nomem(error, sizeof *made, "a recorder");
    made->dt_ms = dt_ms;
    vly_status status = copy_areas(made, areas, n_areas, error);
    if (status != VLY_OK) {
        free_csv(made);
        return status;
    }
    *csv = made;
    return VLY_OK;
}

static vly_status open_csv(const char *path, bool replace,
                           const vly_spike_area *areas, uint32_t n_areas,
                           double dt_ms, vly_spike_csv **csv, vly_error *error)
{
    vly_spike_csv *made = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(make_csv(areas, n_areas, dt_ms, &made, error));
    status = vly_writer_open(path, replace, &made->writer, error);
    if (status == VLY_OK) {
        vly_writer_set_lines(made->writer);
        status =
            vly_writer_text(made->writer, VLY_SPIKE_CSV_HEADER "\n", error);
    }
    if (status != VLY_OK) {
        vly_spike_csv_abandon(made);
        return status;
    }
    *csv = made;
out:
    return status;
}

vly_status vly_spike_csv_open(const char *path, const vly_spike_area *areas,
                              uint32_t n_areas, double dt_ms,
                              vly_spike_csv **csv, vly_error *error)
{
    return open_csv(path, false, areas, n_areas, dt_ms, csv, error);
}

vly_status vly_spike_csv_create(const char *path, const vly_spike_area *areas,
                                uint32_t n_areas, double dt_ms,
                                vly_spike_csv **csv, vly_error *error)
{
    return open_csv(path, true, areas, n_areas, dt_ms, csv, error);
}

vly_status vly_spike_csv_resume(const char *path, const vly_spike_area *areas,
                                uint32_t n_areas, double dt_ms,
                                const vly_spike_place *place,
                                vly_spike_csv **csv, vly_error *error)
{
    vly_spike_csv *made = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(make_csv(areas, n_areas, dt_ms, &made, error));
    made->n_spikes = place->n_spikes;
    status = vly_writer_resume(path, place->n_bytes, &made->writer, error);
    if (status != VLY_OK) {
        free_csv(made);
        return status;
    }
    vly_writer_set_lines(made->writer);
    *csv = made;
out:
    return status;
}

vly_status vly_spike_csv_flush(vly_spike_csv *csv, vly_spike_place *place,
                               vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(vly_writer_flush(csv->writer, error));
    place->n_bytes = vly_writer_tell(csv->writer);
    place->n_spikes = csv->n_spikes;
out:
    return status;
}

vly_status vly_spike_csv_rewind(vly_spike_csv *csv,
                                const vly_spike_place *place, vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(vly_writer_rewind(csv->writer, place->n_bytes, error));
    csv->n_spikes = place->n_spikes;
out:
    return status;
}

/* Digits of value and a line break; returns their number. */
static size_t put_line_end(uint32_t value, char *out)
{
    char digits[10];
    size_t n = 0;
    do {
        digits[n++] = (char)('0' + value % 10);
        value /= 10;
    } while (value != 0);
    for (size_t i = 0; i < n; i++)
        out[i] = digits[n - 1 - i];
    out[n] = '\n';
    return n + 1;
}

vly_status vly_spike_csv_add(vly_spike_csv *csv, uint64_t burst,
                             const uint32_t *ids, uint32_t n_ids,
                             vly_error *error)
{
    vly_status status = VLY_OK;
    char head[64];
    /* 15 digits: 3 * 0.1 is 0.3 here, not 0.30000000000000004 */
    int n_head =
        snprintf(head, sizeof head, "%llu,%.15g,", (unsigned long long)burst,
                 ((double)burst + 1.0) * csv->dt_ms);
    uint32_t a = 0;
    for (uint32_t i = 0; i < n_ids; i++) {
        while (a < csv->n_areas &&
               ids[i] - csv->areas[a].first >= csv->areas[a].n_neurons)
            a++;
        if (a == csv->n_areas)
            return vly_fail(error, VLY_E_INVALID, "neuron %u is in no area",
                            ids[i]);
        const csv_area *area = &csv->areas[a];
        if (!area->recorded)
            continue;
        char tail[16];
        size_t n_tail = put_line_end(ids[i] - area->first, tail);
        vly_writer_bytes(csv->writer, head, (size_t)n_head, NULL);
        vly_writer_bytes(csv->writer, area->text, area->n_text, NULL);
        VLY_TRY(vly_writer_bytes(csv->writer, tail, n_tail, error));
        csv->n_spikes++;
    }
out:
    return status;
}

uint64_t vly_spike_csv_count(const vly_spike_csv *csv)
{
    return csv->n_spikes;
}

vly_status vly_spike_csv_close(vly_spike_csv *csv, vly_error *error)
{
    if (!csv)
        return VLY_OK;
    vly_status status = vly_writer_close(csv->writer, error);
    free_csv(csv);
    return status;
}

void vly_spike_csv_cancel(vly_spike_csv *csv)
{
    if (csv)
        vly_writer_cancel(csv->writer);
}

void vly_spike_csv_abandon(vly_spike_csv *csv)
{
    if (!csv)
        return;
    vly_writer_abandon(csv->writer);
    free_csv(csv);
}
