/* SPDX-License-Identifier: Apache-2.0
 * The plan with accumulators in shared memory: whether a net fits, its memory
 * but for the segments, and its launches.
 */
#include "cuda_resident.h"

#include <stdio.h>

#include "cuda_dynamics.h"
#include "cuda_error.h"
#include "cuda_fit.h"
#include "cuda_learners.h"
#include "cuda_memory.h"
#include "cuda_net.h"
#include "cuda_segments.h"
#include "cuda_shifts.h"
#include "cuda_splice.h"
#include "cuda_store.h"

/* Fewer neurons a block are not worth an exchange; half as many in small nets
 * (Izhikevich 2003 on an H200: 32 blocks 1.54 us a burst, 16 blocks 1.62). */
#define BLOCK_NEURONS 64u
#define SMALL_NEURONS 1024u
/* Maximum number of polled lines: their contents fit into the list of a
 * block. */
#define LINE_THREADS 585u
#define MAIL_COPIES 8u
#define SHARE_THREADS 512.0f
#define FEW_THREADS 128.0f
#define LEARNING_THREADS 768.0f
/* Nanoseconds of a burst as a function of its events: the fixed cost is lower
 * than in a partitioned burst (cuda_partition.c), the cost per event is higher.
 * From bursts of the stress nets on an H200 (bench/README.md): medians of 5 to
 * 7 runs at 0.1 and 1 million events (2.44 and 7.6 us), and one run of an
 * earlier version at 10 million (161), so only approximate. */
#define BURST_NS 1900.0
#define EVENT_NS 0.0057
#define MORE_NS 0.0114 /* in addition, for events beyond MORE_EVENTS */
#define MORE_EVENTS 1e6

/* ---- whether it fits --------------------------------------------------- */

static int set_blocks(vly_cuda_shard *shard, uint32_t n_blocks,
                      uint64_t shared_bytes)
{
    vly_cuda_resident *resident = &shard->resident;
    uint32_t n = shard->net->desc->n_neurons;
    resident->n_blocks = n_blocks;
    resident->slice = n / n_blocks + (n % n_blocks != 0);
    resident->n_newest = vly_cuda_learners_newest(shard, n_blocks);
    resident->n_factors = vly_cuda_learners_factors(shard);
    resident->near = 2;
    if (vly_cuda_resident_bytes(&shard->view, resident) > shared_bytes)
        resident->n_factors = 0;
    if (vly_cuda_resident_bytes(&shard->view, resident) > shared_bytes)
        resident->near = 1;
    /* neuron numbers leave two codes of 16 bits free */
    return resident->slice <= 65534 &&
           (uint64_t)resident->slice * shard->view.max_delay <= 65536 &&
           vly_cuda_resident_bytes(&shard->view, resident) <= shared_bytes &&
           vly_cuda_shifts_fit(shard, resident);
}

/* Chooses the number of blocks. A thread keeps the state of one neuron in
 * registers, if there are enough threads. */
static vly_status fit(vly_cuda_shard *shard, vly_cuda_fit *found,
                      vly_error *error)
{
    int shared_bytes = 0;
    uint32_t wanted = shard->net->wanted.n_blocks;
    uint32_t n = shard->net->desc->n_neurons;
    uint32_t limit = shard->n_blocks < VLY_CUDA_MAIL_BLOCKS
                         ? shard->n_blocks
                         : VLY_CUDA_MAIL_BLOCKS;
    *found = (vly_cuda_fit){.why = NULL};
    if (n == 0)
        found->why = "the net has no neurons";
    else if (vly_cuda_has_feagi(shard->net->desc))
        found->why = "FEAGI areas need gains and candidates";
    else if (vly_cuda_programs_unfit(shard))
        found->why = vly_cuda_programs_unfit(shard);
    else if (vly_cuda_learners_unfit(shard))
        found->why = vly_cuda_learners_unfit(shard);
    else
        found->why = vly_cuda_fit_shape(&shard->view);
    if (found->why)
        return VLY_OK;
    vly_status status = VLY_OK;
    VLY_TRY(vly_cuda_check(
        (int)cudaDeviceGetAttribute(&shared_bytes,
                                    cudaDevAttrMaxSharedMemoryPerBlockOptin,
                                    shard->device),
        "cudaDeviceGetAttribute", error));
    uint32_t most = n <= SMALL_NEURONS ? BLOCK_NEURONS / 2 : BLOCK_NEURONS;
    uint32_t blocks = n / most + (n % most != 0);
    blocks = wanted > 0 ? wanted : blocks;
    blocks = blocks < limit ? blocks : limit;
    while (!set_blocks(shard, blocks, (uint64_t)shared_bytes)) {
        if (blocks == limit || wanted > 0) {
            found->why =
                vly_common_has_shifts(shard->store.fixed)
                    ? "its accumulators exceed shared memory, or 16 bits of "
                      "a synapse with the shifts of its weights"
                    : "its accumulators exceed shared memory";
            return VLY_OK;
        }
        blocks = blocks < limit / 2 ? 2 * blocks : limit;
    }
    found->is_poor = shard->resident.slice > VLY_CUDA_THREADS;
out:
    return status;
}

