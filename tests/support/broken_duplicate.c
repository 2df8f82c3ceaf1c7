/* SPDX-License-Identifier: Apache-2.0
 * A plugin with the id of another one.
 */
#define BROKEN_ID "template"
#include "broken_plugin.h"
