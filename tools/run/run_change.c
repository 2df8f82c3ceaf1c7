/* SPDX-License-Identifier: Apache-2.0
 * Changes of parameters in a run.
 */
#include "tools/run/run_change.h"

#include <volley/host.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "genome/genome.h"
#include "genome/toml_tree.h"
#include "tools/run/run_change_log.h"
#include "tools/run/run_checkpoint.h"
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

typedef struct change_part {
    run_change *changes; /* [n_changes] ascending bursts */
    uint32_t n_changes;
    uint32_t n_past; /* the first ones: made before a resume ... */
    bool knows_past; /* ... and all that were */
    uint32_t first;  /* those before it, that are not of n_past, lie before a
                      * resume: left out */
    uint32_t next;   /* all before this one are done, or left out */
} change_part;

static change_part *of(const run_job *job)
{
    return run_part_state(job, RUN_PART_change);
}

/* ---- what is asked ------------------------------------------------------ */

/* "PATH=VALUE", where VALUE is a number, true or false; path is owned then.
 * what: all that was given, for the message
 * wanted: its form, for the message */
static vly_status read_value(const char *text, const char *what,
                             const char *wanted, run_change *change,
                             vly_error *error)
{
    const char *equals = strrchr(text, '=');
    if (!equals || equals == text)
        return vly_fail(error, VLY_E_INVALID,
                        "%s: wanted %splasticity.p.frozen=true", what, wanted);
    bool is_true = strcmp(equals + 1, "true") == 0;
    change->value = is_true ? 1.0 : 0.0;
    if (!is_true && strcmp(equals + 1, "false") != 0 &&
        !tool_read_number(equals + 1, &change->value))
        return vly_fail(error, VLY_E_INVALID,
                        "%s: the value is \"%s\", wanted a number, true or "
                        "false",
                        what, equals + 1);
    change->path = vly_format("%.*s", (int)(equals - text), text);
    return change->path ? VLY_OK
                        : vly_fail_nomem(error, strlen(text), "a change");
}

/* "BURST=PATH=VALUE" */
static vly_status read_change(const char *text, run_change *change,
                              vly_error *error)
{
    static const char wanted[] = "BURST=PATH=VALUE, as in 1000=";
    char what[160];
    char number[24] = "";
    const char *equals = strchr(text, '=');
    size_t n = equals ? (size_t)(equals - text) : 0;
    snprintf(what, sizeof what, "--change %.140s", text);
    if (!equals || !strchr(equals + 1, '='))
        return vly_fail(error, VLY_E_INVALID,
                        "%s: wanted %splasticity.p.frozen=true", what, wanted);
    if (n < sizeof number)
        memcpy(number, text, n);
    if (!tool_read_count(number, &change->burst))
        return vly_fail(error, VLY_E_INVALID,
                        "%s: the burst is \"%.*s\", wanted a whole number",
                        what, (int)(n < 80 ? n : 80), text);
    return read_value(equals + 1, what, wanted, change, error);
}

/* Room for one more. Errors  E_NOMEM */
static vly_status reserve(change_part *part, vly_error *error)
{
    run_change *grown = vly_realloc(part->changes, (size_t)part->n_changes + 1,
                                    sizeof *part->changes);
    if (!grown)
        return vly_fail_nomem(error, sizeof *grown, "a change");
    part->changes = grown;
    return VLY_OK;
}

/* After those of the same burst, in reserved room; takes over the path. */
static void insert(change_part *part, const run_change *change)
{
    uint32_t k = part->n_changes;
    run_change *all = part->changes;
    for (; k > part->next && all[k - 1].burst > change->burst; k--)
        all[k] = all[k - 1];
    all[k] = *change;
    part->n_changes++;
}

vly_status run_change_plan(run_job *job, uint64_t burst, const char *path,
                           double value, vly_error *error)
{
    run_change change = {.burst = burst, .value = value};
    vly_status status = VLY_OK;
    VLY_TRY(reserve(of(job), error));
    change.path = vly_strdup(path);
    if (!change.path)
        status = vly_fail_nomem(error, strlen(path), "a change");
    else
        insert(of(job), &change);
out:
    return status;
}

