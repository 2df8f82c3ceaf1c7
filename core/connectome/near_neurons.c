/* SPDX-License-Identifier: Apache-2.0
 * Neurons in reach: see near_neurons.h. The grid only skips pairs that cannot
 * pass: every other pair is decided by the same operations in double, so the
 * result depends neither on the grid nor on the machine.
 */
#include "connectome/near_neurons.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/number.h"
#include "connectome/connectome_make.h"
#include "genome/genome_end.h"

#define TWO_32 4294967296.0
#define SPACE_MAX 1e9
#define BUCKETS_AXIS 1024
/* Buckets along the reach: more of them fit a round mask closer, and cost more
 * to visit. */
#define BUCKETS_REACH 4.0
/* relative to the largest number: more than the rounding errors of a few
 * operations, so that the grid never skips a pair that passes */
#define SLACK 1e-12

/* ---- positions ---------------------------------------------------------- */

static vly_status given_axis(const vly_near *near, const vly_area *area,
                             int axis, double (*positions)[3], vly_error *error)
{
    static const char *const names[] = {"position_x", "position_y",
                                        "position_z"};
    vly_storage scratch = {0};
    vly_param_column column;
    const vly_maker maker = {
        .genome = near->genome, .n_threads = 1, .error = error};
    const vly_value_target target = {.area = area,
                                     .name = names[axis],
                                     .unit = "",
                                     .lo = -SPACE_MAX,
                                     .hi = SPACE_MAX};
    vly_status status = VLY_OK;
    VLY_TRY(vly_value_column(&maker, &scratch, &target, &area->positions[axis],
                             &column));
    for (uint32_t i = 0; i < area->n_neurons; i++)
        positions[i][axis] =
            area->at[axis] + column.values[column.uniform ? 0 : i];
out:
    vly_storage_deinit(&scratch);
    return status;
}

static void voxel_positions(const vly_area *area, double (*positions)[3])
{
    for (uint32_t i = 0; i < area->n_neurons; i++) {
        uint32_t voxel = i / area->neurons_per_voxel;
        for (int axis = 2; axis >= 0; axis--) {
            positions[i][axis] =
                area->at[axis] + (double)(voxel % area->voxels[axis]);
            voxel /= area->voxels[axis];
        }
    }
}

/* Positions of all neurons of an area. */
static vly_status area_positions(const vly_near *near, const vly_area *area,
                                 double (*positions)[3], vly_error *error)
{
    vly_status status = VLY_OK;
    if (area->has_positions)
        for (int axis = 0; axis < 3; axis++)
            VLY_TRY(given_axis(near, area, axis, positions, error));
    else if (area->has_voxels)
        voxel_positions(area, positions);
out:
    return status;
}

/* Those of a part, from an array of the area's. */
static vly_status part_positions(const vly_near *near, const vly_part *part,
                                 double (*positions)[3], vly_error *error)
{
    const vly_area *area = &near->genome->areas[part->area];
    double(*all)[3] = vly_calloc(area->n_neurons, sizeof(*all));
    if (!all)
        return vly_fail_nomem(error, (uint64_t)area->n_neurons * 24,
                              "positions");
    vly_status status = area_positions(near, area, all, error);
    memcpy(positions, all + part->first, part->n * sizeof(*all));
    vly_free(all);
    return status;
}

/* source: the sources' end of the pair, otherwise the targets' */
static vly_status positions_make(const vly_near *near, bool source,
                                 double (**positions)[3], vly_error *error)
{
    const vly_pair *pair = near->pair;
    const vly_area *area = &near->genome->areas[source ? pair->from : pair->to];
    const uint32_t n = source ? vly_pair_sources(near->genome, pair)
                              : vly_pair_targets(near->genome, pair);
    vly_status status = VLY_OK;
    *positions = vly_calloc(n, sizeof(**positions));
    if (!*positions)
        return vly_fail_nomem(error, (uint64_t)n * 24, "positions");
    if (!pair->pool)
        return area_positions(near, area, *positions, error);
    const vly_end *end = source ? &pair->pool->from : &pair->pool->to;
    uint32_t at = 0;
    for (uint32_t i = 0; i < end->n_parts && status == VLY_OK; i++) {
        status = part_positions(near, &end->parts[i], *positions + at, error);
        at += end->parts[i].n;
    }
    return status;
}

