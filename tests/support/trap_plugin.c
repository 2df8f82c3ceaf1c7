/* SPDX-License-Identifier: Apache-2.0
 * A plugin that makes the file of VOLLEY_TRAP as soon as it is loaded, before
 * anything of it is called: what shall not load it is found out by that file.
 */
#include <stdio.h>
#include <stdlib.h>

#define BROKEN_ID "trap"
#include "broken_plugin.h"

static void __attribute__((constructor)) was_loaded(void)
{
    const char *path = getenv("VOLLEY_TRAP");
    FILE *file = path != NULL ? fopen(path, "we") : NULL;
    if (file != NULL)
        (void)fclose(file);
}
