/* SPDX-License-Identifier: Apache-2.0
 * The plan sliced: neurons are cut into slices whose inputs fit the shared
 * memory of a work group, and rows by slice. It is for nets whose events all
 * arrive base_delay bursts after their spike, without FEAGI areas, and pays off
 * if the part of a row in one slice is long enough to outweigh its look-up, and
 * if there are so many events that global atomics would limit the speed.
 */
#include "vulkan_net.h"

#include <string.h>

#define QUAD_BYTES UINT64_C(16)
#define MIN_PART 4u /* mean number of synapses of a spike in a slice */
#define MIN_SYNAPSES (UINT64_C(1) << 25)
/* Of 2 to 16 copies these were the best for 1 million and 100,000 neurons. */
#define UNIT_GROUPS 2u /* work groups a multiprocessor */
#define MAX_COPIES 8u
#define SEARCH_TASKS 16u
/* A burst in one dispatch saves the second dispatch (4 us) and its barrier, but
 * work groups cannot share a slice. On an H200, 1,000 synapses a neuron, us a
 * burst with one dispatch and with two: 1,000 neurons 11.2 and 12.6 (plan
 * global); 100,000 neurons 16.1 and 20.4; 300,000 neurons 28.0 and 30.7; a
 * million neurons 93.7 and 78.9. */
#define LEAST_FUSED UINT64_C(1000000)
#define MOST_FUSED UINT64_C(400000000)
#define FUSED_WORDS 16u   /* shared memory of fused.comp, beside sums */
#define FEW_THRESHOLDS 4u /* that shaders hold */
#define QUAD_SYNAPSES(net) ((net)->shape.is_short ? 8u : 4u)

/* ---- choosing ---------------------------------------------------------- */

static uint32_t longest_row(const vly_net_desc *desc)
{
    uint32_t longest = 0;
    for (uint32_t id = 0; id < desc->n_neurons; id++)
        longest =
            desc->out_degree[id] > longest ? desc->out_degree[id] : longest;
    return longest;
}

/* Slices as large as fits, of nearly equal size. */
static void cut_neurons(vly_backend_net *net, uint32_t copies)
{
    vly_vulkan_view *view = net->view;
    /* accumulators of one neuron: of each shift, at each port */
    uint32_t each = view->n_sets * view->n_ports;
    uint32_t most = net->shape.sums / each;
    most = most < VLY_VULKAN_SLICE_SUMS / each ? most
                                               : VLY_VULKAN_SLICE_SUMS / each;
    most = most < VLY_VULKAN_SLICE_NEURONS ? most : VLY_VULKAN_SLICE_NEURONS;
    most = most > 0 ? most : 1;
    uint32_t n = (view->n_neurons - 1) / most + 1;
    if (net->is_fused) /* no work group shares a slice */
        n = n > net->device->n_units ? n : net->device->n_units;
    view->slice_size = (view->n_neurons - 1) / n + 1;
    view->n_slices = (view->n_neurons - 1) / view->slice_size + 1;
    if (copies == 0)
        copies = UNIT_GROUPS * net->device->n_units / view->n_slices;
    copies = copies > 0 && !net->is_fused ? copies : 1;
    copies = copies < MAX_COPIES ? copies : MAX_COPIES;
    view->n_copies = copies;
    net->longest_row = longest_row(net->desc);
    net->index_bytes =
        (view->n_slices - UINT64_C(1)) / VLY_VULKAN_INDEX_PARTS * QUAD_BYTES +
        QUAD_BYTES;
}

static const char *why_not(const vly_backend_net *net)
{
    const vly_net_desc *desc = net->desc;
    if (net->n_driven < desc->n_neurons)
        return "it has FEAGI areas";
    if (net->plastic.n > 0)
        return "it has maps that learn";
    if (net->plastic.n_short > 0)
        return "it has maps with short-term plasticity";
    if (net->view->ring > 1)
        return "delays of one map differ";
    if (desc->n_neurons == 0)
        return "it has no neurons";
    if (net->shape.sums < net->view->n_ports * net->view->n_sets)
        return "sums holds not even one neuron's ports";
    return NULL;
}

/* ---- runs -------------------------------------------------------------- */

/* Synapses [from, to) of a projection, all of one slice. */
typedef struct run {
    uint64_t from;
    uint64_t to;
    uint32_t slice;
} run;

static run before_row(const vly_projection_desc *p, uint32_t k)
{
    return (run){.to = p->row[k]};
}

