/* SPDX-License-Identifier: Apache-2.0
 * The spikes of a stimulus one by one, for tests that compare them.
 */
#ifndef VOLLEY_TESTS_SUPPORT_SPIKE_LIST_H
#define VOLLEY_TESTS_SUPPORT_SPIKE_LIST_H

#include "genome/spike_source.h"
#include "volley_test.h"

enum { SPIKE_LIST_MOST = 4096 };

typedef struct spike_list {
    uint64_t bursts[SPIKE_LIST_MOST];
    uint32_t neurons[SPIKE_LIST_MOST];
    uint64_t n;
} spike_list;

static inline bool spike_list_add(void *context, uint64_t burst,
                                  uint32_t neuron)
{
    spike_list *list = context;
    assert_true(list->n < SPIKE_LIST_MOST);
    list->bursts[list->n] = burst;
    list->neurons[list->n++] = neuron;
    return true;
}

/* As many as the stimulus says, in their order; valid until the next call. */
static inline const spike_list *spike_list_of(const vly_genome *genome,
                                              const vly_stimulus *stimulus)
{
    static spike_list list;
    list.n = 0;
    assert_true(vly_spikes_walk(genome, stimulus, spike_list_add, &list));
    assert_true(list.n == stimulus->n_spikes);
    for (uint64_t i = 1; i < list.n; i++)
        assert_true(list.bursts[i - 1] < list.bursts[i] ||
                    (list.bursts[i - 1] == list.bursts[i] &&
                     list.neurons[i - 1] <= list.neurons[i]));
    return &list;
}

#endif
