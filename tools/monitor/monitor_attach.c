/* SPDX-License-Identifier: Apache-2.0
 * volley monitor attach: a run with every probe at one plugin's backend.
 */
#include <volley/host.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "tools/cli/commands.h"
#include "tools/cli/setup.h"
#include "tools/cli/tool.h"
#include "tools/monitor/monitor_commands.h"
#include "tools/run/run_probe.h"

static const tool_option options[] = {
    {"probe", 0, false, TOOL_TEXT, "POINT,...",
     "only these points; default: call.*,burst,check", 0, 0},
    {"inject", 0, true, TOOL_TEXT, "FAULT",
     "inject a fault at the backend: slow:at=2000,factor=3", 0, 0},
    {"out", 0, false, TOOL_TEXT, "FILE", "write the results as JSON", 0, 0},
    {NULL, 0, false, TOOL_FLAG, NULL, NULL, 0, 0}};

/* ---- the plugin -------------------------------------------------------- */

/* A file needs a name with a slash or an extension: "cpu" is never a file. */
static bool is_path(const char *plugin)
{
    return strchr(plugin, '/') || strstr(plugin, ".so");
}

/* The id of the plugin in a file. */
static vly_status id_of_file(const char *path, char *id, size_t size,
                             vly_error *error)
{
    const char *full = NULL;
    vly_registry *registry = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(tool_plugin_first(path, &full, error));
    VLY_TRY(tool_registry_create(&registry, error));
    VLY_TRY(vly_registry_add(registry, full, error));
    for (uint32_t k = 0; k < vly_registry_count(registry); k++) {
        vly_plugin_info info = {.struct_size = sizeof info};
        if (vly_registry_info(registry, k, &info) == VLY_OK &&
            strcmp(info.path, full) == 0)
            (void)snprintf(id, size, "%s", info.id);
    }
out:
    vly_registry_destroy(registry);
    return status;
}

/* ---- the run ----------------------------------------------------------- */

typedef struct attach_line {
    char **words; /* [n] arguments of run */
    int n;
    bool has_backend;
} attach_line;

static void add_word(attach_line *line, const char *word)
{
    /* like those of main: run only reads them */
    line->words[line->n++] = (char *)(uintptr_t)word;
    if (strcmp(word, "--backend") == 0 || strncmp(word, "--backend=", 10) == 0)
        line->has_backend = true;
}

static void add_option(attach_line *line, const char *name, const char *value)
{
    if (!value)
        return;
    add_word(line, name);
    add_word(line, value);
}

/* volley run GENOME ... --backend PLUGIN --probe ... */
static void make_line(const tool_args *args, attach_line *line)
{
    const char *text;
    const char *points = tool_text(args, "probe");
    const bool said =
        args->n_positional > 1 && strcmp(args->positional[1], "run") == 0;
    add_word(line, args->argv[0]);
    add_word(line, "run");
    for (uint32_t k = said ? 2 : 1; k < args->n_positional; k++)
        add_word(line, args->positional[k]);
    if (!line->has_backend)
        add_option(line, "--backend", args->positional[0]);
    add_option(line, "--probe", points ? points : "call.*,burst,check");
    add_option(line, "--probe-out", tool_text(args, "out"));
    for (uint32_t k = 0; (text = tool_text_at(args, "inject", k)) != NULL; k++)
        add_option(line, "--inject", text);
}

static int run_line(const attach_line *line)
{
    tool_args args;
    int code;
    if (!tool_args_parse(&cmd_run, line->n, line->words, 2, &args))
        code = args.exit_code;
    else if (args.help)
        code = (tool_help_print(&cmd_run, stdout), TOOL_EXIT_DONE);
    else
        code = cmd_run.run(&args);
    tool_args_deinit(&args);
    return code;
}

static vly_status plugin_id(const char *plugin, char *id, size_t size,
                            vly_error *error)
{
    vly_named_device found = {.struct_size = sizeof found};
    if (is_path(plugin))
        return id_of_file(plugin, id, size, error);
    vly_status status = vly_device_find(NULL, plugin, 1, &found, error);
    if (status == VLY_OK && strcmp(found.id, "auto") == 0)
        status = vly_fail(error, VLY_E_INVALID,
                          "auto is not a plugin, wanted one, as cpu, cuda:1 or "
                          "a file");
    if (status == VLY_OK)
        (void)snprintf(id, size, "%s", found.id);
    return status;
}

/* The word after PLUGIN is run or the genome, not another command. */
static vly_status check_command(const char *word, vly_error *error)
{
    static const char *const names[] = {
#define COMMAND_NAME(name) #name,
        TOOL_COMMANDS(COMMAND_NAME)
#undef COMMAND_NAME
    };
    for (size_t k = 0; k < sizeof names / sizeof names[0]; k++)
        if (strcmp(word, names[k]) == 0 && strcmp(word, "run") != 0)
            return vly_fail(error, VLY_E_INVALID,
                            "monitor attach: the command is %s, wanted run",
                            word);
    return VLY_OK;
}

static int run(const tool_args *args)
{
    vly_error error = VLY_ERROR_INIT;
    attach_line line = {0};
    char id[32] = "";
    int code = TOOL_EXIT_DONE;
    if (check_command(args->positional[1], &error) != VLY_OK ||
        plugin_id(args->positional[0], id, sizeof id, &error) != VLY_OK)
        return tool_fail(&error);
    const size_t n = (size_t)args->n_positional + 2 * args->n_values + 16;
    line.words = vly_calloc(n, sizeof *line.words);
    if (!line.words) {
        vly_fail_nomem(&error, n * sizeof *line.words, "the command line");
        return tool_fail(&error);
    }
    if (is_path(args->positional[0]))
        args->positional[0] = id;
    make_line(args, &line);
    run_probe_only(id);
    code = run_line(&line);
    run_probe_only(NULL);
    vly_free(line.words);
    return code;
}

const tool_command monitor_attach = {
    .name = "monitor attach",
    .arguments = "PLUGIN [options] -- run GENOME.toml [options of run]",
    .summary = "Runs a genome with probes attached to the backend of a "
               "plugin.",
    .details =
        "PLUGIN is a backend, as cpu, cuda:1 or cpu:4, or the file of one. "
        "It is the\n"
        "backend of the run unless that says --backend; other backends of "
        "the run (--swap)\n"
        "have no probes. The word run may be left out.\n"
        "\n"
        "Every call is timed and its arguments and results are checked: the "
        "exit code is 1\n"
        "if a check failed. Probes do not change the digest. `volley "
        "inspect` of a plugin or a\n"
        "genome lists the points; `volley run --probe` attaches them to "
        "every backend.\n",
    .options = options,
    .n_positional_min = 2,
    .n_positional_max = 1000,
    .run = run};
