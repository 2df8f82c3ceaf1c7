/* SPDX-License-Identifier: Apache-2.0
 * What a backend makes of a network.
 */
#ifndef VOLLEY_TOOLS_INSPECT_NET_H
#define VOLLEY_TOOLS_INSPECT_NET_H

#include <stdbool.h>

#include <volley/volley.h>

#include "tools/cli/setup.h"

typedef struct inspect_target {
    const char *backend; /* "cuda:1" */
    uint32_t n_threads;
    const tool_overrides *overrides; /* of a genome */
    vly_registry *registry;
} inspect_target;

/* Finds the plugins, and fails before the network is compiled if the backend
 * cannot be used. The registry is closed by inspect_target_deinit, which is
 * legal after a failure.
 * Errors  E_INVALID, E_UNSUPPORTED, E_DEVICE: the device does not exist or
 * cannot be used, with the reason */
vly_status inspect_target_init(inspect_target *target, vly_error *error);
void inspect_target_deinit(inspect_target *target);

/* Make the net and print plan, bytes and device to stdout.
 * Errors  as genome, connectome and net */
vly_status inspect_genome_net(const char *path, const inspect_target *target,
                              vly_error *error);
vly_status inspect_connectome_net(const char *path, bool verify,
                                  const inspect_target *target,
                                  vly_error *error);

#endif
