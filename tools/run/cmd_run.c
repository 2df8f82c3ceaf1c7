/* SPDX-License-Identifier: Apache-2.0
 * volley run: a genome, burst by burst.
 */
#include "tools/cli/commands.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/thread.h"
#include "tools/cli/device_limits.h"
#include "tools/run/run_job.h"

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
    DEVICE_LIMITS_OPTION,
    {"swap", 0, true, TOOL_TEXT, "BURST=NAME",
     "move to another backend when BURST bursts are done", 0, 0},
    {"on-device-error", 0, false, TOOL_TEXT, "NAME",
     "go on on this backend if the device fails: cpu[:THREADS]", 0, 0},
    {"failover-every", 0, false, TOOL_COUNT, "N",
     "bursts between the snapshots for that; default: under 1% of the time", 1,
     9e15},
    {"control", 0, false, TOOL_TEXT, "PATH|off",
     "socket of volley ctl; default: in the user's runtime folder", 0, 0},
    {"pace", 0, false, TOOL_CHOICE, "[slip|skip|stop]",
     "in real time; what a missed deadline does, default slip", 0, 0},
    {"pace-hz", 0, false, TOOL_NUMBER, "N",
     "bursts a second; default: [run] rate_hz, that is 1000 / dt_ms", 1e-3,
     1e7},
    {"output", 'o', false, TOOL_TEXT, "FOLDER",
     "manifest, resolved genome, summary, recording, log", 0, 0},
    {"force", 0, false, TOOL_FLAG, NULL, "FOLDER need not be empty", 0, 0},
    {"record", 0, false, TOOL_TEXT, "FILE",
     "spikes: .csv, .h5 (SONATA) or .vls (stream); areas of [[record]], or all",
     0, 0},
    {"record-format", 0, false, TOOL_TEXT, "FORMAT",
     "csv, sonata or stream, whatever the name; -o: csv if not given", 0, 0},
    {"record-memory", 0, false, TOOL_COUNT, "MIB",
     "for what is not yet in its file, then the run waits; default 1024", 1,
     1e9},
    {"statistics", 0, false, TOOL_FLAG, NULL,
     "irregularity and synchrony of areas also where no spikes are recorded", 0,
     0},
    {"digest-log", 0, false, TOOL_TEXT, "FILE",
     "a digest a burst, for volley compare", 0, 0},
    {"save-connectome", 0, false, TOOL_TEXT, "FILE",
     "the compiled network, for volley inspect", 0, 0},
    {"checkpoint", 0, false, TOOL_TEXT, "FILE",
     "the state, at the end, on a signal, and --every", 0, 0},
    {"every", 0, false, TOOL_TEXT, "N",
     "a checkpoint after N bursts, or after 30s, 10min, 2h", 0, 0},
    {"keep", 0, false, TOOL_COUNT, "N",
     "checkpoints: FILE, FILE.1 before it, ...; default 1", 1, 1000},
    {"resume", 0, false, TOOL_TEXT, "FILE",
     "go on from a checkpoint, and in the recordings of its run", 0, 0},
    {"live", 0, false, TOOL_FLAG, NULL,
     "rates of areas while it runs, in the terminal or as lines", 0, 0},
    {"telemetry", 0, false, TOOL_TEXT, "FILE",
     "JSON lines: times of phases, spikes, rates, memory", 0, 0},
    {"telemetry-every", 0, false, TOOL_NUMBER, "MS",
     "wall time between two lines; default: 100", RUN_WATCH_EVERY_LEAST_MS,
     1e9},
    {"metrics", 0, false, TOOL_TEXT, "PORT",
     "a Prometheus endpoint on this machine; ADDRESS:PORT for others", 0, 0},
    {"device-telemetry", 0, false, TOOL_CHOICE, "[own|all|off]",
     "what GPUs tell in telemetry and metrics: the run's (default), all", 0, 0},
    RUN_PROBE_OPTIONS,
    RUN_MONITOR_OPTIONS,
    {"json", 0, false, TOOL_TEXT, "FILE", "summary as JSON; - is stdout", 0, 0},
    {"quiet", 0, false, TOOL_FLAG, NULL, "errors only", 0, 0},
    {NULL, 0, false, TOOL_FLAG, NULL, NULL, 0, 0}};

static int compare_swaps(const void *left, const void *right)
{
    const run_swap *a = left;
    const run_swap *b = right;
    return (a->burst > b->burst) - (a->burst < b->burst);
}

