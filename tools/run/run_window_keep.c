/* SPDX-License-Identifier: Apache-2.0
 * Spikes that a [[record]] with a window records.
 */
#include "genome/genome.h"
#include "tools/run/run_record.h"

/* Whether a [[record]] of spikes has neuron k of an area in a burst. */
static bool is_recorded(const vly_genome *genome, uint32_t area, uint32_t k,
                        uint64_t burst)
{
    for (uint32_t r = 0; r < genome->n_records; r++) {
        const vly_record *record = &genome->records[r];
        if (record->kind != VLY_RECORD_SPIKES || record->area != area ||
            burst < record->start || burst >= record->stop)
            continue;
        if (!record->neurons)
            return true;
        uint32_t low = 0;
        uint32_t high = record->n_neurons;
        while (low < high) {
            uint32_t middle = (low + high) / 2;
            if (record->neurons[middle] < k)
                low = middle + 1;
            else
                high = middle;
        }
        if (low < record->n_neurons && record->neurons[low] == k)
            return true;
    }
    return false;
}

/* ids ascend, so the areas do. */
uint32_t run_window_keep(const vly_genome *genome, uint64_t burst,
                         uint32_t *ids, uint32_t n_ids)
{
    uint32_t area = 0;
    uint32_t n = 0;
    for (uint32_t i = 0; i < n_ids; i++) {
        while (ids[i] - genome->areas[area].first >=
               genome->areas[area].n_neurons)
            area++;
        if (is_recorded(genome, area, ids[i] - genome->areas[area].first,
                        burst))
            ids[n++] = ids[i];
    }
    return n;
}
