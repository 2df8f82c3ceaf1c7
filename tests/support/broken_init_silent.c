/* SPDX-License-Identifier: Apache-2.0
 * A plugin whose init fails with an undefined status and without a message.
 */
#include <volley/plugin.h>

static vly_status init_silent(const vly_host *host, vly_error *error);
#define BROKEN_ID "broken_init_silent"
#define BROKEN_INIT init_silent
#include "broken_plugin.h"

static vly_status init_silent(const vly_host *host, vly_error *error)
{
    (void)host;
    (void)error;
    return 42;
}
