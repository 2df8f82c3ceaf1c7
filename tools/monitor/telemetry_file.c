/* SPDX-License-Identifier: Apache-2.0
 * Lines of telemetry into records. What a line gives per burst is made whole
 * again: microseconds of a burst have all digits, so the nanoseconds of the
 * record come out as they went in.
 */
#include "tools/monitor/telemetry_file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/reading.h"
#include "tools/cli/json_reader.h"

struct telemetry_file {
    FILE *stream;
    char *path;
    vly_lines lines;
    uint64_t number; /* of the line */
    uint32_t n_areas;
    char **names;
    uint32_t *neurons;
    double dt_ms;
    char start[40];
    vly_tokens *tokens;
    bool cut;       /* the last line is incomplete */
    bool any;       /* a previous line exists */
    uint64_t burst; /* of the previous line, like the members that follow */
    uint64_t host_bytes;
    uint64_t device_bytes;
    uint64_t lost;
    uint64_t unix_ms;
    uint64_t *areas; /* of the line */
    uint64_t *sums;  /* of the record */
};

static vly_status wrong(const telemetry_file *file, const char *what,
                        vly_error *error)
{
    return vly_fail(error, VLY_E_PARSE, "%s:%llu: %s", file->path,
                    (unsigned long long)file->number, what);
}

/* *value JSON_NULL: the file ended, or its last line is cut. */
static vly_status read_line(telemetry_file *file, json_value *value,
                            vly_error *error)
{
    char name[512];
    *value = (json_value){0};
    vly_status status = vly_lines_next(&file->lines, error);
    const size_t n = file->lines.n;
    if (status != VLY_OK)
        goto out;
    file->cut = n > 0 && file->lines.line[n - 1] != '\n';
    if (n == 0 || file->cut)
        return VLY_OK;
    file->number++;
    if (strlen(file->lines.line) != n)
        return wrong(file, "a NUL byte, wanted a line of JSON", error);
    snprintf(name, sizeof name, "%s (from line %llu)", file->path,
             (unsigned long long)file->number);
    VLY_TRY(json_parse(file->lines.line, name, value, error));
    if (value->kind == JSON_OBJECT)
        return VLY_OK;
    json_free(value);
    return wrong(file, "no JSON object, wanted a line of --telemetry", error);
out:
    return status;
}

static bool whole(const json_value *value, double *number)
{
    if (!value || value->kind != JSON_NUMBER || !(value->number >= 0) ||
        !(value->number < 0x1p63) || floor(value->number) != value->number)
        return false;
    *number = value->number;
    return true;
}

/* ---- the head ------------------------------------------------------------ */

static vly_status read_areas(telemetry_file *file, const json_value *neurons,
                             vly_error *error)
{
    const uint32_t n = neurons->n_items;
    file->names = vly_calloc((size_t)n + 1, sizeof *file->names);
    file->neurons = vly_calloc((size_t)n + 1, sizeof *file->neurons);
    file->areas = vly_calloc((size_t)n + 1, sizeof *file->areas);
    file->sums = vly_calloc((size_t)n + 1, sizeof *file->sums);
    if (!file->names || !file->neurons || !file->areas || !file->sums)
        return vly_fail_nomem(error, n * UINT64_C(32), "areas");
    for (uint32_t a = 0; a < n; a++) {
        double count = 0;
        if (!whole(&neurons->items[a], &count) || count > UINT32_MAX)
            return wrong(file, "neurons of an area are no whole number", error);
        file->neurons[a] = (uint32_t)count;
        file->names[a] = vly_strdup(neurons->items[a].key);
        file->n_areas = a + 1;
        if (!file->names[a])
            return vly_fail_nomem(error, 64, "an area's name");
    }
    return VLY_OK;
}

static vly_status read_head(telemetry_file *file, vly_error *error)
{
    json_value head;
    vly_status status = VLY_OK;
    VLY_TRY(read_line(file, &head, error));
    const json_value *neurons = json_find(&head, "neurons");
    const char *start = json_find_text(&head, "start");
    file->number = file->number ? file->number : 1;
    (void)snprintf(file->start, sizeof file->start, "%s", start ? start : "");
    file->dt_ms = json_find_number(&head, "dt_ms", NAN);
    if (json_find_number(&head, "telemetry", 0) != 1 || !neurons ||
        neurons->kind != JSON_OBJECT || !(file->dt_ms > 0))
        status = wrong(file,
                       "not the first line of a telemetry, wanted a file of "
                       "volley run --telemetry",
                       error);
    else
        status = read_areas(file, neurons, error);
    json_free(&head);
out:
    return status;
}

