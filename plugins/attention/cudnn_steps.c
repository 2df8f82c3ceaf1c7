/* SPDX-License-Identifier: Apache-2.0
 * Operation graphs of cuDNN, put together step by step.
 */
#include "cudnn_steps.h"

#include <string.h>

#include "accel_common.h"

void vly_cudnn_graph_init(vly_cudnn_graph *graph, const vly_cudnn *cudnn,
                          void *handle)
{
    memset(graph, 0, sizeof *graph);
    graph->cudnn = cudnn;
    graph->handle = handle;
    graph->next_virtual = VLY_CUDNN_VIRTUAL;
    graph->next_value = VLY_CUDNN_VIRTUAL / 2;
    graph->error.struct_size = (uint32_t)sizeof graph->error;
}

void vly_cudnn_graph_deinit(vly_cudnn_graph *graph)
{
    while (graph->n_descs > 0)
        (void)graph->cudnn->desc_destroy(graph->descs[--graph->n_descs]);
    graph->graph = NULL;
}

static void graph_check(vly_cudnn_graph *graph, int code, const char *what)
{
    if (graph->status == VLY_OK)
        graph->status =
            vly_cudnn_check(graph->cudnn, code, what, &graph->error);
}

static void graph_full(vly_cudnn_graph *graph, const char *what)
{
    if (graph->status == VLY_OK)
        graph->status = vly_support_fail(
            &graph->error, VLY_E_UNSUPPORTED,
            "the graph for cuDNN has more %s than there is room for", what);
}

void *vly_cudnn_desc(vly_cudnn_graph *graph, int type)
{
    void *desc = NULL;
    if (graph->status != VLY_OK)
        return NULL;
    if (graph->n_descs == VLY_CUDNN_MOST_DESCS) {
        graph_full(graph, "descriptors");
        return NULL;
    }
    graph_check(graph, graph->cudnn->desc_create(type, &desc),
                "a descriptor was not created");
    if (graph->status != VLY_OK)
        return NULL;
    graph->descs[graph->n_descs++] = desc;
    return desc;
}

void vly_cudnn_set(vly_cudnn_graph *graph, void *desc, int name, int type,
                   int64_t count, const void *elements)
{
    if (graph->status == VLY_OK)
        graph_check(graph, graph->cudnn->set(desc, name, type, count, elements),
                    "an attribute was refused");
}

void vly_cudnn_finalize(vly_cudnn_graph *graph, void *desc, const char *what)
{
    if (graph->status == VLY_OK)
        graph_check(graph, graph->cudnn->desc_finalize(desc), what);
}

static void set_desc(vly_cudnn_graph *graph, void *desc, int name,
                     const vly_cudnn_tensor *tensor)
{
    if (tensor)
        vly_cudnn_set(graph, desc, name, VLY_CUDNN_IS_DESC, 1, &tensor->desc);
}

static void set_type(vly_cudnn_graph *graph, void *desc, int name, int32_t type)
{
    vly_cudnn_set(graph, desc, name, VLY_CUDNN_IS_DATA_TYPE, 1, &type);
}

/* ---- tensors ----------------------------------------------------------- */

static void make_tensor(vly_cudnn_graph *graph, vly_cudnn_tensor *tensor)
{
    const char is_virtual = tensor->id >= VLY_CUDNN_VIRTUAL;
    const char by_value = tensor->by_value != 0;
    int64_t align = 16;
    if (tensor->by_value || tensor->type == VLY_CUDNN_TYPE_I32)
        align = 4;
    void *desc = vly_cudnn_desc(graph, VLY_CUDNN_DESC_TENSOR);
    set_type(graph, desc, VLY_CUDNN_TENSOR_TYPE, tensor->type);
    vly_cudnn_set(graph, desc, VLY_CUDNN_TENSOR_DIMS, VLY_CUDNN_IS_INT64, 4,
                  tensor->dim);
    vly_cudnn_set(graph, desc, VLY_CUDNN_TENSOR_STRIDES, VLY_CUDNN_IS_INT64, 4,
                  tensor->stride);
    vly_cudnn_set(graph, desc, VLY_CUDNN_TENSOR_ID, VLY_CUDNN_IS_INT64, 1,
                  &tensor->id);
    vly_cudnn_set(graph, desc, VLY_CUDNN_TENSOR_ALIGN, VLY_CUDNN_IS_INT64, 1,
                  &align);
    if (is_virtual)
        vly_cudnn_set(graph, desc, VLY_CUDNN_TENSOR_VIRTUAL, VLY_CUDNN_IS_BOOL,
                      1, &is_virtual);
    if (by_value)
        vly_cudnn_set(graph, desc, VLY_CUDNN_TENSOR_BY_VALUE, VLY_CUDNN_IS_BOOL,
                      1, &by_value);
    if (tensor->ragged)
        vly_cudnn_set(graph, desc, VLY_CUDNN_TENSOR_RAGGED, VLY_CUDNN_IS_DESC,
                      1, &tensor->ragged);
    vly_cudnn_finalize(graph, desc, "a tensor was refused");
    tensor->desc = desc;
}

