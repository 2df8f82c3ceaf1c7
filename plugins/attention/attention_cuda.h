/* SPDX-License-Identifier: Apache-2.0
 * Host side of the plugin "attention_cuda".
 */
#ifndef VLY_ATTENTION_CUDA_H
#define VLY_ATTENTION_CUDA_H

#include <volley/attention.h>
#include <volley/wkv.h>

/* ---- errors and memory of the host ------------------------------------- */

#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
vly_status
vly_accel_fail(vly_error *error, vly_status status, const char *format, ...);
/* NULL: error says so, with status E_NOMEM. Not cleared. */
void *vly_attention_alloc(uint64_t bytes, vly_error *error);
void vly_accel_free(void *memory); /* NULL is legal */

#endif
