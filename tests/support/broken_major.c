/* SPDX-License-Identifier: Apache-2.0
 * A plugin of the next major version.
 */
#define BROKEN_ABI ((VLY_ABI_MAJOR + 1) << 16 | 3)
#include "broken_plugin.h"
