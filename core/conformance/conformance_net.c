/* SPDX-License-Identifier: Apache-2.0
 * A net of the table, compiled, with the host's input as one sorted list.
 */
#include "conformance/conformance_trial.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "genome/genome.h"

#define INPUT_MAX ((INT64_C(1) << 30) - 1)

/* ---- buffers ----------------------------------------------------------- */

enum { GUARD_BYTES = 64, GUARD = 0xa5 };

bool guarded_init(guarded *buffer, uint64_t count, size_t size)
{
    size_t n = 0;
    size_t all = 0;
    *buffer = (guarded){0};
    if (!vly_size_mul((size_t)count, size, &n) ||
        !vly_size_add(n, GUARD_BYTES, &all))
        return false;
    buffer->bytes = vly_malloc(all, 1);
    if (!buffer->bytes)
        return false;
    buffer->n = n;
    memset(buffer->bytes, GUARD, all);
    return true;
}

void guarded_deinit(guarded *buffer)
{
    vly_free(buffer->bytes);
    *buffer = (guarded){0};
}

static bool is_guard(const unsigned char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (bytes[i] != GUARD)
            return false;
    return true;
}

bool guarded_intact(const guarded *buffer)
{
    return is_guard(buffer->bytes + buffer->n, GUARD_BYTES);
}

bool guarded_untouched(const guarded *buffer)
{
    return is_guard(buffer->bytes, buffer->n + GUARD_BYTES);
}

/* ---- input of the host ------------------------------------------------- */

static int compare_inputs(const void *left, const void *right)
{
    const vly_input *a = left;
    const vly_input *b = right;
    if (a->burst != b->burst)
        return a->burst < b->burst ? -1 : 1;
    if (a->neuron != b->neuron)
        return a->neuron < b->neuron ? -1 : 1;
    return a->port < b->port ? -1 : a->port > b->port;
}

/* All inputs of one neuron and port in one burst are one entry, as the engine
 * passes them. */
static uint64_t sum_inputs(vly_input *inputs, uint64_t n)
{
    uint64_t kept = 0;
    for (uint64_t i = 0; i < n; kept++) {
        vly_input sum = inputs[i];
        int64_t value = 0;
        for (; i < n && compare_inputs(&inputs[i], &sum) == 0; i++)
            value += inputs[i].value;
        value = value > INPUT_MAX ? INPUT_MAX : value;
        value = value < -INPUT_MAX ? -INPUT_MAX : value;
        sum.value = (int32_t)value;
        inputs[kept] = sum;
    }
    return kept;
}

static vly_status make_inputs(conformance_net *net, vly_error *error)
{
    const vly_connectome *connectome = net->connectome;
    uint64_t n = 0;
    for (uint32_t s = 0; s < connectome->n_stimuli; s++)
        n += connectome->stimuli[s].n_inputs;
    net->inputs = vly_calloc((size_t)n, sizeof *net->inputs);
    if (!net->inputs)
        return vly_fail_nomem(error, n * sizeof *net->inputs, "inputs");
    n = 0;
    for (uint32_t s = 0; s < connectome->n_stimuli; s++) {
        const vly_connectome_stimulus *stimulus = &connectome->stimuli[s];
        if (stimulus->n_inputs != 0)
            memcpy(net->inputs + n, stimulus->inputs,
                   (size_t)stimulus->n_inputs * sizeof *net->inputs);
        n += stimulus->n_inputs;
    }
    if (n != 0)
        qsort(net->inputs, (size_t)n, sizeof *net->inputs, compare_inputs);
    net->n_inputs = sum_inputs(net->inputs, n);
    return VLY_OK;
}

/* Of n_all entries that ascend by burst those of bursts [burst, burst + n);
 * *found: their number. NULL: there are none. */
static const vly_input *part_of(const vly_input *all, uint64_t n_all,
                                uint64_t burst, uint64_t n, uint64_t *found)
{
    uint64_t from = 0;
    while (from < n_all && all[from].burst < burst)
        from++;
    uint64_t to = from;
    while (to < n_all && all[to].burst < burst + n)
        to++;
    *found = to - from;
    return to > from ? all + from : NULL;
}

void conformance_net_given(const conformance_net *net, uint64_t burst,
                           uint64_t n, vly_run *run)
{
    run->inputs = part_of(net->inputs, net->n_inputs, burst, n, &run->n_inputs);
    run->modulations =
        part_of(net->entry->modulations, net->entry->n_modulations, burst, n,
                &run->n_modulations);
}

/* ---- the net ----------------------------------------------------------- */

vly_status conformance_net_init(conformance_net *net,
                                const vly_conformance_case *entry,
                                vly_error *error)
{
    vly_status status = VLY_OK;
    *net = (conformance_net){.entry = entry,
                             .golden = vly_conformance_golden_of(entry->name)};
    VLY_TRY(vly_genome_parse(entry->genome, strlen(entry->genome), entry->name,
                             NULL, 0, &net->genome, error));
    VLY_TRY(vly_connectome_build(net->genome, 1, &net->connectome, error));
    VLY_TRY(make_inputs(net, error));
    net->n_bursts = net->connectome->n_bursts;
    for (uint32_t a = 0; a < net->connectome->desc.n_areas; a++)
        if (net->connectome->desc.areas[a].flags & VLY_AREA_FEAGI)
            net->has_feagi = true;
    for (uint32_t s = 0; s < net->connectome->n_stimuli; s++)
        if (net->connectome->stimuli[s].kind == VLY_STIMULUS_DC)
            net->has_dc = true;
out:
    if (status != VLY_OK)
        conformance_net_deinit(net);
    return status;
}

void conformance_net_deinit(conformance_net *net)
{
    vly_free(net->inputs);
    vly_connectome_destroy(net->connectome);
    vly_genome_destroy(net->genome);
    *net = (conformance_net){0};
}
