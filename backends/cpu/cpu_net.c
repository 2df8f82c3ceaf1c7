/* SPDX-License-Identifier: Apache-2.0
 * Making, describing and freeing a net.
 */
#include "cpu_net.h"
#include "cpu_learning.h"
#include "cpu_ranks.h"
#include "cpu_short_term.h"

#include <stdio.h>
#include <string.h>

/* ---- slices ------------------------------------------------------------ */

/* Cost of one neuron of each area in a burst, in arbitrary units: its update
 * and its incoming synapses at a rate of some spikes in a hundred bursts. */
static void estimate_costs(const vly_net_desc *desc, uint64_t *cost)
{
    for (uint32_t a = 0; a < desc->n_areas; a++)
        cost[a] = 200;
    for (uint32_t i = 0; i < desc->n_projections; i++) {
        const vly_projection_desc *p = vly_common_projection_desc(desc, i);
        uint64_t n = vly_common_area_desc(desc, p->target_area)->n_neurons;
        uint64_t sources =
            vly_common_area_desc(desc, p->source_area)->n_neurons;
        if (n > 0)
            cost[p->target_area] += p->row[sources] / n;
    }
}

/* The neuron at which share/n of the cost is reached, rounded to a multiple of
 * 64 within its area. */
static uint32_t find_cut(const vly_net_desc *desc, const uint64_t *cost,
                         uint64_t wanted)
{
    for (uint32_t a = 0; a < desc->n_areas; a++) {
        const vly_area_desc *area = vly_common_area_desc(desc, a);
        uint64_t here = cost[a] * area->n_neurons;
        if (wanted >= here) {
            wanted -= here;
            continue;
        }
        uint64_t i = (wanted / cost[a] + VLY_CPU_SLICE / 2) / VLY_CPU_SLICE *
                     VLY_CPU_SLICE;
        return area->first +
               (i < area->n_neurons ? (uint32_t)i : area->n_neurons);
    }
    return desc->n_neurons;
}

static uint64_t cost_before(const vly_net_desc *desc, const uint64_t *cost,
                            uint32_t neuron)
{
    uint64_t sum = 0;
    for (uint32_t a = 0; a < desc->n_areas; a++) {
        const vly_area_desc *area = vly_common_area_desc(desc, a);
        uint32_t n = neuron > area->first ? neuron - area->first : 0;
        sum += cost[a] * (n < area->n_neurons ? n : area->n_neurons);
    }
    return sum;
}

static vly_status create_slice(vly_backend_net *net, uint32_t index,
                               uint32_t begin, uint32_t end, vly_error *error)
{
    vly_cpu_thread *thread = &net->threads[index];
    thread->index = index;
    uint32_t **tables[3] = {&thread->low, &thread->high, &thread->area_end};
    vly_status status = VLY_OK;
    for (uint32_t i = 0; i < 3 && status == VLY_OK; i++)
        status = vly_common_alloc(&net->heap, net->n_areas, sizeof(uint32_t),
                                  tables[i], error);
    /* one more: the branchless compaction writes one ahead */
    uint64_t n = vly_cpu_is_own(net, index) ? (uint64_t)(end - begin) + 1 : 1;
    if (status == VLY_OK)
        status = vly_common_alloc(&net->heap, n, sizeof(uint32_t),
                                  &thread->fired, error);
    if (status == VLY_OK)
        status = vly_common_alloc(&net->heap, n, sizeof(uint32_t),
                                  &thread->gains, error);
    if (status == VLY_OK)
        status = vly_common_alloc(&net->heap, VLY_CPU_CHUNK, 1, &thread->flags,
                                  error);
    if (status != VLY_OK)
        return status;
    for (uint32_t a = 0; a < net->n_areas; a++) {
        uint32_t first = net->areas[a].first;
        uint32_t last = first + net->areas[a].n;
        uint32_t low = begin > first ? begin : first;
        uint32_t high = end < last ? end : last;
        if (low < high) {
            thread->low[a] = low - first;
            thread->high[a] = high - first;
        }
    }
    return VLY_OK;
}

