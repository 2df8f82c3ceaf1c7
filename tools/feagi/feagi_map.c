/* SPDX-License-Identifier: Apache-2.0
 * The mappings of a FEAGI genome as maps. A rule is a list (morphology, scalar,
 * multiplier, plasticity flag, constant, ltp, ltd, window, delay; the oldest
 * files stop after the flag, most before the window) or an object with those
 * names. The delay is feagi-core's (docs on synaptic delay): bursts from a
 * spike to its arrival, 1 without, never 0.
 */
#include <volley/host.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/number.h"
#include "tools/cli/tool.h"
#include "tools/feagi/feagi_genome.h"
#include "tools/feagi/feagi_memory.h"
#include "tools/feagi/feagi_name.h"
#include "tools/feagi/feagi_plastic.h"

enum { LIST_LEAST = 4, LIST_MOST = 9, PLACE_SIZE = 200, WEIGHT_MOST = 255 };

#define MAPS_MAX (1u << 14)

/* A rule in any of its forms; NULL: not given. */
typedef struct rule {
    const feagi_value *morphology;
    const feagi_value *scalar;
    const feagi_value *multiplier;
    feagi_plastic_values plastic;
    const feagi_value *attractivity;
    const feagi_value *delay;
} rule;

/* Place of a rule in the file and its name in the report. */
typedef struct place {
    feagi_genome *genome;
    uint32_t from;
    uint32_t to;
    char where[FEAGI_PATH_SIZE + 80];
    char subject[PLACE_SIZE]; /* "a -> b (morphology)" */
} place;

#define REPORT(of, ...)                                                        \
    feagi_report_add(&at->genome->report, (of), at->subject, error, __VA_ARGS__)

/* ---- the parts of a rule ------------------------------------------------ */

static const feagi_value *part(const feagi_value *value)
{
    return value && value->kind != FEAGI_NULL ? value : NULL;
}

static vly_status split(const place *at, const feagi_value *value, rule *out,
                        vly_error *error)
{
    *out = (rule){0};
    if (value->kind == FEAGI_ARRAY && value->n_items >= LIST_LEAST &&
        value->n_items <= LIST_MOST) {
        out->morphology = &value->items[0];
        out->scalar = part(&value->items[1]);
        out->multiplier = part(&value->items[2]);
        const feagi_value **const more[] = {
            &out->plastic.flag, &out->plastic.constant, &out->plastic.ltp,
            &out->plastic.ltd,  &out->plastic.window,   &out->delay};
        for (uint32_t i = LIST_LEAST - 1; i < value->n_items; i++)
            *more[i - (LIST_LEAST - 1)] = part(&value->items[i]);
    } else if (value->kind == FEAGI_OBJECT) {
        out->morphology = part(feagi_json_get(value, "morphology_id"));
        out->scalar = part(feagi_json_get(value, "morphology_scalar"));
        out->multiplier =
            part(feagi_json_get(value, "postSynapticCurrent_multiplier"));
        out->plastic.flag = part(feagi_json_get(value, "plasticity_flag"));
        out->plastic.constant =
            part(feagi_json_get(value, "plasticity_constant"));
        out->plastic.ltp = part(feagi_json_get(value, "ltp_multiplier"));
        out->plastic.ltd = part(feagi_json_get(value, "ltd_multiplier"));
        out->plastic.window = part(feagi_json_get(value, "plasticity_window"));
        out->plastic.frozen = part(feagi_json_get(value, "plasticity_frozen"));
        out->attractivity = part(feagi_json_get(value, "synapse_attractivity"));
        out->delay = part(feagi_json_get(value, "synaptic_delay_bursts"));
    } else {
        return feagi_wrong(at->genome, at->where, value, error,
                           "a mapping: a list of %d to %d or an object",
                           LIST_LEAST, LIST_MOST);
    }
    if (!out->morphology || out->morphology->kind != FEAGI_TEXT)
        return feagi_wrong(at->genome, at->where, value, error,
                           "a mapping with the name of a morphology");
    if (out->plastic.flag && out->plastic.flag->kind != FEAGI_BOOL)
        return feagi_wrong(at->genome, at->where, out->plastic.flag, error,
                           "true or false as the plasticity flag");
    return VLY_OK;
}

