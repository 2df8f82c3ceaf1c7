/* SPDX-License-Identifier: Apache-2.0
 * cuDNN's graph API as far as attention needs it: the numbers of cudnn_graph.h
 * (version 9, whose ABI is stable within it) and the functions, which are found
 * at run time. No header of cuDNN is needed to build.
 * cudnn_numbers.c compares the numbers with the header where there is one.
 */
#ifndef VLY_CUDNN_API_H
#define VLY_CUDNN_API_H

#include <volley/plugin.h>

/* X(our name, value, name in cudnn_graph.h without CUDNN_) */
#define VLY_CUDNN_NUMBERS(X)                                                   \
    X(TYPE_F32, 0, DATA_FLOAT)                                                 \
    X(TYPE_F16, 2, DATA_HALF)                                                  \
    X(TYPE_I32, 4, DATA_INT32)                                                 \
    X(TYPE_BF16, 9, DATA_BFLOAT16)                                             \
    X(TYPE_I64, 10, DATA_INT64)                                                \
    X(TYPE_BOOL, 11, DATA_BOOLEAN)                                             \
    X(TYPE_E4M3, 12, DATA_FP8_E4M3)                                            \
    X(PW_ADD, 0, POINTWISE_ADD)                                                \
    X(PW_MUL, 1, POINTWISE_MUL)                                                \
    X(PW_DIV, 6, POINTWISE_DIV)                                                \
    X(PW_SUB, 9, POINTWISE_SUB)                                                \
    X(PW_EXP, 13, POINTWISE_EXP)                                               \
    X(PW_LOG, 15, POINTWISE_LOG)                                               \
    X(PW_IDENTITY, 21, POINTWISE_IDENTITY)                                     \
    X(PW_GT, 302, POINTWISE_CMP_GT)                                            \
    X(PW_GE, 303, POINTWISE_CMP_GE)                                            \
    X(PW_LT, 304, POINTWISE_CMP_LT)                                            \
    X(PW_AND, 400, POINTWISE_LOGICAL_AND)                                      \
    X(PW_INDEX, 501, POINTWISE_GEN_INDEX)                                      \
    X(PW_SELECT, 601, POINTWISE_BINARY_SELECT)                                 \
    X(REDUCE_ADD, 0, REDUCE_TENSOR_ADD)                                        \
    X(REDUCE_MAX, 3, REDUCE_TENSOR_MAX)                                        \
    X(REDUCE_AMAX, 4, REDUCE_TENSOR_AMAX)                                      \
    X(HEUR_A, 3, HEUR_MODE_A)                                                  \
    X(IS_HANDLE, 0, TYPE_HANDLE)                                               \
    X(IS_DATA_TYPE, 1, TYPE_DATA_TYPE)                                         \
    X(IS_BOOL, 2, TYPE_BOOLEAN)                                                \
    X(IS_INT64, 3, TYPE_INT64)                                                 \
    X(IS_POINTER, 6, TYPE_VOID_PTR)                                            \
    X(IS_HEUR, 8, TYPE_HEUR_MODE)                                              \
    X(IS_POINTWISE, 14, TYPE_POINTWISE_MODE)                                   \
    X(IS_DESC, 15, TYPE_BACKEND_DESCRIPTOR)                                    \
    X(IS_NOTE, 11, TYPE_NUMERICAL_NOTE)                                        \
    X(IS_REDUCTION, 18, TYPE_REDUCTION_OPERATOR_TYPE)                          \
    X(IS_CHAR, 24, TYPE_CHAR)                                                  \
    X(IS_DOUBLE, 5, TYPE_DOUBLE)                                               \
    X(DESC_POINTWISE, 0, BACKEND_POINTWISE_DESCRIPTOR)                         \
    X(DESC_ENGINE, 2, BACKEND_ENGINE_DESCRIPTOR)                               \
    X(DESC_CONFIG, 3, BACKEND_ENGINECFG_DESCRIPTOR)                            \
    X(DESC_HEUR, 4, BACKEND_ENGINEHEUR_DESCRIPTOR)                             \
    X(DESC_PLAN, 5, BACKEND_EXECUTION_PLAN_DESCRIPTOR)                         \
    X(DESC_POINTWISE_OP, 13, BACKEND_OPERATION_POINTWISE_DESCRIPTOR)           \
    X(DESC_GRAPH, 15, BACKEND_OPERATIONGRAPH_DESCRIPTOR)                       \
    X(DESC_PACK, 16, BACKEND_VARIANT_PACK_DESCRIPTOR)                          \
    X(DESC_TENSOR, 17, BACKEND_TENSOR_DESCRIPTOR)                              \
    X(DESC_MATMUL, 18, BACKEND_MATMUL_DESCRIPTOR)                              \
    X(DESC_MATMUL_OP, 19, BACKEND_OPERATION_MATMUL_DESCRIPTOR)                 \
    X(DESC_REDUCTION, 21, BACKEND_REDUCTION_DESCRIPTOR)                        \
    X(DESC_REDUCTION_OP, 22, BACKEND_OPERATION_REDUCTION_DESCRIPTOR)           \
    X(DESC_RESHAPE_OP, 31, BACKEND_OPERATION_RESHAPE_DESCRIPTOR)               \
    X(DESC_PAGED_OP, 35, BACKEND_OPERATION_PAGED_CACHE_LOAD_DESCRIPTOR)        \
    X(DESC_DEVICE, 38, BACKEND_DEVICEPROP_DESCRIPTOR)                          \
    X(POINTWISE_MODE, 0, ATTR_POINTWISE_MODE)                                  \
    X(POINTWISE_PREC, 1, ATTR_POINTWISE_MATH_PREC)                             \
    X(POINTWISE_AXIS, 9, ATTR_POINTWISE_AXIS)                                  \
    X(HEUR_MODE, 200, ATTR_ENGINEHEUR_MODE)                                    \
    X(HEUR_GRAPH, 201, ATTR_ENGINEHEUR_OPERATION_GRAPH)                        \
    X(HEUR_RESULTS, 202, ATTR_ENGINEHEUR_RESULTS)                              \
    X(HEUR_DEVICE, 204, ATTR_ENGINEHEUR_DEVICEPROP)                            \
    X(CONFIG_ENGINE, 300, ATTR_ENGINECFG_ENGINE)                               \
    X(PLAN_HANDLE, 400, ATTR_EXECUTION_PLAN_HANDLE)                            \
    X(PLAN_CONFIG, 401, ATTR_EXECUTION_PLAN_ENGINE_CONFIG)                     \
    X(PLAN_WORKSPACE, 402, ATTR_EXECUTION_PLAN_WORKSPACE_SIZE)                 \
    X(PLAN_JSON, 405, ATTR_EXECUTION_PLAN_JSON_REPRESENTATION)                 \
    X(PLAN_DEVICE, 407, ATTR_EXECUTION_PLAN_DEVICEPROP)                        \
    X(POINTWISE_OP, 750, ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR)               \
    X(POINTWISE_X, 751, ATTR_OPERATION_POINTWISE_XDESC)                        \
    X(POINTWISE_B, 752, ATTR_OPERATION_POINTWISE_BDESC)                        \
    X(POINTWISE_Y, 753, ATTR_OPERATION_POINTWISE_YDESC)                        \
    X(POINTWISE_T, 758, ATTR_OPERATION_POINTWISE_TDESC)                        \
    X(GRAPH_HANDLE, 800, ATTR_OPERATIONGRAPH_HANDLE)                           \
    X(GRAPH_OPS, 801, ATTR_OPERATIONGRAPH_OPS)                                 \
    X(TENSOR_ALIGN, 900, ATTR_TENSOR_BYTE_ALIGNMENT)                           \
    X(TENSOR_TYPE, 901, ATTR_TENSOR_DATA_TYPE)                                 \
    X(TENSOR_DIMS, 902, ATTR_TENSOR_DIMENSIONS)                                \
    X(TENSOR_STRIDES, 903, ATTR_TENSOR_STRIDES)                                \
    X(TENSOR_ID, 906, ATTR_TENSOR_UNIQUE_ID)                                   \
    X(TENSOR_VIRTUAL, 907, ATTR_TENSOR_IS_VIRTUAL)                             \
    X(TENSOR_BY_VALUE, 908, ATTR_TENSOR_IS_BY_VALUE)                           \
    X(TENSOR_RAGGED, 913, ATTR_TENSOR_RAGGED_OFFSET_DESC)                      \
    X(PACK_IDS, 1000, ATTR_VARIANT_PACK_UNIQUE_IDS)                            \
    X(PACK_POINTERS, 1001, ATTR_VARIANT_PACK_DATA_POINTERS)                    \
    X(PACK_WORKSPACE, 1003, ATTR_VARIANT_PACK_WORKSPACE)                       \
    X(ENGINE_INDEX, 1301, ATTR_ENGINE_GLOBAL_INDEX)                            \
    X(ENGINE_NOTES, 1303, ATTR_ENGINE_NUMERICAL_NOTE)                          \
    X(NOTE_NONDETERMINISTIC, 4, NUMERICAL_NOTE_NONDETERMINISTIC)               \
    X(MATMUL_PREC, 1500, ATTR_MATMUL_COMP_TYPE)                                \
    X(MATMUL_PADDING, 1503, ATTR_MATMUL_PADDING_VALUE)                         \
    X(MATMUL_A, 1520, ATTR_OPERATION_MATMUL_ADESC)                             \
    X(MATMUL_B, 1521, ATTR_OPERATION_MATMUL_BDESC)                             \
    X(MATMUL_C, 1522, ATTR_OPERATION_MATMUL_CDESC)                             \
    X(MATMUL_OP, 1523, ATTR_OPERATION_MATMUL_DESC)                             \
    X(MATMUL_M, 1525, ATTR_OPERATION_MATMUL_GEMM_M_OVERRIDE_DESC)              \
    X(MATMUL_N, 1526, ATTR_OPERATION_MATMUL_GEMM_N_OVERRIDE_DESC)              \
    X(MATMUL_K, 1527, ATTR_OPERATION_MATMUL_GEMM_K_OVERRIDE_DESC)              \
    X(REDUCTION_MODE, 1600, ATTR_REDUCTION_OPERATOR)                           \
    X(REDUCTION_PREC, 1601, ATTR_REDUCTION_COMP_TYPE)                          \
    X(REDUCTION_X, 1610, ATTR_OPERATION_REDUCTION_XDESC)                       \
    X(REDUCTION_Y, 1611, ATTR_OPERATION_REDUCTION_YDESC)                       \
    X(REDUCTION_OP, 1612, ATTR_OPERATION_REDUCTION_DESC)                       \
    X(PAGED_CONTAINER, 1950, ATTR_OPERATION_PAGED_CACHE_LOAD_CONTAINER_DESC)   \
    X(PAGED_Y, 1951, ATTR_OPERATION_PAGED_CACHE_LOAD_YDESC)                    \
    X(PAGED_LENGTHS, 1952, ATTR_OPERATION_PAGED_CACHE_LOAD_SEQUENCE_DESC)      \
    X(PAGED_TABLE, 1953, ATTR_OPERATION_PAGED_CACHE_LOAD_PAGE_TABLE_DESC)      \
    X(RESHAPE_X, 2200, ATTR_OPERATION_RESHAPE_XDESC)                           \
    X(RESHAPE_Y, 2201, ATTR_OPERATION_RESHAPE_YDESC)                           \
    X(DEVICE_JSON, 2702, ATTR_DEVICEPROP_JSON_REPRESENTATION)

