/* SPDX-License-Identifier: Apache-2.0
 * volley sweep: a genome at every point of a grid of settings.
 */
#include "tools/cli/commands.h"

#include <volley/host.h>

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/thread.h"
#include "base/writer.h"
#include "tools/cli/json_writer.h"
#include "tools/run/run_job.h"
#include "tools/sweep/sweep.h"

static const tool_option options[] = {
    {"set", 0, true, TOOL_TEXT, "PATH=VALUES",
     "0.9,1,2 or 3:6:0.5 (first, last, step)", 0, 0},
    {"seeds", 0, false, TOOL_TEXT, "VALUES", "1:10; each is all three seeds", 0,
     0},
    {"jobs", 0, false, TOOL_COUNT, "N",
     "points that run at the same time; default: the number of cores, 1 on a "
     "backend other than cpu",
     1, 1024},
    {"threads", 0, false, TOOL_COUNT, "N",
     "host threads of a job; default: cores / jobs", 1, 1024},
    {"backend", 0, false, TOOL_TEXT, "NAME", "default: cpu", 0, 0},
    {"bursts", 0, false, TOOL_COUNT, "N", "length; default: [run]", 0, 9e15},
    {"ms", 0, false, TOOL_NUMBER, "T",
     "length in biological time, whole bursts", 0, 1e15},
    {"summary-from", 0, false, TOOL_NUMBER, "T",
     "leave out the first T ms of each point in its rates", 0, 1e15},
    {"output", 'o', false, TOOL_TEXT, "FOLDER",
     "folder for results.csv; new, empty, or of this sweep", 0, 0},
    {"force", 0, false, TOOL_FLAG, NULL,
     "replace results.csv of another sweep in FOLDER", 0, 0},
    {"quiet", 0, false, TOOL_FLAG, NULL, "failed points and errors only", 0, 0},
    {NULL, 0, false, TOOL_FLAG, NULL, NULL, 0, 0}};

/* ---- axes ------------------------------------------------------------- */

static vly_status read_set(const char *text, sweep_plan *plan, vly_error *error)
{
    sweep_axis *axis = &plan->axes[plan->n_axes];
    const char *equals = strchr(text, '=');
    if (!equals || equals == text)
        return vly_fail(error, VLY_E_INVALID,
                        "--set %s: wanted PATH=VALUES, as in var.g=3:6:0.5 or "
                        "var.g=4,5",
                        text);
    axis->path = vly_format("%.*s", (int)(equals - text), text);
    char *what = vly_format("--set %s", text);
    vly_status status = VLY_OK;
    if (!axis->path || !what)
        status = vly_fail_nomem(error, strlen(text), "a setting");
    plan->n_axes++;
    for (uint32_t a = 0; status == VLY_OK && a + 1 < plan->n_axes; a++)
        if (strcmp(plan->axes[a].path, axis->path) == 0)
            status = vly_fail(error, VLY_E_INVALID,
                              "--set %s comes twice, wanted all its values in "
                              "one list",
                              axis->path);
    if (status == VLY_OK)
        status = sweep_values_read(what, equals + 1, axis, error);
    vly_free(what);
    return status;
}

static vly_status read_seeds(const char *text, sweep_plan *plan,
                             vly_error *error)
{
    sweep_axis *axis = &plan->axes[plan->n_axes++];
    char *what = vly_format("--seeds %s", text);
    if (!what)
        return vly_fail_nomem(error, strlen(text), "the seeds");
    vly_status status = sweep_values_read(what, text, axis, error);
    for (uint32_t k = 0; status == VLY_OK && k < axis->n; k++) {
        uint64_t seed = 0;
        if (!tool_read_count(axis->values[k], &seed) || seed > INT64_MAX)
            status =
                vly_fail(error, VLY_E_INVALID,
                         "%s: %s is not a seed, wanted whole numbers from 0",
                         what, axis->values[k]);
    }
    vly_free(what);
    return status;
}

