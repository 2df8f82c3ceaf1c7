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
    uint32_t seen; /* the area of the row before: they come in runs */
    bool any;
} plot_rows;

/* Whether --area names it, or none. */
bool plot_chosen(const tool_args *args, const char *name);
/* NULL without memory; error then says so. */
plot_area *plot_area_add(plot_data *data, const char *name, vly_error *error);
/* A slash of an area's name is a dot in the name of its population. */
bool plot_is_population(const char *area, const char *population);
/* What a population is called here: as --area has it, or as it is; NULL: it is
 * not wanted. */
const char *plot_population_area(const tool_args *args, const char *population);
/* A spike, if it lies in the window of --from and --to. */
vly_status plot_rows_keep(plot_data *data, plot_rows *rows, uint64_t burst,
                          uint32_t area, uint32_t neuron, vly_error *error);

vly_status plot_rows_csv(plot_data *data, plot_rows *rows, const char *path,
                         vly_error *error);
/* What is behind the last block of a stream: damage is an error to be told once
 * the picture is drawn; that a run was killed is a note. */
void plot_stream_ended(const vly_stream_reader *reader, const char *path,
                       vly_error *damage);
/* A stream that a killed run left is shown as far as it is good. */
vly_status plot_rows_stream(plot_data *data, plot_rows *rows, const char *path,
                            vly_error *error);
/* Spikes of a SONATA file, in any order there. Without a genome a burst is the
 * longest of some usual time steps on which all spikes lie, or 0.001 ms. */
vly_status plot_rows_sonata(plot_data *data, plot_rows *rows, const char *path,
                            vly_error *error);

#endif