/* "blueprint[...].synaptic_delay_bursts": which part of a rule a number is */
#define PART_BYTES 640
static const char *part_place(const place *at, const char *key,
                              char text[PART_BYTES])
{
    (void)snprintf(text, PART_BYTES, "%.500s.%s", at->where, key);
    return text;
}

/* keep: whether such a synapse exists here */
static vly_status read_weight(const place *at, const rule *from, feagi_map *map,
                              bool *keep, vly_error *error)
{
    char where[PART_BYTES];
    double value = 1; /* feagi-core's, if there is none */
    vly_status status = VLY_OK;
    VLY_TRY(from->multiplier
                ? feagi_number(
                      at->genome,
                      part_place(at, "postSynapticCurrent_multiplier", where),
                      from->multiplier, false, -1e9, 1e9, &value, error)
                : REPORT(FEAGI_ASSUMED,
                         "no postSynapticCurrent_multiplier: 1, as "
                         "feagi-core"));
    *keep = !(vly_floor(value) < value);
    if (!*keep)
        return REPORT(FEAGI_LEFT_OUT,
                      "postSynapticCurrent_multiplier %s: the weights of a "
                      "feagi area are whole numbers, so these synapses are "
                      "not made",
                      tool_number_text(value));
    map->weight = (int32_t)(value > WEIGHT_MOST    ? WEIGHT_MOST
                            : value < -WEIGHT_MOST ? -WEIGHT_MOST
                                                   : value);
    if (value > WEIGHT_MOST || value < -WEIGHT_MOST)
        return REPORT(FEAGI_ASSUMED,
                      "postSynapticCurrent_multiplier %s is %d, at most 255 as "
                      "in feagi-core",
                      tool_number_text(value), map->weight);
out:
    return status;
}

static vly_status scalar_at(const place *at, const feagi_value *value,
                            double *out, vly_error *error)
{
    char where[PART_BYTES];
    if (value->kind == FEAGI_TEXT) {
        *out = NAN; /* an expression of x, y, z */
        return VLY_OK;
    }
    return feagi_number(at->genome, part_place(at, "morphology_scalar", where),
                        value, false, -1e6, 1e6, out, error);
}

static vly_status read_scalar(const place *at, const rule *from, feagi_map *map,
                              vly_error *error)
{
    double scale[3] = {1, 1, 1};
    const feagi_value *value = from->scalar;
    bool whole = true;
    bool one = true;
    vly_status status = VLY_OK;
    if (value && value->kind == FEAGI_ARRAY && value->n_items != 3)
        return feagi_wrong(at->genome, at->where, value, error,
                           "[x, y, z] or a number as the scalar");
    for (uint32_t i = 0; value && status == VLY_OK && i < 3; i++)
        status =
            scalar_at(at, value->kind == FEAGI_ARRAY ? &value->items[i] : value,
                      &scale[i], error);
    for (uint32_t i = 0; status == VLY_OK && i < 3; i++) {
        map->scale[i] = 1;
        whole = whole && vly_floor(scale[i]) <= scale[i] &&
                vly_floor(scale[i]) >= scale[i];
        one = one && scale[i] <= 1 && scale[i] >= 1;
    }
    if (status != VLY_OK || one)
        return status;
    bool vectors = map->morphology && map->morphology->kind == FEAGI_VECTORS;
    if (!vectors || !whole || strcmp(at->genome->version, "2.0") != 0)
        return REPORT(FEAGI_LEFT_OUT,
                      "its morphology_scalar, which feagi-core does not read "
                      "either%s",
                      vectors ? ""
                              : " and which has a meaning for vectors "
                                "only");
    for (uint32_t i = 0; i < 3; i++)
        map->scale[i] = (int32_t)scale[i];
    return REPORT(FEAGI_ASSUMED,
                  "its vectors are multiplied by its morphology_scalar, as the "
                  "older engine does (feagi-core does not read it)");
}

