/* SPDX-License-Identifier: Apache-2.0
 * Positions and rule "distance": see genome_space.h. The terms are those of
 * NEST's spatially structured networks.
 */
#include "genome/genome_space.h"

#include <string.h>

#include "base/number.h"
#include "genome/genome_file.h"
#include "genome/genome_keys.h"
#include "genome/genome_value.h"

#define SPACE_MAX 1e9
#define SPACE_MIN 1e-9
#define OPEN 1e30 /* beyond every difference of positions */

static const char *const axes[] = {"x", "y", "z"};
static const char *const draw_names[] = {
    "pairwise_bernoulli", "fixed_in_degree", "fixed_out_degree", NULL};
static const char *const kernel_names[] = {"constant", "gaussian",
                                           "exponential", "linear", NULL};
static const char *const mask_names[] = {"",       "box",  "sphere",
                                         "circle", "ring", NULL};

/* ---- positions ---------------------------------------------------------- */

static vly_status read_positions(vly_reader *reader, const vly_toml_node *node,
                                 vly_area *area)
{
    const vly_key_list list = {"positions", vly_keys_positions, NULL};
    bool by_file = vly_toml_get(node, "file") != NULL;
    vly_status status;
    VLY_TRY(vly_reader_keys(reader, node, &list));
    if (by_file == (vly_toml_get(node, "x") || vly_toml_get(node, "y") ||
                    vly_toml_get(node, "z")))
        return vly_reader_fail_key(reader, node,
                                   "positions with %s, wanted a file with "
                                   "columns x, y, z, or values for x, y, z",
                                   by_file ? "both" : "nothing");
    for (int i = 0; i < 3; i++) {
        const vly_value_spec spec = {.what = axes[i],
                                     .lo = -SPACE_MAX,
                                     .hi = SPACE_MAX,
                                     .neurons = true,
                                     .n = area->n_neurons};
        const vly_toml_node *axis = vly_toml_get(node, axes[i]);
        if (by_file)
            VLY_TRY(
                vly_value_from_file(reader, node, &spec, &area->positions[i]));
        else if (axis)
            VLY_TRY(vly_value_read(reader, axis, &spec, &area->positions[i]));
    }
out:
    return status;
}

vly_status vly_area_positions(vly_reader *reader, const vly_toml_node *node,
                              vly_area *area)
{
    const vly_toml_node *positions = vly_toml_get(node, "positions");
    if (!positions)
        return VLY_OK;
    if (positions->kind != VLY_TOML_TABLE)
        return vly_reader_wrong(reader, positions, "positions",
                                "{ x, y, z } or { file }");
    area->has_positions = true;
    return read_positions(reader, positions, area);
}

/* ---- kernel ------------------------------------------------------------- */

/* Index of the one key of names that the table has; fails for none or two. */
static vly_status only_one(vly_reader *reader, const vly_toml_node *node,
                           const char *const *names, const char *wanted,
                           int *found)
{
    int n = 0;
    for (int i = 0; names[i]; i++)
        if (*names[i] && vly_toml_get(node, names[i])) {
            *found = i;
            n++;
        }
    if (n != 1)
        return vly_reader_fail(reader, node, "%s has %s, wanted one of %s",
                               node->key, n ? "two kinds" : "no kind", wanted);
    return VLY_OK;
}

