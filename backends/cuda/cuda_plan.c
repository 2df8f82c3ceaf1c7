/* SPDX-License-Identifier: Apache-2.0
 * Which plan a net runs by: chosen by its sizes, and again by the events that
 * its bursts turn out to have.
 */
#include "cuda_net.h"

#include <stdio.h>
#include <string.h>

/* Nanoseconds of a burst by its events: a resident burst costs less by itself,
 * a partitioned one less for each event. From bursts of the stress nets on an
 * H200 (bench/README.md): those of the partitioned plan medians of 31 blocks,
 * those of the resident plan of 5 to 7 runs at 0.1 and 1 million events (2.44
 * and 7.6 us), and at 10 million one of an earlier state (161), so rough. */
#define RESIDENT_BURST_NS 1900.0
#define RESIDENT_EVENT_NS 0.0057
#define RESIDENT_MORE_NS 0.0114 /* on top, beyond RESIDENT_EVENTS of them */
#define RESIDENT_EVENTS 1e6
#define PARTITION_BURST_NS 8000.0
#define PARTITION_EVENT_NS 0.002
#define CHANGES 8u /* of plan in the life of a net at most */

/* by VLY_CUDA_PLAN_* */
static const char *const plan_names[] = {"auto", "global", "resident",
                                         "partitioned"};

static int has_feagi(const vly_net_desc *desc)
{
    for (uint32_t a = 0; a < desc->n_areas; a++)
        if ((vly_cuda_area_desc(desc, a)->flags & VLY_AREA_FEAGI) != 0)
            return 1;
    return 0;
}

static vly_status create_inputs(vly_backend_net *net, vly_error *error)
{
    vly_cuda_view *view = &net->view;
    uint64_t n = (uint64_t)view->ring * view->n_neurons;
    vly_status status = vly_cuda_device_alloc(
        net, n, view->n_ports * sizeof(uint32_t), &view->input, error);
    if (status == VLY_OK && has_feagi(net->desc))
        status = vly_cuda_device_alloc(net, n, 1, &view->mark, error);
    if (status == VLY_OK && view->n_ports == 1 && !has_feagi(net->desc))
        status = vly_cuda_device_alloc(net, view->n_neurons, sizeof(uint32_t),
                                       &view->draws, error);
    return status;
}

static vly_status fit_partition(vly_backend_net *net, const char **why,
                                vly_error *error)
{
    const vly_cuda_options *wanted = &net->wanted;
    uint32_t limit = wanted->n_blocks > 0 && wanted->n_blocks < net->n_units
                         ? wanted->n_blocks
                         : net->n_units;
    return vly_cuda_partition_fit(net, wanted->cluster, wanted->unit, limit,
                                  why, error);
}

static vly_status refuse(const char *plan, const char *why, vly_error *error)
{
    return vly_cuda_fail(error, VLY_E_UNSUPPORTED, "cuda option plan=%s: %s",
                         plan, why);
}

/* A net that fits both begins as a resident one: most nets have few events in
 * a burst, and a review finds out. */
vly_status vly_cuda_plan_choose(vly_backend_net *net, vly_error *error)
{
    const char *resident = NULL; /* why not */
    const char *partition = NULL;
    uint32_t plan = net->wanted.plan;
    int any = plan == VLY_CUDA_PLAN_AUTO;
    vly_status status = VLY_OK;
    if (any || plan == VLY_CUDA_PLAN_RESIDENT)
        status =
            vly_cuda_resident_fit(net, net->wanted.n_blocks, &resident, error);
    if (status == VLY_OK && (any || plan == VLY_CUDA_PLAN_PARTITIONED))
        status = fit_partition(net, &partition, error);
    if (status != VLY_OK)
        return status;
    if (plan == VLY_CUDA_PLAN_RESIDENT && resident != NULL)
        return refuse("resident", resident, error);
    if (plan == VLY_CUDA_PLAN_PARTITIONED && partition != NULL)
        return refuse("partitioned", partition, error);
    if (any && partition == NULL && resident == NULL &&
        net->resident.slice > VLY_CUDA_THREADS)
        resident = "its state does not fit into registers";
    net->is_resident =
        resident == NULL && (any || plan == VLY_CUDA_PLAN_RESIDENT);
    net->is_partitioned = !net->is_resident && partition == NULL &&
                          (any || plan == VLY_CUDA_PLAN_PARTITIONED);
    net->fits_both = any && resident == NULL && partition == NULL;
    if (net->is_resident || net->is_partitioned)
        return VLY_OK;
    return create_inputs(net, error); /* the largest, before uploads */
}

