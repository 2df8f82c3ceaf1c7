/* SPDX-License-Identifier: Apache-2.0
 * The log of a sweep, its intervals and its table. A line is a JSON object; a
 * candidate has one when it begins and one when it is done, so that one which
 * takes the process with it is known, and skipped, by the next call.
 */
#include "tools/bench/bench_sweep.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/random.h"
#include "tools/cli/json_reader.h"
#include "tools/cli/tool.h"
#include "volley_build.h"

enum { RESAMPLES = 2000, SAMPLES_MOST = 64 };

static const char *const states[] = {"begun", "refused", "wrong", "timed",
                                     "left"};

enum { N_STATES = sizeof states / sizeof states[0] };

/* ---- intervals -------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median_of(double *values, uint32_t n)
{
    qsort(values, n, sizeof *values, compare);
    return n % 2 != 0 ? values[n / 2]
                      : 0.5 * (values[n / 2 - 1] + values[n / 2]);
}

void bench_sweep_interval(const double *base, const double *candidate,
                          uint32_t n, bench_sweep_row *row)
{
    static double medians[RESAMPLES];
    double ratios[SAMPLES_MOST];
    double some[SAMPLES_MOST];
    uint64_t draw = 0;
    n = n > SAMPLES_MOST ? SAMPLES_MOST : n;
    for (uint32_t i = 0; i < n; i++)
        ratios[i] = base[i] / candidate[i];
    for (uint32_t i = 0; i < RESAMPLES; i++) {
        for (uint32_t k = 0; k < n; k++)
            some[k] = ratios[(vly_mix64(++draw) >> 32) * n >> 32];
        medians[i] = median_of(some, n);
    }
    qsort(medians, RESAMPLES, sizeof *medians, compare);
    row->low = medians[RESAMPLES / 40];
    row->high = medians[RESAMPLES - 1 - RESAMPLES / 40];
    row->ratio = median_of(ratios, n);
    memcpy(some, base, n * sizeof *some);
    row->base_s = median_of(some, n);
    memcpy(some, candidate, n * sizeof *some);
    row->median_s = median_of(some, n);
}

/* ---- the log ---------------------------------------------------------- */

static void copy_text(char *to, size_t size, const json_value *value,
                      const char *key)
{
    const char *text = json_find_text(value, key);
    (void)snprintf(to, size, "%s", text ? text : "");
}

static bool read_row(const json_value *value, const char *device,
                     bench_sweep_row *row)
{
    const char *state = json_find_text(value, "state");
    const char *of = json_find_text(value, "device");
    const char *by = json_find_text(value, "commit");
    memset(row, 0, sizeof *row);
    /* of another device or of other code: ignored */
    if (!state || !of || strcmp(of, device) != 0 || !by ||
        strcmp(by, VLY_BUILD_COMMIT) != 0)
        return false;
    uint32_t i = 0;
    while (i < N_STATES && strcmp(state, states[i]) != 0)
        i++;
    if (i == N_STATES)
        return false;
    row->state = (bench_sweep_state)i;
    copy_text(row->id, sizeof row->id, value, "case");
    copy_text(row->options, sizeof row->options, value, "options");
    copy_text(row->base, sizeof row->base, value, "base");
    copy_text(row->choice, sizeof row->choice, value, "choice");
    copy_text(row->reason, sizeof row->reason, value, "reason");
    row->error = json_find_number(value, "relative_error", -1.0);
    row->median_s = json_find_number(value, "median_s", 0.0);
    row->base_s = json_find_number(value, "base_s", 0.0);
    row->ratio = json_find_number(value, "ratio", 0.0);
    row->low = json_find_number(value, "low", 0.0);
    row->high = json_find_number(value, "high", 0.0);
    row->read = true;
    return row->state != BENCH_SWEEP_TIMED || row->median_s > 0.0;
}

/* Its number, or n_rows. */
static uint32_t find(const bench_sweep *sweep, const bench_sweep_row *like)
{
    uint32_t i = 0;
    while (i < sweep->n_rows &&
           (strcmp(sweep->rows[i].id, like->id) != 0 ||
            strcmp(sweep->rows[i].options, like->options) != 0 ||
            strcmp(sweep->rows[i].base, like->base) != 0))
        i++;
    return i;
}

/* Replaces the row of the same candidate. */
static bool keep(bench_sweep *sweep, const bench_sweep_row *row)
{
    const uint32_t i = find(sweep, row);
    if (i == BENCH_SWEEP_MOST)
        return false;
    sweep->rows[i] = *row;
    sweep->n_rows += i == sweep->n_rows;
    return true;
}

static void read_line(bench_sweep *sweep, const char *line)
{
    json_value value = {.kind = JSON_NULL};
    vly_error ignored = VLY_ERROR_INIT;
    bench_sweep_row row;
    if (json_parse(line, sweep->path, &value, &ignored) != VLY_OK ||
        !json_find_text(&value, "case"))
        sweep->n_damaged++;
    else if (read_row(&value, sweep->device, &row))
        (void)keep(sweep, &row);
    json_free(&value);
}

vly_status bench_sweep_open(bench_sweep *sweep, const char *path,
                            const char *device, vly_error *error)
{
    vly_status status = VLY_OK;
    char *line = NULL;
    size_t capacity = 0;
    memset(sweep, 0, sizeof *sweep);
    (void)snprintf(sweep->device, sizeof sweep->device, "%s", device);
    if (!path)
        return VLY_OK;
    if (strlen(path) >= sizeof sweep->path)
        return vly_fail(error, VLY_E_INVALID,
                        "--log: a path of %zu bytes, wanted below %zu",
                        strlen(path), sizeof sweep->path);
    (void)snprintf(sweep->path, sizeof sweep->path, "%s", path);
    struct stat info;
    if (stat(path, &info) == 0 && !S_ISREG(info.st_mode))
        return VLY_OK; /* a terminal or a pipe: written, not read */
    FILE *file = fopen(path, "r");
    if (!file && errno == ENOENT)
        return VLY_OK;
    errno = 0;
    while (file && getline(&line, &capacity, file) >= 0)
        if (line[0] != '\n')
            read_line(sweep, line);
    if (!file || ferror(file))
        status = vly_fail(error, VLY_E_IO, "%s: %s", path, strerror(errno));
    if (file)
        (void)fclose(file);
    free(line);
    return status;
}

