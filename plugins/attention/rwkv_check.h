/* SPDX-License-Identifier: Apache-2.0
 * Checks of a description and of a run for every plugin with volley.rwkv/1.
 * Nothing is read from a device. Everything here is [any-thread].
 */
#ifndef VOLLEY_RWKV_CHECK_H
#define VOLLEY_RWKV_CHECK_H

#include <volley/rwkv.h>

/* "mix"; "?" for an unknown operation */
const char *vly_rwkv_op_name(uint32_t op);

/* Errors  E_INVALID an invalid description; E_UNSUPPORTED types that cannot be
 * combined, flags or operations of a newer interface */
vly_status vly_rwkv_check_desc(const vly_rwkv_desc *desc, const char *plugin,
                               vly_error *error);
/* Refuses pointers that are missing or not aligned, and an output that overlaps
 * an array that it must not. The workspace is not checked. desc has passed the
 * check above.
 * Errors  E_INVALID names the operation and the pointer */
vly_status vly_rwkv_check_run(const vly_rwkv_desc *desc,
                              const vly_rwkv_run *run, const char *plugin,
                              vly_error *error);

#endif
