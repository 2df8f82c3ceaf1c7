/* SPDX-License-Identifier: Apache-2.0
 * Rule distance over all pairs of neurons, with libm, and files edge by edge:
 * see second_space.h. Positions that are drawn come from the engine's own draws
 * of values; what is nearer to an edge than rounding may fall on either side.
 */
#include "second_space.h"

#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "connectome/connectome_make.h"

/* of a distance: far more than the roundings of a few operations on numbers
 * below 100, far less than between two places of the tests */
#define EDGE 1e-9
/* So far off is one number in 10^9, and no less seldom near a mean of 0, for
 * which one deviation more is allowed. */
#define DEVIATIONS 6.0

typedef double place[3];

typedef struct space_check {
    const vly_genome *genome;
    const vly_pair *pair;
    const vly_space *space;
    const vly_area *from;
    const vly_area *to;
    const second_joined *joined;
    const vly_area_desc *target;
    place *sources;
    place *targets;
    double mean; /* of the number of synapses, and its variance */
    double variance;
    double unsure; /* pairs at an edge: inside or not, all in the same way */
    uint32_t *in;  /* degrees */
} space_check;

/* ---- places ------------------------------------------------------------- */

static bool drawn_axis(const vly_genome *genome, const vly_area *area, int axis,
                       place *places)
{
    static const char *const names[] = {"position_x", "position_y",
                                        "position_z"};
    vly_error error = VLY_ERROR_INIT;
    vly_storage storage = {0};
    vly_param_column column = {0};
    const vly_maker maker = {.genome = genome, .n_threads = 1, .error = &error};
    const vly_value_target target = {
        .area = area, .name = names[axis], .unit = "", .lo = -1e9, .hi = 1e9};
    bool good = vly_value_column(&maker, &storage, &target,
                                 &area->positions[axis], &column) == VLY_OK;
    for (uint32_t i = 0; good && i < area->n_neurons; i++)
        places[i][axis] =
            area->at[axis] + column.values[column.uniform ? 0 : i];
    vly_storage_deinit(&storage);
    return good;
}

static place *places_of(const vly_genome *genome, const vly_area *area)
{
    place *places = calloc(area->n_neurons, sizeof *places);
    bool good = places != NULL;
    for (int axis = 0; good && area->has_positions && axis < 3; axis++)
        good = drawn_axis(genome, area, axis, places);
    for (uint32_t i = 0; good && !area->has_positions && i < area->n_neurons;
         i++) {
        uint32_t v = i / area->neurons_per_voxel;
        places[i][0] = area->at[0] + v / area->voxels[2] / area->voxels[1];
        places[i][1] = area->at[1] + v / area->voxels[2] % area->voxels[1];
        places[i][2] = area->at[2] + v % area->voxels[2];
    }
    if (!good) {
        free(places);
        return NULL;
    }
    return places;
}

/* Target minus source, the shortest way around. */
static double apart(const space_check *c, uint32_t k, uint32_t t, place d)
{
    double square = 0;
    for (int i = 0; i < 3; i++) {
        double period = c->space->period[i];
        d[i] = c->targets[t][i] - c->sources[k][i];
        while (period > 0 && d[i] > period / 2)
            d[i] -= period;
        while (period > 0 && d[i] < -period / 2)
            d[i] += period;
        square += d[i] * d[i];
    }
    return sqrt(square);
}

/* ---- one pair ----------------------------------------------------------- */

/* slack > 0: a larger mask, < 0: a smaller one */
static bool masked(const space_check *c, const place d, double distance,
                   double slack)
{
    const vly_space *s = c->space;
    bool in = true;
    switch (s->mask) {
    case VLY_MASK_BOX:
        for (int i = 0; i < 3; i++) {
            /* half a period away is on both sides */
            bool half =
                s->period[i] > 0 && fabs(fabs(d[i]) - s->period[i] / 2) < EDGE;
            in = in && ((d[i] >= s->lo[i] - slack && d[i] <= s->hi[i] + slack &&
                         !(half && slack < 0)) ||
                        (half && slack > 0));
        }
        return in;
    case VLY_MASK_SPHERE:
        return distance <= s->outer + slack;
    case VLY_MASK_CIRCLE:
        return hypot(d[0], d[1]) <= s->outer + slack;
    case VLY_MASK_RING:
        return distance >= s->inner - slack && distance <= s->outer + slack;
    default:
        return true;
    }
}

