/* SPDX-License-Identifier: Apache-2.0
 * The table of names: see foreign_names.h. Checked against the documentation of
 * NEST 3 (models, connection rules, devices) and of Brian 2.5 (input,
 * synapses): a row with a Volley name states that both mean the same, except
 * for its note. Names of one model, or of a key of one model only, are in that
 * model's table.
 */
#include "genome/foreign_names.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define SAME(theirs, ours)                                                     \
    {                                                                          \
        theirs, ours, NULL, NULL                                               \
    }
#define IN(where, theirs, ours)                                                \
    {                                                                          \
        theirs, ours, NULL, where                                              \
    }
#define NEAR(theirs, ours, note)                                               \
    {                                                                          \
        theirs, ours, note, NULL                                               \
    }
#define NONE(theirs, note)                                                     \
    {                                                                          \
        theirs, NULL, note, NULL                                               \
    }

/* a [neuron] that ships */
#define GALLERY(theirs, ours)                                                  \
    NONE(theirs, "not built in, but a [neuron]: `volley new neurons/" ours "`")

static const vly_foreign rows[] = {
    /* parameters and state of neurons */
    SAME("C_m", "c_m_pf"),
    SAME("tau_m", "tau_m_ms"),
    SAME("tau_syn", "tau_syn_ms"),
    SAME("tau_syn_ex", "tau_ex_ms"),
    SAME("tau_syn_in", "tau_in_ms"),
    NEAR("tau_syn_ex", "tau_syn_ms",
         "for both signs; lif_psc_exp2 has tau_ex_ms and tau_in_ms"),
    NEAR("tau_syn_in", "tau_syn_ms",
         "for both signs; lif_psc_exp2 has tau_ex_ms and tau_in_ms"),
    SAME("g_L", "g_l_ns"),
    NEAR("E_L", "e_l_mv",
         "where v_mv begins; NEST's V_m does not follow E_L: it begins at its "
         "own default, -70 mV (aeif_cond_exp -70.6), also where only E_L is "
         "set"),
    SAME("E_ex", "e_ex_mv"),
    SAME("E_in", "e_in_mv"),
    SAME("g_ex", "g_ex_ns"),
    SAME("g_in", "g_in_ns"),
    SAME("I_syn_ex", "i_ex_pa"),
    SAME("I_syn_in", "i_in_pa"),
    SAME("t_ref", "t_ref_ms"),
    NEAR("t_ref", "refractory_period", "in bursts"),
    SAME("V_th", "v_th_mv"),
    NEAR("V_th", "v_t_mv", "where a spike starts; it is cut off at v_peak_mv"),
    SAME("V_th", "v_peak"),
    SAME("V_th", "firing_threshold"),
    SAME("V_peak", "v_peak_mv"),
    SAME("V_reset", "v_reset_mv"),
    SAME("V_reset", "c"),
    SAME("Delta_T", "delta_t_mv"),
    SAME("tau_w", "tau_w_ms"),
    SAME("a", "a_ns"),
    SAME("b", "b_pa"),
    SAME("w", "w_pa"),
    SAME("I_e", "i_e_pa"),
    SAME("I_e", "i_e"),
    NEAR("V_m", "v_mv",
         "which begins at e_l_mv; in NEST at -70 mV (aeif_cond_exp "
         "-70.6) whatever E_L is"),
    SAME("V_m", "v"),
    SAME("V_m", "potential"),
    SAME("U_m", "u"),
    NONE("V_min", "the potential has no lower bound"),
    NONE("refractory_input",
         "input during the refractory period is lost, as with false in NEST"),
    NONE("consistent_integration",
         "as with false in NEST: v takes two half steps a burst, a weight is "
         "input for one burst; with true, NEST's default, v takes one step and "
         "a weight is a jump of V_m"),
    NONE("gsl_error_tol", "steps are fixed, one a burst"),
#define FOREIGN_KEYS 1
#define VLY_MODEL_READ "core/genome/foreign_model.h"
#include "kernels/models/each_model.h"
#define VLY_PLASTICITY_READ "core/genome/foreign_rule.h"
#include "kernels/rules/each_plasticity.h"
#define VLY_PLASTICITY_READ "core/genome/foreign_rule.h"
#include "kernels/rules/each_short_term.h"
#undef FOREIGN_KEYS
/* models */
#define VLY_MODEL_READ "core/genome/foreign_model.h"
#include "kernels/models/each_model.h"
    GALLERY("iaf_cond_alpha", "iaf_cond_alpha"),
    NONE("aeif_cond_alpha",
         "no built-in model has alpha-shaped conductances; nearest: adex, "
         "whose conductances decay exponentially, or a [neuron]"),
    GALLERY("aeif_psc_exp", "adex_psc_exp"),
    NONE("aeif_psc_alpha",
         "adex has conductances only; `volley new neurons/adex_psc_exp` has "
         "exponential currents, to be changed"),
    NONE("aeif_psc_delta",
         "adex has conductances only; `volley new neurons/adex_psc_exp` has "
         "exponential currents, to be changed"),
    NONE("iaf_psc_exp_multisynapse", "a [neuron] may have four ports "
                                     "(docs/models.md); nearest: lif_psc_exp2"),
    NONE("aeif_cond_alpha_multisynapse",
         "a [neuron] may have four ports (docs/models.md); nearest: adex"),
    NONE("aeif_cond_beta_multisynapse",
         "a [neuron] may have four ports (docs/models.md); nearest: adex"),
    GALLERY("iaf_cond_beta", "iaf_cond_beta"),
    NONE("iaf_cond_exp_sfa_rr",
         "no built-in model adapts by a conductance; nearest: adex, which "
         "adapts by a current, or a [neuron]"),
    GALLERY("mat2_psc_exp", "mat2_psc_exp"),
    NONE("amat2_psc_exp",
         "no built-in model has a threshold that adapts; nearest: "
         "`volley new neurons/mat2_psc_exp`"),
    GALLERY("glif_psc", "glif_psc"),
    NONE("hh_psc_alpha",
         "no built-in model is of Hodgkin and Huxley's kind; nearest: "
         "`volley new neurons/hh_cond_exp_traub`"),
    GALLERY("hh_cond_exp_traub", "hh_cond_exp_traub"),
    GALLERY("gif_psc_exp", "gif_psc_exp"),
    NONE("parrot_neuron", "no model repeats spikes; an area with a "
                          "generator has neurons with ids, so that "
                          "none is needed"),
    /* generators and stimuli */
    NEAR("poisson_generator", "poisson",
         "[[stimulus]] kind = \"poisson\": each neuron has a train of its own, "
         "as "
         "in NEST; neurons with ids: [area] generator = \"poisson\""),
    NEAR(
        "PoissonGroup", "poisson",
        "[area] generator = \"poisson\", and maps from it; [[stimulus]] kind = "
        "\"poisson\" adds input without neurons"),
    NEAR("PoissonInput", "poisson",
         "[[stimulus]] kind = \"poisson\", rate_hz = N * rate"),
    NEAR("inhomogeneous_poisson_generator", "poisson",
         "[[stimulus]] kind = \"poisson\" with at_ms and a list of rates"),
    NEAR("sinusoidal_poisson_generator", "poisson",
         "[[stimulus]] kind = \"poisson\", rate_hz = { sine = { mean, "
         "amplitude, frequency_hz, phase_deg } }, in steps of every_ms"),
    NEAR("spike_generator", "spikes",
         "[area] generator = \"spikes\" with neurons = 1, times_at = \"end\" "
         "for NEST's times, and a map from it; "
         "[[stimulus]] kind = \"spikes\" adds input directly"),
    NEAR("SpikeGeneratorGroup", "spikes",
         "[area] generator = \"spikes\": times_ms has a list for each neuron"),
    NEAR("pulsepacket_generator", "pulse",
         "all spikes of a pulse come in its bursts, without jitter"),
    NEAR("dc_generator", "dc", "[[stimulus]] kind = \"dc\""),
    NEAR("step_current_generator", "dc",
         "[[stimulus]] kind = \"dc\" with at_ms and a list of amplitudes"),
    NEAR("ac_generator", "dc",
         "[[stimulus]] kind = \"dc\", amplitude = { sine = { mean, amplitude, "
         "frequency_hz, phase_deg } }, in steps of every_ms"),
    NEAR(
        "noise_generator", "normal",
        "[[stimulus]] kind = \"normal\" adds a new number to the port in every "
        "burst; a current that is held: `volley new neurons/lif_held_noise`"),
    NONE("gamma_sup_generator", "generators are poisson, spikes and pulse"),
    NONE("mip_generator",
         "no two generators share spikes; generators are poisson, spikes and "
         "pulse"),
    NONE("TimedArray", "[[stimulus]] with at_ms and lists of values"),
    NONE("amplitude_times", "[[stimulus]] of kind dc with at_ms and a list"),
    NONE("amplitude_values", "[[stimulus]] of kind dc with at_ms and a list"),
    SAME("rate", "rate_hz"),
    SAME("rates", "rate_hz"),
    SAME("start", "start_ms"),
    SAME("stop", "stop_ms"),
    SAME("std", "sd"),
    SAME("times", "times_ms"),
    SAME("spike_times", "times_ms"),
    SAME("spike_weights", "weight"),
    NONE("indices", "times_ms has one list for each neuron instead"),
    /* rules and maps */
    SAME("fixed_indegree", "fixed_in_degree"),
    SAME("fixed_outdegree", "fixed_out_degree"),
    NEAR("fixed_total_number", "fixed_total_number", "N is count"),
    SAME("pairwise_bernoulli", "pairwise_bernoulli"),
    SAME("bernoulli", "pairwise_bernoulli"),
    NONE(
        "pairwise_poisson",
        "no rule draws a number of synapses for each pair; nearest: "
        "fixed_total_number, count = pairwise_avg_num_conns times the pairs of "
        "neurons"),
    NONE("pairwise_avg_num_conns",
         "no rule draws a number of synapses for each pair; nearest: "
         "fixed_total_number with count"),
    NONE("symmetric_pairwise_bernoulli", "no rule connects both ways by one "
                                         "draw; nearest: pairwise_bernoulli, a "
                                         "map for each way"),
    NONE("tripartite_bernoulli_with_pool", "a map connects pairs of areas"),
    NONE("make_symmetric", "a second [[map]] goes the other way"),
    SAME("indegree", "in_degree"),
    SAME("outdegree", "out_degree"),
    IN("[[map]]", "N", "count"),
    IN("[area", "N", "neurons"),
    SAME("delay", "delay_ms"),
    SAME("allow_autapses", "self"),
    SAME("autapses", "self"),
    SAME("allow_multapses", "multiple"),
    SAME("multapses", "multiple"),
    NEAR("receptor_type", "port",
         "0 to 3 or its name; without it the sign of the weight chooses"),
    NONE("conn_spec", "its parts are keys of the map: rule, in_degree, p, ..."),
    NONE("syn_spec",
         "its parts are keys of the map: weight_<unit>, delay_ms, port"),
    IN("[[map]]", "source", "from"),
    SAME("target", "to"),
    IN("[[map]]", "pre", "from"),
    SAME("post", "to"),
    SAME("edge_wrap", "periodic"),
    SAME("circular", "circle"),
    SAME("rectangular", "box"),
    SAME("doughnut", "ring"),
    SAME("spherical", "sphere"),
    NEAR("static_synapse", "map",
         "without plasticity: weight_<unit> and delay_ms"),
    NEAR("synapse_model", "plasticity",
         "a [plasticity] by its name; without it weights do not change"),
/* plasticity rules */
#define VLY_PLASTICITY_READ "core/genome/foreign_rule.h"
#include "kernels/rules/each_plasticity.h"
#define VLY_PLASTICITY_READ "core/genome/foreign_rule.h"
#include "kernels/rules/each_short_term.h"
    NEAR("stdp_nn_symm_synapse", "stdp", "with nearest = true"),
    NONE("stdp_nn_restr_synapse",
         "no rule pairs a spike once only; nearest: stdp with nearest = true"),
    NONE("stdp_nn_pre_centered_synapse",
         "no rule forgets a trace after one pair; nearest: stdp with nearest = "
         "true"),
    NONE("clopath_synapse", "no rule reads a potential; nearest: stdp_triplet"),
    NONE("urbanczik_synapse", "no rule reads a potential"),
    NONE("stdp_facetshw_synapse_hom",
         "no rule collects charges or looks up weights in a table; nearest: "
         "stdp with nearest = true"),
    NONE("jonke_synapse",
         "no rule has an exponential of the weight; nearest: stdp with mu_plus "
         "= 0 and mu_minus = 0, or a [synapse.NAME]"),
    NONE("quantal_stp_synapse",
         "no rule draws releases; nearest: tsodyks2, their mean"),
    IN("[plasticity", "Wmax", "w_max"),
    IN("[plasticity", "wmax", "w_max"),
    IN("[plasticity", "gmax", "w_max"),
    NONE("on_pre",
         "in the rule of a map that learns, [synapse.NAME]; an event adds its "
         "weight to the target's port"),
    /* the rest of a script */
    SAME("Create", "area"),
    SAME("NeuronGroup", "area"),
    IN("[area", "n_neurons", "neurons"),
    IN("[area", "size", "neurons"),
    SAME("CopyModel", "model"),
    SAME("SetDefaults", "model"),
    SAME("Connect", "map"),
    SAME("connect", "map"),
    SAME("Synapses", "map"),
    SAME("spike_recorder", "record"),
    SAME("spike_detector", "record"),
    SAME("SpikeMonitor", "record"),
    NEAR("multimeter", "record",
         "what = \"fields\" and fields = [\"v_mv\", ...]"),
    NEAR("voltmeter", "record", "what = \"fields\" and fields = \"v_mv\""),
    NEAR("StateMonitor", "record",
         "what = \"fields\" and fields = [\"v_mv\", ...]"),
    SAME("record_from", "fields"),
    SAME("interval", "interval_ms"),
    NONE("PopulationRateMonitor",
         "[[record]] what = \"rates\"; `volley run` prints the mean of each "
         "area"),
    SAME("resolution", "dt_ms"),
    SAME("dt", "dt_ms"),
    NEAR("defaultclock", "run", "with dt_ms"),
    SAME("duration", "ms"),
    NEAR("rng_seed", "seed_network",
         "beside it seed_state and seed_input; or --seed"),
    NONE("local_num_threads", "machines are no part of a genome: --threads"),
    /* Brian 2, in whose equations users choose the names */
    SAME("threshold", "v_th_mv"),
    SAME("threshold", "firing_threshold"),
    SAME("reset", "v_reset_mv"),
    NEAR("refractory", "t_ref_ms",
         "a key refractory is state: bursts that are left"),
    SAME("refractory_period", "t_ref_ms"),
    SAME("v_rest", "e_l_mv"),
    SAME("E_leak", "e_l_mv"),
    SAME("tau", "tau_m_ms"),
    SAME("w", "weight"),
    NONE("eqs", "`eq` of a [neuron.NAME]; `volley doc` lists built-in models"),
    NONE("method", "of a [neuron.NAME]; a built-in model has one scheme"),
};
enum { N_ROWS = sizeof(rows) / sizeof(rows[0]) };

