/* SPDX-License-Identifier: Apache-2.0
 * One rank of many alone: its part of a network is built, and it runs bursts in
 * which the spikes of all ranks come in.
 *
 * The messages of the other ranks are made by the backend itself, which alone
 * knows their form: each rank runs some bursts without synapses, and the
 * messages that it gives are kept. Meanwhile its peers give the message of a
 * rank without neurons. In this network the stimulus alone makes spikes, so
 * they are as many as with synapses. The rank that is timed gets the kept
 * messages again and again.
 */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/thread.h"
#include "connectome/connectome_part.h"
#include "connectome/ranks_cut.h"
#include "plugin/registry.h"
#include "tools/bench/bench_scale.h"
#include "tools/cli/tool.h"

enum {
    BLOCKS = 31,
    KEPT_BURSTS = 16,
    WARM_BURSTS = 32,
    RANK = 17,
    NONE_BYTES = 256,
    ALIGN = 16
};
static const double block_s = 5e-3;
#define SHARE 0.01

/* The stress network: weights of both signs that cancel. */
static const char head[] =
    "format = 1\n[run]\ndt_ms = 0.1\nbursts = 1\n[area.N]\n"
    "model = \"lif_psc_delta\"\nneurons = %u\nt_ref_ms = 0\n"
    "[[stimulus]]\nkind = \"poisson\"\nto = \"N\"\nrate_hz = %.17g\n"
    "weight_mv = 20\n";
static const char maps[] =
    "[[map]]\nfrom = \"N\"\nto = \"N\"\nrule = \"fixed_in_degree\"\n"
    "in_degree = %u\nweight_mv = 0.01\ndelay_bursts = 1\n"
    "[[map]]\nfrom = \"N\"\nto = \"N\"\nrule = \"fixed_in_degree\"\n"
    "in_degree = %u\nweight_mv = -0.01\ndelay_bursts = 1\n";

typedef struct replay {
    const bench_options *options;
    vly_backend_spec spec;
    const vly_backend *table;
    vly_device_spec device;
    uint32_t neurons;
    uint32_t n_ranks;
    uint32_t rank;
    uint32_t *first; /* [n_ranks + 1] */
    vly_piece none;  /* of a rank without neurons, in none_bytes */
    _Alignas(16) uint8_t none_bytes[NONE_BYTES];
    /* messages one after the other: small blocks between the large ones of
     * nets, which come and go, would leave holes of 4 MB */
    uint8_t *data;
    uint64_t n_data;
    uint64_t room;
    uint64_t *at;    /* [KEPT_BURSTS][n_ranks] in data */
    vly_piece *kept; /* the same; data once all are there */
    vly_piece peers[3];
    uint32_t recorded; /* rank whose messages are kept now */
} replay;

/* Appends a message. */
static vly_status keep(replay *r, uint64_t i, const void *mine,
                       uint64_t n_bytes, vly_error *error)
{
    const uint64_t end = r->n_data + (n_bytes + ALIGN - 1) / ALIGN * ALIGN;
    if (end > r->room) {
        uint8_t *more = vly_realloc(r->data, (size_t)(2 * end), 1);
        if (!more)
            return vly_fail_nomem(error, 2 * end, "messages of ranks");
        r->data = more;
        r->room = 2 * end;
    }
    memcpy(r->data + r->n_data, mine, (size_t)n_bytes);
    r->at[i] = r->n_data;
    r->kept[i].n_bytes = n_bytes;
    r->n_data = end;
    return VLY_OK;
}

/* ---- gathers ------------------------------------------------------------- */

/* A rank without neurons. Its one peer has all neurons; it gives the same,
 * which is no spike. */
static vly_status gather_none(void *context, uint64_t tag, const void *mine,
                              uint64_t n_bytes, const vly_piece **pieces,
                              vly_error *error)
{
    replay *r = context;
    (void)tag;
    if (n_bytes > NONE_BYTES)
        return vly_fail(error, VLY_E_DEVICE,
                        "a rank without spikes gave %llu bytes, wanted at most "
                        "%d",
                        (unsigned long long)n_bytes, NONE_BYTES);
    memcpy(r->none_bytes, mine, (size_t)n_bytes);
    r->none = (vly_piece){.data = r->none_bytes, .n_bytes = n_bytes};
    r->peers[0] = r->peers[1] = r->none;
    *pieces = r->peers;
    return VLY_OK;
}

