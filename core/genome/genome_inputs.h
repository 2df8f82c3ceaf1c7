/* SPDX-License-Identifier: Apache-2.0
 * The files that a genome was read from: itself, what [use] includes, synapses,
 * columns of values.
 */
#ifndef VOLLEY_GENOME_GENOME_INPUTS_H
#define VOLLEY_GENOME_GENOME_INPUTS_H

#include <sys/stat.h>

#include "genome/genome.h"

/* A file that was opened, by fstat. Errors  E_NOMEM. Thread  [any-thread] */
vly_status vly_genome_add_input(vly_genome *genome, const char *path,
                                const struct stat *file, vly_error *error);
/* The path by which the genome was read from this file; NULL: it was not.
 * [any-thread] */
const char *vly_genome_find_input(const vly_genome *genome,
                                  const struct stat *file);
void vly_genome_free_inputs(vly_genome *genome);

#endif
