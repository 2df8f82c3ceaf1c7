/* SPDX-License-Identifier: Apache-2.0
 * Synapses of a compiled network as rows: which are wanted, reading them in
 * order with little memory, writing them.
 */
#ifndef VOLLEY_TOOLS_CONNECTIONS_H
#define VOLLEY_TOOLS_CONNECTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <volley/volley.h>

/* Most projections of one map and pair of areas that are read as one: there is
 * one for each of up to three units of weights. */
enum { CONNECTIONS_PARTS = 6 };
/* Rows that are read at once. */
enum { CONNECTIONS_BLOCK = 1 << 14 };

/* One end, as of "E:3-7": an area, or all its copies E/0, E/1, ..., and neurons
 * of each. */
typedef struct connections_end {
    const char *name; /* n_name bytes of the option; NULL: any area */
    size_t n_name;
    bool copies; /* no area has this name, but copies of it do */
    uint32_t first;
    uint32_t end; /* after the last; UINT32_MAX: all from first on */
} connections_end;

typedef struct connections_pick {
    const char *map; /* NULL: all */
    connections_end source;
    connections_end target;
} connections_pick;

/* Synapses of one map between two areas. */
typedef struct connections_pair {
    uint32_t parts[CONNECTIONS_PARTS]; /* projections */
    uint32_t n_parts;
    const char *map;
    const char *source;
    const char *target;
    const char *suffix; /* of its weights: "mv"; "" none */
    bool only;          /* the map has no other pair of areas */
    uint64_t n;         /* rows that are wanted, by connections_count */
} connections_pair;

/* Rows in order of source, then target; [n] of CONNECTIONS_BLOCK. */
typedef struct connections_rows {
    uint32_t *sources; /* numbers in their areas */
    uint32_t *targets;
    double *weights;  /* in the unit of the target's port */
    uint32_t *delays; /* bursts */
    uint32_t n;
} connections_rows;

typedef struct connections_reader connections_reader;

/* ---- connections_pick.c ------------------------------------------------- */

/* Reads "AREA", "AREA:NEURON" or "AREA:FIRST-LAST" of an option, a text that
 * end refers to from then on. NULL: any. Errors  E_INVALID no such area, or no
 * such neuron */
vly_status connections_end_read(const vly_connectome *connectome,
                                const char *option, const char *text,
                                connections_end *end, vly_error *error);
/* The pairs of areas that have wanted rows, in the order of the network; to be
 * freed with vly_free.
 * Errors  E_INVALID no map of this name has synapses; E_NOMEM */
vly_status connections_pairs(const vly_connectome *connectome,
                             const connections_pick *pick,
                             connections_pair **pairs, uint32_t *n_pairs,
                             vly_error *error);
/* The synapses of a projection whose sources are wanted: [*first, *end). */
void connections_span(const vly_connectome *connectome,
                      const connections_end *source, uint32_t projection,
                      uint64_t *first, uint64_t *end);
/* Rows of a pair that are wanted, without a limit. */
uint64_t connections_count(const vly_connectome *connectome,
                           const connections_pick *pick,
                           const connections_pair *pair);

/* ---- connections_read.c ------------------------------------------------- */

/* net: has the weights of maps that learn; NULL: those of the connectome.
 * Errors  E_NOMEM */
vly_status connections_reader_create(const vly_connectome *connectome,
                                     vly_net *net, connections_reader **reader,
                                     vly_error *error);
void connections_reader_destroy(connections_reader *reader); /* NULL is legal */
/* Goes to the first row of a pair; both must live as long as it is read. */
void connections_reader_begin(connections_reader *reader,
                              const connections_pick *pick,
                              const connections_pair *pair);
/* The next rows of it, at most `most`; rows->n is 0 after the last. The arrays
 * are the reader's.
 * Errors  those of vly_net_weights_read */
vly_status connections_reader_next(connections_reader *reader, uint64_t most,
                                   connections_rows *rows, vly_error *error);

/* ---- connections_save.c ------------------------------------------------- */

/* All rows, as CSV or, by the name of the file, as SONATA edges; "-" is
 * standard output. *n_rows: written.
 * Errors  E_IO, E_NOMEM, E_UNSUPPORTED no HDF5 in this build */
vly_status connections_save(connections_reader *reader,
                            const vly_connectome *connectome,
                            const connections_pick *pick,
                            const connections_pair *pairs, uint32_t n_pairs,
                            const char *path, uint64_t *n_rows,
                            vly_error *error);

#endif