static vly_status read_axes(const tool_args *args, sweep_plan *plan,
                            vly_error *error)
{
    const char *text;
    plan->axes = vly_calloc((size_t)args->n_values + 1, sizeof *plan->axes);
    if (!plan->axes)
        return vly_fail_nomem(error, args->n_values, "the settings");
    vly_status status = VLY_OK;
    for (uint32_t k = 0; (text = tool_text_at(args, "set", k)) != NULL; k++)
        VLY_TRY(read_set(text, plan, error));
    if (tool_has(args, "seeds"))
        VLY_TRY(read_seeds(tool_text(args, "seeds"), plan, error));
    if (plan->n_axes == 0)
        return vly_fail(error, VLY_E_INVALID,
                        "nothing to sweep over, wanted --set PATH=VALUES or "
                        "--seeds VALUES");
    plan->n_points = 1;
    for (uint32_t a = 0; a < plan->n_axes; a++) {
        plan->n_points *= plan->axes[a].n;
        if (plan->n_points > SWEEP_POINTS_MAX)
            return vly_fail(error, VLY_E_INVALID,
                            "more than %d points, wanted fewer values",
                            SWEEP_POINTS_MAX);
    }
    plan->points = vly_calloc(plan->n_points, sizeof *plan->points);
    if (!plan->points)
        return vly_fail_nomem(error, plan->n_points * sizeof *plan->points,
                              "the points");
    for (uint64_t i = 0; i < plan->n_points; i++)
        plan->points[i].index = i;
out:
    return status;
}

/* ---- folder ----------------------------------------------------------- */

static void put_axes(const sweep_plan *plan, json_writer *json)
{
    json_array(json, "settings");
    for (uint32_t a = 0; a < plan->n_axes; a++) {
        const sweep_axis *axis = &plan->axes[a];
        json_object(json, NULL);
        json_text(json, "path", axis->path); /* null: the seeds */
        json_array(json, "values");
        for (uint32_t k = 0; k < axis->n; k++)
            json_text(json, NULL, axis->values[k]);
        json_array_end(json);
        json_object_end(json);
    }
    json_array_end(json);
}

static vly_status save_description(const sweep_plan *plan, const char *path,
                                   vly_error *error)
{
    json_writer json;
    size_t n_text = 0;
    json_init(&json, true);
    json_object(&json, NULL);
    json_text(&json, "genome", plan->path);
    json_text(&json, "backend", plan->backend);
    json_u64(&json, "points", plan->n_points);
    json_object(&json, "witness");
    json_text(&json, "point", plan->witness.name);
    json_text(&json, "genome_hash", plan->witness.genome_hash);
    json_u64(&json, "bursts", plan->witness.n_bursts);
    json_u64(&json, "summary_from", plan->witness.summary_from);
    json_object_end(&json);
    put_axes(plan, &json);
    json_array(&json, "command");
    for (int i = 0; i < plan->args->argc; i++)
        json_text(&json, NULL, plan->args->argv[i]);
    json_array_end(&json);
    json_object_end(&json);
    const char *text = json_finish(&json, &n_text);
    vly_status status =
        text ? vly_writer_save(path, text, n_text, error)
             : vly_fail_nomem(error, json.capacity, "sweep.json");
    json_deinit(&json);
    return status;
}

/* Searches from *next on, cyclically; *next is set after the found one. */
static bool has_value(const sweep_axis *axis, const char *value, uint32_t *next)
{
    for (uint32_t i = 0; value && i < axis->n; i++) {
        const uint32_t at = (*next + i) % axis->n;
        if (strcmp(axis->values[at], value) != 0)
            continue;
        *next = at + 1;
        return true;
    }
    return false;
}

/* NULL: this sweep contains every point of the sweep in the folder; otherwise
 * the setting that differs, or a reason. */
static const char *lost_setting(const sweep_plan *plan, const json_value *there)
{
    const json_value *axes = json_find(there, "settings");
    if (!axes || axes->kind != JSON_ARRAY)
        return "settings that its sweep.json does not contain";
    for (uint32_t a = 0; a < axes->n_items; a++) {
        const char *path = json_find_text(&axes->items[a], "path");
        const json_value *values = json_find(&axes->items[a], "values");
        const sweep_axis *axis = a < plan->n_axes ? &plan->axes[a] : NULL;
        const bool seeds = !path;
        path = seeds ? "seeds" : path;
        if (!axis || seeds != (!axis->path) ||
            (!seeds && strcmp(path, axis->path) != 0))
            return path;
        uint32_t next = 0; /* usually in the same order */
        for (uint32_t k = 0; values && k < values->n_items; k++)
            if (!has_value(axis, values->items[k].text, &next))
                return path;
    }
    return axes->n_items == plan->n_axes ? NULL : "they have fewer settings";
}

