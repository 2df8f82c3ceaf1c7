/* SPDX-License-Identifier: Apache-2.0
 * Values of a stimulus as functions of time: { sine = ... } and { ramp = ... }.
 * They become steps of `every`, as if they were lists beside at_bursts: each
 * step has the value at its middle, so that a step's mean is right to second
 * order and a sine keeps its phase. Time is that of the run, in double and
 * without libm (base/number.h): the same steps on every machine.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "genome/genome_stimulus.h"
#include "genome/genome_value.h"

#define EVERY_MS 1.0

static const struct {
    const char *name;
    const char *what;
    const vly_key *keys;
} kinds[] = {[VLY_COURSE_SINE] = {"sine", "a sine", vly_keys_sine},
             [VLY_COURSE_RAMP] = {"ramp", "a ramp", vly_keys_ramp}};

bool vly_course_is(const vly_toml_node *node)
{
    return node->kind == VLY_TOML_TABLE &&
           (vly_toml_get(node, "sine") || vly_toml_get(node, "ramp"));
}

/* ---- steps -------------------------------------------------------------- */

static const vly_toml_node *find_course(const vly_stimulus_entry *entry)
{
    for (uint32_t i = 0; i < entry->node->n_children; i++) {
        const vly_toml_node *node = &entry->node->u.children[i];
        if (vly_series_key_is(node->key) && vly_course_is(node))
            return node;
    }
    return NULL;
}

/* 1 ms, or a burst if that is longer */
static vly_status read_every(vly_reader *reader, vly_stimulus_entry *entry,
                             const vly_toml_node *every)
{
    vly_status status = VLY_OK;
    if (!every) {
        (void)vly_bursts_from_ms(EVERY_MS, reader->genome->dt_ms,
                                 &entry->every);
        entry->every += entry->every == 0;
        return VLY_OK;
    }
    VLY_TRY(vly_time_read(reader, entry->node, "every_ms", "every_bursts",
                          &entry->every));
    if (entry->every == 0)
        return vly_reader_wrong(reader, every, every->key,
                                "a burst (dt_ms) or more");
out:
    return status;
}

vly_status vly_course_steps(vly_reader *reader, vly_stimulus_entry *entry)
{
    const vly_toml_node *course = find_course(entry);
    const vly_toml_node *every = vly_toml_get(entry->node, "every_ms");
    const vly_toml_node *at = vly_toml_get(entry->node, "at_ms");
    vly_status status;
    every = every ? every : vly_toml_get(entry->node, "every_bursts");
    at = at ? at : vly_toml_get(entry->node, "at_bursts");
    if (!course && !every)
        return VLY_OK;
    if (!course)
        return vly_reader_fail_key(
            reader, every, "%s, but no value is a sine or a ramp", every->key);
    if (at)
        return vly_reader_fail_key(reader, at,
                                   "both %s and a function of time in %s, "
                                   "wanted one",
                                   at->key, course->key);
    if (entry->stop == UINT64_MAX)
        return vly_reader_fail_key(reader, course,
                                   "%s is a function of time, and %s has no "
                                   "stop_ms, wanted its end",
                                   course->key, entry->label);
    VLY_TRY(read_every(reader, entry, every));
    const uint64_t n = (entry->stop - entry->start - 1) / entry->every + 1;
    if (n > VLY_STIMULI_MAX)
        return vly_reader_fail_key(
            reader, course,
            "%s has %" PRIu64 " steps of %" PRIu64 " bursts, wanted at most "
            "%u: a larger every_ms or an earlier stop_ms",
            course->key, n, entry->every, VLY_STIMULI_MAX);
    VLY_TRY(vly_reader_alloc(reader, (size_t)n, sizeof(*entry->times),
                             &entry->times));
    for (uint64_t i = 0; i < n; i++)
        entry->times[i] = entry->start + i * entry->every;
    entry->n_times = (uint32_t)n;
out:
    return status;
}

/* ---- functions ---------------------------------------------------------- */