/* ---- memory ------------------------------------------------------------ */

static vly_status create_ring(vly_cuda_shard *shard, vly_error *error)
{
    vly_cuda_resident *resident = &shard->resident;
    uint64_t n = (uint64_t)resident->n_blocks * resident->slice;
    shard->mail_words = UINT64_C(8) * VLY_CUDA_MAIL_ROWS * resident->n_blocks;
    shard->more_words = 2 * n;
    vly_status status =
        vly_cuda_device_alloc(shard, n * shard->view.max_delay,
                              sizeof *resident->ring, &resident->ring, error);
    if (status == VLY_OK)
        status = vly_cuda_device_alloc(
            shard, shard->mail_words + shard->more_words,
            sizeof *resident->mail, &resident->mail, error);
    if (status == VLY_OK)
        resident->mail_more = resident->mail + shard->mail_words;
    resident->tag = 0; /* newly allocated mail is all 0 */
    return status;
}

static void choose_launch(vly_cuda_shard *shard);

/* The kernel of the first launch. A later one may need another instance. */
static vly_status create_programs(vly_cuda_shard *shard, vly_error *error)
{
    choose_launch(shard);
    return vly_cuda_splice_resident(shard, error);
}

/* Replaces the groups by segments; padding may use any memory if the plan was
 * requested. */
static vly_status create(vly_cuda_shard *shard, uint32_t *is_made,
                         vly_error *error)
{
    vly_status status = vly_cuda_segments_create(
        shard, shard->net->wanted.plan > 0, is_made, error);
    if (status != VLY_OK || !*is_made)
        return status;
    vly_cuda_store_release(shard);
    VLY_TRY(create_ring(shard, error));
    VLY_TRY(vly_cuda_learners_create(shard, error));
    if (vly_cuda_has_programs(shard))
        VLY_TRY(create_programs(shard, error));
    else
        VLY_TRY(vly_cuda_check(
            (int)vly_cuda_resident_prepare(&shard->view, &shard->resident),
            "shared memory of a block", error));
    status = vly_cuda_learners_take(shard, error);
out:
    return status;
}

static void release(vly_cuda_shard *shard)
{
    vly_cuda_resident *resident = &shard->resident;
    vly_cuda_segments_release(shard);
    vly_cuda_learners_release(shard);
    vly_cuda_device_release(shard, resident->ring);
    vly_cuda_device_release(shard, resident->mail); /* and mail_more */
    resident->ring = NULL;
    resident->mail = NULL;
}

/* ---- running ----------------------------------------------------------- */

static vly_status restore(vly_cuda_shard *shard, vly_error *error)
{
    vly_status status = VLY_OK;
    for (uint32_t age = 2; age <= shard->view.max_delay &&
                           age <= shard->net->burst && status == VLY_OK;
         age++)
        status = vly_cuda_check((int)vly_cuda_launch_resident_restore(
                                    &shard->view, &shard->resident,
                                    shard->net->burst, age,
                                    (cudaStream_t)shard->stream),
                                "restoring events", error);
    return status;
}

/* Lines of mail, chosen by the spikes of a block per burst in the last launch:
 * one line too many costs polling, one too few a second read. */
