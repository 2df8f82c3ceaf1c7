/* SPDX-License-Identifier: Apache-2.0
 * The list that the readers of spike_file.c fill.
 */
#ifndef VOLLEY_GENOME_SPIKE_LIST_H
#define VOLLEY_GENOME_SPIKE_LIST_H

#include "genome/spike_file.h"

#define VLY_SPIKE_SENTENCE 200

/* name: of the file, for messages */
vly_status vly_spike_list_add(vly_spike_list *list, const vly_file_spike *spike,
                              const char *name, vly_error *error);
/* By weight, burst, neuron. */
void vly_spike_list_sort(vly_spike_list *list);

/* The burst of a time; counts times that are rounded. False: the sentence says
 * what is wrong with the time. */
bool vly_spike_burst(const vly_spike_file_spec *spec, double ms,
                     vly_spike_list *list, uint64_t *burst,
                     char sentence[VLY_SPIKE_SENTENCE]);
/* False: the sentence says what is wrong. */
bool vly_spike_weight_fits(double weight, char sentence[VLY_SPIKE_SENTENCE]);

#endif
