/* SPDX-License-Identifier: Apache-2.0
 * Modulators on a device: see cuda_modulator.h.
 */
#include "cuda_modulator.h"

#include <string.h>

#include "backends/common/common_modulator.h"
#include "cuda_error.h"
#include "cuda_memory.h"
#include "cuda_net.h"
#include "cuda_rules.h"

/* ---- create ------------------------------------------------------------ */

vly_status vly_cuda_modulator_create(vly_cuda_shard *shard, uint32_t projection,
                                     const vly_cuda_own_rows *rows,
                                     const uint32_t *words,
                                     const uint32_t *traces_end,
                                     vly_cuda_learning *l, vly_error *error)
{
    const vly_net_desc *desc = shard->net->desc;
    const vly_learning_desc *learning = vly_common_learning(desc, projection);
    vly_status status = VLY_OK;
    if (!vly_common_modulated(learning))
        return VLY_OK;
    l->interval = learning->interval;
    l->modulator_trace.rate = learning->modulator.rate;
    l->modulator_trace.bursts = learning->modulator.bursts;
    if (learning->modulator_area < desc->n_areas) {
        const vly_area_desc *area =
            vly_cuda_area_desc(desc, learning->modulator_area);
        l->modulator_first = area->first;
        l->n_modulator = area->n_neurons;
    }
    VLY_TRY(vly_cuda_own_put(shard, rows, sizeof *words, words, &l->eligibility,
                             error));
    VLY_TRY(vly_cuda_put(shard, 1, sizeof *l->modulator, traces_end,
                         &l->modulator, error));
    shard->plastic.swept = UINT64_MAX;
out:
    return status;
}

bool vly_cuda_modulates(const vly_cuda_shard *shard)
{
    for (uint32_t i = 0; i < shard->plastic.view.n; i++)
        if (shard->plastic.list[i].interval != 0)
            return true;
    return false;
}

/* ---- launches ---------------------------------------------------------- */

uint32_t vly_cuda_modulator_bursts(const vly_cuda_shard *shard, uint32_t n)
{
    for (uint32_t i = 0; i < shard->plastic.view.n; i++) {
        const vly_cuda_learning *l = &shard->plastic.list[i];
        if (l->interval == 0)
            continue;
        uint64_t left = l->interval - shard->net->burst % l->interval;
        n = left < n ? (uint32_t)left : n;
    }
    return n;
}

static bool is_due(const vly_cuda_shard *shard)
{
    bool due = false;
    for (uint32_t i = 0; i < shard->plastic.view.n; i++) {
        const vly_cuda_learning *l = &shard->plastic.list[i];
        due |= l->interval != 0 && shard->net->burst % l->interval == 0;
    }
    return due;
}

/* A launch without room for a burst is repeated: weights change once. */
vly_status vly_cuda_modulator_begin(vly_cuda_shard *shard, vly_error *error)
{
    uint64_t burst = shard->net->burst;
    vly_status status = VLY_OK;
    if (!is_due(shard) || shard->plastic.swept == burst)
        return VLY_OK;
    VLY_TRY(vly_cuda_check(vly_cuda_rules_launch_flush(shard),
                           "bringing weights up to date", error));
    shard->plastic.flushed = burst;
    VLY_TRY(vly_cuda_check(
        (int)vly_cuda_launch_sweep(&shard->plastic.view, burst, shard->n_blocks,
                                   (cudaStream_t)shard->stream),
        "changing weights", error));
    shard->plastic.swept = burst;
out:
    return status;
}

/* ---- values of the host ------------------------------------------------ */

/* The number among the projections that learn. */
static uint32_t number_of(const vly_cuda_shard *shard, uint32_t projection)
{
    uint32_t i = 0;
    while (i < shard->plastic.view.n &&
           shard->plastic.projection[i] != projection)
        i++;
    return i;
}

/* Values of the launch's bursts, on the device. */
static vly_status send_given(vly_cuda_shard *shard, const vly_run *run,
                             const vly_cuda_launch *launch, uint32_t *n_given,
                             vly_error *error)
{
    vly_cuda_plastic *plastic = &shard->plastic;
    vly_cuda_given *list = NULL;
    uint64_t n = 0;
    const vly_input *given =
        vly_common_modulations(run, launch->burst, launch->n_bursts, &n);
    vly_status status = VLY_OK;
    *n_given = (uint32_t)n;
    if (n == 0)
        return VLY_OK;
    VLY_TRY(vly_cuda_alloc(shard, n, sizeof *list, &list, error));
    for (uint64_t i = 0; i < n; i++)
        list[i] = (vly_cuda_given){.burst = given[i].burst,
                                   .number = number_of(shard, given[i].neuron),
                                   .value = given[i].value};
    if (n > plastic->given_room) {
        vly_cuda_device_release(shard, plastic->given);
        plastic->given = NULL;
        plastic->given_room = 0;
        VLY_TRY(vly_cuda_device_alloc(shard, n, sizeof *list, &plastic->given,
                                      error));
        plastic->given_room = n;
    }
    status =
        vly_cuda_upload(shard, plastic->given, list, n * sizeof *list, error);
out:
    vly_cuda_release(shard, list);
    return status;
}

vly_status vly_cuda_modulator_end(vly_cuda_shard *shard, const vly_run *run,
                                  const vly_cuda_launch *launch,
                                  vly_error *error)
{
    uint32_t n_given = 0;
    vly_status status = VLY_OK;
    VLY_TRY(send_given(shard, run, launch, &n_given, error));
    VLY_TRY(vly_cuda_check(
        (int)vly_cuda_launch_modulators(&shard->view, &shard->plastic.view,
                                        launch, shard->plastic.given, n_given,
                                        (cudaStream_t)shard->stream),
        "modulators", error));
out:
    return status;
}
