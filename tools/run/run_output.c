/* SPDX-License-Identifier: Apache-2.0
 * What a run records. CSV of spikes grows by itself; everything else goes by
 * way of a stream, which is good up to its last block whenever the run ends.
 */
#include "tools/run/run_output.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/temporary.h"
#include "base/thread.h"
#include "checkpoint/checkpoint.h"
#include "engine/engine.h"
#include "tools/run/run_checkpoint.h"
#include "tools/run/run_job.h"
#include "tools/run/run_summary.h"

/* ---- names ------------------------------------------------------------- */

static const char *const suffixes[] = {[VLY_EXPORT_NONE] = "vls",
                                       [VLY_EXPORT_CSV] = "csv",
                                       [VLY_EXPORT_SONATA] = "h5"};
const char *const run_output_formats[] = {[VLY_EXPORT_NONE] = "stream",
                                          [VLY_EXPORT_CSV] = "csv",
                                          [VLY_EXPORT_SONATA] = "sonata"};

static vly_status choose_format(const run_job *job, vly_export_format *format,
                                vly_error *error)
{
    const record_part *part = run_output_state(job);
    const char *given = part->format;
    *format = run_output_state(job)->file
                  ? vly_export_format_of(run_output_state(job)->file)
                  : VLY_EXPORT_CSV;
    if (!given)
        return VLY_OK;
    if (!part->file && !job->plan.folder)
        return vly_fail(error, VLY_E_INVALID,
                        "--record-format without --record FILE and without -o "
                        "FOLDER, wanted one of them");
    for (int f = 0; f < 3; f++) {
        *format = (vly_export_format)f;
        if (strcmp(given, run_output_formats[f]) == 0)
            return VLY_OK;
    }
    return vly_fail(error, VLY_E_INVALID,
                    "--record-format is \"%s\", wanted csv, sonata or stream",
                    given);
}

/* --record, or a file in the folder if the genome has a [[record]]. */
static vly_status choose_path(run_job *job, vly_error *error)
{
    const run_plan *plan = &job->plan;
    run_output *output = &run_output_state(job)->output;
    bool asked = job->build.genome->n_records > 0;
    if (run_output_state(job)->file)
        output->path = vly_strdup(run_output_state(job)->file);
    else if (plan->folder && (asked || run_output_state(job)->format))
        output->path =
            vly_format("%s/spikes.%s", plan->folder, suffixes[output->format]);
    else
        return VLY_OK;
    if (!output->path)
        return vly_fail_nomem(error, 4096, "a file name");
    return VLY_OK;
}

static bool records_kind(const vly_genome *genome, vly_record_kind kind)
{
    for (uint32_t r = 0; r < genome->n_records; r++)
        if (genome->records[r].kind == kind)
            return true;
    return false;
}

/* Samples of fields, rates and input go to separate files, so they need a
 * stream, not a growing CSV. */
static vly_status choose_growing(run_output *output, bool samples,
                                 vly_error *error)
{
    output->streams = output->format != VLY_EXPORT_CSV || samples;
    output->growing = output->streams && output->format != VLY_EXPORT_NONE
                          ? vly_format("%s" VLY_STREAM_SUFFIX, output->path)
                          : vly_strdup(output->path);
    if (!output->growing)
        return vly_fail_nomem(error, strlen(output->path), "a file name");
    return VLY_OK;
}

/* Binary data would corrupt the display of a terminal. */
static bool is_terminal(const char *path)
{
    struct stat info;
    if (strcmp(path, "-") == 0)
        return isatty(STDOUT_FILENO) == 1;
    if (stat(path, &info) != 0 || !S_ISCHR(info.st_mode))
        return false;
    int file = open(path, O_WRONLY | O_NOCTTY | O_CLOEXEC);
    bool terminal = file >= 0 && isatty(file) == 1;
    if (file >= 0)
        close(file);
    return terminal;
}

