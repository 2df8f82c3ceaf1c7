/* SPDX-License-Identifier: Apache-2.0
 * Random genomes: maps and stimuli between parts of areas, and pools of them.
 */
#include "random_genome.h"
#include "random_maker.h"

/* One part of an area, or all of it. */
typedef struct part {
    uint32_t area;
    uint32_t first;
    uint32_t n;
} part;

static part choose_part(maker *m, uint32_t index)
{
    part p = {index, 0, m->areas[index].n};
    if (p.n > 1 && chance(m, 70)) {
        p.first = whole(m, 0, p.n - 1);
        p.n = whole(m, 1, p.n - p.first);
    }
    return p;
}

static void put_part(maker *m, const part *p)
{
    uint32_t end = p->first + p->n;
    if (p->n == m->areas[p->area].n && chance(m, 50))
        put(m, "a%u", (unsigned)p->area);
    else if (p->n == 1 && chance(m, 50))
        put(m, "a%u[%u]", (unsigned)p->area, (unsigned)p->first);
    else if (p->first == 0 && chance(m, 50))
        put(m, "a%u[:%u]", (unsigned)p->area, (unsigned)end);
    else if (end == m->areas[p->area].n && chance(m, 50))
        put(m, "a%u[%u:]", (unsigned)p->area, (unsigned)p->first);
    else
        put(m, "a%u[%u:%u]", (unsigned)p->area, (unsigned)p->first,
            (unsigned)end);
    cover(m, p->n < m->areas[p->area].n ? COVER_map_part : COVER_map_no_part);
}

/* Up to three parts of different areas, of one model if model is not -1. */
static uint32_t put_end(maker *m, const char *key, int model, uint32_t first)
{
    part p = choose_part(m, first);
    uint32_t n = p.n;
    put(m, "%s = \"", key);
    put_part(m, &p);
    for (uint32_t k = 1; k < m->n_areas && k < 3; k++) {
        uint32_t other = (first + k) % m->n_areas;
        if ((model >= 0 && m->areas[other].model != model) || chance(m, 40))
            continue;
        p = choose_part(m, other);
        n += p.n;
        put(m, " + ");
        put_part(m, &p);
        cover(m, COVER_map_pool);
    }
    put(m, "\"\n");
    return n;
}

/* A number, or a distribution up to it. */
static void put_degree(maker *m, const char *side, uint32_t degree)
{
    uint32_t lo = whole(m, 0, degree - 1);
    if (chance(m, 50)) {
        put(m, "%s_degree = %u\n", side, (unsigned)degree);
        return;
    }
    if (chance(m, 50))
        put(m, "%s_degree = { uniform = [%u, %u] }\n", side, (unsigned)lo,
            (unsigned)degree);
    else
        put(m, "%s_degree = { normal = [%.4g, %.4g], clip = [%u, %u] }\n", side,
            0.5 * (lo + degree), 0.2 * (degree - lo), (unsigned)lo,
            (unsigned)degree);
    cover(m, COVER_degree_drawn);
}

/* Rules of n_from and n_to neurons, of which none may be chosen twice with the
 * keys written here. */
static void put_pool_rule(maker *m, uint32_t n_from, uint32_t n_to)
{
    uint32_t pick = whole(m, 0, 4);
    uint32_t most = n_from < n_to ? n_from : n_to;
    bool self = chance(m, 50);
    if (pick == 0 && (uint64_t)n_from * n_to <= 4000) {
        put(m, "rule = \"all_to_all\"\n");
        cover(m, COVER_pool_all_to_all);
    } else if (pick <= 1) {
        put(m, "rule = \"fixed_total_number\"\ncount = %u\n", (unsigned)most);
        self = self || most < 2;
        if (most > 1 && chance(m, 50))
            put(m, "multiple = false\n");
        cover(m, COVER_pool_total_number);
    } else if (pick <= 3) {
        const char *side = pick == 2 ? "in" : "out";
        uint32_t n = pick == 2 ? n_from : n_to;
        uint32_t degree = whole(m, 1, n < 12 ? (n + 1) / 2 : 6);
        put(m, "rule = \"fixed_%s_degree\"\n", side);
        put_degree(m, side, degree);
        self = self || n < 2;
        if (n > degree && chance(m, 50))
            put(m, "multiple = false\n");
        cover(m, pick == 2 ? COVER_pool_in_degree : COVER_pool_out_degree);
    } else {
        put(m, "rule = \"pairwise_bernoulli\"\np = %.3g\n",
            between(m, 0.02, 0.2));
        cover(m, COVER_pool_bernoulli);
    }
    if (!self) {
        put(m, "self = false\n");
        cover(m, COVER_pool_no_self);
    }
}

