/* SPDX-License-Identifier: Apache-2.0
 * Users' models as data: made of the compiled model, counted by their users.
 */
#include "genome/user_model.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "genome/neuron_table.h"
#include "genome/user_table.h"
#include "genome/written_model.h"

struct vly_user_model {
    vly_model_info info;
    vly_neuron_model *neuron;
    char *definition;
    size_t n_table; /* bytes of it before the program */
    const vly_model_info
        *like; /* the built-in model that it stands for; NULL */
    atomic_uint users;
    vly_port_info ports[VLY_NEURON_PORTS_MAX];
    vly_param_info params[VLY_NEURON_PARAMS_MAX];
    vly_field_info fields[VLY_NEURON_FIELDS_MAX];
    vly_coef_info coefs[VLY_NEURON_COEFS_MAX];
    char coef_names[VLY_NEURON_COEFS_MAX][16];
    vly_role_info roles[VLY_NEURON_COEFS_MAX + 2];
};

static void fill_ports(vly_user_model *user)
{
    const vly_neuron_port *ports =
        vly_neuron_ports(user->neuron, &user->info.n_ports);
    for (uint32_t i = 0; i < user->info.n_ports; i++)
        user->ports[i] = (vly_port_info){.suffix = ports[i].suffix,
                                         .unit = ports[i].unit,
                                         .text = ports[i].name};
    user->info.ports = user->ports;
}

static void fill_values(vly_user_model *user)
{
    const vly_neuron_param *params =
        vly_neuron_params(user->neuron, &user->info.n_params);
    const vly_neuron_field *fields =
        vly_neuron_fields(user->neuron, &user->info.n_fields);
    vly_user_params(params, user->info.n_params, user->params);
    for (uint32_t i = 0; i < user->info.n_fields; i++)
        user->fields[i] = (vly_field_info){.name = fields[i].key,
                                           .type = fields[i].type,
                                           .unit = fields[i].unit,
                                           .lo = (double)fields[i].lo,
                                           .hi = (double)fields[i].hi,
                                           .text = fields[i].text,
                                           .declared = fields[i].declared};
    user->info.params = user->params;
    user->info.fields = user->fields;
}

static void fill_coefs(vly_user_model *user)
{
    vly_model_info *info = &user->info;
    uint32_t n = vly_neuron_n_coefs(user->neuron);
    uint32_t n_roles = 0;
    uint32_t input = vly_neuron_input(user->neuron);
    uint32_t bursts = vly_neuron_refractory(user->neuron);
    info->n_coefs = n;
    for (uint32_t i = 0; i < n; i++) {
        (void)snprintf(user->coef_names[i], sizeof user->coef_names[i], "c%u",
                       i);
        user->coefs[i] = (vly_coef_info){user->coef_names[i],
                                         vly_neuron_coef_type(user->neuron, i)};
        if (vly_neuron_coef_driven(user->neuron, i))
            user->roles[n_roles++] = (vly_role_info){VLY_ROLE_DRIVE, i};
    }
    if (bursts != UINT32_MAX)
        user->roles[n_roles++] = (vly_role_info){VLY_ROLE_IN_BURSTS, bursts};
    user->roles[n_roles] = (vly_role_info){VLY_ROLE_NONE, 0};
    info->coefs = user->coefs;
    info->roles = user->roles;
    info->dc_suffix = "";
    /* amplitude_pa of a dc stimulus: what i_e_pa ends with */
    if (input != UINT32_MAX) {
        uint32_t n_params;
        const vly_neuron_param *param =
            &vly_neuron_params(user->neuron, &n_params)[input];
        const char *key = param->key + strlen(param->name);
        info->dc_suffix = *key == '_' ? key + 1 : key;
    }
}

/* The definition, and as comments the program that it became, so that others
 * can run a saved connectome without a compiler of the language:
 *     #program OPERATIONS FIELDS FIRED OUT...
 *     #CODE A B C */
static char *with_program(char *definition, const vly_neuron_model *neuron)
{
    static const char *const codes[] = {
#define NAME(name, reads, text) #name,
        VLY_PROGRAM_TABLE(NAME)
#undef NAME
    };
    const vly_program *program = vly_neuron_program(neuron);
    size_t room = definition ? strlen(definition) + 64 * program->n_ops +
                                   12 * program->n_fields + 64
                             : 0;
    char *out = definition ? vly_malloc(room, 1) : NULL;
    if (!out) {
        vly_free(definition);
        return NULL;
    }
    int n = snprintf(out, room, "%s#program %u %u %u", definition,
                     program->n_ops, program->n_fields, program->fired);
    vly_free(definition);
    for (uint32_t f = 0; f < program->n_fields; f++)
        n += snprintf(out + n, room - (size_t)n, " %u", program->out[f]);
    for (uint32_t i = 0; i < program->n_ops; i++) {
        const vly_program_op *op = &program->ops[i];
        n += snprintf(out + n, room - (size_t)n, "\n#%s %u %u %u",
                      codes[op->code], op->a, op->b, op->c);
    }
    (void)snprintf(out + n, room - (size_t)n, "\n");
    return out;
}

