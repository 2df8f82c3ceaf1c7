/* SPDX-License-Identifier: Apache-2.0
 * Making, describing and freeing a net.
 */
#include "vulkan_net.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "vulkan_learning.h"
#include "vulkan_program.h"
#include "vulkan_rule.h"
#include "vulkan_short_term.h"

/* as in kernels/vulkan/burst_view.glsl */
_Static_assert(sizeof(vly_vulkan_area) == 312, "AREA_BYTES");
_Static_assert(sizeof(vly_vulkan_program_coefs) == 1944, "no hole");
_Static_assert(VLY_VULKAN_PROGRAM_COEFS >= VLY_PROGRAM_MAX_COEFS, "all fit");
_Static_assert(sizeof(vly_vulkan_view) == 192, "VIEW_BYTES");
_Static_assert(sizeof(vly_vulkan_group) == 24, "a group is 24 bytes");
_Static_assert(sizeof(vly_vulkan_learning) == 256, "LEARNING_BYTES");
_Static_assert(sizeof(vly_vulkan_short) == 96, "SHORT_BYTES");
_Static_assert(sizeof(vly_vulkan_block) == 24, "a block is 24 bytes");
_Static_assert(sizeof(vly_vulkan_source) == 16, "a read of 16 bytes");
_Static_assert(sizeof(vly_vulkan_newest) == 16, "a read of 16 bytes");
_Static_assert(sizeof(vly_vulkan_record) == 40, "a record is 40 bytes");
_Static_assert(offsetof(vly_vulkan_params, launch) == 192, "no hole");

/* ---- options ----------------------------------------------------------- */

typedef struct net_options {
    uint32_t n_bursts; /* of a submission; 0: by time */
    uint32_t size;     /* of a work group; 0: by the device, as the others */
    uint32_t lanes;
    uint32_t words;
    uint32_t groups;
    uint32_t together; /* VLY_VULKAN_AUTO: by the device */
    uint32_t sums;     /* accumulators of a slice; 0: by the device */
    uint32_t rounds;   /* neurons of an invocation; 0: by the device */
    uint32_t memory;   /* KiB on the device; UINT32_MAX: all */
    uint32_t fault;
    uint32_t block; /* synapses of a block of what learns; 0: by the device */
    vly_vulkan_choice plan;
} net_options;

static vly_status read_options(const char *text, net_options *made,
                               vly_error *error)
{
    static const char *const plans[] = {"auto", "global", "sliced", NULL};
    memset(made, 0, sizeof *made);
    made->together = VLY_VULKAN_AUTO;
    made->memory = UINT32_MAX;
    made->plan.is_short = VLY_VULKAN_AUTO;
    made->plan.keeps = VLY_VULKAN_AUTO;
    made->plan.fused = VLY_VULKAN_AUTO;
    const vly_support_option options[] = {
        {.name = "plan", .value = &made->plan.plan, .words = plans},
        {.name = "launch", .value = &made->n_bursts},
        {.name = "size", .value = &made->size},
        {.name = "lanes", .value = &made->lanes},
        {.name = "words", .value = &made->words},
        {.name = "groups", .value = &made->groups},
        {.name = "together", .value = &made->together},
        {.name = "memory", .value = &made->memory},
        {.name = "sums", .value = &made->sums},
        {.name = "copies", .value = &made->plan.copies},
        {.name = "rounds", .value = &made->rounds},
        {.name = "short", .value = &made->plan.is_short, .most = 1},
        {.name = "kept", .value = &made->plan.keeps, .most = 1},
        {.name = "fused", .value = &made->plan.fused, .most = 1},
        {.name = "block", .value = &made->block},
        {.name = "fault", .value = &made->fault},
    };
    size_t n;
    const char *bad = vly_support_read_options(
        text, options, sizeof options / sizeof options[0], &n);
    if (!bad)
        return VLY_OK;
    return vly_support_fail(error, VLY_E_INVALID,
                            "vulkan option '%.*s', wanted plan=auto, "
                            "plan=global, plan=sliced, launch=N, "
                            "sums=N, copies=N, rounds=N, size=N, "
                            "lanes=N, words=N, groups=N, "
                            "together=0|1, short=0|1, kept=0|1, "
                            "fused=0|1, block=N, memory=N or fault=1|2",
                            (int)n, bad);
}

/* 0 is not asked for */
static bool fits(uint32_t n, uint32_t most)
{
    return vly_support_is_power(n) && n <= most;
}

