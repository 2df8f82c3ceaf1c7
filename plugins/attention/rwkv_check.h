/* SPDX-License-Identifier: Apache-2.0
 * What every plugin with volley.rwkv/1 asks of a description and of a run.
 * Nothing of a device is read. Everything here is [any-thread].
 */
#ifndef VOLLEY_RWKV_CHECK_H
#define VOLLEY_RWKV_CHECK_H

#include <volley/rwkv.h>

/* "mix"; "?" if there is no such operation */
const char *vly_rwkv_op_name(uint32_t op);

/* Errors  E_INVALID the description is none; E_UNSUPPORTED types that do not
 *         go together, flags or operations of a newer interface */
vly_status vly_rwkv_check_desc(const vly_rwkv_desc *desc, const char *plugin,
                               vly_error *error);
/* Pointers that are missing, not aligned, or an output that overlaps something
 * that it must not. The workspace is not looked at. desc has passed the check
 * above.
 * Errors  E_INVALID names the operation and the pointer */
vly_status vly_rwkv_check_run(const vly_rwkv_desc *desc,
                              const vly_rwkv_run *run, const char *plugin,
                              vly_error *error);

#endif
