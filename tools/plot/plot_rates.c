/* SPDX-License-Identifier: Apache-2.0
 * Rates over time, and histograms of intervals and rates.
 */
#include "tools/plot/plot.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/number.h"
#include "tools/cli/tool.h"

/* ---- over time ---------------------------------------------------------- */

/* [areas][bins] rate of a neuron in Hz; the last bin may be shorter. */
static void rates_of(const plot_data *data, uint64_t bin, uint32_t n_bins,
                     double *rates)
{
    for (uint64_t i = 0; i < data->n_spikes; i++) {
        const uint32_t a = plot_data_area(data, data->neurons[i]);
        rates[(size_t)a * n_bins + (data->bursts[i] - data->begin) / bin]++;
    }
    for (uint32_t a = 0; a < data->n_areas; a++)
        for (uint32_t b = 0; b < n_bins; b++) {
            const uint64_t first = data->begin + b * bin;
            const uint64_t last =
                first + bin < data->end ? first + bin : data->end;
            const double seconds = (double)(last - first) * data->dt_ms / 1000;
            rates[(size_t)a * n_bins + b] /=
                seconds * fmax(plot_area_neurons(&data->areas[a]), 1);
        }
}

/* Bursts per bin: at least one, at most all. */
static uint64_t bin_bursts(const plot_data *data, double bin_ms)
{
    const uint64_t length = data->end - data->begin;
    const uint64_t wanted = vly_count_of(bin_ms / data->dt_ms + 0.5);
    return wanted < 1 ? 1 : wanted > length ? length : wanted;
}

double plot_bin_ms(const plot_data *data, double bin_ms)
{
    return (double)bin_bursts(data, bin_ms) * data->dt_ms;
}

vly_status plot_rate(plot_figure *figure, const plot_data *data, double bin_ms,
                     vly_error *error)
{
    char note[320];
    char lacks[224];
    const uint64_t length = data->end - data->begin;
    const uint64_t bin = bin_bursts(data, bin_ms);
    const uint64_t n = (length + bin - 1) / bin;
    if (n > 10000000)
        return vly_fail(error, VLY_E_INVALID,
                        "--bin %g: %llu bins, wanted at most 10 million",
                        bin_ms, (unsigned long long)n);
    const uint32_t n_bins = (uint32_t)n;
    double *rates = NULL;
    if (plot_fits((uint64_t)data->n_areas * n_bins, sizeof *rates))
        rates = vly_calloc((size_t)data->n_areas * n_bins, sizeof *rates);
    if (!rates)
        return vly_fail_nomem(error, data->n_areas * n * sizeof *rates,
                              "rates");
    rates_of(data, bin, n_bins, rates);
    plot_data_lacks(data, lacks, sizeof lacks);
    snprintf(note, sizeof note,
             "bins of %g ms; mean over the neurons of each area%s",
             (double)bin * data->dt_ms, lacks);
    double highest = 0;
    for (size_t i = 0; i < (size_t)data->n_areas * n_bins; i++)
        highest = fmax(highest, rates[i]);
    plot_axes axes = {.x = 52,
                      .x_lo = (double)data->begin * data->dt_ms,
                      .x_hi = (double)data->end * data->dt_ms,
                      .y_hi = plot_round_up(highest),
                      .x_label = "time (ms)",
                      .y_label = "rate (Hz)"};
    axes.width = figure->width - axes.x - 18;
    axes.y = plot_heading(figure, data->title, note);
    double legend = 0;
    vly_status status =
        plot_legend(figure, data, axes.x, axes.y, axes.width, &legend, error);
    if (status != VLY_OK) {
        vly_free(rates);
        return status;
    }
    axes.y += legend;
    axes.height = figure->height - axes.y - 34;
    plot_axes_begin(figure, &axes);
    for (uint32_t a = 0; a < data->n_areas; a++)
        plot_steps(figure, &axes, rates + (size_t)a * n_bins, n_bins,
                   (double)length / (double)bin, a);
    plot_axes_end(figure);
    plot_axes_draw(figure, &axes);
    vly_free(rates);
    return VLY_OK;
}

/* ---- histograms --------------------------------------------------------- */

#define BINS 40u

typedef struct histogram {
    double *share; /* [areas][BINS] */
    double lo, hi; /* of the axis, which BINS bins cut into equal parts */
    bool log;
    double highest;
    uint64_t n;
} histogram;

static uint32_t bin_of(const histogram *in, double value)
{
    const double lo = in->log ? log10(in->lo) : in->lo;
    const double hi = in->log ? log10(in->hi) : in->hi;
    const double at = in->log ? log10(value) : value;
    const double bin = floor((at - lo) / (hi - lo) * BINS);
    return bin < 0 ? 0 : bin >= BINS ? BINS - 1 : (uint32_t)bin;
}

/* Converts counts to shares of each area. */
static void to_shares(const plot_data *data, histogram *in)
{
    for (uint32_t a = 0; a < data->n_areas; a++) {
        double *row = in->share + (size_t)a * BINS;
        double sum = 0;
        for (uint32_t b = 0; b < BINS; b++)
            sum += row[b];
        for (uint32_t b = 0; b < BINS && sum > 0; b++) {
            row[b] /= sum;
            in->highest = fmax(in->highest, row[b]);
        }
        in->n += (uint64_t)sum;
    }
}

