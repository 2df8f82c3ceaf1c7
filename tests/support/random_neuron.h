/* SPDX-License-Identifier: Apache-2.0
 * Random neuron models of users.
 */
#ifndef VOLLEY_RANDOM_NEURON_H
#define VOLLEY_RANDOM_NEURON_H

#include <stdint.h>

/* A genome with n models [neuron.mK], an area of each, stimuli onto all ports
 * and maps between the areas; a function of the seed. most_ports: 2 for
 * backends that run no model with more, otherwise 4. Owned by the caller. */
char *random_neuron_genome(uint64_t seed, uint32_t n, uint32_t most_ports);

#endif
