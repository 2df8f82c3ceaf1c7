/* SPDX-License-Identifier: Apache-2.0
 * Failing with a place, checks of keys and types: see genome_reader.h.
 */
#include "genome/genome_reader.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/plain.h"
#include "genome/foreign_names.h"

vly_status vly_reader_alloc(vly_reader *reader, size_t count, size_t size,
                            void *out)
{
    if (reader->n_blocks == reader->blocks_capacity) {
        uint32_t capacity = reader->blocks_capacity * 2 + 64;
        void **grown = vly_realloc(reader->blocks, capacity, sizeof(void *));
        if (!grown)
            return vly_reader_nomem(reader, capacity * sizeof(void *),
                                    "the genome");
        reader->blocks = grown;
        reader->blocks_capacity = capacity;
    }
    void *block = vly_calloc(count, size);
    if (!block)
        return vly_reader_nomem(reader, (uint64_t)count * size, "the genome");
    reader->blocks[reader->n_blocks++] = block;
    memcpy(out, &block, sizeof(block));
    return VLY_OK;
}

void vly_reader_deinit(vly_reader *reader)
{
    for (uint32_t i = 0; i < reader->n_blocks; i++)
        vly_free(reader->blocks[i]);
    vly_free(reader->blocks);
    vly_free(reader->pair_counts);
    vly_toml_deinit(&reader->root);
}

/* Texts of users that it quotes may have several. */
static void one_line(char *sentence)
{
    for (char *at = sentence; *at; at++)
        if (*at == '\n' || *at == '\r')
            *at = ' ';
}

static vly_status fail_as(vly_reader *reader, vly_status status,
                          const vly_toml_node *node, uint32_t line,
                          uint32_t column, char *sentence)
{
    one_line(sentence);
    if (node && node->set)
        return vly_fail(reader->error, status, "--set %.200s: %s", node->set,
                        sentence);
    const char *name = node && node->file
                           ? reader->genome->files[node->file - 1]
                           : reader->genome->path;
    return vly_fail(reader->error, status, "%s:%u:%u: %s", name, line, column,
                    sentence);
}

static vly_status fail_at(vly_reader *reader, const vly_toml_node *node,
                          uint32_t line, uint32_t column, char *sentence)
{
    return fail_as(reader, VLY_E_PARSE, node, line, column, sentence);
}

vly_status vly_reader_fail_file(vly_reader *reader, const vly_toml_node *node,
                                vly_status status, const char *message)
{
    char sentence[800];
    snprintf(sentence, sizeof(sentence), "%s", message);
    return fail_as(reader, status == VLY_E_IO ? VLY_E_IO : VLY_E_PARSE, node,
                   node->line, node->column, sentence);
}

vly_status vly_reader_fail(vly_reader *reader, const vly_toml_node *node,
                           const char *format, ...)
{
    char sentence[800];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof(sentence), format, arguments);
    va_end(arguments);
    return fail_at(reader, node, node->line, node->column, sentence);
}

vly_status vly_reader_fail_key(vly_reader *reader, const vly_toml_node *node,
                               const char *format, ...)
{
    char sentence[800];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof(sentence), format, arguments);
    va_end(arguments);
    return fail_at(reader, node, node->key_line, node->key_column, sentence);
}

/* The column of a text's first character, and 1 in *skipped if that is on the
 * next line: a long text begins after its three quotes, or there; then it has
 * one line more in the file than in its value. */
static uint32_t text_start(const vly_toml_node *node, uint32_t *skipped)
{
    uint32_t n_lines = 0;
    uint32_t n_characters = 0;
    for (const char *at = node->u.string; *at; at++) {
        n_lines += *at == '\n';
        n_characters += ((unsigned char)*at & 0xc0u) != 0x80u;
    }
    uint32_t lines = node->end_line - node->line;
    bool is_long = node->end_line > node->line ||
                   node->end_column - node->column == n_characters + 6;
    *skipped = is_long && lines > n_lines ? 1 : 0;
    return *skipped ? 1 : node->column + (is_long ? 3 : 1);
}

