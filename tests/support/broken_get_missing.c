/* SPDX-License-Identifier: Apache-2.0
 * A plugin without get_interface.
 */
#define BROKEN_GET_INTERFACE NULL
#include "broken_plugin.h"
