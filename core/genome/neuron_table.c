/* SPDX-License-Identifier: Apache-2.0
 * Reads [neuron.NAME]: its keys; core/neuron reads what the texts say.
 */
#include "genome/neuron_table.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/suggest.h"
#include "genome/genome_value.h"
#include "genome/model_info.h"

/* ---- texts -------------------------------------------------------------- */

/* A string, or a number as a text without a unit. */
vly_status vly_table_text_read(vly_reader *reader, const vly_toml_node *node,
                               const char *what, bool number,
                               vly_neuron_text *out)
{
    char digits[VLY_NUMBER_SIZE];
    char *copy = NULL;
    vly_status status = VLY_OK;
    out->place = node;
    if (node->kind == VLY_TOML_STRING) {
        out->text = node->u.string;
        return VLY_OK;
    }
    if (!number ||
        (node->kind != VLY_TOML_INTEGER && node->kind != VLY_TOML_FLOAT))
        return vly_reader_wrong(reader, node, what,
                                number ? "a text such as \"10 ms\", or a number"
                                       : "a text in quotes");
    double value = node->kind == VLY_TOML_INTEGER ? (double)node->u.integer
                                                  : node->u.number;
    if (value - value != 0.0)
        return vly_reader_wrong(reader, node, what, "a finite number");
    vly_toml_print_number(value, digits);
    VLY_TRY(vly_reader_alloc(reader, strlen(digits) + 1, 1, &copy));
    memcpy(copy, digits, strlen(digits));
    out->text = copy;
out:
    return status;
}

/* "10 ms" or { value = "10 ms", range = ["1 ms", "20 ms"], text = "..." } */
static vly_status name_read(vly_reader *reader, const vly_toml_node *node,
                            const char *what, bool number, vly_neuron_name *out)
{
    vly_status status = VLY_OK;
    *out = (vly_neuron_name){.name = node->key, .place = node};
    if (node->kind != VLY_TOML_TABLE)
        return vly_table_text_read(reader, node, node->key, number,
                                   &out->value);
    const vly_key_list list = {what, vly_keys_quantity, NULL};
    VLY_TRY(vly_reader_keys(reader, node, &list));
    const vly_toml_node *value = vly_toml_get(node, "value");
    const vly_toml_node *range = vly_toml_get(node, "range");
    const vly_toml_node *text = vly_toml_get(node, "text");
    if (!value)
        return vly_reader_fail_key(reader, node,
                                   "%s has no value, wanted value = \"10 ms\"",
                                   node->key);
    VLY_TRY(vly_table_text_read(reader, value, "value", number, &out->value));
    if (text)
        VLY_TRY(vly_reader_string(reader, text, "text", &out->text));
    if (!range)
        return VLY_OK;
    if (range->kind != VLY_TOML_ARRAY || range->n_children != 2)
        return vly_reader_wrong(reader, range, "range",
                                "[lowest, highest] with units");
    VLY_TRY(vly_table_text_read(reader, &range->u.children[0], "range", true,
                                &out->lo));
    VLY_TRY(vly_table_text_read(reader, &range->u.children[1], "range", true,
                                &out->hi));
out:
    return status;
}

vly_status vly_table_names_read(vly_reader *reader, const vly_toml_node *table,
                                const char *kind, const char *key, bool number,
                                const vly_neuron_name **out, uint32_t *n)
{
    const vly_toml_node *group = vly_toml_get(table, key);
    vly_neuron_name *names = NULL;
    vly_status status = VLY_OK;
    char what[40];
    *n = 0;
    if (!group)
        return VLY_OK;
    (void)snprintf(what, sizeof what, "a %s of a [%s]", key, kind);
    if (group->kind != VLY_TOML_TABLE)
        return vly_reader_wrong(reader, group, key,
                                strcmp(key, "port") == 0
                                    ? "names with units: { ex = \"pA\" }"
                                    : "names with values: { x = \"10 ms\" }");
    VLY_TRY(
        vly_reader_alloc(reader, group->n_children + 1, sizeof *names, &names));
    for (uint32_t i = 0; i < group->n_children; i++)
        VLY_TRY(
            name_read(reader, &group->u.children[i], what, number, &names[i]));
    *out = names;
    *n = group->n_children;
out:
    return status;
}

