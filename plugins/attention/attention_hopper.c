/* SPDX-License-Identifier: Apache-2.0
 * The way "own_sm90": what it takes, and the tensor maps of a run.
 */
#include <pthread.h>
#include <string.h>

#include <cudaTypedefs.h>
#include <cuda_runtime_api.h>

#include "accel_cuda.h"
#include "attention_cuda.h"
#include "kernels/cuda/attention_sm90.h"

enum {
    L2_PART = 32 << 20, /* bytes of keys and values of the heads of a section */
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static PFN_cuTensorMapEncodeTiled_v12000 encode;

static void find_encode(void)
{
    void *found = NULL;
    enum cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSuccess;
    if (cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found,
                                         12000, cudaEnableDefault,
                                         &result) != cudaSuccess ||
        result != cudaDriverEntryPointSuccess) {
        (void)cudaGetLastError();
        return;
    }
    memcpy(&encode, &found, sizeof encode);
}

/* ---- what it takes ----------------------------------------------------- */

static int fits_map(const vly_attention_layout *layout)
{
    const uint64_t most = 1ull << 39; /* elements: strides are below 2^40 */
    return ((layout->batch | layout->seq | layout->head) & 7u) == 0 &&
           layout->batch < most && layout->seq < most && layout->head < most;
}

static vly_status sm90_supports(const vly_attention_device *device,
                                const vly_attention_desc *desc,
                                vly_error *error)
{
    const uint32_t align = desc->align == 0 ? 256 : desc->align;
    const char *why = NULL;
    if (device->capability != 90)
        why = "is for compute capability 9.0";
    else if (desc->type != VLY_ELEMENT_F16 && desc->type != VLY_ELEMENT_BF16)
        why = "takes fp16 and bf16";
    else if ((desc->flags & (VLY_ATTENTION_BACKWARD | VLY_ATTENTION_PACKED |
                             VLY_ATTENTION_PAGED)) != 0)
        why = "takes neither gradients nor packed or paged sequences";
    else if (desc->dim != desc->dim_v ||
             (desc->dim != 64 && desc->dim != 128 && desc->dim != 256))
        why = "wants dim and dim_v both 64, 128 or 256";
    else if (desc->scale < 0.0f)
        why = "wants a scale above 0";
    else if (desc->batch == 0 || desc->seq_q == 0 || desc->seq_kv == 0)
        why = "wants no size to be 0";
    else if (align < 16 || !fits_map(&desc->q) || !fits_map(&desc->k) ||
             !fits_map(&desc->v) || !fits_map(&desc->o))
        why = "wants rows that are aligned to 16 bytes";
    else if ((uint64_t)desc->batch * desc->heads_q *
                 ((desc->seq_q + VLY_SM90_ROWS - 1ull) / VLY_SM90_ROWS) >
             INT32_MAX)
        why = "has no room for so many row blocks";
    if (why == NULL)
        return VLY_OK;
    return vly_accel_fail(error, VLY_E_UNSUPPORTED, "own_sm90: %s", why);
}

/* Can a tile hold keys behind the length of its sequence? */
static int has_lengths(const vly_attention_desc *desc)
{
    return (desc->flags & VLY_ATTENTION_LENGTHS) != 0;
}

static vly_sm90_grid grid_of(const vly_attention_desc *desc, void *workspace)
{
    const uint64_t head_bytes = 2ull * desc->seq_kv * (desc->dim + desc->dim_v);
    const uint64_t group = desc->heads_q / desc->heads_kv;
    const uint64_t heads = (uint64_t)desc->batch * desc->heads_q;
    uint64_t section = L2_PART / (head_bytes == 0 ? 1 : head_bytes);
    section = (section < 1 ? 1 : section) * group;
    vly_sm90_grid grid = {0};
    grid.n_blocks = (desc->seq_q + VLY_SM90_ROWS - 1) / VLY_SM90_ROWS;
    grid.n_tiles = grid.n_blocks * desc->batch * desc->heads_q;
    grid.section = (uint32_t)(section > heads ? heads : section);
    grid.marks = has_lengths(desc) ? workspace : NULL;
    return grid;
}

static vly_status sm90_prepare(const vly_attention_device *device,
                               const vly_attention_desc *desc,
                               vly_cuda_ready *ready, vly_error *error)
{
    (void)device;
    if (pthread_once(&once, find_encode) != 0 || encode == NULL)
        return vly_accel_fail(error, VLY_E_UNSUPPORTED,
                              "own_sm90: the driver has no "
                              "cuTensorMapEncodeTiled");
    ready->workspace_bytes = 0;
    if (has_lengths(desc))
        ready->workspace_bytes =
            (uint64_t)grid_of(desc, NULL).n_tiles * sizeof(uint32_t);
    return VLY_OK;
}

/* ---- runs -------------------------------------------------------------- */

static vly_status make_map(CUtensorMap *map, const vly_attention_desc *desc,
                           const void *tensor,
                           const vly_attention_layout *layout, uint32_t heads,
                           uint32_t seq, uint32_t rows, vly_error *error)
{
    const CUtensorMapDataType type = desc->type == VLY_ELEMENT_F16
                                         ? CU_TENSOR_MAP_DATA_TYPE_FLOAT16
                                         : CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
    const cuuint64_t dims[4] = {desc->dim, seq, heads, desc->batch};
    const cuuint32_t box[4] = {64, rows, 1, 1};
    const cuuint32_t step[4] = {1, 1, 1, 1};
    cuuint64_t strides[3] = {layout->seq * 2, layout->head * 2,
                             layout->batch * 2};
    for (int i = 0; i < 3; i++) /* that of a dimension of 1 may be anything */
        if (dims[i + 1] == 1 && strides[i] == 0)
            strides[i] = 16;
    void *at = NULL;
    memcpy(&at, &tensor, sizeof at);
    const CUresult code = encode(
        map, type, 4, at, dims, strides, box, step,
        CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
        CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    if (code != CUDA_SUCCESS)
        return vly_accel_fail(error, VLY_E_DEVICE,
                              "own_sm90: a tensor map was refused, error %d",
                              (int)code);
    return VLY_OK;
}

static vly_status sm90_run(const vly_attention_device *device,
                           const vly_attention_desc *desc,
                           const vly_cuda_ready *ready,
                           const vly_attention_run *run, vly_error *error)
{
    vly_attention_args args;
    vly_sm90_maps maps;
    const vly_sm90_grid grid = grid_of(desc, run->workspace);
    const uint32_t keys = vly_attention_sm90_keys(desc->dim);
    (void)ready;
    vly_attention_fill_args(desc, run, &args);
    vly_status status = make_map(&maps.q, desc, run->q, &desc->q, desc->heads_q,
                                 desc->seq_q, VLY_SM90_ROWS, error);
    if (status == VLY_OK)
        status = make_map(&maps.k, desc, run->k, &desc->k, desc->heads_kv,
                          desc->seq_kv, keys, error);
    if (status == VLY_OK)
        status = make_map(&maps.v, desc, run->v, &desc->v, desc->heads_kv,
                          desc->seq_kv, keys, error);
    if (status != VLY_OK)
        return status;
    return vly_accel_cuda_check(
        vly_attention_sm90(&args, &grid, &maps, device->n_sms, run->stream),
        "own_sm90", error);
}

const vly_cuda_way vly_cuda_way_sm90 = {
    .name = "own_sm90",
    .n_configs = 1,
    .supports = sm90_supports,
    .prepare = sm90_prepare,
    .run = sm90_run,
};
