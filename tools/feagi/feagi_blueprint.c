/* SPDX-License-Identifier: Apache-2.0
 * Areas of a FEAGI genome and the values of their properties, from flat keys
 * (_____10c-ID-cx-GENE: 2.0, 2.1, 3.0) and from one object an area.
 */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "tools/feagi/feagi_genome.h"
#include "tools/feagi/feagi_name.h"

#define FLAT_PREFIX "_____10c-"

enum { PREFIX_BYTES = 9, TAIL_BYTES = 12, GENE_BYTES = 8 };

static bool is_flat_key(const char *key)
{
    return strncmp(key, FLAT_PREFIX, PREFIX_BYTES) == 0;
}

/* ---- areas -------------------------------------------------------------- */

static bool name_taken(const void *context, const char *name)
{
    const feagi_genome *genome = context;
    for (uint32_t i = 0; i < genome->n_areas; i++)
        if (strcmp(genome->areas[i].name, name) == 0)
            return true;
    return false;
}

uint32_t feagi_area_find(const feagi_genome *genome, const char *id)
{
    char bytes[9];
    for (uint32_t i = 0; i < genome->n_areas; i++)
        if (strcmp(genome->areas[i].id, id) == 0)
            return i;
    if (!feagi_canonical(id, bytes))
        return FEAGI_AREAS_MAX;
    for (uint32_t i = 0; i < genome->n_areas; i++)
        if (genome->areas[i].has_canonical &&
            memcmp(genome->areas[i].canonical, bytes, sizeof(bytes)) == 0)
            return i;
    return FEAGI_AREAS_MAX;
}

static vly_status no_memory(vly_error *error)
{
    return vly_fail_nomem(error, 0, "a FEAGI genome");
}

static vly_status make_room(feagi_genome *genome, vly_error *error)
{
    uint32_t n = genome->n_areas;
    if (n == FEAGI_AREAS_MAX)
        return vly_fail(error, VLY_E_PARSE,
                        "%.300s: blueprint has more areas, wanted at most %u",
                        genome->path, FEAGI_AREAS_MAX);
    if (n > 0 && (n & (n - 1)) != 0)
        return VLY_OK;
    feagi_area *grown =
        vly_realloc(genome->areas, n ? 2 * (size_t)n : 1, sizeof(*grown));
    if (!grown)
        return no_memory(error);
    genome->areas = grown;
    return VLY_OK;
}

vly_status feagi_area_add(feagi_genome *genome, char *id, uint32_t *index,
                          vly_error *error)
{
    vly_status status;
    feagi_area area = {.id = id};
    if (!id)
        return no_memory(error);
    if (!*id)
        VLY_TRY(vly_fail(error, VLY_E_PARSE,
                         "%.300s: blueprint has an area without id, wanted "
                         "one of FEAGI's",
                         genome->path));
    VLY_TRY(make_room(genome, error));
    area.has_canonical = feagi_canonical(id, area.canonical);
    *index = feagi_area_find(genome, id);
    if (*index != FEAGI_AREAS_MAX)
        VLY_TRY(vly_fail(error, VLY_E_PARSE,
                         "%.300s: blueprint has the areas \"%.40s\" and "
                         "\"%.40s\", which are one, wanted it once",
                         genome->path, genome->areas[*index].id, id));
    area.name = feagi_name_unique(feagi_name_of(id), name_taken, genome);
    if (!area.name)
        VLY_TRY(no_memory(error));
    *index = genome->n_areas;
    genome->areas[genome->n_areas++] = area;
    return VLY_OK;
out:
    vly_free(id);
    return status;
}

/* ---- values ------------------------------------------------------------- */

