/* SPDX-License-Identifier: Apache-2.0
 * How an accelerator would run a product: what a plan chose, and why.
 */
#ifndef VOLLEY_TOOLS_INSPECT_PRODUCT_H
#define VOLLEY_TOOLS_INSPECT_PRODUCT_H

#include <stdint.h>

#include <volley/plugin.h>

/* The plugin of the file makes a plan for "gemm:bf16:16x4096x1024" (types and
 * sizes as of volley bench gemm) on its device 0 and says what it chose.
 * Nothing is run but what the plan measures. device_options   of the plugin, as
 * in tune=0; or NULL Errors  E_INVALID the product cannot be read; as
 * plan_create */
vly_status inspect_product(const char *path, const char *product,
                           const char *device_options, uint32_t n_threads,
                           vly_error *error);

#endif
