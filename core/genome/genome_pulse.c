/* SPDX-License-Identifier: Apache-2.0
 * Stimuli of kind "pulse" (a train of pulses) and "pattern" (voxels): both
 * become a spike source, like a stimulus of kind "spikes". So a train has to
 * end, and its events count as given spikes.
 *
 * Pulse k begins at the rounded value of (start + k period) / dt, so that a
 * period that is not a whole number of bursts does not drift: in double, s =
 * start / dt, p = period / dt (numbers of bursts as they are), P = floor(p),
 *     b(k) = k P + floor((s + k (p - P)) + 0.5).
 * A p within 2^-50 of a whole number, relative, is that number: the roundings
 * of period, dt and quotient add up to less, and 0.3 ms are 3 bursts of 0.1 ms.
 */
#include <inttypes.h>

#include "base/number.h"
#include "genome/genome_stimulus.h"
#include "genome/genome_value.h"
#include "genome/spike_source.h"

/* ---- pulse -------------------------------------------------------------- */

/* Called after vly_time_read has read the pair of keys. */
static vly_status read_moment(vly_reader *reader, const vly_toml_node *table,
                              const char *ms_key, uint64_t bursts,
                              vly_moment *moment)
{
    const vly_toml_node *ms = vly_toml_get(table, ms_key);
    moment->in_ms = ms != NULL;
    moment->number = (double)bursts;
    return ms ? vly_value_number(reader, ms, ms_key, &moment->number) : VLY_OK;
}

static double bursts_of(const vly_moment *moment, double dt_ms)
{
    return moment->in_ms ? moment->number / dt_ms : moment->number;
}

static double period_bursts(const vly_pulse *pulse, double dt_ms)
{
    double period = bursts_of(&pulse->period, dt_ms);
    double whole = vly_floor(period + 0.5);
    double off = period < whole ? whole - period : period - whole;
    return off <= period * 0x1p-50 ? whole : period;
}

/* A period that is not a whole number of bursts is not rounded; the beginning
 * of each pulse is. The note says so. */
static vly_status read_period(vly_reader *reader, const vly_toml_node *table,
                              vly_moment *period)
{
    const vly_toml_node *ms = vly_toml_get(table, "period_ms");
    const vly_toml_node *bursts = vly_toml_get(table, "period_bursts");
    double dt_ms = reader->genome->dt_ms;
    char found[VLY_NUMBER_SIZE], dt[VLY_NUMBER_SIZE];
    uint64_t rounded = 0;
    vly_status status;
    if (!ms || bursts) {
        VLY_TRY(vly_time_read(reader, table, "period_ms", "period_bursts",
                              &rounded));
        return read_moment(reader, table, "period_ms", rounded, period);
    }
    period->in_ms = true;
    VLY_TRY(
        vly_value_ranged(reader, ms, "period_ms", 0, 1e15, &period->number));
    if (!vly_bursts_from_ms(period->number, dt_ms, &rounded))
        return vly_reader_wrong(reader, ms, "period_ms",
                                "a time of at most 2^53 bursts");
    if (vly_value_off_grid(period->number, dt_ms))
        VLY_TRY(vly_reader_note(
            reader, ms,
            "period_ms is %s, no whole number of bursts of dt_ms = %s: each "
            "pulse begins in the nearest burst, intervals differ by one, and "
            "nothing drifts",
            vly_toml_print_number(period->number, found),
            vly_toml_print_number(dt_ms, dt)));
out:
    return status;
}

static vly_status check_period(vly_reader *reader, const vly_toml_node *node,
                               const vly_pulse *pulse)
{
    char number[VLY_NUMBER_SIZE];
    double period = period_bursts(pulse, reader->genome->dt_ms);
    if (vly_floor(period) >= (double)pulse->width)
        return VLY_OK;
    return vly_reader_fail_key(reader, node,
                               "%s is %s bursts, wanted at least the width of "
                               "a pulse, %" PRIu64,
                               node->key, vly_toml_print_number(period, number),
                               pulse->width);
}

static vly_status read_train(vly_reader *reader, vly_stimulus_entry *entry,
                             vly_pulse *pulse)
{
    const vly_toml_node *node = entry->node;
    const vly_toml_node *count = vly_toml_get(node, "count");
    const vly_toml_node *period = vly_toml_get(node, "period_ms");
    vly_status status;
    pulse->stop = entry->stop;
    pulse->width = 1;
    period = period ? period : vly_toml_get(node, "period_bursts");
    VLY_TRY(read_moment(reader, node, "start_ms", entry->start, &pulse->start));
    VLY_TRY(read_period(reader, node, &pulse->period));
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
    if (period)
        VLY_TRY(check_period(reader, period, pulse));
out:
    return status;
}

static void make_train(const vly_pulse *pulse, double dt_ms, vly_train *train)
{
    const double period = period_bursts(pulse, dt_ms);
    *train = (vly_train){.start = bursts_of(&pulse->start, dt_ms),
                         .part = period - vly_floor(period),
                         .whole = vly_count_of(period),
                         .width = pulse->width,
                         .count = pulse->count,
                         .stop = pulse->stop};
}

vly_status vly_pulse_read(vly_reader *reader, vly_stimulus_entry *entry)
{
    vly_train train;
    vly_status status;
    VLY_TRY(read_train(reader, entry, &entry->pulse));
    make_train(&entry->pulse, reader->genome->dt_ms, &train);
    if (vly_train_bursts(&train, VLY_SPIKES_MAX) > VLY_SPIKES_MAX)
        return vly_reader_fail_key(reader, entry->node,
                                   "%s has more than 2^28 bursts with a pulse, "
                                   "wanted fewer (normal with sd 0 is an input "
                                   "without an end)",
                                   entry->label);
    VLY_TRY(vly_spikes_source(reader, entry));
    entry->source->is_train = true;
    entry->source->train = train;
    entry->source->n_bursts = vly_train_bursts(&train, VLY_SPIKES_MAX);
    /* like a list of spikes, which it is from here on */
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
    VLY_TRY(vly_spikes_source(reader, entry));
out:
    return status;
}
