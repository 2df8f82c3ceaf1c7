/* SPDX-License-Identifier: Apache-2.0
 * Stimuli of kind "pulse" (a train of pulses) and "pattern" (voxels): both
 * become the lists of bursts that a stimulus of kind "spikes" has. A train
 * therefore has to end, and its events are counted with the given spikes.
 */
#include <inttypes.h>

#include "genome/genome_stimulus.h"
#include "genome/genome_value.h"

#define BURSTS_MAX ((uint64_t)1 << 53) /* no run is longer */

/* ---- pulse -------------------------------------------------------------- */

static vly_status read_train(vly_reader *reader, vly_stimulus_entry *entry,
                             vly_pulse *pulse)
{
    const vly_toml_node *node = entry->node;
    const vly_toml_node *count = vly_toml_get(node, "count");
    const vly_toml_node *period = vly_toml_get(node, "period_ms");
    vly_status status;
    pulse->start = entry->start;
    pulse->stop = entry->stop;
    pulse->width = 1;
    period = period ? period : vly_toml_get(node, "period_bursts");
    VLY_TRY(vly_time_read(reader, node, "period_ms", "period_bursts",
                          &pulse->period));
    VLY_TRY(
        vly_time_read(reader, node, "width_ms", "width_bursts", &pulse->width));
    if (count)
        VLY_TRY(vly_value_whole(reader, count, "count", 1, (uint64_t)1 << 53,
                                &pulse->count));
    if (count && !period)
        return vly_reader_fail_key(reader, count,
                                   "count without a period, wanted period_ms "
                                   "or period_bursts");
    if (period && !count && entry->stop == UINT64_MAX)
        return vly_reader_fail_key(reader, period,
                                   "%s without an end, wanted count or stop_ms",
                                   period->key);
    if (pulse->width == 0)
        return vly_reader_fail_key(reader, node,
                                   "%s has pulses of no burst, wanted a width "
                                   "of one at least",
                                   entry->label);
    if (period && pulse->period < pulse->width)
        return vly_reader_fail_key(reader, period,
                                   "%s is %" PRIu64 " bursts, wanted at least "
                                   "the width of a pulse, %" PRIu64,
                                   period->key, pulse->period, pulse->width);
out:
    return status;
}

/* Calls with bursts NULL only count, as far as the limit. */
static uint64_t fill(const vly_pulse *pulse, uint64_t *bursts)
{
    uint64_t n = 0;
    uint64_t n_pulses = pulse->period == 0  ? 1
                        : pulse->count != 0 ? pulse->count
                                            : UINT64_MAX;
    uint64_t begin = pulse->start;
    for (uint64_t k = 0; k < n_pulses && n <= VLY_SPIKES_MAX; k++) {
        if (begin >= pulse->stop || begin > BURSTS_MAX)
            break;
        for (uint64_t i = 0; i < pulse->width && n <= VLY_SPIKES_MAX; i++) {
            if (begin + i >= pulse->stop)
                break;
            if (bursts)
                bursts[n] = begin + i;
            n++;
        }
        begin += pulse->period;
    }
    return n;
}

vly_status vly_pulse_read(vly_reader *reader, vly_stimulus_entry *entry)
{
    vly_status status;
    VLY_TRY(read_train(reader, entry, &entry->pulse));
    uint64_t n = fill(&entry->pulse, NULL);
    if (n > VLY_SPIKES_MAX)
        return vly_reader_fail_key(reader, entry->node,
                                   "%s has more than 2^28 bursts with a pulse, "
                                   "wanted fewer (normal with sd 0 is an input "
                                   "without an end)",
                                   entry->label);
    VLY_TRY(vly_reader_alloc(reader, 1, sizeof(vly_burst_list), &entry->lists));
    VLY_TRY(vly_reader_alloc(reader, (size_t)n, sizeof(uint64_t),
                             &entry->lists[0].bursts));
    entry->lists[0].n = (uint32_t)fill(&entry->pulse, entry->lists[0].bursts);
    entry->n_lists = 1;
    entry->flat = true;
    /* as of a list of spikes, which it is from here on */
    entry->start = 0;
    entry->stop = UINT64_MAX;
out:
    return status;
}

/* ---- pattern ------------------------------------------------------------ */

static vly_status check_voxel(vly_reader *reader, const vly_toml_node *node,
                              const vly_stimulus_entry *entry,
                              const uint32_t at[3])
{
    for (uint32_t i = 0; i < entry->to.n; i++) {
        const vly_area *area = &reader->genome->areas[entry->to.areas[i]];
        if (at[0] < area->voxels[0] && at[1] < area->voxels[1] &&
            at[2] < area->voxels[2])
            continue;
        return vly_reader_fail(reader, node,
                               "voxel [%u, %u, %u], wanted one inside of the "
                               "[%u, %u, %u] of area %s",
                               at[0], at[1], at[2], area->voxels[0],
                               area->voxels[1], area->voxels[2], area->name);
    }
    return VLY_OK;
}

static vly_status read_voxels(vly_reader *reader, const vly_toml_node *node,
                              vly_stimulus_entry *entry)
{
    vly_status status;
    uint64_t number = 0;
    VLY_TRY(vly_reader_alloc(reader, node->n_children, sizeof(*entry->voxels),
                             &entry->voxels));
    for (uint32_t i = 0; i < node->n_children; i++) {
        const vly_toml_node *item = &node->u.children[i];
        if (item->kind != VLY_TOML_ARRAY || item->n_children != 3)
            return vly_reader_wrong(reader, item, "a voxel", "[x, y, z]");
        for (uint32_t j = 0; j < 3; j++) {
            VLY_TRY(vly_value_whole(reader, &item->u.children[j], "a voxel", 0,
                                    VLY_NEURONS_MAX, &number));
            entry->voxels[i][j] = (uint32_t)number;
        }
        VLY_TRY(check_voxel(reader, item, entry, entry->voxels[i]));
    }
    entry->n_voxels = node->n_children;
out:
    return status;
}

vly_status vly_pattern_read(vly_reader *reader, vly_stimulus_entry *entry)
{
    const vly_toml_node *node = vly_toml_get(entry->node, "voxels");
    vly_status status = VLY_OK;
    if (!node)
        return vly_reader_fail_key(reader, entry->node,
                                   "%s has no voxels, kind pattern wants "
                                   "voxels = [[x, y, z], ...]",
                                   entry->label);
    if (node->kind != VLY_TOML_ARRAY || node->n_children == 0 ||
        node->n_children > VLY_PAIRS_MAX)
        return vly_reader_wrong(reader, node, "voxels",
                                "a list of 1 to 65536 [x, y, z]");
    for (uint32_t i = 0; i < entry->to.n; i++) {
        const vly_area *area = &reader->genome->areas[entry->to.areas[i]];
        if (!area->has_voxels)
            return vly_reader_fail_key(reader, entry->node,
                                       "pattern onto area %s, wanted an area "
                                       "with voxels = [x, y, z]",
                                       area->name);
    }
    VLY_TRY(read_voxels(reader, node, entry));
    VLY_TRY(vly_times_read(reader, entry, entry->n_voxels, "voxels"));
out:
    return status;
}