void vly_cudnn_tensor_add(vly_cudnn_graph *graph, vly_cudnn_tensor *tensor)
{
    if (graph->n_ids == VLY_CUDNN_MOST_IDS) {
        graph_full(graph, "tensors");
        return;
    }
    graph->ids[graph->n_ids++] = tensor->id;
    make_tensor(graph, tensor);
}

void vly_cudnn_tensor_virtual_add(vly_cudnn_graph *graph,
                                  vly_cudnn_tensor *tensor)
{
    make_tensor(graph, tensor);
}

vly_cudnn_tensor vly_cudnn_tensor_virtual(vly_cudnn_graph *graph,
                                          const int64_t dim[4], int32_t type)
{
    vly_cudnn_tensor tensor = {.id = graph->next_virtual++, .type = type};
    int64_t stride = 1;
    for (int i = 3; i >= 0; i--) {
        tensor.dim[i] = dim[i];
        tensor.stride[i] = stride;
        stride *= dim[i];
    }
    make_tensor(graph, &tensor);
    return tensor;
}

vly_cudnn_tensor vly_cudnn_value(vly_cudnn_graph *graph, int32_t type,
                                 uint32_t bits)
{
    vly_cudnn_tensor tensor = {.dim = {1, 1, 1, 1},
                               .stride = {1, 1, 1, 1},
                               .id = graph->next_value++,
                               .type = type,
                               .by_value = 1};
    if (graph->n_values == VLY_CUDNN_MOST_IDS) {
        graph_full(graph, "constants");
        return tensor;
    }
    graph->value_ids[graph->n_values] = tensor.id;
    graph->values[graph->n_values++] = bits;
    make_tensor(graph, &tensor);
    return tensor;
}

vly_cudnn_tensor vly_cudnn_value_f32(vly_cudnn_graph *graph, float value)
{
    uint32_t bits = 0;
    memcpy(&bits, &value, sizeof bits);
    return vly_cudnn_value(graph, VLY_CUDNN_TYPE_F32, bits);
}

/* ---- operations -------------------------------------------------------- */

static void add_op(vly_cudnn_graph *graph, void *op, const char *what)
{
    vly_cudnn_finalize(graph, op, what);
    if (graph->n_ops == VLY_CUDNN_MOST_OPS)
        graph_full(graph, "operations");
    else if (graph->status == VLY_OK)
        graph->ops[graph->n_ops++] = op;
}

void vly_cudnn_pointwise(vly_cudnn_graph *graph, int32_t mode, int32_t prec,
                         int64_t axis, const vly_cudnn_tensor *x,
                         const vly_cudnn_tensor *b, const vly_cudnn_tensor *t,
                         const vly_cudnn_tensor *y)
{
    void *kind = vly_cudnn_desc(graph, VLY_CUDNN_DESC_POINTWISE);
    vly_cudnn_set(graph, kind, VLY_CUDNN_POINTWISE_MODE, VLY_CUDNN_IS_POINTWISE,
                  1, &mode);
    set_type(graph, kind, VLY_CUDNN_POINTWISE_PREC, prec);
    if (axis >= 0)
        vly_cudnn_set(graph, kind, VLY_CUDNN_POINTWISE_AXIS, VLY_CUDNN_IS_INT64,
                      1, &axis);
    vly_cudnn_finalize(graph, kind, "a pointwise mode was refused");
    void *op = vly_cudnn_desc(graph, VLY_CUDNN_DESC_POINTWISE_OP);
    vly_cudnn_set(graph, op, VLY_CUDNN_POINTWISE_OP, VLY_CUDNN_IS_DESC, 1,
                  &kind);
    set_desc(graph, op, VLY_CUDNN_POINTWISE_X, x);
    set_desc(graph, op, VLY_CUDNN_POINTWISE_Y, y);
    set_desc(graph, op, VLY_CUDNN_POINTWISE_B, b);
    set_desc(graph, op, VLY_CUDNN_POINTWISE_T, t);
    add_op(graph, op, "a pointwise operation was refused");
}

vly_cudnn_tensor vly_cudnn_map(vly_cudnn_graph *graph, int32_t mode,
                               int32_t type, const vly_cudnn_tensor *x,
                               const vly_cudnn_tensor *b)
{
    vly_cudnn_tensor y = vly_cudnn_tensor_virtual(graph, x->dim, type);
    vly_cudnn_pointwise(graph, mode, type, -1, x, b, NULL, &y);
    return y;
}

vly_cudnn_tensor vly_cudnn_index(vly_cudnn_graph *graph,
                                 const vly_cudnn_tensor *x, int64_t axis)
{
    vly_cudnn_tensor y =
        vly_cudnn_tensor_virtual(graph, x->dim, VLY_CUDNN_TYPE_I32);
    vly_cudnn_pointwise(graph, VLY_CUDNN_PW_INDEX, VLY_CUDNN_TYPE_F32, axis, x,
                        NULL, NULL, &y);
    return y;
}

