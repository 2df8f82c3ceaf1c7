/* SPDX-License-Identifier: Apache-2.0
 * volley schema: JSON Schema (draft 2020-12) of a genome, for editors. Made
 * from the tables by which the reader refuses keys (genome_keys), from the
 * models' tables and from the names of the rules: there is no second list that
 * could say something else. What depends on sizes or on another key is left to
 * `volley check`.
 */
#include "tools/cli/commands.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "genome/genome_keys.h"
#include "genome/genome_map.h"
#include "genome/model_info.h"
#include "genome/plasticity_info.h"
#include "tools/cli/json_writer.h"
#include "tools/cli/tool.h"
#include "tools/doc/schema_forms.h"

static const tool_option options[] = {
    {NULL, 0, false, TOOL_FLAG, NULL, NULL, 0, 0}};

static void put_ref(json_writer *json, const char *key, const char *name)
{
    char text[128];
    snprintf(text, sizeof text, "#/$defs/%s", name);
    json_object(json, key);
    json_text(json, "$ref", text);
    json_object_end(json);
}

/* ---- keys that depend on the section ---------------------------------- */

/* The section of this name, and those whose names begin with it and a point. */
static void put_section_ref(json_writer *json, const char *key,
                            const char *name, bool own)
{
    size_t n = strlen(name);
    json_object(json, key);
    json_array(json, "anyOf");
    for (const vly_key_section *s = vly_key_sections; s->name; s++) {
        char of[64];
        if (strncmp(s->name, name, n) != 0 ||
            (s->name[n] != '.' && s->name[n] != '\0'))
            continue;
        snprintf(of, sizeof of, "%s%s", s->name,
                 own && (s->models || s->rules) ? "_own" : "");
        put_ref(json, NULL, of);
    }
    json_array_end(json);
    json_object_end(json);
}

/* A [neuron] gives models that the schema does not know, a [synapse] rules, and
 * a [use] both: then areas, [model] and [plasticity] have any other key, a
 * section NAME_own. */
static bool has_own(const vly_key_section *section, const vly_key *key)
{
    return strcmp(section->name, "top") == 0 &&
           (strcmp(key->name, "area") == 0 || strcmp(key->name, "model") == 0 ||
            strcmp(key->name, "plasticity") == 0);
}

/* Members of the schema of a key, besides its description. */
static void put_form(json_writer *json, const vly_key_section *section,
                     const vly_key *key)
{
    char name[64];
    switch (key->form) {
    case VLY_FORM_KIND:
        json_text(json, "const", strrchr(section->name, '.') + 1);
        break;
    case VLY_FORM_RULE:
        json_array(json, "enum");
        for (uint32_t i = 0; i < VLY_RULES; i++)
            json_text(json, NULL, vly_rules[i].name);
        json_text(json, NULL, "function"); /* that of its morphology */
        json_array_end(json);
        break;
    case VLY_FORM_TYPE:
        json_array(json, "enum");
        for (uint32_t i = 0; i < vly_model_count(); i++)
            json_text(json, NULL, vly_model_at(i)->id);
        json_array_end(json);
        break;
    case VLY_FORM_LEARNING:
        json_array(json, "enum");
        for (uint32_t i = 0; i < vly_plasticity_count(); i++)
            json_text(json, NULL, vly_plasticity_at(i)->id);
        json_array_end(json);
        break;
    case VLY_FORM_SECTION:
        snprintf(name, sizeof name, "#/$defs/%s", key->name);
        json_text(json, "$ref", name);
        break;
    case VLY_FORM_NAMED:
        json_text(json, "type", "object");
        if (has_own(section, key))
            break; /* put_choice */
        put_section_ref(json, "additionalProperties", key->name, false);
        break;
    case VLY_FORM_LIST:
        json_text(json, "type", "array");
        put_section_ref(json, "items", key->name, false);
        break;
    default:
        snprintf(name, sizeof name, "#/$defs/form%d", (int)key->form);
        json_text(json, "$ref", name);
        break;
    }
}

static void put_key(json_writer *json, const vly_key_section *section,
                    const vly_key *key, const char *name)
{
    json_object(json, name);
    json_text(json, "description", key->text);
    put_form(json, section, key);
    json_object_end(json);
}

/* ---- units ------------------------------------------------------------ */

enum { SUFFIXES_MAX = 32 };

