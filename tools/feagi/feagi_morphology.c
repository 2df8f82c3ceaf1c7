/* SPDX-License-Identifier: Apache-2.0
 * The morphologies of a FEAGI genome. Two layouts: { "type", "parameters" },
 * and in the oldest files the parameters alone.
 *
 * A "?" or "!" of a pattern's source fits everything there (feagi-core looks at
 * it on the target's side only), so it becomes "*". Vectors and patterns that
 * stand twice make one synapse in FEAGI and are written once.
 */
#include <volley/host.h>

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "genome/genome_map.h"
#include "genome/voxel_rule.h"
#include "tools/feagi/feagi_genome.h"
#include "tools/feagi/feagi_name.h"

enum { ROWS_MAX = 1 << 16 }; /* as in the file, possibly with duplicates */

const char *feagi_function_find(const char *name)
{
    vly_rule rule = vly_rule_find(name);
    return vly_rule_is_function(rule) ? vly_rules[rule].name : NULL;
}

const char *feagi_function_lacks(const char *name)
{
    return strcmp(name, "tile") == 0
               ? "a composite, whose tiles stand in the file of a genome"
               : NULL;
}

const feagi_morphology *feagi_morphology_find(const feagi_genome *genome,
                                              const char *id)
{
    for (uint32_t i = 0; i < genome->n_morphologies; i++)
        if (strcmp(genome->morphologies[i].id, id) == 0)
            return &genome->morphologies[i];
    return NULL;
}

static void unusable(feagi_morphology *morphology, const char *why)
{
    morphology->kind = FEAGI_UNUSABLE;
    snprintf(morphology->why, sizeof(morphology->why), "%s", why);
}

/* neuron_morphologies["ID"].KEY[i]; i below 0: without */
static const char *where_of(const char *id, const char *key, int64_t i,
                            char path[FEAGI_PATH_SIZE])
{
    size_t n = (size_t)snprintf(path, FEAGI_PATH_SIZE,
                                "neuron_morphologies[\"%.60s\"]%s%s", id,
                                *key ? "." : "", key);
    if (i >= 0)
        snprintf(path + n, FEAGI_PATH_SIZE - n, "[%d]", (int)i);
    return path;
}

/* ---- vectors and patterns ----------------------------------------------- */

static vly_status read_triple(const feagi_genome *genome, const char *where,
                              const feagi_value *value, double lo, double hi,
                              int32_t out[3], vly_error *error)
{
    vly_status status = VLY_OK;
    if (!value || value->kind != FEAGI_ARRAY || value->n_items != 3)
        return feagi_wrong(genome, where, value, error, "[x, y, z]");
    for (uint32_t i = 0; status == VLY_OK && i < 3; i++) {
        double number = 0;
        status = feagi_number(genome, where, &value->items[i], true, lo, hi,
                              &number, error);
        out[i] = (int32_t)number;
    }
    return status;
}

static vly_status read_token(const feagi_genome *genome, const char *where,
                             const feagi_value *value, bool source,
                             int32_t *token, vly_error *error)
{
    double number = 0;
    if (value->kind == FEAGI_TEXT && strlen(value->text) == 1 &&
        strchr("*?!", value->text[0])) {
        *token = source || value->text[0] == '*' ? FEAGI_ANY
                 : value->text[0] == '?'         ? FEAGI_SAME
                                                 : FEAGI_OTHER;
        return VLY_OK;
    }
    if (value->kind != FEAGI_NUMBER)
        return feagi_wrong(genome, where, value, error,
                           "a whole number, \"*\", \"?\" or \"!\"");
    vly_status status = feagi_number(genome, where, value, true, 0,
                                     VLY_NEURONS_MAX, &number, error);
    *token = (int32_t)number;
    return status;
}

/* Do the engines differ? The older one compares a "?" of the source with a
 * number of the target, and a "!" of the source with both. */
static bool is_disputed(const feagi_value *source, const feagi_value *target)
{
    char from = source->kind == FEAGI_TEXT ? source->text[0] : '*';
    char to = target->kind == FEAGI_TEXT ? target->text[0] : '0';
    return (from == '?' && to == '0') ||
           (from == '!' && (to == '0' || to == '?'));
}

static vly_status read_pattern(const feagi_genome *genome, const char *where,
                               const feagi_value *value,
                               feagi_morphology *morphology, int32_t row[6],
                               vly_error *error)
{
    vly_status status;
    if (value->kind != FEAGI_ARRAY || value->n_items != 2)
        return feagi_wrong(genome, where, value, error, "[source, target]");
    for (uint32_t side = 0; side < 2; side++) {
        const feagi_value *half = &value->items[side];
        if (half->kind != FEAGI_ARRAY || half->n_items != 3)
            return feagi_wrong(genome, where, half, error, "[x, y, z]");
        for (uint32_t i = 0; i < 3; i++)
            VLY_TRY(read_token(genome, where, &half->items[i], side == 0,
                               &row[3 * side + i], error));
    }
    for (uint32_t i = 0; i < 3; i++)
        morphology->disputed =
            morphology->disputed ||
            is_disputed(&value->items[0].items[i], &value->items[1].items[i]);
out:
    return status;
}

