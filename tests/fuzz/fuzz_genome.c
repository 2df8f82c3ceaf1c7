/* SPDX-License-Identifier: Apache-2.0
 * Any bytes as a genome: refused with a sentence, or resolved to text that
 * gives the same hash again; nothing left in memory. A file may bring
 * overrides: lines `#set PATH=VALUE` at its start.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "genome/genome.h"

#define OVERRIDES_MAX 4

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Not assert(), which is off in release builds. */
static void demand(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "fuzz_genome: %s\n", what);
    abort();
}

static uint32_t take_overrides(char *text, vly_override *overrides)
{
    uint32_t n = 0;
    while (n < OVERRIDES_MAX && strncmp(text, "#set ", 5) == 0) {
        char *path = text + 5;
        char *end = strchr(path, '\n');
        char *equal = strchr(path, '=');
        if (!end || !equal || equal > end)
            break;
        *end = 0;
        *equal = 0;
        overrides[n].path = path;
        overrides[n++].value = equal + 1;
        text = end + 1;
    }
    return n;
}

static void same_again(const vly_genome *genome)
{
    vly_genome *again = NULL;
    vly_error error = VLY_ERROR_INIT;
    vly_status status =
        vly_genome_parse(genome->resolved, strlen(genome->resolved), "resolved",
                         NULL, 0, &again, &error);
    demand(status == VLY_OK, error.message);
    demand(memcmp(&genome->hash, &again->hash, sizeof(vly_hash)) == 0,
           "the resolved text has another hash");
    vly_genome_destroy(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint64_t before = vly_memory_live();
    vly_override overrides[OVERRIDES_MAX] = {{0}};
    vly_genome *genome = NULL;
    vly_error error = VLY_ERROR_INIT;
    char *copy = malloc(size + 1);
    if (!copy)
        return 0;
    if (size > 0)
        memcpy(copy, data, size);
    copy[size] = 0;
    uint32_t n = take_overrides(copy, overrides);
    vly_status status = vly_genome_parse((const char *)data, size, "fuzz",
                                         overrides, n, &genome, &error);
    if (status == VLY_OK)
        same_again(genome);
    else
        /* E_IO: it names a file that is not there */
        demand((status == VLY_E_PARSE || status == VLY_E_IO) &&
                   strlen(error.message) > 10,
               "refused without a sentence");
    vly_genome_destroy(genome);
    free(copy);
    demand(vly_memory_live() == before, "memory is left");
    return 0;
}
