/* SPDX-License-Identifier: Apache-2.0
 * Rule "distance": slopes, by which weights and delays grow with the distance.
 */
#include <stdio.h>

#include "genome/genome_space.h"
#include "genome/genome_value.h"

#define SLOPE_MAX 1e9

/* A slope of whole bursts gives whole bursts at whole distances; any other one
 * is rounded at almost every distance. */
static vly_status note_slope(vly_reader *reader, const vly_toml_node *node,
                             double slope_ms)
{
    double dt_ms = reader->genome->dt_ms;
    char found[VLY_NUMBER_SIZE], dt[VLY_NUMBER_SIZE], bursts[VLY_NUMBER_SIZE];
    if (!vly_value_off_grid(slope_ms, dt_ms))
        return VLY_OK;
    snprintf(bursts, sizeof bursts, "%.6g", slope_ms / dt_ms);
    return vly_reader_note(reader, node,
                           "slope_delay_ms is %s, %s bursts a unit of "
                           "distance: delays are rounded to whole bursts of "
                           "dt_ms = %s",
                           vly_toml_print_number(slope_ms, found), bursts,
                           vly_toml_print_number(dt_ms, dt));
}

vly_status vly_space_slopes(vly_reader *reader, vly_map_entry *map)
{
    const vly_toml_node *node = vly_toml_get(map->node, "slope_delay_ms");
    vly_space *space = &map->space;
    vly_status status = VLY_OK;
    if (node)
        VLY_TRY(vly_value_ranged(reader, node, "slope_delay_ms", -SLOPE_MAX,
                                 SLOPE_MAX, &space->delay_slope_ms));
    if (node)
        VLY_TRY(note_slope(reader, node, space->delay_slope_ms));
    for (uint32_t i = 0; i < map->n_cells; i++) {
        const vly_model_info *model =
            reader->genome->areas[map->cells[i].to].model;
        VLY_TRY(vly_reader_suffixed(reader, map->node, "slope_weight",
                                    model->ports[0].suffix, model, &node));
        if (node && model->flags & VLY_AREA_FEAGI)
            return vly_reader_fail_key(reader, node,
                                       "slope_weight at a feagi area, wanted "
                                       "one weight: weights there are whole");
    }
    if (node)
        VLY_TRY(vly_value_ranged(reader, node, "slope_weight", -SLOPE_MAX,
                                 SLOPE_MAX, &space->weight_slope));
out:
    return status;
}
