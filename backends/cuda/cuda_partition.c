/* SPDX-License-Identifier: Apache-2.0
 * The partitioned plan: its tiles, its data, and the work before a launch.
 * cuda_fit.c decides whether a net fits.
 */
#include "cuda_partition.h"

#include <stdio.h>
#include <string.h>

#include "backends/common/common_ranks.h"
#include "cuda_error.h"
#include "cuda_fit.h"
#include "cuda_memory.h"
#include "cuda_net.h"
#include "cuda_slices.h"
#include "cuda_splice.h"
#include "cuda_store.h"

/* Nanoseconds of a burst as a function of its events, for comparison with the
 * plan in cuda_resident.c: medians of 31 blocks of bursts of the stress nets on
 * an H200 (bench/README.md). */
#define BURST_NS 8000.0
#define EVENT_NS 0.002

/* A later shard of a span has the sizes of the first. */
static vly_status fit_like(vly_cuda_shard *shard, const vly_cuda_shard *first,
                           vly_error *error)
{
    const uint32_t n = shard->view.n_areas;
    shard->partition = first->partition;
    shard->partition_delay = first->partition_delay;
    vly_cuda_partition_own(shard);
    if (!first->divisors)
        return VLY_OK;
    vly_status status = vly_cuda_alloc(shard, n, sizeof *shard->divisors,
                                       &shard->divisors, error);
    if (status == VLY_OK)
        memcpy(shard->divisors, first->divisors, n * sizeof *first->divisors);
    return status;
}

/* The text of the plan's kernels with users' models has clusters of blocks. */
static vly_status check_text(const vly_cuda_shard *shard, const char **why,
                             vly_error *error)
{
    int major = 0;
    if (!vly_cuda_has_programs(shard))
        return VLY_OK;
    const vly_status status = vly_cuda_check(
        (int)cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor,
                                    shard->device),
        "cudaDeviceGetAttribute", error);
    if (status == VLY_OK && major < 9)
        *why = "models of users need compute capability 9.0";
    return status;
}

static vly_status fit(vly_cuda_shard *shard, vly_cuda_fit *found,
                      vly_error *error)
{
    const vly_cuda_options *wanted = &shard->net->wanted;
    uint32_t limit = wanted->n_blocks > 0 && wanted->n_blocks < shard->n_units
                         ? wanted->n_blocks
                         : shard->n_units;
    *found = (vly_cuda_fit){.why = vly_cuda_programs_unfit(shard)};
    if (vly_cuda_learns(shard) && !found->why)
        found->why = "maps learn: plans global and resident can run them";
    if (found->why)
        return VLY_OK;
    vly_status status = VLY_OK;
    VLY_TRY(check_text(shard, &found->why, error));
    if (found->why)
        return VLY_OK;
    if (shard != shard->net->shards)
        return fit_like(shard, shard->net->shards, error);
    if (shard->net->is_shared)
        limit /= shard->net->n_shards;
    return vly_cuda_partition_fit(shard, wanted->cluster, wanted->unit, limit,
                                  &found->why, error);
out:
    return status;
}

/* ---- making ------------------------------------------------------------ */

/* Shared memory for the kernel that will run: the kernel of one model, if all
 * areas have the same. */
static vly_status prepare(vly_cuda_shard *shard, vly_error *error)
{
    uint32_t n_clusters = 0;
    uint32_t n_wanted = shard->partition.own_slices *
                        (shard->net->is_shared ? shard->net->n_shards : 1);
    vly_status status = vly_cuda_check(
        vly_cuda_partition_count(
            shard, &shard->partition,
            vly_cuda_partition_bytes(&shard->view, &shard->partition),
            &n_clusters),
        "shared memory of a block", error);
    /* another device of a span may have fewer than the first: then one is used
     */
    if (status == VLY_OK && n_clusters < n_wanted)
        status = vly_cuda_fail(
            error, shard->net->n_shards > 1 ? VLY_E_UNSUPPORTED : VLY_E_DEVICE,
            "the device runs %u clusters of %u blocks at "
            "once, wanted %u",
            n_clusters, shard->partition.cluster, n_wanted);
    return status;
}