static uint32_t choose_lines(const vly_cuda_shard *shard)
{
    float mean = shard->net->mean_spikes / (float)shard->resident.n_blocks;
    uint32_t lines = mean < 1.5f ? 1 : mean < 5.0f ? 2 : mean < 10.0f ? 3 : 4;
    uint32_t most = LINE_THREADS / shard->resident.n_blocks;
    lines = shard->net->wanted.lines > 0 ? shard->net->wanted.lines : lines;
    lines = lines < most ? lines : most;
    return lines < VLY_CUDA_MAIL_LINES ? lines : VLY_CUDA_MAIL_LINES;
}

/* Log2 of the threads that share a segment, `quads` long with its rest: two
 * quads a thread, or one if the threads suffice for all spikes of a burst. */
static uint32_t choose_shift(const vly_cuda_shard *shard, uint32_t quads)
{
    uint32_t shift = 2;
    while (shift < 5 && (UINT32_C(2) << shift) < quads)
        shift++;
    if (shift < 5 && (UINT32_C(1) << shift) < quads &&
        shard->net->mean_spikes * (float)(UINT32_C(4) << shift) <=
            SHARE_THREADS)
        shift++;
    return shift;
}

/* With maps that learn: so many that those without neurons and mail suffice for
 * the synapses of all spikes of a burst. */
static uint32_t choose_learning_threads(const vly_cuda_shard *shard)
{
    const vly_cuda_resident *resident = &shard->resident;
    uint32_t shift = 0;
    for (uint32_t p = 0; p < shard->learners.view.n; p++)
        if (shard->learners.view.blocks[p].shift > shift)
            shift = shard->learners.view.blocks[p].shift;
    float wanted = shard->net->mean_spikes * (float)(UINT32_C(1) << shift) +
                   (float)resident->slice +
                   (float)(resident->lines * resident->n_blocks);
    return wanted <= LEARNING_THREADS ? (uint32_t)LEARNING_THREADS
                                      : VLY_CUDA_THREADS;
}

/* Minimum number of threads of a block. Every warp passes the barriers, even if
 * no spike of a burst needs it. */
static uint32_t choose_threads(const vly_cuda_shard *shard)
{
    uint32_t shift = 0;
    if (shard->net->wanted.threads > 0)
        return VLY_CUDA_RESIDENT_THREADS >> (shard->net->wanted.threads - 1);
    if (shard->learners.view.n > 0)
        return choose_learning_threads(shard);
    for (uint32_t p = 0; p < VLY_CUDA_N_PARTS; p++)
        if (shard->resident.part[p].shift > shift)
            shift = shard->resident.part[p].shift;
    return shard->net->mean_spikes * (float)(UINT32_C(1) << shift) <=
                   FEW_THREADS
               ? VLY_CUDA_RESIDENT_THREADS / 2
               : VLY_CUDA_RESIDENT_THREADS;
}

static void choose_mail(vly_cuda_shard *shard)
{
    vly_cuda_resident *resident = &shard->resident;
    resident->lines = choose_lines(shard);
    resident->line_shift = 0;
    while ((UINT32_C(1) << resident->line_shift) < resident->lines)
        resident->line_shift++;
    uint32_t most = VLY_CUDA_MAIL_ROWS >> resident->line_shift;
    resident->copies = MAIL_COPIES;
    resident->copies = resident->copies < most ? resident->copies : most;
}

static void choose_launch(vly_cuda_shard *shard)
{
    vly_cuda_resident *resident = &shard->resident;
    choose_mail(shard);
    for (uint32_t p = 0; p < VLY_CUDA_N_PARTS; p++)
        resident->part[p].shift = choose_shift(shard, resident->part[p].quads);
    resident->threads = choose_threads(shard);
}

/* Work before every launch of so many bursts. */
static int make_ready(vly_cuda_shard *shard, uint32_t n_bursts)
{
    vly_cuda_resident *resident = &shard->resident;
    cudaError_t code = cudaSuccess;
    choose_launch(shard);
    if (resident->tag + n_bursts > UINT16_MAX) {
        resident->tag = 0; /* tags of 16 bits restart */
        code = cudaMemsetAsync(resident->mail, 0,
                               (size_t)(shard->mail_words + shard->more_words) *
                                   sizeof(uint32_t),
                               (cudaStream_t)shard->stream);
    }
    return (int)code;
}

