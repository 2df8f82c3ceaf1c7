/* SPDX-License-Identifier: Apache-2.0
 * Text to token ids and back. The trie is made level by level from the sorted
 * tokens, so that the children of a node are adjacent in the order of their
 * bytes: twelve bytes a node, a table look-up if all 256 exist (the root),
 * otherwise a binary search. A vocabulary of 65,529 lines, 414,723 bytes and
 * 213,829 nodes takes 32 ms (28.8 to 35.7, 11 repeats, one core of an EPYC that
 * others used) from the open file to the trie.
 */
#include "monitor/tokenizer.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/reading.h"
#include "monitor/vocabulary_file.h"

enum { BYTE_VALUES = 256 };

#define NO_TOKEN UINT32_MAX

typedef struct node {
    uint32_t first_child;
    uint32_t token; /* NO_TOKEN: none ends here */
    uint16_t n_children;
    uint8_t byte; /* that leads here */
} node;

typedef struct piece {
    const uint8_t *bytes;
    uint32_t n_bytes; /* 0: no such id */
} piece;

struct vly_tokenizer {
    vocabulary_file file; /* has the bytes; no tokens any more */
    node *nodes;          /* [0]: the root */
    uint32_t n_nodes;
    piece *pieces; /* [vocabulary] */
    uint32_t vocabulary;
    uint32_t n_tokens;
    bool has_end; /* VLY_TOKEN_END is an id without bytes */
};

/* ---- the trie -------------------------------------------------------------
 */

/* The tokens [first, end) of the sorted ones go through a node. */
typedef struct span {
    uint32_t first;
    uint32_t end;
} span;

typedef struct maker {
    const char *name;
    const vocabulary_token *sorted;
    node *nodes;
    span *spans; /* of each node */
    uint32_t n_nodes;
    vly_error *error;
} maker;

static int by_bytes(const void *a, const void *b)
{
    const vocabulary_token *s = a;
    const vocabulary_token *t = b;
    const uint32_t n = s->n_bytes < t->n_bytes ? s->n_bytes : t->n_bytes;
    const int order = memcmp(s->bytes, t->bytes, n);
    if (order != 0)
        return order;
    if (s->n_bytes != t->n_bytes)
        return s->n_bytes < t->n_bytes ? -1 : 1;
    return s->line < t->line ? -1 : s->line > t->line;
}

/* Token and children of node i, which is at this depth. */
static vly_status make_children(maker *m, uint32_t i, uint32_t depth)
{
    span at = m->spans[i];
    const vocabulary_token *sorted = m->sorted;
    m->nodes[i].first_child = m->n_nodes;
    if (at.first < at.end && sorted[at.first].n_bytes == depth) {
        m->nodes[i].token = sorted[at.first].id;
        at.first++;
        if (at.first < at.end && sorted[at.first].n_bytes == depth)
            return vly_fail(m->error, VLY_E_PARSE,
                            "%.300s:%u:1: the token of line %u is there a "
                            "second time",
                            m->name, sorted[at.first].line,
                            sorted[at.first - 1].line);
    }
    while (at.first < at.end) {
        const uint8_t byte = sorted[at.first].bytes[depth];
        const uint32_t child = m->n_nodes++;
        uint32_t end = at.first + 1;
        while (end < at.end && sorted[end].bytes[depth] == byte)
            end++;
        m->nodes[child] = (node){.token = NO_TOKEN, .byte = byte};
        m->spans[child] = (span){at.first, end};
        m->nodes[i].n_children++;
        at.first = end;
    }
    return VLY_OK;
}

static vly_status make_levels(maker *m, uint32_t n_tokens)
{
    vly_status status = VLY_OK;
    m->nodes[0] = (node){.token = NO_TOKEN};
    m->spans[0] = (span){0, n_tokens};
    m->n_nodes = 1;
    for (uint32_t level = 0, depth = 0; level < m->n_nodes; depth++) {
        const uint32_t end = m->n_nodes;
        for (uint32_t i = level; i < end; i++) {
            VLY_TRY(make_children(m, i, depth));
        }
        level = end;
    }
out:
    return status;
}

