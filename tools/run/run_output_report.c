/* SPDX-License-Identifier: Apache-2.0
 * What was recorded: lines and members of the summary.
 */
#include "tools/run/run_output.h"
#include "tools/run/run_summary.h"

/* The last burst of statistics: 0 of them if the run ended before the first. */
static uint64_t end_of_stats(const run_job *job, const vly_spike_stats *stats)
{
    const uint64_t first = vly_spike_stats_first(stats);
    const uint64_t burst = vly_net_burst(job->net);
    return burst > first ? burst : first;
}

bool run_output_figures(const run_job *job, uint32_t area,
                        vly_area_spikes *figures)
{
    vly_spike_stats *stats = run_output_state(job)->output.sink.stats;
    if (!stats ||
        (run_summary_state(job)->asked > 0 && run_summary_bursts(job) == 0))
        return false;
    return vly_spike_stats_get(stats, vly_net_burst(job->net), area, figures) ==
           VLY_OK;
}

void run_output_print(const run_job *job)
{
    const run_output *output = &run_output_state(job)->output;
    const vly_spike_stats *stats = output->sink.stats;
    if (output->path) {
        tool_plain_text text;
        tool_print("recording         %s: %s spikes",
                   tool_plain(output->path, &text),
                   tool_thousands(output->n_spikes));
        if (output->n_frames > 0)
            tool_print(", %s samples", tool_thousands(output->n_frames));
        if (output->n_files > 0)
            tool_print(", %s as a stream, %s files made of it in %s",
                       tool_bytes(output->n_bytes),
                       tool_thousands(output->n_files),
                       tool_seconds(output->export_s));
        tool_print("; the run waited for it %s times, %s, with at most %s on "
                   "the way\n",
                   tool_thousands(output->load.n_waits),
                   tool_seconds((double)output->load.waited_ns * 1e-9),
                   tool_bytes(output->load.bytes_most));
    }
    if (stats)
        tool_print("statistics        of bursts %s to %s; cv of neurons with "
                   "%d spikes and more; fano of counts in %g ms\n",
                   tool_thousands(vly_spike_stats_first(stats)),
                   tool_thousands(end_of_stats(job, stats)), VLY_SPIKE_CV_MIN,
                   vly_spike_stats_bin_ms(stats));
}

void run_output_json(const run_job *job, json_writer *json)
{
    const run_output *output = &run_output_state(job)->output;
    const vly_spike_stats *stats = output->sink.stats;
    if (!output->path) {
        json_text(json, "recording", NULL);
    } else {
        json_object(json, "recording");
        json_text(json, "file", output->path);
        json_text(json, "format", run_output_formats[output->format]);
        json_u64(json, "spikes", output->n_spikes);
        json_u64(json, "samples", output->n_frames);
        json_u64(json, "stream_bytes", output->n_bytes);
        json_number(json, "export_s", output->export_s);
        json_u64(json, "waits", output->load.n_waits);
        json_number(json, "waited_s", (double)output->load.waited_ns * 1e-9);
        json_u64(json, "queue_bytes", output->load.bytes_most);
        json_u64(json, "dropped", 0);
        json_object_end(json);
    }
    if (!stats) {
        json_text(json, "statistics", NULL);
        return;
    }
    json_object(json, "statistics");
    json_u64(json, "first_burst", vly_spike_stats_first(stats));
    json_u64(json, "bursts",
             end_of_stats(job, stats) - vly_spike_stats_first(stats));
    json_number(json, "bin_ms", vly_spike_stats_bin_ms(stats));
    json_u64(json, "cv_spikes_min", VLY_SPIKE_CV_MIN);
    json_object_end(json);
}
