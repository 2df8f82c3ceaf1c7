/* SPDX-License-Identifier: Apache-2.0
 * The topics of `volley doc`. What a table knows (ports, rules, sections) is
 * printed from it.
 */
#include "tools/doc/doc_topics.h"

#include <stdio.h>
#include <string.h>

#include "genome/edge_list.h"
#include "genome/genome_map.h"
#include "genome/model_info.h"
#include "genome/voxel_rule.h"
#include "neuron/neuron_tree.h"
#include "neuron/synapse_model.h"
#include "tools/cli/tool.h"
#include "tools/doc/doc_keys.h"
#include "tools/doc/doc_plasticity.h"
#include "tools/feagi/feagi_doc.h"

/* ---- from tables ------------------------------------------------------ */

static void print_ports(void)
{
    tool_print("\n%-16s %-4s %-12s %s\n", "model", "port", "weight", "of");
    for (uint32_t m = 0; m < vly_model_count(); m++) {
        const vly_model_info *model = vly_model_at(m);
        for (uint32_t p = 0; p < model->n_ports; p++) {
            const vly_port_info *port = &model->ports[p];
            char weight[32];
            snprintf(weight, sizeof weight, "weight%s%s",
                     port->suffix[0] != '\0' ? "_" : "", port->suffix);
            tool_print("%-16s %-4u %-12s %s\n", model->id, p, weight,
                       port->text);
        }
    }
}

static void print_functions(void)
{
    tool_print("\n");
    for (int i = 0; i < VLY_RULES; i++)
        if (vly_rule_is_function((vly_rule)i))
            tool_print("  %s\n", vly_rules[i].name);
}

static void print_voxel_rules(void)
{
    tool_print("\nrules between voxels:");
    for (int i = 0; i < VLY_RULES; i++)
        if (vly_rule_of_voxels((vly_rule)i))
            tool_print(" %s", vly_rules[i].name);
    tool_print("\n");
}

static void print_generators(void)
{
    static const char *const names[] = {"area.poisson", "area.spikes",
                                        "area.pulse"};
    for (int i = 0; i < 3; i++) {
        tool_print("\n");
        doc_section_print(names[i]);
    }
}

static void print_values(void)
{
    tool_print("\n");
    doc_section_print("value");
}

/* Keys of [synapse.NAME]. */
static void print_synapse(void)
{
    tool_print("\nat most        %u parameters, %u traces a side\n\n",
               VLY_SYNAPSE_PARAMS_MAX, VLY_SYNAPSE_TRACES_MAX);
    doc_section_print("synapse");
}

/* Keys, functions and limits of [neuron.NAME]. */
static void print_neuron(void)
{
    tool_print("\nfunctions     ");
    for (int i = 0; i < VLY_FUNCTION_LOG; i++)
        tool_print(" %s", vly_function_name((vly_function)i));
    tool_print("\nof parameters ");
    for (int i = VLY_FUNCTION_LOG; i < VLY_FUNCTIONS; i++)
        tool_print(" %s", vly_function_name((vly_function)i));
    tool_print("\nat most        %u variables, %u parameters, %u ports, %u "
               "coefficients, %u operations\n\n",
               VLY_NEURON_FIELDS_MAX, VLY_NEURON_PARAMS_MAX,
               VLY_NEURON_PORTS_MAX, VLY_NEURON_COEFS_MAX, VLY_NEURON_OPS_MAX);
    doc_section_print("neuron");
    tool_print("\n");
    doc_section_print("quantity");
}

static void print_limits(void)
{
    static const struct {
        const char *what;
        double most;
    } limits[] = {
        {"areas", VLY_AREAS_MAX},
        {"neurons in all", VLY_NEURONS_MAX},
        {"pairs of areas in all maps", VLY_PAIRS_MAX},
        {"synapses in all", (double)VLY_SYNAPSES_MAX},
        {"synapses in a file", VLY_EDGES_MAX},
        {"stimuli, each area of one counted", VLY_STIMULI_MAX},
        {"spikes given in all stimuli", (double)VLY_SPIKES_MAX},
        {"vectors or patterns of a map", VLY_VECTORS_MAX},
        {"bursts of a delay", VLY_DELAY_BURSTS_MAX},
        {"numbers in [var]", VLY_VARS_MAX},
        {"tables [plasticity.NAME]", VLY_PLASTICITIES_MAX},
        {"bytes of a name", VLY_NAME_MAX},
        {"bytes of a genome's text", VLY_GENOME_BYTES_MAX},
    };
    tool_print("\n");
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++)
        tool_print("  %-36s %17.0f\n", limits[i].what, limits[i].most);
}