vly_cudnn_tensor vly_cudnn_select(vly_cudnn_graph *graph,
                                  const vly_cudnn_tensor *x,
                                  const vly_cudnn_tensor *otherwise,
                                  const vly_cudnn_tensor *where)
{
    vly_cudnn_tensor y =
        vly_cudnn_tensor_virtual(graph, x->dim, VLY_CUDNN_TYPE_F32);
    vly_cudnn_pointwise(graph, VLY_CUDNN_PW_SELECT, VLY_CUDNN_TYPE_F32, -1, x,
                        otherwise, where, &y);
    return y;
}

void vly_cudnn_matmul(vly_cudnn_graph *graph, const vly_cudnn_tensor *a,
                      const vly_cudnn_tensor *b, const vly_cudnn_tensor *c,
                      const vly_cudnn_tensor *const lengths[3], bool padded)
{
    const double padding = 0.0;
    void *kind = vly_cudnn_desc(graph, VLY_CUDNN_DESC_MATMUL);
    set_type(graph, kind, VLY_CUDNN_MATMUL_PREC, VLY_CUDNN_TYPE_F32);
    if (padded)
        vly_cudnn_set(graph, kind, VLY_CUDNN_MATMUL_PADDING,
                      VLY_CUDNN_IS_DOUBLE, 1, &padding);
    vly_cudnn_finalize(graph, kind, "a matrix product was refused");
    void *op = vly_cudnn_desc(graph, VLY_CUDNN_DESC_MATMUL_OP);
    vly_cudnn_set(graph, op, VLY_CUDNN_MATMUL_OP, VLY_CUDNN_IS_DESC, 1, &kind);
    set_desc(graph, op, VLY_CUDNN_MATMUL_A, a);
    set_desc(graph, op, VLY_CUDNN_MATMUL_B, b);
    set_desc(graph, op, VLY_CUDNN_MATMUL_C, c);
    for (int i = 0; lengths && i < 3; i++)
        set_desc(graph, op, VLY_CUDNN_MATMUL_M + i, lengths[i]);
    add_op(graph, op, "a matrix product was refused");
}

void vly_cudnn_reduce(vly_cudnn_graph *graph, int32_t mode,
                      const vly_cudnn_tensor *x, const vly_cudnn_tensor *y)
{
    void *kind = vly_cudnn_desc(graph, VLY_CUDNN_DESC_REDUCTION);
    set_type(graph, kind, VLY_CUDNN_REDUCTION_PREC, VLY_CUDNN_TYPE_F32);
    vly_cudnn_set(graph, kind, VLY_CUDNN_REDUCTION_MODE, VLY_CUDNN_IS_REDUCTION,
                  1, &mode);
    vly_cudnn_finalize(graph, kind, "a reduction was refused");
    void *op = vly_cudnn_desc(graph, VLY_CUDNN_DESC_REDUCTION_OP);
    vly_cudnn_set(graph, op, VLY_CUDNN_REDUCTION_OP, VLY_CUDNN_IS_DESC, 1,
                  &kind);
    set_desc(graph, op, VLY_CUDNN_REDUCTION_X, x);
    set_desc(graph, op, VLY_CUDNN_REDUCTION_Y, y);
    add_op(graph, op, "a reduction was refused");
}

void vly_cudnn_reshape(vly_cudnn_graph *graph, const vly_cudnn_tensor *x,
                       const vly_cudnn_tensor *y)
{
    void *op = vly_cudnn_desc(graph, VLY_CUDNN_DESC_RESHAPE_OP);
    set_desc(graph, op, VLY_CUDNN_RESHAPE_X, x);
    set_desc(graph, op, VLY_CUDNN_RESHAPE_Y, y);
    add_op(graph, op, "a reshape was refused");
}

void vly_cudnn_paged(vly_cudnn_graph *graph, const vly_cudnn_tensor *container,
                     const vly_cudnn_tensor *lengths,
                     const vly_cudnn_tensor *page_table,
                     const vly_cudnn_tensor *y)
{
    void *op = vly_cudnn_desc(graph, VLY_CUDNN_DESC_PAGED_OP);
    set_desc(graph, op, VLY_CUDNN_PAGED_CONTAINER, container);
    set_desc(graph, op, VLY_CUDNN_PAGED_LENGTHS, lengths);
    set_desc(graph, op, VLY_CUDNN_PAGED_TABLE, page_table);
    set_desc(graph, op, VLY_CUDNN_PAGED_Y, y);
    add_op(graph, op, "a paged load was refused");
}

vly_status vly_cudnn_graph_build(vly_cudnn_graph *graph, vly_error *error)
{
    void *desc = vly_cudnn_desc(graph, VLY_CUDNN_DESC_GRAPH);
    vly_cudnn_set(graph, desc, VLY_CUDNN_GRAPH_OPS, VLY_CUDNN_IS_DESC,
                  (int64_t)graph->n_ops, graph->ops);
    if (graph->handle)
        vly_cudnn_set(graph, desc, VLY_CUDNN_GRAPH_HANDLE, VLY_CUDNN_IS_HANDLE,
                      1, &graph->handle);
    vly_cudnn_finalize(graph, desc, "the graph was refused");
    graph->graph = desc;
    if (graph->status != VLY_OK)
        return vly_support_fail(error, graph->status, "%s",
                                graph->error.message);
    return VLY_OK;
}
