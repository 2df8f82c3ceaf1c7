/* SPDX-License-Identifier: Apache-2.0
 * The way "cudnn": handles, workspace and pointers of a run.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "accel_cuda.h"
#include "attention_cuda.h"
#include "cudnn_guard.h"
#include "tune_blob.h"

enum { MOST_DEVICES = 64, MOST_CONFIGS = 3 };

/* One handle per device, made at its first use and kept. One thread at a time
 * may use it: making plans, setting its stream and enqueuing a plan need the
 * lock. So a run may wait up to a second for a plan that another thread makes.
 * It is untested whether a plan runs with another handle than its own. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *handles[MOST_DEVICES];

static vly_status get_handle(const vly_cudnn *cudnn, uint32_t device,
                             void **handle, vly_error *error)
{
    vly_status status = VLY_OK;
    if (device >= MOST_DEVICES)
        return vly_support_fail(error, VLY_E_UNSUPPORTED,
                                "cudnn: device %u, at most %d are served",
                                device, MOST_DEVICES);
    pthread_mutex_lock(&lock);
    if (!handles[device]) {
        void *made = NULL;
        VLY_TRY(vly_cudnn_check(cudnn, cudnn->create(&made), "cudnn: no handle",
                                error));
        handles[device] = made;
    }
out:
    *handle = handles[device];
    pthread_mutex_unlock(&lock);
    return status;
}

/* ---- workspace --------------------------------------------------------- */

/* Parts after that of cuDNN, each aligned to 256 bytes. */
typedef struct parts {
    uint64_t grad_q_sum;
    uint64_t row_sum;
    uint64_t lengths;
    uint64_t offsets;
    uint64_t copies; /* cudnn_guard */
    uint64_t most_o; /* fp8 */
    uint64_t bytes;
} parts;

static uint64_t place(uint64_t *end, uint64_t bytes)
{
    const uint64_t at = *end;
    *end += (bytes + 255) / 256 * 256;
    return at;
}

static parts lay_out(const vly_attention_desc *desc, uint64_t own_bytes)
{
    parts p = {0};
    const uint64_t rows = (uint64_t)desc->batch * desc->heads_q * desc->seq_q;
    (void)place(&p.bytes, own_bytes);
    if ((desc->flags & VLY_ATTENTION_BACKWARD) != 0) {
        p.grad_q_sum = place(&p.bytes, rows * desc->dim * sizeof(float));
        p.row_sum = place(&p.bytes, rows * sizeof(float));
    }
    if ((desc->flags & VLY_ATTENTION_PACKED) != 0) {
        p.lengths = place(&p.bytes, 2ull * desc->batch * sizeof(int32_t));
        p.offsets =
            place(&p.bytes, 4ull * (desc->batch + 1ull) * sizeof(int64_t));
    }
    if (desc->type == VLY_ELEMENT_E4M3)
        p.most_o = place(&p.bytes, sizeof(float));
    p.copies = place(&p.bytes, vly_cudnn_guard_bytes(desc));
    return p;
}

/* ---- the way ----------------------------------------------------------- */

/* of 16 bytes */
static bool in_chunks(const vly_attention_desc *desc,
                      const vly_attention_layout *layout)
{
    const uint64_t each = desc->type == VLY_ELEMENT_E4M3 ? 16 : 8;
    return (layout->batch | layout->seq | layout->head) % each == 0;
}

static bool is_masked(const vly_attention_desc *desc)
{
    return (desc->flags & (VLY_ATTENTION_CAUSAL | VLY_ATTENTION_CAUSAL_END)) !=
               0 ||
           desc->window_left != VLY_ATTENTION_NO_WINDOW ||
           desc->window_right != VLY_ATTENTION_NO_WINDOW;
}

