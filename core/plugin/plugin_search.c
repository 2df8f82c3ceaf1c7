/* SPDX-License-Identifier: Apache-2.0
 * Where plugins are looked for.
 */
#include "plugin/plugin_search.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/memory.h"
#include "plugin/own_file.h"
#include "volley_build.h"

typedef struct name_list {
    char **names;
    size_t count;
    size_t capacity;
} name_list;

static void names_deinit(name_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        vly_free(list->names[i]);
    vly_free(list->names);
}

static vly_status names_add(name_list *list, const char *name, vly_error *error)
{
    if (list->count == list->capacity) {
        size_t capacity = list->capacity ? list->capacity * 2 : 16;
        char **names =
            vly_realloc(list->names, capacity, sizeof(list->names[0]));
        if (!names)
            return vly_fail_nomem(error, capacity * sizeof(list->names[0]),
                                  "list of plugins");
        list->names = names;
        list->capacity = capacity;
    }
    char *copy = vly_strdup(name);
    if (!copy)
        return vly_fail_nomem(error, strlen(name) + 1, "list of plugins");
    list->names[list->count++] = copy;
    return VLY_OK;
}

static int names_compare(const void *a, const void *b)
{
    const char *const *left = a;
    const char *const *right = b;
    return strcmp(*left, *right);
}

static bool is_plugin_name(const char *name)
{
    size_t length = strlen(name);
    return name[0] != '.' && length > 3 &&
           strcmp(name + length - 3, ".so") == 0;
}

static vly_status folder_list(DIR *folder, name_list *list, vly_error *error)
{
    const struct dirent *item;
    while ((item = readdir(folder)) != NULL) {
        if (!is_plugin_name(item->d_name))
            continue;
        vly_status status = names_add(list, item->d_name, error);
        if (status != VLY_OK)
            return status;
    }
    /* readdir promises no order, and the first of two equal ids wins */
    if (list->count > 1)
        qsort(list->names, list->count, sizeof(list->names[0]), names_compare);
    return VLY_OK;
}

static vly_status folder_search(const char *path, vly_plugin_found_fn found,
                                void *arg, vly_error *error)
{
    name_list list = {.names = NULL};
    vly_status status = VLY_OK;
    char *file = NULL;
    DIR *folder = opendir(path);
    if (!folder) /* the folders beside libvolley and installed need not exist */
        return VLY_OK;
    VLY_TRY(folder_list(folder, &list, error));
    for (size_t i = 0; i < list.count; i++) {
        file = vly_format("%s/%s", path, list.names[i]);
        if (!file) {
            status = vly_fail_nomem(error, strlen(path), "list of plugins");
            goto out;
        }
        VLY_TRY(found(arg, file, VLY_OK, NULL));
        vly_free(file);
        file = NULL;
    }
out:
    vly_free(file);
    names_deinit(&list);
    closedir(folder);
    return status;
}

static vly_status entry_search(const char *path, vly_plugin_found_fn found,
                               void *arg, vly_error *error)
{
    struct stat about;
    if (path[0] != '/')
        return found(arg, path, VLY_E_INVALID,
                     VLY_PLUGIN_PATH_VARIABLE
                     ": the path is relative, wanted one that starts with /: "
                     "plugins never come from the working folder");
    if (stat(path, &about) != 0) {
        char reason[200];
        int code = errno;
        snprintf(reason, sizeof(reason), VLY_PLUGIN_PATH_VARIABLE ": %s",
                 strerror(code));
        return found(arg, path, VLY_E_IO, reason);
    }
    if (S_ISDIR(about.st_mode))
        return folder_search(path, found, arg, error);
    return found(arg, path, VLY_OK, NULL);
}

/* Entries are separated by colons; empty ones (a colon too many) mean nothing,
 * unlike in PATH, where they are the working folder. */
static vly_status variable_search(vly_plugin_found_fn found, void *arg,
                                  vly_error *error)
{
    vly_status status = VLY_OK;
    const char *text = getenv(VLY_PLUGIN_PATH_VARIABLE);
    if (!text || !*text)
        return VLY_OK;
    char *copy = vly_strdup(text); /* a plugin may call setenv */
    if (!copy)
        return vly_fail_nomem(error, strlen(text) + 1, "list of plugins");
    char *at = copy;
    while (at) {
        char *next = strchr(at, ':');
        if (next)
            *next++ = 0;
        if (*at)
            VLY_TRY(entry_search(at, found, arg, error));
        at = next;
    }
out:
    vly_free(copy);
    return status;
}

vly_status vly_plugin_search(vly_plugin_found_fn found, void *arg,
                             vly_error *error)
{
    char beside[PATH_MAX];
    const size_t length = sizeof("/" VLY_BUILD_PLUGIN_SUBDIR);
    vly_status status = variable_search(found, arg, error);
    if (status == VLY_OK && vly_own_folder(beside, sizeof(beside) - length)) {
        memcpy(beside + strlen(beside), "/" VLY_BUILD_PLUGIN_SUBDIR, length);
        status = folder_search(beside, found, arg, error);
    }
    if (status == VLY_OK)
        status = folder_search(VLY_BUILD_PLUGIN_DIR, found, arg, error);
    return status;
}
