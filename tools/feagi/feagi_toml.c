/* SPDX-License-Identifier: Apache-2.0
 * A FEAGI genome as TOML: what the import says at the head, then areas,
 * morphologies and maps in the order of the file. A function of the file's
 * content and of nothing else.
 */
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "tools/cli/tool.h"
#include "tools/feagi/feagi_genome.h"
#include "tools/feagi/feagi_memory.h"
#include "tools/feagi/feagi_plastic.h"

enum { LINE_WIDTH = 78, BURSTS = 100 };

static void put(vly_text *text, const char *string)
{
    vly_text_bytes(text, string, strlen(string));
}

/* ---- comments ----------------------------------------------------------- */

/* Wraps words at width; each line begins with the same prefix. */
static void put_comment(vly_text *text, const char *begin, const char *rest,
                        const char *words)
{
    size_t column = strlen(begin);
    bool first = true;
    put(text, begin);
    while (*words) {
        size_t n = strcspn(words, " ");
        if (!first && column + 1 + n > LINE_WIDTH) {
            put(text, "\n");
            put(text, rest);
            column = strlen(rest);
            first = true;
        }
        if (!first)
            put(text, " ");
        vly_text_bytes(text, words, n);
        column += n + !first;
        first = false;
        words += n;
        words += strspn(words, " ");
    }
    put(text, "\n");
}

/* Text of the file at the end of a line: no control characters. */
static void put_quoted(vly_text *text, const char *string)
{
    put(text, "\"");
    for (; *string; string++) {
        char c = *string;
        if ((unsigned char)c < ' ' || c == 127)
            c = '?';
        vly_text_bytes(text, &c, 1);
    }
    put(text, "\"");
}

static void put_report(vly_text *text, const feagi_genome *genome)
{
    for (int of = 0; of < FEAGI_CLASSES; of++) {
        if (feagi_report_count(&genome->report, (feagi_class)of) == 0)
            continue;
        vly_text_put(text, "#\n# %s:\n", feagi_class_titles[of]);
        for (uint32_t i = 0; i < genome->report.n_entries; i++) {
            const feagi_entry *entry = &genome->report.entries[i];
            if ((int)entry->of != of)
                continue;
            char *sentence = feagi_entry_sentence(entry);
            if (!sentence)
                text->failed = true;
            else
                put_comment(text, "# - ", "#   ", sentence);
            vly_free(sentence);
        }
    }
}

static void put_head(vly_text *text, const feagi_genome *genome)
{
    put_comment(text, "# ", "# ",
                "Imported from a FEAGI genome by `volley import feagi`, which "
                "makes the same text of the same genome each time. Neurons and "
                "rules are those of feagi-core 0.0.1-beta.18 where nothing "
                "else is said below; the older engine is FEAGI's in Python. A "
                "sensor area gets its input from [[stimulus]]; a synapse takes "
                "one burst.");
    put_report(text, genome);
    put(text, "format = 1\n");
    if (genome->title) {
        put(text, "title = ");
        vly_text_string(text, genome->title);
        put(text, "\n");
    }
    put(text, "source = \"FEAGI genome");
    if (genome->id) {
        vly_text id = {0};
        vly_text_string(&id, genome->id);
        if (id.failed)
            text->failed = true;
        else
            vly_text_put(text, " ");
        /* without its first quote; the last one is written below */
        if (!id.failed)
            vly_text_bytes(text, id.data + 1, id.n - 2);
        vly_free(id.data);
    }
    vly_text_put(text, ", format %s\"\n\n[run]\ndt_ms = %s\n", genome->version,
                 tool_number_text(genome->dt_ms));
    vly_text_put(text, "bursts = %d # FEAGI runs until it is stopped\n",
                 BURSTS);
}

/* ---- areas -------------------------------------------------------------- */

/* Its name in FEAGI. */
static void put_area_head(vly_text *text, const feagi_area *area)
{
    const feagi_value *name = area->values[FEAGI_NAME];
    const feagi_value *group = area->values[FEAGI_GROUP];
    const char *parts[3] = {
        name ? name->text : "",
        strcmp(area->id, area->name) != 0 ? area->id : "",
        group ? group->text : "",
    };
    const char *before = " # ";
    vly_text_put(text, "\n[area.%s]", area->name);
    for (int i = 0; i < 3; i++) {
        if (!*parts[i])
            continue;
        put(text, before);
        put(text, i == 1 ? "id " : "");
        put_quoted(text, parts[i]);
        before = ", ";
    }
}

static void put_area(vly_text *text, const feagi_genome *genome,
                     const feagi_area *area)
{
    put_area_head(text, area);
    vly_text_put(text, "\nmodel = \"feagi\"\nvoxels = [%u, %u, %u]\n",
                 area->voxels[0], area->voxels[1], area->voxels[2]);
    if (area->per_voxel != 1)
        vly_text_put(text, "neurons_per_voxel = %u\n", area->per_voxel);
    vly_text_put(text, "at = [%s, %s, %s]\n", tool_number_text(area->at[0]),
                 tool_number_text(area->at[1]), tool_number_text(area->at[2]));
    for (uint32_t i = 0; i < genome->model->n_params; i++) {
        const vly_param_info *info = &genome->model->params[i];
        double value = area->params[i];
        bool as_default = !(value < info->init) && !(value > info->init);
        if (area->memory && !feagi_memory_param(info->name))
            continue;
        if (strcmp(info->unit, "bool") == 0 && !as_default)
            vly_text_put(text, "%s = %s\n", info->name,
                         value > 0 ? "true" : "false");
        else if (!as_default || i == 0) /* the threshold, in any case */
            vly_text_put(text, "%s = %s\n", info->name,
                         tool_number_text(value));
    }
}