/* last [neurons] is scratch: 0, or the burst of the last spike plus 1. The
 * first pass finds the longest interval, which ends the axis. */
static void intervals_of(const plot_data *data, uint64_t *last, histogram *in)
{
    uint64_t longest = 0;
    in->log = true;
    in->lo = data->dt_ms;
    for (int pass = 0; pass < 2; pass++) {
        memset(last, 0, (size_t)data->n_neurons * sizeof *last);
        for (uint64_t i = 0; i < data->n_spikes; i++) {
            const uint32_t neuron = data->neurons[i];
            const uint64_t before = last[neuron];
            last[neuron] = data->bursts[i] + 1;
            if (before == 0)
                continue;
            const uint64_t interval = data->bursts[i] + 1 - before;
            if (pass == 0) {
                longest = interval > longest ? interval : longest;
                continue;
            }
            const uint32_t a = plot_data_area(data, neuron);
            /* in the middle of its burst, so that it never hits the edge of a
             * bin */
            in->share[(size_t)a * BINS +
                      bin_of(in, ((double)interval + 0.5) * data->dt_ms)]++;
        }
        in->hi = pow(10, ceil(log10((double)(longest + 1) * data->dt_ms)));
        in->hi = fmax(in->hi, in->lo * 10);
        in->lo = pow(10, floor(log10(data->dt_ms)));
    }
    to_shares(data, in);
}

static void neuron_rates_of(const plot_data *data, uint64_t *count,
                            histogram *in)
{
    uint64_t most = 0;
    memset(count, 0, (size_t)data->n_neurons * sizeof *count);
    for (uint64_t i = 0; i < data->n_spikes; i++)
        if (++count[data->neurons[i]] > most)
            most = count[data->neurons[i]];
    /* every bin covers the same number of counts; otherwise the histogram shows
     * a comb */
    const uint64_t counts = most / BINS + 1;
    in->lo = 0;
    in->hi = (double)(counts * BINS) / plot_data_seconds(data);
    for (uint32_t n = 0; n < data->n_neurons; n++) {
        const uint32_t a = plot_data_area(data, n);
        if (plot_area_records(&data->areas[a], n - data->areas[a].first))
            in->share[(size_t)a * BINS + count[n] / counts]++;
    }
    to_shares(data, in);
}

static void draw_histogram(plot_figure *figure, const plot_data *data,
                           const histogram *of, const plot_axes *where,
                           const char *label, const char *share)
{
    plot_axes axes = *where;
    axes.x_lo = of->lo;
    axes.x_hi = of->hi;
    axes.x_log = of->log;
    axes.y_hi = plot_round_up(of->highest);
    axes.x_label = label;
    axes.y_label = share;
    plot_axes_begin(figure, &axes);
    for (uint32_t a = 0; a < data->n_areas; a++)
        plot_steps(figure, &axes, of->share + (size_t)a * BINS, BINS, BINS, a);
    plot_axes_end(figure);
    plot_axes_draw(figure, &axes);
}

vly_status plot_histograms(plot_figure *figure, const plot_data *data,
                           vly_error *error)
{
    char note[320];
    char lacks[224];
    histogram intervals = {0};
    histogram rates = {0};
    vly_status status = VLY_OK;
    const size_t n = (size_t)data->n_areas * BINS;
    intervals.share = vly_calloc(n, sizeof *intervals.share);
    rates.share = vly_calloc(n, sizeof *rates.share);
    uint64_t *scratch = NULL;
    if (plot_fits(data->n_neurons, sizeof *scratch))
        scratch = vly_calloc((size_t)data->n_neurons + 1, sizeof *scratch);
    if (!intervals.share || !rates.share || !scratch) {
        status = vly_fail_nomem(
            error, 2 * n * sizeof(double) + 8 * (uint64_t)data->n_neurons,
            "histograms");
        goto out;
    }
    intervals_of(data, scratch, &intervals);
    neuron_rates_of(data, scratch, &rates);
    plot_data_lacks(data, lacks, sizeof lacks);
    snprintf(note, sizeof note, "%s intervals, %s neurons%s",
             tool_thousands(intervals.n), tool_thousands(rates.n), lacks);
    plot_axes axes = {.x = 52};
    axes.y = plot_heading(figure, data->title, note);
    double legend = 0;
    VLY_TRY(plot_legend(figure, data, axes.x, axes.y, figure->width - 70,
                        &legend, error));
    axes.y += legend;
    axes.height = figure->height - axes.y - 34;
    axes.width = (figure->width - 2 * axes.x - 28) / 2;
    draw_histogram(figure, data, &intervals, &axes, "inter-spike interval (ms)",
                   "share of intervals");
    axes.x += axes.width + 62;
    draw_histogram(figure, data, &rates, &axes, "rate of a neuron (Hz)",
                   "share of neurons");
out:
    vly_free(scratch);
    vly_free(intervals.share);
    vly_free(rates.share);
    return status;
}
