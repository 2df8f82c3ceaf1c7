/* SPDX-License-Identifier: Apache-2.0
 * The tables of keys: see genome_keys.h.
 */
#include "genome/genome_keys.h"

#include <string.h>

#define END                                                                    \
    {                                                                          \
        NULL, VLY_FORM_TEXT, NULL                                              \
    }

const vly_key vly_keys_top[] = {
    {"format", VLY_FORM_FORMAT, "version of the format: 1"},
    {"title", VLY_FORM_TEXT, "one line; in no hash"},
    {"source", VLY_FORM_TEXT, "where the network comes from; in no hash"},
    {"run", VLY_FORM_SECTION, "time step, length, seeds"},
    {"var", VLY_FORM_NUMBERS, "names for expressions: \"=4*order\""},
    {"model", VLY_FORM_NAMED, "a model with parameters, for several areas"},
    {"use", VLY_FORM_NAMED, "another genome as a part of this one"},
    {"neuron", VLY_FORM_NAMED, "a model of your own: `volley doc neuron`"},
    {"synapse", VLY_FORM_NAMED,
     "a rule of plasticity of your own: `volley doc synapse`"},
    {"area", VLY_FORM_NAMED, "neurons of one model; at most 4096"},
    {"map", VLY_FORM_LIST, "synapses between areas"},
    {"stimulus", VLY_FORM_LIST, "input without synapses"},
    {"record", VLY_FORM_LIST,
     "what a run writes down; of it only which areas record input is in the "
     "hash"},
    {"morphology", VLY_FORM_NAMED, "vectors by name, for several maps"},
    {"plasticity", VLY_FORM_NAMED, "how synapses learn, for several maps"},
    {"memory", VLY_FORM_NAMED, "areas that remember patterns, by name"},
    {"association", VLY_FORM_NAMED, "neurons that fire together connect"},
    END};

const vly_key vly_keys_run[] = {
    {"dt_ms", VLY_FORM_NUMBER, "duration of a burst; default 1"},
    {"rate_hz", VLY_FORM_NUMBER, "bursts a second, instead of dt_ms"},
    {"ms", VLY_FORM_NUMBER,
     "length of a run, whole bursts, if the command gives none"},
    {"bursts", VLY_FORM_WHOLE, "the same in bursts"},
    {"seed_network", VLY_FORM_WHOLE, "of connections and weights; default 1"},
    {"seed_state", VLY_FORM_WHOLE, "of parameters and state; default 2"},
    {"seed_input", VLY_FORM_WHOLE, "of stimuli and noise; default 3"},
    END};

const vly_key vly_keys_model[] = {
    {"type", VLY_FORM_TYPE, "a model's id: `volley doc` lists them"}, END};

const vly_key vly_keys_neuron[] = {
    {"model_file", VLY_FORM_TEXT,
     "instead of the others: a file with a [neuron] of this name"},
    {"param", VLY_FORM_AMOUNTS, "parameters: { tau_m = \"10 ms\", ... }"},
    {"port", VLY_FORM_AMOUNTS,
     "inputs and their units: { ex = \"pA\" }; of two "
     "the sign of a weight chooses one"},
    {"state", VLY_FORM_AMOUNTS, "variables and their start: { v = \"e_l\" }"},
    {"eq", VLY_FORM_TEXT,
     "a line each: v' = ... (then hold, compensated), or a name = ..."},
    {"update", VLY_FORM_TEXT, "instead of eq: assignments of one burst"},
    {"on", VLY_FORM_TEXTS,
     "what an arrival at a port does: "
     "{ ex = \"i_ex += in\" }"},
    {"spike", VLY_FORM_TEXT, "condition: \"v >= v_th\""},
    {"reset", VLY_FORM_TEXT, "after a spike: \"v = v_reset; w += b\""},
    {"refractory", VLY_FORM_TEXT,
     "a time, during which variables marked hold do not change"},
    {"method", VLY_FORM_TEXT,
     "auto, exact, exponential, heun, rk4 or euler; default auto"},
    {"substeps", VLY_FORM_WHOLE,
     "steps of a burst, 1 to 16, each of dt/substeps"},
    {"input", VLY_FORM_TEXT,
     "parameter that dc stimuli add to; default i_e, if there is one"},
    {"record_input", VLY_FORM_BOOL,
     "fields input_PORT (input of one port) with sums of all that has arrived, "
     "as a [[record]] of input makes them; default false"},
    END};