/* Takes neuron and definition over, also on failure. */
static vly_user_model *user_make(const char *name, vly_neuron_model *neuron,
                                 char *definition)
{
    vly_user_model *user = vly_calloc(1, sizeof *user);
    char *id = vly_strdup(name);
    size_t n_table = definition ? strlen(definition) : 0;
    definition = with_program(definition, neuron);
    if (!user || !id || !definition) {
        vly_free(user);
        vly_free(id);
        vly_free(definition);
        vly_neuron_destroy(neuron);
        return NULL;
    }
    user->neuron = neuron;
    user->definition = definition;
    user->n_table = n_table;
    atomic_init(&user->users, 1);
    user->info.id = id;
    user->info.text = "";
    user->info.source = "a [neuron]";
    user->info.scheme = vly_neuron_scheme(neuron);
    user->info.scheme_source = "";
    user->info.note = "";
    user->info.table_hash = vly_neuron_hash(neuron);
    user->info.user = user;
    fill_ports(user);
    fill_values(user);
    fill_coefs(user);
    return user;
}

/* A built-in model with sums has the parameters and fields of its table, so
 * that changes, checks and reports are those of the built-in model. */
static vly_status take_table(vly_user_model *user, vly_error *error)
{
    const vly_model_info *like = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(vly_written_like(user->info.id, user->definition, user->n_table,
                             &like, error));
    user->like = like;
    for (uint32_t i = 0; like && i < like->n_params; i++)
        user->params[i] = like->params[i];
    for (uint32_t i = 0; like && i < like->n_fields; i++)
        user->fields[i] = like->fields[i];
    for (uint32_t port = 0; like && port < like->n_ports; port++) {
        const uint32_t sum = vly_neuron_sum(user->neuron, port);
        user->fields[sum].unit = like->ports[port].unit;
        user->fields[sum + 1].unit = like->ports[port].unit;
    }
out:
    return status;
}

void vly_model_hold(const vly_model_info *model)
{
    if (model->user)
        atomic_fetch_add(&model->user->users, 1);
}

void vly_model_drop(const vly_model_info *model)
{
    vly_user_model *user = model ? model->user : NULL;
    if (!user || atomic_fetch_sub(&user->users, 1) != 1)
        return;
    char *id;
    memcpy(&id, &user->info.id, sizeof id); /* owned */
    vly_free(id);
    vly_neuron_destroy(user->neuron);
    vly_free(user->definition);
    vly_free(user);
}

const char *vly_model_definition(const vly_model_info *model)
{
    return model->user ? model->user->definition : NULL;
}

size_t vly_model_table_bytes(const vly_model_info *model)
{
    return model->user ? model->user->n_table : 0;
}

const vly_program *vly_model_program(const vly_model_info *model)
{
    return model->user ? vly_neuron_program(model->user->neuron) : NULL;
}

const vly_neuron_model *vly_model_neuron(const vly_model_info *model)
{
    return model->user ? model->user->neuron : NULL;
}

uint32_t vly_model_substeps(const vly_model_info *model)
{
    return model->user ? vly_neuron_substeps(model->user->neuron) : 1;
}

void vly_user_coefs(const vly_user_model *user, const vly_model_input *input,
                    double *values)
{
    vly_neuron_coefs(user->neuron, input->params, input->dt_ms, input->dc,
                     values);
}

void vly_user_fields(const vly_user_model *user, const vly_model_input *input,
                     double *values)
{
    vly_neuron_start(user->neuron, input->params, input->dt_ms, values);
}

const char *vly_user_unfit(const vly_user_model *user,
                           const vly_model_input *input)
{
    return user->like
               ? user->like->check_of(input)
               : vly_neuron_unfit(user->neuron, input->params, input->dt_ms);
}

/* ---- from the genome ---------------------------------------------------- */

const vly_model_info *vly_neuron_find(const vly_genome *genome,
                                      const char *name)
{
    for (uint32_t i = 0; i < genome->n_neuron_models; i++)
        if (strcmp(genome->neuron_models[i]->id, name) == 0)
            return genome->neuron_models[i];
    return NULL;
}

static vly_status read_one(vly_reader *reader, const vly_toml_node *node,
                           const vly_model_info **model)
{
    vly_neuron_model *neuron = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(vly_neuron_table_read(reader, node, &neuron));
    vly_user_model *user =
        user_make(node->key, neuron, vly_table_text("neuron", node));
    if (!user)
        return vly_reader_nomem(reader, sizeof *user, "a neuron model");
    *model = &user->info;
out:
    return status;
}

vly_status vly_neurons_read(vly_reader *reader)
{
    vly_genome *genome = reader->genome;
    const vly_toml_node *table = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(vly_user_tables(reader, "neuron", "models", VLY_NEURON_MODELS_MAX,
                            &table));
    if (!table)
        return VLY_OK;
    genome->neuron_models =
        vly_calloc(table->n_children, sizeof *genome->neuron_models);
    if (!genome->neuron_models)
        return vly_reader_nomem(
            reader, table->n_children * sizeof(*genome->neuron_models),
            "the neuron models");
    for (uint32_t i = 0; i < table->n_children; i++) {
        VLY_TRY(read_one(reader, &table->u.children[i],
                         &genome->neuron_models[genome->n_neuron_models]));
        genome->n_neuron_models++;
    }
out:
    return status;
}

vly_status vly_model_define(const char *definition, const char *name,
                            const vly_model_info **model, vly_error *error)
{
    vly_user_definition read;
    const vly_toml_node *table = NULL;
    const vly_model_info *made = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(vly_user_definition_read(&read, definition, "neuron", name, &table,
                                     error));
    VLY_TRY(read_one(&read.reader, table, &made));
    VLY_TRY(take_table(made->user, error));
    *model = made;
    made = NULL;
out:
    vly_model_drop(made);
    vly_user_definition_deinit(&read);
    return status;
}
