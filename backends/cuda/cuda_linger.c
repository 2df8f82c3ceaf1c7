/* SPDX-License-Identifier: Apache-2.0
 * Launches that stay on the device between short runs, for hosts that go burst
 * by burst: a command is written to memory that the device polls, and the
 * answer is polled here. Without this, a short run costs a launch and the check
 * of its end (7.6 us and 2.3 us on an H200); a word to the device and back
 * takes 2.3 us.
 *
 * The launch ends when the host says so, before any other use of the net, and
 * by itself when no command comes. All other work follows it in the stream: if
 * the host did not end the launch, that work is only slower, never wrong.
 */
#include "cuda_linger.h"

#include <stdatomic.h>
#include <string.h>

#include "cuda_done.h"
#include "cuda_error.h"
#include "cuda_history.h"
#include "cuda_input.h"
#include "cuda_memory.h"
#include "cuda_net.h"

#define QUICK_NS UINT64_C(50000) /* longest pause of a quick host */
#define PATTERN 2u               /* quick runs in a row before a launch stays */
#define PATIENCE_NS 100000u
#define MOST_BURSTS 2048u /* per launch; other work follows it */
#define SPINS 2048u       /* some 50 us between two queries of the stream */

/* The net that was used last in this process: if several nets take turns, none
 * keeps the device. The pointer is only compared. */
static _Atomic(const vly_backend_net *) last_net;

static void leave(vly_cuda_shard *shard)
{
    vly_cuda_lingering *linger = &shard->linger;
    if (linger->is_on)
        __atomic_store_n(&linger->mailbox->leave,
                         (uint64_t)linger->launch.number, __ATOMIC_RELEASE);
    linger->is_on = 0;
}

void vly_cuda_settle(vly_cuda_shard *shard)
{
    leave(shard);
    shard->linger.n_quick = 0;
    atomic_store(&last_net, shard->net);
}

/* ---- decision ------------------------------------------------------------ */

/* Allocated memory is kept if the rest fails: another plan tries again. */
static vly_status create(vly_cuda_shard *shard)
{
    vly_cuda_lingering *linger = &shard->linger;
    vly_status status = VLY_OK;
    if (!linger->mailbox)
        VLY_TRY(vly_cuda_pinned_alloc(shard, 1, sizeof *linger->mailbox,
                                      &linger->mailbox, NULL));
    if (!linger->answer)
        VLY_TRY(vly_cuda_pinned_alloc(shard, 1, sizeof *linger->answer,
                                      &linger->answer, NULL));
    VLY_TRY(vly_cuda_device_alloc(shard, 1, sizeof *linger->relay,
                                  &linger->relay, NULL));
    memset(linger->mailbox, 0, sizeof *linger->mailbox);
    memset(linger->answer, 0, sizeof *linger->answer);
out:
    return status;
}

/* Can launches of the plan stay? Checked once for each plan. */
static bool plan_fits(vly_cuda_shard *shard)
{
    vly_cuda_lingering *linger = &shard->linger;
    cudaError_t code = cudaSuccess;
    int fits = 0;
    if (linger->n_changes == shard->n_changes + 1)
        return linger->fits != 0;
    if (shard->view.n_neurons > VLY_CUDA_LINGER_NEURONS)
        code = cudaErrorNotSupported; /* the tag does not fit into the word of
                                       * an input */
    else if (shard->plan->linger_fit)
        code = (cudaError_t)shard->plan->linger_fit(shard, &fits);
    (void)cudaGetLastError(); /* the error is a result, not a failure of the
                               * net */
    linger->fits = code == cudaSuccess && fits;
    linger->n_changes = shard->n_changes + 1;
    return linger->fits != 0;
}

/* Runs that follow each other quickly, of one net. */
static bool is_quick(vly_cuda_shard *shard)
{
    vly_cuda_lingering *linger = &shard->linger;
    uint64_t now = vly_cuda_host->clock_ns(vly_cuda_host->context);
    const vly_backend_net *last = atomic_exchange(&last_net, shard->net);
    if (last != shard->net || now - linger->ended_ns > QUICK_NS) {
        vly_cuda_settle(shard);
        return false;
    }
    linger->n_quick += linger->n_quick < PATTERN;
    return linger->n_quick == PATTERN;
}

