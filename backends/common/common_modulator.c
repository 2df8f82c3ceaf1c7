/* SPDX-License-Identifier: Apache-2.0
 * Modulators: see common_modulator.h.
 */
#include "common_modulator.h"

#include <string.h>

#include "kernels/rules/plasticity_rules.h"

/* ---- the functions of the rules ----------------------------------------- */

#define VLY_PLASTICITY_READ "backends/common/common_modulator_rule.h"
#include "kernels/rules/each_plasticity.h"

typedef float modulate_fn(float d, const uint32_t *coefs, uint32_t n_spikes,
                          int32_t given);

static modulate_fn *const modulate[] = {
#define VLY_EACH_PLASTICITY(id) modulate_##id,
#include "kernels/rules/plasticity.def"
};

/* ---- a modulator -------------------------------------------------------- */

void vly_common_modulator_load(vly_common_modulator *m, const uint32_t *words)
{
    m->value = vly_float(words[0]);
    m->age = words[1];
}

void vly_common_modulator_save(const vly_common_modulator *m, uint32_t *words)
{
    words[0] = vly_bits(m->value);
    words[1] = m->age;
}

float vly_common_modulator_at(const vly_common_modulator *m,
                              const vly_learning_desc *learning)
{
    return vly_trace_at(m->value, m->age, learning->modulator.rate,
                        learning->modulator.bursts);
}

bool vly_common_modulator_due(const vly_learning_desc *learning, uint64_t burst)
{
    return vly_common_modulated(learning) && burst % learning->interval == 0;
}

void vly_common_modulator_end(vly_common_modulator *m,
                              const vly_learning_desc *learning,
                              const uint32_t *coefs, uint32_t n_spikes,
                              const vly_input *given)
{
    if (n_spikes != 0 || given) {
        float d = vly_common_modulator_at(m, learning);
        uint32_t rule = vly_common_rule_find(learning->rule)->index;
        m->value = modulate[rule](d, coefs, n_spikes, given ? given->value : 0);
        m->age = 0;
    }
    m->age += m->age != UINT32_MAX;
    if (m->age >= learning->modulator.bursts)
        *m = (vly_common_modulator){0.0f, UINT32_MAX};
}

/* ---- values of the host ------------------------------------------------- */

#define VALUE_LIMIT (INT32_C(1) << 30) /* of the ABI; sizes are below it */

static uint64_t n_modulations(const vly_run *run)
{
    return run->struct_size >= sizeof *run ? run->n_modulations : 0;
}

/* The number of the first value for this burst and projection, or later. */
static uint64_t first_from(const vly_run *run, uint64_t burst,
                           uint32_t projection)
{
    uint64_t low = 0;
    uint64_t high = n_modulations(run);
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        const vly_input *at = &run->modulations[middle];
        if (at->burst < burst ||
            (at->burst == burst && at->neuron < projection))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const vly_input *vly_common_modulation(const vly_run *run, uint64_t burst,
                                       uint32_t projection)
{
    uint64_t i = first_from(run, burst, projection);
    if (i == n_modulations(run))
        return NULL;
    const vly_input *at = &run->modulations[i];
    return at->burst == burst && at->neuron == projection ? at : NULL;
}

const vly_input *vly_common_modulations(const vly_run *run, uint64_t burst,
                                        uint64_t n_bursts, uint64_t *n)
{
    uint64_t from = first_from(run, burst, 0);
    *n = first_from(run, burst + n_bursts, 0) - from;
    return *n > 0 ? run->modulations + from : NULL;
}

static vly_status check_modulation(const vly_net_desc *desc, const vly_run *run,
                                   uint64_t i, vly_error *error)
{
    const vly_input *at = &run->modulations[i];
    const vly_learning_desc *learning =
        at->neuron < desc->n_projections ? vly_common_learning(desc, at->neuron)
                                         : NULL;
    if (!learning || !vly_common_modulated(learning) || at->port != 0)
        return vly_support_fail(error, VLY_E_INVALID,
                                "modulation %llu: projection %u, port %u, "
                                "wanted one with a modulator and port 0",
                                (unsigned long long)i, at->neuron, at->port);
    if (at->value <= -VALUE_LIMIT || at->value >= VALUE_LIMIT)
        return vly_support_fail(error, VLY_E_INVALID,
                                "modulation %llu: value %d, wanted more than "
                                "%d and less than %d",
                                (unsigned long long)i, at->value, -VALUE_LIMIT,
                                VALUE_LIMIT);
    if (i > 0 && (at->burst < at[-1].burst ||
                  (at->burst == at[-1].burst && at->neuron <= at[-1].neuron)))
        return vly_support_fail(
            error, VLY_E_INVALID,
            "modulation %llu: burst %llu, projection %u after burst %llu, "
            "projection %u, wanted them sorted, each pair once",
            (unsigned long long)i, (unsigned long long)at->burst, at->neuron,
            (unsigned long long)at[-1].burst, at[-1].neuron);
    return VLY_OK;
}

vly_status vly_common_modulations_check(const vly_net_desc *desc,
                                        const vly_run *run, vly_error *error)
{
    uint64_t n = n_modulations(run);
    vly_status status = VLY_OK;
    if (n > 0 && !run->modulations)
        return vly_support_fail(error, VLY_E_INVALID,
                                "run: modulations is NULL, wanted %llu values",
                                (unsigned long long)n);
    for (uint64_t i = 0; i < n; i++)
        VLY_TRY(check_modulation(desc, run, i, error));
out:
    return status;
}
