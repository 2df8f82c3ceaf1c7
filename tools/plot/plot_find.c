/* SPDX-License-Identifier: Apache-2.0
 * Samples of a run: which file of its folder has them.
 */
#include "tools/plot/plot_traces.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "tools/plot/plot_data.h"

/* Beside the recording "spikes.csv", "spikes.1.v_mv.csv" has samples of v_mv;
 * field NULL: any field. */
static bool is_samples(const char *name, const char *recording,
                       const char *field)
{
    const char *dot = strrchr(recording, '.');
    const size_t stem = dot ? (size_t)(dot - recording) : strlen(recording);
    const char *at = name + stem;
    if (strncmp(name, recording, stem) != 0 || *at++ != '.')
        return false;
    const size_t digits = strspn(at, "0123456789");
    if (digits == 0 || at[digits] != '.')
        return false;
    at += digits + 1;
    const char *end = strrchr(at, '.');
    if (!end || strcmp(end, dot ? dot : ".csv") != 0)
        return false;
    return !field || (strlen(field) == (size_t)(end - at) &&
                      strncmp(at, field, strlen(field)) == 0);
}

#define NAMED_MAX 12u /* files, in an error message */

typedef struct found_files {
    char *names[NAMED_MAX]; /* the first of all, in their order */
    uint32_t n_names;
    uint32_t n;
    bool fields; /* --field can choose: they differ in it */
} found_files;

/* "spikes.2.v_mv.csv" before "spikes.10.v_mv.csv" */
static bool is_before(const char *a, const char *b)
{
    const size_t n = strlen(a);
    const size_t m = strlen(b);
    return n != m ? n < m : strcmp(a, b) < 0;
}

static vly_status keep_name(found_files *found, const char *recording,
                            const char *name, vly_error *error)
{
    uint32_t at = found->n_names;
    const char *dot = strrchr(recording, '.');
    const size_t stem = dot ? (size_t)(dot - recording) : strlen(recording);
    if (found->n++ > 0)
        found->fields =
            found->fields || strcmp(strchr(found->names[0] + stem + 1, '.'),
                                    strchr(name + stem + 1, '.')) != 0;
    while (at > 0 && is_before(name, found->names[at - 1]))
        at--;
    if (at == NAMED_MAX)
        return VLY_OK;
    char *kept = vly_strdup(name);
    if (!kept)
        return vly_fail_nomem(error, strlen(name), "a name");
    if (found->n_names == NAMED_MAX)
        vly_free(found->names[--found->n_names]);
    for (uint32_t k = found->n_names++; k > at; k--)
        found->names[k] = found->names[k - 1];
    found->names[at] = kept;
    return VLY_OK;
}

static vly_status fail_several(const found_files *found, const char *folder,
                               vly_error *error)
{
    char list[600] = "";
    size_t n = 0;
    uint32_t listed = 0;
    for (; listed < found->n_names; listed++) {
        const char *name = found->names[listed];
        if (n + strlen(name) + 3 > sizeof list)
            break;
        n += (size_t)snprintf(list + n, sizeof list - n, "%s%s",
                              listed > 0 ? ", " : "", name);
    }
    return vly_fail(error, VLY_E_INVALID,
                    "%.200s has samples in several files: %sname one of them: "
                    "%s%s",
                    folder, found->fields ? "choose with --field, or " : "",
                    list, listed < found->n ? " ..." : "");
}

static vly_status find_file(const char *folder, const char *recording,
                            const char *field, char **path, vly_error *error)
{
    const struct dirent *entry = NULL;
    found_files found = {0};
    vly_status status = VLY_OK;
    DIR *entries = opendir(folder);
    if (!entries)
        return vly_fail(error, VLY_E_IO, "%s: %s", folder, strerror(errno));
    while (status == VLY_OK && (entry = readdir(entries)) != NULL)
        if (is_samples(entry->d_name, recording, field))
            status = keep_name(&found, recording, entry->d_name, error);
    closedir(entries);
    if (status == VLY_OK && found.n == 0)
        status = vly_fail(error, VLY_E_INVALID,
                          "%s has no samples of %s; a [[record]] with what = "
                          "\"fields\" makes some",
                          folder, field ? field : "fields");
    else if (status == VLY_OK && found.n > 1)
        status = fail_several(&found, folder, error);
    else if (status == VLY_OK &&
             !(*path = vly_format("%s/%s", folder, found.names[0])))
        status = vly_fail_nomem(error, strlen(folder), "a path");
    for (uint32_t k = 0; k < found.n_names; k++)
        vly_free(found.names[k]);
    return status;
}

vly_status plot_find_samples(const tool_args *args, const char *folder,
                             char **path, vly_error *error)
{
    char *recording = NULL;
    char *where = NULL;
    uint64_t n_bursts = 0;
    vly_status status = VLY_OK;
    VLY_TRY(plot_recording(folder, &recording, &n_bursts, error));
    if (plot_file_kind_of(recording) == PLOT_FILE_STREAM) {
        *path = recording;
        return VLY_OK;
    }
    const char *slash = strrchr(recording, '/');
    where = slash ? vly_format("%.*s", (int)(slash - recording), recording)
                  : vly_strdup(".");
    if (!where)
        status = vly_fail_nomem(error, strlen(recording), "a path");
    else
        status = find_file(where, slash ? slash + 1 : recording,
                           tool_text(args, "field"), path, error);
out:
    vly_free(where);
    vly_free(recording);
    return status;
}
