/* SPDX-License-Identifier: Apache-2.0
 * Synapses of a table, many rows at once: see edge_block.h. A loop for each
 * column, without a branch for each value, is faster than a loop over rows.
 */
#include "genome/edge_block.h"

/* Indices below limit, as 32 bits; false: another one, or another type. */
static bool take_ids(const vly_table_column *column, uint64_t first, uint32_t n,
                     uint32_t limit, uint32_t *out)
{
    uint32_t bad = 0;
    if (column->type == VLY_COLUMN_I64 || column->type == VLY_COLUMN_U64) {
        /* negative ones are large */
        const uint64_t *ids = (const uint64_t *)column->data + first;
        for (uint32_t i = 0; i < n; i++) {
            bad |= ids[i] >= limit;
            out[i] = (uint32_t)ids[i];
        }
        return !bad;
    }
    if (column->type != VLY_COLUMN_I32 && column->type != VLY_COLUMN_U32)
        return false;
    const uint32_t *ids = (const uint32_t *)column->data + first;
    for (uint32_t i = 0; i < n; i++) {
        bad |= ids[i] >= limit;
        out[i] = ids[i];
    }
    return !bad;
}

static bool has_own_target(const uint32_t *source, const uint32_t *target,
                           uint32_t n)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < n; i++)
        found |= source[i] == target[i];
    return found;
}

static bool weights_fit(const double *weight, uint32_t n, double most)
{
    uint32_t bad = 0;
    for (uint32_t i = 0; i < n; i++)
        bad |= !(weight[i] >= -most && weight[i] <= most);
    return !bad;
}

static bool take_delays(vly_edge_maker *maker, const double *delay, uint32_t n)
{
    char sentence[VLY_EDGE_SENTENCE];
    const uint64_t n_rounded = maker->n_rounded;
    uint32_t *out = maker->delay + maker->n;
    for (uint32_t i = 0; i < n; i++) {
        out[i] = vly_edge_delay(maker, delay[i], sentence);
        if (!out[i]) { /* they are read again, and counted then */
            maker->n_rounded = n_rounded;
            return false;
        }
    }
    return true;
}

/* Whether an edge comes before its predecessor, from edge `first` on. */
static bool has_step_back(const vly_edge_maker *maker, uint64_t first,
                          uint64_t n)
{
    const uint32_t *source = maker->source;
    const uint32_t *target = maker->target;
    uint32_t found = 0;
    for (uint64_t i = first ? first : 1; i < first + n; i++)
        found |= source[i - 1] > source[i] ||
                 (source[i - 1] == source[i] && target[i - 1] > target[i]);
    return found;
}

static bool add_block(vly_edge_maker *maker, const vly_table *table,
                      const uint32_t fields[VLY_EDGE_PARTS], uint64_t first,
                      uint32_t n)
{
    const vly_edge_spec *spec = maker->spec;
    const vly_table_column *columns = table->columns;
    uint32_t *source = maker->source + maker->n;
    uint32_t *target = maker->target + maker->n;
    if (!take_ids(&columns[fields[VLY_EDGE_SOURCE]], first, n,
                  spec->from->n_neurons, source) ||
        !take_ids(&columns[fields[VLY_EDGE_TARGET]], first, n,
                  spec->to->n_neurons, target))
        return false;
    if (spec->from == spec->to && !spec->self &&
        has_own_target(source, target, n))
        return false;
    if (maker->has_weight &&
        !weights_fit(maker->lent + first, n, vly_edge_weight_most(spec)))
        return false;
    if (maker->has_delay &&
        !take_delays(
            maker, (const double *)columns[fields[VLY_EDGE_DELAY]].data + first,
            n))
        return false;
    if (!maker->unsorted)
        maker->unsorted = has_step_back(maker, maker->n, n);
    maker->n += n;
    return true;
}

uint64_t vly_edges_add_block(vly_edge_maker *maker, const vly_table *table,
                             const uint32_t fields[VLY_EDGE_PARTS],
                             uint64_t first)
{
    uint64_t row = first;
    /* FEAGI's weights are whole numbers */
    if (maker->capacity < table->n_rows || !maker->counted ||
        (maker->has_weight &&
         (!maker->lent || maker->spec->to->model->flags & VLY_AREA_FEAGI)) ||
        (maker->has_delay &&
         table->columns[fields[VLY_EDGE_DELAY]].type != VLY_COLUMN_F64))
        return 0;
    while (row < table->n_rows) {
        const uint64_t left = table->n_rows - row;
        const uint32_t n =
            left < VLY_EDGE_BLOCK ? (uint32_t)left : VLY_EDGE_BLOCK;
        if (!add_block(maker, table, fields, row, n))
            break;
        row += n;
    }
    return row - first;
}
