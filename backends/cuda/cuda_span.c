/* SPDX-License-Identifier: Apache-2.0
 * Several devices of one host: whether they pay, their links, launches on all
 * of them, and what is gathered from them.
 */
#include "cuda_span.h"

#include <string.h>

#include "kernels/models/digest.h"

#include "cuda_error.h"
#include "cuda_history.h"
#include "cuda_memory.h"
#include "cuda_partition.h"

/* ---- whether a span pays ------------------------------------------------- */

/* Nanoseconds of a burst. Events as in cuda_partition.c, whose 8 us are the
 * fixed part and the update of the stress nets; the update of 1 M neurons
 * took 11.6 us on an H200. SPAN_NS and DEVICE_NS are more than an exchange
 * costs (0.6 us more on two H100 than on one, 1.0 on four): a small net runs on
 * one device by the resident plan, which is faster than the 3 us of BURST_NS.
 */
#define BURST_NS 3000.0
#define NEURON_NS 0.012
#define EVENT_NS 0.002
#define SPAN_NS 1500.0
#define DEVICE_NS 150.0
/* Assumed share of neurons that fire in a burst: 20 Hz at steps of 0.1 ms. */
#define SHARE_FIRED 0.002

static double predict_ns(const vly_net_desc *desc, uint32_t n)
{
    double events = (double)desc->n_synapses * SHARE_FIRED;
    double exchange = n > 1 ? SPAN_NS + DEVICE_NS * n : 0.0;
    return BURST_NS + exchange +
           ((double)desc->n_neurons * NEURON_NS + events * EVENT_NS) / n;
}

uint32_t vly_cuda_span_choose(const vly_net_desc *desc, uint32_t n)
{
    uint32_t best = 1;
    for (uint32_t i = 2; i <= n; i++)
        if (predict_ns(desc, i) < predict_ns(desc, best))
            best = i;
    return best;
}

const char *vly_cuda_span_refuse(const vly_net_desc *desc,
                                 const vly_cuda_options *wanted)
{
    for (uint32_t a = 0; a < desc->n_areas; a++) {
        if (vly_common_program(desc, a) && wanted->jit == 0)
            return "models of users run step by step with jit=0";
        if ((vly_cuda_area_desc(desc, a)->flags & VLY_AREA_FEAGI) != 0)
            return "FEAGI areas need gains and candidates";
    }
    if (vly_common_most_ports(desc) > 1)
        return "a model has more than one port";
    for (uint32_t i = 0; i < desc->n_projections; i++) {
        if (vly_common_learning(desc, i))
            return "maps learn: --ranks gives each rank a device";
        if (vly_common_short_term_of(desc, i))
            return "maps have short-term plasticity";
    }
    return NULL;
}

/* Near the end of 32 bits, so that every run of some bursts passes it, and near
 * that of 16 after it: a gate has 16 bits of a number. */
#define FIRST_TAG (UINT32_MAX - 20u)
#define NEXT_TAG 65500u

/* ---- links --------------------------------------------------------------- */

static vly_status connect_to(int32_t from, int32_t to, vly_error *error)
{
    int can = 0;
    vly_status status = vly_cuda_enter(from, error);
    if (status == VLY_OK)
        status = vly_cuda_check((int)cudaDeviceCanAccessPeer(&can, from, to),
                                "cudaDeviceCanAccessPeer", error);
    if (status == VLY_OK && !can)
        return vly_cuda_fail(error, VLY_E_UNSUPPORTED,
                             "cuda: device %d has no peer access to device "
                             "%d, which a net on both needs",
                             from, to);
    if (status != VLY_OK)
        return status;
    cudaError_t code = cudaDeviceEnablePeerAccess(to, 0);
    if (code == cudaErrorPeerAccessAlreadyEnabled) {
        (void)cudaGetLastError(); /* by another net */
        code = cudaSuccess;
    }
    return vly_cuda_check((int)code, "cudaDeviceEnablePeerAccess", error);
}

vly_status vly_cuda_span_connect(const int32_t *devices, uint32_t n,
                                 vly_error *error)
{
    vly_status status = VLY_OK;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = 0; j < n && status == VLY_OK; j++)
            if (devices[i] != devices[j])
                status = connect_to(devices[i], devices[j], error);
    return status;
}

void vly_cuda_span_link(vly_backend_net *net)
{
    for (uint32_t i = 0; i < net->n_shards; i++) {
        vly_cuda_span *span = &net->shards[i].partition.span;
        for (uint32_t j = 0; j < net->n_shards; j++) {
            span->gate[j] = net->shards[j].partition.gate;
            span->mail[j] = (uint64_t *)net->shards[j].partition.mail;
        }
        span->limit_ns = UINT64_C(1000000) * net->wanted.wait_ms;
        span->tag = FIRST_TAG;
    }
    /* there is no store of rows that has counted them */
    net->shards[0].store.n_synapses = net->shards[0].store.fixed->n_synapses;
}

