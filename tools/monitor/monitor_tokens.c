/* SPDX-License-Identifier: Apache-2.0
 * volley monitor tokens: what the monitor's model reads of a telemetry, what
 * the simple detectors make of it, and with a model what the monitor does: the
 * code that watches a run judges its file here, so the alarms of the monitor
 * can be measured on files.
 */
#include "tools/monitor/monitor_commands.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/error.h"
#include "monitor/detectors.h"
#include "monitor/extremes.h"
#include "monitor/facts.h"
#include "monitor/surprise.h"
#include "monitor/watcher_model.h"
#include "tools/cli/json_writer.h"
#include "tools/cli/tool.h"
#include "tools/monitor/telemetry_file.h"

static const tool_option options[] = {
    {"json", 0, false, TOOL_FLAG, NULL,
     "print a line of JSON for each record: tokens, levels and scores", 0, 0},
    {"model", 0, false, TOOL_TEXT, "FILE",
     "judge each record as --monitor=FILE of volley run does; with --json", 0,
     0},
    {"device", 0, false, TOOL_TEXT, "NAME",
     "device of the model; default cpu:1", 0, 0},
    {"alarms", 0, false, TOOL_NUMBER, "X",
     "accepted false alarms per hour; default 1", 1e-6, 1e6},
    {"every", 0, false, TOOL_NUMBER, "MS",
     "duration of a record, for the number of records per hour; default 100",
     0.001, 1e9},
    {NULL, 0, false, TOOL_FLAG, NULL, NULL, 0, 0}};

/* State for judging a telemetry. */
typedef struct judges {
    telemetry_file *file;
    vly_detector *detectors[VLY_DETECTORS];
    vly_extremes extremes;
    vly_registry *registry; /* NULL, like the members that follow: no model was
                             * given */
    vly_watcher_rwkv *rwkv;
    vly_surprise *surprise;
    vly_facts facts;
} judges;

static void print_text(const telemetry_entry *entry)
{
    for (int i = 0; i < VLY_TOKENS_PER_RECORD; i++)
        tool_print("%s%u", i > 0 ? " " : "", entry->text[i]);
    tool_print("\n");
}

static void put_record(const telemetry_entry *entry, json_writer *json)
{
    json_u64(json, "burst", entry->record.burst);
    json_array(json, "tokens");
    for (int i = 0; i < VLY_TOKENS_PER_RECORD; i++)
        json_u64(json, NULL, entry->text[i]);
    json_array_end(json);
    json_object(json, "levels");
    for (uint32_t m = 0; m < VLY_METRICS; m++)
        json_number(json, vly_metric_name(m), entry->note.level[m]);
    json_object_end(json);
}

/* Judges a record as the watcher does. */
static vly_status put_verdict(judges *by, const telemetry_entry *entry,
                              json_writer *json, vly_error *error)
{
    static const char *const channels[VLY_CHANNELS] = {
        "surprise", "stall", "extreme", "work", "unison"};
    static float logits[VLY_TOKENS_PER_RECORD * VLY_TOKEN_VOCABULARY];
    const vly_watcher_model model = vly_watcher_rwkv_model(by->rwkv);
    uint32_t tokens[VLY_TOKENS_PER_RECORD];
    double nats[VLY_METRICS] = {0};
    vly_verdict verdict;
    for (uint32_t i = 0; i < VLY_TOKENS_PER_RECORD; i++)
        tokens[i] = entry->text[i];
    vly_status status = model.read(model.context, tokens, logits, error);
    if (status == VLY_OK)
        status = vly_record_nats(logits, entry->text, nats, error);
    if (status != VLY_OK)
        return status;
    vly_surprise_judge(by->surprise, &entry->record, &entry->note, entry->text,
                       nats, &verdict);
    telemetry_file_hold(by->file, !verdict.learns);
    json_object(json, "nats");
    for (uint32_t m = 0; m < VLY_METRICS; m++)
        json_number(json, vly_metric_name(m), nats[m]);
    json_object_end(json);
    for (uint32_t c = 0; c < VLY_CHANNELS; c++)
        json_number(json, channels[c], verdict.values[c]);
    const bool judged = verdict.warm || verdict.fact || verdict.moved;
    const bool begins = vly_facts_judge(&by->facts, &entry->record) != 0;
    json_number(json, "monitor", judged ? verdict.score : 0);
    json_number(json, "threshold", verdict.threshold);
    json_bool(json, "alarm", verdict.alarm || begins);
    json_text(json, "channel", verdict.channel);
    json_text(json, "metric", vly_metric_name(verdict.metric));
    json_text(json, "cause",
              vly_verdict_likely(&verdict, &entry->record, &entry->note));
    return VLY_OK;
}

