/* SPDX-License-Identifier: Apache-2.0
 * Any bytes as a genome of FEAGI's: refused with a sentence, or made into a
 * text that is a genome (of too many synapses at worst); the same text twice,
 * nothing left in memory.
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
#include "tools/feagi/feagi_genome.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Not assert(), which is off in release builds. */
static void demand(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "fuzz_feagi: %s\n", what);
    abort();
}

static bool is_one_line(const char *message)
{
    return strlen(message) > 10 && !strchr(message, '\n');
}

static char *import(const uint8_t *data, size_t size, size_t *n)
{
    vly_error error = VLY_ERROR_INIT;
    feagi_value root = {0};
    feagi_genome genome = {0};
    char *text = NULL;
    vly_status status =
        feagi_json_parse((const char *)data, size, "fuzz", &root, &error);
    if (status == VLY_OK)
        status = feagi_genome_read(&genome, &root, "fuzz", &error);
    if (status == VLY_OK)
        text = feagi_toml_write(&genome, n);
    else
        demand(status == VLY_E_PARSE && is_one_line(error.message),
               "refused without a sentence");
    demand(status != VLY_OK || text, "no text");
    feagi_genome_free(&genome);
    feagi_json_free(&root);
    return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint64_t before = vly_memory_live();
    size_t n = 0;
    size_t n_again = 0;
    char *text = import(data, size, &n);
    char *again = import(data, size, &n_again);
    demand(!text == !again && n == n_again &&
               (!text || memcmp(text, again, n) == 0),
           "another text the second time");
    if (text) {
        vly_genome *genome = NULL;
        vly_error error = VLY_ERROR_INIT;
        vly_status status =
            vly_genome_parse(text, n, "made", NULL, 0, &genome, &error);
        /* the one limit that only the genome's reader knows */
        demand(status == VLY_OK ||
                   (status == VLY_E_PARSE && strstr(error.message, "synapses")),
               error.message);
        vly_genome_destroy(genome);
    }
    vly_free(text);
    vly_free(again);
    demand(vly_memory_live() == before, "memory is left");
    return 0;
}