/* Neuron k of one part to neuron k of another, which may overlap. */
static void put_parts_one_to_one(maker *m, uint32_t from, uint32_t to)
{
    uint32_t most =
        m->areas[from].n < m->areas[to].n ? m->areas[from].n : m->areas[to].n;
    uint32_t n = whole(m, 1, most);
    uint32_t a = whole(m, 0, m->areas[from].n - n);
    uint32_t b = whole(m, 0, m->areas[to].n - n);
    put(m, "from = \"a%u[%u:%u]\"\nto = \"a%u[%u:%u]\"\n", (unsigned)from,
        (unsigned)a, (unsigned)(a + n), (unsigned)to, (unsigned)b,
        (unsigned)(b + n));
    put(m, "rule = \"one_to_one\"\nself = %s\n",
        chance(m, 50) ? "true" : "false");
    cover(m, COVER_pool_one_to_one);
}

static void put_part_stimulus(maker *m)
{
    uint32_t to = whole(m, 0, m->n_areas - 1);
    const area *a = &m->areas[to];
    part p = choose_part(m, to);
    put(m, "\n[[stimulus]]\nid = \"onto_part\"\nkind = \"poisson\"\nto = \"");
    put_part(m, &p);
    put(m, "\"\nrate_hz = %.5g\nweight%s = %.4g\n", 20 / m->dt_ms,
        suffix(a->model), a->is_round ? 16 : strong(a->model));
    cover(m, COVER_stimulus_part);
}

/* Parameters of the copies. */
static void put_mixtures(maker *m)
{
    put(m, "tau_m_ms = { choice = [10, 20, 30], p = [0.5, 0.25, 0.25] }\n");
    if (chance(m, 50))
        put(m, "v_mv = { mixture = [-60, { normal = [-65, 2] }, { uniform = "
               "[-62, -57] }] }\n");
    cover(m, COVER_param_mixture);
}

/* Areas ç/0, ç/1, ...: maps within a copy, between copies, and of all of them
 * as a pool. */
static void put_copies(maker *m)
{
    uint32_t to = whole(m, 0, m->n_areas - 1);
    uint32_t n = whole(m, 1, 4);
    put(m,
        "\n[area.\"ç\"]\nmodel = \"lif_psc_exp\"\nneurons = %u\ncopies = %u\n",
        (unsigned)whole(m, 1, 12), (unsigned)n);
    if (chance(m, 70))
        put_mixtures(m);
    if (n > 1 && chance(m, 50)) {
        put(m, "[area.\"ç/%u\"]\nneurons = 7\n", (unsigned)(n - 1));
        cover(m, COVER_copies_own);
    }
    for (int k = 0; k < 2; k++) {
        put(m,
            "[[map]]\nfrom = \"ç\"\nto = \"ç\"\ncopies = \"%s\"\n"
            "rule = \"pairwise_bernoulli\"\np = %.3g\n",
            k ? "other" : "same", between(m, 0.1, 0.6));
        put_weight(m, EXP, false);
        put_delay(m);
    }
    put(m,
        "[[map]]\nfrom = \"+ç\"\nto = \"a%u\"\nrule = "
        "\"fixed_in_degree\"\nin_degree = 3\n",
        (unsigned)to);
    put_weight(m, m->areas[to].model, false);
    put(m,
        "[[stimulus]]\nid = \"c\"\nkind = \"poisson\"\nto = \"ç\"\n"
        "rate_hz = %.5g\nweight_pa = 1500\n",
        30 / m->dt_ms);
    cover(m, COVER_copies);
}

/* An area without neurons at the ends of everything. */
static void put_nothing(maker *m)
{
    uint32_t other = whole(m, 0, m->n_areas - 1);
    const char *model =
        m->areas[other].model == FEAGI ? "feagi" : "lif_psc_exp";
    put(m, "\n[area.z]\nmodel = \"%s\"\nneurons = 0\n", model);
    put(m,
        "[[map]]\nfrom = \"z\"\nto = \"a%u\"\nrule = \"fixed_in_degree\"\n"
        "in_degree = 100\n",
        (unsigned)other);
    put_weight(m, m->areas[other].model, false);
    put(m,
        "[[map]]\nfrom = \"z + a%u\"\nto = \"a%u\"\n"
        "rule = \"fixed_out_degree\"\nout_degree = 1\n",
        (unsigned)other, (unsigned)other);
    put_weight(m, m->areas[other].model, false);
    put(m,
        "[[stimulus]]\nid = \"z\"\nkind = \"poisson\"\nto = \"z\"\n"
        "rate_hz = 5\nweight%s = 1\n",
        *model == 'f' ? "" : "_pa");
    cover(m, COVER_area_empty);
}

