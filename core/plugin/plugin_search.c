/* SPDX-License-Identifier: Apache-2.0
 * Search for plugins.
 */
#define _GNU_SOURCE /* secure_getenv */
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
#include "base/own_file.h"
#include "plugin/plugin_trust.h"
#include "volley_build.h"

/* One search: the callback, and the trusted owners of files. */
typedef struct search {
    vly_plugin_found_fn found;
    void *arg;
    vly_plugin_trust trust;
    vly_error *error;
} search;

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
    vly_status status = VLY_OK;
    const struct dirent *item;
    while ((item = readdir(folder))) {
        if (!is_plugin_name(item->d_name))
            continue;
        VLY_TRY(names_add(list, item->d_name, error));
    }
    /* readdir has no defined order, and the first of two equal ids is used */
    if (list->count > 1)
        qsort(list->names, list->count, sizeof(list->names[0]), names_compare);
out:
    return status;
}

/* If a file does not exist, the loader reports it. */
static vly_status file_found(const search *s, const char *path)
{
    struct stat about;
    vly_error why = VLY_ERROR_INIT;
    if (stat(path, &about) == 0)
        vly_plugin_trust_check(&s->trust, &about, "", &why);
    return s->found(s->arg, path, why.status,
                    why.status != VLY_OK ? why.message : NULL);
}

static vly_status folder_search(const search *s, const char *path)
{
    name_list list = {.names = NULL};
    vly_status status = VLY_OK;
    vly_error why = VLY_ERROR_INIT;
    struct stat about;
    char *file = NULL;
    DIR *folder = opendir(path);
    if (!folder) /* the folders beside libvolley and installed need not exist */
        return VLY_OK;
    if (fstat(dirfd(folder), &about) == 0 &&
        vly_plugin_trust_check(&s->trust, &about, "", &why) != VLY_OK) {
        status = s->found(s->arg, path, why.status, why.message);
        goto out;
    }
    VLY_TRY(folder_list(folder, &list, s->error));
    for (size_t i = 0; i < list.count; i++) {
        file = vly_format("%s/%s", path, list.names[i]);
        if (!file) {
            status = vly_fail_nomem(s->error, strlen(path), "list of plugins");
            goto out;
        }
        VLY_TRY(file_found(s, file));
        vly_free(file);
        file = NULL;
    }
out:
    vly_free(file);
    names_deinit(&list);
    closedir(folder);
    return status;
}

/* A file named by the variable: a user who may write into its folder could
 * replace it. */
static vly_status named_file(const search *s, const char *path)
{
    char folder[PATH_MAX];
    struct stat about;
    vly_error why = VLY_ERROR_INIT;
    const size_t length = (size_t)(strrchr(path, '/') - path) + 1;
    if (length >= sizeof(folder))
        return file_found(s, path);
    memcpy(folder, path, length);
    folder[length] = 0;
    if (stat(folder, &about) == 0 &&
        vly_plugin_trust_check(&s->trust, &about, "its folder ", &why) !=
            VLY_OK)
        return s->found(s->arg, path, why.status, why.message);
    return file_found(s, path);
}

static vly_status entry_search(const search *s, const char *path)
{
    struct stat about;
    if (path[0] != '/')
        return s->found(
            s->arg, path, VLY_E_INVALID,
            VLY_PLUGIN_PATH_VARIABLE
            ": the path is relative, wanted one that starts with /: "
            "plugins never come from the working folder");
    if (stat(path, &about) != 0) {
        char reason[200];
        int code = errno;
        snprintf(reason, sizeof(reason), VLY_PLUGIN_PATH_VARIABLE ": %s",
                 strerror(code));
        return s->found(s->arg, path, VLY_E_IO, reason);
    }
    return S_ISDIR(about.st_mode) ? folder_search(s, path)
                                  : named_file(s, path);
}

/* Entries are separated by colons; empty ones (an extra colon) are ignored,
 * unlike in PATH, where they mean the working folder. The variable is ignored
 * in a process with elevated rights (setuid, setgid, capabilities): its caller
 * must not choose code. */
static vly_status variable_search(const search *s)
{
    vly_status status = VLY_OK;
    const char *text = secure_getenv(VLY_PLUGIN_PATH_VARIABLE);
    if (!text || !*text)
        return VLY_OK;
    char *copy = vly_strdup(text); /* a plugin may call setenv */
    if (!copy)
        return vly_fail_nomem(s->error, strlen(text) + 1, "list of plugins");
    char *at = copy;
    while (at) {
        char *next = strchr(at, ':');
        if (next)
            *next++ = 0;
        if (*at)
            VLY_TRY(entry_search(s, at));
        at = next;
    }
out:
    vly_free(copy);
    return status;
}

/* The first of these folders that exists, without links and "..". */
static char *beside_folder(const char *const *beside)
{
    static const char *const of_library[] = {"", NULL};
    char own[PATH_MAX];
    char *real = NULL;
    beside = beside ? beside : of_library;
    if (!vly_own_folder(own, sizeof(own)))
        return NULL;
    for (; !real && *beside; beside++) {
        char *path = vly_format("%s%s/" VLY_BUILD_PLUGIN_SUBDIR, own, *beside);
        real = path ? realpath(path, NULL) : NULL;
        vly_free(path);
    }
    return real;
}

vly_status vly_plugin_search(const char *const *beside,
                             vly_plugin_found_fn found, void *arg,
                             vly_error *error)
{
    const search s = {.found = found,
                      .arg = arg,
                      .trust = vly_plugin_trust_of_process(),
                      .error = error};
    char *folder = beside_folder(beside);
    vly_status status = VLY_OK;
    VLY_TRY(variable_search(&s));
    if (folder)
        VLY_TRY(folder_search(&s, folder));
    if (!(folder && strcmp(folder, VLY_BUILD_PLUGIN_DIR) == 0))
        VLY_TRY(folder_search(&s, VLY_BUILD_PLUGIN_DIR));
out:
    free(folder);
    return status;
}
