/* SPDX-License-Identifier: Apache-2.0
 * Search for plugins, in this order: the entries of VOLLEY_PLUGIN_PATH (not in
 * a process with other rights than its caller), volley/plugins beside
 * libvolley, the installed folder. Never the working folder: a relative entry
 * is refused. A folder or file that others could have changed (plugin_trust.h)
 * is refused with the reason.
 */
#ifndef VOLLEY_PLUGIN_PLUGIN_SEARCH_H
#define VOLLEY_PLUGIN_PLUGIN_SEARCH_H

#include <volley/plugin.h>

#define VLY_PLUGIN_PATH_VARIABLE "VOLLEY_PLUGIN_PATH"

/* One file to try, or (reason not NULL) a folder or file that is not used, with
 * status and reason. Anything but VLY_OK ends the search. */
typedef vly_status (*vly_plugin_found_fn)(void *arg, const char *path,
                                          vly_status status,
                                          const char *reason);

/* Calls found for every *.so of a folder in ascending order of the names' bytes
 * and for every file named in the variable. The same file may occur twice.
 * beside, terminated by NULL: paths such as "/../lib" from the folder of this
 * code to that of libvolley; the first one with plugins is used. NULL: the
 * folder of this code.
 * Errors   VLY_E_NOMEM; those of found Thread [main-thread] getenv
 */
vly_status vly_plugin_search(const char *const *beside,
                             vly_plugin_found_fn found, void *arg,
                             vly_error *error);

#endif
