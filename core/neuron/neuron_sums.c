/* SPDX-License-Identifier: Apache-2.0
 * Sums of what arrives at the ports, for recordings: two further fields of each
 * port, since single precision alone would lose what arrives late in a long
 * run. Together they have 48 bits. Nothing else of the model reads them, so its
 * spikes are those without them.
 * Source: as of neuron_residual.c
 */
#include "neuron/neuron_build.h"

#include <stdio.h>
#include <string.h>

#include "base/number.h"

#define SUM_MAX 0x1p40f      /* pA, nS, ...: the unit of the port's key */
#define RESIDUAL_MAX 0x1p16f /* half the spacing of floats near SUM_MAX */
#define N_SUMS (2u * model->n_ports) /* fields */

bool vly_neuron_sums(vly_neuron_model *model)
{
    char name[64];
    if (!model->source->sums)
        return true;
    if (model->n_fields + N_SUMS > VLY_NEURON_FIELDS_MAX)
        return vly_neuron_refuse(
            model, model->source->sums_place,
            "the model has %u fields, and the sums of its ports are %u more, "
            "wanted at most %u in all",
            model->n_fields, N_SUMS, VLY_NEURON_FIELDS_MAX);
    model->first_sum = model->n_fields;
    for (uint32_t port = 0; port < model->n_ports; port++) {
        const char *of = model->ports[port].name;
        const char *unit = model->ports[port].unit;
        const bool one = model->n_ports == 1;
        (void)snprintf(name, sizeof name, "input%s%s", one ? "" : "_",
                       one ? "" : of);
        if (!vly_neuron_twin_field(model, name, unit,
                                   "sum of all that has arrived", SUM_MAX))
            return false;
        (void)snprintf(name, sizeof name, "input_%s%sresidual", one ? "" : of,
                       one ? "" : "_");
        if (!vly_neuron_twin_field(model, name, unit, NULL, RESIDUAL_MAX))
            return false;
    }
    return true;
}

void vly_emit_sums(vly_emitter *e)
{
    vly_neuron_model *model = e->model;
    for (uint32_t port = 0; model->first_sum && port < model->n_ports; port++) {
        const uint32_t field = model->first_sum + 2 * port;
        const uint32_t high = vly_emit_op(e, VLY_PROGRAM_FIELD, field, 0, 0);
        const uint32_t low = vly_emit_op(e, VLY_PROGRAM_FIELD, field + 1, 0, 0);
        const uint32_t in = vly_emit_op(e, VLY_PROGRAM_INPUT, port, 0, 0);
        const vly_twin sum = vly_emit_pair_add(e, (vly_twin){high, low},
                                               (vly_twin){in, VLY_NO_VALUE});
        model->outs[field] =
            vly_emit_op(e, VLY_PROGRAM_STORE, sum.high,
                        vly_float_bits(-SUM_MAX), vly_float_bits(SUM_MAX));
        model->outs[field + 1] = vly_emit_low_store(
            e, &model->fields[field], &model->fields[field + 1], sum);
    }
}