/* NULL, or "genome", "length" or "--summary-from" if that of the points in the
 * folder is another one. Older versions wrote no witness; then nothing is
 * compared. */
static const char *other_points(const sweep_plan *plan, const json_value *there)
{
    const json_value *witness = json_find(there, "witness");
    const char *name = json_find_text(witness, "point");
    const char *hash = json_find_text(witness, "genome_hash");
    sweep_witness before = {
        .n_bursts = (uint64_t)json_find_number(witness, "bursts", 0),
        .summary_from = (uint64_t)json_find_number(witness, "summary_from", 0)};
    if (!name || !hash)
        return NULL;
    snprintf(before.name, sizeof before.name, "%s", name);
    snprintf(before.genome_hash, sizeof before.genome_hash, "%s", hash);
    return sweep_witness_differs(plan, &before);
}

/* Rows of points that this sweep does not have, and points of another genome or
 * length, are lost only with --force. */
static vly_status check_results(const sweep_plan *plan, const char *own,
                                vly_error *error)
{
    json_value there = {0};
    const char *lost = NULL;
    vly_status status = VLY_OK;
    char *results = vly_format("%s/results.csv", plan->folder);
    if (!results)
        return vly_fail_nomem(error, 4096, "a file name");
    if (tool_has(plan->args, "force"))
        goto out;
    const bool has_rows = access(results, F_OK) == 0;
    status = json_load(own, &there, error);
    if (status != VLY_OK && !has_rows)
        status = VLY_OK; /* half a file of a call that was killed */
    if (status != VLY_OK)
        goto out;
    lost = has_rows ? lost_setting(plan, &there) : NULL;
    if (lost)
        VLY_TRY(vly_fail(error, VLY_E_INVALID,
                         "%s: rows of it are not of this sweep (%s), wanted "
                         "the same --set with all its values, another folder, "
                         "or --force",
                         results, lost));
    lost = other_points(plan, &there);
    if (lost)
        status = vly_fail(error, VLY_E_INVALID,
                          "%s: its points are of another %s, wanted the same "
                          "%s, another folder, or --force",
                          own, lost, lost);
out:
    json_free(&there);
    vly_free(results);
    return status;
}

/* sweep.json marks the folder of a sweep, which may be continued. */
static vly_status open_folder(sweep_plan *plan, vly_error *error)
{
    vly_status status = VLY_OK;
    char *own = vly_format("%s/sweep.json", plan->folder);
    char *points = vly_format("%s/points", plan->folder);
    if (!own || !points)
        VLY_TRY(vly_fail_nomem(error, 4096, "a file name"));
    VLY_TRY(run_folder_open(plan->folder, access(own, F_OK) == 0, &plan->lock,
                            error));
    if (access(own, F_OK) == 0)
        VLY_TRY(check_results(plan, own, error));
    /* written first: without it a second call refuses the folder */
    VLY_TRY(save_description(plan, own, error));
    if (mkdir(points, 0777) != 0 && errno != EEXIST)
        VLY_TRY(vly_fail(error, VLY_E_IO, "%s: the folder cannot be made: %s",
                         points, strerror(errno)));
out:
    vly_free(own);
    vly_free(points);
    return status;
}

/* ---- command ---------------------------------------------------------- */

/* on_host: runs share the processors; otherwise they take turns on a device. */
static vly_status check_backend(const vly_registry *registry,
                                const char *backend, bool *on_host,
                                vly_error *error)
{
    vly_named_device device = {.struct_size = sizeof device};
    const vly_status status =
        vly_device_find(registry, backend, 1, &device, error);
    if (status == VLY_OK && strcmp(device.id, "auto") != 0)
        *on_host = (device.flags & VLY_BACKEND_HOST) != 0;
    return status;
}

