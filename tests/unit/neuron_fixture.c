/* SPDX-License-Identifier: Apache-2.0
 * A plain evaluation of programs, each operation as plugin.h says.
 */
#include "neuron_fixture.h"

#include <math.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/number.h"
#include "genome/neuron_table.h"
#include "kernels/models/program.h"

vly_status neuron_try(neuron *n, const char *text, vly_error *error)
{
    vly_genome genome = {0};
    vly_reader reader = {.name = "t", .genome = &genome, .error = error};
    memset(n, 0, sizeof *n);
    genome.path = vly_strdup("t");
    if (!genome.path)
        return vly_fail_nomem(error, 2, "a name");
    vly_status status =
        vly_toml_parse(text, strlen(text), "t", &reader.root, error);
    const vly_toml_node *table =
        status == VLY_OK ? vly_toml_get(&reader.root, "neuron") : NULL;
    if (table)
        status =
            vly_neuron_table_read(&reader, &table->u.children[0], &n->model);
    n->notes = genome.notes;
    n->n_notes = genome.n_notes;
    vly_reader_deinit(&reader);
    vly_free(genome.path);
    return status;
}

void neuron_free(neuron *n)
{
    vly_neuron_destroy(n->model);
    for (uint32_t i = 0; i < n->n_notes; i++)
        vly_free(n->notes[i]);
    vly_free(n->notes);
    memset(n, 0, sizeof *n);
}

void neuron_start(neuron *n)
{
    double values[VLY_NEURON_FIELDS_MAX];
    uint32_t n_fields;
    const vly_neuron_field *fields = vly_neuron_fields(n->model, &n_fields);
    vly_neuron_coefs(n->model, n->params, n->dt_ms, n->dc, n->coefs);
    for (uint32_t i = 0; i < n_fields; i++)
        values[i] = (double)NAN;
    vly_neuron_start(n->model, n->params, n->dt_ms, values);
    for (uint32_t i = 0; i < n_fields; i++)
        n->fields[i] = fields[i].type == VLY_TYPE_U32
                           ? (uint32_t)values[i]
                           : vly_float_bits((float)values[i]);
}

void neuron_made(neuron *n, double dt_ms)
{
    uint32_t n_params;
    const vly_neuron_param *params = vly_neuron_params(n->model, &n_params);
    for (uint32_t i = 0; i < n_params; i++)
        n->params[i] = params[i].init;
    n->dt_ms = dt_ms;
    neuron_start(n);
}

void neuron_make(neuron *n, const char *text, double dt_ms)
{
    vly_error error = VLY_ERROR_INIT;
    assert_ok(neuron_try(n, text, &error), error);
    neuron_made(n, dt_ms);
}

uint32_t neuron_param(const neuron *n, const char *key)
{
    uint32_t count;
    const vly_neuron_param *params = vly_neuron_params(n->model, &count);
    uint32_t i = 0;
    while (i < count && strcmp(params[i].key, key) != 0)
        i++;
    assert_true(i < count);
    return i;
}

static uint32_t field_at(const neuron *n, const char *name)
{
    uint32_t count;
    const vly_neuron_field *fields = vly_neuron_fields(n->model, &count);
    uint32_t i = 0;
    while (i < count && strcmp(fields[i].name, name) != 0)
        i++;
    assert_true(i < count);
    return i;
}

float neuron_field(const neuron *n, const char *name)
{
    return vly_float(n->fields[field_at(n, name)]);
}

void neuron_set(neuron *n, const char *name, float value)
{
    n->fields[field_at(n, name)] = vly_float_bits(value);
}

