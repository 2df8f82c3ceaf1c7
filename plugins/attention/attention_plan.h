/* SPDX-License-Identifier: Apache-2.0
 * A plan of attention_cuda, and its parts on several devices.
 */
#ifndef VLY_ATTENTION_PLAN_H
#define VLY_ATTENTION_PLAN_H

#include "attention_cuda.h"

/* A plan that is spread: attention_span.c. */
typedef struct vly_attention_span vly_attention_span;

struct vly_attention_plan {
    vly_attention_desc desc;
    vly_attention_device device;
    vly_cuda_ready ready;
    double measured_s;
    uint32_t n_candidates;
    uint32_t cached;
    vly_accel_candidates looked_at;
    vly_attention_span *span; /* NULL: one device, nothing is copied */
};

/* What the options of a plan say, besides those of all accelerators. */
typedef struct vly_attention_options {
    vly_accel_options common;
    int64_t config;          /* -1: none */
    uint32_t n_devices;      /* at least 1 */
    uint32_t n_parts;        /* on one device; 0: no span */
    uint32_t copy_by_kernel; /* of a span; otherwise by the copy engines */
} vly_attention_options;

/* ---- attention_choice.c -------------------------------------------------- */

/* Chooses how the whole description runs on plan->device. In a span only ways
 * whose bits of a head do not depend on the other heads and sequences. */
vly_status vly_attention_find_way(vly_attention_plan *plan,
                                  const vly_attention_options *options,
                                  vly_error *error);

/* ---- attention_span.c ---------------------------------------------------- */

/* Spreads the chosen way. Takes memory, streams and events of each device.
 * Errors  E_UNSUPPORTED  packed or paged; devices differ, or one cannot run its
 *                        part
 *         E_INVALID, E_DEVICE, E_NOMEM
 */
vly_status vly_attention_span_create(const vly_attention_plan *plan,
                                     const vly_attention_options *options,
                                     vly_attention_span **span,
                                     vly_error *error);
void vly_attention_span_destroy(vly_attention_span *span); /* NULL is legal */
/* Parts run in streams of their own, from the caller's stream and back to it,
 * so a span runs once at a time. */
vly_status vly_attention_span_run(vly_attention_span *span,
                                  const vly_attention_run *run,
                                  vly_error *error);
/* " on 4 devices (2 x 2 x 1: sequences, key heads, queries)" */
void vly_attention_span_tell(const vly_attention_span *span, char *text,
                             size_t size);

#endif
