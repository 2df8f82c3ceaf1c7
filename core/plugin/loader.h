/* SPDX-License-Identifier: Apache-2.0
 * Loads a plugin from a file and finds its entry. Messages do not repeat the
 * path.
 */
#ifndef VOLLEY_PLUGIN_LOADER_H
#define VOLLEY_PLUGIN_LOADER_H

#include <stdbool.h>
#include <sys/stat.h>

#include <volley/plugin.h>

#include "base/random.h"

/* An open file; none of its code runs. All 0: no file. */
typedef struct vly_plugin_file {
    struct stat about;
    vly_hash hash;
    int descriptor;
    bool is_open; /* until its hash is known */
    bool is_hashed;
} vly_plugin_file;

/* Opens the file and checks that it is a shared object for this machine.
 * Errors   VLY_E_IO, VLY_E_ABI; file untouched    Thread [any-thread]
 */
vly_status vly_plugin_file_open(const char *path, vly_plugin_file *file,
                                vly_error *error);
/* Of the bytes of the file that was opened, even if its path is another one's
 * by now. Plugins with code for several GPUs are 40 MB, which take 15 ms, and
 * few callers need the hash, so it is made when asked for.
 * Errors   VLY_E_IO  it was overwritten meanwhile; told once. Then, and of
 *                    none, hash untouched
 * Thread   one at a time */
vly_status vly_plugin_file_hash(vly_plugin_file *file, vly_hash *hash,
                                vly_error *error);
/* Of none is legal. */
void vly_plugin_file_close(vly_plugin_file *file);

/* Loads it and finds the entry. path is absolute. The shared object is never
 * unloaded, whatever happens (see loader.c).
 * Errors   VLY_E_ABI      Thread [main-thread] constructors of the file run
 */
vly_status vly_plugin_file_load(const char *path, const void **entry,
                                vly_error *error);

#endif
