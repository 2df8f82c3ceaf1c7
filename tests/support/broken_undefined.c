/* SPDX-License-Identifier: Apache-2.0
 * A plugin that calls a function that no library has.
 */
#include <volley/plugin.h>

extern vly_status volley_function_of_nobody(const vly_host *host,
                                            vly_error *error);
#define BROKEN_INIT volley_function_of_nobody
#include "broken_plugin.h"
