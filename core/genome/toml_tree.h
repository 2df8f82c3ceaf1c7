/* SPDX-License-Identifier: Apache-2.0
 * A TOML document as a plain tree in source order, every node with its place.
 * toml_reader.cpp fills it from toml++; the other files of core read only this
 * tree.
 */
#ifndef VOLLEY_GENOME_TOML_TREE_H
#define VOLLEY_GENOME_TOML_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <volley/plugin.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum vly_toml_kind {
    VLY_TOML_TABLE,
    VLY_TOML_ARRAY,
    VLY_TOML_STRING,
    VLY_TOML_INTEGER,
    VLY_TOML_FLOAT,
    VLY_TOML_BOOL,
    VLY_TOML_DATE
} vly_toml_kind;

typedef struct vly_toml_node {
    char *key;       /* owned; NULL for elements of arrays and the root */
    const char *set; /* "PATH=VALUE" if --set put it here; borrowed */
    uint32_t file;   /* as of vly_origin */
    vly_toml_kind kind;
    uint32_t line; /* of the value, from 1 */
    uint32_t column;
    uint32_t end_line; /* of the value; 0: unknown */
    uint32_t end_column;
    uint32_t key_line; /* of the key; of the value without one */
    uint32_t key_column;
    uint32_t n_children;
    union {
        struct vly_toml_node *children; /* TABLE, ARRAY; owned */
        char *string;                   /* STRING; owned */
        int64_t integer;
        double number;
        bool boolean;
    } u;
} vly_toml_node;

/* Parses UTF-8 text into *root (a table).
 * Errors  E_PARSE "name:line:col: what"; E_NOMEM; *root is untouched
 * Cost    an abort of toml++ if operator new fails (no exceptions here) */
vly_status vly_toml_parse(const char *text, size_t n_bytes, const char *name,
                          vly_toml_node *root, vly_error *error);
/* Frees what the node owns, not the node. */
void vly_toml_deinit(vly_toml_node *node);

/* The child with this key; NULL without one or if it is not a table. */
const vly_toml_node *vly_toml_get(const vly_toml_node *table, const char *key);
vly_toml_node *vly_toml_child(vly_toml_node *table, const char *key);

/* Appends a child (moved in). E_NOMEM: *child still belongs to the caller. */
vly_status vly_toml_append(vly_toml_node *parent, vly_toml_node *child);
void vly_toml_remove(vly_toml_node *table, const char *key);
/* Marks a node and all below as put by --set. */
void vly_toml_mark(vly_toml_node *node, const char *set);

/* Description of a node for messages: `"abc"`, `3.5`, `a list of 3`, `a table`.
 */
void vly_toml_describe(const vly_toml_node *node, char *out, size_t size);

/* The number at the start of text: decimal point and exponent, no sign, the
 * nearest double, whatever the locale. Returns the characters used; 0: no
 * number. */
size_t vly_toml_scan_number(const char *text, double *number);
/* Whether text begins with a number with a decimal comma (0,5), for a hint in a
 * message. */
bool vly_toml_is_comma(const char *text);

#define VLY_NUMBER_SIZE 32
/* Shortest text that reads back as the same double, whatever the locale; inf
 * and -inf as TOML writes them. Returns out. */
const char *vly_toml_print_number(double number, char out[VLY_NUMBER_SIZE]);

#ifdef __cplusplus
}
#endif
#endif