static vly_status read_sine(vly_reader *reader, const vly_toml_node *node,
                            double numbers[4])
{
    static const char *const names[] = {"mean", "amplitude", "frequency_hz",
                                        "phase_deg"};
    vly_status status = VLY_OK;
    for (uint32_t i = 0; i < 4; i++) {
        const vly_toml_node *item = vly_toml_get(node, names[i]);
        const double most = i < 2 ? 1e12 : 1e6;
        numbers[i] = 0;
        if (!item && (i == 1 || i == 2))
            return vly_reader_fail_key(reader, node,
                                       "a sine has no %s, wanted amplitude and "
                                       "frequency_hz",
                                       names[i]);
        if (item)
            VLY_TRY(vly_value_ranged(reader, item, names[i], i == 2 ? 0 : -most,
                                     most, &numbers[i]));
    }
out:
    return status;
}

static vly_status read_ramp(vly_reader *reader, const vly_stimulus_entry *entry,
                            const vly_toml_node *node, double numbers[4])
{
    static const char *const names[] = {"from", "to", "start_ms", "stop_ms"};
    const double dt_ms = reader->genome->dt_ms;
    vly_status status = VLY_OK;
    numbers[2] = (double)entry->start * dt_ms;
    numbers[3] = (double)entry->stop * dt_ms;
    for (uint32_t i = 0; i < 4; i++) {
        const vly_toml_node *item = vly_toml_get(node, names[i]);
        if (!item && i < 2)
            return vly_reader_fail_key(
                reader, node, "a ramp has no %s, wanted from and to", names[i]);
        if (item)
            VLY_TRY(vly_value_ranged(reader, item, names[i], i < 2 ? -1e12 : 0,
                                     1e12, &numbers[i]));
    }
    if (!(numbers[2] < numbers[3])) {
        char found[VLY_NUMBER_SIZE], before[VLY_NUMBER_SIZE];
        return vly_reader_fail_key(
            reader, node,
            "a ramp stops at %s ms, wanted after its start at %s ms",
            vly_toml_print_number(numbers[3], found),
            vly_toml_print_number(numbers[2], before));
    }
out:
    return status;
}

static double value_at(const vly_course *course, double ms)
{
    const double *a = course->numbers;
    if (course->kind == VLY_COURSE_SINE)
        return a[0] + a[1] * vly_sin_turns(a[2] * (ms / 1000.0) + a[3] / 360.0);
    if (ms <= a[2])
        return a[0];
    return ms >= a[3] ? a[1]
                      : a[0] + (a[1] - a[0]) * ((ms - a[2]) / (a[3] - a[2]));
}

static vly_status read_course(vly_reader *reader,
                              const vly_stimulus_entry *entry,
                              const vly_toml_node *node, vly_course *course)
{
    vly_status status;
    const vly_key_list one = {"a function of time", vly_keys_course, NULL};
    VLY_TRY(vly_reader_keys(reader, node, &one));
    if (node->n_children != 1)
        return vly_reader_fail(reader, node,
                               "%s has a sine and a ramp, wanted one of them",
                               node->key);
    const vly_toml_node *table = &node->u.children[0];
    course->kind =
        strcmp(table->key, "sine") == 0 ? VLY_COURSE_SINE : VLY_COURSE_RAMP;
    const vly_key_list list = {kinds[course->kind].what,
                               kinds[course->kind].keys, NULL};
    VLY_TRY(vly_reader_table(reader, table, table->key));
    VLY_TRY(vly_reader_keys(reader, table, &list));
    status = course->kind == VLY_COURSE_SINE
                 ? read_sine(reader, table, course->numbers)
                 : read_ramp(reader, entry, table, course->numbers);
out:
    return status;
}

vly_status vly_course_read(vly_reader *reader, const vly_stimulus_entry *entry,
                           const vly_toml_node *node, double lo, double hi,
                           vly_series *series)
{
    const double dt_ms = reader->genome->dt_ms;
    double *values = NULL;
    vly_status status;
    VLY_TRY(read_course(reader, entry, node, &series->course));
    VLY_TRY(vly_reader_alloc(reader, entry->n_times, sizeof(double), &values));
    for (uint32_t i = 0; i < entry->n_times; i++) {
        const uint64_t end =
            i + 1 < entry->n_times ? entry->times[i + 1] : entry->stop;
        values[i] = value_at(&series->course,
                             0.5 * (double)(entry->times[i] + end) * dt_ms);
        if (values[i] >= lo && values[i] <= hi)
            continue;
        char what[96];
        snprintf(what, sizeof(what), "%.40s in burst %" PRIu64, node->key,
                 entry->times[i]);
        return vly_value_out_of_range(reader, node, what, values[i], lo, hi,
                                      "");
    }
    series->values = values;
    series->n = entry->n_times;
out:
    return status;
}