static vly_status make_trie(vly_tokenizer *made, const char *name,
                            vly_error *error)
{
    const size_t most = made->file.n_bytes + 1;
    maker m = {.name = name, .sorted = made->file.tokens, .error = error};
    vly_status status = VLY_OK;
    qsort(made->file.tokens, made->n_tokens, sizeof *made->file.tokens,
          by_bytes);
    m.nodes = vly_malloc(most, sizeof *m.nodes);
    m.spans = vly_malloc(most, sizeof *m.spans);
    if (!m.nodes || !m.spans) {
        status = vly_fail_nomem(error, most * (sizeof(node) + sizeof(span)),
                                "a vocabulary");
        goto out;
    }
    VLY_TRY(make_levels(&m, made->n_tokens));
    made->n_nodes = m.n_nodes;
    /* smaller: cannot fail in a way that matters */
    made->nodes = vly_realloc(m.nodes, m.n_nodes, sizeof *m.nodes);
    if (!made->nodes)
        made->nodes = m.nodes;
    m.nodes = NULL;
out:
    vly_free(m.nodes);
    vly_free(m.spans);
    return status;
}

static vly_status make_pieces(vly_tokenizer *made, const char *name,
                              vly_error *error)
{
    const vocabulary_file *file = &made->file;
    for (uint32_t i = 0; i < file->n_tokens; i++)
        if (file->tokens[i].id >= made->vocabulary)
            made->vocabulary = file->tokens[i].id + 1;
    made->pieces = vly_calloc(made->vocabulary, sizeof *made->pieces);
    if (!made->pieces)
        return vly_fail_nomem(error, made->vocabulary * sizeof *made->pieces,
                              "a vocabulary");
    for (uint32_t i = 0; i < file->n_tokens; i++) {
        const vocabulary_token *token = &file->tokens[i];
        piece *p = &made->pieces[token->id];
        if (p->n_bytes > 0)
            return vly_fail(error, VLY_E_PARSE,
                            "%.300s:%u:1: id %u is there a second time", name,
                            token->line, token->id);
        *p = (piece){token->bytes, token->n_bytes};
    }
    return VLY_OK;
}

/* ---- open -----------------------------------------------------------------
 */

/* From made->file, whose tokens are not needed any more afterwards. */
static vly_status finish(vly_tokenizer *made, const char *name,
                         vly_error *error)
{
    vly_status status = VLY_OK;
    made->n_tokens = made->file.n_tokens;
    VLY_TRY(make_pieces(made, name, error));
    VLY_TRY(make_trie(made, name, error));
    vly_free(made->file.tokens);
    made->file.tokens = NULL;
out:
    return status;
}

vly_status vly_tokenizer_parse(const char *text, size_t n, const char *name,
                               uint32_t vocabulary, vly_tokenizer **tokenizer,
                               vly_error *error)
{
    vly_status status = VLY_OK;
    vly_tokenizer *made = vly_calloc(1, sizeof *made);
    if (!made)
        return vly_fail_nomem(error, sizeof *made, "a vocabulary");
    made->has_end = true;
    made->vocabulary = 1;
    VLY_TRY(
        vocabulary_file_parse(text, n, name, vocabulary, &made->file, error));
    VLY_TRY(finish(made, name, error));
    *tokenizer = made;
out:
    if (status != VLY_OK)
        vly_tokenizer_close(made);
    return status;
}

vly_status vly_tokenizer_open(const char *path, uint32_t vocabulary,
                              vly_tokenizer **tokenizer, vly_error *error)
{
    char *text = NULL;
    size_t n = 0;
    FILE *file = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(vly_reading_open(path, VLY_READ_STREAM, &file, error));
    status = vly_reading_whole(file, path, "a vocabulary",
                               VLY_TOKENIZER_FILE_MAX, &text, &n, error);
    fclose(file);
    if (status == VLY_OK)
        status =
            vly_tokenizer_parse(text, n, path, vocabulary, tokenizer, error);
    vly_free(text);
out:
    return status;
}

