/* SPDX-License-Identifier: Apache-2.0
 * Names of other simulators where a user puts them: the answer names ours, or
 * says that there is none and what comes nearest.
 */
#include "test_genome_text.h"

#include "genome/foreign_names.h"
#include "genome/genome_keys.h"
#include "genome/genome_map.h"
#include "genome/genome_stimulus.h"
#include "genome/plasticity_info.h"

/* ---- the table ---------------------------------------------------------- */

static bool is_value(const char *word)
{
    for (uint32_t m = 0; m < vly_model_count(); m++) {
        const vly_model_info *model = vly_model_at(m);
        for (uint32_t i = 0; i < model->n_params; i++)
            if (strcmp(model->params[i].name, word) == 0)
                return true;
        for (uint32_t i = 0; i < model->n_fields; i++)
            if (strcmp(model->fields[i].name, word) == 0)
                return true;
    }
    for (uint32_t r = 0; r < vly_plasticity_count(); r++)
        for (uint32_t i = 0; i < vly_plasticity_at(r)->n_params; i++)
            if (strcmp(vly_plasticity_at(r)->params[i].name, word) == 0)
                return true;
    return false;
}

static bool is_key(const char *word)
{
    for (const vly_key_section *s = vly_key_sections; s->name; s++)
        for (const vly_key *key = s->keys; key->name; key++)
            if (vly_key_matches(key->name, word))
                return true;
    return false;
}

static bool is_name(const char *word)
{
    for (uint32_t i = 0; i < VLY_RULES; i++)
        if (strcmp(vly_rules[i].name, word) == 0)
            return true;
    for (uint32_t i = 0; vly_stimulus_names[i]; i++)
        if (strcmp(vly_stimulus_names[i], word) == 0)
            return true;
    return vly_model_find(word) != NULL || vly_plasticity_find(word) != NULL;
}

static void rows_name_what_there_is(void **state)
{
    (void)state;
    uint32_t n = 0;
    for (const vly_foreign *row; (row = vly_foreign_at(n)); n++) {
        if (row->ours &&
            !(is_value(row->ours) || is_key(row->ours) || is_name(row->ours)))
            fail_msg("%s: there is no %s", row->theirs, row->ours);
        assert_true(row->ours || row->note);
    }
    assert_true(n > 100);
    assert_null(vly_foreign_find("C_m", 1));
    assert_null(vly_foreign_find("no such name", 0));
}

/* ---- keys --------------------------------------------------------------- */

static void keys_of_models(void **state)
{
    (void)state;
    static const struct {
        const char *model;
        const char *key;
        const char *answer;
    } cases[] = {
        {"izhikevich", "V_min",
         "V_min: izhikevich has no such key: the potential has no lower bound"},
        {"izhikevich", "V_th", "V_th: izhikevich calls it v_peak"},
        {"izhikevich", "V_reset", "V_reset: izhikevich calls it c"},
        {"izhikevich", "U_m", "U_m: izhikevich calls it u"},
        {"izhikevich", "consistent_integration",
         "consistent_integration: izhikevich has no such key: as with false in "
         "NEST: v takes two half steps a burst, a weight is input for one "
         "burst; with true, NEST's default, v takes one step and a weight is a "
         "jump of V_m"},
        {"lif_psc_exp", "E_L",
         "E_L: lif_psc_exp calls it e_l_mv, where v_mv begins; NEST's V_m does "
         "not follow E_L: it begins at its own default, -70 mV (aeif_cond_exp "
         "-70.6), also where only E_L is set"},
        {"adex", "V_th",
         "V_th: adex calls it v_t_mv, where a spike starts; it is cut off at "
         "v_peak_mv"},
        {"adex", "V_peak", "V_peak: adex calls it v_peak_mv"},
        {"adex", "Delta_T", "Delta_T: adex calls it delta_t_mv"},
        {"adex", "a", "a: adex calls it a_ns"},
        {"adex", "tau_syn_ex", "tau_syn_ex: adex calls it tau_ex_ms"},
        {"lif_psc_delta", "V_th", "V_th: lif_psc_delta calls it v_th_mv"},
        {"lif_psc_delta", "V_min",
         "V_min: lif_psc_delta has no such key: the potential has no lower "
         "bound"},
        {"lif_psc_exp", "tau_syn_in",
         "tau_syn_in: lif_psc_exp calls it tau_syn_ms, for both signs; "
         "lif_psc_exp2 has tau_ex_ms and tau_in_ms"},
        {"lif_psc_exp2", "tau_syn_in",
         "tau_syn_in: lif_psc_exp2 calls it tau_in_ms"},
        {"lif_cond_exp", "g_L", "g_L: lif_cond_exp calls it g_l_ns"},
        {"lif_psc_exp2", "g_L",
         "g_L: lif_psc_exp2 has no such key: it is c_m_pf / tau_m_ms"},
        {"feagi", "V_th", "V_th: feagi calls it firing_threshold"},
        {"feagi", "t_ref",
         "t_ref: feagi calls it refractory_period, in bursts"},
        {"lif_cond_exp", "N", "N: an [area] calls it neurons"},
    };
    for (uint32_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[512], wanted[512];
        snprintf(text, sizeof(text),
                 "format = 1\n[area.A]\nmodel = \"%s\"\nneurons = 1\n%s = 1\n",
                 cases[i].model, cases[i].key);
        snprintf(wanted, sizeof(wanted), "t:5:1: %s", cases[i].answer);
        assert_refused(text, wanted);
    }
}