/* ---- morphologies ------------------------------------------------------- */

static void put_token(vly_text *text, int32_t token)
{
    if (token >= 0)
        vly_text_put(text, "%d", token);
    else
        vly_text_put(text, "\"%c\"",
                     token == FEAGI_ANY    ? '*'
                     : token == FEAGI_SAME ? '?'
                                           : '!');
}

/* vectors or patterns = [...], scaled */
static void put_rows(vly_text *text, const feagi_morphology *morphology,
                     const int32_t scale[3])
{
    bool vectors = morphology->kind == FEAGI_VECTORS;
    uint32_t a_line = vectors ? 5 : 2;
    vly_text_put(text, "%s = [", vectors ? "vectors" : "patterns");
    for (uint32_t i = 0; i < morphology->n_rows; i++) {
        const int32_t *row = morphology->rows[i];
        if (i > 0)
            put(text, ",");
        if (morphology->n_rows > a_line && i % a_line == 0)
            put(text, "\n    ");
        else if (i > 0)
            put(text, " ");
        put(text, vectors ? "[" : "[[");
        for (uint32_t k = 0; k < (vectors ? 3 : 6); k++) {
            if (k > 0)
                put(text, k == 3 ? "], [" : ", ");
            if (vectors)
                vly_text_put(text, "%lld", (long long)row[k] * scale[k]);
            else
                put_token(text, row[k]);
        }
        put(text, vectors ? "]" : "]]");
    }
    put(text, morphology->n_rows > a_line ? ",\n]\n" : "]\n");
}

static void put_morphology(vly_text *text, const feagi_genome *genome,
                           const feagi_morphology *morphology)
{
    static const int32_t once[3] = {1, 1, 1};
    bool composite = morphology->kind == FEAGI_COMPOSITE;
    vly_text_put(text, "\n[morphology.%s%s]", morphology->name,
                 composite ? ".composite" : "");
    if (strcmp(morphology->name, morphology->id) != 0) {
        put(text, " # ");
        put_quoted(text, morphology->id);
    }
    put(text, "\n");
    if (!composite) {
        put_rows(text, morphology, once);
        return;
    }
    const feagi_morphology *mapper =
        feagi_morphology_find(genome, morphology->mapper);
    const uint32_t *seed = morphology->seed;
    const uint32_t *choose = morphology->choose;
    const uint32_t *skip = morphology->skip;
    vly_text_put(text,
                 "src_seed = [%u, %u, %u]\nsrc_pattern = [[%u, %u], [%u, %u], "
                 "[%u, %u]]\nmapper = \"%s\"\n",
                 seed[0], seed[1], seed[2], choose[0], skip[0], choose[1],
                 skip[1], choose[2], skip[2],
                 mapper && mapper->name
                     ? mapper->name
                     : feagi_function_find(morphology->mapper));
}

/* ---- maps, input, output ------------------------------------------------ */

static void put_map(vly_text *text, const feagi_genome *genome,
                    const feagi_map *map)
{
    const int32_t *scale = map->scale;
    vly_text_put(text,
                 "\n[[map]]\nid = \"%s\"\nfrom = \"%s\"\nto = \"%s\"\n"
                 "rule = \"%s\"\n",
                 map->id, genome->areas[map->from].name,
                 genome->areas[map->to].name, map->rule);
    if (scale[0] != 1 || scale[1] != 1 || scale[2] != 1)
        put_rows(text, map->morphology, scale);
    else if (map->morphology && map->morphology->name)
        vly_text_put(text, "morphology = \"%s\"\n", map->morphology->name);
    vly_text_put(text, "weight = %d\n", map->weight);
    if (map->delay != 1)
        vly_text_put(text, "delay_bursts = %u\n", map->delay);
    feagi_plastic_key(text, map);
}

static void put_streams(vly_text *text, const feagi_genome *genome)
{
    uint32_t power = feagi_area_find(genome, "_power");
    uint32_t n = 0;
    if (power != FEAGI_AREAS_MAX && !genome->areas[power].left_out)
        vly_text_put(text,
                     "\n# FEAGI gives it 1 in every burst.\n[[stimulus]]\n"
                     "id = \"power\"\nkind = \"normal\"\nto = \"%s\"\n"
                     "mean = 1\nsd = 0\n",
                     genome->areas[power].name);
    for (uint32_t i = 0; i < genome->n_areas; i++) {
        if (!genome->areas[i].output || genome->areas[i].left_out)
            continue;
        put(text, n++ ? ", "
                      : "\n# The motor areas.\n[[record]]\n"
                        "what = \"spikes\"\nfrom = [");
        vly_text_put(text, "\"%s\"", genome->areas[i].name);
    }
    put(text, n ? "]\n" : "");
}

char *feagi_toml_write(const feagi_genome *genome, size_t *n)
{
    vly_text text = {0};
    put_head(&text, genome);
    for (uint32_t i = 0; i < genome->n_areas; i++)
        if (!genome->areas[i].left_out)
            put_area(&text, genome, &genome->areas[i]);
    for (uint32_t i = 0; i < genome->n_morphologies; i++)
        if (genome->morphologies[i].name)
            put_morphology(&text, genome, &genome->morphologies[i]);
    feagi_memory_tables(&text, genome);
    feagi_association_tables(&text, genome);
    feagi_plastic_tables(&text, genome);
    for (uint32_t i = 0; i < genome->n_maps; i++)
        put_map(&text, genome, &genome->maps[i]);
    put_streams(&text, genome);
    if (text.failed) {
        vly_free(text.data);
        return NULL;
    }
    *n = text.n;
    return text.data;
}
