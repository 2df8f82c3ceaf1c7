/* SPDX-License-Identifier: Apache-2.0
 * Spikes of a SONATA file, ours or another program's: several populations, in
 * any order, without a burst's length. They are collected, sorted, and counted
 * in bursts.
 */
#include "tools/plot/plot_rows.h"

#include <volley/record.h>

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/number.h"
#include "tools/cli/tool.h"

/* Some programs do not number from 0 in each population: with ids above this
 * limit, pictures with counts per neuron would fill the memory. */
static const uint64_t ids_max = UINT64_C(1) << 28;

typedef struct sonata_spike {
    double at; /* ms, then bursts */
    uint32_t area;
    uint32_t neuron;
} sonata_spike;

typedef struct sonata_spikes {
    plot_data *data;
    const plot_rows *rows;
    const char *path;
    sonata_spike *spikes; /* [n] */
    uint64_t n;
    uint64_t capacity;
    uint32_t area;  /* area of the present population; UINT32_MAX: not wanted */
    double last_ms; /* of any population: the picture ends there */
} sonata_spikes;

bool plot_is_population(const char *area, const char *population)
{
    for (; *area && *population; area++, population++)
        if (*area != *population && !(*area == '/' && *population == '.'))
            return false;
    return *area == *population;
}

const char *plot_population_area(const tool_args *args, const char *population)
{
    const char *one = NULL;
    for (uint32_t k = 0; (one = tool_text_at(args, "area", k)) != NULL; k++)
        if (plot_is_population(one, population))
            return one;
    return tool_text(args, "area") ? NULL : population;
}

/* All populations are read: a picture of one area ends at the end of the
 * recording. */
static int want_population(void *context, const char *name)
{
    (void)context;
    (void)name;
    return 1;
}

static vly_status begin_population(void *context, const char *name,
                                   vly_error *error)
{
    sonata_spikes *of = context;
    plot_data *data = of->data;
    const char *area = plot_population_area(of->rows->args, name);
    if (!area) {
        of->area = UINT32_MAX;
        return VLY_OK;
    }
    for (of->area = 0; of->area < data->n_areas; of->area++)
        if (plot_is_population(data->areas[of->area].name, name))
            return VLY_OK;
    if (data->sizes_known)
        return vly_fail(error, VLY_E_PARSE,
                        "%.300s: /spikes/%s: an area that the genome does not "
                        "have",
                        of->path, name);
    return plot_area_add(data, area, error) ? VLY_OK : VLY_E_NOMEM;
}

static vly_status check_node(sonata_spikes *of, uint64_t index, uint64_t node,
                             vly_error *error)
{
    plot_area *area = &of->data->areas[of->area];
    if (of->data->sizes_known && node >= area->n_neurons)
        return vly_fail(error, VLY_E_PARSE,
                        "%.300s: spikes of %s, number %" PRIu64
                        ": neuron %" PRIu64 ", wanted one of the area's %u",
                        of->path, area->name, index, node, area->n_neurons);
    if (node >= ids_max)
        return vly_fail(error, VLY_E_PARSE,
                        "%.300s: spikes of %s, number %" PRIu64
                        ": neuron %" PRIu64 ", wanted below %" PRIu64
                        ", counted from 0 in each population",
                        of->path, area->name, index, node, ids_max);
    if (!of->data->sizes_known && node >= area->n_neurons)
        area->n_neurons = (uint32_t)node + 1;
    return VLY_OK;
}

/* 2^53 bursts of a thousandth of a ms: the most that a double counts */
#define TIME_MOST_MS 9e12

static vly_status take_spikes(void *context, uint64_t first, uint32_t n,
                              const double *times_ms, const uint64_t *nodes,
                              vly_error *error)
{
    sonata_spikes *of = context;
    vly_status status = VLY_OK;
    for (uint32_t i = 0; i < n; i++)
        if (times_ms[i] < TIME_MOST_MS)
            of->last_ms = fmax(of->last_ms, times_ms[i]);
    if (of->area == UINT32_MAX)
        return VLY_OK;
    if (of->n + n > of->capacity) {
        const uint64_t more = of->capacity > 0 ? 2 * of->capacity : 65536;
        sonata_spike *grown = vly_realloc(of->spikes, more, sizeof *grown);
        if (!grown)
            return vly_fail_nomem(error, more * sizeof *grown, "spikes");
        of->spikes = grown;
        of->capacity = more;
    }
    for (uint32_t i = 0; i < n && status == VLY_OK; i++) {
        if (!(times_ms[i] >= 0 && times_ms[i] < TIME_MOST_MS))
            return vly_fail(error, VLY_E_PARSE,
                            "%.300s: spikes of %s, number %" PRIu64
                            ": time %g ms, wanted 0 to %g",
                            of->path, of->data->areas[of->area].name, first + i,
                            times_ms[i], TIME_MOST_MS);
        status = check_node(of, first + i, nodes[i], error);
        of->spikes[of->n++] =
            (sonata_spike){times_ms[i], of->area, (uint32_t)nodes[i]};
    }
    return status;
}

