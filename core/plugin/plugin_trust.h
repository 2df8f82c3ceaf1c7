/* SPDX-License-Identifier: Apache-2.0
 * Whether others could have put a plugin, or a folder of plugins, where the
 * search finds it. A plugin is code in this process.
 *
 * Trusted owners are root, the user of this process, and the owner of the file
 * that this code comes from: that one could change the program itself, so that
 * a shared installation works for everybody. Nobody else may write there by the
 * mode; a folder with the sticky bit is fine, since in it others cannot replace
 * a file and their own files have a foreign owner. Members of a file's group
 * are trusted as its owner is: with umask 002 and a group for each user
 * (Debian's default) whatever is built is writable by the group.
 */
#ifndef VOLLEY_PLUGIN_PLUGIN_TRUST_H
#define VOLLEY_PLUGIN_PLUGIN_TRUST_H

#include <stdbool.h>
#include <sys/stat.h>

#include <volley/plugin.h>

typedef struct vly_plugin_trust {
    uid_t user; /* of this process */
    uid_t own;  /* owner of the program, or libvolley, itself */
} vly_plugin_trust;

/* Of this process. [any-thread] */
vly_plugin_trust vly_plugin_trust_of_process(void);

/* A file or a folder. what stands before the sentence: "", or "its folder ".
 * Errors   VLY_E_INVALID  who owns it or may write there, and what was wanted
 * Thread   [any-thread]
 */
vly_status vly_plugin_trust_check(const vly_plugin_trust *trust,
                                  const struct stat *about, const char *what,
                                  vly_error *error);

#endif