vly_status run_output_choose(run_job *job, vly_error *error)
{
    const vly_genome *genome = job->build.genome;
    run_output *output = &run_output_state(job)->output;
    vly_status status = VLY_OK;
    VLY_TRY(choose_format(job, &output->format, error));
    VLY_TRY(choose_path(job, error));
    const bool rates = records_kind(genome, VLY_RECORD_RATES);
    const bool input = records_kind(genome, VLY_RECORD_INPUT);
    const bool samples =
        rates || input || records_kind(genome, VLY_RECORD_FIELDS);
    bool spikes =
        genome->n_records == 0 || records_kind(genome, VLY_RECORD_SPIKES);
    output->spikes =
        (output->path && spikes) || run_output_state(job)->statistics;
    if (!output->path)
        return VLY_OK;
    output->rates = rates;
    if (strcmp(output->path, "-") == 0 && output->format == VLY_EXPORT_SONATA)
        return vly_fail(error, VLY_E_INVALID,
                        "--record -: a SONATA file cannot be standard output, "
                        "wanted a file, or --record-format csv or stream");
    if (strcmp(output->path, "-") == 0 && samples &&
        output->format == VLY_EXPORT_CSV)
        return vly_fail(error, VLY_E_INVALID,
                        "--record -: %s of [[record]] go to files beside "
                        "the spikes, wanted a file, or --record-format stream",
                        rates   ? "rates"
                        : input ? "input"
                                : "fields");
    if (output->format == VLY_EXPORT_NONE && is_terminal(output->path))
        return vly_fail(error, VLY_E_INVALID,
                        "--record %s: a stream cannot be shown in a "
                        "terminal, wanted a file or a pipe, or "
                        "--record-format csv",
                        output->path);
    VLY_TRY(vly_export_check(output->format, output->path, error));
    status = choose_growing(output, samples, error);
out:
    return status;
}

/* ---- open and close ---------------------------------------------------- */

static vly_spike_area *list_areas(const run_job *job)
{
    const vly_genome *genome = job->build.genome;
    const vly_connectome *connectome = job->build.connectome;
    uint32_t n_areas = connectome->desc.n_areas;
    vly_spike_area *areas = vly_calloc(n_areas, sizeof *areas);
    for (uint32_t a = 0; areas && a < n_areas; a++) {
        areas[a].name = connectome->areas[a].name;
        areas[a].first = connectome->areas[a].first;
        areas[a].n_neurons = connectome->areas[a].n_neurons;
        areas[a].recorded = genome->n_records == 0;
    }
    for (uint32_t r = 0; areas && r < genome->n_records; r++)
        if (genome->records[r].kind == VLY_RECORD_SPIKES)
            areas[genome->records[r].area].recorded = true;
    return areas;
}

/* A bit for each neuron whose spikes are recorded, if a [[record]] names
 * neurons; a [[record]] without neurons records all of its area. */
static vly_status make_mask(run_job *job, vly_error *error)
{
    const vly_genome *genome = job->build.genome;
    bool listed = false;
    for (uint32_t r = 0; r < genome->n_records; r++)
        if (genome->records[r].kind == VLY_RECORD_SPIKES &&
            (genome->records[r].start > 0 ||
             genome->records[r].stop != UINT64_MAX))
            run_output_state(job)->output.sink.windows = genome;
    for (uint32_t r = 0; r < genome->n_records; r++)
        listed = listed || (genome->records[r].kind == VLY_RECORD_SPIKES &&
                            genome->records[r].neurons);
    if (!listed)
        return VLY_OK;
    size_t n_bytes = genome->n_neurons / 8 + (size_t)1;
    uint8_t *mask = vly_calloc(n_bytes, 1);
    if (!mask)
        return vly_fail_nomem(error, n_bytes, "recorded neurons");
    for (uint32_t r = 0; r < genome->n_records; r++) {
        const vly_record *record = &genome->records[r];
        const vly_area *area = &genome->areas[record->area];
        uint32_t n = record->neurons ? record->n_neurons : area->n_neurons;
        for (uint32_t i = 0; i < n && record->kind == VLY_RECORD_SPIKES; i++) {
            uint32_t id =
                area->first + (record->neurons ? record->neurons[i] : i);
            mask[id / 8] |= (uint8_t)(1u << id % 8);
        }
    }
    run_output_state(job)->output.mask = mask;
    run_output_state(job)->output.sink.mask = mask;
    return VLY_OK;
}

static vly_status open_csv(run_job *job, const vly_spike_area *areas,
                           const vly_spike_place *place, vly_error *error)
{
    run_output *output = &run_output_state(job)->output;
    uint32_t n_areas = job->build.connectome->desc.n_areas;
    double dt_ms = job->build.connectome->desc.dt_ms;
    return place ? vly_spike_csv_resume(output->growing, areas, n_areas, dt_ms,
                                        place, &output->sink.csv, error)
                 : vly_spike_csv_open(output->growing, areas, n_areas, dt_ms,
                                      &output->sink.csv, error);
}