static vly_status read_delay(const place *at, const rule *from, feagi_map *map,
                             vly_error *error)
{
    char where[PART_BYTES];
    double bursts = 1; /* feagi-core's, if there is none */
    vly_status status = VLY_OK;
    if (from->delay)
        status = feagi_number(
            at->genome, part_place(at, "synaptic_delay_bursts", where),
            from->delay, true, 1, VLY_DELAY_BURSTS_MAX, &bursts, error);
    map->delay = (uint32_t)bursts;
    return status;
}

static bool is_one_of(const char *key, const char *const *list)
{
    while (*list && strcmp(*list, key) != 0)
        list++;
    return *list != NULL;
}

/* Reports unknown keys of a rule. */
static vly_status read_unknown(const place *at, const feagi_value *value,
                               bool plastic, vly_error *error)
{
    static const char *const known[] = {"morphology_id",
                                        "morphology_scalar",
                                        "postSynapticCurrent_multiplier",
                                        "synapse_attractivity",
                                        "synaptic_delay_bursts",
                                        "plasticity_flag",
                                        "plasticity_constant",
                                        "ltp_multiplier",
                                        "ltd_multiplier",
                                        "plasticity_window",
                                        "plasticity_frozen",
                                        NULL};
    /* feagi-core does not read these */
    static const char *const planned[] = {"plasticity_mode",
                                          "plasticity_eta",
                                          "eligibility_decay_bursts",
                                          "reward_source_area",
                                          "punishment_source_area",
                                          "gate_source_area",
                                          "max_weight",
                                          NULL};
    vly_status status = VLY_OK;
    if (value->kind != FEAGI_OBJECT)
        return VLY_OK;
    for (uint32_t i = 0; status == VLY_OK && i < value->n_items; i++) {
        const char *key = value->items[i].key;
        if (is_one_of(key, known) || !part(&value->items[i]))
            continue;
        if (!is_one_of(key, planned))
            status = REPORT(
                FEAGI_LEFT_OUT,
                "%.60s: a key of the mapping that is not known here", key);
        else if (plastic)
            status =
                REPORT(FEAGI_LEFT_OUT,
                       "%.60s, which feagi-core does not read either", key);
    }
    return status;
}

/* A probability, which has no counterpart in a map. */
static vly_status read_rest(const place *at, const rule *from, bool *keep,
                            vly_error *error)
{
    char where[PART_BYTES];
    double percent = 100;
    vly_status status = VLY_OK;
    if (from->attractivity)
        status = feagi_number(
            at->genome, part_place(at, "synapse_attractivity", where),
            from->attractivity, false, 0, 1e9, &percent, error);
    if (status == VLY_OK && !(percent > 0)) {
        *keep = false;
        return REPORT(FEAGI_SILENT, "synapse_attractivity 0 makes no synapse");
    }
    if (status == VLY_OK && percent < 100)
        status = REPORT(FEAGI_LEFT_OUT,
                        "synapse_attractivity %s percent: a rule between "
                        "voxels makes all of its synapses here",
                        tool_number_text(percent));
    return status;
}

/* ---- the morphology ----------------------------------------------------- */

/* Functions of the older engine that feagi-core does not have so far. */
static vly_status note_function(const place *at, const char *name,
                                vly_error *error)
{
    static const struct {
        const char *name;
        const char *but;
    } older[] = {{"projector_xy", ""},
                 {"projector_xz", ""},
                 {"projector_yz", ""},
                 {"project_from_end_x", ""},
                 {"project_from_end_y", ""},
                 {"project_from_end_z", ""},
                 {"block_connection", ""},
                 {"lateral_pairs_x", ""},
                 {"last_to_first", ""},
                 {"expander_x", ", but bits counted from the lowest"},
                 {"reducer_x", ", but bits counted from the lowest"},
                 {"randomizer", ", but drawn from the genome's seed"}};
    for (size_t i = 0; i < sizeof(older) / sizeof(older[0]); i++)
        if (strcmp(name, older[i].name) == 0)
            return REPORT(FEAGI_ASSUMED,
                          "as in the older engine%s; feagi-core makes no "
                          "synapses of it yet",
                          older[i].but);
    return VLY_OK;
}

