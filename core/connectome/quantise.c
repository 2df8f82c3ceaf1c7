/* SPDX-License-Identifier: Apache-2.0
 * The unit 2^-q of every port, and Q of the gains at FEAGI areas.
 *
 * q starts as the largest in [-16, 24] with which the ends of every weight's
 * distribution, and w_max where synapses learn, fit int16. If that is too
 * coarse for one of the maps or stimuli (vly_weights_coarse), the port is
 * refined: q starts up to 12 higher, and each map has a unit of its own: 2^0,
 * 2^6 or 2^12 times the unit of the port, or several of them. From there q goes
 * down until, for every neuron, the sum of |weight| plus the largest values of
 * its stimuli is at most 2^30. Each try of a q draws the weights again, so that
 * the sum is that of the weights as stored. Q starts at 16 and goes down in the
 * same way, over all FEAGI areas together. A port without synapses and stimuli
 * has q = 12: injection reaches 2^18 units.
 */
#include "connectome/connectome_make.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "connectome/learning_make.h"
#include "connectome/part_make.h"
#include "connectome/quantise_parts.h"

/* ---- q by the range of int16 ------------------------------------------ */

/* With the largest shift, or in the wide grid, if maps have units of their own;
 * the grid ends a little earlier. */
static bool pair_fits(const vly_made_pair *made, int32_t q, bool refined)
{
    double most = VLY_WIDE_MAX * vly_power_of_two(-q);
    if (!refined)
        return vly_weights_fit(made, q);
    return vly_weights_fit(made, q - (int32_t)VLY_SHIFT_MAX) &&
           made->law.lo >= -most && made->law.hi <= most;
}

static vly_status plan_init(vly_maker *maker, uint32_t area, uint32_t port,
                            vly_port_plan *plan)
{
    const vly_genome *genome = maker->genome;
    *plan = (vly_port_plan){.q = VLY_Q_MAX, .refined = plan->refined};
    for (uint32_t p = 0; p < genome->n_pairs; p++) {
        const vly_made_pair *made = &maker->pairs[p];
        if (!vly_pair_uses(made, area, port))
            continue;
        plan->used = true;
        while (!pair_fits(made, plan->q, plan->refined)) {
            plan->q--;
            const vly_plasticity *learns = made->pair->plasticity;
            snprintf(plan->cause, sizeof(plan->cause), "%s %.9g of map %.100s",
                     learns ? "w_max" : "weight",
                     learns ? learns->w_max : vly_law_extreme(&made->law),
                     made->pair->map);
            if (plan->q < VLY_Q_MIN)
                return vly_pair_fail(maker, made,
                                     "weight too large, wanted at most 2^31");
        }
    }
    for (uint32_t s = 0; s < genome->n_stimuli; s++)
        if (genome->stimuli[s].to == area && genome->stimuli[s].port == port &&
            genome->stimuli[s].kind != VLY_STIMULUS_DC)
            plan->used = true;
    if (!plan->used)
        plan->q = VLY_Q_EMPTY;
    if (plan->q == VLY_Q_MAX)
        snprintf(plan->cause, sizeof(plan->cause), "the largest q, 24");
    return VLY_OK;
}

/* A map whose weights choose the port by sign needs one unit for both ports. */
static void plans_join(vly_maker *maker, uint32_t area, vly_port_plan *plans)
{
    const vly_genome *genome = maker->genome;
    for (uint32_t p = 0; p < genome->n_pairs; p++) {
        if (maker->pairs[p].pair->to != area || !maker->pairs[p].by_sign)
            continue;
        uint32_t low = plans[0].q < plans[1].q ? 0 : 1;
        plans[1 - low] = plans[low];
        return;
    }
}

/* ---- units of maps ----------------------------------------------------- */

/* Whether the port's unit is too coarse for a map or a stimulus. */
static bool plan_coarse(const vly_maker *maker, uint32_t area, uint32_t port,
                        const vly_port_plan *plan)
{
    const vly_genome *genome = maker->genome;
    for (uint32_t p = 0; p < genome->n_pairs; p++)
        if (vly_pair_uses(&maker->pairs[p], area, port) &&
            vly_weights_coarse(&maker->pairs[p], plan->q))
            return true;
    for (uint32_t s = 0; s < genome->n_stimuli; s++)
        if (genome->stimuli[s].to == area && genome->stimuli[s].port == port &&
            vly_stimulus_rounding(&maker->stimuli[s], genome->dt_ms, plan->q) >
                VLY_COARSE_CONSTANT)
            return true;
    return false;
}