vly_status vly_tokenizer_bytes(vly_tokenizer **tokenizer, vly_error *error)
{
    vly_status status = VLY_OK;
    vly_tokenizer *made = vly_calloc(1, sizeof *made);
    if (!made)
        return vly_fail_nomem(error, sizeof *made, "a vocabulary");
    made->vocabulary = BYTE_VALUES;
    made->file.tokens = vly_calloc(BYTE_VALUES, sizeof *made->file.tokens);
    made->file.bytes = vly_malloc(BYTE_VALUES, 1);
    if (!made->file.tokens || !made->file.bytes) {
        status =
            vly_fail_nomem(error, BYTE_VALUES * (sizeof *made->file.tokens + 1),
                           "a vocabulary");
        goto out;
    }
    for (uint32_t i = 0; i < BYTE_VALUES; i++) {
        made->file.bytes[i] = (uint8_t)i;
        made->file.tokens[i] =
            (vocabulary_token){made->file.bytes + i, 1, i, i + 1};
    }
    made->file.n_bytes = BYTE_VALUES;
    made->file.n_tokens = BYTE_VALUES;
    VLY_TRY(finish(made, "bytes", error));
    *tokenizer = made;
out:
    if (status != VLY_OK)
        vly_tokenizer_close(made);
    return status;
}

void vly_tokenizer_close(vly_tokenizer *tokenizer)
{
    if (!tokenizer)
        return;
    vocabulary_file_deinit(&tokenizer->file);
    vly_free(tokenizer->nodes);
    vly_free(tokenizer->pieces);
    vly_free(tokenizer);
}

uint32_t vly_tokenizer_vocabulary(const vly_tokenizer *tokenizer)
{
    return tokenizer->vocabulary;
}

uint32_t vly_tokenizer_count(const vly_tokenizer *tokenizer)
{
    return tokenizer->n_tokens;
}

/* ---- text to ids and back -------------------------------------------------
 */

/* The node's child by a byte; NULL if there is none. */
static const node *child_of(const vly_tokenizer *tokenizer, const node *at,
                            uint8_t byte)
{
    const node *children = tokenizer->nodes + at->first_child;
    uint32_t first = 0;
    uint32_t end = at->n_children;
    if (end == BYTE_VALUES)
        return children + byte;
    while (first < end) {
        const uint32_t middle = (first + end) / 2;
        if (children[middle].byte == byte)
            return children + middle;
        if (children[middle].byte < byte)
            first = middle + 1;
        else
            end = middle;
    }
    return NULL;
}

/* The longest token at bytes[0, n); its bytes, 0 if there is none. */
static size_t longest(const vly_tokenizer *tokenizer, const uint8_t *bytes,
                      size_t n, uint32_t *id)
{
    const node *at = tokenizer->nodes;
    size_t length = 0;
    for (size_t i = 0; i < n; i++) {
        at = child_of(tokenizer, at, bytes[i]);
        if (!at)
            break;
        if (at->token != NO_TOKEN) {
            *id = at->token;
            length = i + 1;
        }
    }
    return length;
}

vly_status vly_tokenizer_encode(const vly_tokenizer *tokenizer,
                                const void *bytes, size_t n_bytes,
                                uint32_t *ids, size_t capacity, size_t *n_ids,
                                vly_error *error)
{
    const uint8_t *text = bytes;
    size_t n = 0;
    for (size_t at = 0; at < n_bytes;) {
        uint32_t id = 0;
        const size_t length = longest(tokenizer, text + at, n_bytes - at, &id);
        if (length == 0)
            return vly_fail(error, VLY_E_INVALID,
                            "at byte %zu of the text, 0x%02x, no token of the "
                            "vocabulary fits",
                            at, text[at]);
        if (n == capacity)
            return vly_fail(error, VLY_E_INVALID,
                            "the text has more than %zu tokens, for which "
                            "there is room",
                            capacity);
        ids[n++] = id;
        at += length;
    }
    *n_ids = n;
    return VLY_OK;
}

vly_status vly_tokenizer_decode(const vly_tokenizer *tokenizer, uint32_t id,
                                const uint8_t **bytes, size_t *n_bytes,
                                vly_error *error)
{
    const bool end = tokenizer->has_end && id == VLY_TOKEN_END;
    if (!end &&
        (id >= tokenizer->vocabulary || tokenizer->pieces[id].n_bytes == 0))
        return vly_fail(error, VLY_E_INVALID,
                        "no token of the vocabulary has id %u", id);
    *bytes = end ? tokenizer->file.bytes : tokenizer->pieces[id].bytes;
    *n_bytes = end ? 0 : tokenizer->pieces[id].n_bytes;
    return VLY_OK;
}
