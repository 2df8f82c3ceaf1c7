/* SPDX-License-Identifier: Apache-2.0
 * Users' models: any bytes as the table [neuron.NAME] or [synapse.NAME], or,
 * after a letter and a line break, as one text of a small model: e eq, u
 * update, s spike, r reset, o on.ex, p the value of a parameter, t the start of
 * a variable; b on_pre, a on_post of a synapse. What is read gives a sound
 * program, finite coefficients or a sentence, and its definition gives the same
 * model again.
 */
#include "fuzz_support.h"

#include "base/number.h"
#include "genome/toml_tree.h"
#include "genome/user_model.h"
#include "genome/user_rule.h"
#include "kernels/rules/rule_program.h"
#include "neuron/synapse_model.h"

/* the parts of `to` in part( ) */
static const char letters[] = "eusro";

static const uint8_t reads[VLY_PROGRAM_CODES] = {
#define READS(name, reads, text) reads,
    VLY_PROGRAM_TABLE(READS)
#undef READS
};

static void sound_program(const vly_program *program)
{
    demand(program->n_ops > 0 && program->n_ops <= VLY_PROGRAM_MAX_OPS,
           "a size that no program may have");
    for (uint32_t i = 0; i < program->n_ops; i++) {
        const vly_program_op *op = &program->ops[i];
        const uint32_t operands[] = {op->a, op->b, op->c};
        demand(op->code < VLY_PROGRAM_CODES, "an unknown operation");
        for (uint32_t k = 0; k < reads[op->code]; k++)
            demand(operands[k] < i, "an operand that is not made yet");
        for (uint32_t k = 0; k < reads[op->code]; k++) {
            bool truth = op->code >= VLY_PROGRAM_AND &&
                         op->code <= VLY_PROGRAM_COUNT_DOWN;
            uint32_t type = program->types[operands[k]];
            if (op->code != VLY_PROGRAM_SELECT)
                demand(type == (truth ? VLY_TYPE_U32 : VLY_TYPE_F32),
                       "an operand of another type");
        }
        if (op->code == VLY_PROGRAM_SELECT)
            demand(program->types[op->a] == VLY_TYPE_U32 &&
                       program->types[op->b] == program->types[op->c] &&
                       program->types[op->b] == program->types[i],
                   "a choice between types");
        float number = vly_float(op->a);
        if (op->code == VLY_PROGRAM_NUMBER)
            demand(number - number == 0, "a number that is not finite");
    }
    demand(program->fired < program->n_ops &&
               program->types[program->fired] == VLY_TYPE_U32,
           "no truth for the spike");
    for (uint32_t f = 0; f < program->n_fields; f++)
        demand(program->out[f] < program->n_ops, "no value for a field");
}

static void sound_values(const vly_neuron_model *model)
{
    static const double factors[] = {1, 0, -1, 1e-9, 1e9};
    double params[VLY_NEURON_PARAMS_MAX];
    double values[VLY_NEURON_COEFS_MAX];
    uint32_t n_params;
    const vly_neuron_param *list = vly_neuron_params(model, &n_params);
    for (int k = 0; k < 5; k++) {
        for (uint32_t i = 0; i < n_params; i++)
            params[i] = list[i].init * factors[k];
        bool fits = !vly_neuron_unfit(model, params, 0.1);
        demand(fits || k > 0, "defaults that do not fit");
        vly_neuron_coefs(model, params, 0.1, 0, values);
        for (uint32_t i = 0; fits && i < vly_neuron_n_coefs(model); i++)
            demand(values[i] >= -0x1p40 && values[i] <= 0x1p40,
                   "a coefficient beyond its bounds");
    }
}

static void same_again(const vly_model_info *model)
{
    const vly_model_info *again = NULL;
    vly_error error = VLY_ERROR_INIT;
    const char *definition = vly_model_definition(model);
    demand(vly_model_define(definition, "again", &again, &error) == VLY_OK,
           error.message);
    demand(again->table_hash == model->table_hash &&
               strcmp(vly_model_definition(again), definition) == 0,
           "another model of the same definition");
    vly_model_drop(again);
}

