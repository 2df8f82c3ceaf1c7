/* SPDX-License-Identifier: Apache-2.0
 * Random genomes: a handful of areas of random models, maps of every rule and
 * delay class between them, stimuli strong enough that most networks fire.
 */
#include "random_genome.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "random_maker.h"

const char *const random_coverage_names[COVER_COUNT] = {
#define RANDOM_COVERAGE_NAME(name) #name,
    RANDOM_COVERAGE_TABLE(RANDOM_COVERAGE_NAME)
#undef RANDOM_COVERAGE_NAME
};

/* ---- weights and delays ----------------------------------------------- */

const char *suffix(int model)
{
    static const char *const suffixes[] = {"", "_mv", "_pa", "_pa",
                                           "", "_ns", "_ns", "_pa"};
    _Static_assert(sizeof suffixes / sizeof *suffixes == N_MODELS, "models");
    return suffixes[model];
}

double strong(int model)
{
    static const double weights[] = {30, 15, 1500, 500, 30, 30, 30, 1500};
    _Static_assert(sizeof weights / sizeof *weights == N_MODELS, "models");
    return weights[model];
}

/* For a map onto a model with two ports: the sign chooses, or a port is named;
 * a port with conductances accepts one sign only. */
static void put_port(maker *m, int model, bool negative)
{
    if (model < COND)
        return;
    if (chance(m, 60)) {
        cover(m, COVER_port_by_sign);
        return;
    }
    uint32_t port = negative;
    if (model == EXP2 && chance(m, 50))
        port = 1 - port;
    put(m, "port = %u\n", (unsigned)port);
    cover(m, COVER_port_given);
}

void put_weight(maker *m, int model, bool few)
{
    double size = strong(model) * (few ? 0.5 : 0.08);
    double sign = chance(m, 30) ? -1 : 1;
    bool spread = chance(m, 50);
    if (sign < 0)
        cover(m, COVER_weight_negative);
    if (spread)
        cover(m, COVER_weight_distribution);
    put_port(m, model, sign < 0);
    if (model == FEAGI) {
        int lo = (int)whole(m, 1, 6), hi = lo + (int)whole(m, 1, 8);
        if (spread)
            put(m, "weight = { uniform = [%d, %d] }\n", sign < 0 ? -hi : lo,
                sign < 0 ? -lo : hi);
        else
            put(m, "weight = %d\n", sign < 0 ? -lo : lo);
    } else if (!spread) {
        put(m, "weight%s = %.4g\n", suffix(model),
            sign * size * between(m, 0.3, 1.5));
    } else if (sign > 0 && chance(m, 30)) {
        if (chance(m, 50))
            put(m, "weight%s = { exponential = %.4g }\n", suffix(model),
                0.4 * size);
        else
            put(m, "weight%s = { lognormal = [%.4g, 0.8], clip = [0, %.4g] }\n",
                suffix(model), between(m, -3, 0), 4 * size);
        cover(m, COVER_weight_skewed);
    } else if (chance(m, 50)) {
        put(m, "weight%s = { uniform = [%.4g, %.4g] }\n", suffix(model),
            sign < 0 ? -size : 0.1 * size, sign < 0 ? -0.1 * size : size);
    } else {
        put(m, "weight%s = { normal = [%.4g, %.4g], clip = [%s, %s] }\n",
            suffix(model), sign * size, 0.4 * size, sign < 0 ? "\"-inf\"" : "0",
            sign < 0 ? "0" : "\"inf\"");
    }
}

/* Sets delay_ms or delay_bursts from a range in bursts. */
static void put_delay_range(maker *m, uint32_t lo, uint32_t hi)
{
    bool in_ms = chance(m, 50);
    double unit = in_ms ? m->dt_ms : 1.0;
    const char *key = in_ms ? "delay_ms" : "delay_bursts";
    if (lo == hi)
        put(m, "%s = %.6g\n", key, lo * unit);
    else if (chance(m, 60))
        put(m, "%s = { uniform = [%.6g, %.6g] }\n", key, lo * unit, hi * unit);
    else if (chance(m, 30))
        put(m, "%s = { exponential = %.6g, clip = [%.6g, %.6g] }\n", key,
            0.5 * (lo + hi) * unit, lo * unit, hi * unit);
    else
        put(m, "%s = { normal = [%.6g, %.6g], clip = [%.6g, %.6g] }\n", key,
            0.5 * (lo + hi) * unit, 0.3 * (hi - lo) * unit, lo * unit,
            hi * unit);
}