vly_status telemetry_file_open(const char *path, telemetry_file **file,
                               vly_error *error)
{
    vly_status status = VLY_OK;
    telemetry_file *made = vly_calloc(1, sizeof *made);
    if (!made)
        return vly_fail_nomem(error, sizeof *made, "telemetry");
    made->path = vly_strdup(path);
    if (!made->path)
        status = vly_fail_nomem(error, strlen(path), "a path");
    else
        status = vly_reading_open(path, VLY_READ_STREAM, &made->stream, error);
    made->lines = (vly_lines){.file = made->stream, .path = made->path};
    if (status == VLY_OK)
        status = read_head(made, error);
    if (status == VLY_OK)
        status = vly_tokens_create(made->n_areas, 0, &made->tokens, error);
    if (status == VLY_OK)
        *file = made;
    else
        telemetry_file_close(made);
    return status;
}

void telemetry_file_close(telemetry_file *file)
{
    if (!file)
        return;
    if (file->stream)
        (void)fclose(file->stream);
    for (uint32_t a = 0; a < file->n_areas; a++)
        vly_free(file->names[a]);
    vly_tokens_destroy(file->tokens);
    vly_lines_deinit(&file->lines);
    vly_free(file->path);
    vly_free(file->names);
    vly_free(file->neurons);
    vly_free(file->areas);
    vly_free(file->sums);
    vly_free(file);
}

uint32_t telemetry_file_areas(const telemetry_file *file)
{
    return file->n_areas;
}

const char *const *telemetry_file_names(const telemetry_file *file)
{
    return (const char *const *)file->names;
}

const uint32_t *telemetry_file_neurons(const telemetry_file *file)
{
    return file->neurons;
}

double telemetry_file_dt_ms(const telemetry_file *file)
{
    return file->dt_ms;
}

const char *telemetry_file_start(const telemetry_file *file)
{
    return file->start;
}

bool telemetry_file_cut(const telemetry_file *file)
{
    return file->cut;
}

void telemetry_file_hold(telemetry_file *file, bool held)
{
    vly_tokens_hold(file->tokens, held);
}

/* ---- lines into records -------------------------------------------------- */

/* Days since 1970-01-01 of the Gregorian calendar (Hinnant's days_from_civil).
 */
static int64_t days_of(int64_t y, int64_t m, int64_t d)
{
    y -= m <= 2;
    const int64_t era = (y >= 0 ? y : y - 399) / 400;
    const int64_t of_era = y - era * 400;
    const int64_t of_year = (153 * (m + (m > 2 ? -3 : 9)) + 2) / 5 + d - 1;
    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year -
           719468;
}

static bool unix_ms_of(const char *text, uint64_t *ms)
{
    int part[7];
    int n = 0;
    if (!text ||
        sscanf(text, "%4d-%2d-%2dT%2d:%2d:%2d.%3dZ%n", &part[0], &part[1],
               &part[2], &part[3], &part[4], &part[5], &part[6], &n) != 7 ||
        text[n] != '\0' || part[0] < 1970 || part[1] < 1 || part[1] > 12)
        return false;
    const int64_t days = days_of(part[0], part[1], part[2]);
    const int64_t seconds =
        ((days * 24 + part[3]) * 60 + part[4]) * 60 + part[5];
    *ms = (uint64_t)(seconds * 1000 + part[6]);
    return true;
}

/* A member that is a time of a burst in us, null without a burst. */
static bool total_ns(const json_value *line, const char *key, double bursts,
                     uint64_t *ns)
{
    const json_value *value = json_find(line, key);
    if (value && value->kind == JSON_NULL) {
        *ns = 0;
        return true;
    }
    if (!value || value->kind != JSON_NUMBER || !(value->number >= 0))
        return false;
    const double total = floor(value->number * bursts * 1000 + 0.5);
    if (!(total < 0x1p63))
        return false;
    *ns = (uint64_t)total;
    return true;
}

/* A count that an older telemetry lacks. */
static bool optional(const json_value *line, const char *key, uint64_t *count)
{
    double n = 0;
    const json_value *value = json_find(line, key);
    if (value && !whole(value, &n))
        return false;
    *count = (uint64_t)n;
    return true;
}

