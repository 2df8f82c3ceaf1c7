/* SPDX-License-Identifier: Apache-2.0
 * Checks of the arguments and results of a backend. The engine checks only the
 * results that it needs (backend_check.c); this file has all checks that are
 * possible without a second net, for every call, and also of the engine.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/random.h"
#include "probe/probe_parts.h"

void vly_probe_look(vly_probe *probe, probe_check which, bool bad,
                    uint64_t burst, const char *format, ...)
{
    vly_probe_checked *check = &probe->checks[which];
    check->looked++;
    if (!bad)
        return;
    if (check->failed++ == 0) {
        va_list list;
        check->burst = burst;
        va_start(list, format);
        (void)vsnprintf(check->what, sizeof check->what, format, list);
        va_end(list);
    }
}

/* Whether a comes before b, by burst, neuron, port. */
static bool ascends(const vly_input *a, const vly_input *b)
{
    if (a->burst != b->burst)
        return a->burst < b->burst;
    if (a->neuron != b->neuron)
        return a->neuron < b->neuron;
    return a->port < b->port;
}

/* Spikes by area are added to what the host has there. */
static uint64_t area_sum(const probe_net *net, const vly_run *run)
{
    const uint64_t *area_spikes = probe_area_spikes(run);
    uint64_t sum = 0;
    for (uint32_t a = 0; area_spikes && a < net->desc->n_areas; a++)
        sum += area_spikes[a];
    return sum;
}

void vly_probe_check_inputs(probe_net *net, const vly_run *run)
{
    net->area_sum = area_sum(net, run);
    const vly_input *inputs = run->inputs;
    uint64_t bad = run->n_inputs;
    for (uint64_t i = 0; i < run->n_inputs && bad == run->n_inputs; i++)
        if ((i > 0 && !ascends(&inputs[i - 1], &inputs[i])) ||
            inputs[i].burst < net->burst ||
            inputs[i].burst - net->burst >= run->n_bursts ||
            inputs[i].neuron >= net->desc->n_neurons ||
            inputs[i].port >= VLY_PORTS_MAX || inputs[i].value > (1 << 30) ||
            inputs[i].value < -(1 << 30))
            bad = i;
    vly_probe_look(
        net->slot->probe, CHECK_inputs, bad != run->n_inputs, net->burst,
        "input %" PRIu64 " of %" PRIu64 " is out of order or of range", bad,
        run->n_inputs);
    vly_probe_look(net->slot->probe, CHECK_arguments,
                   (run->flags & VLY_RUN_RECORD) != 0 &&
                       run->spikes_capacity < net->desc->n_neurons,
                   net->burst, "room for %" PRIu64 " spikes, wanted %u",
                   run->spikes_capacity, net->desc->n_neurons);
}

/* ---- a run ------------------------------------------------------------- */

/* Spikes by its counts; false: the counts are invalid. */
static bool check_counts(const probe_net *net, const vly_run *run,
                         uint64_t *n_spikes)
{
    vly_probe *probe = net->slot->probe;
    const bool record = (run->flags & VLY_RUN_RECORD) != 0;
    bool bad = run->n_bursts_done > run->n_bursts;
    vly_probe_look(probe, CHECK_counts, bad, net->burst,
                   "%" PRIu64 " bursts done of %" PRIu64, run->n_bursts_done,
                   run->n_bursts);
    *n_spikes = 0;
    for (uint64_t t = 0; !bad && t < run->n_bursts_done; t++) {
        bad = run->spike_counts[t] > net->desc->n_neurons;
        *n_spikes += run->spike_counts[t];
        vly_probe_look(probe, CHECK_counts, bad, net->burst + t,
                       "%u spikes of %u neurons", run->spike_counts[t],
                       net->desc->n_neurons);
    }
    const bool unlike =
        !bad && record &&
        (run->n_spikes != *n_spikes || run->n_spikes > run->spikes_capacity);
    if (record)
        vly_probe_look(probe, CHECK_counts, unlike, net->burst,
                       "%" PRIu64 " spikes recorded, counts say %" PRIu64
                       ", room for %" PRIu64,
                       run->n_spikes, *n_spikes, run->spikes_capacity);
    return !bad && !unlike;
}

/* One burst's list: order, digest, and the synapses of its spikes. */
static bool check_list(const probe_net *net, const vly_run *run, uint64_t t,
                       uint64_t first, uint64_t *n_synapses)
{
    const vly_net_desc *desc = net->desc;
    const uint32_t *ids = run->spikes + first;
    const uint32_t one = UINT32_C(1) << desc->feagi_q;
    uint64_t digest = 0;
    bool bad = false;
    for (uint32_t i = 0; !bad && i < run->spike_counts[t]; i++) {
        bad = ids[i] >= desc->n_neurons || (i > 0 && ids[i] <= ids[i - 1]);
        if (bad)
            break;
        digest += vly_spike_hash(
            ids[i], run->spike_gains ? run->spike_gains[first + i] : one,
            net->burst + t);
        *n_synapses += desc->out_degree[ids[i]];
    }
    vly_probe_look(net->slot->probe, CHECK_ids, bad, net->burst + t,
                   "spikes of burst %" PRIu64
                   " do not ascend or are of no neuron",
                   net->burst + t);
    if (!bad && (run->spike_gains || !net->has_gains))
        vly_probe_look(net->slot->probe, CHECK_digests,
                       digest != run->digests[t], net->burst + t,
                       "digest of burst %" PRIu64 " is %016" PRIx64
                       ", its spikes say %016" PRIx64,
                       net->burst + t, run->digests[t], digest);
    return !bad;
}