void put_delay(maker *m)
{
    uint32_t lo = 1, hi = 1;
    int kind = COVER_delay_one;
    uint32_t pick = whole(m, 0, 99);
    if (pick >= 30 && pick < 55) {
        kind = COVER_delay_constant;
        lo = hi = whole(m, 2, 20);
    } else if (pick >= 55 && pick < 80) {
        kind = COVER_delay_spread;
        lo = whole(m, 1, 5);
        hi = lo + whole(m, 1, 15);
    } else if (pick >= 80 && pick < 90) {
        kind = COVER_delay_spread_wide;
        lo = whole(m, 1, 10);
        hi = lo + (chance(m, 50) ? 255 : whole(m, 100, 455));
        if (hi > lo + 255)
            cover(m, COVER_delay_spread_far);
    } else if (pick >= 90) {
        kind = COVER_delay_base_over_255;
        lo = whole(m, 256, 320);
        hi = lo + (chance(m, 50) ? 0 : whole(m, 1, 40));
    }
    lo += m->later;
    hi += m->later;
    if (hi > 60) /* so that what was sent arrives within the run */
        m->bursts = m->bursts < hi + 120 ? hi + 120 : m->bursts;
    cover(m, kind);
    put_delay_range(m, lo, hi);
}

/* ---- maps ------------------------------------------------------------- */

void put_flags(maker *m, bool same_area, bool can_forbid_multiple)
{
    if (same_area && chance(m, 40)) {
        put(m, "self = false\n");
        cover(m, COVER_map_no_self);
    }
    if (can_forbid_multiple && chance(m, 40)) {
        put(m, "multiple = false\n");
        cover(m, COVER_map_no_multiple);
    }
}

/* Up to four different vectors of [-2, 2]^3. */
void put_vectors(maker *m)
{
    uint32_t chosen[4], n = whole(m, 1, 4);
    put(m, "vectors = [");
    for (uint32_t k = 0; k < n; k++) {
        bool twice = false;
        chosen[k] = whole(m, 0, 124);
        for (uint32_t i = 0; i < k; i++)
            twice |= chosen[i] == chosen[k];
        if (twice)
            continue;
        put(m, "[%d, %d, %d], ", (int)(chosen[k] % 5) - 2,
            (int)(chosen[k] / 5 % 5) - 2, (int)(chosen[k] / 25) - 2);
    }
    put(m, "]");
}

/* Writes the rule; true if a neuron gets only a few synapses by it. */
static bool put_rule(maker *m, const area *from, const area *to)
{
    bool same = from == to;
    uint64_t pairs = (uint64_t)from->n * to->n;
    uint32_t pick = whole(m, 0, 5);
    if (from->has_voxels && to->has_voxels && chance(m, 50)) {
        put(m, "rule = \"vectors\"\n");
        put_vectors(m);
        put(m, "\n");
        cover(m, COVER_rule_vectors);
        return true;
    }
    if (from->n == to->n && !same && chance(m, 50)) {
        put(m, "rule = \"one_to_one\"\n");
        cover(m, COVER_rule_one_to_one);
        return true;
    }
    if (pick <= 1 && pairs <= 10000) {
        put(m, "rule = \"all_to_all\"\n");
        cover(m, COVER_rule_all_to_all);
        put_flags(m, same, false);
    } else if (pick <= 2) {
        put(m, "rule = \"fixed_total_number\"\n");
        if (chance(m, 50) && pairs > 1)
            put(m, "p = %.3g\n", between(m, 0.05, 0.2));
        else
            put(m, "count = %u\n", (unsigned)whole(m, 1, to->n * 10));
        cover(m, COVER_rule_fixed_total_number);
    } else if (pick <= 3) {
        put(m, "rule = \"fixed_in_degree\"\nin_degree = %u\n",
            (unsigned)whole(m, 1, from->n < 12 ? (from->n + 1) / 2 : 12));
        cover(m, COVER_rule_fixed_in_degree);
        put_flags(m, same && from->n > 1, from->n > 1 && !same);
    } else {
        put(m, "rule = \"pairwise_bernoulli\"\np = %.3g\n",
            between(m, 0.05, 0.3));
        cover(m, COVER_rule_pairwise_bernoulli);
        put_flags(m, same, false);
    }
    return false;
}

