/* SPDX-License-Identifier: Apache-2.0
 * Calls that are wrong. A wrong call is refused with a sentence before anything
 * is done, so the net stays as it was; `volley conformance` tries them all.
 * Each function returns NULL, or the error.
 */
#ifndef VOLLEY_TEMPLATE_CHECK_H
#define VOLLEY_TEMPLATE_CHECK_H

#include <volley/plugin.h>

/* The vly_run of an older host is shorter, of a newer one longer: all that is
 * used here must be there. */
#define TEMPLATE_RUN_BYTES (offsetof(vly_run, drain_ns) + sizeof(uint64_t))

static const char *template_run_wrong(const vly_net_desc *desc,
                                      const vly_run *run)
{
    if (run->struct_size < TEMPLATE_RUN_BYTES)
        return "run: struct_size is smaller than that of version 1.0";
    if (run->flags & VLY_RUN_RECORD &&
        (!run->spikes || run->spikes_capacity < desc->n_neurons))
        return "run: no room for one spike of every neuron";
    for (uint64_t i = 0; i < run->n_inputs; i++) {
        if (run->inputs[i].neuron >= desc->n_neurons || run->inputs[i].port)
            return "run: input of a neuron or port that does not exist";
        if (i > 0 && run->inputs[i].burst < run->inputs[i - 1].burst)
            return "run: inputs whose bursts descend";
    }
    return NULL;
}

static const char *template_snapshot_wrong(const vly_net_desc *desc,
                                           uint32_t n_fields,
                                           const vly_snapshot *s)
{
    if (s->struct_size < sizeof *s)
        return "snapshot: struct_size is too small";
    if (s->n_state_words != (uint64_t)n_fields * desc->n_neurons)
        return "snapshot: its state is that of another net";
    if (s->n_fired_bursts !=
        (s->burst < desc->max_delay ? s->burst : desc->max_delay))
        return "snapshot: wanted the fired sets of the last max_delay bursts";
    if (s->n_fired != s->fired_row[s->n_fired_bursts])
        return "snapshot: n_fired is not what its rows have";
    for (uint32_t j = 0; j < s->n_fired_bursts; j++)
        if (s->fired_row[j] > s->fired_row[j + 1])
            return "snapshot: rows that descend";
    for (uint64_t i = 0; i < s->n_fired; i++)
        if (s->fired[i] >= desc->n_neurons)
            return "snapshot: a spike of a neuron that does not exist";
    return NULL;
}

/* The neurons and the port of a stimulus stay as they are. */
static const char *template_stimulus_wrong(const vly_stimulus_desc *was,
                                           const vly_stimulus_desc *wanted,
                                           uint32_t n_thresholds_max)
{
    if (wanted->first != was->first || wanted->n_neurons != was->n_neurons ||
        wanted->port != was->port)
        return "stimulus: its neurons and port cannot change";
    if (wanted->n_thresholds > n_thresholds_max)
        return "stimulus: too many thresholds";
    return NULL;
}

#endif
