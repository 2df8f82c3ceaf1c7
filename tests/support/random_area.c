/* SPDX-License-Identifier: Apache-2.0
 * Random genomes: text, draws and areas with their parameters.
 */
#include "random_maker.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- text and draws --------------------------------------------------- */

void put(maker *m, const char *format, ...)
{
    va_list args;
    if (m->capacity - m->length < 4096) {
        char *grown = realloc(m->text, m->capacity * 2 + 65536);
        if (!grown) {
            m->failed = true;
            return;
        }
        m->text = grown;
        m->capacity = m->capacity * 2 + 65536;
    }
    va_start(args, format);
    int n =
        vsnprintf(m->text + m->length, m->capacity - m->length, format, args);
    va_end(args);
    if (n > 0)
        m->length += (size_t)n;
}

static uint64_t next(maker *m)
{
    uint64_t x = m->state += 0x9E3779B97F4A7C15u;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
}

uint32_t whole(maker *m, uint32_t lo, uint32_t hi)
{
    return lo + (uint32_t)(next(m) % (hi - lo + 1u));
}

double between(maker *m, double lo, double hi)
{
    return lo + (hi - lo) * (double)(next(m) >> 40) * 0x1p-24;
}

bool chance(maker *m, uint32_t percent)
{
    return whole(m, 0, 99) < percent;
}

void cover(maker *m, int what)
{
    m->has[what] = true;
}

/* ---- areas ------------------------------------------------------------ */

/* A parameter in [lo, hi]: a number, a distribution, a draw or an array. */
static void put_param(maker *m, const area *a, const char *name, double lo,
                      double hi)
{
    double mid = 0.5 * (lo + hi);
    switch (whole(m, 0, 7)) {
    case 0:
        put(m, "%s = { uniform = [%.4g, %.4g] }\n", name, lo, hi);
        cover(m, COVER_param_uniform);
        break;
    case 1:
        put(m, "%s = { normal = [%.4g, %.4g], clip = [%.4g, %.4g] }\n", name,
            mid, (hi - lo) * 0.3, lo, hi);
        cover(m, COVER_param_normal);
        break;
    case 2:
        put(m, "%s = { base = %.4g, scale = %.4g, power = %s, draw = \"r\" }\n",
            name, lo, hi - lo, chance(m, 50) ? "1" : "2");
        cover(m, COVER_param_draw);
        break;
    case 3:
        if (a->n <= MAX_ARRAY) {
            put(m, "%s = [", name);
            for (uint32_t k = 0; k < a->n; k++)
                put(m, "%.4g, ", between(m, lo, hi));
            put(m, "]\n");
            cover(m, COVER_param_array);
            break;
        }
        /* fallthrough */
    default:
        put(m, "%s = %.4g\n", name, between(m, lo, hi));
    }
}

/* A whole number in [lo, hi], sometimes one for each neuron. */
static void put_whole(maker *m, const area *a, const char *name, uint32_t lo,
                      uint32_t hi)
{
    if (a->n > 1 && a->n <= MAX_ARRAY && chance(m, 30)) {
        put(m, "%s = [", name);
        for (uint32_t k = 0; k < a->n; k++)
            put(m, "%u, ", (unsigned)whole(m, lo, hi));
        put(m, "]\n");
        cover(m, COVER_param_array);
    } else {
        put(m, "%s = %u\n", name, (unsigned)whole(m, lo, hi));
    }
}

static void put_feagi_limits(maker *m, const area *a)
{
    if (chance(m, 50)) {
        put_whole(m, a, "refractory_period", 1, 4);
        cover(m, COVER_feagi_refractory);
    }
    if (chance(m, 50)) {
        put_whole(m, a, "consecutive_fire_cnt_max", 1, 4);
        put_whole(m, a, "snooze_length", 0, 5);
        cover(m, COVER_feagi_snooze);
    }
    if (chance(m, 30)) {
        put_param(m, a, "firing_threshold_limit", 200, 2000);
        cover(m, COVER_feagi_threshold_limit);
    }
    if (chance(m, 40)) {
        put_param(m, a, "excitability", 0.2, 0.98);
        cover(m, COVER_feagi_excitability);
    }
}

