/* SPDX-License-Identifier: Apache-2.0
 * Chains of volley.rwkv/1 on CUDA: a model's token in one launch, which has the
 * whole device to itself (kernels/accelerators/rwkv_token.h): no more blocks
 * than the driver says that fit at once.
 */
#include <string.h>

#include <cuda_runtime_api.h>

#include "accel_common.h"
#include "accel_cuda.h"
#include "rwkv_cuda.h"

enum { ALIGN = 256, CAPABILITY = 90 };

struct vly_rwkv_chain {
    vly_cuda_rwkv_token token;
    uint32_t device;
    char *memory;            /* [n_layers] layers, then the exchange */
    const int32_t *token_at; /* on the host, read by the launch; or NULL */
};

/* ---- conditions ---------------------------------------------------------- */

typedef struct limits {
    uint32_t blocks; /* at once */
    uint32_t shared; /* of a block, bytes */
} limits;

/* The kernel is compiled for sm_90a, which runs on 9.0 only. */
static vly_status look_at(uint32_t device, limits *found, vly_error *error)
{
    static const enum cudaDeviceAttr asked[] = {
        cudaDevAttrMaxSharedMemoryPerBlockOptin, cudaDevAttrCooperativeLaunch,
        cudaDevAttrComputeCapabilityMajor, cudaDevAttrComputeCapabilityMinor};
    int is[4] = {0, 0, 0, 0};
    vly_status status = VLY_OK;
    VLY_TRY(vly_accel_cuda_enter(device, error));
    for (uint32_t i = 0; i < 4; i++)
        VLY_TRY(vly_accel_cuda_check(
            (int)cudaDeviceGetAttribute(&is[i], asked[i], (int)device),
            "cudaDeviceGetAttribute", error));
    if (is[2] * 10 + is[3] != CAPABILITY)
        return vly_support_fail(error, VLY_E_UNSUPPORTED,
                                "%s: rwkv chain: device %u has compute "
                                "capability %d.%d, wanted 9.0",
                                vly_support_plugin, device, is[2], is[3]);
    if (!is[1])
        return vly_support_fail(error, VLY_E_UNSUPPORTED,
                                "%s: rwkv chain: device %u has no cooperative "
                                "launches",
                                vly_support_plugin, device);
    found->shared = (uint32_t)is[0];
    VLY_TRY(vly_accel_cuda_check(
        vly_cuda_rwkv_token_room(found->shared, &found->blocks),
        "room for a rwkv chain", error));
out:
    return status;
}

static vly_status check(const vly_device_spec *device,
                        vly_rwkv_plan *const *plans, const vly_rwkv_run *runs,
                        uint32_t n, vly_error *error)
{
    vly_accel_options options;
    vly_status status = VLY_OK;
    VLY_TRY(vly_accel_check_device(device, error));
    if (!plans || !runs || n == 0)
        return vly_support_fail(error, VLY_E_INVALID,
                                "%s: rwkv chain of no operations",
                                vly_support_plugin);
    VLY_TRY(vly_accel_options_parse(device->options, NULL, &options, error));
    if (!options.chain)
        return vly_support_fail(error, VLY_E_UNSUPPORTED,
                                "%s: rwkv chain: refused by chain=0",
                                vly_support_plugin);
    for (uint32_t i = 0; i < n; i++)
        if (!plans[i] || plans[i]->device != device->index)
            return vly_support_fail(error, VLY_E_INVALID,
                                    "%s: rwkv chain: plan number %u is not of "
                                    "device %u",
                                    vly_support_plugin, i, device->index);
    if (vly_rwkv_pattern_layers(n) == 0)
        return vly_support_fail(
            error, VLY_E_UNSUPPORTED,
            "%s: rwkv chain of %u operations, wanted %d for "
            "each layer and %d",
            vly_support_plugin, n, VLY_RWKV_LAYER_RUNS, VLY_RWKV_OTHER_RUNS);
out:
    return status;
}

/* ---- chains ------------------------------------------------------------- */

void vly_rwkv_cuda_chain_destroy(vly_rwkv_chain *chain)
{
    if (!chain)
        return;
    vly_accel_cuda_memory.free(chain->device, chain->memory);
    vly_accel_free(chain);
}

/* Layers to the device; the exchange is zeros. */
static vly_status put(vly_rwkv_chain *chain,
                      const vly_cuda_rwkv_token_layer *layers, vly_error *error)
{
    const vly_memory *m = &vly_accel_cuda_memory;
    const uint64_t bytes = (uint64_t)chain->token.n_layers * sizeof *layers;
    const uint64_t at = (bytes + ALIGN - 1) / ALIGN * ALIGN;
    void *memory = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(m->alloc(chain->device, at + chain->token.bytes, &memory, error));
    chain->memory = memory;
    chain->token.layer = memory;
    chain->token.exchange = chain->memory + at;
    VLY_TRY(m->fill(chain->device, chain->token.exchange, 0, chain->token.bytes,
                    NULL, error));
    VLY_TRY(m->copy(chain->device, chain->memory, layers, bytes,
                    VLY_COPY_TO_DEVICE, NULL, error));
    VLY_TRY(m->stream_wait(chain->device, NULL, error));
out:
    return status;
}

/* Recognises the chain, plans it, and copies its data to the device. */
static vly_status fill(vly_rwkv_chain *chain, vly_rwkv_plan *const *plans,
                       const vly_rwkv_run *runs, uint32_t n, vly_error *error)
{
    vly_cuda_rwkv_token_layer *layers = NULL;
    limits found = {0, 0};
    const char *why = NULL;
    vly_status status = vly_accel_alloc(vly_rwkv_pattern_layers(n),
                                        sizeof *layers, &layers, error);
    if (status == VLY_OK)
        status =
            vly_rwkv_pattern_find(plans, runs, n, &chain->token, layers, error);
    if (status == VLY_OK)
        status = look_at(chain->device, &found, error);
    if (status == VLY_OK)
        why =
            vly_cuda_rwkv_token_plan(&chain->token, found.blocks, found.shared);
    if (why)
        status =
            vly_support_fail(error, VLY_E_UNSUPPORTED, "%s: rwkv chain of %s",
                             vly_support_plugin, why);
    if (status == VLY_OK)
        status = put(chain, layers, error);
    /* passed as an argument, so that blocks need not read it from the host */
    if (status == VLY_OK && vly_accel_cuda_is_host(chain->token.token)) {
        chain->token_at = chain->token.token;
        chain->token.token = NULL;
    }
    vly_accel_free(layers);
    return status;
}

vly_status vly_rwkv_cuda_chain_create(const vly_device_spec *device,
                                      vly_rwkv_plan *const *plans,
                                      const vly_rwkv_run *runs, uint32_t n,
                                      vly_rwkv_chain **chain, vly_error *error)
{
    vly_rwkv_chain *made = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(check(device, plans, runs, n, error));
    VLY_TRY(vly_accel_alloc(1, sizeof *made, &made, error));
    made->device = device->index;
    status = fill(made, plans, runs, n, error);
    if (status == VLY_OK)
        *chain = made;
    else
        vly_rwkv_cuda_chain_destroy(made);
out:
    return status;
}

vly_status vly_rwkv_cuda_chain_run(vly_rwkv_chain *chain, void *stream,
                                   vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(vly_accel_cuda_enter(chain->device, error));
    if (chain->token_at)
        chain->token.token_value = *chain->token_at;
    status = vly_accel_cuda_check(
        vly_cuda_rwkv_token_run(&chain->token, stream), "rwkv chain", error);
out:
    return status;
}
