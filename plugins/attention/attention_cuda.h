/* SPDX-License-Identifier: Apache-2.0
 * Host side of the plugin "attention_cuda": the ways in which a shape can run,
 * the choice between them, and the devices.
 */
#ifndef VLY_ATTENTION_CUDA_H
#define VLY_ATTENTION_CUDA_H

#include <volley/attention.h>

#include "accel_common.h"
#include "cudnn_attention.h"
#include "kernels/accelerators/attention_kernels.h"
#include "tune_cache.h"

/* ---- devices ----------------------------------------------------------- */

typedef struct vly_attention_device {
    uint32_t index;
    uint32_t capability; /* 90: 9.0 */
    uint32_t n_sms;
    uint32_t reserved;
    char name[128];
    /* folder of stored plans of libraries, while a plan is made; NULL: none */
    const vly_tune_cache *cache;
} vly_attention_device;

/* Makes it the device of this thread.
 * Errors  E_INVALID, E_DEVICE */
vly_status vly_attention_device_enter(uint32_t index,
                                      vly_attention_device *device,
                                      vly_error *error);

/* ---- ways -------------------------------------------------------------- */

typedef struct vly_cuda_way vly_cuda_way;

/* One way, prepared for a description. */
typedef struct vly_cuda_ready {
    const vly_cuda_way *way;
    vly_cudnn_plan *cudnn;
    uint64_t workspace_bytes;
    uint32_t config;   /* of cudnn's engines, or of a kernel's variants */
    uint32_t n_splits; /* own_decode; prepare keeps it, unless it is 0 */
    int64_t engine;    /* cudnn: index of the engine, -1: not known */
} vly_cuda_ready;

struct vly_cuda_way {
    const char *name;
    uint32_t n_configs; /* to be compared, at most */
    uint32_t slow;      /* 1: used only if no other way works */
    uint32_t by_head;   /* 1: the bits of a key head's results depend neither on
                         * other heads nor on other sequences */
    /* OK, or E_UNSUPPORTED with the reason. Reads the description only. */
    vly_status (*supports)(const vly_attention_device *device,
                           const vly_attention_desc *desc, vly_error *error);
    /* way and config are set; fills the other members */
    vly_status (*prepare)(const vly_attention_device *device,
                          const vly_attention_desc *desc, vly_cuda_ready *ready,
                          vly_error *error);
    vly_status (*run)(const vly_attention_device *device,
                      const vly_attention_desc *desc,
                      const vly_cuda_ready *ready, const vly_attention_run *run,
                      vly_error *error);
};

enum {
    VLY_CUDA_MOST_WAYS = 20,
    VLY_CUDA_MOST_HEADS = 65535, /* and sequences: of a grid's y and z */
    /* keys that tensor cores sum for a row, 16 at a time: each sum is truncated
     * by up to 2^-24, so for 2^20 equal keys the result is 2^-9 too small; for
     * 2^31 keys it was 1 instead of 1.54 on an H200 */
    VLY_CUDA_MOST_KEYS = 1 << 20,
};

/* Can a row see more keys than that? */
static inline int vly_cuda_sees_too_many(const vly_attention_desc *desc)
{
    return desc->seq_kv > VLY_CUDA_MOST_KEYS &&
           (desc->window_left == VLY_ATTENTION_NO_WINDOW ||
            desc->window_left > VLY_CUDA_MOST_KEYS);
}

/* In the order of trial without measuring. */
extern const vly_cuda_way *const vly_cuda_ways[];
extern const uint32_t vly_cuda_n_ways;
extern const vly_cuda_way vly_cuda_way_cudnn; /* attention_cudnn.c */
extern const vly_cuda_way vly_cuda_way_sm90;  /* attention_hopper.c */
extern const vly_cuda_way vly_cuda_way_back;  /* attention_back.c */

/* Key of a choice, without device and versions, as text. */
void vly_attention_write_key(const vly_attention_desc *desc, char *key,
                             size_t size);
void vly_cuda_ready_release(vly_cuda_ready *ready);

/* The arguments of the kernels. */
void vly_attention_fill_args(const vly_attention_desc *desc,
                             const vly_attention_run *run,
                             vly_attention_args *args);

/* ---- messages: attention_notes.c ----------------------------------------- */

/* "own_sm90, configuration 1" */
void vly_attention_name_way(const vly_cuda_ready *ready, char *text,
                            size_t size);
/* Add an unusable way to the plan's list, without its name before the reason,
 * and a usable way. */
void vly_attention_tell_refused(vly_accel_candidates *list,
                                const vly_cuda_way *way, const char *reason);
vly_plan_candidate *vly_attention_tell_ready(vly_accel_candidates *list,
                                             const vly_cuda_ready *ready);
/* Adds a way that was tried: E_UNSUPPORTED its result differs; E_NOMEM it was
 * not checked, and may be correct. Other codes are not noted. */
void vly_attention_tell_wrong(vly_plan_candidate *told,
                              const vly_cuda_ready *ready, vly_status status,
                              const char *why);
/* A line in the log. */
void vly_attention_log_way(const vly_cuda_ready *ready, int32_t level,
                           const char *text);

/* ---- trials ------------------------------------------------------------ */

/* Checks a way. Runs a smaller shape of the same kind on random data and
 * compares it with the processor's reference in double. Outputs are poisoned
 * first, including memory that must not be written.
 * Errors  E_UNSUPPORTED  it differs: where and by how much */
vly_status vly_attention_check_way(const vly_attention_device *device,
                                   const vly_attention_desc *desc,
                                   const vly_cuda_ready *ready,
                                   vly_error *error);
/* Seconds of a run of the whole shape on random data: medians, with the ways in
 * turn; 0 if the workspace of a way did not fit. best: index of the fastest; a
 * later way wins only if the ratios of the rounds show it beyond their spread.
 * Both are unchanged on failure.
 * ready, seconds  [n], at most VLY_CUDA_MOST_WAYS
 * Errors  E_NOMEM there is not enough memory to try any; as run */
vly_status vly_attention_time_ways(const vly_attention_device *device,
                                   const vly_attention_desc *desc,
                                   const vly_cuda_ready *const *ready,
                                   uint32_t n, double *seconds, uint32_t *best,
                                   vly_error *error);

extern const vly_attention vly_attention_cuda_table;

#endif
