/* SPDX-License-Identifier: Apache-2.0
 * Statistics of spikes by area, computed while a run goes on: irregularity (CV
 * of inter-spike intervals), synchrony (Fano factor of the population's count),
 * number of silent neurons.
 */
#ifndef VOLLEY_RECORD_SPIKE_STATS_H
#define VOLLEY_RECORD_SPIKE_STATS_H

#include <stdint.h>

#include <volley/plugin.h>

#include "record/spike_csv.h"

/* Width of the bins in which a population's spikes are counted.
 * Source  Potjans and Diesmann 2014, doi:10.1093/cercor/bhs358 (synchrony) */
#define VLY_SPIKE_BIN_MS 3.0
/* A neuron with fewer spikes has no CV: it has only one interval. */
#define VLY_SPIKE_CV_MIN 3

typedef struct vly_spike_stats vly_spike_stats;

typedef struct vly_area_spikes {
    uint64_t n_spikes;
    uint32_t n_silent;
    uint32_t n_cv;   /* neurons with VLY_SPIKE_CV_MIN spikes and more */
    double cv;       /* mean over them; NaN without any */
    double fano;     /* variance / mean of the counts of whole bins; NaN: no
                        spike in them, or fewer than two */
    uint64_t n_bins; /* whole ones */
} vly_area_spikes;

/* Areas follow each other. Bins begin at first_burst; spikes before it are left
 * out.
 * Memory  32 bytes a neuron. Errors E_NOMEM */
vly_status vly_spike_stats_create(const vly_spike_area *areas, uint32_t n_areas,
                                  double dt_ms, uint64_t first_burst,
                                  vly_spike_stats **stats, vly_error *error);
void vly_spike_stats_destroy(vly_spike_stats *stats); /* NULL is legal */
/* ids [n_ids] ascending, of any area; bursts ascend, bursts without spikes may
 * be skipped.
 * Cost  O(n_ids), no allocation */
void vly_spike_stats_add(vly_spike_stats *stats, uint64_t burst,
                         const uint32_t *ids, uint32_t n_ids);
/* Resets the statistics and begins at this burst, but not before the
 * first_burst of create. */
void vly_spike_stats_restart(vly_spike_stats *stats, uint64_t first_burst);
/* When n_bursts are done; more may be added. */
void vly_spike_stats_get(vly_spike_stats *stats, uint64_t n_bursts,
                         uint32_t area, vly_area_spikes *figures);
uint64_t vly_spike_stats_first(const vly_spike_stats *stats);
double vly_spike_stats_bin_ms(const vly_spike_stats *stats);

#endif
