/* SPDX-License-Identifier: Apache-2.0
 * One function a kind of file. Each prints to stdout.
 */
#ifndef VOLLEY_TOOLS_INSPECT_FILE_H
#define VOLLEY_TOOLS_INSPECT_FILE_H

#include <stdbool.h>

#include <volley/plugin.h>

#include "tools/cli/setup.h"

vly_status inspect_genome(const char *path, const tool_overrides *overrides,
                          vly_error *error);
vly_status inspect_connectome(const char *path, bool verify, vly_error *error);
vly_status inspect_checkpoint(const char *path, vly_error *error);
/* Loads the plugin, which runs its code: only if the user requested that. */
vly_status inspect_plugin(const char *path, vly_error *error);
vly_status inspect_digest_log(const char *path, vly_error *error);
vly_status inspect_spikes(const char *path, vly_error *error);
vly_status inspect_sonata(const char *path, vly_error *error);
vly_status inspect_json(const char *path, vly_error *error);

#endif
