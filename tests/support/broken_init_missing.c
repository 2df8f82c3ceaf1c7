/* SPDX-License-Identifier: Apache-2.0
 * A plugin without init.
 */
#define BROKEN_INIT NULL
#include "broken_plugin.h"