/* ---- bursts ------------------------------------------------------------- */

/* The half per cent of a step allows for times stored as float32. */
static bool on_grid(double time_ms, double dt_ms)
{
    const double steps = time_ms / dt_ms;
    return fabs(steps - floor(steps + 0.5)) < 0.005 + 1e-6 / dt_ms;
}

static double step_of(const sonata_spikes *of)
{
    static const double steps[] = {1,    0.5,   0.25, 0.2,  0.125, 0.1,
                                   0.05, 0.025, 0.02, 0.01, 0.005, 0.002};
    for (size_t s = 0; s < sizeof steps / sizeof steps[0]; s++) {
        uint64_t i = 0;
        while (i < of->n && on_grid(of->spikes[i].at, steps[s]))
            i++;
        if (i == of->n)
            return steps[s];
    }
    return 0.001;
}

/* The time of a spike is the end of its burst. Other programs have spikes at 0,
 * which are put into the first burst. */
static double burst_of(double time_ms, double dt_ms)
{
    return fmax(floor(time_ms / dt_ms + 0.5) - 1, 0);
}

static void to_bursts(const sonata_spikes *of)
{
    const double dt_ms = of->data->dt_ms;
    uint64_t off = 0;
    for (uint64_t i = 0; i < of->n; i++) {
        off += of->data->sizes_known && !on_grid(of->spikes[i].at, dt_ms);
        of->spikes[i].at = burst_of(of->spikes[i].at, dt_ms);
    }
    if (off > 0)
        tool_message("%s: %s of %s spikes lie between the genome's bursts of "
                     "%g ms; each is shown in the nearest",
                     of->path, tool_thousands(off), tool_thousands(of->n),
                     dt_ms);
}

static int by_burst(const void *a, const void *b)
{
    const sonata_spike *x = a;
    const sonata_spike *y = b;
    if (x->at < y->at || x->at > y->at)
        return x->at < y->at ? -1 : 1;
    if (x->area != y->area)
        return x->area < y->area ? -1 : 1;
    return (x->neuron > y->neuron) - (x->neuron < y->neuron);
}

static vly_status keep(const sonata_spikes *of, plot_rows *rows,
                       vly_error *error)
{
    vly_status status = VLY_OK;
    for (uint64_t i = 0; i < of->n && status == VLY_OK; i++)
        status =
            plot_rows_keep(of->data, rows, vly_count_of(of->spikes[i].at),
                           of->spikes[i].area, of->spikes[i].neuron, error);
    rows->any = of->last_ms >= 0;
    if (rows->any)
        rows->last = vly_count_of(burst_of(of->last_ms, of->data->dt_ms));
    return status;
}

vly_status plot_rows_sonata(plot_data *data, plot_rows *rows, const char *path,
                            vly_error *error)
{
    sonata_spikes of = {
        .data = data, .rows = rows, .path = path, .last_ms = -1};
    const vly_sonata_want want = {.struct_size = sizeof want,
                                  .context = &of,
                                  .population = want_population};
    const vly_sonata_take take = {.struct_size = sizeof take,
                                  .context = &of,
                                  .population = begin_population,
                                  .spikes = take_spikes};
    vly_status status = VLY_OK;
    VLY_TRY(vly_sonata_read_spikes(path, &want, &take, error));
    if (!(data->dt_ms > 0))
        data->dt_ms = step_of(&of);
    to_bursts(&of);
    if (of.n > 0)
        qsort(of.spikes, of.n, sizeof *of.spikes, by_burst);
    status = keep(&of, rows, error);
out:
    vly_free(of.spikes);
    return status;
}
