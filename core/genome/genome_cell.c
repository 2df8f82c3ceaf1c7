/* SPDX-License-Identifier: Apache-2.0
 * The cells of a [[map]]: p, count, in_degree, weight and delay of each pair
 * of areas, from numbers, matrices (row = target, column = source) and
 * exceptions.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "genome/genome_map.h"
#include "genome/genome_space.h"
#include "genome/genome_value.h"

static const char *const rule_wants[VLY_RULES] = {
    [VLY_RULE_FIXED_TOTAL_NUMBER] = "count",
    [VLY_RULE_FIXED_IN_DEGREE] = "in_degree",
    [VLY_RULE_FIXED_OUT_DEGREE] = "out_degree",
    [VLY_RULE_PAIRWISE_BERNOULLI] = "p",
};

/* ---- one cell ----------------------------------------------------------- */

static vly_status read_weight(vly_reader *reader, const vly_toml_node *node,
                              const char *what, vly_map_cell *cell)
{
    bool feagi = reader->genome->areas[cell->to].model->flags & VLY_AREA_FEAGI;
    const vly_value_spec spec = {
        .what = what,
        .lo = feagi ? -255 : -VLY_WEIGHT_MAX,
        .hi = feagi ? 255 : VLY_WEIGHT_MAX,
        .whole = feagi,
    };
    return vly_value_read(reader, node, &spec, &cell->weight);
}

/* A distribution in bursts is one in milliseconds, scaled. */
static void scale_delay(vly_value *value, double dt_ms)
{
    if (value->kind == VLY_VALUE_LOGNORMAL)
        value->a += vly_log(dt_ms);
    else
        value->a *= dt_ms;
    if (value->kind == VLY_VALUE_NORMAL || value->kind == VLY_VALUE_UNIFORM)
        value->b *= dt_ms;
    value->clip_lo *= dt_ms;
    value->clip_hi *= dt_ms;
}

static vly_status check_delay(vly_reader *reader, const vly_toml_node *node,
                              const char *what, const vly_value *value)
{
    double dt_ms = reader->genome->dt_ms;
    char found[VLY_NUMBER_SIZE], dt[VLY_NUMBER_SIZE];
    double lo = 0, hi = 0;
    uint64_t first = 0, last = 0;
    vly_value_bounds(value, &lo, &hi);
    bool fits = vly_bursts_from_ms(lo > 0 ? lo : 0, dt_ms, &first);
    if (fits && first < 1)
        return vly_reader_fail(reader, node,
                               "%s is %s ms, wanted at least one burst of "
                               "dt_ms = %s",
                               what, vly_toml_print_number(lo, found),
                               vly_toml_print_number(dt_ms, dt));
    fits = fits && vly_bursts_from_ms(hi, dt_ms, &last);
    if (!fits || last > VLY_DELAY_BURSTS_MAX)
        return vly_reader_fail(reader, node,
                               "%s reaches %s ms, wanted at most %u bursts of "
                               "%s ms",
                               what, vly_toml_print_number(hi, found),
                               VLY_DELAY_BURSTS_MAX,
                               vly_toml_print_number(dt_ms, dt));
    if (last - first > VLY_DELAY_SPREAD_MAX)
        return vly_reader_fail(reader, node,
                               "%s spreads over %" PRIu64 " bursts, wanted at "
                               "most %u: add clip = [low, high]",
                               what, last - first, VLY_DELAY_SPREAD_MAX);
    return VLY_OK;
}

static vly_status read_delay(vly_reader *reader, const vly_toml_node *node,
                             const char *what, vly_map_cell *cell)
{
    double dt_ms = reader->genome->dt_ms;
    bool bursts = strcmp(what, "delay_bursts") == 0;
    double unit = bursts ? 1.0 : dt_ms;
    /* what rounds to one burst at least; exactly half a burst rounds up */
    const vly_value_spec spec = {
        .what = what,
        .lo = 0.5 * unit,
        .hi = 1e12,
        .whole = bursts && node->kind != VLY_TOML_TABLE,
        .cut = true,
    };
    vly_status status = vly_value_read(reader, node, &spec, &cell->delay_ms);
    if (status != VLY_OK)
        return status;
    if (bursts)
        scale_delay(&cell->delay_ms, dt_ms);
    return check_delay(reader, node, what, &cell->delay_ms);
}

