/* SPDX-License-Identifier: Apache-2.0
 * What `volley doc` says of keys and of other simulators' names, from the
 * tables of core/genome by which a genome is read.
 */
#include "tools/doc/doc_keys.h"

#include <stdio.h>
#include <string.h>

#include "genome/foreign_names.h"
#include "genome/genome_keys.h"
#include "genome/genome_map.h"
#include "genome/model_info.h"
#include "genome/plasticity_info.h"
#include "tools/cli/tool.h"

/* In the order of vly_key_form. */
static const char *const form_texts[VLY_FORMS] = {
    [VLY_FORM_TEXT] = "text",
    [VLY_FORM_BOOL] = "true or false",
    [VLY_FORM_NUMBER] = "number",
    [VLY_FORM_WHOLE] = "whole number",
    [VLY_FORM_CELL] = "number, distribution or matrix",
    [VLY_FORM_COUNTS] = "number or matrix",
    [VLY_FORM_PER_AREA] = "number, or one an area",
    [VLY_FORM_EACH] = "number, one an area, neuron or time, or function",
    [VLY_FORM_AREAS] = "names or globs",
    [VLY_FORM_LINKS] = "[\"A -> B\", ...]",
    [VLY_FORM_TRIPLE] = "[x, y, z]",
    [VLY_FORM_TRIPLES] = "[[x, y, z], ...]",
    [VLY_FORM_PATTERNS] = "[[[x, y, z], [x, y, z]], ...]",
    [VLY_FORM_ANY] = "see there",
    [VLY_FORM_PAIRS] = "[[a, b], ...]",
    [VLY_FORM_TIMES] = "list, or lists",
    [VLY_FORM_INDEXES] = "list of whole numbers",
    [VLY_FORM_PORT] = "whole number, or a name",
    [VLY_FORM_MODEL] = "[model], model or { file }",
    [VLY_FORM_TYPE] = "model",
    [VLY_FORM_RULE] = "rule",
    [VLY_FORM_KIND] = "text",
    [VLY_FORM_FORMAT] = "1",
    [VLY_FORM_SECTION] = "table",
    [VLY_FORM_NAMED] = "tables by name",
    [VLY_FORM_LIST] = "list of tables",
    [VLY_FORM_NUMBERS] = "numbers by name",
    [VLY_FORM_TEXTS] = "texts by name",
    [VLY_FORM_SET] = "values by path",
    [VLY_FORM_PAIR] = "[a, b]",
    [VLY_FORM_CLIP] = "[low, high]",
    [VLY_FORM_EVERY] = "number, list, distribution, file",
    [VLY_FORM_BOX] = "[[x, y, z], [x, y, z]]",
    [VLY_FORM_PERIODS] = "true or [x, y, z]",
    [VLY_FORM_LEARNING] = "plasticity rule",
    [VLY_FORM_AMOUNT] = "\"10 ms\"",
    [VLY_FORM_AMOUNTS] = "values by name",
    [VLY_FORM_BOUNDS] = "[\"1 ms\", \"20 ms\"]",
    [VLY_FORM_NUMBER_LIST] = "list of numbers",
    [VLY_FORM_ONES] = "list of numbers, distributions",
};

/* ---- keys ------------------------------------------------------------- */

/* "poisson" of "stimulus.poisson" */
static const char *short_name(const vly_key_section *section)
{
    const char *point = strchr(section->name, '.');
    return point ? point + 1 : section->name;
}

const char *doc_section_name(uint32_t k)
{
    for (const vly_key_section *s = vly_key_sections; s->name; s++)
        if (k-- == 0)
            return short_name(s);
    return NULL;
}

void doc_sections_list(void)
{
    for (const vly_key_section *s = vly_key_sections; s->name; s++)
        tool_print("  %-20s %s\n", short_name(s), s->what);
}

void doc_cell_markdown(const char *text)
{
    for (const char *c = text; *c != '\0'; c++)
        tool_print(*c == '|' || *c == '*' || *c == '_' || *c == '<' ? "\\%c"
                                                                    : "%c",
                   *c);
}

