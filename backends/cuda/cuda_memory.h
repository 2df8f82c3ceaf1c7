/* SPDX-License-Identifier: Apache-2.0
 * Memory of the host, of the device, pinned memory; copies.
 */
#ifndef VOLLEY_CUDA_MEMORY_H
#define VOLLEY_CUDA_MEMORY_H

#include <stdbool.h>

#include "cuda_base.h"

typedef struct vly_cuda_buffer vly_cuda_buffer;

/* count * size bytes of host memory, cleared, into *out. All memory of a net is
 * freed with it.
 * Errors  E_NOMEM, *out untouched */
vly_status vly_cuda_alloc(vly_cuda_shard *shard, uint64_t count, uint64_t size,
                          void *out, vly_error *error);
void vly_cuda_release(vly_cuda_shard *shard, void *memory);
/* The same on the device, and pinned on the host. */
vly_status vly_cuda_device_alloc(vly_cuda_shard *shard, uint64_t count,
                                 uint64_t size, void *out, vly_error *error);
vly_status vly_cuda_pinned_alloc(vly_cuda_shard *shard, uint64_t count,
                                 uint64_t size, void *out, vly_error *error);
void vly_cuda_device_release(vly_cuda_shard *shard, const void *memory);
void vly_cuda_release_all(vly_cuda_shard *shard);
/* Opens the accounts of all devices with the host, and closes them. */
vly_status vly_cuda_memory_start(vly_error *error);
void vly_cuda_memory_stop(void);
/* n blocks of pinned memory are made and given back, so that the host keeps
 * them for the next net. false: there is no memory */
bool vly_cuda_memory_keep(uint32_t device, uint32_t n, uint64_t bytes);
vly_status vly_cuda_upload(vly_cuda_shard *shard, void *device,
                           const void *words, uint64_t bytes, vly_error *error);
/* count elements on the device, filled from the host; *out: a pointer to them,
 * left as it is if from is NULL and count is not 0. */
vly_status vly_cuda_put(vly_cuda_shard *shard, uint64_t count, uint64_t size,
                        const void *from, void *out, vly_error *error);
vly_status vly_cuda_download(vly_cuda_shard *shard, void *words,
                             const void *device, uint64_t bytes,
                             vly_error *error);
vly_status vly_cuda_synchronize(vly_cuda_shard *shard, const char *what,
                                vly_error *error);

#endif
