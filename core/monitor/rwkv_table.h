/* SPDX-License-Identifier: Apache-2.0
 * The table of an RWKV-7 model's tensors: filled by rwkv_weights, used by
 * rwkv_read.
 */
#ifndef VOLLEY_MONITOR_RWKV_TABLE_H
#define VOLLEY_MONITOR_RWKV_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "monitor/rwkv_names.h"
#include "monitor/rwkv_weights.h"
#include "monitor/safetensors.h"

struct vly_rwkv_weights {
    vly_safetensors *file;
    uint32_t scheme;
    bool transposed; /* native names, low-rank matrices as fla has them */
    /* [layers + 1][VLY_RWKV_N_TENSORS]; those of the model in layer 0 */
    const vly_safetensor **slots;
    uint64_t extent[RWKV_N_SIZES]; /* what the sizes of the table are */
    vly_rwkv_sizes sizes;
};

static inline const vly_safetensor *
rwkv_table_slot(const vly_rwkv_weights *weights, vly_rwkv_tensor id,
                uint32_t layer)
{
    return weights->slots[(size_t)layer * VLY_RWKV_N_TENSORS + (size_t)id];
}

/* It is [columns, rows] in the file. */
static inline bool rwkv_table_is_turned(const vly_rwkv_weights *weights,
                                        vly_rwkv_tensor id)
{
    return weights->scheme == RWKV_SCHEME_NATIVE && !weights->transposed &&
           rwkv_names_is_lora(id);
}

#endif
