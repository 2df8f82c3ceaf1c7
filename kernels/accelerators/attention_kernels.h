/* SPDX-License-Identifier: Apache-2.0
 * Launchers of the attention kernels: no ABI, no allocation. All return a
 * cudaError_t as int; work goes into the stream.
 */
#ifndef VLY_ATTENTION_KERNELS_H
#define VLY_ATTENTION_KERNELS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Elements from batch to batch (paged: page to page), position to position and
 * head to head. */
typedef struct vly_attention_strides {
    uint64_t batch;
    uint64_t seq;
    uint64_t head;
} vly_attention_strides;

/* VLY_ELEMENT_* of volley/accelerator.h; compared in a file that includes
 * both */
enum {
    VLY_ATTENTION_F32 = 0,
    VLY_ATTENTION_F16 = 1,
    VLY_ATTENTION_BF16 = 2,
    VLY_ATTENTION_E4M3 = 3,
};

/* One run on the device. Unused members are NULL. */
typedef struct vly_attention_args {
    const void *q;
    const void *k;
    const void *v;
    void *o;
    float *lse;
    const void *grad_o; /* backward */
    void *grad_q;
    void *grad_k;
    void *grad_v;
    const int32_t *length_q;
    const int32_t *length_kv;
    const int32_t *start_q;
    const int32_t *start_kv;
    const int32_t *page_table;
    const float *scale_q;
    const float *scale_k;
    const float *scale_v;
    const float *scale_o;
    void *workspace;
    vly_attention_strides stride_q;
    vly_attention_strides stride_k;
    vly_attention_strides stride_v;
    vly_attention_strides stride_o;
    uint32_t batch;
    uint32_t heads_q;
    uint32_t heads_kv;
    uint32_t seq_q;
    uint32_t seq_kv;
    uint32_t dim;
    uint32_t dim_v;
    uint32_t type;
    uint32_t type_o;
    uint32_t causal; /* 0, 1 top left, 2 bottom right */
    int32_t left;
    int32_t right;
    uint32_t page_size; /* 0: not paged */
    uint32_t pages_most;
    uint32_t n_splits; /* decode: parts of the cache */
    uint32_t early;    /* decode: 1, compute capability 9.0: the kernel that
                        * combines the parts is launched while they are
                        * computed */
    float scale;
} vly_attention_args;

/* One block a row, plain loops in fp32: every type, dimension and layout. */
int vly_attention_plain(const vly_attention_args *args, void *stream);
/* Gradients likewise; workspace: batch * heads_q * seq_q floats. The same bits
 * every time. */
int vly_attention_plain_backward(const vly_attention_args *args, void *stream);

/* mma.sync, sm_80 and newer: fp16 and bf16, all of Q, K, V, O in chunks of 16
 * bytes. */
int vly_attention_mma(const vly_attention_args *args, void *stream);

/* of a cache */
enum { VLY_ATTENTION_MOST_PARTS = 256 };

/* One query a sequence, the cache split over blocks: fp16 and bf16, dim = dim_v
 * of 64, 128 or 256; warps: of a block, as vly_attention_decode_warps returns,
 * or half as many. Workspace with n_splits > 1: batch * heads_q * n_splits *
 * (dim_v + 2) floats. */
int vly_attention_decode(const vly_attention_args *args, uint32_t warps,
                         void *stream);
/* 0: the shared memory of a block of this device is too small. */
uint32_t vly_attention_decode_warps(uint32_t dim);

/* Packed positions in the format of cuDNN: lengths and first elements of each
 * sequence. lengths [2][batch] int32 (Q, K), offsets [4][batch + 1] int64 (Q,
 * K, V, O). */
int vly_attention_offsets(const vly_attention_args *args, int32_t *lengths,
                          int64_t *offsets, void *stream);

#ifdef __cplusplus
}
#endif
#endif
