/* SPDX-License-Identifier: Apache-2.0
 * Synapses from comma-separated text, with the columns of edge_columns.c.
 */
#include <string.h>

#include "genome/csv_reader.h"
#include "genome/edge_columns.h"
#include "genome/edge_list.h"

/* ---- columns ------------------------------------------------------------ */

/* Shows a name in a message only if the line has a column source or target, or
 * begins with one (separated by semicolons): the first line of a file that is
 * not a table of synapses is not shown. */
static vly_status not_ours(vly_csv *csv, uint32_t field)
{
    const char *name = csv->names[field];
    const bool is_ours = vly_csv_column(csv, "source") < csv->n_fields ||
                         vly_csv_column(csv, "target") < csv->n_fields ||
                         strncmp(name, "source", 6) == 0 ||
                         strncmp(name, "target", 6) == 0;
    if (is_ours)
        return vly_csv_fail(csv, field,
                            "column %.40s, wanted source, target, weight and "
                            "delay, separated by commas",
                            name);
    return vly_csv_fail(csv, field,
                        "column %u has another name, wanted source, target, "
                        "weight and delay, separated by commas",
                        field + 1);
}

static vly_status find_columns(vly_csv *csv, const vly_edge_spec *spec,
                               uint32_t fields[VLY_EDGE_PARTS])
{
    char sentence[VLY_EDGE_SENTENCE];
    uint32_t wrong = 0;
    if (vly_edge_columns_find(spec, (const char *const *)csv->names,
                              csv->n_fields, fields, &wrong, sentence))
        return VLY_OK;
    if (!*sentence)
        return not_ours(csv, wrong);
    return vly_csv_fail(csv, wrong, "%s", sentence);
}

/* ---- lines -------------------------------------------------------------- */

static vly_status read_line(vly_csv *csv, const uint32_t fields[VLY_EDGE_PARTS],
                            vly_edge_maker *maker)
{
    vly_status status;
    vly_edge edge = {.place = csv->line};
    vly_edge_part wrong;
    char sentence[VLY_EDGE_SENTENCE];
    VLY_TRY(vly_csv_index(csv, fields[VLY_EDGE_SOURCE],
                          maker->spec->from->n_neurons, &edge.source));
    VLY_TRY(vly_csv_index(csv, fields[VLY_EDGE_TARGET],
                          maker->spec->to->n_neurons, &edge.target));
    if (maker->has_weight)
        VLY_TRY(vly_csv_number(csv, fields[VLY_EDGE_WEIGHT], &edge.weight));
    if (maker->has_delay)
        VLY_TRY(vly_csv_number(csv, fields[VLY_EDGE_DELAY], &edge.delay));
    VLY_TRY(vly_edges_add(maker, &edge, &wrong, sentence));
    if (wrong != VLY_EDGE_PARTS)
        VLY_TRY(vly_csv_fail(csv, fields[wrong], "%s", sentence));
out:
    return status;
}

vly_status vly_edges_from_table(FILE *file, const char *name,
                                const vly_edge_spec *spec, vly_edge_list **list,
                                vly_error *error)
{
    vly_status status;
    vly_csv csv;
    vly_edge_maker maker;
    uint32_t fields[VLY_EDGE_PARTS];
    bool more = true;
    uint64_t twice = 0;
    vly_edges_init(&maker, spec, error);
    VLY_TRY(vly_csv_init(&csv, file, name, error));
    VLY_TRY(find_columns(&csv, spec, fields));
    csv.is_ours = true;
    maker.has_weight = fields[VLY_EDGE_WEIGHT] < csv.n_fields;
    maker.has_delay = fields[VLY_EDGE_DELAY] < csv.n_fields;
    maker.delay_bursts =
        maker.has_delay &&
        vly_edge_column_bursts(csv.names[fields[VLY_EDGE_DELAY]]);
    for (;;) {
        VLY_TRY(vly_csv_next(&csv, &more));
        if (!more)
            break;
        VLY_TRY(read_line(&csv, fields, &maker));
    }
    VLY_TRY(vly_edges_finish(&maker, &twice, list));
    if (twice) {
        csv.line = twice;
        VLY_TRY(vly_csv_fail(&csv, csv.n_fields,
                             "the second synapse from this source to this "
                             "target, wanted one, or multiple = true in the "
                             "map"));
    }
out:
    vly_csv_deinit(&csv);
    vly_edges_deinit(&maker);
    return status;
}