/* The sizes that the options ask for, otherwise those chosen for the device. */
static vly_status choose_shape(vly_backend_net *net, const net_options *wanted,
                               vly_error *error)
{
    const vly_vulkan_shape *usual = &net->device->shape;
    vly_vulkan_shape *shape = &net->shape;
    *shape = *usual;
    if (!fits(wanted->size, 1024) || !fits(wanted->lanes, 1024) ||
        !fits(wanted->words, usual->words) || wanted->groups > 65535)
        return vly_support_fail(error, VLY_E_INVALID,
                                "vulkan options size, lanes and words: wanted "
                                "powers of two, up to 1024, size and %u, and "
                                "groups up to 65535",
                                usual->words);
    shape->size = wanted->size != 0 ? wanted->size : shape->size;
    shape->lanes = wanted->lanes != 0 ? wanted->lanes : shape->lanes;
    shape->words = wanted->words != 0 ? wanted->words : shape->words;
    shape->groups = wanted->groups != 0 ? wanted->groups : shape->groups;
    if (wanted->size != 0)
        shape->slice_size = shape->fused_size = wanted->size;
    if (wanted->lanes != 0)
        shape->slice_lanes = wanted->lanes;
    net->rounds = wanted->rounds < VLY_VULKAN_TILE_ROUNDS
                      ? wanted->rounds
                      : VLY_VULKAN_TILE_ROUNDS;
    if (wanted->together != VLY_VULKAN_AUTO)
        shape->together = wanted->together != 0;
    if (shape->lanes > shape->size)
        shape->lanes = shape->size;
    if (shape->slice_lanes > shape->slice_size)
        shape->slice_lanes = shape->slice_size;
    if (wanted->sums != 0 && wanted->sums < shape->sums)
        shape->sums = wanted->sums;
    if (shape->size > net->device->size_max || shape->words < shape->size)
        return vly_support_fail(error, VLY_E_UNSUPPORTED,
                                "vulkan option size=%u: wanted at most %u, and "
                                "no more than words, which are %u",
                                shape->size, net->device->size_max,
                                shape->words);
    return VLY_OK;
}

/* As many work groups as VLY_VULKAN_ITERATIONS asks for where all neurons fire:
 * each is found once a group of rows, its row is begun once, and a synapse is a
 * quarter of an iteration (deliver.comp). */
static void widen_delivery(vly_backend_net *net)
{
    vly_vulkan_shape *shape = &net->shape;
    uint64_t rows = (uint64_t)net->n_groups * net->fixed->n_neurons;
    uint64_t work = 3 * rows * shape->lanes + net->fixed->n_synapses / 4;
    uint64_t groups = work / (shape->size * VLY_VULKAN_ITERATIONS) + 1;
    groups = groups < 65535 ? groups : 65535;
    if (net->device->is_cpu && groups > shape->groups)
        shape->groups = (uint32_t)groups;
}

/* ---- sizes ------------------------------------------------------------- */

static void start_view(vly_backend_net *net)
{
    const vly_net_desc *desc = net->desc;
    vly_vulkan_view *view = net->view;
    view->n_neurons = desc->n_neurons;
    view->n_ports = vly_common_most_ports(desc);
    view->ring = vly_common_ring(desc);
    view->max_delay = desc->max_delay;
    view->key_low = (uint32_t)desc->seed_input;
    view->key_high = (uint32_t)(desc->seed_input >> 32);
    view->feagi_q = desc->feagi_q;
}

static vly_status create_params(vly_backend_net *net, vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(vly_common_alloc(&net->heap, 1, sizeof *net->shown, &net->shown,
                             error));
    net->view = &net->shown->view;
    net->launch = &net->shown->launch;
    start_view(net);
    status = vly_vulkan_buffer_create(
        net, VLY_VULKAN_TO_DEVICE, sizeof *net->shown, 1, &net->params, error);
out:
    return status;
}

/* ---- net --------------------------------------------------------------- */

