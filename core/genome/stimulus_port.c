/* SPDX-License-Identifier: Apache-2.0
 * The port of a stimulus: given, or chosen by the sign of its values.
 */
#include <inttypes.h>

#include "genome/genome_stimulus.h"

vly_status vly_stimulus_port_none(vly_reader *reader,
                                  const vly_stimulus_entry *entry,
                                  const vly_area *area)
{
    if (entry->kind == VLY_STIMULUS_DC)
        return VLY_OK;
    return vly_reader_no_port(reader, entry->node, entry->label, area);
}

/* Conductances have no negative part that noise could add. */
static vly_status check_noise(vly_reader *reader,
                              const vly_stimulus_entry *entry,
                              const vly_stimulus *stimulus)
{
    const vly_area *area = &reader->genome->areas[stimulus->to];
    char mean[VLY_NUMBER_SIZE], sd[VLY_NUMBER_SIZE];
    if (stimulus->kind != VLY_STIMULUS_NORMAL ||
        vly_port_takes_noise(area->model, stimulus->port, stimulus->mean,
                             stimulus->sd))
        return VLY_OK;
    return vly_reader_fail(
        reader, vly_toml_get(entry->node, "sd_ns"),
        "sd_ns is %s with a mean of %s, wanted at most a sixth of it: noise "
        "reaches 6 sd, and a conductance of %s is not added with both signs",
        vly_toml_print_number(stimulus->sd, sd),
        vly_toml_print_number(stimulus->mean, mean), area->name);
}

/* Without a port the sign chooses it, where there are two. */
vly_status vly_stimulus_port_choose(vly_reader *reader,
                                    const vly_stimulus_entry *entry, bool given,
                                    vly_stimulus *stimulus)
{
    const vly_area *area = &reader->genome->areas[stimulus->to];
    double value = stimulus->kind == VLY_STIMULUS_NORMAL ? stimulus->mean
                                                         : stimulus->weight;
    char number[VLY_NUMBER_SIZE];
    if (stimulus->kind == VLY_STIMULUS_DC)
        return VLY_OK;
    if (!given && area->model->n_ports == 2)
        stimulus->port = value < 0.0 ? 1 : 0;
    if (vly_port_takes(area->model, stimulus->port, value))
        return check_noise(reader, entry, stimulus);
    return vly_reader_fail(
        reader, vly_toml_get(entry->node, "port"),
        "port is %u for %s, wanted %s: %s of area %s has %s",
        (unsigned)stimulus->port, vly_toml_print_number(value, number),
        area->model->n_ports > 2 ? "0 or more"
        : stimulus->port         ? "0"
                                 : "1",
        area->model->id, area->name, vly_port_why(area->model));
}
