/* SPDX-License-Identifier: Apache-2.0
 * Short launches, for hosts that read and inject every burst: the calls around
 * the bursts take more time than the bursts. The device writes the results into
 * the host's memory and then a flag, which the host polls: no copy, no event,
 * no synchronisation. Fields that were read after the last short run are
 * written with the next one.
 */
#include "cuda_short.h"

#include <string.h>

#include "cuda_error.h"
#include "cuda_memory.h"
#include "cuda_net.h"

#define READ_WORDS 1024u /* limit of one published range */
#define AREA_WORDS (VLY_CUDA_PUBLISH_WORDS / 2)
#define ID_WORDS (UINT64_C(1) << 20) /* of pinned memory for spikes */
/* the spikes of a rank cross the bus after every window */
#define RANK_ID_WORDS (UINT64_C(1) << 23)
#define SPINS 2048u /* some 50 us between two queries of the stream */

static uint32_t area_words(const vly_cuda_shard *shard, const vly_run *run)
{
    return vly_cuda_run_areas(run) ? 2 * shard->view.n_areas : 0;
}

bool vly_cuda_short_fits(vly_cuda_shard *shard, const vly_run *run,
                         const vly_cuda_launch *launch)
{
    vly_cuda_host_view *host = &shard->host;
    uint64_t room = (uint64_t)launch->n_bursts * shard->view.n_own;
    uint64_t most =
        vly_common_ranks(shard->net->desc) ? RANK_ID_WORDS : ID_WORDS;
    if (launch->n_bursts > VLY_CUDA_SHORT_BURSTS || shard->net->wanted.fault)
        return false;
    if (area_words(shard, run) > AREA_WORDS)
        return false;
    if (!host->published) {
        if (vly_cuda_pinned_alloc(shard, 1, sizeof *host->published,
                                  &host->published, NULL) != VLY_OK)
            return false;
        memset(host->published, 0, sizeof *host->published);
    }
    if ((run->flags & VLY_RUN_RECORD) == 0 || room <= host->room)
        return true;
    uint32_t *ids = NULL;
    if (room > most || vly_cuda_pinned_alloc(shard, room, 2 * sizeof *ids, &ids,
                                             NULL) != VLY_OK)
        return false;
    vly_cuda_device_release(shard, host->ids);
    host->ids = ids;
    host->room = room;
    return true;
}

/* ---- publishing -------------------------------------------------------- */

/* Every range keeps its position while there is room. */
static void make_watches(vly_cuda_shard *shard, const vly_run *run,
                         vly_cuda_watches *watches)
{
    vly_cuda_host_view *host = &shard->host;
    uint32_t n_area_words = area_words(shard, run);
    watches->n = 0;
    watches->number = ++host->number;
    if (n_area_words > 0)
        watches->list[watches->n++] = (vly_cuda_watch){
            (const uint32_t *)shard->area_spikes, n_area_words, 0};
    for (uint32_t i = 0; i < host->n_reads; i++) {
        vly_cuda_read *read = &host->reads[i];
        read->is_published = 1;
        watches->list[watches->n++] = (vly_cuda_watch){
            vly_cuda_field(shard, read->area, read->field) + read->first,
            read->count, read->at};
    }
}

static void pause_briefly(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* A failed device never writes the flag, so the stream is queried too. */
static vly_status wait_published(vly_cuda_shard *shard, vly_error *error)
{
    const vly_cuda_host_view *host = &shard->host;
    const uint32_t *flag = &host->published->flag;
    uint32_t spins = 0;
    while (__atomic_load_n(flag, __ATOMIC_ACQUIRE) != host->number) {
        pause_briefly();
        if (++spins % SPINS != 0)
            continue;
        cudaError_t code = cudaStreamQuery((cudaStream_t)shard->stream);
        if (code != cudaSuccess && code != cudaErrorNotReady)
            return vly_cuda_check((int)code, "running bursts", error);
        (void)cudaGetLastError(); /* clears "not ready", which is not an
                                   * error */
    }
    return VLY_OK;
}

vly_status vly_cuda_short_finish(vly_cuda_shard *shard, const vly_run *run,
                                 const vly_cuda_launch *launch,
                                 vly_error *error)
{
    cudaStream_t stream = (cudaStream_t)shard->stream;
    vly_cuda_host_view *host = &shard->host;
    vly_cuda_watches watches;
    cudaError_t code = cudaSuccess;
    make_watches(shard, run, &watches);
    if ((run->flags & VLY_RUN_RECORD) != 0)
        code = vly_cuda_launch_sort(
            &shard->view, launch->burst, launch->n_bursts, host->ids,
            run->spike_gains ? host->ids + host->room : NULL, stream);
    if (code == cudaSuccess)
        code = vly_cuda_launch_publish(&shard->view, launch, &watches,
                                       host->published, stream);
    vly_status status = VLY_OK;
    VLY_TRY(vly_cuda_check((int)code, "running bursts", error));
    VLY_TRY(wait_published(shard, error));
    *shard->done_at = host->published->done;
    memcpy(shard->records, host->published->records,
           launch->n_bursts * sizeof *shard->records);
    if (vly_cuda_run_areas(run))
        memcpy(shard->area_spikes_at, host->published->words,
               shard->view.n_areas * sizeof *shard->area_spikes_at);
    host->is_valid = 1;
out:
    return status;
}

/* ---- published fields ---------------------------------------------------- */

void vly_cuda_short_forget(vly_cuda_shard *shard)
{
    shard->host.is_valid = 0;
}

/* Adds a range for later launches. If there is no room, all ranges are dropped;
 * ranges that are read in every loop are soon added again. */
static void keep_read(vly_cuda_shard *shard, const vly_cuda_read *read)
{
    vly_cuda_host_view *host = &shard->host;
    if (host->n_reads == VLY_CUDA_WATCHES - 1 ||
        host->n_words + read->count > VLY_CUDA_PUBLISH_WORDS - AREA_WORDS) {
        host->n_reads = 0;
        host->n_words = 0;
    }
    host->reads[host->n_reads] = *read;
    host->reads[host->n_reads++].at = AREA_WORDS + host->n_words;
    host->n_words += read->count;
}

bool vly_cuda_short_read(vly_cuda_shard *shard, uint32_t area, uint32_t field,
                         uint32_t first, uint32_t count, uint32_t *words)
{
    vly_cuda_host_view *host = &shard->host;
    if (host->number == 0 || count == 0 || count > READ_WORDS)
        return false;
    for (uint32_t i = 0; i < host->n_reads; i++) {
        const vly_cuda_read *read = &host->reads[i];
        if (read->area != area || read->field != field || first < read->first ||
            count > read->count || first - read->first > read->count - count)
            continue;
        if (!host->is_valid || !read->is_published)
            return false;
        memcpy(words, host->published->words + read->at + first - read->first,
               count * sizeof *words);
        return true;
    }
    const vly_cuda_read read = {
        .area = area, .field = field, .first = first, .count = count};
    keep_read(shard, &read);
    return false;
}
