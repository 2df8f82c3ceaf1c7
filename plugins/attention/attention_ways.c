/* SPDX-License-Identifier: Apache-2.0
 * The ways that are own kernels: the conditions of each, and its run.
 */
#include "attention_cuda.h"

#include "accel_cuda.h"
#include "attention_check.h"

_Static_assert((int)VLY_ATTENTION_F32 == (int)VLY_ELEMENT_F32 &&
                   (int)VLY_ATTENTION_F16 == (int)VLY_ELEMENT_F16 &&
                   (int)VLY_ATTENTION_BF16 == (int)VLY_ELEMENT_BF16 &&
                   (int)VLY_ATTENTION_E4M3 == (int)VLY_ELEMENT_E4M3,
               "the kernels number types as the interface does");

static vly_attention_strides strides_of(const vly_attention_layout *layout)
{
    vly_attention_strides strides = {layout->batch, layout->seq, layout->head};
    return strides;
}

void vly_attention_fill_args(const vly_attention_desc *desc,
                             const vly_attention_run *run,
                             vly_attention_args *args)
{
    const uint32_t paged = desc->flags & VLY_ATTENTION_PAGED;
    const vly_attention_args made = {
        .q = run->q,
        .k = run->k,
        .v = run->v,
        .o = run->o,
        .lse = run->lse,
        .grad_o = run->grad_o,
        .grad_q = run->grad_q,
        .grad_k = run->grad_k,
        .grad_v = run->grad_v,
        .length_q = run->length_q,
        .length_kv = run->length_kv,
        .start_q = run->start_q,
        .start_kv = run->start_kv,
        .page_table = run->page_table,
        .scale_q = run->scale_q,
        .scale_k = run->scale_k,
        .scale_v = run->scale_v,
        .scale_o = run->scale_o,
        .workspace = run->workspace,
        .stride_q = strides_of(&desc->q),
        .stride_k = strides_of(&desc->k),
        .stride_v = strides_of(&desc->v),
        .stride_o = strides_of(&desc->o),
        .batch = desc->batch,
        .heads_q = desc->heads_q,
        .heads_kv = desc->heads_kv,
        .seq_q = desc->seq_q,
        .seq_kv = desc->seq_kv,
        .dim = desc->dim,
        .dim_v = desc->dim_v,
        .type = desc->type,
        .type_o = desc->type_o,
        .causal = desc->flags & VLY_ATTENTION_CAUSAL_END ? 2u
                  : desc->flags & VLY_ATTENTION_CAUSAL   ? 1u
                                                         : 0u,
        .left = desc->window_left,
        .right = desc->window_right,
        .page_size = paged != 0 ? desc->page_size : 0,
        .pages_most = desc->pages_most,
        .n_splits = 1,
        .scale = vly_attention_scale(desc),
    };
    *args = made;
}

/* ---- conditions of several ways ------------------------------------------ */

static bool in_chunks(const vly_attention_layout *layout)
{
    return ((layout->batch | layout->seq | layout->head) & 7u) == 0;
}

/* fp16 or bf16, every row in chunks of 16 bytes */
static vly_status check_chunks(const char *way, const vly_attention_desc *desc,
                               vly_error *error)
{
    const uint32_t align = desc->align == 0 ? 256 : desc->align;
    if (desc->type != VLY_ELEMENT_F16 && desc->type != VLY_ELEMENT_BF16)
        return vly_support_fail(error, VLY_E_UNSUPPORTED,
                                "%s: neither fp16 nor bf16", way);
    if (align < 16 || !in_chunks(&desc->q) || !in_chunks(&desc->k) ||
        !in_chunks(&desc->v) || !in_chunks(&desc->o))
        return vly_support_fail(error, VLY_E_UNSUPPORTED,
                                "%s: rows are not aligned to 16 bytes", way);
    return VLY_OK;
}

