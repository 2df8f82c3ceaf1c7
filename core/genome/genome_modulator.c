/* SPDX-License-Identifier: Apache-2.0
 * What a [plasticity] whose synapses have an eligibility says of its modulator.
 */
#include "genome/genome_modulator.h"

vly_status vly_modulator_refuse(vly_reader *reader, const vly_toml_node *node,
                                const vly_plasticity *of)
{
    const char *ids[2] = {NULL, NULL};
    for (uint32_t i = 0, n = 0; i < vly_plasticity_count() && n < 2; i++)
        if (vly_plasticity_at(i)->modulated)
            ids[n++] = vly_plasticity_at(i)->id;
    return vly_reader_fail_key(
        reader, node,
        "modulator: rule %s has none, wanted it beside rule = "
        "\"%s\"%s%s%s",
        of->info->id, ids[0], ids[1] ? " or \"" : "", ids[1] ? ids[1] : "",
        ids[1] ? "\"" : "");
}

static vly_status check_times(vly_reader *reader, const vly_toml_node *table,
                              const vly_plasticity *of)
{
    const double dt_ms = reader->genome->dt_ms;
    const vly_plasticity_info *info = of->info;
    const char *tau = info->params[info->modulator_tau].name;
    const char *interval = info->params[info->modulator_interval].name;
    const double tau_ms = of->params[info->modulator_tau];
    const double interval_ms = of->params[info->modulator_interval];
    const vly_toml_node *node = vly_toml_get(table, tau);
    char found[VLY_NUMBER_SIZE], dt[VLY_NUMBER_SIZE], most[VLY_NUMBER_SIZE];
    vly_toml_print_number(dt_ms, dt);
    if (vly_trace_bursts(tau_ms, dt_ms) > VLY_TRACE_BURSTS_MAX) {
        vly_toml_print_number(vly_trace_tau_max(dt_ms), most);
        return vly_reader_fail(reader, node ? node : table,
                               "%s is %s, wanted at most %s ms (2^24 bursts "
                               "of dt_ms = %s)",
                               tau, vly_toml_print_number(tau_ms, found), most,
                               dt);
    }
    const double bursts = vly_plasticity_interval(interval_ms, dt_ms);
    node = vly_toml_get(table, interval);
    if (bursts > VLY_INTERVAL_BURSTS_MAX) {
        vly_toml_print_number(dt_ms * VLY_INTERVAL_BURSTS_MAX, most);
        return vly_reader_fail(
            reader, node ? node : table,
            "%s is %s, wanted at most %s ms (2^32 - 1 "
            "bursts of dt_ms = %s)",
            interval, vly_toml_print_number(interval_ms, found), most, dt);
    }
    if (bursts >= 1.0)
        return VLY_OK;
    return vly_reader_fail(reader, node ? node : table,
                           "%s is %s, less than half a burst, wanted at least "
                           "dt_ms = %s",
                           interval, vly_toml_print_number(interval_ms, found),
                           dt);
}

vly_status vly_modulator_read(vly_reader *reader, const vly_toml_node *table,
                              vly_plasticity *to)
{
    const vly_toml_node *node = vly_toml_get(table, "modulator");
    vly_area_list areas = {0};
    vly_status status = VLY_OK;
    to->modulator = VLY_NO_MODULATOR;
    if (!to->info->modulated)
        return VLY_OK;
    VLY_TRY(check_times(reader, table, to));
    if (!node)
        return VLY_OK;
    if (node->kind != VLY_TOML_STRING)
        return vly_reader_wrong(reader, node, "modulator",
                                "the name of an area");
    VLY_TRY(vly_reader_areas(reader, node, "modulator", &areas));
    if (areas.n == 1)
        to->modulator = areas.areas[0];
    else
        status = vly_reader_fail(
            reader, node, "modulator names %u areas, wanted one", areas.n);
out:
    return status;
}

void vly_modulator_resolve(vly_text *text, const vly_reader *reader,
                           const vly_plasticity *of, const vly_origin *origin)
{
    if (of->modulator == VLY_NO_MODULATOR)
        return;
    vly_text_put(text, "modulator = \"%s\"",
                 reader->genome->areas[of->modulator].name);
    vly_text_origin(text, origin, NULL);
}
