/* SPDX-License-Identifier: Apache-2.0
 * log.jsonl of the folder of a run, and other files of lines in it.
 */
#include "tools/run/run_checkpoint.h"
#include "tools/run/run_job.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"

/* Every line is written at once: the log is for runs that end badly. No line is
 * written before the folder is begun: a refused run leaves none. */
static vly_status put_event(run_job *job, const char *event, const char *text,
                            vly_error *error)
{
    json_writer json;
    size_t n_text = 0;
    json_init(&json, false);
    json_object(&json, NULL);
    json_text(&json, "time", tool_time_text());
    json_text(&json, "event", event);
    if (job->net)
        json_u64(&json, "burst", vly_net_burst(job->net));
    if (text)
        json_text(&json, "text", text);
    json_object_end(&json);
    const char *line = json_finish(&json, &n_text);
    vly_status status = line
                            ? vly_writer_bytes(job->events, line, n_text, error)
                            : vly_fail_nomem(error, 256, "a line of log.jsonl");
    if (status == VLY_OK && job->folder_begun)
        status = vly_writer_flush(job->events, error);
    json_deinit(&json);
    return status;
}

/* Bytes up to the end of the last complete line. */
static vly_status whole_lines(const char *path, uint64_t *n_bytes,
                              vly_error *error)
{
    FILE *file = fopen(path, "rbe");
    char buffer[4096];
    uint64_t at = 0;
    uint64_t end = 0;
    size_t n = 0;
    if (!file)
        return vly_fail(error, VLY_E_IO, "%s: cannot be read: %s", path,
                        strerror(errno));
    while ((n = fread(buffer, 1, sizeof buffer, file)) > 0) {
        for (size_t i = 0; i < n; i++)
            end = buffer[i] == '\n' ? at + i + 1 : end;
        at += n;
    }
    bool failed = ferror(file) != 0;
    fclose(file);
    if (failed)
        return vly_fail(error, VLY_E_IO, "%s: cannot be read", path);
    *n_bytes = end;
    return VLY_OK;
}

void run_folder_event(run_job *job, const char *event, const char *text)
{
    vly_error error = VLY_ERROR_INIT;
    /* reported when the log is closed */
    if (job->events && put_event(job, event, text, &error) != VLY_OK)
        job->event_lost = error;
}

vly_status run_folder_lines(const run_job *job, const char *path, bool *resumes,
                            vly_writer **writer, vly_error *error)
{
    uint64_t n_bytes = 0;
    vly_status status = VLY_OK;
    *resumes = run_checkpoint_state(job)->resumed && access(path, F_OK) == 0;
    if (*resumes) {
        VLY_TRY(whole_lines(path, &n_bytes, error));
        status = vly_writer_resume(path, n_bytes, writer, error);
    } else {
        status = vly_writer_open(path, false, writer, error);
    }
    if (status == VLY_OK)
        vly_writer_set_lines(*writer);
out:
    return status;
}

static vly_status open_log(run_job *job, const char *path, vly_error *error)
{
    bool resumes = false;
    vly_status status = VLY_OK;
    VLY_TRY(run_folder_lines(job, path, &resumes, &job->events, error));
    status = put_event(job, resumes ? "resume" : "start",
                       resumes ? run_checkpoint_state(job)->plan.resume
                               : job->plan.path,
                       error);
out:
    return status;
}

vly_status run_folder_prepare(run_job *job, vly_error *error)
{
    char *path = run_folder_path(job->plan.folder, "log.jsonl");
    if (!path)
        return vly_fail_nomem(error, 4096, "a file name");
    vly_status status = open_log(job, path, error);
    vly_free(path);
    return status;
}
