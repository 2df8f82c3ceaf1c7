/* SPDX-License-Identifier: Apache-2.0
 * A rule of a user while it is made. Internal to core/neuron.
 */
#ifndef VOLLEY_NEURON_SYNAPSE_BUILD_H
#define VOLLEY_NEURON_SYNAPSE_BUILD_H

#include "kernels/rules/rule_program.h"
#include "neuron/neuron_build.h"
#include "neuron/synapse_model.h"

/* Fields of a program: the weight, traces of the source, of the target. */
#define FIELD_OF(side, index) (1 + 2 * (side) + (index))

struct vly_synapse_model {
    vly_neuron_model build; /* names, parameters, operations, coefficients */
    const vly_synapse_source *from;
    uint32_t n_traces[2];
    uint32_t tau[2][VLY_SYNAPSE_TRACES_MAX]; /* parameters */
    uint32_t n_words;
    uint32_t ops[2][4 * VLY_RULE_PROGRAM_OPS]; /* on_pre, on_post */
    uint32_t n_ops[2];
    uint64_t hash;
};

/* synapse_names.c: parameters, w and w_max, traces; false after a fault, or
 * without memory. */
bool vly_synapse_names(vly_synapse_model *model);

#endif
