/* SPDX-License-Identifier: Apache-2.0
 * Memory areas. Every mapping from an area that is no memory leads patterns to
 * a memory area, whatever its morphology; the neurons of the memory stand for
 * them. feagi-core adds a twin of each such area, in which patterns are
 * repeated. A genome that feagi-core saved has them already.
 * Source: feagi-core 0.0.1-beta.18, crates/feagi-brain-development
 * (connectome_manager.rs) and crates/feagi-evolutionary
 * (plasticity_detector.rs); the older engine, src/mem/memory.py.
 */
#include "tools/feagi/feagi_memory.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/number.h"
#include "tools/cli/tool.h"

/* Neurons of all memory areas in feagi-core. */
enum { ROOM = 50000 };

static bool makes_memory(const char *morphology)
{
    return strcmp(morphology, "memory") == 0 ||
           strcmp(morphology, "episodic_memory") == 0;
}

static bool associates(const char *morphology)
{
    return strcmp(morphology, "associative_memory") == 0;
}

bool feagi_memory_morphology(const char *id)
{
    return makes_memory(id) || associates(id) ||
           strcmp(id, "memory_replay") == 0;
}

/* ---- which areas are memories ------------------------------------------- */

static const feagi_value *value_of(const feagi_area *area, const char *name)
{
    return area->values[feagi_property_of_name(name)];
}

static bool says(const feagi_area *area, const char *name, const char *text)
{
    const feagi_value *value = value_of(area, name);
    return value && value->kind == FEAGI_TEXT && strcmp(value->text, text) == 0;
}

static bool is_marked(const feagi_genome *genome, const feagi_area *area)
{
    const feagi_value *flag = value_of(area, "is_mem_type");
    return (flag && flag->number > 0) || says(area, "group_id", "MEMORY") ||
           says(area, "sub_group_id", "MEMORY") ||
           (genome->version[0] == '3' && area->has_canonical &&
            area->canonical[0] == 'm');
}

static const char *morphology_of(const feagi_value *rule)
{
    const feagi_value *name =
        rule->kind == FEAGI_ARRAY && rule->n_items > 0 ? &rule->items[0]
        : rule->kind == FEAGI_OBJECT ? feagi_json_get(rule, "morphology_id")
                                     : NULL;
    return name && name->kind == FEAGI_TEXT ? name->text : "";
}

/* The k-th mapping of an area that is in use; NULL after the last. */
static const feagi_value *mapping(const feagi_genome *genome, uint32_t from,
                                  uint32_t *k, uint32_t *to)
{
    const feagi_value *all = genome->areas[from].values[FEAGI_MAPPINGS];
    for (; all && *k < all->n_items; ++*k) {
        const feagi_value *rules = &all->items[*k];
        *to = rules->key[0] == '/' ? FEAGI_AREAS_MAX
                                   : feagi_area_find(genome, rules->key);
        if (*to != FEAGI_AREAS_MAX && rules->kind == FEAGI_ARRAY) {
            ++*k;
            return rules;
        }
    }
    return NULL;
}

/* Areas that are marked, and those to which a mapping by memory leads. */
static vly_status mark(feagi_genome *genome, vly_error *error)
{
    vly_status status = VLY_OK;
    for (uint32_t i = 0; i < genome->n_areas; i++)
        genome->areas[i].memory = is_marked(genome, &genome->areas[i]);
    for (uint32_t from = 0; from < genome->n_areas; from++) {
        const feagi_value *rules;
        uint32_t to = 0;
        uint32_t k = 0;
        while (status == VLY_OK && (rules = mapping(genome, from, &k, &to)))
            for (uint32_t r = 0; r < rules->n_items && status == VLY_OK; r++) {
                feagi_area *area = &genome->areas[to];
                if (area->memory ||
                    !makes_memory(morphology_of(&rules->items[r])))
                    continue;
                area->memory = true;
                status = feagi_report_add(
                    &genome->report, FEAGI_ASSUMED, area->name, error,
                    "a memory area although it is not marked as one, because "
                    "a mapping by memory leads to it, as in the older engine");
            }
    }
    return status;
}

static vly_status add_link(feagi_genome *genome, uint32_t from, uint32_t memory,
                           vly_error *error)
{
    uint32_t n = genome->n_links;
    for (uint32_t i = 0; i < n; i++)
        if (genome->links[i].from == from && genome->links[i].memory == memory)
            return VLY_OK;
    if (n == 0 || (n & (n - 1)) == 0) {
        feagi_link *grown =
            vly_realloc(genome->links, n ? 2 * (size_t)n : 1, sizeof(*grown));
        if (!grown)
            return vly_fail_nomem(error, 0, "the memories");
        genome->links = grown;
    }
    genome->links[genome->n_links++] =
        (feagi_link){.from = from, .memory = memory, .twin = FEAGI_AREAS_MAX};
    return VLY_OK;
}

