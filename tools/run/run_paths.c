/* SPDX-License-Identifier: Apache-2.0
 * The files of a run do not overwrite each other or the genome. Files that do
 * not exist yet are compared by the real path of their folder.
 */
#include "tools/run/run_checkpoint.h"
#include "tools/run/run_job.h"
#include "tools/run/run_output.h"
#include "tools/run/run_part.h"

#include <assert.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/temporary.h"
#include "record/export.h"
#include "tools/cli/output_apart.h"

/* --record FILE.h5 has another one beside it, and --checkpoint is the last. */
enum { OUTPUTS_MAX = 16 };

typedef struct output {
    const char *path; /* NULL: option not given */
    char real[PATH_MAX];
} output;

static bool is_folder(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

/* Would an output replace a file that the run reads? Only the run's own
 * checkpoints may replace the checkpoint of --resume. */
static vly_status check_reads(const run_job *job, const char *path,
                              vly_error *error)
{
    const run_plan *plan = &job->plan;
    vly_status status = VLY_OK;
    VLY_TRY(output_apart(path, plan->path, "the genome", error));
    VLY_TRY(output_apart_genome(path, job->build.genome, error));
    VLY_TRY(output_apart(path, plan->manifest, "the manifest", error));
    VLY_TRY(run_parts_apart(job, path, error));
    if (path != run_checkpoint_state(job)->plan.path)
        VLY_TRY(output_apart(path, run_checkpoint_state(job)->plan.resume,
                             "the checkpoint of --resume", error));
out:
    return status;
}

static vly_status check_folder(const run_job *job, const output *outputs, int n,
                               vly_error *error)
{
    vly_status status = VLY_OK;
    static const char *const names[] = {"manifest.json",        "summary.json",
                                        "genome.resolved.toml", "log.jsonl",
                                        "monitor.jsonl",        "weights.csv"};
    enum { N = sizeof names / sizeof names[0] };
    const run_plan *plan = &job->plan;
    /* the recording of the folder, if --record names no other file */
    const char *const recordings[] = {run_output_state(job)->output.path,
                                      run_output_state(job)->output.growing};
    int n_recordings =
        !run_output_state(job)->file && run_output_state(job)->output.path ? 2
                                                                           : 0;
    char path[PATH_MAX];
    char real[PATH_MAX];
    for (int k = 0; k < N + n_recordings; k++) {
        if (k < N)
            snprintf(path, sizeof path, "%s/%s", plan->folder, names[k]);
        else
            snprintf(path, sizeof path, "%s", recordings[k - N]);
        VLY_TRY(check_reads(job, path, error));
        output_real(path, real);
        for (int i = 0; i < n; i++) {
            if (outputs[i].path && (strcmp(outputs[i].real, real) == 0 ||
                                    tool_is_same_file(outputs[i].path, path)))
                return vly_fail(error, VLY_E_INVALID,
                                "%s is what -o %s writes there, wanted "
                                "another file",
                                outputs[i].path, plan->folder);
        }
    }
out:
    return status;
}

/* Is real FILE.tmp, or one of FILE.1 to FILE.(keep - 1)? */
static bool is_beside(const char *real, const char *file, uint32_t keep)
{
    size_t n = strlen(file);
    uint64_t k = 0;
    if (strncmp(real, file, n) != 0 || real[n] != '.')
        return false;
    return strcmp(real + n, ".tmp") == 0 ||
           (tool_read_count(real + n + 1, &k) && k >= 1 && k < keep);
}

/* Older checkpoints may be replaced. */
static vly_status check_checkpoints(const run_job *job, const output *outputs,
                                    int n, vly_error *error)
{
    const run_checkpoint_plan *checkpoint = &run_checkpoint_state(job)->plan;
    char file[PATH_MAX];
    if (checkpoint->path)
        output_real(checkpoint->path, file);
    for (int i = 0; i < n; i++) {
        const char *path = outputs[i].path;
        if (!path)
            continue;
        if (checkpoint->path &&
            is_beside(outputs[i].real, file, checkpoint->keep))
            return vly_fail(error, VLY_E_INVALID,
                            "%s is what --checkpoint %s writes beside it, "
                            "wanted another file",
                            path, checkpoint->path);
    }
    return VLY_OK;
}

/* One file of samples, created at the end of the run. */
static vly_status check_report(const run_job *job, const char *path,
                               const output *outputs, int n, vly_error *error)
{
    char real[PATH_MAX];
    vly_status status = VLY_OK;
    VLY_TRY(check_reads(job, path, error));
    output_real(path, real);
    for (int i = 0; i < n; i++) {
        if (outputs[i].path && (strcmp(outputs[i].real, real) == 0 ||
                                tool_is_same_file(outputs[i].path, path)))
            return vly_fail(
                error, VLY_E_INVALID,
                "%s is where samples of [[record]] go, wanted another "
                "file",
                outputs[i].path);
    }
out:
    return status;
}

static vly_status check_reports(const run_job *job, const output *outputs,
                                int n, vly_error *error)
{
    const vly_genome *genome = job->build.genome;
    if (!run_output_state(job)->output.path ||
        run_output_state(job)->output.format == VLY_EXPORT_NONE)
        return VLY_OK;
    for (uint32_t r = 0; r < genome->n_records; r++) {
        const vly_record *record = &genome->records[r];
        if (record->kind == VLY_RECORD_SPIKES)
            continue;
        const vly_area *area = &genome->areas[record->area];
        const char *name = record->kind == VLY_RECORD_RATES
                               ? RUN_RATE_FIELD
                               : area->model->fields[record->field].name;
        char *path = vly_export_report_path(run_output_state(job)->output.path,
                                            record->group, name);
        if (!path)
            return vly_fail_nomem(error, 4096, "a file name");
        vly_status status = check_report(job, path, outputs, n, error);
        vly_free(path);
        if (status != VLY_OK)
            return status;
    }
    return VLY_OK;
}

/* Opening the files would find this too, but only after the network is
 * compiled. */
static vly_status check_free(const char *path, vly_error *error)
{
    struct stat info;
    char beside[PATH_MAX + sizeof VLY_TEMPORARY_SUFFIX];
    bool there = stat(path, &info) == 0;
    if (there && !S_ISREG(info.st_mode))
        return VLY_OK;
    snprintf(beside, sizeof beside, "%s" VLY_TEMPORARY_SUFFIX, path);
    if ((there && vly_file_is_locked(path)) || vly_file_is_locked(beside))
        return vly_fail(error, VLY_E_IO,
                        "%s: cannot be written: another process writes it",
                        path);
    return VLY_OK;
}

static bool is_temporary(const char *path)
{
    const size_t n = strlen(path);
    const size_t n_end = strlen(VLY_TEMPORARY_SUFFIX);
    return n > n_end && strcmp(path + n - n_end, VLY_TEMPORARY_SUFFIX) == 0;
}

/* Checks one output; those before it are checked. */
static vly_status check_given(const run_job *job, output *outputs, int i,
                              vly_error *error)
{
    const char *path = outputs[i].path;
    vly_status status = VLY_OK;
    if (path[0] == '\0')
        return vly_fail(error, VLY_E_INVALID,
                        "the name of an output is empty, wanted that of a "
                        "file");
    if (is_temporary(path))
        return vly_fail(error, VLY_E_INVALID,
                        "%s ends in " VLY_TEMPORARY_SUFFIX
                        ", as files do that are not written to their end, "
                        "wanted another name",
                        path);
    VLY_TRY(check_reads(job, path, error));
    /* the check of checkpoints has a better message */
    if (path != run_checkpoint_state(job)->plan.path && is_folder(path))
        return vly_fail(error, VLY_E_IO,
                        "%s is a folder, wanted a file for output, as in "
                        "%s/FILE",
                        path, path);
    output_real(path, outputs[i].real);
    for (int k = 0; k < i; k++) {
        if (!outputs[k].path ||
            (strcmp(outputs[i].real, outputs[k].real) != 0 &&
             !tool_is_same_file(path, outputs[k].path)))
            continue;
        return vly_fail(error, VLY_E_INVALID,
                        "%s is given for two of --record, --digest-log, "
                        "--weights, --record-weights, --json, "
                        "--save-connectome, --telemetry, --probe-out, "
                        "--checkpoint",
                        path);
    }
    status = check_free(path, error);
out:
    return status;
}

vly_status run_paths_check(const run_job *job, vly_error *error)
{
    const run_plan *plan = &job->plan;
    const char *growing = run_output_state(job)->output.growing;
    /* of --record FILE.h5: FILE.h5.vls is written too */
    bool beside = run_output_state(job)->file && growing &&
                  strcmp(growing, run_output_state(job)->file) != 0;
    if (plan->connectome && strcmp(plan->connectome, "-") == 0)
        return vly_fail(error, VLY_E_INVALID,
                        "--save-connectome -: wanted a file name");
    if (run_checkpoint_state(job)->plan.path &&
        strcmp(run_checkpoint_state(job)->plan.path, "-") == 0)
        return vly_fail(error, VLY_E_INVALID,
                        "--checkpoint -: wanted a file name");
    /* all files beside the checkpoint itself */
    output outputs[OUTPUTS_MAX] = {{.path = beside ? growing : NULL}};
    const char *path;
    int n = 1;
    for (uint32_t k = 0; (path = run_parts_output(job, k)) != NULL; k++) {
        assert(n < OUTPUTS_MAX - 1);
        outputs[n++].path = path;
    }
    outputs[n].path = run_checkpoint_state(job)->plan.path;
    for (int i = 0; i <= n; i++) {
        vly_status found = VLY_OK;
        if (outputs[i].path)
            found = check_given(job, outputs, i, error);
        if (found != VLY_OK)
            return found;
    }
    vly_status status = check_checkpoints(job, outputs, n, error);
    if (status == VLY_OK)
        status = check_reports(job, outputs, n + 1, error);
    if (status == VLY_OK && plan->folder)
        status = check_folder(job, outputs, n + 1, error);
    return status;
}

/* ---- from a folder ----------------------------------------------------- */

char *run_path_from(const char *folder, const char *path)
{
    char from[PATH_MAX];
    char to[PATH_MAX];
    char up[PATH_MAX] = "";
    size_t common = 0;
    if (strcmp(path, "-") == 0)
        return NULL;
    output_real(folder, from);
    output_real(path, to);
    if (from[0] != '/' || to[0] != '/')
        return vly_strdup(path);
    const size_t n = strlen(from);
    for (size_t i = 0; i <= n && (from[i] == to[i] || i == n); i++)
        if (i == n ? to[i] == '/' : from[i] == '/')
            common = i;
    for (size_t i = common; i < n && n > 1; i++)
        if (from[i] == '/' && strlen(up) + 4 < sizeof up)
            strcat(up, "../");
    return vly_format("%s%s", up, to + common + 1);
}
