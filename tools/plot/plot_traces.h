/* SPDX-License-Identifier: Apache-2.0
 * Samples of a field over time, neuron by neuron.
 */
#ifndef VOLLEY_TOOLS_PLOT_TRACES_H
#define VOLLEY_TOOLS_PLOT_TRACES_H

#include "tools/cli/options.h"
#include "tools/plot/plot_figure.h"

#define PLOT_TRACES_MAX 12u
#define PLOT_MEAN UINT32_MAX /* neuron of a mean */

typedef struct plot_trace {
    char *area;
    uint32_t neuron;
    int64_t element; /* compartment; -1: the neuron has one */
    uint32_t report; /* of a stream */
    uint32_t record; /* its number, as in vly_stream_report */
    uint64_t n;
    uint64_t capacity;
    double *times_ms; /* [n] ascending */
    double *values;   /* [n] */
} plot_trace;

typedef struct plot_traces {
    plot_trace traces[PLOT_TRACES_MAX]; /* by first appearance */
    uint32_t n_traces;
    uint64_t n_left_out; /* samples of neurons beyond those */
    char *field;
    char *unit;       /* "": none; NULL: unknown except for the suffix of the
                       * field */
    vly_error damage; /* error of a stream that is shown up to its damage;
                       * otherwise OK */
} plot_traces;

/* A CSV of samples, a stream with samples, a SONATA report, or a folder of a
 * run that has one of them. --area, --neuron, --field, --from and --to of args
 * choose. Samples of several [[record]]s of a stream are not put together: what
 * two of them record has two traces.
 * Errors  E_IO; E_PARSE "file:line:column: ..."; E_INVALID nothing remains, or
 * several fields and none chosen; E_UNSUPPORTED HDF5 without HDF5 in this
 * build; E_NOMEM */
vly_status plot_traces_init(plot_traces *traces, const tool_args *args,
                            const char *path, vly_error *error);
/* The file of samples in a run's folder: it is beside the recorded spikes, or
 * it is the stream that has both. The caller frees *path.
 * Errors  E_IO; E_INVALID none, or several, and their names; E_NOMEM */
vly_status plot_find_samples(const tool_args *args, const char *folder,
                             char **path, vly_error *error);
void plot_traces_deinit(plot_traces *traces);
/* The unit of the field in the model of the first trace's area, if the genome
 * is available.
 * Errors  those of reading a genome; E_NOMEM */
vly_status plot_traces_unit(plot_traces *traces, const char *genome,
                            vly_error *error);
/* "v_mv" becomes "v (mV)"; a name without a unit is unchanged. The unit of a
 * report (NULL: not known) follows a name that has none. */
void plot_field_label(const char *field, const char *unit, char *text,
                      size_t n);
/* One panel per neuron, one above the other, with the same scales. */
vly_status plot_traces_draw(plot_figure *figure, const plot_traces *traces,
                            const char *title, vly_error *error);

#endif