/* The rank between all lower and all higher ones. */
static vly_status gather_record(void *context, uint64_t tag, const void *mine,
                                uint64_t n_bytes, const vly_piece **pieces,
                                vly_error *error)
{
    replay *r = context;
    if (tag >= KEPT_BURSTS)
        return vly_fail(error, VLY_E_DEVICE,
                        "a rank of the replay gave a message of burst %llu, "
                        "wanted at most %d",
                        (unsigned long long)tag, KEPT_BURSTS - 1);
    r->peers[0] = r->peers[2] = r->none;
    r->peers[1] = (vly_piece){.data = mine, .n_bytes = n_bytes};
    *pieces = r->peers;
    return keep(r, tag * r->n_ranks + r->recorded, mine, n_bytes, error);
}

static vly_status gather_replay(void *context, uint64_t tag, const void *mine,
                                uint64_t n_bytes, const vly_piece **pieces,
                                vly_error *error)
{
    replay *r = context;
    vly_piece *all = &r->kept[tag % KEPT_BURSTS * r->n_ranks];
    (void)error;
    all[r->rank] = (vly_piece){.data = mine, .n_bytes = n_bytes};
    *pieces = all;
    return VLY_OK;
}

/* ---- nets ---------------------------------------------------------------- */

/* desc is copied into *own, which the net reads until it is destroyed. */
static vly_status net_make(const replay *r, const vly_connectome *connectome,
                           const vly_ranks *ranks, vly_net_desc *own,
                           vly_backend_net **net, vly_error *error)
{
    vly_status status = VLY_OK;
    *own = connectome->desc;
    own->ranks = ranks;
    VLY_TRY(vly_backend_supports(r->table, own, error));
    status =
        r->table->net_create(&r->device, own, &connectome->start, net, error);
out:
    return status;
}

static vly_status net_run(const replay *r, vly_backend_net *net, uint64_t n,
                          vly_run *run, vly_error *error)
{
    run->struct_size = sizeof *run;
    run->n_bursts = n;
    return r->table->net_run(net, run, error);
}

static vly_status run_once(replay *r, const vly_connectome *connectome,
                           const vly_ranks *ranks, uint64_t n_bursts,
                           vly_error *error)
{
    vly_backend_net *net = NULL;
    vly_net_desc own;
    vly_run run = {0};
    vly_status status = VLY_OK;
    VLY_TRY(net_make(r, connectome, ranks, &own, &net, error));
    /* without synapses a window has many bursts; it ends with the call */
    for (uint64_t t = 0; t < n_bursts; t++)
        VLY_TRY(net_run(r, net, 1, &run, error));
out:
    r->table->net_destroy(net);
    return status;
}

static vly_status make_genome(const replay *r, uint32_t degree,
                              vly_genome **genome, vly_error *error)
{
    char text[1000];
    int n =
        snprintf(text, sizeof text, head, r->neurons, -vly_log1p(-SHARE) * 1e4);
    if (degree > 0)
        n += snprintf(text + n, sizeof text - (size_t)n, maps, degree / 2,
                      degree / 2);
    return vly_genome_parse(text, (size_t)n, "a rank of many", NULL, 0, genome,
                            error);
}

/* ---- the other ranks ----------------------------------------------------- */

