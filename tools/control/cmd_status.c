/* SPDX-License-Identifier: Apache-2.0
 * volley status: what became of a run, or what it is doing, from the folder
 * that `volley run -o` writes. A run that still goes on holds a lock on
 * log.jsonl; its control socket answers where it is.
 */
#include "tools/cli/commands.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "tools/cli/columns.h"
#include "tools/cli/json_writer.h"
#include "tools/cli/tool.h"
#include "tools/control/control_client.h"
#include "tools/run/folder_state.h"

static const tool_option options[] = {
    {"json", 0, false, TOOL_FLAG, NULL, "print JSON", 0, 0},
    {NULL, 0, false, TOOL_FLAG, NULL, NULL, 0, 0}};

/* A run that is stopped (SIGSTOP) does not answer. */
static const double answer_timeout_s = 2;

typedef struct folder_status {
    const char *folder;
    json_value manifest;
    json_value summary; /* JSON_NULL: the file does not exist */
    json_value answer;  /* of the run; JSON_NULL: no answer */
    char state[24];     /* "running", "paused", "killed", or exit_reason */
    char likely[640];   /* reason why a killed run ended; "": nothing but the
                         * kill is known */
    uint64_t burst;     /* the last known burst */
    uint64_t wanted;
} folder_status;

static uint64_t number_of(const json_value *value, const char *key)
{
    const double number = json_find_number(value, key, 0);
    return number >= 0 && number < 0x1p63 ? (uint64_t)number : 0;
}

static const char *text_of(const json_value *value, const char *key,
                           tool_plain_text *text)
{
    const char *found = json_find_text(value, key);
    return tool_plain(found ? found : "", text);
}

/* ---- the files of the folder --------------------------------------------- */

/* Errors  as json_load. *value stays JSON_NULL if the file does not exist. */
static vly_status load(const char *folder, const char *name, bool needed,
                       json_value *value, vly_error *error)
{
    char *path = vly_format("%s/%s", folder, name);
    if (!path)
        return vly_fail_nomem(error, strlen(folder), "a path");
    vly_status status = VLY_OK;
    if (needed || access(path, F_OK) == 0)
        status = json_load(path, value, error);
    vly_free(path);
    return status;
}

/* The run holds no lock and did not write how it ended. */
static void look_at_killed(folder_status *status)
{
    folder_end end;
    if (folder_end_read(status->folder, &end, NULL) != VLY_OK)
        return; /* no memory for a path: the reason stays unknown */
    status->burst = end.burst > status->burst ? end.burst : status->burst;
    (void)folder_likely(&end, status->likely, sizeof status->likely);
}

static void ask_run(folder_status *status)
{
    char path[CONTROL_PATH_BYTES];
    const char *control = json_find_text(&status->manifest, "control");
    const int64_t pid = (int64_t)number_of(&status->manifest, "pid");
    char *text = vly_malloc(CONTROL_ANSWER_BYTES, 1);
    bool found = text && control && strcmp(control, "off") != 0;
    if (found && control[0] == '\0')
        found = control_find(pid, path, sizeof path, NULL) == VLY_OK;
    else if (found)
        found = snprintf(path, sizeof path, "%s", control) < (int)sizeof path;
    if (found &&
        control_ask(path, "status", answer_timeout_s, text, &status->answer,
                    NULL) == VLY_OK &&
        (int64_t)number_of(&status->answer, "pid") != pid) {
        json_free(&status->answer); /* of another run */
        status->answer = (json_value){0};
    }
    vly_free(text);
}

static void find_state(folder_status *status)
{
    const char *reason = json_find_text(&status->manifest, "exit_reason");
    const bool ended = reason && strcmp(reason, "running") != 0;
    status->wanted = number_of(&status->manifest, "bursts_wanted");
    status->burst = number_of(&status->manifest, "bursts");
    snprintf(status->state, sizeof status->state, "%s",
             ended ? reason : "killed");
    if (ended)
        return;
    if (!folder_is_locked(status->folder)) {
        look_at_killed(status);
        return;
    }
    snprintf(status->state, sizeof status->state, "running");
    ask_run(status);
    const json_value *paused = json_find(&status->answer, "paused");
    if (paused && paused->number > 0)
        snprintf(status->state, sizeof status->state, "paused");
    if (status->answer.kind == JSON_OBJECT)
        status->burst = number_of(&status->answer, "burst");
}

/* ---- output -------------------------------------------------------------- */

static void print_areas(const json_value *summary)
{
    const json_value *areas = json_find(summary, "areas");
    if (!areas || areas->kind != JSON_ARRAY)
        return;
    for (uint32_t a = 0; a < areas->n_items; a++) {
        const json_value *area = &areas->items[a];
        tool_plain_text name;
        const char *id = text_of(area, "id", &name);
        tool_print("%-*s %s neurons, %.4g Hz\n", TOOL_COLUMN(id, 17),
                   tool_thousands(number_of(area, "neurons")),
                   json_find_number(area, "rate_hz", 0));
    }
}