static vly_status read_plan(const tool_args *args, sweep_plan *plan,
                            vly_error *error)
{
    const char *backend = tool_text(args, "backend");
    uint32_t cores = vly_thread_cores();
    vly_registry *registry = NULL;
    *plan = (sweep_plan){
        .args = args,
        .path = args->positional[0],
        .folder = tool_text(args, "output"),
        .backend = backend ? backend : "cpu",
        .quiet = tool_has(args, "quiet"),
        .lock = -1,
    };
    uint32_t share = 0;
    bool on_host = false;
    vly_status status = VLY_OK;
    if (!plan->folder)
        return vly_fail(error, VLY_E_INVALID, "-o FOLDER is missing");
    if (strcmp(plan->path, "-") == 0)
        return vly_fail(error, VLY_E_INVALID,
                        "the genome of a sweep is read at every point, wanted "
                        "a file instead of -");
    VLY_TRY(read_axes(args, plan, error));
    VLY_TRY(tool_registry_create(&registry, error));
    VLY_TRY(check_backend(registry, plan->backend, &on_host, error));
    plan->n_jobs = (uint32_t)tool_count(args, "jobs", on_host ? cores : 1);
    share = cores / plan->n_jobs;
    plan->n_threads =
        (uint32_t)tool_count(args, "threads", share > 0 ? share : 1);
    if (access(plan->path, R_OK) != 0)
        VLY_TRY(errno == ENOENT ? tool_genome_missing(plan->path, error)
                                : vly_fail(error, VLY_E_IO, "%s: %s",
                                           plan->path, strerror(errno)));
    VLY_TRY(sweep_points_check(plan, error));
out:
    vly_registry_destroy(registry);
    return status;
}

static void plan_deinit(sweep_plan *plan)
{
    for (uint32_t a = 0; a < plan->n_axes; a++)
        sweep_axis_deinit(&plan->axes[a]);
    for (uint64_t i = 0; plan->points && i < plan->n_points; i++)
        vly_free(plan->points[i].reason);
    vly_free(plan->axes);
    vly_free(plan->points);
    if (plan->lock >= 0)
        close(plan->lock);
}

/* The exit code of the first point that failed. */
static int report(const sweep_plan *plan)
{
    uint64_t counts[4] = {0};
    uint64_t n_found = 0;
    int code = TOOL_EXIT_DONE;
    for (uint64_t i = 0; i < plan->n_points; i++) {
        const sweep_point *point = &plan->points[i];
        counts[point->state]++;
        n_found += point->found;
        if (point->state == SWEEP_FAILED && code == TOOL_EXIT_DONE)
            code = point->code;
    }
    if (!plan->quiet)
        tool_print("%" PRIu64 " points: %" PRIu64 " run, %" PRIu64
                   " done before, %" PRIu64 " failed, %" PRIu64
                   " not run; %s/results.csv\n",
                   plan->n_points, counts[SWEEP_DONE] - n_found, n_found,
                   counts[SWEEP_FAILED], counts[SWEEP_WAITING], plan->folder);
    return code;
}

static int run(const tool_args *args)
{
    vly_error error = VLY_ERROR_INIT;
    vly_error late = VLY_ERROR_INIT;
    sweep_plan plan;
    vly_status status = read_plan(args, &plan, &error);
    if (status == VLY_OK)
        status = open_folder(&plan, &error);
    if (status != VLY_OK) {
        int wrong = tool_fail(&error); /* while the folder is locked */
        plan_deinit(&plan);
        return wrong;
    }
    tool_signals_defer(true);
    tool_folder_keep();
    status = sweep_jobs_run(&plan, &error);
    vly_status saved = sweep_table_save(&plan, &late);
    int code = report(&plan);
    if (saved != VLY_OK)
        code = tool_fail(&late);
    if (status == VLY_E_STOPPED)
        code = TOOL_EXIT_STOPPED;
    else if (status != VLY_OK)
        code = tool_fail(&error);
    plan_deinit(&plan);
    return code;
}

const tool_command cmd_sweep = {
    .name = "sweep",
    .arguments = "GENOME.toml --set PATH=VALUES ... -o FOLDER [options]",
    .summary = "Runs a genome at every point of a grid of settings.",
    .details =
        "VALUES is a list of values and ranges FIRST:LAST[:STEP]; LAST is "
        "included.\n"
        "The last --set changes fastest, and the seeds faster than every "
        "--set.\n"
        "A failed point is recorded with its reason; the exit code is that "
        "of the\n"
        "first failed point. If the genome cannot be read at any point, "
        "nothing runs.\n"
        "The same call again runs the points that are missing, also after a "
        "kill.\n"
        "Longer lists keep finished points. A call whose grid lacks rows of "
        "an existing\n"
        "results.csv, or whose genome or length is another one, is refused "
        "without\n"
        "--force. Times in results.csv are those of jobs that ran at the same "
        "time.\n",
    .options = options,
    .n_positional_min = 1,
    .n_positional_max = 1,
    .run = run};