static vly_status read_swap(const char *text, run_swap *swap, vly_error *error)
{
    char number[24];
    const char *equals = strchr(text, '=');
    size_t n = equals != NULL ? (size_t)(equals - text) : 0;
    bool good = n > 0 && n < sizeof number && equals[1] != '\0';
    if (good) {
        memcpy(number, text, n);
        number[n] = '\0';
        good = tool_read_count(number, &swap->burst);
        swap->backend = equals + 1;
    }
    if (!good)
        return vly_fail(error, VLY_E_INVALID,
                        "--swap %s: wanted BURST=BACKEND, as in 100=cpu:4",
                        text);
    return VLY_OK;
}

static vly_status read_swaps(const tool_args *args, run_plan *plan,
                             vly_error *error)
{
    const char *text;
    plan->swaps = vly_calloc((size_t)args->n_values + 1, sizeof *plan->swaps);
    if (plan->swaps == NULL)
        return vly_fail_nomem(
            error, (args->n_values + UINT64_C(1)) * sizeof *plan->swaps,
            "swaps");
    for (uint32_t k = 0; (text = tool_text_at(args, "swap", k)) != NULL; k++) {
        vly_status status = read_swap(text, &plan->swaps[k], error);
        if (status != VLY_OK)
            return status;
        plan->n_swaps = k + 1;
    }
    qsort(plan->swaps, plan->n_swaps, sizeof *plan->swaps, compare_swaps);
    for (uint32_t k = 1; k < plan->n_swaps; k++) {
        if (plan->swaps[k].burst == plan->swaps[k - 1].burst)
            return vly_fail(error, VLY_E_INVALID,
                            "--swap: burst %" PRIu64 " is given twice",
                            plan->swaps[k].burst);
    }
    return VLY_OK;
}

/* dt_ms is 1000 / rate_hz: back to the number of the genome. */
static double genome_rate(const vly_genome *genome)
{
    double rate = 1000 / genome->dt_ms;
    double whole = round(rate);
    bool exact = whole >= 1 && fabs(1000 / whole - genome->dt_ms) <= 0;
    return exact ? whole : rate;
}

static vly_status read_pace(const tool_args *args, run_plan *plan,
                            vly_error *error)
{
    bool rate = tool_has(args, "pace-hz");
    if (rate && !tool_has(args, "pace"))
        return vly_fail(error, VLY_E_INVALID,
                        "--pace-hz without --pace, wanted both");
    if (tool_has(args, "pace"))
        plan->pace = run_pace_policy_read(tool_text(args, "pace"));
    plan->pace_hz = genome_rate(plan->genome);
    plan->pace_hz = tool_number(args, "pace-hz", plan->pace_hz);
    return VLY_OK;
}

static vly_status check_failover(const tool_args *args, vly_error *error)
{
    const char *control = tool_text(args, "control");
    if (tool_has(args, "failover-every") && !tool_has(args, "on-device-error"))
        return vly_fail(error, VLY_E_INVALID,
                        "--failover-every without --on-device-error, wanted "
                        "both");
    if (control != NULL && control[0] == '\0')
        return vly_fail(error, VLY_E_INVALID,
                        "--control is empty, wanted a path or off");
    return VLY_OK;
}

/* Who watches a run whose folder is kept wants to see why it told what it told.
 */
static vly_status place_telemetry(run_plan *plan, vly_error *error)
{
    if (!plan->monitor.wanted || plan->folder == NULL ||
        plan->watch.telemetry != NULL)
        return VLY_OK;
    plan->telemetry = run_folder_path(plan->folder, "telemetry.jsonl");
    if (plan->telemetry == NULL)
        return vly_fail_nomem(error, 4096, "a file name");
    plan->watch.telemetry = plan->telemetry;
    return VLY_OK;
}