/* Tiles area by area, and the index of the first tile of each. */
static vly_status create_tiles(vly_cuda_shard *shard, vly_error *error)
{
    vly_cuda_partition *partition = &shard->partition;
    uint32_t n_areas = shard->view.n_areas;
    vly_cuda_slice_tile *tiles = NULL;
    vly_cuda_slice_tile *host = NULL;
    uint32_t *first = NULL; /* and the neurons before a rank's own */
    uint32_t *first_host = NULL;
    vly_status status = vly_cuda_device_alloc(shard, partition->n_tiles,
                                              sizeof *tiles, &tiles, error);
    if (status == VLY_OK)
        status = vly_cuda_device_alloc(shard, n_areas, 2 * sizeof *first,
                                       &first, error);
    if (status == VLY_OK)
        status = vly_cuda_alloc(shard, partition->n_tiles, sizeof *host, &host,
                                error);
    if (status == VLY_OK)
        status = vly_cuda_alloc(shard, n_areas, 2 * sizeof *first_host,
                                &first_host, error);
    if (status != VLY_OK)
        return status;
    uint32_t at = 0;
    for (uint32_t a = 0; a < n_areas; a++) {
        uint32_t i;
        uint32_t high;
        vly_common_own_part(shard->net->desc, a, &i, &high);
        first_host[a] = at;
        first_host[n_areas + a] = i;
        for (; i < high; at++) {
            uint32_t left = high - i;
            uint32_t n = left < partition->tile ? left : partition->tile;
            host[at] =
                (vly_cuda_slice_tile){a, (uint32_t)shard->info[a].state_at + i,
                                      n, shard->areas[a].first + i};
            i += n;
        }
    }
    status = vly_cuda_upload(shard, tiles, host,
                             partition->n_tiles * sizeof *tiles, error);
    if (status == VLY_OK)
        status = vly_cuda_upload(shard, first, first_host,
                                 2 * n_areas * sizeof *first, error);
    vly_cuda_release(shard, host);
    vly_cuda_release(shard, first_host);
    partition->state = shard->state;
    partition->tiles = tiles;
    partition->area_tile = first;
    if (vly_common_ranks(shard->net->desc))
        partition->area_low = first + n_areas;
    return status;
}

/* Data for sums of 16 bits: words for input of the host, and divisors. */
static vly_status create_narrow(vly_cuda_shard *shard, vly_error *error)
{
    vly_cuda_partition *p = &shard->partition;
    uint32_t *divisor = NULL;
    vly_status status =
        vly_cuda_device_alloc(shard, (uint64_t)p->n_tiles * p->tile,
                              sizeof *p->extra, &p->extra, error);
    if (status == VLY_OK)
        status = vly_cuda_device_alloc(shard, shard->view.n_areas,
                                       sizeof *divisor, &divisor, error);
    p->divisor = divisor;
    if (status == VLY_OK)
        status = vly_cuda_upload(shard, divisor, shard->divisors,
                                 shard->view.n_areas * sizeof *divisor, error);
    return status;
}

uint64_t vly_cuda_partition_gate_words(const vly_cuda_partition *partition)
{
    return (partition->span.n > 0 ? UINT64_C(3) : UINT64_C(2)) *
           partition->n_blocks;
}

uint64_t vly_cuda_partition_mail_words(const vly_cuda_partition *partition)
{
    uint32_t words = partition->span.n > 0 ? 2 : 1; /* of an id */
    return UINT64_C(2) * partition->n_blocks * partition->mail_room * words;
}