bool vly_cuda_linger_fits(vly_cuda_shard *shard, const vly_run *run,
                          uint64_t input_from, const vly_cuda_launch *launch)
{
    vly_cuda_lingering *linger = &shard->linger;
    bool fits = shard->net->wanted.linger != 0 && is_quick(shard) &&
                !vly_cuda_run_areas(run) &&
                ((run->flags & VLY_RUN_RECORD) == 0 || launch->n_bursts == 1) &&
                vly_cuda_inputs_find(run, &input_from, launch) <=
                    VLY_CUDA_LINGER_INPUTS &&
                plan_fits(shard);
    if (fits && !linger->relay) {
        fits = create(shard) == VLY_OK;
        linger->fits = (uint32_t)fits; /* without that memory runs are only
                                        * slower */
    }
    if (!fits)
        leave(shard);
    return fits;
}

/* ---- beginning and end of a launch ------------------------------------- */

/* Numbers restart: no word may keep an old number that is used again. */
static cudaError_t clear_numbers(vly_cuda_shard *shard)
{
    vly_cuda_lingering *linger = &shard->linger;
    cudaStream_t stream = (cudaStream_t)shard->stream;
    cudaError_t code = cudaStreamSynchronize(stream);
    if (code == cudaSuccess)
        code = cudaMemsetAsync(linger->relay, 0, sizeof *linger->relay, stream);
    memset(linger->mailbox, 0, sizeof *linger->mailbox);
    memset(linger->answer, 0, sizeof *linger->answer);
    linger->number = 1;
    return code;
}

static void set_ranges(vly_cuda_shard *shard)
{
    vly_cuda_host_view *host = &shard->host;
    vly_cuda_linger *launch = &shard->linger.launch;
    for (uint32_t i = 0; i < host->n_reads; i++) {
        vly_cuda_read *read = &host->reads[i];
        const vly_cuda_area *area = &shard->areas[read->area];
        read->is_published = 1;
        launch->ranges[i] = (vly_cuda_linger_range){
            .from =
                vly_cuda_field(shard, read->area, read->field) + read->first,
            .id = area->first + read->first,
            .field = read->field,
            .n = read->count};
    }
    launch->n_ranges = host->n_reads;
}

/* Prepares a launch before it is enqueued and before its first command is
 * posted. */
static vly_status prepare(vly_cuda_shard *shard, vly_error *error)
{
    vly_cuda_lingering *linger = &shard->linger;
    cudaStream_t stream = (cudaStream_t)shard->stream;
    cudaError_t code = cudaSuccess;
    if (shard->net->wanted.linger == 2 && linger->number == 0)
        linger->number = UINT32_MAX - 3 * MOST_BURSTS; /* for tests */
    if (linger->number > UINT32_MAX - 2 * MOST_BURSTS)
        code = clear_numbers(shard);
    linger->launch.mailbox = linger->mailbox;
    linger->launch.answer = linger->answer;
    linger->launch.relay = linger->relay;
    linger->launch.number = ++linger->number;
    linger->launch.patience_ns = PATIENCE_NS;
    linger->n_left = MOST_BURSTS;
    memset(&linger->told, 0, sizeof linger->told);
    set_ranges(shard);
    if (code == cudaSuccess)
        code = cudaMemsetAsync(&linger->relay->arrived, 0, sizeof(uint64_t),
                               stream);
    vly_status status = VLY_OK;
    VLY_TRY(vly_cuda_check((int)code, "a launch that stays", error));
    VLY_TRY(vly_cuda_history_clear(shard, MOST_BURSTS, error));
    VLY_TRY(vly_cuda_done_next(shard, error));
out:
    return status;
}

static vly_status enqueue(vly_cuda_shard *shard, const vly_cuda_launch *wanted,
                          vly_error *error)
{
    vly_cuda_launch launch = *wanted;
    launch.n_bursts = 0;
    launch.inputs = NULL;
    launch.input_row = NULL;
    launch.done = shard->done;
    int code =
        shard->plan->linger(shard, &launch, &shard->linger.launch, MOST_BURSTS);
    return vly_cuda_check(code, "running bursts", error);
}

/* ---- commands ---------------------------------------------------------- */

static void store(uint64_t *at, uint32_t tag, uint32_t word)
{
    __atomic_store_n(at, (uint64_t)tag << 32 | word, __ATOMIC_RELAXED);
}

/* Inputs are written first: they are complete when the device sees the
 * command. */