static vly_status check_form(const feagi_genome *genome, const char *where,
                             feagi_form form, const feagi_value *value,
                             vly_error *error)
{
    static const struct {
        feagi_kind kind;
        const char *wanted;
    } forms[] = {
        [FEAGI_IS_NUMBER] = {FEAGI_NUMBER, "a number"},
        [FEAGI_IS_WHOLE] = {FEAGI_NUMBER, "a whole number"},
        [FEAGI_IS_BOOL] = {FEAGI_BOOL, "true or false"},
        [FEAGI_IS_TEXT] = {FEAGI_TEXT, "text"},
        [FEAGI_IS_MAPPINGS] = {FEAGI_OBJECT,
                               "an object of lists of mappings by area"},
    };
    if (form == FEAGI_IS_ANYTHING || value->kind == forms[form].kind)
        return VLY_OK;
    return feagi_wrong(genome, where, value, error, "%s", forms[form].wanted);
}

static bool same(const feagi_value *a, const feagi_value *b)
{
    if (a->kind != b->kind || a->n_items || b->n_items)
        return false;
    return a->kind == FEAGI_TEXT
               ? strcmp(a->text, b->text) == 0
               : !(a->number < b->number) && !(a->number > b->number);
}

static vly_status set_value(feagi_genome *genome, feagi_area *area,
                            uint32_t slot, const feagi_value *value,
                            vly_error *error)
{
    const feagi_property *property = &feagi_properties[slot];
    char where[FEAGI_PATH_SIZE];
    vly_status status;
    const feagi_value *before = area->values[slot];
    if (value->kind == FEAGI_NULL) /* ignored, as in FEAGI */
        return property->role == FEAGI_PARAM ||
                       (property->role == FEAGI_TAKEN && slot <= FEAGI_CURRENT)
                   ? feagi_report_add(&genome->report, FEAGI_ASSUMED,
                                      area->name, error,
                                      "%s is null: as if it were missing, as "
                                      "in feagi-core",
                                      property->name)
                   : VLY_OK;
    area->values[slot] = value;
    feagi_where(genome, area, slot, where);
    if (before && !same(before, value))
        return feagi_wrong(genome, where, value, error,
                           "what %.80s has, which is the same property",
                           before->key ? before->key : "another key");
    status = check_form(genome, where, property->form, value, error);
    if (status == VLY_OK && property->role == FEAGI_NO_EFFECT)
        status = feagi_report_add(&genome->report, FEAGI_SILENT, property->name,
                                  error, "%s", "");
    return status;
}

/* area: NULL where the key names none */
static vly_status unknown(feagi_genome *genome, const feagi_area *area,
                          const char *key, vly_error *error)
{
    char subject[FEAGI_PATH_SIZE];
    snprintf(subject, sizeof(subject), "%.60s%s%.90s", area ? area->name : "",
             area ? "." : "", key);
    return feagi_report_add(&genome->report, FEAGI_LEFT_OUT, subject, error,
                            "not a property that FEAGI's readers know");
}

/* ---- flat --------------------------------------------------------------- */

/* Splits _____10c-ID-cx-GENE; false: another form of key. */
static bool split_key(const char *key, size_t *n_id, const char **gene)
{
    size_t n = strlen(key);
    if (n < PREFIX_BYTES + TAIL_BYTES)
        return false;
    const char *tail = key + n - TAIL_BYTES;
    *n_id = n - PREFIX_BYTES - TAIL_BYTES;
    *gene = tail + TAIL_BYTES - GENE_BYTES;
    return tail[0] == '-' && (tail[1] == 'c' || tail[1] == 'n') &&
           tail[2] == 'x' && tail[3] == '-';
}

static vly_status read_flat_key(feagi_genome *genome, const feagi_value *item,
                                uint32_t *last, vly_error *error)
{
    size_t n_id = 0;
    const char *gene = NULL;
    const char *id = item->key + PREFIX_BYTES;
    uint32_t area = *last;
    vly_status status;
    if (!split_key(item->key, &n_id, &gene))
        return unknown(genome, NULL, item->key, error);
    if (area >= genome->n_areas || strlen(genome->areas[area].id) != n_id ||
        strncmp(genome->areas[area].id, id, n_id) != 0) {
        char *copy = vly_format("%.*s", (int)n_id, id);
        if (!copy)
            return no_memory(error);
        for (area = 0; area < genome->n_areas; area++)
            if (strcmp(genome->areas[area].id, copy) == 0)
                break;
        if (area < genome->n_areas)
            vly_free(copy);
        else
            VLY_TRY(feagi_area_add(genome, copy, &area, error));
        *last = area;
    }
    uint32_t slot = feagi_property_of_gene(gene);
    if (slot == feagi_property_count())
        return unknown(genome, &genome->areas[area], gene - 3, error);
    status = set_value(genome, &genome->areas[area], slot, item, error);
out:
    return status;
}