/* The kernel with users' models for the next launch; NULL: there are none. */
static int find_spliced(vly_cuda_shard *shard, const void **kernel)
{
    vly_error error = {.struct_size = sizeof error};
    *kernel = NULL;
    if (!vly_cuda_has_programs(shard))
        return (int)cudaSuccess;
    const vly_cuda_spliced which = vly_cuda_splice_instance(
        vly_cuda_resident_threads(&shard->view, &shard->resident));
    if (!shard->programs.kernels[which] &&
        vly_cuda_splice_resident(shard, &error) != VLY_OK) {
        vly_cuda_host->log(vly_cuda_host->context, VLY_LOG_WARN, error.message);
        return (int)cudaErrorInvalidKernelImage;
    }
    *kernel = shard->programs.kernels[which];
    return (int)cudaSuccess;
}

static int launch(vly_cuda_shard *shard, const vly_cuda_launch *wanted)
{
    const void *spliced = NULL;
    int code = make_ready(shard, wanted->n_bursts);
    if (code == (int)cudaSuccess)
        code = find_spliced(shard, &spliced);
    if (code == (int)cudaSuccess && shard->learners.view.n > 0)
        return vly_cuda_learners_launch(shard, wanted, spliced);
    if (code == (int)cudaSuccess)
        code = (int)vly_cuda_launch_resident(&shard->view, wanted,
                                             &shard->resident, spliced,
                                             (cudaStream_t)shard->stream);
    return code;
}

static void ran(vly_cuda_shard *shard, uint32_t n_bursts)
{
    shard->resident.tag += n_bursts;
}

static int linger_fit(vly_cuda_shard *shard, int *fits)
{
    *fits = 0;
    /* no kernel stays with maps that learn or users' models */
    if (shard->resident.n_newest > 0 || vly_cuda_has_programs(shard))
        return (int)cudaSuccess;
    return (int)vly_cuda_linger_resident_fit(&shard->view, &shard->resident,
                                             fits);
}

static int linger(vly_cuda_shard *shard, const vly_cuda_launch *wanted,
                  const vly_cuda_linger *with, uint32_t n_bursts)
{
    int code = make_ready(shard, n_bursts);
    if (code == (int)cudaSuccess)
        code = (int)vly_cuda_linger_resident(&shard->view, wanted,
                                             &shard->resident, with,
                                             (cudaStream_t)shard->stream);
    return code;
}

/* ---- the plan ---------------------------------------------------------- */

static double cost_ns(double n_events)
{
    double more = n_events > MORE_EVENTS ? n_events - MORE_EVENTS : 0.0;
    return BURST_NS + n_events * EVENT_NS + more * MORE_NS;
}

static void say(const vly_cuda_shard *shard, double synapses,
                vly_net_info *info)
{
    snprintf(info->plan, sizeof info->plan,
             "resident%s%s%s: %u blocks stay on the device, %u neurons each; "
             "inputs of %u bursts in shared memory%s, one exchange a burst; "
             "%.2f bytes a synapse",
             shard->learners.view.n > 0 ? " with learning" : "",
             shard->plastic.by_users ? " by users' rules" : "",
             vly_cuda_has_programs(shard) ? " with users' models" : "",
             shard->resident.n_blocks, shard->resident.slice,
             shard->view.max_delay,
             shard->resident.step != 0 ? " for shifted weights" : "",
             (double)(shard->segment_bytes + shard->learners.bytes) / synapses);
}

const vly_cuda_plan vly_cuda_plan_resident = {
    .name = "resident",
    .has_limits = 1,
    .fit = fit,
    .create = create,
    .restore = restore,
    .launch = launch,
    .ran = ran,
    .linger_fit = linger_fit,
    .linger = linger,
    .cost_ns = cost_ns,
    .learning_out = vly_cuda_learners_out,
    .learning_in = vly_cuda_learners_in,
    .say = say,
    .release = release,
};