/* Tiles larger than the source give no synapse. */
static bool tiles_fit(const place *at, const feagi_morphology *morphology)
{
    const feagi_area *from = &at->genome->areas[at->from];
    for (uint32_t i = 0; i < 3; i++)
        if (morphology->seed[i] > from->voxels[i])
            return false;
    return true;
}

static vly_status choose_rule(const place *at, const char *id, feagi_map *map,
                              bool *keep, vly_error *error)
{
    static const char *const rules[] = {"vectors", "patterns", "composite"};
    const feagi_morphology *morphology = feagi_morphology_find(at->genome, id);
    const char *function =
        morphology ? morphology->function : feagi_function_find(id);
    map->morphology = morphology;
    map->rule = function;
    *keep = true;
    if (morphology && morphology->kind < FEAGI_FUNCTION)
        map->rule = rules[morphology->kind];
    if (!morphology && !function && strcmp(id, "all_to_all") == 0)
        map->rule = id;
    if (map->rule && morphology && morphology->kind == FEAGI_COMPOSITE &&
        !tiles_fit(at, morphology)) {
        *keep = false;
        return REPORT(FEAGI_LEFT_OUT, "a tile of it is larger than the source");
    }
    if (map->rule && morphology && morphology->disputed)
        return REPORT(FEAGI_ASSUMED,
                      "a \"?\" or \"!\" of a pattern's source fits "
                      "everything, as in feagi-core; the older engine holds it "
                      "against the target");
    if (map->rule)
        return function ? note_function(at, function, error) : VLY_OK;
    *keep = false;
    const char *why = morphology ? NULL : feagi_function_lacks(id);
    if (why)
        return REPORT(FEAGI_LEFT_OUT,
                      "a morphology of FEAGI's own (not in the file): %s", why);
    if (!morphology)
        return REPORT(FEAGI_LEFT_OUT,
                      "the morphology is not in the file and is none of "
                      "FEAGI's own");
    return REPORT(FEAGI_LEFT_OUT, "morphology not known here: %s",
                  morphology->why);
}

/* ---- maps --------------------------------------------------------------- */

static bool id_taken(const void *context, const char *id)
{
    const feagi_genome *genome = context;
    for (uint32_t i = genome->n_maps; i > 0; i--)
        if (strcmp(genome->maps[i - 1].id, id) == 0)
            return true;
    return false;
}

static vly_status add_map(const place *at, feagi_map *map, vly_error *error)
{
    feagi_genome *genome = at->genome;
    uint32_t n = genome->n_maps;
    if (n == 0 || (n & (n - 1)) == 0) {
        feagi_map *grown = vly_realloc(genome->maps, n ? 2 * (size_t)n : 1,
                                       sizeof(*genome->maps));
        if (!grown)
            return vly_fail_nomem(error, 0, "the maps");
        genome->maps = grown;
    }
    char *id = vly_format("%.28s/%.28s", genome->areas[at->from].name,
                          genome->areas[at->to].name);
    map->id = id ? feagi_name_unique(id, id_taken, genome) : NULL;
    if (!map->id)
        return vly_fail_nomem(error, 0, "the maps");
    genome->maps[genome->n_maps++] = *map;
    return VLY_OK;
}

/* last: of the plastic rules of the pair. A rule counts although it makes no
 * synapses, as in feagi-core. */
