/* SPDX-License-Identifier: Apache-2.0
 * A plugin whose id is one character too long.
 */
#define BROKEN_ID "a2345678901234567890123456789012"
#include "broken_plugin.h"
