/* SPDX-License-Identifier: Apache-2.0
 * Intervals of a [[record]] are [start + k * interval, start + (k + 1) *
 * interval), so which spikes a rate counts does not depend on where a run was
 * stopped, cut back, or handed to another device. The last interval is recorded
 * only if it is whole.
 */
#include "tools/run/run_rates.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "connectome/connectome.h"
#include "tools/run/run_counts.h"
#include "tools/run/run_job.h"
#include "tools/run/run_output.h"

vly_stream_report run_rates_report(const vly_record *record, uint32_t n_area)
{
    return (vly_stream_report){.record = record->group,
                               .area = record->area,
                               .type = VLY_TYPE_F32,
                               .n_neurons =
                                   record->neurons ? record->n_neurons : n_area,
                               .neurons = record->neurons,
                               .mean = !record->by_neuron,
                               .field = RUN_RATE_FIELD,
                               .unit = "Hz",
                               .interval = record->interval};
}

/* ---- open and close ------------------------------------------------------ */

static uint32_t count_records(const vly_genome *genome)
{
    uint32_t n = 0;
    for (uint32_t r = 0; r < genome->n_records; r++)
        n += genome->records[r].kind == VLY_RECORD_RATES;
    return n;
}

static vly_status allocate(run_rates *rates, vly_error *error)
{
    uint32_t most = 0;
    rates->n_state = rates->n;
    for (uint32_t i = 0; i < rates->n; i++) {
        const uint32_t n = rates->rates[i].n_counts;
        rates->n_state += n;
        most = n > most ? n : most;
    }
    rates->words = vly_calloc(most, sizeof *rates->words);
    return rates->words
               ? VLY_OK
               : vly_fail_nomem(error, most * sizeof *rates->words, "rates");
}

void run_rates_place(const run_job *job, run_rates *rates, uint64_t *state,
                     bool continues)
{
    uint64_t at = rates->n;
    for (uint32_t i = 0; i < rates->n; i++) {
        run_rate *rate = &rates->rates[i];
        rate->begin = &state[i];
        rate->counts = &state[at];
        at += rate->n_counts;
        if (!continues)
            *rate->begin = run_counts_first(
                rate->record->start, rate->record->interval, job->first_burst);
    }
}

vly_status run_rates_init(run_job *job, vly_error *error)
{
    run_rates *rates = &run_output_state(job)->rates;
    const run_sample *sample = &run_output_state(job)->sample;
    const uint32_t n = count_records(job->build.genome);
    if (n == 0)
        return VLY_OK;
    rates->dt_ms = job->build.connectome->desc.dt_ms;
    rates->rates = vly_calloc(n, sizeof *rates->rates);
    if (!rates->rates)
        return vly_fail_nomem(error, n * sizeof *rates->rates, "rates");
    for (uint32_t r = 0; r < sample->n_reports; r++) {
        const vly_record *record = sample->windows[r];
        if (record->kind != VLY_RECORD_RATES)
            continue;
        const vly_connectome_area *area =
            &job->build.connectome->areas[record->area];
        rates->rates[rates->n++] =
            (run_rate){.record = record,
                       .report = r,
                       .first = area->first,
                       .n_area = area->n_neurons,
                       .n_neurons = sample->reports[r].n_neurons,
                       .n_counts = vly_stream_words(&sample->reports[r])};
    }
    return allocate(rates, error);
}

void run_rates_deinit(run_rates *rates)
{
    vly_free(rates->rates);
    vly_free(rates->words);
    *rates = (run_rates){0};
}

/* ---- frames -------------------------------------------------------------- */

/* Operations of IEEE 754 in double, each rounded once, and one rounding to
 * single precision: the same on every machine. */
static void fill_words(const run_rates *rates, const run_rate *rate)
{
    const uint32_t n = rate->record->by_neuron ? 1 : rate->n_neurons;
    const double ms = (double)rate->record->interval * rates->dt_ms * n;
    for (uint32_t i = 0; i < rate->n_counts; i++) {
        const float hz = (float)((double)rate->counts[i] * 1000 / ms);
        memcpy(&rates->words[i], &hz, sizeof hz);
    }
}

static vly_status finish(run_job *job, run_rate *rate, uint64_t done,
                         vly_error *error)
{
    run_rates *rates = &run_output_state(job)->rates;
    const uint64_t interval = rate->record->interval;
    vly_status status = VLY_OK;
    while (done >= *rate->begin && done - *rate->begin >= interval &&
           run_counts_open(rate->record->stop, rate->record->interval,
                           *rate->begin)) {
        fill_words(rates, rate);
        VLY_TRY(run_record_frame(run_output_state(job)->record,
                                 *rate->begin + interval, rate->report,
                                 rates->words, rate->n_counts, error));
        memset(rate->counts, 0, rate->n_counts * sizeof *rate->counts);
        *rate->begin += interval;
    }
out:
    return status;
}

vly_status run_rates_look(run_job *job, uint64_t done, uint32_t report,
                          vly_error *error)
{
    run_rates *rates = &run_output_state(job)->rates;
    vly_status status = VLY_OK;
    for (uint32_t i = 0; i < rates->n; i++)
        if (report == UINT32_MAX || rates->rates[i].report == report)
            VLY_TRY(finish(job, &rates->rates[i], done, error));
out:
    return status;
}

/* ---- counting ------------------------------------------------------------ */

/* The first place in ascending list[n] with a value of at least `value`. */
static uint32_t place_of(const uint32_t *list, uint32_t n, uint32_t value)
{
    uint32_t low = 0;
    while (low < n) {
        const uint32_t middle = low + (n - low) / 2;
        if (list[middle] < value)
            low = middle + 1;
        else
            n = middle;
    }
    return low;
}

/* ids [n] of the area, from its first neuron `first` on. */
static void count(run_rate *rate, const uint32_t *ids, uint32_t n)
{
    const vly_record *record = rate->record;
    if (!record->neurons && !record->by_neuron) {
        rate->counts[0] += n;
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        uint32_t k = ids[i] - rate->first;
        if (record->neurons) {
            const uint32_t index = k;
            k = place_of(record->neurons, record->n_neurons, index);
            if (k == record->n_neurons || record->neurons[k] != index)
                continue;
        }
        rate->counts[record->by_neuron ? k : 0]++;
    }
}

vly_status run_rates_burst(run_job *job, uint64_t burst, const uint32_t *ids,
                           uint32_t n_ids, vly_error *error)
{
    run_rates *rates = &run_output_state(job)->rates;
    vly_status status = VLY_OK;
    VLY_TRY(run_rates_look(job, burst, UINT32_MAX, error));
    for (uint32_t i = 0; i < rates->n && n_ids > 0; i++) {
        run_rate *rate = &rates->rates[i];
        if (burst < *rate->begin ||
            !run_counts_open(rate->record->stop, rate->record->interval,
                             *rate->begin))
            continue;
        const uint32_t at = place_of(ids, n_ids, rate->first);
        const uint32_t end =
            at + place_of(ids + at, n_ids - at, rate->first + rate->n_area);
        count(rate, ids + at, end - at);
    }
out:
    return status;
}