static vly_status create_exchange(vly_cuda_shard *shard, vly_error *error)
{
    vly_cuda_partition *p = &shard->partition;
    uint64_t n_blocks = p->n_blocks;
    /* postable: parts of an index with words, of delay 1 */
    if (shard->partition_groups[0].index_words == 0 ||
        shard->partition_groups[0].base_delay != 1)
        p->post = 0;
    bool is_span = shard->net->n_shards > 1;
    vly_status status = vly_cuda_device_alloc(
        shard, p->ring > 1 ? (uint64_t)p->own_slices * p->ring * p->slice : 1,
        sizeof *p->at_rest, &p->at_rest, error);
    if (status == VLY_OK)
        status = vly_cuda_device_alloc(
            shard, (is_span ? UINT64_C(2) : 1) * p->n_tiles * p->tile,
            sizeof *p->draws, &p->draws, error);
    uint64_t n_posted = is_span ? p->post : 2 * n_blocks * p->post;
    uint64_t n_parts = n_posted * (is_span ? p->own_slices : p->n_slices);
    uint64_t n_rows = is_span ? 2 * n_posted : n_posted; /* of 64 bits */
    if (status == VLY_OK)
        status = vly_cuda_device_alloc(shard, vly_cuda_partition_gate_words(p),
                                       sizeof *p->gate, &p->gate, error);
    if (status == VLY_OK)
        status = vly_cuda_device_alloc(shard, vly_cuda_partition_mail_words(p),
                                       sizeof *p->mail, &p->mail, error);
    if (status == VLY_OK && p->post > 0)
        status = vly_cuda_device_alloc(shard, n_parts, sizeof *p->parts,
                                       &p->parts, error);
    if (status == VLY_OK && p->post > 0)
        status = vly_cuda_device_alloc(shard, n_rows, sizeof *p->rows, &p->rows,
                                       error);
    if (status == VLY_OK)
        shard->partition_bytes += (n_parts + n_rows) * sizeof(uint32_t);
    return status;
}

/* Replaces the groups by rows sorted by slice. */
static vly_status create(vly_cuda_shard *shard, uint32_t *is_made,
                         vly_error *error)
{
    uint32_t n = shard->partition.n_groups;
    vly_cuda_partition_group *groups = NULL;
    vly_status status = prepare(shard, error);
    if (status == VLY_OK && vly_cuda_has_programs(shard))
        status = vly_cuda_splice_partition(shard, error);
    if (status == VLY_OK)
        status = create_tiles(shard, error);
    if (status == VLY_OK &&
        shard->partition.narrow) /* rows are divided by it */
        status = create_narrow(shard, error);
    if (status == VLY_OK)
        status = vly_cuda_alloc(shard, n, sizeof *shard->partition_groups,
                                &shard->partition_groups, error);
    for (uint32_t g = 0; g < n && status == VLY_OK; g++)
        status = vly_cuda_slices_create(shard, g, error);
    if (status == VLY_OK)
        status =
            vly_cuda_device_alloc(shard, n, sizeof *groups, &groups, error);
    if (status == VLY_OK)
        status = vly_cuda_upload(shard, groups, shard->partition_groups,
                                 n * sizeof *groups, error);
    shard->partition.groups = groups;
    if (status == VLY_OK)
        status = create_exchange(shard, error);
    if (status == VLY_OK)
        status = vly_cuda_synchronize(shard, "rows by slice", error);
    if (status != VLY_OK)
        return status; /* the rows by source are still there */
    vly_cuda_store_release(shard);
    *is_made = 1;
    return VLY_OK;
}

static void release(vly_cuda_shard *shard)
{
    vly_cuda_partition *p = &shard->partition;
    vly_cuda_partition_group *groups = shard->partition_groups;
    for (uint32_t g = 0; groups && g < p->n_groups; g++) {
        vly_cuda_device_release(shard, groups[g].index);
        vly_cuda_device_release(shard, groups[g].synapses);
    }
    vly_cuda_release(shard, groups);
    shard->partition_groups = NULL;
    shard->partition_bytes = 0;
    vly_cuda_device_release(shard, p->groups);
    vly_cuda_device_release(shard, p->tiles);
    vly_cuda_device_release(shard, p->area_tile);
    vly_cuda_device_release(shard, p->at_rest);
    vly_cuda_device_release(shard, p->draws);
    vly_cuda_device_release(shard, p->gate);
    vly_cuda_device_release(shard, p->mail);
    vly_cuda_device_release(shard, p->parts);
    vly_cuda_device_release(shard, p->rows);
    vly_cuda_device_release(shard, p->extra);
    vly_cuda_device_release(shard, p->divisor);
    p->groups = NULL;
    p->tiles = NULL;
    p->area_tile = NULL;
    p->area_low = NULL;
    p->at_rest = NULL;
    p->draws = NULL;
    p->gate = NULL;
    p->mail = NULL;
    p->parts = NULL;
    p->rows = NULL;
    p->extra = NULL;
    p->divisor = NULL;
}

