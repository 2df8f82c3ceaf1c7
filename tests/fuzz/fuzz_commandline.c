/* SPDX-License-Identifier: Apache-2.0
 * Any words behind a command: the first byte chooses it, lines are its words.
 * They are parsed, and what stands in options is read as far as it can be
 * without a run: swaps and settings of a sweep, products, addresses, probes.
 */
#include "fuzz_support.h"

#include "tools/cli/commands.h"
#include "tools/cli/device_limits.h"
#include "tools/cli/setup.h"
#include "tools/inspect/inspect_request.h"
#include "tools/monitor/monitor_commands.h"
#include "tools/run/run_job.h"
#include "tools/run/run_part.h"
#include "tools/sweep/sweep.h"

enum { WORDS_MAX = 64 };

static const tool_command *const commands[] = {
#define ENTRY(name) &cmd_##name,
    TOOL_COMMANDS(ENTRY)
#undef ENTRY
        NULL};

/* What the command has loaded before it reads the options that need a genome;
 * the same for all inputs. */
static vly_genome *loaded_genome(void)
{
    static const char text[] = "format = 1\n[run]\ndt_ms = 0.1\nms = 100\n"
                               "[area.A]\nmodel = \"lif_psc_delta\"\n"
                               "neurons = 3\n";
    static vly_genome *genome;
    vly_error error = VLY_ERROR_INIT;
    if (genome == NULL)
        demand(vly_genome_parse(text, sizeof text - 1, "net.toml", NULL, 0,
                                &genome, &error) == VLY_OK,
               error.message);
    return genome;
}

/* Options of all parts of a run. */
static void check_run(const tool_args *args)
{
    vly_error error = VLY_ERROR_INIT;
    run_job job;
    if (run_job_init(&job, &error) == VLY_OK) {
        vly_status status = run_parts_read(&job, args, &error);
        if (status != VLY_OK)
            demand_sentence(status, &error);
        job.build.genome = loaded_genome();
        job.plan.n_bursts = 1000;
        status = run_parts_read_more(&job, args, &error);
        if (status != VLY_OK)
            demand_sentence(status, &error);
        job.build.genome = NULL;
    }
    run_job_deinit(&job);
}

static void check_sweep(const tool_args *args)
{
    for (uint32_t i = 0; i < args->n_values; i++) {
        vly_error error = VLY_ERROR_INIT;
        sweep_axis axis = {0};
        const tool_value *value = &args->values[i];
        if (strcmp(value->option->name, "set") != 0)
            continue;
        const vly_status status =
            sweep_values_read("--set", value->text, &axis, &error);
        if (status != VLY_OK)
            demand_sentence(status, &error);
        else
            demand(axis.n > 0 && axis.n <= SWEEP_POINTS_MAX, "so many values");
        sweep_axis_deinit(&axis);
    }
}

static void check_inspect(const tool_args *args)
{
    const char *product = tool_text(args, "product");
    vly_error error = VLY_ERROR_INIT;
    inspect_request request;
    if (product == NULL)
        return;
    const vly_status status = inspect_request_read(product, &request, &error);
    if (status != VLY_OK)
        demand_sentence(status, &error);
}

static bool takes(const tool_command *command, const char *name)
{
    const tool_option *option;
    for (uint32_t k = 0; (option = tool_option_at(command, k)) != NULL; k++)
        if (strcmp(option->name, name) == 0)
            return true;
    return false;
}

static void check(const tool_args *args)
{
    vly_error error = VLY_ERROR_INIT;
    tool_overrides overrides;
    if (args->command == &cmd_run)
        check_run(args);
    if (args->command == &cmd_sweep)
        check_sweep(args);
    if (args->command == &cmd_inspect)
        check_inspect(args);
    if (!takes(args->command, "set") || !takes(args->command, "seed") ||
        args->command == &cmd_sweep)
        return;
    const vly_status status = tool_overrides_init(args, &overrides, &error);
    if (status != VLY_OK)
        demand_sentence(status, &error);
    else
        tool_overrides_deinit(&overrides);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    (void)loaded_genome(); /* its memory is not that of an input */
    const uint64_t live = vly_memory_live();
    char volley[] = "volley";
    char *argv[WORDS_MAX + 2] = {volley, volley};
    int argc = 2;
    tool_args args;
    uint32_t n = 0;
    if (size == 0)
        return 0;
    while (commands[n] != NULL)
        n++;
    const tool_command *command = commands[data[0] % n];
    if (command->subcommands != NULL) {
        uint32_t n_sub = 0;
        while (command->subcommands[n_sub] != NULL)
            n_sub++;
        command = command->subcommands[data[0] / n % n_sub];
    }
    char *text = fuzz_words(data + 1, size - 1, argv, WORDS_MAX + 1, &argc);
    argv[argc] = NULL;
    if (tool_args_parse(command, argc, argv, 2, &args)) {
        demand(args.n_positional <= command->n_positional_max, "so many words");
        check(&args);
    } else {
        demand(args.exit_code == 2 || args.exit_code == 5, "its exit code");
    }
    tool_args_deinit(&args);
    free(text);
    demand(vly_memory_live() == live, "blocks of memory are left");
    return 0;
}