const vly_key vly_keys_synapse[] = {
    {"param", VLY_FORM_AMOUNTS,
     "parameters: { tau = \"20 ms\", eta = \"0.1 weight\" }; weight: the unit "
     "of the map's weights"},
    {"pre", VLY_FORM_TEXTS,
     "1 or 2 traces of the source with the parameter that is their time "
     "constant: { x = \"tau\" }; a spike adds 1, then they decay"},
    {"post", VLY_FORM_TEXTS, "up to 2 traces of the target, likewise"},
    {"on_pre", VLY_FORM_TEXT,
     "what the arrival of a spike does: \"w -= eta*y\""},
    {"on_post", VLY_FORM_TEXT,
     "what a spike of the target does: \"w += eta*x\"; a product with a trace "
     "of pre"},
    END};

const vly_key vly_keys_quantity[] = {
    {"value", VLY_FORM_AMOUNT, "of a parameter, or start of a variable"},
    {"range", VLY_FORM_BOUNDS, "[lowest, highest], with units"},
    {"text", VLY_FORM_TEXT, "what it is, for `volley doc`"},
    END};

const vly_key vly_keys_area[] = {
    {"neurons", VLY_FORM_WHOLE, "how many; 0 leaves the area out"},
    {"voxels", VLY_FORM_TRIPLE, "size in voxels, instead of neurons"},
    {"neurons_per_voxel", VLY_FORM_WHOLE, "default 1"},
    {"model", VLY_FORM_MODEL,
     "a [model], a [neuron] or a model's id; { file, node_types_file } takes "
     "it and its parameters from SONATA nodes"},
    {"copies", VLY_FORM_WHOLE, "areas NAME/0, NAME/1, ... instead of one"},
    {"at", VLY_FORM_TRIPLE, "position; default [0, 0, 0]"},
    {"positions", VLY_FORM_SECTION, "of single neurons, for rule distance"},
    END};

#define PATTERNS                                                               \
    {                                                                          \
        "patterns", VLY_FORM_PATTERNS,                                         \
            "[[source], [target]] for each axis: a number, \"*\", \"?\", "     \
            "\"!\""                                                            \
    }
#define COMPOSITE                                                              \
    {                                                                          \
        "composite", VLY_FORM_SECTION, "a rule over tiles of the source"       \
    }

const vly_key vly_keys_morphology[] = {
    {"vectors", VLY_FORM_TRIPLES, "voxel to voxel + [dx, dy, dz]"},
    PATTERNS,
    COMPOSITE,
    {"function", VLY_FORM_TEXT, "a rule between voxels, by name"},
    END};

const vly_key vly_keys_composite[] = {
    {"src_seed", VLY_FORM_TRIPLE, "size of a tile"},
    {"src_pattern", VLY_FORM_PAIRS, "[taken, left out] tiles of each axis"},
    {"mapper", VLY_FORM_ANY, "vectors, patterns or a rule between voxels"},
    END};

const vly_key vly_keys_positions[] = {
    {"x", VLY_FORM_EVERY, "of each neuron: a value as of a parameter"},
    {"y", VLY_FORM_EVERY, "the same"},
    {"z", VLY_FORM_EVERY, "the same"},
    {"file", VLY_FORM_TEXT, "columns x, y and z, instead of them"},
    END};

const vly_key vly_keys_kernel[] = {
    {"constant", VLY_FORM_NUMBER, "the same at every distance"},
    {"gaussian", VLY_FORM_NUMBER, "exp(-d^2 / (2 length^2))"},
    {"exponential", VLY_FORM_NUMBER, "exp(-d / length)"},
    {"linear", VLY_FORM_NUMBER, "1 - d / length, 0 beyond"},
    {"cutoff", VLY_FORM_NUMBER, "less than this is 0"},
    {"amplitude", VLY_FORM_NUMBER, "factor; default 1"},
    END};