/* ---- grid --------------------------------------------------------------- */

static double larger(double a, double b)
{
    return a > b ? a : b;
}

/* x in [0, period], but for rounding */
static double fold(double x, double period)
{
    return x - period * vly_floor(x / period);
}

/* Extent of the grid: of the positions, or of the period. */
static void grid_extent(const vly_near *near, double origin[3], double size[3])
{
    for (int axis = 0; axis < 3; axis++) {
        double period = near->space->period[axis];
        double lo = near->found[0][axis];
        double hi = lo;
        for (uint32_t i = 1; i < near->n_found; i++) {
            double x = near->found[i][axis];
            lo = x < lo ? x : lo;
            hi = x > hi ? x : hi;
        }
        origin[axis] = period > 0.0 ? 0.0 : lo;
        size[axis] = period > 0.0 ? period : hi - lo;
    }
}

static void grid_size(vly_near *near)
{
    double size[3];
    uint64_t total = 1;
    grid_extent(near, near->origin, size);
    for (int axis = 0; axis < 3; axis++) {
        double reach = near->reach_hi[axis] - near->reach_lo[axis];
        double n = vly_floor(BUCKETS_REACH * size[axis] /
                             larger(reach, size[axis] / BUCKETS_AXIS));
        if (!(n >= 1.0))
            n = 1.0;
        near->n_buckets[axis] =
            n < BUCKETS_AXIS ? (uint32_t)n : (uint32_t)BUCKETS_AXIS;
        total *= near->n_buckets[axis];
    }
    /* more buckets than neurons cost more than they save */
    while (total > (uint64_t)near->n_found + 1) {
        int most = 0;
        for (int axis = 1; axis < 3; axis++)
            if (near->n_buckets[axis] > near->n_buckets[most])
                most = axis;
        total /= near->n_buckets[most];
        near->n_buckets[most] /= 2;
        total *= near->n_buckets[most];
    }
    for (int axis = 0; axis < 3; axis++)
        near->edge[axis] = size[axis] / near->n_buckets[axis];
}

/* Bucket along one axis of a place in the grid's own coordinates, not yet
 * within the grid. */
static double bucket_along(const vly_near *near, int axis, double x)
{
    return near->edge[axis] > 0.0 ? vly_floor(x / near->edge[axis]) : 0.0;
}

static uint32_t bucket_of(const vly_near *near, const double place[3])
{
    uint32_t bucket = 0;
    for (int axis = 0; axis < 3; axis++) {
        double period = near->space->period[axis];
        double x = place[axis] - near->origin[axis];
        double at =
            bucket_along(near, axis, period > 0.0 ? fold(x, period) : x);
        double last = near->n_buckets[axis] - 1.0;
        at = at < 0.0 ? 0.0 : at > last ? last : at;
        bucket = bucket * near->n_buckets[axis] + (uint32_t)at;
    }
    return bucket;
}

static vly_status grid_fill(vly_near *near, vly_error *error)
{
    size_t n =
        (size_t)near->n_buckets[0] * near->n_buckets[1] * near->n_buckets[2];
    near->start = vly_calloc(n + 1, sizeof(*near->start));
    near->order = vly_malloc(near->n_found, sizeof(*near->order));
    if (!near->start || !near->order)
        return vly_fail_nomem(error, (n + near->n_found) * 4, "a grid");
    for (uint32_t i = 0; i < near->n_found; i++)
        near->start[bucket_of(near, near->found[i])]++;
    uint32_t sum = 0;
    for (size_t b = 0; b <= n; b++) {
        uint32_t count = near->start[b];
        near->start[b] = sum;
        sum += count;
    }
    for (uint32_t i = 0; i < near->n_found; i++)
        near->order[near->start[bucket_of(near, near->found[i])]++] = i;
    memmove(near->start + 1, near->start, n * sizeof(*near->start));
    near->start[0] = 0;
    return VLY_OK;
}

