/* SPDX-License-Identifier: Apache-2.0
 * The ends of maps, stimuli and records: areas, parts of areas, pools.
 */
#ifndef VOLLEY_GENOME_GENOME_END_H
#define VOLLEY_GENOME_GENOME_END_H

#include "genome/genome_reader.h"

typedef struct vly_end_list {
    vly_end *ends; /* the reader's memory, their names too */
    uint32_t n;
} vly_end_list;

/* Ends named by a string or a list of strings: "E", "E[0:100]", a glob, and,
 * where pools may be, sums of those. A name or a glob that means several areas
 * gives an end for each; a sum gives one. */
vly_status vly_reader_ends(vly_reader *reader, const vly_toml_node *node,
                           const char *what, bool pools, vly_end_list *list);
/* The same for a text that begins at character `at` of the node's. */
vly_status vly_reader_ends_in(vly_reader *reader, const vly_toml_node *node,
                              const char *what, const char *text, uint32_t at,
                              vly_end_list *list);

/* Whether the end is all neurons of one area. */
bool vly_end_whole(const vly_genome *genome, const vly_end *end);
/* Whether `name` of an exception means the end: the same end, or an area to
 * which all of it belongs. */
bool vly_end_named(const vly_genome *genome, const vly_end *name,
                   const vly_end *end);
/* Where part `part` begins among the neurons of its end. */
uint32_t vly_end_place(const vly_end *end, uint32_t part);
/* Neurons that are in both. */
uint64_t vly_ends_shared(const vly_end *a, const vly_end *b);

/* Pools of a genome and the pairs that they make. The pool of a cell, copied
 * and owned by the genome; stream is taken over.
 * Errors  E_NOMEM */
vly_status vly_pool_keep(vly_reader *reader, const vly_end *from,
                         const vly_end *to, char *stream,
                         const vly_pool **pool);
void vly_pools_free(vly_genome *genome);

/* Neurons at the ends of a pair, of its pool if it has one. */
uint32_t vly_pair_sources(const vly_genome *genome, const vly_pair *pair);
uint32_t vly_pair_targets(const vly_genome *genome, const vly_pair *pair);
/* Neurons that both ends of a pair have. */
uint64_t vly_pair_shared(const vly_genome *genome, const vly_pair *pair);
/* The share of the synapses of its pool that a pair is expected to get; 1
 * without a pool. */
double vly_pair_share(const vly_pair *pair);

/* The name of one end of a pair, as "E" or "E[0:100]". */
void vly_pair_end_text(const vly_genome *genome, const vly_pair *pair,
                       bool source, char *text, size_t n);

#endif