static void put_map(maker *m, uint32_t index)
{
    uint32_t from = whole(m, 0, m->n_areas - 1);
    uint32_t to = whole(m, 0, m->n_areas - 1);
    put(m, "\n[[map]]\nid = \"m%u\"\nfrom = \"a%u\"\nto = \"a%u\"\n",
        (unsigned)index, (unsigned)from, (unsigned)to);
    bool few = put_rule(m, &m->areas[from], &m->areas[to]);
    put_weight(m, m->areas[to].model, few);
    put_delay(m);
}

/* Two sources onto two targets of one model: a matrix of p, one row of
 * weights. */
static void put_matrix_map(maker *m, uint32_t index)
{
    uint32_t a = whole(m, 0, m->n_areas - 1);
    uint32_t b = whole(m, 0, m->n_areas - 1);
    int model = m->areas[a].model;
    double p[3];
    uint32_t delay[2];
    if (a == b || m->areas[b].model != model)
        return;
    double w = model == FEAGI ? 4 : strong(model) * 0.1;
    for (int k = 0; k < 3; k++)
        p[k] = between(m, 0.05, 0.2);
    for (int k = 0; k < 2; k++)
        delay[k] = m->later + whole(m, 1, 9);
    put(m,
        "\n[[map]]\nid = \"m%u\"\nfrom = [\"a%u\", \"a%u\"]\n"
        "to = [\"a%u\", \"a%u\"]\nrule = \"pairwise_bernoulli\"\n",
        (unsigned)index, (unsigned)a, (unsigned)b, (unsigned)a, (unsigned)b);
    put(m, "p = [[%.3g, 0], [%.3g, %.3g]]\n", p[0], p[1], p[2]);
    put(m, "weight%s = [[%.3g, %.3g]]\n", suffix(model), w, -w);
    put(m, "delay_bursts = [[%u], [%u]]\n", (unsigned)delay[0],
        (unsigned)delay[1]);
    put(m, "except = [{ from = \"a%u\", to = \"a%u\", weight%s = %.3g }]\n",
        (unsigned)a, (unsigned)b, suffix(model), 2 * w);
    cover(m, COVER_map_matrix);
}

/* ---- stimuli ---------------------------------------------------------- */

/* Not the whole area but [first, first + n). */
static void put_range(maker *m, const area *a)
{
    if (a->n < 2 || chance(m, 60))
        return;
    uint32_t first = whole(m, 0, a->n - 1);
    put(m, "first = %u\nn = %u\n", (unsigned)first,
        (unsigned)whole(m, 1, a->n - first));
    cover(m, COVER_stimulus_range);
}

static bool put_start_stop(maker *m)
{
    if (chance(m, 50))
        return false;
    uint32_t start = whole(m, 0, 30);
    uint32_t stop = start + whole(m, 30, 90);
    put(m, "start_ms = %.6g\nstop_ms = %.6g\n", start * m->dt_ms,
        stop * m->dt_ms);
    cover(m, COVER_stimulus_start_stop);
    return true;
}

static void put_spike_list(maker *m, const area *a)
{
    uint32_t n = a->n < 5 ? a->n : whole(m, 1, 5);
    uint32_t first = whole(m, 0, a->n - n);
    bool in_ms = chance(m, 40);
    put(m, "kind = \"spikes\"\nneurons = [");
    for (uint32_t k = 0; k < n; k++)
        put(m, "%u, ", (unsigned)(first + k));
    put(m, "]\n%s = [", in_ms ? "times_ms" : "bursts");
    for (uint32_t k = 0; k < n; k++) {
        uint32_t burst = whole(m, 0, 10);
        put(m, "[");
        for (uint32_t i = whole(m, 1, 12); i > 0; i--) {
            if (in_ms)
                put(m, "%.6g, ", burst * m->dt_ms);
            else
                put(m, "%u, ", (unsigned)burst);
            burst += whole(m, 1, 25);
        }
        put(m, "], ");
    }
    put(m, "]\nweight%s = %.4g\n", suffix(a->model),
        a->is_round ? 16 : strong(a->model) * between(m, 0.8, 3));
    cover(m, COVER_stimulus_spikes);
}