vly_status vly_reader_fail_in(vly_reader *reader, const vly_toml_node *node,
                              uint32_t at, const char *format, ...)
{
    char sentence[800];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof(sentence), format, arguments);
    va_end(arguments);
    if (node->kind != VLY_TOML_STRING)
        return fail_at(reader, node, node->line, node->column, sentence);
    uint32_t line = 0;
    uint32_t column = text_start(node, &line);
    line += node->line;
    for (uint32_t i = 0; node->u.string[i] && i < at; i++) {
        line += node->u.string[i] == '\n';
        if (node->u.string[i] == '\n')
            column = 1;
        else if (((unsigned char)node->u.string[i + 1] & 0xc0u) != 0x80u)
            column++;
    }
    return fail_at(reader, node, line, column, sentence);
}

/* Takes the text over. */
static vly_status keep_note(vly_reader *reader, char *text)
{
    vly_genome *genome = reader->genome;
    if (!text)
        return vly_reader_nomem(reader, 256, "a note");
    for (uint32_t i = 0; i < genome->n_notes; i++)
        if (strcmp(genome->notes[i], text) == 0) {
            vly_free(text);
            return VLY_OK;
        }
    if (genome->n_notes == VLY_NOTES_MAX) {
        genome->n_more_notes++;
        vly_free(text);
        return VLY_OK;
    }
    if (!genome->notes)
        genome->notes = vly_calloc(VLY_NOTES_MAX, sizeof(char *));
    if (!genome->notes) {
        vly_free(text);
        return vly_reader_nomem(reader, VLY_NOTES_MAX * sizeof(char *),
                                "a note");
    }
    genome->notes[genome->n_notes++] = text;
    return VLY_OK;
}

vly_status vly_reader_note(vly_reader *reader, const vly_toml_node *node,
                           const char *format, ...)
{
    char sentence[800];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof(sentence), format, arguments);
    va_end(arguments);
    one_line(sentence);
    if (node->set)
        return keep_note(reader,
                         vly_format("--set %.200s: %s", node->set, sentence));
    const char *name = node->file ? reader->genome->files[node->file - 1]
                                  : reader->genome->path;
    bool table = node->kind == VLY_TOML_TABLE;
    return keep_note(reader, vly_format("%s:%u:%u: %s", name,
                                        table ? node->key_line : node->line,
                                        table ? node->key_column : node->column,
                                        sentence));
}

vly_status vly_reader_nomem(vly_reader *reader, uint64_t bytes,
                            const char *what)
{
    return vly_fail_nomem(reader->error, bytes, what);
}

vly_status vly_reader_wrong(vly_reader *reader, const vly_toml_node *node,
                            const char *what, const char *wanted)
{
    char found[100];
    vly_toml_describe(node, found, sizeof(found));
    return vly_reader_fail(reader, node, "%s is %s, wanted %s", what, found,
                           wanted);
}

vly_origin vly_reader_origin(const vly_toml_node *node, vly_origin_kind kind)
{
    vly_origin origin = {kind, node->line, node->column, node->file};
    if (node->set) {
        origin.kind = VLY_ORIGIN_SET;
        origin.line = origin.column = origin.file = 0;
    }
    return origin;
}

/* ---- keys --------------------------------------------------------------- */

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

static bool key_known(const vly_key_list *list, const char *word)
{
    for (const vly_key *key = list->keys; key->name; key++)
        if (vly_key_matches(key->name, word))
            return true;
    return list->model && model_has(list->model, word);
}

/* The stem of a key with a unit. */
static bool key_is_stem(const vly_key_list *list, const char *word)
{
    size_t n = strlen(word);
    for (const vly_key *key = list->keys; key->name; key++)
        if (strncmp(key->name, word, n) == 0 && key->name[n] == '*')
            return true;
    return false;
}

