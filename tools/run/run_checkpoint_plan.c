/* SPDX-License-Identifier: Apache-2.0
 * What --checkpoint, --every, --keep and --resume ask for, and whether it can
 * be had: found out before a network is compiled for minutes.
 */
#include "tools/run/run_checkpoint.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "checkpoint/checkpoint.h"
#include "tools/run/run_job.h"
#include "tools/run/run_output.h"
#include "tools/run/run_part.h"
#include "tools/run/run_weights.h"

static const tool_option options[] = {
    {"checkpoint", 0, false, TOOL_TEXT, "FILE",
     "write the state: at the end, on a signal, and --every", 0, 0},
    {"every", 0, false, TOOL_TEXT, "N",
     "write a checkpoint every N bursts, or every 30s, 10min, 2h", 0, 0},
    {"keep", 0, false, TOOL_COUNT, "N",
     "number of checkpoints to keep: FILE, the earlier FILE.1, ...; default 1",
     1, 1000},
    {"resume", 0, false, TOOL_TEXT, "FILE",
     "continue from a checkpoint, and continue the recordings of its run", 0,
     0},
    {NULL, 0, false, TOOL_FLAG, NULL, NULL, 0, 0}};

/* "10min" to ns, "1000" to bursts. */
static bool read_every(const char *text, run_checkpoint_plan *plan)
{
    static const struct {
        const char *unit;
        uint64_t ns;
    } units[] = {{"s", UINT64_C(1000000000)},
                 {"min", UINT64_C(60000000000)},
                 {"h", UINT64_C(3600000000000)}};
    char number[24];
    uint64_t count = 0;
    size_t n = strspn(text, "0123456789");
    if (n == 0 || n >= sizeof number)
        return false;
    memcpy(number, text, n);
    number[n] = '\0';
    if (!tool_read_count(number, &count) || count == 0)
        return false;
    if (text[n] == '\0') {
        plan->every_bursts = count;
        return true;
    }
    for (size_t u = 0; u < sizeof units / sizeof units[0]; u++) {
        if (strcmp(text + n, units[u].unit) != 0 ||
            count > UINT64_MAX / 2 / units[u].ns)
            continue;
        plan->every_ns = count * units[u].ns;
        return true;
    }
    return false;
}

static vly_status read_options(run_job *job, const tool_args *args,
                               vly_error *error)
{
    run_checkpoint_plan *plan = &run_checkpoint_state(job)->plan;
    const char *every = tool_text(args, "every");
    *plan = (run_checkpoint_plan){
        .path = tool_text(args, "checkpoint"),
        .resume = tool_text(args, "resume"),
        .keep = (uint32_t)tool_count(args, "keep", 1),
    };
    if (!plan->path && (every || tool_has(args, "keep")))
        return vly_fail(error, VLY_E_INVALID,
                        "--%s without --checkpoint FILE, wanted both",
                        every ? "every" : "keep");
    if (every && !read_every(every, plan))
        return vly_fail(error, VLY_E_INVALID,
                        "--every is \"%s\", wanted a whole number of bursts or "
                        "a time as 30s, 10min or 2h",
                        every);
    return VLY_OK;
}

static vly_status check_recording(const char *option, const char *path,
                                  vly_error *error)
{
    struct stat info;
    bool file = !path || (strcmp(path, "-") != 0 &&
                          (stat(path, &info) != 0 || S_ISREG(info.st_mode)));
    if (file)
        return VLY_OK;
    return vly_fail(error, VLY_E_INVALID,
                    "%s %s: not a file, and only files can be continued from "
                    "a checkpoint",
                    option, path);
}

/* Refuses a file of another kind, which would be replaced. part: a partial file
 * of a killed process, which may lack the first bytes. */
static vly_status check_old(const char *path, bool part, vly_error *error)
{
    static const char nothing[8];
    char magic[8] = "";
    struct stat info;
    if (stat(path, &info) != 0)
        return VLY_OK;
    if (!S_ISREG(info.st_mode))
        return vly_fail(error, VLY_E_INVALID,
                        "--checkpoint %s: not a file, wanted one", path);
    FILE *file = fopen(path, "rbe");
    if (!file)
        return vly_fail(error, VLY_E_IO, "--checkpoint %s: cannot be read: %s",
                        path, strerror(errno));
    size_t n = fread(magic, 1, sizeof magic, file);
    fclose(file);
    if (n == 0 || memcmp(magic, VLY_CHECKPOINT_MAGIC, n) == 0 ||
        (part && memcmp(magic, nothing, n) == 0))
        return VLY_OK;
    return vly_fail(error, VLY_E_INVALID,
                    "--checkpoint %s: there is a file that is not a "
                    "checkpoint, wanted another name",
                    path);
}

