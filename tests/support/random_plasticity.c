/* SPDX-License-Identifier: Apache-2.0
 * Random genomes: maps that learn.
 */
#include "random_genome.h"

#include "random_maker.h"

enum { STDP, POWER, TRIPLET, INHIBITORY, REWARD };

/* From one burst to the whole run between two changes of the weights; now and
 * then eligibilities far above the weights. */
static void put_reward_params(maker *m, const char *unit, double most,
                              const double tau[2])
{
    double size = most * (chance(m, 10) ? 20 : between(m, 0.05, 1));
    put(m, "a_plus%s = %.4g\na_minus%s = %.4g\n", unit, size, unit,
        size * between(m, 0, 1.5));
    put(m, "tau_c_ms = %.4g\ntau_n_ms = %.4g\n", 5 * tau[0], tau[1]);
    put(m, "increment = %.4g\nbase = %.4g\n", between(m, -40, 80),
        chance(m, 50) ? 0 : between(m, -5, 5));
    put(m, "interval_ms = %.4g\n",
        chance(m, 30) ? 1 : between(m, 1, chance(m, 20) ? 100 : 12));
    if (chance(m, 70)) {
        put(m, "modulator = \"a%u\"\n", (unsigned)whole(m, 0, m->n_areas - 1));
        cover(m, COVER_plasticity_modulator);
    }
}

static void put_rule_params(maker *m, int rule, const char *unit, double most)
{
    double tau[4];
    for (int k = 0; k < 4; k++) /* from less than a burst to the whole run */
        tau[k] = chance(m, 20) ? between(m, 0.1, 1) : between(m, 1, 60);
    double rate = between(m, 0.01, 0.3);
    double alpha = between(m, 0.05, 2);
    if (rule == INHIBITORY) {
        put(m, "tau_ms = %.4g\neta%s = %.4g\nalpha = %.4g\n", tau[0], unit,
            rate * most, alpha);
        return;
    }
    put(m, "tau_plus_ms = %.4g\ntau_minus_ms = %.4g\n", tau[0], tau[1]);
    if (rule == REWARD) {
        put_reward_params(m, unit, most, tau + 2);
        return;
    }
    if (rule == TRIPLET) {
        put(m, "tau_x_ms = %.4g\ntau_y_ms = %.4g\n", tau[2], tau[3]);
        put(m, "a2_plus = %.4g\na2_minus = %.4g\na3_plus = %.4g\n", 0.3 * rate,
            rate, rate * alpha * 0.5);
        put(m, "a3_minus = %.4g\n", 0.2 * rate);
        return;
    }
    put(m, "lambda = %.4g\nalpha = %.4g\n", rate, alpha);
    double mu = chance(m, 30) ? 0 : chance(m, 40) ? 1 : between(m, 0, 1.5);
    if (rule == POWER) {
        put(m, "mu = %.4g\nw_0%s = %.4g\n", mu, unit, 0.3 * most);
        return;
    }
    double down = chance(m, 50) ? mu : between(m, 0, 1);
    put(m, "mu_plus = %.4g\nmu_minus = %.4g\n", mu, down);
}

static void put_weight_within(maker *m, const char *unit, double w_max)
{
    if (chance(m, 50)) {
        put(m, "weight%s = %.4g\n", unit, w_max * between(m, 0.1, 0.9));
        return;
    }
    double far = 0.9 * w_max;
    put(m, "weight%s = { uniform = [%.4g, %.4g] }\n", unit,
        w_max < 0 ? far : 0.0, w_max < 0 ? 0.0 : far);
    cover(m, COVER_plasticity_distribution);
}

static void put_flags_of(maker *m)
{
    if (chance(m, 40)) {
        put(m, "delay = \"dendritic\"\n");
        cover(m, COVER_plasticity_dendritic);
    }
    if (chance(m, 30)) {
        put(m, "nearest = true\n");
        cover(m, COVER_plasticity_nearest);
    }
    if (chance(m, 8)) {
        put(m, "frozen = true\n");
        cover(m, COVER_plasticity_frozen);
    }
}

