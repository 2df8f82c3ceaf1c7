/* SPDX-License-Identifier: Apache-2.0
 * A plugin whose id has characters that ids do not have.
 */
#define BROKEN_ID "Bad-\x1b[1m"
#include "broken_plugin.h"
