/* SPDX-License-Identifier: Apache-2.0
 * Copies of strided rows between devices that have access to each other.
 */
#ifndef VLY_ATTENTION_COPY_H
#define VLY_ATTENTION_COPY_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* In chunks of 16 bytes, to which both pointers are aligned. Rows of `width`
 * chunks in three axes; all chunks are at most 2^31 - 1. */
typedef struct vly_attention_copy {
    void *to;
    const void *from;
    uint32_t width;
    uint32_t count[3];
    uint64_t to_step[3];
    uint64_t from_step[3];
} vly_attention_copy;

/* Returns a cudaError_t as int; the work goes into the stream. */
int vly_attention_copy_rows(const vly_attention_copy *copy, void *stream);

#ifdef __cplusplus
}
#endif
#endif
