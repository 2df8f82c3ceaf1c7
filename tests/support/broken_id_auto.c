/* SPDX-License-Identifier: Apache-2.0
 * A plugin whose id is a word of the engine.
 */
#define BROKEN_ID "auto"
#include "broken_plugin.h"
