/* SPDX-License-Identifier: Apache-2.0
 * Outputs are apart from what a command reads, and from each other.
 */
#include "tools/cli/output_apart.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/temporary.h"
#include "genome/genome_inputs.h"
#include "tools/cli/setup.h"

/* ---- names ------------------------------------------------------------- */

static void find_real(const char *path, char *real, int missing)
{
    char folder[PATH_MAX];
    char above[PATH_MAX];
    snprintf(real, PATH_MAX, "%s", path);
    if (strcmp(path, "-") == 0 || realpath(path, folder)) {
        if (strcmp(path, "-") != 0)
            memcpy(real, folder, sizeof folder);
        return;
    }
    snprintf(folder, sizeof folder, "%s", path);
    size_t n = strlen(folder);
    /* "f/", "f/." */
    while (n > 1 && (folder[n - 1] == '/' ||
                     (folder[n - 1] == '.' && folder[n - 2] == '/')))
        folder[--n] = '\0';
    const char *name = folder;
    char *slash = strrchr(folder, '/');
    if (slash) {
        *slash = '\0';
        name = slash + 1;
    }
    const char *parent = !slash ? "." : slash == folder ? "/" : folder;
    if (missing > 0)
        find_real(parent, above, missing - 1);
    else if (!realpath(parent, above))
        snprintf(above, sizeof above, "%s", parent);
    if (strlen(above) + strlen(name) + 2 <= PATH_MAX) {
        strcpy(real, above);
        strcat(real, "/");
        strcat(real, name);
    }
}

void output_real(const char *path, char real[PATH_MAX])
{
    find_real(path, real, 1);
}

bool output_is_same(const char *a, const char *b)
{
    char real_a[PATH_MAX];
    char real_b[PATH_MAX];
    if (strcmp(a, "-") == 0 || strcmp(b, "-") == 0)
        return false;
    output_real(a, real_a);
    output_real(b, real_b);
    return strcmp(real_a, real_b) == 0 || tool_is_same_file(a, b);
}

/* ---- inputs ------------------------------------------------------------ */

static vly_status refuse(const char *output, const char *input,
                         const char *what, vly_error *error)
{
    if (strcmp(output, input) == 0)
        return vly_fail(error, VLY_E_INVALID,
                        "%.400s is %s, wanted another file for output", output,
                        what);
    return vly_fail(error, VLY_E_INVALID,
                    "%.400s is the same file as %.400s, %s; wanted another "
                    "file for output",
                    output, input, what);
}

/* The input may have the temporary name that the output has while it is
 * written. A regular file there, as a killed process leaves it, would be
 * removed; a link stays. */
static bool stat_beside(const char *output, struct stat *info)
{
    char *beside = vly_format("%s" VLY_TEMPORARY_SUFFIX, output);
    const bool there = beside && lstat(beside, info) == 0;
    vly_free(beside);
    return there && S_ISREG(info->st_mode);
}

static vly_status refuse_beside(const char *output, const char *input,
                                const char *what, vly_error *error)
{
    return vly_fail(error, VLY_E_INVALID,
                    "%.400s, %s, is where %.400s is written meanwhile; wanted "
                    "another file for output",
                    input, what, output);
}

vly_status output_apart(const char *output, const char *input, const char *what,
                        vly_error *error)
{
    struct stat beside;
    struct stat info;
    if (!output || !input || strcmp(output, "-") == 0 ||
        strcmp(input, "-") == 0)
        return VLY_OK;
    if (tool_is_same_file(output, input))
        return refuse(output, input, what, error);
    if (stat_beside(output, &beside) && stat(input, &info) == 0 &&
        info.st_dev == beside.st_dev && info.st_ino == beside.st_ino)
        return refuse_beside(output, input, what, error);
    return VLY_OK;
}

vly_status output_apart_genome(const char *output, const vly_genome *genome,
                               vly_error *error)
{
    struct stat info;
    static const char what[] = "a file that the genome reads";
    const char *input = NULL;
    if (!output || strcmp(output, "-") == 0)
        return VLY_OK;
    if (stat(output, &info) == 0 && S_ISREG(info.st_mode))
        input = vly_genome_find_input(genome, &info);
    if (input)
        return refuse(output, input, what, error);
    if (stat_beside(output, &info))
        input = vly_genome_find_input(genome, &info);
    return !input ? VLY_OK : refuse_beside(output, input, what, error);
}

static bool is_picture(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot && (strcmp(dot, ".png") == 0 || strcmp(dot, ".svg") == 0);
}

vly_status output_apart_folder(const char *output, const char *folder,
                               const char *what, vly_error *error)
{
    DIR *entries = opendir(folder);
    const struct dirent *entry;
    vly_status status = VLY_OK;
    if (!entries)
        return VLY_OK;
    while (status == VLY_OK && (entry = readdir(entries)) != NULL) {
        char *path = is_picture(entry->d_name)
                         ? NULL
                         : vly_format("%s/%s", folder, entry->d_name);
        status = output_apart(output, path, what, error);
        vly_free(path);
    }
    closedir(entries);
    return status;
}

/* ---- two outputs ------------------------------------------------------- */

vly_status outputs_apart(const output_name *outputs, uint32_t n,
                         vly_error *error)
{
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < i && outputs[i].path; k++)
            if (outputs[k].path &&
                output_is_same(outputs[i].path, outputs[k].path))
                return vly_fail(error, VLY_E_INVALID,
                                "%s %.400s and %s %.400s are one file, wanted "
                                "two",
                                outputs[k].option, outputs[k].path,
                                outputs[i].option, outputs[i].path);
    return VLY_OK;
}
