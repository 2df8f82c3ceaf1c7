/* SPDX-License-Identifier: Apache-2.0
 * volley inspect: what a file is, told by its content and not by its name.
 */
#include "tools/cli/commands.h"

#include <volley/host.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/reading.h"
#include "tools/cli/setup.h"
#include "tools/cli/tool.h"
#include "tools/inspect/inspect_elf.h"
#include "tools/inspect/inspect_file.h"
#include "tools/inspect/inspect_net.h"
#include "tools/inspect/inspect_product.h"
#include "tools/inspect/inspect_stream.h"

static const tool_option options[] = {
    {"no-verify", 0, false, TOOL_FLAG, NULL,
     "connectome: map it without reading the checksums", 0, 0},
    {"backend", 0, false, TOOL_TEXT, "NAME",
     "genome, connectome: the plan of cuda, cuda:1, cpu:4, ...", 0, 0},
    {"plugin", 0, false, TOOL_FLAG, NULL,
     "load the file as a plugin (this runs its code) and list what it offers",
     0, 0},
    {"product", 0, false, TOOL_TEXT, "KIND:TYPE:SIZE",
     "as --plugin; show how an accelerator runs a product, as "
     "gemm:bf16:16x4096x1024; see below",
     0, 0},
    {"options", 0, false, TOOL_TEXT, "KEY=VALUE,...",
     "with --product: options of the plugin, as tune=0", 0, 0},
    {"repair", 0, false, TOOL_FLAG, NULL,
     "repair recordings of a killed run: a stream, or all in a folder; see "
     "below",
     0, 0},
    {"to", 0, false, TOOL_TEXT, "FILE",
     "with --repair: the file to make, .csv or .h5 (SONATA)", 0, 0},
    {"set", 0, true, TOOL_TEXT, "PATH=VALUE", "change the genome", 0, 0},
    {"seed", 0, false, TOOL_COUNT, "N", "all three seeds", 0, 9e18},
    {"threads", 0, false, TOOL_COUNT, "N", "host threads; default: all cores",
     1, 1024},
    {NULL, 0, false, TOOL_FLAG, NULL, NULL, 0, 0}};

static vly_status read_head(const char *path, char *head, size_t *n_head,
                            vly_error *error)
{
    FILE *file = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(vly_reading_open(path, VLY_READ_FILE, &file, error));
    errno = 0;
    *n_head = fread(head, 1, VLY_FILE_KIND_BYTES, file);
    if (ferror(file))
        status = vly_fail(error, VLY_E_IO, "%s: cannot be read: %s", path,
                          strerror(errno));
    fclose(file);
out:
    return status;
}

static vly_status inspect(const char *path, uint32_t kind, bool verify,
                          const tool_overrides *overrides, vly_error *error)
{
    switch (kind) {
    case VLY_FILE_CONNECTOME:
        return inspect_connectome(path, verify, error);
    case VLY_FILE_CHECKPOINT:
        return inspect_checkpoint(path, error);
    case VLY_FILE_ELF:
        return inspect_elf(path, error);
    case VLY_FILE_DIGESTS:
        return inspect_digest_log(path, error);
    case VLY_FILE_SPIKES:
        return inspect_spikes(path, error);
    case VLY_FILE_STREAM:
        return inspect_stream(path, error);
    case VLY_FILE_JSON:
        return inspect_json(path, error);
    case VLY_FILE_TEXT:
        return inspect_genome(path, overrides, error);
    case VLY_FILE_EMPTY:
        return vly_fail(error, VLY_E_PARSE, "%s: an empty file", path);
    case VLY_FILE_CUT:
        return vly_fail(error, VLY_E_PARSE,
                        "%s: the first bytes of a connectome or a checkpoint "
                        "that was cut off",
                        path);
    case VLY_FILE_HDF5:
        return inspect_sonata(path, error);
    default:
        break;
    }
    return vly_fail(error, VLY_E_PARSE,
                    "%s: not a genome, connectome, checkpoint, plugin, "
                    "digest log, recording or manifest",
                    path);
}

/* The device is checked first: compiling may take long. */
static vly_status inspect_with(const char *path, uint32_t kind, bool verify,
                               inspect_target *target, vly_error *error)
{
    vly_status status = VLY_OK;
    if (kind != VLY_FILE_TEXT && kind != VLY_FILE_CONNECTOME)
        return vly_fail(error, VLY_E_INVALID,
                        "--backend: %s is neither a genome nor a connectome",
                        path);
    VLY_TRY(inspect_target_init(target, error));
    VLY_TRY(inspect(path, kind, verify, target->overrides, error));
    tool_print("\n");
    status = kind == VLY_FILE_TEXT
                 ? inspect_genome_net(path, target, error)
                 : inspect_connectome_net(path, false, target, error);
out:
    inspect_target_deinit(target);
    return status;
}