/* Targets of a row ascend, so every slice has one run of it at most. */
static bool next_run(const vly_backend_net *net, const vly_projection_desc *p,
                     uint32_t k, run *at)
{
    const uint32_t size = net->view->slice_size;
    const uint64_t end = p->row[k + 1];
    uint64_t j = at->to;
    if (j >= end)
        return false;
    at->from = j;
    at->slice = p->target[j] / size;
    uint64_t bound = (at->slice + UINT64_C(1)) * size;
    while (j < end && p->target[j] < bound)
        j++;
    at->to = j;
    return true;
}

/* ---- the longest part -------------------------------------------------- */

typedef struct search {
    const vly_backend_net *net;
    uint32_t *places; /* [SEARCH_TASKS][n_slices] */
    uint32_t longest[SEARCH_TASKS];
} search;

/* For neuron id, over all base delays together: an upper bound of the longest
 * part. */
static uint32_t longest_part(const vly_backend_net *net, uint32_t id,
                             uint32_t *places)
{
    const vly_net_desc *desc = net->desc;
    const uint32_t n_slices = net->view->n_slices;
    uint32_t a = vly_common_area_of(desc, id);
    uint32_t k = id - vly_common_area_desc(desc, a)->first;
    uint32_t longest = 0;
    memset(places, 0, n_slices * sizeof *places);
    for (uint32_t i = 0; i < desc->n_projections; i++) {
        const vly_projection_desc *p = vly_common_projection_desc(desc, i);
        if (p->source_area != a)
            continue;
        for (run r = before_row(p, k); next_run(net, p, k, &r);)
            places[r.slice] += (uint32_t)(r.to - r.from);
    }
    for (uint32_t s = 0; s < n_slices; s++)
        longest = places[s] > longest ? places[s] : longest;
    return longest;
}

static void search_task(void *arg, uint32_t task)
{
    search *all = arg;
    const vly_net_desc *desc = all->net->desc;
    uint32_t *places = all->places + (size_t)task * all->net->view->n_slices;
    for (uint32_t id = task; id < desc->n_neurons; id += SEARCH_TASKS) {
        if (desc->out_degree[id] <= VLY_VULKAN_PART_QUADS * 4)
            continue;
        uint32_t n = longest_part(all->net, id, places);
        all->longest[task] = n > all->longest[task] ? n : all->longest[task];
    }
}

static vly_status find_longest_part(vly_backend_net *net, uint32_t *longest,
                                    vly_error *error)
{
    search all = {.net = net};
    vly_status status = VLY_OK;
    VLY_TRY(vly_common_alloc(&net->heap, net->view->n_slices,
                             SEARCH_TASKS * sizeof *all.places, &all.places,
                             error));
    if (vly_support_host->parallel_for(vly_support_host->context, SEARCH_TASKS,
                                       search_task, &all) != VLY_OK)
        for (uint32_t t = 0; t < SEARCH_TASKS; t++)
            search_task(&all, t); /* no threads could be made */
    vly_common_release(&net->heap, all.places);
    *longest = 0;
    for (uint32_t t = 0; t < SEARCH_TASKS; t++)
        *longest = all.longest[t] > *longest ? all.longest[t] : *longest;
out:
    return status;
}

/* ---- whether ----------------------------------------------------------- */

static const char *why_not_cut(const vly_backend_net *net)
{
    const vly_vulkan_view *view = net->view;
    if (net->index_bytes * view->n_neurons > net->device->allocation_max)
        return "its index is larger than the device's blocks of memory";
    if ((uint64_t)view->n_slices * view->n_copies > 65535)
        return "it has more than 65,535 slices";
    return NULL;
}

/* NULL if synapses can be short (then the weights of the groups are set),
 * otherwise the reason. */
static const char *why_not_short(vly_backend_net *net)
{
    const vly_vulkan_view *view = net->view;
    if (view->n_sets * view->n_ports * view->slice_size > VLY_VULKAN_SHORT_SUMS)
        return "its slices have more than 32,767 accumulators";
    for (uint32_t g = 0; g < net->n_groups; g++)
        if (!vly_vulkan_two_weights(net, &net->groups[g]))
            return "synapses of one delay have more than two weights";
    return NULL;
}

static bool is_worth_it(const vly_backend_net *net)
{
    const vly_net_desc *desc = net->desc;
    uint64_t part = desc->n_synapses / desc->n_neurons / net->view->n_slices;
    uint64_t least = net->is_fused ? LEAST_FUSED : MIN_SYNAPSES;
    return net->device->n_units > 1 && part >= MIN_PART &&
           desc->n_synapses >= least;
}

