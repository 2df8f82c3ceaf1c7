/* SPDX-License-Identifier: Apache-2.0
 * Plans of volley.rwkv/1 on CUDA: for single runs (rwkv_cuda.c) and for chains
 * (rwkv_chain.c), which are a model that rwkv_pattern.c has recognised.
 */
#ifndef VOLLEY_RWKV_CUDA_H
#define VOLLEY_RWKV_CUDA_H

#include <volley/rwkv.h>

#include "kernels/accelerators/rwkv_token.h"

struct vly_rwkv_plan {
    vly_rwkv_desc desc;
    uint32_t device;
    uint32_t early;
};

/* Number of runs of a layer, and of runs around the layers. */
enum { VLY_RWKV_LAYER_RUNS = 7, VLY_RWKV_OTHER_RUNS = 3 };

/* Layers of a list of n runs; 0: n matches no model. */
uint32_t vly_rwkv_pattern_layers(uint32_t n);

/* Recognises n runs as one token of one sequence in 16 bits. Fills *token,
 * except `layer`, `exchange` and members of the plan, and layers
 * [vly_rwkv_pattern_layers(n)]. Plans and runs are as in chain_create.
 * Errors  E_UNSUPPORTED with the run that does not match, and why; E_INVALID an
 * invalid run */
vly_status vly_rwkv_pattern_find(vly_rwkv_plan *const *plans,
                                 const vly_rwkv_run *runs, uint32_t n,
                                 vly_cuda_rwkv_token *token,
                                 vly_cuda_rwkv_token_layer *layers,
                                 vly_error *error);

/* As in volley/rwkv.h. */
vly_status vly_rwkv_cuda_chain_create(const vly_device_spec *device,
                                      vly_rwkv_plan *const *plans,
                                      const vly_rwkv_run *runs, uint32_t n,
                                      vly_rwkv_chain **chain, vly_error *error);
void vly_rwkv_cuda_chain_destroy(vly_rwkv_chain *chain);
vly_status vly_rwkv_cuda_chain_run(vly_rwkv_chain *chain, void *stream,
                                   vly_error *error);

#endif
