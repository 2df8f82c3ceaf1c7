/* SPDX-License-Identifier: Apache-2.0
 * Operation graphs of cuDNN, put together step by step. The first failure
 * sticks: later steps do nothing, and vly_cudnn_graph_build says it.
 */
#ifndef VLY_CUDNN_STEPS_H
#define VLY_CUDNN_STEPS_H

#include <stdbool.h>

#include "cudnn_api.h"

enum {
    VLY_CUDNN_MOST_DESCS = 192,
    VLY_CUDNN_MOST_OPS = 64,
    VLY_CUDNN_MOST_IDS = 32,
    VLY_CUDNN_VIRTUAL = 1000, /* ids from here on have no memory */
};

/* Four dimensions: batch, head, row, column. */
typedef struct vly_cudnn_tensor {
    int64_t dim[4];
    int64_t stride[4];
    int64_t id;
    int32_t type;
    int32_t by_value;
    void *desc;
    void *ragged; /* of the tensor of offsets, or NULL */
} vly_cudnn_tensor;

typedef struct vly_cudnn_graph {
    const vly_cudnn *cudnn;
    void *handle;
    void *descs[VLY_CUDNN_MOST_DESCS]; /* all, in the order they were made */
    void *ops[VLY_CUDNN_MOST_OPS];
    void *graph;
    uint32_t n_descs;
    uint32_t n_ops;
    uint32_t n_ids;
    uint32_t n_values;
    int64_t ids[VLY_CUDNN_MOST_IDS]; /* of tensors that have memory */
    int64_t value_ids[VLY_CUDNN_MOST_IDS];
    uint32_t values[VLY_CUDNN_MOST_IDS]; /* bits of constants */
    int64_t next_virtual;
    int64_t next_value;
    vly_status status;
    vly_error error;
} vly_cudnn_graph;

void vly_cudnn_graph_init(vly_cudnn_graph *graph, const vly_cudnn *cudnn,
                          void *handle);
void vly_cudnn_graph_deinit(vly_cudnn_graph *graph);

/* Makes the descriptor of a tensor with memory. */
void vly_cudnn_tensor_add(vly_cudnn_graph *graph, vly_cudnn_tensor *tensor);
/* A virtual tensor inside the kernel, with any strides; its id is
 * next_virtual++. */
void vly_cudnn_tensor_virtual_add(vly_cudnn_graph *graph,
                                  vly_cudnn_tensor *tensor);
/* The same, contiguous. */
vly_cudnn_tensor vly_cudnn_tensor_virtual(vly_cudnn_graph *graph,
                                          const int64_t dim[4], int32_t type);
/* A constant of one element. */
vly_cudnn_tensor vly_cudnn_value(vly_cudnn_graph *graph, int32_t type,
                                 uint32_t bits);
vly_cudnn_tensor vly_cudnn_value_f32(vly_cudnn_graph *graph, float value);

/* y = mode(x, b) with t as the choice of PW_SELECT; NULL where not needed.
 * axis: for PW_INDEX, otherwise -1. */
void vly_cudnn_pointwise(vly_cudnn_graph *graph, int32_t mode, int32_t prec,
                         int64_t axis, const vly_cudnn_tensor *x,
                         const vly_cudnn_tensor *b, const vly_cudnn_tensor *t,
                         const vly_cudnn_tensor *y);
/* The same into a virtual tensor like x of that type. */
vly_cudnn_tensor vly_cudnn_map(vly_cudnn_graph *graph, int32_t mode,
                               int32_t type, const vly_cudnn_tensor *x,
                               const vly_cudnn_tensor *b);
vly_cudnn_tensor vly_cudnn_index(vly_cudnn_graph *graph,
                                 const vly_cudnn_tensor *x, int64_t axis);
vly_cudnn_tensor vly_cudnn_select(vly_cudnn_graph *graph,
                                  const vly_cudnn_tensor *x,
                                  const vly_cudnn_tensor *otherwise,
                                  const vly_cudnn_tensor *where);
/* c = a b; lengths [batch] that cut m, n, k, or NULL */
void vly_cudnn_matmul(vly_cudnn_graph *graph, const vly_cudnn_tensor *a,
                      const vly_cudnn_tensor *b, const vly_cudnn_tensor *c,
                      const vly_cudnn_tensor *const lengths[3], bool padded);
void vly_cudnn_reduce(vly_cudnn_graph *graph, int32_t mode,
                      const vly_cudnn_tensor *x, const vly_cudnn_tensor *y);
void vly_cudnn_reshape(vly_cudnn_graph *graph, const vly_cudnn_tensor *x,
                       const vly_cudnn_tensor *y);
void vly_cudnn_paged(vly_cudnn_graph *graph, const vly_cudnn_tensor *container,
                     const vly_cudnn_tensor *lengths,
                     const vly_cudnn_tensor *page_table,
                     const vly_cudnn_tensor *y);

/* A descriptor that the graph destroys; NULL after a failure. */
void *vly_cudnn_desc(vly_cudnn_graph *graph, int type);
void vly_cudnn_set(vly_cudnn_graph *graph, void *desc, int name, int type,
                   int64_t count, const void *elements);
void vly_cudnn_finalize(vly_cudnn_graph *graph, void *desc, const char *what);

/* Finalises the graph of all operations. Errors: the first one so far. */
vly_status vly_cudnn_graph_build(vly_cudnn_graph *graph, vly_error *error);

#endif