static void print_text(const folder_status *status)
{
    const json_value *manifest = &status->manifest;
    const json_value *answer = &status->answer;
    const bool live = answer->kind == JSON_OBJECT;
    tool_plain_text text;
    tool_print("state             %s\n", status->state);
    if (status->likely[0])
        tool_print("likely            %s\n", tool_plain(status->likely, &text));
    if (json_find_text(manifest, "message"))
        tool_print("message           %s\n",
                   text_of(manifest, "message", &text));
    tool_print("genome            %s\n", text_of(manifest, "genome", &text));
    tool_print("backend           %s\n",
               text_of(live ? answer : manifest, "backend", &text));
    tool_print("burst             %s of %s (%.3g%%)%s\n",
               tool_thousands(status->burst), tool_thousands(status->wanted),
               status->wanted > 0
                   ? 100.0 * (double)status->burst / (double)status->wanted
                   : 100.0,
               strcmp(status->state, "killed") == 0 ||
                       (strcmp(status->state, "running") == 0 && !live)
                   ? " or more"
                   : "");
    tool_print("begun             %s\n", text_of(manifest, "start", &text));
    if (json_find_text(manifest, "end"))
        tool_print("ended             %s\n", text_of(manifest, "end", &text));
    if (live) {
        tool_print("process           %llu\n",
                   (unsigned long long)number_of(answer, "pid"));
        tool_print("rate              %s bursts/s\n",
                   tool_rate_text(json_find_number(answer, "bursts_per_s", 0)));
        tool_print("spikes            %s\n",
                   tool_thousands(number_of(answer, "spikes")));
    }
    if (status->summary.kind == JSON_OBJECT) {
        tool_print("spikes            %s\n",
                   tool_thousands(number_of(&status->summary, "spikes")));
        tool_print("real-time factor  %.3g\n",
                   json_find_number(&status->summary, "rtf", 0));
        print_areas(&status->summary);
        tool_print("digest            %s\n",
                   text_of(&status->summary, "digest", &text));
    }
}

static int print_json(const folder_status *status, vly_error *error)
{
    const json_value *manifest = &status->manifest;
    const bool live = status->answer.kind == JSON_OBJECT;
    json_writer json;
    size_t n = 0;
    json_init(&json, true);
    json_object(&json, NULL);
    json_text(&json, "state", status->state);
    if (status->likely[0])
        json_text(&json, "likely", status->likely);
    json_text(&json, "message", json_find_text(manifest, "message"));
    json_text(&json, "genome", json_find_text(manifest, "genome"));
    json_text(&json, "backend",
              json_find_text(live ? &status->answer : manifest, "backend"));
    json_u64(&json, "burst", status->burst);
    json_u64(&json, "bursts_wanted", status->wanted);
    json_text(&json, "start", json_find_text(manifest, "start"));
    json_text(&json, "end", json_find_text(manifest, "end"));
    json_u64(&json, "pid", number_of(manifest, "pid"));
    if (live)
        json_number(&json, "bursts_per_s",
                    json_find_number(&status->answer, "bursts_per_s", 0));
    if (status->summary.kind == JSON_OBJECT) {
        json_u64(&json, "spikes", number_of(&status->summary, "spikes"));
        json_number(&json, "rtf", json_find_number(&status->summary, "rtf", 0));
        json_text(&json, "digest", json_find_text(&status->summary, "digest"));
    }
    json_object_end(&json);
    const char *text = json_finish(&json, &n);
    if (text)
        tool_print("%s", text);
    else
        vly_fail_nomem(error, json.capacity, "the status");
    json_deinit(&json);
    return text ? TOOL_EXIT_DONE : tool_fail(error);
}

static bool has_manifest(const char *folder)
{
    char *path = vly_format("%s/manifest.json", folder);
    const bool there = !path || access(path, F_OK) == 0 || errno != ENOENT;
    vly_free(path);
    return there;
}

static int run(const tool_args *args)
{
    vly_error error = VLY_ERROR_INIT;
    folder_status found = {.folder = args->positional[0]};
    vly_status status = VLY_OK;
    struct stat info;
    int code = TOOL_EXIT_DONE;
    if (stat(found.folder, &info) != 0) {
        (void)vly_fail(&error, VLY_E_IO, "%s: %s", found.folder,
                       strerror(errno));
        return tool_fail(&error);
    }
    if (!S_ISDIR(info.st_mode)) {
        tool_message("%s: not a folder, wanted that of a run: volley run "
                     "GENOME.toml -o FOLDER",
                     found.folder);
        return TOOL_EXIT_WRONG;
    }
    if (!has_manifest(found.folder)) {
        tool_message("%s: not the folder of a run (no manifest.json in it); "
                     "wanted the one given to -o: volley run GENOME.toml -o "
                     "FOLDER makes it, volley status FOLDER shows it",
                     found.folder);
        return TOOL_EXIT_WRONG;
    }
    VLY_TRY(load(found.folder, "manifest.json", true, &found.manifest, &error));
    find_state(&found);
    /* in a folder that is used again, the summary is of the earlier run */
    /* if the run was refused, the summary is of an earlier run */
    if (json_find_text(&found.manifest, "end") &&
        strcmp(found.state, "refused") != 0)
        VLY_TRY(
            load(found.folder, "summary.json", false, &found.summary, &error));
    if (tool_has(args, "json"))
        code = print_json(&found, &error);
    else
        print_text(&found);
out:
    json_free(&found.manifest);
    json_free(&found.summary);
    json_free(&found.answer);
    return status != VLY_OK ? tool_fail(&error) : code;
}

const tool_command cmd_status = {
    .name = "status",
    .arguments = "FOLDER [options]",
    .summary = "Shows the state of a current or finished run, from its "
               "folder.",
    .details =
        "FOLDER is that of `volley run -o`. The state is running, paused, "
        "done, error,\n"
        "signal, ctl, deadline, refused (before its first burst), or killed "
        "(the run ended\n"
        "without writing a reason; --resume continues from its checkpoint).\n",
    .options = options,
    .n_positional_min = 1,
    .n_positional_max = 1,
    .run = run};