static vly_status open_stream(run_job *job, const vly_spike_area *areas,
                              const vly_spike_place *place, vly_error *error)
{
    run_output *output = &run_output_state(job)->output;
    const vly_connectome *connectome = job->build.connectome;
    uint64_t digest[2];
    vly_connectome_get_digest(connectome, job->plan.n_threads, digest);
    vly_stream_head head = {.genome_hash = connectome->genome_hash,
                            .connectome_hash = connectome->hash,
                            .connectome_digest = {{digest[0], digest[1]}},
                            .dt_ms = connectome->desc.dt_ms,
                            .first_burst = job->first_burst,
                            .areas = areas,
                            .n_areas = connectome->desc.n_areas,
                            .reports = run_output_state(job)->sample.reports,
                            .n_reports =
                                run_output_state(job)->sample.n_reports,
                            .purpose = (uint32_t)output->format};
    return place ? vly_stream_resume(output->growing, &head, place,
                                     &output->sink.stream, error)
                 : vly_stream_open(output->growing, &head, &output->sink.stream,
                                   error);
}

static vly_status open_growing(run_job *job, const vly_spike_area *areas,
                               vly_error *error)
{
    const vly_recording *from = run_resume_recording(job, VLY_RECORDING_SPIKES);
    vly_spike_place place = {0};
    if (from)
        place = (vly_spike_place){from->n_bytes, from->n_entries};
    run_output_state(job)->output.resumed = from != NULL;
    return run_output_state(job)->output.streams
               ? open_stream(job, areas, from ? &place : NULL, error)
               : open_csv(job, areas, from ? &place : NULL, error);
}

static vly_status make_stats(run_job *job, const vly_spike_area *areas,
                             vly_error *error)
{
    const vly_net_desc *desc = &job->build.connectome->desc;
    const uint64_t asked = run_summary_state(job)->asked;
    uint32_t *n_neurons = vly_malloc(desc->n_areas, sizeof *n_neurons);
    if (!n_neurons)
        return vly_fail_nomem(error, 4ull * desc->n_areas, "areas");
    for (uint32_t a = 0; a < desc->n_areas; a++)
        n_neurons[a] = areas[a].n_neurons;
    vly_status status = vly_spike_stats_create(
        n_neurons, desc->n_areas, desc->dt_ms,
        asked > job->first_burst ? asked : job->first_burst,
        &run_output_state(job)->output.sink.stats, error);
    vly_free(n_neurons);
    return status;
}

/* What intervals that are not over know already. */
static vly_status open_counts(run_job *job, vly_error *error)
{
    record_part *part = run_output_state(job);
    bool continues = false;
    vly_status status = VLY_OK;
    VLY_TRY(run_rates_init(job, error));
    VLY_TRY(run_inputs_init(job, error));
    const uint64_t n_rates = part->rates.n_state;
    const uint64_t n = n_rates + part->inputs.n_state;
    if (n == 0)
        return VLY_OK;
    VLY_TRY(run_counts_init(job, &part->counts, n, &continues, error));
    run_rates_place(job, &part->rates, part->counts.state, continues);
    VLY_TRY(
        run_inputs_place(job, part->counts.state + n_rates, continues, error));
    run_counts_keep(&part->counts);
out:
    return status;
}

vly_status run_output_open(run_job *job, vly_error *error)
{
    run_output *output = &run_output_state(job)->output;
    vly_spike_area *areas = NULL;
    vly_status status = VLY_OK;
    if (!output->path && !output->spikes)
        return VLY_OK;
    VLY_TRY(run_sample_init(job, error));
    VLY_TRY(open_counts(job, error));
    VLY_TRY(make_mask(job, error));
    areas = list_areas(job);
    if (!areas)
        return vly_fail_nomem(error, 4096, "areas");
    if (output->path)
        VLY_TRY(open_growing(job, areas, error));
    if (output->spikes)
        VLY_TRY(make_stats(job, areas, error));
    /* where processors run the bursts, a thread would take one of them away,
     * and handing over the spikes costs more than counting them */
    output->direct = !output->path &&
                     (job->net->device.backend->flags & VLY_BACKEND_HOST) != 0;
    if (!output->direct)
        status = run_record_open(&output->sink, run_output_state(job)->memory,
                                 &run_output_state(job)->record, error);
out:
    vly_free(areas);
    return status;
}

