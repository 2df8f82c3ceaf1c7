/* SPDX-License-Identifier: Apache-2.0
 * Values of a stimulus by neuron (a list, or a column of a file: an image is
 * one stimulus) and over time (lists beside at_ms: steps of a current or rate;
 * functions of time: genome_course.c).
 * A stimulus of the compiler has one value for neurons in a row, so such a
 * stimulus becomes several, one for neurons and times with the same values.
 */
#include <inttypes.h>
#include <string.h>

#include "base/memory.h"
#include "genome/genome_file.h"
#include "genome/genome_stimulus.h"
#include "genome/genome_value.h"

/* ---- windows ------------------------------------------------------------ */

vly_status vly_time_read(vly_reader *reader, const vly_toml_node *table,
                         const char *ms_key, const char *burst_key,
                         uint64_t *out)
{
    const vly_toml_node *ms = vly_toml_get(table, ms_key);
    const vly_toml_node *burst = vly_toml_get(table, burst_key);
    if (ms && burst)
        return vly_reader_fail_key(reader, burst, "both %s and %s, wanted one",
                                   ms_key, burst_key);
    if (ms)
        return vly_value_bursts(reader, ms, ms_key, out);
    if (burst)
        return vly_value_whole(reader, burst, burst_key, 0, (uint64_t)1 << 53,
                               out);
    return VLY_OK;
}

vly_status vly_stimulus_window(vly_reader *reader, vly_stimulus_entry *entry)
{
    vly_status status;
    entry->stop = UINT64_MAX;
    VLY_TRY(vly_time_read(reader, entry->node, "start_ms", "start_burst",
                          &entry->start));
    VLY_TRY(vly_time_read(reader, entry->node, "stop_ms", "stop_burst",
                          &entry->stop));
    if (entry->stop <= entry->start)
        return vly_reader_fail_key(reader, entry->node,
                                   "%s stops in burst %" PRIu64 ", wanted "
                                   "after its start in burst %" PRIu64,
                                   entry->label, entry->stop, entry->start);
out:
    return status;
}

/* ---- values ------------------------------------------------------------- */

/* Of the kinds that have values, not events that are listed. */
static bool has_series(const vly_stimulus_entry *entry)
{
    return entry->kind != VLY_STIMULUS_SPIKES;
}

/* Whether a value is one a neuron. */
static bool is_by_neuron(const vly_stimulus_entry *entry,
                         const vly_toml_node *node)
{
    if (node->kind == VLY_TOML_TABLE)
        return !vly_course_is(node);
    return node->kind == VLY_TOML_ARRAY && entry->to.n == 1 &&
           (entry->n_times == 0 || entry->every) && node->n_children != 1;
}

bool vly_series_key_is(const char *key)
{
    static const char *const stems[] = {"rate_hz", "weight", "mean", "sd",
                                        "amplitude"};
    for (size_t i = 0; i < sizeof(stems) / sizeof(stems[0]); i++) {
        size_t n = strlen(stems[i]);
        if (strncmp(key, stems[i], n) == 0 && (key[n] == 0 || key[n] == '_'))
            return true;
    }
    return false;
}

static vly_status read_times(vly_reader *reader, vly_stimulus_entry *entry,
                             const vly_toml_node *node)
{
    vly_status status;
    bool in_ms = strcmp(node->key, "at_ms") == 0;
    uint64_t n_rounded = 0;
    if (node->kind != VLY_TOML_ARRAY || node->n_children == 0)
        return vly_reader_wrong(reader, node, node->key,
                                "a list of times, each later than the one "
                                "before it");
    VLY_TRY(vly_reader_alloc(reader, node->n_children, sizeof(*entry->times),
                             &entry->times));
    for (uint32_t i = 0; i < node->n_children; i++) {
        const vly_toml_node *item = &node->u.children[i];
        if (in_ms)
            VLY_TRY(vly_value_listed(reader, item, node->key, &entry->times[i],
                                     &n_rounded));
        else
            VLY_TRY(vly_value_whole(reader, item, node->key, 0,
                                    (uint64_t)1 << 53, &entry->times[i]));
        if (i > 0 && entry->times[i] <= entry->times[i - 1])
            return vly_reader_fail(reader, item,
                                   "%s has burst %" PRIu64 " after burst "
                                   "%" PRIu64 ", wanted ascending times",
                                   node->key, entry->times[i],
                                   entry->times[i - 1]);
    }
    entry->n_times = node->n_children;
    status = vly_values_rounded(reader, node, node->key, n_rounded,
                                node->n_children);
out:
    return status;
}