static vly_status create_slices(vly_backend_net *net, vly_error *error)
{
    const vly_net_desc *desc = net->desc;
    uint64_t *cost = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(
        vly_common_alloc(&net->heap, net->n_areas, sizeof *cost, &cost, error));
    VLY_TRY(vly_common_alloc(&net->heap, net->n_threads, sizeof *net->threads,
                             &net->threads, error));
    estimate_costs(desc, cost);
    uint32_t begin;
    uint32_t last;
    vly_common_ranks_own(desc, &begin, &last);
    const uint64_t before = cost_before(desc, cost, begin);
    const uint64_t total = cost_before(desc, cost, last) - before;
    if (vly_cpu_ranks_before(desc))
        VLY_TRY(create_slice(net, 0, 0, begin, error));
    if (vly_cpu_ranks_after(desc))
        VLY_TRY(create_slice(net, net->n_threads - 1, last, desc->n_neurons,
                             error));
    for (uint32_t j = 0; j < net->n_own && status == VLY_OK; j++) {
        uint64_t wanted = before + total / net->n_own * (j + 1);
        uint32_t end = j + 1 < net->n_own ? find_cut(desc, cost, wanted) : last;
        end = end > begin ? end : begin;
        end = end < last ? end : last;
        status = create_slice(net, net->first_own + j, begin, end, error);
        begin = end;
    }
    vly_common_release(&net->heap, cost);
out:
    return status;
}

/* ---- areas ------------------------------------------------------------- */

static vly_status create_ring(vly_backend_net *net, vly_cpu_area *area,
                              vly_error *error)
{
    uint64_t n =
        ((uint64_t)area->n + VLY_CPU_SLICE - 1) / VLY_CPU_SLICE * VLY_CPU_SLICE;
    uint64_t blocks = n / VLY_CPU_SLICE;
    blocks = (blocks + VLY_CPU_SLICE - 1) / VLY_CPU_SLICE * VLY_CPU_SLICE;
    area->stride = n;
    area->block_offset = n;
    uint32_t *input = NULL;
    uint8_t *mark = NULL;
    uint64_t words = n * area->n_ports;
    vly_status status = vly_common_alloc(&net->heap, area->ring * words,
                                         sizeof(uint32_t), &input, error);
    if (status == VLY_OK)
        status = vly_common_alloc(&net->heap, 2u * area->ring,
                                  sizeof(uint32_t *), &area->slot, error);
    for (uint32_t i = 0; i < 2 * area->ring && status == VLY_OK; i++)
        area->slot[i] = input + i % area->ring * words;
    if (status != VLY_OK || (area->model->flags & VLY_AREA_FEAGI) == 0)
        return status;
    status = vly_common_alloc(&net->heap, area->ring * (n + blocks), 1, &mark,
                              error);
    if (status == VLY_OK)
        status = vly_common_alloc(&net->heap, 2u * area->ring,
                                  sizeof(uint8_t *), &area->mark, error);
    for (uint32_t i = 0; i < 2 * area->ring && status == VLY_OK; i++)
        area->mark[i] = mark + i % area->ring * (n + blocks);
    return status;
}

/* A user's model is described by its area. */
static void find_model(vly_backend_net *net, uint32_t a, vly_cpu_area *area)
{
    const vly_area_desc *desc = vly_common_area_desc(net->desc, a);
    area->from = vly_common_program(net->desc, a);
    if (!area->from) {
        area->model = vly_common_model_find(desc->model);
        return;
    }
    area->own = (vly_common_model){.id = desc->model,
                                   .index = UINT32_MAX,
                                   .n_ports = desc->n_ports,
                                   .n_fields = desc->n_fields,
                                   .n_coefs = desc->n_coefs};
    area->model = &area->own;
}

