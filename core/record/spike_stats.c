/* SPDX-License-Identifier: Apache-2.0
 * Statistics of spikes in one pass and bounded memory. Intervals and counts are
 * whole numbers of bursts and spikes, so sums are exact (below 2^53) and no
 * order of work could change them.
 */
#include <volley/record.h>

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/number.h"

typedef struct spike_neuron {
    uint64_t n;
    uint64_t first; /* bursts */
    uint64_t last;
    double squares; /* sum of squared intervals */
} spike_neuron;

typedef struct spike_count {
    uint32_t first; /* neuron */
    uint32_t n_neurons;
    uint64_t n_spikes;
    uint64_t in_bin; /* of the current bin */
    double sum;      /* over the finished bins */
    double squares;
} spike_count;

struct vly_spike_stats {
    spike_neuron *neurons; /* [n_neurons] */
    spike_count *areas;    /* [n_areas] */
    size_t n_neurons;
    uint32_t n_areas;
    double dt_ms;
    uint64_t bin;         /* bursts */
    uint64_t from;        /* as created: earlier spikes are left out */
    uint64_t first_burst; /* statistics begin here */
    uint64_t n_bins;      /* over */
};

vly_status vly_spike_stats_create(const uint32_t *n_neurons, uint32_t n_areas,
                                  double dt_ms, uint64_t first_burst,
                                  vly_spike_stats **stats, vly_error *error)
{
    uint64_t n = 0;
    if (!n_neurons || !stats || n_areas == 0 || !(dt_ms > 0))
        return vly_fail(error, VLY_E_INVALID,
                        "vly_spike_stats_create: %u areas, dt %g ms, wanted "
                        "areas and a dt above 0",
                        n_areas, dt_ms);
    vly_spike_stats *made = vly_calloc(1, sizeof *made);
    for (uint32_t a = 0; a < n_areas; a++)
        n += n_neurons[a];
    if (made) {
        made->areas = vly_calloc(n_areas, sizeof *made->areas);
        made->neurons = vly_calloc((size_t)n, sizeof *made->neurons);
    }
    if (!made || !made->areas || !made->neurons) {
        vly_spike_stats_destroy(made);
        return vly_fail_nomem(error, n * sizeof *made->neurons,
                              "statistics of spikes");
    }
    n = 0;
    for (uint32_t a = 0; a < n_areas; a++) {
        made->areas[a].first = (uint32_t)n;
        made->areas[a].n_neurons = n_neurons[a];
        n += n_neurons[a];
    }
    made->n_neurons = (size_t)n;
    made->n_areas = n_areas;
    made->dt_ms = dt_ms;
    double bursts = floor(VLY_SPIKE_BIN_MS / dt_ms + 0.5);
    made->bin = bursts >= 1 ? vly_count_of(bursts) : 1;
    made->from = first_burst;
    made->first_burst = first_burst;
    *stats = made;
    return VLY_OK;
}

void vly_spike_stats_destroy(vly_spike_stats *stats)
{
    if (!stats)
        return;
    vly_free(stats->neurons);
    vly_free(stats->areas);
    vly_free(stats);
}

void vly_spike_stats_restart(vly_spike_stats *stats, uint64_t first_burst)
{
    memset(stats->neurons, 0, stats->n_neurons * sizeof *stats->neurons);
    for (uint32_t a = 0; a < stats->n_areas; a++) {
        spike_count *area = &stats->areas[a];
        *area =
            (spike_count){.first = area->first, .n_neurons = area->n_neurons};
    }
    stats->first_burst = first_burst > stats->from ? first_burst : stats->from;
    stats->n_bins = 0;
}

/* Closes the bins that end before n_bursts; empty bins add nothing to the sums.
 */
static void close_bins(vly_spike_stats *stats, uint64_t n_bursts)
{
    uint64_t over = n_bursts > stats->first_burst
                        ? (n_bursts - stats->first_burst) / stats->bin
                        : 0;
    if (over <= stats->n_bins)
        return;
    for (uint32_t a = 0; a < stats->n_areas; a++) {
        spike_count *area = &stats->areas[a];
        double n = (double)area->in_bin;
        area->sum += n;
        area->squares += n * n;
        area->in_bin = 0;
    }
    stats->n_bins = over;
}

void vly_spike_stats_add(vly_spike_stats *stats, uint64_t burst,
                         const uint32_t *ids, uint32_t n_ids)
{
    uint32_t a = 0;
    if (burst < stats->first_burst)
        return;
    close_bins(stats, burst);
    for (uint32_t i = 0; i < n_ids && ids[i] < stats->n_neurons; i++) {
        while (ids[i] - stats->areas[a].first >= stats->areas[a].n_neurons)
            a++;
        spike_neuron *neuron = &stats->neurons[ids[i]];
        stats->areas[a].n_spikes++;
        stats->areas[a].in_bin++;
        if (neuron->n == 0) {
            neuron->first = burst;
        } else {
            double interval = (double)(burst - neuron->last);
            neuron->squares += interval * interval;
        }
        neuron->last = burst;
        neuron->n++;
    }
}

/* Standard deviation of the population, not of a sample, like elephant's
 * cv(isi). */
static double neuron_cv(const spike_neuron *neuron)
{
    double n = (double)(neuron->n - 1);
    double mean = (double)(neuron->last - neuron->first) / n;
    double variance = neuron->squares / n - mean * mean;
    return variance > 0 ? sqrt(variance) / mean : 0;
}

vly_status vly_spike_stats_get(vly_spike_stats *stats, uint64_t n_bursts,
                               uint32_t area, vly_area_spikes *figures)
{
    if (area >= stats->n_areas)
        return VLY_E_INVALID;
    close_bins(stats, n_bursts);
    const spike_count *count = &stats->areas[area];
    const spike_neuron *neurons = stats->neurons + count->first;
    double n_bins = (double)stats->n_bins;
    double cv_sum = 0;
    vly_area_spikes made = {.n_spikes = count->n_spikes,
                            .cv = NAN,
                            .fano = NAN,
                            .n_bins = stats->n_bins};
    for (uint32_t i = 0; i < count->n_neurons; i++) {
        made.n_silent += neurons[i].n == 0;
        if (neurons[i].n < VLY_SPIKE_CV_MIN)
            continue;
        cv_sum += neuron_cv(&neurons[i]);
        made.n_cv++;
    }
    if (made.n_cv > 0)
        made.cv = cv_sum / (double)made.n_cv;
    if (stats->n_bins < 2 || !(count->sum > 0))
        return vly_struct_fill(figures, &made, sizeof made);
    double mean = count->sum / n_bins;
    made.fano = (count->squares / n_bins - mean * mean) / mean;
    return vly_struct_fill(figures, &made, sizeof made);
}

uint64_t vly_spike_stats_first(const vly_spike_stats *stats)
{
    return stats->first_burst;
}

double vly_spike_stats_bin_ms(const vly_spike_stats *stats)
{
    return (double)stats->bin * stats->dt_ms;
}
