/* SPDX-License-Identifier: Apache-2.0
 * Reads tables of weights for pictures.
 */
#include "tools/plot/plot_weights.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/reading.h"
#include "genome/csv_reader.h"
#include "tools/plot/plot_data.h"

typedef enum weight_column {
    COLUMN_TIME,
    COLUMN_MAP,
    COLUMN_FROM,
    COLUMN_SOURCE,
    COLUMN_TO,
    COLUMN_TARGET,
    COLUMN_WEIGHT,
    COLUMNS
} weight_column;

static vly_status find_columns(plot_weights *weights, vly_csv *csv,
                               const char *path, uint32_t columns[COLUMNS],
                               vly_error *error)
{
    static const char *const names[] = {"time_ms", "map", "from",
                                        "source",  "to",  "target"};
    for (uint32_t c = 0; c < COLUMN_WEIGHT; c++)
        columns[c] = vly_csv_column(csv, names[c]);
    columns[COLUMN_WEIGHT] = csv->n_fields;
    for (uint32_t i = 0; i < csv->n_fields; i++)
        if (strncmp(csv->names[i], "weight", 6) == 0)
            columns[COLUMN_WEIGHT] = i;
    for (uint32_t c = COLUMN_MAP; c < COLUMNS; c++)
        if (columns[c] == csv->n_fields)
            return vly_fail(error, VLY_E_PARSE,
                            "%s:1:1: no table of weights, wanted the columns "
                            "map,from,source,to,target,weight, and time_ms if "
                            "there are several times",
                            path);
    csv->is_ours = true;
    weights->timed = columns[COLUMN_TIME] < csv->n_fields;
    weights->column = vly_strdup(csv->names[columns[COLUMN_WEIGHT]]);
    return weights->column ? VLY_OK : vly_fail_nomem(error, 64, "a name");
}

/* ---- rows --------------------------------------------------------------- */

static vly_status pair_of(plot_weights *weights, const char *from,
                          const char *to, uint32_t *pair, vly_error *error)
{
    char *name = vly_format("%s -> %s", from, to);
    if (!name)
        return vly_fail_nomem(error, strlen(from), "a name");
    for (uint32_t p = 0; p < weights->n_pairs; p++)
        if (strcmp(weights->pairs[p], name) == 0) {
            vly_free(name);
            *pair = p;
            return VLY_OK;
        }
    char **grown = vly_realloc(weights->pairs, weights->n_pairs + (size_t)1,
                               sizeof *grown);
    if (!grown) {
        vly_free(name);
        return vly_fail_nomem(error, sizeof *grown, "names");
    }
    weights->pairs = grown;
    *pair = weights->n_pairs;
    grown[weights->n_pairs++] = name;
    return VLY_OK;
}

/* A row of a later time begins one; rows[n_times] is the number of rows. */
static vly_status time_of(plot_weights *weights, double time_ms,
                          vly_error *error)
{
    const uint64_t n = weights->n_times;
    if (n > 0 && weights->times[n - 1] == time_ms)
        return VLY_OK;
    if (n > 0 && weights->times[n - 1] > time_ms)
        return vly_fail(error, VLY_E_PARSE,
                        "time_ms is %g after %g, wanted times that ascend",
                        time_ms, weights->times[n - 1]);
    if (n == weights->times_capacity) {
        const uint64_t more = n > 0 ? 2 * n : 64;
        double *times = vly_realloc(weights->times, more, sizeof *times);
        if (times)
            weights->times = times;
        uint64_t *rows = vly_realloc(weights->rows, more + 1, sizeof *rows);
        if (rows)
            weights->rows = rows;
        if (!times || !rows)
            return vly_fail_nomem(error, more * 16, "times");
        weights->times_capacity = more;
        if (n == 0)
            rows[0] = 0;
    }
    weights->times[n] = time_ms;
    weights->rows[n + 1] = weights->rows[n];
    weights->n_times++;
    return VLY_OK;
}

static vly_status add(plot_weights *weights, double time_ms,
                      const plot_weight *weight, vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(time_of(weights, time_ms, error));
    const uint64_t n = weights->rows[weights->n_times];
    if (n == weights->capacity) {
        const uint64_t more = n > 0 ? 2 * n : 1024;
        plot_weight *grown =
            plot_fits(more, sizeof *grown)
                ? vly_realloc(weights->weights, more, sizeof *grown)
                : NULL;
        if (!grown)
            return vly_fail_nomem(error, more * sizeof *grown, "weights");
        weights->weights = grown;
        weights->capacity = more;
    }
    weights->weights[n] = *weight;
    weights->rows[weights->n_times] = n + 1;
out:
    return status;
}