const vly_foreign *vly_foreign_at(uint32_t index)
{
    return index < N_ROWS ? &rows[index] : NULL;
}

bool vly_foreign_holds(const vly_foreign *row, const char *what,
                       const char *model)
{
    return !row->where || strstr(what, row->where) ||
           (model && strcmp(model, row->where) == 0);
}

const vly_foreign *vly_foreign_find(const char *word, uint32_t index)
{
    for (uint32_t i = 0; i < N_ROWS; i++)
        if (strcmp(word, rows[i].theirs) == 0 && index-- == 0)
            return &rows[i];
    return NULL;
}

void vly_foreign_offer(vly_suggest *suggest, const char *word,
                       const char *candidate)
{
    const vly_foreign *row;
    for (uint32_t i = 0; (row = vly_foreign_find(word, i)); i++)
        if (row->ours && strcmp(row->ours, candidate) == 0) {
            vly_suggest_same(suggest, candidate);
            return;
        }
    vly_suggest_offer(suggest, word, candidate);
}

const char *vly_foreign_hint(const vly_suggest *suggest, const char *word,
                             char *out, uint32_t size)
{
    const vly_foreign *row = NULL;
    const vly_foreign *found = NULL;
    const char *note = NULL;
    bool alias = false;
    for (uint32_t i = 0; (row = vly_foreign_find(word, i)); i++) {
        found = found && found->note ? found : row;
        if (!suggest->best || !row->ours ||
            strcmp(row->ours, suggest->best) != 0)
            continue;
        alias = true;
        note = row->note ? row->note : note;
    }
    if (alias && note)
        snprintf(out, size, ", did you mean %s? %s", suggest->best, note);
    else if (found && !alias && found->note)
        snprintf(out, size, ": %s", found->note);
    else if (found && !alias)
        snprintf(out, size, ", which is %s here", found->ours);
    else
        vly_suggest_text(suggest, out, size);
    return out;
}
