/* SPDX-License-Identifier: Apache-2.0
 * A plugin without an id.
 */
#define BROKEN_ID NULL
#include "broken_plugin.h"
