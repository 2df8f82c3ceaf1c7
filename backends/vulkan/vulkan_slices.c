/* SPDX-License-Identifier: Apache-2.0
 * The plan sliced: neurons are cut into slices whose inputs fit the shared
 * memory of a work group, and rows by slice. It is for nets whose events all
 * arrive base_delay bursts after their spike, without FEAGI areas, and worth it
 * where a part of a row is long enough to pay for looking it up and events are
 * so many that global atomics would be what bounds a burst.
 */
#include "vulkan_net.h"

#include <string.h>

#define MIN_PART 4u /* synapses of a spike in a slice, in the mean */
#define MIN_SYNAPSES (UINT64_C(1) << 25)
/* Of 2 to 16 copies these were the best for 1 million and 100,000 neurons. */
#define UNIT_GROUPS 2u /* work groups a multiprocessor */
#define MAX_COPIES 8u

/* ---- choosing ---------------------------------------------------------- */

static uint64_t longest_row(const vly_net_desc *desc)
{
    uint32_t longest = 0;
    for (uint32_t id = 0; id < desc->n_neurons; id++)
        longest =
            desc->out_degree[id] > longest ? desc->out_degree[id] : longest;
    return longest;
}

/* Slices as large as fits and as even as can be. */
static void cut_neurons(vly_backend_net *net, uint32_t copies)
{
    vly_vulkan_view *view = net->view;
    uint32_t most = net->shape.sums / view->n_ports;
    most = most < VLY_VULKAN_SLICE_NEURONS ? most : VLY_VULKAN_SLICE_NEURONS;
    most = most > 0 ? most : 1;
    uint32_t n = (view->n_neurons - 1) / most + 1;
    view->slice_size = (view->n_neurons - 1) / n + 1;
    view->n_slices = (view->n_neurons - 1) / view->slice_size + 1;
    if (copies == 0)
        copies = UNIT_GROUPS * net->device->n_units / view->n_slices;
    copies = copies > 0 ? copies : 1;
    copies = copies < MAX_COPIES ? copies : MAX_COPIES;
    view->n_copies = copies;
    net->index_bytes = (view->n_slices + UINT64_C(3)) / 2 * 8;
}

static const char *why_not(const vly_backend_net *net)
{
    const vly_net_desc *desc = net->desc;
    if (net->n_driven < desc->n_neurons)
        return "it has FEAGI areas";
    if (net->view->ring > 1)
        return "delays of one map differ";
    if (desc->n_neurons == 0)
        return "it has no neurons";
    if (longest_row(desc) > VLY_VULKAN_SLICE_ROW)
        return "a neuron has more than 65,535 synapses";
    return NULL;
}

static const char *why_not_cut(const vly_backend_net *net)
{
    const vly_vulkan_view *view = net->view;
    if (net->index_bytes * view->n_neurons > net->device->allocation_max)
        return "its index is larger than the device's blocks of memory";
    if ((uint64_t)view->n_slices * view->n_copies > 65535)
        return "it has more than 65,535 slices";
    return NULL;
}

static int is_worth_it(const vly_backend_net *net)
{
    const vly_net_desc *desc = net->desc;
    uint64_t part = desc->n_synapses / desc->n_neurons / net->view->n_slices;
    return net->device->n_units > 1 && part >= MIN_PART &&
           desc->n_synapses >= MIN_SYNAPSES;
}

vly_status vly_vulkan_plan_choose(vly_backend_net *net, uint32_t plan,
                                  uint32_t copies, vly_error *error)
{
    const char *why = why_not(net);
    if (plan == VLY_VULKAN_PLAN_GLOBAL)
        return VLY_OK;
    if (why == NULL) {
        cut_neurons(net, copies);
        why = why_not_cut(net);
    }
    if (plan == VLY_VULKAN_PLAN_SLICED && why != NULL)
        return vly_common_fail(error, VLY_E_UNSUPPORTED,
                               "plan=sliced is not for this net: %s", why);
    net->is_sliced =
        why == NULL && (plan == VLY_VULKAN_PLAN_SLICED || is_worth_it(net));
    if (!net->is_sliced)
        net->view->n_copies = 0;
    return VLY_OK;
}

/* ---- rows -------------------------------------------------------------- */

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
static int next_run(const vly_backend_net *net, const vly_projection_desc *p,
                    uint32_t k, run *at)
{
    const uint32_t size = net->view->slice_size;
    const uint64_t end = p->row[k + 1];
    uint64_t j = at->to;
    if (j >= end)
        return 0;
    at->from = j;
    at->slice = p->target[j] / size;
    uint64_t bound = (at->slice + UINT64_C(1)) * size;
    while (j < end && p->target[j] < bound)
        j++;
    at->to = j;
    return 1;
}

static uint32_t synapse_word(const vly_projection_desc *p, uint64_t j,
                             uint32_t first)
{
    uint32_t port =
        p->port == VLY_PORT_BY_SIGN ? (uint32_t)(p->weight[j] < 0) : p->port;
    return (p->target[j] - first) | port << 15 |
           (uint32_t)(uint16_t)p->weight[j] << 16;
}

/* Counts into the entry, then from counts to places, then writes: while it
 * writes, the low half of a word of the entry is where the next one goes. */
void vly_vulkan_slice_row(const vly_backend_net *net,
                          const vly_projection_desc *const *parts, uint32_t n,
                          uint32_t k, uint64_t address, uint32_t *row,
                          uint32_t *entry)
{
    const uint32_t n_slices = net->view->n_slices;
    uint32_t *words = entry + 2;
    uint32_t total = 0;
    memset(entry, 0, (size_t)net->index_bytes);
    memcpy(entry, &address, sizeof address);
    for (uint32_t i = 0; i < n; i++)
        for (run r = before_row(parts[i], k); next_run(net, parts[i], k, &r);)
            words[r.slice] += (uint32_t)(r.to - r.from) << 16;
    for (uint32_t s = 0; s < n_slices; s++) {
        uint32_t count = words[s] >> 16;
        words[s] |= total;
        total += count;
    }
    for (uint32_t i = 0; i < n; i++)
        for (run r = before_row(parts[i], k); next_run(net, parts[i], k, &r);) {
            uint32_t first = r.slice * net->view->slice_size;
            uint32_t at = words[r.slice] & 0xffff;
            words[r.slice] += (uint32_t)(r.to - r.from);
            for (uint64_t j = r.from; j < r.to; j++)
                row[at++] = synapse_word(parts[i], j, first);
        }
    for (uint32_t s = 0; s < n_slices; s++)
        words[s] -= words[s] >> 16;
    for (; total % 4 != 0; total++)
        row[total] = 0;
}
