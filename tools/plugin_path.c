/* SPDX-License-Identifier: Apache-2.0
 * Where a program that holds the library in itself finds the plugins.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "plugin/own_file.h"
#include "plugin/plugin_search.h"
#include "setup.h"
#include "tool.h"
#include "volley_build.h"

bool tool_prefix(char *folder, size_t capacity)
{
    if (!vly_own_folder(folder, capacity))
        return false;
    char *slash = strrchr(folder, '/');
    if (slash == NULL || slash == folder)
        return false;
    *slash = '\0';
    return true;
}

/* The command holds libvolley in itself, so "beside libvolley" would be its own
 * folder. What beside means is put behind the user's entries of
 * VOLLEY_PLUGIN_PATH, so that it comes before an installed, maybe older, one.
 */
vly_status tool_registry_create(vly_registry **registry, vly_error *error)
{
    static const char *const beside[] = {VLY_TOOL_BIN_TO_LIB, "../lib"};
    char folder[PATH_MAX];
    const char *given = getenv(VLY_PLUGIN_PATH_VARIABLE);
    bool known = vly_own_folder(folder, sizeof folder);
    for (int i = 0; known && i < 2; i++) {
        char *path =
            vly_format("%s/%s/%s", folder, beside[i], VLY_BUILD_PLUGIN_SUBDIR);
        if (path == NULL)
            return vly_fail_nomem(error, sizeof folder, "the search path");
        char *real = realpath(path, NULL);
        vly_free(path);
        if (real == NULL)
            continue;
        known = false; /* the first one that is there */
        char *list = given != NULL && given[0] != '\0'
                         ? vly_format("%s:%s", given, real)
                         : vly_strdup(real);
        free(real);
        if (list == NULL)
            return vly_fail_nomem(error, sizeof folder, "the search path");
        setenv(VLY_PLUGIN_PATH_VARIABLE, list, 1);
        vly_free(list);
    }
    return vly_registry_create(registry, error);
}