static vly_status create_areas(vly_backend_net *net, vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(vly_common_alloc(&net->heap, net->n_areas, sizeof *net->areas,
                             &net->areas, error));
    for (uint32_t a = 0; a < net->n_areas; a++)
        net->areas[a].ring = 1;
    for (uint32_t i = 0; i < net->n_projections; i++) {
        const vly_projection_desc *p = vly_common_projection_desc(net->desc, i);
        vly_cpu_area *area = &net->areas[p->target_area];
        if (p->delay_max + 1 > area->ring)
            area->ring = p->delay_max + 1;
    }
    for (uint32_t a = 0; a < net->n_areas; a++) {
        const vly_area_desc *desc = vly_common_area_desc(net->desc, a);
        vly_cpu_area *area = &net->areas[a];
        find_model(net, a, area);
        area->name = desc->name;
        area->first = desc->first;
        area->n = desc->n_neurons;
        area->n_ports = desc->n_ports;
        for (uint32_t port = 0; port < desc->n_ports; port++)
            area->scale[port] = vly_common_scale(desc, port);
        area->now = (uint32_t)(net->burst % area->ring);
        VLY_TRY(create_ring(net, area, error));
        VLY_TRY(vly_common_alloc(&net->heap, desc->n_coefs, sizeof *area->coef,
                                 &area->coef, error));
        for (uint32_t i = 0; i < desc->n_fields; i++)
            VLY_TRY(vly_common_alloc(&net->heap, area->n, sizeof(uint32_t),
                                     &area->field[i], error));
    }
out:
    return status;
}

/* ---- options ----------------------------------------------------------- */

#if defined(VLY_CPU_X86)
static bool has_avx2(void)
{
    return __builtin_cpu_supports("avx2");
}

static bool has_avx512(void)
{
    return __builtin_cpu_supports("avx512f") &&
           __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl");
}
#endif

/* isa: NULL for the fastest; NULL if this processor does not have it */
static const vly_cpu_kernels *find_kernels(const char *isa)
{
#if defined(VLY_CPU_X86)
    if ((!isa || strcmp(isa, "avx512") == 0) && has_avx512())
        return &vly_cpu_kernels_avx512;
    if ((!isa || strcmp(isa, "avx2") == 0) && has_avx2())
        return &vly_cpu_kernels_avx2;
#endif
    return !isa || strcmp(isa, "scalar") == 0 ? &vly_cpu_kernels_scalar : NULL;
}

const vly_cpu_kernels *vly_cpu_best_kernels(void)
{
    return find_kernels(NULL);
}

static vly_status choose_kernels(const char *isa,
                                 const vly_cpu_kernels **kernels,
                                 vly_error *error)
{
    *kernels = find_kernels(isa);
    if (*kernels)
        return VLY_OK;
    return vly_support_fail(error, VLY_E_UNSUPPORTED,
                            "cpu option 'isa=%s': this processor does not have "
                            "it",
                            isa);
}

/* One of "isa=scalar|avx2|avx512" and "threads=auto". */
static vly_status read_option(const char *option, vly_backend_net *net,
                              vly_error *error)
{
    static const char *const known[] = {"isa=scalar", "isa=avx2", "isa=avx512"};
    if (strcmp(option, "threads=auto") == 0) {
        vly_cpu_tuner_init(&net->tuner, net->n_own);
        return VLY_OK;
    }
    for (uint32_t i = 0; i < 3; i++)
        if (strcmp(option, known[i]) == 0)
            return choose_kernels(option + 4, &net->kernels, error);
    return vly_support_fail(error, VLY_E_INVALID,
                            "cpu option '%s', wanted isa=scalar, isa=avx2, "
                            "isa=avx512 or threads=auto",
                            option);
}

/* options: NULL, or options separated by commas */
static vly_status read_options(const char *options, vly_backend_net *net,
                               vly_error *error)
{
    vly_status status = VLY_OK;
    net->kernels = vly_cpu_best_kernels();
    while (status == VLY_OK && options && options[0] != 0) {
        char option[64];
        const size_t n = strcspn(options, ",");
        snprintf(option, sizeof option, "%.*s", (int)(n < 63 ? n : 63),
                 options);
        status = read_option(option, net, error);
        options += n + (options[n] == ',');
    }
    return status;
}

/* ---- net --------------------------------------------------------------- */

/* Threads that would have no neurons are not started. */
static uint32_t useful_threads(const vly_net_desc *desc, uint32_t wanted)
{
    uint32_t low;
    uint32_t high;
    vly_common_ranks_own(desc, &low, &high);
    uint32_t slices =
        (high - low) / VLY_CPU_SLICE + ((high - low) % VLY_CPU_SLICE != 0);
    wanted = wanted < 1024 ? wanted : 1024;
    wanted = wanted < slices ? wanted : slices;
    return wanted > 0 ? wanted : 1;
}