/* An area, or a list of all areas that have its model; true if one area. */
static bool put_to(maker *m, uint32_t to, uint32_t kind)
{
    uint32_t n = 0;
    for (uint32_t k = 0; k < m->n_areas; k++)
        n += m->areas[k].model == m->areas[to].model;
    if (n < 2 || kind == 3 || chance(m, 70)) {
        put(m, "to = \"a%u\"\n", (unsigned)to);
        return true;
    }
    put(m, "to = [");
    for (uint32_t k = 0; k < m->n_areas; k++)
        if (m->areas[k].model == m->areas[to].model)
            put(m, "\"a%u\", ", (unsigned)k);
    put(m, "]\n");
    cover(m, COVER_stimulus_list);
    return false;
}

static void put_stimulus(maker *m, uint32_t index, uint32_t to, uint32_t kind)
{
    static const double constant[] = {5, 700, 700, 700, 12, 500, 700, 700};
    _Static_assert(sizeof constant / sizeof *constant == N_MODELS, "models");
    const area *a = &m->areas[to];
    const char *unit = suffix(a->model);
    double size = strong(a->model);
    if (kind == 2 && a->model == FEAGI)
        kind = 0; /* dc is refused there */
    double x = between(m, 0, 1), y = between(m, 0, 1);
    bool single = false;
    /* takes one sign only: 6 sd have to stay on that side */
    bool conductance = a->model == COND || a->model == ADEX;
    if (a->model >= COND && index > 0 && kind < 2 && chance(m, 20)) {
        size = -size;
        cover(m, COVER_stimulus_negative);
    }
    put(m, "\n[[stimulus]]\nid = \"s%u\"\n", (unsigned)index);
    if (put_to(m, to, kind) && index > 0 && kind < 3)
        put_range(m, a);
    switch (kind) {
    case 0:
        /* every fourth of the small rates: one event a burst at most */
        single = x < 0.25;
        put(m, "kind = \"%s\"\nrate_hz = %.5g\nweight%s = %.4g\n",
            single ? "bernoulli" : "poisson",
            1000 / m->dt_ms * (0.02 + (x > 0.9 ? 5 * y : 0.5 * y)), unit,
            a->is_round ? 16 : size * (0.6 + 1.5 * x));
        cover(m, single ? COVER_stimulus_bernoulli : COVER_stimulus_poisson);
        put_start_stop(m);
        break;
    case 1:
        put(m, "kind = \"normal\"\nmean%s = %.4g\nsd%s = %.4g\n", unit,
            size * 0.2 * x, unit,
            conductance ? fabs(size) * 0.03 * x * y
                        : fabs(size) * (0.05 + 0.5 * y));
        cover(m, COVER_stimulus_normal);
        put_start_stop(m);
        break;
    case 2:
        put(m, "kind = \"dc\"\namplitude%s = %.4g\n",
            a->model == IZHIKEVICH ? "" : "_pa",
            (0.3 + 1.2 * x) * constant[a->model]);
        cover(m, COVER_stimulus_dc);
        if (put_start_stop(m))
            cover(m, COVER_dc_start_stop);
        break;
    default:
        put_spike_list(m, a);
    }
}

/* ---- pulses, patterns, generators ------------------------------------- */

static void put_train(maker *m)
{
    uint32_t width = whole(m, 1, 3);
    uint32_t period = width + whole(m, 0, 20);
    put(m, "start_burst = %u\n", (unsigned)whole(m, 0, 20));
    put(m, "width_bursts = %u\nperiod_ms = %.6g\n", (unsigned)width,
        (period + (chance(m, 50) ? between(m, 0, 1) : 0.0)) * m->dt_ms);
    if (chance(m, 50))
        put(m, "count = %u\n", (unsigned)whole(m, 1, 9));
    else
        put(m, "stop_burst = %u\n", (unsigned)whole(m, 21, 150));
}

static void put_generator(maker *m)
{
    const area *to = &m->areas[whole(m, 0, m->n_areas - 1)];
    uint32_t kind = whole(m, 0, 2);
    uint32_t n = whole(m, 1, 20);
    put(m, "\n[area.g]\nneurons = %u\n", (unsigned)n);
    if (kind == 0) {
        put(m, "generator = \"poisson\"\nrate_hz = %.5g\n",
            1000 / m->dt_ms * between(m, 0.01, 0.99));
        put_start_stop(m);
        cover(m, COVER_generator_poisson);
    } else if (kind == 1) {
        put(m, "generator = \"spikes\"\nbursts = [");
        for (uint32_t k = 0; k < n; k++)
            put(m, "[%u, %u], ", (unsigned)k, (unsigned)(2 * k + 1));
        put(m, "]\n");
        cover(m, COVER_generator_spikes);
    } else {
        put(m, "generator = \"pulse\"\n");
        put_train(m);
        cover(m, COVER_generator_pulse);
    }
    put(m,
        "\n[[map]]\nid = \"from_g\"\nfrom = \"g\"\nto = \"a%u\"\n"
        "rule = \"pairwise_bernoulli\"\np = 0.3\nweight%s = %u\n",
        (unsigned)(to - m->areas), suffix(to->model),
        to->model == FEAGI ? 9u : (unsigned)strong(to->model));
}

