/* SPDX-License-Identifier: Apache-2.0
 * SONATA edges for tests, right and wrong ones.
 */
#ifndef VOLLEY_TEST_SONATA_WRITER_H
#define VOLLEY_TEST_SONATA_WRITER_H

#include <stddef.h>
#include <stdint.h>

typedef struct sonata_edges {
    const char *population;
    const int64_t *source;
    const int64_t *target;
    const int64_t *order;  /* edge_group_index; NULL: none */
    const double *weight;  /* stored as float; NULL: none */
    const double *delay;   /* NULL: none */
    const int64_t *nsyns;  /* NULL: none */
    const int64_t *types;  /* edge_type_id; NULL: none */
    const int64_t *groups; /* edge_group_id; NULL: none */
    const char *group;     /* its number; NULL: 0 */
    int more; /* sec_x and dynamics_params in the group, notes beside it */
    size_t n;
    size_t n_source; /* entries of source_node_id */
    int second;      /* a second edge group and population, empty */
} sonata_edges;

/* 1 if the file was made. */
int sonata_write(const char *path, const sonata_edges *edges);

#endif