static vly_status read_kernel(vly_reader *reader, const vly_toml_node *node,
                              vly_space *space)
{
    const vly_key_list list = {"a kernel", vly_keys_kernel, NULL};
    const vly_toml_node *item = NULL;
    int kind = 0;
    vly_status status;
    if (node->kind != VLY_TOML_TABLE)
        return vly_reader_wrong(reader, node, "kernel",
                                "{ gaussian = LENGTH }, constant, exponential "
                                "or linear");
    VLY_TRY(vly_reader_keys(reader, node, &list));
    VLY_TRY(only_one(reader, node, kernel_names,
                     "constant, gaussian, exponential, linear", &kind));
    space->kernel = (vly_kernel_kind)kind;
    item = vly_toml_get(node, kernel_names[kind]);
    if (kind == VLY_KERNEL_CONSTANT)
        VLY_TRY(vly_value_ranged(reader, item, "constant", SPACE_MIN, 1,
                                 &space->amplitude));
    else
        VLY_TRY(vly_value_ranged(reader, item, kernel_names[kind], SPACE_MIN,
                                 SPACE_MAX, &space->length));
    item = vly_toml_get(node, "amplitude");
    if (item && kind == VLY_KERNEL_CONSTANT)
        return vly_reader_fail_key(reader, item,
                                   "amplitude beside constant, wanted one");
    if (item)
        VLY_TRY(vly_value_ranged(reader, item, "amplitude", SPACE_MIN, 1,
                                 &space->amplitude));
    item = vly_toml_get(node, "cutoff");
    if (item)
        VLY_TRY(vly_value_ranged(reader, item, "cutoff", 0, space->amplitude,
                                 &space->cutoff));
out:
    return status;
}

/* ---- mask --------------------------------------------------------------- */

static vly_status read_corner(vly_reader *reader, const vly_toml_node *node,
                              double out[3])
{
    vly_status status = VLY_OK;
    if (node->kind != VLY_TOML_ARRAY || node->n_children != 3)
        return vly_reader_wrong(reader, node, "box", "[x, y, z]");
    for (uint32_t i = 0; i < 3; i++) {
        VLY_TRY(vly_value_ranged(reader, &node->u.children[i], "box",
                                 -SPACE_MAX, SPACE_MAX, &out[i]));
    }
out:
    return status;
}

static vly_status read_box(vly_reader *reader, const vly_toml_node *node,
                           vly_space *space)
{
    vly_status status;
    if (node->kind != VLY_TOML_ARRAY || node->n_children != 2)
        return vly_reader_wrong(reader, node, "box",
                                "[[x, y, z], [x, y, z]]: the lower and the "
                                "upper corner of target - source");
    VLY_TRY(read_corner(reader, &node->u.children[0], space->lo));
    VLY_TRY(read_corner(reader, &node->u.children[1], space->hi));
    for (int i = 0; i < 3; i++)
        if (space->lo[i] > space->hi[i])
            return vly_reader_fail(reader, node,
                                   "box has its upper corner first along %s, "
                                   "wanted the lower one",
                                   axes[i]);
out:
    return status;
}

static vly_status read_ring(vly_reader *reader, const vly_toml_node *node,
                            vly_space *space)
{
    vly_status status;
    if (node->kind != VLY_TOML_ARRAY || node->n_children != 2)
        return vly_reader_wrong(reader, node, "ring", "[inner, outer]");
    VLY_TRY(vly_value_ranged(reader, &node->u.children[0], "ring", 0, SPACE_MAX,
                             &space->inner));
    VLY_TRY(vly_value_ranged(reader, &node->u.children[1], "ring", SPACE_MIN,
                             SPACE_MAX, &space->outer));
    if (!(space->inner < space->outer))
        return vly_reader_fail(reader, node,
                               "ring has its outer radius first, wanted "
                               "[inner, outer]");
out:
    return status;
}

static vly_status read_mask(vly_reader *reader, const vly_toml_node *node,
                            vly_space *space)
{
    const vly_key_list list = {"a mask", vly_keys_mask, NULL};
    int kind = 0;
    vly_status status;
    VLY_TRY(vly_reader_table(reader, node, "mask"));
    VLY_TRY(vly_reader_keys(reader, node, &list));
    VLY_TRY(
        only_one(reader, node, mask_names, "box, sphere, circle, ring", &kind));
    space->mask = (vly_mask_kind)kind;
    const vly_toml_node *item = vly_toml_get(node, mask_names[kind]);
    if (kind == VLY_MASK_BOX)
        return read_box(reader, item, space);
    if (kind == VLY_MASK_RING)
        return read_ring(reader, item, space);
    status = vly_value_ranged(reader, item, mask_names[kind], 0, SPACE_MAX,
                              &space->outer);
out:
    return status;
}

