/* SPDX-License-Identifier: Apache-2.0
 * A user's rule of plasticity ([synapse.NAME]): from texts to the words that a
 * backend runs (kernels/rules/rule_program.h). docs/models.md has the language.
 */
#ifndef VOLLEY_NEURON_SYNAPSE_MODEL_H
#define VOLLEY_NEURON_SYNAPSE_MODEL_H

#include "neuron/neuron_model.h"

#define VLY_SYNAPSE_PARAMS_MAX 32u
#define VLY_SYNAPSE_TRACES_MAX 2u /* of the source, and of the target */

typedef struct vly_synapse_source {
    size_t (*scan)(const char *text, double *number); /* vly_neuron_source */
    const char *name;
    const void *place;
    const vly_neuron_name *params;
    /* traces of the source and of the target: their value is the parameter that
     * is their time constant */
    const vly_neuron_name *traces[2];
    uint32_t n_params;
    uint32_t n_traces[2];
    vly_neuron_text on_pre;
    vly_neuron_text on_post;
    bool (*note)(void *context, const void *place, const char *sentence);
    void *context;
} vly_synapse_source;

typedef struct vly_synapse_model vly_synapse_model;

/* E_PARSE: *fault says why; E_NOMEM. */
vly_status vly_synapse_compile(const vly_synapse_source *source,
                               vly_synapse_model **model,
                               vly_neuron_fault *fault);
void vly_synapse_destroy(vly_synapse_model *model);

/* Borrowed, until destroy. The key of a parameter in the unit of the weights is
 * its name, and its unit "weight". */
const vly_neuron_param *vly_synapse_params(const vly_synapse_model *model,
                                           uint32_t *n);
/* Traces of the source (side 0) or the target (1), and the parameter of one. */
uint32_t vly_synapse_n_traces(const vly_synapse_model *model, uint32_t side);
uint32_t vly_synapse_trace(const vly_synapse_model *model, uint32_t side,
                           uint32_t index);
uint32_t vly_synapse_n_words(const vly_synapse_model *model);
/* Of the words that do not depend on parameters. */
uint64_t vly_synapse_hash(const vly_synapse_model *model);
/* words [n_words]: params in their units, the bound w_max and the unit of the
 * stored weights in the unit of the map's weights, most: the bound in 2^-16 of
 * that */
void vly_synapse_words(const vly_synapse_model *model, const double *params,
                       double w_max, double unit, double dt_ms, uint32_t most,
                       uint32_t *words);
/* Whether a constant of those words is not the one that the expressions have:
 * it is below 2^-40 but not 0, or above 2^40. */
bool vly_synapse_loses(const vly_synapse_model *model, const double *params,
                       double w_max, double unit, double dt_ms);
/* The condition that the parameters violate; NULL: they fit. */
const char *vly_synapse_unfit(const vly_synapse_model *model,
                              const double *params, double w_max, double dt_ms);

#endif
