/* SPDX-License-Identifier: Apache-2.0
 * Genomes built in C, without a file: what the connectome's tests start from.
 * Everything lies inside one struct, so nothing has to be freed.
 */
#ifndef VOLLEY_TEST_CONNECTOME_BUILDER_H
#define VOLLEY_TEST_CONNECTOME_BUILDER_H

#include "connectome/connectome.h"

#define BUILDER_AREAS 8
#define BUILDER_PAIRS 16
#define BUILDER_STIMULI 8

typedef struct builder {
    vly_genome genome;
    vly_area areas[BUILDER_AREAS];
    vly_pair pairs[BUILDER_PAIRS];
    vly_stimulus stimuli[BUILDER_STIMULI];
    vly_value params[BUILDER_AREAS][32];
    vly_value fields[BUILDER_AREAS][8];
    char names[BUILDER_AREAS + BUILDER_PAIRS + BUILDER_STIMULI][3][40];
} builder;

void builder_init(builder *b);
/* n neurons of a model; returns the area's index */
uint32_t builder_area(builder *b, const char *name, const char *model,
                      uint32_t n);
uint32_t builder_voxels(builder *b, const char *name, const char *model,
                        uint32_t x, uint32_t y, uint32_t z, uint32_t per_voxel);
/* weight 1, delay 1 ms, self and multiple allowed; change what is returned */
vly_pair *builder_pair(builder *b, const char *map, uint32_t from, uint32_t to,
                       vly_rule rule);
vly_stimulus *builder_stimulus(builder *b, const char *id, uint32_t to,
                               vly_stimulus_kind kind);
vly_value *builder_param(builder *b, uint32_t area, const char *name);
vly_value *builder_field(builder *b, uint32_t area, const char *name);

vly_value value_number(double a);
vly_value value_normal(double mean, double sd);
vly_value value_lognormal(double mean, double sd); /* of the logarithm */
vly_value value_uniform(double lo, double hi);
vly_value value_clip(vly_value value, double lo, double hi);

/* A small genome with every rule, model, stimulus and kind of value. */
void builder_everything(builder *b);

/* Upper limit of chi-square with n degrees of freedom at 1e-4 (Wilson and
 * Hilferty 1931, doi:10.1073/pnas.17.12.684). */
double chi2_limit(double n);

#endif