static bool read_counts(const json_value *line, vly_record *record,
                        double *seconds, uint64_t *memory)
{
    double n[7];
    static const char *const keys[7] = {"burst",  "bursts",     "spikes",
                                        "events", "host_bytes", "device_bytes",
                                        "lost"};
    for (int i = 0; i < 7; i++)
        if (!whole(json_find(line, keys[i]), &n[i]))
            return false;
    *seconds = json_find_number(line, "seconds", -1);
    if (!(*seconds >= 0) || !(*seconds < 1e9))
        return false;
    record->burst = (uint64_t)n[0];
    record->bursts = (uint64_t)n[1];
    record->spikes = (uint64_t)n[2];
    record->events = (uint64_t)n[3];
    const double paused = json_find_number(line, "paused_s", 0);
    if (!(paused >= 0) || !(paused < 1e9))
        return false;
    record->paused_ns = (uint64_t)floor(paused * 1e9 + 0.5);
    record->wall_ns = (uint64_t)floor(*seconds * 1e9 + 0.5);
    /* missing in an older telemetry */
    const double waited = json_find_number(line, "waited_s", 0);
    if (!(waited >= 0) || !(waited < 1e9))
        return false;
    record->waited_ns = (uint64_t)floor(waited * 1e9 + 0.5);
    const double inside = json_find_number(line, "engine_waited_s", waited);
    if (!(inside >= 0) || !(inside < 1e9))
        return false;
    record->engine_waited_ns = (uint64_t)floor(inside * 1e9 + 0.5);
    const double threads = json_find_number(line, "threads_waited_s", 0);
    if (!(threads >= 0) || !(threads < 1e9))
        return false;
    record->threads_waited_ns = (uint64_t)floor(threads * 1e9 + 0.5);
    record->failed_at = record->burst; /* further errors are not reported */
    for (int i = 0; i < 3; i++)
        memory[i] = (uint64_t)n[4 + i];
    record->wrong_place = json_find_number(line, "wrong_bursts", 0) > 0;
    return optional(line, "spikes_squared", &record->squares) &&
           optional(line, "failures", &record->failures) &&
           optional(line, "moves", &record->moves) &&
           total_ns(line, "burst_us", n[1], &record->run_ns) &&
           total_ns(line, "delivery_us", n[1], &record->delivery_ns) &&
           total_ns(line, "dynamics_us", n[1], &record->dynamics_ns) &&
           (!json_find(line, "exchange_us") ||
            total_ns(line, "exchange_us", n[1], &record->exchange_ns));
}

/* Each record begins where the one before it ended. */
static vly_status follows(const telemetry_file *file, const vly_record *record,
                          vly_error *error)
{
    if (record->bursts > record->burst)
        return vly_fail(error, VLY_E_PARSE,
                        "%s:%llu: %llu bursts up to burst %llu, wanted at most "
                        "so many",
                        file->path, (unsigned long long)file->number,
                        (unsigned long long)record->bursts,
                        (unsigned long long)record->burst);
    const uint64_t from = record->burst - record->bursts;
    if (!file->any || from == file->burst)
        return VLY_OK;
    return vly_fail(error, VLY_E_PARSE,
                    "%s:%llu: a record from burst %llu on, wanted burst %llu, "
                    "where the one before it ends: records of one run, each "
                    "once and in their order",
                    file->path, (unsigned long long)file->number,
                    (unsigned long long)from, (unsigned long long)file->burst);
}

static int64_t less(uint64_t a, uint64_t b)
{
    return a >= b ? (int64_t)(a - b) : -(int64_t)(b - a);
}

/* Values that need the previous line; the first line has none. */
static void compare(telemetry_file *file, const uint64_t *memory,
                    uint64_t unix_ms, vly_record *record)
{
    record->on_device = (file->any ? file->device_bytes : memory[1]) > 0;
    if (file->any) {
        record->host_growth = less(memory[0], file->host_bytes);
        record->device_growth = less(memory[1], file->device_bytes);
        record->lost = memory[2] > file->lost ? memory[2] - file->lost : 0;
        record->clock_ms =
            less(unix_ms, file->unix_ms) - (int64_t)(record->wall_ns / 1000000);
    }
    record->wall_ns -= record->paused_ns < record->wall_ns ? record->paused_ns
                                                           : record->wall_ns;
    file->any = true;
    file->burst = record->burst;
    file->host_bytes = memory[0];
    file->device_bytes = memory[1];
    file->lost = memory[2];
    file->unix_ms = unix_ms;
}

