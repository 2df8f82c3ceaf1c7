/* SPDX-License-Identifier: Apache-2.0
 * Weights of a map over time: how they are spread, and single synapses.
 */
#ifndef VOLLEY_TOOLS_PLOT_WEIGHTS_H
#define VOLLEY_TOOLS_PLOT_WEIGHTS_H

#include "tools/cli/options.h"
#include "tools/plot/plot_figure.h"

#define PLOT_SYNAPSES_MAX 7u /* single ones: colours that differ */
#define PLOT_SPREADS_MAX 5u  /* times at which the spread is drawn */

typedef struct plot_weight {
    uint32_t pair;   /* of areas */
    uint32_t source; /* in its area */
    uint32_t target;
    uint32_t reserved;
    double weight;
} plot_weight;

typedef struct plot_weights {
    char *map;
    char *column;   /* "weight_mv" */
    char **pairs;   /* [n_pairs] "A -> B" */
    double *times;  /* [n_times] ms, ascending; one of a table without times */
    uint64_t *rows; /* [n_times + 1] first row of each time */
    plot_weight *weights; /* [rows[n_times]] */
    uint32_t n_pairs;
    uint64_t n_times;
    uint64_t capacity;       /* of weights */
    uint64_t times_capacity; /* of times */
    bool timed;              /* the table has times */
} plot_weights;

/* A table of [[record]] of weights or of --weights, or a folder of a run with
 * one. --map, --from and --to of args choose.
 * Errors  E_IO; E_PARSE "file:line:column: ..."; E_INVALID nothing remains, or
 * several maps and none chosen; E_NOMEM */
vly_status plot_weights_init(plot_weights *weights, const tool_args *args,
                             const char *path, vly_error *error);
void plot_weights_deinit(plot_weights *weights);
/* Single synapses over time beside the spread at several times; of a table
 * without times the spread only. */
vly_status plot_weights_draw(plot_figure *figure, const plot_weights *weights,
                             const char *title, vly_error *error);

#endif