static vly_status fill_net(vly_backend_net *net, const vly_snapshot *snapshot,
                           vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(create_areas(net, error));
    VLY_TRY(create_slices(net, error));
    VLY_TRY(vly_cpu_dynamics_create(net, error));
    VLY_TRY(vly_cpu_stimulus_create(net, error));
    VLY_TRY(vly_cpu_delivery_create(net, error));
    VLY_TRY(vly_cpu_learning_create(net, error));
    VLY_TRY(vly_cpu_short_term_create(net, error));
    VLY_TRY(vly_cpu_history_create(net, error));
    VLY_TRY(vly_cpu_ranks_create(net, error));
    VLY_TRY(vly_cpu_snapshot_load(net, snapshot, error));
out:
    return status;
}

vly_status vly_cpu_net_create(const vly_device_spec *device,
                              const vly_net_desc *desc,
                              const vly_snapshot *snapshot,
                              vly_backend_net **net, vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(vly_common_supports(desc, error));
    VLY_TRY(vly_common_snapshot_check(desc, snapshot, error));
    if (!device || device->index != 0 || device->n_threads == 0)
        return vly_support_fail(error, VLY_E_INVALID,
                                "cpu: wanted device 0 and at least 1 thread");
    vly_backend_net start = {.desc = desc};
    start.n_own = useful_threads(desc, device->n_threads);
    start.first_own = vly_cpu_ranks_before(desc);
    start.n_threads = start.first_own + start.n_own + vly_cpu_ranks_after(desc);
    VLY_TRY(read_options(device->options, &start, error));
    start.n_areas = desc->n_areas;
    start.n_projections = desc->n_projections;
    start.n_stimuli = desc->n_stimuli;
    start.burst = snapshot->burst;
    /* The net's own memory is a block of a list that is not its own. */
    vly_common_heap outer = {.bytes = 0};
    vly_backend_net *made = NULL;
    VLY_TRY(vly_common_alloc(&outer, 1, sizeof *made, &made, error));
    *made = start;
    status = fill_net(made, snapshot, error);
    if (status != VLY_OK) {
        vly_cpu_net_destroy(made);
        return status;
    }
    *net = made;
out:
    return status;
}

void vly_cpu_net_destroy(vly_backend_net *net)
{
    if (!net)
        return;
    vly_common_release_all(&net->heap);
    vly_common_heap outer = {.bytes = 0};
    vly_common_release(&outer, net);
}

vly_status vly_cpu_net_info(const vly_backend_net *net, vly_net_info *info,
                            vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(vly_common_check_info(info, error));
    uint32_t ring = 1;
    uint32_t n_targets = 0;
    for (uint32_t i = 0; i < net->n_projections; i++) {
        const vly_projection_desc *desc = net->projections[i].desc;
        n_targets += !desc->weight && !desc->delay;
    }
    for (uint32_t a = 0; a < net->n_areas; a++)
        ring = net->areas[a].ring > ring ? net->areas[a].ring : ring;
    info->n_threads = net->n_own;
    info->host_bytes = net->heap.bytes;
    info->device_bytes = 0;
    char threads[160] = "one thread each";
    char ranks[100];
    if (net->tuner.n_choices > 0 && net->n_own > 1)
        vly_cpu_tuner_print(&net->tuner, threads, sizeof threads);
    vly_common_ranks_print(&net->ranks.all, ranks, sizeof ranks);
    const int n = snprintf(
        info->plan, sizeof info->plan,
        "%s%u target slices, %s; rows read in place, of %u of %u projections "
        "only targets; input ring of at most %u bursts, fired sets of %u; %s "
        "loops",
        ranks, net->n_own, threads, n_targets, net->n_projections, ring,
        net->desc->max_delay, net->kernels->isa);
    if (n >= (int)sizeof info->plan) /* a long name of a map */
        memcpy(info->plan + sizeof info->plan - 4, "...", 4);
out:
    return status;
}
