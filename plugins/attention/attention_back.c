/* SPDX-License-Identifier: Apache-2.0
 * The way "own_back": gradients on compute capability 9.0.
 */
#include "attention_maps.h"

#include "accel_cuda.h"
#include "kernels/accelerators/attention_back.h"

/* Bytes that the heads of a section read and update. */
enum { L2_PART = 32 << 20 };

/* ---- conditions ---------------------------------------------------------- */

static bool fits_map(const vly_attention_layout *layout)
{
    const uint64_t most = 1ull << 39; /* elements: strides are below 2^40 */
    return ((layout->batch | layout->seq | layout->head) % 8) == 0 &&
           layout->batch < most && layout->seq < most && layout->head < most;
}

/* Rows of queries and tiles of keys are counted in 32 bits. */
static bool is_countable(const vly_attention_desc *desc)
{
    const uint64_t seq =
        desc->seq_q > desc->seq_kv ? desc->seq_q : desc->seq_kv;
    return (uint64_t)desc->batch * desc->heads_q < (1u << 20) &&
           (uint64_t)desc->batch * desc->heads_q * (seq + 128) < (1ull << 27);
}

static vly_status back_supports(const vly_attention_device *device,
                                const vly_attention_desc *desc,
                                vly_error *error)
{
    const uint32_t align = desc->align == 0 ? 256 : desc->align;
    const char *why = NULL;
    if ((desc->flags & VLY_ATTENTION_BACKWARD) == 0)
        why = "is for gradients";
    else if (device->capability != 90)
        why = "is for compute capability 9.0";
    else if ((desc->type != VLY_ELEMENT_F16 &&
              desc->type != VLY_ELEMENT_BF16) ||
             desc->type_o != desc->type)
        why = "takes fp16 and bf16, results of the same type";
    else if ((desc->flags & (VLY_ATTENTION_PACKED | VLY_ATTENTION_PAGED |
                             VLY_ATTENTION_LENGTHS)) != 0)
        why = "takes no packed, paged or cut sequences";
    else if (desc->dim != desc->dim_v ||
             vly_attention_back_rows(desc->dim) == 0)
        why = "wants dim and dim_v both 64 or 128";
    else if (desc->batch == 0 || desc->seq_q == 0 || desc->seq_kv == 0)
        why = "wants no size to be 0";
    else if (align < 16 || !fits_map(&desc->q) || !fits_map(&desc->k) ||
             !fits_map(&desc->v) || !fits_map(&desc->o))
        why = "wants rows that are aligned to 16 bytes";
    else if (!is_countable(desc))
        why = "has no room for so many rows";
    if (!why)
        return VLY_OK;
    return vly_support_fail(error, VLY_E_UNSUPPORTED, "own_back: %s", why);
}

/* ---- work and workspace ------------------------------------------------ */

static uint64_t place(uint64_t *end, uint64_t bytes)
{
    const uint64_t at = *end;
    *end += (bytes + 255) / 256 * 256;
    return at;
}

