/* SPDX-License-Identifier: Apache-2.0
 * The nearest of a list of words: Damerau's distance in its restricted form
 * (doi:10.1145/363958.363994), and the names that users of other simulators
 * bring along.
 */
#include "genome/suggest.h"

#include <stdio.h>
#include <string.h>

#define WORD_MAX 63

static int lower(char c)
{
    return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c;
}

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

uint32_t vly_suggest_distance(const char *a, const char *b)
{
    uint32_t rows[3][WORD_MAX + 1];
    uint32_t n_a = (uint32_t)strnlen(a, WORD_MAX);
    uint32_t n_b = (uint32_t)strnlen(b, WORD_MAX);
    for (uint32_t j = 0; j <= n_b; j++)
        rows[0][j] = j;
    for (uint32_t i = 1; i <= n_a; i++) {
        uint32_t *row = rows[i % 3];
        const uint32_t *up = rows[(i + 2) % 3];
        const uint32_t *up2 = rows[(i + 1) % 3];
        row[0] = i;
        for (uint32_t j = 1; j <= n_b; j++) {
            uint32_t differ = lower(a[i - 1]) != lower(b[j - 1]);
            row[j] = least(least(up[j], row[j - 1]) + 1, up[j - 1] + differ);
            if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) &&
                lower(a[i - 2]) == lower(b[j - 1]))
                row[j] = least(row[j], up2[j - 2] + 1);
        }
    }
    return rows[n_a % 3][n_b];
}

void vly_suggest_offer(vly_suggest *suggest, const char *word,
                       const char *candidate)
{
    uint32_t distance = vly_suggest_distance(word, candidate);
    uint32_t length = (uint32_t)strlen(word);
    uint32_t limit = length < 4 ? 1 : length < 9 ? 2 : 3;
    const char *alias;
    /* tau_m for tau_m_ms, L4 for L4/E: what was left out is near enough */
    if (length > 1 && strncmp(word, candidate, length) == 0 &&
        (candidate[length] == '_' || candidate[length] == '/'))
        distance = least(distance, limit);
    for (uint32_t i = 0; (alias = vly_suggest_alias(word, i)); i++)
        if (strcmp(alias, candidate) == 0)
            distance = 0;
    if (distance > limit || distance >= (uint32_t)strlen(candidate))
        return;
    if (!suggest->best || distance < suggest->distance) {
        suggest->best = candidate;
        suggest->distance = distance;
    }
}

const char *vly_suggest_text(const vly_suggest *suggest, char *out,
                             uint32_t size)
{
    out[0] = 0;
    if (suggest->best)
        snprintf(out, size, ", did you mean %s?", suggest->best);
    return out;
}

/* Names of NEST and Brian 2 (and of papers), and ours. A name may have several:
 * the parser takes the one that is known where the name stands. */
static const char *const aliases[][2] = {
    {"C_m", "c_m_pf"},
    {"tau_m", "tau_m_ms"},
    {"tau_syn_ex", "tau_syn_ms"},
    {"tau_syn_in", "tau_syn_ms"},
    {"tau_syn", "tau_syn_ms"},
    {"tau_syn_ex", "tau_ex_ms"},
    {"tau_syn_in", "tau_in_ms"},
    {"g_L", "g_l_ns"},
    {"E_ex", "e_ex_mv"},
    {"E_in", "e_in_mv"},
    {"Delta_T", "delta_t_mv"},
    {"V_peak", "v_peak_mv"},
    {"tau_w", "tau_w_ms"},
    {"a", "a_ns"},
    {"b", "b_pa"},
    {"w", "w_pa"},
    {"t_ref", "t_ref_ms"},
    {"E_L", "e_l_mv"},
    {"V_th", "v_th_mv"},
    {"V_reset", "v_reset_mv"},
    {"I_e", "i_e_pa"},
    {"I_e", "i_e"},
    {"V_m", "v_mv"},
    {"V_m", "v"},
    {"V_m", "potential"},
    {"U_m", "u"},
    {"V_min", "c"},
    {"indegree", "in_degree"},
    {"outdegree", "out_degree"},
    {"N", "count"},
    {"delay", "delay_ms"},
    {"allow_autapses", "self"},
    {"autapses", "self"},
    {"allow_multapses", "multiple"},
    {"multapses", "multiple"},
    {"rate", "rate_hz"},
    {"start", "start_ms"},
    {"stop", "stop_ms"},
    {"resolution", "dt_ms"},
    {"dt", "dt_ms"},
    {"n_neurons", "neurons"},
    {"size", "neurons"},
    /* Brian 2 */
    {"threshold", "v_th_mv"},
    {"threshold", "firing_threshold"},
    {"reset", "v_reset_mv"},
    {"v_rest", "e_l_mv"},
    {"E_leak", "e_l_mv"},
    {"tau", "tau_m_ms"},
    {"refractory_period", "t_ref_ms"},
    {"rates", "rate_hz"},
    {"w", "weight"},
    {"indices", "neurons"},
    {"times", "times_ms"},
    {"spike_times", "times_ms"},
    {"duration", "ms"},
    {"connect", "map"},
    {"Connect", "map"},
    {"Synapses", "map"},
    {"Create", "area"},
    {"NeuronGroup", "area"},
    {"SpikeMonitor", "record"},
    {"spike_recorder", "record"},
    /* models */
    {"iaf_psc_exp", "lif_psc_exp"},
    {"iaf_psc_delta", "lif_psc_delta"},
    {"iaf_cond_exp", "lif_cond_exp"},
    {"aeif_cond_exp", "adex"},
    /* rules */
    {"fixed_indegree", "fixed_in_degree"},
    {"fixed_outdegree", "fixed_out_degree"},
    {"pairwise_poisson", "fixed_total_number"},
    {"bernoulli", "pairwise_bernoulli"},
    /* stimuli */
    {"poisson_generator", "poisson"},
    {"PoissonInput", "poisson"},
    {"PoissonGroup", "poisson"},
    {"noise_generator", "normal"},
    {"dc_generator", "dc"},
    {"spike_generator", "spikes"},
    {"SpikeGeneratorGroup", "spikes"},
};

bool vly_suggest_alias_at(uint32_t index, const char **theirs,
                          const char **ours)
{
    if (index >= sizeof(aliases) / sizeof(aliases[0]))
        return false;
    *theirs = aliases[index][0];
    *ours = aliases[index][1];
    return true;
}

const char *vly_suggest_alias(const char *word, uint32_t index)
{
    for (uint32_t i = 0; i < sizeof(aliases) / sizeof(aliases[0]); i++)
        if (strcmp(word, aliases[i][0]) == 0 && index-- == 0)
            return aliases[i][1];
    return NULL;
}
