/* SPDX-License-Identifier: Apache-2.0
 * Users' models on a device: what their kernels read, made with the net.
 */
#include "cuda_program.h"

#include <stdio.h>

#include "cuda_error.h"
#include "cuda_learning.h"
#include "cuda_memory.h"
#include "cuda_net.h"
#include "cuda_splice.h"
#include "cuda_steps.h"

uint32_t vly_cuda_program_first(const vly_net_desc *desc)
{
    uint32_t a = 0;
    while (a < desc->n_areas && !vly_common_program(desc, a))
        a++;
    return a;
}

bool vly_cuda_has_programs(const vly_cuda_shard *shard)
{
    const vly_net_desc *desc = shard->net->desc;
    return vly_cuda_program_first(desc) < desc->n_areas;
}

uint32_t vly_cuda_program_most_coefs(const vly_net_desc *desc)
{
    uint32_t most = 0;
    for (uint32_t a = 0; a < desc->n_areas; a++) {
        const uint32_t n = vly_cuda_area_desc(desc, a)->n_coefs;
        if (vly_common_program(desc, a) && n >= most)
            most = n > 0 ? n : 1;
    }
    return most;
}

const char *vly_cuda_programs_unfit(const vly_cuda_shard *shard)
{
    return vly_cuda_has_programs(shard) && shard->net->wanted.jit == 0
               ? "the net has models of users, which run step by step with "
                 "jit=0"
               : NULL;
}

/* ---- steps ------------------------------------------------------------- */

static vly_status put_steps(vly_cuda_shard *shard, const vly_program *from,
                            const vly_cuda_steps *made, vly_cuda_program *to,
                            vly_error *error)
{
    vly_status status =
        vly_cuda_put(shard, made->n_steps, sizeof made->steps[0], made->steps,
                     &to->steps, error);
    if (status == VLY_OK)
        status = vly_cuda_put(shard, made->n_numbers, sizeof made->numbers[0],
                              made->numbers, &to->numbers, error);
    if (status == VLY_OK)
        status = vly_cuda_put(shard, from->n_fields, sizeof made->out[0],
                              made->out, &to->out, error);
    to->n_steps = made->n_steps;
    to->n_fields = from->n_fields;
    to->fired = made->fired;
    return status;
}

/* Areas of one model have the same steps. */
static const vly_cuda_program *
find_same(const vly_net_desc *desc, const vly_cuda_program *list, uint32_t area)
{
    for (uint32_t a = 0; a < area; a++)
        if (vly_common_program(desc, a) == vly_common_program(desc, area))
            return &list[a];
    return NULL;
}

static vly_status make_program(vly_cuda_shard *shard, uint32_t a,
                               vly_cuda_step_maker *maker, vly_cuda_steps *made,
                               vly_cuda_program *list, vly_error *error)
{
    const vly_net_desc *desc = shard->net->desc;
    const vly_program *from = vly_common_program(desc, a);
    const vly_cuda_program *same = find_same(desc, list, a);
    vly_status status = VLY_OK;
    if (!from)
        return VLY_OK;
    if (same) {
        list[a] = *same;
    } else {
        list[a].number = shard->programs.n_programs++;
        vly_cuda_steps_make(from, maker, made);
        if (made->n_slots > shard->programs.view.n_slots)
            shard->programs.view.n_slots = made->n_slots;
        status = put_steps(shard, from, made, &list[a], error);
    }
    list[a].coefs = shard->programs.columns + shard->info[a].column_at;
    list[a].state = shard->state + shard->info[a].state_at;
    list[a].n = shard->areas[a].n;
    list[a].n_coefs = vly_cuda_area_desc(desc, a)->n_coefs;
    return status;
}

