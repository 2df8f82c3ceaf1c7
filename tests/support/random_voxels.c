/* SPDX-License-Identifier: Apache-2.0
 * Random genomes: maps of fixed_out_degree, patterns, composite and FEAGI's
 * functions, between areas that have voxels.
 */
#include "random_genome.h"
#include "random_maker.h"

/* In the order of the coverage table, from rule_projector. */
static const char *const functions[] = {
    "projector",          "projector_xy",       "projector_xz",
    "projector_yz",       "project_from_end_x", "project_from_end_y",
    "project_from_end_z", "block_to_block",     "block_connection",
    "expander_x",         "reducer_x",          "randomizer",
    "lateral_pairs_x",    "last_to_first",      "lateral_+x",
    "lateral_-x",         "lateral_+y",         "lateral_-y",
    "lateral_+z",         "lateral_-z",         "0-0-0_to_all",
    "all_to_0-0-0"};
enum {
    N_FUNCTIONS = COVER_rule_all_to_origin - COVER_rule_projector + 1,
    DENSE_PAIRS = 20000 /* more are not connected all to all */
};
_Static_assert(N_FUNCTIONS == sizeof functions / sizeof functions[0],
               "one a function");

static void put_token(maker *m, uint32_t kind, uint32_t size)
{
    static const char *const signs[] = {"*", "?", "!"};
    if (kind == 3)
        put(m, "%u", (unsigned)whole(m, 0, size));
    else
        put(m, "\"%s\"", signs[kind]);
    if (kind == 1)
        cover(m, COVER_pattern_same);
    if (kind == 2)
        cover(m, COVER_pattern_other);
}

/* Up to three pairs of patterns, told apart by the first coordinate. */
static void put_patterns(maker *m, const area *from, const area *to)
{
    bool sparse = (uint64_t)from->n * to->n > DENSE_PAIRS;
    uint32_t n = whole(m, 1, 3);
    put(m, "patterns = [");
    for (uint32_t k = 0; k < n; k++) {
        uint32_t kinds[2][3];
        for (int axis = 0; axis < 3; axis++) {
            kinds[0][axis] = whole(m, 0, 3);
            kinds[1][axis] = whole(m, 0, 3);
            if (kinds[0][axis] + kinds[1][axis] == 3 &&
                kinds[0][axis] % 3 != 0) /* ? and ! */
                kinds[1][axis] = 0;
            if (sparse) { /* "*" and "?": one target a voxel */
                kinds[0][axis] = 0;
                kinds[1][axis] = 1;
            }
        }
        put(m, "[[");
        if (k > 0) { /* the first may be a sign */
            put(m, "%u", (unsigned)k);
            kinds[1][0] = kinds[1][0] == 2 ? 1 : kinds[1][0];
        } else {
            put_token(m, kinds[0][0] == 3 ? 0 : kinds[0][0], from->voxels[0]);
        }
        for (int axis = 1; axis < 3; axis++) {
            put(m, ", ");
            put_token(m, kinds[0][axis], from->voxels[axis]);
        }
        put(m, "], [");
        for (int axis = 0; axis < 3; axis++) {
            put(m, axis ? ", " : "");
            put_token(m, kinds[1][axis], to->voxels[axis]);
        }
        put(m, "]], ");
    }
    put(m, "]");
}

static void put_composite(maker *m, const area *from, const area *to)
{
    put(m, "rule = \"composite\"\ncomposite = { src_seed = [");
    for (int axis = 0; axis < 3; axis++)
        put(m, axis ? ", %u" : "%u",
            (unsigned)whole(m, 1,
                            from->voxels[axis] < 3 ? from->voxels[axis] : 3));
    put(m, "], src_pattern = [");
    for (int axis = 0; axis < 3; axis++) {
        put(m, axis ? ", [%u" : "[%u", (unsigned)whole(m, 1, 2));
        put(m, ", %u]", (unsigned)whole(m, 0, 2));
    }
    put(m, "], mapper = ");
    uint32_t pick = whole(m, 0, 2);
    if (pick == 0) {
        put(m, "\"%s\" }\n", functions[whole(m, 0, N_FUNCTIONS - 1)]);
    } else {
        put(m, "{ ");
        if (pick == 1)
            put_vectors(m);
        else
            put_patterns(m, from, to);
        put(m, " } }\n");
        cover(m, pick == 1 ? COVER_composite_of_vectors
                           : COVER_composite_of_patterns);
    }
    cover(m, COVER_rule_composite);
}

static void put_out_degree(maker *m, const area *from, const area *to)
{
    bool same = from == to;
    put(m, "rule = \"fixed_out_degree\"\nout_degree = %u\n",
        (unsigned)whole(m, 1, to->n < 12 ? (to->n + 1) / 2 : 12));
    cover(m, COVER_rule_fixed_out_degree);
    put_flags(m, same && to->n > 1, to->n > 1 && !same);
}

static void put_voxel_rule(maker *m, const area *from, const area *to)
{
    uint32_t pick = whole(m, 0, N_FUNCTIONS + 5);
    if (pick < 3) {
        put(m, "rule = \"patterns\"\n");
        put_patterns(m, from, to);
        put(m, "\n");
        cover(m, COVER_rule_patterns);
    } else if (pick < 6) {
        put_composite(m, from, to);
    } else {
        put(m, "rule = \"%s\"\n", functions[pick - 6]);
        cover(m, COVER_rule_projector + (int)pick - 6);
    }
    put_flags(m, from == to, false);
}

void put_more_maps(maker *m, uint32_t index)
{
    uint32_t voxels[MAX_AREAS], n = 0;
    for (uint32_t k = 0; k < m->n_areas; k++)
        if (m->areas[k].has_voxels)
            voxels[n++] = k;
    uint32_t n_maps = n ? whole(m, 2, 6) : 1;
    for (uint32_t k = 0; k < n_maps; k++) {
        bool degree = n == 0 || k == 0;
        uint32_t most = degree ? m->n_areas - 1 : n - 1;
        uint32_t from = whole(m, 0, most);
        uint32_t to = whole(m, 0, most);
        from = degree ? from : voxels[from];
        to = degree ? to : voxels[to];
        put(m, "\n[[map]]\nid = \"m%u\"\nfrom = \"a%u\"\nto = \"a%u\"\n",
            (unsigned)(index + k), (unsigned)from, (unsigned)to);
        if (degree)
            put_out_degree(m, &m->areas[from], &m->areas[to]);
        else
            put_voxel_rule(m, &m->areas[from], &m->areas[to]);
        put_weight(m, m->areas[to].model, true);
        put_delay(m);
    }
}
