/* SPDX-License-Identifier: Apache-2.0
 * Plans of volley.rwkv/1 on CUDA, and what kernels get of them: for single runs
 * (rwkv_cuda.c) and chains of them (rwkv_chain.c).
 */
#ifndef VOLLEY_RWKV_CUDA_H
#define VOLLEY_RWKV_CUDA_H

#include <volley/rwkv.h>

#include "kernels/cuda/rwkv_kernels.h"

struct vly_rwkv_plan {
    vly_rwkv_desc desc;
    uint32_t device;
    uint32_t early;
};

/* Arguments of the launches of a run that was checked. */
vly_cuda_rwkv_rows vly_rwkv_cuda_rows(const vly_rwkv_plan *plan,
                                      const vly_rwkv_run *run);
vly_cuda_rwkv_heads vly_rwkv_cuda_heads(const vly_rwkv_plan *plan,
                                        const vly_rwkv_run *run);
vly_cuda_rwkv_products vly_rwkv_cuda_products(const vly_rwkv_plan *plan,
                                              const vly_rwkv_run *run);

/* As in volley/rwkv.h. */
vly_status vly_rwkv_cuda_chain_create(const vly_device_spec *device,
                                      vly_rwkv_plan *const *plans,
                                      const vly_rwkv_run *runs, uint32_t n,
                                      vly_rwkv_chain **chain, vly_error *error);
void vly_rwkv_cuda_chain_destroy(vly_rwkv_chain *chain);
vly_status vly_rwkv_cuda_chain_run(vly_rwkv_chain *chain, void *stream,
                                   vly_error *error);

#endif
