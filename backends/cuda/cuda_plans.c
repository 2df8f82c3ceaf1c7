/* SPDX-License-Identifier: Apache-2.0
 * Which plan a net runs by: chosen by its sizes, and again by the events that
 * its bursts turn out to have.
 */
#include "cuda_plans.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "cuda_global.h"
#include "cuda_memory.h"
#include "cuda_net.h"
#include "cuda_partition.h"
#include "cuda_resident.h"
#include "cuda_store.h"

#define CHANGES 8u /* maximum number of changes of the plan of a net */

/* A net that fits several plans begins with the first: most nets have few
 * events in a burst, and a review corrects the choice. */
static const vly_cuda_plan *const plans[] = {
    &vly_cuda_plan_resident,
    &vly_cuda_plan_partitioned,
    &vly_cuda_plan_global,
};
static_assert(sizeof plans / sizeof plans[0] == VLY_CUDA_N_PLANS,
              "options name every plan");

const vly_cuda_plan *vly_cuda_plan_at(uint32_t i)
{
    return plans[i];
}

/* ---- choosing ---------------------------------------------------------- */

/* The requested plan, or NULL. A span has one. */
static const vly_cuda_plan *asked_for(const vly_cuda_shard *shard)
{
    if (shard->net->n_shards > 1)
        return &vly_cuda_plan_partitioned;
    return shard->net->wanted.plan > 0 ? plans[shard->net->wanted.plan - 1]
                                       : NULL;
}

/* Finds the first plan that fits, and the next one with a known cost. */
static void take_first(vly_cuda_shard *shard,
                       const vly_cuda_fit fits[VLY_CUDA_N_PLANS])
{
    uint32_t n = 0; /* plans that fit and have a known cost */
    for (uint32_t i = 0; i < VLY_CUDA_N_PLANS; i++)
        n += !fits[i].why && plans[i]->cost_ns;
    for (uint32_t i = 0; i < VLY_CUDA_N_PLANS; i++) {
        if (fits[i].why || (fits[i].is_poor && n > 1))
            continue;
        if (!shard->plan)
            shard->plan = plans[i];
        else if (!shard->other && plans[i]->cost_ns)
            shard->other = plans[i];
    }
}

vly_status vly_cuda_plan_choose(vly_cuda_shard *shard, vly_error *error)
{
    vly_cuda_fit fits[VLY_CUDA_N_PLANS] = {{.why = NULL}};
    const vly_cuda_plan *asked = asked_for(shard);
    vly_status status = VLY_OK;
    for (uint32_t i = 0; i < VLY_CUDA_N_PLANS; i++) {
        if (asked && asked != plans[i])
            continue;
        if (!plans[i]->has_ranks && vly_common_ranks(shard->net->desc))
            fits[i].why = "ranks run the net, and spikes of other ranks come "
                          "between launches";
        else
            status = plans[i]->fit(shard, &fits[i], error);
        if (status != VLY_OK)
            return status;
        if (asked && fits[i].why && shard->net->n_shards > 1)
            return vly_cuda_fail(error, VLY_E_UNSUPPORTED,
                                 "a span of %u devices, which has plan=%s "
                                 "only: %s",
                                 shard->net->n_shards, asked->name,
                                 fits[i].why);
        if (asked && fits[i].why)
            return vly_cuda_fail(error, VLY_E_UNSUPPORTED,
                                 "cuda option plan=%s: %s", asked->name,
                                 fits[i].why);
    }
    shard->plan = asked;
    if (!asked)
        take_first(shard, fits);
    return shard->plan->reserve ? shard->plan->reserve(shard, error) : VLY_OK;
}

/* ---- making ------------------------------------------------------------ */

/* Can another plan work although this one failed, by lack of memory or because
 * its rows are too large? */
static bool may_go_on(const vly_cuda_plan *plan, vly_status status)
{
    return status == VLY_E_NOMEM ||
           (status == VLY_E_UNSUPPORTED && plan->has_limits);
}

/* Makes the first of these plans that fits completely and frees all data of the
 * others. All need the rows by source: without them every plan fails. */
static vly_status make_first(vly_cuda_shard *shard,
                             const vly_cuda_plan *const *list, uint32_t n,
                             vly_error *error)
{
    vly_error told = {.struct_size = sizeof told};
    char why[2 * sizeof told.message] = "";
    vly_status status = VLY_OK;
    shard->peak_bytes = shard->device_bytes;
    for (uint32_t i = 0; i < n; i++) {
        const size_t at = strlen(why);
        uint32_t is_made = 0;
        if (shard->net->n_shards == 1) /* a span has no room for all rows */
            status = vly_cuda_store_create(shard, &told);
        if (status != VLY_OK)
            break;
        shard->plan = list[i];
        status = list[i]->create(shard, &is_made, &told);
        if (status == VLY_OK && is_made)
            break;
        list[i]->release(shard);
        if (status == VLY_OK)
            continue;
        if (i + 1 == n || !may_go_on(list[i], status))
            break;
        (void)snprintf(why + at, sizeof why - at, "%splan %s: %s",
                       at > 0 ? "; " : "", list[i]->name, told.message);
        status = VLY_OK;
    }
    shard->plan_room = shard->peak_bytes - shard->device_bytes;
    if (shard->plan != list[0]) /* no alternative is left */
        shard->other = NULL;
    if (status != VLY_OK && error)
        *error = told;
    if (status == VLY_OK && why[0] != 0) {
        char text[sizeof why + 80];
        (void)snprintf(text, sizeof text,
                       "the net runs by plan %s, not by a faster one; %s",
                       shard->plan->name, why);
        vly_cuda_host->log(vly_cuda_host->context, VLY_LOG_WARN, text);
    }
    return status;
}

