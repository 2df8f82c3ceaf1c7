/* SPDX-License-Identifier: Apache-2.0
 * A plugin that forgot its struct_size.
 */
#define BROKEN_PLUGIN_SIZE 0
#include "broken_plugin.h"
