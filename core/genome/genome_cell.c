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
    value->cut_lo *= dt_ms;
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
    if (value->kind == VLY_VALUE_NUMBER)
        return vly_value_rounded(reader, node, what, value->a, first);
    return VLY_OK;
}

static vly_status read_delay(vly_reader *reader, const vly_toml_node *node,
                             const char *what, vly_map_cell *cell)
{
    double dt_ms = reader->genome->dt_ms;
    bool bursts = strcmp(what, "delay_bursts") == 0;
    double unit = bursts ? 1.0 : dt_ms;
    /* smallest value that rounds to at least one burst; half a burst rounds up
     */
    const vly_value_spec spec = {
        .what = what,
        .lo = 0.5 * unit,
        .hi = 1e12,
        .whole = bursts && node->kind != VLY_TOML_TABLE,
        .cut = true,
    };
    vly_status status = VLY_OK;
    VLY_TRY(vly_value_read(reader, node, &spec, &cell->delay_ms));
    if (bursts)
        scale_delay(&cell->delay_ms, dt_ms);
    status = check_delay(reader, node, what, &cell->delay_ms);
out:
    return status;
}

/* A number, or a distribution that is drawn for each neuron and rounded; then
 * *largest is the largest that can come out. */
static vly_status read_degree(vly_reader *reader, const vly_toml_node *node,
                              const char *what, vly_map_cell *cell,
                              uint32_t *largest)
{
    const vly_value_spec spec = {
        .what = what, .lo = 0, .hi = VLY_NEURONS_MAX, .cut = true};
    vly_status status = VLY_OK;
    uint64_t whole = 0;
    double lo = 0, hi = 0;
    cell->degree = (vly_value){0};
    if (node->kind != VLY_TOML_TABLE) {
        status =
            vly_value_whole(reader, node, what, 0, VLY_NEURONS_MAX, &whole);
        *largest = (uint32_t)whole;
        return status;
    }
    VLY_TRY(vly_value_read(reader, node, &spec, &cell->degree));
    vly_value_bounds(&cell->degree, &lo, &hi);
    if (hi < 0) /* without deviation it is a number, and never cut */
        return vly_value_out_of_range(reader, node, what, hi, spec.lo, spec.hi,
                                      "");
    *largest = (uint32_t)vly_floor(hi + 0.5);
    if (vly_floor(hi + 0.5) - vly_floor(lo + 0.5) > VLY_DEGREES_MAX)
        return vly_reader_fail(reader, node,
                               "%s reaches from %.0f to %.0f, wanted at most "
                               "%u values: add clip = [low, high]",
                               what, lo, hi, VLY_DEGREES_MAX);
out:
    return status;
}

static vly_status read_cell(vly_reader *reader, const vly_toml_node *node,
                            const char *what, vly_cell_key key,
                            vly_map_cell *cell)
{
    vly_status status = VLY_OK;
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
        VLY_TRY(read_degree(reader, node, what, cell,
                            key == VLY_CELL_IN_DEGREE ? &cell->in_degree
                                                      : &cell->out_degree));
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
                           what, found, map->n_rows, map->n_columns);
}

static vly_status check_matrix(vly_reader *reader, const vly_toml_node *node,
                               const char *what, const vly_map_entry *map)
{
    uint32_t n_rows = node->n_children;
    if (map->linked || (n_rows != 1 && n_rows != map->n_rows))
        return wrong_matrix(reader, node, what, map);
    for (uint32_t i = 0; i < n_rows; i++) {
        const vly_toml_node *row = &node->u.children[i];
        if (row->kind != VLY_TOML_ARRAY)
            return wrong_matrix(reader, node, what, map);
        if (row->n_children != 1 && row->n_children != map->n_columns)
            return vly_reader_fail(reader, row,
                                   "%s has a row of %u, wanted %u (one an "
                                   "area of `from`) or 1",
                                   what, row->n_children, map->n_columns);
    }
    return VLY_OK;
}

