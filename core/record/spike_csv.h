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

#define VLY_AREA_CSV_HEADER "burst,time_ms,area" /* without neurons */
#define VLY_SPIKE_CSV_HEADER VLY_AREA_CSV_HEADER ",neuron"

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
/* The same, but the file appears at path only when it is closed. */
vly_status vly_spike_csv_create(const char *path, const vly_spike_area *areas,
                                uint32_t n_areas, double dt_ms,
                                vly_spike_csv **csv, vly_error *error);
/* The position of a recording that a checkpoint stores. */
typedef struct vly_spike_place {
    uint64_t n_bytes;
    uint64_t n_spikes;
} vly_spike_place;

/* Continues a recording after this place; later lines, and a partial line, are
 * truncated.
 * Errors  as vly_writer_resume */
vly_status vly_spike_csv_resume(const char *path, const vly_spike_area *areas,
                                uint32_t n_areas, double dt_ms,
                                const vly_spike_place *place,
                                vly_spike_csv **csv, vly_error *error);
/* Writes all lines so far to the file; *place is after them. */
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
/* Frees csv, also on failure. NULL is legal. */
vly_status vly_spike_csv_close(vly_spike_csv *csv, vly_error *error);
/* Closes a created file and removes it. NULL is legal. */
void vly_spike_csv_abandon(vly_spike_csv *csv);

#endif