/* Prints the contents of the plugin, then its plan for a product. */
static vly_status inspect_plan(const tool_args *args, uint32_t kind,
                               vly_error *error)
{
    const char *path = args->positional[0];
    const char *product = tool_text(args, "product");
    inspect_request request;
    vly_status status = VLY_OK;
    if (kind != VLY_FILE_ELF)
        return vly_fail(error, VLY_E_INVALID, "--product: %s is not a plugin",
                        path);
    VLY_TRY(inspect_request_read(product, &request, error));
    VLY_TRY(inspect_plugin(path, error));
    VLY_TRY(inspect_product(path, product, &request, tool_text(args, "options"),
                            tool_threads(args), error));
out:
    return status;
}

static int repair(const tool_args *args)
{
    vly_error error = VLY_ERROR_INIT;
    return inspect_repair(args->positional[0], tool_text(args, "to"), &error) !=
                   VLY_OK
               ? tool_fail(&error)
               : TOOL_EXIT_DONE;
}

static int run(const tool_args *args)
{
    vly_error error = VLY_ERROR_INIT;
    const char *path = args->positional[0];
    char head[VLY_FILE_KIND_BYTES];
    size_t n = 0;
    bool verify = !tool_has(args, "no-verify");
    tool_overrides overrides = {0};
    inspect_target target = {.backend = tool_text(args, "backend"),
                             .n_threads = tool_threads(args),
                             .overrides = &overrides};
    vly_status status = VLY_OK;
    if (tool_has(args, "repair"))
        return repair(args);
    if (tool_has(args, "to"))
        VLY_TRY(vly_fail(&error, VLY_E_INVALID,
                         "--to without --repair, wanted both"));
    if (tool_has(args, "options") && !tool_has(args, "product"))
        VLY_TRY(vly_fail(&error, VLY_E_INVALID,
                         "--options without --product, wanted both"));
    VLY_TRY(read_head(path, head, &n, &error));
    VLY_TRY(tool_overrides_init(args, &overrides, &error));
    uint32_t kind = vly_file_kind(head, n);
    if (kind == VLY_FILE_CONNECTOME)
        tool_signals_guard(path);
    if (overrides.n > 0 && kind != VLY_FILE_TEXT)
        status = vly_fail(&error, VLY_E_INVALID,
                          "--set, --seed: %s is not a genome", path);
    else if (tool_has(args, "product"))
        status = inspect_plan(args, kind, &error);
    else if (tool_has(args, "plugin"))
        status =
            kind == VLY_FILE_ELF
                ? inspect_plugin(path, &error)
                : vly_fail(&error, VLY_E_INVALID,
                           "--plugin: %s is not a shared object (ELF)", path);
    else if (target.backend)
        status = inspect_with(path, kind, verify, &target, &error);
    else
        status = inspect(path, kind, verify, &overrides, &error);
out:
    tool_signals_guard(NULL);
    tool_overrides_deinit(&overrides);
    return status != VLY_OK ? tool_fail(&error) : TOOL_EXIT_DONE;
}

const tool_command cmd_inspect = {
    .name = "inspect",
    .arguments = "FILE [options]",
    .summary = "Shows the kind and the contents of a file.",
    .details =
        "Genome, saved connectome, checkpoint, plugin, digest log, "
        "recording,\n"
        "manifest. No code of a file is run: a plugin is described from its "
        "tables. --plugin\n"
        "loads it; use that only for a plugin that you trust.\n"
        "\n"
        "--repair converts the stream FILE.h5.vls of a killed run to "
        "FILE.h5, up to its\n"
        "last whole block. The stream is not changed: a run with "
        "--checkpoint can be\n"
        "resumed in it instead. In a CSV it cuts off an incomplete last "
        "line.\n"
        "\n"
        "--backend makes the net and prints how it would run there: plan, "
        "bytes on the\n"
        "device and the host, bytes per synapse. No burst is run. Without "
        "that device\n"
        "the exit code is 3.\n"
        "\n"
        "--product makes a plan with the plugin of an accelerator and prints "
        "the chosen\n"
        "way, the measured time of each way, the workspace, and why a way "
        "cannot be used.\n"
        "A choice from the cache is not measured again; --options cache=off "
        "measures it,\n"
        "choose=NAME forces a way.\n"
        "\n"
        "  gemm:TYPE:MxNxK   gemv:TYPE:NxK       bias relu relu2 gelu "
        "batch=N\n"
        "  attention:TYPE:BATCHxHEADSxSEQxDIM    causal backward "
        "deterministic nolse packed\n"
        "                                        fp8out keys=N\n"
        "  decode:TYPE:BATCHxHEADSxCACHExDIM     and attention: causal_end "
        "window=N behind=N\n"
        "                                        lengths page=16|64\n"
        "  wkv:TYPE:BATCHxHEADSxSEQ              lengths; SEQ 1 is a single "
        "step\n"
        "\n"
        "Words follow another colon, with commas: "
        "attention:bf16:1x64/8x16384x128:causal\n"
        "(64 query heads, 8 key heads; window: keys before the query's own, "
        "behind: keys\n"
        "after it). All kinds: workspace=BYTES. Exit code 2: the product "
        "cannot be read;\n"
        "3: no way can run it.\n",
    .options = options,
    .n_positional_min = 1,
    .n_positional_max = 1,
    .run = run};
