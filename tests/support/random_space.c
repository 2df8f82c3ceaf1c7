/* SPDX-License-Identifier: Apache-2.0
 * Random genomes: rule distance (kernels, masks, periodic edges, positions
 * given or from voxels) and synapses from a file. Only some genomes have them,
 * behind everything else, so that the others are what they were.
 */
#include "random_maker.h"

#include <stdlib.h>

enum {
    SIDE = 12,             /* of the space: the most voxels along an axis */
    SYNAPSES_MOST = 60000, /* about, of a map */
    EDGES_MOST = 120
};

/* ---- positions ---------------------------------------------------------- */

static void put_axis(maker *m, uint32_t n, char name)
{
    uint32_t pick = whole(m, 0, 3);
    put(m, "%c = ", name);
    if (pick == 0) {
        put(m, "%.4g", between(m, 0, SIDE));
    } else if (pick < 3) {
        double lo = between(m, 0, 3);
        put(m, "{ uniform = [%.4g, ", lo);
        put(m, "%.4g] }", between(m, 6, SIDE));
        cover(m, COVER_positions_drawn);
    } else {
        put(m, "[");
        for (uint32_t k = 0; k < n; k++)
            put(m, "%.4g, ", between(m, 0, SIDE));
        put(m, "]");
        cover(m, COVER_positions_listed);
    }
}

/* One more area, of a model that is there. */
static void put_placed_area(maker *m)
{
    const area *like = &m->areas[whole(m, 0, m->n_areas - 1)];
    area *a = &m->areas[m->n_areas];
    *a = (area){
        .model = like->model, .is_round = like->is_round, .per_voxel = 1};
    a->n = whole(m, 4, MAX_ARRAY);
    put_area(m, m->n_areas++);
    put(m, "positions = { ");
    put_axis(m, a->n, 'x');
    put(m, ", ");
    put_axis(m, a->n, 'y');
    if (chance(m, 70)) {
        put(m, ", ");
        put_axis(m, a->n, 'z');
    }
    put(m, " }\n");
}

/* ---- rule distance ------------------------------------------------------ */

/* far: it must reach every neuron */
static void put_kernel(maker *m, double amplitude, bool far)
{
    static const char *const names[] = {"gaussian", "exponential", "linear"};
    uint32_t kind = whole(m, 0, 3);
    cover(m, COVER_kernel_constant + (int)kind);
    if (kind == 0) {
        put(m, "kernel = { constant = %.4g }\n", amplitude);
        return;
    }
    double length = far ? between(m, 4, 9) : between(m, 0.7, 5);
    if (kind == 3)
        length *= far ? 6 : 2;
    put(m, "kernel = { %s = %.4g, amplitude = %.4g", names[kind - 1], length,
        amplitude);
    if (!far && chance(m, 40)) {
        put(m, ", cutoff = %.4g", amplitude * between(m, 0.01, 0.3));
        cover(m, COVER_kernel_cutoff);
    }
    put(m, " }\n");
}

/* own: a difference of 0 must be in it */
static void put_mask(maker *m, bool own)
{
    uint32_t kind = whole(m, 0, 3);
    double radius = whole(m, 0, 1) ? whole(m, 1, 6) : between(m, 1, 6);
    cover(m, COVER_mask_box + (int)kind);
    if (kind == 1) {
        put(m, "mask = { sphere = %.4g }\n", radius);
    } else if (kind == 2) {
        put(m, "mask = { circle = %.4g }\n", radius);
    } else if (kind == 3) {
        double inner = own ? 0 : between(m, 0, 0.9 * radius);
        put(m, "mask = { ring = [%.4g, %.4g] }\n", inner, radius);
    } else {
        put(m, "mask = { box = [[");
        for (int i = 0; i < 3; i++)
            put(m, i ? ", %.4g" : "%.4g", between(m, -5, own ? 0 : 2));
        put(m, "], [");
        for (int i = 0; i < 3; i++)
            put(m, i ? ", %u" : "%u", (unsigned)whole(m, 2, 7));
        put(m, "]] }\n");
    }
}

static void put_periodic(maker *m)
{
    put(m, "periodic = [");
    for (int i = 0; i < 3; i++)
        put(m, i ? ", %u" : "%u",
            chance(m, 30) ? 0u : (unsigned)whole(m, SIDE / 2, SIDE + 2));
    put(m, "]\n");
    cover(m, COVER_edges_periodic);
}

static void put_distance_values(maker *m, int model)
{
    if (model != FEAGI && chance(m, 40)) {
        double weight = strong(model) * between(m, 0.02, 0.2);
        put(m, "weight%s = %.4g\n", suffix(model), weight);
        put(m, "slope_weight%s = %.4g\n", suffix(model),
            weight * between(m, -0.2, 0.1));
        cover(m, COVER_slope_weight);
    } else {
        put_weight(m, model, false);
    }
    if (chance(m, 40)) {
        put(m, "delay_ms = %.6g\n", (m->later + whole(m, 1, 5)) * m->dt_ms);
        put(m, "slope_delay_ms = %.4g\n", between(m, 0.1, 3) * m->dt_ms);
        cover(m, COVER_slope_delay);
    } else {
        put_delay(m);
    }
}

/* A degree wants so many in reach: a wide kernel without a mask, or the neuron
 * itself, once or several times. */
