/* SPDX-License-Identifier: Apache-2.0
 * volley monitor tokens: what the monitor's model reads of a telemetry, and
 * what the simple detectors make of it.
 */
#include "monitor_commands.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/error.h"
#include "json_writer.h"
#include "monitor/detectors.h"
#include "monitor/extremes.h"
#include "telemetry_file.h"
#include "tool.h"

static const tool_option options[] = {
    {"json", 0, false, TOOL_FLAG, NULL,
     "a line of JSON for each record: tokens, levels and scores", 0, 0},
    {NULL, 0, false, TOOL_FLAG, NULL, NULL, 0, 0}};

static void print_text(const telemetry_entry *entry)
{
    for (int i = 0; i < VLY_TOKENS_PER_RECORD; i++)
        tool_print("%s%u", i > 0 ? " " : "", entry->text[i]);
    tool_print("\n");
}

static vly_status print_json(const telemetry_entry *entry, const double *scores,
                             const double *times, vly_error *error)
{
    json_writer json;
    size_t n = 0;
    json_init(&json, false);
    json_object(&json, NULL);
    json_u64(&json, "burst", entry->record.burst);
    json_array(&json, "tokens");
    for (int i = 0; i < VLY_TOKENS_PER_RECORD; i++)
        json_u64(&json, NULL, entry->text[i]);
    json_array_end(&json);
    json_object(&json, "levels");
    for (uint32_t m = 0; m < VLY_METRICS; m++)
        json_number(&json, vly_metric_name(m), entry->note.level[m]);
    json_object_end(&json);
    for (uint32_t k = 0; k < VLY_DETECTORS; k++)
        json_number(&json, vly_detector_name(k), scores[k]);
    json_number(&json, "times", times[0]);
    json_number(&json, "times_smoothed", times[1]);
    json_object_end(&json);
    const char *text = json_finish(&json, &n);
    if (text)
        tool_print("%s", text);
    json_deinit(&json);
    return text ? VLY_OK : vly_fail_nomem(error, 4096, "a line of JSON");
}

static int run(const tool_args *args)
{
    vly_error error = VLY_ERROR_INIT;
    telemetry_file *file = NULL;
    vly_detector *detectors[VLY_DETECTORS] = {NULL};
    double scores[VLY_DETECTORS];
    vly_extremes extremes = {0};
    double times[2];
    uint32_t metrics[2];
    telemetry_entry entry;
    bool more = false;
    vly_status status = telemetry_file_open(args->positional[0], &file, &error);
    for (uint32_t k = 0; k < VLY_DETECTORS && status == VLY_OK; k++)
        status = vly_detector_create(k, &detectors[k], &error);
    while (status == VLY_OK) {
        status = telemetry_file_next(file, &more, &entry, &error);
        if (status != VLY_OK || !more)
            break;
        for (uint32_t k = 0; k < VLY_DETECTORS; k++)
            scores[k] = vly_detector_score(detectors[k], &entry.note, NULL);
        vly_extremes_judge(&extremes, entry.note.level, times, metrics);
        if (tool_has(args, "json"))
            status = print_json(&entry, scores, times, &error);
        else
            print_text(&entry);
    }
    for (uint32_t k = 0; k < VLY_DETECTORS; k++)
        vly_detector_destroy(detectors[k]);
    telemetry_file_close(file);
    return status == VLY_OK ? TOOL_EXIT_DONE : tool_fail(&error);
}

const tool_command monitor_tokens = {
    .name = "monitor tokens",
    .arguments = "TELEMETRY.jsonl",
    .summary = "What the monitor's model reads of a telemetry.",
    .details =
        "A line of 16 tokens for each record: a separator (0), then one "
        "for each of 15\nmetrics. core/monitor/README.md defines them.\n",
    .options = options,
    .n_positional_min = 1,
    .n_positional_max = 1,
    .run = run};
