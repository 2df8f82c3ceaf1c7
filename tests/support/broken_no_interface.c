/* SPDX-License-Identifier: Apache-2.0
 * A plugin that offers nothing, and whose deinit gives back what init took.
 */
#include <volley/plugin.h>

static vly_status init_takes(const vly_host *host, vly_error *error);
static void deinit_gives(void);
static const void *get_nothing(const char *id);
#define BROKEN_ID "broken_no_interface"
#define BROKEN_INIT init_takes
#define BROKEN_DEINIT deinit_gives
#define BROKEN_GET_INTERFACE get_nothing
#include "broken_plugin.h"

static const vly_host *host_table;
static void *block;

static vly_status init_takes(const vly_host *host, vly_error *error)
{
    (void)error;
    host_table = host;
    block = host->alloc(host->context, 100, 64);
    return block ? VLY_OK : VLY_E_NOMEM;
}

static void deinit_gives(void)
{
    host_table->free(host_table->context, block);
}

static const void *get_nothing(const char *id)
{
    (void)id;
    return NULL;
}