/* ---- launches ------------------------------------------------------------ */

/* All blocks decide alike whether a burst has room in the log. */
static uint64_t least_room(const vly_backend_net *net)
{
    uint64_t room = UINT64_MAX;
    for (uint32_t i = 0; i < net->n_shards; i++) {
        uint64_t own = net->shards[i].view.log_mask + 1;
        room = own < room ? own : room;
    }
    return room;
}

/* Before numbers of bursts repeat: what lies in mail and gates is not read as a
 * later burst's. No launch runs. */
static vly_status begin_numbers(vly_backend_net *net, vly_error *error)
{
    vly_status status = VLY_OK;
    for (uint32_t i = 0; i < net->n_shards && status == VLY_OK; i++) {
        vly_cuda_shard *shard = &net->shards[i];
        vly_cuda_partition *p = &shard->partition;
        cudaStream_t stream = (cudaStream_t)shard->stream;
        status = vly_cuda_enter(shard->device, error);
        if (status != VLY_OK)
            break;
        cudaError_t code = cudaMemsetAsync(
            p->mail, 0, vly_cuda_partition_mail_words(p) * sizeof *p->mail,
            stream);
        if (code == cudaSuccess)
            code = cudaMemsetAsync(
                p->gate, 0, vly_cuda_partition_gate_words(p) * sizeof *p->gate,
                stream);
        status = vly_cuda_check((int)code, "clearing the mail", error);
        if (status == VLY_OK)
            status = vly_cuda_synchronize(shard, "clearing the mail", error);
        p->span.tag = NEXT_TAG;
    }
    return status;
}

/* Nothing may be waited for between two launches, and no kernel be loaded:
 * those of a span were when their shared memory was set. */
vly_status vly_cuda_span_launch(vly_backend_net *net,
                                const vly_cuda_launch *launches,
                                vly_error *error)
{
    vly_status status = VLY_OK;
    uint32_t n = net->n_shards - (net->wanted.fault == 2);
    cudaError_t code = cudaSuccess;
    if (launches->n_bursts > UINT32_MAX - net->shards[0].partition.span.tag) {
        VLY_TRY(begin_numbers(net, error));
    }
    for (uint32_t i = 0; i < n && code == cudaSuccess; i++) {
        vly_cuda_shard *shard = &net->shards[i];
        shard->partition.span.log_room = least_room(net);
        code = (cudaError_t)vly_cuda_select(shard->device);
        if (code == cudaSuccess)
            code = (cudaError_t)shard->plan->launch(shard, &launches[i]);
    }
    status = vly_cuda_check((int)code, "running bursts", error);
    return status == VLY_OK ? vly_cuda_enter(net->shards[0].device, error)
                            : status;
out:
    return status;
}

static vly_status fetch(vly_cuda_shard *shard, const vly_cuda_launch *launch,
                        vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(vly_cuda_enter(shard->device, error));
    cudaError_t code =
        cudaMemcpyAsync(shard->done_at, shard->done, sizeof *shard->done_at,
                        cudaMemcpyDeviceToHost, (cudaStream_t)shard->stream);
    if (code == cudaSuccess)
        code = (cudaError_t)vly_cuda_history_fetch(
            shard, launch->burst, launch->n_bursts, shard->records);
    status = vly_cuda_check((int)code, "running bursts", error);
    return status == VLY_OK
               ? vly_cuda_synchronize(shard, "running bursts", error)
               : status;
out:
    return status;
}

/* The shard that has the block, counted over all of them. */
static const vly_cuda_shard *shard_of(const vly_backend_net *net,
                                      uint32_t block)
{
    uint32_t slice = block / net->shards[0].partition.cluster;
    uint32_t i = net->n_shards - 1;
    while (i > 0 && net->shards[i].partition.first_slice > slice)
        i--;
    return &net->shards[i];
}