static vly_status read_cell(vly_reader *reader, const vly_toml_node *node,
                            const char *what, vly_cell_key key,
                            vly_map_cell *cell)
{
    vly_status status = VLY_OK;
    uint64_t whole = 0;
    switch (key) {
    case VLY_CELL_P:
        VLY_TRY(vly_value_ranged(reader, node, what, 0, 1, &cell->p));
        cell->has[VLY_CELL_COUNT] = false; /* an exception may change over */
        break;
    case VLY_CELL_COUNT:
        VLY_TRY(vly_value_whole(reader, node, what, 0, VLY_SYNAPSES_MAX,
                                &cell->count));
        cell->has[VLY_CELL_P] = false;
        break;
    case VLY_CELL_IN_DEGREE:
    case VLY_CELL_OUT_DEGREE:
        VLY_TRY(
            vly_value_whole(reader, node, what, 0, VLY_NEURONS_MAX, &whole));
        *(key == VLY_CELL_IN_DEGREE ? &cell->in_degree : &cell->out_degree) =
            (uint32_t)whole;
        break;
    case VLY_CELL_WEIGHT:
        VLY_TRY(read_weight(reader, node, what, cell));
        break;
    default:
        VLY_TRY(read_delay(reader, node, what, cell));
        break;
    }
    cell->has[key] = true;
    cell->node[key] = node;
    cell->origin[key] = vly_reader_origin(node, VLY_ORIGIN_FILE);
out:
    return status;
}

/* ---- matrices ----------------------------------------------------------- */

static vly_status wrong_matrix(vly_reader *reader, const vly_toml_node *node,
                               const char *what, const vly_map_entry *map)
{
    char found[64];
    bool flat =
        node->n_children == 0 || node->u.children[0].kind != VLY_TOML_ARRAY;
    snprintf(found, sizeof(found), flat ? "a flat list of %u" : "%u rows",
             node->n_children);
    if (map->linked)
        return vly_reader_fail(reader, node,
                               "%s is %s, wanted one value: link takes no "
                               "matrix",
                               what, found);
    return vly_reader_fail(reader, node,
                           "%s is %s, wanted %u rows (one an area of `to`, or "
                           "one for all) of %u (one an area of `from`, or one "
                           "for all)",
                           what, found, map->to.n, map->from.n);
}

static vly_status check_matrix(vly_reader *reader, const vly_toml_node *node,
                               const char *what, const vly_map_entry *map)
{
    uint32_t n_rows = node->n_children;
    if (map->linked || (n_rows != 1 && n_rows != map->to.n))
        return wrong_matrix(reader, node, what, map);
    for (uint32_t i = 0; i < n_rows; i++) {
        const vly_toml_node *row = &node->u.children[i];
        if (row->kind != VLY_TOML_ARRAY)
            return wrong_matrix(reader, node, what, map);
        if (row->n_children != 1 && row->n_children != map->from.n)
            return vly_reader_fail(reader, row,
                                   "%s has a row of %u, wanted %u (one an "
                                   "area of `from`) or 1",
                                   what, row->n_children, map->from.n);
    }
    return VLY_OK;
}

static const vly_toml_node *element(const vly_toml_node *node,
                                    const vly_map_entry *map, uint32_t cell)
{
    if (node->kind != VLY_TOML_ARRAY)
        return node;
    uint32_t row = node->n_children == 1 ? 0 : cell / map->from.n;
    node = &node->u.children[row];
    uint32_t column = node->n_children == 1 ? 0 : cell % map->from.n;
    return &node->u.children[column];
}

/* ---- a table's keys over cells ------------------------------------------ */

/* One key of a map or of an exception, over the cells where use is true (NULL:
 * all). */