/* k 0: FILE.tmp */
static vly_status check_beside(const char *path, uint32_t k, vly_error *error)
{
    char *beside =
        k > 0 ? vly_format("%s.%" PRIu32, path, k) : vly_format("%s.tmp", path);
    if (!beside)
        return vly_fail_nomem(error, strlen(path) + 12, "a path");
    vly_status status = check_old(beside, k == 0, error);
    vly_free(beside);
    return status;
}

/* FILE, and what is written beside it: FILE.tmp, FILE.1, ... */
static vly_status check_all(const char *path, uint32_t keep, vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(check_old(path, false, error));
    for (uint32_t k = 0; k < keep; k++)
        VLY_TRY(check_beside(path, k, error));
out:
    return status;
}

/* A link is followed, and files beside its target are checked. */
static vly_status check_path(const run_checkpoint_plan *plan, vly_error *error)
{
    struct stat info;
    const char *path = plan->path;
    char *real = NULL;
    if (lstat(path, &info) == 0 && S_ISLNK(info.st_mode)) {
        real = realpath(path, NULL);
        if (!real)
            return vly_fail(error, VLY_E_IO,
                            "--checkpoint %s: the link cannot be followed: %s",
                            path, strerror(errno));
        path = real;
    }
    vly_status status = check_all(path, plan->keep, error);
    if (status == VLY_OK)
        status = tool_output_check(path, error);
    free(real);
    return status;
}

/* folder: NULL: none */
static bool is_in_new_folder(const char *path, const char *folder)
{
    size_t n = folder ? strlen(folder) : 0;
    while (n > 1 && folder[n - 1] == '/')
        n--;
    return n > 0 && strncmp(path, folder, n) == 0 && path[n] == '/' &&
           !strchr(path + n + 1, '/') && access(folder, F_OK) != 0;
}

vly_status run_checkpoint_check(const run_job *job, vly_error *error)
{
    const run_checkpoint_plan *plan = &run_checkpoint_state(job)->plan;
    vly_status status = VLY_OK;
    if (!plan->path && !plan->resume)
        return VLY_OK;
    VLY_TRY(check_recording("--record", run_output_state(job)->output.growing,
                            error));
    VLY_TRY(check_recording("--digest-log", run_output_state(job)->digest_log,
                            error));
    VLY_TRY(check_recording("--record-weights", run_weights_state(job)->path,
                            error));
    /* a folder that -o will create is still empty */
    if (plan->path && !is_in_new_folder(plan->path, job->plan.folder))
        VLY_TRY(check_path(plan, error));
out:
    return status;
}

/* `volley ctl PID checkpoint` */
static vly_status obey(run_job *job, const char *argument, json_writer *json,
                       vly_error *why)
{
    (void)argument;
    (void)json;
    (void)run_checkpoint_now(job, why);
    return VLY_OK;
}

static vly_status look(run_job *job, vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(run_checkpoint_check(job, error));
    status = run_resume_load(job, error);
out:
    return status;
}

static vly_state *resume(run_job *job)
{
    vly_checkpoint *resumed = run_checkpoint_state(job)->resumed;
    vly_state *state = resumed ? resumed->state : NULL;
    if (resumed)
        resumed->state = NULL;
    return state;
}

/* Takes the last checkpoint of a run that has begun, once. */
static vly_status end(run_job *job, vly_error *error)
{
    (void)error;
    if (job->began && job->result.end[0] == '\0')
        run_checkpoint_end(job);
    return VLY_OK;
}

static void deinit(run_job *job)
{
    run_checkpoint_close(run_checkpoint_state(job)->checkpoint);
    vly_checkpoint_destroy(run_checkpoint_state(job)->resumed);
}

static void print_head(const run_job *job)
{
    if (run_checkpoint_state(job)->resumed)
        tool_message("resumed after burst %" PRIu64 " from %s",
                     job->first_burst, run_checkpoint_state(job)->plan.resume);
}

const run_part run_part_checkpoint = {
    .name = "checkpoints",
    .state_bytes = sizeof(checkpoint_part),
    .help = 11,
    .options = options,
    .read_more = read_options,
    .at = {[RUN_LOOK] = look, [RUN_OPEN] = run_checkpoint_open},
    .resume = resume,
    .end = end,
    .due = run_checkpoint_due,
    .look = run_checkpoint_look,
    .command = "checkpoint",
    .obey = obey,
    .print =
        {[RUN_LINES_HEAD] = print_head, [RUN_LINES] = run_checkpoint_print},
    .json = {[RUN_MEMBERS_FIRST] = run_checkpoint_json,
             [RUN_MANIFEST_LAST] = run_resume_json},
    .close = deinit,
};
