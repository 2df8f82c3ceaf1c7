/* SPDX-License-Identifier: Apache-2.0
 * volley monitor series: numbers that are no telemetry, judged by the code that
 * watches runs.
 */
#include "monitor_commands.h"

#include <string.h>

#include "base/error.h"
#include "json_writer.h"
#include "monitor/series.h"
#include "monitor/surprise.h"
#include "monitor/watcher_model.h"
#include "series_file.h"
#include "tool.h"

static const tool_option options[] = {
    {"column", 0, false, TOOL_TEXT, "NAME",
     "of the file's first line, if it has names; default the last one", 0, 0},
    {"learn", 0, false, TOOL_COUNT, "N",
     "rows that say what a large step is; default 15% of them, 750 at most", 1,
     1e9},
    {"json", 0, false, TOOL_FLAG, NULL, "a line of JSON for each row", 0, 0},
    {"device", 0, false, TOOL_TEXT, "NAME", "of the model; default cpu:1", 0,
     0},
    {"alarms", 0, false, TOOL_NUMBER, "X",
     "false ones in --rows that are bearable; default 1", 1e-6, 1e6},
    {"rows", 0, false, TOOL_NUMBER, "N", "default 36000", 1, 1e9},
    {NULL, 0, false, TOOL_FLAG, NULL, NULL, 0, 0}};

/* What judges a series. */
typedef struct judge {
    series_file file;
    vly_series series;
    vly_registry *registry;
    vly_watcher_rwkv *rwkv;
    vly_surprise *surprise;
    vly_tail tails[VLY_CHANNELS];
} judge;

static vly_status begin(const tool_args *args, judge *by, vly_error *error)
{
    const char *device = tool_text(args, "device");
    vly_status status = VLY_OK;
    /* fewer than are not judged would be a silence that says nothing */
    VLY_TRY(series_file_read(args->positional[1], tool_text(args, "column"),
                             VLY_TOKENS_WARM + 1, &by->file, error));
    const size_t rows = by->file.n;
    const size_t part = rows * 3 / 20 < 750 ? rows * 3 / 20 : 750;
    const size_t learn = (size_t)tool_count(args, "learn", part > 2 ? part : 2);
    vly_series_init(&by->series, by->file.values, learn < rows ? learn : rows);
    VLY_TRY(tool_registry_create(&by->registry, error));
    VLY_TRY(vly_watcher_rwkv_open(by->registry, args->positional[0],
                                  device ? device : "cpu:1", &by->rwkv, error));
    memcpy(by->tails, vly_watcher_rwkv_tails(by->rwkv), sizeof by->tails);
    vly_series_tails(by->tails);
    /* a record a row, of which an hour has as many as --rows */
    status = vly_surprise_create(by->tails, tool_number(args, "alarms", 1),
                                 3600 / tool_number(args, "rows", 36000),
                                 &by->surprise, error);
out:
    return status;
}

/* why  said of strange rows */
static vly_status put_json(size_t row, double value, const vly_verdict *verdict,
                           const char *why, vly_error *error)
{
    json_writer json;
    json_init(&json, false);
    json_object(&json, NULL);
    json_u64(&json, "row", row);
    json_number(&json, "value", value);
    json_object(&json, "nats");
    json_number(&json, "value", verdict->nats[VLY_METRIC_RATE]);
    json_number(&json, "step", verdict->nats[VLY_METRIC_DISPERSION]);
    json_object_end(&json);
    json_number(&json, "surprise", verdict->values[VLY_CHANNEL_SURPRISE]);
    json_number(&json, "extreme", verdict->values[VLY_CHANNEL_EXTREME]);
    json_number(&json, "shape", verdict->values[VLY_CHANNEL_STALL]);
    json_number(&json, "slow", verdict->values[VLY_CHANNEL_WORK]);
    json_number(&json, "monitor", verdict->warm ? verdict->score : 0);
    json_number(&json, "threshold", verdict->threshold);
    json_bool(&json, "alarm", verdict->alarm);
    if (verdict->strange)
        json_text(&json, "why", why);
    json_object_end(&json);
    const char *text = json_finish(&json, &(size_t){0});
    if (text)
        tool_print("%s", text);
    json_deinit(&json);
    return text ? VLY_OK : vly_fail_nomem(error, 4096, "a line of JSON");
}

static vly_status judge_row(judge *by, size_t row, bool json, vly_error *error)
{
    static float logits[VLY_TOKENS_PER_RECORD * VLY_TOKEN_VOCABULARY];
    const vly_watcher_model model = vly_watcher_rwkv_model(by->rwkv);
    const double value = by->file.values[row];
    uint8_t text[VLY_TOKENS_PER_RECORD];
    uint32_t tokens[VLY_TOKENS_PER_RECORD];
    double nats[VLY_METRICS] = {0};
    vly_record record;
    vly_record_note note;
    vly_verdict verdict;
    char why[80];
    vly_series_make(&by->series, value, &record, text, &note);
    for (uint32_t i = 0; i < VLY_TOKENS_PER_RECORD; i++)
        tokens[i] = text[i];
    vly_status status = model.read(model.context, tokens, logits, error);
    if (status == VLY_OK)
        status = vly_record_nats(logits, text, nats, error);
    if (status != VLY_OK)
        return status;
    vly_series_nats(nats);
    vly_series_judge(&by->series, by->surprise, by->tails, &record, &note, text,
                     nats, &verdict);
    vly_series_why(&by->series, &verdict, why, sizeof why);
    if (json)
        return put_json(row + 1, value, &verdict, why, error);
    if (verdict.alarm)
        tool_print("row %zu: %g: %s: score %.1f, threshold %.1f\n", row + 1,
                   value, why, verdict.score, verdict.threshold);
    return VLY_OK;
}

static int run(const tool_args *args)
{
    vly_error error = VLY_ERROR_INIT;
    judge by = {.registry = NULL};
    vly_status status = begin(args, &by, &error);
    for (size_t i = 0; status == VLY_OK && i < by.file.n; i++)
        status = judge_row(&by, i, tool_has(args, "json"), &error);
    vly_surprise_destroy(by.surprise);
    vly_watcher_rwkv_close(by.rwkv);
    vly_registry_destroy(by.registry);
    series_file_deinit(&by.file);
    return status == VLY_OK ? TOOL_EXIT_DONE : tool_fail(&error);
}

const tool_command monitor_series = {
    .name = "monitor series",
    .arguments = "MODEL FILE.csv",
    .summary = "Strange rows of any column of numbers.",
    .details =
        "Judges numbers that are no telemetry by the code that watches runs: "
        "what the\nmodel is surprised by where it foretells them better than "
        "counting does, values\nbeyond all before them, values that stand "
        "still or vary as they never did, and, held\nagainst the first rows, "
        "a cycle that is lost and a mean that drifts. Prints a line\nfor each "
        "alarm, with --json one for each row.\n",
    .options = options,
    .n_positional_min = 2,
    .n_positional_max = 2,
    .run = run};
