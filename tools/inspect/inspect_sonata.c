/* SPDX-License-Identifier: Apache-2.0
 * SONATA files, ours and those of other programs: populations of spikes, of
 * samples and of edges, with counts and times.
 */
#include <volley/record.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "tools/cli/tool.h"
#include "tools/inspect/inspect_file.h"

/* A population while it is read; printed once the next one begins. */
typedef struct sonata_seen {
    bool begun;
    bool report;
    char name[200];
    char units[60];
    uint64_t n; /* spikes, or rows */
    uint32_t n_columns;
    double step_ms;
    double first; /* ms */
    double last;
    double low; /* node of a spike, value of a sample */
    double high;
} sonata_seen;

static int want_all(void *context, const char *name)
{
    (void)context;
    (void)name;
    return 1;
}

static int want_node(void *context, const char *name, uint64_t node)
{
    (void)context;
    (void)name;
    (void)node;
    return 1;
}

static void print_seen(sonata_seen *seen)
{
    tool_plain_text name;
    tool_plain_text units;
    if (!seen->begun)
        return;
    tool_print("population %s: ", tool_plain(seen->name, &name));
    if (!seen->report)
        tool_print("%s spikes", tool_thousands(seen->n));
    else
        tool_print("%s samples of %u columns, every %.9g ms",
                   tool_thousands(seen->n), seen->n_columns, seen->step_ms);
    if (seen->n > 0)
        tool_print(", %.9g to %.9g ms", seen->first, seen->last);
    if (seen->n > 0 && !seen->report)
        tool_print(", nodes %.0f to %.0f", seen->low, seen->high);
    if (seen->n > 0 && seen->report && seen->n_columns > 0)
        tool_print(", values %.6g to %.6g", seen->low, seen->high);
    if (seen->report && seen->units[0] != '\0')
        tool_print(", in %s", tool_plain(seen->units, &units));
    tool_print("\n");
    seen->begun = false;
}

static void begin(sonata_seen *seen, const char *name)
{
    print_seen(seen);
    *seen = (sonata_seen){.begun = true,
                          .first = HUGE_VAL,
                          .last = -HUGE_VAL,
                          .low = HUGE_VAL,
                          .high = -HUGE_VAL};
    snprintf(seen->name, sizeof seen->name, "%s", name);
}

static vly_status take_population(void *context, const char *name,
                                  vly_error *error)
{
    (void)error;
    begin(context, name);
    return VLY_OK;
}

static vly_status take_spikes(void *context, uint64_t first, uint32_t n,
                              const double *times_ms, const uint64_t *nodes,
                              vly_error *error)
{
    sonata_seen *seen = context;
    (void)first;
    (void)error;
    seen->n += n;
    for (uint32_t i = 0; i < n; i++) {
        seen->first = fmin(seen->first, times_ms[i]);
        seen->last = fmax(seen->last, times_ms[i]);
        seen->low = fmin(seen->low, (double)nodes[i]);
        seen->high = fmax(seen->high, (double)nodes[i]);
    }
    return VLY_OK;
}

static vly_status take_report(void *context, const vly_sonata_report *report,
                              vly_error *error)
{
    sonata_seen *seen = context;
    (void)error;
    begin(seen, report->population);
    seen->report = true;
    seen->n_columns = report->n_columns;
    seen->step_ms = report->step_ms;
    seen->first = report->start_ms;
    snprintf(seen->units, sizeof seen->units, "%s", report->units);
    return VLY_OK;
}

static vly_status take_rows(void *context, uint64_t first, uint32_t n_rows,
                            const double *values, vly_error *error)
{
    sonata_seen *seen = context;
    (void)first;
    (void)error;
    seen->n += n_rows;
    seen->last = seen->first + (double)(seen->n - 1) * seen->step_ms;
    for (uint64_t i = 0; i < (uint64_t)n_rows * seen->n_columns; i++) {
        seen->low = fmin(seen->low, values[i]);
        seen->high = fmax(seen->high, values[i]);
    }
    return VLY_OK;
}

/* "A population of edges: ..." as lines, after the head of the file. */
typedef struct edges_seen {
    uint32_t n;
} edges_seen;

static vly_status take_edges(void *context, const vly_edges_about *edges)
{
    edges_seen *seen = context;
    tool_plain_text name;
    if (seen->n++ == 0)
        tool_print("synapses (SONATA edges)\n");
    tool_print("population %s: %s edges", tool_plain(edges->population, &name),
               tool_thousands(edges->n));
    if (edges->n_groups > 1)
        tool_print(", %u edge groups, of which one can be read",
                   edges->n_groups);
    tool_print("%s%s%s%s\n", edges->weight ? ", syn_weight" : "",
               edges->delay ? ", delay" : "", edges->nsyns ? ", nsyns" : "",
               edges->types ? ", edge_type_id" : "");
    return VLY_OK;
}

static vly_status print_recording(const char *path, bool report,
                                  vly_error *error)
{
    sonata_seen seen = {0};
    int more = 0;
    const vly_sonata_want want = {.struct_size = sizeof want,
                                  .context = &seen,
                                  .population = want_all,
                                  .node = want_node,
                                  .n_columns_max = VLY_SONATA_COLUMNS};
    const vly_sonata_take take = {.struct_size = sizeof take,
                                  .context = &seen,
                                  .population = take_population,
                                  .spikes = take_spikes,
                                  .report = take_report,
                                  .rows = take_rows};
    tool_print("%s\n", report ? "samples of a field (SONATA report)"
                              : "recording of spikes (SONATA)");
    vly_status status = VLY_OK;
    VLY_TRY(report ? vly_sonata_read_report(path, &want, &take, &more, error)
                   : vly_sonata_read_spikes(path, &want, &take, error));
    print_seen(&seen);
    if (more)
        tool_print("and more columns than the first %u, which were looked at\n",
                   VLY_SONATA_COLUMNS);
out:
    return status;
}

vly_status inspect_sonata(const char *path, vly_error *error)
{
    vly_sonata_about about = {.struct_size = sizeof about};
    edges_seen seen = {0};
    vly_status status =
        vly_sonata_describe(path, &about, take_edges, &seen, error);
    if (status != VLY_OK)
        return status;
    if (!about.spikes && !about.report && !about.edges && !about.mean &&
        !about.nodes)
        return vly_fail(error, VLY_E_PARSE,
                        "%s: an HDF5 file without the groups spikes, "
                        "report, edges, nodes and mean, wanted one of them",
                        path);
    if (about.edges && seen.n == 0)
        tool_print("synapses (SONATA edges): no population\n");
    if (about.nodes)
        tool_print("nodes (SONATA): parameters of neurons, see volley doc "
                   "value\n");
    if (about.mean)
        tool_print("means of neurons, of a [[record]] of rates: /mean/AREA\n");
    if (about.spikes)
        VLY_TRY(print_recording(path, false, error));
    if (about.report)
        VLY_TRY(print_recording(path, true, error));
out:
    return status;
}