static vly_status spread(vly_reader *reader, vly_map_entry *map,
                         const vly_toml_node *node, vly_cell_key key,
                         const bool *use, bool exception)
{
    if (node->kind == VLY_TOML_ARRAY) {
        if (exception)
            return vly_reader_wrong(reader, node, node->key,
                                    "one value in an exception");
        vly_status status = check_matrix(reader, node, node->key, map);
        if (status != VLY_OK)
            return status;
    }
    for (uint32_t i = 0; i < map->n_cells; i++) {
        if (use && !use[i])
            continue;
        vly_status status = read_cell(reader, element(node, map, i), node->key,
                                      key, &map->cells[i]);
        if (status != VLY_OK)
            return status;
    }
    return VLY_OK;
}

/* The keys that give a size: which one is right depends on the rule. */
static vly_status check_size_key(vly_reader *reader, const vly_toml_node *node,
                                 vly_rule rule)
{
    const char *wanted = rule_wants[rule];
    if (rule == VLY_RULE_FIXED_TOTAL_NUMBER &&
        strstr(node->key, "_degree") == NULL)
        return VLY_OK;
    if (wanted && strcmp(node->key, wanted) == 0)
        return VLY_OK;
    return vly_reader_fail_key(
        reader, node, "%s: rule %s takes %s%s", node->key, vly_rule_names[rule],
        wanted ? wanted : "no such key",
        rule == VLY_RULE_FIXED_TOTAL_NUMBER ? " or p" : "");
}

static vly_status rivals(vly_reader *reader, const vly_toml_node *table,
                         const char *a, const char *b)
{
    const vly_toml_node *node = vly_toml_get(table, b);
    if (!node || !vly_toml_get(table, a))
        return VLY_OK;
    return vly_reader_fail_key(reader, node, "both %s and %s, wanted one", a,
                               b);
}

static vly_status read_weights(vly_reader *reader, vly_map_entry *map,
                               const vly_toml_node *table, const bool *use,
                               bool exception)
{
    const vly_toml_node *node = NULL;
    const vly_model_info *before = NULL;
    for (uint32_t i = 0; i < map->n_cells; i++) {
        const vly_model_info *model =
            reader->genome->areas[map->cells[i].to].model;
        if ((use && !use[i]) || model == before)
            continue;
        uint32_t port = map->port < model->n_ports ? map->port : 0;
        vly_status status = vly_reader_suffixed(
            reader, table, "weight", model->ports[port].suffix, model, &node);
        if (status != VLY_OK)
            return status;
        before = model;
    }
    return node ? spread(reader, map, node, VLY_CELL_WEIGHT, use, exception)
                : VLY_OK;
}

static vly_status read_keys(vly_reader *reader, vly_map_entry *map,
                            const vly_toml_node *table, const bool *use,
                            bool exception)
{
    static const struct {
        const char *name;
        vly_cell_key key;
    } keys[] = {
        {"p", VLY_CELL_P},
        {"count", VLY_CELL_COUNT},
        {"in_degree", VLY_CELL_IN_DEGREE},
        {"out_degree", VLY_CELL_OUT_DEGREE},
        {"delay_ms", VLY_CELL_DELAY},
        {"delay_bursts", VLY_CELL_DELAY},
    };
    vly_status status;
    VLY_TRY(rivals(reader, table, "p", "count"));
    VLY_TRY(rivals(reader, table, "delay_ms", "delay_bursts"));
    for (uint32_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        const vly_toml_node *node = vly_toml_get(table, keys[i].name);
        if (!node)
            continue;
        if (keys[i].key < VLY_CELL_WEIGHT)
            VLY_TRY(check_size_key(reader, node, map->rule));
        VLY_TRY(spread(reader, map, node, keys[i].key, use, exception));
    }
    VLY_TRY(read_weights(reader, map, table, use, exception));
out:
    return status;
}

