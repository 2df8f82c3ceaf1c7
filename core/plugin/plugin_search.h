/* SPDX-License-Identifier: Apache-2.0
 * Where plugins are looked for, in order: the entries of VOLLEY_PLUGIN_PATH
 * (not in a process with other rights than those of who started it),
 * volley/plugins beside libvolley, the installed folder. Never the working
 * folder: a relative entry is refused. A folder or file that others could have
 * changed (plugin_trust.h) is refused with the reason.
 */
#ifndef VOLLEY_PLUGIN_PLUGIN_SEARCH_H
#define VOLLEY_PLUGIN_PLUGIN_SEARCH_H

#include <volley/plugin.h>

#define VLY_PLUGIN_PATH_VARIABLE "VOLLEY_PLUGIN_PATH"

/* One file to try, or (reason not NULL) a folder or file that is not used:
 * status and reason say why. Anything but VLY_OK ends the search. */
typedef vly_status (*vly_plugin_found_fn)(void *arg, const char *path,
                                          vly_status status,
                                          const char *reason);

/* Calls found for every *.so of a folder in ascending order of the names' bytes
 * and for every file named in the variable. The same file may come twice.
 * beside, with NULL at the end: as in "/../lib", from the folder of this code
 * to that of libvolley; the first one with plugins counts. NULL: it is that.
 * Errors   VLY_E_NOMEM; what found returned    Thread [main-thread] getenv
 */
vly_status vly_plugin_search(const char *const *beside,
                             vly_plugin_found_fn found, void *arg,
                             vly_error *error);

#endif
