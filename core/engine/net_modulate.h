/* SPDX-License-Identifier: Apache-2.0
 * Modulators of plasticity rules (net_modulate.c).
 */
#ifndef VOLLEY_ENGINE_NET_MODULATE_H
#define VOLLEY_ENGINE_NET_MODULATE_H

#include "engine/engine.h"

/* The key of vly_net_set that adds to a modulator in the next burst. */
#define VLY_MODULATE_KEY "reward"

/* Whether the projection learns by a rule with a modulator. */
bool vly_projection_modulated(const vly_connectome *connectome, uint32_t p);
/* vly_net_modulate; log: fail-over keeps the value by itself. */
vly_status vly_net_modulate_now(vly_net *net, uint64_t burst,
                                const char *plasticity, double value, bool log,
                                vly_error *error);
/* Moves the values for modulators from n inputs to their own list [n], in
 * order; their number. */
uint64_t vly_modulations_apart(uint32_t n_neurons, vly_input *inputs,
                               uint64_t n, vly_input *modulations);

#endif