/* ---- the map's keys ----------------------------------------------------- */

static vly_status refuse_keys(vly_reader *reader, const vly_map_entry *map)
{
    static const char *const keys[] = {
        "draw", "degree", "kernel", "mask", "periodic", "slope_delay_ms", NULL};
    for (uint32_t i = 0; i < map->node->n_children; i++) {
        const vly_toml_node *node = &map->node->u.children[i];
        bool ours = strncmp(node->key, "slope_weight", 12) == 0;
        for (int k = 0; keys[k]; k++)
            ours |= strcmp(node->key, keys[k]) == 0;
        if (ours)
            return vly_reader_fail_key(reader, node,
                                       "%.40s: rule %s takes no such key",
                                       node->key, vly_rules[map->rule].name);
    }
    return VLY_OK;
}

static vly_status read_draw(vly_reader *reader, vly_map_entry *map)
{
    const vly_toml_node *node = vly_toml_get(map->node, "draw");
    const vly_toml_node *degree = vly_toml_get(map->node, "degree");
    const char *name = draw_names[0];
    uint64_t number = 0;
    int draw = 0;
    vly_status status = VLY_OK;
    if (node)
        VLY_TRY(vly_reader_string(reader, node, "draw", &name));
    while (draw_names[draw] && strcmp(draw_names[draw], name) != 0)
        draw++;
    if (!draw_names[draw])
        return vly_reader_wrong(reader, node, "draw",
                                "pairwise_bernoulli, fixed_in_degree or "
                                "fixed_out_degree");
    map->space.draw = (vly_space_draw)draw;
    if (!degree == (draw != VLY_SPACE_BERNOULLI))
        return vly_reader_fail_key(
            reader, degree ? degree : map->node, "draw = \"%s\" %s", name,
            degree ? "takes no degree" : "wants a degree: degree = N");
    if (degree)
        VLY_TRY(vly_value_whole(reader, degree, "degree", 0, VLY_NEURONS_MAX,
                                &number));
    map->space.degree = (uint32_t)number;
out:
    return status;
}

/* Probabilities are cut to multiples of 2^-32, which shows in small ones. */
static vly_status note_chances(vly_reader *reader, const vly_toml_node *kernel,
                               const vly_space *space)
{
    const double asked = space->amplitude * 0x1p32;
    const double off = 1.0 - vly_floor(asked) / asked;
    char text[VLY_NUMBER_SIZE];
    if (space->draw != VLY_SPACE_BERNOULLI || off <= 0.001)
        return VLY_OK;
    return vly_reader_note(reader, kernel,
                           "kernel reaches %s, off by %.3g%%: probabilities "
                           "are multiples of 2^-32",
                           vly_toml_print_number(space->amplitude, text),
                           100.0 * off);
}

vly_status vly_map_space(vly_reader *reader, vly_map_entry *map)
{
    vly_space *space = &map->space;
    const vly_toml_node *kernel = vly_toml_get(map->node, "kernel");
    const vly_toml_node *mask = vly_toml_get(map->node, "mask");
    vly_status status;
    if (map->rule != VLY_RULE_DISTANCE)
        return refuse_keys(reader, map);
    space->amplitude = 1;
    VLY_TRY(read_draw(reader, map));
    if (!kernel && space->draw == VLY_SPACE_BERNOULLI)
        return vly_reader_fail_key(reader, map->node,
                                   "%s has no kernel, wanted kernel = { "
                                   "gaussian = LENGTH } or another",
                                   map->label);
    if (kernel)
        VLY_TRY(read_kernel(reader, kernel, space));
    if (kernel)
        VLY_TRY(note_chances(reader, kernel, space));
    if (mask)
        VLY_TRY(read_mask(reader, mask, space));
    VLY_TRY(vly_space_periodic(reader, map));
    VLY_TRY(vly_space_slopes(reader, map));
out:
    return status;
}