static void add_suffix(const char *suffix, const char **suffixes, uint32_t *n)
{
    for (uint32_t i = 0; i < *n; i++)
        if (strcmp(suffixes[i], suffix) == 0)
            return;
    if (*n < SUFFIXES_MAX)
        suffixes[(*n)++] = suffix;
}

/* The units of all ports, and of the constant input for the amplitude of a dc;
 * their number. */
static uint32_t find_suffixes(const char *suffixes[SUFFIXES_MAX])
{
    uint32_t n = 0;
    for (uint32_t m = 0; m < vly_model_count(); m++) {
        const vly_model_info *model = vly_model_at(m);
        for (uint32_t p = 0; p < model->n_ports; p++)
            add_suffix(model->ports[p].suffix, suffixes, &n);
        if (model->dc_suffix[0] != '\0')
            add_suffix(model->dc_suffix, suffixes, &n);
    }
    return n;
}

/* weight* is weight_mv, weight_pa, ... */
static void put_suffixed(json_writer *json, const vly_key_section *section,
                         const vly_key *key)
{
    const char *suffixes[SUFFIXES_MAX];
    uint32_t n = find_suffixes(suffixes);
    for (uint32_t i = 0; i < n; i++) {
        char name[64];
        snprintf(name, sizeof name, "%.*s%s%s", (int)strlen(key->name) - 1,
                 key->name, suffixes[i][0] != '\0' ? "_" : "", suffixes[i]);
        put_key(json, section, key, name);
    }
}

/* ---- parameters ------------------------------------------------------- */

static void put_value(json_writer *json, const char *name, const char *text,
                      const char *unit, double lo, double hi)
{
    char description[256];
    snprintf(description, sizeof description, "%s%s%s", text,
             unit[0] != '\0' ? ", " : "", unit);
    json_object(json, name);
    json_text(json, "description", description);
    json_array(json, "anyOf");
    json_object(json, NULL);
    json_text(json, "type", "number");
    if (isfinite(lo) && isfinite(hi)) {
        json_number(json, "minimum", lo);
        json_number(json, "maximum", hi);
    }
    json_object_end(json);
    put_ref(json, NULL, strcmp(unit, "bool") == 0 ? "flags" : "many");
    json_array_end(json);
    json_object_end(json);
}

static void put_model_values(json_writer *json, const vly_model_info *model)
{
    for (uint32_t i = 0; i < model->n_params; i++) {
        const vly_param_info *param = &model->params[i];
        put_value(json, param->name, param->text, param->unit, param->lo,
                  param->hi);
    }
    for (uint32_t i = 0; i < model->n_fields; i++) {
        const vly_field_info *field = &model->fields[i];
        put_value(json, field->name, field->text, field->unit, field->lo,
                  field->hi);
    }
}

static const char *value_name(uint32_t model, uint32_t i)
{
    const vly_model_info *info = vly_model_at(model);
    if (i < info->n_params)
        return info->params[i].name;
    i -= info->n_params;
    return i < info->n_fields ? info->fields[i].name : NULL;
}

static bool named_before(const char *name, uint32_t model)
{
    for (uint32_t m = 0; m < model; m++)
        for (uint32_t i = 0; value_name(m, i); i++)
            if (strcmp(value_name(m, i), name) == 0)
                return true;
    return false;
}

/* An area may name a [model], so its parameters are those of any model, without
 * ranges. */
static void put_all_values(json_writer *json)
{
    for (uint32_t m = 0; m < vly_model_count(); m++)
        for (uint32_t i = 0; value_name(m, i); i++)
            if (!named_before(value_name(m, i), m))
                put_ref(json, value_name(m, i), "any");
}

/* ---- sections --------------------------------------------------------- */

static void put_keys(json_writer *json, const vly_key_section *section)
{
    for (const vly_key *key = section->keys; key->name; key++) {
        if (key->form == VLY_FORM_LEARNING) /* of put_own: a name */
            json_raw(json, key->name, "{\"type\": \"string\"}");
        else if (strchr(key->name, '*'))
            put_suffixed(json, section, key);
        else
            put_key(json, section, key, key->name);
    }
}

static void put_models(json_writer *json, const vly_key_section *section)
{
    json_object(json, section->name);
    json_array(json, "anyOf");
    for (uint32_t m = 0; m < vly_model_count(); m++) {
        json_object(json, NULL);
        json_text(json, "type", "object");
        json_bool(json, "additionalProperties", false);
        json_array(json, "required");
        json_text(json, NULL, "type");
        json_array_end(json);
        json_object(json, "properties");
        json_object(json, "type");
        json_text(json, "const", vly_model_at(m)->id);
        json_text(json, "description", vly_model_at(m)->text);
        json_object_end(json);
        put_model_values(json, vly_model_at(m));
        json_object_end(json);
        json_object_end(json);
    }
    json_array_end(json);
    json_object_end(json);
}

