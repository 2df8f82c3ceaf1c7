/* SPDX-License-Identifier: Apache-2.0
 * Checks of a description and of a run that every attention plugin makes before
 * its own conditions. Nothing is read from a device. `plugin` is the
 * id that messages begin with. Everything here is [any-thread].
 */
#ifndef VOLLEY_ATTENTION_CHECK_H
#define VOLLEY_ATTENTION_CHECK_H

#include <volley/attention.h>

/* Errors  E_INVALID an invalid description: the message has the found and the
 * wanted value; E_UNSUPPORTED types or flags that the interface does not have,
 * and backward of fp8 or of pages */
vly_status vly_attention_check_desc(const vly_attention_desc *desc,
                                    const char *plugin, vly_error *error);

/* Refuses pointers that are missing or not aligned, and an output that overlaps
 * another array. The extent of packed positions, and of pages whose number is
 * not given, is unknown: only the first bytes are compared. The workspace is
 * not checked. desc has passed the check above.
 * Errors  E_INVALID names the pointer */
vly_status vly_attention_check_run(const vly_attention_desc *desc,
                                   const vly_attention_run *run,
                                   const char *plugin, vly_error *error);

/* Refuses a workspace that is too small, missing or not aligned to 256.
 * Errors  E_INVALID with the bytes that are needed */
vly_status vly_attention_check_workspace(const void *workspace, uint64_t bytes,
                                         uint64_t needed, const char *plugin,
                                         vly_error *error);

/* 1 / sqrt(dim) if the description has no scale */
float vly_attention_scale(const vly_attention_desc *desc);

#endif
