/* SPDX-License-Identifier: Apache-2.0
 * Reading the records of a file, shared by the two files that do it.
 */
#ifndef VOLLEY_CONNECTOME_RECORD_READER_H
#define VOLLEY_CONNECTOME_RECORD_READER_H

#include "connectome/connectome_file.h"

typedef struct vly_record_reader {
    const vly_file_view *file;
    vly_connectome *connectome;
    vly_storage *storage;
    vly_connectome_area *areas;
    vly_area_desc *area_descs;
    vly_connectome_projection *projections;
    vly_projection_desc *projection_descs;
    vly_connectome_stimulus *stimuli;
    vly_stimulus_desc *stimulus_descs;
    uint32_t n_columns; /* seen so far */
    uint32_t n_drawn;
} vly_record_reader;

/* A text by its place in its section; NULL if that is outside. */
const char *vly_record_text(const vly_record_reader *reader, uint32_t at);
/* record_areas.c: areas and their columns. Errors E_PARSE, E_NOMEM */
vly_status vly_record_areas(vly_record_reader *reader);
/* record_learning.c: how projections learn; after the projections. Errors
 * E_PARSE, E_NOMEM */
vly_status vly_record_learnings(vly_record_reader *reader);
/* record_weights.c: projections whose weights are all one no longer have them;
 * after those that learn. */
void vly_record_weights(vly_record_reader *reader);
/* record_learning.c: gets the arrays of a record; checks its rule, their sizes
 * and the ranges of its parameters. Returns the part that is wrong, or NULL.
 * coefs, params  valid only with NULL */
const char *vly_record_rule(const vly_record_reader *reader,
                            const vly_file_learning *record,
                            const vly_plasticity_info *info,
                            const uint32_t **coefs, const double **params);
/* record_short_term.c: that of projection p. Errors E_PARSE, E_NOMEM */
vly_status vly_record_short_term(vly_record_reader *reader,
                                 const vly_file_learning *record, uint32_t p);

#endif