/* Whether it pays off if work groups do not share slices. */
static bool is_worth_fusing(const vly_backend_net *net)
{
    const vly_net_desc *desc = net->desc;
    uint32_t n_slices = net->device->n_units;
    return !vly_vulkan_why_not_fused(net) && desc->n_synapses <= MOST_FUSED &&
           desc->n_synapses / desc->n_neurons / n_slices >= MIN_PART;
}

/* Decided before neurons are cut into slices: one dispatch has other work
 * groups. */
static void choose_fused(vly_backend_net *net, uint32_t wanted)
{
    vly_vulkan_shape *shape = &net->shape;
    const uint32_t sums = net->device->shape.sums - FUSED_WORDS;
    net->is_fused =
        wanted == VLY_VULKAN_AUTO ? (uint32_t)is_worth_fusing(net) : wanted;
    if (!net->is_fused)
        return;
    shape->slice_size = shape->fused_size;
    if (shape->slice_lanes > shape->slice_size)
        shape->slice_lanes = shape->slice_size;
    shape->sums = shape->sums < sums ? shape->sums : sums;
}

/* Whether a stimulus has thresholds that a shader would have to read. */
static bool has_thresholds(const vly_net_desc *desc)
{
    for (uint32_t i = 0; i < desc->n_stimuli; i++)
        if (vly_common_stimulus_desc(desc, i)->n_thresholds > FEW_THRESHOLDS)
            return true;
    return false;
}

/* Options that depend on the plan. With one dispatch, synapses of 16 bits were
 * slower (17.6 instead of 16.0 us); with two they were faster (79.2 instead of
 * 89.7). Kept counts made the microcircuit 4% faster and a net with few
 * thresholds 1% slower. */
static vly_status choose_ways(vly_backend_net *net,
                              const vly_vulkan_choice *wanted, vly_error *error)
{
    vly_vulkan_shape *shape = &net->shape;
    const char *option = "short=1";
    const char *why = NULL;
    if (net->is_sliced && wanted->is_short != 0 &&
        (wanted->is_short == 1 || !net->is_fused)) {
        why = why_not_short(net);
        shape->is_short = !why;
        why = wanted->is_short == 1 ? why : NULL;
    }
    if (!why && net->is_fused) {
        option = "fused=1";
        why = vly_vulkan_why_not_fused(net);
    }
    shape->keeps = wanted->keeps == VLY_VULKAN_AUTO
                       ? !net->is_sliced && has_thresholds(net->desc)
                       : wanted->keeps;
    if (!why)
        return VLY_OK;
    return vly_support_fail(error, VLY_E_UNSUPPORTED,
                            "%s is not for this net: %s", option, why);
}

vly_status vly_vulkan_plan_choose(vly_backend_net *net,
                                  const vly_vulkan_choice *wanted,
                                  vly_error *error)
{
    vly_status status = VLY_OK;
    net->view->n_sets = vly_common_shift_sets(net->desc, &net->view->set_step);
    const char *why = why_not(net);
    const bool is_asked = wanted->plan == VLY_VULKAN_PLAN_SLICED;
    if (wanted->plan == VLY_VULKAN_PLAN_GLOBAL)
        return choose_ways(net, wanted, error);
    if (!why) {
        choose_fused(net, wanted->fused);
        cut_neurons(net, wanted->copies);
        why = why_not_cut(net);
    }
    if (!why && (is_asked || is_worth_it(net))) {
        uint32_t longest;
        VLY_TRY(find_longest_part(net, &longest, error));
        if (longest > VLY_VULKAN_PART_QUADS * 4)
            why = "a neuron has more than 1,020 synapses in one slice";
    }
    if (is_asked && why)
        return vly_support_fail(error, VLY_E_UNSUPPORTED,
                                "plan=sliced is not for this net: %s", why);
    net->is_sliced = !why && (is_asked || is_worth_it(net));
    if (!net->is_sliced)
        net->view->n_copies = 0;
    net->is_fused &= net->is_sliced;
    status = choose_ways(net, wanted, error);
out:
    return status;
}

/* ---- rows -------------------------------------------------------------- */

/* Neurons of slice s; the last one has fewer. */
static uint32_t slice_neurons(const vly_vulkan_view *view, uint32_t s)
{
    uint32_t left = view->n_neurons - s * view->slice_size;
    return left < view->slice_size ? left : view->slice_size;
}

/* The index of a synapse's accumulator among those of one shift, in a slice of
 * n neurons from `first` on. */
