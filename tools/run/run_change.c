/* SPDX-License-Identifier: Apache-2.0
 * Changes of parameters in a run.
 */
#include "tools/run/run_change.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "tools/run/run_job.h"
#include "tools/run/run_part.h"

#define LINES_MAX 12u

static const tool_option options[] = {
    {"change", 0, true, TOOL_TEXT, "BURST=PATH=VALUE",
     "set a parameter after BURST bursts: area.NAME.PARAMETER, "
     "stimulus.ID.KEY, "
     "plasticity.NAME.KEY; may be repeated",
     0, 0},
    {NULL, 0, false, TOOL_FLAG, NULL, NULL, 0, 0}};

typedef struct run_change {
    uint64_t burst; /* number of bursts after which it takes place */
    char *path;
    double value;
} run_change;

typedef struct change_part {
    run_change *changes; /* [n_changes] ascending bursts */
    uint32_t n_changes;
    uint32_t first; /* those before it lie before a resume: left out */
    uint32_t next;  /* all before this one are done, or left out */
} change_part;

static change_part *of(const run_job *job)
{
    return run_part_state(job, RUN_PART_change);
}

/* ---- what is asked ------------------------------------------------------ */

/* "PATH=VALUE": a number, true or false; path is owned then. */
static bool read_value(const char *text, run_change *change)
{
    const char *equals = strrchr(text, '=');
    if (equals == NULL || equals == text)
        return false;
    bool is_true = strcmp(equals + 1, "true") == 0;
    change->value = is_true ? 1.0 : 0.0;
    if (!is_true && strcmp(equals + 1, "false") != 0 &&
        !tool_read_number(equals + 1, &change->value))
        return false;
    change->path = vly_format("%.*s", (int)(equals - text), text);
    return change->path != NULL;
}

/* "BURST=PATH=VALUE" */
static bool read_change(const char *text, run_change *change)
{
    char number[24];
    const char *equals = strchr(text, '=');
    size_t n = equals != NULL ? (size_t)(equals - text) : 0;
    if (n == 0 || n >= sizeof number)
        return false;
    memcpy(number, text, n);
    number[n] = '\0';
    return tool_read_count(number, &change->burst) &&
           read_value(equals + 1, change);
}

/* After those of the same burst; takes over the path. */
static vly_status insert(change_part *part, const run_change *change,
                         vly_error *error)
{
    uint32_t k = part->n_changes;
    run_change *grown = vly_realloc(part->changes, (size_t)part->n_changes + 1,
                                    sizeof *part->changes);
    if (grown == NULL)
        return vly_fail_nomem(error, sizeof *grown, "a change");
    part->changes = grown;
    for (; k > part->next && grown[k - 1].burst > change->burst; k--)
        grown[k] = grown[k - 1];
    grown[k] = *change;
    part->n_changes++;
    return VLY_OK;
}

vly_status run_change_plan(run_job *job, uint64_t burst, const char *path,
                           double value, vly_error *error)
{
    run_change change = {.burst = burst, .value = value};
    change.path = vly_strdup(path);
    if (change.path == NULL)
        return vly_fail_nomem(error, strlen(path), "a change");
    vly_status status = insert(of(job), &change, error);
    if (status != VLY_OK)
        vly_free(change.path);
    return status;
}

static vly_status read_changes(run_job *job, const tool_args *args,
                               vly_error *error)
{
    const char *text;
    vly_status status = VLY_OK;
    for (uint32_t k = 0; (text = tool_text_at(args, "change", k)); k++) {
        run_change change = {0};
        if (!read_change(text, &change))
            return vly_fail(error, VLY_E_INVALID,
                            "--change %s: wanted BURST=PATH=VALUE, as in "
                            "1000=plasticity.p.frozen=true",
                            text);
        status = insert(of(job), &change, error);
        if (status != VLY_OK) {
            vly_free(change.path);
            return status;
        }
    }
    return status;
}

static vly_status check_length(run_job *job, vly_error *error)
{
    const change_part *part = of(job);
    for (uint32_t k = 0; k < part->n_changes; k++)
        if (part->changes[k].burst > job->plan.n_bursts)
            return vly_fail(error, VLY_E_INVALID,
                            "--change %" PRIu64 "=%s: the run has %" PRIu64
                            " bursts",
                            part->changes[k].burst, part->changes[k].path,
                            job->plan.n_bursts);
    return VLY_OK;
}

/* Names that do not exist are refused before the first burst; a checkpoint has
 * the changes before its burst. */
