/* SPDX-License-Identifier: Apache-2.0
 * Stimuli of kind "spikes": lists of times, one a neuron or one for all.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "base/memory.h"
#include "genome/genome_stimulus.h"
#include "genome/genome_value.h"

static vly_status read_list(vly_reader *reader, const vly_toml_node *node,
                            const char *what, bool in_ms, vly_burst_list *list)
{
    vly_status status;
    VLY_TRY(vly_reader_alloc(reader, node->n_children, sizeof(uint64_t),
                             &list->bursts));
    for (uint32_t i = 0; i < node->n_children; i++) {
        const vly_toml_node *item = &node->u.children[i];
        if (in_ms)
            VLY_TRY(vly_value_bursts(reader, item, what, &list->bursts[i]));
        else
            VLY_TRY(vly_value_whole(reader, item, what, 0, (uint64_t)1 << 53,
                                    &list->bursts[i]));
    }
    list->n = node->n_children;
out:
    return status;
}

static vly_status read_neurons(vly_reader *reader, const vly_toml_node *node,
                               vly_stimulus_entry *entry)
{
    vly_status status;
    uint64_t number = 0;
    if (node->kind != VLY_TOML_ARRAY || node->n_children == 0)
        return vly_reader_wrong(reader, node, "neurons",
                                "a list of indexes in the area");
    VLY_TRY(vly_reader_alloc(reader, node->n_children, sizeof(uint32_t),
                             &entry->neurons));
    for (uint32_t i = 0; i < node->n_children; i++) {
        const vly_toml_node *item = &node->u.children[i];
        VLY_TRY(vly_value_whole(reader, item, "neurons", 0, VLY_NEURONS_MAX - 1,
                                &number));
        for (uint32_t j = 0; j < entry->to.n; j++) {
            const vly_area *area = &reader->genome->areas[entry->to.areas[j]];
            if (number >= area->n_neurons)
                return vly_reader_fail(reader, item,
                                       "neuron %" PRIu64 ", wanted 0 to %u of "
                                       "area %s",
                                       number, area->n_neurons - 1, area->name);
        }
        entry->neurons[i] = (uint32_t)number;
    }
    entry->n_neurons = node->n_children;
out:
    return status;
}

vly_status vly_spikes_read(vly_reader *reader, vly_stimulus_entry *entry)
{
    vly_status status;
    const vly_toml_node *neurons = vly_toml_get(entry->node, "neurons");
    const vly_toml_node *times = vly_toml_get(entry->node, "times_ms");
    const vly_toml_node *bursts = vly_toml_get(entry->node, "bursts");
    const vly_toml_node *node = times ? times : bursts;
    const char *what = times ? "times_ms" : "bursts";
    if (!times == !bursts)
        return vly_reader_fail_key(reader, entry->node,
                                   "%s has %s, wanted times_ms or bursts",
                                   entry->label, times ? "both" : "no times");
    if (neurons)
        VLY_TRY(read_neurons(reader, neurons, entry));
    if (node->kind != VLY_TOML_ARRAY)
        return vly_reader_wrong(reader, node, what,
                                "a list, or one list a neuron");
    entry->flat =
        node->n_children == 0 || node->u.children[0].kind != VLY_TOML_ARRAY;
    entry->n_lists = entry->flat ? 1 : node->n_children;
    VLY_TRY(vly_reader_alloc(reader, entry->n_lists, sizeof(vly_burst_list),
                             &entry->lists));
    if (entry->flat)
        return read_list(reader, node, what, times != NULL, &entry->lists[0]);
    if (entry->n_lists != entry->n_neurons)
        return vly_reader_fail(reader, node,
                               "%s has %u lists for %u in neurons, wanted one "
                               "a neuron",
                               what, entry->n_lists, entry->n_neurons);
    for (uint32_t i = 0; i < entry->n_lists; i++) {
        const vly_toml_node *item = &node->u.children[i];
        if (item->kind != VLY_TOML_ARRAY)
            return vly_reader_wrong(reader, item, what, "a list a neuron");
        VLY_TRY(read_list(reader, item, what, times != NULL, &entry->lists[i]));
    }
out:
    return status;
}

typedef struct spike {
    uint64_t burst;
    uint32_t neuron;
} spike;

static int compare_spikes(const void *a, const void *b)
{
    const spike *x = a;
    const spike *y = b;
    if (x->burst != y->burst)
        return x->burst < y->burst ? -1 : 1;
    return (x->neuron > y->neuron) - (x->neuron < y->neuron);
}

static uint64_t count_spikes(const vly_stimulus_entry *entry, uint32_t n)
{
    uint64_t total = 0;
    if (entry->flat)
        return (uint64_t)n * entry->lists[0].n;
    for (uint32_t i = 0; i < entry->n_lists; i++)
        total += entry->lists[i].n;
    return total;
}

static void collect_spikes(const vly_stimulus_entry *entry, uint32_t first,
                           uint32_t n, spike *spikes)
{
    for (uint32_t i = 0; i < n; i++) {
        const vly_burst_list *list = &entry->lists[entry->flat ? 0 : i];
        uint32_t neuron = entry->neurons ? entry->neurons[i] : first + i;
        for (uint32_t j = 0; j < list->n; j++) {
            spikes->burst = list->bursts[j];
            spikes->neuron = neuron;
            spikes++;
        }
    }
}

vly_status vly_spikes_make(vly_reader *reader, const vly_stimulus_entry *entry,
                           vly_stimulus *stimulus)
{
    uint32_t n = entry->neurons ? entry->n_neurons : stimulus->n_neurons;
    uint64_t total = count_spikes(entry, n);
    reader->n_spikes += total;
    if (reader->n_spikes > VLY_SPIKES_MAX)
        return vly_reader_fail_key(reader, entry->node,
                                   "%" PRIu64 " given spikes in all stimuli, "
                                   "wanted at most 2^28",
                                   reader->n_spikes);
    spike *spikes = vly_malloc((size_t)total, sizeof(spike));
    stimulus->bursts = vly_malloc((size_t)total, sizeof(uint64_t));
    stimulus->neurons = vly_malloc((size_t)total, sizeof(uint32_t));
    if (!spikes || !stimulus->bursts || !stimulus->neurons) {
        vly_free(spikes);
        return vly_reader_nomem(reader, total * (sizeof(spike) + 12),
                                "the spikes of a stimulus");
    }
    collect_spikes(entry, stimulus->first, n, spikes);
    qsort(spikes, (size_t)total, sizeof(spike), compare_spikes);
    for (uint64_t i = 0; i < total; i++) {
        stimulus->bursts[i] = spikes[i].burst;
        stimulus->neurons[i] = spikes[i].neuron;
    }
    stimulus->n_spikes = total;
    vly_free(spikes);
    return VLY_OK;
}
