/* SPDX-License-Identifier: Apache-2.0
 * Attention as graphs of cuDNN, and plans of them.
 */
#ifndef VLY_CUDNN_ATTENTION_H
#define VLY_CUDNN_ATTENTION_H

#include <stdbool.h>

#include <volley/attention.h>

#include "cudnn_steps.h"

/* Tensors that have memory. */
enum {
    VLY_CUDNN_Q = 1,
    VLY_CUDNN_K,
    VLY_CUDNN_V,
    VLY_CUDNN_O,
    VLY_CUDNN_STATS,
    VLY_CUDNN_LENGTH_Q,
    VLY_CUDNN_LENGTH_KV,
    VLY_CUDNN_PAGES_K,
    VLY_CUDNN_PAGES_V,
    VLY_CUDNN_RAGGED_Q,
    VLY_CUDNN_RAGGED_K,
    VLY_CUDNN_RAGGED_V,
    VLY_CUDNN_RAGGED_O,
    VLY_CUDNN_GRAD_O,
    VLY_CUDNN_GRAD_Q,
    VLY_CUDNN_GRAD_K,
    VLY_CUDNN_GRAD_V,
    VLY_CUDNN_GRAD_Q_SUM, /* workspace, fp32 */
    VLY_CUDNN_ROW_SUM,    /* workspace, fp32: sum of grad_o * o of each row */
    VLY_CUDNN_SCALE_Q,
    VLY_CUDNN_SCALE_K,
    VLY_CUDNN_SCALE_V,
    VLY_CUDNN_SCALE_O,
    VLY_CUDNN_MOST_O, /* workspace, fp32: the largest |O|, of fp8 */
    VLY_CUDNN_N_TENSORS,
};

/* Adds all operations to the graph. Returns E_UNSUPPORTED for a problem that
 * this plugin does not hand to cuDNN. A problem that cuDNN refuses fails later,
 * when the graph or a plan is built. */
vly_status vly_cudnn_forward(vly_cudnn_graph *graph,
                             const vly_attention_desc *desc, vly_error *error);
vly_status vly_cudnn_backward(vly_cudnn_graph *graph,
                              const vly_attention_desc *desc, vly_error *error);

/* ---- shared by both ---------------------------------------------------- */

/* The inputs of a graph, as views of the caller's tensors. */
typedef struct vly_cudnn_inputs {
    vly_cudnn_tensor q, k_t, v, v_t, o; /* _t: rows and columns exchanged */
    vly_cudnn_tensor ragged_q, ragged_k, ragged_v, ragged_o;
    vly_cudnn_tensor length_q, length_kv;
    vly_cudnn_tensor scale;
    bool has_lengths;
} vly_cudnn_inputs;

int32_t vly_cudnn_type(uint32_t element);
void vly_cudnn_add_inputs(vly_cudnn_graph *graph,
                          const vly_attention_desc *desc, vly_cudnn_inputs *in);
/* [batch][heads][seq][dim] as in memory */
vly_cudnn_tensor vly_cudnn_view(int64_t id, int32_t type,
                                const vly_attention_desc *desc, uint32_t heads,
                                uint32_t seq, uint32_t dim,
                                const vly_attention_layout *layout);
vly_cudnn_tensor vly_cudnn_transposed(const vly_cudnn_tensor *tensor);
/* [batch][heads_q][seq_q][1] fp32: row statistics */
vly_cudnn_tensor vly_cudnn_rows(int64_t id, const vly_attention_desc *desc);
/* s after its masks: -inf where a query does not see a key */
vly_cudnn_tensor vly_cudnn_mask(vly_cudnn_graph *graph,
                                const vly_attention_desc *desc,
                                const vly_cudnn_inputs *in, vly_cudnn_tensor s,
                                bool lengths_too);

/* ---- plans ------------------------------------------------------------- */

typedef struct vly_cudnn_plan vly_cudnn_plan;

/* The device of plans: that of a handle, or one described in JSON, for which
 * plans can be made (not run) without a device. */
typedef struct vly_cudnn_target {
    void *handle;
    const char *device_json;
} vly_cudnn_target;

typedef struct vly_cudnn_plan_info {
    uint64_t workspace_bytes; /* of cuDNN */
    uint32_t n_configs;       /* engine configurations offered */
    uint32_t index;           /* configuration of this plan */
    int64_t engine;           /* its global index */
} vly_cudnn_plan_info;

/* Number of engine configurations that cuDNN offers; builds none.
 * Errors  as below */
vly_status vly_cudnn_count_configs(const vly_cudnn *cudnn,
                                   const vly_cudnn_target *target,
                                   const vly_attention_desc *desc, uint32_t *n,
                                   vly_error *error);
/* Builds a plan of the first configuration, from `first` on, for which that
 * works.
 * Errors  E_UNSUPPORTED none: cuDNN's message for the last one */
vly_status vly_cudnn_plan_create(const vly_cudnn *cudnn,
                                 const vly_cudnn_target *target,
                                 const vly_attention_desc *desc, uint32_t first,
                                 vly_cudnn_plan **plan, vly_error *error);
/* Converts a plan to bytes (JSON of cuDNN with the compiled kernel, 70 to 120
 * KB), and bytes to a plan: 1 ms instead of 400 to 800. The description, the
 * version of cuDNN and the kind of device must be the same. blob is freed with
 * vly_accel_free
 * Errors  E_UNSUPPORTED, E_INVALID: the bytes are not a plan, or cuDNN refuses
 * them */
vly_status vly_cudnn_plan_save(const vly_cudnn_plan *plan, void **blob,
                               uint32_t *bytes, vly_error *error);
vly_status vly_cudnn_plan_load(const vly_cudnn *cudnn,
                               const vly_cudnn_target *target,
                               const vly_attention_desc *desc, const void *blob,
                               uint32_t bytes, vly_cudnn_plan **plan,
                               vly_error *error);
void vly_cudnn_plan_destroy(vly_cudnn_plan *plan); /* NULL is legal */
void vly_cudnn_plan_get_info(const vly_cudnn_plan *plan,
                             vly_cudnn_plan_info *info);
/* pointers [VLY_CUDNN_N_TENSORS] by id, of the device; the handle's stream is
 * set by the caller */
vly_status vly_cudnn_plan_run(vly_cudnn_plan *plan, void *const *pointers,
                              void *workspace, vly_error *error);

#endif
