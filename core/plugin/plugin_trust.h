/* SPDX-License-Identifier: Apache-2.0
 * Whether other users could have placed a plugin, or a folder of plugins, where
 * the search finds it. A plugin is code in this process.
 *
 * Trusted owners are root, the user of this process, and the owner of the file
 * that this code comes from: that owner could change the program itself, and a
 * shared installation must work for all users. The mode must not allow others
 * to write; a folder with the sticky bit is allowed, since others cannot
 * replace a file in it and their own files have a foreign owner. Members of a
 * file's group are trusted like its owner: with umask 002 and a group for each
 * user (Debian's default) all built files are writable by the group.
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

/* A file or a folder. what: prefix of the message, "" or "its folder ".
 * Errors   VLY_E_INVALID its owner, or who may write there, and what was wanted
 * Thread   [any-thread]
 */
vly_status vly_plugin_trust_check(const vly_plugin_trust *trust,
                                  const struct stat *about, const char *what,
                                  vly_error *error);

#endif
