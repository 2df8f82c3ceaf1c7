/* SPDX-License-Identifier: Apache-2.0
 * schema_check SCHEMA GENOME...: 0 if every genome fits the JSON Schema, 1 and
 * the place of the first misfit if not. As much of draft 2020-12 as `volley
 * schema` uses; any other keyword is an error, so that nothing passes unread.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "genome/toml_tree.h"
#include "tools/cli/json_reader.h"

typedef struct checker {
    const json_value *root;
    char where[256]; /* of the first misfit in source order */
    uint32_t line;
    bool broken; /* the schema itself */
} checker;

static bool fits(checker *check, const json_value *schema,
                 const vly_toml_node *node);

static bool misfit(checker *check, const vly_toml_node *node, const char *why)
{
    snprintf(check->where, sizeof check->where, "%s: %s",
             node->key ? node->key : "value", why);
    check->line = node->line;
    return false;
}

static bool is_number(const vly_toml_node *node, double *number)
{
    *number = node->kind == VLY_TOML_INTEGER ? (double)node->u.integer
              : node->kind == VLY_TOML_FLOAT ? node->u.number
                                             : 0.0;
    return node->kind == VLY_TOML_INTEGER || node->kind == VLY_TOML_FLOAT;
}

static bool type_fits(const char *type, const vly_toml_node *node)
{
    double number = 0.0;
    if (strcmp(type, "number") == 0)
        return is_number(node, &number);
    if (strcmp(type, "integer") == 0)
        return is_number(node, &number) && !(floor(number) < number);
    if (strcmp(type, "string") == 0)
        return node->kind == VLY_TOML_STRING;
    if (strcmp(type, "boolean") == 0)
        return node->kind == VLY_TOML_BOOL;
    if (strcmp(type, "array") == 0)
        return node->kind == VLY_TOML_ARRAY;
    return strcmp(type, "object") == 0 && node->kind == VLY_TOML_TABLE;
}

static bool equals(const json_value *value, const vly_toml_node *node)
{
    double number = 0.0;
    if (value->kind == JSON_TEXT)
        return node->kind == VLY_TOML_STRING &&
               strcmp(value->text, node->u.string) == 0;
    return value->kind == JSON_NUMBER && is_number(node, &number) &&
           !(fabs(number - value->number) > 0.0);
}

static bool any_equals(const json_value *list, const vly_toml_node *node)
{
    for (uint32_t i = 0; i < list->n_items; i++)
        if (equals(&list->items[i], node))
            return true;
    return false;
}

static bool properties_fit(checker *check, const json_value *schema,
                           const vly_toml_node *node)
{
    const json_value *properties = json_find(schema, "properties");
    const json_value *more = json_find(schema, "additionalProperties");
    const json_value *required = json_find(schema, "required");
    if (node->kind != VLY_TOML_TABLE)
        return true;
    for (uint32_t i = 0; required && i < required->n_items; i++)
        if (!vly_toml_get(node, required->items[i].text))
            return misfit(check, node, required->items[i].text);
    for (uint32_t i = 0; i < node->n_children; i++) {
        const vly_toml_node *child = &node->u.children[i];
        const json_value *of = json_find(properties, child->key);
        if (!of && more && more->kind == JSON_BOOL && more->number < 0.5)
            return misfit(check, child, "unknown key");
        if (!of && more && more->kind == JSON_OBJECT)
            of = more;
        if (of && !fits(check, of, child))
            return false;
    }
    return true;
}

static bool items_fit(checker *check, const json_value *schema,
                      const vly_toml_node *node)
{
    const json_value *items = json_find(schema, "items");
    if (node->kind != VLY_TOML_ARRAY)
        return true;
    double n = node->n_children;
    if (n < json_find_number(schema, "minItems", 0.0) ||
        n > json_find_number(schema, "maxItems", HUGE_VAL))
        return misfit(check, node, "length");
    for (uint32_t i = 0; items && i < node->n_children; i++)
        if (!fits(check, items, &node->u.children[i]))
            return false;
    return true;
}

static bool any_fits(checker *check, const json_value *list,
                     const vly_toml_node *node)
{
    for (uint32_t i = 0; i < list->n_items; i++)
        if (fits(check, &list->items[i], node))
            return true;
    return false; /* where: that of the last one */
}