static vly_status read_exception(vly_reader *reader, vly_map_entry *map,
                                 const vly_toml_node *node, bool *use)
{
    const vly_key_list list = {"except", vly_keys_except, NULL};
    const vly_toml_node *ends[2] = {vly_toml_get(node, "from"),
                                    vly_toml_get(node, "to")};
    bool any = false;
    vly_status status;
    VLY_TRY(vly_reader_table(reader, node, "except"));
    VLY_TRY(vly_reader_keys(reader, node, &list));
    memset(use, 1, map->n_cells * sizeof(bool));
    for (int end = 0; end < 2; end++) {
        vly_area_list areas = {0};
        if (!ends[end])
            return vly_reader_fail(reader, node,
                                   "an exception without %s, wanted from and "
                                   "to",
                                   end ? "to" : "from");
        VLY_TRY(
            vly_reader_areas(reader, ends[end], end ? "to" : "from", &areas));
        /* vly_reader_areas left its stamp on the areas it named */
        for (uint32_t i = 0; i < map->n_cells; i++) {
            const vly_map_cell *cell = &map->cells[i];
            uint32_t area = end ? cell->to : cell->from;
            use[i] = use[i] && reader->seen[area] == reader->stamp;
        }
    }
    for (uint32_t i = 0; i < map->n_cells; i++)
        any |= use[i];
    if (!any)
        return vly_reader_fail(reader, node,
                               "an exception for no pair of this map, wanted "
                               "from and to of a pair that it makes");
    VLY_TRY(read_keys(reader, map, node, use, true));
out:
    return status;
}

/* ---- all cells ---------------------------------------------------------- */

/* K = round(ln(1 - p) / ln(1 - 1 / (Ns Nt))): pairs of neurons, with
 * replacement, that leave a share 1 - p of them unconnected. Source: Potjans
 * and Diesmann 2014, doi:10.1093/cercor/bhs358. */
static vly_status count_from_p(vly_reader *reader, vly_map_cell *cell)
{
    const vly_area *areas = reader->genome->areas;
    double pairs =
        (double)areas[cell->from].n_neurons * (double)areas[cell->to].n_neurons;
    if (cell->p >= 1)
        return vly_reader_fail(reader, cell->node[VLY_CELL_P],
                               "p is 1, wanted less than 1: no number of "
                               "synapses connects all pairs");
    /* Counts are published in the plain form, in double: the microcircuit has
     * 298,880,968 synapses by it and 298,880,970 by the exact logarithm. Its
     * error grows with the pairs (6e-8 there), so large areas take log1p. */
    double k = pairs <= 0x1p32
                   ? vly_log(1.0 - cell->p) / vly_log(1.0 - 1.0 / pairs)
                   : vly_log1p(-cell->p) / vly_log1p(-1.0 / pairs);
    k = vly_floor(k + 0.5);
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
    const char *wanted = rule_wants[map->rule];
    const vly_area *areas = reader->genome->areas;
    const vly_area *to = &areas[cell->to];
    bool sized = !wanted || cell->has[VLY_CELL_P] ||
                 cell->has[VLY_CELL_COUNT] || cell->has[VLY_CELL_IN_DEGREE] ||
                 cell->has[VLY_CELL_OUT_DEGREE];
    const char *suffix = to->model->ports[0].suffix;
    if (!sized)
        return vly_reader_fail_key(reader, map->node,
                                   "%s from %s to %s has no %s, rule %s wants "
                                   "it",
                                   map->label, areas[cell->from].name, to->name,
                                   wanted, vly_rule_names[map->rule]);
    bool listed = map->edges && map->edges->weight;
    if (!cell->has[VLY_CELL_WEIGHT] && !listed)
        return vly_reader_fail_key(reader, map->node,
                                   "%s from %s to %s has no weight, wanted "
                                   "weight%s%s",
                                   map->label, areas[cell->from].name, to->name,
                                   *suffix ? "_" : "", suffix);
    if (!cell->has[VLY_CELL_DELAY]) {
        cell->delay_ms.kind = VLY_VALUE_NUMBER;
        cell->delay_ms.a = reader->genome->dt_ms;
    }
    if (map->rule == VLY_RULE_FIXED_TOTAL_NUMBER && cell->has[VLY_CELL_P])
        return count_from_p(reader, cell);
    return VLY_OK;
}

