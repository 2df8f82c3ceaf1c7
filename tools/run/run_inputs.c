/* SPDX-License-Identifier: Apache-2.0
 * Intervals of a [[record]] of input are those of rates: [start + k * interval,
 * start + (k + 1) * interval). A sum has 48 bits in two fields, and the
 * difference of two of them is rounded once to single precision.
 */
#include "tools/run/run_inputs.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "tools/run/run_counts.h"
#include "tools/run/run_job.h"
#include "tools/run/run_output.h"

static run_inputs *of(const run_job *job)
{
    return &run_output_state(job)->inputs;
}

/* ---- open and close ------------------------------------------------------ */

vly_status run_inputs_init(run_job *job, vly_error *error)
{
    run_inputs *inputs = of(job);
    const run_sample *sample = &run_output_state(job)->sample;
    uint32_t most = 0;
    for (uint32_t r = 0; r < sample->n_reports; r++)
        inputs->n += sample->windows[r]->kind == VLY_RECORD_INPUT;
    if (inputs->n == 0)
        return VLY_OK;
    inputs->inputs = vly_calloc(inputs->n, sizeof *inputs->inputs);
    if (!inputs->inputs)
        return vly_fail_nomem(error, inputs->n * sizeof *inputs->inputs,
                              "records of input");
    inputs->n_state = inputs->n;
    for (uint32_t r = 0, i = 0; r < sample->n_reports; r++) {
        if (sample->windows[r]->kind != VLY_RECORD_INPUT)
            continue;
        const uint32_t n = sample->reports[r].n_neurons;
        inputs->inputs[i++] = (run_input){
            .record = sample->windows[r], .report = r, .n_neurons = n};
        inputs->n_state += n;
        most = n > most ? n : most;
    }
    inputs->high = vly_malloc(most, sizeof *inputs->high);
    if (!inputs->high)
        return vly_fail_nomem(error, most * sizeof *inputs->high,
                              "sums of input");
    return VLY_OK;
}

void run_inputs_deinit(run_inputs *inputs)
{
    vly_free(inputs->inputs);
    vly_free(inputs->high);
    *inputs = (run_inputs){0};
}

/* ---- sums ---------------------------------------------------------------- */

/* Into high. Both parts are multiples of the smallest weight of the port
 * (2^-q), so their sum in double is exact up to 2^53 of these. */
static vly_status read_sums(run_job *job, const run_input *input,
                            vly_error *error)
{
    const run_inputs *inputs = of(job);
    const vly_record *record = input->record;
    double *low =
        run_output_state(job)->sample.values; /* free between samples */
    const vly_model_info *model = job->build.genome->areas[record->area].model;
    vly_status status = VLY_OK;
    VLY_TRY(run_sample_read(job, input->report,
                            model->fields[record->field].name, inputs->high,
                            error));
    VLY_TRY(run_sample_read(job, input->report,
                            model->fields[record->field + 1].name, low, error));
    for (uint32_t i = 0; i < input->n_neurons; i++)
        inputs->high[i] += low[i];
out:
    return status;
}

static void keep_sums(const run_inputs *inputs, const run_input *input)
{
    memcpy(input->sums, inputs->high, input->n_neurons * sizeof *input->sums);
}

static void fill_words(const run_job *job, const run_input *input)
{
    const run_inputs *inputs = of(job);
    uint32_t *words = run_output_state(job)->sample.words;
    for (uint32_t i = 0; i < input->n_neurons; i++) {
        double before = 0;
        memcpy(&before, &input->sums[i], sizeof before);
        const float arrived = (float)(inputs->high[i] - before);
        memcpy(&words[i], &arrived, sizeof arrived);
    }
}

vly_status run_inputs_place(run_job *job, uint64_t *state, bool continues,
                            vly_error *error)
{
    const run_inputs *inputs = of(job);
    uint64_t at = inputs->n;
    vly_status status = VLY_OK;
    for (uint32_t i = 0; i < inputs->n; i++) {
        run_input *input = &inputs->inputs[i];
        input->begin = &state[i];
        input->sums = &state[at];
        at += input->n_neurons;
        if (continues)
            continue;
        *input->begin = run_counts_first(
            input->record->start, input->record->interval, job->first_burst);
        if (*input->begin != job->first_burst)
            continue;
        VLY_TRY(read_sums(job, input, error));
        keep_sums(inputs, input);
    }
out:
    return status;
}

/* ---- intervals ----------------------------------------------------------- */

uint64_t run_inputs_due(const run_inputs *inputs, uint64_t burst)
{
    uint64_t due = UINT64_MAX;
    for (uint32_t i = 0; i < inputs->n; i++) {
        const run_input *input = &inputs->inputs[i];
        const uint64_t begin = *input->begin;
        const uint64_t next =
            begin > burst ? begin : begin + input->record->interval;
        if (run_counts_open(input->record->stop, input->record->interval,
                            *input->begin) &&
            next < due)
            due = next;
    }
    return due;
}

static vly_status look(run_job *job, run_input *input, uint64_t burst,
                       bool *taken, vly_error *error)
{
    const run_inputs *inputs = of(job);
    const uint64_t end = *input->begin + input->record->interval;
    vly_status status = VLY_OK;
    if (!run_counts_open(input->record->stop, input->record->interval,
                         *input->begin) ||
        (burst != *input->begin && burst != end))
        return VLY_OK;
    VLY_TRY(read_sums(job, input, error));
    *taken = true;
    if (burst == end) {
        fill_words(job, input);
        *input->begin = end;
        VLY_TRY(run_record_frame(
            run_output_state(job)->record, end, input->report,
            run_output_state(job)->sample.words, input->n_neurons, error));
    }
    keep_sums(inputs, input);
out:
    return status;
}

vly_status run_inputs_look(run_job *job, uint64_t burst, uint32_t number,
                           bool *taken, vly_error *error)
{
    return look(job, &of(job)->inputs[number], burst, taken, error);
}
