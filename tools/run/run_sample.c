/* SPDX-License-Identifier: Apache-2.0
 * Samples of fields, and the reports of rates (run_rates.c) and of input
 * (run_inputs.c). A sample of burst n is the state when n bursts are done, n an
 * offset and a multiple of the interval, within the window of its [[record]]:
 * so which bursts have one does not depend on where a run was stopped and
 * resumed.
 */
#include "tools/run/run_sample.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/number.h"
#include "connectome/connectome.h"
#include "tools/run/run_job.h"
#include "tools/run/run_output.h"

static bool is_rates(const vly_record *record)
{
    return record->kind == VLY_RECORD_RATES;
}

static bool is_fields(const vly_record *record)
{
    return record->kind == VLY_RECORD_FIELDS;
}

/* Whether it has reports in the stream. */
static bool is_sampled(const vly_record *record)
{
    return record->kind != VLY_RECORD_SPIKES;
}

static void fill_report(const run_job *job, const vly_record *record,
                        vly_stream_report *report)
{
    const vly_connectome_area *area =
        &job->build.connectome->areas[record->area];
    const vly_field_info *field = &area->model->fields[record->field];
    *report = (vly_stream_report){
        .record = record->group,
        .area = record->area,
        .type = field->type,
        .n_neurons = record->neurons ? record->n_neurons : area->n_neurons,
        .neurons = record->neurons,
        .field = field->name,
        .unit = field->unit,
        .interval = record->interval};
}

vly_status run_sample_init(run_job *job, vly_error *error)
{
    const vly_genome *genome = job->build.genome;
    run_sample *sample = &run_output_state(job)->sample;
    uint32_t n_words = 0;
    uint32_t n_range = 0;
    uint32_t n = 0;
    for (uint32_t r = 0; r < genome->n_records; r++)
        n += is_sampled(&genome->records[r]);
    sample->last = job->first_burst;
    if (n == 0 || !run_output_state(job)->output.path)
        return VLY_OK;
    sample->reports = vly_calloc(n, sizeof *sample->reports);
    sample->windows = vly_calloc(n, sizeof *sample->windows);
    if (!sample->reports || !sample->windows)
        return vly_fail_nomem(error, n * sizeof *sample->reports, "reports");
    for (uint32_t r = 0; r < genome->n_records; r++) {
        const vly_record *record = &genome->records[r];
        if (!is_sampled(record))
            continue;
        sample->windows[sample->n_reports] = record;
        vly_stream_report *report = &sample->reports[sample->n_reports++];
        uint32_t n_area = job->build.connectome->areas[record->area].n_neurons;
        if (is_rates(record)) {
            *report = run_rates_report(record, n_area);
            continue;
        }
        fill_report(job, record, report);
        n_words = report->n_neurons > n_words ? report->n_neurons : n_words;
        n_range = n_area > n_range ? n_area : n_range;
    }
    sample->words = vly_malloc(n_words, sizeof *sample->words);
    sample->values = vly_malloc(n_words, sizeof *sample->values);
    sample->range = vly_malloc(n_range, sizeof *sample->range);
    if (!sample->words || !sample->values || !sample->range)
        return vly_fail_nomem(error, n_range * sizeof *sample->range,
                              "samples of fields");
    return VLY_OK;
}

void run_sample_deinit(run_sample *sample)
{
    vly_free(sample->reports);
    vly_free(sample->windows);
    vly_free(sample->words);
    vly_free(sample->values);
    vly_free(sample->range);
    *sample = (run_sample){0};
}

/* The next burst count after `burst` with a sample; UINT64_MAX: none. */
static uint64_t next_of(const vly_record *window, uint64_t burst)
{
    const uint64_t interval = window->interval;
    uint64_t least = burst + 1;
    least = least > window->start ? least : window->start;
    least = least > window->offset ? least : window->offset;
    const uint64_t behind = (least - window->offset) % interval;
    const uint64_t next = behind > 0 ? least + (interval - behind) : least;
    return next <= window->stop ? next : UINT64_MAX;
}

uint64_t run_sample_due(const run_job *job)
{
    const run_sample *sample = &run_output_state(job)->sample;
    const uint64_t burst = vly_net_burst(job->net);
    uint64_t due = run_inputs_due(&run_output_state(job)->inputs, burst);
    for (uint32_t r = 0; r < sample->n_reports; r++) {
        if (!is_fields(sample->windows[r]))
            continue;
        const uint64_t next = next_of(sample->windows[r], burst);
        due = next < due ? next : due;
    }
    return due;
}

static uint32_t to_word(uint32_t type, double value)
{
    uint32_t word = 0;
    float stored = (float)value; /* it was one */
    if (type != VLY_TYPE_F32)
        return (uint32_t)vly_count_of(value);
    memcpy(&word, &stored, sizeof word);
    return word;
}

static vly_status take(run_job *job, uint32_t r, vly_error *error)
{
    run_sample *sample = &run_output_state(job)->sample;
    const vly_stream_report *report = &sample->reports[r];
    vly_status status = VLY_OK;
    VLY_TRY(run_sample_read(job, r, report->field, sample->values, error));
    for (uint32_t k = 0; k < report->n_neurons; k++)
        sample->words[k] = to_word(report->type, sample->values[k]);
    status =
        run_record_frame(run_output_state(job)->record, vly_net_burst(job->net),
                         r, sample->words, report->n_neurons, error);
out:
    return status;
}

vly_status run_sample_look(run_job *job, vly_error *error)
{
    run_sample *sample = &run_output_state(job)->sample;
    uint64_t burst = vly_net_burst(job->net);
    const bool again = burst == sample->last || burst == 0;
    bool taken = false;
    uint32_t input = 0;
    vly_status status = VLY_OK;
    for (uint32_t r = 0; r < sample->n_reports; r++) {
        if (is_rates(sample->windows[r])) {
            VLY_TRY(run_rates_look(job, burst, r, error));
        } else if (!is_fields(sample->windows[r])) {
            if (!again)
                VLY_TRY(run_inputs_look(job, burst, input, &taken, error));
            input++;
        } else if (!again && next_of(sample->windows[r], burst - 1) == burst) {
            VLY_TRY(take(job, r, error));
            taken = true;
        }
    }
    if (taken)
        sample->last = burst;
out:
    return status;
}
