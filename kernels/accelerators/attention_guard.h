/* SPDX-License-Identifier: Apache-2.0
 * Copies for libraries that read and write after the length of a sequence:
 * inputs get zeros there, results are copied up to it. All return a
 * cudaError_t as int; work goes into the stream.
 */
#ifndef VLY_ATTENTION_GUARD_H
#define VLY_ATTENTION_GUARD_H

#include "attention_kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A tensor of 16-bit elements in chunks of 16 bytes, as the caller has it
 * (strides) and as a copy, [batch][seq][heads][dim]. */
typedef struct vly_attention_guard {
    const void *from;
    void *to;
    const int32_t *length; /* [batch] number of existing positions */
    const int32_t *other;  /* [batch] of the other side of the product */
    vly_attention_strides stride;
    uint32_t batch;
    uint32_t heads;
    uint32_t seq;
    uint32_t dim;
} vly_attention_guard;

/* to, the copy, = from; 0 after the length */
int vly_attention_guard_in(const vly_attention_guard *guard, void *stream);
/* to, the caller's, = from, the copy; unchanged after the length, and 0 if the
 * other side has no position */
int vly_attention_guard_out(const vly_attention_guard *guard, void *stream);
/* The same of row statistics, [batch][heads][seq] fp32; strides and dim are
 * not used. In: +inf instead of -inf and after the length, so that the weight
 * exp(score - lse) is 0 whatever the score. Out: -inf without keys. */
int vly_attention_guard_lse_in(const vly_attention_guard *guard, void *stream);
int vly_attention_guard_lse_out(const vly_attention_guard *guard, void *stream);

#ifdef __cplusplus
}
#endif
#endif