/* FEAGI's rule: weights and steps are whole numbers. */
static void put_window_map(maker *m, uint32_t index, uint32_t from, uint32_t to,
                           bool negative)
{
    int most = chance(m, 40) ? 255 : (int)whole(m, 2, 40);
    int sign = negative ? -1 : 1;
    uint32_t window = chance(m, 30) ? 1 : whole(m, 2, chance(m, 80) ? 6 : 90);
    put(m,
        "\n[plasticity.l%u]\nrule = \"feagi_stdp\"\nw_max = %d\n"
        "plasticity_window = %u\nplasticity_constant = %d\n",
        (unsigned)index, sign * most, (unsigned)window,
        chance(m, 5) ? -2 : (int)whole(m, 1, 4));
    put(m, "ltp_multiplier = %u\nltd_multiplier = %u\n",
        (unsigned)whole(m, 0, 20), (unsigned)whole(m, 0, 3));
    if (chance(m, 8)) {
        put(m, "frozen = true\n");
        cover(m, COVER_plasticity_frozen);
    }
    put(m,
        "\n[[map]]\nid = \"l%u\"\nfrom = \"a%u\"\nto = \"a%u\"\n"
        "plasticity = \"l%u\"\nrule = \"pairwise_bernoulli\"\n",
        (unsigned)index, (unsigned)from, (unsigned)to, (unsigned)index);
    uint64_t pairs = (uint64_t)m->areas[from].n * m->areas[to].n;
    put(m, "p = %.3g\n", pairs > 40000 ? 4000.0 / (double)pairs : 0.1);
    if (chance(m, 50))
        put(m, "weight = %d\n", sign * (int)whole(m, 0, (uint32_t)most));
    else
        put(m, "weight = { uniform = [%d, %d] }\n", negative ? -most : 0,
            negative ? 0 : most);
    put(m, "delay_bursts = %u\n",
        (unsigned)(m->later + whole(m, 1, chance(m, 80) ? 5 : 40)));
    cover(m, COVER_plasticity_feagi_stdp);
    if (negative)
        cover(m, COVER_plasticity_negative);
}

static void put_plastic_map(maker *m, uint32_t index)
{
    static const char *const rules[] = {"stdp", "stdp_power", "stdp_triplet",
                                        "stdp_inhibitory", "stdp_reward"};
    uint32_t from = whole(m, 0, m->n_areas - 1);
    uint32_t to = whole(m, 0, m->n_areas - 1);
    const area *target = &m->areas[to];
    int rule = (int)whole(m, 0, 4);
    bool negative = chance(m, 30);
    if (target->model == FEAGI) {
        if ((m->more & RANDOM_WINDOWS) != 0)
            put_window_map(m, index, from, to, negative);
        return;
    }
    if (rule == REWARD && (m->more & RANDOM_MODULATED) == 0)
        return;
    const char *unit = suffix(target->model);
    double most = strong(target->model) * between(m, 0.1, 0.6);
    double w_max = negative ? -most : most;
    bool users = (m->more & RANDOM_RULES) != 0 && chance(m, 30);
    if (users)
        put_users_rule(m, index, most);
    put(m, "\n[plasticity.l%u]\nw_max%s = %.4g\n", (unsigned)index, unit,
        w_max);
    if (users) {
        put(m, "rule = \"s%u\"\n", (unsigned)index);
    } else {
        put(m, "rule = \"%s\"\n", rules[rule]);
        put_rule_params(m, rule, unit, most);
    }
    put_flags_of(m);
    put(m,
        "\n[[map]]\nid = \"l%u\"\nfrom = \"a%u\"\nto = \"a%u\"\n"
        "plasticity = \"l%u\"\nrule = \"pairwise_bernoulli\"\n",
        (unsigned)index, (unsigned)from, (unsigned)to, (unsigned)index);
    uint64_t pairs = (uint64_t)m->areas[from].n * target->n;
    put(m, "p = %.3g\n", pairs > 40000 ? 4000.0 / (double)pairs : 0.1);
    if (target->model >= COND)
        put(m, "port = %d\n", negative);
    put_weight_within(m, unit, w_max);
    put(m, "delay_bursts = %u\n",
        (unsigned)(m->later + whole(m, 1, chance(m, 80) ? 5 : 40)));
    cover(m, users ? COVER_plasticity_users : COVER_plasticity_stdp + rule);
    if (negative)
        cover(m, COVER_plasticity_negative);
}

void put_plastic_maps(maker *m)
{
    if ((m->more & RANDOM_PLASTIC) == 0)
        return;
    uint32_t n = whole(m, 0, 3);
    for (uint32_t k = 0; k < n; k++)
        put_plastic_map(m, k);
}