static double kernel_at(const vly_space *s, double distance)
{
    double x = distance / s->length;
    double value = s->amplitude;
    if (s->kernel == VLY_KERNEL_GAUSSIAN)
        value *= exp(-x * x / 2);
    else if (s->kernel == VLY_KERNEL_EXPONENTIAL)
        value *= exp(-x);
    else if (s->kernel == VLY_KERNEL_LINEAR)
        value *= x < 1 ? 1 - x : 0;
    return value;
}

/* The pair's probability or share; 0: no synapse can be. *sure: not at an
 * edge. */
static double share(const space_check *c, uint32_t k, uint32_t t, bool *sure)
{
    place d;
    double distance = apart(c, k, t, d);
    double value = kernel_at(c->space, distance);
    *sure = true;
    if (c->from == c->to && !c->pair->self && k == t)
        return 0;
    if (!masked(c, d, distance, EDGE))
        return 0;
    *sure = masked(c, d, distance, -EDGE) &&
            fabs(value - c->space->cutoff) > EDGE && value > EDGE;
    return value >= c->space->cutoff - EDGE ? value : 0;
}

/* ---- values ------------------------------------------------------------- */

/* The stored weight is the nearest whole number of the port's steps, or of a
 * multiple of them. */
static bool weight_is(const space_check *c, uint64_t i, double wanted)
{
    uint32_t port = c->joined->port;
    int64_t stored = c->joined->weight[i];
    if (port == VLY_PORT_BY_SIGN && c->target->n_ports == 2)
        port = stored < 0 || (stored == 0 && wanted < 0);
    double unit =
        c->target->flags & VLY_AREA_FEAGI ? 1 : (double)c->target->scale[port];
    double step = unit * (double)(1u << c->joined->shift[i]);
    return fabs((double)stored * unit - wanted) <=
           0.5 * step + EDGE * fabs(wanted);
}

static uint64_t delay_at(const space_check *c, uint64_t i)
{
    return c->joined->delay[i];
}

static bool slopes_right(const space_check *c, uint64_t i, double distance)
{
    const vly_space *s = c->space;
    double dt = c->genome->dt_ms;
    double delay = c->pair->delay_ms.a + s->delay_slope_ms * distance;
    double off = (double)delay_at(c, i) * dt - delay;
    if (s->weight_slope != 0 &&
        !weight_is(c, i, c->pair->weight.a + s->weight_slope * distance))
        return false;
    return s->delay_slope_ms == 0 || fabs(off) <= 0.5 * dt + EDGE;
}

/* ---- rule distance ------------------------------------------------------ */

/* From *i on: the row's synapses with one target. */
static bool target_right(space_check *c, uint32_t k, uint32_t t, uint64_t *i)
{
    bool sure;
    double p = share(c, k, t, &sure);
    uint64_t n = 0;
    place d;
    double distance = apart(c, k, t, d);
    for (; *i < c->joined->row[k + 1] &&
           c->joined->target[*i] == c->to->first + t;
         ++*i) {
        if (p <= 0 || !slopes_right(c, *i, distance))
            return false;
        n++;
    }
    c->mean += p;
    c->variance += p * (1 - p);
    c->unsure += sure ? 0 : p;
    c->in[t] += (uint32_t)n;
    if (!c->pair->multiple || c->space->draw == VLY_SPACE_BERNOULLI)
        return n <= 1 && (p < 1 || !sure || n == 1 ||
                          c->space->draw != VLY_SPACE_BERNOULLI);
    return true;
}

