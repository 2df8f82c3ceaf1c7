/* SPDX-License-Identifier: Apache-2.0
 * Stimuli as integers: thresholds from which one word draws k, and base + k
 * step in units of 2^-q.
 *
 * Poisson: masses p(k + 1) = p(k) mean / (k + 1) from p(0) = exp(-mean), a
 * normal number for every mean whose table fits 256 entries. Bernoulli: one
 * threshold, 2^32 (1 - rate dt) to the nearest whole number. Normal: clipped at
 * 6 standard deviations, on a grid of at most 241 whole numbers: its step is
 * the smallest for which 120 steps to a side reach the clip. The mass of a cell
 * is its part inside the clip. The table's sd is then sqrt(sd^2 + step^2 / 12),
 * at most 0.05% above sd for an sd of 20 units or more.
 */
#include "connectome/connectome_make.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/number.h"

#define TABLE_MAX 256
#define CDF_END (1.0 - 1.0 / 8589934592.0) /* 1 - 2^-33 */
#define TWO_32 4294967296.0
#define GRID_PER_SD 20.0
#define GRID_HALF 120.0 /* 6 sd */
#define GRID_SDS 6.0

typedef struct stimulus_grid {
    uint32_t thresholds[TABLE_MAX];
    uint32_t n;
    double base; /* whole numbers, perhaps too large for an integer */
    double step;
} stimulus_grid;

double vly_weight_scaled(double weight, int32_t q)
{
    return vly_floor(weight * vly_power_of_two(q) + 0.5);
}

static bool poisson_fill(stimulus_grid *grid, double mean)
{
    double mass = vly_exp(-mean);
    double below = mass;
    grid->n = 0;
    while (below < CDF_END) {
        if (grid->n == TABLE_MAX)
            return false;
        grid->thresholds[grid->n++] = (uint32_t)vly_floor(TWO_32 * below);
        mass = mass * mean / (double)grid->n;
        below += mass;
    }
    return true;
}

/* No threshold if the probability is below 2^-33. */
static void bernoulli_fill(stimulus_grid *grid, double chance)
{
    double below = vly_floor(TWO_32 * (1.0 - chance) + 0.5);
    grid->n = 0;
    if (below < TWO_32)
        grid->thresholds[grid->n++] = below > 0.0 ? (uint32_t)below : 0;
}

/* Share of the clipped distribution below z standard deviations, times 2^32 */
static double normal_below(double z)
{
    double from = vly_normal_cdf(-GRID_SDS);
    double to = vly_normal_cdf(GRID_SDS);
    if (z <= -GRID_SDS)
        return 0.0;
    if (z >= GRID_SDS)
        return TWO_32;
    return vly_floor(TWO_32 * ((vly_normal_cdf(z) - from) / (to - from)));
}

static void normal_fill(stimulus_grid *grid, double mean, double sd)
{
    grid->step = -vly_floor(-sd / GRID_PER_SD);
    if (grid->step < 1.0)
        grid->step = 1.0;
    double half = -vly_floor(-GRID_SDS * sd / grid->step);
    if (half > GRID_HALF)
        half = GRID_HALF;
    double first = vly_floor(mean + 0.5) - half * grid->step;
    grid->base = first;
    grid->n = 0;
    for (uint32_t k = 0; k < (uint32_t)(2.0 * half); k++) {
        double edge = first + ((double)k + 0.5) * grid->step;
        double below = normal_below((edge - mean) / sd);
        if (below >= TWO_32) /* the cells from here on have no mass */
            break;
        if (below == 0.0) /* the cells up to here have no mass */
            grid->base = first + ((double)k + 1.0) * grid->step;
        else
            grid->thresholds[grid->n++] = (uint32_t)below;
    }
}

