/* SPDX-License-Identifier: Apache-2.0
 * volley validate: one network on several backends, burst by burst.
 */
#include "tools/cli/commands.h"

#include <volley/host.h>

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "tools/cli/setup.h"
#include "tools/cli/tool.h"
#include "tools/cli/weight_notes.h"

static const tool_option options[] = {
    {"backends", 0, false, TOOL_TEXT, "A,B[,C]",
     "two or more, as in cpu:1,cpu:4", 0, 0},
    {"bursts", 0, false, TOOL_COUNT, "N", "length; default: [run]", 0, 9e15},
    {"ms", 0, false, TOOL_NUMBER, "T",
     "length in biological time, whole bursts", 0, 1e15},
    {"set", 0, true, TOOL_TEXT, "PATH=VALUE", "change the genome", 0, 0},
    {"seed", 0, false, TOOL_COUNT, "N", "all three seeds", 0, 9e18},
    {"threads", 0, false, TOOL_COUNT, "N", "host threads; default: all cores",
     1, 1024},
    {"state-every", 0, false, TOOL_COUNT, "N",
     "compare the whole state every N bursts; default 1", 1, 128},
    {"quiet", 0, false, TOOL_FLAG, NULL, "no progress", 0, 0},
    {NULL, 0, false, TOOL_FLAG, NULL, NULL, 0, 0}};

typedef struct validation {
    char *list; /* of --backends, cut at its commas */
    const char *names[VLY_VALIDATE_NETS];
    vly_net *nets[VLY_VALIDATE_NETS];
    uint32_t n;
    tool_build build;
    vly_registry *registry;
    uint64_t n_bursts;
    tool_progress progress;
    vly_validate_result result;
} validation;

/* Cuts the list at its commas; "cpu,erring,at=5" is cpu and "erring,at=5". */
static vly_status split(validation *v, const char *text, vly_error *error)
{
    if (!text)
        return vly_fail(error, VLY_E_INVALID,
                        "--backends is missing, as in --backends cpu:1,cpu:4");
    v->list = vly_strdup(text);
    if (!v->list)
        return vly_fail_nomem(error, strlen(text), "a list");
    char *at = v->list;
    while (at) {
        if (v->n == VLY_VALIDATE_NETS)
            return vly_fail(error, VLY_E_INVALID,
                            "--backends names more than %u", VLY_VALIDATE_NETS);
        v->names[v->n++] = at;
        char *comma = strchr(at, ',');
        while (comma) {
            size_t n = strcspn(comma + 1, ",=");
            if (comma[1 + n] != '=')
                break;
            comma = strchr(comma + 1, ',');
        }
        if (comma)
            *comma++ = '\0';
        at = comma;
    }
    if (v->n < 2)
        return vly_fail(error, VLY_E_INVALID,
                        "--backends %s: wanted at least two", text);
    return VLY_OK;
}

static vly_status on_progress(void *arg, uint64_t bursts)
{
    validation *v = arg;
    tool_progress_update(&v->progress, bursts);
    return tool_signals_stopped() ? VLY_E_STOPPED : VLY_OK;
}

static vly_status prepare(validation *v, const tool_args *args,
                          vly_error *error)
{
    tool_overrides overrides = {0};
    uint32_t n_threads = tool_threads(args);
    vly_status status = VLY_OK;
    VLY_TRY(split(v, tool_text(args, "backends"), error));
    VLY_TRY(tool_overrides_init(args, &overrides, error));
    VLY_TRY(tool_registry_create(&v->registry, error));
    for (uint32_t i = 0; i < v->n; i++)
        VLY_TRY(tool_backend_check(v->registry, v->names[i], error));
    VLY_TRY(tool_build_init(args->positional[0], &overrides, n_threads,
                            &v->build, error));
    tool_notes(v->build.genome);
    weight_notes(v->build.genome, v->build.connectome);
    VLY_TRY(tool_bursts(args, v->build.genome, &v->n_bursts, error));
    for (uint32_t i = 0; i < v->n; i++)
        VLY_TRY(vly_net_create(v->build.connectome, v->registry, v->names[i],
                               n_threads, &v->nets[i], error));
out:
    tool_overrides_deinit(&overrides);
    return status;
}

static vly_status execute(validation *v, const tool_args *args,
                          vly_error *error)
{
    uint32_t state_every = (uint32_t)tool_count(args, "state-every", 1);
    tool_signals_defer(true);
    tool_signals_watch(v->nets[0]);
    tool_progress_begin(&v->progress, tool_has(args, "quiet"), 0, v->n_bursts,
                        tool_genome_info(v->build.genome).dt_ms);
    vly_status status = vly_validate(v->nets, v->n, v->n_bursts, state_every,
                                     on_progress, v, &v->result, error);
    tool_progress_end(&v->progress);
    tool_signals_watch(NULL);
    return status;
}

static void print_compared(const validation *v)
{
    const vly_validate_result *result = &v->result;
    tool_print("compared: %s bursts, %s spikes\n",
               tool_thousands(result->bursts), tool_thousands(result->spikes));
    if (result->spikes == 0)
        tool_message("no neuron fired: silent networks always agree");
}

static int report(const validation *v)
{
    const vly_validate_result *result = &v->result;
    if (result->difference != VLY_DIFFERENCE_NONE) {
        char text[2048];
        tool_print("%s\n",
                   vly_validate_text(result, v->names, text, sizeof text));
        print_compared(v);
        return TOOL_EXIT_DIFFERS;
    }
    tool_print("identical:");
    for (uint32_t i = 0; i < v->n; i++)
        tool_print(" %s", v->names[i]);
    tool_print("\n");
    print_compared(v);
    tool_print("digest        %016" PRIx64 "\nstate digest  %016" PRIx64 "\n",
               result->digest, result->state_digest);
    return TOOL_EXIT_DONE;
}

static int run(const tool_args *args)
{
    vly_error error = VLY_ERROR_INIT;
    validation v = {.result = {.struct_size = sizeof v.result}};
    int code;
    vly_status status = prepare(&v, args, &error);
    if (status == VLY_OK)
        status = execute(&v, args, &error);
    if (status == VLY_E_STOPPED) {
        tool_message("stopped by a signal; no difference so far");
        print_compared(&v);
        code = TOOL_EXIT_STOPPED;
    } else if (status != VLY_OK) {
        code = tool_fail(&error);
    } else {
        code = report(&v);
    }
    for (uint32_t i = 0; i < v.n; i++)
        vly_net_destroy(v.nets[i]);
    tool_build_deinit(&v.build);
    vly_registry_destroy(v.registry);
    vly_free(v.list);
    return code;
}

const tool_command cmd_validate = {
    .name = "validate",
    .arguments = "GENOME.toml --backends A,B[,C] [options]",
    .summary = "Compares backends burst by burst: 0 identical, 1 differs.",
    .details = "On a difference it prints the first burst, neuron and field "
               "that differ, and\nboth values in hex.\n",
    .options = options,
    .n_positional_min = 1,
    .n_positional_max = 1,
    .run = run};
