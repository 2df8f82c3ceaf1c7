/* SPDX-License-Identifier: Apache-2.0
 * A plugin whose struct_size is below that of version 1.0.
 */
#define BROKEN_PLUGIN_SIZE (sizeof(vly_plugin) - 8)
#include "broken_plugin.h"