static vly_status no_port(vly_reader *reader, const vly_toml_node *node,
                          const vly_neuron_source *source)
{
    vly_suggest near = {0};
    char hint[VLY_HINT_SIZE];
    for (uint32_t i = 0; i < source->n_ports; i++)
        vly_suggest_offer(&near, node->key, source->ports[i].name);
    return vly_reader_fail_key(reader, node, "on.%.60s: no such port%s",
                               node->key,
                               vly_suggest_choice(&near, hint, sizeof hint));
}

/* on.PORT = "x += in" */
static vly_status arrivals_read(vly_reader *reader, const vly_toml_node *table,
                                const vly_neuron_source *source)
{
    const vly_toml_node *on = vly_toml_get(table, "on");
    vly_status status = VLY_OK;
    if (!on)
        return VLY_OK;
    if (on->kind != VLY_TOML_TABLE)
        return vly_reader_wrong(reader, on, "on",
                                "the name of a port after it: on.PORT = \"x += "
                                "in\"");
    for (uint32_t i = 0; i < on->n_children; i++) {
        const vly_toml_node *node = &on->u.children[i];
        uint32_t port = 0;
        while (port < source->n_ports &&
               strcmp(source->ports[port].name, node->key) != 0)
            port++;
        if (port == source->n_ports)
            return no_port(reader, node, source);
        /* the list was made by vly_table_names_read and is not const there */
        vly_neuron_name *to;
        memcpy(&to, &source->ports, sizeof to);
        VLY_TRY(vly_table_text_read(reader, node, node->key, false,
                                    &to[port].arrives));
    }
out:
    return status;
}

/* ---- the table ---------------------------------------------------------- */

static vly_status parts_read(vly_reader *reader, const vly_toml_node *node,
                             vly_neuron_source *to)
{
    struct {
        const char *key;
        vly_neuron_text *to;
    } parts[] = {{"eq", &to->eq},         {"update", &to->update},
                 {"spike", &to->spike},   {"reset", &to->reset},
                 {"method", &to->method}, {"refractory", &to->refractory},
                 {"input", &to->input}};
    vly_status status = VLY_OK;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        const vly_toml_node *part = vly_toml_get(node, parts[i].key);
        if (part)
            VLY_TRY(vly_table_text_read(reader, part, parts[i].key, false,
                                        parts[i].to));
    }
    const vly_toml_node *substeps = vly_toml_get(node, "substeps");
    const vly_toml_node *sums = vly_toml_get(node, "record_input");
    uint64_t n_substeps = 0;
    if (substeps) {
        VLY_TRY(vly_value_whole(reader, substeps, "substeps", 1,
                                VLY_NEURON_SUBSTEPS_MAX, &n_substeps));
        to->substeps = (uint32_t)n_substeps;
        to->substeps_place = substeps;
    }
    if (sums)
        VLY_TRY(vly_reader_bool(reader, sums, "record_input", &to->sums));
    to->sums_place = sums;
    VLY_TRY(vly_table_names_read(reader, node, "neuron", "param", true,
                                 &to->params, &to->n_params));
    VLY_TRY(vly_table_names_read(reader, node, "neuron", "port", false,
                                 &to->ports, &to->n_ports));
    VLY_TRY(vly_table_names_read(reader, node, "neuron", "state", true,
                                 &to->states, &to->n_states));
    status = arrivals_read(reader, node, to);
out:
    return status;
}

vly_status vly_table_fail(vly_reader *reader, const vly_toml_node *node,
                          const vly_neuron_fault *fault)
{
    const vly_toml_node *place = fault->place ? fault->place : node;
    if (fault->at == UINT32_MAX)
        return place->kind == VLY_TOML_TABLE || place == node
                   ? vly_reader_fail_key(reader, place, "%s", fault->sentence)
                   : vly_reader_fail(reader, place, "%s", fault->sentence);
    return vly_reader_fail_in(reader, place, fault->at, "%s", fault->sentence);
}

