/* SPDX-License-Identifier: Apache-2.0
 * Rows of the rules between voxels: vectors, patterns, composite and FEAGI's
 * functions (genome/voxel_rule.h).
 *
 * A source voxel has a box of target voxels for each pattern or for the
 * function. The boxes are walked together in the order of the neurons, by the
 * nearest coordinate of any box that is still open on the axes before: so
 * targets ascend without repetition, and the cost is the number of targets
 * times the number of boxes, independent of the size of the areas. Vectors, of
 * which there may be thousands, are sorted instead. randomizer draws: source
 * neuron k takes the voxel below(word k of ":target", voxels).
 */
#include "connectome/synapse_rules.h"

#include "genome/voxel_rule.h"

typedef struct voxel_row {
    const vly_rule_job *job;
    uint32_t source;
    uint32_t *targets; /* NULL: only their number */
    uint32_t n;
    uint32_t at[3];   /* of the source voxel, in its tile if there are tiles */
    uint32_t size[3]; /* of the source, or of a tile */
    vly_axis_set sets[3][VLY_PATTERNS_MAX];
} voxel_row;

/* False: the voxel is in a tile that is left out. */
static bool place_source(voxel_row *row)
{
    const vly_rule_job *job = row->job;
    const vly_tiles *tiles = &job->pair->tiles;
    uint32_t voxel = row->source / job->from->neurons_per_voxel;
    for (int i = 2; i >= 0; i--) {
        row->size[i] = job->from_voxels[i];
        row->at[i] = voxel % row->size[i];
        voxel /= row->size[i];
    }
    if (job->pair->rule != VLY_RULE_COMPOSITE)
        return true;
    for (int i = 0; i < 3; i++) {
        uint32_t tile = row->at[i] / tiles->seed[i];
        uint64_t period = (uint64_t)tiles->choose[i] + tiles->skip[i];
        if (tile >= row->size[i] / tiles->seed[i] ||
            tile % period >= tiles->choose[i])
            return false;
        row->at[i] %= tiles->seed[i];
        row->size[i] = tiles->seed[i];
    }
    return true;
}

static void put_voxel(voxel_row *row, uint32_t voxel)
{
    const vly_rule_job *job = row->job;
    uint32_t first = voxel * job->to->neurons_per_voxel;
    for (uint32_t k = 0; k < job->to->neurons_per_voxel; k++) {
        if (job->no_self && first + k == row->source)
            continue;
        if (row->targets)
            row->targets[row->n] = first + k;
        row->n++;
    }
}

static void put_vectors(voxel_row *row)
{
    const vly_rule_job *job = row->job;
    const uint32_t *size = job->to_voxels;
    for (uint32_t i = 0; i < job->n_vectors; i++) {
        int64_t to[3];
        bool inside = true;
        for (int k = 0; k < 3; k++) {
            to[k] = (int64_t)row->at[k] + job->vectors[i][k];
            inside = inside && to[k] >= 0 && to[k] < size[k];
        }
        if (inside)
            put_voxel(row,
                      ((uint32_t)to[0] * size[1] + (uint32_t)to[1]) * size[2] +
                          (uint32_t)to[2]);
    }
}

static void walk(voxel_row *row, int axis, uint64_t open, uint32_t base)
{
    uint32_t size = row->job->to_voxels[axis];
    for (uint32_t v = 0;; v++) {
        uint64_t here = 0; /* the boxes that have v */
        uint32_t nearest = size;
        for (uint64_t left = open; left; left &= left - 1) {
            const vly_axis_set *set = &row->sets[axis][__builtin_ctzll(left)];
            uint32_t next = vly_axis_next(set, v);
            if (next >= set->hi || next > nearest)
                continue;
            here = next < nearest ? 0 : here;
            here |= left & -left;
            nearest = next;
        }
        if (!here)
            return;
        v = nearest;
        if (axis == 2)
            put_voxel(row, base * size + v);
        else
            walk(row, axis + 1, here, base * size + v);
    }
}

static void put_boxes(voxel_row *row)
{
    const vly_rule_job *job = row->job;
    uint32_t n = vly_voxel_rule_count(job->pair);
    uint64_t open = 0;
    for (uint32_t k = 0; k < n; k++) {
        vly_voxel_rule rule;
        bool any = true;
        vly_voxel_rule_get(job->pair, k, &rule);
        for (int i = 0; i < 3; i++) {
            vly_axis_set *set = &row->sets[i][k];
            uint32_t axis = rule.source_axis[i];
            *set = vly_relation_reach(&rule.axis[i], row->at[axis],
                                      row->size[axis], job->to_voxels[i]);
            any = any && vly_axis_next(set, 0) < set->hi;
        }
        open |= (uint64_t)any << k;
    }
    if (open)
        walk(row, 0, open, 0);
}

uint32_t vly_voxel_row(const vly_rule_job *job, uint32_t source,
                       uint32_t *targets)
{
    voxel_row row;
    row.job = job;
    row.source = source;
    row.targets = targets;
    row.n = 0;
    if (!place_source(&row))
        return 0;
    if (job->mapper == VLY_RULE_VECTORS) {
        put_vectors(&row);
    } else if (job->mapper == VLY_RULE_RANDOMIZER) {
        uint32_t n_voxels = job->n_to / job->to->neurons_per_voxel;
        put_voxel(&row, vly_below(vly_draws_word(&job->target_draws, source),
                                  n_voxels));
    } else {
        put_boxes(&row);
    }
    return row.n;
}
