/* SPDX-License-Identifier: Apache-2.0
 * Which area of a FEAGI genome with flat keys maps to which, and what can be
 * reached over such mappings: read again from the JSON, by another reader than
 * the import's and without any of its code.
 */
#ifndef VOLLEY_FEAGI_GRAPH_H
#define VOLLEY_FEAGI_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

enum { FEAGI_GRAPH_AREAS = 64, FEAGI_GRAPH_ID = 16 };

typedef struct feagi_graph {
    char areas[FEAGI_GRAPH_AREAS][FEAGI_GRAPH_ID];
    uint32_t n_areas;
    bool maps[FEAGI_GRAPH_AREAS][FEAGI_GRAPH_AREAS]; /* [from][to] */
} feagi_graph;

/* 0, or -1: a sentence is on stderr. */
int feagi_graph_read(const char *path, feagi_graph *graph);
/* Index of an area; n_areas: none. */
uint32_t feagi_graph_area(const feagi_graph *graph, const char *id);
/* Sets reached of from and of all that its mappings lead to. */
void feagi_graph_reach(const feagi_graph *graph, uint32_t from, bool *reached);

#endif
