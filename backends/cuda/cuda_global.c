/* SPDX-License-Identifier: Apache-2.0
 * The plan for every net: accumulators in global memory, rows by source as the
 * projections give them.
 */
#include "cuda_global.h"

#include <stdio.h>
#include <string.h>

#include "cuda_dynamics.h"
#include "cuda_error.h"
#include "cuda_memory.h"
#include "cuda_net.h"
#include "cuda_short_term.h"

/* The plan fits every net, but its cost is unknown: it is the last choice. */
static vly_status fit(vly_cuda_shard *shard, vly_cuda_fit *found,
                      vly_error *error)
{
    (void)shard;
    (void)error;
    *found = (vly_cuda_fit){.why = NULL};
    return VLY_OK;
}

static vly_status reserve(vly_cuda_shard *shard, vly_error *error)
{
    vly_cuda_view *view = &shard->view;
    uint64_t n = (uint64_t)view->ring * view->n_neurons;
    bool has_feagi = vly_cuda_has_feagi(shard->net->desc);
    vly_status status = VLY_OK;
    VLY_TRY(vly_cuda_device_alloc(shard, n, view->n_ports * sizeof(uint32_t),
                                  &view->input, error));
    if (has_feagi)
        VLY_TRY(vly_cuda_device_alloc(shard, n, 1, &view->mark, error));
    if (view->n_ports == 1 && !has_feagi)
        VLY_TRY(vly_cuda_device_alloc(shard, view->n_neurons, sizeof(uint32_t),
                                      &view->draws, error));
out:
    return status;
}

static vly_status create(vly_cuda_shard *shard, uint32_t *is_made,
                         vly_error *error)
{
    vly_status status = VLY_OK;
    *is_made = 1;
    if (!shard->view.input)
        VLY_TRY(reserve(shard, error));
    status = vly_cuda_program_run(shard, error);
out:
    return status;
}

static int launch(vly_cuda_shard *shard, const vly_cuda_launch *wanted)
{
    const cudaStream_t stream = (cudaStream_t)shard->stream;
    const bool learns = vly_cuda_learns(shard);
    const vly_cuda_programs *programs = &shard->programs.view;
    const void *spliced = shard->programs.kernels[VLY_CUDA_SPLICED_GLOBAL];
    if (spliced)
        return (int)vly_cuda_launch_spliced(
            spliced, &shard->view, wanted, learns ? &shard->plastic.view : NULL,
            programs, shard->n_blocks, stream);
    if (shard->plastic.by_users)
        return (int)(programs->list
                         ? vly_cuda_launch_ports_rules(
                               &shard->view, wanted, &shard->plastic.view,
                               programs, shard->n_blocks, stream)
                         : vly_cuda_launch_rules(&shard->view, wanted,
                                                 &shard->plastic.view,
                                                 shard->n_blocks, stream));
    if (programs->list && shard->view.n_ports > 2)
        return (int)(learns
                         ? vly_cuda_launch_ports_learning(
                               &shard->view, wanted, &shard->plastic.view,
                               programs, shard->n_blocks, stream)
                         : vly_cuda_launch_ports(&shard->view, wanted, programs,
                                                 shard->n_blocks, stream));
    if (programs->list)
        return (int)(learns ? vly_cuda_launch_programs_learning(
                                  &shard->view, wanted, &shard->plastic.view,
                                  programs, shard->n_blocks, stream)
                            : vly_cuda_launch_programs(
                                  &shard->view, wanted, programs,
                                  shard->n_blocks, stream));
    if (learns)
        return (int)vly_cuda_launch_learning(&shard->view, wanted,
                                             &shard->plastic.view,
                                             shard->n_blocks, stream);
    return (int)vly_cuda_launch_global(&shard->view, wanted, shard->n_blocks,
                                       stream);
}

static vly_status restore(vly_cuda_shard *shard, vly_error *error)
{
    vly_status status = VLY_OK;
    for (uint32_t g = 0; g < shard->view.n_groups; g++)
        for (uint32_t ago = 1;
             ago <= shard->store.groups[g].delay_max && status == VLY_OK; ago++)
            if (shard->net->burst >=
                (uint64_t)shard->store.groups[g].base_delay + ago)
                status = vly_cuda_check((int)vly_cuda_launch_restore(
                                            &shard->view, shard->net->burst, g,
                                            ago, (cudaStream_t)shard->stream),
                                        "restoring events", error);
    return status == VLY_OK ? vly_cuda_short_term_restore(shard, error)
                            : status;
}

/* Bytes of synapses and of the row ends of each group and map. */
static double all_bytes(const vly_cuda_shard *shard)
{
    return (double)shard->store.n_synapses *
               sizeof *shard->view.groups->synapses +
           (double)shard->view.n_groups * (shard->net->desc->n_neurons + 1.0) *
               sizeof *shard->view.groups->row +
           (double)shard->plastic.bytes;
}

static void say(const vly_cuda_shard *shard, double synapses,
                vly_net_info *info)
{
    snprintf(info->plan, sizeof info->plan,
             "global%s%s: %u blocks of %u threads stay on the device for many "
             "bursts; %u groups of rows, %.2f bytes a synapse; inputs of "
             "%u bursts in global memory",
             vly_cuda_learns(shard) ? " with learning" : "",
             shard->plastic.by_users ? " by users' rules" : "", shard->n_blocks,
             VLY_CUDA_THREADS, shard->view.n_groups,
             all_bytes(shard) / synapses, shard->view.ring);
    const size_t at = strlen(info->plan);
    vly_cuda_program_say(shard, info->plan + at, sizeof info->plan - at);
}

static void release(vly_cuda_shard *shard)
{
    vly_cuda_view *view = &shard->view;
    vly_cuda_device_release(shard, view->input);
    vly_cuda_device_release(shard, view->mark);
    vly_cuda_device_release(shard, view->draws);
    view->input = NULL;
    view->mark = NULL;
    view->draws = NULL;
}

const vly_cuda_plan vly_cuda_plan_global = {
    .name = "global",
    .has_ranks = 1,
    .fit = fit,
    .reserve = reserve,
    .create = create,
    .restore = restore,
    .launch = launch,
    .say = say,
    .release = release,
};
