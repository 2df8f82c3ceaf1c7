/* SPDX-License-Identifier: Apache-2.0
 * Any bytes as a recording for pictures, a table or a stream; the first byte
 * chooses the picture. The data is read, and of some inputs the picture is
 * drawn, small.
 */
#include "fuzz_support.h"

#include "tools/cli/commands.h"
#include "tools/cli/options.h"
#include "tools/cli/tool.h"
#include "tools/plot/plot_data.h"
#include "tools/plot/plot_traces.h"

static char input[128];
static char picture[128];

static void check_data(const tool_args *args)
{
    plot_data data;
    vly_error error = VLY_ERROR_INIT;
    const vly_status status = plot_data_init(&data, args, input, &error);
    if (status != VLY_OK)
        demand_sentence(status, &error);
    for (uint64_t i = 0; status == VLY_OK && i < data.n_spikes; i++) {
        demand(data.neurons[i] < data.n_neurons,
               "a neuron that does not exist");
        demand(i == 0 || data.bursts[i - 1] <= data.bursts[i],
               "bursts that do not ascend");
        demand(data.bursts[i] >= data.begin && data.bursts[i] < data.end,
               "a burst outside of what is shown");
    }
    plot_data_deinit(&data);
}

static void check_traces(const tool_args *args)
{
    plot_traces traces;
    vly_error error = VLY_ERROR_INIT;
    memset(&traces, 0, sizeof traces);
    const vly_status status = plot_traces_init(&traces, args, input, &error);
    if (status != VLY_OK)
        demand_sentence(status, &error);
    demand(traces.n_traces <= PLOT_TRACES_MAX, "more traces than there are");
    plot_traces_deinit(&traces);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char *const kinds[] = {"raster", "rate", "histograms", "voxels",
                                  "traces"};
    const uint64_t live = vly_memory_live();
    tool_args args;
    if (size == 0)
        return 0;
    if (fuzz_folder[0] == '\0') {
        fuzz_folder_make();
        fuzz_path("input", input, sizeof input);
        fuzz_path("picture.svg", picture, sizeof picture);
    }
    fuzz_write("input", data + 1, size - 1);
    char words[][16] = {"volley",   "plot", "-o",    "--width", "1",
                        "--height", "1",    "--bin", "5"};
    char *argv[] = {words[0], words[1], kinds[data[0] % 5], input,
                    words[2], picture,  words[3],           words[4],
                    words[5], words[6], words[7],           words[8],
                    NULL};
    demand(tool_args_parse(&cmd_plot, 12, argv, 2, &args), "a line");
    if (data[0] % 5 == 4)
        check_traces(&args);
    else
        check_data(&args);
    if (data[0] >= 240) { /* a picture takes a millisecond */
        const int code = cmd_plot.run(&args);
        demand(code == 0 || code == 2 || code == 4 || code == 5,
               "its exit code");
    }
    tool_args_deinit(&args);
    demand(vly_memory_live() == live, "blocks of memory are left");
    return 0;
}
