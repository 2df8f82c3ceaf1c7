/* SPDX-License-Identifier: Apache-2.0
 * Launchers of the kernels of RWKV-7's recurrence: no ABI, no allocation. All
 * return a cudaError_t as int; work goes into the stream.
 */
#ifndef VLY_WKV_KERNELS_H
#define VLY_WKV_KERNELS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* r w k v a b y [batch][seq][heads][64]; states [batch][heads][64][64], row:
 * value. Types are those of attention_kernels.h. */
typedef struct vly_wkv_args {
    const void *r;
    const void *w;
    const void *k;
    const void *v;
    const void *a;
    const void *b;
    void *y;
    const float *state_in; /* NULL: zeros */
    float *state_out;
    const int32_t *length; /* NULL: seq */
    uint32_t batch;
    uint32_t seq;
    uint32_t heads;
    uint32_t type;
    uint32_t early;  /* step, recurrent: the launch may begin while the one
                        before it in the stream runs (rwkv_launch.cuh) */
    uint32_t chunks; /* chunked: vly_wkv_chunked_range */
    void *workspace; /* chunked: aligned to 256 */
} vly_wkv_args;

enum { VLY_WKV_CHUNK = 32, VLY_WKV_CHUNK_BYTES = 3 * 4096 * 4 };

/* One token: all of the state in flight at once. seq is 1. */
int vly_wkv_step(const vly_wkv_args *args, void *stream);
/* Token by token, the state in registers. */
int vly_wkv_recurrent(const vly_wkv_args *args, void *stream);
/* 32 tokens at a time, as products of matrices; compute capability 8.0. */
int vly_wkv_chunked(const vly_wkv_args *args, void *stream);
/* Number of chunks computed at once, for sequences times heads and up to `most`
 * bytes of workspace; 0: too little workspace. */
uint32_t vly_wkv_chunked_range(uint64_t pairs, uint32_t seq, uint64_t most);
/* Bytes of workspace for so many chunks at once. */
uint64_t vly_wkv_chunked_bytes(uint64_t pairs, uint32_t seq, uint32_t chunks);

#ifdef __cplusplus
}
#endif
#endif