/* Chooses the units of an area's ports by the range of int16; if one port needs
 * units by map, all ports get them. */
static vly_status plans_make(vly_maker *maker, uint32_t area,
                             vly_port_plan *plans)
{
    vly_status status;
    uint32_t n_ports = maker->genome->areas[area].model->n_ports;
    bool coarse = false;
    for (int refined = 0; refined < 2; refined++) {
        for (uint32_t port = 0; port < n_ports; port++) {
            plans[port].refined = refined;
            VLY_TRY(plan_init(maker, area, port, &plans[port]));
        }
        plans_join(maker, area, plans);
        for (uint32_t port = 0; port < n_ports; port++)
            coarse = coarse || (plans[port].q < VLY_Q_MAX &&
                                plan_coarse(maker, area, port, &plans[port]));
        if (!coarse)
            break;
    }
    status = VLY_OK;
out:
    return status;
}

/* ---- the bound -------------------------------------------------------- */

typedef struct area_sums {
    uint32_t area;
    uint32_t n;
    uint32_t n_ports;
    uint64_t *loads;  /* [n_ports][n] */
    uint64_t *reach;  /* [n_ports][n] */
    uint64_t *listed; /* [n] zeros, scratch; untouched without lists */
} area_sums;

static vly_status stimuli_sum(vly_maker *maker, const area_sums *sums,
                              uint32_t port, int32_t q)
{
    vly_status status = VLY_OK;
    const vly_genome *genome = maker->genome;
    vly_reach reach = {sums->reach + (size_t)port * sums->n, sums->listed,
                       sums->n, genome->areas[sums->area].first, NULL};
    memset(reach.sums, 0, sums->n * sizeof(*reach.sums));
    for (uint32_t s = 0; s < genome->n_stimuli; s++) {
        const vly_connectome_stimulus *stimulus = &maker->stimuli[s];
        if (stimulus->area != sums->area || stimulus->port != port)
            continue;
        vly_error why = VLY_ERROR_INIT;
        status = vly_reach_add(&reach, stimulus, genome->dt_ms, q, &why);
        VLY_TRY(vly_stimulus_placed(maker, s, status, &why));
    }
    status = vly_reach_add(&reach, NULL, genome->dt_ms, q, maker->error);
out:
    return status;
}

/* The neuron with the largest sum; loads NULL: stimuli only. */
static uint32_t fullest(const uint64_t *loads, const uint64_t *reach,
                        uint32_t n, uint64_t *most)
{
    uint32_t at = 0;
    *most = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint64_t sum = (loads ? loads[i] : 0) + reach[i];
        if (sum > *most) {
            *most = sum;
            at = i;
        }
    }
    return at;
}

static vly_status fail_bound(vly_maker *maker, uint32_t area, uint32_t port,
                             uint32_t neuron, const uint64_t *loads,
                             const uint64_t *reach, const char *unit)
{
    const vly_genome *genome = maker->genome;
    enum { LOAD, SHARE, PAIR, FACTS };
    uint64_t fact[FACTS] = {loads ? loads[neuron] : 0, 0, genome->n_pairs};
    const vly_made_pair *made = NULL;
    char place[VLY_PLACE_BYTES];
    char largest[300] = "no map enters it";
    if (loads) {
        made = vly_loads_largest(maker, area, 0, port, neuron, &fact[SHARE]);
        if (made)
            fact[PAIR] = (uint64_t)(made - maker->pairs);
        const vly_status status =
            vly_part_facts(maker, area, neuron, fact, FACTS);
        if (status != VLY_OK)
            return status;
        made = fact[PAIR] < genome->n_pairs ? &maker->pairs[fact[PAIR]] : NULL;
    }
    vly_place_print(genome,
                    made ? &made->pair->origin : &genome->areas[area].origin,
                    place);
    if (made)
        snprintf(largest, sizeof(largest),
                 "map %.100s from %.100s has the largest share, %" PRIu64,
                 made->pair->map, genome->areas[made->pair->from].name,
                 fact[SHARE]);
    return vly_fail(maker->error, VLY_E_PARSE,
                    "%sarea %s, neuron %" PRIu32 ", port %" PRIu32
                    ": synapses may add %" PRIu64 " and stimuli %" PRIu64
                    " in one burst, wanted at most 2^30 = %" PRIu64
                    " together, even at %s; %s",
                    place, genome->areas[area].name, neuron, port, fact[LOAD],
                    reach[neuron], VLY_BOUND, unit, largest);
}

