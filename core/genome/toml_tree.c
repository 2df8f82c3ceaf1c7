/* SPDX-License-Identifier: Apache-2.0
 * The plain tree of a TOML document: look-up, change, description.
 */
#include "genome/toml_tree.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"

static bool has_children(const vly_toml_node *node)
{
    return node->kind == VLY_TOML_TABLE || node->kind == VLY_TOML_ARRAY;
}

/* Recursion is bounded by the reader's limits on nesting. */
void vly_toml_deinit(vly_toml_node *node)
{
    if (!node)
        return;
    vly_free(node->key);
    node->key = NULL;
    if (node->kind == VLY_TOML_STRING)
        vly_free(node->u.string);
    if (has_children(node)) {
        for (uint32_t i = 0; i < node->n_children; i++)
            vly_toml_deinit(&node->u.children[i]);
        vly_free(node->u.children);
    }
    node->kind = VLY_TOML_BOOL;
    node->n_children = 0;
}

vly_toml_node *vly_toml_child(vly_toml_node *table, const char *key)
{
    if (!table || table->kind != VLY_TOML_TABLE)
        return NULL;
    for (uint32_t i = 0; i < table->n_children; i++)
        if (strcmp(table->u.children[i].key, key) == 0)
            return &table->u.children[i];
    return NULL;
}

const vly_toml_node *vly_toml_get(const vly_toml_node *table, const char *key)
{
    if (!table || table->kind != VLY_TOML_TABLE)
        return NULL;
    for (uint32_t i = 0; i < table->n_children; i++)
        if (strcmp(table->u.children[i].key, key) == 0)
            return &table->u.children[i];
    return NULL;
}

vly_status vly_toml_append(vly_toml_node *parent, vly_toml_node *child)
{
    vly_toml_node *grown =
        vly_realloc(parent->u.children, (size_t)parent->n_children + 1,
                    sizeof(vly_toml_node));
    if (!grown)
        return VLY_E_NOMEM;
    parent->u.children = grown;
    grown[parent->n_children++] = *child;
    return VLY_OK;
}

void vly_toml_remove(vly_toml_node *table, const char *key)
{
    vly_toml_node *child = vly_toml_child(table, key);
    if (!child)
        return;
    vly_toml_deinit(child);
    vly_toml_node *end = table->u.children + table->n_children;
    memmove(child, child + 1, (size_t)(end - child - 1) * sizeof(*child));
    table->n_children--;
}

void vly_toml_mark(vly_toml_node *node, const char *set)
{
    node->set = set;
    if (has_children(node))
        for (uint32_t i = 0; i < node->n_children; i++)
            vly_toml_mark(&node->u.children[i], set);
}

void vly_toml_describe(const vly_toml_node *node, char *out, size_t size)
{
    char number[VLY_NUMBER_SIZE];
    switch (node->kind) {
    case VLY_TOML_TABLE:
        snprintf(out, size, "a table");
        break;
    case VLY_TOML_ARRAY:
        snprintf(out, size, "a list of %u", node->n_children);
        break;
    case VLY_TOML_STRING:
        snprintf(out, size, "\"%.60s%s\"", node->u.string,
                 strlen(node->u.string) > 60 ? "..." : "");
        break;
    case VLY_TOML_INTEGER:
        snprintf(out, size, "%" PRId64, node->u.integer);
        break;
    case VLY_TOML_FLOAT:
        snprintf(out, size, "%s",
                 vly_toml_print_number(node->u.number, number));
        break;
    case VLY_TOML_BOOL:
        snprintf(out, size, "%s", node->u.boolean ? "true" : "false");
        break;
    case VLY_TOML_DATE:
        snprintf(out, size, "a date or time");
        break;
    }
}