/* ---- running ----------------------------------------------------------- */

static vly_status restore(vly_cuda_shard *shard, vly_error *error)
{
    vly_status status = VLY_OK;
    for (uint32_t g = 0; g < shard->partition.n_groups; g++)
        for (uint32_t ago = 1; ago < shard->partition.ring && status == VLY_OK;
             ago++)
            if (shard->net->burst >=
                (uint64_t)shard->partition_groups[g].base_delay + ago)
                status = vly_cuda_check((int)vly_cuda_launch_partition_restore(
                                            &shard->view, &shard->partition,
                                            shard->net->burst, g, ago,
                                            (cudaStream_t)shard->stream),
                                        "restoring events", error);
    return status;
}

/* Work before every launch, but for spans. */
static int make_ready(vly_cuda_shard *shard)
{
    const vly_cuda_partition *p = &shard->partition;
    return (int)cudaMemsetAsync(
        p->gate, 0, 2 * (size_t)p->n_slices * p->cluster * sizeof *p->gate,
        (cudaStream_t)shard->stream);
}

static int launch(vly_cuda_shard *shard, const vly_cuda_launch *wanted)
{
    const void *spliced = shard->programs.kernels[VLY_CUDA_SPLICED_PARTITION];
    if (shard->partition.span.n > 0)
        return (int)vly_cuda_launch_span(&shard->view, wanted,
                                         &shard->partition, spliced,
                                         (cudaStream_t)shard->stream);
    int code = make_ready(shard);
    if (code == (int)cudaSuccess)
        code = (int)vly_cuda_launch_partition(&shard->view, wanted,
                                              &shard->partition, spliced,
                                              (cudaStream_t)shard->stream);
    return code;
}

static int linger_fit(vly_cuda_shard *shard, int *fits)
{
    *fits = 0;
    if (vly_cuda_has_programs(shard))
        return (int)cudaSuccess; /* no kernel stays with users' models */
    return (int)vly_cuda_linger_partition_fit(&shard->view, &shard->partition,
                                              fits);
}

static int linger(vly_cuda_shard *shard, const vly_cuda_launch *wanted,
                  const vly_cuda_linger *with, uint32_t n_bursts)
{
    int code = make_ready(shard);
    (void)n_bursts;
    if (code == (int)cudaSuccess)
        code = (int)vly_cuda_linger_partition(&shard->view, wanted,
                                              &shard->partition, with,
                                              (cudaStream_t)shard->stream);
    return code;
}

/* ---- the plan ---------------------------------------------------------- */

static double cost_ns(double n_events)
{
    return BURST_NS + n_events * EVENT_NS;
}

static void say(const vly_cuda_shard *shard, double synapses,
                vly_net_info *info)
{
    const vly_cuda_partition *p = &shard->partition;
    uint32_t once =
        p->cluster == 1 ? 100 : (200 * p->once + p->slice - 1) / p->slice;
    char sets[32] = "";
    double bytes = 0.0;
    for (uint32_t i = 0; i < shard->net->n_shards; i++)
        bytes += (double)shard->net->shards[i].partition_bytes;
    if (p->narrow || p->sets > 1)
        snprintf(sets, sizeof sets, p->narrow ? " by 16 bits" : " in %u sets",
                 p->sets);
    snprintf(info->plan, sizeof info->plan,
             "partitioned%s: %u slices of targets, %u blocks each; inputs of "
             "%u bursts in shared memory%s, %u%% of them in one block only; "
             "%u reads of a row in units of %u synapses, parts of %u spikes "
             "posted; %.2f bytes a synapse",
             vly_cuda_has_programs(shard) ? " with users' models" : "",
             p->n_slices, p->cluster, p->ring, sets, once, p->n_groups, p->unit,
             p->post, bytes / synapses);
}

const vly_cuda_plan vly_cuda_plan_partitioned = {
    .name = "partitioned",
    .has_limits = 1,
    .has_ranks = 1,
    .fit = fit,
    .create = create,
    .restore = restore,
    .launch = launch,
    .linger_fit = linger_fit,
    .linger = linger,
    .cost_ns = cost_ns,
    .say = say,
    .release = release,
};