static vly_status cudnn_supports(const vly_attention_device *device,
                                 const vly_attention_desc *desc,
                                 vly_error *error)
{
    const vly_cudnn *cudnn = NULL;
    const uint32_t align = desc->align == 0 ? 256 : desc->align;
    (void)device;
    if (align < 16 || !in_chunks(desc, &desc->q) ||
        !in_chunks(desc, &desc->k) || !in_chunks(desc, &desc->v) ||
        !in_chunks(desc, &desc->o))
        return vly_support_fail(error, VLY_E_UNSUPPORTED,
                                "cudnn: rows are not aligned to 16 bytes");
    if (desc->batch == 0 || desc->seq_q == 0 || desc->seq_kv == 0)
        return vly_support_fail(error, VLY_E_UNSUPPORTED, "cudnn: a size is 0");
    if (desc->heads_q > VLY_CUDA_MOST_HEADS ||
        desc->batch > VLY_CUDA_MOST_HEADS)
        return vly_support_fail(error, VLY_E_UNSUPPORTED,
                                "cudnn: more than %d heads or sequences",
                                VLY_CUDA_MOST_HEADS);
    /* 9.14 gives NaN, seen on an H200; gradients were right */
    if (desc->scale < 0.0f && (desc->flags & VLY_ATTENTION_BACKWARD) == 0)
        return vly_support_fail(error, VLY_E_UNSUPPORTED,
                                "cudnn: a scale below 0");
    /* 9.14's rows are wrong (relative error 2.7 to 8.5 of 512 and 2048 tokens,
     * dim 64 and 128, on an H200); without a mask, or to 16 bits, right */
    if (desc->type_o == VLY_ELEMENT_E4M3 && is_masked(desc))
        return vly_support_fail(error, VLY_E_UNSUPPORTED,
                                "cudnn: fp8 out with a mask");
    /* 9.14 gives NaN for a sequence without a key, seen on an H200 */
    if ((desc->flags & VLY_ATTENTION_PACKED) != 0 &&
        (desc->flags & VLY_ATTENTION_BACKWARD) == 0)
        return vly_support_fail(
            error, VLY_E_UNSUPPORTED,
            "cudnn: packed sequences, which may have no key");
    return vly_cudnn_open(&cudnn, error);
}

/* Loads the plan from disk if it exists; makes it again if loading fails.
 * [under the lock] */
static vly_status get_plan(const vly_cudnn *cudnn, void *handle,
                           const vly_attention_device *device,
                           const vly_attention_desc *desc, uint32_t config,
                           vly_cudnn_plan **plan, vly_error *error)
{
    char key[VLY_TUNE_KEY_BYTES];
    const vly_cudnn_target target = {.handle = handle};
    uint32_t bytes = 0;
    void *blob = NULL;
    vly_status status = VLY_OK;
    if (!device->cache)
        return vly_cudnn_plan_create(cudnn, &target, desc, config, plan, error);
    vly_attention_write_key(desc, key, sizeof key);
    const size_t used = strlen(key);
    snprintf(key + used, sizeof key - used, " c%u", config);
    blob = vly_tune_blob_get(device->cache, key, &bytes);
    if (blob) {
        vly_error why = {.struct_size = sizeof why};
        status =
            vly_cudnn_plan_load(cudnn, &target, desc, blob, bytes, plan, &why);
        vly_accel_free(blob);
        if (status == VLY_OK)
            return VLY_OK;
        vly_support_host->log(vly_support_host->context, VLY_LOG_INFO,
                              why.message);
    }
    status = vly_cudnn_plan_create(cudnn, &target, desc, config, plan, error);
    if (status == VLY_OK &&
        vly_cudnn_plan_save(*plan, &blob, &bytes, NULL) == VLY_OK) {
        (void)vly_tune_blob_put(device->cache, key, blob, bytes);
        vly_accel_free(blob);
    }
    return status;
}

static vly_status cudnn_prepare(const vly_attention_device *device,
                                const vly_attention_desc *desc,
                                vly_cuda_ready *ready, vly_error *error)
{
    const vly_cudnn *cudnn = NULL;
    void *handle = NULL;
    vly_cudnn_plan_info info;
    const vly_attention_desc given = vly_cudnn_guard_desc(desc);
    vly_status status = VLY_OK;
    VLY_TRY(vly_cudnn_open(&cudnn, error));
    VLY_TRY(get_handle(cudnn, device->index, &handle, error));
    pthread_mutex_lock(&lock);
    status = get_plan(cudnn, handle, device, &given, ready->config,
                      &ready->cudnn, error);
    pthread_mutex_unlock(&lock);
    if (status != VLY_OK)
        return status;
    vly_cudnn_plan_get_info(ready->cudnn, &info);
    ready->config = info.index;
    ready->engine = info.engine;
    ready->workspace_bytes = lay_out(desc, info.workspace_bytes).bytes;
out:
    return status;
}

static void *at_byte(void *memory, uint64_t byte)
{
    return (uint8_t *)memory + byte;
}

/* removes const on purpose: the table of cuDNN has one type of pointer */
static void *loose(const void *pointer)
{
    void *p = NULL;
    memcpy(&p, &pointer, sizeof p);
    return p;
}

