/* SPDX-License-Identifier: Apache-2.0
 * [memory.NAME]. The table is read without the values of the areas, because the
 * one of a saved connectome is read again from its resolved genome
 * (core/connectome/memory_views.c).
 * Source of the defaults: feagi-core 0.0.1-beta.18, crates/feagi-evolutionary
 * (plasticity_detector.rs)
 */
#include "genome/genome_memory.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "genome/genome_association.h"
#include "genome/genome_map.h"
#include "genome/genome_value.h"

/* ---- one table ---------------------------------------------------------- */

const vly_memory_number vly_memory_numbers[VLY_MEMORY_NUMBERS] = {
    {"temporal_depth", 1, VLY_MEMORY_DEPTH_MAX, 1,
     offsetof(vly_memory_rule, temporal_depth)},
    {"init_lifespan", 0, UINT32_MAX, 9,
     offsetof(vly_memory_rule, init_lifespan)},
    {"lifespan_growth_rate", 0, UINT32_MAX, 1,
     offsetof(vly_memory_rule, lifespan_growth_rate)},
    {"longterm_mem_threshold", 0, UINT32_MAX, 100,
     offsetof(vly_memory_rule, longterm_mem_threshold)},
};

static uint32_t *number_of(vly_memory_rule *memory, int i)
{
    return (uint32_t *)(void *)((char *)memory + vly_memory_numbers[i].at);
}

static vly_status read_numbers(vly_reader *reader, const vly_toml_node *table,
                               vly_memory_rule *to)
{
    vly_status status = VLY_OK;
    for (int i = 0; i < VLY_MEMORY_NUMBERS; i++) {
        const vly_toml_node *node =
            vly_toml_get(table, vly_memory_numbers[i].key);
        uint64_t number = vly_memory_numbers[i].init;
        if (node)
            VLY_TRY(vly_value_whole(reader, node, vly_memory_numbers[i].key,
                                    vly_memory_numbers[i].lo,
                                    vly_memory_numbers[i].hi, &number));
        *number_of(to, i) = (uint32_t)number;
    }
out:
    return status;
}

static bool is_memory(const vly_toml_node *tables, const char *area)
{
    return vly_toml_get(tables, area) != NULL;
}

static int compare_sources(const void *a, const void *b)
{
    const vly_memory_source *x = a;
    const vly_memory_source *y = b;
    return (x->area > y->area) - (x->area < y->area);
}

static vly_status check_twin(vly_reader *reader, const vly_toml_node *node,
                             const vly_memory_rule *to,
                             const vly_memory_source *source)
{
    const vly_genome *genome = reader->genome;
    const vly_area *area = &genome->areas[source->area];
    const vly_area *twin = &genome->areas[source->twin];
    bool same = area->n_neurons == twin->n_neurons &&
                area->has_voxels == twin->has_voxels &&
                area->neurons_per_voxel == twin->neurons_per_voxel;
    for (int i = 0; i < 3; i++)
        same = same && area->voxels[i] == twin->voxels[i];
    if (source->twin == to->area || source->twin == source->area)
        return vly_reader_fail(reader, node,
                               "twins has area %s for area %s, wanted another "
                               "area of the same size",
                               twin->name, area->name);
    if (!(twin->model->flags & VLY_AREA_FEAGI))
        return vly_reader_fail(reader, node,
                               "twins has area %s of model %s, wanted one of "
                               "model feagi",
                               twin->name, twin->model->id);
    if (!same)
        return vly_reader_fail(
            reader, node,
            "twins has area %s (%" PRIu32 " neurons, %" PRIu32 " x %" PRIu32
            " x %" PRIu32 " voxels) for area %s (%" PRIu32 " neurons, %" PRIu32
            " x %" PRIu32 " x %" PRIu32 " voxels), wanted the same size",
            twin->name, twin->n_neurons, twin->voxels[0], twin->voxels[1],
            twin->voxels[2], area->name, area->n_neurons, area->voxels[0],
            area->voxels[1], area->voxels[2]);
    return VLY_OK;
}

static vly_status read_twins(vly_reader *reader, const vly_toml_node *table,
                             vly_memory_rule *to)
{
    const vly_toml_node *node = vly_toml_get(table, "twins");
    vly_area_list twins = {0};
    vly_status status = VLY_OK;
    for (uint32_t i = 0; i < to->n_sources; i++)
        to->sources[i].twin = VLY_NO_AREA;
    if (!node)
        return VLY_OK;
    VLY_TRY(vly_reader_areas(reader, node, "twins", &twins));
    if (twins.n != to->n_sources)
        return vly_reader_fail(reader, node,
                               "twins has %" PRIu32 " areas and from %" PRIu32
                               ", wanted one for each area of from, in its "
                               "order",
                               twins.n, to->n_sources);
    for (uint32_t i = 0; i < twins.n; i++) {
        to->sources[i].twin = twins.areas[i];
        VLY_TRY(check_twin(reader, node, to, &to->sources[i]));
    }
out:
    return status;
}

