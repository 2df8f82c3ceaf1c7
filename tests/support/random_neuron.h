/* SPDX-License-Identifier: Apache-2.0
 * Random neuron models of users.
 */
#ifndef VOLLEY_RANDOM_NEURON_H
#define VOLLEY_RANDOM_NEURON_H

#include <stdbool.h>
#include <stdint.h>

/* A genome with n models [neuron.mK], an area of each, stimuli onto all ports
 * and maps between the areas; a function of the seed. The first model has three
 * or four ports; a built-in one stands beside them. spread: what several
 * devices run, models of one port, 500 neurons or more, maps that do not learn.
 * Owned by the caller. */
char *random_neuron_genome(uint64_t seed, uint32_t n, bool spread);

#endif
