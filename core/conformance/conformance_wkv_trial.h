/* SPDX-License-Identifier: Apache-2.0
 * One case of volley.wkv/1 on a device, like conformance_attention_trial.h for
 * attention.
 */
#ifndef VOLLEY_CONFORMANCE_WKV_TRIAL_H
#define VOLLEY_CONFORMANCE_WKV_TRIAL_H

#include "conformance/conformance_accel.h"
#include "conformance/conformance_wkv.h"

/* Buffers: the inputs first. */
enum {
    WKV_Y = WKV_N_INPUTS,
    WKV_STATE_IN,
    WKV_STATE_OUT,
    WKV_LENGTH,
    WKV_N_BUFFERS
};

/* The caller sets all before `plan` (but `skipped`), and error's size. */
typedef struct wkv_trial {
    accel_trial *accel;
    const vly_accelerator *accelerator;
    vly_wkv_desc desc;
    uint32_t unaligned;
    uint32_t graph; /* run as a graph, in a stream of its own */
    uint32_t skipped;
    uint32_t reserved; /* of a run; values other than 0 are refused */
    void *stream;
    wkv_data data;
    vly_wkv_plan *plan;
    vly_plan_info info;
    accel_buffer buffers[WKV_N_BUFFERS];
    accel_buffer workspace;
    vly_error error;
} wkv_trial;

/* A case in one type. */
vly_wkv_desc wkv_trial_desc(const wkv_case *entry, uint32_t type);
bool wkv_trial_open(wkv_trial *t);
void wkv_trial_close(wkv_trial *t);
bool wkv_trial_run(wkv_trial *t);
/* A run with something in reserved is refused by name. */
bool wkv_trial_refuses(wkv_trial *t);
bool wkv_trial_check(wkv_trial *t);
bool wkv_trial_poison(wkv_trial *t);
bool wkv_trial_digest(wkv_trial *t, uint64_t *digest);

#endif