static vly_status read_sources(vly_reader *reader, const vly_toml_node *tables,
                               const vly_toml_node *table, vly_memory_rule *to)
{
    const vly_toml_node *node = vly_toml_get(table, "from");
    vly_area_list from = {0};
    vly_status status = VLY_OK;
    if (!node)
        return vly_reader_fail_key(reader, table,
                                   "[memory.%s] has no from, wanted the areas "
                                   "whose spikes it remembers",
                                   table->key);
    VLY_TRY(vly_reader_areas(reader, node, "from", &from));
    to->sources = vly_calloc(from.n, sizeof(*to->sources));
    if (!to->sources)
        return vly_reader_nomem(reader, from.n * sizeof(*to->sources),
                                "a memory");
    to->n_sources = from.n;
    for (uint32_t i = 0; i < from.n; i++) {
        const char *name = reader->genome->areas[from.areas[i]].name;
        if (is_memory(tables, name))
            return vly_reader_fail(reader, node,
                                   "from has area %s, which is a memory "
                                   "itself, wanted areas without a [memory]",
                                   name);
        to->sources[i].area = from.areas[i];
    }
    VLY_TRY(read_twins(reader, table, to));
    qsort(to->sources, to->n_sources, sizeof(*to->sources), compare_sources);
out:
    return status;
}

static vly_status read_table(vly_reader *reader, const vly_toml_node *tables,
                             const vly_toml_node *node, vly_memory_rule *to)
{
    const vly_key_list list = {"a [memory]", vly_keys_memory, NULL};
    vly_genome *genome = reader->genome;
    vly_status status;
    if (node->kind != VLY_TOML_TABLE)
        return vly_reader_fail_key(reader, node,
                                   "%.80s without the name of a memory, wanted "
                                   "[memory.NAME], the name of an area, before "
                                   "it",
                                   node->key);
    VLY_TRY(vly_reader_keys(reader, node, &list));
    to->origin = (vly_origin){VLY_ORIGIN_FILE, node->key_line, node->key_column,
                              node->file};
    to->area = vly_genome_area(genome, node->key);
    if (to->area == UINT32_MAX)
        return vly_reader_fail_key(reader, node,
                                   "[memory.%.80s], but there is no area of "
                                   "this name: wanted the one that remembers",
                                   node->key);
    const vly_area *area = &genome->areas[to->area];
    if (!(area->model->flags & VLY_AREA_FEAGI))
        return vly_reader_fail_key(reader, node,
                                   "[memory.%s]: the area is of model %s, "
                                   "wanted one of model feagi",
                                   node->key, area->model->id);
    if (area->n_neurons == 0)
        return vly_reader_fail_key(reader, node,
                                   "[memory.%s]: the area has 0 neurons, "
                                   "wanted one at least",
                                   node->key);
    VLY_TRY(read_numbers(reader, node, to));
    VLY_TRY(read_sources(reader, tables, node, to));
out:
    return status;
}

/* The order of the areas is the one in which memories act. */
static int compare_memories(const void *a, const void *b)
{
    const vly_memory_rule *x = a;
    const vly_memory_rule *y = b;
    return (x->area > y->area) - (x->area < y->area);
}

vly_status vly_memories_read(vly_reader *reader)
{
    vly_genome *genome = reader->genome;
    const vly_toml_node *tables = vly_toml_get(&reader->root, "memory");
    vly_status status;
    if (!tables)
        return VLY_OK;
    VLY_TRY(vly_reader_table(reader, tables, "memory"));
    genome->memories =
        vly_calloc(tables->n_children, sizeof(*genome->memories));
    if (!genome->memories)
        return vly_reader_nomem(reader,
                                tables->n_children * sizeof(vly_memory_rule),
                                "the memories");
    for (uint32_t i = 0; i < tables->n_children; i++)
        VLY_TRY(read_table(reader, tables, &tables->u.children[i],
                           &genome->memories[genome->n_memories++]));
    qsort(genome->memories, genome->n_memories, sizeof(*genome->memories),
          compare_memories);
out:
    return status;
}

vly_status vly_memories_parse(vly_genome *genome, const char *text,
                              const char *name, vly_error *error)
{
    vly_reader reader = {.name = name, .error = error, .genome = genome};
    vly_status status;
    VLY_TRY(vly_toml_parse(text, strlen(text), name, &reader.root, error));
    VLY_TRY(vly_reader_alloc(&reader, genome->n_areas, sizeof(uint32_t),
                             &reader.seen));
    VLY_TRY(vly_memories_read(&reader));
    VLY_TRY(vly_associations_read(&reader));
out:
    vly_reader_deinit(&reader);
    return status;
}

void vly_memories_free(vly_genome *genome)
{
    for (uint32_t i = 0; i < genome->n_memories; i++)
        vly_free(genome->memories[i].sources);
    vly_free(genome->memories);
}

/* ---- the areas ---------------------------------------------------------- */

/* A neuron fires whenever something arrives, whatever it is, and keeps nothing
 * of it. Parameters that are not listed are as given: those of its spikes. */