static vly_status read_flat(feagi_genome *genome, const feagi_value *blueprint,
                            vly_error *error)
{
    uint32_t last = 0;
    vly_status status = VLY_OK;
    for (uint32_t i = 0; status == VLY_OK && i < blueprint->n_items; i++) {
        const feagi_value *item = &blueprint->items[i];
        if (is_flat_key(item->key))
            status = read_flat_key(genome, item, &last, error);
        else if (item->key[0] == '/' || strncmp(item->key, "_____10b-", 9) == 0)
            status = feagi_report_add(&genome->report, FEAGI_SILENT, item->key,
                                      error, "%s", "");
        else
            status = unknown(genome, NULL, item->key, error);
    }
    return status;
}

/* ---- one object per area ------------------------------------------------- */

static vly_status set_triple(feagi_genome *genome, feagi_area *area,
                             uint32_t slot, const feagi_value *value,
                             vly_error *error)
{
    vly_status status = VLY_OK;
    char where[FEAGI_PATH_SIZE];
    if (value->kind == FEAGI_NULL)
        return set_value(genome, area, slot, value, error);
    if (value->kind != FEAGI_ARRAY || value->n_items != 3)
        return feagi_wrong(genome, feagi_where(genome, area, slot, where),
                           value, error, "[x, y, z]");
    for (uint32_t i = 0; status == VLY_OK && i < 3; i++)
        status = set_value(genome, area, slot + i, &value->items[i], error);
    return status;
}

static vly_status read_object(feagi_genome *genome, const feagi_value *item,
                              vly_error *error)
{
    uint32_t index = 0;
    vly_status status;
    if (item->kind != FEAGI_OBJECT) {
        char where[FEAGI_PATH_SIZE];
        feagi_area area = {.id = item->key};
        feagi_where(genome, &area, FEAGI_NAME, where);
        *strrchr(where, '.') = 0;
        return feagi_wrong(genome, where, item, error,
                           "an object with the properties of an area");
    }
    VLY_TRY(feagi_area_add(genome, vly_strdup(item->key), &index, error));
    for (uint32_t i = 0; i < item->n_items; i++) {
        const feagi_value *value = &item->items[i];
        uint32_t slot = feagi_property_of_name(value->key);
        if (slot == feagi_property_count())
            VLY_TRY(unknown(genome, &genome->areas[index], value->key, error));
        else if (slot == FEAGI_BOUNDS_X || slot == FEAGI_PLACE_X)
            VLY_TRY(
                set_triple(genome, &genome->areas[index], slot, value, error));
        else
            VLY_TRY(
                set_value(genome, &genome->areas[index], slot, value, error));
    }
out:
    return status;
}

vly_status feagi_blueprint_read(feagi_genome *genome, vly_error *error)
{
    const feagi_value *blueprint = feagi_json_get(genome->root, "blueprint");
    vly_status status = VLY_OK;
    if (blueprint->kind != FEAGI_OBJECT)
        return feagi_wrong(genome, "blueprint", blueprint, error,
                           "an object of areas");
    for (uint32_t i = 0; !genome->flat && i < blueprint->n_items; i++)
        genome->flat = is_flat_key(blueprint->items[i].key);
    if (genome->flat)
        status = read_flat(genome, blueprint, error);
    for (uint32_t i = 0;
         status == VLY_OK && !genome->flat && i < blueprint->n_items; i++)
        status = read_object(genome, &blueprint->items[i], error);
    if (status == VLY_OK && genome->n_areas == 0)
        status = vly_fail(error, VLY_E_PARSE,
                          "%.300s: blueprint has no area, wanted at least one",
                          genome->path);
    return status;
}
