/* SPDX-License-Identifier: Apache-2.0
 * The arguments of a run: whether it may begin, and what ends it early.
 */
#include "backend_common.h"
#include "common_modulator.h"

/* Nets of one port, without branches: most inputs are valid. */
static bool all_fit(const vly_net_desc *desc, const vly_run *run)
{
    uint32_t bad = 0;
    uint64_t last = 0; /* burst */
    for (uint32_t a = 0; a < desc->n_areas; a++)
        bad |= vly_common_area_desc(desc, a)->n_ports != 1;
    for (uint64_t i = 0; i < run->n_inputs; i++) {
        const vly_input *input = &run->inputs[i];
        bad |= (uint32_t)(input->burst < last) |
               (uint32_t)(input->neuron >= desc->n_neurons) |
               (uint32_t)(input->port != 0);
        last = input->burst;
    }
    return bad == 0;
}

static vly_status check_inputs(const vly_net_desc *desc, const vly_run *run,
                               vly_error *error)
{
    const vly_area_desc *area = NULL;
    if (all_fit(desc, run))
        return VLY_OK;
    for (uint64_t i = 0; i < run->n_inputs; i++) {
        const vly_input *input = &run->inputs[i];
        if (i > 0 && input->burst < run->inputs[i - 1].burst)
            return vly_support_fail(
                error, VLY_E_INVALID, "input %llu: burst %llu after burst %llu",
                (unsigned long long)i, (unsigned long long)input->burst,
                (unsigned long long)run->inputs[i - 1].burst);
        if (input->neuron < desc->n_neurons)
            area = vly_common_input_area(desc, area, input->neuron);
        if (input->neuron >= desc->n_neurons || input->port >= area->n_ports)
            return vly_support_fail(error, VLY_E_INVALID,
                                    "input %llu: neuron %u, port %u; there are "
                                    "%u neurons",
                                    (unsigned long long)i, input->neuron,
                                    input->port, desc->n_neurons);
    }
    return VLY_OK;
}

vly_status vly_common_check_run(const vly_net_desc *desc, int32_t failed,
                                const vly_run *run, vly_error *error)
{
    if (failed != VLY_OK)
        return vly_support_fail(error, failed,
                                "an earlier run of this net failed; it can "
                                "only be destroyed");
    if (run->struct_size < VLY_RUN_BYTES_1_0)
        return vly_support_fail(error, VLY_E_INVALID,
                                "run: struct_size is %u, wanted %u",
                                run->struct_size, VLY_RUN_BYTES_1_0);
    if ((run->flags & VLY_RUN_RECORD) != 0 &&
        (!run->spikes || run->spikes_capacity < desc->n_neurons))
        return vly_support_fail(error, VLY_E_INVALID,
                                "run: room for %llu spikes, wanted at least "
                                "one for each of %u neurons",
                                (unsigned long long)run->spikes_capacity,
                                desc->n_neurons);
    vly_status status = VLY_OK;
    VLY_TRY(vly_common_modulations_check(desc, run, error));
    status = check_inputs(desc, run, error);
out:
    return status;
}

void vly_common_run_begin(vly_run *run)
{
    run->n_bursts_done = 0;
    run->n_spikes = 0;
    run->n_events = 0;
    run->n_candidates = 0;
}

uint64_t *vly_common_run_areas(const vly_run *run)
{
    return run->struct_size >= VLY_RUN_BYTES_1_1 ? run->area_spikes : NULL;
}

bool vly_common_run_has_room(const vly_net_desc *desc, const vly_run *run)
{
    return (run->flags & VLY_RUN_RECORD) == 0 ||
           run->spikes_capacity - run->n_spikes >= desc->n_neurons;
}

bool vly_common_run_stopped(const vly_run *run)
{
    return run->stop && __atomic_load_n(run->stop, __ATOMIC_RELAXED) != 0;
}