vly_status vly_table_key_free(vly_reader *reader, const vly_toml_node *place,
                              const char *key, const vly_key *list,
                              const char *of)
{
    for (; list->name; list++)
        if (vly_key_matches(list->name, key))
            return vly_reader_fail_key(reader, place,
                                       "%s is a key of every %s, wanted "
                                       "another name",
                                       key, of);
    return VLY_OK;
}

static vly_status keys_free(vly_reader *reader, const vly_toml_node *node,
                            const vly_neuron_model *model)
{
    const vly_key *const lists[] = {vly_keys_area, vly_keys_model};
    uint32_t n_params;
    uint32_t n_fields;
    const vly_neuron_param *params = vly_neuron_params(model, &n_params);
    const vly_neuron_field *fields = vly_neuron_fields(model, &n_fields);
    vly_status status = VLY_OK;
    for (uint32_t i = 0; i < n_params + n_fields; i++) {
        bool param = i < n_params;
        const char *key = param ? params[i].key : fields[i - n_params].key;
        const char *name = param ? params[i].name : fields[i - n_params].name;
        const vly_toml_node *place =
            vly_toml_get(vly_toml_get(node, param ? "param" : "state"), name);
        for (size_t k = 0; k < sizeof lists / sizeof lists[0]; k++)
            VLY_TRY(vly_table_key_free(reader, place ? place : node, key,
                                       lists[k], k ? "[model]" : "[area]"));
    }
out:
    return status;
}

bool vly_table_note(void *context, const void *place, const char *sentence)
{
    const vly_table_noting *to = context;
    return vly_reader_note(to->reader, place ? place : to->node, "[%s.%s]: %s",
                           to->kind, to->node->key, sentence) == VLY_OK;
}

/* Keys as other simulators have them. */
static vly_status foreign_keys(vly_reader *reader, const vly_toml_node *node)
{
    static const char *const words[][2] = {
        {"threshold", "spike"},
        {"equations", "eq"},
        {"equation", "eq"},
        {"model", "eq"},
        {"parameters", "param"},
        {"parameter", "param"},
        {"initial_values", "state"},
        {"variables", "state"},
        {"input_ports", "port"},
        {"sim_code", "update"},
        {"reset_code", "reset"},
        {"spike_condition", "spike"},
        {"threshold_condition_code", "spike"}};
    for (uint32_t i = 0; i < node->n_children; i++) {
        const vly_toml_node *child = &node->u.children[i];
        if (strncmp(child->key, "on_", 3) == 0)
            return vly_reader_fail_key(reader, child,
                                       "unknown key %.60s, wanted on.%.60s",
                                       child->key, child->key + 3);
        for (size_t k = 0; k < sizeof words / sizeof words[0]; k++)
            if (strcmp(child->key, words[k][0]) == 0)
                return vly_reader_fail_key(reader, child,
                                           "unknown key %s in a [neuron], "
                                           "wanted %s",
                                           child->key, words[k][1]);
    }
    return VLY_OK;
}

vly_status vly_neuron_table_read(vly_reader *reader, const vly_toml_node *node,
                                 vly_neuron_model **model)
{
    vly_table_noting to = {.reader = reader, .node = node, .kind = "neuron"};
    vly_neuron_source source = {.scan = vly_toml_scan_number,
                                .name = node->key,
                                .place = node,
                                .note = vly_table_note,
                                .context = &to};
    vly_neuron_model *made = NULL;
    vly_neuron_fault fault;
    vly_status status = VLY_OK;
    VLY_TRY(vly_reader_table(reader, node, "neuron"));
    VLY_TRY(vly_reader_name(reader, node, "neuron", node->key));
    if (vly_model_find(node->key))
        return vly_reader_fail_key(reader, node,
                                   "[neuron.%s] has the name of a built-in "
                                   "model, wanted another name",
                                   node->key);
    const vly_key_list list = {"a [neuron]", vly_keys_neuron, NULL};
    VLY_TRY(foreign_keys(reader, node));
    VLY_TRY(vly_reader_keys(reader, node, &list));
    VLY_TRY(parts_read(reader, node, &source));
    status = vly_neuron_compile(&source, &made, &fault);
    if (status == VLY_E_PARSE)
        return vly_table_fail(reader, node, &fault);
    if (status != VLY_OK)
        return vly_reader_nomem(reader, sizeof(vly_neuron_fault),
                                "a neuron model");
    VLY_TRY(keys_free(reader, node, made));
    *model = made;
    made = NULL;
out:
    vly_neuron_destroy(made);
    return status;
}