static void fill_pointers(const vly_attention_desc *desc,
                          const vly_attention_run *run, const parts *p,
                          void **pointers)
{
    const uint64_t n = desc->batch;
    void *workspace = run->workspace;
    pointers[VLY_CUDNN_Q] = loose(run->q);
    pointers[VLY_CUDNN_K] = loose(run->k);
    pointers[VLY_CUDNN_V] = loose(run->v);
    pointers[VLY_CUDNN_O] = run->o;
    pointers[VLY_CUDNN_STATS] = run->lse;
    pointers[VLY_CUDNN_LENGTH_Q] = loose(run->length_q);
    pointers[VLY_CUDNN_LENGTH_KV] = loose(run->length_kv);
    pointers[VLY_CUDNN_PAGES_K] = loose(run->page_table);
    pointers[VLY_CUDNN_PAGES_V] = loose(run->page_table);
    pointers[VLY_CUDNN_GRAD_O] = loose(run->grad_o);
    pointers[VLY_CUDNN_GRAD_Q] = run->grad_q;
    pointers[VLY_CUDNN_GRAD_K] = run->grad_k;
    pointers[VLY_CUDNN_GRAD_V] = run->grad_v;
    pointers[VLY_CUDNN_GRAD_Q_SUM] = at_byte(workspace, p->grad_q_sum);
    pointers[VLY_CUDNN_ROW_SUM] = at_byte(workspace, p->row_sum);
    pointers[VLY_CUDNN_SCALE_Q] = loose(run->scale_q);
    pointers[VLY_CUDNN_SCALE_K] = loose(run->scale_k);
    pointers[VLY_CUDNN_SCALE_V] = loose(run->scale_v);
    pointers[VLY_CUDNN_SCALE_O] = loose(run->scale_o);
    pointers[VLY_CUDNN_MOST_O] = at_byte(workspace, p->most_o);
    if ((desc->flags & VLY_ATTENTION_PACKED) == 0)
        return;
    pointers[VLY_CUDNN_LENGTH_Q] = at_byte(workspace, p->lengths);
    pointers[VLY_CUDNN_LENGTH_KV] =
        at_byte(workspace, p->lengths + n * sizeof(int32_t));
    for (uint64_t i = 0; i < 4; i++)
        pointers[VLY_CUDNN_RAGGED_Q + i] =
            at_byte(workspace, p->offsets + i * (n + 1) * sizeof(int64_t));
}

static vly_status execute(const vly_attention_device *device,
                          const vly_attention_desc *desc,
                          const vly_cuda_ready *ready,
                          const vly_attention_run *run, const parts *p,
                          vly_error *error)
{
    const vly_cudnn *cudnn = NULL;
    void *pointers[VLY_CUDNN_N_TENSORS] = {0};
    void *handle = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(vly_cudnn_open(&cudnn, error));
    VLY_TRY(get_handle(cudnn, device->index, &handle, error));
    fill_pointers(desc, run, p, pointers);
    if ((desc->flags & VLY_ATTENTION_PACKED) != 0) {
        vly_attention_args args;
        vly_attention_fill_args(desc, run, &args);
        status = vly_accel_cuda_check(
            vly_attention_offsets(&args, pointers[VLY_CUDNN_LENGTH_Q],
                                  pointers[VLY_CUDNN_RAGGED_Q], run->stream),
            "cudnn: offsets of packed sequences", error);
    }
    if (status != VLY_OK)
        return status;
    pthread_mutex_lock(&lock);
    status = vly_cudnn_check(cudnn, cudnn->set_stream(handle, run->stream),
                             "cudnn: the stream was not set", error);
    if (status == VLY_OK)
        status =
            vly_cudnn_plan_run(ready->cudnn, pointers, run->workspace, error);
    pthread_mutex_unlock(&lock);
out:
    return status;
}

static vly_status cudnn_run(const vly_attention_device *device,
                            const vly_attention_desc *desc,
                            const vly_cuda_ready *ready,
                            const vly_attention_run *run, vly_error *error)
{
    vly_cudnn_plan_info info;
    vly_attention_run copied;
    vly_cudnn_plan_get_info(ready->cudnn, &info);
    const parts p = lay_out(desc, info.workspace_bytes);
    if (!vly_cudnn_guarded(desc))
        return execute(device, desc, ready, run, &p, error);
    vly_status status = VLY_OK;
    VLY_TRY(vly_cudnn_guard_begin(desc, run, at_byte(run->workspace, p.copies),
                                  &copied, error));
    VLY_TRY(execute(device, desc, ready, &copied, &p, error));
    VLY_TRY(vly_cudnn_guard_end(desc, run, &copied, error));
out:
    return status;
}

const vly_cuda_way vly_cuda_way_cudnn = {
    .name = "cudnn",
    .n_configs = MOST_CONFIGS,
    .supports = cudnn_supports,
    .prepare = cudnn_prepare,
    .run = cudnn_run,
};