/* ---- topics ----------------------------------------------------------- */

typedef struct doc_topic {
    const char *name;
    const char *summary;
    const char *text;
    void (*more)(void); /* or NULL */
} doc_topic;

static const doc_topic topics[] = {
    {"generator", "areas that only fire: poisson, spikes, pulse",
     "[area.NAME] with generator = \"poisson\", \"spikes\" or \"pulse\" "
     "instead of a model:\nneurons with ids, whose spikes are recorded and "
     "stand in the digest. Maps start\nfrom them; nothing reaches them. A "
     "neuron fires once in a burst at most. Input\nwithout neurons is a "
     "[[stimulus]].\n",
     print_generators},
    {"expression", "\"=4*order\": numbers made of others",
     "A number may be a string that begins with =: \"=4*order\", "
     "\"=round(0.1*n)\".\nIt has numbers, names of [var], dt_ms (the time "
     "step of the run), + - * / ( ), min\nand max of several, round (halves go "
     "up), sqrt, log (natural). A count must come\nout whole. A [var] may use "
     "others, whatever the order. What an included file says\nis computed with "
     "its own [var], and with dt_ms of the genome that includes it.\n",
     NULL},
    {"set", "--set PATH=VALUE, and what comes before what",
     "--set area.E.neurons=100     --set var.g=4.5     --set run.ms=50\n"
     "--set map.1.p=0.2            maps, stimuli and records by their number, "
     "from 1,\n--set stimulus.ext.rate_hz=8 or by id\n"
     "--set 'area.\"E.1\".neurons=3' quotes around a name with a point\n"
     "VALUE is as in the file. What comes later counts: default of the model, "
     "[model],\nthe entry itself, --set. A path that is not there is refused. "
     "`volley resolve`\nprints every value and where it is from.\n",
     NULL},
    {"unit", "keys end in their unit; the unit of a weight",
     "A key with a unit ends in it: tau_m_ms, c_m_pf, rate_hz. A weight has "
     "the "
     "unit of\nthe port of the target, and so have mean and sd of a stimulus; "
     "the amplitude of a\ndc has that of i_e. A wrong unit is refused with the "
     "right one.\n"
     "A weight is stored in 16 bits. Where maps of one port, or the weights of "
     "one law, are\nof many sizes, each map has a unit of its own, up to 2^12 "
     "times finer than another's.\nA note and the summary name weights that "
     "are off by more than 1% all the same, a\nconstant from 0.1% on; `volley "
     "check` prints the worst rounding.\n",
     print_ports},
    {"port", "which input of a neuron a map goes to",
     "Onto a model with two ports a map sorts its synapses by the sign of the "
     "weight: 0\nand more go to port 0, excitation, less to port 1, "
     "inhibition; inhibitory weights\nare negative, of conductances too. "
     "port = 0 or port = 1 sends all to one; a port\nof conductances takes its "
     "sign only. A stimulus goes by the sign of its weight or\nmean. A "
     "[neuron] may have up to four ports; of three and four each map and "
     "stimulus\nnames one: port = \"nmda\", or its number.\n",
     print_ports},
    {"matrix", "p, weight_*, delay_* for each pair of areas",
     "With lists in from and to, p, count, in_degree, out_degree, weight_* and "
     "delay_* of\na map may be matrices: a row for each area of to, a column "
     "for each of from; one\nrow stands for all, and so does one column.\n"
     "except = [{ from = \"E\", to = \"I\", p = 0.2 }, ...] gives some pairs "
     "another value,\na later one some of an earlier one's.\n",
     NULL},
    {"glob", "areas by name: \"*\", \"L4/?\"",
     "Where a key takes areas: a name, a glob (* any letters, ? one) or a list "
     "of them.\nA glob must match; no area may be named twice. link = "
     "[\"A -> B\", \"L* -> I\"] names\npairs instead of from and to. In an "
     "included file globs reach its own areas.\n",
     NULL},
    {"voxel", "areas with a place for each neuron, and their rules",
     "voxels = [x, y, z] and neurons_per_voxel instead of neurons. Ids: x "
     "outermost, then\ny, then z, then the neurons of a voxel. `at` is the "
     "area's position. A stimulus of\nkind pattern names voxels.\n",
     print_voxel_rules},
    {"function", "FEAGI's connection functions, by name",
     "rule = NAME, or rule = \"function\" with a [morphology.M] that has "
     "function = NAME,\nor mapper = NAME in a composite. `volley doc NAME` "
     "says what one does.\n",
     print_functions},
    {"value", "what a parameter may be: number, list, file, draw, ...",
     "A parameter or an initial value is a number, an expression, a list (one "
     "a neuron),\nor one of these tables:\n",
     print_values},
    {"seed", "what is drawn from what",
     "[run] seed_network (1): connections, weights, delays. seed_state (2): "
     "parameters\nand initial values. seed_input (3): stimuli and generators. "
     "--seed N sets all\nthree. Draws are keyed by the names of areas and the "
     "ids of maps and stimuli: one\nmore of them changes no draw of the "
     "others.\n",
     NULL},
    {"time", "bursts, milliseconds and delays",
     "Time goes in bursts of dt_ms. Milliseconds become bursts by "
     "floor(ms / dt_ms + 0.5);\nwhat is not a whole number is noted, and "
     "refused "
     "as the length of a run. Burst t goes\nfrom t * dt_ms to (t + 1) * "
     "dt_ms; which end of it a time is:\n\n"
     "  begin  times_ms of spikes and patterns, start_ms, stop_ms: what is "
     "given\n"
     "  end    times of spikes and samples in recordings, pictures and "
     "Python\n"
     "  end    times_ms with times_at = \"end\": so a recording is fed back\n\n"
     "A spike in burst t arrives in burst t + delay, one at least; delay_ms "
     "may be a\ndistribution.\n",
     NULL},
    {"step", "what changes with dt_ms",
     "A network is not the same at another dt_ms where something is said for "
     "each burst:\n\n"
     "- weights of izhikevich: an arrival pushes for one burst and moves v by "
     "weight * dt_ms.\n  Multiply them by old dt / new dt; i_e stays.\n"
     "- mean and sd of a stimulus of kind normal, a new number in every burst. "
     "Onto the\n  lif models and adex multiply mean by new / old and sd by "
     "its square root, onto\n  izhikevich sd by the square root of old / new; "
     "its mean stays.\n  An expression does it: sd_pa = "
     "\"=sigma*sqrt(dt_ms)\".\n"
     "- generator poisson and kind bernoulli: one spike a burst, so at most "
     "1000 / dt_ms a\n  second.\n"
     "- areas of feagi: everything is counted in bursts.\n"
     "- delays of one burst, and all times, which are rounded to bursts.\n\n"
     "State and coefficients are single precision. A time constant tau is off "
     "by a share\nof up to 3e-8 * tau / dt_ms, and a potential of 64 to 128 mV "
     "stops up to 3.8e-6 mV *\ntau / dt_ms before its end, of 32 to 64 mV half "
     "of it, and so on: 0.0004 mV with\ndt_ms = 0.1 and tau = 10 ms. Where "
     "that is more than 0.1% (of tau, of the way from\nrest to threshold), a "
     "note says so; so does one where a constant current just above\nthe "
     "least that fires never makes a built-in lif model fire. A [neuron] keeps "
     "variables\nmarked compensated to twice the digits: `volley new "
     "neurons/lif_psc_exp_compensated`.\n",
     NULL},
    {"learning", "which spikes change a weight, and when",
     "A map with plasticity = \"NAME\" learns by [plasticity.NAME]: a rule, "
     "its "
     "parameters\nand w_max, the bound of every weight. A weight begins as the "
     "map says, within 0 and\nw_max, and never changes its sign. A map that "
     "learns has one delay.\n\n"
     "A rule has traces of the spikes of source and target: a trace decays "
     "with its time\nconstant and grows by 1 at a spike (nearest = true: it "
     "becomes 1). With an axonal\ndelay d a spike of the source in burst t "
     "meets those of the target of burst t + d,\nwith a dendritic one those of "
     "burst t - d. Of two that meet in the same burst neither\nsees the other. "
     "An arrival changes the weight (depression) before it is delivered; a\n"
     "spike of the target potentiates. A trace counts as 0 from 10.4 time "
     "constants on.\nWith stdp_reward both change the synapse's eligibility, "
     "which changes the weight\nevery interval.\n\n"
     "With a dendritic delay d a change is made, and recorded, in a later "
     "burst: the second\ntable. Pairs and delivered weights are as said above. "
     "With stdp_reward an\neligibility so begins d bursts later, relative to "
     "the modulator.\n\n"
     "Onto FEAGI areas synapses learn by feagi_stdp (`volley doc feagi_stdp`), "
     "which looks at\nwindows of bursts: a spike counts in its own burst, "
     "without its delay, and what a burst\nchanges is delivered from the "
     "next one on.\n\n"
     "Short-term plasticity (tsodyks2, tsodyks) changes no "
     "weight: a spike is delivered\nwith a gain that depends on the spikes of "
     "its source before.\n",
     doc_plasticity_order},
    {"neuron", "[neuron.NAME]: a model of your own",
     "[neuron.lif]\n"
     "param = { c_m = \"250 pF\", tau_m = \"10 ms\", e_l = \"-65 mV\", v_th = "
     "\"-50 mV\", i_e = \"0 pA\" }\n"
     "port = { ex = \"pA\" }\n"
     "state = { v = \"e_l\", i_syn = \"0 pA\" }\n"
     "eq = \"v' = (e_l - v)/tau_m + (i_syn + i_e)/c_m; i_syn' = -i_syn/(2 "
     "ms)\"\n"
     "on.ex = \"i_syn += in\"\n"
     "spike = \"v >= v_th\"\n"
     "reset = \"v = e_l\"\n\n"
     "An area uses it by model = \"lif\", and gives c_m_pf, tau_m_ms, v_mv "
     "...: names with\ntheir units. The backends cpu, cuda and vulkan run such "
     "models; others refuse them by\nname. `volley doc GENOME.toml NAME` "
     "prints "
     "keys, the scheme with its order\nand size; `volley model` also draws "
     "answers.\n\n"
     "In a burst, in this order: equations (or the assignments of update), "
     "arrivals\n(on.PORT), spike, reset, stored values. A refractory neuron "
     "does not fire, variables\nmarked hold stand still, and what arrives at "
     "these is lost.\n\n"
     "Equations: + - * / ( ), ^ with a whole number, 3 mV, < <= > >= and or "
     "not, if C then a\nelse b; a line x = ... makes a name. Units are "
     "checked. rises(v, 0 mV) in spike: v\nreaches 0 mV in this burst. "
     "uniform( ) in spike, update, reset and on.PORT: a new\nnumber in [0, 1) "
     "of each neuron in each burst; normal( ) likewise, with mean 0 and\n"
     "standard deviation 1. exp of a variable takes its argument within +-80, "
     "and 1/x counts\nan |x| below 2^-40 as 2^-40. Numbers, parameters and dt "
     "are computed once, in double;\nvariables are single precision.\n\n"
     "method: auto and exponential solve what is linear exactly, by a matrix "
     "exponential,\nand the rest by exponential Euler at the middle of the "
     "burst, 2nd order; exact\nrefuses that rest; heun 2nd, rk4 4th, euler "
     "1st order.\nx' = ... compensated: a field x_residual keeps what single "
     "precision does not hold of x.\nsubsteps = N: N steps a burst, each of "
     "dt/N; arrivals come with the last one. Spikes\nare tested at the end of "
     "a step. With spike = \"v >= a\" a step that is not exact ends\nat a "
     "if it would take v beyond it.\n",
     print_neuron},
    {"synapse", "[synapse.NAME]: a rule of plasticity of your own",
     "[synapse.pair]\n"
     "param = { tau = \"20 ms\", up = \"0.01\", down = \"0.1 weight\" }\n"
     "pre = { x = \"tau\" }\n"
     "post = { y = \"tau\" }\n"
     "on_pre = \"w -= down*y\"\n"
     "on_post = \"w += up*(w_max - w)*x\"\n\n"
     "[plasticity.X] uses it by rule = \"pair\", and gives w_max_<unit>, "
     "tau_ms, up, down_<unit>:\nweight is the unit of the map's weights, which "
     "w and w_max have. Every backend\nruns such rules.\n\n"
     "A spike adds 1 to its trace, which decays with the time constant. on_pre "
     "is done when a\nspike arrives, before it is delivered, on_post when the "
     "target fires; both read the traces\nbefore this burst. Each has one "
     "w += ... or w -= ..., and before it lines x = ... for parts,\nin the "
     "expressions of [neuron.NAME] (`volley doc neuron`), without draws. w is "
     "the size of\nthe weight and stays within 0 and w_max. on_post is 0 where "
     "the traces of pre are: a\nproduct with one of them. `volley doc "
     "learning` "
     "has the order of events,\n`volley doc GENOME.toml NAME` the keys of a "
     "rule.\n",
     print_synapse},
    {"limits", "how much a genome may have",
     "What is more is refused with the number that is wanted.\n", print_limits},
    {"import", "what becomes of a genome of FEAGI's",
     "volley import feagi X.json -o X.toml takes formats 2.0, 2.1 and 3.0, "
     "with flat keys\n(_____10c-ID-cx-GENE) or an object an area. Ids stay, "
     "base64 is decoded, what a name\ncannot have becomes _. Vectors, "
     "patterns and composites become [morphology], FEAGI's\nfunctions the "
     "rules of their name. A mapping is a list (morphology, scalar,\n"
     "multiplier, plasticity flag, constant, ltp, ltd, window, delay) or an "
     "object; its\nmultiplier becomes the weight, -255 to 255, "
     "synaptic_delay_bursts the delay, one burst\nwithout it.\n\n"
     "A plastic mapping gets a [plasticity] of rule feagi_stdp, with w_max 255 "
     "or -255. The\nlast plastic rule from one area to another drives all "
     "synapses between them, as in\nfeagi-core. feagi-core refuses a plastic "
     "rule without a window (and any list of less\nthan 8). Here its window "
     "is the plasticity_queue_depth of the file, or 3 as in the older\nengine. "
     "feagi-core changes weights within the burst, so its result "
     "does not\ndepend on time.\n\n"
     "An area to which mappings by memory or episodic_memory lead, or that is "
     "marked\n(is_mem_type, group or sub-group MEMORY, m in format 3), "
     "becomes a [memory] of all areas\nwhose mappings lead to it, with room "
     "for 50,000 patterns in all, as in feagi-core. Twins\nare added as "
     "feagi-core does, or taken if the file has them (memory_twin_of and "
     "a mapping\nby memory_replay). associative_memory becomes an "
     "[association], both ways. What feagi-core\ndoes there depends on time: "
     "memory areas have a thread of their own, which skips bursts\nwhile it is "
     "busy, loses a pattern whose window is gone, and drops commands of a "
     "full queue;\nareas, freed neurons and conversions to long-term come in "
     "the order of hash tables; all\nareas share one table, so two of equal "
     "sources have one neuron; patterns are known by\ntheir hash alone; "
     "synapses of forgotten neurons stay. Here it happens in each burst, in "
     "the\norder of areas and neurons, with a table for each area and patterns "
     "compared.\n\nWhen a pattern becomes long-term, the program around "
     "feagi-core may do more (one adds a\nneuron that fires in turn with it); "
     "Volley does not. Nor does it make the synapses of\nassociative_memory "
     "between ordinary neurons of memory areas: these never fire.\n\nA \"?\" "
     "or "
     "\"!\" of a pattern's source "
     "fits everything, as in feagi-core. _power gets 1\nin every burst. What "
     "is missing is what feagi-core takes. All that was assumed or\nleft out "
     "stands at the head of X.toml.\n",
     feagi_doc_print},
};
enum { N_TOPICS = sizeof topics / sizeof topics[0] };