static uint32_t accumulator(const vly_projection_desc *p, bool by_sign,
                            uint64_t j, uint32_t first, uint32_t n)
{
    uint32_t port = by_sign ? (uint32_t)(vly_weight_at(p, j) < 0) : p->port;
    return p->target[j] - first + port * n;
}

/* The first accumulator of the shift of a projection. */
static uint32_t set_of(const vly_backend_net *net, const vly_projection_desc *p,
                       uint32_t n)
{
    uint32_t shift = vly_common_shift(net->desc, p);
    return shift == 0 ? 0
                      : shift / net->view->set_step * net->view->n_ports * n;
}

/* Sets places[s] to the number of the row's synapses in slice s. */
static void count_parts(const vly_backend_net *net,
                        const vly_projection_desc *const *parts, uint32_t n,
                        uint32_t k, uint32_t *places)
{
    memset(places, 0, net->view->n_slices * sizeof *places);
    for (uint32_t i = 0; i < n; i++)
        for (run r = before_row(parts[i], k); next_run(net, parts[i], k, &r);)
            places[r.slice] += (uint32_t)(r.to - r.from);
}

uint32_t vly_vulkan_slice_quads(const vly_backend_net *net,
                                const vly_projection_desc *const *parts,
                                uint32_t n, uint32_t k, uint32_t *places)
{
    const uint32_t each = QUAD_SYNAPSES(net);
    uint32_t quads = 0;
    count_parts(net, parts, n, k, places);
    for (uint32_t s = 0; s < net->view->n_slices; s++)
        quads += (places[s] + each - 1) / each;
    return quads;
}

/* Turns the numbers of synapses of all parts into the index: afterwards
 * places[] holds where each part begins in the row. Returns the row's quads. */
static uint32_t write_entries(const vly_backend_net *net, uint64_t address,
                              uint32_t *places, uint32_t *entries)
{
    const uint32_t n_slices = net->view->n_slices;
    const uint32_t each = QUAD_SYNAPSES(net);
    uint64_t quad = address / QUAD_BYTES;
    uint32_t total = 0;
    for (uint32_t s = 0; s < n_slices; s++) {
        uint8_t *entry = (uint8_t *)entries +
                         s / VLY_VULKAN_INDEX_PARTS * (size_t)QUAD_BYTES;
        uint32_t part = s % VLY_VULKAN_INDEX_PARTS;
        uint32_t n = (places[s] + each - 1) / each;
        if (part == 0) {
            uint64_t first = quad + total;
            for (uint32_t i = 0; i < 6; i++)
                entry[i] = (uint8_t)(first >> (8 * i));
        }
        entry[6 + part] = (uint8_t)n;
        places[s] = each * total;
        total += n;
    }
    return total;
}

/* Writes the synapses of a run; the first goes to place `place` of the row. */
static void write_run(const vly_backend_net *net, const vly_projection_desc *p,
                      run r, uint32_t weights, uint32_t place, uint32_t *row)
{
    uint32_t first = r.slice * net->view->slice_size;
    uint32_t size = slice_neurons(net->view, r.slice);
    uint32_t set = set_of(net, p, size);
    const bool by_sign = vly_common_by_sign(net->desc, p);
    uint16_t *halves = (uint16_t *)(void *)row + place;
    row += place;
    for (uint64_t j = r.from; j < r.to; j++) {
        uint32_t at = set + accumulator(p, by_sign, j, first, size);
        uint32_t weight = (uint16_t)vly_weight_at(p, j);
        uint32_t second = weight != (weights & 0xffff) ? 1 : 0;
        if (net->shape.is_short)
            *halves++ = (uint16_t)(at | second << 15);
        else
            *row++ = at | weight << 16;
    }
}

void vly_vulkan_slice_row(const vly_backend_net *net,
                          const vly_vulkan_group *group,
                          const vly_projection_desc *const *parts, uint32_t n,
                          uint32_t k, uint64_t address,
                          const vly_vulkan_slice_room *room)
{
    uint32_t *places = room->places;
    memset(room->entries, 0, (size_t)net->index_bytes);
    count_parts(net, parts, n, k, places);
    uint32_t n_quads = write_entries(net, address, places, room->entries);
    memset(room->row, net->shape.is_short ? 0xff : 0,
           n_quads * (size_t)QUAD_BYTES);
    for (uint32_t i = 0; i < n; i++)
        for (run r = before_row(parts[i], k); next_run(net, parts[i], k, &r);) {
            write_run(net, parts[i], r, (uint32_t)group->degree,
                      places[r.slice], room->row);
            places[r.slice] += (uint32_t)(r.to - r.from);
        }
}
