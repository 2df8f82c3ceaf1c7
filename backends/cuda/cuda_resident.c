/* SPDX-License-Identifier: Apache-2.0
 * The plan with accumulators in shared memory: whether a net fits, its memory
 * but for the segments, and its launches.
 */
#include "cuda_net.h"

#include <string.h>

/* Fewer in a block are not worth an exchange; of a small net, half as many
 * (Izhikevich 2003 on an H200: 32 blocks 1.54 us a burst, 16 blocks 1.62). */
#define BLOCK_NEURONS 64u
#define SMALL_NEURONS 1024u
/* Lines polled at most: what they hold fits into the list of a block. */
#define LINE_THREADS 585u
#define MAIL_COPIES 8u
#define SHARE_THREADS 512.0f
#define FEW_THREADS 128.0f

/* ---- whether it fits --------------------------------------------------- */

static int has_feagi(const vly_backend_net *net)
{
    for (uint32_t a = 0; a < net->desc->n_areas; a++)
        if ((vly_cuda_area_desc(net->desc, a)->flags & VLY_AREA_FEAGI) != 0)
            return 1;
    return 0;
}

static int set_blocks(vly_backend_net *net, uint32_t n_blocks,
                      uint64_t shared_bytes)
{
    vly_cuda_resident *resident = &net->resident;
    uint32_t n = net->desc->n_neurons;
    resident->n_blocks = n_blocks;
    resident->slice = n / n_blocks + (n % n_blocks != 0);
    /* numbers of neurons leave two codes of 16 bits free */
    return resident->slice <= 65534 &&
           (uint64_t)resident->slice * net->view.max_delay <= 65536 &&
           vly_cuda_resident_bytes(&net->view, resident) <= shared_bytes &&
           vly_cuda_shifts_fit(net, resident);
}

/* Chooses the blocks. *why: NULL if the net fits, else the reason. */
vly_status vly_cuda_resident_fit(vly_backend_net *net, uint32_t wanted,
                                 const char **why, vly_error *error)
{
    int shared_bytes = 0;
    uint32_t n = net->desc->n_neurons;
    uint32_t limit = net->n_blocks < VLY_CUDA_MAIL_BLOCKS
                         ? net->n_blocks
                         : VLY_CUDA_MAIL_BLOCKS;
    *why = NULL;
    if (n == 0)
        *why = "the net has no neurons";
    else if (has_feagi(net))
        *why = "FEAGI areas need gains and candidates";
    else if (net->view.n_ports > 1 ||
             net->view.n_areas > VLY_CUDA_RESIDENT_AREAS)
        *why = "too many ports or areas";
    if (*why != NULL)
        return VLY_OK;
    vly_status status = vly_cuda_check(
        (int)cudaDeviceGetAttribute(&shared_bytes,
                                    cudaDevAttrMaxSharedMemoryPerBlockOptin,
                                    net->device),
        "cudaDeviceGetAttribute", error);
    if (status != VLY_OK)
        return status;
    uint32_t most = n <= SMALL_NEURONS ? BLOCK_NEURONS / 2 : BLOCK_NEURONS;
    uint32_t blocks = n / most + (n % most != 0);
    blocks = wanted > 0 ? wanted : blocks;
    blocks = blocks < limit ? blocks : limit;
    while (!set_blocks(net, blocks, (uint64_t)shared_bytes)) {
        if (blocks == limit || wanted > 0) {
            *why = vly_common_has_shifts(net->desc)
                       ? "its accumulators exceed shared memory, or 16 bits of "
                         "a synapse with the shifts of its weights"
                       : "its accumulators exceed shared memory";
            return VLY_OK;
        }
        blocks = blocks < limit / 2 ? 2 * blocks : limit;
    }
    return VLY_OK;
}

/* ---- memory ------------------------------------------------------------ */

static vly_status create_ring(vly_backend_net *net, vly_error *error)
{
    vly_cuda_resident *resident = &net->resident;
    uint64_t n = (uint64_t)resident->n_blocks * resident->slice;
    net->mail_words = UINT64_C(8) * VLY_CUDA_MAIL_ROWS * resident->n_blocks;
    net->more_words = 2 * n;
    vly_status status =
        vly_cuda_device_alloc(net, n * net->view.max_delay,
                              sizeof *resident->ring, &resident->ring, error);
    if (status == VLY_OK)
        status = vly_cuda_device_alloc(net, net->mail_words + net->more_words,
                                       sizeof *resident->mail, &resident->mail,
                                       error);
    if (status == VLY_OK)
        resident->mail_more = resident->mail + net->mail_words;
    resident->tag = 0; /* new mail is all 0 */
    return status;
}

