/* SPDX-License-Identifier: Apache-2.0
 * Any bytes as a file of SONATA's edge types: refused with a sentence, or types
 * in ascending order that are all found; nothing left in memory.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "genome/edge_types.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Not assert(), which is off in release builds. */
static void demand(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "fuzz_edge_types: %s\n", what);
    abort();
}

static void check(const vly_edge_types *types)
{
    for (uint32_t i = 0; i < types->n; i++) {
        demand(i == 0 || types->list[i].id > types->list[i - 1].id, "order");
        demand(vly_edge_types_find(types, types->list[i].id) == &types->list[i],
               "a type is not found");
        for (int k = 0; k < VLY_EDGE_TYPE_VALUES; k++)
            demand(types->has[k] || !types->list[i].has[k],
                   "a value of a column that has none");
    }
    demand(strlen(types->left) < VLY_EDGE_LEFT, "names left out");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint64_t before = vly_memory_live();
    vly_edge_types types;
    vly_error error = VLY_ERROR_INIT;
    char *copy = malloc(size + 1); /* fmemopen takes no empty memory */
    demand(copy != NULL, "no memory");
    if (size > 0)
        memcpy(copy, data, size);
    copy[size] = '\n';
    FILE *file = fmemopen(copy, size + 1, "r");
    demand(file != NULL, "no file");
    vly_status status = vly_edge_types_init(&types, file, "fuzz", &error);
    fclose(file);
    free(copy);
    if (status == VLY_OK)
        check(&types);
    else
        demand(status == VLY_E_PARSE && strlen(error.message) > 10,
               "refused without a sentence");
    vly_edge_types_deinit(&types);
    demand(vly_memory_live() == before, "memory is left");
    return 0;
}