static vly_status read_rule(place *at, const feagi_value *value,
                            feagi_plastic *last, vly_error *error)
{
    rule from;
    bool keep = true;
    bool taken = false;
    feagi_genome *genome = at->genome;
    feagi_plastic plastic = {0};
    feagi_map map = {.from = at->from, .to = at->to, .scale = {1, 1, 1}};
    vly_status status;
    VLY_TRY(split(at, value, &from, error));
    snprintf(at->subject, sizeof(at->subject), "%.60s -> %.60s (%.60s)",
             genome->areas[at->from].name, genome->areas[at->to].name,
             from.morphology->text);
    if (genome->areas[at->from].left_out || genome->areas[at->to].left_out) {
        status = REPORT(FEAGI_LEFT_OUT, "one of the areas is left out");
        goto out;
    }
    const feagi_mapping mapping = {
        at->from,    at->to,        from.morphology->text, at->where,
        at->subject, &from.plastic, from.multiplier};
    VLY_TRY(feagi_memory_mapping(genome, &mapping, &taken, error));
    if (taken)
        goto out;
    VLY_TRY(feagi_plastic_read(genome, at->where, at->subject, &from.plastic,
                               &plastic, error));
    if (plastic.is_on)
        *last = plastic;
    map.plastic = plastic;
    VLY_TRY(choose_rule(at, from.morphology->text, &map, &keep, error));
    if (keep)
        VLY_TRY(read_weight(at, &from, &map, &keep, error));
    if (keep)
        VLY_TRY(read_scalar(at, &from, &map, error));
    if (keep)
        VLY_TRY(read_delay(at, &from, &map, error));
    if (keep)
        VLY_TRY(read_unknown(at, value, plastic.is_on, error));
    if (keep)
        VLY_TRY(read_rest(at, &from, &keep, error));
    if (keep)
        VLY_TRY(add_map(at, &map, error));
out:
    return status;
}

/* The rules from one area to another. */
static vly_status read_rules(feagi_genome *genome, uint32_t from,
                             const feagi_value *rules, vly_error *error)
{
    const feagi_area *area = &genome->areas[from];
    char path[FEAGI_PATH_SIZE];
    uint32_t before = genome->n_maps;
    feagi_plastic last = {0};
    place at = {.genome = genome,
                .from = from,
                .to = feagi_area_find(genome, rules->key)};
    vly_status status = VLY_OK;
    feagi_where(genome, area, FEAGI_MAPPINGS, path);
    snprintf(at.where, sizeof(at.where), "%s[\"%.40s\"]", path, rules->key);
    if (rules->key[0] == '/') /* FEAGI's way to disable a rule */
        return feagi_report_add(&genome->report, FEAGI_SILENT, rules->key,
                                error, "%s", "");
    if (rules->kind != FEAGI_ARRAY)
        return feagi_wrong(genome, at.where, rules, error,
                           "a list of mappings");
    if (at.to == FEAGI_AREAS_MAX) {
        snprintf(at.subject, sizeof(at.subject), "%.60s -> %.60s", area->name,
                 rules->key);
        return feagi_report_add(&genome->report, FEAGI_LEFT_OUT, at.subject,
                                error, "there is no such area in the file");
    }
    for (uint32_t i = 0; status == VLY_OK && i < rules->n_items; i++) {
        snprintf(at.where, sizeof(at.where), "%s[\"%.40s\"][%u]", path,
                 rules->key, i);
        status = genome->n_maps == MAPS_MAX
                     ? vly_fail(error, VLY_E_PARSE,
                                "%.300s: %s is one mapping too many, wanted at "
                                "most %u",
                                genome->path, at.where, MAPS_MAX)
                     : read_rule(&at, &rules->items[i], &last, error);
    }
    snprintf(at.subject, sizeof(at.subject), "%.60s -> %.60s", area->name,
             genome->areas[at.to].name);
    if (status == VLY_OK)
        status = feagi_plastic_share(genome, before, &last, at.subject, error);
    if (status == VLY_OK && genome->n_maps - before > 1)
        status = feagi_report_add(
            &genome->report, FEAGI_ASSUMED, at.subject, error,
            "several rules: where two of them connect the same two neurons "
            "both synapses count, as in the older engine (feagi-core leaves "
            "out a second one of vectors)");
    return status;
}

vly_status feagi_maps_read(feagi_genome *genome, vly_error *error)
{
    vly_status status = VLY_OK;
    for (uint32_t i = 0; i < genome->n_areas; i++) {
        const feagi_value *all = genome->areas[i].values[FEAGI_MAPPINGS];
        for (uint32_t k = 0; status == VLY_OK && all && k < all->n_items; k++)
            status = read_rules(genome, i, &all->items[k], error);
    }
    feagi_plastic_number(genome);
    return status;
}
