/* SPDX-License-Identifier: Apache-2.0
 * Text to token ids and back. Two vocabularies: bytes (256 ids, id = byte), and
 * a file in the format of RWKV's World vocabulary, a line a token:
 *
 *     ID LITERAL LEN        17 'the' 3        300 b'\xe4\xb8' 2
 *
 * ID above 0 (0 is the end of a text, and no line has it), LITERAL a string or
 * bytes as Python writes them, LEN its bytes. Lines end in LF or CRLF. A text
 * is cut greedily: at each place the longest token that fits, by a trie.
 * Source  reference/rwkv_tokenizer.py of RWKV-LM, rwkv_vocab_v20230424.txt
 */
#ifndef VOLLEY_MONITOR_TOKENIZER_H
#define VOLLEY_MONITOR_TOKENIZER_H

#include <stddef.h>
#include <stdint.h>

#include <volley/plugin.h>

enum {
    VLY_TOKEN_END = 0,          /* of a text, in a vocabulary from a file */
    VLY_TOKEN_BYTES_MAX = 1024, /* of one token; the World's longest has 128 */
    VLY_TOKENIZER_FILE_MAX = 64 << 20 /* bytes of a vocabulary file */
};

typedef struct vly_tokenizer vly_tokenizer; /* immutable: [any-thread] */

/* vocabulary  rows of the model's embedding: every id must be below
 * Errors      E_IO; E_PARSE "path:line:column: ..."; E_NOMEM */
vly_status vly_tokenizer_open(const char *path, uint32_t vocabulary,
                              vly_tokenizer **tokenizer, vly_error *error);
/* The same from memory; name stands in messages. */
vly_status vly_tokenizer_parse(const char *text, size_t n, const char *name,
                               uint32_t vocabulary, vly_tokenizer **tokenizer,
                               vly_error *error);
vly_status vly_tokenizer_bytes(vly_tokenizer **tokenizer, vly_error *error);
void vly_tokenizer_close(vly_tokenizer *tokenizer); /* NULL is legal */

/* Largest id + 1 (256 for bytes), and how many ids there are. */
uint32_t vly_tokenizer_vocabulary(const vly_tokenizer *tokenizer);
uint32_t vly_tokenizer_count(const vly_tokenizer *tokenizer);

/* ids     [capacity]; n_bytes of them are always enough          (out)
 * n_ids   how many there are                                     (out)
 * Errors  E_INVALID a byte at which no token fits, too little room: ids is
 *         undefined then, n_ids untouched
 * Cost    O(bytes * longest token) at worst; no allocation */
vly_status vly_tokenizer_encode(const vly_tokenizer *tokenizer,
                                const void *bytes, size_t n_bytes,
                                uint32_t *ids, size_t capacity, size_t *n_ids,
                                vly_error *error);
/* The bytes of a token, owned by the tokenizer; a token need not be complete
 * UTF-8. VLY_TOKEN_END has none.
 * Errors  E_INVALID no token has this id */
vly_status vly_tokenizer_decode(const vly_tokenizer *tokenizer, uint32_t id,
                                const uint8_t **bytes, size_t *n_bytes,
                                vly_error *error);

#endif