const vly_key vly_keys_mask[] = {
    {"box", VLY_FORM_BOX, "lower and upper corner of target - source"},
    {"sphere", VLY_FORM_NUMBER, "radius"},
    {"circle", VLY_FORM_NUMBER, "radius in x and y"},
    {"ring", VLY_FORM_PAIR, "[inner, outer] radius"},
    END};

const vly_key vly_keys_column[] = {
    {"file", VLY_FORM_TEXT,
     "comma-separated text with a header, or SONATA nodes (HDF5)"},
    {"column", VLY_FORM_TEXT,
     "name in the header: a line a neuron; of SONATA nodes an attribute, as "
     "tau_m; default the key"},
    {"population", VLY_FORM_TEXT, "of SONATA nodes, if the file has several"},
    {"node_types_file", VLY_FORM_TEXT,
     "SONATA's node types: a node whose group has no such attribute takes the "
     "column of its type, or else the value in the JSON file that the type's "
     "dynamics_params names"},
    {"dynamics_params_dir", VLY_FORM_TEXT,
     "folder of these files; default that of node_types_file"},
    END};

const vly_key vly_keys_node_model[] = {
    {"file", VLY_FORM_TEXT, "SONATA nodes (HDF5)"},
    {"population", VLY_FORM_TEXT, "if the file has several"},
    {"node_types_file", VLY_FORM_TEXT,
     "SONATA's node types: model_template nest:NAME is a [neuron.NAME], or the "
     "built-in model of NEST's NAME; parameters that the area does not give "
     "are those of the nodes and types"},
    {"dynamics_params_dir", VLY_FORM_TEXT,
     "folder of the types' dynamics_params; default that of node_types_file"},
    END};

const vly_key vly_keys_map[] = {
    {"id", VLY_FORM_TEXT, "keys its draws, addresses it in --set"},
    {"from", VLY_FORM_AREAS,
     "presynaptic areas, parts as \"E[0:100]\", pools as \"E + I\""},
    {"to", VLY_FORM_AREAS, "postsynaptic areas, parts, pools"},
    {"link", VLY_FORM_LINKS, "pairs of them, instead of from and to"},
    {"copies", VLY_FORM_TEXT,
     "between areas with copies: \"same\", only copies of one number, or "
     "\"other\", only of different ones"},
    {"rule", VLY_FORM_RULE, "which neurons: `volley doc` lists the rules"},
    {"count", VLY_FORM_COUNTS, "synapses (fixed_total_number)"},
    {"p", VLY_FORM_COUNTS, "probability of a pair of neurons"},
    {"vectors", VLY_FORM_TRIPLES, "voxel to voxel + [dx, dy, dz]"},
    {"morphology", VLY_FORM_TEXT, "a [morphology], instead of vectors"},
    {"in_degree", VLY_FORM_CELL,
     "synapses onto a neuron (fixed_in_degree); a distribution is drawn for "
     "each and rounded"},
    {"out_degree", VLY_FORM_CELL,
     "synapses of a neuron (fixed_out_degree); the same"},
    PATTERNS,
    COMPOSITE,
    {"weight*", VLY_FORM_CELL, "in the unit of the target's port"},
    {"delay_ms", VLY_FORM_CELL, "from spike to arrival; default one burst"},
    {"self", VLY_FORM_BOOL, "a neuron may connect to itself; default true"},
    {"multiple", VLY_FORM_BOOL, "a pair of neurons may have several synapses"},
    {"port", VLY_FORM_PORT,
     "of the target, by number or name; default 0, of two ports the one that "
     "the sign chooses"},
    {"plasticity", VLY_FORM_TEXT, "a [plasticity]: its synapses learn"},
    {"delay_bursts", VLY_FORM_CELL, "the same in bursts"},
    {"except", VLY_FORM_LIST,
     "other values for some pairs of areas; a narrower one comes later"},
    {"file", VLY_FORM_TEXT, "synapses as text or SONATA edges (file)"},
    {"population", VLY_FORM_TEXT,
     "of SONATA edges, or a map of the file's column map, if there are "
     "several"},
    {"edge_types_file", VLY_FORM_TEXT,
     "of SONATA edges: values of their types"},
    {"draw", VLY_FORM_TEXT,
     "distance: pairwise_bernoulli, fixed_in_degree, fixed_out_degree"},
    {"degree", VLY_FORM_WHOLE, "of such draws, 0 or more"},
    {"kernel", VLY_FORM_SECTION, "probability or weight by distance"},
    {"mask", VLY_FORM_SECTION, "where targets may be"},
    {"periodic", VLY_FORM_PERIODS,
     "period of each axis, 0 for one with ends; true: as many as it has "
     "voxels"},
    {"slope_weight*", VLY_FORM_NUMBER, "added for each unit of distance"},
    {"slope_delay_ms", VLY_FORM_NUMBER, "the same of the delay"},
    END};