const bench_sweep_row *bench_sweep_find(const bench_sweep *sweep,
                                        const bench_sweep_row *like)
{
    const uint32_t i = find(sweep, like);
    return i < sweep->n_rows && sweep->rows[i].state != BENCH_SWEEP_LEFT
               ? &sweep->rows[i]
               : NULL;
}

static const char *write_row(const bench_sweep *sweep,
                             const bench_sweep_row *row, json_writer *json,
                             size_t *n)
{
    json_object(json, NULL);
    json_text(json, "case", row->id);
    json_text(json, "options", row->options);
    json_text(json, "base", row->base);
    json_text(json, "device", sweep->device);
    json_text(json, "commit", VLY_BUILD_COMMIT);
    json_text(json, "state", states[row->state]);
    if (row->choice[0] != '\0')
        json_text(json, "choice", row->choice);
    if (row->reason[0] != '\0')
        json_text(json, "reason", row->reason);
    if (row->state == BENCH_SWEEP_TIMED) {
        json_number(json, "relative_error", row->error);
        json_u64(json, "rounds", BENCH_SWEEP_ROUNDS);
        json_number(json, "median_s", row->median_s);
        json_number(json, "base_s", row->base_s);
        json_number(json, "ratio", row->ratio);
        json_number(json, "low", row->low);
        json_number(json, "high", row->high);
    }
    json_object_end(json);
    return json_finish(json, n);
}

/* A line that was cut by a kill gets its line break first. */
static bool needs_break(const char *path)
{
    struct stat info;
    if (stat(path, &info) != 0 || !S_ISREG(info.st_mode))
        return false;
    FILE *file = fopen(path, "r");
    if (!file)
        return false;
    const bool cut = fseek(file, -1, SEEK_END) == 0 && fgetc(file) != '\n';
    (void)fclose(file);
    return cut;
}

static vly_status append(const bench_sweep *sweep, const bench_sweep_row *row,
                         vly_error *error)
{
    json_writer json;
    size_t n = 0;
    vly_status status = VLY_OK;
    json_init(&json, false);
    const char *text = write_row(sweep, row, &json, &n);
    if (!text) {
        json_deinit(&json);
        return vly_fail_nomem(error, 4096, "a line of the log");
    }
    const bool cut = needs_break(sweep->path);
    FILE *file = fopen(sweep->path, "a");
    bool good = file && (!cut || fputc('\n', file) != EOF) &&
                fwrite(text, 1, n, file) == n;
    if (file)
        good = fclose(file) == 0 && good;
    if (!good)
        status =
            vly_fail(error, VLY_E_IO, "%s: %s", sweep->path, strerror(errno));
    json_deinit(&json);
    return status;
}

vly_status bench_sweep_add(bench_sweep *sweep, const bench_sweep_row *row,
                           vly_error *error)
{
    if (!keep(sweep, row))
        return vly_fail(error, VLY_E_INVALID, "more than %d candidates",
                        BENCH_SWEEP_MOST);
    return sweep->path[0] != '\0' ? append(sweep, row, error) : VLY_OK;
}

/* ---- table ------------------------------------------------------------ */

static const char *verdict(const bench_sweep_row *row)
{
    if (strcmp(row->options, row->base) == 0)
        return "first";
    return row->low > 1.0 ? "faster" : row->high < 1.0 ? "slower" : "same";
}

void bench_sweep_print(const bench_sweep *sweep, bool markdown)
{
    const char *id = "";
    const char *begin = markdown ? "| " : "  ";
    const char *bar = markdown ? " | " : "  ";
    const char *end = markdown ? " |" : "";
    if (markdown)
        tool_print("| candidate | median | times the first | 95%% | | choice "
                   "|\n|---|---|---|---|---|---|\n");
    for (uint32_t i = 0; i < sweep->n_rows; i++) {
        const bench_sweep_row *row = &sweep->rows[i];
        if (strcmp(id, row->id) != 0)
            tool_print("%s%s%s\n", markdown ? "| **" : "", row->id,
                       markdown ? "** | | | | | |" : "");
        id = row->id;
        if (row->state != BENCH_SWEEP_TIMED)
            tool_print("%s%-32s%s%s: %s%s\n", begin, row->options, bar,
                       row->state != BENCH_SWEEP_BEGUN ? states[row->state]
                       : row->read ? "the process died in it"
                                   : "not finished",
                       row->reason, markdown ? " | | | | |" : "");
        else
            tool_print("%s%-32s%s%10s%s%.4f%s%.4f to %.4f%s%-6s%s%s%s%s\n",
                       begin, row->options, bar, tool_seconds(row->median_s),
                       bar, row->ratio, bar, row->low, row->high, bar,
                       verdict(row), bar, row->choice,
                       row->read ? " (from the log)" : "", end);
    }
    if (sweep->n_damaged > 0)
        tool_print("%u lines of %s are no results\n", sweep->n_damaged,
                   sweep->path);
    tool_print("\nTimes the first: median of %d pairs of samples in turn, and "
               "the 95%% interval of\n2000 resamples of the pairs.\n",
               BENCH_SWEEP_ROUNDS);
}