static vly_status check_forward(const char *way, const vly_attention_desc *desc,
                                vly_error *error)
{
    if ((desc->flags & VLY_ATTENTION_BACKWARD) != 0)
        return vly_support_fail(error, VLY_E_UNSUPPORTED, "%s: forward only",
                                way);
    if (desc->heads_q > VLY_CUDA_MOST_HEADS ||
        desc->batch > VLY_CUDA_MOST_HEADS)
        return vly_support_fail(error, VLY_E_UNSUPPORTED,
                                "%s: more than %d heads or sequences", way,
                                VLY_CUDA_MOST_HEADS);
    return VLY_OK;
}

static vly_status launched(int code, const char *what, vly_error *error)
{
    return vly_accel_cuda_check(code, what, error);
}

/* ---- own_plain --------------------------------------------------------- */

static vly_status plain_supports(const vly_attention_device *device,
                                 const vly_attention_desc *desc,
                                 vly_error *error)
{
    (void)device;
    const uint32_t seq =
        desc->seq_q > desc->seq_kv ? desc->seq_q : desc->seq_kv;
    uint64_t rows = 0;
    if (!vly_support_mul(desc->batch, desc->heads_q, &rows) ||
        !vly_support_mul(rows, seq, &rows) || rows > INT32_MAX)
        return vly_support_fail(error, VLY_E_UNSUPPORTED,
                                "own_plain: more than 2^31 - 1 rows");
    return VLY_OK;
}

static vly_status plain_prepare(const vly_attention_device *device,
                                const vly_attention_desc *desc,
                                vly_cuda_ready *ready, vly_error *error)
{
    (void)device;
    (void)error;
    if ((desc->flags & VLY_ATTENTION_BACKWARD) != 0)
        ready->workspace_bytes =
            (uint64_t)desc->batch * desc->heads_q * desc->seq_q * sizeof(float);
    return VLY_OK;
}

static vly_status plain_run(const vly_attention_device *device,
                            const vly_attention_desc *desc,
                            const vly_cuda_ready *ready,
                            const vly_attention_run *run, vly_error *error)
{
    vly_attention_args args;
    (void)device;
    (void)ready;
    vly_attention_fill_args(desc, run, &args);
    if ((desc->flags & VLY_ATTENTION_BACKWARD) != 0)
        return launched(vly_attention_plain_backward(&args, run->stream),
                        "own_plain, gradients", error);
    return launched(vly_attention_plain(&args, run->stream), "own_plain",
                    error);
}

static const vly_cuda_way plain = {
    .name = "own_plain",
    .n_configs = 1,
    .by_head = 1,
    .slow = 1,
    .supports = plain_supports,
    .prepare = plain_prepare,
    .run = plain_run,
};

/* ---- own_mma ----------------------------------------------------------- */

static vly_status mma_supports(const vly_attention_device *device,
                               const vly_attention_desc *desc, vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(check_forward("own_mma", desc, error));
    if (device->capability < 80)
        VLY_TRY(vly_support_fail(error, VLY_E_UNSUPPORTED,
                                 "own_mma: compute capability %u.%u, wanted "
                                 "8.0 or newer",
                                 device->capability / 10,
                                 device->capability % 10));
    if (vly_cuda_sees_too_many(desc))
        VLY_TRY(
            vly_support_fail(error, VLY_E_UNSUPPORTED,
                             "own_mma: loses digits of more than 2^20 keys"));
    VLY_TRY(check_chunks("own_mma", desc, error));
out:
    return status;
}

static vly_status nothing_to_prepare(const vly_attention_device *device,
                                     const vly_attention_desc *desc,
                                     vly_cuda_ready *ready, vly_error *error)
{
    (void)device;
    (void)desc;
    (void)ready;
    (void)error;
    return VLY_OK;
}

static vly_status mma_run(const vly_attention_device *device,
                          const vly_attention_desc *desc,
                          const vly_cuda_ready *ready,
                          const vly_attention_run *run, vly_error *error)
{
    vly_attention_args args;
    (void)device;
    (void)ready;
    vly_attention_fill_args(desc, run, &args);
    return launched(vly_attention_mma(&args, run->stream), "own_mma", error);
}

static const vly_cuda_way mma = {
    .name = "own_mma",
    .n_configs = 1,
    .by_head = 1,
    .supports = mma_supports,
    .prepare = nothing_to_prepare,
    .run = mma_run,
};

