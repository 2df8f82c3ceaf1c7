/* SPDX-License-Identifier: Apache-2.0
 * Runs of the engine and of the second simulator as traces.
 */
#include "engine_trace.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "connectome/connectome.h"
#include "connectome/ranks_cut.h"
#include "engine/engine.h"
#include "engine/ranks.h"
#include "second_simulator.h"
#include "thread_exchange.h"

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

/* Records all spikes where there is room for six bursts of all neurons, which
 * ends windows of ranks early, and calls of the backend. Bursts done, or -1. */
static int record_tightly(vly_net *net, const vly_connectome *connectome,
                          trace *out, vly_error *error)
{
    vly_net_on_bursts(net, NULL, NULL);
    vly_net_on_spikes(net, on_burst, out);
    if (vly_net_run(net, 1, error))
        return -1;
    net->buffers.spikes_capacity = 6 * (uint64_t)connectome->desc.n_neurons;
    return 1;
}

static int trace_net(const vly_connectome *connectome, vly_registry *registry,
                     const char *backend, uint64_t n_bursts,
                     const char *swap_to, uint64_t swap_at, trace *out,
                     vly_error *error)
{
    vly_net *net = NULL;
    vly_stats stats = {.struct_size = sizeof stats};
    char to[128];
    int result = -1;
    uint64_t first = swap_to ? swap_at : n_bursts;
    if (trace_init(out, n_bursts))
        return -1;
    if (vly_net_create(connectome, registry, backend, 0, &net, error))
        goto out;
    vly_net_on_bursts(net, on_burst, out);
    int done = 0;
    if (swap_to && first > 0 && connectome->desc.ranks)
        done = record_tightly(net, connectome, out, error);
    if (done < 0 || vly_net_run(net, first - (uint64_t)done, error))
        goto out;
    if (swap_to)
        snprintf(to, sizeof to, "%.*s", (int)strcspn(swap_to, "@"), swap_to);
    if (swap_to && (vly_net_swap(net, to, 0, error) ||
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

/* ---- ranks ------------------------------------------------------------- */

enum { RANKS = 16 };

typedef struct rank_job {
    vly_connectome whole;             /* the arrays are shared */
    const vly_genome *genome;         /* NULL: the whole is divided */
    vly_connectome *built;            /* from the genome */
    const vly_connectome *connectome; /* one of both */
    vly_registry *registry;
    uint32_t rank;
    uint32_t n_ranks;
    const uint32_t *cut;
    vly_rank_group *group;
    vly_error error;
    vly_status status;
} rank_job;

static vly_status join(rank_job *job)
{
    const vly_exchange_spec spec = {.struct_size = sizeof spec,
                                    .rank = job->rank,
                                    .n_ranks = job->n_ranks,
                                    .timeout_ms = 60000,
                                    .name = "1"};
    job->error.struct_size = sizeof job->error;
    vly_status status =
        vly_ranks_open(thread_exchange(), &spec, &job->group, &job->error);
    if (status == VLY_OK && job->genome)
        status = vly_ranks_build(job->group, job->genome, 1, false, job->cut,
                                 &job->built, &job->error);
    else if (status == VLY_OK)
        status =
            vly_ranks_divide(job->group, &job->whole, job->cut, &job->error);
    job->connectome = job->genome ? job->built : &job->whole;
    return status;
}

static void *serve(void *arg)
{
    rank_job *job = arg;
    job->status = join(job);
    if (job->status == VLY_OK)
        job->status = vly_ranks_serve(job->group, job->connectome,
                                      job->registry, &job->error);
    vly_ranks_close(job->group);
    return NULL;
}

/* A cut that follows from the network and the number of ranks. */
static int make_cut(const vly_connectome *connectome, uint32_t n_ranks,
                    uint32_t *cut)
{
    const vly_net_desc *desc = &connectome->desc;
    vly_ranks_area *areas = calloc(desc->n_areas + 1u, sizeof *areas);
    if (!areas)
        return -1;
    for (uint32_t a = 0; a < desc->n_areas; a++)
        areas[a].n_neurons = desc->areas[a].n_neurons;
    vly_ranks_cut_random(areas, desc->n_areas, n_ranks,
                         connectome->hash.lane[0], cut);
    free(areas);
    return 0;
}

static int trace_ranks(const vly_connectome *connectome,
                       const vly_genome *genome, vly_registry *registry,
                       const char *backend, uint32_t n_ranks, uint64_t n_bursts,
                       const char *swap_to, uint64_t swap_at, trace *out,
                       vly_error *error)
{
    static rank_job jobs[RANKS];
    pthread_t threads[RANKS];
    uint32_t cut[RANKS + 1];
    int result = -1;
    if (n_ranks > RANKS || make_cut(connectome, n_ranks, cut))
        return -1;
    for (uint32_t r = 0; r < n_ranks; r++) {
        jobs[r] = (rank_job){.whole = *connectome,
                             .genome = genome,
                             .registry = registry,
                             .rank = r,
                             .n_ranks = n_ranks,
                             .cut = cut};
        if (r > 0 && pthread_create(&threads[r], NULL, serve, &jobs[r]) != 0)
            abort(); /* the others would wait for it */
    }
    if (join(&jobs[0]) == VLY_OK)
        result = trace_net(jobs[0].connectome, registry, backend, n_bursts,
                           swap_to, swap_at, out, error);
    else
        *error = jobs[0].error;
    if (result == 0) {
        vly_rank_figures figures = {.struct_size = sizeof figures};
        vly_ranks_figures(jobs[0].group, 0, &figures);
        out->exchanges = figures.n_exchanges;
        out->parted = jobs[0].connectome->part;
    }
    vly_ranks_close(jobs[0].group);
    for (uint32_t r = 1; r < n_ranks; r++) {
        pthread_join(threads[r], NULL);
        if (jobs[r].status != VLY_OK && result == 0) {
            *error = jobs[r].error;
            trace_free(out);
            result = -1;
        }
    }
    for (uint32_t r = 0; r < n_ranks; r++)
        vly_connectome_destroy(jobs[r].built);
    return result;
}

int trace_engine(const vly_connectome *connectome, const vly_genome *genome,
                 vly_registry *registry, const char *backend, uint64_t n_bursts,
                 const char *swap_to, uint64_t swap_at, trace *out,
                 vly_error *error)
{
    char spec[128];
    const char *at = strchr(backend, '@');
    if (!at)
        return trace_net(connectome, registry, backend, n_bursts, swap_to,
                         swap_at, out, error);
    snprintf(spec, sizeof spec, "%.*s", (int)(at - backend), backend);
    return trace_ranks(connectome, genome, registry, spec,
                       (uint32_t)strtoul(at + 1, NULL, 10), n_bursts, swap_to,
                       swap_at, out, error);
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
    out->n_sums = result.n_sums;
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