/* Leaves out duplicate rows. */
static void add_row(feagi_morphology *morphology, const int32_t row[6])
{
    for (uint32_t i = 0; i < morphology->n_rows; i++)
        if (memcmp(morphology->rows[i], row, sizeof(morphology->rows[i])) == 0)
            return;
    memcpy(morphology->rows[morphology->n_rows++], row,
           sizeof(morphology->rows[0]));
}

static vly_status read_rows(const feagi_genome *genome,
                            feagi_morphology *morphology,
                            const feagi_value *list, vly_error *error)
{
    bool vectors = morphology->kind == FEAGI_VECTORS;
    const char *key = vectors ? "vectors" : "patterns";
    uint32_t most = vectors ? VLY_VECTORS_MAX : VLY_PATTERNS_MAX;
    char where[FEAGI_PATH_SIZE];
    vly_status status = VLY_OK;
    if (!list || list->kind != FEAGI_ARRAY) {
        return feagi_wrong(genome, where_of(morphology->id, key, -1, where),
                           list, error, "a list of %s", key);
    }
    uint32_t n = list->n_items;
    if (n > ROWS_MAX) {
        unusable(morphology, "it has more rows than a rule may");
        return VLY_OK;
    }
    morphology->rows = vly_calloc(n, sizeof(morphology->rows[0]));
    if (!morphology->rows)
        return vly_fail_nomem(error, 0, "a morphology");
    for (uint32_t i = 0; i < n && morphology->n_rows <= most; i++) {
        int32_t row[6] = {0};
        where_of(morphology->id, key, i, where);
        VLY_TRY(vectors ? read_triple(genome, where, &list->items[i],
                                      -(double)VLY_NEURONS_MAX, VLY_NEURONS_MAX,
                                      row, error)
                        : read_pattern(genome, where, &list->items[i],
                                       morphology, row, error));
        add_row(morphology, row);
    }
    if (morphology->n_rows == 0)
        unusable(morphology, "it has none");
    if (morphology->n_rows > most) {
        morphology->kind = FEAGI_UNUSABLE;
        snprintf(morphology->why, sizeof(morphology->why),
                 "it has %u %s, a rule at most %u", n, key, most);
    }
out:
    return status;
}

/* ---- composite ---------------------------------------------------------- */

static vly_status read_composite(const feagi_genome *genome,
                                 feagi_morphology *morphology,
                                 const feagi_value *from, vly_error *error)
{
    const feagi_value *seed = feagi_json_get(from, "src_seed");
    const feagi_value *pattern = feagi_json_get(from, "src_pattern");
    const feagi_value *mapper = feagi_json_get(from, "mapper_morphology");
    char where[FEAGI_PATH_SIZE];
    int32_t sizes[3];
    double number = 0;
    vly_status status;
    VLY_TRY(read_triple(genome, where_of(morphology->id, "src_seed", -1, where),
                        seed, 1, VLY_NEURONS_MAX, sizes, error));
    where_of(morphology->id, "src_pattern", -1, where);
    if (!pattern || pattern->kind != FEAGI_ARRAY || pattern->n_items != 3)
        return feagi_wrong(genome, where, pattern, error,
                           "[choose, skip] for each of x, y and z");
    for (uint32_t i = 0; i < 3; i++) {
        const feagi_value *axis = &pattern->items[i];
        if (axis->kind != FEAGI_ARRAY || axis->n_items != 2)
            return feagi_wrong(genome, where, axis, error, "[choose, skip]");
        morphology->seed[i] = (uint32_t)sizes[i];
        VLY_TRY(feagi_number(genome, where, &axis->items[0], true, 0,
                             VLY_NEURONS_MAX, &number, error));
        morphology->choose[i] = (uint32_t)number;
        VLY_TRY(feagi_number(genome, where, &axis->items[1], true, 0,
                             VLY_NEURONS_MAX, &number, error));
        morphology->skip[i] = (uint32_t)number;
        if (morphology->choose[i] == 0)
            unusable(morphology, "it takes no tile of the source");
    }
    if (!mapper || mapper->kind != FEAGI_TEXT)
        return feagi_wrong(
            genome, where_of(morphology->id, "mapper_morphology", -1, where),
            mapper, error, "the name of a morphology");
    morphology->mapper = mapper->text;
out:
    return status;
}

/* After all morphologies are read: finds the mapper of a composite. */
static void check_mapper(const feagi_genome *genome,
                         feagi_morphology *morphology)
{
    const feagi_morphology *mapper =
        feagi_morphology_find(genome, morphology->mapper);
    if (mapper
            ? mapper->kind == FEAGI_UNUSABLE || mapper->kind == FEAGI_COMPOSITE
            : !feagi_function_find(morphology->mapper)) {
        morphology->kind = FEAGI_UNUSABLE;
        snprintf(morphology->why, sizeof(morphology->why),
                 "its mapper %.60s is %s", morphology->mapper,
                 !mapper                           ? "not in the file"
                 : mapper->kind == FEAGI_COMPOSITE ? "a composite itself"
                                                   : "not known here");
    }
}