#define AREA "format = 1\n[area.A]\nmodel = \"lif_psc_exp\"\nneurons = 2\n"

static void keys_of_tables(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        const char *answer;
    } cases[] = {
        {"N = 3", "N: a [[map]] calls it count"},
        {"indegree = 3", "indegree: a [[map]] calls it in_degree"},
        {"w = 3", "w: a [[map]] calls it weight_<unit>"},
        {"allow_autapses = false", "allow_autapses: a [[map]] calls it self"},
        {"receptor_type = 1",
         "receptor_type: a [[map]] calls it port, 0 to 3 or its name; without "
         "it the sign of the weight chooses"},
        {"edge_wrap = true", "edge_wrap: a [[map]] calls it periodic"},
        {"make_symmetric = true", "make_symmetric: a [[map]] has no such key: "
                                  "a second [[map]] goes the other way"},
        {"pairwise_avg_num_conns = 2",
         "pairwise_avg_num_conns: a [[map]] has no such key: no rule draws a "
         "number of synapses for each pair; nearest: fixed_total_number with "
         "count"},
    };
    for (uint32_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[512], wanted[512];
        snprintf(text, sizeof(text), AREA "[[map]]\n%s\n", cases[i].line);
        snprintf(wanted, sizeof(wanted), "t:6:1: %s", cases[i].answer);
        assert_refused(text, wanted);
    }
    assert_refused(AREA "[[stimulus]]\nkind = \"normal\"\nto = \"A\"\n"
                        "mean_pa = 1\nstd = 2\n",
                   "t:9:1: std: a [[stimulus]] of kind normal calls it "
                   "sd_<unit>");
    assert_refused(AREA "[[map]]\nsynapse_model = \"stdp_synapse\"\n",
                   "t:6:1: synapse_model: a [[map]] calls it plasticity, a "
                   "[plasticity] by its name; without it weights do not "
                   "change");
    assert_refused(
        "format = 1\n[kernel]\nresolution = 0.1\n",
        "t:2:2: unknown key kernel in the genome, wanted one of "
        "format, title, source, run, var, model, use, neuron, synapse, "
        "area, map, stimulus, record, morphology, plasticity, memory, "
        "association");
}

#define PLASTICITY AREA "[plasticity.p]\nw_max_pa = 1\n"

static void keys_of_plasticity(void **state)
{
    (void)state;
    static const struct {
        const char *rule;
        const char *key;
        const char *answer;
    } cases[] = {
        {"stdp", "tau_plus", "rule stdp calls it tau_plus_ms"},
        {"stdp", "tau_minus",
         "rule stdp calls it tau_minus_ms, in NEST it is a parameter of the "
         "target neuron"},
        {"stdp", "taupre", "rule stdp calls it tau_plus_ms"},
        {"stdp", "A_plus", "rule stdp calls it lambda, a share of w_max"},
        {"stdp", "dApre",
         "rule stdp calls it lambda, dApre / w_max, with mu_plus = 0 and "
         "mu_minus = 0"},
        {"stdp", "dApost", "rule stdp calls it alpha, -dApost / dApre"},
        {"stdp", "Apre",
         "rule stdp calls it lambda, what a spike adds to it / w_max, with "
         "mu_plus = 0 and mu_minus = 0; the trace itself begins at 0"},
        {"stdp", "Apost",
         "rule stdp calls it alpha, what a spike takes from it / what one adds "
         "to Apre; the trace itself begins at 0"},
        {"stdp_reward", "dApre",
         "rule stdp_reward calls it a_plus, in the unit of the weights"},
        {"stdp", "Wmax", "rule stdp calls it w_max_pa"},
        {"stdp_triplet", "Aplus_triplet",
         "rule stdp_triplet calls it a3_plus, a share of w_max"},
        {"stdp_inhibitory", "tau", "rule stdp_inhibitory calls it tau_ms"},
        {"stdp_power", "gmax", "rule stdp_power calls it w_max_pa"},
    };
    for (uint32_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[512], wanted[512];
        snprintf(text, sizeof(text), PLASTICITY "rule = \"%s\"\n%s = 1\n",
                 cases[i].rule, cases[i].key);
        snprintf(wanted, sizeof(wanted), "t:8:1: %s: %s", cases[i].key,
                 cases[i].answer);
        assert_refused(text, wanted);
    }
}

