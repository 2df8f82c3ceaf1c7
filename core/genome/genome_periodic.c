/* SPDX-License-Identifier: Apache-2.0
 * Periodic edges of rule "distance". A difference is wrapped to [-period / 2,
 * period / 2), so a mask beyond that range never matches: a box that loses all
 * of an axis is refused, a box that loses a part of it gives a note.
 */
#include "genome/genome_space.h"
#include "genome/genome_value.h"

#define PERIOD_MAX 1e9

static const char *const axes[] = {"x", "y", "z"};

static vly_status area_period(vly_reader *reader, const vly_toml_node *node,
                              uint32_t index, int axis, uint32_t *voxels)
{
    const vly_area *area = &reader->genome->areas[index];
    if (!area->has_voxels || area->has_positions)
        return vly_reader_fail(reader, node,
                               "periodic is true for area %s, which has "
                               "%s, wanted the period of each axis: "
                               "[x, y, z], 0 for one with ends",
                               area->name,
                               area->has_positions ? "positions" : "no voxels");
    if (*voxels && area->voxels[axis] != *voxels)
        return vly_reader_fail(reader, node,
                               "periodic is true for areas of %u and of %u "
                               "voxels along %s, wanted a number: the "
                               "period",
                               *voxels, area->voxels[axis], axes[axis]);
    *voxels = area->voxels[axis];
    return VLY_OK;
}

/* true: as many as all areas of the map have voxels along the axis; 0 for one
 * voxel, where there is nothing to go around. */
static vly_status voxel_period(vly_reader *reader, const vly_toml_node *node,
                               const vly_map_entry *map, int axis, double *out)
{
    uint32_t voxels = 0;
    vly_status status = VLY_OK;
    for (uint32_t i = 0; i < 2 * map->n_cells; i++) {
        const vly_map_cell *cell = &map->cells[i / 2];
        const vly_end *end = i % 2 ? cell->target : cell->source;
        for (uint32_t k = 0; k < end->n_parts; k++)
            VLY_TRY(
                area_period(reader, node, end->parts[k].area, axis, &voxels));
    }
    *out = voxels > 1 ? voxels : 0;
out:
    return status;
}

static vly_status read_axis(vly_reader *reader, const vly_toml_node *node,
                            vly_map_entry *map, int axis)
{
    double *out = &map->space.period[axis];
    if (node->kind != VLY_TOML_BOOL)
        return vly_value_ranged(reader, node, "periodic", 0, PERIOD_MAX, out);
    *out = 0;
    return node->u.boolean ? voxel_period(reader, node, map, axis, out)
                           : VLY_OK;
}

/* half: differences reach from -half up to, but without, half */
static vly_status check_box(vly_reader *reader, const vly_toml_node *mask,
                            const vly_space *space, int axis)
{
    double half = 0.5 * space->period[axis];
    double lo = space->lo[axis];
    double hi = space->hi[axis];
    char a[VLY_NUMBER_SIZE], b[VLY_NUMBER_SIZE];
    char whole[VLY_NUMBER_SIZE], part[VLY_NUMBER_SIZE];
    const vly_toml_node *box = vly_toml_get(mask, "box");
    if ((lo >= -half && hi < half) || (lo <= -half && hi >= half))
        return VLY_OK;
    vly_toml_print_number(lo, a);
    vly_toml_print_number(hi, b);
    vly_toml_print_number(space->period[axis], whole);
    vly_toml_print_number(half, part);
    if (lo >= half || hi < -half)
        return vly_reader_fail(reader, box,
                               "box is from %s to %s along %s, where nothing "
                               "lies: with a period of %s target - source "
                               "goes the shorter way, -%s to less than %s",
                               a, b, axes[axis], whole, part, part);
    return vly_reader_note(reader, box,
                           "box is from %s to %s along %s: with a period of %s "
                           "target - source goes the shorter way, -%s to less "
                           "than %s, and what is further is left out",
                           a, b, axes[axis], whole, part, part);
}

vly_status vly_space_periodic(vly_reader *reader, vly_map_entry *map)
{
    const vly_toml_node *node = vly_toml_get(map->node, "periodic");
    const vly_toml_node *mask = vly_toml_get(map->node, "mask");
    bool listed = node && node->kind == VLY_TOML_ARRAY && node->n_children == 3;
    vly_status status = VLY_OK;
    if (!node)
        return VLY_OK;
    if (!listed && node->kind != VLY_TOML_BOOL)
        return vly_reader_wrong(reader, node, "periodic",
                                "true, or [x, y, z]: the period of each axis, "
                                "0 for one with ends");
    for (int i = 0; i < 3; i++)
        VLY_TRY(
            read_axis(reader, listed ? &node->u.children[i] : node, map, i));
    for (int i = 0; i < 3; i++)
        if (map->space.mask == VLY_MASK_BOX && map->space.period[i] > 0)
            VLY_TRY(check_box(reader, mask, &map->space, i));
out:
    return status;
}
