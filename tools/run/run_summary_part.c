/* SPDX-License-Identifier: Apache-2.0
 * The summary of a run as a part of it. The counts of the engine are of all
 * bursts; those before --summary-from are noted when the net is there and taken
 * off at the end, so a run costs the same with the option and without.
 */
#include "tools/run/run_summary.h"

#include <inttypes.h>

#include "base/error.h"
#include "base/memory.h"
#include "tools/cli/output_room.h"
#include "tools/run/run_part.h"

static const tool_option options[] = {
    {"summary-from", 0, false, TOOL_NUMBER, "T",
     "leave out the first T ms: rates and statistics of areas are those of the "
     "rest",
     0, 1e15},
    {"json", 0, false, TOOL_TEXT, "FILE",
     "write the summary as JSON; - is stdout", 0, 0},
    {"quiet", 0, false, TOOL_FLAG, NULL, "errors only", 0, 0},
    {NULL, 0, false, TOOL_FLAG, NULL, NULL, 0, 0}};

static vly_status read_options(run_job *job, const tool_args *args,
                               vly_error *error)
{
    (void)error;
    job->plan.json = tool_text(args, "json");
    job->plan.quiet = tool_has(args, "quiet");
    return VLY_OK;
}

/* With the genome: its dt_ms and the length of the run are known. */
static vly_status read_from(run_job *job, const tool_args *args,
                            vly_error *error)
{
    return tool_summary_from(args, job->build.genome, job->plan.n_bursts,
                             &run_summary_state(job)->asked, error);
}

static const char *output(const run_job *job, uint32_t k)
{
    return k == 0 ? job->plan.json : NULL;
}

/* Checked after the folder is made, since the file may be in it. */
static vly_status check_file(run_job *job, vly_error *error)
{
    return output_probe(job->plan.json, error);
}

/* ---- where figures begin ------------------------------------------------ */

static vly_status make_room(run_job *job, vly_error *error)
{
    summary_part *part = run_summary_state(job);
    const uint32_t n_areas =
        tool_connectome_info(job->build.connectome).n_areas;
    part->begun = part->asked == 0;
    if (part->begun)
        return VLY_OK;
    part->before = vly_calloc(n_areas, sizeof *part->before);
    return part->before ? VLY_OK
                        : vly_fail_nomem(error, n_areas * sizeof *part->before,
                                         "spikes of areas");
}

static uint64_t due(const run_job *job)
{
    const summary_part *part = run_summary_state(job);
    return part->begun ? UINT64_MAX : part->asked;
}

/* Also after the burst that was asked for: the run was resumed there, or a
 * failed device made all earlier counts wrong. */
static vly_status begin(run_job *job, vly_error *error)
{
    summary_part *part = run_summary_state(job);
    const uint32_t n_areas =
        tool_connectome_info(job->build.connectome).n_areas;
    (void)error;
    for (uint32_t a = 0; a < n_areas; a++) {
        vly_area_stats area = {.struct_size = sizeof area};
        if (vly_net_area_stats(job->net, a, &area) == VLY_OK)
            part->before[a] = area.spikes;
    }
    part->first = vly_net_burst(job->net);
    part->begun = true;
    return VLY_OK;
}

uint64_t run_summary_first(const run_job *job)
{
    const summary_part *part = run_summary_state(job);
    return part->begun ? part->first : part->asked;
}

uint64_t run_summary_bursts(const run_job *job)
{
    const summary_part *part = run_summary_state(job);
    return part->begun ? vly_net_burst(job->net) - part->first : 0;
}

uint64_t run_summary_spikes(const run_job *job, uint32_t area)
{
    const summary_part *part = run_summary_state(job);
    const uint64_t spikes = job->result.area_spikes[area];
    if (!part->begun)
        return 0;
    return part->before ? spikes - part->before[area] : spikes;
}

/* ---- fail-over ---------------------------------------------------------- */

static vly_status keep(run_job *job, vly_error *error)
{
    (void)job;
    (void)error;
    return VLY_OK;
}

static run_cut can_cut(const run_job *job, uint64_t kept_burst)
{
    const summary_part *part = run_summary_state(job);
    return part->before && part->begun && kept_burst < part->first
               ? RUN_CUT_WHOLE
               : RUN_CUT_NOTHING;
}

/* The counts were those of a device that reported wrong spikes. */
static vly_status cut(run_job *job, uint64_t kept_burst, vly_error *error)
{
    (void)error;
    if (can_cut(job, kept_burst) == RUN_CUT_WHOLE)
        run_summary_state(job)->begun = false;
    return VLY_OK;
}

/* ---- the end ------------------------------------------------------------ */

static void print(const run_job *job)
{
    const summary_part *part = run_summary_state(job);
    const double dt_ms = tool_connectome_info(job->build.connectome).dt_ms;
    const uint64_t first = run_summary_first(job);
    if (part->asked == 0)
        return;
    tool_print("summary from      burst %s (%g ms): areas and statistics are "
               "of %s bursts",
               tool_thousands(first), (double)first * dt_ms,
               tool_thousands(run_summary_bursts(job)));
    if (first > part->asked)
        tool_print("; earlier ones are not known here, asked for was burst %s",
                   tool_thousands(part->asked));
    tool_print("\n");
}

static void put(const run_job *job, json_writer *json)
{
    json_u64(json, "summary_from_burst", run_summary_first(job));
    json_u64(json, "summary_bursts", run_summary_bursts(job));
}

static void deinit(run_job *job)
{
    vly_free(run_summary_state(job)->before);
}

const run_part run_part_summary = {
    .name = "summary",
    .state_bytes = sizeof(summary_part),
    .help = 15,
    .options = options,
    .read = read_options,
    .read_more = read_from,
    .at =
        {[RUN_LOCK] = check_file, [RUN_OPEN] = make_room, [RUN_REACH] = begin},
    .output = output,
    .due = due,
    .keep = keep,
    .can_cut = can_cut,
    .cut = cut,
    .print = {[RUN_LINES] = print},
    .json = {[RUN_MEMBERS] = put},
    .close = deinit,
};
