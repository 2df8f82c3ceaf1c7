/* SPDX-License-Identifier: Apache-2.0
 * Random genomes: maps with short-term plasticity.
 */
#include "random_genome.h"

#include "random_maker.h"

/* Time constants from less than a burst to the whole run. */
static double tau(maker *m)
{
    return chance(m, 20) ? between(m, 0.1, 1) : between(m, 1, 200);
}

static void put_table(maker *m, uint32_t index, bool tsodyks)
{
    double rec = tau(m);
    put(m, "\n[plasticity.s%u]\nrule = \"%s\"\ntau_rec_ms = %.4g\n",
        (unsigned)index, tsodyks ? "tsodyks" : "tsodyks2", rec);
    put(m, "U = %.4g\n", chance(m, 10) ? 1.0 : between(m, 0.01, 0.9));
    if (chance(m, 50)) {
        put(m, "tau_fac_ms = %.4g\n", tau(m));
        cover(m, COVER_short_term_facilitation);
    }
    if (tsodyks)
        put(m, "tau_psc_ms = %.4g\n", rec * between(m, 0.05, 0.9));
    if (chance(m, 40)) {
        put(m, "x_start = %.4g\n", between(m, 0, 0.6));
        put(m, "u_start = %.4g\n", between(m, 0, 1));
        if (tsodyks)
            put(m, "y_start = %.4g\n", between(m, 0, 0.4));
        cover(m, COVER_short_term_start);
    }
    cover(m, tsodyks ? COVER_short_term_tsodyks : COVER_short_term_tsodyks2);
}

static void put_short_term_map(maker *m, uint32_t index)
{
    uint32_t from = whole(m, 0, m->n_areas - 1);
    uint32_t to = whole(m, 0, m->n_areas - 1);
    const area *target = &m->areas[to];
    if (target->model == FEAGI)
        return;
    put_table(m, index, chance(m, 50));
    put(m,
        "\n[[map]]\nid = \"s%u\"\nfrom = \"a%u\"\nto = \"a%u\"\n"
        "plasticity = \"s%u\"\nrule = \"pairwise_bernoulli\"\n",
        (unsigned)index, (unsigned)from, (unsigned)to, (unsigned)index);
    uint64_t pairs = (uint64_t)m->areas[from].n * target->n;
    put(m, "p = %.3g\n", pairs > 40000 ? 4000.0 / (double)pairs : 0.1);
    put_weight(m, target->model, false);
    if (chance(m, 40)) {
        put(m, "delay_bursts = %u\n",
            (unsigned)(m->later + whole(m, 1, m->later ? 2 : 20)));
        return;
    }
    uint32_t lo = m->later + whole(m, 1, m->later ? 2 : 10);
    uint32_t hi = lo + whole(m, 1, chance(m, 30) ? 100 : 15);
    put(m, "delay_bursts = { uniform = [%u, %u] }\n", (unsigned)lo,
        (unsigned)hi);
    cover(m, COVER_short_term_delays);
}

void put_short_term_maps(maker *m)
{
    if ((m->more & RANDOM_SHORT_TERM) == 0)
        return;
    uint32_t n = whole(m, 0, 3);
    for (uint32_t k = 0; k < n; k++)
        put_short_term_map(m, k);
}
