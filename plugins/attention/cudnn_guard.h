/* SPDX-License-Identifier: Apache-2.0
 * Runs of cuDNN with sequences that have lengths: on copies in the workspace,
 * since cuDNN reads and writes after a length.
 */
#ifndef VLY_CUDNN_GUARD_H
#define VLY_CUDNN_GUARD_H

#include <stdbool.h>

#include "attention_cuda.h"

/* Does a run of the description work on copies? */
bool vly_cudnn_guarded(const vly_attention_desc *desc);
/* The description for cuDNN: that of the copies, if any. */
vly_attention_desc vly_cudnn_guard_desc(const vly_attention_desc *desc);
/* Bytes of all copies. */
uint64_t vly_cudnn_guard_bytes(const vly_attention_desc *desc);
/* Copies the inputs, and makes *copied the run on the copies. */
vly_status vly_cudnn_guard_begin(const vly_attention_desc *desc,
                                 const vly_attention_run *run, void *copies,
                                 vly_attention_run *copied, vly_error *error);
/* Copies the results to the tensors of the caller. */
vly_status vly_cudnn_guard_end(const vly_attention_desc *desc,
                               const vly_attention_run *run,
                               const vly_attention_run *copied,
                               vly_error *error);

#endif