static const vly_toml_node *element(const vly_toml_node *node,
                                    const vly_map_cell *cell)
{
    if (node->kind != VLY_TOML_ARRAY)
        return node;
    uint32_t row = node->n_children == 1 ? 0 : cell->row;
    node = &node->u.children[row];
    uint32_t column = node->n_children == 1 ? 0 : cell->column;
    return &node->u.children[column];
}

/* ---- a table's keys over cells ------------------------------------------ */

/* One of `except`; NULL stands for the map itself. */
typedef struct exception {
    uint32_t number; /* from 1 */
    bool *use;       /* [n_cells] */
    uint32_t (*owned)[VLY_CELL_KEYS];
} exception;

/* An exception may replace the value of some pairs of an earlier, wider one. An
 * exception left without pairs is an error. Any other overlap may be a mistake:
 * a note says so, and the later one counts. owned: pairs for which each
 * exception still gives the key. */
static vly_status take_over(vly_reader *reader, vly_map_entry *map,
                            const vly_toml_node *node, vly_cell_key key,
                            const exception *by)
{
    const vly_toml_node *all = vly_toml_get(map->node, "except");
    const vly_map_cell *shared = NULL;
    bool refines = true;
    key = key == VLY_CELL_COUNT ? VLY_CELL_P : key; /* of these one counts */
    for (uint32_t i = 0; i < map->n_cells; i++) {
        vly_map_cell *cell = &map->cells[i];
        if (!by->use[i])
            continue;
        uint32_t before = cell->except[key];
        refines &= before != 0;
        shared = before ? cell : shared;
        if (before && --by->owned[before - 1][key] == 0)
            return vly_reader_fail_key(
                reader, node,
                "%s: nothing is left of the exception on line %u, wanted the "
                "wider one first, or one of them",
                node->key, all->u.children[before - 1].line);
        cell->except[key] = by->number;
        by->owned[by->number - 1][key]++;
    }
    if (!shared || refines)
        return VLY_OK;
    return vly_reader_note(reader, node,
                           "%s from %s to %s: an exception before gives it "
                           "too; the later one counts",
                           node->key, shared->source->name,
                           shared->target->name);
}

/* One key of a map or of an exception, for its cells (by NULL: all). */
static vly_status spread(vly_reader *reader, vly_map_entry *map,
                         const vly_toml_node *node, vly_cell_key key,
                         const exception *by)
{
    if (node->kind == VLY_TOML_ARRAY) {
        if (by)
            return vly_reader_wrong(reader, node, node->key,
                                    "one value in an exception");
        vly_status status = check_matrix(reader, node, node->key, map);
        if (status != VLY_OK)
            return status;
    }
    for (uint32_t i = 0; i < map->n_cells; i++) {
        if (by && !by->use[i])
            continue;
        vly_status status = read_cell(reader, element(node, &map->cells[i]),
                                      node->key, key, &map->cells[i]);
        if (status != VLY_OK)
            return status;
    }
    return by ? take_over(reader, map, node, key, by) : VLY_OK;
}

/* The keys that give a size: the rule determines which one is allowed. */
static vly_status check_size_key(vly_reader *reader, const vly_toml_node *node,
                                 vly_rule rule)
{
    const char *wanted = vly_rule_size_key(rule);
    bool count = vly_rules[rule].size == VLY_SIZE_COUNT;
    if (count && !strstr(node->key, "_degree"))
        return VLY_OK;
    if (wanted && strcmp(node->key, wanted) == 0)
        return VLY_OK;
    return vly_reader_fail_key(
        reader, node, "%s: rule %s takes %s%s", node->key, vly_rules[rule].name,
        wanted ? wanted : "no such key", count ? " or p" : "");
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
                               const vly_toml_node *table, const exception *by)
{
    vly_status status = VLY_OK;
    const vly_toml_node *node = NULL;
    const vly_model_info *before = NULL;
    for (uint32_t i = 0; i < map->n_cells; i++) {
        const vly_model_info *model =
            reader->genome->areas[map->cells[i].to].model;
        if ((by && !by->use[i]) || model == before)
            continue;
        uint32_t port = map->port < model->n_ports ? map->port : 0;
        VLY_TRY(vly_reader_suffixed(reader, table, "weight",
                                    model->ports[port].suffix, model, &node));
        before = model;
    }
    status = node ? spread(reader, map, node, VLY_CELL_WEIGHT, by) : VLY_OK;
out:
    return status;
}