/* A hint if the word is a name of another simulator; VLY_OK otherwise. */
static vly_status refuse_foreign(vly_reader *reader, const vly_toml_node *node,
                                 const vly_key_list *list)
{
    const char *model = list->model ? list->model->id : NULL;
    const char *what = model ? model : list->what;
    const vly_foreign *row = NULL;
    for (uint32_t i = 0; (row = vly_foreign_find(node->key, i)); i++) {
        if (!vly_foreign_holds(row, list->what, model))
            continue;
        bool own =
            row->ours && list->model && model_has(list->model, row->ours);
        if (own || (row->ours && key_known(list, row->ours)))
            return vly_reader_fail_key(
                reader, node, "%s: %s calls it %s%s%s%s", node->key,
                own ? what : list->what, row->ours,
                !own && key_is_stem(list, row->ours) ? "_<unit>" : "",
                row->note ? ", " : "", row->note ? row->note : "");
    }
    for (uint32_t i = 0; (row = vly_foreign_find(node->key, i)); i++)
        if (!row->ours && vly_foreign_holds(row, list->what, model))
            return vly_reader_fail_key(reader, node,
                                       "%s: %s has no such key: %s", node->key,
                                       what, row->note);
    return VLY_OK;
}

static vly_status refuse_key(vly_reader *reader, const vly_toml_node *node,
                             const vly_key_list *list)
{
    vly_suggest suggest = {0};
    vly_status status = VLY_OK;
    VLY_TRY(refuse_foreign(reader, node, list));
    for (const vly_key *key = list->keys; key->name; key++)
        if (strchr(key->name, '*'))
            vly_suggest_also(&suggest, key->name);
        else
            vly_foreign_offer(&suggest, node->key, key->name);
    for (uint32_t i = 0; list->model && i < list->model->n_params; i++)
        vly_foreign_offer(&suggest, node->key, list->model->params[i].name);
    for (uint32_t i = 0; list->model && i < list->model->n_fields; i++)
        vly_foreign_offer(&suggest, node->key, list->model->fields[i].name);
    char hint[VLY_HINT_SIZE];
    vly_suggest_choice(&suggest, hint, sizeof(hint));
    if (list->model)
        return vly_reader_fail_key(reader, node,
                                   "unknown key %.80s in %s of %s%s", node->key,
                                   list->what, list->model->id, hint);
    status = vly_reader_fail_key(reader, node, "unknown key %.80s in %s%s",
                                 node->key, list->what, hint);
out:
    return status;
}

vly_status vly_reader_keys(vly_reader *reader, const vly_toml_node *table,
                           const vly_key_list *list)
{
    for (uint32_t i = 0; i < table->n_children; i++)
        if (!key_known(list, table->u.children[i].key))
            return refuse_key(reader, &table->u.children[i], list);
    return VLY_OK;
}

vly_status vly_reader_suffixed(vly_reader *reader, const vly_toml_node *table,
                               const char *stem, const char *suffix,
                               const vly_model_info *model,
                               const vly_toml_node **node)
{
    char wanted[64];
    char entry[64];
    snprintf(wanted, sizeof(wanted), "%s%s%s", stem, *suffix ? "_" : "",
             suffix);
    snprintf(entry, sizeof(entry), "%s*", stem);
    const vly_toml_node *found = NULL;
    for (uint32_t i = 0; i < table->n_children; i++) {
        const vly_toml_node *child = &table->u.children[i];
        if (!vly_key_matches(entry, child->key))
            continue;
        if (strcmp(child->key, wanted) != 0)
            return vly_reader_fail_key(reader, child, "%.80s: %s takes %s",
                                       child->key, model->id, wanted);
        found = child;
    }
    *node = found;
    return VLY_OK;
}

/* ---- types -------------------------------------------------------------- */