const char *doc_topic_name(uint32_t k)
{
    return k < N_TOPICS ? topics[k].name : NULL;
}

void doc_topics_list(void)
{
    for (uint32_t i = 0; i < N_TOPICS; i++)
        tool_print("  %-20s %s\n", topics[i].name, topics[i].summary);
}

bool doc_topic_print(const char *name)
{
    for (uint32_t i = 0; i < N_TOPICS; i++) {
        if (strcmp(topics[i].name, name) != 0)
            continue;
        tool_print("%s", topics[i].text);
        if (topics[i].more)
            topics[i].more();
        return true;
    }
    return false;
}

const char *doc_word(const char *word)
{
    static const char *const words[][2] = {
        {"areas", "area"},
        {"models", "model"},
        {"maps", "map"},
        {"stimuli", "stimulus"},
        {"records", "record"},
        {"morphologies", "morphology"},
        {"generators", "generator"},
        {"expressions", "expression"},
        {"var", "expression"},
        {"variable", "expression"},
        {"override", "set"},
        {"overrides", "set"},
        {"--set", "set"},
        {"precedence", "set"},
        {"units", "unit"},
        {"suffix", "unit"},
        {"ports", "port"},
        {"matrices", "matrix"},
        {"globs", "glob"},
        {"names", "glob"},
        {"voxels", "voxel"},
        {"functions", "function"},
        {"values", "value"},
        {"parameter", "value"},
        {"parameters", "value"},
        {"distributions", "distribution"},
        {"seeds", "seed"},
        {"times", "time"},
        {"burst", "time"},
        {"delay", "time"},
        {"delays", "time"},
        {"steps", "step"},
        {"precision", "step"},
        {"limit", "limits"},
        {"include", "use"},
        {"sonata", "file"},
        {"csv", "file"},
        {"edges", "file"},
        {"exception", "except"},
        {"exceptions", "except"},
        {"kernels", "kernel"},
        {"masks", "mask"},
        {"position", "positions"},
        {"imports", "import"},
        {"json", "import"},
        {"plastic", "plasticity"},
        {"learn", "learning"},
        {"traces", "learning"},
    };
    for (uint32_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strcmp(words[i][0], word) == 0)
            return words[i][1];
    return word;
}
