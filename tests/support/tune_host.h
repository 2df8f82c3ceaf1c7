/* SPDX-License-Identifier: Apache-2.0
 * A host for what uses it to allocate and to log, and counts: for the caches of
 * the accelerator plugins. One thread.
 */
#ifndef VOLLEY_TUNE_HOST_H
#define VOLLEY_TUNE_HOST_H

#include <stdio.h>
#include <stdlib.h>

#include <volley/plugin.h>

static uint32_t n_logged;
static char logged[1500]; /* the last, and its level */
static int32_t level_logged;
static int64_t n_blocks, fail_at; /* allocations until one fails; 0: never */

static void *host_alloc(void *context, uint64_t bytes, uint64_t align)
{
    (void)context;
    (void)align;
    if (fail_at > 0 && --fail_at == 0)
        return NULL;
    n_blocks++;
    return malloc(bytes);
}

static void host_free(void *context, void *memory)
{
    (void)context;
    n_blocks -= memory != NULL;
    free(memory);
}

static void host_log(void *context, int32_t level, const char *message)
{
    (void)context;
    level_logged = level;
    n_logged++;
    snprintf(logged, sizeof logged, "%s", message);
}

static const vly_host host = {.struct_size = sizeof host,
                              .alloc = host_alloc,
                              .free = host_free,
                              .log = host_log};

#endif