static void keys_of_short_term(void **state)
{
    (void)state;
    static const struct {
        const char *rule;
        const char *key;
        const char *answer;
    } cases[] = {
        {"tsodyks2", "u",
         "rule tsodyks2 calls it u_start, and the share of a "
         "spike is U"},
        {"tsodyks2", "x", "rule tsodyks2 calls it x_start"},
        {"tsodyks2", "tau_rec", "rule tsodyks2 calls it tau_rec_ms"},
        {"tsodyks2", "tau_f", "rule tsodyks2 calls it tau_fac_ms"},
        {"tsodyks", "tau_psc", "rule tsodyks calls it tau_psc_ms"},
        {"tsodyks", "y", "rule tsodyks calls it y_start"},
        {"tsodyks", "Wmax",
         "rule tsodyks has no such key: its weights stay as they are"},
        {"tsodyks", "w_max_pa",
         "rule tsodyks has no such key: its weights stay as they are"},
        {"tsodyks2", "frozen",
         "rule tsodyks2 has no such key: its weights stay as they are"},
        {"tsodyks2", "delay",
         "rule tsodyks2 has no such key: its weights stay as they are"},
    };
    for (uint32_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[512], wanted[512];
        snprintf(text, sizeof(text),
                 AREA "[plasticity.p]\nrule = \"%s\"\n%s = 1\n", cases[i].rule,
                 cases[i].key);
        snprintf(wanted, sizeof(wanted), "t:7:1: %s: %s", cases[i].key,
                 cases[i].answer);
        assert_refused(text, wanted);
    }
}

static void plasticity_rules(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        const char *answer;
    } cases[] = {
        {"stdp_synapse", ", did you mean stdp?"},
        {"STDPMechanism", ", did you mean stdp?"},
        {"stdp_pl_synapse_hom", ", did you mean stdp_power? it has no bound in "
                                "NEST: w_max is wanted here"},
        {"stdp_triplet_synapse", ", did you mean stdp_triplet? amplitudes are "
                                 "shares of w_max here"},
        {"vogels_sprekeler_synapse", ", did you mean stdp_inhibitory?"},
        {"stdp_nn_symm_synapse", ", did you mean stdp? with nearest = true"},
        {"stdp_dopamine_synapse",
         ", did you mean stdp_reward? with modulator = the area that its "
         "volume_transmitter reads"},
        {"tsodyks2_synapse", ", did you mean tsodyks2? U, tau_rec and tau_fac "
                             "are those of the map"},
        {"clopath_synapse",
         ": no rule reads a potential; nearest: stdp_triplet"},
        {"stdp_facetshw_synapse_hom",
         ": no rule collects charges or looks up weights in a table; nearest: "
         "stdp with nearest = true"},
        {"jonke_synapse",
         ": no rule has an exponential of the weight; nearest: stdp with "
         "mu_plus = 0 and mu_minus = 0, or a [synapse.NAME]"},
        {"quantal_stp_synapse",
         ": no rule draws releases; nearest: tsodyks2, their mean"},
        {"tsodyks_synapse", ", did you mean tsodyks?"},
        {"TsodyksMarkramSynapse", ", did you mean tsodyks?"},
    };
    for (uint32_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[512], wanted[512];
        snprintf(text, sizeof(text), PLASTICITY "rule = \"%s\"\n",
                 cases[i].name);
        snprintf(wanted, sizeof(wanted), "t:7:8: no plasticity rule \"%s\"%s",
                 cases[i].name, cases[i].answer);
        assert_refused(text, wanted);
    }
}

/* ---- words -------------------------------------------------------------- */

#define GENERATORS                                                             \
    "[[stimulus]] kind = \"poisson\": each neuron has a train of its own, as " \
    "in NEST; neurons with ids: [area] generator = \"poisson\""