static void put_feagi(maker *m, const area *a)
{
    if (chance(m, 50))
        put(m, "firing_threshold = %u\n", (unsigned)whole(m, 1, 40));
    else
        put_param(m, a, "firing_threshold", 1, 40);
    if (a->has_voxels && chance(m, 50)) {
        char axis = "xyz"[whole(m, 0, 2)];
        put(m, "firing_threshold_increment_%c = %.3g\n", axis,
            between(m, -1, 2));
    }
    if (chance(m, 70))
        put_param(m, a, "leak_coefficient", 0, 0.9);
    put_feagi_limits(m, a);
    if (chance(m, 30)) {
        put(m, "mp_charge_accumulation = false\n");
        cover(m, COVER_feagi_no_accumulation);
    }
    put_whole(m, a, "postsynaptic_current", 1, 20);
    if (chance(m, 30)) {
        put(m, "mp_driven_psp = true\n");
        cover(m, COVER_feagi_mp_driven);
    }
    if (chance(m, 40)) {
        put(m, "psp_uniform_distribution = false\n");
        cover(m, COVER_feagi_divided_psp);
    }
}

static void put_lif(maker *m, const area *a)
{
    put_param(m, a, "c_m_pf", 100, 400);
    put_param(m, a, "tau_m_ms", 5, 30);
    if (a->model == EXP || a->model == ALPHA)
        put_param(m, a, "tau_syn_ms", 0.3, 6);
    if (a->model == EXP2) {
        put_param(m, a, "tau_ex_ms", 0.3, 6);
        put_param(m, a, "tau_in_ms", 0.3, 12);
    }
    put_param(m, a, "t_ref_ms", 0, 4);
    if (a->is_round) { /* one event of 16 mV ends exactly at the threshold */
        put(m, "e_l_mv = -64\nv_th_mv = -48\nv_reset_mv = -64\n");
        cover(m, COVER_threshold_met_exactly);
        return;
    }
    put_param(m, a, "e_l_mv", -72, -60);
    put_param(m, a, "v_th_mv", -54, -48);
    put_param(m, a, "v_reset_mv", -75, -60);
    if (chance(m, 40))
        put_param(m, a, "i_e_pa", 0, 400);
    if (chance(m, 60))
        put_param(m, a, "v_mv", -70, -50);
    if ((a->model == EXP || a->model == ALPHA) && chance(m, 30))
        put_param(m, a, "i_syn_pa", -100, 300);
    if (a->model == ALPHA && chance(m, 30))
        put_param(m, a, "rise_pa_per_ms", -100, 300);
    if (a->model == EXP2 && chance(m, 30))
        put_param(m, a, "i_in_pa", -200, 0);
}

/* What lif_cond_exp and adex share. */
static void put_conductances(maker *m, const area *a)
{
    put_param(m, a, "c_m_pf", 100, 300);
    put_param(m, a, "g_l_ns", 8, 30);
    put_param(m, a, "e_l_mv", -72, -60);
    put_param(m, a, "v_reset_mv", -70, -56);
    put_param(m, a, "tau_ex_ms", 0.5, 8);
    put_param(m, a, "tau_in_ms", 1, 12);
    put_param(m, a, "t_ref_ms", 0, 4);
    if (chance(m, 30))
        put_param(m, a, "e_ex_mv", -10, 10);
    if (chance(m, 30))
        put_param(m, a, "e_in_mv", -90, -70);
    if (chance(m, 60))
        put_param(m, a, "v_mv", -70, -55);
    if (chance(m, 30))
        put_param(m, a, "g_ex_ns", 0, 20);
    if (chance(m, 30))
        put_param(m, a, "i_e_pa", 0, 400);
}

static void put_adex(maker *m, const area *a)
{
    put_conductances(m, a);
    put_param(m, a, "v_t_mv", -54, -48);
    put_param(m, a, "delta_t_mv", 0.5, 4);
    put_param(m, a, "a_ns", -4, 6);
    put_param(m, a, "b_pa", 0, 120);
    put_param(m, a, "tau_w_ms", 20, 300);
    if (chance(m, 50))
        put_param(m, a, "v_peak_mv", -30, 20);
    if (chance(m, 30))
        put_param(m, a, "w_pa", -50, 100);
}