static const struct {
    const char *name;
    double value;
} fixed[] = {
    {"firing_threshold", -1e9},
    {"firing_threshold_increment_x", 0.0},
    {"firing_threshold_increment_y", 0.0},
    {"firing_threshold_increment_z", 0.0},
    {"firing_threshold_limit", 0.0},
    {"leak_coefficient", 0.0},
    {"refractory_period", 0.0},
    {"consecutive_fire_cnt_max", 0.0},
    {"snooze_length", 0.0},
    {"excitability", 1.0},
    {"mp_charge_accumulation", 0.0},
};
enum { N_FIXED = sizeof(fixed) / sizeof(fixed[0]) };

static vly_status make_param(vly_reader *reader, const vly_memory_rule *memory,
                             const vly_toml_node *table, uint32_t param,
                             double value)
{
    vly_area *area = &reader->genome->areas[memory->area];
    vly_value *to = &area->params[param];
    const char *name = area->model->params[param].name;
    const vly_toml_node *areas = vly_toml_get(&reader->root, "area");
    const vly_toml_node *given =
        vly_toml_get(vly_toml_get(areas, area->name), name);
    bool same =
        to->kind == VLY_VALUE_NUMBER && !(to->a < value) && !(to->a > value);
    if (!same && to->origin.kind != VLY_ORIGIN_DEFAULT)
        return vly_reader_fail_key(
            reader, given ? given : table,
            "%s of area %s, which is a memory: wanted no such key, because "
            "its neurons fire when their pattern is seen",
            name, area->name);
    to->a = value;
    return VLY_OK;
}

vly_status vly_memories_make(vly_reader *reader)
{
    const vly_genome *genome = reader->genome;
    const vly_toml_node *tables = vly_toml_get(&reader->root, "memory");
    vly_status status = VLY_OK;
    for (uint32_t m = 0; m < genome->n_memories; m++) {
        const vly_memory_rule *memory = &genome->memories[m];
        const vly_area *area = &genome->areas[memory->area];
        for (uint32_t i = 0; i < area->model->n_params; i++)
            for (int k = 0; k < N_FIXED; k++)
                if (strcmp(area->model->params[i].name, fixed[k].name) == 0)
                    VLY_TRY(make_param(reader, memory,
                                       vly_toml_get(tables, area->name), i,
                                       fixed[k].value));
    }
out:
    return status;
}

/* ---- the maps ----------------------------------------------------------- */

static bool area_remembers(const vly_genome *genome, uint32_t area)
{
    for (uint32_t m = 0; m < genome->n_memories; m++)
        if (genome->memories[m].area == area)
            return true;
    return false;
}

vly_status vly_memories_check(vly_reader *reader)
{
    const vly_genome *genome = reader->genome;
    for (uint32_t i = 0; i < reader->n_maps; i++) {
        const vly_map_entry *map = &reader->maps[i];
        const vly_toml_node *to = vly_toml_get(map->node, "to");
        for (uint32_t c = 0; c < map->n_cells; c++)
            if (area_remembers(genome, map->cells[c].to))
                return vly_reader_fail(
                    reader, to ? to : map->node,
                    "%s ends at area %s, which is a memory and fires when its "
                    "patterns are seen, wanted the area in from of [memory.%s]",
                    map->label, genome->areas[map->cells[c].to].name,
                    genome->areas[map->cells[c].to].name);
    }
    return VLY_OK;
}

/* ---- as text ------------------------------------------------------------ */

static void resolve_areas(vly_text *text, const vly_genome *genome,
                          const vly_memory_rule *memory, bool twins,
                          const vly_toml_node *table)
{
    const char *key = twins ? "twins" : "from";
    vly_origin origin = vly_resolve_origin(table, key);
    vly_text_put(text, "%s = [", key);
    for (uint32_t i = 0; i < memory->n_sources; i++) {
        const vly_memory_source *source = &memory->sources[i];
        vly_text_put(text, "%s\"%s\"", i ? ", " : "",
                     genome->areas[twins ? source->twin : source->area].name);
    }
    vly_text_put(text, "]");
    vly_text_origin(text, &origin, NULL);
}

void vly_memories_resolve(vly_text *text, const vly_reader *reader)
{
    const vly_genome *genome = reader->genome;
    const vly_toml_node *tables = vly_toml_get(&reader->root, "memory");
    for (uint32_t m = 0; m < genome->n_memories; m++) {
        vly_memory_rule *memory = &genome->memories[m];
        const char *name = genome->areas[memory->area].name;
        const vly_toml_node *table = vly_toml_get(tables, name);
        vly_text_put(text, "\n[memory.\"%s\"]\n", name);
        resolve_areas(text, genome, memory, false, table);
        if (memory->n_sources && memory->sources[0].twin != VLY_NO_AREA)
            resolve_areas(text, genome, memory, true, table);
        for (int i = 0; i < VLY_MEMORY_NUMBERS; i++) {
            vly_origin origin =
                vly_resolve_origin(table, vly_memory_numbers[i].key);
            vly_text_put(text, "%s = %" PRIu32, vly_memory_numbers[i].key,
                         *number_of(memory, i));
            vly_text_origin(text, &origin, NULL);
        }
    }
}
