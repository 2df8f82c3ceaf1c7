/* SPDX-License-Identifier: Apache-2.0
 * Genomes of test_learning_swap: STDP by every rule without a modulator, all
 * other rules, and two that are much for one invocation of a shader.
 */
#ifndef VOLLEY_LEARNING_GENOMES_H
#define VOLLEY_LEARNING_GENOMES_H

/* R fires in nearly every burst, so that rings of spikes are full. */
static const char genome_stdp[] =
    "format = 1\n[run]\ndt_ms = 0.5\nbursts = 420\n"
    "[area.A]\nmodel = \"lif_psc_delta\"\nneurons = 40\n"
    "v_mv = { uniform = [-70, -50] }\n"
    "[area.B]\nmodel = \"lif_psc_exp2\"\nneurons = 30\ni_e_pa = 400\n"
    "[area.R]\nmodel = \"lif_psc_delta\"\nneurons = 4\nt_ref_ms = 0\n"
    "[plasticity.power]\nrule = \"stdp_power\"\nw_max_mv = 3\nlambda = 0.1\n"
    "delay = \"dendritic\"\n"
    "[plasticity.triplet]\nrule = \"stdp_triplet\"\nw_max_pa = 90\n"
    "a2_minus = 0.02\na3_plus = 0.02\n"
    "[plasticity.pairs]\nrule = \"stdp\"\nw_max_mv = 2\nlambda = 0.05\n"
    "mu_plus = 0.3\nmu_minus = 0\n"
    "[plasticity.inhibits]\nrule = \"stdp_inhibitory\"\nw_max_mv = -2\n"
    "eta_mv = 0.01\n"
    "[plasticity.nearest]\nrule = \"stdp\"\nw_max_pa = -60\nnearest = true\n"
    "delay = \"dendritic\"\n"
    "[[map]]\nid = \"plain\"\nfrom = \"A\"\nto = \"B\"\n"
    "rule = \"fixed_in_degree\"\nin_degree = 5\n"
    "weight_pa = { uniform = [10, 40] }\ndelay_ms = { uniform = [1, 4] }\n"
    "[[map]]\nid = \"power\"\nfrom = \"A\"\nto = \"A\"\n"
    "rule = \"fixed_in_degree\"\nin_degree = 20\n"
    "weight_mv = { uniform = [0, 3] }\ndelay_ms = 2\nplasticity = \"power\"\n"
    "[[map]]\nid = \"triplet\"\nfrom = \"A\"\nto = \"B\"\n"
    "rule = \"all_to_all\"\nweight_pa = { uniform = [0, 90] }\n"
    "delay_ms = 0.5\nplasticity = \"triplet\"\n"
    "[[map]]\nid = \"pairs\"\nfrom = \"B\"\nto = \"R\"\n"
    "rule = \"all_to_all\"\nweight_mv = 1\ndelay_ms = 3.5\n"
    "plasticity = \"pairs\"\n"
    "[[map]]\nid = \"inhibits\"\nfrom = \"B\"\nto = \"A\"\n"
    "rule = \"all_to_all\"\nweight_mv = -0.1\ndelay_ms = 1\n"
    "plasticity = \"inhibits\"\n"
    "[[map]]\nid = \"nearest\"\nfrom = \"B\"\nto = \"B\"\n"
    "rule = \"fixed_in_degree\"\nin_degree = 9\nweight_pa = -5\n"
    "delay_ms = 1.5\nplasticity = \"nearest\"\n"
    "[[stimulus]]\nkind = \"poisson\"\nto = \"A\"\nrate_hz = 900\n"
    "weight_mv = 8\n"
    "[[stimulus]]\nkind = \"poisson\"\nto = \"R\"\nrate_hz = 9000\n"
    "weight_mv = 30\n";

/* F is driven to fire in bursts in a row; D is the modulator of one map, the
 * host that of both. */