/* All of them; list [n_areas] on the host. */
static vly_status make_programs(vly_cuda_shard *shard, vly_cuda_program *list,
                                vly_error *error)
{
    vly_cuda_step_maker *maker = NULL;
    vly_cuda_steps *made = NULL;
    vly_status status = vly_cuda_alloc(shard, 1, sizeof *maker, &maker, error);
    if (status == VLY_OK)
        status = vly_cuda_alloc(shard, 1, sizeof *made, &made, error);
    for (uint32_t a = 0; a < shard->view.n_areas && status == VLY_OK; a++)
        status = make_program(shard, a, maker, made, list, error);
    shard->programs.view.model = VLY_CUDA_ONLY_PROGRAMS;
    for (uint32_t a = 0; a < shard->view.n_areas; a++)
        if (!vly_common_program(shard->net->desc, a) ||
            shard->view.n_ports > 2) /* one kernel for all of these nets */
            shard->programs.view.model = VLY_CUDA_N_MODELS;
    if (status == VLY_OK)
        status = vly_cuda_put(shard, shard->view.n_areas, sizeof *list, list,
                              &shard->programs.view.list, error);
    shard->view.programs = shard->programs.view.list;
    vly_cuda_release(shard, made);
    vly_cuda_release(shard, maker);
    return status;
}

/* ---- values ------------------------------------------------------------ */

static cudaError_t count_slots(const vly_cuda_shard *shard, uint32_t *n)
{
    const bool learns = vly_cuda_learns(shard);
    if (shard->plastic.by_users)
        return vly_cuda_ports_rules_slots(n);
    if (shard->view.n_ports > 2)
        return learns ? vly_cuda_ports_learning_slots(n)
                      : vly_cuda_ports_slots(n);
    return learns ? vly_cuda_programs_learning_slots(n)
                  : vly_cuda_programs_slots(n);
}

/* In shared memory if the largest program fits. */
static vly_status make_values(vly_cuda_shard *shard, vly_error *error)
{
    vly_cuda_programs *view = &shard->programs.view;
    uint32_t room = 0;
    vly_status status = vly_cuda_check(
        (int)count_slots(shard, &room),
        "this plugin has no code for users' models on the device", error);
    if (status != VLY_OK || view->n_slots <= room)
        return status;
    return vly_cuda_device_alloc(
        shard, (uint64_t)shard->n_blocks * view->n_slots,
        VLY_CUDA_THREADS * sizeof *view->values, &view->values, error);
}

/* ---- create ------------------------------------------------------------ */

vly_status vly_cuda_program_create(vly_cuda_shard *shard, vly_error *error)
{
    vly_cuda_program *list = NULL;
    if (!vly_cuda_has_programs(shard))
        return VLY_OK;
    vly_status status =
        vly_cuda_put(shard, shard->n_columns, sizeof *shard->columns,
                     shard->columns, &shard->programs.columns, error);
    if (status == VLY_OK)
        status = vly_cuda_alloc(shard, shard->view.n_areas, sizeof *list, &list,
                                error);
    if (status == VLY_OK)
        status = make_programs(shard, list, error);
    vly_cuda_release(shard, list);
    return status;
}

vly_status vly_cuda_program_run(vly_cuda_shard *shard, vly_error *error)
{
    const vly_cuda_program_set *set = &shard->programs;
    vly_status status = VLY_OK;
    if (!set->view.list)
        return VLY_OK;
    VLY_TRY(vly_cuda_splice_global(shard, error));
    if (!set->kernels[VLY_CUDA_SPLICED_GLOBAL] && !set->view.values)
        status = make_values(shard, error);
out:
    return status;
}

vly_status vly_cuda_program_column(vly_cuda_shard *shard, uint32_t area,
                                   uint32_t coef, vly_error *error)
{
    const uint64_t at = shard->info[area].column_at + coef;
    return vly_cuda_upload(shard, shard->programs.columns + at,
                           &shard->columns[at], sizeof *shard->columns, error);
}

void vly_cuda_program_say(const vly_cuda_shard *shard, char *text, size_t size)
{
    const vly_cuda_programs *view = &shard->programs.view;
    text[0] = 0;
    if (!view->list)
        return;
    if (shard->programs.n_rows > 0)
        (void)snprintf(text, size,
                       "; users' models compiled by the driver, %u neurons of "
                       "a thread at a time",
                       shard->programs.n_rows);
    else
        (void)snprintf(text, size,
                       "; users' models step by step, %u values of a thread "
                       "in %s memory",
                       view->n_slots, !view->values ? "shared" : "global");
}