static void put_distance(maker *m, const area *from, const area *to)
{
    static const char *const draws[] = {"pairwise_bernoulli", "fixed_in_degree",
                                        "fixed_out_degree"};
    double pairs = (double)from->n * to->n;
    uint32_t draw = whole(m, 0, 3);
    draw = draw > 2 ? 0 : draw;
    uint32_t n_found = draw == 1 ? from->n : to->n;
    bool itself = from == to && chance(m, 60);
    bool other = from != to || n_found == 1 || itself;
    bool multiple = draw && (itself || chance(m, 50));
    double amplitude = between(m, 0.2, 1);
    if (pairs * amplitude > SYNAPSES_MOST)
        amplitude = SYNAPSES_MOST / pairs;
    put(m, "rule = \"distance\"\ndraw = \"%s\"\n", draws[draw]);
    cover(m, COVER_draw_bernoulli + (int)draw);
    if (draw) {
        uint32_t most = n_found - (other ? 0 : 1);
        put(m, "degree = %u\n",
            (unsigned)whole(m, 1, multiple || most > 8 ? 8 : most));
    }
    put_kernel(m, amplitude, draw && !itself);
    if ((draw == 0 || itself) && chance(m, 60))
        put_mask(m, draw != 0);
    if (chance(m, 40))
        put_periodic(m);
    put(m, "self = %s\n", other ? "true" : "false");
    if (draw)
        put(m, "multiple = %s\n", multiple ? "true" : "false");
    put_distance_values(m, to->model);
}

static bool has_place(const maker *m, uint32_t index)
{
    return m->areas[index].has_voxels || index + 1 == m->n_areas;
}

static uint32_t choose_place(maker *m)
{
    uint32_t index = whole(m, 0, m->n_areas - 1);
    while (!has_place(m, index))
        index++;
    return index;
}

static void put_distance_maps(maker *m)
{
    uint32_t n = whole(m, 1, 3);
    put_placed_area(m);
    for (uint32_t k = 0; k < n; k++) {
        uint32_t from = choose_place(m);
        uint32_t to = chance(m, 40) ? from : choose_place(m);
        put(m, "\n[[map]]\nid = \"near%u\"\nfrom = \"a%u\"\nto = \"a%u\"\n",
            (unsigned)k, (unsigned)from, (unsigned)to);
        put_distance(m, &m->areas[from], &m->areas[to]);
        if (from + 1 < m->n_areas || to + 1 < m->n_areas)
            cover(m, COVER_positions_voxels);
    }
    cover(m, COVER_rule_distance);
}

/* ---- synapses from a file ----------------------------------------------- */

typedef struct edge_kind {
    bool weight;
    bool delay;
    bool in_ms;
    bool multiple;
} edge_kind;

static void put_edge(maker *m, maker *file, const edge_kind *kind, int model,
                     const uint32_t pair[2])
{
    put(file, "%u,%u", (unsigned)pair[0], (unsigned)pair[1]);
    if (kind->weight) {
        double sign = chance(m, 30) ? -1 : 1;
        if (model == FEAGI)
            put(file, ",%.0f", sign * whole(m, 1, 20));
        else
            put(file, ",%.5g", sign * strong(model) * between(m, 0.02, 0.4));
    }
    if (kind->delay) {
        uint32_t delay = m->later + whole(m, 1, 90);
        if (kind->in_ms)
            put(file, ",%.6g", delay * m->dt_ms);
        else
            put(file, ",%u", (unsigned)delay);
    }
    put(file, "\n");
}

/* Pairs upwards by steps, so that none comes twice, written in another order:
 * every other one on the way up, the rest on the way down. */
static void put_edges(maker *m, maker *file, const edge_kind *kind,
                      const area *from, const area *to)
{
    uint64_t pairs = (uint64_t)from->n * to->n;
    uint64_t step = pairs / EDGES_MOST + whole(m, 1, 3);
    uint64_t n = (pairs + step - 1) / step;
    for (uint64_t k = 0; k < n; k++) {
        uint64_t at = 2 * k < n ? 2 * k : 2 * (n - 1 - k) + 1;
        uint64_t which = at * step;
        uint32_t pair[2] = {(uint32_t)(which / to->n),
                            (uint32_t)(which % to->n)};
        put_edge(m, file, kind, to->model, pair);
        if (kind->multiple && chance(m, 20))
            put_edge(m, file, kind, to->model, pair);
    }
}

static void put_file_map(maker *m, char **edges)
{
    uint32_t from = whole(m, 0, m->n_areas - 1);
    uint32_t to = whole(m, 0, m->n_areas - 1);
    int model = m->areas[to].model;
    maker file = {0};
    edge_kind kind = {.weight = chance(m, 70)};
    kind.delay = chance(m, 70);
    kind.in_ms = chance(m, 50);
    kind.multiple = chance(m, 50);
    put(m,
        "\n[[map]]\nid = \"filed\"\nfrom = \"a%u\"\nto = \"a%u\"\n"
        "rule = \"file\"\nfile = \"" RANDOM_EDGES_FILE "\"\nmultiple = %s\n",
        (unsigned)from, (unsigned)to, kind.multiple ? "true" : "false");
    put(&file, "source,target");
    if (kind.weight) {
        const char *unit = suffix(model);
        put(&file, ",weight%s", unit);
        cover(m, COVER_file_weight);
    } else {
        put_weight(m, model, true);
    }
    if (kind.delay) {
        put(&file, kind.in_ms ? ",delay_ms" : ",delay_bursts");
        cover(m, COVER_file_delay);
    } else {
        put_delay(m);
    }
    put(&file, "\n");
    put_edges(m, &file, &kind, &m->areas[from], &m->areas[to]);
    m->failed |= file.failed;
    *edges = file.text;
    cover(m, COVER_rule_file);
}

void put_space_and_file(maker *m, char **edges)
{
    if (chance(m, 40))
        put_distance_maps(m);
    if (chance(m, 20) && edges)
        put_file_map(m, edges);
}