static const char genome_other_rules[] =
    "format = 1\n[run]\ndt_ms = 0.5\nbursts = 240\n"
    "[area.A]\nmodel = \"lif_psc_delta\"\nneurons = 40\n"
    "v_mv = { uniform = [-70, -50] }\n"
    "[area.B]\nmodel = \"lif_psc_exp2\"\nneurons = 30\ni_e_pa = 400\n"
    "[area.D]\nmodel = \"lif_psc_delta\"\nneurons = 3\n"
    "[area.F]\nmodel = \"feagi\"\nneurons = 20\nfiring_threshold = 2\n"
    "leak_coefficient = 0.5\n"
    "[plasticity.reward]\nrule = \"stdp_reward\"\nw_max_mv = 3\n"
    "a_plus_mv = 0.5\na_minus_mv = 0.3\ntau_c_ms = 30\ntau_n_ms = 4\n"
    "increment = 20\ninterval_ms = 3.5\nmodulator = \"D\"\n"
    "[plasticity.given]\nrule = \"stdp_reward\"\nw_max_mv = -3\n"
    "a_plus_mv = 0.2\nbase = 2\ninterval_ms = 1\ndelay = \"dendritic\"\n"
    "[plasticity.steps]\nrule = \"feagi_stdp\"\nw_max = 40\n"
    "plasticity_window = 2\nltp_multiplier = 3\n"
    "[plasticity.fade]\nrule = \"tsodyks2\"\ntau_rec_ms = 40\n"
    "tau_fac_ms = 20\n"
    "[plasticity.use]\nrule = \"tsodyks\"\nU = 0.3\ntau_rec_ms = 25\n"
    "tau_psc_ms = 2\ny_start = 0.4\nx_start = 0.5\n"
    "[[map]]\nid = \"reward\"\nfrom = \"A\"\nto = \"A\"\n"
    "rule = \"fixed_in_degree\"\nin_degree = 9\n"
    "weight_mv = { uniform = [0, 3] }\ndelay_ms = 2\n"
    "plasticity = \"reward\"\n"
    "[[map]]\nid = \"given\"\nfrom = \"A\"\nto = \"D\"\n"
    "rule = \"all_to_all\"\nweight_mv = -1\ndelay_ms = 1\n"
    "plasticity = \"given\"\n"
    "[[map]]\nid = \"steps\"\nfrom = \"A\"\nto = \"F\"\n"
    "rule = \"fixed_in_degree\"\nin_degree = 8\n"
    "weight = { uniform = [0, 40] }\ndelay_ms = 1.5\n"
    "plasticity = \"steps\"\n"
    "[[map]]\nid = \"fade\"\nfrom = \"A\"\nto = \"B\"\n"
    "rule = \"fixed_in_degree\"\nin_degree = 12\n"
    "weight_pa = { uniform = [50, 300] }\ndelay_ms = { uniform = [0.5, 9] }\n"
    "plasticity = \"fade\"\n"
    "[[map]]\nid = \"use\"\nfrom = \"B\"\nto = \"A\"\n"
    "rule = \"fixed_in_degree\"\nin_degree = 6\nweight_mv = -1.5\n"
    "delay_ms = 0.5\nplasticity = \"use\"\n"
    "[[stimulus]]\nkind = \"poisson\"\nto = \"A\"\nrate_hz = 900\n"
    "weight_mv = 8\n"
    "[[stimulus]]\nkind = \"poisson\"\nto = \"D\"\nrate_hz = 900\n"
    "weight_mv = 9\n";

/* Every neuron is a source of 300 synapses of each kind of plasticity. At first
 * all of them fire at once. */
static const char genome_wide[] =
    "format = 1\n[run]\ndt_ms = 0.5\nbursts = 60\n"
    "[area.A]\nmodel = \"lif_psc_delta\"\nneurons = 300\ni_e_pa = 1000\n"
    "[area.F]\nmodel = \"feagi\"\nneurons = 300\nfiring_threshold = 3\n"
    "[plasticity.p]\nrule = \"stdp\"\nw_max_mv = 0.2\n"
    "[plasticity.r]\nrule = \"stdp_reward\"\nw_max_mv = 0.2\nbase = 9\n"
    "interval_ms = 1.5\na_plus_mv = 0.02\n"
    "[plasticity.s]\nrule = \"tsodyks2\"\ntau_rec_ms = 30\n"
    "[plasticity.w]\nrule = \"feagi_stdp\"\nw_max = 9\n"
    "[[map]]\nfrom = \"A\"\nto = \"A\"\nrule = \"all_to_all\"\n"
    "weight_mv = 0.1\ndelay_ms = 1\nplasticity = \"p\"\n"
    "[[map]]\nfrom = \"A\"\nto = \"A\"\nrule = \"all_to_all\"\n"
    "weight_mv = 0.1\ndelay_ms = 1\nplasticity = \"r\"\n"
    "[[map]]\nfrom = \"A\"\nto = \"A\"\nrule = \"all_to_all\"\n"
    "weight_mv = -0.2\ndelay_ms = { uniform = [1, 4] }\n"
    "plasticity = \"s\"\n"
    "[[map]]\nfrom = \"A\"\nto = \"F\"\nrule = \"all_to_all\"\n"
    "weight = 1\ndelay_ms = 1\nplasticity = \"w\"\n"
    "[[stimulus]]\nkind = \"poisson\"\nto = \"A\"\nrate_hz = 400\n"
    "weight_mv = 20\n";

/* S is one source among many neurons that fire with it. */
static const char genome_one[] =
    "format = 1\n[run]\ndt_ms = 0.5\nbursts = 15\n"
    "[area.B]\nmodel = \"lif_psc_delta\"\nneurons = 13000\n"
    "i_e_pa = 1000\n"
    "[area.S]\nmodel = \"lif_psc_delta\"\nneurons = 1\ni_e_pa = 1000\n"
    "[plasticity.p]\nrule = \"stdp\"\nw_max_mv = 0.2\n"
    "[plasticity.s]\nrule = \"tsodyks2\"\ntau_rec_ms = 30\n"
    "[[map]]\nid = \"p\"\nfrom = \"S\"\nto = \"B\"\n"
    "rule = \"all_to_all\"\nweight_mv = 0.1\ndelay_ms = 1\n"
    "plasticity = \"p\"\n"
    "[[map]]\nid = \"s\"\nfrom = \"S\"\nto = \"B\"\n"
    "rule = \"all_to_all\"\nweight_mv = 0.1\ndelay_ms = 1\n"
    "plasticity = \"s\"\n";

#endif
