/* SPDX-License-Identifier: Apache-2.0
 * volley plot: pictures of a run and of a genome.
 */
#include "tools/cli/commands.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "genome/genome_value.h"
#include "tools/cli/check_size.h"
#include "tools/cli/output_apart.h"
#include "tools/cli/setup.h"
#include "tools/cli/tool.h"
#include "tools/plot/plot.h"
#include "tools/plot/plot_options.h"
#include "tools/plot/plot_process.h"
#include "tools/plot/plot_traces.h"
#include "tools/plot/plot_weights.h"

typedef enum plot_kind {
    KIND_RASTER,
    KIND_RATE,
    KIND_HISTOGRAMS,
    KIND_VOXELS,
    KIND_TRACES,
    KIND_WEIGHTS,
    KIND_MATRIX,
    KINDS
} plot_kind;

static const char *const kind_names[KINDS] = {
    "raster", "rate", "histograms", "voxels", "traces", "weights", "matrix"};

static const char *kind_name(const void *context, uint32_t k)
{
    (void)context;
    return k < KINDS ? kind_names[k] : NULL;
}

/* KINDS: unknown kind; the message was printed. */
static plot_kind kind_of(const char *name)
{
    for (uint32_t k = 0; k < KINDS; k++)
        if (strcmp(name, kind_names[k]) == 0)
            return (plot_kind)k;
    const char *near = tool_nearest(name, kind_name, NULL);
    tool_message("no picture \"%s\"%s%s, wanted raster, rate, histograms, "
                 "voxels, traces, weights or matrix",
                 name, near ? "; did you mean " : "", near ? near : "");
    return KINDS;
}

/* Input of one picture; only is a frame, or UINT32_MAX. */
typedef struct spikes_drawing {
    plot_kind kind;
    const plot_data *data;
    const tool_args *args;
    uint32_t only;
} spikes_drawing;

static vly_status draw_spikes(plot_figure *figure, void *context,
                              vly_error *error)
{
    const spikes_drawing *of = context;
    const uint32_t n_frames = (uint32_t)tool_count(of->args, "frames", 1);
    if (of->kind == KIND_RASTER)
        return plot_raster(figure, of->data, error);
    if (of->kind == KIND_RATE)
        return plot_rate(figure, of->data, tool_number(of->args, "bin", 5),
                         error);
    if (of->kind == KIND_HISTOGRAMS)
        return plot_histograms(figure, of->data, error);
    return plot_voxels(figure, of->data, n_frames, of->only, error);
}

/* Inputs that a picture must not replace: the data and the genome with the
 * names of areas. */
static vly_status check_apart(const tool_args *args, const char *path,
                              vly_error *error)
{
    const char *input = args->positional[1];
    vly_status status = VLY_OK;
    VLY_TRY(output_apart(path, input, "what is drawn", error));
    VLY_TRY(output_apart(path, tool_text(args, "genome"), "the genome", error));
    status = output_apart_folder(path, input, "a file of the run", error);
out:
    return status;
}

/* Default sizes in inches. */
static vly_status draw_file(const tool_args *args, const char *path,
                            double width, double height, plot_draw draw,
                            void *context, vly_error *error)
{
    const plot_page page = {.path = path,
                            .width = 72 * tool_number(args, "width", width),
                            .height = 72 * tool_number(args, "height", height),
                            .dpi = tool_number(args, "dpi", 200)};
    vly_status status = check_apart(args, path, error);
    if (status == VLY_OK)
        status = plot_process(&page, draw, context, error);
    if (status == VLY_OK)
        tool_print("%s\n", path);
    return status;
}

static vly_status draw_one(plot_kind kind, const plot_data *data,
                           const tool_args *args, const char *path,
                           uint32_t only, vly_error *error)
{
    spikes_drawing of = {
        .kind = kind, .data = data, .args = args, .only = only};
    return draw_file(args, path, 7, 4.5, draw_spikes, &of, error);
}

