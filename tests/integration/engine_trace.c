/* SPDX-License-Identifier: Apache-2.0
 * Runs of the engine and of the second simulator as traces.
 */
#include "engine_trace.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "second_simulator.h"

static vly_status on_burst(void *arg, uint64_t burst, const uint32_t *ids,
                           uint32_t n_ids, uint64_t burst_digest)
{
    trace *t = arg;
    (void)ids;
    if (burst >= t->n_bursts)
        return VLY_E_INVALID;
    t->bursts[burst] = burst_digest;
    t->spikes += n_ids;
    return VLY_OK;
}

static int trace_init(trace *t, uint64_t n_bursts)
{
    *t = (trace){.n_bursts = n_bursts};
    t->bursts = calloc((size_t)n_bursts + 1, sizeof *t->bursts);
    return t->bursts ? 0 : -1;
}

void trace_free(trace *t)
{
    free(t->bursts);
    *t = (trace){0};
}

int trace_engine(const vly_connectome *connectome, vly_registry *registry,
                 const char *backend, uint64_t n_bursts, const char *swap_to,
                 uint64_t swap_at, trace *out, vly_error *error)
{
    vly_net *net = NULL;
    vly_stats stats = {.struct_size = sizeof stats};
    int result = -1;
    uint64_t first = swap_to ? swap_at : n_bursts;
    if (trace_init(out, n_bursts))
        return -1;
    if (vly_net_create(connectome, registry, backend, 0, &net, error))
        goto out;
    vly_net_on_bursts(net, on_burst, out);
    if (vly_net_run(net, first, error))
        goto out;
    if (swap_to && (vly_net_swap(net, swap_to, 0, error) ||
                    vly_net_run(net, n_bursts - first, error)))
        goto out;
    if (vly_net_stats(net, &stats, error) ||
        vly_net_state_digest(net, &out->state_digest, error))
        goto out;
    out->events = stats.events;
    out->digest = vly_net_digest(net);
    result = 0;
out:
    vly_net_destroy(net);
    if (result)
        trace_free(out);
    return result;
}

int trace_second(const char *path, uint64_t n_bursts, trace *out)
{
    second_file file;
    second_result result = {0};
    int code = -1;
    if (trace_init(out, n_bursts))
        return -1;
    if (second_file_read(path, &file))
        goto out;
    result.bursts = out->bursts;
    if (second_run(&file, n_bursts, &result))
        goto out;
    out->spikes = result.spikes;
    out->events = result.events;
    out->digest = result.digest;
    out->state_digest = result.state_digest;
    code = 0;
out:
    second_file_free(&file);
    if (code)
        trace_free(out);
    return code;
}

static bool number_equal(const char *what, uint64_t a, const char *a_name,
                         uint64_t b, const char *b_name)
{
    if (a != b)
        fprintf(stderr, "%s: %016" PRIx64 " by %s, %016" PRIx64 " by %s\n",
                what, a, a_name, b, b_name);
    return a == b;
}

bool trace_equal(const trace *a, const char *a_name, const trace *b,
                 const char *b_name)
{
    for (uint64_t t = 0; t < a->n_bursts && t < b->n_bursts; t++) {
        char what[64];
        snprintf(what, sizeof what, "burst %" PRIu64, t);
        if (!number_equal(what, a->bursts[t], a_name, b->bursts[t], b_name))
            return false;
    }
    bool equal = number_equal("spikes", a->spikes, a_name, b->spikes, b_name);
    equal &= number_equal("events", a->events, a_name, b->events, b_name);
    equal &= number_equal("digest", a->digest, a_name, b->digest, b_name);
    equal &= number_equal("state digest", a->state_digest, a_name,
                          b->state_digest, b_name);
    return equal;
}