vly_status vly_reader_table(vly_reader *reader, const vly_toml_node *node,
                            const char *what)
{
    if (node->kind != VLY_TOML_TABLE)
        return vly_reader_wrong(reader, node, what, "a table");
    return VLY_OK;
}

vly_status vly_reader_string(vly_reader *reader, const vly_toml_node *node,
                             const char *what, const char **out)
{
    if (node->kind != VLY_TOML_STRING)
        return vly_reader_wrong(reader, node, what, "a string");
    *out = node->u.string;
    return VLY_OK;
}

vly_status vly_reader_bool(vly_reader *reader, const vly_toml_node *node,
                           const char *what, bool *out)
{
    if (node->kind != VLY_TOML_BOOL)
        return vly_reader_wrong(reader, node, what, "true or false");
    *out = node->u.boolean;
    return VLY_OK;
}

vly_status vly_reader_tables(vly_reader *reader, const vly_toml_node *node,
                             const char *what)
{
    bool right = node->kind == VLY_TOML_ARRAY;
    for (uint32_t i = 0; right && i < node->n_children; i++)
        right = node->u.children[i].kind == VLY_TOML_TABLE;
    if (right)
        return VLY_OK;
    char wanted[64];
    snprintf(wanted, sizeof(wanted), "[[%s]] with two brackets", what);
    return vly_reader_wrong(reader, node, what, wanted);
}

/* What of Unicode beyond ASCII is no letter, mark or digit: controls, spaces,
 * punctuation with its quotes and slashes, symbols, invisible characters and
 * those that change the direction of text, private use. Blocks as of Unicode
 * 15; a block that is not assigned yet is taken for letters. */
static bool is_no_letter(uint32_t code)
{
    static const uint32_t ranges[][2] = {
        {0x80, 0xa9},       {0xab, 0xb4},       {0xb6, 0xb9},
        {0xbb, 0xbf},       {0xd7, 0xd7},       {0xf7, 0xf7},
        {0x37e, 0x37e},     {0x387, 0x387},     {0x61c, 0x61c},
        {0x1680, 0x1680},   {0x180b, 0x180f},   {0x2000, 0x206f},
        {0x20a0, 0x20cf},   {0x2190, 0x2bff},   {0x2e00, 0x2e7f},
        {0x3000, 0x3004},   {0x3008, 0x3020},   {0x3030, 0x3030},
        {0xe000, 0xf8ff},   {0xfdd0, 0xfdef},   {0xfe00, 0xfe6f},
        {0xfeff, 0xff0f},   {0xff1a, 0xff20},   {0xff3b, 0xff3e},
        {0xff40, 0xff40},   {0xff5b, 0xff65},   {0xffe0, 0xffff},
        {0x1d000, 0x1d3ff}, {0x1f000, 0x1faff}, {0xe0000, 0x10ffff}};
    for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++)
        if (code >= ranges[i][0] && code <= ranges[i][1])
            return true;
    return false;
}

bool vly_name_valid(const char *name)
{
    size_t n = strlen(name);
    if (n == 0 || n > VLY_NAME_MAX)
        return false;
    for (size_t i = 0; i < n;) {
        const vly_plain_char at = vly_plain_char_at(name + i, n - i);
        const uint32_t c = at.code;
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                      c == '_' || (c >= 0x80 && !is_no_letter(c));
        bool later = (c >= '0' && c <= '9') || c == '/' || c == '-';
        if (!at.is_utf8 || (!letter && !(later && i > 0)))
            return false;
        i += at.length;
    }
    return true;
}

vly_status vly_reader_name(vly_reader *reader, const vly_toml_node *node,
                           const char *what, const char *name)
{
    if (vly_name_valid(name))
        return VLY_OK;
    return vly_reader_fail_key(
        reader, node,
        "%s name \"%.80s\", wanted a letter or _, then letters, digits, "
        "_ / -, at most 63 bytes",
        what, name);
}