static void store_load(vly_made_area *made, uint32_t port,
                       const uint64_t *loads, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        made->load[port][i] = (uint32_t)loads[i];
}

/* ---- areas that are not FEAGI ----------------------------------------- */

static vly_status sums_init(vly_maker *maker, uint32_t area, area_sums *sums)
{
    const vly_area *of = &maker->genome->areas[area];
    *sums = (area_sums){
        .area = area, .n = of->n_neurons, .n_ports = of->model->n_ports};
    size_t n = (size_t)sums->n * sums->n_ports;
    sums->loads = vly_malloc(2 * n, sizeof(*sums->loads));
    sums->listed = vly_calloc(sums->n, sizeof(*sums->listed));
    if (!sums->loads || !sums->listed)
        return vly_fail_nomem(maker->error, (2 * n + sums->n) * 8,
                              "sums of weights");
    sums->reach = sums->loads + n;
    return VLY_OK;
}

static void sums_deinit(area_sums *sums)
{
    vly_free(sums->loads);
    vly_free(sums->listed);
}

static vly_status lower_q(vly_maker *maker, const area_sums *sums,
                          uint32_t port, uint32_t neuron, const uint64_t *loads,
                          vly_port_plan *plans)
{
    const uint64_t *reach = sums->reach + (size_t)port * sums->n;
    if (plans[port].q <= VLY_Q_MIN)
        return fail_bound(maker, sums->area, port, neuron, loads, reach,
                          "q = -16");
    plans[port].q--;
    snprintf(plans[port].cause, sizeof(plans[port].cause),
             "the bound of 2^30 at neuron %" PRIu32, neuron);
    plans_join(maker, sums->area, plans);
    return VLY_OK;
}

/* Lowers q until the stimuli alone keep the bound: no weight is drawn yet. */
static vly_status fit_stimuli(vly_maker *maker, area_sums *sums,
                              vly_port_plan *plans)
{
    vly_status status = VLY_OK;
    for (uint32_t port = 0; port < sums->n_ports; port++) {
        uint64_t *reach = sums->reach + (size_t)port * sums->n;
        for (;;) {
            uint64_t most;
            VLY_TRY(stimuli_sum(maker, sums, port, plans[port].q));
            uint32_t at = fullest(NULL, reach, sums->n, &most);
            if (most <= VLY_BOUND)
                break;
            VLY_TRY(lower_q(maker, sums, port, at, NULL, plans));
        }
    }
out:
    return status;
}

/* A part: the largest of all neurons, not only of the own ones. */
static vly_status whole_most(vly_maker *maker, uint32_t area, uint32_t port,
                             const uint64_t *reach, uint64_t *most,
                             uint32_t *at)
{
    uint64_t others;
    if (!maker->part)
        return VLY_OK;
    fullest(NULL, reach, maker->genome->areas[area].n_neurons, &others);
    others += vly_loads_bound(maker, area, port, maker->feagi_q);
    return vly_part_most(maker, area, others, most, at);
}

/* One try: *fits, or one q is lower by 1. */
static vly_status try_weights(vly_maker *maker, area_sums *sums,
                              vly_port_plan *plans, bool *fits)
{
    vly_status status = VLY_OK;
    *fits = true;
    for (uint32_t port = 0; port < sums->n_ports; port++)
        VLY_TRY(vly_zeros_check(maker, sums->area, port, &plans[port]));
    int32_t q[VLY_PORTS_MAX] = {0};
    for (uint32_t port = 0; port < sums->n_ports; port++)
        q[port] = plans[port].q;
    VLY_TRY(vly_weights_draw(maker, sums->area, q, plans[0].refined));
    VLY_TRY(vly_loads_sum(maker, sums->area, 0, sums->loads));
    for (uint32_t port = 0; *fits && port < sums->n_ports; port++) {
        uint64_t most;
        const uint64_t *loads = sums->loads + (size_t)port * sums->n;
        const uint64_t *reach = sums->reach + (size_t)port * sums->n;
        VLY_TRY(stimuli_sum(maker, sums, port, plans[port].q));
        uint32_t at = fullest(loads, reach, sums->n, &most);
        VLY_TRY(whole_most(maker, sums->area, port, reach, &most, &at));
        *fits = most <= VLY_BOUND;
        if (!*fits)
            VLY_TRY(lower_q(maker, sums, port, at, loads, plans));
        /* far above the bound: lower q by more, since each try draws every
         * weight */
        for (; plans[port].refined && plans[port].q > VLY_Q_MIN &&
               most > 4 * VLY_BOUND;
             most /= 2)
            VLY_TRY(lower_q(maker, sums, port, at, loads, plans));
    }
out:
    return status;
}

