/* SPDX-License-Identifier: Apache-2.0
 * volley inspect: what a file is, told by its content and not by its name.
 */
#include "commands.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "inspect_file.h"
#include "record/digest_log.h"
#include "record/spike_csv.h"
#include "tool.h"

static const tool_option options[] = {
    {"no-verify", 0, false, TOOL_FLAG, NULL,
     "connectome: map it without reading the checksums", 0, 0},
    {NULL, 0, false, TOOL_FLAG, NULL, NULL, 0, 0}};

enum { HEAD_BYTES = 64 };

static bool begins(const char *head, size_t n_head, const char *text)
{
    size_t n = strlen(text);
    return n_head >= n && memcmp(head, text, n) == 0;
}

static vly_status read_head(const char *path, char *head, size_t *n_head,
                            vly_error *error)
{
    FILE *file = fopen(path, "rbe");
    if (file == NULL)
        return vly_fail(error, VLY_E_IO, "%s: cannot be read: %s", path,
                        strerror(errno));
    errno = 0;
    *n_head = fread(head, 1, HEAD_BYTES, file);
    vly_status status = VLY_OK;
    if (ferror(file))
        status = vly_fail(error, VLY_E_IO, "%s: cannot be read: %s", path,
                          strerror(errno));
    fclose(file);
    return status;
}

static vly_status inspect(const char *path, bool verify, vly_error *error)
{
    char head[HEAD_BYTES];
    size_t n = 0;
    vly_status status = read_head(path, head, &n, error);
    if (status != VLY_OK)
        return status;
    if (begins(head, n, "VOLLEYCN"))
        return inspect_connectome(path, verify, error);
    if (begins(head, n, "\177ELF"))
        return inspect_plugin(path, error);
    if (begins(head, n, VLY_DIGEST_LOG_MAGIC))
        return inspect_digest_log(path, error);
    if (begins(head, n, VLY_SPIKE_CSV_HEADER))
        return inspect_spikes(path, error);
    size_t space = 0;
    while (space < n && strchr(" \t\r\n", head[space]) != NULL &&
           head[space] != '\0')
        space++;
    if (space < n && head[space] == '{')
        return inspect_json(path, error);
    if (memchr(head, '\0', n) != NULL)
        return vly_fail(error, VLY_E_PARSE,
                        "%s: not a genome, connectome, plugin, digest log, "
                        "recording or manifest",
                        path);
    return inspect_genome(path, error);
}

static int run(const tool_args *args)
{
    vly_error error = VLY_ERROR_INIT;
    bool verify = !tool_has(args, "no-verify");
    if (inspect(args->positional[0], verify, &error) != VLY_OK)
        return tool_fail(&error);
    return TOOL_EXIT_DONE;
}

const tool_command cmd_inspect = {
    .name = "inspect",
    .arguments = "FILE",
    .summary = "Says what a file is and what is in it.",
    .details = "Genome, saved connectome, plugin, digest log, recording, "
               "manifest.\n",
    .options = options,
    .n_positional_min = 1,
    .n_positional_max = 1,
    .run = run};