/* Tries the chosen plan, then the others that fit, in the order of the list;
 * the last fits every net. */
vly_status vly_cuda_plan_create(vly_cuda_shard *shard, vly_error *error)
{
    const vly_host *host = vly_cuda_host;
    const vly_cuda_plan *last = plans[VLY_CUDA_N_PLANS - 1];
    const vly_cuda_plan *list[VLY_CUDA_N_PLANS] = {shard->plan};
    uint64_t begin = host->clock_ns(host->context);
    uint32_t n = 1;
    if (shard->other)
        list[n++] = shard->other;
    if (!asked_for(shard) && shard->plan != last)
        list[n++] = last;
    vly_status status = make_first(shard, list, n, error);
    shard->plan_ns = (double)(host->clock_ns(host->context) - begin);
    return status;
}

vly_status vly_cuda_plan_restore(vly_cuda_shard *shard, vly_error *error)
{
    vly_status status = shard->plan->restore(shard, error);
    return status == VLY_OK
               ? vly_cuda_synchronize(shard, "restoring events", error)
               : status;
}

/* ---- review ------------------------------------------------------------ */

/* Could this plan be made again? Compares its peak memory with its present
 * memory. The search for a faster plan must not end a net. */
static vly_status try_room(vly_cuda_shard *shard, vly_error *error)
{
    void *room = NULL;
    vly_status status =
        vly_cuda_device_alloc(shard, shard->plan_room, 1, &room, error);
    vly_cuda_device_release(shard, room);
    return status;
}

static vly_status stay(vly_cuda_shard *shard, const vly_error *why)
{
    char text[sizeof why->message + 80];
    shard->other = NULL;
    (void)snprintf(text, sizeof text,
                   "the net stays with plan %s: no room to make another; %s",
                   shard->plan->name, why->message);
    vly_cuda_host->log(vly_cuda_host->context, VLY_LOG_WARN, text);
    return VLY_OK;
}

/* Makes the other plan; if that does not fit, this one again; if memory was
 * lost meanwhile, the plan that needs least. */
vly_status vly_cuda_plan_change(vly_cuda_shard *shard, vly_error *error)
{
    vly_error why = {.struct_size = sizeof why};
    const vly_cuda_plan *const list[] = {shard->other, shard->plan,
                                         plans[VLY_CUDA_N_PLANS - 1]};
    /* a staying launch that is ending may still use the memory freed here */
    vly_status status = VLY_OK;
    VLY_TRY(vly_cuda_synchronize(shard, "another plan", error));
    status = try_room(shard, &why);
    if (status == VLY_E_NOMEM)
        return stay(shard, &why);
    shard->n_changes++;
    shard->plan->release(shard);
    vly_cuda_store_release(shard);
    const vly_host *host = vly_cuda_host;
    uint64_t begin = host->clock_ns(host->context);
    shard->other = shard->plan;
    if (status == VLY_OK)
        status = make_first(shard, list, sizeof list / sizeof list[0], error);
    else if (error)
        *error = why;
    shard->plan_ns = (double)(host->clock_ns(host->context) - begin);
    if (status == VLY_OK)
        status = shard->plan->restore(shard, error);
    if (status == VLY_OK)
        status = vly_cuda_synchronize(shard, "another plan", error);
out:
    return status;
}

bool vly_cuda_plan_review(vly_cuda_shard *shard, uint32_t n_bursts,
                          uint64_t n_events)
{
    if (!shard->other || n_bursts == 0)
        return false;
    if (shard->net->wanted.change != 0)
        return true;
    if (shard->n_changes == CHANGES)
        return false;
    double events = (double)n_events / n_bursts;
    double excess =
        shard->plan->cost_ns(events) - shard->other->cost_ns(events);
    shard->excess_ns += excess * n_bursts;
    if (shard->excess_ns < 0.0)
        shard->excess_ns = 0.0;
    /* Changes when the lost time reaches the time of a change: so a net is
     * never more than twice as slow as with the better plan from the start. */
    if (shard->excess_ns < shard->plan_ns)
        return false;
    shard->excess_ns = 0.0;
    return true;
}