vly_status vly_series_read(vly_reader *reader, vly_stimulus_entry *entry)
{
    const vly_toml_node *ms = vly_toml_get(entry->node, "at_ms");
    const vly_toml_node *bursts = vly_toml_get(entry->node, "at_bursts");
    const vly_toml_node *at = ms ? ms : bursts;
    const vly_toml_node *other = vly_toml_get(entry->node, "start_ms");
    vly_status status = VLY_OK;
    if (!has_series(entry))
        return VLY_OK;
    other = ms && bursts ? bursts
            : other      ? other
                         : vly_toml_get(entry->node, "start_burst");
    if (at && other)
        return vly_reader_fail_key(reader, other, "both %s and %s, wanted one",
                                   at->key, other->key);
    if (at)
        VLY_TRY(read_times(reader, entry, at));
    if (at && entry->stop <= entry->times[entry->n_times - 1])
        return vly_reader_fail_key(reader, entry->node,
                                   "%s stops in burst %" PRIu64
                                   ", wanted after the last of %s, "
                                   "burst %" PRIu64,
                                   entry->label, entry->stop, at->key,
                                   entry->times[entry->n_times - 1]);
    VLY_TRY(vly_course_steps(reader, entry));
    for (uint32_t i = 0; i < entry->node->n_children; i++) {
        const vly_toml_node *node = &entry->node->u.children[i];
        if (!vly_series_key_is(node->key) || !is_by_neuron(entry, node))
            continue;
        entry->by_neuron = true;
        if (entry->to.n != 1)
            return vly_reader_fail(reader, node,
                                   "%s has values by neuron and to has %u "
                                   "areas, wanted one",
                                   node->key, entry->to.n);
    }
out:
    return status;
}

/* A column of a file, or { values = [...] }: by neuron beside at_ms too. */
static vly_status load_table(vly_reader *reader, const vly_toml_node *node,
                             const vly_value_spec *spec, vly_value *value)
{
    const vly_key_list list = {"values by neuron", vly_keys_each, NULL};
    const vly_toml_node *values = vly_toml_get(node, "values");
    vly_status status;
    if (vly_toml_get(node, "file"))
        return vly_value_from_file(reader, node, spec, value);
    if (!values)
        return vly_reader_wrong(reader, node, node->key,
                                "a number, a list, { values }, "
                                "{ file, column }, { sine } or { ramp }");
    VLY_TRY(vly_reader_keys(reader, node, &list));
    if (values->kind != VLY_TOML_ARRAY)
        return vly_reader_wrong(reader, values, "values",
                                "a list of one number a neuron");
    status = vly_value_read(reader, values, spec, value);
out:
    return status;
}

static const char *times_key(const vly_stimulus_entry *entry)
{
    return vly_toml_get(entry->node, "at_ms") ? "at_ms" : "at_bursts";
}

/* A table, or a list of one a neuron or time. */
static vly_status load(vly_reader *reader, const vly_stimulus_entry *entry,
                       const vly_toml_node *node, double lo, double hi,
                       vly_series *series)
{
    const vly_value_spec spec = {
        .what = node->key, .lo = lo, .hi = hi, .neurons = true};
    const uint32_t width = vly_stimulus_width(reader, entry, 0);
    const uint32_t wanted = is_by_neuron(entry, node) ? width : entry->n_times;
    vly_value value = {0};
    vly_status status;
    VLY_TRY(node->kind == VLY_TOML_TABLE
                ? load_table(reader, node, &spec, &value)
                : vly_value_read(reader, node, &spec, &value));
    series->by_neuron = is_by_neuron(entry, node);
    if (value.n_array != wanted) {
        status = vly_reader_fail(
            reader, node, "%s is a list of %u, wanted %u, one %s%s", node->key,
            value.n_array, wanted,
            series->by_neuron ? "a neuron of to" : "a time of ",
            series->by_neuron ? "" : times_key(entry));
        goto out;
    }
    VLY_TRY(vly_reader_alloc(reader, value.n_array, sizeof(double),
                             &series->values));
    memcpy(series->values, value.array, value.n_array * sizeof(double));
    series->n = value.n_array;
out:
    vly_value_deinit(&value);
    return status;
}

vly_status vly_series_number(vly_reader *reader, vly_stimulus_entry *entry,
                             vly_series_key key, const vly_toml_node *node,
                             double lo, double hi, double *out, bool *done)
{
    vly_series *series = &entry->series[key];
    const bool listed =
        node->kind == VLY_TOML_ARRAY && entry->n_times > 0 && entry->every == 0;
    const bool course = vly_course_is(node);
    vly_status status = VLY_OK;
    *done =
        has_series(entry) && (listed || course || is_by_neuron(entry, node));
    if (!*done)
        return VLY_OK;
    if (!series->values)
        VLY_TRY(course ? vly_course_read(reader, entry, node, lo, hi, series)
                       : load(reader, entry, node, lo, hi, series));
    *out =
        series->n == 0
            ? 0
            : series->values[series->by_neuron ? entry->neuron : entry->time];
out:
    return status;
}
