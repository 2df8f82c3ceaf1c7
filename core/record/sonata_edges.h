/* SPDX-License-Identifier: Apache-2.0
 * Synapses with their weights and delays as SONATA edges (Dai et al. 2020,
 * doi:10.1371/journal.pcbi.1007696), one population after the other. The file
 * gets its name when it is complete.
 */
#ifndef VOLLEY_RECORD_SONATA_EDGES_H
#define VOLLEY_RECORD_SONATA_EDGES_H

#include <stdbool.h>
#include <stdint.h>

#include <volley/plugin.h>

typedef struct vly_sonata_edges vly_sonata_edges;

/* Errors of all functions: E_IO "path: cannot be written: reason"; E_NOMEM;
 * E_UNSUPPORTED this build has no HDF5. */
vly_status vly_sonata_edges_open(const char *path, vly_sonata_edges **edges,
                                 vly_error *error);
/* n edges follow, with their delays or without; a slash of the name is replaced
 * by a dot. */
vly_status vly_sonata_edges_begin(vly_sonata_edges *edges,
                                  const char *population, uint64_t n,
                                  bool has_delays, vly_error *error);
/* The next n of them. delays_ms: NULL without delays. */
vly_status vly_sonata_edges_add(vly_sonata_edges *edges,
                                const uint32_t *sources,
                                const uint32_t *targets, const double *weights,
                                const double *delays_ms, uint64_t n,
                                vly_error *error);
/* After the last edge of a population. */
vly_status vly_sonata_edges_end(vly_sonata_edges *edges, vly_error *error);
/* Frees edges, also on failure. */
vly_status vly_sonata_edges_close(vly_sonata_edges *edges, vly_error *error);
/* Removes the file. NULL is legal. */
void vly_sonata_edges_abandon(vly_sonata_edges *edges);

#endif
