/* SPDX-License-Identifier: Apache-2.0
 * Values of a field for the neurons of a report, read in ranges. A file of its
 * own: run_sample.c and run_inputs.c read this way, and the first calls the
 * second.
 */
#include "tools/run/run_sample.h"

#include "base/error.h"
#include "tools/run/run_job.h"
#include "tools/run/run_output.h"

/* Gaps of up to so many unwanted neurons are read too: one read of a device
 * costs as much as thousands of values. */
enum { GAP_MAX = 1024 };

static uint32_t neuron_at(const vly_stream_report *report, uint32_t i)
{
    return report->neurons ? report->neurons[i] : i;
}

/* The neurons from i on that are read together; returns how many. */
static uint32_t together(const vly_stream_report *report, uint32_t i)
{
    uint32_t n = 1;
    if (!report->neurons)
        return report->n_neurons - i;
    while (i + n < report->n_neurons &&
           report->neurons[i + n] - report->neurons[i + n - 1] <= GAP_MAX)
        n++;
    return n;
}

vly_status run_sample_read(run_job *job, uint32_t r, const char *field,
                           double *values, vly_error *error)
{
    run_sample *sample = &run_output_state(job)->sample;
    const vly_stream_report *report = &sample->reports[r];
    const char *area = job->build.genome->areas[report->area].name;
    vly_status status = VLY_OK;
    for (uint32_t i = 0; i < report->n_neurons;) {
        uint32_t n = together(report, i);
        uint32_t first = neuron_at(report, i);
        uint32_t count = neuron_at(report, i + n - 1) - first + 1;
        VLY_TRY(vly_net_read(job->net, area, field, first, count, sample->range,
                             error));
        for (uint32_t k = i; k < i + n; k++)
            values[k] = sample->range[neuron_at(report, k) - first];
        i += n;
    }
out:
    return status;
}