void doc_sections_markdown(void)
{
    for (const vly_key_section *s = vly_key_sections; s->name; s++) {
        tool_print("\n## `%s`%s%s\n\n", s->what,
                   strchr(s->name, '.') ? ": " : "",
                   strchr(s->name, '.') ? short_name(s) : "");
        if (s->models)
            tool_print("And parameters and initial values of the model, "
                       "below.\n\n");
        if (s->rules)
            tool_print("And parameters of the plasticity rule, below.\n\n");
        tool_print("| key | value | |\n|---|---|---|\n");
        for (const vly_key *key = s->keys; key->name; key++) {
            size_t n = strlen(key->name);
            bool unit = key->name[n - 1] == '*';
            tool_print("| `%.*s%s` | ", (int)(unit ? n - 1 : n), key->name,
                       unit ? "_<unit>" : "");
            doc_cell_markdown(form_texts[key->form]);
            tool_print(" | ");
            doc_cell_markdown(key->text);
            tool_print(" |\n");
        }
    }
}

static void print_section(const vly_key_section *section)
{
    if (strchr(section->name, '.'))
        tool_print("%s, %s\n", section->what, short_name(section));
    else
        tool_print("%s\n", section->what);
    for (const vly_key *key = section->keys; key->name; key++) {
        char name[64];
        size_t n = strlen(key->name);
        bool unit = key->name[n - 1] == '*';
        snprintf(name, sizeof name, "%.*s%s", (int)(unit ? n - 1 : n),
                 key->name, unit ? "_<unit>" : "");
        tool_print("  %-18s %-32s %s\n", name, form_texts[key->form],
                   key->text);
    }
    if (section->models)
        tool_print("  and parameters and initial values of the model: "
                   "`volley doc MODEL`\n");
    if (section->rules)
        tool_print("  and parameters of the rule: `volley doc RULE`\n");
}

bool doc_section_print(const char *name)
{
    size_t n = strlen(name);
    uint32_t n_found = 0;
    for (const vly_key_section *s = vly_key_sections; s->name; s++) {
        bool group = strncmp(s->name, name, n) == 0 && s->name[n] == '.';
        if (!group && strcmp(s->name, name) != 0 &&
            strcmp(short_name(s), name) != 0)
            continue;
        if (n_found++ > 0)
            tool_print("\n");
        print_section(s);
    }
    return n_found > 0;
}

static void print_use(const char *where, const char *form, const char *text)
{
    tool_print("  %-20s %-32s %s\n", where, form, text);
}

/* Whether the word is the parameter, or it with a unit. */
static bool is_rule_param(const vly_plasticity_info *info, uint32_t param,
                          const char *word)
{
    const char *name = info->params[param].name;
    size_t n = strlen(name);
    if (!vly_plasticity_scaled(info, param))
        return strcmp(name, word) == 0;
    return strncmp(name, word, n) == 0 && (word[n] == '\0' || word[n] == '_');
}

/* Parameters of plasticity rules; found: something was printed before. */
static bool print_rule_uses(const char *name, bool found)
{
    for (uint32_t r = 0; r < vly_plasticity_count(); r++) {
        const vly_plasticity_info *info = vly_plasticity_at(r);
        for (uint32_t i = 0; i < info->n_params; i++) {
            const vly_param_info *param = &info->params[i];
            if (!is_rule_param(info, i, name))
                continue;
            if (!found)
                tool_print("key %s, of\n", name);
            found = true;
            print_use(info->id, param->unit, param->text);
        }
    }
    return found;
}

bool doc_key_print(const char *name)
{
    bool found = false;
    for (const vly_key_section *s = vly_key_sections; s->name; s++)
        for (const vly_key *key = s->keys; key->name; key++) {
            if (!vly_key_matches(key->name, name))
                continue;
            if (!found)
                tool_print("key %s, of\n", name);
            found = true;
            print_use(strcmp(s->name, "top") == 0 ? "the genome"
                                                  : short_name(s),
                      form_texts[key->form], key->text);
        }
    for (uint32_t m = 0; m < vly_model_count(); m++) {
        const vly_model_info *model = vly_model_at(m);
        for (uint32_t i = 0; i < model->n_params + model->n_fields; i++) {
            bool param = i < model->n_params;
            uint32_t j = param ? i : i - model->n_params;
            const char *own =
                param ? model->params[j].name : model->fields[j].name;
            if (strcmp(own, name) != 0)
                continue;
            if (!found)
                tool_print("key %s, of\n", name);
            found = true;
            print_use(model->id,
                      param ? model->params[j].unit : model->fields[j].unit,
                      param ? model->params[j].text : model->fields[j].text);
        }
    }
    return print_rule_uses(name, found);
}