/* ---- one morphology ----------------------------------------------------- */

static bool type_of(const feagi_value *from, const feagi_value **parameters,
                    feagi_morphology_kind *kind)
{
    static const char *const names[] = {"vectors", "patterns", "composite",
                                        "functions"};
    const feagi_value *type = feagi_json_get(from, "type");
    *parameters = type ? feagi_json_get(from, "parameters") : from;
    for (int i = 0; i < 4; i++) {
        *kind = (feagi_morphology_kind)i;
        if (type ? type->kind == FEAGI_TEXT && strcmp(type->text, names[i]) == 0
                 : feagi_json_get(from, names[i]) != NULL)
            return true;
    }
    return false;
}

static void read_function(feagi_morphology *morphology)
{
    const char *id = morphology->id;
    morphology->function = feagi_function_find(id);
    if (morphology->function)
        return;
    const char *why = feagi_function_lacks(id);
    unusable(morphology, why ? why : "no such function is known here");
}

static vly_status read_parameters(const feagi_genome *genome,
                                  feagi_morphology *morphology,
                                  const feagi_value *from, vly_error *error)
{
    if (morphology->kind == FEAGI_COMPOSITE)
        return read_composite(genome, morphology, from, error);
    return read_rows(genome, morphology,
                     feagi_json_get(from, morphology->kind == FEAGI_VECTORS
                                              ? "vectors"
                                              : "patterns"),
                     error);
}

/* Genomes that ship with FEAGI have incomplete morphologies, which may be
 * unused. They are not an error of the file; mappings that use them are left
 * out. */
static vly_status read_one(const feagi_genome *genome, const feagi_value *from,
                           feagi_morphology *morphology, vly_error *error)
{
    const feagi_value *parameters = NULL;
    vly_error why = VLY_ERROR_INIT;
    char where[FEAGI_PATH_SIZE];
    morphology->id = from->key;
    if (from->kind != FEAGI_OBJECT)
        return feagi_wrong(genome, where_of(from->key, "", -1, where), from,
                           error, "an object with type and parameters");
    if (!type_of(from, &parameters, &morphology->kind)) {
        unusable(morphology, "its type is none of vectors, patterns, composite "
                             "and functions");
        return VLY_OK;
    }
    if (morphology->kind == FEAGI_FUNCTION) {
        read_function(morphology);
        return VLY_OK;
    }
    vly_status status = read_parameters(genome, morphology, parameters, &why);
    if (status == VLY_E_PARSE) {
        size_t n = strlen(genome->path);
        n = (n < 300 ? n : 300) + 2; /* "path: " of feagi_wrong */
        unusable(morphology, strlen(why.message) > n ? why.message + n : "");
        return VLY_OK;
    }
    return status == VLY_OK ? VLY_OK
                            : vly_fail(error, status, "%s", why.message);
}

static bool name_taken(const void *context, const char *name)
{
    const feagi_genome *genome = context;
    for (uint32_t i = 0; i < genome->n_morphologies; i++)
        if (genome->morphologies[i].name &&
            strcmp(genome->morphologies[i].name, name) == 0)
            return true;
    return false;
}

static vly_status make_names(feagi_genome *genome, vly_error *error)
{
    for (uint32_t i = 0; i < genome->n_morphologies; i++) {
        feagi_morphology *morphology = &genome->morphologies[i];
        if (morphology->kind == FEAGI_COMPOSITE)
            check_mapper(genome, morphology);
        if (morphology->kind == FEAGI_FUNCTION ||
            morphology->kind == FEAGI_UNUSABLE)
            continue;
        morphology->name = feagi_name_unique(feagi_name_plain(morphology->id),
                                             name_taken, genome);
        if (!morphology->name)
            return vly_fail_nomem(error, 0, "a name");
    }
    return VLY_OK;
}

vly_status feagi_morphologies_read(feagi_genome *genome, vly_error *error)
{
    const feagi_value *all =
        feagi_json_get(genome->root, "neuron_morphologies");
    vly_status status = VLY_OK;
    if (!all || all->kind == FEAGI_NULL)
        return VLY_OK;
    if (all->kind != FEAGI_OBJECT)
        return feagi_wrong(genome, "neuron_morphologies", all, error,
                           "an object of morphologies");
    if (all->n_items > FEAGI_MORPHOLOGIES_MAX)
        return feagi_wrong(genome, "neuron_morphologies", all, error,
                           "at most %u", FEAGI_MORPHOLOGIES_MAX);
    genome->morphologies =
        vly_calloc(all->n_items, sizeof(*genome->morphologies));
    if (!genome->morphologies)
        return vly_fail_nomem(error, 0, "the morphologies");
    for (uint32_t i = 0; status == VLY_OK && i < all->n_items; i++)
        status =
            read_one(genome, &all->items[i],
                     &genome->morphologies[genome->n_morphologies++], error);
    return status == VLY_OK ? make_names(genome, error) : status;
}