static vly_status read_changes(run_job *job, const tool_args *args,
                               vly_error *error)
{
    const char *text;
    vly_status status = VLY_OK;
    for (uint32_t k = 0; (text = tool_text_at(args, "change", k)); k++) {
        run_change change = {0};
        VLY_TRY(reserve(of(job), error));
        VLY_TRY(read_change(text, &change, error));
        insert(of(job), &change);
    }
out:
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

static vly_status refuse(const run_change *change, vly_status status,
                         const vly_error *why, vly_error *error)
{
    char value[VLY_NUMBER_SIZE];
    return vly_fail(error, status, "--change %" PRIu64 "=%s=%s: %s",
                    change->burst, change->path,
                    vly_toml_print_number(change->value, value), why->message);
}

/* Puts the changes that the checkpoint has before those that are asked for. A
 * folder that --force takes over is that of another run. */
static vly_status read_past(run_job *job, vly_error *error)
{
    change_part *part = of(job);
    run_change_past past = {0};
    char *path = NULL;
    vly_status status = VLY_OK;
    if (!run_checkpoint_state(job)->resumed || !job->plan.folder ||
        job->plan.force)
        return VLY_OK;
    path = run_folder_path(job->plan.folder, "log.jsonl");
    if (!path)
        return vly_fail_nomem(error, 4096, "a file name");
    VLY_TRY(run_change_past_read(path, job->first_burst, &past, error));
    const size_t n = (size_t)past.n + part->n_changes;
    run_change *all = vly_realloc(past.changes, n + 1, sizeof *all);
    if (!all) {
        status = vly_fail_nomem(error, n * sizeof *all, "changes");
        goto out;
    }
    for (uint32_t k = 0; k < part->n_changes; k++)
        all[past.n + k] = part->changes[k];
    vly_free(part->changes);
    part->changes = all;
    part->n_changes = (uint32_t)n;
    part->n_past = part->next = past.n;
    part->knows_past = past.is_whole;
    past = (run_change_past){0};
out:
    run_change_past_free(&past);
    vly_free(path);
    return status;
}

/* Wrong names and values are refused before the first burst, in the order in
 * which the changes will be made. A checkpoint has the changes before its
 * burst. */
static vly_status check_changes(run_job *job, vly_error *error)
{
    change_part *part = of(job);
    vly_set_trial *trial = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(read_past(job, error));
    while (part->next < part->n_changes &&
           part->changes[part->next].burst < job->first_burst) {
        tool_message("--change %" PRIu64 "=%s: before burst %" PRIu64
                     ", at which the run continues: left out",
                     part->changes[part->next].burst,
                     part->changes[part->next].path, job->first_burst);
        part->next++;
    }
    part->first = part->next;

    if (part->next < part->n_changes)
        VLY_TRY(vly_set_trial_create(job->net, &trial, error));
    for (uint32_t k = part->next; k < part->n_changes; k++) {
        const run_change *change = &part->changes[k];
        const vly_planned_set planned = {change->burst, change->path,
                                         change->value};
        vly_error why = VLY_ERROR_INIT;
        status = vly_set_trial_add(trial, &planned, &why);
        if (status != VLY_OK) {
            status = refuse(change, status, &why, error);
            goto out;
        }
    }
out:
    vly_set_trial_destroy(trial);
    return status;
}

/* ---- in the run --------------------------------------------------------- */

static void tell(run_job *job, const run_change *change)
{
    char *text = run_change_text(change);
    run_folder_event(job, "change", text);
    vly_free(text);
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
            return refuse(change, status, &why, error);
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
    char what[160];
    snprintf(what, sizeof what, "set %.150s", argument);
    /* all that can fail comes before the value is set */
    if (reserve(part, why) != VLY_OK ||
        read_value(argument, what, "PATH=VALUE, as in ", &change, why) !=
            VLY_OK)
        return VLY_OK;
    if (vly_net_set(job->net, change.path, change.value, why) != VLY_OK) {
        vly_free(change.path);
        return VLY_OK;
    }
    insert(part, &change);
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

/* Those that were made, also before a resume as far as the folder says; a run
 * that was stopped did not make all. */
static void put(const run_job *job, json_writer *json)
{
    const change_part *part = of(job);
    json_array(json, "changes");
    for (uint32_t k = 0; k < part->next; k++) {
        if (k >= part->n_past && k < part->first)
            continue;
        json_object(json, NULL);
        json_u64(json, "burst", part->changes[k].burst);
        json_text(json, "path", part->changes[k].path);
        json_number(json, "value", part->changes[k].value);
        json_object_end(json);
    }
    json_array_end(json);
}

static void put_course(const run_job *job, json_writer *json)
{
    put(job, json);
    if (run_checkpoint_state(job)->resumed)
        json_bool(json, "changes_known", of(job)->knows_past);
}

bool run_change_reads_synapses(const vly_genome *genome)
{
    for (uint32_t a = 0; a < genome->n_areas; a++)
        if ((genome->areas[a].model->flags & VLY_AREA_FEAGI) != 0)
            return true;
    return false;
}

static bool whole(const run_job *job)
{
    return of(job)->n_changes > of(job)->n_past &&
           run_change_reads_synapses(job->build.genome);
}

const run_part run_part_change = {
    .name = "changes",
    .state_bytes = sizeof(change_part),
    .help = 3,
    .options = options,
    .read = read_changes,
    .at = {[RUN_CHECK] = check_length,
           [RUN_CLAIM] = check_changes,
           [RUN_REACH] = reach},
    .due = due,
    .command = "set",
    .command_argument = true,
    .obey = obey,
    .whole = whole,
    .print = {[RUN_LINES] = print},
    .json = {[RUN_MEMBERS] = put, [RUN_MANIFEST] = put_course},
    .close = deinit,
};