static bool remembers(const feagi_genome *genome, uint32_t memory)
{
    for (uint32_t i = 0; i < genome->n_links; i++)
        if (genome->links[i].memory == memory)
            return true;
    return false;
}

/* ---- numbers ------------------------------------------------------------ */

static vly_status read_numbers(feagi_genome *genome, feagi_area *area,
                               vly_error *error)
{
    char where[FEAGI_PATH_SIZE];
    vly_status status = VLY_OK;
    for (int i = 0; status == VLY_OK && i < VLY_MEMORY_NUMBERS; i++) {
        uint32_t slot = feagi_property_of_name(vly_memory_numbers[i].key);
        const feagi_value *value = area->values[slot];
        double number = vly_memory_numbers[i].init;
        if (value)
            status = feagi_number(
                genome, feagi_where(genome, area, slot, where), value, false, 0,
                vly_memory_numbers[i].hi, &number, error);
        else
            status = feagi_report_add(
                &genome->report, FEAGI_ASSUMED, area->name, error,
                "no %s: %u, as feagi-core", vly_memory_numbers[i].key,
                vly_memory_numbers[i].init);
        number = number < vly_memory_numbers[i].lo ? vly_memory_numbers[i].lo
                                                   : vly_floor(number);
        area->memory_numbers[i] = (uint32_t)number;
    }
    return status;
}

/* Of a mapping; an association leads patterns both ways. */
static vly_status link_areas(feagi_genome *genome, uint32_t from, uint32_t to,
                             const feagi_value *rules, vly_error *error)
{
    bool both = false;
    for (uint32_t r = 0; r < rules->n_items; r++)
        both = both || associates(morphology_of(&rules->items[r]));
    if (genome->areas[to].memory && !genome->areas[from].memory)
        return add_link(genome, from, to, error);
    if (both && genome->areas[from].memory && !genome->areas[to].memory)
        return add_link(genome, to, from, error);
    return VLY_OK;
}

vly_status feagi_memories_find(feagi_genome *genome, vly_error *error)
{
    vly_status status;
    VLY_TRY(mark(genome, error));
    for (uint32_t from = 0; from < genome->n_areas; from++) {
        const feagi_value *rules;
        uint32_t to = 0;
        uint32_t k = 0;
        while ((rules = mapping(genome, from, &k, &to)))
            VLY_TRY(link_areas(genome, from, to, rules, error));
    }
    for (uint32_t i = 0; i < genome->n_areas; i++) {
        feagi_area *area = &genome->areas[i];
        if (!area->memory)
            continue;
        area->memory = remembers(genome, i);
        if (!area->memory)
            VLY_TRY(feagi_report_add(&genome->report, FEAGI_ASSUMED, area->name,
                                     error,
                                     "a memory area to which no mapping leads "
                                     "never knows a pattern: its neurons are "
                                     "ordinary ones"));
        else
            VLY_TRY(read_numbers(genome, area, error));
        genome->n_memories += area->memory;
    }
out:
    return status;
}

uint32_t feagi_memory_room(const feagi_genome *genome, double n_voxels)
{
    double room = ROOM / (genome->n_memories * n_voxels);
    return room < 1 ? 1 : (uint32_t)room;
}

/* ---- mappings ----------------------------------------------------------- */

vly_status feagi_memory_mapping(feagi_genome *genome, const feagi_mapping *of,
                                bool *taken, vly_error *error)
{
    const char *morphology = of->morphology;
    const char *subject = of->subject;
    const bool source = genome->areas[of->from].memory;
    const bool target = genome->areas[of->to].memory;
    const bool replays = strcmp(morphology, "memory_replay") == 0;
    *taken = true;
    if (associates(morphology))
        return feagi_association_read(genome, of, error);
    *taken = target || replays || makes_memory(morphology);
    if (source && target)
        return feagi_report_add(&genome->report, FEAGI_ASSUMED, subject, error,
                                "a memory area remembers no patterns of "
                                "another one, as in feagi-core");
    if (target && !makes_memory(morphology))
        return feagi_report_add(&genome->report, FEAGI_ASSUMED, subject, error,
                                "leads patterns to the memory area and makes "
                                "no synapses with the neurons that stand for "
                                "them, as in feagi-core");
    if (source && !*taken)
        return feagi_report_add(&genome->report, FEAGI_ASSUMED, subject, error,
                                "its synapses are those of the neurons that "
                                "stand for patterns, as in the older engine; "
                                "in feagi-core they are those of neurons that "
                                "never fire");
    if (replays && !source)
        return feagi_report_add(&genome->report, FEAGI_ASSUMED, subject, error,
                                "makes no synapses and repeats nothing, "
                                "because its source is not a memory area");
    return VLY_OK;
}