static void put_number(json_writer *json, const char *name,
                       const vly_param_info *param)
{
    json_object(json, name);
    json_text(json, "description", param->text);
    json_array(json, "anyOf");
    json_object(json, NULL);
    json_text(json, "type", "number");
    json_number(json, "minimum", param->lo);
    json_number(json, "maximum", param->hi);
    json_object_end(json);
    put_ref(json, NULL, "expression");
    json_array_end(json);
    json_object_end(json);
}

/* Parameters of a plasticity rule: eta is eta_pa, eta_ns, ... */
static void put_rule_params(json_writer *json, const vly_plasticity_info *info)
{
    const char *suffixes[SUFFIXES_MAX];
    uint32_t n = find_suffixes(suffixes);
    for (uint32_t i = 0; i < info->n_params; i++) {
        const vly_param_info *param = &info->params[i];
        bool scaled = vly_plasticity_scaled(info, i);
        for (uint32_t k = 0; k < (scaled ? n : 1); k++) {
            char name[64];
            const char *suffix = scaled ? suffixes[k] : "";
            snprintf(name, sizeof name, "%s%s%s", param->name,
                     suffix[0] != '\0' ? "_" : "", suffix);
            put_number(json, name, param);
        }
    }
}

/* One schema for each rule. */
static void put_rules(json_writer *json, const vly_key_section *section)
{
    json_object(json, section->name);
    json_array(json, "anyOf");
    for (uint32_t r = 0; r < vly_plasticity_count(); r++) {
        const vly_plasticity_info *info = vly_plasticity_at(r);
        json_object(json, NULL);
        json_text(json, "type", "object");
        json_bool(json, "additionalProperties", false);
        json_array(json, "required");
        json_text(json, NULL, "rule");
        json_array_end(json);
        json_object(json, "properties");
        json_object(json, "rule");
        json_text(json, "const", info->id);
        json_text(json, "description", info->text);
        json_object_end(json);
        for (const vly_key *key = section->keys; key->name; key++)
            if (!vly_plasticity_has_key(info, key->name))
                continue;
            else if (strchr(key->name, '*'))
                put_suffixed(json, section, key);
            else if (strcmp(key->name, "rule") != 0)
                put_key(json, section, key, key->name);
        put_rule_params(json, info);
        json_object_end(json);
        json_object_end(json);
    }
    json_array_end(json);
    json_object_end(json);
}

static void put_required(json_writer *json, const vly_key_section *section)
{
    bool top = strcmp(section->name, "top") == 0;
    bool kind = false;
    for (const vly_key *key = section->keys; key->name; key++)
        kind |= key->form == VLY_FORM_KIND || key->form == VLY_FORM_RULE;
    if (!top && !kind)
        return;
    json_array(json, "required");
    for (const vly_key *key = section->keys; key->name; key++)
        if (key->form == VLY_FORM_KIND || key->form == VLY_FORM_FORMAT ||
            key->form == VLY_FORM_RULE)
            json_text(json, NULL, key->name);
    json_array_end(json);
}

/* Areas, models and plasticities of the genome, with users' models and rules or
 * without. */
static void put_choice(json_writer *json)
{
    json_raw(json, "if",
             "{\"anyOf\": [{\"required\": [\"neuron\"]}, {\"required\": "
             "[\"synapse\"]}, {\"required\": [\"use\"]}]}");
    for (int own = 1; own >= 0; own--) {
        json_object(json, own ? "then" : "else");
        json_object(json, "properties");
        for (const vly_key *key = vly_keys_top; key->name; key++) {
            if (!has_own(vly_key_section_find("top"), key))
                continue;
            json_object(json, key->name);
            put_section_ref(json, "additionalProperties", key->name, own);
            json_object_end(json);
        }
        json_object_end(json);
        json_object_end(json);
    }
}

/* Of a user's model or rule: the section's keys, and any other value. */
static void put_own(json_writer *json, const vly_key_section *section)
{
    char name[32];
    snprintf(name, sizeof name, "%s_own", section->name);
    json_object(json, name);
    json_text(json, "type", "object");
    json_object(json, "properties");
    if (strcmp(section->name, "model") == 0)
        json_raw(json, "type", "{\"type\": \"string\"}");
    else
        put_keys(json, section);
    json_object_end(json);
    put_ref(json, "additionalProperties", "any");
    json_object_end(json);
}

