/* SPDX-License-Identifier: Apache-2.0
 * The weights of a group's synapses, if there are at most two, as in most
 * published networks: then a synapse does not store its own.
 */
#include "vulkan_net.h"

#define SEARCH_TASKS 16u

typedef struct weight_set {
    int16_t weight[2];
    uint32_t n; /* 3: more than two */
} weight_set;

typedef struct weight_search {
    const vly_net_desc *desc;
    uint32_t base_delay;
    uint32_t n_tasks;
    weight_set sets[SEARCH_TASKS];
} weight_search;

static void add_weight(weight_set *set, int16_t weight)
{
    for (uint32_t i = 0; i < set->n && i < 2; i++)
        if (set->weight[i] == weight)
            return;
    if (set->n < 2)
        set->weight[set->n] = weight;
    if (set->n < 3)
        set->n++;
}

/* A share of every projection. */
static void search_task(void *arg, uint32_t task)
{
    weight_search *all = arg;
    weight_set *set = &all->sets[task];
    for (uint32_t i = 0; i < all->desc->n_projections; i++) {
        const vly_projection_desc *p = vly_common_projection_desc(all->desc, i);
        if (p->base_delay != all->base_delay)
            continue;
        uint32_t source_n =
            vly_common_area_desc(all->desc, p->source_area)->n_neurons;
        uint64_t n = p->row[source_n];
        uint64_t each = n / all->n_tasks + 1;
        uint64_t from = each * task < n ? each * task : n;
        uint64_t to = n - from < each ? n : from + each;
        if (!p->weight && from < to)
            add_weight(set, (int16_t)p->one_weight);
        for (uint64_t j = from; p->weight && j < to && set->n < 3; j++)
            add_weight(set, p->weight[j]);
    }
}

bool vly_vulkan_two_weights(const vly_backend_net *net, vly_vulkan_group *group)
{
    weight_search all = {.desc = net->desc,
                         .base_delay = group->base_delay,
                         .n_tasks = SEARCH_TASKS};
    weight_set both = {.n = 0};
    if (vly_support_host->parallel_for(vly_support_host->context, SEARCH_TASKS,
                                       search_task, &all) != VLY_OK)
        for (uint32_t t = 0; t < SEARCH_TASKS; t++)
            search_task(&all, t); /* no threads could be made */
    for (uint32_t t = 0; t < SEARCH_TASKS; t++) {
        for (uint32_t i = 0; i < all.sets[t].n && i < 2; i++)
            add_weight(&both, all.sets[t].weight[i]);
        if (all.sets[t].n > 2)
            return false;
    }
    group->degree = (uint64_t)(uint16_t)both.weight[0] |
                    (uint64_t)(uint16_t)both.weight[1] << 16;
    return both.n <= 2;
}
