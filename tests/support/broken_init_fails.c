/* SPDX-License-Identifier: Apache-2.0
 * A plugin whose init fails softly, with a sentence.
 */
#include <volley/plugin.h>

static vly_status init_fails(const vly_host *host, vly_error *error);
#define BROKEN_ID "broken_init_fails"
#define BROKEN_INIT init_fails
#include "broken_plugin.h"

static vly_status init_fails(const vly_host *host, vly_error *error)
{
    (void)host;
    strcpy(error->message, "the moon is not full");
    return error->status = VLY_E_DEVICE;
}