static void put_body(json_writer *json, const vly_key_section *section)
{
    json_text(json, "type", "object");
    json_bool(json, "additionalProperties", false);
    put_required(json, section);
    json_object(json, "properties");
    put_keys(json, section);
    if (section->models)
        put_all_values(json);
    json_object_end(json);
}

static void put_section(json_writer *json, const vly_key_section *section)
{
    if (section->models || section->rules)
        put_own(json, section);
    if (strcmp(section->name, "model") == 0) {
        put_models(json, section);
        return;
    }
    if (section->rules) {
        put_rules(json, section);
        return;
    }
    json_object(json, section->name);
    json_text(json, "description", section->what);
    put_body(json, section);
    json_object_end(json);
}

static void put_definitions(json_writer *json)
{
    json_raw(json, "expression", "{\"type\": \"string\", \"pattern\": \"^=\"}");
    json_raw(json, "number", schema_forms[VLY_FORM_NUMBER]);
    json_raw(json, "one",
             "{\"anyOf\": [{\"$ref\": \"#/$defs/number\"}, {\"$ref\": "
             "\"#/$defs/value.distribution\"}]}");
    json_raw(json, "many",
             "{\"anyOf\": [{\"$ref\": \"#/$defs/expression\"}, {\"$ref\": "
             "\"#/$defs/value.distribution\"}, {\"$ref\": "
             "\"#/$defs/value.draw\"}, {\"$ref\": \"#/$defs/value.column\"}, "
             "{\"$ref\": \"#/$defs/value.choice\"}, {\"$ref\": "
             "\"#/$defs/value.mixture\"}, "
             "{\"type\": \"array\", \"items\": {\"$ref\": "
             "\"#/$defs/number\"}}]}");
    json_raw(json, "flags",
             "{\"anyOf\": [{\"type\": \"boolean\"}, {\"$ref\": "
             "\"#/$defs/expression\"}, {\"$ref\": "
             "\"#/$defs/value.column\"}, {\"$ref\": "
             "\"#/$defs/value.choice\"}, {\"type\": \"array\", \"items\": "
             "{\"anyOf\": [{\"type\": \"boolean\"}, {\"$ref\": "
             "\"#/$defs/number\"}]}}]}");
    json_raw(json, "any",
             "{\"anyOf\": [{\"type\": \"number\"}, {\"$ref\": "
             "\"#/$defs/many\"}, {\"$ref\": \"#/$defs/flags\"}]}");
    for (int i = 0; i < VLY_FORMS; i++) {
        char name[16];
        snprintf(name, sizeof name, "form%d", i);
        if (schema_forms[i])
            json_raw(json, name, schema_forms[i]);
    }
    for (const vly_key_section *s = vly_key_sections; s->name; s++)
        if (strcmp(s->name, "top") != 0)
            put_section(json, s);
}

static int run(const tool_args *args)
{
    json_writer json;
    size_t n_text = 0;
    (void)args;
    json_init(&json, true);
    json_object(&json, NULL);
    json_text(&json, "$schema", "https://json-schema.org/draft/2020-12/schema");
    json_text(&json, "title", "Volley genome, format 1");
    put_body(&json, vly_key_section_find("top"));
    put_choice(&json);
    json_object(&json, "$defs");
    put_definitions(&json);
    json_object_end(&json);
    json_object_end(&json);
    const char *text = json_finish(&json, &n_text);
    if (text)
        tool_print("%s", text);
    else
        tool_message("out of memory");
    json_deinit(&json);
    return text ? TOOL_EXIT_DONE : TOOL_EXIT_NOMEM;
}

const tool_command cmd_schema = {
    .name = "schema",
    .arguments = "",
    .summary = "Prints a JSON Schema of genomes, for editors.",
    .details = "Save it and name it in the first line of a genome, where "
               "editors with\n"
               "TOML support find it:\n"
               "\n"
               "    volley schema > genome.schema.json\n"
               "    #:schema ./genome.schema.json\n"
               "\n"
               "`volley check` also checks what a schema cannot express "
               "(sizes, names, ranges\n"
               "that depend on another key; parameters of a [neuron]).\n",
    .options = options,
    .n_positional_min = 0,
    .n_positional_max = 0,
    .run = run};
