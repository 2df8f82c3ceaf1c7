/* SPDX-License-Identifier: Apache-2.0
 * volley.wkv/1: the recurrence of RWKV-7, over sequences and in single steps.
 *
 * For every sequence and head, with state S [dim][dim] (row i: value, column j:
 * key), token by token:
 *
 *   d_j  = exp(-exp(w_j))
 *   S_ij = S_ij * d_j + (sum_l S_il a_l) * b_j + v_i * k_j    (right: old S)
 *   y_i  = sum_j S_ij r_j
 *
 * RWKV-7 passes a = -kk and b = kk * (the in-context learning rate).
 * Source   Peng et al. 2025, arXiv:2503.14456
 */
#ifndef VOLLEY_WKV_H
#define VOLLEY_WKV_H

#include <volley/accelerator.h>

#ifdef __cplusplus
extern "C" {
#endif

#define VLY_WKV_INTERFACE "volley.wkv/1"

enum { VLY_WKV_LENGTHS = 1u /* length is given */ };

typedef struct vly_wkv_desc {
    uint32_t struct_size;
    uint32_t flags; /* VLY_WKV_* */
    uint32_t type;  /* of r, w, k, v, a, b and y: fp32, fp16, bf16 */
    uint32_t batch;
    uint32_t seq; /* tokens, the most; 1: a single step */
    uint32_t heads;
    uint32_t dim;   /* of a head: 64 (others: E_UNSUPPORTED, by name) */
    uint32_t align; /* as in vly_gemm_desc */
    uint64_t workspace_most; /* bytes that a plan may ask for */
} vly_wkv_desc;
VLY_SEAL(vly_wkv_desc, 40);

/* Pointers of the device.
 * r w k v a b y  [batch][seq][heads][dim]
 * state_in       [batch][heads][dim][dim] fp32; NULL: zeros
 * state_out      likewise; may be state_in
 * length         [batch] int32: tokens of each sequence, 0 to seq; y is not
 * written after them; the state is that after the last token */
typedef struct vly_wkv_run {
    uint32_t struct_size;
    uint32_t reserved; /* 0 */
    const void *r;
    const void *w;
    const void *k;
    const void *v;
    const void *a;
    const void *b;
    void *y;
    const void *state_in;
    void *state_out;
    const void *length;
    void *workspace;
    uint64_t workspace_bytes;
    void *stream;
} vly_wkv_run;
VLY_SEAL(vly_wkv_run, 112);

typedef struct vly_wkv_plan vly_wkv_plan; /* the plugin's own */

/* As in vly_gemm. */
typedef struct vly_wkv {
    uint32_t struct_size;
    uint32_t flags; /* 0 */
    vly_status (*supports)(const vly_wkv_desc *desc, vly_error *error);
    vly_status (*plan_create)(const vly_device_spec *device,
                              const vly_wkv_desc *desc, vly_wkv_plan **plan,
                              vly_error *error);
    void (*plan_destroy)(vly_wkv_plan *plan); /* NULL is legal */
    vly_status (*plan_info)(const vly_wkv_plan *plan, vly_plan_info *info,
                            vly_error *error);
    vly_status (*run)(vly_wkv_plan *plan, const vly_wkv_run *run,
                      vly_error *error);
    /* [optional] as in vly_gemm */
    vly_status (*plan_candidate)(const vly_wkv_plan *plan, uint32_t index,
                                 vly_plan_candidate *candidate, uint32_t *n,
                                 vly_error *error);
    void *reserved[7]; /* NULL */
} vly_wkv;
VLY_SEAL(vly_wkv, 112);

#ifdef __cplusplus
}
#endif
#endif
