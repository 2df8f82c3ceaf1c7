/* SPDX-License-Identifier: Apache-2.0
 * Any bytes as the files of a run's folder and of a sweep's point, cut at the
 * bytes 0x1e: manifest.json, summary.json, log.jsonl, monitor.jsonl,
 * telemetry.jsonl; an empty one is not there. What a run left is printed
 * (status, report), shown, and found by a sweep, or refused with a sentence.
 */
#include "fuzz_support.h"

#include <sys/stat.h>

#include "tools/cli/commands.h"
#include "tools/cli/options.h"
#include "tools/cli/tool.h"
#include "tools/monitor/monitor_commands.h"
#include "tools/plot/plot_data.h"
#include "tools/run/folder_state.h"
#include "tools/sweep/sweep.h"

static const char *const names[] = {"manifest.json", "summary.json",
                                    "log.jsonl", "monitor.jsonl",
                                    "telemetry.jsonl"};
enum { FILES = 5 };

static void write_files(const uint8_t *data, size_t size)
{
    size_t at = 0;
    for (int i = 0; i < FILES; i++) {
        const uint8_t *end =
            at < size ? memchr(data + at, 0x1e, size - at) : NULL;
        const size_t n = at >= size    ? 0
                         : end != NULL ? (size_t)(end - (data + at))
                                       : size - at;
        char path[128];
        fuzz_path(names[i], path, sizeof path);
        if (n > 0)
            fuzz_write(names[i], data + at, n);
        else
            (void)unlink(path);
        if (i == 1 && n > 0)
            fuzz_write("points/p.json", data + at, n);
        at += n + 1;
    }
}

/* command WORDS: its exit code is a documented one. */
static void call(const tool_command *command, char *word, char *option)
{
    char volley[] = "volley";
    char *argv[] = {volley, volley, word, option, NULL};
    tool_args args;
    demand(tool_args_parse(command, option != NULL ? 4 : 3, argv, 2, &args),
           "a line that is refused");
    const int code = command->run(&args);
    demand(code == 0 || code == 1 || code == 2 || code == 4 || code == 5,
           "its exit code");
    tool_args_deinit(&args);
}

static void look_at_point(void)
{
    static sweep_point point = {.name = "p",
                                .genome_hash =
                                    "00112233445566778899aabbccddeeff",
                                .n_bursts = 10};
    const sweep_plan plan = {.folder = fuzz_folder};
    json_value summary = {0};
    if (sweep_point_summary(&plan, &point, &summary))
        json_free(&summary);
}

static void look_at_recording(void)
{
    char *recording = NULL;
    uint64_t n_bursts = 0;
    vly_error error = VLY_ERROR_INIT;
    const vly_status status =
        plot_recording(fuzz_folder, &recording, &n_bursts, &error);
    if (status != VLY_OK)
        demand_sentence(status, &error);
    vly_free(recording);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint64_t live = vly_memory_live();
    folder_end end;
    char json[] = "--json";
    char all[] = "--all";
    if (fuzz_folder[0] == '\0') {
        char path[128];
        fuzz_folder_make();
        fuzz_path("points", path, sizeof path);
        demand(mkdir(path, 0700) == 0, "no folder");
    }
    write_files(data, size);
    demand(folder_end_read(fuzz_folder, &end, NULL) == VLY_OK, "no end");
    call(&cmd_status, fuzz_folder, NULL);
    call(&cmd_status, fuzz_folder, json);
    call(&monitor_report, fuzz_folder, all);
    look_at_point();
    look_at_recording();
    demand(vly_memory_live() == live, "blocks of memory are left");
    return 0;
}