static vly_status read_keys(vly_reader *reader, vly_map_entry *map,
                            const vly_toml_node *table, const exception *by)
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
        VLY_TRY(spread(reader, map, node, keys[i].key, by));
    }
    VLY_TRY(read_weights(reader, map, table, by));
out:
    return status;
}

static bool is_named(const vly_genome *genome, const vly_end_list *named,
                     const vly_end *end)
{
    for (uint32_t i = 0; i < named->n; i++)
        if (vly_end_named(genome, &named->ends[i], end))
            return true;
    return false;
}

static vly_status read_exception(vly_reader *reader, vly_map_entry *map,
                                 const vly_toml_node *node, const exception *by)
{
    const vly_key_list list = {"except", vly_keys_except, NULL};
    const vly_toml_node *ends[2] = {vly_toml_get(node, "from"),
                                    vly_toml_get(node, "to")};
    bool any = false;
    vly_status status;
    VLY_TRY(vly_reader_table(reader, node, "except"));
    VLY_TRY(vly_reader_keys(reader, node, &list));
    memset(by->use, 1, map->n_cells * sizeof(bool));
    for (int end = 0; end < 2; end++) {
        vly_end_list named = {0};
        if (!ends[end])
            return vly_reader_fail(reader, node,
                                   "an exception without %s, wanted from and "
                                   "to",
                                   end ? "to" : "from");
        VLY_TRY(vly_reader_ends(reader, ends[end], end ? "to" : "from", true,
                                &named));
        for (uint32_t i = 0; i < map->n_cells; i++) {
            const vly_map_cell *cell = &map->cells[i];
            by->use[i] =
                by->use[i] && is_named(reader->genome, &named,
                                       end ? cell->target : cell->source);
        }
    }
    for (uint32_t i = 0; i < map->n_cells; i++)
        any |= by->use[i];
    if (!any)
        return vly_reader_fail(reader, node,
                               "an exception for no pair of this map, wanted "
                               "from and to of a pair that it makes");
    if (node->n_children == 2)
        return vly_reader_fail(reader, node,
                               "an exception that gives nothing, wanted p, "
                               "weight_*, delay_ms or another value beside "
                               "from and to");
    VLY_TRY(read_keys(reader, map, node, by));
out:
    return status;
}

/* ---- all cells ---------------------------------------------------------- */

vly_status vly_cells_read(vly_reader *reader, vly_map_entry *map)
{
    const vly_toml_node *except = vly_toml_get(map->node, "except");
    exception by = {0};
    vly_status status;
    VLY_TRY(read_keys(reader, map, map->node, NULL));
    if (except && except->kind != VLY_TOML_ARRAY)
        return vly_reader_wrong(reader, except, "except",
                                "a list of { from, to, ... }");
    if (except) {
        VLY_TRY(vly_reader_alloc(reader, map->n_cells, sizeof(bool), &by.use));
        VLY_TRY(vly_reader_alloc(reader, except->n_children, sizeof(*by.owned),
                                 &by.owned));
    }
    for (uint32_t i = 0; except && i < except->n_children; i++) {
        by.number = i + 1;
        VLY_TRY(read_exception(reader, map, &except->u.children[i], &by));
    }
    for (uint32_t i = 0; i < map->n_cells; i++)
        VLY_TRY(vly_cell_finish(reader, map, &map->cells[i]));
out:
    return status;
}