const vly_key vly_keys_plasticity[] = {
    {"rule", VLY_FORM_LEARNING, "a plasticity rule: `volley doc` lists them"},
    {"w_max*", VLY_FORM_NUMBER,
     "bound of the weights, in the unit of the target's port; below 0 for "
     "inhibition"},
    {"delay", VLY_FORM_TEXT,
     "whose time the delay adds to: \"axonal\" (default, the source's) or "
     "\"dendritic\" (the target's, as in NEST)"},
    {"modulator", VLY_FORM_TEXT,
     "of stdp_reward: the area whose spikes raise the modulator; default none: "
     "the host raises it"},
    {"nearest", VLY_FORM_BOOL,
     "a spike pairs with the nearest one only; default false"},
    {"frozen", VLY_FORM_BOOL, "weights stay as they are; default false"},
    END};

const vly_key vly_keys_memory[] = {
    {"from", VLY_FORM_AREAS, "areas whose spikes it remembers"},
    {"twins", VLY_FORM_AREAS,
     "areas that repeat a pattern when its neuron fires, one for each of from, "
     "of its size; default none"},
    {"temporal_depth", VLY_FORM_WHOLE, "bursts of a pattern; default 1"},
    {"init_lifespan", VLY_FORM_WHOLE,
     "bursts until a pattern that is not seen again is forgotten; default 9"},
    {"lifespan_growth_rate", VLY_FORM_WHOLE,
     "bursts added whenever it is seen; default 1"},
    {"longterm_mem_threshold", VLY_FORM_WHOLE,
     "from such a lifespan on it is never forgotten; default 100"},
    END};

const vly_key vly_keys_association[] = {
    {"from", VLY_FORM_TEXT, "an area; synapses lead both ways"},
    {"to", VLY_FORM_TEXT, "another area, or the same"},
    {"plasticity_window", VLY_FORM_WHOLE,
     "bursts in which spikes count; default 1"},
    {"plasticity_constant", VLY_FORM_WHOLE, "size of a step; default 1"},
    {"ltp_multiplier", VLY_FORM_WHOLE,
     "times it: weight at first, and what it gains; default 1"},
    {"ltd_multiplier", VLY_FORM_WHOLE, "times it: what it loses; default 1"},
    {"inhibitory", VLY_FORM_BOOL, "weights are below 0; default false"},
    END};

const vly_key vly_keys_except[] = {
    {"from", VLY_FORM_AREAS, "presynaptic areas"},
    {"to", VLY_FORM_AREAS, "postsynaptic areas"},
    {"p", VLY_FORM_COUNTS, "as of the map"},
    {"count", VLY_FORM_COUNTS, "as of the map"},
    {"in_degree", VLY_FORM_CELL, "as of the map"},
    {"out_degree", VLY_FORM_CELL, "as of the map"},
    {"weight*", VLY_FORM_CELL, "as of the map"},
    {"delay_ms", VLY_FORM_CELL, "as of the map"},
    {"delay_bursts", VLY_FORM_CELL, "as of the map"},
    END};

