/* SPDX-License-Identifier: Apache-2.0
 * Random data of a shape, in memory of the device and, where results are
 * compared, of the host.
 */
#ifndef VLY_ATTENTION_TRIAL_H
#define VLY_ATTENTION_TRIAL_H

#include <stdbool.h>

#include "attention_cuda.h"

/* Buffers of a run. */
enum {
    TRIAL_Q,
    TRIAL_K,
    TRIAL_V,
    TRIAL_O,
    TRIAL_LSE,
    TRIAL_GRAD_O,
    TRIAL_GRAD_Q,
    TRIAL_GRAD_K,
    TRIAL_GRAD_V,
    TRIAL_LENGTH_Q,
    TRIAL_LENGTH_KV,
    TRIAL_START_Q,
    TRIAL_START_KV,
    TRIAL_PAGES,
    TRIAL_SCALE_Q,
    TRIAL_SCALE_K,
    TRIAL_SCALE_V,
    TRIAL_SCALE_O,
    TRIAL_WORKSPACE,
    TRIAL_N,
};

enum { TRIAL_NONE = 0, TRIAL_FLOATS = 1, TRIAL_INTS = 2, TRIAL_OUT = 3 };

typedef struct vly_trial {
    vly_attention_desc desc;
    uint32_t device;
    uint32_t reserved;
    uint8_t *host[TRIAL_N];
    void *there[TRIAL_N];
    uint64_t bytes[TRIAL_N];
    uint32_t type[TRIAL_N]; /* of the elements */
    uint32_t kind[TRIAL_N]; /* TRIAL_* */
    uint64_t state;         /* of the random numbers */
} vly_trial;

/* on_host: all tensors are also kept on the host, sequences have different
 * lengths, and NaN follows them (except in pages). Otherwise only small tensors
 * are kept, and sequences have the full length.
 * Errors  E_NOMEM; the trial can be deinit */
vly_status vly_trial_init(vly_trial *trial, const vly_attention_desc *desc,
                          uint32_t device, uint64_t workspace_bytes,
                          bool on_host, vly_error *error);
void vly_trial_deinit(vly_trial *trial);
/* The arguments of a run on the device or, with host, on the processor. */
vly_attention_run vly_trial_run(const vly_trial *trial, int host, void *stream);
/* A smaller shape of the same kind: heads, lengths and sequences cut, flags,
 * types, dimensions, the order of the axes and gaps kept. */
vly_attention_desc vly_trial_reduce(const vly_attention_desc *desc);

#endif