/* Room for what has to be chosen without repetition. */
static vly_status check_room(vly_reader *reader, const vly_map_entry *map,
                             const vly_map_cell *cell)
{
    const vly_area *from = &reader->genome->areas[cell->from];
    const vly_area *to = &reader->genome->areas[cell->to];
    bool outward = map->rule == VLY_RULE_FIXED_OUT_DEGREE;
    uint64_t room = outward ? to->n_neurons : from->n_neurons;
    uint64_t n = outward ? cell->out_degree : cell->in_degree;
    vly_cell_key key = outward ? VLY_CELL_OUT_DEGREE : VLY_CELL_IN_DEGREE;
    if (from == to && !map->self)
        room--;
    if (map->rule == VLY_RULE_FIXED_TOTAL_NUMBER) {
        room *= to->n_neurons;
        n = cell->count;
        key = VLY_CELL_COUNT;
    }
    if (n > 0 && (room == 0 || (!map->multiple && n > room)))
        return vly_reader_fail(
            reader, cell->node[key],
            "%s is %" PRIu64 ", wanted at most %" PRIu64 " from %s to %s%s%s",
            rule_wants[map->rule], n, room, from->name, to->name,
            map->multiple ? "" : " with multiple = false",
            map->self ? "" : " and self = false");
    return VLY_OK;
}

static vly_status check_cell(vly_reader *reader, const vly_map_entry *map,
                             const vly_map_cell *cell)
{
    const vly_area *from = &reader->genome->areas[cell->from];
    const vly_area *to = &reader->genome->areas[cell->to];
    if (map->rule == VLY_RULE_ONE_TO_ONE && from->n_neurons != to->n_neurons)
        return vly_reader_fail_key(reader, map->node,
                                   "one_to_one from %s (%u neurons) to %s "
                                   "(%u), wanted equal sizes",
                                   from->name, from->n_neurons, to->name,
                                   to->n_neurons);
    if (map->rule == VLY_RULE_DISTANCE)
        return vly_space_check(reader, map, cell);
    if (map->rule == VLY_RULE_FIXED_TOTAL_NUMBER ||
        map->rule == VLY_RULE_FIXED_IN_DEGREE ||
        map->rule == VLY_RULE_FIXED_OUT_DEGREE)
        return check_room(reader, map, cell);
    return vly_shape_check(reader, map, cell);
}

double vly_cell_synapses(const vly_genome *genome, const vly_map_entry *map,
                         const vly_map_cell *cell)
{
    const vly_area *from = &genome->areas[cell->from];
    const vly_area *to = &genome->areas[cell->to];
    double n_from = from->n_neurons;
    double n_to = to->n_neurons;
    switch (map->rule) {
    case VLY_RULE_ONE_TO_ONE:
        return n_from;
    case VLY_RULE_ALL_TO_ALL:
        return n_from * n_to;
    case VLY_RULE_FIXED_TOTAL_NUMBER:
        return (double)cell->count;
    case VLY_RULE_FIXED_IN_DEGREE:
        return (double)cell->in_degree * n_to;
    case VLY_RULE_FIXED_OUT_DEGREE:
        return (double)cell->out_degree * n_from;
    case VLY_RULE_PAIRWISE_BERNOULLI:
        return cell->p * n_from * n_to;
    case VLY_RULE_FILE:
        return (double)map->edges->n;
    case VLY_RULE_DISTANCE:
        return vly_space_synapses(from, to, &map->space);
    case VLY_RULE_VECTORS:
        return map->n_vectors * n_from * to->neurons_per_voxel;
    default:
        return vly_shape_synapses(genome, map, cell);
    }
}

vly_status vly_cells_read(vly_reader *reader, vly_map_entry *map)
{
    const vly_toml_node *except = vly_toml_get(map->node, "except");
    bool *use = NULL;
    vly_status status;
    VLY_TRY(read_keys(reader, map, map->node, NULL, false));
    if (except && except->kind != VLY_TOML_ARRAY)
        return vly_reader_wrong(reader, except, "except",
                                "a list of { from, to, ... }");
    if (except)
        VLY_TRY(vly_reader_alloc(reader, map->n_cells, sizeof(bool), &use));
    for (uint32_t i = 0; except && i < except->n_children; i++)
        VLY_TRY(read_exception(reader, map, &except->u.children[i], use));
    for (uint32_t i = 0; i < map->n_cells; i++) {
        VLY_TRY(finish_cell(reader, map, &map->cells[i]));
        VLY_TRY(check_cell(reader, map, &map->cells[i]));
    }
out:
    return status;
}