#define RECORD_WINDOW                                                          \
    {"start_ms", VLY_FORM_NUMBER, "first time; default 0"},                    \
        {"start_burst", VLY_FORM_WHOLE, "the same in bursts"},                 \
        {"stop_ms", VLY_FORM_NUMBER,                                           \
         "end: no spike of a later burst, no later sample; default never"},    \
    {                                                                          \
        "stop_burst", VLY_FORM_WHOLE, "the same in bursts"                     \
    }

const vly_key vly_keys_record[] = {
    {"what", VLY_FORM_KIND, "spikes, rates, fields, input, or weights"},
    {"from", VLY_FORM_AREAS, "areas, or parts as \"E[0:100]\""},
    {"neurons", VLY_FORM_INDEXES, "indexes in the area; default all"},
    RECORD_WINDOW,
    END};

const vly_key vly_keys_record_fields[] = {
    {"what", VLY_FORM_KIND, "spikes, rates, fields, input, or weights"},
    {"from", VLY_FORM_AREAS, "areas, or parts as \"E[0:100]\""},
    {"fields", VLY_FORM_AREAS, "of the model, as v_mv or i_*: one or a list"},
    {"neurons", VLY_FORM_INDEXES, "indexes in the area; default all"},
    {"interval_ms", VLY_FORM_NUMBER,
     "a sample whenever so much time is done; default 1"},
    {"interval_bursts", VLY_FORM_WHOLE, "the same in bursts"},
    {"offset_ms", VLY_FORM_NUMBER,
     "time of the first sample, from which intervals count; default 0, where "
     "the first is after one interval"},
    {"offset_bursts", VLY_FORM_WHOLE, "the same in bursts"},
    RECORD_WINDOW,
    END};

const vly_key vly_keys_record_rates[] = {
    {"what", VLY_FORM_KIND, "spikes, rates, fields, input, or weights"},
    {"from", VLY_FORM_AREAS, "areas, or parts as \"E[0:100]\""},
    {"by", VLY_FORM_KIND,
     "mean rate of the neurons of each area (\"area\", the default), or a rate "
     "for each \"neuron\""},
    {"neurons", VLY_FORM_INDEXES, "indexes in the area; default all"},
    {"interval_ms", VLY_FORM_NUMBER,
     "a rate (Hz) of each such interval from the start on: its number of "
     "spikes divided by its length"},
    {"interval_bursts", VLY_FORM_WHOLE, "the same in bursts"},
    RECORD_WINDOW,
    END};

const vly_key vly_keys_record_input[] = {
    {"what", VLY_FORM_KIND, "spikes, rates, fields, input, or weights"},
    {"from", VLY_FORM_AREAS, "areas, or parts as \"E[0:100]\""},
    {"neurons", VLY_FORM_INDEXES, "indexes in the area; default all"},
    {"interval_ms", VLY_FORM_NUMBER,
     "for each port, the sum of the weights of all that arrived in each such "
     "interval from the start on, in the unit of the port; default 1"},
    {"interval_bursts", VLY_FORM_WHOLE, "the same in bursts"},
    RECORD_WINDOW,
    END};

const vly_key vly_keys_record_weights[] = {
    {"what", VLY_FORM_KIND, "spikes, rates, fields, input, or weights"},
    {"map", VLY_FORM_TEXT, "id of a map with plasticity, or \"map:N\""},
    {"first", VLY_FORM_WHOLE,
     "synapse of the map, from 0, in the order of its pairs of areas, sources, "
     "targets; default 0"},
    {"n", VLY_FORM_WHOLE, "synapses from there on; default all"},
    {"interval_ms", VLY_FORM_NUMBER, "a sample whenever so much time is done"},
    {"interval_bursts", VLY_FORM_WHOLE, "the same in bursts"},
    END};

const vly_key vly_keys_use[] = {
    {"file", VLY_FORM_TEXT, "the genome; relative to the file that names it"},
    {"prefix", VLY_FORM_TEXT, "of its names: E is PREFIX/E; default NAME"},
    {"areas", VLY_FORM_TEXTS,
     "areas of this genome that stand in for its: "
     "{ E = \"cortex\" }"},
    {"set", VLY_FORM_SET,
     "changes it as --set does: "
     "{ \"var.g\" = 5 }; expressions are of this genome"},
    END};