/* With '#' in the name of the file, a file a frame: '#'s become its number. */
static vly_status draw_frames(plot_kind kind, const plot_data *data,
                              const tool_args *args, const char *path,
                              vly_error *error)
{
    const char *hash = strrchr(path, '#');
    const uint32_t n = (uint32_t)tool_count(args, "frames", 1);
    int digits = 0;
    if (kind != KIND_VOXELS || !hash)
        return draw_one(kind, data, args, path, UINT32_MAX, error);
    while (hash > path && hash[-1] == '#')
        hash--;
    while (hash[digits] == '#')
        digits++;
    for (uint32_t f = 0; f < n && !tool_signals_stopped(); f++) {
        char *name = vly_format("%.*s%0*u%s", (int)(hash - path), path, digits,
                                f, hash + digits);
        if (!name)
            return vly_fail_nomem(error, strlen(path), "a path");
        vly_status status = draw_one(kind, data, args, name, f, error);
        vly_free(name);
        if (status != VLY_OK)
            return status;
    }
    return VLY_OK;
}

/* The part of a stream before its damage is drawn, and the damage is an
 * error. */
static vly_status told_damage(const vly_error *damage, vly_error *error)
{
    if (damage->status != VLY_OK)
        *error = *damage;
    return damage->status;
}

/* Prints a note if the width of the drawn bins differs from the requested one.
 */
static void note_bin(const plot_data *data, double bin_ms)
{
    const double drawn_ms = plot_bin_ms(data, bin_ms);
    if (vly_value_off_grid(bin_ms, data->dt_ms) || drawn_ms < 0.999999 * bin_ms)
        tool_message("note: --bin is %g ms, drawn are bins of %g ms: whole "
                     "bursts of %g ms, at most all that is drawn",
                     bin_ms, drawn_ms, data->dt_ms);
}

static vly_status plot_run(plot_kind kind, const tool_args *args,
                           const char *path, vly_error *error)
{
    plot_data data;
    vly_status status = plot_data_init(&data, args, args->positional[1], error);
    if (status == VLY_OK && tool_text(args, "title")) {
        vly_free(data.title);
        data.title = vly_format("%s", tool_text(args, "title"));
        if (!data.title)
            status = vly_fail_nomem(error, 0, "a title");
    }
    if (status == VLY_OK && kind == KIND_RATE && tool_has(args, "bin"))
        note_bin(&data, tool_number(args, "bin", 5));
    if (status == VLY_OK)
        status = draw_frames(kind, &data, args, path, error);
    if (status == VLY_OK)
        status = told_damage(&data.damage, error);
    plot_data_deinit(&data);
    return status;
}

/* Compiling so many takes about a second; for more, expected numbers are
 * shown. */
static const double build_synapses_max = 2e7;

typedef struct matrix_drawing {
    const vly_genome *genome;
    const vly_connectome *built;
    plot_matrix_value value;
} matrix_drawing;

static vly_status draw_matrix(plot_figure *figure, void *context,
                              vly_error *error)
{
    const matrix_drawing *of = context;
    return plot_matrix(figure, of->genome, of->built, of->value, error);
}

static vly_status plot_genome(const tool_args *args, const char *path,
                              vly_error *error)
{
    static const char *const values[] = {"in_degree", "synapses",
                                         "probability"};
    const char *asked = tool_text(args, "value");
    matrix_drawing of = {.value = PLOT_IN_DEGREE};
    tool_overrides overrides = {0};
    vly_genome *genome = NULL;
    vly_connectome *built = NULL;
    check_size size;
    char *resolved = NULL;
    const char *from = args->positional[1];
    vly_status status = VLY_OK;
    for (uint32_t v = 0; v < PLOT_MATRIX_VALUES; v++)
        if (asked && strcmp(asked, values[v]) == 0)
            of.value = (plot_matrix_value)v;
    VLY_TRY(tool_overrides_init(args, &overrides, error));
    /* a run's folder has its genome */
    resolved = vly_format("%s/genome.resolved.toml", args->positional[1]);
    if (resolved && access(resolved, R_OK) == 0)
        from = resolved;
    VLY_TRY(
        tool_genome_load(from, overrides.list, overrides.n, &genome, error));
    VLY_TRY(output_apart_genome(path, genome, error));
    check_size_of(genome, &size);
    if (size.synapses <= build_synapses_max)
        VLY_TRY(
            vly_connectome_build(genome, tool_threads(args), &built, error));
    of.genome = genome;
    of.built = built;
    status = draw_file(args, path, 5.2, 4.5, draw_matrix, &of, error);
out:
    vly_connectome_destroy(built);
    vly_genome_destroy(genome);
    tool_overrides_deinit(&overrides);
    vly_free(resolved);
    return status;
}