/* ---- one pair ----------------------------------------------------------- */

/* found - seek turned into target - source */
static void difference(const vly_near *near, const double seek[3],
                       const double found[3], double d[3])
{
    for (int axis = 0; axis < 3; axis++) {
        double period = near->space->period[axis];
        d[axis] = near->backwards ? seek[axis] - found[axis]
                                  : found[axis] - seek[axis];
        if (period > 0.0)
            d[axis] -= period * vly_floor(d[axis] / period + 0.5);
    }
}

static bool in_mask(const vly_space *space, const double d[3], double square)
{
    double flat;
    switch (space->mask) {
    case VLY_MASK_BOX:
        for (int axis = 0; axis < 3; axis++)
            if (!(d[axis] >= space->lo[axis] && d[axis] <= space->hi[axis]))
                return false;
        return true;
    case VLY_MASK_SPHERE:
        return square <= space->outer * space->outer;
    case VLY_MASK_CIRCLE:
        flat = d[0] * d[0] + d[1] * d[1];
        return flat <= space->outer * space->outer;
    case VLY_MASK_RING:
        return square >= space->inner * space->inner &&
               square <= space->outer * space->outer;
    default:
        return true;
    }
}

/* The kernel at a squared distance as a share of its amplitude */
static double kernel_shape(const vly_space *space, double square)
{
    double x;
    switch (space->kernel) {
    case VLY_KERNEL_GAUSSIAN:
        return vly_exp(-0.5 * square / (space->length * space->length));
    case VLY_KERNEL_EXPONENTIAL:
        return vly_exp(-vly_sqrt(square) / space->length);
    case VLY_KERNEL_LINEAR:
        x = 1.0 - vly_sqrt(square) / space->length;
        return larger(x, 0.0);
    default:
        return 1.0;
    }
}

/* Steps of 2^-32 of the kernel, at most 2^32; 0: no synapse can be. */
static double kernel_steps(const vly_space *space, double square)
{
    double shape = kernel_shape(space, square);
    if (shape * space->amplitude < space->cutoff)
        return 0.0;
    if (space->draw == VLY_SPACE_BERNOULLI)
        shape *= space->amplitude;
    return vly_floor(shape * TWO_32);
}

double vly_near_distance(const vly_near *near, uint32_t source, uint32_t target)
{
    double d[3];
    difference(near, near->seek[near->backwards ? target : source],
               near->found[near->backwards ? source : target], d);
    return vly_sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
}

/* ---- a neuron's surroundings -------------------------------------------- */

typedef struct bucket_range {
    uint32_t first;
    uint32_t n; /* from first on, around the end of a periodic axis */
} bucket_range;

static bucket_range range_along(const vly_near *near, int axis, double place)
{
    double period = near->space->period[axis];
    double n = near->n_buckets[axis];
    double x = place - near->origin[axis];
    if (near->reach_hi[axis] < near->reach_lo[axis])
        return (bucket_range){0,
                              0}; /* kernel and mask have nothing in common */
    if (period > 0.0)
        x = fold(x, period);
    double lo = x + near->reach_lo[axis];
    double hi = x + near->reach_hi[axis];
    double slack = SLACK * (larger(lo, -lo) + larger(hi, -hi) +
                            larger(place, -place) + near->edge[axis] * n);
    double first = bucket_along(near, axis, lo - slack);
    double last = bucket_along(near, axis, hi + slack);
    if (period > 0.0) {
        if (!(last - first < n - 1.0))
            return (bucket_range){0, near->n_buckets[axis]};
        uint32_t count = (uint32_t)(last - first) + 1;
        first -= n * vly_floor(first / n);
        return (bucket_range){(uint32_t)first, count};
    }
    if (last < 0.0 || first > n - 1.0) {
        /* positions at the very end stand in the last bucket */
        first = last = last < 0.0 ? 0.0 : n - 1.0;
    }
    first = larger(first, 0.0);
    last = last < n - 1.0 ? last : n - 1.0;
    return (bucket_range){(uint32_t)first, (uint32_t)(last - first) + 1};
}