static void put_pattern(maker *m, uint32_t to)
{
    const area *a = &m->areas[to];
    put(m, "kind = \"pattern\"\nvoxels = [");
    for (uint32_t k = whole(m, 1, 4); k > 0; k--) {
        put(m, "[");
        for (int i = 0; i < 3; i++)
            put(m, "%u, ", (unsigned)whole(m, 0, a->voxels[i] - 1));
        put(m, "], ");
    }
    put(m, "]\nbursts = [3, 4, 50]\n");
    cover(m, COVER_stimulus_pattern);
}

/* After everything else, so that earlier random numbers do not change. */
static void put_later_kinds(maker *m)
{
    uint32_t to = whole(m, 0, m->n_areas - 1);
    const area *a = &m->areas[to];
    if (chance(m, 30))
        put_generator(m);
    if (chance(m, 60))
        return;
    put(m, "\n[[stimulus]]\nid = \"later\"\nto = \"a%u\"\nweight%s = %.4g\n",
        (unsigned)to, suffix(a->model), a->is_round ? 16 : strong(a->model));
    if (a->has_voxels && chance(m, 70)) {
        put_pattern(m, to);
        return;
    }
    put(m, "kind = \"pulse\"\n");
    put_train(m);
    cover(m, COVER_stimulus_pulse);
}

/* ---- the whole -------------------------------------------------------- */

char *random_genome(uint64_t seed, unsigned more, random_coverage *coverage,
                    char **edges)
{
    static const double steps[] = {0.1, 0.25, 0.5, 1};
    maker m = {
        .state = seed * 0xD1342543DE82EF95u + 1, .bursts = 150, .more = more};
    if ((more & RANDOM_LATE) != 0) /* no draw: the rest stays the same */
        m.later = 1 + (uint32_t)(seed / 2 % 20);
    m.dt_ms = steps[whole(&m, 0, 3)];
    choose_areas(&m);
    put(&m, "# random genome %llu\n", (unsigned long long)seed);
    for (uint32_t k = 0; k < m.n_areas; k++)
        put_area(&m, k);
    uint32_t n_maps = whole(&m, 1, 2 + 2 * m.n_areas);
    for (uint32_t k = 0; k < n_maps; k++)
        put_map(&m, k);
    put_matrix_map(&m, n_maps);
    put_stimulus(&m, 0, 0, chance(&m, 50) ? 0 : 3);
    uint32_t n_stimuli = whole(&m, 1, 3);
    for (uint32_t k = 1; k <= n_stimuli; k++) {
        uint32_t to = whole(&m, 0, m.n_areas - 1);
        put_stimulus(&m, k, to, whole(&m, 0, 3));
    }
    put_more_maps(&m, n_maps + 1);
    static const char *const seeds[] = {"network", "state", "input"};
    put(&m, "\n[run]\ndt_ms = %.4g\nbursts = %u\n", m.dt_ms,
        (unsigned)m.bursts);
    for (int k = 0; k < 3; k++)
        put(&m, "seed_%s = %u\n", seeds[k], (unsigned)whole(&m, 0, 1u << 30));
    put_later_kinds(&m);
    if (edges)
        *edges = NULL;
    put_space_and_file(&m, edges);
    put_plastic_maps(&m);
    put_short_term_maps(&m);
    if (!m.later)
        put_memories(&m);
    put_pools(&m);
    put_records(&m);
    const size_t n_text =
        m.length + 32 + (m.failed ? 0 : random_later_bytes(m.text));
    char *whole_text = malloc(n_text);
    if (m.failed || !whole_text) {
        free(m.text);
        free(whole_text);
        if (edges)
            free(*edges);
        return NULL;
    }
    snprintf(whole_text, n_text, "format = 1\n%s", m.text);
    if (m.later)
        random_put_later(whole_text, m.later + 1);
    free(m.text);
    coverage->genomes++;
    for (int k = 0; k < COVER_COUNT; k++)
        coverage->count[k] += m.has[k];
    return whole_text;
}