static void forget(judges *by)
{
    for (uint32_t k = 0; k < VLY_DETECTORS; k++)
        vly_detector_forget(by->detectors[k]);
    by->extremes = (vly_extremes){0};
    if (by->surprise)
        vly_surprise_forget(by->surprise);
}

static vly_status print_json(judges *by, const telemetry_entry *entry,
                             vly_error *error)
{
    vly_status status = VLY_OK;
    double far[2];
    uint32_t metrics[2];
    json_writer json;
    if (entry->moved)
        forget(by);
    json_init(&json, false);
    json_object(&json, NULL);
    put_record(entry, &json);
    for (uint32_t k = 0; k < VLY_DETECTORS; k++)
        json_number(&json, vly_detector_name(k),
                    vly_detector_score(by->detectors[k], &entry->note, NULL));
    vly_extremes_judge(&by->extremes, entry->note.level, entry->note.told, far,
                       metrics);
    json_number(&json, "times", far[0]);
    json_number(&json, "times_smoothed", far[1]);
    if (by->surprise)
        status = put_verdict(by, entry, &json, error);
    json_object_end(&json);
    const char *text = json_finish(&json, &(size_t){0});
    if (status == VLY_OK && !text)
        status = vly_fail_nomem(error, 4096, "a line of JSON");
    if (status == VLY_OK)
        tool_print("%s", text);
    json_deinit(&json);
    return status;
}

static vly_status begin(const tool_args *args, judges *by, vly_error *error)
{
    const char *path = tool_text(args, "model");
    const char *device = tool_text(args, "device");
    vly_status status = VLY_OK;
    if (!path &&
        (device || tool_has(args, "alarms") || tool_has(args, "every")))
        return vly_fail(error, VLY_E_INVALID,
                        "--device, --alarms or --every without --model, wanted "
                        "both");
    if (path && !tool_has(args, "json"))
        return vly_fail(error, VLY_E_INVALID,
                        "--model without --json, wanted both");
    VLY_TRY(telemetry_file_open(args->positional[0], &by->file, error));
    for (uint32_t k = 0; k < VLY_DETECTORS; k++)
        VLY_TRY(vly_detector_create(k, &by->detectors[k], error));
    if (!path)
        goto out;
    VLY_TRY(tool_registry_create(&by->registry, error));
    VLY_TRY(vly_watcher_rwkv_open(by->registry, path, device ? device : "cpu:1",
                                  &by->rwkv, error));
    status = vly_surprise_create(
        vly_watcher_rwkv_tails(by->rwkv), tool_number(args, "alarms", 1),
        tool_number(args, "every", 100) * 1e-3, &by->surprise, error);
    if (status == VLY_OK)
        vly_surprise_devices(by->surprise,
                             vly_watcher_rwkv_device_tails(by->rwkv));
out:
    return status;
}

static void end(judges *by)
{
    vly_surprise_destroy(by->surprise);
    vly_watcher_rwkv_close(by->rwkv);
    vly_registry_destroy(by->registry);
    for (uint32_t k = 0; k < VLY_DETECTORS; k++)
        vly_detector_destroy(by->detectors[k]);
    telemetry_file_close(by->file);
}

static int run(const tool_args *args)
{
    vly_error error = VLY_ERROR_INIT;
    judges by = {.file = NULL};
    telemetry_entry entry;
    bool more = false;
    vly_status status = begin(args, &by, &error);
    while (status == VLY_OK) {
        status = telemetry_file_next(by.file, &more, &entry, &error);
        if (status != VLY_OK || !more)
            break;
        if (tool_has(args, "json"))
            status = print_json(&by, &entry, &error);
        else
            print_text(&entry);
    }
    end(&by);
    return status == VLY_OK ? TOOL_EXIT_DONE : tool_fail(&error);
}

const tool_command monitor_tokens = {
    .name = "monitor tokens",
    .arguments = "TELEMETRY.jsonl",
    .summary = "Prints telemetry as the tokens that the monitor's model "
               "reads.",
    .details =
        "A line of 16 tokens for each record: a separator (0), then one for "
        "each of 15\n"
        "metrics. core/monitor/RECORDS.md defines them. --json --model FILE "
        "judges each\n"
        "record with the code that watches runs, and prints nats, the values "
        "used for the\n"
        "score, the score (`monitor`), and alarms.\n",
    .options = options,
    .n_positional_min = 1,
    .n_positional_max = 1,
    .run = run};