/* ---- own_decode -------------------------------------------------------- */

enum {
    LEAST_PART = 128,
    MOST_PARTS = VLY_ATTENTION_MOST_PARTS,
    HEADS_OF_A_PASS = 16
};

static vly_status decode_supports(const vly_attention_device *device,
                                  const vly_attention_desc *desc,
                                  vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(check_forward("own_decode", desc, error));
    if (device->capability < 80)
        return vly_support_fail(error, VLY_E_UNSUPPORTED,
                                "own_decode: compute capability below 8.0");
    if (desc->seq_q != 1)
        return vly_support_fail(error, VLY_E_UNSUPPORTED,
                                "own_decode: more than one query");
    if (desc->dim != desc->dim_v ||
        (desc->dim != 64 && desc->dim != 128 && desc->dim != 256))
        return vly_support_fail(error, VLY_E_UNSUPPORTED,
                                "own_decode: dimensions %u and %u, wanted both "
                                "64, 128 or 256",
                                desc->dim, desc->dim_v);
    status = check_chunks("own_decode", desc, error);
out:
    return status;
}

/* The number of parts that fills the device once, each with at least 128
 * keys; or a given one, as results depend on it. */
static vly_status decode_prepare(const vly_attention_device *device,
                                 const vly_attention_desc *desc,
                                 vly_cuda_ready *ready, vly_error *error)
{
    if (ready->config > 0)
        return vly_support_fail(error, VLY_E_UNSUPPORTED,
                                "own_decode: there is no configuration %u",
                                ready->config);
    if (vly_attention_decode_warps(desc->dim) == 0)
        return vly_support_fail(error, VLY_E_UNSUPPORTED,
                                "own_decode: a block of this device has too "
                                "little shared memory");
    const uint32_t group = desc->heads_q / desc->heads_kv;
    const uint64_t passes = (group + HEADS_OF_A_PASS - 1) / HEADS_OF_A_PASS;
    const uint64_t work = desc->batch * desc->heads_kv * passes;
    uint64_t parts = device->n_sms / (work == 0 ? 1 : work);
    const uint64_t most = desc->seq_kv / LEAST_PART;
    parts = parts > most ? most : parts;
    parts = parts > MOST_PARTS ? MOST_PARTS : parts;
    if (ready->n_splits == 0)
        ready->n_splits = parts < 1 ? 1 : (uint32_t)parts;
    ready->workspace_bytes = 0;
    if (ready->n_splits > 1)
        ready->workspace_bytes = (uint64_t)desc->batch * desc->heads_q *
                                 ready->n_splits * (desc->dim_v + 2) *
                                 sizeof(float);
    return VLY_OK;
}

static vly_status decode_run(const vly_attention_device *device,
                             const vly_attention_desc *desc,
                             const vly_cuda_ready *ready,
                             const vly_attention_run *run, vly_error *error)
{
    vly_attention_args args;
    vly_attention_fill_args(desc, run, &args);
    args.n_splits = ready->n_splits;
    args.early = device->capability >= 90;
    return launched(vly_attention_decode(&args,
                                         vly_attention_decode_warps(desc->dim),
                                         run->stream),
                    "own_decode", error);
}

static const vly_cuda_way decode = {
    .name = "own_decode",
    .n_configs = 1,
    .by_head = 1,
    .supports = decode_supports,
    .prepare = decode_prepare,
    .run = decode_run,
};

/* ---- all --------------------------------------------------------------- */

const vly_cuda_way *const vly_cuda_ways[] = {
    &decode, &vly_cuda_way_cudnn, &vly_cuda_way_sm90, &vly_cuda_way_back, &mma,
    &plain};
const uint32_t vly_cuda_n_ways =
    (uint32_t)(sizeof vly_cuda_ways / sizeof vly_cuda_ways[0]);

void vly_cuda_ready_release(vly_cuda_ready *ready)
{
    vly_cudnn_plan_destroy(ready->cudnn);
    ready->cudnn = NULL;
}