static vly_status record_all(replay *r, vly_error *error)
{
    vly_genome *genome = NULL;
    vly_connectome *connectome = NULL;
    vly_status status = VLY_OK;
    const uint32_t empty[3] = {0, 0, r->neurons};
    const vly_ranks none = {.struct_size = sizeof none,
                            .n_ranks = 2,
                            .first = empty,
                            .context = r,
                            .gather = gather_none};
    VLY_TRY(make_genome(r, 0, &genome, error));
    VLY_TRY(vly_connectome_build(genome, r->options->n_threads, &connectome,
                                 error));
    VLY_TRY(run_once(r, connectome, &none, 1, error));
    for (uint32_t i = 0; i < r->n_ranks; i++) {
        const uint32_t first[4] = {0, r->first[i], r->first[i + 1], r->neurons};
        const vly_ranks own = {.struct_size = sizeof own,
                               .rank = 1,
                               .n_ranks = 3,
                               .first = first,
                               .context = r,
                               .gather = gather_record};
        r->recorded = i;
        VLY_TRY(run_once(r, connectome, &own, KEPT_BURSTS, error));
    }
    for (uint64_t i = 0; i < (uint64_t)KEPT_BURSTS * r->n_ranks; i++)
        r->kept[i].data = r->data + r->at[i];
out:
    vly_connectome_destroy(connectome);
    vly_genome_destroy(genome);
    return status;
}

static double mean_bytes(const replay *r)
{
    double sum = 0.0;
    for (uint64_t i = 0; i < (uint64_t)KEPT_BURSTS * r->n_ranks; i++)
        sum += (double)r->kept[i].n_bytes;
    return sum / KEPT_BURSTS;
}

/* ---- the rank that is timed ---------------------------------------------- */

static vly_status time_blocks(const replay *r, vly_backend_net *net,
                              bench_row *row, vly_run *run, vly_error *error)
{
    double samples[BLOCKS];
    vly_run warm = {0};
    vly_status status = VLY_OK;
    uint64_t begin = vly_clock_ns();
    VLY_TRY(net_run(r, net, WARM_BURSTS, &warm, error));
    const double one = (double)(vly_clock_ns() - begin) * 1e-9 / WARM_BURSTS;
    const uint64_t block =
        one < block_s ? (uint64_t)(block_s / (one > 1e-7 ? one : 1e-7)) : 1;
    for (uint32_t i = 0; i < BLOCKS; i++) {
        begin = vly_clock_ns();
        VLY_TRY(net_run(r, net, block, run, error));
        samples[i] = (double)(vly_clock_ns() - begin) * 1e-9 / (double)block;
    }
    row->seconds = bench_spread_of(samples, BLOCKS);
    row->bursts = BLOCKS * block;
out:
    return status;
}

/* spikes: of all ranks in KEPT_BURSTS */
static void fill_rows(const replay *r, const vly_run *run, uint64_t spikes,
                      scale_replay *found, bench_row *burst,
                      bench_results *results)
{
    const double n = (double)burst->bursts;
    bench_row build = {.unit = BENCH_BUILD, .neurons = found->own_neurons};
    found->delivery_s = (double)run->delivery_ns * 1e-9 / n;
    found->dynamics_s = (double)run->dynamics_ns * 1e-9 / n;
    found->exchange_s = (double)run->exchange_ns * 1e-9 / n;
    (void)snprintf(build.id, sizeof build.id, "rank %u of %u: part", r->rank,
                   r->n_ranks);
    build.synapses = found->own_synapses;
    build.seconds = bench_spread_of(&found->build_s, 1);
    build.events_per_s = (double)build.synapses / found->build_s;
    (void)snprintf(build.note, sizeof build.note, "%s neurons, %s bytes",
                   tool_thousands(found->own_neurons),
                   tool_thousands(found->bytes));
    (void)snprintf(burst->id, sizeof burst->id, "rank %u of %u: burst", r->rank,
                   r->n_ranks);
    burst->unit = BENCH_BURST;
    burst->neurons = r->neurons;
    burst->synapses = found->own_synapses;
    burst->share = (double)spikes / KEPT_BURSTS / r->neurons;
    burst->events_per_s =
        burst->share * (double)found->own_synapses / burst->seconds.median;
    (void)snprintf(
        burst->note, sizeof burst->note,
        "%.0f bytes of %u ranks come in; mean of a burst: delivery %.1f, "
        "dynamics %.1f, exchange %.1f us",
        found->message_bytes, r->n_ranks, 1e6 * found->delivery_s,
        1e6 * found->dynamics_s, 1e6 * found->exchange_s);
    results->rows[results->n_rows++] = build;
    results->rows[results->n_rows++] = *burst;
    found->done = true;
}