vly_status vly_cuda_resident_create(vly_backend_net *net, uint32_t forced,
                                    vly_error *error)
{
    vly_status status = vly_cuda_segments_create(net, forced, error);
    if (status != VLY_OK || !net->is_resident)
        return status;
    vly_cuda_delivery_release(net);
    status = create_ring(net, error);
    if (status == VLY_OK)
        status = vly_cuda_check(
            (int)vly_cuda_resident_prepare(&net->view, &net->resident),
            "shared memory of a block", error);
    return status;
}

void vly_cuda_resident_release(vly_backend_net *net)
{
    vly_cuda_resident *resident = &net->resident;
    vly_cuda_segments_release(net);
    vly_cuda_device_release(net, resident->ring);
    vly_cuda_device_release(net, resident->mail); /* and mail_more */
    resident->ring = NULL;
    resident->mail = NULL;
}

/* ---- running ----------------------------------------------------------- */

vly_status vly_cuda_resident_restore(vly_backend_net *net, vly_error *error)
{
    vly_status status = VLY_OK;
    for (uint32_t age = 2;
         age <= net->view.max_delay && age <= net->burst && status == VLY_OK;
         age++)
        status = vly_cuda_check((int)vly_cuda_launch_resident_restore(
                                    &net->view, &net->resident, net->burst, age,
                                    (cudaStream_t)net->stream),
                                "restoring events", error);
    return status;
}

/* Lines of mail for the spikes a block had in a burst of the last launch: a
 * line more costs polling, a line less a second read. */
static uint32_t choose_lines(const vly_backend_net *net)
{
    float mean = net->mean_spikes / (float)net->resident.n_blocks;
    uint32_t lines = mean < 1.5f ? 1 : mean < 5.0f ? 2 : mean < 10.0f ? 3 : 4;
    uint32_t most = LINE_THREADS / net->resident.n_blocks;
    lines = net->lines_fixed > 0 ? net->lines_fixed : lines;
    lines = lines < most ? lines : most;
    return lines < VLY_CUDA_MAIL_LINES ? lines : VLY_CUDA_MAIL_LINES;
}

/* Threads that share a segment: two quads each are the longest one with its
 * rest, or one if there are enough threads for all spikes of a burst. */
static uint32_t choose_shift(const vly_backend_net *net, uint32_t quads)
{
    uint32_t shift = 2;
    while (shift < 5 && (UINT32_C(2) << shift) < quads)
        shift++;
    if (shift < 5 && (UINT32_C(1) << shift) < quads &&
        net->mean_spikes * (float)(UINT32_C(4) << shift) <= SHARE_THREADS)
        shift++;
    return shift;
}

/* Threads of a block at least. Every warp goes through the barriers, also one
 * that no spike of a burst needs. */
static uint32_t choose_threads(const vly_backend_net *net)
{
    uint32_t shift = 0;
    if (net->wanted.threads > 0)
        return VLY_CUDA_RESIDENT_THREADS >> (net->wanted.threads - 1);
    for (uint32_t p = 0; p < VLY_CUDA_N_PARTS; p++)
        if (net->resident.part[p].shift > shift)
            shift = net->resident.part[p].shift;
    return net->mean_spikes * (float)(UINT32_C(1) << shift) <= FEW_THREADS
               ? VLY_CUDA_RESIDENT_THREADS / 2
               : VLY_CUDA_RESIDENT_THREADS;
}

static void choose_mail(vly_backend_net *net)
{
    vly_cuda_resident *resident = &net->resident;
    resident->lines = choose_lines(net);
    resident->line_shift = 0;
    while ((UINT32_C(1) << resident->line_shift) < resident->lines)
        resident->line_shift++;
    uint32_t most = VLY_CUDA_MAIL_ROWS >> resident->line_shift;
    resident->copies = MAIL_COPIES;
    resident->copies = resident->copies < most ? resident->copies : most;
}

int vly_cuda_resident_ready(vly_backend_net *net, uint32_t n_bursts)
{
    vly_cuda_resident *resident = &net->resident;
    cudaError_t code = cudaSuccess;
    choose_mail(net);
    for (uint32_t p = 0; p < VLY_CUDA_N_PARTS; p++)
        resident->part[p].shift = choose_shift(net, resident->part[p].quads);
    resident->threads = choose_threads(net);
    if (resident->tag + n_bursts > UINT16_MAX) {
        resident->tag = 0; /* tags of 16 bits begin again */
        code = cudaMemsetAsync(resident->mail, 0,
                               (size_t)(net->mail_words + net->more_words) *
                                   sizeof(uint32_t),
                               (cudaStream_t)net->stream);
    }
    return (int)code;
}

int vly_cuda_resident_launch(vly_backend_net *net,
                             const vly_cuda_launch *launch)
{
    int code = vly_cuda_resident_ready(net, launch->n_bursts);
    if (code == (int)cudaSuccess)
        code = (int)vly_cuda_launch_resident(&net->view, launch, &net->resident,
                                             (cudaStream_t)net->stream);
    return code;
}