static vly_status check_paths(run_job *job, vly_error *error)
{
    change_part *part = of(job);
    double off = 0;
    vly_status status = VLY_OK;
    while (part->next < part->n_changes &&
           part->changes[part->next].burst < job->first_burst) {
        tool_message("--change %" PRIu64 "=%s: before burst %" PRIu64
                     ", at which the run continues: left out",
                     part->changes[part->next].burst,
                     part->changes[part->next].path, job->first_burst);
        part->next++;
    }
    part->first = part->next;

    for (uint32_t k = part->next; k < part->n_changes && status == VLY_OK; k++)
        status = vly_net_rounding(job->net, part->changes[k].path, &off, error);
    return status;
}

/* ---- in the run --------------------------------------------------------- */

static void tell(run_job *job, const run_change *change)
{
    char text[200];
    snprintf(text, sizeof text, "burst %" PRIu64 ": %.120s = %.17g",
             change->burst, change->path, change->value);
    run_folder_event(job, "change", text);
}

static vly_status reach(run_job *job, vly_error *error)
{
    change_part *part = of(job);
    const uint64_t burst = vly_net_burst(job->net);
    vly_status status = VLY_OK;
    while (part->next < part->n_changes &&
           part->changes[part->next].burst <= burst) {
        const run_change *change = &part->changes[part->next];
        vly_error why = VLY_ERROR_INIT;
        status = vly_net_set(job->net, change->path, change->value, &why);
        if (status != VLY_OK)
            return vly_fail(error, status, "--change %" PRIu64 "=%s: %s",
                            change->burst, change->path, why.message);
        part->next++;
        tell(job, change);
    }
    return status;
}

static uint64_t due(const run_job *job)
{
    const change_part *part = of(job);
    return part->next < part->n_changes ? part->changes[part->next].burst
                                        : UINT64_MAX;
}

/* `volley ctl PID set PATH=VALUE`: a refusal changes nothing, and the run goes
 * on. */
static vly_status obey(run_job *job, const char *argument, json_writer *json,
                       vly_error *why)
{
    change_part *part = of(job);
    run_change change = {.burst = vly_net_burst(job->net)};
    if (!read_value(argument, &change)) {
        vly_fail(why, VLY_E_INVALID,
                 "set %s: wanted PATH=VALUE, as in plasticity.p.frozen=true",
                 argument);
        return VLY_OK;
    }
    if (vly_net_set(job->net, change.path, change.value, why) != VLY_OK ||
        insert(part, &change, why) != VLY_OK) {
        vly_free(change.path);
        return VLY_OK;
    }
    part->next++;
    json_text(json, "path", change.path);
    json_number(json, "value", change.value);
    tell(job, &change);
    return VLY_OK;
}

static void deinit(run_job *job)
{
    const change_part *part = of(job);
    for (uint32_t k = 0; k < part->n_changes; k++)
        vly_free(part->changes[k].path);
    vly_free(part->changes);
}

/* ---- the report --------------------------------------------------------- */

static void print(const run_job *job)
{
    const change_part *part = of(job);
    for (uint32_t k = part->first; k < part->next; k++) {
        if (k - part->first == LINES_MAX) {
            tool_print("%-17s and %s more\n", "",
                       tool_thousands(part->next - k));
            return;
        }
        tool_plain_text text;
        tool_print(
            "%-17s burst %s: %s = %g\n", k == part->first ? "changes" : "",
            tool_thousands(part->changes[k].burst),
            tool_plain(part->changes[k].path, &text), part->changes[k].value);
    }
}

/* Those that were made; a run that was stopped did not make all. */
static void put(const run_job *job, json_writer *json)
{
    const change_part *part = of(job);
    json_array(json, "changes");
    for (uint32_t k = part->first; k < part->next; k++) {
        json_object(json, NULL);
        json_u64(json, "burst", part->changes[k].burst);
        json_text(json, "path", part->changes[k].path);
        json_number(json, "value", part->changes[k].value);
        json_object_end(json);
    }
    json_array_end(json);
}

const run_part run_part_change = {
    .name = "changes",
    .state_bytes = sizeof(change_part),
    .help = 3,
    .options = options,
    .read = read_changes,
    .at = {[RUN_CHECK] = check_length,
           [RUN_CLAIM] = check_paths,
           [RUN_REACH] = reach},
    .due = due,
    .command = "set",
    .command_argument = true,
    .obey = obey,
    .print = {[RUN_LINES] = print},
    .json = {[RUN_MEMBERS] = put, [RUN_MANIFEST] = put},
    .close = deinit,
};