/* The words of a rule, for weights of any unit; it keeps weights in bounds, and
 * where nothing arrived a spike of the target changes nothing. */
static void sound_rule(uint32_t *words, uint32_t n)
{
    const float traces[3][2] = {{0.0f, 0.0f}, {1.0f, 0.25f}, {1e30f, 1e-30f}};
    demand(vly_rule_program_good(words, n), "words that are no program");
    for (uint32_t c = 0; c < words[1]; c++) {
        float number = vly_float(words[VLY_RULE_PROGRAM_HEAD + c]);
        demand(number - number == 0, "a coefficient that is not finite");
    }
    words[0] = 1000000;
    for (int32_t m = 0; m <= 1000000; m += 250000)
        for (int i = 0; i < 9; i++) {
            const float *x = traces[i % 3];
            const float *y = traces[i / 3];
            int32_t pre = vly_rule_program_pre(m, words, x, y);
            int32_t post = vly_rule_program_post(m, words, x, y);
            demand(pre >= 0 && pre <= 1000000 && post >= 0 && post <= 1000000,
                   "a weight beyond its bounds");
            demand(i % 3 > 0 || post == m, "a change without a trace");
        }
}

static void whole_rule(const char *text)
{
    const vly_plasticity_info *rule = NULL;
    const vly_plasticity_info *again = NULL;
    vly_error error = VLY_ERROR_INIT;
    uint32_t words[VLY_RULE_PROGRAM_WORDS];
    double params[VLY_SYNAPSE_PARAMS_MAX];
    vly_status status = vly_plasticity_define(text, "fuzz", &rule, &error);
    if (status != VLY_OK) {
        demand(status == VLY_E_PARSE, "refused with another status");
        demand_sentence(status, &error);
        return;
    }
    for (uint32_t i = 0; i < rule->n_params; i++)
        params[i] = rule->params[i].init;
    const vly_plasticity_input input = {
        .params = params, .w_max = 3.0, .unit = 0x1p-20, .dt_ms = 0.1};
    vly_plasticity_coefs(rule, &input, words);
    sound_rule(words, rule->n_coefs);
    const char *definition = vly_plasticity_definition(rule);
    demand(vly_plasticity_define(definition, "again", &again, &error) == VLY_OK,
           error.message);
    demand(again->table_hash == rule->table_hash &&
               strcmp(vly_plasticity_definition(again), definition) == 0,
           "another rule of the same definition");
    vly_plasticity_drop(again);
    vly_plasticity_drop(rule);
}

/* on_pre or on_post of a rule. */
static void part_rule(char letter, const char *text)
{
    const vly_neuron_name params[] = {
        {.name = "tau", .value = {.text = "10 ms"}},
        {.name = "eta", .value = {.text = "0.1 weight"}},
        {.name = "a", .value = {.text = "2"}},
    };
    const vly_neuron_name pre[] = {{.name = "x", .value = {.text = "tau"}}};
    const vly_neuron_name post[] = {{.name = "y", .value = {.text = "tau"}}};
    vly_synapse_source source = {.scan = vly_toml_scan_number,
                                 .name = "n",
                                 .params = params,
                                 .traces = {pre, post},
                                 .n_params = 3,
                                 .n_traces = {1, 1}};
    const vly_neuron_text of = {text, text};
    *(letter == 'b' ? &source.on_pre : &source.on_post) = of;
    const double values[] = {10, 0.1, 2};
    uint32_t words[VLY_RULE_PROGRAM_WORDS];
    vly_synapse_model *model = NULL;
    vly_neuron_fault fault;
    vly_status status = vly_synapse_compile(&source, &model, &fault);
    if (status == VLY_OK) {
        vly_synapse_words(model, values, 3.0, 0x1p-20, 0.1, 0, words);
        sound_rule(words, vly_synapse_n_words(model));
    } else {
        demand(status == VLY_E_PARSE && strlen(fault.sentence) > 5 &&
                   !strchr(fault.sentence, '\n'),
               "refused without a sentence");
        demand(fault.place != text || fault.at == UINT32_MAX ||
                   fault.at <= strlen(text),
               "a place outside the text");
    }
    vly_synapse_destroy(model);
}