/* The same bits every time, unless the flag is not set and config is 1. */
static vly_back_grid grid_of(const vly_attention_desc *desc, uint32_t config,
                             char *workspace, uint64_t *bytes)
{
    const uint32_t rows = vly_attention_back_rows(desc->dim);
    const uint64_t pairs = (uint64_t)desc->batch * desc->heads_q;
    const uint64_t heads = (uint64_t)desc->batch * desc->heads_kv;
    const uint32_t n_rows = (desc->seq_q + rows - 1) / rows * rows;
    /* Q, grad_o and sums of grad_q of the query heads of a key head */
    const uint64_t head_bytes = (uint64_t)(desc->heads_q / desc->heads_kv) *
                                desc->seq_q * desc->dim * 8;
    const uint64_t section = L2_PART / head_bytes;
    vly_back_grid grid = {.n_rows = n_rows, .ordered = config == 0};
    grid.n_blocks = (desc->seq_kv + VLY_BACK_KEYS - 1) / VLY_BACK_KEYS;
    grid.n_tiles = (uint32_t)(grid.n_blocks * heads);
    grid.section = (uint32_t)(section < 1       ? 1
                              : section > heads ? heads
                                                : section);
    *bytes = 0;
    const uint64_t grad_q =
        place(bytes, pairs * n_rows * desc->dim * sizeof(float));
    const uint64_t lse = place(bytes, pairs * n_rows * sizeof(float));
    const uint64_t sums = place(bytes, pairs * n_rows * sizeof(float));
    const uint64_t turns =
        place(bytes, (1 + pairs * (n_rows / rows)) * sizeof(uint32_t));
    if (!workspace)
        return grid;
    grid.grad_q = (float *)(void *)(workspace + grad_q);
    grid.lse = (float *)(void *)(workspace + lse);
    grid.row_sum = (float *)(void *)(workspace + sums);
    grid.turns = (uint32_t *)(void *)(workspace + turns);
    return grid;
}

static vly_status back_prepare(const vly_attention_device *device,
                               const vly_attention_desc *desc,
                               vly_cuda_ready *ready, vly_error *error)
{
    const bool same = (desc->flags & VLY_ATTENTION_DETERMINISTIC) != 0;
    (void)device;
    if (!vly_attention_maps_there())
        return vly_support_fail(error, VLY_E_UNSUPPORTED,
                                "own_back: the driver has no "
                                "cuTensorMapEncodeTiled");
    if (ready->config > (same ? 0u : 1u))
        return vly_support_fail(error, VLY_E_UNSUPPORTED,
                                "own_back: there is no configuration %u",
                                ready->config);
    (void)grid_of(desc, ready->config, NULL, &ready->workspace_bytes);
    return VLY_OK;
}

/* ---- runs -------------------------------------------------------------- */

static vly_status make_maps(const vly_attention_desc *desc,
                            const vly_attention_run *run, vly_back_maps *maps,
                            vly_error *error)
{
    const uint32_t rows = vly_attention_back_rows(desc->dim);
    vly_status status = VLY_OK;
    VLY_TRY(vly_attention_make_map(&maps->q, desc, run->q, &desc->q,
                                   desc->heads_q, desc->seq_q, rows, error));
    VLY_TRY(vly_attention_make_map(&maps->grad_o, desc, run->grad_o, &desc->o,
                                   desc->heads_q, desc->seq_q, rows, error));
    VLY_TRY(vly_attention_make_map(&maps->k, desc, run->k, &desc->k,
                                   desc->heads_kv, desc->seq_kv, VLY_BACK_KEYS,
                                   error));
    VLY_TRY(vly_attention_make_map(&maps->v, desc, run->v, &desc->v,
                                   desc->heads_kv, desc->seq_kv, VLY_BACK_KEYS,
                                   error));
out:
    return status;
}

static vly_status back_run(const vly_attention_device *device,
                           const vly_attention_desc *desc,
                           const vly_cuda_ready *ready,
                           const vly_attention_run *run, vly_error *error)
{
    vly_attention_args args;
    vly_back_maps maps;
    uint64_t bytes = 0;
    const vly_back_grid grid =
        grid_of(desc, ready->config, run->workspace, &bytes);
    vly_attention_fill_args(desc, run, &args);
    const vly_status status = make_maps(desc, run, &maps, error);
    if (status != VLY_OK)
        return status;
    int code = vly_attention_back_begin(&args, &grid, run->stream);
    if (code == 0)
        code =
            vly_attention_back(&args, &grid, &maps, device->n_sms, run->stream);
    if (code == 0)
        code = vly_attention_back_end(&args, &grid, run->stream);
    return vly_accel_cuda_check(code, "own_back", error);
}

const vly_cuda_way vly_cuda_way_back = {
    .name = "own_back",
    .n_configs = 2,
    .by_head = 1,
    .supports = back_supports,
    .prepare = back_prepare,
    .run = back_run,
};