#define POISSON_GROUP                                                          \
    "[area] generator = \"poisson\", and maps from it; [[stimulus]] kind = "   \
    "\"poisson\" adds input without neurons"

static void models(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        const char *answer;
    } cases[] = {
        {"iaf_psc_exp",
         ", did you mean lif_psc_exp? lif_psc_exp2 where tau_syn_ex and "
         "tau_syn_in differ (tau_ex_ms, tau_in_ms); NEST's defaults are "
         "others"},
        {"iaf_cond_exp", ", did you mean lif_cond_exp?"},
        {"iaf_psc_alpha", ", did you mean lif_psc_alpha? its tau_syn_ex and "
                          "tau_syn_in are one tau_syn_ms; NEST's defaults are "
                          "others"},
        {"hh_psc_alpha",
         ": no built-in model is of Hodgkin and Huxley's kind; nearest: "
         "`volley new neurons/hh_cond_exp_traub`"},
        {"iaf_cond_exp_sfa_rr",
         ": no built-in model adapts by a conductance; nearest: adex, which "
         "adapts by a current, or a [neuron]"},
        {"mat2_psc_exp",
         ": not built in, but a [neuron]: `volley new neurons/mat2_psc_exp`"},
        {"poisson_generator", ": " GENERATORS},
        {"PoissonGroup", ": " POISSON_GROUP},
        {"parrot_neuron",
         ": no model repeats spikes; an area with a generator has neurons with "
         "ids, so that none is needed"},
        {"fixed_indegree", ", which is fixed_in_degree here"},
    };
    for (uint32_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[512], wanted[512];
        snprintf(text, sizeof(text),
                 "format = 1\n[area.A]\nmodel = \"%s\"\nneurons = 1\n",
                 cases[i].name);
        snprintf(wanted, sizeof(wanted), "t:3:9: no model \"%s\"%s",
                 cases[i].name, cases[i].answer);
        assert_refused(text, wanted);
    }
}

static void rules_kinds_and_generators(void **state)
{
    (void)state;
    assert_refused(AREA "[[map]]\nfrom = \"A\"\nto = \"A\"\n"
                        "rule = \"pairwise_poisson\"\n",
                   "t:8:8: no rule \"pairwise_poisson\": no rule draws a "
                   "number of synapses for each pair; nearest: "
                   "fixed_total_number, count = pairwise_avg_num_conns times "
                   "the pairs of neurons");
    assert_refused(AREA "[[map]]\nfrom = \"A\"\nto = \"A\"\n"
                        "rule = \"fixed_outdegree\"\n",
                   "t:8:8: no rule \"fixed_outdegree\", did you mean "
                   "fixed_out_degree?");
    assert_refused(AREA "[[stimulus]]\nkind = \"PoissonGroup\"\n",
                   "t:6:8: no kind \"PoissonGroup\", did you mean "
                   "poisson? " POISSON_GROUP);
    assert_refused(AREA "[[stimulus]]\nkind = \"step_current_generator\"\n",
                   "t:6:8: no kind \"step_current_generator\", did you mean "
                   "dc? [[stimulus]] kind = \"dc\" with at_ms and a list of "
                   "amplitudes");
    assert_refused(AREA "[[stimulus]]\nkind = \"ac_generator\"\n",
                   "t:6:8: no kind \"ac_generator\", did you mean dc? "
                   "[[stimulus]] kind = \"dc\", amplitude = { sine = { mean, "
                   "amplitude, frequency_hz, phase_deg } }, in steps of "
                   "every_ms");
    assert_refused(AREA "[[stimulus]]\nkind = \"gamma_sup_generator\"\n",
                   "t:6:8: no kind \"gamma_sup_generator\": generators are "
                   "poisson, spikes and pulse");
    assert_refused("format = 1\n[area.G]\ngenerator = \"PoissonGroup\"\n"
                   "neurons = 1\n",
                   "t:3:13: no generator \"PoissonGroup\", did you mean "
                   "poisson? " POISSON_GROUP);
    /* a name of the user's is no word of NEST's */
    assert_refused(AREA "[[record]]\nwhat = \"spikes\"\nfrom = \"a\"\n",
                   "t:7:8: from: no area \"a\", did you mean A?");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(rows_name_what_there_is),
    cmocka_unit_test(keys_of_models),
    cmocka_unit_test(keys_of_tables),
    cmocka_unit_test(keys_of_plasticity),
    cmocka_unit_test(keys_of_short_term),
    cmocka_unit_test(plasticity_rules),
    cmocka_unit_test(models),
    cmocka_unit_test(rules_kinds_and_generators),
};
VLY_TEST_MAIN(tests)
