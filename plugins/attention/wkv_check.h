/* SPDX-License-Identifier: Apache-2.0
 * Checks of a description and of a run for every plugin with volley.wkv/1.
 * Nothing is read from a device. Everything here is [any-thread].
 */
#ifndef VOLLEY_WKV_CHECK_H
#define VOLLEY_WKV_CHECK_H

#include <volley/wkv.h>

enum { VLY_WKV_DIM = 64 };

/* Errors  E_INVALID an invalid description; E_UNSUPPORTED type or dim */
vly_status vly_wkv_check_desc(const vly_wkv_desc *desc, const char *plugin,
                              vly_error *error);
/* Refuses pointers that are missing or not aligned, and an output that overlaps
 * another array; state_out may be state_in. The workspace is not checked. desc
 * has passed the check above.
 * Errors  E_INVALID names the pointer */
vly_status vly_wkv_check_run(const vly_wkv_desc *desc, const vly_wkv_run *run,
                             const char *plugin, vly_error *error);

#endif