/* Whether the row's map is drawn. */
static vly_status is_drawn(plot_weights *weights, const tool_args *args,
                           const char *map, const char *path, bool *drawn,
                           vly_error *error)
{
    const char *asked = tool_text(args, "map");
    *drawn = !asked || strcmp(asked, map) == 0;
    if (!*drawn)
        return VLY_OK;
    if (!weights->map)
        weights->map = vly_strdup(map);
    if (!weights->map)
        return vly_fail_nomem(error, strlen(map), "a name");
    if (strcmp(weights->map, map) == 0)
        return VLY_OK;
    return vly_fail(error, VLY_E_INVALID,
                    "%s has weights of map %s and of map %s: choose with "
                    "--map",
                    path, weights->map, map);
}

static vly_status read_row(plot_weights *weights, const tool_args *args,
                           vly_csv *csv, const uint32_t columns[COLUMNS],
                           const char *path, vly_error *error)
{
    plot_weight row = {0};
    double time_ms = 0;
    bool drawn = false;
    vly_status status = VLY_OK;
    VLY_TRY(is_drawn(weights, args, csv->fields[columns[COLUMN_MAP]], path,
                     &drawn, error));
    if (!drawn)
        return VLY_OK;
    if (weights->timed)
        VLY_TRY(vly_csv_number(csv, columns[COLUMN_TIME], &time_ms));
    VLY_TRY(
        vly_csv_index(csv, columns[COLUMN_SOURCE], UINT32_MAX, &row.source));
    VLY_TRY(
        vly_csv_index(csv, columns[COLUMN_TARGET], UINT32_MAX, &row.target));
    VLY_TRY(vly_csv_number(csv, columns[COLUMN_WEIGHT], &row.weight));
    if (time_ms < tool_number(args, "from", 0) ||
        time_ms > tool_number(args, "to", HUGE_VAL))
        return VLY_OK;
    VLY_TRY(pair_of(weights, csv->fields[columns[COLUMN_FROM]],
                    csv->fields[columns[COLUMN_TO]], &row.pair, error));
    status = add(weights, time_ms, &row, error);
out:
    return status;
}

static vly_status read_file(plot_weights *weights, const tool_args *args,
                            const char *path, vly_error *error)
{
    uint32_t columns[COLUMNS];
    vly_csv csv = {0};
    FILE *file = NULL;
    bool more = true;
    vly_status status = VLY_OK;
    VLY_TRY(vly_reading_open(path, VLY_READ_STREAM, &file, error));
    VLY_TRY(vly_csv_init(&csv, file, path, error));
    VLY_TRY(find_columns(weights, &csv, path, columns, error));
    for (;;) {
        VLY_TRY(vly_csv_next(&csv, &more));
        if (!more)
            break;
        VLY_TRY(read_row(weights, args, &csv, columns, path, error));
    }
    if (weights->n_times == 0)
        status = vly_fail(error, VLY_E_INVALID,
                          "%s: no weights of what --map, --from and --to "
                          "choose",
                          path);
out:
    vly_csv_deinit(&csv);
    if (file)
        (void)fclose(file);
    return status;
}

vly_status plot_weights_init(plot_weights *weights, const tool_args *args,
                             const char *path, vly_error *error)
{
    struct stat info;
    *weights = (plot_weights){0};
    if (stat(path, &info) != 0)
        return vly_fail(error, VLY_E_IO, "%s: %s", path, strerror(errno));
    if (!S_ISDIR(info.st_mode))
        return read_file(weights, args, path, error);
    char *found = vly_format("%s/weights.csv", path);
    if (!found)
        return vly_fail_nomem(error, strlen(path), "a path");
    vly_status status =
        stat(found, &info) == 0
            ? read_file(weights, args, found, error)
            : vly_fail(error, VLY_E_INVALID,
                       "%s has no weights.csv; a [[record]] with what = "
                       "\"weights\" makes it",
                       path);
    vly_free(found);
    return status;
}

void plot_weights_deinit(plot_weights *weights)
{
    for (uint32_t p = 0; p < weights->n_pairs; p++)
        vly_free(weights->pairs[p]);
    vly_free(weights->pairs);
    vly_free(weights->map);
    vly_free(weights->column);
    vly_free(weights->times);
    vly_free(weights->rows);
    vly_free(weights->weights);
    *weights = (plot_weights){0};
}
