/* SPDX-License-Identifier: Apache-2.0
 * How an accelerator would run a product: what a plan chose, and why.
 */
#ifndef VOLLEY_TOOLS_INSPECT_PRODUCT_H
#define VOLLEY_TOOLS_INSPECT_PRODUCT_H

#include <stdint.h>

#include "tools/inspect/inspect_request.h"

/* The plugin of the file makes a plan for the product (as text, and parsed) on
 * its device 0. Prints the choice, the candidates and their results. Only the
 * measurements of the plan are run. device_options: options of the plugin, as
 * tune=0, or NULL
 * Errors  E_UNSUPPORTED the plugin does not offer it; as plan_create */
vly_status inspect_product(const char *path, const char *product,
                           const inspect_request *request,
                           const char *device_options, uint32_t n_threads,
                           vly_error *error);

#endif
