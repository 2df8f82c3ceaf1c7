/* SPDX-License-Identifier: Apache-2.0
 * What a picture is made of: the recorded spikes of a run, and the areas they
 * belong to.
 */
#ifndef VOLLEY_TOOLS_PLOT_DATA_H
#define VOLLEY_TOOLS_PLOT_DATA_H

#include <stdbool.h>
#include <stdint.h>

#include <volley/plugin.h>

#include "tools/cli/options.h"

typedef struct plot_area {
    char *name;
    uint32_t first; /* in plot_data's own count of neurons */
    uint32_t n_neurons;
    bool has_voxels;
    uint32_t voxels[3];
    uint32_t neurons_per_voxel;
    uint64_t n_spikes;
    uint8_t *recorded;   /* a bit a neuron; NULL: all */
    uint32_t n_recorded; /* bits of it */
} plot_area;

typedef struct plot_data {
    char *title; /* of the genome; NULL: none */
    plot_area *areas;
    uint32_t n_areas;
    uint32_t n_neurons;
    bool sizes_known;    /* otherwise n_neurons is the largest id in the data,
                          * plus one */
    uint32_t n_left_out; /* areas that the run did not record */
    char *left_out;      /* name of the first of them */
    double dt_ms;
    uint64_t begin; /* bursts shown: [begin, end) */
    uint64_t end;
    uint64_t n_spikes;
    uint64_t *bursts;  /* [n_spikes] ascending */
    uint32_t *neurons; /* [n_spikes] */
    vly_error damage;  /* error of a stream that is shown up to its damage;
                        * otherwise OK */
} plot_data;

/* Reads a folder of `volley run -o`, with the areas that were recorded, or a
 * recording of spikes (with the areas of --genome; without it, the areas that
 * fired). --area, --from and --to of args choose.
 * Errors  E_IO; E_PARSE "file:line:column: ..."; E_INVALID nothing remains, an
 * area does not exist or was not recorded; E_NOMEM */
vly_status plot_data_init(plot_data *data, const tool_args *args,
                          const char *path, vly_error *error);
void plot_data_deinit(plot_data *data);

typedef enum plot_file_kind {
    PLOT_FILE_CSV, /* or another file: its reader reports the error */
    PLOT_FILE_STREAM,
    PLOT_FILE_HDF5
} plot_file_kind;
plot_file_kind plot_file_kind_of(const char *path);
/* The recording of the run in that folder, from its manifest; the caller frees
 * *recording.
 * Errors  E_INVALID not the folder of a run, or nothing was recorded; E_IO;
 * E_PARSE; E_NOMEM */
vly_status plot_recording(const char *folder, char **recording,
                          uint64_t *n_bursts, vly_error *error);

/* Are count * size bytes of memory available, as far as known? Linux grants
 * more memory than exists, and kills the process that uses it. */
bool plot_fits(uint64_t count, uint64_t size);
/* Index of the area of a neuron. */
uint32_t plot_data_area(const plot_data *data, uint32_t neuron);
double plot_data_seconds(const plot_data *data);
/* Number of recorded neurons: rates are means over these. */
uint32_t plot_area_neurons(const plot_area *area);
uint32_t plot_data_neurons(const plot_data *data);
/* neuron: in the area */
bool plot_area_records(const plot_area *area, uint32_t neuron);
/* For the end of a note: "; " and the data that the picture lacks, or "". */
void plot_data_lacks(const plot_data *data, char *text, size_t n);

#endif