static const json_value *follow(checker *check, const char *reference)
{
    static const char start[] = "#/$defs/";
    const json_value *found = NULL;
    if (strncmp(reference, start, sizeof start - 1) == 0)
        found = json_find(json_find(check->root, "$defs"),
                          reference + sizeof start - 1);
    if (!found) {
        printf("schema: no %s\n", reference);
        check->broken = true;
    }
    return found;
}

static bool known(const char *word)
{
    static const char *const words[] = {
        "$schema",    "title",    "description",
        "$ref",       "type",     "const",
        "enum",       "pattern",  "$defs",
        "minimum",    "maximum",  "minItems",
        "maxItems",   "items",    "anyOf",
        "properties", "required", "additionalProperties",
        "if",         "then",     "else",
        NULL};
    for (const char *const *w = words; *w; w++)
        if (strcmp(*w, word) == 0)
            return true;
    return false;
}

static bool keyword_fits(checker *check, const json_value *schema,
                         const json_value *word, const vly_toml_node *node)
{
    double number = 0.0;
    if (strcmp(word->key, "$ref") == 0) {
        const json_value *of = follow(check, word->text);
        return of && fits(check, of, node);
    }
    if (strcmp(word->key, "type") == 0 && !type_fits(word->text, node))
        return misfit(check, node, word->text);
    if (strcmp(word->key, "const") == 0 && !equals(word, node))
        return misfit(check, node, "const");
    if (strcmp(word->key, "enum") == 0 && !any_equals(word, node))
        return misfit(check, node, "enum");
    if (strcmp(word->key, "pattern") == 0 && node->kind == VLY_TOML_STRING &&
        (strcmp(word->text, "^=") != 0 || node->u.string[0] != '='))
        return misfit(check, node, word->text);
    if (is_number(node, &number) &&
        ((strcmp(word->key, "minimum") == 0 && number < word->number) ||
         (strcmp(word->key, "maximum") == 0 && number > word->number)))
        return misfit(check, node, word->key);
    if (strcmp(word->key, "anyOf") == 0)
        return any_fits(check, word, node);
    if (strcmp(word->key, "properties") == 0 ||
        strcmp(word->key, "additionalProperties") == 0 ||
        strcmp(word->key, "required") == 0)
        return properties_fit(check, schema, node);
    if (strcmp(word->key, "items") == 0)
        return items_fit(check, schema, node);
    if (strcmp(word->key, "if") == 0) {
        const json_value *of =
            json_find(schema, fits(check, word, node) ? "then" : "else");
        return !of || fits(check, of, node);
    }
    return true;
}

static bool fits(checker *check, const json_value *schema,
                 const vly_toml_node *node)
{
    for (uint32_t i = 0; i < schema->n_items; i++) {
        if (!known(schema->items[i].key)) {
            printf("schema: what is %s?\n", schema->items[i].key);
            check->broken = true;
        }
        if (!keyword_fits(check, schema, &schema->items[i], node))
            return false;
    }
    return !check->broken;
}

static bool read_genome(const char *path, vly_toml_node *root)
{
    static char text[1 << 20];
    vly_error error = VLY_ERROR_INIT;
    FILE *file = fopen(path, "rb");
    if (!file)
        return false;
    size_t n = fread(text, 1, sizeof text, file);
    fclose(file);
    return vly_toml_parse(text, n, path, root, &error) == VLY_OK;
}

int main(int argc, char **argv)
{
    vly_error error = VLY_ERROR_INIT;
    json_value schema = {0};
    int code = 0;
    if (argc < 3 || json_load(argv[1], &schema, &error) != VLY_OK) {
        printf("schema_check: %s\n", error.message);
        return 2;
    }
    for (int i = 2; i < argc; i++) {
        checker check = {.root = &schema};
        vly_toml_node root = {0};
        if (!read_genome(argv[i], &root)) {
            printf("%s: cannot be read\n", argv[i]);
            code = 2;
            continue;
        }
        if (!fits(&check, &schema, &root)) {
            printf("%s:%u: %s\n", argv[i], check.line, check.where);
            code = 1;
        }
        vly_toml_deinit(&root);
    }
    json_free(&schema);
    return code;
}
