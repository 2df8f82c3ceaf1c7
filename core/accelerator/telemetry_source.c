/* SPDX-License-Identifier: Apache-2.0
 * The table of volley.telemetry/1, checked: its metrics become names in JSON
 * and in Prometheus' text format, so they must be valid in both.
 */
#include "accelerator/telemetry_source.h"

#include <string.h>

#include "base/error.h"
#include "plugin/plugin_check.h"

/* Of the first revision; the header's may grow. */
#define TABLE_BYTES 96u
#define METRIC_BYTES 40u
enum { NAME_BYTES = 80 };

const vly_telemetry_metric *
vly_telemetry_metric_at(const vly_telemetry_source *table, uint32_t index)
{
    const vly_telemetry_metric *metrics = NULL;
    (void)table->metrics(&metrics);
    return (const void *)((const char *)metrics +
                          (size_t)index * table->metric_size);
}

/* [a-z][a-z0-9_]* of less than NAME_BYTES */
static bool is_name(const char *name)
{
    if (!name || name[0] < 'a' || name[0] > 'z')
        return false;
    size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_");
    return name[n] == '\0' && n < NAME_BYTES;
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

/* NULL: no error. Metrics of one name must be adjacent and have the same label:
 * Prometheus has one header for all of them. */
static const char *wrong(const vly_telemetry_source *table, uint32_t i)
{
    const vly_telemetry_metric *metric = vly_telemetry_metric_at(table, i);
    if (!is_name(metric->name) || !metric->help)
        return "has no name or no help";
    if ((!metric->label) != (!metric->value) ||
        (metric->label && (!is_name(metric->label) || !is_name(metric->value))))
        return "has a bad label";
    if (metric->kind > VLY_TELEMETRY_COUNTER)
        return "is of no known kind";
    for (uint32_t j = 0; j < i; j++) {
        const vly_telemetry_metric *other = vly_telemetry_metric_at(table, j);
        if (strcmp(other->name, metric->name) != 0)
            continue;
        if (same_text(other->value, metric->value))
            return "is there twice";
        if (!same_text(other->label, metric->label) ||
            other->kind != metric->kind)
            return "is another label or kind than the one before";
        const vly_telemetry_metric *last =
            vly_telemetry_metric_at(table, i - 1);
        if (strcmp(last->name, metric->name) != 0)
            return "is not next to the other metrics of its name";
    }
    return NULL;
}

static vly_status check_metrics(const vly_telemetry_source *table,
                                vly_error *error)
{
    const vly_telemetry_metric *metrics = NULL;
    const uint32_t n = table->metrics(&metrics);
    if (table->metric_size < METRIC_BYTES || n > VLY_TELEMETRY_METRICS_MAX ||
        (n > 0 && !metrics))
        return vly_fail(error, VLY_E_ABI,
                        "%s: %u metrics of %u bytes, wanted at most %d of at "
                        "least %u",
                        VLY_TELEMETRY_INTERFACE, n, table->metric_size,
                        VLY_TELEMETRY_METRICS_MAX, METRIC_BYTES);
    for (uint32_t i = 0; i < n; i++) {
        const char *what = wrong(table, i);
        if (what)
            return vly_fail(error, VLY_E_ABI, "%s: metric %u %s",
                            VLY_TELEMETRY_INTERFACE, i, what);
    }
    return VLY_OK;
}

vly_status vly_telemetry_check(const void *table, vly_telemetry_source *out,
                               vly_error *error)
{
    vly_telemetry_source copy;
    vly_status status = VLY_OK;
    VLY_TRY(vly_table_copy(&copy, sizeof copy, TABLE_BYTES, table,
                           VLY_TELEMETRY_INTERFACE, error));
    if (!copy.device_count || !copy.device_info || !copy.device_find ||
        !copy.metrics || !copy.sample)
        return vly_fail(error, VLY_E_ABI, "%s: required function %s is missing",
                        VLY_TELEMETRY_INTERFACE,
                        !copy.device_count  ? "device_count"
                        : !copy.device_info ? "device_info"
                        : !copy.device_find ? "device_find"
                        : !copy.metrics     ? "metrics"
                                            : "sample");
    VLY_TRY(check_metrics(&copy, error));
    *out = copy;
out:
    return status;
}

vly_status vly_telemetry_find(const vly_registry *registry, const char *id,
                              vly_telemetry_source *out, vly_error *error)
{
    const void *table = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(vly_registry_interface(registry, id, VLY_TELEMETRY_INTERFACE,
                                   &table, error));
    VLY_TRY(vly_telemetry_check(table, out, error));
out:
    return status;
}
