/* SPDX-License-Identifier: Apache-2.0
 * A plugin whose backend lacks a required function.
 */
#define BROKEN_NET_RUN NULL
#include "broken_plugin.h"
