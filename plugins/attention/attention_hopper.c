/* SPDX-License-Identifier: Apache-2.0
 * The way "own_sm90": its conditions, and the tensor maps of a run.
 */
#include <pthread.h>
#include <string.h>

#include <cudaTypedefs.h>
#include <cuda_runtime_api.h>

#include "accel_cuda.h"
#include "attention_maps.h"
#include "kernels/accelerators/attention_sm90.h"

enum {
    L2_PART = 32 << 20, /* bytes of keys and values of the heads of a section */
    MOST_VARIANTS = 8,
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static PFN_cuTensorMapEncodeTiled_v12000 encode;

static void find_encode(void)
{
    void *found = NULL;
    enum cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSuccess;
#if CUDART_VERSION >= 12050
    cudaError_t code = cudaGetDriverEntryPointByVersion(
        "cuTensorMapEncodeTiled", &found, 12000, cudaEnableDefault, &result);
#else
    cudaError_t code = cudaGetDriverEntryPoint("cuTensorMapEncodeTiled", &found,
                                               cudaEnableDefault, &result);
#endif
    if (code != cudaSuccess || result != cudaDriverEntryPointSuccess) {
        (void)cudaGetLastError();
        return;
    }
    memcpy(&encode, &found, sizeof encode);
}

/* ---- conditions ---------------------------------------------------------- */

static uint32_t bytes_of(const vly_attention_desc *desc)
{
    return desc->type == VLY_ELEMENT_E4M3 ? 1 : 2;
}

/* each: elements in 16 bytes */
static bool fits_map(const vly_attention_layout *layout, uint32_t each)
{
    const uint64_t most = 1ull << 39; /* elements: strides are below 2^40 */
    return ((layout->batch | layout->seq | layout->head) % each) == 0 &&
           layout->batch < most && layout->seq < most && layout->head < most;
}

static vly_sm90_variant variant_of(const vly_attention_desc *desc,
                                   uint32_t config)
{
    return vly_attention_sm90_variant(desc->type, desc->dim, config);
}

static vly_status sm90_supports(const vly_attention_device *device,
                                const vly_attention_desc *desc,
                                vly_error *error)
{
    const uint32_t align = desc->align == 0 ? 256 : desc->align;
    const uint32_t each = 16 / bytes_of(desc);
    const char *why = NULL;
    if (device->capability != 90)
        why = "is for compute capability 9.0";
    else if (desc->type != VLY_ELEMENT_F16 && desc->type != VLY_ELEMENT_BF16 &&
             desc->type != VLY_ELEMENT_E4M3)
        why = "takes fp16, bf16 and fp8";
    else if ((desc->flags & (VLY_ATTENTION_BACKWARD | VLY_ATTENTION_PACKED |
                             VLY_ATTENTION_PAGED)) != 0)
        why = "takes neither gradients nor packed or paged sequences";
    else if (desc->dim != desc->dim_v ||
             (desc->dim != 64 && desc->dim != 128 && desc->dim != 256))
        why = "wants dim and dim_v both 64, 128 or 256";
    else if (desc->scale < 0.0f)
        why = "wants a scale above 0";
    else if (vly_cuda_sees_too_many(desc))
        why = "loses digits of more than 2^20 keys";
    else if (desc->batch == 0 || desc->seq_q == 0 || desc->seq_kv == 0)
        why = "wants no size to be 0";
    else if (align < 16 || !fits_map(&desc->q, each) ||
             !fits_map(&desc->k, each) || !fits_map(&desc->v, each) ||
             !fits_map(&desc->o, each))
        why = "wants rows that are aligned to 16 bytes";
    else if ((uint64_t)desc->batch * desc->heads_q *
                 ((desc->seq_q + 127ull) / 128) >
             INT32_MAX)
        why = "has no room for so many row blocks";
    if (!why)
        return VLY_OK;
    return vly_support_fail(error, VLY_E_UNSUPPORTED, "own_sm90: %s", why);
}

/* Can a tile contain keys after the length of its sequence? */
static bool has_lengths(const vly_attention_desc *desc)
{
    return (desc->flags & VLY_ATTENTION_LENGTHS) != 0 && bytes_of(desc) == 2;
}

/* workspace: the number of the next tile, then marks; NULL: none */
static vly_sm90_grid grid_of(const vly_attention_desc *desc, uint32_t config,
                             uint32_t *workspace)
{
    const uint32_t rows = variant_of(desc, config).rows;
    const uint64_t head_bytes =
        (uint64_t)bytes_of(desc) * desc->seq_kv * (desc->dim + desc->dim_v);
    const uint64_t group = desc->heads_q / desc->heads_kv;
    const uint64_t heads = (uint64_t)desc->batch * desc->heads_q;
    uint64_t section = L2_PART / (head_bytes == 0 ? 1 : head_bytes);
    section = (section < 1 ? 1 : section) * group;
    vly_sm90_grid grid = {0};
    grid.config = config;
    grid.n_blocks = (desc->seq_q + rows - 1) / rows;
    grid.n_tiles = grid.n_blocks * desc->batch * desc->heads_q;
    grid.section = (uint32_t)(section > heads ? heads : section);
    grid.next = workspace;
    if (has_lengths(desc) && workspace)
        grid.marks = workspace + 1;
    return grid;
}

static vly_status sm90_prepare(const vly_attention_device *device,
                               const vly_attention_desc *desc,
                               vly_cuda_ready *ready, vly_error *error)
{
    (void)device;
    if (!vly_attention_maps_there())
        return vly_support_fail(error, VLY_E_UNSUPPORTED,
                                "own_sm90: the driver has no "
                                "cuTensorMapEncodeTiled");
    if (variant_of(desc, ready->config).rows == 0)
        return vly_support_fail(error, VLY_E_UNSUPPORTED,
                                "own_sm90: there is no configuration %u",
                                ready->config);
    ready->workspace_bytes = 0;
    if (desc->workspace_most >= sizeof(uint32_t)) /* it works without */
        ready->workspace_bytes = sizeof(uint32_t);
    if (has_lengths(desc))
        ready->workspace_bytes =
            (1 + (uint64_t)grid_of(desc, ready->config, NULL).n_tiles) *
            sizeof(uint32_t);
    return VLY_OK;
}

/* ---- runs -------------------------------------------------------------- */

bool vly_attention_maps_there(void)
{
    return pthread_once(&once, find_encode) == 0 && encode;
}

vly_status vly_attention_make_map(CUtensorMap *map,
                                  const vly_attention_desc *desc,
                                  const void *tensor,
                                  const vly_attention_layout *layout,
                                  uint32_t heads, uint32_t seq, uint32_t rows,
                                  vly_error *error)
{
    const uint32_t bytes = bytes_of(desc);
    const CUtensorMapDataType type =
        desc->type == VLY_ELEMENT_F16    ? CU_TENSOR_MAP_DATA_TYPE_FLOAT16
        : desc->type == VLY_ELEMENT_BF16 ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16
                                         : CU_TENSOR_MAP_DATA_TYPE_UINT8;
    const cuuint64_t dims[4] = {desc->dim, seq, heads, desc->batch};
    const cuuint32_t box[4] = {128 / bytes, rows, 1, 1};
    const cuuint32_t step[4] = {1, 1, 1, 1};
    cuuint64_t strides[3] = {layout->seq * bytes, layout->head * bytes,
                             layout->batch * bytes};
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
        return vly_support_fail(error, VLY_E_DEVICE,
                                "a tensor map was refused, error %d",
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
    const vly_sm90_variant variant = variant_of(desc, ready->config);
    const vly_sm90_grid grid =
        grid_of(desc, ready->config,
                ready->workspace_bytes > 0 ? (uint32_t *)run->workspace : NULL);
    vly_attention_fill_args(desc, run, &args);
    vly_status status = VLY_OK;
    VLY_TRY(vly_attention_make_map(&maps.q, desc, run->q, &desc->q,
                                   desc->heads_q, desc->seq_q, variant.rows,
                                   error));
    VLY_TRY(vly_attention_make_map(&maps.k, desc, run->k, &desc->k,
                                   desc->heads_kv, desc->seq_kv, variant.keys,
                                   error));
    VLY_TRY(vly_attention_make_map(&maps.v, desc, run->v, &desc->v,
                                   desc->heads_kv, desc->seq_kv, variant.keys,
                                   error));
    status = vly_accel_cuda_check(
        vly_attention_sm90(&args, &grid, &maps, device->n_sms, run->stream),
        "own_sm90", error);
out:
    return status;
}

const vly_cuda_way vly_cuda_way_sm90 = {
    .name = "own_sm90",
    .n_configs = MOST_VARIANTS,
    .by_head = 1,
    .supports = sm90_supports,
    .prepare = sm90_prepare,
    .run = sm90_run,
};