static vly_status quantise_area(vly_maker *maker, uint32_t area)
{
    vly_status status;
    vly_port_plan plans[VLY_PORTS_MAX];
    area_sums sums;
    bool fits = false;
    VLY_TRY(sums_init(maker, area, &sums));
    VLY_TRY(plans_make(maker, area, plans));
    VLY_TRY(fit_stimuli(maker, &sums, plans));
    while (!fits)
        VLY_TRY(try_weights(maker, &sums, plans, &fits));
    for (uint32_t port = 0; port < sums.n_ports; port++) {
        maker->areas[area].q[port] = plans[port].q;
        store_load(&maker->areas[area], port,
                   sums.loads + (size_t)port * sums.n, sums.n);
    }
out:
    sums_deinit(&sums);
    return status;
}

/* ---- FEAGI areas ------------------------------------------------------ */

static vly_status feagi_try(vly_maker *maker, uint32_t area, uint32_t feagi_q,
                            bool *fits)
{
    vly_status status;
    area_sums sums;
    uint64_t most;
    VLY_TRY(sums_init(maker, area, &sums));
    VLY_TRY(vly_loads_sum(maker, area, feagi_q, sums.loads));
    VLY_TRY(stimuli_sum(maker, &sums, 0, (int32_t)feagi_q));
    uint32_t at = fullest(sums.loads, sums.reach, sums.n, &most);
    VLY_TRY(whole_most(maker, area, 0, sums.reach, &most, &at));
    *fits = most <= VLY_BOUND;
    if (*fits)
        store_load(&maker->areas[area], 0, sums.loads, sums.n);
    else if (feagi_q == 0)
        VLY_TRY(
            fail_bound(maker, area, 0, at, sums.loads, sums.reach, "Q = 0"));
out:
    sums_deinit(&sums);
    return status;
}

static vly_status quantise_feagi(vly_maker *maker)
{
    const vly_genome *genome = maker->genome;
    vly_port_plan plan = {.used = true};
    bool fits = false;
    vly_status status = VLY_OK;
    maker->feagi_q = vly_feagi_q_most(genome) + 1;
    for (uint32_t p = 0; p < genome->n_pairs; p++)
        if (genome->areas[genome->pairs[p].to].model->flags & VLY_AREA_FEAGI)
            VLY_TRY(vly_zero_check_feagi(maker, &maker->pairs[p]));
    while (!fits) {
        fits = true;
        maker->feagi_q--;
        for (uint32_t a = 0; fits && a < genome->n_areas; a++)
            if (genome->areas[a].model->flags & VLY_AREA_FEAGI)
                VLY_TRY(feagi_try(maker, a, maker->feagi_q, &fits));
    }
    plan.q = (int32_t)maker->feagi_q;
    snprintf(plan.cause, sizeof(plan.cause), "the bound of 2^30");
    for (uint32_t a = 0; a < genome->n_areas; a++) {
        if (!(genome->areas[a].model->flags & VLY_AREA_FEAGI))
            continue;
        maker->areas[a].q[0] = plan.q;
        VLY_TRY(vly_zero_check_stimuli(maker, a, 0, &plan));
    }
out:
    return status;
}

vly_status vly_quantise(vly_maker *maker)
{
    vly_status status;
    const vly_genome *genome = maker->genome;
    static const int32_t whole[2] = {0, 0};
    VLY_TRY(vly_learning_check(maker));
    for (uint32_t a = 0; a < genome->n_areas; a++) {
        if (genome->areas[a].model->flags & VLY_AREA_FEAGI)
            VLY_TRY(vly_weights_draw(maker, a, whole, false));
        else
            VLY_TRY(quantise_area(maker, a));
    }
    VLY_TRY(quantise_feagi(maker));
    if (maker->part && maker->part->ranks->gather)
        VLY_TRY(vly_part_loads(maker));
    VLY_TRY(vly_pairs_split(maker));
out:
    return status;
}