enum {
#define VLY_CUDNN_ENUM(name, value, theirs) VLY_CUDNN_##name = (value),
    VLY_CUDNN_NUMBERS(VLY_CUDNN_ENUM)
#undef VLY_CUDNN_ENUM
};

/* X(type of the function's result, member, symbol, parameters) */
#define VLY_CUDNN_FUNCTIONS(X)                                                 \
    X(size_t, get_version, cudnnGetVersion, (void))                            \
    X(int, create, cudnnCreate, (void **handle))                               \
    X(int, destroy, cudnnDestroy, (void *handle))                              \
    X(int, set_stream, cudnnSetStream, (void *handle, void *stream))           \
    X(void, last_error, cudnnGetLastErrorString, (char *text, size_t size))    \
    X(const char *, error_text, cudnnGetErrorString, (int status))             \
    X(int, desc_create, cudnnBackendCreateDescriptor, (int type, void **desc)) \
    X(int, desc_destroy, cudnnBackendDestroyDescriptor, (void *desc))          \
    X(int, desc_finalize, cudnnBackendFinalize, (void *desc))                  \
    X(int, set, cudnnBackendSetAttribute,                                      \
      (void *desc, int name, int type, int64_t count, const void *elements))   \
    X(int, get, cudnnBackendGetAttribute,                                      \
      (void *desc, int name, int type, int64_t wanted, int64_t *count,         \
       void *elements))                                                        \
    X(int, execute, cudnnBackendExecute, (void *handle, void *plan, void *pack))

typedef struct vly_cudnn {
#define VLY_CUDNN_MEMBER(result, name, symbol, parameters)                     \
    result(*name) parameters;
    VLY_CUDNN_FUNCTIONS(VLY_CUDNN_MEMBER)
#undef VLY_CUDNN_MEMBER
    uint32_t version; /* 91900: 9.19.0 */
} vly_cudnn;

/* Opens the library, once per process; the table is never freed.
 * Errors  E_UNSUPPORTED missing, or not version 9: the message has the names
 * that were tried
 * Thread  [any-thread] */
vly_status vly_cudnn_open(const vly_cudnn **cudnn, vly_error *error);

/* "what: cuDNN said ..." as E_UNSUPPORTED (its codes 3000 to 3999), E_INVALID
 * (2000 to 2999) or E_DEVICE; OK for 0. */
vly_status vly_cudnn_check(const vly_cudnn *cudnn, int code, const char *what,
                           vly_error *error);

#endif