static uint32_t bucket_list(const vly_near *near, uint32_t seeker,
                            uint32_t bucket, uint64_t *list)
{
    uint32_t n = 0;
    double d[3];
    for (uint32_t i = near->start[bucket]; i < near->start[bucket + 1]; i++) {
        uint32_t id = near->order[i];
        if (near->no_self && id == seeker)
            continue;
        if (near->own && id == near->own[seeker])
            continue;
        difference(near, near->seek[seeker], near->found[id], d);
        double square = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
        if (!in_mask(near->space, d, square))
            continue;
        double steps = kernel_steps(near->space, square);
        if (steps >= 1.0)
            list[n++] = (uint64_t)id << 32 | (uint64_t)(steps - 1.0);
    }
    return n;
}

/* Over the buckets in reach of a neuron. list NULL: only counts the neurons.
 */
static uint32_t visit_buckets(const vly_near *near, uint32_t seeker,
                              uint64_t *list)
{
    bucket_range ranges[3];
    uint32_t n = 0;
    const uint32_t *size = near->n_buckets;
    for (int axis = 0; axis < 3; axis++)
        ranges[axis] = range_along(near, axis, near->seek[seeker][axis]);
    for (uint32_t i = 0; i < ranges[0].n; i++)
        for (uint32_t j = 0; j < ranges[1].n; j++)
            for (uint32_t k = 0; k < ranges[2].n; k++) {
                uint32_t x = (ranges[0].first + i) % size[0];
                uint32_t y = (ranges[1].first + j) % size[1];
                uint32_t z = (ranges[2].first + k) % size[2];
                uint32_t bucket = (x * size[1] + y) * size[2] + z;
                if (list)
                    n += bucket_list(near, seeker, bucket, list + n);
                else
                    n += near->start[bucket + 1] - near->start[bucket];
            }
    return n;
}

uint32_t vly_near_list(const vly_near *near, uint32_t seeker, uint64_t *list)
{
    return visit_buckets(near, seeker, list);
}

/* Scratch memory of the size of the area would limit large areas to one thread.
 */
static void room_find(vly_near *near)
{
    near->room = 1;
    for (uint32_t k = 0; k < near->n_seek && near->room < near->n_found; k++) {
        uint32_t n = visit_buckets(near, k, NULL);
        near->room = n > near->room ? n : near->room;
    }
}

/* ---- life --------------------------------------------------------------- */

vly_status vly_near_create(vly_near **near, const vly_genome *genome,
                           const vly_pair *pair, const vly_near_own *own,
                           vly_error *error)
{
    vly_status status;
    const uint32_t n_from = vly_pair_sources(genome, pair);
    const uint32_t n_to = vly_pair_targets(genome, pair);
    vly_near *made = vly_calloc(1, sizeof(*made));
    if (!made)
        return vly_fail_nomem(error, sizeof(*made), "a rule");
    made->genome = genome;
    made->pair = pair;
    made->space = &pair->space;
    made->backwards = pair->space.draw == VLY_SPACE_IN_DEGREE;
    made->no_self = own->same;
    made->own = made->backwards ? own->source : own->target;
    made->n_seek = made->backwards ? n_to : n_from;
    made->n_found = made->backwards ? n_from : n_to;
    VLY_TRY(positions_make(made, !made->backwards, &made->seek, error));
    VLY_TRY(positions_make(made, made->backwards, &made->found, error));
    vly_space_reach(&pair->space, made->reach_lo, made->reach_hi);
    for (int axis = 0; made->backwards && axis < 3; axis++) {
        double lo = made->reach_lo[axis];
        made->reach_lo[axis] = -made->reach_hi[axis];
        made->reach_hi[axis] = -lo;
    }
    grid_size(made);
    VLY_TRY(grid_fill(made, error));
    room_find(made);
    *near = made;
    made = NULL;
out:
    vly_near_destroy(made);
    return status;
}

void vly_near_destroy(vly_near *near)
{
    if (!near)
        return;
    vly_free(near->seek);
    vly_free(near->found);
    vly_free(near->start);
    vly_free(near->order);
    vly_free(near);
}
