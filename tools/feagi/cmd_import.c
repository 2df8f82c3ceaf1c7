/* SPDX-License-Identifier: Apache-2.0
 * volley import: genomes of other programs. So far FEAGI's, from JSON.
 */
#include "tools/cli/commands.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/reading.h"
#include "base/writer.h"
#include "tools/cli/json_reader.h"
#include "tools/cli/output_apart.h"
#include "tools/cli/setup.h"
#include "tools/cli/tool.h"
#include "tools/feagi/feagi_genome.h"

static const tool_option options[] = {
    {"output", 'o', false, TOOL_TEXT, "FILE", "default: standard output", 0, 0},
    {"force", 0, false, TOOL_FLAG, NULL, "replace FILE if it exists", 0, 0},
    {"strict", 0, false, TOOL_FLAG, NULL,
     "fail with exit code 2 if anything is not taken over", 0, 0},
    {NULL, 0, false, TOOL_FLAG, NULL, NULL, 0, 0}};

/* ---- files -------------------------------------------------------------- */

static vly_status read_text(const char *path, char **text, size_t *n,
                            vly_error *error)
{
    const bool input = strcmp(path, "-") == 0;
    FILE *file = stdin;
    vly_status status = VLY_OK;
    if (!input)
        status = vly_reading_open(path, VLY_READ_STREAM, &file, error);
    if (status != VLY_OK)
        return status;
    status = vly_reading_whole(file, path, "a FEAGI genome",
                               JSON_FILE_BYTES_MAX, text, n, error);
    if (!input)
        fclose(file);
    return status;
}

static vly_status check_output(const char *output, const char *input,
                               bool force, vly_error *error)
{
    if (strcmp(output, "-") == 0)
        return VLY_OK;
    vly_status status = VLY_OK;
    VLY_TRY(output_apart(output, input, "what is imported", error));
    if (access(output, F_OK) == 0 && !force)
        return vly_fail(error, VLY_E_INVALID,
                        "%s is there already, wanted another name or --force",
                        output);
out:
    return status;
}

/* ---- report -------------------------------------------------------------- */

static vly_status say(const feagi_genome *genome, vly_error *error)
{
    for (int of = 0; of < FEAGI_CLASSES; of++) {
        for (uint32_t i = 0; i < genome->report.n_entries; i++) {
            const feagi_entry *entry = &genome->report.entries[i];
            if ((int)entry->of != of)
                continue;
            char *sentence = feagi_entry_sentence(entry);
            if (!sentence)
                return vly_fail_nomem(error, 0, "the report of an import");
            tool_message("%s: %s", feagi_class_titles[of], sentence);
            vly_free(sentence);
        }
    }
    return VLY_OK;
}

static vly_status check_strict(const feagi_genome *genome, vly_error *error)
{
    uint32_t n = feagi_report_count(&genome->report, FEAGI_LEFT_OUT);
    return n == 0
               ? VLY_OK
               : vly_fail(error, VLY_E_INVALID,
                          "%.300s: %u %s not taken over, wanted none "
                          "(--strict); nothing is written",
                          genome->path, n, n == 1 ? "thing is" : "things are");
}

/* The text must be a valid genome: this finds errors that the checks above have
 * missed. */
static vly_status check_text(const feagi_genome *genome, const char *text,
                             size_t n, vly_error *error)
{
    vly_genome *made = NULL;
    vly_error why = VLY_ERROR_INIT;
    vly_status status =
        vly_genome_parse(text, n, "the genome of it", NULL, 0, &made, &why);
    if (status == VLY_E_NOMEM)
        return vly_fail(error, status, "%s", why.message);
    if (status != VLY_OK)
        return vly_fail(error, status, "%.300s: %.500s", genome->path,
                        why.message);
    tool_message("%.300s: FEAGI genome of format %s: %u areas, %s neurons, "
                 "%u map%s",
                 genome->path, genome->version, made->n_areas,
                 tool_thousands(made->n_neurons), genome->n_maps,
                 genome->n_maps == 1 ? "" : "s");
    vly_genome_destroy(made);
    return VLY_OK;
}

static vly_status import(const tool_args *args, vly_error *error)
{
    const char *path = args->positional[1];
    const char *output = tool_text(args, "output");
    char *text = NULL;
    char *toml = NULL;
    size_t n_text = 0;
    size_t n_toml = 0;
    feagi_value root = {0};
    feagi_genome genome = {0};
    vly_status status;
    output = output ? output : "-";
    VLY_TRY(check_output(output, path, tool_has(args, "force"), error));
    VLY_TRY(read_text(path, &text, &n_text, error));
    VLY_TRY(feagi_json_parse(text, n_text, path, &root, error));
    VLY_TRY(feagi_genome_read(&genome, &root, path, error));
    toml = feagi_toml_write(&genome, &n_toml);
    if (!toml)
        VLY_TRY(vly_fail_nomem(error, 0, "a genome's text"));
    VLY_TRY(check_text(&genome, toml, n_toml, error));
    VLY_TRY(say(&genome, error));
    if (tool_has(args, "strict"))
        VLY_TRY(check_strict(&genome, error));
    VLY_TRY(vly_writer_save(output, toml, n_toml, error));
out:
    vly_free(toml);
    feagi_genome_free(&genome);
    feagi_json_free(&root);
    vly_free(text);
    return status;
}

static int run(const tool_args *args)
{
    vly_error error = VLY_ERROR_INIT;
    if (strcmp(args->positional[0], "feagi") != 0) {
        tool_message("no import of %s, wanted feagi", args->positional[0]);
        return TOOL_EXIT_WRONG;
    }
    return import(args, &error) == VLY_OK ? TOOL_EXIT_DONE : tool_fail(&error);
}

const tool_command cmd_import = {
    .name = "import",
    .arguments = "feagi FILE.json [-o FILE.toml]",
    .summary = "Converts a genome of FEAGI.",
    .details =
        "Reads genomes of FEAGI in formats 2.0, 2.1 and 3.0, with flat keys "
        "or one\n"
        "object per area. Properties that are not taken over, assumptions, "
        "and properties\n"
        "without effect on spikes are listed on stderr and at the head of "
        "the file.\n"
        "`volley doc import` has the rules. FILE.json may be - (standard "
        "input).\n",
    .options = options,
    .n_positional_min = 2,
    .n_positional_max = 2,
    .run = run};