vly_status run_output_begin(run_job *job, vly_error *error)
{
    const run_sink *sink = &run_output_state(job)->output.sink;
    vly_spike_place place = {0};
    vly_status status = VLY_OK;
    /* the first snapshot of a fail-over may not be in the file yet */
    if (run_output_state(job)->record)
        VLY_TRY(run_record_drain(run_output_state(job)->record, error));
    if (sink->csv)
        VLY_TRY(vly_spike_csv_flush(sink->csv, &place, error));
    if (sink->stream)
        VLY_TRY(vly_stream_flush(sink->stream, &place, error));
out:
    return status;
}

static void keep_first(vly_error *first, const vly_error *next)
{
    if (first->status == VLY_OK && next->status != VLY_OK)
        *first = *next;
}

static void hold(run_output *output, int file)
{
    output->held = file;
    output->holds = file >= 0;
}

void run_output_close(run_job *job, vly_error *error)
{
    run_output *output = &run_output_state(job)->output;
    run_sink *sink = &output->sink;
    vly_error found = VLY_ERROR_INIT;
    uint64_t n_bursts = job->net ? vly_net_burst(job->net) : 0;
    if (!job->began) { /* refused: the file is removed */
        vly_spike_csv_cancel(sink->csv);
        vly_stream_cancel(sink->stream);
    }
    if (run_output_state(job)->record)
        run_record_get_load(run_output_state(job)->record, &output->load);
    run_record_close(run_output_state(job)->record, n_bursts, &found);
    run_output_state(job)->record = NULL;
    if (sink->csv)
        output->n_spikes = vly_spike_csv_count(sink->csv);
    if (sink->stream) {
        output->n_spikes = vly_stream_count(sink->stream);
        output->n_bytes = vly_stream_bytes(sink->stream);
        /* without this lock the file would be free between the end of writing
         * and reading */
        if (job->began && strcmp(output->path, output->growing) != 0)
            hold(output, vly_stream_hold(sink->stream));
    }
    vly_error closing = VLY_ERROR_INIT;
    vly_spike_csv_close(sink->csv, &closing);
    keep_first(&found, &closing);
    closing.status = VLY_OK;
    vly_stream_close(sink->stream, &closing);
    keep_first(&found, &closing);
    sink->csv = NULL;
    sink->stream = NULL;
    output->failed = output->failed || found.status != VLY_OK;
    if (error)
        keep_first(error, &found);
}

static void release(run_output *output)
{
    if (output->holds)
        close(output->held);
    output->holds = false;
}

void run_output_deinit(run_job *job)
{
    run_output *output = &run_output_state(job)->output;
    run_output_close(job, NULL);
    release(output);
    vly_spike_stats_destroy(output->sink.stats);
    vly_free(output->mask);
    vly_free(output->path);
    vly_free(output->growing);
    *output = (run_output){0};
}

/* ---- the end of a run -------------------------------------------------- */

static void count_file(void *arg, const char *path)
{
    run_output *output = arg;
    (void)path;
    output->n_files++;
}

vly_status run_output_export(run_job *job, vly_error *error)
{
    run_output *output = &run_output_state(job)->output;
    vly_stream_reader *reader = NULL;
    vly_export_counts counts = {0};
    vly_error why = VLY_ERROR_INIT;
    vly_status status = VLY_OK;
    if (!output->path || strcmp(output->path, output->growing) == 0 ||
        output->failed)
        return VLY_OK;
    uint64_t begin = vly_clock_ns();
    if (output->holds)
        VLY_TRY(vly_stream_reader_open_held(output->growing, &reader, &why));
    else
        VLY_TRY(vly_stream_reader_open(output->growing, &reader, &why));
    VLY_TRY(vly_export(reader, output->format, output->path, true, &counts,
                       count_file, output, &why));
    output->n_frames = counts.tail.n_frames;
    output->export_s = (double)(vly_clock_ns() - begin) * 1e-9;
    /* a checkpoint needs the stream to continue */
    if (!run_checkpoint_state(job)->plan.path) {
        VLY_TRY(vly_folder_sync(output->growing, &why));
        unlink(output->growing);
    }
out:
    vly_export_counts_deinit(&counts);
    vly_stream_reader_close(reader);
    release(output);
    if (status == VLY_OK)
        return VLY_OK;
    if (status == VLY_E_PARSE) /* not the written data */
        return vly_fail(error, VLY_E_IO,
                        "%.700s; volley inspect --repair %.200s makes what is "
                        "good of it",
                        why.message, output->growing);
    return vly_fail(error, status,
                    "%.700s; %.200s has everything: volley inspect --repair "
                    "makes the rest of it",
                    why.message, output->growing);
}