typedef struct traces_drawing {
    const plot_traces *traces;
    const char *title;
} traces_drawing;

static vly_status draw_traces(plot_figure *figure, void *context,
                              vly_error *error)
{
    const traces_drawing *of = context;
    return plot_traces_draw(figure, of->traces, of->title, error);
}

static vly_status plot_fields(const tool_args *args, const char *path,
                              vly_error *error)
{
    plot_traces traces;
    traces_drawing of = {.traces = &traces, .title = tool_text(args, "title")};
    vly_status status =
        plot_traces_init(&traces, args, args->positional[1], error);
    /* room for the largest possible number */
    if (status == VLY_OK)
        status =
            draw_file(args, path, 7, fmax(4.5, 0.9 + 0.55 * traces.n_traces),
                      draw_traces, &of, error);
    if (status == VLY_OK)
        status = told_damage(&traces.damage, error);
    plot_traces_deinit(&traces);
    return status;
}

typedef struct weights_drawing {
    const plot_weights *weights;
    const char *title;
} weights_drawing;

static vly_status draw_weights(plot_figure *figure, void *context,
                               vly_error *error)
{
    const weights_drawing *of = context;
    return plot_weights_draw(figure, of->weights, of->title, error);
}

static vly_status plot_table(const tool_args *args, const char *path,
                             vly_error *error)
{
    plot_weights weights;
    weights_drawing of = {&weights, tool_text(args, "title")};
    vly_status status =
        plot_weights_init(&weights, args, args->positional[1], error);
    if (status == VLY_OK)
        status = draw_file(args, path, 7, 3.5, draw_weights, &of, error);
    plot_weights_deinit(&weights);
    return status;
}

static int run(const tool_args *args)
{
    vly_error error = VLY_ERROR_INIT;
    vly_status status = VLY_OK;
    char name[32];
    const plot_kind kind = kind_of(args->positional[0]);
    const char *path = tool_text(args, "output");
    if (kind == KINDS)
        return TOOL_EXIT_WRONG;
    snprintf(name, sizeof name, "%s.png", kind_names[kind]);
    path = path ? path : name;
    if (tool_number(args, "from", 0) >= tool_number(args, "to", 1e300)) {
        tool_message("--from %g is not before --to %g",
                     tool_number(args, "from", 0), tool_number(args, "to", 0));
        return TOOL_EXIT_WRONG;
    }
    if (kind == KIND_MATRIX)
        status = plot_genome(args, path, &error);
    else if (kind == KIND_WEIGHTS)
        status = plot_table(args, path, &error);
    else if (kind == KIND_TRACES)
        status = plot_fields(args, path, &error);
    else
        status = plot_run(kind, args, path, &error);
    return status != VLY_OK ? tool_fail(&error) : TOOL_EXIT_DONE;
}

const tool_command cmd_plot = {
    .name = "plot",
    .arguments = PLOT_ARGUMENTS,
    .summary = "Draws pictures of a run or a genome, PNG or SVG.",
    .details =
        "KIND is one of:\n"
        "  raster      every spike, coloured by area, and the areas' rates\n"
        "  rate        rate of each area over time\n"
        "  histograms  inter-spike intervals, and rates of neurons\n"
        "  voxels      activity of an area of voxels; --frames 12 for twelve\n"
        "              maps, and with -o map-###.png a file for each\n"
        "  traces      samples of a field, such as membrane potentials\n"
        "  weights     weights of a map that learns: single synapses over "
        "time, and\n"
        "              their spread; INPUT is a table of weights\n"
        "  matrix      synapses between areas; INPUT is a genome,\n"
        "              or a folder of a run\n"
        "INPUT is otherwise a folder of `volley run -o`, or a recording: CSV, "
        ".vls, or SONATA,\nalso one of another program.\n",
    .options = plot_options,
    .n_positional_min = 2,
    .n_positional_max = 2,
    .run = run};
