/* SPDX-License-Identifier: Apache-2.0
 * results.csv: one row a point, RFC 4180. The columns of the areas are all that
 * any point has, in the order in which they come up.
 */
#include "tools/sweep/sweep.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/writer.h"
#include "tools/cli/tool.h"

typedef struct sweep_columns {
    char **areas;
    uint32_t n;
} sweep_columns;

static void columns_deinit(sweep_columns *columns)
{
    for (uint32_t i = 0; i < columns->n; i++)
        vly_free(columns->areas[i]);
    vly_free(columns->areas);
}

static vly_status add_areas(const json_value *summary, sweep_columns *columns,
                            vly_error *error)
{
    const json_value *areas = json_find(summary, "areas");
    for (uint32_t i = 0; areas && i < areas->n_items; i++) {
        const char *id = json_find_text(&areas->items[i], "id");
        uint32_t k = 0;
        if (!id)
            continue;
        /* almost always the same areas in the same order */
        if (i < columns->n && strcmp(columns->areas[i], id) == 0)
            continue;
        while (k < columns->n && strcmp(columns->areas[k], id) != 0)
            k++;
        if (k < columns->n)
            continue;
        char **grown = vly_realloc(columns->areas, (size_t)columns->n + 1,
                                   sizeof *columns->areas);
        char *name = vly_strdup(id);
        if (grown)
            columns->areas = grown;
        if (!grown || !name) {
            vly_free(name);
            return vly_fail_nomem(error, strlen(id), "a column");
        }
        columns->areas[columns->n++] = name;
    }
    return VLY_OK;
}

/* ---- cells ------------------------------------------------------------ */

static vly_status put_cell(vly_writer *writer, const char *text,
                           vly_error *error)
{
    vly_status status = VLY_OK;
    if (!strpbrk(text, ",\"\r\n"))
        return vly_writer_text(writer, text, error);
    VLY_TRY(vly_writer_text(writer, "\"", error));
    for (const char *c = text; *c != '\0'; c++) {
        char pair[3] = {*c, *c == '"' ? '"' : '\0', '\0'};
        VLY_TRY(vly_writer_text(writer, pair, error));
    }
    VLY_TRY(vly_writer_text(writer, "\"", error));
out:
    return status;
}

static vly_status put_number(vly_writer *writer, const json_value *summary,
                             const char *key, vly_error *error)
{
    const json_value *value = json_find(summary, key);
    if (!value || value->kind != JSON_NUMBER)
        return vly_writer_text(writer, ",", error);
    return vly_writer_print(writer, error, ",%s",
                            tool_number_text(value->number));
}

static const json_value *find_area(const json_value *summary, const char *name,
                                   uint32_t guess)
{
    const json_value *areas = json_find(summary, "areas");
    uint32_t n = areas ? areas->n_items : 0;
    for (uint32_t i = 0; i < n; i++) {
        const json_value *area = &areas->items[(guess + i) % n];
        const char *id = json_find_text(area, "id");
        if (id && strcmp(id, name) == 0)
            return area;
    }
    return NULL;
}

/* ---- rows ------------------------------------------------------------- */

static const char *const seed_names[] = {"network", "state", "input"};
static const char *const numbers[] = {"bursts", "neurons", "synapses", "spikes",
                                      "synaptic_events"};
static const char *const texts[] = {
    "digest",          "state_digest",      "genome_hash",
    "connectome_hash", "connectome_digest", "backend"};
static const char *const times[] = {"build_s", "wall_s"};

