/* SPDX-License-Identifier: Apache-2.0
 * A right plugin of a newer minor version: both of its tables are longer than
 * those of this engine. It uses the host, and deinit leaves a block on purpose.
 */
#include <volley/plugin.h>

static vly_status init_newer(const vly_host *host, vly_error *error);
#define BROKEN_ID "newer"
#define BROKEN_ABI (VLY_ABI_VERSION + 9)
#define BROKEN_PLUGIN_SIZE (sizeof(vly_plugin) + 32)
#define BROKEN_BACKEND_SIZE (sizeof(vly_backend) + 32)
#define BROKEN_INIT init_newer
#define BROKEN_RANK 4000000000u
#define BROKEN_ALIASES "recent newest"
#include "broken_plugin.h"

static vly_status init_newer(const vly_host *host, vly_error *error)
{
    (void)error;
    static void *kept;
    host->free(host->context, kept); /* of the time before */
    kept = host->alloc(host->context, 8, 8);
    host->log(host->context, VLY_LOG_WARN, "hello from newer");
    host->telemetry(host->context, "newer.sample", 2.5);
    return kept ? VLY_OK : VLY_E_NOMEM;
}
