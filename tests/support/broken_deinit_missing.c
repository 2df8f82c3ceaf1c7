/* SPDX-License-Identifier: Apache-2.0
 * A plugin without deinit.
 */
#define BROKEN_DEINIT NULL
#include "broken_plugin.h"
