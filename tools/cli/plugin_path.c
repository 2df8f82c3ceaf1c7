/* SPDX-License-Identifier: Apache-2.0
 * Where a program that holds the library in itself finds the plugins.
 */
#include <volley/host.h>

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/own_file.h"
#include "tools/cli/setup.h"
#include "tools/cli/tool.h"

bool tool_prefix(char *folder, size_t capacity)
{
    if (!vly_own_folder(folder, capacity))
        return false;
    char *slash = strrchr(folder, '/');
    if (!slash || slash == folder)
        return false;
    *slash = '\0';
    return true;
}

static char asked_for[PATH_MAX];

vly_status tool_plugin_first(const char *path, const char **real,
                             vly_error *error)
{
    char *full = realpath(path, NULL);
    int reason = errno;
    if (full && strlen(full) < sizeof asked_for)
        memcpy(asked_for, full, strlen(full) + 1);
    else
        asked_for[0] = '\0';
    free(full);
    if (asked_for[0] == '\0')
        return vly_fail(error, VLY_E_IO, "%s: cannot be read: %s", path,
                        !full ? strerror(reason) : "its path is too long");
    *real = asked_for;
    return VLY_OK;
}

/* libvolley is linked into the command, so "beside libvolley" would be the
 * folder of the command. */
vly_status tool_registry_create(vly_registry **registry, vly_error *error)
{
    static const char *const beside[] = {"/" VLY_TOOL_BIN_TO_LIB, "/../lib",
                                         NULL};
    const vly_plugin_places places = {.struct_size = sizeof places,
                                      .first = asked_for[0] != '\0' ? asked_for
                                                                    : NULL,
                                      .beside = beside};
    return vly_registry_create_from(&places, registry, error);
}