/* ---- making ------------------------------------------------------------ */

static uint32_t plan_of(const vly_backend_net *net)
{
    return net->is_resident      ? VLY_CUDA_PLAN_RESIDENT
           : net->is_partitioned ? VLY_CUDA_PLAN_PARTITIONED
                                 : VLY_CUDA_PLAN_GLOBAL;
}

/* All but the rows by source. */
static void release_parts(vly_backend_net *net)
{
    vly_cuda_view *view = &net->view;
    vly_cuda_resident_release(net);
    vly_cuda_partition_release(net);
    vly_cuda_device_release(net, view->input);
    vly_cuda_device_release(net, view->mark);
    vly_cuda_device_release(net, view->draws);
    view->input = NULL;
    view->mark = NULL;
    view->draws = NULL;
}

/* A resident plan that would take too much padding leaves is_resident 0. */
static vly_status make_parts(vly_backend_net *net, uint32_t plan,
                             vly_error *error)
{
    net->is_resident = plan == VLY_CUDA_PLAN_RESIDENT;
    net->is_partitioned = plan == VLY_CUDA_PLAN_PARTITIONED;
    if (net->is_resident)
        return vly_cuda_resident_create(
            net, net->wanted.plan == VLY_CUDA_PLAN_RESIDENT, error);
    if (net->is_partitioned)
        return vly_cuda_partition_create(net, error);
    return net->view.input != NULL ? VLY_OK : create_inputs(net, error);
}

/* Whether another plan may do without what this one lacked: memory, or numbers
 * that are large enough for its rows. */
static int may_go_on(uint32_t plan, vly_status status)
{
    return status == VLY_E_NOMEM ||
           (status == VLY_E_UNSUPPORTED && plan == VLY_CUDA_PLAN_PARTITIONED);
}

/* The first of these plans that fits whole; nothing is left of the others. Rows
 * by source are what all of them begin with: without, there is none. */
static vly_status make_first(vly_backend_net *net, const uint32_t *plans,
                             uint32_t n, vly_error *error)
{
    vly_error told = {.struct_size = sizeof told};
    char why[2 * sizeof told.message] = "";
    vly_status status = VLY_OK;
    net->peak_bytes = net->device_bytes;
    for (uint32_t i = 0; i < n; i++) {
        const size_t at = strlen(why);
        if (net->view.groups == NULL)
            status = vly_cuda_delivery_create(net, &told);
        if (status != VLY_OK)
            break;
        status = make_parts(net, plans[i], &told);
        if (status == VLY_OK && plan_of(net) == plans[i])
            break;
        release_parts(net);
        if (status == VLY_OK)
            continue;
        if (i + 1 == n || !may_go_on(plans[i], status))
            break;
        (void)snprintf(why + at, sizeof why - at, "%splan %s: %s",
                       at > 0 ? "; " : "", plan_names[plans[i]], told.message);
        status = VLY_OK;
    }
    net->plan_room = net->peak_bytes - net->device_bytes;
    if (status != VLY_OK && error != NULL)
        *error = told;
    if (status == VLY_OK && why[0] != 0) {
        char text[sizeof why + 80];
        (void)snprintf(text, sizeof text,
                       "the net runs by plan %s, not by a faster one; %s",
                       plan_names[plan_of(net)], why);
        vly_cuda_host->log(vly_cuda_host->context, VLY_LOG_WARN, text);
    }
    return status;
}

/* Rows, and what the plan at hand keeps for events that are under way. */
vly_status vly_cuda_plan_create(vly_backend_net *net, vly_error *error)
{
    const vly_host *host = vly_cuda_host;
    uint64_t begin = host->clock_ns(host->context);
    uint32_t plans[3] = {plan_of(net)};
    uint32_t n = 1;
    if (net->is_resident && net->fits_both)
        plans[n++] = VLY_CUDA_PLAN_PARTITIONED;
    if (net->wanted.plan == VLY_CUDA_PLAN_AUTO &&
        plans[0] != VLY_CUDA_PLAN_GLOBAL)
        plans[n++] = VLY_CUDA_PLAN_GLOBAL;
    vly_status status = make_first(net, plans, n, error);
    if (plan_of(net) != plans[0])
        net->fits_both = 0;
    net->plan_ns = (double)(host->clock_ns(host->context) - begin);
    return status;
}

int vly_cuda_plan_launch(vly_backend_net *net, const vly_cuda_launch *launch)
{
    if (net->is_resident)
        return vly_cuda_resident_launch(net, launch);
    if (net->is_partitioned)
        return vly_cuda_partition_launch(net, launch);
    return (int)vly_cuda_launch_global(&net->view, launch, net->n_blocks,
                                       (cudaStream_t)net->stream);
}