static vly_status grid_make(const vly_connectome_stimulus *stimulus,
                            double dt_ms, int32_t q, stimulus_grid *grid,
                            vly_error *error)
{
    memset(grid, 0, sizeof(*grid));
    if (stimulus->kind == VLY_STIMULUS_NORMAL) {
        double scale = vly_power_of_two(q);
        double sd = stimulus->sd * scale;
        if (!(stimulus->sd >= 0.0) || !(sd < 1e300))
            return vly_fail(error, VLY_E_INVALID,
                            "stimulus %s: sd is %.9g, wanted 0 or more",
                            stimulus->id, stimulus->sd);
        normal_fill(grid, stimulus->mean * scale, sd);
        return VLY_OK;
    }
    double mean = stimulus->rate_hz * dt_ms / 1000.0;
    if (!(mean >= 0.0))
        return vly_fail(error, VLY_E_INVALID,
                        "stimulus %s: rate_hz is %.9g, wanted 0 or more",
                        stimulus->id, stimulus->rate_hz);
    grid->step = vly_weight_scaled(stimulus->weight, q);
    if (stimulus->kind == VLY_STIMULUS_BERNOULLI) {
        if (!(mean <= VLY_CHANCE_MAX))
            return vly_fail(error, VLY_E_PARSE,
                            "stimulus %s: rate_hz is %.9g, wanted at most "
                            "%.9g: one event a burst of %.9g ms",
                            stimulus->id, stimulus->rate_hz, 1000.0 / dt_ms,
                            dt_ms);
        bernoulli_fill(grid, mean);
        return VLY_OK;
    }
    if (mean > 2.0 * TABLE_MAX || !poisson_fill(grid, mean))
        return vly_fail(error, VLY_E_PARSE,
                        "stimulus %s: a rate of %.9g/s is a mean of %.9g "
                        "events a burst; its table would need more than %d "
                        "entries (wanted a mean of at most about 170)",
                        stimulus->id, stimulus->rate_hz, mean, TABLE_MAX);
    return VLY_OK;
}

static double magnitude(double x)
{
    return x < 0.0 ? -x : x;
}

/* The largest |base + k step|. A table of events without entries counts as one
 * event: the rate may rise while the net runs. */
static double grid_reach(const stimulus_grid *grid, vly_stimulus_kind kind)
{
    uint32_t n = grid->n;
    if (n == 0 && kind != VLY_STIMULUS_NORMAL)
        n = 1;
    double one = magnitude(grid->base);
    double other = magnitude(grid->base + n * grid->step);
    return one > other ? one : other;
}

/* Mean and deviation of the draws from the grid. */
static void grid_moments(const stimulus_grid *grid, double *mean, double *sd)
{
    double sum = 0.0;
    double squares = 0.0;
    double below = 0.0;
    for (uint32_t k = 0; k <= grid->n; k++) {
        double upto = k < grid->n ? (double)grid->thresholds[k] : TWO_32;
        double share = (upto - below) / TWO_32;
        sum += share * k;
        squares += share * k * k;
        below = upto;
    }
    const double variance = squares - sum * sum;
    *mean = grid->base + grid->step * sum;
    *sd = variance > 0.0 ? grid->step * vly_sqrt(variance) : 0.0;
}

double vly_stimulus_rounding(const vly_connectome_stimulus *stimulus,
                             double dt_ms, int32_t q)
{
    stimulus_grid grid;
    double scale = vly_power_of_two(q);
    double asked = stimulus->weight * scale;
    double mean, sd;
    if (stimulus->kind == VLY_STIMULUS_DC)
        return 0.0;
    if (stimulus->kind != VLY_STIMULUS_NORMAL)
        return asked != 0.0
                   ? magnitude(vly_weight_scaled(stimulus->weight, q) - asked) /
                         magnitude(asked)
                   : 0.0;
    if (grid_make(stimulus, dt_ms, q, &grid, NULL) != VLY_OK)
        return 0.0; /* the table is refused */
    grid_moments(&grid, &mean, &sd);
    asked = stimulus->mean * scale;
    const double wide = stimulus->sd * scale;
    const double size = magnitude(asked) > wide ? magnitude(asked) : wide;
    const double off_mean = size > 0.0 ? magnitude(mean - asked) / size : 0.0;
    const double off_sd = wide > 0.0 ? magnitude(sd - wide) / wide : 0.0;
    return off_mean > off_sd ? off_mean : off_sd;
}

double vly_stimulus_rate(const vly_connectome_stimulus *stimulus, double dt_ms)
{
    stimulus_grid grid;
    vly_connectome_stimulus one = *stimulus;
    double count, sd;
    if (stimulus->kind != VLY_STIMULUS_POISSON &&
        stimulus->kind != VLY_STIMULUS_BERNOULLI)
        return stimulus->rate_hz;
    one.weight = 1.0; /* so that the mean is one of events */
    if (grid_make(&one, dt_ms, 0, &grid, NULL) != VLY_OK)
        return stimulus->rate_hz; /* the table is refused */
    grid_moments(&grid, &count, &sd);
    return count * 1000.0 / dt_ms;
}

