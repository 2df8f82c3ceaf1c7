/* SPDX-License-Identifier: Apache-2.0
 * volley new: a genome to begin with. The templates are the shipped genomes.
 */
#include "tools/cli/commands.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/reading.h"
#include "base/writer.h"
#include "tools/cli/output_apart.h"
#include "tools/cli/setup.h"
#include "tools/cli/tool.h"

static const tool_option options[] = {
    {"output", 'o', false, TOOL_TEXT, "FILE", "default: standard output", 0, 0},
    {"force", 0, false, TOOL_FLAG, NULL, "replace FILE if it exists", 0, 0},
    {NULL, 0, false, TOOL_FLAG, NULL, NULL, 0, 0}};

enum { TEMPLATES_MAX = 256 };

typedef struct template_list {
    char folder[PATH_MAX];
    char *names[TEMPLATES_MAX + 1]; /* sorted; ends with NULL */
    uint32_t n;
} template_list;

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Adds the genomes of a folder among the shipped ones: "" or "neurons/". */
static vly_status add_templates(template_list *list, const char *within,
                                vly_error *error)
{
    char *path = vly_format("%s/%s", list->folder, within);
    if (!path)
        return vly_fail_nomem(error, PATH_MAX, "a file name");
    DIR *folder = opendir(path);
    vly_free(path);
    if (!folder)
        return vly_fail(error, VLY_E_IO, "%s/%s: cannot be opened",
                        list->folder, within);
    const struct dirent *entry;
    while ((entry = readdir(folder)) != NULL && list->n < TEMPLATES_MAX) {
        size_t n = strlen(entry->d_name);
        if (n <= 5 || strcmp(entry->d_name + n - 5, ".toml") != 0)
            continue;
        list->names[list->n] =
            vly_format("%s%.*s", within, (int)n - 5, entry->d_name);
        if (list->names[list->n])
            list->n++;
    }
    closedir(folder);
    return VLY_OK;
}

static vly_status find_templates(template_list *list, vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(tool_genomes_folder(list->folder, sizeof list->folder, error));
    VLY_TRY(add_templates(list, "", error));
    VLY_TRY(add_templates(list, "neurons/", error));
    qsort(list->names, list->n, sizeof list->names[0], compare_names);
out:
    return status;
}

static const char *name_at(const void *context, uint32_t k)
{
    const template_list *list = context;
    return list->names[k];
}

static void print_list(const template_list *list)
{
    for (uint32_t i = 0; i < list->n; i++) {
        vly_error error = VLY_ERROR_INIT;
        vly_genome *genome = NULL;
        vly_genome_info info = {.struct_size = sizeof info};
        char *path = vly_format("%s/%s.toml", list->folder, list->names[i]);
        if (path && vly_genome_load(path, NULL, 0, &genome, &error) == VLY_OK &&
            vly_genome_get_info(genome, &info) == VLY_OK)
            tool_print("%-26s %12s neurons  %s\n", list->names[i],
                       tool_thousands(info.n_neurons),
                       info.title ? info.title : "");
        vly_genome_destroy(genome);
        vly_free(path);
    }
}

enum { TEMPLATE_BYTES_MAX = 64 << 20 };

/* ---- copy ------------------------------------------------------------- */

static vly_status read_text(const char *path, char **text, size_t *n_text,
                            vly_error *error)
{
    FILE *file = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(vly_reading_open(path, VLY_READ_FILE, &file, error));
    status = vly_reading_whole(file, path, "a genome", TEMPLATE_BYTES_MAX, text,
                               n_text, error);
    fclose(file);
out:
    return status;
}

static vly_status copy(const tool_args *args, const template_list *list,
                       const char *name, vly_error *error)
{
    const char *output = tool_text(args, "output");
    char *path = vly_format("%s/%s.toml", list->folder, name);
    char *text = NULL;
    size_t n_text = 0;
    vly_status status = VLY_OK;
    if (!path)
        return vly_fail_nomem(error, PATH_MAX, "a file name");
    VLY_TRY(output_apart(output, path, "the template", error));
    VLY_TRY(read_text(path, &text, &n_text, error));
    if (output && strcmp(output, "-") != 0 && access(output, F_OK) == 0 &&
        !tool_has(args, "force"))
        VLY_TRY(vly_fail(error, VLY_E_INVALID,
                         "%s is there already, wanted another name or --force",
                         output));
    VLY_TRY(vly_writer_save(output ? output : "-", text, n_text, error));
    if (output && strcmp(output, "-") != 0)
        tool_message("%s: from %s; `volley check %s` says what it makes",
                     output, name, output);
out:
    vly_free(text);
    vly_free(path);
    return status;
}

static vly_status make(const tool_args *args, const template_list *list,
                       vly_error *error)
{
    const char *name = args->positional[0];
    for (uint32_t i = 0; i < list->n; i++)
        if (strcmp(list->names[i], name) == 0)
            return copy(args, list, name, error);
    const char *near = tool_nearest(name, name_at, list);
    if (near)
        return vly_fail(error, VLY_E_INVALID,
                        "no template %s; did you mean %s?", name, near);
    return vly_fail(error, VLY_E_INVALID,
                    "no template %s; `volley new` lists them", name);
}

static int run(const tool_args *args)
{
    vly_error error = VLY_ERROR_INIT;
    template_list *list = vly_calloc(1, sizeof *list);
    if (!list) {
        tool_message("out of memory");
        return TOOL_EXIT_NOMEM;
    }
    vly_status status = find_templates(list, &error);
    if (status == VLY_OK && args->n_positional == 0)
        print_list(list);
    else if (status == VLY_OK)
        status = make(args, list, &error);
    for (uint32_t i = 0; i < list->n; i++)
        vly_free(list->names[i]);
    vly_free(list);
    return status == VLY_OK ? TOOL_EXIT_DONE : tool_fail(&error);
}

const tool_command cmd_new = {
    .name = "new",
    .arguments = "[TEMPLATE] [-o FILE]",
    .summary = "Copies a shipped genome as a starting point; without a name "
               "lists them.",
    .details = NULL,
    .options = options,
    .n_positional_min = 0,
    .n_positional_max = 1,
    .run = run};