/* Rates by neuron, or amplitudes and means over time. */
static void put_series(maker *m)
{
    uint32_t to = whole(m, 0, m->n_areas - 1);
    const area *a = &m->areas[to];
    bool over_time = a->n > 40 || chance(m, 50);
    bool dc = over_time && a->model != FEAGI && chance(m, 50);
    put(m, "\n[[stimulus]]\nid = \"series\"\nto = \"a%u\"\nkind = \"%s\"\n",
        (unsigned)to, dc ? "dc" : "poisson");
    if (!dc)
        put(m, "weight%s = %.4g\n", suffix(a->model),
            a->is_round ? 16 : strong(a->model));
    if (over_time)
        put(m, "at_bursts = [3, 20, 21, 60]\nstop_burst = 90\n");
    put(m, "%s = [",
        !dc                      ? "rate_hz"
        : a->model == IZHIKEVICH ? "amplitude"
                                 : "amplitude_pa");
    for (uint32_t k = 0; k < (over_time ? 4 : a->n); k++)
        put(m, "%.4g, ", dc ? 5.0 * k : (k % 3) * 20 / m->dt_ms);
    put(m, "]\n");
    cover(m, over_time ? COVER_stimulus_over_time : COVER_stimulus_by_neuron);
}

/* A rate or a current that is a function of time. */
static void put_function(maker *m)
{
    uint32_t to = whole(m, 0, m->n_areas - 1);
    const area *a = &m->areas[to];
    const bool dc = a->model != FEAGI && chance(m, 50);
    const bool sine = chance(m, 50);
    const double size = dc ? 400 : 50 / m->dt_ms;
    put(m, "\n[[stimulus]]\nid = \"function\"\nto = \"a%u\"\nkind = \"%s\"\n",
        (unsigned)to, dc ? "dc" : "poisson");
    if (!dc)
        put(m, "weight%s = %.4g\n", suffix(a->model),
            a->is_round ? 16 : strong(a->model));
    put(m, "start_burst = %u\n", (unsigned)whole(m, 0, 20));
    put(m, "stop_burst = %u\n", (unsigned)whole(m, 21, 120));
    put(m, "every_ms = \"=%u*dt_ms\"\n", (unsigned)whole(m, 1, 9));
    put(m, "%s = { ",
        !dc                      ? "rate_hz"
        : a->model == IZHIKEVICH ? "amplitude"
                                 : "amplitude_pa");
    if (sine)
        put(m,
            "sine = { mean = %.6g, amplitude = %.6g, frequency_hz = %.4g } }\n",
            size, 0.9 * size, 20 / m->dt_ms);
    else
        put(m, "ramp = { from = 0, to = %.6g } }\n", size);
    cover(m, sine ? COVER_stimulus_sine : COVER_stimulus_ramp);
}

void put_pools(maker *m)
{
    uint32_t n = chance(m, 50) ? whole(m, 1, 3) : 0;
    for (uint32_t k = 0; k < n; k++) {
        uint32_t from = whole(m, 0, m->n_areas - 1);
        uint32_t to = whole(m, 0, m->n_areas - 1);
        int model = m->areas[to].model;
        put(m, "\n[[map]]\n");
        if (chance(m, 50))
            put(m, "id = \"pool%u\"\n", (unsigned)k);
        if (chance(m, 15)) {
            put_parts_one_to_one(m, from, to);
        } else {
            uint32_t n_from = put_end(m, "from", -1, from);
            uint32_t n_to = put_end(m, "to", model, to);
            put_pool_rule(m, n_from, n_to);
        }
        put_weight(m, model, false);
        put_delay(m);
    }
    if (chance(m, 30))
        put_part_stimulus(m);
    if (chance(m, 20))
        put_copies(m);
    if (chance(m, 20))
        put_nothing(m);
    if (chance(m, 30))
        put_series(m);
    if (chance(m, 30))
        put_function(m);
}
