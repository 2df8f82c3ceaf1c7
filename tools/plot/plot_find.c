/* SPDX-License-Identifier: Apache-2.0
 * Samples of a run: which file of its folder has them.
 */
#include "tools/plot/plot_traces.h"

#include <dirent.h>
#include <errno.h>
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

static vly_status find_file(const char *folder, const char *recording,
                            const char *field, char **path, vly_error *error)
{
    const struct dirent *entry = NULL;
    vly_status status = VLY_OK;
    DIR *entries = opendir(folder);
    if (!entries)
        return vly_fail(error, VLY_E_IO, "%s: %s", folder, strerror(errno));
    while (status == VLY_OK && (entry = readdir(entries)) != NULL) {
        if (!is_samples(entry->d_name, recording, field))
            continue;
        if (*path)
            status = vly_fail(error, VLY_E_INVALID,
                              "%s has samples in several files: choose with "
                              "--field, or name the file",
                              folder);
        else if (!(*path = vly_format("%s/%s", folder, entry->d_name)))
            status = vly_fail_nomem(error, strlen(folder), "a path");
    }
    closedir(entries);
    if (status == VLY_OK && !*path)
        status = vly_fail(error, VLY_E_INVALID,
                          "%s has no samples of %s; a [[record]] with what = "
                          "\"fields\" makes some",
                          folder, field ? field : "fields");
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