/* The table itself. */
static void whole(const char *text)
{
    const vly_model_info *model = NULL;
    vly_error error = VLY_ERROR_INIT;
    vly_status status = vly_model_define(text, "fuzz", &model, &error);
    if (status == VLY_OK) {
        sound_program(vly_model_program(model));
        same_again(model);
        vly_model_drop(model);
    } else {
        demand(status == VLY_E_PARSE, "refused with another status");
        demand_sentence(status, &error);
    }
}

/* One text of a model. */
static void part(char letter, const char *text)
{
    vly_neuron_name params[] = {
        {.name = "tau", .value = {.text = "10 ms"}},
        {.name = "c_m", .value = {.text = "250 pF"}},
        {.name = "a", .value = {.text = "2"}},
        {.name = "v_th", .value = {.text = "15 mV"}},
        {.name = "i_e", .value = {.text = "0 pA"}},
    };
    vly_neuron_name ports[] = {
        {.name = "ex", .value = {.text = "pA"}, .arrives = {.text = "i += in"}},
        {.name = "inh", .value = {.text = "pA"}, .arrives = {"i += in", NULL}},
    };
    vly_neuron_name states[] = {
        {.name = "v", .value = {.text = "0 mV"}},
        {.name = "i", .value = {.text = "0 pA"}},
        {.name = "w", .value = {.text = "1"}},
    };
    vly_neuron_source source = {
        .scan = vly_toml_scan_number,
        .name = "n",
        .params = params,
        .ports = ports,
        .states = states,
        .n_params = 5,
        .n_ports = 2,
        .n_states = 3,
        .spike = {.text = "v >= v_th"},
        .reset = {.text = "v = 0 mV; w += 1"},
        .refractory = {.text = "2 ms"},
    };
    if (letter != 'u')
        source.eq.text = "v' = (-v + 1 GOhm*i)/tau hold; i' = -i/(2 ms); w' = "
                         "-w*w/tau";
    vly_neuron_text *const to[] = {&source.eq, &source.update, &source.spike,
                                   &source.reset, &ports[0].arrives};
    const char *at = strchr(letters, letter);
    if (at)
        *to[at - letters] = (vly_neuron_text){text, text};
    if (letter == 'p')
        params[2].value = (vly_neuron_text){text, text};
    if (letter == 't')
        states[2].value = (vly_neuron_text){text, text};
    vly_neuron_model *model = NULL;
    vly_neuron_fault fault;
    vly_status status = vly_neuron_compile(&source, &model, &fault);
    if (status == VLY_OK) {
        sound_program(vly_neuron_program(model));
        sound_values(model);
    } else {
        demand(status == VLY_E_PARSE && strlen(fault.sentence) > 5 &&
                   !strchr(fault.sentence, '\n'),
               "refused without a sentence");
        demand(fault.place != text || fault.at == UINT32_MAX ||
                   fault.at <= strlen(text),
               "a place outside the text");
    }
    vly_neuron_destroy(model);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint64_t before = vly_memory_live();
    char *text = malloc(size + 1);
    demand(text != NULL, "no memory");
    memcpy(text, data, size);
    text[size] = 0;
    if (size > 1 && text[0] && text[1] == '\n' && strchr("eusropt", text[0]))
        part(text[0], text + 2);
    else if (size > 1 && text[1] == '\n' && (text[0] == 'a' || text[0] == 'b'))
        part_rule(text[0], text + 2);
    else if (strncmp(text, "[synapse", 8) == 0)
        whole_rule(text);
    else
        whole(text);
    free(text);
    demand(vly_memory_live() == before, "memory is left");
    return 0;
}
