/* SPDX-License-Identifier: Apache-2.0
 * [[map]] and [morphology.NAME]: a map becomes cells, one a pair of areas;
 * cells that can make a synapse become pairs of the genome.
 */
#ifndef VOLLEY_GENOME_GENOME_MAP_H
#define VOLLEY_GENOME_GENOME_MAP_H

#include "genome/genome_end.h"
#include "genome/genome_reader.h"
#include "genome/rule_info.h"

/* Keys that may differ between the pairs of one map. */
typedef enum vly_cell_key {
    VLY_CELL_P,
    VLY_CELL_COUNT,
    VLY_CELL_IN_DEGREE,
    VLY_CELL_OUT_DEGREE,
    VLY_CELL_WEIGHT,
    VLY_CELL_DELAY,
    VLY_CELL_KEYS
} vly_cell_key;

typedef struct vly_map_cell {
    uint32_t from; /* area of the end's first part */
    uint32_t to;
    const vly_end *source;
    const vly_end *target;
    uint32_t row; /* of matrices */
    uint32_t column;
    bool has[VLY_CELL_KEYS];
    vly_origin origin[VLY_CELL_KEYS];
    const vly_toml_node *node[VLY_CELL_KEYS]; /* for messages */
    uint32_t except[VLY_CELL_KEYS]; /* the exception that gave it, from 1 */
    double p;
    uint64_t count; /* fixed_total_number: final, even if p was given */
    uint32_t in_degree;
    uint32_t out_degree;
    vly_value degree; /* a NUMBER: one of those two */
    vly_value weight;
    vly_value delay_ms;
} vly_map_cell;

typedef struct vly_map_entry {
    const vly_toml_node *node;
    const char *id; /* NULL if not given */
    char *label;    /* id or "map:N" */
    vly_rule rule;
    bool linked;       /* link instead of from and to */
    vly_end_list from; /* not linked */
    vly_end_list to;
    vly_map_cell *cells; /* neither linked nor chosen: [to.n][from.n] */
    uint32_t n_cells;
    bool chosen;     /* by `copies`: some of that product, or of the links */
    uint32_t n_rows; /* of matrices */
    uint32_t n_columns;
    bool self;
    bool multiple;
    bool has_port; /* not given: by the sign, or the only one */
    uint32_t port;
    int32_t (*vectors)[3];
    uint32_t n_vectors;
    char *file; /* rule file: its path */
    const char *population;
    char *edge_types;           /* path of SONATA's edge types; NULL: none */
    const vly_edge_list *edges; /* owned by the genome */
    vly_space space;
    vly_origin self_origin;
    vly_origin multiple_origin;
    vly_pattern *patterns;
    uint32_t n_patterns;
    vly_rule mapper; /* composite: rule of its tiles; otherwise the rule */
    vly_tiles tiles;
    vly_origin shape_origin;          /* of vectors, patterns or composite */
    const vly_plasticity *plasticity; /* of the genome; NULL: none */
} vly_map_entry;

/* Checks every morphology, then fills reader->maps and genome->pairs. */
vly_status vly_maps_read(vly_reader *reader);

/* [morphology] and `vectors`, `patterns`, `composite` or `morphology` of a map
 * (genome_morphology.c). A rule "function" becomes the morphology's. */
vly_status vly_morphologies_read(vly_reader *reader);
vly_status vly_map_function(vly_reader *reader, vly_map_entry *map);
vly_status vly_map_shape(vly_reader *reader, vly_map_entry *map);
/* The lists of them (genome_vectors.c). */
vly_status vly_vectors_read(vly_reader *reader, const vly_toml_node *node,
                            vly_map_entry *map);
vly_status vly_patterns_read(vly_reader *reader, const vly_toml_node *node,
                             vly_map_entry *map);
/* Refuses an area of a cell without the voxels that the map's rule needs, and a
 * composite's tile that is larger than its source. */
vly_status vly_shape_check(vly_reader *reader, const vly_map_entry *map,
                           const vly_map_cell *cell);
double vly_shape_synapses(const vly_genome *genome, const vly_map_entry *map,
                          const vly_map_cell *cell);

/* The cells of a map and its exceptions (genome_cell.c). */
vly_status vly_cells_read(vly_reader *reader, vly_map_entry *map);
/* Checks for missing and impossible values of a cell (genome_cell_check.c). */
vly_status vly_cell_finish(vly_reader *reader, vly_map_entry *map,
                           vly_map_cell *cell);
/* The key that gives the number of synapses of a rule, or NULL. */
const char *vly_rule_size_key(vly_rule rule);
vly_cell_key vly_rule_size_cell(vly_rule rule); /* VLY_CELL_KEYS: none */
/* Its pairs, and their synapses added up (genome_pairs.c). */
vly_status vly_pairs_make(vly_reader *reader, const vly_map_entry *map,
                          double *n_synapses);
/* Synapses of a cell at most (bernoulli: expected); 0 if it makes none. */
double vly_cell_synapses(const vly_genome *genome, const vly_map_entry *map,
                         const vly_map_cell *cell);

#endif