/* ---- back to text ------------------------------------------------------- */

typedef struct text {
    char *data;
    size_t n;
    size_t room;
    bool failed;
} text;

static void put(text *to, const char *what, size_t n)
{
    if (to->room - to->n < n + 1) {
        size_t room = (to->n + n + 1) * 2 + 256;
        char *grown = to->failed ? NULL : vly_realloc(to->data, room, 1);
        if (!grown) {
            to->failed = true;
            return;
        }
        to->data = grown;
        to->room = room;
    }
    memcpy(to->data + to->n, what, n);
    to->n += n;
    to->data[to->n] = 0;
}

static void put_string(text *to, const char *what)
{
    put(to, "\"", 1);
    for (const char *at = what; *at; at++) {
        char escape[8];
        if (*at == '"' || *at == '\\') {
            put(to, "\\", 1);
            put(to, at, 1);
        } else if ((unsigned char)*at < 32 || *at == 127) {
            int n = snprintf(escape, sizeof escape, "\\u%04x",
                             (unsigned)(unsigned char)*at);
            put(to, escape, (size_t)n);
        } else {
            put(to, at, 1);
        }
    }
    put(to, "\"", 1);
}

/* Several lines as they are, if nothing in them needs an escape. */
static bool put_lines(text *to, const char *what)
{
    bool lines = strchr(what, '\n') && !strchr(what, '\\') &&
                 !strstr(what, "\"\"\"") && what[strlen(what) - 1] != '"';
    for (const char *at = what; *at; at++)
        if (((unsigned char)*at < 32 && *at != '\n' && *at != '\t') ||
            *at == 127)
            lines = false;
    if (!lines)
        return false;
    put(to, "\"\"\"\n", 4);
    put(to, what, strlen(what));
    put(to, "\"\"\"", 3);
    return true;
}

static void put_node(text *to, const vly_toml_node *node)
{
    char digits[VLY_NUMBER_SIZE];
    switch (node->kind) {
    case VLY_TOML_STRING:
        put_string(to, node->u.string);
        return;
    case VLY_TOML_TABLE:
    case VLY_TOML_ARRAY:
        put(to, node->kind == VLY_TOML_TABLE ? "{" : "[", 1);
        for (uint32_t i = 0; i < node->n_children; i++) {
            if (i)
                put(to, ", ", 2);
            if (node->kind == VLY_TOML_TABLE) {
                put_string(to, node->u.children[i].key);
                put(to, " = ", 3);
            }
            put_node(to, &node->u.children[i]);
        }
        put(to, node->kind == VLY_TOML_TABLE ? "}" : "]", 1);
        return;
    case VLY_TOML_BOOL:
        put(to, "true", 4); /* the other is left out */
        return;
    default: /* numbers: other kinds were refused */
        vly_toml_print_number(node->kind == VLY_TOML_INTEGER
                                  ? (double)node->u.integer
                                  : node->u.number,
                              digits);
        put(to, digits, strlen(digits));
    }
}

char *vly_table_text(const char *kind, const vly_toml_node *node)
{
    text to = {0};
    put(&to, "[", 1);
    put(&to, kind, strlen(kind));
    put(&to, ".", 1);
    put_string(&to, node->key);
    put(&to, "]\n", 2);
    for (uint32_t i = 0; i < node->n_children; i++) {
        const vly_toml_node *child = &node->u.children[i];
        if (child->kind == VLY_TOML_BOOL && !child->u.boolean)
            continue; /* record_input = false is the default */
        put_string(&to, child->key);
        put(&to, " = ", 3);
        if (child->kind != VLY_TOML_STRING || !put_lines(&to, child->u.string))
            put_node(&to, child);
        put(&to, "\n", 1);
    }
    if (to.failed) {
        vly_free(to.data);
        return NULL;
    }
    return to.data;
}
