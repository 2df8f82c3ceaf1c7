/* SPDX-License-Identifier: Apache-2.0
 * The key `plasticity` of a [[map]]: finds its table, and refuses a map whose
 * synapses cannot learn by it.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "genome/foreign_names.h"
#include "genome/genome_plasticity.h"
#include "genome/genome_value.h"
#include "genome/user_rule.h"

uint32_t vly_plasticity_port(const vly_plasticity *plasticity,
                             const vly_model_info *model)
{
    return plasticity->w_max < 0 && model->n_ports == 2 ? 1 : 0;
}

/* ---- the table ---------------------------------------------------------- */

/* The rule of this name, ours or another simulator's; NULL: none. */
static const vly_plasticity_info *rule_of(const vly_genome *genome,
                                          const char *name)
{
    const vly_plasticity_info *rule = vly_rule_named(genome, name);
    const vly_foreign *row;
    for (uint32_t i = 0; !rule && (row = vly_foreign_find(name, i)); i++)
        if (row->ours)
            rule = vly_plasticity_find(row->ours);
    return rule;
}

static vly_status find(vly_reader *reader, const vly_toml_node *node,
                       const vly_plasticity **out)
{
    const vly_genome *genome = reader->genome;
    char hint[VLY_HINT_SIZE];
    vly_suggest suggest = {0};
    if (node->kind != VLY_TOML_STRING)
        return vly_reader_wrong(reader, node, "plasticity",
                                "the name of a [plasticity]");
    const char *name = node->u.string;
    for (uint32_t i = 0; i < genome->n_plasticities; i++) {
        if (strcmp(genome->plasticities[i].name, name) == 0) {
            *out = &genome->plasticities[i];
            return VLY_OK;
        }
        vly_suggest_offer(&suggest, name, genome->plasticities[i].name);
    }
    const vly_plasticity_info *rule = rule_of(genome, name);
    if (rule)
        return vly_reader_fail(
            reader, node,
            "no [plasticity.%s], wanted one with rule = "
            "\"%s\"%s",
            name, rule->id,
            rule->short_term ? "" : " and the bound w_max_<unit>");
    vly_suggest_choice(&suggest, hint, sizeof(hint));
    return vly_reader_fail(reader, node, "no [plasticity.%.80s]%s", name,
                           *hint                    ? hint
                           : genome->n_plasticities ? ", wanted one of the file"
                                                    : ": the file has none");
}

/* ---- cells -------------------------------------------------------------- */

/* A cell that learns. */
typedef struct learning_cell {
    const vly_map_entry *map;
    const vly_map_cell *cell;
    const vly_toml_node *node; /* `plasticity` of the map */
    const vly_area *to;
    char bound[32];           /* "w_max_pa" */
    char weight[32];          /* "weight_pa" */
    char lo[VLY_NUMBER_SIZE]; /* of the weights */
    char hi[VLY_NUMBER_SIZE];
} learning_cell;

/* The first rule that is one of windows, or is not. */
static const char *rule_like(bool window)
{
    uint32_t i = 0;
    while (vly_plasticity_at(i)->window != window)
        i++;
    return vly_plasticity_at(i)->id;
}

/* Onto FEAGI areas synapses learn by rules of windows, and by no others. */
static vly_status check_kind(vly_reader *reader, const learning_cell *at)
{
    const vly_plasticity *plasticity = at->map->plasticity;
    const vly_model_info *model = at->to->model;
    const bool feagi = model->flags & VLY_AREA_FEAGI;
    const double size = vly_plasticity_size(plasticity->w_max);
    char number[VLY_NUMBER_SIZE];
    if (plasticity->info->window != feagi)
        return vly_reader_fail(
            reader, at->node,
            "[plasticity.%s] has rule %s and area %s is of "
            "model %s, wanted %s%s",
            plasticity->name, plasticity->info->id, at->to->name, model->id,
            feagi ? "rule " : "another rule, as ", rule_like(feagi));
    if (feagi && (size > 255 || vly_floor(size) < size))
        return vly_reader_fail(
            reader, at->node,
            "%s of [plasticity.%s] is %s, wanted a whole number from -255 to "
            "255: area %s is of model %s",
            at->bound, plasticity->name,
            vly_toml_print_number(plasticity->w_max, number), at->to->name,
            model->id);
    return VLY_OK;
}