static void check_lists(const probe_net *net, const vly_run *run)
{
    uint64_t first = 0;
    uint64_t n_synapses = 0;
    bool good = true;
    for (uint64_t t = 0; good && t < run->n_bursts_done; t++) {
        good = check_list(net, run, t, first, &n_synapses);
        first += run->spike_counts[t];
    }
    if (good)
        vly_probe_look(net->slot->probe, CHECK_events,
                       run->n_events != n_synapses, net->burst,
                       "%" PRIu64 " events, but its spikes have %" PRIu64
                       " synapses",
                       run->n_events, n_synapses);
}

void vly_probe_check_run(const probe_net *net, const vly_run *before,
                         const vly_run *run)
{
    vly_probe *probe = net->slot->probe;
    uint64_t n_spikes = 0;
    vly_probe_look(probe, CHECK_times,
                   run->delivery_ns < before->delivery_ns ||
                       run->dynamics_ns < before->dynamics_ns ||
                       run->exchange_ns < before->exchange_ns ||
                       run->drain_ns < before->drain_ns,
                   net->burst, "a phase took less than no time");
    if (!probe_has_lists(run) || !check_counts(net, run, &n_spikes))
        return;
    vly_probe_look(probe, CHECK_counts,
                   run->n_candidates >
                       run->n_bursts_done * net->desc->n_neurons,
                   net->burst,
                   "%" PRIu64 " candidates in %" PRIu64 " bursts of %u neurons",
                   run->n_candidates, run->n_bursts_done, net->desc->n_neurons);
    for (uint64_t t = 0; t < run->n_bursts_done; t++)
        if (run->spike_counts[t] == 0)
            vly_probe_look(
                probe, CHECK_digests, run->digests[t] != 0, net->burst + t,
                "burst %" PRIu64 " has no spikes, and digest %016" PRIx64,
                net->burst + t, run->digests[t]);
    if (probe_area_spikes(run)) {
        const uint64_t sum = area_sum(net, run) - net->area_sum;
        vly_probe_look(probe, CHECK_areas, sum != n_spikes, net->burst,
                       "%" PRIu64 " spikes by area, %" PRIu64 " by burst", sum,
                       n_spikes);
    }
    if ((run->flags & VLY_RUN_RECORD) != 0)
        check_lists(net, run);
}

/* ---- other calls ------------------------------------------------------- */

void vly_probe_check_range(const probe_net *net, uint32_t area, uint32_t field,
                           uint32_t first, uint32_t count, const char *call)
{
    const vly_net_desc *desc = net->desc;
    const bool bad = area >= desc->n_areas ||
                     field >= probe_area(desc, area)->n_fields ||
                     first > probe_area(desc, area)->n_neurons ||
                     count > probe_area(desc, area)->n_neurons - first;
    vly_probe_look(net->slot->probe, CHECK_arguments, bad, net->burst,
                   "%s of area %u, field %u, neurons %u and %u more", call,
                   area, field, first, count);
}

void vly_probe_check_failure(vly_probe *probe, uint64_t burst,
                             vly_status status, const vly_error *error,
                             const char *call)
{
    if (status == VLY_OK)
        return;
    vly_probe_look(probe, CHECK_failures,
                   status > VLY_OK || status <= VLY_E_STOPPED, burst,
                   "%s returned %d, which no backend may", call, (int)status);
    if (error)
        vly_probe_look(probe, CHECK_failures, error->message[0] == 0, burst,
                       "%s failed and did not say why", call);
}

/* Sets of fired neurons. */
static bool good_sets(const probe_net *net, const vly_snapshot *snapshot)
{
    const uint64_t *row = snapshot->fired_row;
    const uint32_t *ids = snapshot->fired;
    bool good =
        row[0] == 0 && row[snapshot->n_fired_bursts] == snapshot->n_fired;
    for (uint32_t j = 0; good && j < snapshot->n_fired_bursts; j++) {
        good = row[j] <= row[j + 1] && row[j + 1] <= snapshot->n_fired;
        for (uint64_t i = row[j]; good && i < row[j + 1]; i++)
            good = ids[i] < net->desc->n_neurons &&
                   (i == row[j] || ids[i] > ids[i - 1]);
    }
    return good;
}

void vly_probe_check_snapshot(const probe_net *net,
                              const vly_snapshot *snapshot)
{
    const vly_net_desc *desc = net->desc;
    vly_probe *probe = net->slot->probe;
    uint64_t words = 0;
    const uint64_t bursts =
        net->burst < desc->max_delay ? net->burst : desc->max_delay;
    for (uint32_t a = 0; a < desc->n_areas; a++)
        words += (uint64_t)probe_area(desc, a)->n_fields *
                 probe_area(desc, a)->n_neurons;
    const bool bad = snapshot->burst != net->burst ||
                     snapshot->n_state_words != words ||
                     snapshot->n_fired_bursts != bursts;
    vly_probe_look(probe, CHECK_snapshots, bad, net->burst,
                   "burst %" PRIu64 ", %" PRIu64 " words, %u fired sets; "
                   "wanted %" PRIu64 ", %" PRIu64 ", %" PRIu64,
                   snapshot->burst, snapshot->n_state_words,
                   snapshot->n_fired_bursts, net->burst, words, bursts);
    if (!bad && snapshot->state)
        vly_probe_look(probe, CHECK_snapshots, !good_sets(net, snapshot),
                       net->burst, "fired sets that do not ascend");
}
