/* SPDX-License-Identifier: Apache-2.0
 * A value of each node of a SONATA population.
 */
#ifndef VOLLEY_GENOME_NODE_VALUES_H
#define VOLLEY_GENOME_NODE_VALUES_H

#include "genome/genome_value.h"

/* Values of the table `node`, whose `file` is the HDF5 file at path: of each
 * node the one of its node group in the file, otherwise that of its type
 * (`node_types_file`), otherwise that of the type's dynamics_params. Neuron i
 * is the node with node_id i, without ids the i-th. *values by vly_malloc.
 * Errors  E_PARSE at the genome's place; E_NOMEM; E_UNSUPPORTED no HDF5 */
vly_status vly_values_from_nodes(vly_reader *reader, const vly_toml_node *node,
                                 const vly_value_spec *spec, const char *path,
                                 const char *column, double **values,
                                 uint32_t *n);
/* The text of the file of dynamics_params `params`, by vly_malloc; *name is its
 * path for messages, which lives as long as the reader. */
vly_status vly_node_params_text(vly_reader *reader,
                                const vly_toml_node *types_file,
                                const vly_toml_node *params_dir,
                                const char *params, char **name, char **text,
                                size_t *n);
/* Refuses keys that only such a file has.
 * Errors  E_PARSE */
vly_status vly_values_no_nodes(vly_reader *reader, const vly_toml_node *node);

#endif