static vly_status read_plan(const tool_args *args, run_plan *plan,
                            vly_error *error)
{
    const char *backend = tool_text(args, "backend");
    *plan = (run_plan){
        .path = args->positional[0],
        .backend = backend != NULL ? backend : "auto",
        .n_threads = tool_threads(args),
        .on_device_error = tool_text(args, "on-device-error"),
        .failover_every = tool_count(args, "failover-every", 0),
        .control = tool_has(args, "control") ? tool_text(args, "control") : "",
        .folder = tool_text(args, "output"),
        .force = tool_has(args, "force"),
        .quiet = tool_has(args, "quiet"),
        .record = tool_text(args, "record"),
        .record_format = tool_text(args, "record-format"),
        .record_memory =
            tool_count(args, "record-memory", RUN_RECORD_MEMORY >> 20) << 20,
        .statistics = tool_has(args, "statistics"),
        .digest_log = tool_text(args, "digest-log"),
        .json = tool_text(args, "json"),
        .connectome = tool_text(args, "save-connectome"),
        .argc = args->argc,
        .argv = args->argv,
    };
    vly_status status = VLY_OK;
    VLY_TRY(read_swaps(args, plan, error));
    VLY_TRY(check_failover(args, error));
    VLY_TRY(device_limits_read(args, error));
    VLY_TRY(tool_overrides_init(args, &plan->overrides, error));
    uint64_t begin = vly_clock_ns();
    VLY_TRY(tool_genome_load(plan->path, plan->overrides.list,
                             plan->overrides.n, &plan->genome, error));
    plan->load_s = (double)(vly_clock_ns() - begin) * 1e-9;
    if (!plan->quiet)
        tool_notes(plan->genome);
    VLY_TRY(tool_bursts(args, plan->genome, &plan->n_bursts, error));
    VLY_TRY(read_pace(args, plan, error));
    VLY_TRY(run_checkpoint_read(args, &plan->checkpoint, error));
    VLY_TRY(run_watch_read(args, &plan->watch, error));
    VLY_TRY(run_monitor_read(args, &plan->monitor, error));
    VLY_TRY(place_telemetry(plan, error));
    VLY_TRY(run_probe_read(args, &plan->probe, error));
out:
    if (status != VLY_OK) {
        vly_genome_destroy(plan->genome);
        tool_overrides_deinit(&plan->overrides);
        vly_free(plan->swaps);
        vly_free(plan->telemetry);
        run_probe_plan_deinit(&plan->probe);
    }
    return status;
}

static bool is_stdout(const char *path)
{
    return path != NULL && strcmp(path, "-") == 0;
}

static void report(run_job *job)
{
    vly_error *error = &job->result.error;
    const run_plan *plan = &job->plan;
    bool stdout_taken = is_stdout(plan->json) || is_stdout(plan->record) ||
                        is_stdout(plan->digest_log) ||
                        is_stdout(plan->watch.telemetry) ||
                        is_stdout(plan->probe.out);
    vly_error failure = VLY_ERROR_INIT;
    if (plan->json != NULL)
        run_report_save(job, plan->json, &failure);
    if (run_probe_save(job, &failure) != VLY_OK && error->status == VLY_OK)
        *error = failure;
    if (!stdout_taken && !plan->quiet)
        run_report_print(job);
    if (failure.status != VLY_OK && error->status == VLY_OK)
        *error = failure;
    if (job->result.stopped && !plan->quiet)
        tool_message("stopped by %s after burst %" PRIu64 " of %" PRIu64,
                     job->result.stopped_by != NULL ? job->result.stopped_by
                                                    : "a signal",
                     vly_net_burst(job->net), plan->n_bursts);
    if (job->result.late && !plan->quiet)
        tool_message("--pace stop: burst %" PRIu64 " of %" PRIu64
                     " missed its deadline",
                     vly_net_burst(job->net), plan->n_bursts);
}

static int run(const tool_args *args)
{
    vly_error error = VLY_ERROR_INIT;
    run_plan plan;
    run_job job;
    if (read_plan(args, &plan, &error) != VLY_OK)
        return tool_fail(&error);
    if (run_job_init(&job, &plan, &error) != VLY_OK) {
        run_job_deinit(&job);
        return tool_fail(&error);
    }
    run_report_head(&job);
    if (!plan.quiet && job.build.genome->n_records > 0 &&
        job.output.path == NULL)
        tool_message("[[record]] is not written: no -o FOLDER and no "
                     "--record FILE");
    run_job_execute(&job);
    report(&job);
    int code = run_job_exit_code(&job);
    if (code == TOOL_EXIT_DONE && run_probe_found(&job))
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
        "GENOME.toml may be - for standard input. A signal (Ctrl-C) ends the\n"
        "run after the current burst with everything written, exit code 6; a\n"
        "second one kills it. The digest depends on the genome and its seeds,\n"
        "not on backend, threads, swaps, pace or machine.\n"
        "\n"
        "With --pace a burst starts no earlier than it is due, and must be "
        "done\nwhen the next one is due, its deadline. After one that was "
        "missed:\n"
        "  slip  the next burst is due at once, all later ones as much later\n"
        "  skip  the next burst is due at the next time of the schedule that "
        "has\n        not passed; no burst is left out, the run falls behind "
        "the clock\n"
        "  stop  the run ends after that burst with everything written, exit "
        "code 7\n"
        "\n"
        "With --checkpoint a run ended by a signal writes its state before it "
        "ends. With\n--resume, and the same genome, seeds, --set, --record and "
        "--digest-log, on any\nbackend, it goes on: the recordings are cut to "
        "what they were and continued, and\nthe files and the digest are those "
        "of a run that was never stopped.\n",
    .options = options,
    .n_positional_min = 1,
    .n_positional_max = 1,
    .run = run};