/* ---- names of other simulators ---------------------------------------- */

typedef struct doc_places {
    char text[512];
    size_t n;
} doc_places;

static void add_place(doc_places *places, const char *kind, const char *of)
{
    if (places->n + 1 >= sizeof places->text)
        return;
    int n = snprintf(places->text + places->n, sizeof places->text - places->n,
                     "%s%s%s", places->n > 0 ? ", " : "", kind, of);
    places->n += n > 0 ? (size_t)n : 0;
}

static bool model_has(const vly_model_info *model, const char *word)
{
    for (uint32_t i = 0; i < model->n_params; i++)
        if (strcmp(model->params[i].name, word) == 0)
            return true;
    for (uint32_t i = 0; i < model->n_fields; i++)
        if (strcmp(model->fields[i].name, word) == 0)
            return true;
    return false;
}

/* "stimulus poisson" of "stimulus.poisson", "genome" of "top" */
static void add_section(doc_places *places, const vly_key_section *section)
{
    char name[64];
    snprintf(name, sizeof name, "%s",
             strcmp(section->name, "top") == 0 ? "genome" : section->name);
    char *point = strchr(name, '.');
    if (point)
        *point = ' ';
    add_place(places, name, "");
}

/* Places where Volley's word may be used. */
static void find_places(const vly_foreign *row, doc_places *places)
{
    const char *word = row->ours;
    if (vly_model_find(word))
        add_place(places, "model", "");
    if (vly_rule_find(word) != VLY_RULES)
        add_place(places, "rule", "");
    for (const vly_key_section *s = vly_key_sections; s->name; s++) {
        if (strncmp(s->name, "stimulus.", 9) == 0 &&
            strcmp(short_name(s), word) == 0)
            add_place(places, "kind of [[stimulus]]", "");
        if (strncmp(s->name, "area.", 5) == 0 &&
            strcmp(short_name(s), word) == 0)
            add_place(places, "generator of [area]", "");
        for (const vly_key *key = s->keys; key->name; key++)
            if (vly_key_matches(key->name, word) &&
                vly_foreign_holds(row, s->what, NULL))
                add_section(places, s);
    }
    for (uint32_t r = 0; r < vly_plasticity_count(); r++) {
        const vly_plasticity_info *info = vly_plasticity_at(r);
        if (strcmp(info->id, word) == 0)
            add_place(places, "plasticity rule", "");
        for (uint32_t i = 0; i < info->n_params; i++)
            if (strcmp(info->params[i].name, word) == 0 &&
                vly_foreign_holds(row, "", info->id))
                add_place(places, "", info->id);
    }
    for (uint32_t i = 0; i < vly_model_count(); i++)
        if (model_has(vly_model_at(i), word) &&
            vly_foreign_holds(row, "", vly_model_at(i)->id))
            add_place(places, "", vly_model_at(i)->id);
}

bool doc_aliases_print(const char *word)
{
    const vly_foreign *row = NULL;
    bool found = false;
    for (uint32_t i = 0; (row = vly_foreign_at(i)) != NULL; i++) {
        doc_places places = {0};
        if (word && strcmp(word, row->theirs) != 0)
            continue;
        if (!found)
            tool_print("%-24s %-20s of\n", "NEST, Brian 2", "Volley");
        found = true;
        if (row->ours)
            find_places(row, &places);
        else
            snprintf(places.text, sizeof places.text, "none%s%s",
                     row->where ? " in " : "", row->where ? row->where : "");
        tool_print("%-24s %-20s %s\n", row->theirs, row->ours ? row->ours : "",
                   places.text);
        if (row->note)
            tool_print("    %s\n", row->note);
    }
    return found;
}

const char *doc_alias_name(uint32_t k)
{
    const vly_foreign *row = vly_foreign_at(k);
    return row ? row->theirs : NULL;
}