static vly_status restore_global(vly_backend_net *net, vly_error *error)
{
    vly_status status = VLY_OK;
    for (uint32_t g = 0; g < net->view.n_groups; g++)
        for (uint32_t ago = 1;
             ago <= net->groups[g].delay_max && status == VLY_OK; ago++)
            if (net->burst >= (uint64_t)net->groups[g].base_delay + ago)
                status = vly_cuda_check(
                    (int)vly_cuda_launch_restore(&net->view, net->burst, g, ago,
                                                 (cudaStream_t)net->stream),
                    "restoring events", error);
    return status;
}

vly_status vly_cuda_plan_restore(vly_backend_net *net, vly_error *error)
{
    return net->is_resident      ? vly_cuda_resident_restore(net, error)
           : net->is_partitioned ? vly_cuda_partition_restore(net, error)
                                 : restore_global(net, error);
}

/* ---- review ------------------------------------------------------------ */

static double resident_ns(double events)
{
    double more = events > RESIDENT_EVENTS ? events - RESIDENT_EVENTS : 0.0;
    return RESIDENT_BURST_NS + events * RESIDENT_EVENT_NS +
           more * RESIDENT_MORE_NS;
}

static double partition_ns(double events)
{
    return PARTITION_BURST_NS + events * PARTITION_EVENT_NS;
}

/* Whether this plan could be made once more: what it took at most on the way,
 * beside what it has. A net must not end by the search for a faster plan. */
static vly_status try_room(vly_backend_net *net, vly_error *error)
{
    void *room = NULL;
    vly_status status =
        vly_cuda_device_alloc(net, net->plan_room, 1, &room, error);
    vly_cuda_device_release(net, room);
    return status;
}

static vly_status stay(vly_backend_net *net, const vly_error *why)
{
    char text[sizeof why->message + 80];
    net->fits_both = 0;
    (void)snprintf(text, sizeof text,
                   "the net stays with plan %s: no room to make another; %s",
                   plan_names[plan_of(net)], why->message);
    vly_cuda_host->log(vly_cuda_host->context, VLY_LOG_WARN, text);
    return VLY_OK;
}

/* The other plan; if that does not fit, this one once more; if memory was
 * taken meanwhile, the one that needs least. */
static vly_status change_plan(vly_backend_net *net, vly_error *error)
{
    vly_error why = {.struct_size = sizeof why};
    const uint32_t plans[3] = {net->is_resident ? VLY_CUDA_PLAN_PARTITIONED
                                                : VLY_CUDA_PLAN_RESIDENT,
                               plan_of(net), VLY_CUDA_PLAN_GLOBAL};
    vly_cuda_settle(net);
    /* a launch that stayed may be on its way out with what is freed here */
    vly_status status = vly_cuda_synchronize(net, "another plan", error);
    if (status != VLY_OK)
        return status;
    status = try_room(net, &why);
    if (status == VLY_E_NOMEM)
        return stay(net, &why);
    net->n_changes++;
    release_parts(net);
    vly_cuda_delivery_release(net);
    const vly_host *host = vly_cuda_host;
    uint64_t begin = host->clock_ns(host->context);
    if (status == VLY_OK)
        status = make_first(net, plans, 3, error);
    else if (error != NULL)
        *error = why;
    net->plan_ns = (double)(host->clock_ns(host->context) - begin);
    if (plan_of(net) != plans[0])
        net->fits_both = 0;
    if (status == VLY_OK)
        status = vly_cuda_plan_restore(net, error);
    if (status == VLY_OK)
        status = vly_cuda_synchronize(net, "another plan", error);
    return status;
}

vly_status vly_cuda_plan_review(vly_backend_net *net, uint32_t n_bursts,
                                uint64_t n_events, vly_error *error)
{
    if (!net->fits_both || n_bursts == 0)
        return VLY_OK;
    if (net->wanted.change != 0)
        return change_plan(net, error);
    if (net->n_changes == CHANGES)
        return VLY_OK;
    double events = (double)n_events / n_bursts;
    double excess = resident_ns(events) - partition_ns(events);
    net->excess_ns += (net->is_resident ? excess : -excess) * n_bursts;
    if (net->excess_ns < 0.0)
        net->excess_ns = 0.0;
    /* As late as the time lost is that of a change: never twice as slow as
     * with the better plan from the beginning. */
    if (net->excess_ns < net->plan_ns)
        return VLY_OK;
    net->excess_ns = 0.0;
    return change_plan(net, error);
}
