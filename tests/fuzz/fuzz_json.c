/* SPDX-License-Identifier: Apache-2.0
 * Any bytes as JSON: a tree, the same twice, or a sentence with a place;
 * nothing left in memory. The bytes have no 0 behind them.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "tools/cli/json_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Not assert(), which is off in release builds. */
static void demand(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "fuzz_json: %s\n", what);
    abort();
}

/* Both trees are walked, so that every byte of them is read. */
static bool are_same(const json_value *a, const json_value *b)
{
    if (a->kind != b->kind || a->n_items != b->n_items || !a->key != !b->key ||
        !a->text != !b->text ||
        memcmp(&a->number, &b->number, sizeof a->number))
        return false;
    if ((a->key && strcmp(a->key, b->key) != 0) ||
        (a->text && strcmp(a->text, b->text) != 0))
        return false;
    for (uint32_t i = 0; i < a->n_items; i++) {
        if (!are_same(&a->items[i], &b->items[i]))
            return false;
        demand(a->kind != JSON_OBJECT ||
                   json_find(a, a->items[i].key) == &a->items[i],
               "a member that is not found");
    }
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint64_t live = vly_memory_live();
    vly_error error = VLY_ERROR_INIT;
    json_value value = {0};
    json_value again = {0};
    char *bytes = malloc(size > 0 ? size : 1);
    char *text = malloc(size + 1);
    demand(bytes && text, "no memory");
    memcpy(bytes, data, size);
    memcpy(text, data, size);
    text[size] = '\0';
    vly_status status = json_parse_bytes(bytes, size, "f", &value, &error);
    demand(status == VLY_OK || strncmp(error.message, "f:", 2) == 0,
           error.message);
    if (memchr(bytes, 0, size) == NULL)
        demand(json_parse(text, "f", &again, NULL) == status &&
                   are_same(&value, &again),
               "another tree the second time");
    json_free(&value);
    json_free(&again);
    free(bytes);
    free(text);
    demand(vly_memory_live() == live, "memory is left");
    return 0;
}
