/* SPDX-License-Identifier: Apache-2.0
 * Any bytes as a vocabulary: refused with one sentence, or used on those bytes:
 * what it encodes decodes to the same again.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "monitor/tokenizer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Not assert(), which is off in release builds. */
static void demand(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "fuzz_vocabulary: %s\n", what);
    abort();
}

/* The first bytes of the vocabulary's own text, as far as it has tokens. */
static void use(const vly_tokenizer *tokenizer, const uint8_t *text, size_t n)
{
    vly_error error = VLY_ERROR_INIT;
    uint32_t *ids = malloc((n + 1) * sizeof *ids);
    size_t n_ids = 0;
    size_t at = 0;
    demand(ids != NULL, "no memory");
    vly_status status =
        vly_tokenizer_encode(tokenizer, text, n, ids, n, &n_ids, &error);
    demand(status == VLY_OK || status == VLY_E_INVALID, "another status");
    for (size_t i = 0; i < n_ids; i++) {
        const uint8_t *bytes = NULL;
        size_t n_bytes = 0;
        demand(vly_tokenizer_decode(tokenizer, ids[i], &bytes, &n_bytes,
                                    &error) == VLY_OK,
               error.message);
        demand(n_bytes <= n - at && memcmp(text + at, bytes, n_bytes) == 0,
               "decoded it is another text");
        at += n_bytes;
    }
    demand(status != VLY_OK || at == n, "decoded it is shorter");
    free(ids);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint64_t live = vly_memory_live();
    vly_error error = VLY_ERROR_INIT;
    vly_tokenizer *tokenizer = NULL;
    vly_status status = vly_tokenizer_parse((const char *)data, size, "v",
                                            65536, &tokenizer, &error);
    if (status == VLY_OK) {
        demand(vly_tokenizer_vocabulary(tokenizer) <= 65536, "too large an id");
        use(tokenizer, data, size < 64 ? size : 64);
        use(tokenizer, (const uint8_t *)"abcab", 5);
    } else {
        demand(status == VLY_E_PARSE || status == VLY_E_NOMEM,
               "refused with another status");
        demand(strlen(error.message) > 10 && !strchr(error.message, '\n'),
               error.message);
        demand(tokenizer == NULL, "refused, and there is a vocabulary");
    }
    vly_tokenizer_close(tokenizer);
    demand(vly_memory_live() == live, "blocks of memory are left");
    return 0;
}