const vly_key_section vly_key_sections[] = {
    {"top", "the genome", vly_keys_top, false, false},
    {"run", "[run]", vly_keys_run, false, false},
    {"model", "[model.NAME]", vly_keys_model, true, false},
    {"neuron", "[neuron.NAME]", vly_keys_neuron, false, false},
    {"synapse", "[synapse.NAME]", vly_keys_synapse, false, false},
    {"quantity", "a value of a [neuron]", vly_keys_quantity, false, false},
    {"use", "[use.NAME]", vly_keys_use, false, false},
    {"area", "[area.NAME]", vly_keys_area, true, false},
    {"area.poisson", "[area.NAME] with a generator", vly_keys_area_poisson,
     false, false},
    {"area.spikes", "[area.NAME] with a generator", vly_keys_area_spikes, false,
     false},
    {"area.pulse", "[area.NAME] with a generator", vly_keys_area_pulse, false,
     false},
    {"morphology", "[morphology.NAME]", vly_keys_morphology, false, false},
    {"composite", "a composite", vly_keys_composite, false, false},
    {"positions", "positions of an area", vly_keys_positions, false, false},
    {"kernel", "a kernel", vly_keys_kernel, false, false},
    {"mask", "a mask", vly_keys_mask, false, false},
    {"value.column", "a value from a file", vly_keys_column, false, false},
    {"area.model", "a model of SONATA nodes", vly_keys_node_model, false,
     false},
    {"map", "[[map]]", vly_keys_map, false, false},
    {"plasticity", "[plasticity.NAME]", vly_keys_plasticity, false, true},
    {"memory", "[memory.NAME]", vly_keys_memory, false, false},
    {"association", "[association.NAME]", vly_keys_association, false, false},
    {"except", "except of a [[map]]", vly_keys_except, false, false},
    {"stimulus.poisson", "[[stimulus]]", vly_keys_poisson, false, false},
    {"stimulus.bernoulli", "[[stimulus]]", vly_keys_bernoulli, false, false},
    {"stimulus.normal", "[[stimulus]]", vly_keys_normal, false, false},
    {"stimulus.dc", "[[stimulus]]", vly_keys_dc, false, false},
    {"stimulus.spikes", "[[stimulus]]", vly_keys_spikes, false, false},
    {"stimulus.pulse", "[[stimulus]]", vly_keys_pulse, false, false},
    {"stimulus.pattern", "[[stimulus]]", vly_keys_pattern, false, false},
    {"value.distribution", "a distribution", vly_keys_distribution, false,
     false},
    {"value.draw", "a draw", vly_keys_draw, false, false},
    {"value.choice", "a choice", vly_keys_choice, false, false},
    {"value.mixture", "a mixture", vly_keys_mixture, false, false},
    {"value.each", "values by neuron", vly_keys_each, false, false},
    {"value.course", "a function of time", vly_keys_course, false, false},
    {"sine", "a sine", vly_keys_sine, false, false},
    {"ramp", "a ramp", vly_keys_ramp, false, false},
    {"record.spikes", "[[record]]", vly_keys_record, false, false},
    {"record.rates", "[[record]]", vly_keys_record_rates, false, false},
    {"record.fields", "[[record]]", vly_keys_record_fields, false, false},
    {"record.input", "[[record]]", vly_keys_record_input, false, false},
    {"record.weights", "[[record]]", vly_keys_record_weights, false, false},
    {NULL, NULL, NULL, false, false}};

const vly_key_section *vly_key_section_find(const char *name)
{
    for (const vly_key_section *s = vly_key_sections; s->name; s++)
        if (strcmp(s->name, name) == 0)
            return s;
    return NULL;
}

bool vly_key_matches(const char *key, const char *word)
{
    size_t n = strlen(key);
    if (n == 0 || key[n - 1] != '*')
        return strcmp(key, word) == 0;
    return strncmp(key, word, n - 1) == 0 &&
           (word[n - 1] == 0 || word[n - 1] == '_');
}
