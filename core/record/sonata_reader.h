/* SPDX-License-Identifier: Apache-2.0
 * Reads recordings in SONATA files, from Volley and other programs: spikes of
 * populations, and samples of a report. HDF5 runs in a child process
 * (base/child.h), so that a damaged file on which it crashes is refused with a
 * message like any other.
 */
#ifndef VOLLEY_RECORD_SONATA_READER_H
#define VOLLEY_RECORD_SONATA_READER_H

#include <stdbool.h>
#include <stdint.h>

#include <volley/plugin.h>

#define VLY_SONATA_COLUMNS 64u /* of a report, at most, in one reading */

/* The data to read. The two callbacks run in the child process: they may read
 * any memory, but their writes are lost. */
typedef struct vly_sonata_want {
    void *context;
    bool (*population)(void *context, const char *name);
    bool (*node)(void *context, const char *population, uint64_t node);
    uint32_t n_columns_max; /* over all populations; 1 to VLY_SONATA_COLUMNS */
} vly_sonata_want;

typedef struct vly_sonata_report {
    const char *population;
    const char *units; /* of the samples; "" none */
    double start_ms;   /* of the first row */
    double step_ms;
    uint32_t n_columns;      /* wanted ones */
    const uint64_t *nodes;   /* [n_columns] */
    const int64_t *elements; /* [n_columns] compartment of the node; -1: the
                                node has one */
} vly_sonata_report;

/* Called in the order of the file. Anything but VLY_OK, with error set, ends
 * the reading and is returned. */
typedef struct vly_sonata_take {
    void *context;
    /* A population, also an empty one; its spikes follow. */
    vly_status (*population)(void *context, const char *name, vly_error *error);
    /* times_ms [n] finite, from 0 to 1e12, in any order; first: the index of
     * the first one in its population */
    vly_status (*spikes)(void *context, uint64_t first, uint32_t n,
                         const double *times_ms, const uint64_t *nodes,
                         vly_error *error);
    vly_status (*report)(void *context, const vly_sonata_report *report,
                         vly_error *error);
    /* values [n_rows][n_columns] finite */
    vly_status (*rows)(void *context, uint64_t first, uint32_t n_rows,
                       const double *values, vly_error *error);
} vly_sonata_take;

/* Spikes: /spikes/POPULATION with timestamps and node_ids (gids in older files,
 * also without a population: its name is "spikes" then). Times are in ms, or in
 * the unit of the attribute units. Samples: /report/POPULATION with data and
 * mapping (also without a population: "report"). *more: there are more columns
 * than n_columns_max.
 * Errors  E_UNSUPPORTED a build without HDF5; E_IO; E_PARSE "file: /place: ..."
 *         not such a file, or damaged; E_NOMEM
 * Cost    one pass; the memory of a block
 */
vly_status vly_sonata_read_spikes(const char *path, const vly_sonata_want *want,
                                  const vly_sonata_take *take,
                                  vly_error *error);
vly_status vly_sonata_read_report(const char *path, const vly_sonata_want *want,
                                  const vly_sonata_take *take, bool *more,
                                  vly_error *error);

#endif
