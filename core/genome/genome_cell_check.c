/* SPDX-License-Identifier: Apache-2.0
 * Checks a cell of a [[map]] after all its keys are read: missing keys, derived
 * values, memory limits.
 */
#include <inttypes.h>

#include "base/number.h"
#include "genome/genome_map.h"
#include "genome/genome_space.h"

/* Cell key and name of each size. */
static const struct {
    vly_cell_key key;
    const char *name;
} sizes[] = {
    [VLY_SIZE_NONE] = {VLY_CELL_KEYS, NULL},
    [VLY_SIZE_P] = {VLY_CELL_P, "p"},
    [VLY_SIZE_COUNT] = {VLY_CELL_COUNT, "count"},
    [VLY_SIZE_IN_DEGREE] = {VLY_CELL_IN_DEGREE, "in_degree"},
    [VLY_SIZE_OUT_DEGREE] = {VLY_CELL_OUT_DEGREE, "out_degree"},
};

const char *vly_rule_size_key(vly_rule rule)
{
    return sizes[vly_rules[rule].size].name;
}

vly_cell_key vly_rule_size_cell(vly_rule rule)
{
    return sizes[vly_rules[rule].size].key;
}

/* K = round(ln(1 - p) / ln(1 - 1 / (Ns Nt))): pairs of neurons, with
 * replacement, that leave a share 1 - p of them unconnected. Source: Potjans
 * and Diesmann 2014, doi:10.1093/cercor/bhs358. */
static vly_status count_from_p(vly_reader *reader, vly_map_cell *cell)
{
    double pairs =
        (double)cell->source->n_neurons * (double)cell->target->n_neurons;
    if (cell->p >= 1 && pairs > 0)
        return vly_reader_fail(reader, cell->node[VLY_CELL_P],
                               "p is 1, wanted less than 1: no number of "
                               "synapses connects all pairs");
    /* Published counts use the plain form in double: it gives 298,880,968
     * synapses for the microcircuit, the exact logarithm 298,880,970. The error
     * of the plain form grows with the number of pairs (6e-8 there), so large
     * areas use log1p. */
    double k = pairs <= 0x1p32
                   ? vly_log(1.0 - cell->p) / vly_log(1.0 - 1.0 / pairs)
                   : vly_log1p(-cell->p) / vly_log1p(-1.0 / pairs);
    k = pairs > 0 ? vly_floor(k + 0.5) : 0;
    if (!(k <= (double)VLY_SYNAPSES_MAX))
        return vly_reader_fail(reader, cell->node[VLY_CELL_P],
                               "p makes more than 2^40 synapses, wanted less");
    cell->count = k > 0 ? (uint64_t)k : 0;
    cell->origin[VLY_CELL_COUNT] = cell->origin[VLY_CELL_P];
    cell->node[VLY_CELL_COUNT] = cell->node[VLY_CELL_P];
    cell->has[VLY_CELL_COUNT] = true;
    cell->has[VLY_CELL_P] = false;
    return VLY_OK;
}

static vly_status finish_cell(vly_reader *reader, vly_map_entry *map,
                              vly_map_cell *cell)
{
    const char *wanted = vly_rule_size_key(map->rule);
    const vly_area *to = &reader->genome->areas[cell->to];
    const char *names[] = {cell->source->name, cell->target->name};
    bool sized = !wanted || cell->has[VLY_CELL_P] ||
                 cell->has[VLY_CELL_COUNT] || cell->has[VLY_CELL_IN_DEGREE] ||
                 cell->has[VLY_CELL_OUT_DEGREE];
    const char *suffix = to->model->ports[0].suffix;
    if (!sized)
        return vly_reader_fail_key(reader, map->node,
                                   "%s from %s to %s has no %s, rule %s wants "
                                   "it",
                                   map->label, names[0], names[1], wanted,
                                   vly_rules[map->rule].name);
    bool listed = map->edges && map->edges->weight;
    if (!cell->has[VLY_CELL_WEIGHT] && !listed)
        return vly_reader_fail_key(reader, map->node,
                                   "%s from %s to %s has no weight, wanted "
                                   "weight%s%s",
                                   map->label, names[0], names[1],
                                   *suffix ? "_" : "", suffix);
    if (!cell->has[VLY_CELL_DELAY]) {
        cell->delay_ms.kind = VLY_VALUE_NUMBER;
        cell->delay_ms.a = reader->genome->dt_ms;
    }
    if (vly_rules[map->rule].size == VLY_SIZE_COUNT && cell->has[VLY_CELL_P])
        return count_from_p(reader, cell);
    return VLY_OK;
}

/* Checks the memory for choices without repetition. */
static vly_status check_room(vly_reader *reader, const vly_map_entry *map,
                             const vly_map_cell *cell)
{
    const vly_end *from = cell->source;
    const vly_end *to = cell->target;
    vly_rule_size size = vly_rules[map->rule].size;
    bool outward = size == VLY_SIZE_OUT_DEGREE;
    uint64_t shared = map->self ? 0 : vly_ends_shared(from, to);
    uint64_t room = outward ? to->n_neurons : from->n_neurons;
    uint64_t n = outward ? cell->out_degree : cell->in_degree;
    if (size == VLY_SIZE_COUNT) {
        room = room * to->n_neurons - shared;
        n = cell->count;
    } else if (shared) {
        room--;
    }
    const bool drawn = cell->degree.kind != VLY_VALUE_NUMBER;
    if (n > 0 && (room == 0 || (!map->multiple && n > room)))
        return vly_reader_fail(
            reader, cell->node[vly_rule_size_cell(map->rule)],
            "%s %s %" PRIu64 ", wanted at most %" PRIu64 " from %s to %s%s%s%s",
            vly_rule_size_key(map->rule), drawn ? "reaches" : "is", n, room,
            from->name, to->name, map->multiple ? "" : " with multiple = false",
            map->self ? "" : " and self = false",
            drawn ? ": add clip = [low, high]" : "");
    return VLY_OK;
}

static vly_status check_cell(vly_reader *reader, const vly_map_entry *map,
                             const vly_map_cell *cell)
{
    const vly_end *from = cell->source;
    const vly_end *to = cell->target;
    if (from->n_neurons == 0 || to->n_neurons == 0)
        return VLY_OK; /* no synapse is asked for */
    if (vly_rule_is(map->rule, VLY_TRAIT_EQUAL_SIZES) &&
        from->n_neurons != to->n_neurons)
        return vly_reader_fail_key(reader, map->node,
                                   "%s from %s (%u neurons) to %s "
                                   "(%u), wanted equal sizes",
                                   vly_rules[map->rule].name, from->name,
                                   from->n_neurons, to->name, to->n_neurons);
    if (map->rule == VLY_RULE_DISTANCE)
        return vly_space_check(reader, map, cell);
    if (vly_rule_is(map->rule, VLY_TRAIT_DRAWS_PAIRS))
        return check_room(reader, map, cell);
    return vly_shape_check(reader, map, cell);
}

vly_status vly_cell_finish(vly_reader *reader, vly_map_entry *map,
                           vly_map_cell *cell)
{
    vly_status status = finish_cell(reader, map, cell);
    return status ? status : check_cell(reader, map, cell);
}