static uint64_t sum_counts(const uint32_t *counts, uint64_t n)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; i < n; i++)
        sum += counts[i];
    return sum;
}

static vly_status time_rank(replay *r, uint32_t degree, scale_replay *found,
                            bench_results *results, vly_error *error)
{
    vly_genome *genome = NULL;
    vly_connectome *part = NULL;
    vly_backend_net *net = NULL;
    vly_net_desc own;
    vly_run run = {0};
    bench_row row = {.unit = BENCH_BURST};
    uint32_t counts[KEPT_BURSTS] = {0};
    vly_run counted = {.spike_counts = counts};
    vly_status status = VLY_OK;
    vly_ranks ranks = {.struct_size = sizeof ranks,
                       .rank = r->rank,
                       .n_ranks = r->n_ranks,
                       .first = r->first,
                       .context = r};
    VLY_TRY(make_genome(r, degree, &genome, error));
    tool_message("building the part of rank %u of %u", r->rank, r->n_ranks);
    const uint64_t begin = vly_clock_ns();
    VLY_TRY(vly_connectome_build_part(genome, &ranks, r->options->n_threads,
                                      &part, error));
    found->build_s = (double)(vly_clock_ns() - begin) * 1e-9;
    found->own_neurons = r->first[r->rank + 1] - r->first[r->rank];
    found->own_synapses = part->desc.n_synapses;
    found->bytes = part->n_bytes;
    ranks.gather = gather_replay;
    VLY_TRY(net_make(r, part, &ranks, &own, &net, error));
    VLY_TRY(time_blocks(r, net, &row, &run, error));
    VLY_TRY(net_run(r, net, KEPT_BURSTS, &counted, error));
    fill_rows(r, &run, sum_counts(counts, KEPT_BURSTS), found, &row, results);
out:
    r->table->net_destroy(net);
    vly_connectome_destroy(part);
    vly_genome_destroy(genome);
    return status;
}

/* ---- all ----------------------------------------------------------------- */

static vly_status prepare(replay *r, vly_error *error)
{
    vly_status status = VLY_OK;
    const uint64_t n = (uint64_t)KEPT_BURSTS * r->n_ranks;
    VLY_TRY(vly_backend_spec_parse(r->options->backend, &r->spec, error));
    VLY_TRY(vly_registry_device(r->options->registry, &r->spec,
                                r->options->n_threads, &r->table, &r->device,
                                error));
    r->first = vly_calloc(r->n_ranks + (size_t)1, sizeof *r->first);
    r->kept = vly_calloc((size_t)n, sizeof *r->kept);
    r->at = vly_calloc((size_t)n, sizeof *r->at);
    if (!r->first || !r->kept || !r->at)
        return vly_fail_nomem(error, n * sizeof *r->kept, "messages of ranks");
    const vly_ranks_area area = {.n_neurons = r->neurons, .in_degree = 1};
    vly_ranks_cut(&area, 1, r->n_ranks, r->first);
out:
    return status;
}

vly_status scale_replay_run(const bench_options *options,
                            bench_results *results, vly_error *error)
{
    scale_replay *found = &results->scale->replay;
    const uint32_t n_ranks = results->scale->machine.hosts;
    const uint32_t degree = options->quick ? 100 : 1000;
    replay r = {.options = options,
                .neurons = options->quick ? 64000 : 1000000,
                .n_ranks = n_ranks,
                .rank = n_ranks > RANK ? RANK : n_ranks - 1};
    vly_status status = VLY_OK;
    VLY_TRY(prepare(&r, error));
    tool_message("recording the spikes of %u ranks", n_ranks);
    VLY_TRY(record_all(&r, error));
    found->rank = r.rank;
    found->n_ranks = n_ranks;
    found->neurons = r.neurons;
    found->message_bytes = mean_bytes(&r);
    VLY_TRY(time_rank(&r, degree, found, results, error));
    status = bench_device_set(options, options->backend, "one rank of many",
                              results, error);
out:
    vly_free(r.data);
    vly_free(r.at);
    vly_free(r.kept);
    vly_free(r.first);
    return status;
}
