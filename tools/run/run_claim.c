/* SPDX-License-Identifier: Apache-2.0
 * A file that is claimed at the start of a run and written whole at its end.
 */
#include <string.h>
#include <sys/stat.h>

#include "tools/run/run_job.h"

/* A pipe or a device is opened at the first write. */
vly_status run_files_claim(const char *path, vly_writer **writer,
                           vly_error *error)
{
    struct stat info;
    if (!path || strcmp(path, "-") == 0 ||
        (stat(path, &info) == 0 && !S_ISREG(info.st_mode)))
        return VLY_OK;
    return vly_writer_open(path, true, writer, error);
}

vly_status run_files_save(vly_writer **writer, const char *path,
                          const char *text, size_t n_text, vly_error *error)
{
    vly_writer *claimed = *writer;
    *writer = NULL;
    if (!claimed)
        return vly_writer_save(path, text, n_text, error);
    (void)vly_writer_bytes(claimed, text, n_text, NULL); /* close tells */
    return vly_writer_close(claimed, error);
}
