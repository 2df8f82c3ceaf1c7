/* SPDX-License-Identifier: Apache-2.0
 * Loads a plugin from a file and finds its entry. Messages do not repeat the
 * path.
 */
#ifndef VOLLEY_PLUGIN_LOADER_H
#define VOLLEY_PLUGIN_LOADER_H

#include <volley/plugin.h>

#include "base/random.h"

/* Reads the file without running any of its code: hash of its bytes, and a
 * check that it is a shared object for this machine.
 * Errors   VLY_E_IO, VLY_E_ABI; hash untouched    Thread [any-thread]
 */
vly_status vly_plugin_file_read(const char *path, vly_hash *hash,
                                vly_error *error);
/* Loads it and finds the entry. path is absolute. The shared object is never
 * unloaded, whatever happens (see loader.c).
 * Errors   VLY_E_ABI      Thread [main-thread] constructors of the file run
 */
vly_status vly_plugin_file_load(const char *path, const void **entry,
                                vly_error *error);

#endif