static vly_status check_target(vly_reader *reader, const learning_cell *at)
{
    const vly_plasticity *plasticity = at->map->plasticity;
    const vly_model_info *model = at->to->model;
    uint32_t port = at->map->has_port ? at->map->port
                                      : vly_plasticity_port(plasticity, model);
    const char *suffix = model->ports[port].suffix;
    vly_status status;
    VLY_TRY(check_kind(reader, at));
    if (strcmp(suffix, plasticity->suffix) != 0)
        return vly_reader_fail(reader, at->node,
                               "[plasticity.%s] has %s, wanted w_max%s%s: %s "
                               "of area %s takes weight%s%s",
                               plasticity->name, at->bound, *suffix ? "_" : "",
                               suffix, model->id, at->to->name,
                               *suffix ? "_" : "", suffix);
    if (!vly_port_takes(model, port, plasticity->w_max))
        return vly_reader_fail(reader, at->node,
                               "%s of [plasticity.%s] is %s at port %u, wanted "
                               "%s than 0: %s of area %s has a port for each "
                               "sign",
                               at->bound, plasticity->name,
                               plasticity->w_max < 0 ? at->lo : at->hi,
                               (unsigned)port, port ? "less" : "more",
                               model->id, at->to->name);
out:
    return status;
}

static vly_status several_delays(vly_reader *reader, const learning_cell *at,
                                 const vly_toml_node *node, const char *found)
{
    return vly_reader_fail(reader, node,
                           "%s has %s, wanted one delay: its synapses learn "
                           "(plasticity = \"%s\")",
                           at->map->label, found, at->map->plasticity->name);
}

static vly_status check_delays(vly_reader *reader, const learning_cell *at)
{
    const vly_map_entry *map = at->map;
    const vly_edge_list *edges = map->edges;
    const vly_toml_node *slope = vly_toml_get(map->node, "slope_delay_ms");
    const vly_toml_node *file = vly_toml_get(map->node, "file");
    const vly_toml_node *own = at->cell->node[VLY_CELL_DELAY];
    char found[100];
    if (map->rule == VLY_RULE_DISTANCE && map->space.delay_slope_ms != 0)
        return several_delays(reader, at, slope ? slope : map->node,
                              "delays that grow with distance");
    if (edges && edges->delay) {
        for (uint64_t i = 1; i < edges->n; i++) {
            if (edges->delay[i] == edges->delay[0])
                continue;
            snprintf(found, sizeof(found),
                     "delays of %" PRIu32 " and %" PRIu32 " bursts",
                     edges->delay[0], edges->delay[i]);
            return several_delays(reader, at, file ? file : map->node, found);
        }
        return VLY_OK;
    }
    if (at->cell->delay_ms.kind == VLY_VALUE_NUMBER)
        return VLY_OK;
    return several_delays(reader, at, own ? own : map->node,
                          "a distribution of delays");
}

static bool within(double weight, double w_max)
{
    return w_max < 0 ? weight <= 0 && weight >= w_max
                     : weight >= 0 && weight <= w_max;
}

static vly_status check_file(vly_reader *reader, const learning_cell *at)
{
    const vly_plasticity *plasticity = at->map->plasticity;
    const vly_edge_list *edges = at->map->edges;
    const vly_toml_node *file = vly_toml_get(at->map->node, "file");
    char number[VLY_NUMBER_SIZE];
    for (uint64_t i = 0; i < edges->n; i++)
        if (!within(edges->weight[i], plasticity->w_max))
            return vly_reader_fail(
                reader, file ? file : at->map->node,
                "the weight from neuron %" PRIu32 " to %" PRIu32
                " is %s, wanted %s to %s: %s of [plasticity.%s]",
                edges->source[i], edges->target[i],
                vly_toml_print_number(edges->weight[i], number), at->lo, at->hi,
                at->bound, plasticity->name);
    return VLY_OK;
}