/* Of operations with floats as operands. */
static uint32_t floats(const vly_program_op *op, const uint32_t *words)
{
    float a = vly_float(words[op->a]);
    float b = op->code == VLY_PROGRAM_STORE ? vly_float(op->b)
                                            : vly_float(words[op->b]);
    switch (op->code) {
    case VLY_PROGRAM_ADD:
        return vly_float_bits(a + b);
    case VLY_PROGRAM_SUBTRACT:
        return vly_float_bits(a - b);
    case VLY_PROGRAM_MULTIPLY:
        return vly_float_bits(a * b);
    case VLY_PROGRAM_NEGATE:
        return words[op->a] ^ 0x80000000u;
    case VLY_PROGRAM_ABSOLUTE:
        return words[op->a] & 0x7fffffffu;
    case VLY_PROGRAM_INVERSE:
        return vly_float_bits(vly_inverse_f32(a));
    case VLY_PROGRAM_ROOT:
        return vly_float_bits(vly_root_f32(a));
    case VLY_PROGRAM_EXP:
        return vly_float_bits(vly_exp_f32(a));
    case VLY_PROGRAM_DECAY_MEAN:
        return vly_float_bits(vly_decay_mean_f32(a));
    case VLY_PROGRAM_STORE:
        return vly_float_bits(vly_store(a, b, vly_float(op->c)));
    case VLY_PROGRAM_LESS:
        return a < b ? 1 : 0;
    case VLY_PROGRAM_AT_MOST:
        return a <= b ? 1 : 0;
    default:
        fail_msg("code %u", op->code);
        return 0;
    }
}

static uint32_t coef_word(const neuron *n, uint32_t index)
{
    double value = n->coefs[index];
    if (vly_neuron_coef_type(n->model, index) == VLY_TYPE_U32)
        return (uint32_t)value;
    return vly_float_bits(vly_float_store(value, -0x1p40f, 0x1p40f));
}

static uint32_t operate(const neuron *n, const vly_program_op *op,
                        const uint32_t *words)
{
    switch (op->code) {
    case VLY_PROGRAM_NUMBER:
        return op->a;
    case VLY_PROGRAM_FIELD:
        return n->fields[op->a];
    case VLY_PROGRAM_COEF:
        return coef_word(n, op->a);
    case VLY_PROGRAM_INPUT:
        return vly_float_bits(n->in[op->a]);
    case VLY_PROGRAM_UNIFORM:
        return vly_float_bits(n->uniform);
    case VLY_PROGRAM_AND:
        return words[op->a] & words[op->b];
    case VLY_PROGRAM_OR:
        return words[op->a] | words[op->b];
    case VLY_PROGRAM_NOT:
        return words[op->a] ^ 1u;
    case VLY_PROGRAM_IS_ZERO:
        return words[op->a] == 0 ? 1 : 0;
    case VLY_PROGRAM_COUNT_DOWN:
        return words[op->a] ? words[op->a] - 1 : 0;
    case VLY_PROGRAM_SELECT:
        return words[words[op->a] ? op->b : op->c];
    default:
        return floats(op, words);
    }
}

void neuron_words(const neuron *n, uint32_t *words)
{
    const vly_program *program = vly_neuron_program(n->model);
    for (uint32_t i = 0; i < program->n_ops; i++)
        words[i] = operate(n, &program->ops[i], words);
}

bool neuron_burst(neuron *n)
{
    uint32_t words[VLY_PROGRAM_MAX_OPS];
    const vly_program *program = vly_neuron_program(n->model);
    neuron_words(n, words);
    for (uint32_t i = 0; i < program->n_fields; i++)
        n->fields[i] = words[program->out[i]];
    memset(n->in, 0, sizeof n->in);
    return words[program->fired] != 0;
}

void neuron_refused(const char *text, const char *message)
{
    vly_error error = VLY_ERROR_INIT;
    neuron n;
    uint64_t before = vly_memory_live();
    vly_status status = neuron_try(&n, text, &error);
    neuron_free(&n);
    assert_int_equal(status, VLY_E_PARSE);
    assert_memory_equal(error.message, "t:", 2);
    assert_string_equal(error.message + 2, message);
    assert_true(vly_memory_live() == before);
}
