/* SPDX-License-Identifier: Apache-2.0
 * Spikes as CSV: `burst,time_ms,area,neuron`, one line a spike, in the order
 * of bursts and, within a burst, of neurons. time_ms is the end of the burst,
 * (burst + 1) * dt; neuron is the index in its area.
 */
#ifndef VOLLEY_RECORD_SPIKE_CSV_H
#define VOLLEY_RECORD_SPIKE_CSV_H

#include <stdbool.h>
#include <stdint.h>

#include <volley/plugin.h>

#define VLY_SPIKE_CSV_HEADER "burst,time_ms,area,neuron"

typedef struct vly_spike_csv vly_spike_csv;

/* Neurons of one area have consecutive ids; areas ascend. */
typedef struct vly_spike_area {
    const char *name;
    uint32_t first;
    uint32_t n_neurons;
    bool recorded; /* false: its spikes are left out */
} vly_spike_area;

/* Opens path ("-" is standard output) and writes the header line. */
vly_status vly_spike_csv_open(const char *path, const vly_spike_area *areas,
                              uint32_t n_areas, double dt_ms,
                              vly_spike_csv **csv, vly_error *error);
/* The same as a whole file: at path when it is closed, and not before. */
vly_status vly_spike_csv_create(const char *path, const vly_spike_area *areas,
                                uint32_t n_areas, double dt_ms,
                                vly_spike_csv **csv, vly_error *error);
/* How far a recording is: what a checkpoint keeps of it. */
typedef struct vly_spike_place {
    uint64_t n_bytes;
    uint64_t n_spikes;
} vly_spike_place;

/* Goes on in a recording behind this place; later lines, and a part of one, are
 * cut off. Errors  as vly_writer_resume */
vly_status vly_spike_csv_resume(const char *path, const vly_spike_area *areas,
                                uint32_t n_areas, double dt_ms,
                                const vly_spike_place *place,
                                vly_spike_csv **csv, vly_error *error);
/* All lines so far are in the file; *place is behind them. */
vly_status vly_spike_csv_flush(vly_spike_csv *csv, vly_spike_place *place,
                               vly_error *error);
/* Back to a place of this recording. Errors  as vly_writer_rewind */
vly_status vly_spike_csv_rewind(vly_spike_csv *csv,
                                const vly_spike_place *place, vly_error *error);
/* ids [n_ids] ascending. Errors E_IO: nothing more will be written. */
vly_status vly_spike_csv_add(vly_spike_csv *csv, uint64_t burst,
                             const uint32_t *ids, uint32_t n_ids,
                             vly_error *error);
/* Spikes written so far. */
uint64_t vly_spike_csv_count(const vly_spike_csv *csv);
/* As vly_writer_cancel: close then leaves nothing of it. NULL is legal. */
void vly_spike_csv_cancel(vly_spike_csv *csv);
/* csv is gone, also on failure. NULL is legal. */
vly_status vly_spike_csv_close(vly_spike_csv *csv, vly_error *error);
/* Of one that was created: nothing is left of it. NULL is legal. */
void vly_spike_csv_abandon(vly_spike_csv *csv);

#endif
