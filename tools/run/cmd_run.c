/* SPDX-License-Identifier: Apache-2.0
 * volley run: a genome, burst by burst.
 */
#include "tools/cli/commands.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/thread.h"
#include "tools/run/run_job.h"
#include "tools/run/run_part.h"
#include "tools/run/run_ranks.h"

static const tool_option options[] = {
    {"backend", 0, false, TOOL_TEXT, "NAME",
     "auto (default), cpu[:THREADS], or another plugin[:DEVICE]", 0, 0},
    {"bursts", 0, false, TOOL_COUNT, "N", "length; default: [run]", 0, 9e15},
    {"ms", 0, false, TOOL_NUMBER, "T",
     "length in biological time, whole bursts", 0, 1e15},
    {"set", 0, true, TOOL_TEXT, "PATH=VALUE",
     "change the genome: --set area.E.neurons=100", 0, 0},
    {"seed", 0, false, TOOL_COUNT, "N", "all three seeds", 0, 9e18},
    {"threads", 0, false, TOOL_COUNT, "N", "host threads; default: all cores",
     1, 1024},
    {NULL, 0, false, TOOL_FLAG, NULL, NULL, 0, 0}};

/* What is asked. The genome is loaded in between: parts may need it. */
static vly_status read_plan(run_job *job, const tool_args *args,
                            vly_error *error)
{
    run_plan *plan = &job->plan;
    tool_build *build = &job->build;
    const char *backend = tool_text(args, "backend");
    vly_status status = VLY_OK;
    plan->path = args->positional[0];
    plan->backend = backend ? backend : "auto";
    plan->n_threads = tool_threads(args);
    plan->argc = args->argc;
    plan->argv = args->argv;
    VLY_TRY(run_parts_read(job, args, error));
    VLY_TRY(tool_overrides_init(args, &plan->overrides, error));
    uint64_t begin = vly_clock_ns();
    VLY_TRY(tool_genome_load(plan->path, plan->overrides.list,
                             plan->overrides.n, &build->genome, error));
    build->seconds.load = (double)(vly_clock_ns() - begin) * 1e-9;
    VLY_TRY(tool_bursts(args, build->genome, &plan->n_bursts, error));
    status = run_parts_read_more(job, args, error);
out:
    return status;
}

static void report(run_job *job)
{
    vly_error *error = &job->result.error;
    const run_plan *plan = &job->plan;
    vly_error failure = VLY_ERROR_INIT;
    if (plan->json)
        run_report_save(job, plan->json, &failure);
    if (run_parts_do(job, RUN_SAVE, &failure) != VLY_OK &&
        error->status == VLY_OK)
        *error = failure;
    if (!run_parts_is_stdout(job) && !plan->quiet)
        run_report_print(job);
    if (failure.status != VLY_OK && error->status == VLY_OK)
        *error = failure;
    if (job->result.stopped && !plan->quiet)
        tool_message("stopped by %s after burst %" PRIu64 " of %" PRIu64,
                     job->result.stopped_by ? job->result.stopped_by
                                            : "a signal",
                     vly_net_burst(job->net), plan->n_bursts);
    if (job->result.late && !plan->quiet)
        tool_message("--pace stop: burst %" PRIu64 " of %" PRIu64
                     " missed its deadline",
                     vly_net_burst(job->net), plan->n_bursts);
}

static int give_up(run_job *job, const vly_error *error)
{
    run_job_deinit(job);
    return tool_fail(error);
}

static int run(const tool_args *args)
{
    vly_error error = VLY_ERROR_INIT;
    run_job job;
    if (run_job_init(&job, &error) != VLY_OK ||
        read_plan(&job, args, &error) != VLY_OK ||
        run_ranks_begin(&job, &error) != VLY_OK)
        return give_up(&job, &error);
    if (run_ranks_serves(&job))
        return run_ranks_serve(&job);
    if (!job.plan.quiet) /* every rank has them: only the first one prints */
        tool_notes(job.build.genome);
    if (run_job_open(&job, &error) != VLY_OK) {
        run_ranks_abort(&job, &error);
        return give_up(&job, &error);
    }
    run_report_head(&job);
    run_job_execute(&job);
    report(&job);
    int code = run_job_exit_code(&job);
    if (code == TOOL_EXIT_DONE && run_parts_found(&job))
        code = TOOL_EXIT_DIFFERS;
    if (job.result.error.status != VLY_OK)
        tool_fail(&job.result.error);
    run_job_deinit(&job);
    return code;
}

const tool_command cmd_run = {
    .name = "run",
    .arguments = "GENOME.toml [options]",
    .summary = "Compiles a genome and runs it burst by burst.",
    .details =
        "GENOME.toml may be - for standard input. A signal (Ctrl-C) ends "
        "the\n"
        "run after the current burst with everything written, exit code 6; "
        "a\n"
        "second one kills it. The digest depends on the genome and its "
        "seeds,\n"
        "not on backend, threads, swaps, pace or machine.\n"
        "\n"
        "With --pace a burst starts no earlier than it is due, and must be "
        "done\n"
        "when the next one is due, its deadline. After one that was missed:\n"
        "  slip  the next burst is due at once, all later ones as much "
        "later\n"
        "  skip  the next burst is due at the next time of the schedule that "
        "has\n"
        "        not passed; no burst is left out, the run falls behind the "
        "clock\n"
        "  stop  the run ends after that burst with everything written, exit "
        "code 7\n"
        "\n"
        "With --checkpoint a run that is stopped by a signal writes its "
        "state first. With\n"
        "--resume, and the same genome, seeds, --set, --record and "
        "--digest-log, it\n"
        "continues on any backend: the recordings are cut at the checkpoint "
        "and continued.\n"
        "Files and digest are those of a run that was never stopped.\n",
    .options = options,
    .more = run_parts_option,
    .n_positional_min = 1,
    .n_positional_max = 1,
    .run = run};
