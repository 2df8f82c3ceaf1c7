/* SPDX-License-Identifier: Apache-2.0
 * Spikes on their way from a recording into a picture's data: one function a
 * kind of file. For plot_data.c, plot_samples.c.
 */
#ifndef VOLLEY_TOOLS_PLOT_ROWS_H
#define VOLLEY_TOOLS_PLOT_ROWS_H

#include "record/stream.h"
#include "tools/plot/plot_data.h"

/* Those read so far; area and id apart until all areas are known. */
typedef struct plot_rows {
    const tool_args *args;
    uint32_t columns[4]; /* burst, time_ms, area, neuron */
    uint32_t *area;      /* [n_spikes] of data->areas */
    uint64_t capacity;
    uint64_t last; /* burst, of any area */
    uint32_t seen; /* the area of the previous row: rows of an area come in
                    * runs */
    bool any;
} plot_rows;

/* Does --area name it, or is there no --area? */
bool plot_chosen(const tool_args *args, const char *name);
/* NULL if memory ran out; error is set then. */
plot_area *plot_area_add(plot_data *data, const char *name, vly_error *error);
/* A slash in the name of an area is a dot in the name of its population. */
bool plot_is_population(const char *area, const char *population);
/* Name of a population here: as in --area, or unchanged; NULL: not wanted. */
const char *plot_population_area(const tool_args *args, const char *population);
/* Adds a spike if it is in the window of --from and --to. */
vly_status plot_rows_keep(plot_data *data, plot_rows *rows, uint64_t burst,
                          uint32_t area, uint32_t neuron, vly_error *error);

vly_status plot_rows_csv(plot_data *data, plot_rows *rows, const char *path,
                         vly_error *error);
/* Checks the end of a stream after its last block: damage is an error that is
 * reported after the picture is drawn; a killed run gives a note. */
void plot_stream_ended(const vly_stream_reader *reader, const char *path,
                       vly_error *damage);
/* The stream of a killed run is shown up to its last intact block. */
vly_status plot_rows_stream(plot_data *data, plot_rows *rows, const char *path,
                            vly_error *error);
/* Spikes of a SONATA file, in any order there. Without a genome a burst is the
 * longest of some usual time steps on which all spikes lie, or 0.001 ms. */
vly_status plot_rows_sonata(plot_data *data, plot_rows *rows, const char *path,
                            vly_error *error);

#endif
