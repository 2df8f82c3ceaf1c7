/* SPDX-License-Identifier: Apache-2.0
 * The monitor's model. All errors of a model file are found here, before a run
 * begins.
 */
#include "monitor/watcher_model.h"

#include <stdio.h>
#include <string.h>

#include "accelerator/accelerator.h"
#include "base/error.h"
#include "base/memory.h"
#include "monitor/rwkv.h"
#include "monitor/surprise.h"

/* The metadata's version of tokens.h, and its key. */
#define TOKENS_KEY "volley.tokens"
#define TOKENS_VERSION "2"

struct vly_watcher_rwkv {
    vly_rwkv_model *model;
    vly_rwkv_context *context;
    vly_tail tails[VLY_CHANNELS];
    vly_tail device_tails[VLY_CHANNELS];
    uint64_t bytes;
    bool on_host;
};

static vly_status read_tails(const vly_rwkv_weights *weights, const char *key,
                             vly_tail *tails, vly_error *error)
{
    const char *text = vly_rwkv_weights_metadata(weights, key);
    if (text && vly_tails_read(text, tails))
        return VLY_OK;
    return vly_fail(error, VLY_E_PARSE,
                    "%s: metadata %s is %.120s, wanted fifteen numbers: it is "
                    "not calibrated for this version",
                    vly_rwkv_weights_path(weights), key,
                    text ? text : "missing");
}

/* Whether it is a model of telemetry for this version of the tokens. */
static vly_status check(const vly_rwkv_weights *weights, vly_watcher_rwkv *made,
                        vly_error *error)
{
    const char *path = vly_rwkv_weights_path(weights);
    const uint32_t n = vly_rwkv_weights_sizes(weights)->vocabulary;
    const char *version = vly_rwkv_weights_metadata(weights, TOKENS_KEY);
    if (n != VLY_TOKEN_VOCABULARY)
        return vly_fail(error, VLY_E_PARSE,
                        "%s: a vocabulary of %u tokens, wanted %d: it is no "
                        "model of telemetry",
                        path, n, VLY_TOKEN_VOCABULARY);
    if (!version || strcmp(version, TOKENS_VERSION) != 0)
        return vly_fail(error, VLY_E_PARSE,
                        "%s: metadata %s is %.40s, wanted " TOKENS_VERSION
                        ": it was trained on other tokens",
                        path, TOKENS_KEY, version ? version : "missing");
    const vly_status status =
        read_tails(weights, VLY_TAILS_KEY, made->tails, error);
    if (status != VLY_OK)
        return status;
    /* a model may be trained without a device for calibration */
    if (!vly_rwkv_weights_metadata(weights, VLY_DEVICE_TAILS_KEY)) {
        memcpy(made->device_tails, made->tails, sizeof made->tails);
        return VLY_OK;
    }
    return read_tails(weights, VLY_DEVICE_TAILS_KEY, made->device_tails, error);
}

/* Best effort is admitted only where enough stays for bursts. */
static vly_status admit(vly_watcher_rwkv *made, const vly_registry *registry,
                        const char *device, uint64_t bytes, vly_error *error)
{
    vly_accelerator accelerator;
    char account[64];
    vly_status status = VLY_OK;
    VLY_TRY(vly_accelerator_find(registry, VLY_GEMM_INTERFACE, device, 1,
                                 &accelerator, error));
    made->on_host = (accelerator.memory.flags & VLY_MEMORY_HOST) != 0;
    snprintf(account, sizeof account, "%s:%u", accelerator.spec.id,
             accelerator.device.index);
    status = vly_gate_admit(&accelerator.memory, accelerator.device.index,
                            made->on_host ? "host" : account, bytes, error);
out:
    return status;
}

vly_status vly_watcher_rwkv_open(const vly_registry *registry, const char *path,
                                 const char *device, vly_watcher_rwkv **model,
                                 vly_error *error)
{
    vly_status status = VLY_OK;
    vly_rwkv_weights *weights = NULL;
    vly_rwkv_source source;
    const vly_rwkv_options options = {.n_threads = 1, .best_effort = true};
    vly_watcher_rwkv *made = vly_calloc(1, sizeof *made);
    if (!made)
        return vly_fail_nomem(error, sizeof *made, "the monitor's model");
    VLY_TRY(vly_rwkv_weights_open(path, VLY_RWKV_LORA_SURELY_NATIVE, &weights,
                                  error));
    VLY_TRY(check(weights, made, error));
    VLY_TRY(admit(made, registry, device,
                  vly_rwkv_weights_sizes(weights)->n_parameters * 4, error));
    vly_rwkv_source_of(weights, &source);
    VLY_TRY(vly_rwkv_model_create(registry, &source, device, &options,
                                  &made->model, error));
    VLY_TRY(vly_rwkv_context_create(made->model, 1, VLY_TOKENS_PER_RECORD,
                                    VLY_RWKV_ALL_LOGITS | VLY_RWKV_BESIDE,
                                    &made->context, error));
    made->bytes = vly_rwkv_model_info_of(made->model)->bytes +
                  vly_rwkv_context_bytes(made->context);
    *model = made;
    made = NULL;
out:
    vly_watcher_rwkv_close(made);
    vly_rwkv_weights_close(weights);
    return status;
}

void vly_watcher_rwkv_close(vly_watcher_rwkv *model)
{
    if (!model)
        return;
    vly_rwkv_context_destroy(model->context);
    vly_rwkv_model_destroy(model->model);
    vly_free(model);
}

static vly_status read_record(void *context, const uint32_t *tokens,
                              float *logits, vly_error *error)
{
    const vly_watcher_rwkv *model = context;
    return vly_rwkv_context_feed(model->context, tokens, NULL,
                                 VLY_TOKENS_PER_RECORD, logits, error);
}

vly_watcher_model vly_watcher_rwkv_model(vly_watcher_rwkv *model)
{
    return (vly_watcher_model){model, read_record};
}

const struct vly_tail *vly_watcher_rwkv_tails(const vly_watcher_rwkv *model)
{
    return model->tails;
}

const struct vly_tail *
vly_watcher_rwkv_device_tails(const vly_watcher_rwkv *model)
{
    return model->device_tails;
}

uint64_t vly_watcher_rwkv_bytes(const vly_watcher_rwkv *model)
{
    return model->bytes;
}

bool vly_watcher_rwkv_on_host(const vly_watcher_rwkv *model)
{
    return model->on_host;
}
