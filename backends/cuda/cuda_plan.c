/* SPDX-License-Identifier: Apache-2.0
 * Which plan a net runs by: chosen by its sizes, and again by the events that
 * its bursts turn out to have.
 */
#include "cuda_net.h"

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

/* Rows, and what the plan at hand keeps for events that are under way. */
vly_status vly_cuda_plan_create(vly_backend_net *net, vly_error *error)
{
    const vly_host *host = vly_cuda_host;
    uint64_t begin = host->clock_ns(host->context);
    uint32_t tried = net->is_resident;
    net->n_synapses = 0;
    vly_status status = vly_cuda_delivery_create(net, error);
    if (status == VLY_OK && net->is_resident)
        status = vly_cuda_resident_create(
            net, net->wanted.plan == VLY_CUDA_PLAN_RESIDENT, error);
    if (status == VLY_OK && tried && !net->is_resident) {
        net->is_partitioned = net->fits_both;
        net->fits_both = 0; /* padding would take too much memory */
        if (!net->is_partitioned)
            status = create_inputs(net, error);
    }
    if (status == VLY_OK && net->is_partitioned)
        status = vly_cuda_partition_create(net, error);
    if (net->is_partitioned && net->wanted.plan == VLY_CUDA_PLAN_AUTO &&
        (status == VLY_E_NOMEM || status == VLY_E_UNSUPPORTED)) {
        /* it needs rows in both forms for a while, the global plan does not */
        vly_cuda_host->log(vly_cuda_host->context, VLY_LOG_WARN,
                           "cuda: the partitioned plan does not fit into "
                           "memory, the net runs by the slower global one");
        vly_cuda_partition_release(net);
        net->is_partitioned = 0;
        net->fits_both = 0;
        status = create_inputs(net, error);
    }
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

/* Everything that a plan keeps, whichever it is. */
static void release_plan(vly_backend_net *net)
{
    vly_cuda_resident_release(net);
    vly_cuda_partition_release(net);
    for (uint32_t g = 0; net->view.groups != NULL && g < net->view.n_groups;
         g++) {
        vly_cuda_device_release(net, net->groups[g].row);
        vly_cuda_device_release(net, net->groups[g].synapses);
    }
    vly_cuda_device_release(net, net->view.groups);
    net->view.groups = NULL;
    vly_cuda_release(net, net->groups);
    net->groups = NULL;
}

static vly_status make_plan(vly_backend_net *net, uint32_t resident,
                            vly_error *error)
{
    release_plan(net);
    net->is_resident = resident;
    net->is_partitioned = !resident;
    vly_status status = vly_cuda_plan_create(net, error);
    if (status == VLY_OK)
        status = vly_cuda_plan_restore(net, error);
    if (status == VLY_OK)
        status = vly_cuda_synchronize(net, "another plan", error);
    return status;
}

/* The old plan once more, if memory is too short for the other one now. */
static vly_status change_plan(vly_backend_net *net, vly_error *error)
{
    uint32_t resident = net->is_resident;
    net->n_changes++;
    vly_cuda_settle(net);
    /* a launch that stayed may be on its way out with what is freed here */
    vly_status status = vly_cuda_synchronize(net, "another plan", error);
    if (status == VLY_OK)
        status = make_plan(net, !resident, error);
    if (status == VLY_E_NOMEM || status == VLY_E_UNSUPPORTED) {
        vly_cuda_host->log(vly_cuda_host->context, VLY_LOG_WARN,
                           "cuda: a faster plan for these events does not fit "
                           "into memory, the net stays as it was");
        net->fits_both = 0;
        status = make_plan(net, resident, error);
    }
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