/* An area without places for its neurons. */
static const vly_area *bare_of(const vly_genome *genome, const vly_end *end)
{
    for (uint32_t i = 0; i < end->n_parts; i++) {
        const vly_area *area = &genome->areas[end->parts[i].area];
        if (!area->has_voxels && !area->has_positions)
            return area;
    }
    return NULL;
}

vly_status vly_space_check(vly_reader *reader, const vly_map_entry *map,
                           const vly_map_cell *cell)
{
    const vly_area *bare = bare_of(reader->genome, cell->source);
    if (!bare)
        bare = bare_of(reader->genome, cell->target);
    if (bare)
        return vly_reader_fail_key(reader, map->node,
                                   "distance from %s to %s, wanted voxels or "
                                   "positions for area %s",
                                   cell->source->name, cell->target->name,
                                   bare->name);
    if ((map->space.weight_slope != 0 &&
         cell->weight.kind != VLY_VALUE_NUMBER) ||
        (map->space.delay_slope_ms != 0 &&
         cell->delay_ms.kind != VLY_VALUE_NUMBER))
        return vly_reader_fail_key(reader, map->node,
                                   "%s has a slope and a distribution for the "
                                   "same value, wanted a number with a slope",
                                   map->label);
    return VLY_OK;
}

/* ---- reach -------------------------------------------------------------- */

/* Distance from which the kernel is below its cutoff, or too small for a draw
 * of 32 bits. */
static double kernel_reach(const vly_space *space)
{
    double least = space->cutoff / space->amplitude;
    if (space->kernel == VLY_KERNEL_CONSTANT)
        return OPEN;
    if (space->kernel == VLY_KERNEL_LINEAR)
        return space->length;
    least = least > 0x1p-34 ? least : 0x1p-34;
    double steps = -vly_log(least);
    return space->length *
           (space->kernel == VLY_KERNEL_GAUSSIAN ? vly_sqrt(2 * steps) : steps);
}

void vly_space_reach(const vly_space *space, double lo[3], double hi[3])
{
    double reach = kernel_reach(space);
    bool round = space->mask == VLY_MASK_SPHERE || space->mask == VLY_MASK_RING;
    for (int i = 0; i < 3; i++) {
        hi[i] = reach;
        if ((round || (space->mask == VLY_MASK_CIRCLE && i < 2)) &&
            space->outer < hi[i])
            hi[i] = space->outer;
        lo[i] = -hi[i];
        if (space->mask == VLY_MASK_BOX) {
            lo[i] = space->lo[i] > lo[i] ? space->lo[i] : lo[i];
            hi[i] = space->hi[i] < hi[i] ? space->hi[i] : hi[i];
        }
    }
}

double vly_space_synapses(const vly_area *from, const vly_area *to,
                          const vly_space *space)
{
    double lo[3], hi[3];
    double share = 2; /* positions need not be even */
    if (space->draw == VLY_SPACE_IN_DEGREE)
        return (double)space->degree * to->n_neurons;
    if (space->draw == VLY_SPACE_OUT_DEGREE)
        return (double)space->degree * from->n_neurons;
    vly_space_reach(space, lo, hi);
    for (int i = 0; i < 3; i++) {
        double first = 0, last = to->has_voxels ? to->voxels[i] - 1.0 : 0;
        if (to->has_positions)
            vly_value_bounds(&to->positions[i], &first, &last);
        double width = hi[i] - lo[i] + (to->has_positions ? 0 : 1);
        double size = last - first + (to->has_positions ? 0 : 1);
        if (hi[i] < lo[i])
            return 0; /* kernel and mask have nothing in common */
        if (size > 0 && width < size) /* of a flat mask: a guess */
            share *= width > size / 100 ? width / size : 0.01;
    }
    share = share < 1 ? share : 1;
    return share * space->amplitude * from->n_neurons * to->n_neurons;
}