/* ---- twins -------------------------------------------------------------- */

/* Whether the memory replays to the area. */
static bool replays_to(const feagi_genome *genome, uint32_t memory,
                       uint32_t area)
{
    const feagi_value *rules;
    uint32_t to = 0;
    uint32_t k = 0;
    while ((rules = mapping(genome, memory, &k, &to)))
        for (uint32_t r = 0; to == area && r < rules->n_items; r++)
            if (strcmp(morphology_of(&rules->items[r]), "memory_replay") == 0)
                return true;
    return false;
}

static bool same_size(const feagi_area *a, const feagi_area *b)
{
    return memcmp(a->voxels, b->voxels, sizeof(a->voxels)) == 0 &&
           a->per_voxel == b->per_voxel;
}

/* The twin that the file has; FEAGI_AREAS_MAX: none. */
static uint32_t twin_of(const feagi_genome *genome, const feagi_link *link)
{
    for (uint32_t i = 0; i < genome->n_areas; i++) {
        const feagi_area *area = &genome->areas[i];
        const feagi_value *of = value_of(area, "memory_twin_of");
        if (i != link->from && !area->memory && !area->left_out && of &&
            of->kind == FEAGI_TEXT &&
            feagi_area_find(genome, of->text) == link->from &&
            replays_to(genome, link->memory, i) &&
            same_size(area, &genome->areas[link->from]))
            return i;
    }
    return FEAGI_AREAS_MAX;
}

static vly_status add_twin(feagi_genome *genome, feagi_link *link,
                           vly_error *error)
{
    char *id = vly_format("%.24s/%.24s_twin", genome->areas[link->memory].name,
                          genome->areas[link->from].name);
    vly_status status;
    VLY_TRY(feagi_area_add(genome, id, &link->twin, error));
    const feagi_area *from = &genome->areas[link->from];
    const feagi_area *memory = &genome->areas[link->memory];
    feagi_area *twin = &genome->areas[link->twin];
    memcpy(twin->voxels, from->voxels, sizeof(twin->voxels));
    memcpy(twin->params, from->params, sizeof(twin->params));
    memcpy(twin->at, memory->at, sizeof(twin->at));
    twin->at[0] += 20; /* as in feagi-core */
    twin->per_voxel = from->per_voxel;
    status = feagi_report_add(
        &genome->report, FEAGI_ASSUMED, memory->name, error,
        "areas NAME_twin, which repeat its patterns, are added, as by "
        "feagi-core");
out:
    return status;
}

vly_status feagi_twins_make(feagi_genome *genome, vly_error *error)
{
    vly_status status = VLY_OK;
    for (uint32_t i = 0; status == VLY_OK && i < genome->n_links; i++) {
        feagi_link *link = &genome->links[i];
        if (genome->areas[link->from].left_out)
            continue;
        link->twin = twin_of(genome, link);
        if (link->twin == FEAGI_AREAS_MAX)
            status = add_twin(genome, link, error);
    }
    return status;
}

/* ---- text --------------------------------------------------------------- */

bool feagi_memory_param(const char *name)
{
    static const char *const names[] = {"postsynaptic_current", "mp_driven_psp",
                                        "psp_uniform_distribution"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

static void put_links(vly_text *text, const feagi_genome *genome,
                      uint32_t memory, bool twins)
{
    const char *before = twins ? "twins = [" : "from = [";
    for (uint32_t i = 0; i < genome->n_links; i++) {
        const feagi_link *link = &genome->links[i];
        if (link->memory != memory || genome->areas[link->from].left_out)
            continue;
        vly_text_put(text, "%s\"%s\"", before,
                     genome->areas[twins ? link->twin : link->from].name);
        before = ", ";
    }
    vly_text_put(text, "]\n");
}

static bool has_links(const feagi_genome *genome, uint32_t memory)
{
    for (uint32_t i = 0; i < genome->n_links; i++)
        if (genome->links[i].memory == memory &&
            !genome->areas[genome->links[i].from].left_out)
            return true;
    return false;
}

void feagi_memory_tables(vly_text *text, const feagi_genome *genome)
{
    for (uint32_t m = 0; m < genome->n_areas; m++) {
        const feagi_area *area = &genome->areas[m];
        if (!area->memory || area->left_out || !has_links(genome, m))
            continue;
        vly_text_put(text, "\n[memory.\"%s\"]\n", area->name);
        put_links(text, genome, m, false);
        put_links(text, genome, m, true);
        for (int i = 0; i < VLY_MEMORY_NUMBERS; i++)
            vly_text_put(text, "%s = %" PRIu32 "\n", vly_memory_numbers[i].key,
                         area->memory_numbers[i]);
    }
}