vly_status vly_stimulus_table(const vly_connectome_stimulus *stimulus,
                              double dt_ms, int32_t q, vly_stimulus_desc *desc,
                              uint64_t *reach, vly_error *error)
{
    stimulus_grid grid;
    if (!vly_stimulus_draws(stimulus->kind))
        return vly_fail(error, VLY_E_INVALID,
                        "stimulus %s does not draw: it has no table",
                        stimulus->id);
    vly_status status = VLY_OK;
    VLY_TRY(grid_make(stimulus, dt_ms, q, &grid, error));
    double most = grid_reach(&grid, stimulus->kind);
    /* also the step alone: a normal table may be empty */
    if (!(most <= (double)VLY_BOUND) ||
        !(magnitude(grid.step) <= (double)VLY_BOUND))
        return vly_fail(error, VLY_E_PARSE,
                        "stimulus %s: its largest input is %.9g units of "
                        "2^%d, wanted at most 2^30",
                        stimulus->id, most, -q);
    uint32_t *thresholds = vly_malloc(grid.n, sizeof(*thresholds));
    if (!thresholds)
        return vly_fail_nomem(error, grid.n * sizeof(*thresholds),
                              "a stimulus");
    memcpy(thresholds, grid.thresholds, grid.n * sizeof(*thresholds));
    desc->thresholds = thresholds;
    desc->n_thresholds = grid.n;
    desc->base = (int32_t)grid.base;
    desc->step = (int32_t)grid.step;
    desc->flags =
        stimulus->kind == VLY_STIMULUS_NORMAL ? VLY_STIMULUS_ALWAYS : 0;
    *reach = (uint64_t)most;
out:
    return status;
}

/* ---- largest input of stimuli ----------------------------------------- */

/* Spike lists: the largest number of spikes of a neuron in one burst. */
static vly_status list_reach(const vly_connectome_stimulus *stimulus,
                             double each, uint32_t first, uint64_t *reach,
                             vly_error *error)
{
    uint32_t *most = vly_calloc(stimulus->n_neurons, sizeof(*most));
    if (!most)
        return vly_fail_nomem(error, (uint64_t)stimulus->n_neurons * 4,
                              "a spike list");
    uint32_t run = 0;
    for (uint64_t i = 0; i < stimulus->n_inputs; i++) {
        const vly_input *input = &stimulus->inputs[i];
        bool again = i > 0 && input->neuron == input[-1].neuron &&
                     input->burst == input[-1].burst;
        run = again ? run + 1 : 1;
        uint32_t *at = &most[input->neuron - stimulus->first];
        if (*at < run)
            *at = run;
    }
    for (uint32_t i = 0; i < stimulus->n_neurons; i++) {
        double sum = each * most[i];
        if (each >= (double)VLY_BOUND) /* an input must be below 2^30 */
            sum += 1.0;
        reach[stimulus->first - first + i] +=
            sum < 1e15 ? (uint64_t)sum : UINT64_C(1000000000000000);
    }
    vly_free(most);
    return VLY_OK;
}

/* Of a neuron at most one piece of a list holds in a burst: the largest counts.
 */
static void list_end(vly_reach *reach)
{
    for (uint32_t i = 0; reach->list && i < reach->n; i++) {
        reach->sums[i] += reach->listed[i];
        reach->listed[i] = 0;
    }
    reach->list = NULL;
}

vly_status vly_reach_add(vly_reach *reach,
                         const vly_connectome_stimulus *stimulus, double dt_ms,
                         int32_t q, vly_error *error)
{
    vly_status status = VLY_OK;
    if (reach->list && (!stimulus || !stimulus->listed ||
                        strcmp(reach->list, stimulus->id) != 0))
        list_end(reach);
    if (!stimulus || stimulus->kind == VLY_STIMULUS_DC)
        return VLY_OK;
    if (stimulus->kind == VLY_STIMULUS_SPIKES)
        return list_reach(stimulus,
                          magnitude(vly_weight_scaled(stimulus->weight, q)),
                          reach->first, reach->sums, error);
    stimulus_grid grid;
    VLY_TRY(grid_make(stimulus, dt_ms, q, &grid, error));
    double most = grid_reach(&grid, stimulus->kind);
    uint64_t add = most < 1e15 ? (uint64_t)most : UINT64_C(1000000000000000);
    for (uint32_t i = 0; i < stimulus->n_neurons; i++) {
        uint32_t at = stimulus->first - reach->first + i;
        if (!stimulus->listed)
            reach->sums[at] += add;
        else if (reach->listed[at] < add)
            reach->listed[at] = add;
    }
    if (stimulus->listed)
        reach->list = stimulus->id;
out:
    return status;
}

vly_status vly_stimulus_placed(const vly_maker *maker, uint32_t stimulus,
                               vly_status status, const vly_error *why)
{
    char place[VLY_PLACE_BYTES];
    if (status == VLY_OK)
        return status;
    if (status == VLY_E_NOMEM)
        return vly_fail_nomem(maker->error, why->bytes_requested, "a stimulus");
    vly_place_print(maker->genome, &maker->genome->stimuli[stimulus].origin,
                    place);
    return vly_fail(maker->error, status, "%s%s", place, why->message);
}