static void post(vly_cuda_shard *shard, const vly_run *run,
                 const vly_input *inputs, uint32_t n,
                 const vly_cuda_launch *launch)
{
    vly_cuda_mailbox *mailbox = shard->linger.mailbox;
    uint32_t tag = ++shard->linger.number;
    uint32_t words[VLY_CUDA_COMMAND_WORDS] = {0};
    uint32_t at = 0;
    for (uint32_t k = 0; k < launch->n_bursts; k++) {
        words[VLY_CUDA_COMMAND_ROW + k] = at;
        for (; at < n && inputs[at].burst == launch->burst + k; at++)
            store(&mailbox->inputs[at], tag << 24 | inputs[at].neuron,
                  (uint32_t)inputs[at].value);
    }
    words[VLY_CUDA_COMMAND_ROW + launch->n_bursts] = at;
    words[VLY_CUDA_COMMAND_BURSTS] = launch->n_bursts;
    words[VLY_CUDA_COMMAND_FLAGS] =
        (launch->keep ? VLY_CUDA_COMMAND_KEEP : 0) |
        ((run->flags & VLY_RUN_RECORD) != 0 ? VLY_CUDA_COMMAND_IDS : 0);
    words[VLY_CUDA_COMMAND_LIMIT] = (uint32_t)launch->head_limit;
    words[VLY_CUDA_COMMAND_LIMIT + 1] = (uint32_t)(launch->head_limit >> 32);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    for (uint32_t i = 0; i < VLY_CUDA_COMMAND_WORDS; i++)
        store(&mailbox->command[i], tag, words[i]);
}

/* ---- answers ----------------------------------------------------------- */

