/* SPDX-License-Identifier: Apache-2.0
 * The model of an area from SONATA's node types: `model = { file = "nodes.h5",
 * node_types_file = "node_types.csv" }`.
 */
#ifndef VOLLEY_GENOME_NODE_MODEL_H
#define VOLLEY_GENOME_NODE_MODEL_H

#include "genome/genome_reader.h"

/* Puts into each such area, in the tree, the model that model_template means
 * (nest:NAME: a [neuron.NAME] of the genome, otherwise the built-in model that
 * is NEST's), and for each parameter that the area does not give the value of
 * the nodes by NEST's name. After the [neuron]s are read, before the areas.
 * Errors  E_PARSE at the genome's place; E_NOMEM; E_UNSUPPORTED no HDF5 */
vly_status vly_node_models_expand(vly_reader *reader);

#endif
