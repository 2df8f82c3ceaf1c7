/* SPDX-License-Identifier: Apache-2.0
 * A plugin whose backend is shorter than that of version 1.0.
 */
#define BROKEN_BACKEND_SIZE (sizeof(vly_backend) - 8)
#include "broken_plugin.h"
