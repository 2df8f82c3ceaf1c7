/* SPDX-License-Identifier: Apache-2.0
 * A shared object without vly_plugin_entry.
 */
#define BROKEN_NO_ENTRY
#include "broken_plugin.h"