static vly_status put_head(vly_writer *writer, const sweep_plan *plan,
                           const sweep_columns *columns, vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(vly_writer_text(writer, "point", error));
    for (uint32_t a = 0; a < plan->n_axes; a++) {
        if (!plan->axes[a].path)
            continue;
        VLY_TRY(vly_writer_text(writer, ",", error));
        VLY_TRY(put_cell(writer, plan->axes[a].path, error));
    }
    for (uint32_t i = 0; i < 3; i++)
        VLY_TRY(vly_writer_print(writer, error, ",seed_%s", seed_names[i]));
    VLY_TRY(vly_writer_text(writer, ",status", error));
    for (uint32_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        VLY_TRY(vly_writer_print(writer, error, ",%s", numbers[i]));
    for (uint32_t i = 0; i < columns->n; i++) {
        VLY_TRY(vly_writer_text(writer, ",rate_hz.", error));
        VLY_TRY(put_cell(writer, columns->areas[i], error));
    }
    for (uint32_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        VLY_TRY(vly_writer_print(writer, error, ",%s", texts[i]));
    for (uint32_t i = 0; i < sizeof times / sizeof times[0]; i++)
        VLY_TRY(vly_writer_print(writer, error, ",%s", times[i]));
    VLY_TRY(vly_writer_text(writer, ",reason\n", error));
out:
    return status;
}

static vly_status put_settings(vly_writer *writer, const sweep_plan *plan,
                               const sweep_point *point,
                               const json_value *summary, vly_error *error)
{
    const json_value *seeds = json_find(summary, "seeds");
    const char *seed = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(vly_writer_print(writer, error, "%" PRIu64, point->index));
    for (uint32_t a = 0; a < plan->n_axes; a++) {
        const char *value = sweep_value(plan, point->index, a);
        if (!plan->axes[a].path) {
            seed = value;
            continue;
        }
        VLY_TRY(vly_writer_text(writer, ",", error));
        VLY_TRY(put_cell(writer, value, error));
    }
    /* as text if it was given: a JSON number above 2^53 is not exact */
    for (uint32_t i = 0; i < 3; i++) {
        if (seed)
            VLY_TRY(vly_writer_print(writer, error, ",%s", seed));
        else
            VLY_TRY(put_number(writer, seeds, seed_names[i], error));
    }
out:
    return status;
}

static vly_status put_row(vly_writer *writer, const sweep_plan *plan,
                          const sweep_point *point,
                          const sweep_columns *columns,
                          const json_value *summary, vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(put_settings(writer, plan, point, summary, error));
    VLY_TRY(vly_writer_text(writer,
                            summary                        ? ",done"
                            : point->state == SWEEP_FAILED ? ",failed"
                                                           : ",not run",
                            error));
    for (uint32_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        VLY_TRY(put_number(writer, summary, numbers[i], error));
    for (uint32_t i = 0; i < columns->n; i++)
        VLY_TRY(put_number(writer, find_area(summary, columns->areas[i], i),
                           "rate_hz", error));
    for (uint32_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        const char *text = json_find_text(summary, texts[i]);
        VLY_TRY(vly_writer_text(writer, ",", error));
        VLY_TRY(put_cell(writer, text ? text : "", error));
    }
    for (uint32_t i = 0; i < sizeof times / sizeof times[0]; i++)
        VLY_TRY(put_number(writer, summary, times[i], error));
    VLY_TRY(vly_writer_text(writer, ",", error));
    if (point->reason)
        VLY_TRY(put_cell(writer, point->reason, error));
    VLY_TRY(vly_writer_text(writer, "\n", error));
out:
    return status;
}

static vly_status put_rows(vly_writer *writer, const sweep_plan *plan,
                           const sweep_columns *columns, vly_error *error)
{
    vly_status status = put_head(writer, plan, columns, error);
    for (uint64_t i = 0; status == VLY_OK && i < plan->n_points; i++) {
        const sweep_point *point = &plan->points[i];
        json_value summary = {0};
        bool there = point->state == SWEEP_DONE &&
                     sweep_point_summary(plan, point, &summary);
        status = put_row(writer, plan, point, columns, there ? &summary : NULL,
                         error);
        if (there)
            json_free(&summary);
    }
    return status;
}

vly_status sweep_table_save(const sweep_plan *plan, vly_error *error)
{
    sweep_columns columns = {0};
    vly_writer *writer = NULL;
    vly_status status = VLY_OK;
    char *path = vly_format("%s/results.csv", plan->folder);
    if (!path)
        return vly_fail_nomem(error, 4096, "a file name");
    for (uint64_t i = 0; i < plan->n_points; i++) {
        json_value summary = {0};
        if (plan->points[i].state != SWEEP_DONE ||
            !sweep_point_summary(plan, &plan->points[i], &summary))
            continue;
        status = add_areas(&summary, &columns, error);
        json_free(&summary);
        VLY_TRY(status);
    }
    VLY_TRY(vly_writer_open(path, true, &writer, error));
    VLY_TRY(put_rows(writer, plan, &columns, error));
    status = vly_writer_close(writer, error);
    writer = NULL;
out:
    vly_writer_abandon(writer);
    columns_deinit(&columns);
    vly_free(path);
    return status;
}
