/* SPDX-License-Identifier: Apache-2.0
 * Any bytes as a file of SONATA's node types, and as a file of dynamics_params:
 * refused with a sentence, or types in ascending order that are all found, and
 * a finite number; nothing left in memory.
 */
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "genome/node_types.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Not assert(), which is off in release builds. */
static void demand(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "fuzz_node_types: %s\n", what);
    abort();
}

/* column: NULL for the texts of models */
static void try_types(char *copy, size_t size, const char *column)
{
    vly_node_types types;
    vly_error error = VLY_ERROR_INIT;
    FILE *file = fmemopen(copy, size + 1, "r"); /* takes no empty memory */
    demand(file != NULL, "no file");
    const vly_status status =
        vly_node_types_init(&types, file, "fuzz", column, &error);
    fclose(file);
    for (uint32_t i = 0; status == VLY_OK && i < types.n; i++) {
        const vly_node_type *type = &types.list[i];
        demand(i == 0 || type->id > types.list[i - 1].id, "order");
        demand(vly_node_types_find(&types, type->id) == type,
               "a type is not found");
        demand(!type->has || (isfinite(type->value) && !type->params),
               "a value that is not a number");
    }
    demand(status == VLY_OK ||
               (status == VLY_E_PARSE && strlen(error.message) > 10),
           "types refused without a sentence");
    vly_node_types_deinit(&types);
}

static void try_params(const char *copy, size_t size)
{
    vly_error error = VLY_ERROR_INIT;
    bool has = false;
    double value = 0;
    const vly_status status =
        vly_node_params_find(copy, size, "fuzz", "tau_m", &has, &value, &error);
    demand(status == VLY_OK ||
               (status == VLY_E_PARSE && strlen(error.message) > 10),
           "parameters refused without a sentence");
    demand(isfinite(value) && (has || value == 0), "no number");
    char others[40] = "";
    static const char *const known[] = {"tau_m"};
    demand(vly_node_params_others(copy, size, "fuzz", known, 1, others,
                                  sizeof(others), &error) == VLY_OK ||
               strlen(error.message) > 10,
           "parameters refused without a sentence");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint64_t before = vly_memory_live();
    char *copy = malloc(size + 1);
    demand(copy != NULL, "no memory");
    if (size > 0)
        memcpy(copy, data, size);
    copy[size] = 0;
    try_params(copy, size);
    copy[size] = '\n';
    try_types(copy, size, "tau_m");
    try_types(copy, size, NULL);
    free(copy);
    demand(vly_memory_live() == before, "memory is left");
    return 0;
}
