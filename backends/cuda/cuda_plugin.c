/* SPDX-License-Identifier: Apache-2.0
 * The plugin "cuda": its entry and its table of functions.
 */
#include "cuda_device.h"
#include "cuda_dynamics.h"
#include "cuda_memory.h"
#include "cuda_net.h"
#include "cuda_ranks.h"
#include "cuda_short_term.h"
#include "cuda_snapshot.h"
#include "cuda_stimulus.h"

const char vly_support_plugin[] = "cuda";

static vly_status init(const vly_host *host, vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(vly_support_start(host, error));
    VLY_TRY(vly_cuda_detect(error));
    VLY_TRY(vly_cuda_memory_start(error));
out:
    if (status != VLY_OK)
        vly_support_stop();
    return status;
}

static void deinit(void)
{
    vly_cuda_memory_stop();
    vly_support_stop();
}

static const vly_backend backend = {
    .struct_size = sizeof(vly_backend),
    .flags = VLY_BACKEND_AREA_SPIKES | VLY_BACKEND_LEARNS |
             VLY_BACKEND_SHORT_TERM | VLY_BACKEND_MODULATES |
             VLY_BACKEND_PROGRAMS | VLY_BACKEND_RANKS,
    .device_count = vly_cuda_device_count,
    .device_info = vly_cuda_device_info,
    .supports = vly_common_supports_planes,
    .net_create = vly_cuda_net_create,
    .net_create_span = vly_cuda_net_create_span,
    .net_destroy = vly_cuda_net_destroy,
    .net_info = vly_cuda_net_info,
    .net_run = vly_cuda_net_run,
    .field_read = vly_cuda_field_read,
    .field_write = vly_cuda_field_write,
    .coef_write = vly_cuda_coef_write,
    .stimulus_write = vly_cuda_stimulus_write,
    .snapshot_read = vly_cuda_snapshot_read,
    .state_digest = vly_cuda_state_digest,
    .learning_read = vly_cuda_weights_read,
    .learning_write = vly_cuda_learning_write,
    .learning_set = vly_cuda_learning_set,
    .short_term_set = vly_cuda_short_term_set,
    .prepare = vly_cuda_prepare,
};

#define VLY_COMMON_BUILD VLY_CUDA_BUILD
#define VLY_COMMON_RANK 300
#define VLY_COMMON_ALIASES "gpu nvidia"
#include "backends/common/common_entry.h"