static vly_status compare(const vly_backend_net *net, uint32_t i,
                          const vly_cuda_launch *launch, vly_error *error)
{
    const vly_cuda_shard *shard = &net->shards[i];
    const vly_cuda_done *first = net->shards[0].done_at;
    const vly_cuda_done *done = shard->done_at;
    if (done->barrier != 0) {
        const vly_cuda_shard *other = shard_of(net, done->barrier - 1);
        return vly_cuda_fail(
            error, VLY_E_DEVICE,
            "cuda: part %u of the span (device %d) waited %u ms for part %u "
            "(device %d) in one of %u bursts from %llu on",
            i, shard->device, net->wanted.wait_ms,
            (unsigned)(other - net->shards), other->device, launch->n_bursts,
            (unsigned long long)launch->burst);
    }
    if (done->n_bursts != first->n_bursts || done->head != first->head)
        return vly_cuda_fail(error, VLY_E_DEVICE,
                             "cuda: part %u of the span ran %u bursts, part 0 "
                             "%u",
                             i, done->n_bursts, first->n_bursts);
    return VLY_OK;
}

vly_status vly_cuda_span_collect(vly_backend_net *net,
                                 const vly_cuda_launch *launch,
                                 vly_error *error)
{
    vly_cuda_record *records = net->shards[0].records;
    vly_status status = VLY_OK;
    for (uint32_t i = 1; i < net->n_shards; i++)
        VLY_TRY(fetch(&net->shards[i], launch, error));
    for (uint32_t i = 0; i < net->n_shards; i++)
        VLY_TRY(compare(net, i, launch, error));
    for (uint32_t i = 0; i < net->n_shards; i++) {
        vly_cuda_shard *shard = &net->shards[i];
        shard->partition.span.tag += shard->done_at->n_bursts;
        for (uint32_t k = 0; i > 0 && k < shard->done_at->n_bursts; k++)
            records[k].digest += shard->records[k].digest;
    }
    VLY_TRY(vly_cuda_enter(net->shards[0].device, error));
out:
    return status;
}

/* ---- state --------------------------------------------------------------- */

static uint32_t first_tile(const vly_backend_net *net, uint32_t area)
{
    const uint32_t size = net->shards[0].partition.tile;
    uint32_t n = 0;
    for (uint32_t a = 0; a < area; a++)
        n += (vly_cuda_area_desc(net->desc, a)->n_neurons + size - 1) / size;
    return n;
}

/* Copies what belongs to the shard. */
static void copy_own(const vly_backend_net *net, const vly_cuda_shard *shard,
                     uint32_t area, uint32_t first, uint32_t count,
                     const uint32_t *from, uint32_t *words)
{
    const vly_cuda_partition *p = &shard->partition;
    const uint32_t tile = first_tile(net, area);
    for (uint32_t i = 0; i < count;) {
        uint32_t number = tile + (first + i) / p->tile;
        uint32_t n = p->tile - (first + i) % p->tile;
        n = n < count - i ? n : count - i;
        if (number % p->n_slices - p->first_slice < p->own_slices)
            memcpy(words + i, from + i, n * sizeof *words);
        i += n;
    }
}

vly_status vly_cuda_span_read(vly_backend_net *net, uint32_t area,
                              uint32_t field, uint32_t first, uint32_t count,
                              uint32_t *words, vly_error *error)
{
    vly_cuda_shard *shard = &net->shards[0];
    uint32_t *from = NULL;
    vly_status status = VLY_OK;
    if (net->n_shards > 1)
        VLY_TRY(vly_cuda_alloc(shard, count, sizeof *from, &from, error));
    for (uint32_t i = 0; i < net->n_shards; i++) {
        shard = &net->shards[i];
        VLY_TRY(vly_cuda_enter(shard->device, error));
        VLY_TRY(vly_cuda_download(shard, i > 0 ? from : words,
                                  vly_cuda_field(shard, area, field) + first,
                                  count * sizeof *words, error));
        if (i > 0)
            copy_own(net, shard, area, first, count, from, words);
    }
out:
    vly_cuda_release(&net->shards[0], from);
    return status;
}

vly_status vly_cuda_span_digest(vly_backend_net *net, uint64_t *digest,
                                vly_error *error)
{
    vly_status status = VLY_OK;
    uint64_t sum = 0;
    for (uint32_t a = 0; a < net->desc->n_areas && status == VLY_OK; a++) {
        const vly_area_desc *area = vly_cuda_area_desc(net->desc, a);
        uint32_t *words = NULL;
        status = vly_cuda_alloc(&net->shards[0], area->n_neurons, sizeof *words,
                                &words, error);
        for (uint32_t f = 0; f < area->n_fields && status == VLY_OK; f++) {
            status =
                vly_cuda_span_read(net, a, f, 0, area->n_neurons, words, error);
            for (uint32_t i = 0; i < area->n_neurons && status == VLY_OK; i++)
                sum += vly_digest_pair(vly_digest_mix(f), area->first + i,
                                       words[i]);
        }
        vly_cuda_release(&net->shards[0], words);
    }
    if (status == VLY_OK)
        *digest = sum;
    return status;
}