static vly_status read_record(telemetry_file *file, const json_value *line,
                              telemetry_entry *entry, vly_error *error)
{
    uint64_t memory[3];
    uint64_t unix_ms = 0;
    const json_value *areas = json_find(line, "area_spikes");
    const char *time = json_find_text(line, "time");
    const char *backend = json_find_text(line, "backend");
    entry->record = (vly_record){0};
    if (!read_counts(line, &entry->record, &entry->seconds, memory) ||
        !unix_ms_of(time, &unix_ms) || areas->kind != JSON_OBJECT ||
        areas->n_items != file->n_areas)
        return wrong(file, "not a sample of a telemetry of this version",
                     error);
    vly_status status = VLY_OK;
    VLY_TRY(follows(file, &entry->record, error));
    for (uint32_t a = 0; a < file->n_areas; a++) {
        double spikes = 0;
        if (!whole(&areas->items[a], &spikes))
            return wrong(file, "spikes of an area are no whole number", error);
        file->areas[a] = (uint64_t)spikes;
    }
    compare(file, memory, unix_ms, &entry->record);
    snprintf(entry->time, sizeof entry->time, "%s", time);
    snprintf(entry->backend, sizeof entry->backend, "%s",
             backend ? backend : "");
out:
    return status;
}

/* Joins two successive records. */
static void join(const telemetry_entry *short_one, telemetry_entry *entry)
{
    const vly_record *a = &short_one->record;
    vly_record *b = &entry->record;
    b->clock_ms += a->clock_ms + (int64_t)(a->wall_ns / 1000000) +
                   (int64_t)(b->wall_ns / 1000000);
    b->bursts += a->bursts;
    b->wall_ns += a->wall_ns;
    b->paused_ns += a->paused_ns;
    b->waited_ns += a->waited_ns;
    b->engine_waited_ns += a->engine_waited_ns;
    b->threads_waited_ns += a->threads_waited_ns;
    b->clock_ms -= (int64_t)(b->wall_ns / 1000000);
    b->run_ns += a->run_ns;
    b->delivery_ns += a->delivery_ns;
    b->dynamics_ns += a->dynamics_ns;
    b->exchange_ns += a->exchange_ns;
    b->spikes += a->spikes;
    b->events += a->events;
    b->squares += a->squares;
    b->host_growth += a->host_growth;
    b->device_growth += a->device_growth;
    b->lost += a->lost;
    b->wrong_place |= a->wrong_place;
    b->failures += a->failures;
    b->moves += a->moves;
    entry->seconds += short_one->seconds;
}

/* Sums of the areas' spikes, and spikes that are in no area. */
static void add_areas(telemetry_file *file, bool joined, vly_record *record)
{
    uint64_t sum = 0;
    for (uint32_t a = 0; a < file->n_areas; a++) {
        file->sums[a] = file->areas[a] + (joined ? file->sums[a] : 0);
        sum += file->sums[a];
    }
    if (file->n_areas > 0)
        record->missing =
            sum > record->spikes ? sum - record->spikes : record->spikes - sum;
}

vly_status telemetry_file_next(telemetry_file *file, bool *more,
                               telemetry_entry *entry, vly_error *error)
{
    telemetry_entry short_one = {.seconds = 0};
    bool joined = false;
    bool moved = false;
    *more = false;
    for (;;) {
        json_value line;
        telemetry_entry got = {.seconds = 0};
        vly_status status = read_line(file, &line, error);
        if (status != VLY_OK || line.kind == JSON_NULL)
            return status;
        const bool sample = json_find(&line, "area_spikes") != NULL;
        if (sample)
            status = read_record(file, &line, &got, error);
        json_free(&line);
        if (status != VLY_OK)
            return status;
        if (!sample)
            continue;
        if (joined)
            join(&short_one, &got);
        got.moved = moved;
        if (got.record.moves > 0) {
            vly_tokens_forget(file->tokens);
            moved = true;
            joined = false;
            continue;
        }
        add_areas(file, joined, &got.record);
        if (vly_tokens_make(file->tokens, &got.record, file->sums, NULL,
                            got.text, &got.note)) {
            got.area_spikes = file->sums;
            *entry = got;
            *more = true;
            return VLY_OK;
        }
        short_one = got;
        joined = true;
    }
}