static bool numbers_right(const space_check *c)
{
    const vly_space *s = c->space;
    double n = (double)c->joined->row[c->from->n_neurons];
    for (uint32_t t = 0; s->draw == VLY_SPACE_IN_DEGREE && t < c->to->n_neurons;
         t++)
        if (c->in[t] != s->degree)
            return false;
    for (uint32_t k = 0;
         s->draw == VLY_SPACE_OUT_DEGREE && k < c->from->n_neurons; k++)
        if (c->joined->row[k + 1] - c->joined->row[k] != s->degree)
            return false;
    return s->draw != VLY_SPACE_BERNOULLI ||
           fabs(n - c->mean) <=
               DEVIATIONS * (sqrt(c->variance) + 1) + c->unsure;
}

static bool distance_right(space_check *c, const char **why)
{
    *why = "targets by distance";
    for (uint32_t k = 0; k < c->from->n_neurons; k++) {
        uint64_t i = c->joined->row[k];
        for (uint32_t t = 0; t < c->to->n_neurons; t++)
            if (!target_right(c, k, t, &i))
                return false;
        if (i != c->joined->row[k + 1])
            return false;
    }
    *why = "numbers of synapses by distance";
    return numbers_right(c);
}

static space_check check_of(const vly_genome *genome,
                            const vly_connectome *connectome, uint32_t index,
                            const second_joined *joined)
{
    const vly_pair *pair = &genome->pairs[index];
    return (space_check){
        .genome = genome,
        .pair = pair,
        .space = &pair->space,
        .from = &genome->areas[pair->from],
        .to = &genome->areas[pair->to],
        .joined = joined,
        .target = &connectome->desc.areas[pair->to],
    };
}

bool second_distance_check(const vly_genome *genome,
                           const vly_connectome *connectome, uint32_t index,
                           const second_joined *joined, const char **why)
{
    space_check c = check_of(genome, connectome, index, joined);
    c.sources = places_of(genome, c.from);
    c.targets = places_of(genome, c.to);
    c.in = calloc(c.to->n_neurons, sizeof *c.in);
    *why = "positions";
    bool right = c.sources && c.targets && c.in && distance_right(&c, why);
    free(c.sources);
    free(c.targets);
    free(c.in);
    return right;
}

/* ---- files -------------------------------------------------------------- */

static bool edge_is(const space_check *c, uint64_t i, uint64_t edge)
{
    const vly_edge_list *edges = c->pair->edges;
    return (!edges->weight || weight_is(c, i, edges->weight[edge])) &&
           (!edges->delay || delay_at(c, i) == edges->delay[edge]);
}

/* Edges [first, last) of one pair of neurons are the synapses of these numbers,
 * in any order. */
static bool same_edges(const space_check *c, uint64_t first, uint64_t last)
{
    bool *taken = calloc(last - first, sizeof *taken);
    bool same = taken != NULL;
    for (uint64_t edge = first; same && edge < last; edge++) {
        uint64_t i = first;
        while (i < last && (taken[i - first] || !edge_is(c, i, edge)))
            i++;
        same = i < last;
        if (same)
            taken[i - first] = true;
    }
    free(taken);
    return same;
}

bool second_file_check(const vly_genome *genome,
                       const vly_connectome *connectome, uint32_t index,
                       const second_joined *joined, const char **why)
{
    const space_check c = check_of(genome, connectome, index, joined);
    const vly_edge_list *edges = c.pair->edges;
    uint32_t k = 0;
    *why = "synapses of the file";
    if (joined->row[c.from->n_neurons] != edges->n)
        return false;
    for (uint64_t i = 0, last; i < edges->n; i = last) {
        while (i >= joined->row[k + 1])
            k++;
        for (last = i;
             last < edges->n && edges->source[last] == edges->source[i] &&
             edges->target[last] == edges->target[i];
             last++)
            if (edges->source[last] != k || last >= joined->row[k + 1] ||
                joined->target[last] != c.to->first + edges->target[last])
                return false;
        if (!same_edges(&c, i, last))
            return false;
    }
    return true;
}