static vly_status fill_net(vly_backend_net *net, const vly_snapshot *snapshot,
                           const net_options *wanted, vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(choose_shape(net, wanted, error));
    VLY_TRY(vly_vulkan_queue_create(net, error));
    VLY_TRY(create_params(net, error));
    VLY_TRY(vly_common_fixed(&net->heap, net->desc, &net->fixed, error));
    VLY_TRY(vly_vulkan_groups_create(net, error));
    widen_delivery(net);
    VLY_TRY(vly_vulkan_learning_count(net, error));
    VLY_TRY(vly_vulkan_short_term_count(net, error));
    VLY_TRY(vly_vulkan_dynamics_create(net, error));
    VLY_TRY(vly_vulkan_plan_choose(net, &wanted->plan, error));
    if (net->is_fused)
        VLY_TRY(vly_vulkan_fused_create(net, error));
    VLY_TRY(vly_vulkan_programs_create(net, error));
    VLY_TRY(vly_vulkan_rules_create(net, error));
    VLY_TRY(vly_vulkan_inputs_create(net, error));
    VLY_TRY(vly_vulkan_stimulus_create(net, error));
    VLY_TRY(vly_vulkan_upload(net, net->areas, 0, net->area,
                              net->desc->n_areas * sizeof *net->area, error));
    VLY_TRY(vly_vulkan_history_create(net, error));
    VLY_TRY(vly_vulkan_delivery_create(net, error));
    VLY_TRY(vly_vulkan_upload(net, net->state, 0, snapshot->state,
                              net->n_state_words * sizeof(uint32_t), error));
    VLY_TRY(vly_vulkan_learning_create(net, snapshot, error));
    VLY_TRY(vly_vulkan_history_load(net, snapshot, error));
out:
    return status;
}

vly_status vly_vulkan_net_create(const vly_device_spec *spec,
                                 const vly_net_desc *desc,
                                 const vly_snapshot *snapshot,
                                 vly_backend_net **net, vly_error *error)
{
    net_options wanted;
    vly_vulkan_device *device = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(vly_common_supports_planes(desc, error));
    VLY_TRY(vly_common_snapshot_check(desc, snapshot, error));
    VLY_TRY(read_options(spec ? spec->options : NULL, &wanted, error));
    VLY_TRY(vly_vulkan_device_open(spec ? spec->index : 0, &device, error));
    /* The net's own memory is a block of a list that is not its own. */
    vly_common_heap outer = {.bytes = 0};
    vly_backend_net *made = NULL;
    VLY_TRY(vly_common_alloc(&outer, 1, sizeof *made, &made, error));
    made->desc = desc;
    made->device = device;
    made->burst = snapshot->burst;
    made->fault = wanted.fault;
    made->plastic.block_wanted = wanted.block;
    made->device_limit = wanted.memory == UINT32_MAX
                             ? UINT64_MAX
                             : wanted.memory * UINT64_C(1024);
    made->launch_fixed = wanted.n_bursts;
    status = fill_net(made, snapshot, &wanted, error);
    if (status != VLY_OK) {
        vly_vulkan_net_destroy(made);
        return status;
    }
    *net = made;
out:
    return status;
}

void vly_vulkan_net_destroy(vly_backend_net *net)
{
    if (!net)
        return;
    /* nothing runs: each submission is waited for, unless the device is lost */
    vly_vulkan_queue_destroy(net);
    vly_vulkan_pipelines_destroy(net->device, &net->pipelines);
    vly_vulkan_programs_release(net);
    vly_vulkan_rules_release(net);
    vly_vulkan_release_all(net);
    vly_common_heap outer = {.bytes = 0};
    vly_common_release(&outer, net);
}

vly_status vly_vulkan_net_info(const vly_backend_net *net, vly_net_info *info,
                               vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(vly_common_check_info(info, error));
    info->n_threads = 1;
    info->host_bytes = net->heap.bytes + net->pinned_bytes;
    info->device_bytes = net->device_bytes;
    if (net->device->is_cpu) {
        info->host_bytes += info->device_bytes;
        info->device_bytes = 0;
    }
    double synapses = net->n_synapses > 0 ? (double)net->n_synapses : 1.0;
    double bytes = (double)net->rows_bytes / synapses;
    if (net->is_sliced)
        snprintf(
            info->plan, sizeof info->plan,
            "sliced: %u slices of targets, %u work groups of %u each, "
            "inputs in shared memory, %s a burst; %u groups of rows, %.2f "
            "bytes a synapse, %u of its own; up to %u bursts a submission",
            net->view->n_slices, net->view->n_copies, net->shape.slice_size,
            net->is_fused ? "one dispatch" : "two dispatches", net->n_groups,
            bytes, net->shape.is_short ? 2 : 4, VLY_VULKAN_LAUNCH_BURSTS);
    else
        snprintf(info->plan, sizeof info->plan,
                 "global%s%s: %u work groups of %u deliver, %u invocations a "
                 "row; %u groups of rows, %.2f bytes a synapse; inputs of %u "
                 "bursts in global memory; up to %u bursts a submission",
                 net->plastic.n > 0 ? " with learning" : "",
                 net->plastic.n_short > 0 ? " with short-term plasticity" : "",
                 net->shape.groups, net->shape.size, net->shape.lanes,
                 net->n_groups, bytes, net->view->ring,
                 VLY_VULKAN_LAUNCH_BURSTS);
out:
    return status;
}