static vly_status check_weights(vly_reader *reader, const learning_cell *at)
{
    const vly_plasticity *plasticity = at->map->plasticity;
    const vly_toml_node *node = at->cell->node[VLY_CELL_WEIGHT];
    char low[VLY_NUMBER_SIZE], high[VLY_NUMBER_SIZE];
    double lo = 0, hi = 0;
    if (at->map->edges && at->map->edges->weight)
        return check_file(reader, at);
    vly_value_bounds(&at->cell->weight, &lo, &hi);
    if (within(lo, plasticity->w_max) && within(hi, plasticity->w_max))
        return VLY_OK;
    vly_toml_print_number(lo, low);
    if (lo == hi)
        return vly_reader_fail(reader, node,
                               "%s is %s, wanted %s to %s: %s of "
                               "[plasticity.%s]",
                               at->weight, low, at->lo, at->hi, at->bound,
                               plasticity->name);
    return vly_reader_fail(reader, node,
                           "%s reaches from %s to %s, wanted %s to %s, "
                           "%s of [plasticity.%s]: add clip = [%s, %s]",
                           at->weight, low, vly_toml_print_number(hi, high),
                           at->lo, at->hi, at->bound, plasticity->name, at->lo,
                           at->hi);
}

static vly_status check_cell(vly_reader *reader, const vly_map_entry *map,
                             const vly_toml_node *node,
                             const vly_map_cell *cell)
{
    const vly_plasticity *plasticity = map->plasticity;
    double w_max = plasticity->w_max;
    vly_status status;
    learning_cell at = {.map = map,
                        .cell = cell,
                        .node = node,
                        .to = &reader->genome->areas[cell->to]};
    snprintf(at.bound, sizeof(at.bound), "w_max%s%s",
             *plasticity->suffix ? "_" : "", plasticity->suffix);
    snprintf(at.weight, sizeof(at.weight), "weight%s%s",
             *plasticity->suffix ? "_" : "", plasticity->suffix);
    vly_toml_print_number(w_max < 0 ? w_max : 0, at.lo);
    vly_toml_print_number(w_max < 0 ? 0 : w_max, at.hi);
    VLY_TRY(check_target(reader, &at));
    VLY_TRY(check_delays(reader, &at));
    VLY_TRY(check_weights(reader, &at));
out:
    return status;
}

/* An event has one gain. Onto a FEAGI area it is the psp of the source, so
 * short-term plasticity has no place there. */
static vly_status check_short_term(vly_reader *reader, const vly_map_entry *map,
                                   const vly_toml_node *node)
{
    for (uint32_t i = 0; i < map->n_cells; i++) {
        const vly_area *to = &reader->genome->areas[map->cells[i].to];
        if (to->model->flags & VLY_AREA_FEAGI)
            return vly_reader_fail(
                reader, node,
                "area %s is of model %s, whose events have a gain already, the "
                "psp, wanted another model for short-term plasticity (%s)",
                to->name, to->model->id, map->plasticity->info->id);
    }
    return VLY_OK;
}

/* ---- maps --------------------------------------------------------------- */

vly_status vly_map_plasticity(vly_reader *reader, vly_map_entry *map)
{
    const vly_toml_node *node = vly_toml_get(map->node, "plasticity");
    vly_status status;
    if (!node)
        return VLY_OK;
    VLY_TRY(find(reader, node, &map->plasticity));
    if (map->plasticity->info->short_term)
        return check_short_term(reader, map, node);
    for (uint32_t i = 0; i < map->n_cells; i++)
        VLY_TRY(check_cell(reader, map, node, &map->cells[i]));
out:
    return status;
}

vly_status vly_plasticities_unused(vly_reader *reader)
{
    const vly_genome *genome = reader->genome;
    const vly_toml_node *tables = vly_toml_get(&reader->root, "plasticity");
    vly_status status = VLY_OK;
    for (uint32_t i = 0; i < genome->n_plasticities; i++) {
        const vly_plasticity *plasticity = &genome->plasticities[i];
        bool used = false;
        for (uint32_t m = 0; m < reader->n_maps; m++)
            used = used || reader->maps[m].plasticity == plasticity;
        if (!used)
            VLY_TRY(vly_reader_note(reader,
                                    vly_toml_get(tables, plasticity->name),
                                    "[plasticity.%s] is not used: no map has "
                                    "plasticity = \"%s\"",
                                    plasticity->name, plasticity->name));
    }
out:
    return status;
}
