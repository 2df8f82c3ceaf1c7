/* SPDX-License-Identifier: Apache-2.0
 * Ways to run the recurrence of RWKV-7 on a CUDA device, compared and measured.
 */
#ifndef VOLLEY_WKV_CHOICE_H
#define VOLLEY_WKV_CHOICE_H

#include <volley/wkv.h>

#include "kernels/accelerators/wkv_kernels.h"

typedef struct vly_wkv_way {
    const char *name;
    int (*launch)(const vly_wkv_args *args, void *stream);
    uint32_t seq_most;   /* 0: any */
    uint32_t align;      /* of the states, bytes */
    uint32_t capability; /* minimum compute capability: 80 is 8.0 */
    /* NULL: no workspace; as vly_wkv_chunked_range and _bytes */
    uint32_t (*range)(uint64_t pairs, uint32_t seq, uint64_t most);
    uint64_t (*bytes)(uint64_t pairs, uint32_t seq, uint32_t chunks);
} vly_wkv_way;

/* Bytes of the workspace in desc that a way uses, and `chunks` of its launches:
 * 0 bytes and 0 chunks if it uses none, or if the workspace is too small. */
uint64_t vly_wkv_workspace(const vly_wkv_way *way, const vly_wkv_desc *desc,
                           uint32_t *chunks);

/* Runs each way on random data of the shape. A way whose results differ from
 * those of the first is left out, with a line in the log; *best is the fastest
 * of the others (median of five runs). Allocates on the device, waits for it.
 * desc     of at least one sequence and token
 * seconds  [n] of a run; negative if the results were wrong
 * Errors   VLY_E_NOMEM, VLY_E_DEVICE  *best untouched */
vly_status vly_wkv_measure(uint32_t device, const vly_wkv_desc *desc,
                           const vly_wkv_way *const *ways, uint32_t n,
                           uint32_t *best, double *seconds, vly_error *error);

#endif