static void pause_briefly(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Waits for a word. A failed device never writes it, so the stream is queried
 * too. *left: NULL, or whether the launch ended before it saw the command. */
static vly_status await_word(vly_cuda_shard *shard, const uint64_t *at,
                             bool *left, vly_error *error)
{
    const vly_cuda_answer *answer = shard->linger.answer;
    uint32_t tag = shard->linger.number;
    uint32_t spins = 0;
    bool ended = false;
    while (__atomic_load_n(at, __ATOMIC_ACQUIRE) >> 32 != tag) {
        if (left && __atomic_load_n(&answer->left, __ATOMIC_ACQUIRE) == tag) {
            *left = true;
            return VLY_OK;
        }
        if (ended)
            return vly_cuda_fail(error, VLY_E_DEVICE,
                                 "running bursts: a launch ended without an "
                                 "answer");
        pause_briefly();
        if (++spins % SPINS != 0)
            continue;
        cudaError_t code = cudaStreamQuery((cudaStream_t)shard->stream);
        if (code != cudaSuccess && code != cudaErrorNotReady)
            return vly_cuda_check((int)code, "running bursts", error);
        ended = code == cudaSuccess; /* both words are checked once more */
        (void)cudaGetLastError();    /* clears "not ready", which is not an
                                      * error */
    }
    return VLY_OK;
}

/* Words of an answer are written together, but arrive in any order. */
static vly_status take_words(vly_cuda_shard *shard, const uint64_t *from,
                             uint32_t *to, uint32_t n, vly_error *error)
{
    vly_status status = VLY_OK;
    uint32_t tag = shard->linger.number;
    for (uint32_t i = 0; i < n; i++) {
        uint64_t word = __atomic_load_n(from + i, __ATOMIC_ACQUIRE);
        if (word >> 32 != tag) {
            VLY_TRY(await_word(shard, from + i, NULL, error));
            word = __atomic_load_n(from + i, __ATOMIC_ACQUIRE);
        }
        to[i] = (uint32_t)word;
    }
out:
    return status;
}

/* Stores the results of this command in the place of those of a long launch;
 * *n_ids: number of published ids. */
static vly_status take_done(vly_cuda_shard *shard, uint32_t *n_ids,
                            vly_error *error)
{
    union {
        vly_cuda_done done;
        uint32_t words[VLY_CUDA_ANSWER_RECORDS];
    } now;
    vly_cuda_done *told = &shard->linger.told;
    _Static_assert(sizeof now == sizeof now.done, "done is 16 words");
    vly_status status = VLY_OK;
    VLY_TRY(take_words(shard, shard->linger.answer->words, now.words,
                       VLY_CUDA_ANSWER_RECORDS, error));
    *n_ids = now.done.barrier;
    shard->done_at->head = now.done.head;
    shard->done_at->n_bursts = now.done.n_bursts - told->n_bursts;
    shard->done_at->n_events = now.done.n_events - told->n_events;
    shard->done_at->n_candidates =
        (uint64_t)shard->done_at->n_bursts * shard->view.n_neurons;
    for (int i = 0; i < 3; i++)
        shard->done_at->cycles[i] = now.done.cycles[i] - told->cycles[i];
    *told = now.done;
out:
    return status;
}

/* Ids of the burst, in order; another launch sorts them if they are too many
 * for this one. */
static vly_status take_ids(vly_cuda_shard *shard, const vly_run *run,
                           const vly_cuda_launch *launch, uint32_t n_ids,
                           vly_error *error)
{
    uint32_t n = shard->records[0].count;
    uint32_t *ids = shard->host.ids;
    uint32_t *gains = run->spike_gains ? ids + shard->host.room : NULL;
    if (n_ids == VLY_CUDA_NO_IDS) {
        leave(shard);
        vly_status status = vly_cuda_check(
            (int)vly_cuda_launch_sort(&shard->view, launch->burst, 1, ids,
                                      gains, (cudaStream_t)shard->stream),
            "sorting spikes", error);
        return status == VLY_OK
                   ? vly_cuda_synchronize(shard, "sorting spikes", error)
                   : status;
    }
    for (uint32_t i = 0; gains && i < n; i++)
        gains[i] = UINT32_C(1) << shard->view.feagi_q; /* there is no FEAGI
                                                        * area */
    return take_words(shard, shard->linger.answer->ids, ids, n, error);
}

static vly_status take_answer(vly_cuda_shard *shard, const vly_run *run,
                              const vly_cuda_launch *launch, vly_error *error)
{
    const vly_cuda_host_view *host = &shard->host;
    const uint64_t *words =
        shard->linger.answer->words + VLY_CUDA_ANSWER_RECORDS;
    uint32_t n_ids = 0;
    vly_status status = take_done(shard, &n_ids, error);
    uint32_t n = shard->done_at->n_bursts;
    if (status == VLY_OK)
        status = take_words(
            shard, words, (uint32_t *)(void *)shard->records,
            n * (uint32_t)(sizeof *shard->records / sizeof(uint32_t)), error);
    words = shard->linger.answer->words + VLY_CUDA_ANSWER_RANGES;
    for (uint32_t i = 0; i < host->n_reads && status == VLY_OK; i++) {
        const vly_cuda_read *read = &host->reads[i];
        status = take_words(shard, words, host->published->words + read->at,
                            read->count, error);
        words += read->count;
    }
    if (status == VLY_OK && n > 0 && (run->flags & VLY_RUN_RECORD) != 0)
        status = take_ids(shard, run, launch, n_ids, error);
    shard->linger.n_left -= launch->n_bursts;
    shard->host.is_valid = status == VLY_OK;
    return status;
}

/* ---- a run ------------------------------------------------------------- */

/* A range that was read since then is published by the next launch. */
static bool is_published(const vly_cuda_host_view *host)
{
    for (uint32_t i = 0; i < host->n_reads; i++)
        if (!host->reads[i].is_published)
            return false;
    return true;
}

vly_status vly_cuda_linger_run(vly_cuda_shard *shard, const vly_run *run,
                               uint64_t *input_from,
                               const vly_cuda_launch *launch, vly_error *error)
{
    vly_cuda_lingering *linger = &shard->linger;
    uint32_t n_inputs = (uint32_t)vly_cuda_inputs_find(run, input_from, launch);
    const vly_input *inputs = n_inputs > 0 ? run->inputs + *input_from : NULL;
    vly_status status = VLY_OK;
    bool left = true;
    if (linger->n_left < launch->n_bursts || !is_published(&shard->host))
        leave(shard);
    while (status == VLY_OK && left) {
        bool is_new = !linger->is_on;
        if (is_new)
            status = prepare(shard, error);
        if (status != VLY_OK)
            return status;
        left = false;
        post(shard, run, inputs, n_inputs, launch);
        if (is_new)
            status = enqueue(shard, launch, error);
        if (status == VLY_OK)
            status = await_word(shard, linger->answer->words, &left, error);
        linger->is_on = status == VLY_OK && !left;
    }
    return status == VLY_OK ? take_answer(shard, run, launch, error) : status;
}