static void put_izhikevich(maker *m, const area *a)
{
    put_param(m, a, "a", 0.02, 0.1);
    put_param(m, a, "b", 0.2, 0.25);
    put_param(m, a, "c", -65, -50);
    put_param(m, a, "d", 2, 8);
    if (chance(m, 30))
        put_param(m, a, "i_e", 0, 10);
    if (chance(m, 50))
        put_param(m, a, "v", -70, -60);
    if (chance(m, 30))
        put_param(m, a, "u", -16, -10);
}

static void choose_size(maker *m, area *a, const area *before)
{
    uint32_t pick = whole(m, 0, 99);
    uint32_t most = pick < 3 ? 2000 : pick < 12 ? 600 : pick < 50 ? 150 : 40;
    a->per_voxel = 1;
    a->has_voxels = chance(m, a->model == FEAGI ? 70 : 30);
    if (before && chance(m, 40)) { /* the size of the one before: one to one */
        *a = (area){.model = a->model,
                    .n = before->n,
                    .has_voxels = before->has_voxels,
                    .per_voxel = before->per_voxel};
        memcpy(a->voxels, before->voxels, sizeof a->voxels);
    } else if (a->has_voxels) {
        a->n = 1;
        for (int k = 0; k < 3; k++) {
            a->voxels[k] = whole(m, 1, most > 600 ? 12 : most > 150 ? 8 : 4);
            a->n *= a->voxels[k];
        }
        a->per_voxel = chance(m, 25) ? 2 : 1;
        a->n *= a->per_voxel;
    } else {
        a->n = whole(m, 1, most);
    }
}

void put_area(maker *m, uint32_t index)
{
    static const char *const names[] = {
        "feagi",      "lif_psc_delta", "lif_psc_exp", "lif_psc_alpha",
        "izhikevich", "lif_cond_exp",  "adex",        "lif_psc_exp2"};
    _Static_assert(sizeof names / sizeof *names == N_MODELS, "models");
    const area *a = &m->areas[index];
    put(m, "\n[area.a%u]\nmodel = \"%s\"\n", (unsigned)index, names[a->model]);
    cover(m, COVER_model_feagi + a->model);
    if (a->has_voxels) {
        put(m, "voxels = [%u, %u, %u]\nneurons_per_voxel = %u\n",
            (unsigned)a->voxels[0], (unsigned)a->voxels[1],
            (unsigned)a->voxels[2], (unsigned)a->per_voxel);
        cover(m, COVER_voxels);
    } else {
        put(m, "neurons = %u\n", (unsigned)a->n);
    }
    if (a->model == FEAGI)
        put_feagi(m, a);
    else if (a->model == IZHIKEVICH)
        put_izhikevich(m, a);
    else if (a->model == ADEX)
        put_adex(m, a);
    else if (a->model == COND) {
        put_conductances(m, a);
        put_param(m, a, "v_th_mv", -54, -48);
    } else
        put_lif(m, a);
}

void choose_areas(maker *m)
{
    uint32_t kind = whole(m, 0, 2);
    m->n_areas = whole(m, 1, MAX_AREAS);
    if (kind == 2 && m->n_areas == 1)
        m->n_areas = 2;
    for (uint32_t k = 0; k < m->n_areas; k++) {
        area *a = &m->areas[k];
        a->model = (int)whole(m, 1, N_MODELS - 1);
        if (kind == 0 || (kind == 2 && (k == 0 || (k > 1 && chance(m, 40)))))
            a->model = FEAGI;
        choose_size(m, a, k ? &m->areas[k - 1] : NULL);
        a->is_round = a->model == DELTA && chance(m, 40);
    }
    cover(m, kind == 0   ? COVER_net_feagi_only
             : kind == 1 ? COVER_net_time_driven_only
                         : COVER_net_mixed);
}