double vly_space_between(const vly_genome *genome, const vly_end *from,
                         const vly_end *to, const vly_space *space)
{
    double sum = 0;
    if (space->draw == VLY_SPACE_IN_DEGREE)
        return (double)space->degree * to->n_neurons;
    if (space->draw == VLY_SPACE_OUT_DEGREE)
        return (double)space->degree * from->n_neurons;
    for (uint32_t i = 0; i < from->n_parts; i++)
        for (uint32_t k = 0; k < to->n_parts; k++) {
            const vly_part *a = &from->parts[i];
            const vly_part *b = &to->parts[k];
            const vly_area *source = &genome->areas[a->area];
            const vly_area *target = &genome->areas[b->area];
            double share = 1;
            if (a->n < source->n_neurons)
                share *= (double)a->n / source->n_neurons;
            if (b->n < target->n_neurons)
                share *= (double)b->n / target->n_neurons;
            sum += share * vly_space_synapses(source, target, space);
        }
    return sum;
}

double vly_space_pair(const vly_genome *genome, const vly_pair *pair)
{
    if (pair->pool)
        return vly_space_between(genome, &pair->pool->from, &pair->pool->to,
                                 &pair->space);
    return vly_space_synapses(&genome->areas[pair->from],
                              &genome->areas[pair->to], &pair->space);
}

/* ---- resolved ----------------------------------------------------------- */

void vly_resolve_positions(vly_text *text, const vly_area *area)
{
    if (!area->has_positions)
        return;
    vly_text_put(text, "positions = {");
    for (int i = 0; i < 3; i++) {
        vly_text_put(text, "%s %s = ", i ? "," : "", axes[i]);
        vly_text_value(text, &area->positions[i]);
    }
    vly_text_put(text, " }\n");
}

static void put_number(vly_text *text, const char *before, double number)
{
    char buffer[VLY_NUMBER_SIZE];
    vly_text_put(text, "%s%s", before, vly_toml_print_number(number, buffer));
}

static void put_three(vly_text *text, const double numbers[3])
{
    for (int i = 0; i < 3; i++)
        put_number(text, i ? ", " : "[", numbers[i]);
    vly_text_put(text, "]");
}

static void put_mask(vly_text *text, const vly_space *space)
{
    if (space->mask == VLY_MASK_NONE)
        return;
    vly_text_put(text, "mask = { %s = ", mask_names[space->mask]);
    if (space->mask == VLY_MASK_BOX) {
        vly_text_put(text, "[");
        put_three(text, space->lo);
        vly_text_put(text, ", ");
        put_three(text, space->hi);
        vly_text_put(text, "]");
    } else if (space->mask == VLY_MASK_RING) {
        put_number(text, "[", space->inner);
        put_number(text, ", ", space->outer);
        vly_text_put(text, "]");
    } else {
        put_number(text, "", space->outer);
    }
    vly_text_put(text, " }\n");
}

void vly_resolve_space(vly_text *text, const vly_genome *genome,
                       const vly_map_entry *map)
{
    const vly_space *space = &map->space;
    const char *suffix = genome->areas[map->cells[0].to].model->ports[0].suffix;
    vly_text_put(text, "draw = \"%s\"\n", draw_names[space->draw]);
    if (space->draw != VLY_SPACE_BERNOULLI)
        vly_text_put(text, "degree = %u\n", space->degree);
    vly_text_put(text, "kernel = { %s", kernel_names[space->kernel]);
    if (space->kernel == VLY_KERNEL_CONSTANT) {
        put_number(text, " = ", space->amplitude);
    } else {
        put_number(text, " = ", space->length);
        put_number(text, ", amplitude = ", space->amplitude);
    }
    put_number(text, ", cutoff = ", space->cutoff);
    vly_text_put(text, " }\n");
    put_mask(text, space);
    vly_text_put(text, "periodic = ");
    put_three(text, space->period);
    put_number(text, "\nslope_delay_ms = ", space->delay_slope_ms);
    vly_text_put(text, "\n");
    if (space->weight_slope == 0)
        return;
    vly_text_put(text, "slope_weight%s%s", *suffix ? "_" : "", suffix);
    put_number(text, " = ", space->weight_slope);
    vly_text_put(text, "\n");
}
