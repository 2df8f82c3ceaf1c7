/* SPDX-License-Identifier: Apache-2.0
 * Two limits of the machine, measured in the same run as the bursts.
 *
 * Delivery reads synapses in long rows and adds each one to a random
 * accumulator, so its time has two floors: reading the bytes, and so many
 * random increments. Neither loop does anything else; a delivery that reaches
 * a good part of the nearer floor has little left to win.
 */
#include "tools/bench/bench.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/thread.h"

enum {
    REPEATS = 7,
    READ_WORDS = 32 << 20, /* u64: 256 MB a thread, above every cache */
    ELEMENTS = 100000,     /* accumulators of the stress genomes */
    INCREMENTS = 1 << 25,  /* a thread */
    THREADS_MAX = 256
};

typedef struct probe_work {
    uint64_t *words[THREADS_MAX];
    int32_t *slices[THREADS_MAX];
    uint32_t slice;
    uint64_t sums[THREADS_MAX]; /* so that no loop is removed */
} probe_work;

static int compare_doubles(const void *left, const void *right)
{
    const double *a = left;
    const double *b = right;
    return (*a > *b) - (*a < *b);
}

bench_spread bench_spread_of(double *samples, uint32_t n)
{
    qsort(samples, n, sizeof *samples, compare_doubles);
    bench_spread spread = {.n = n};
    if (n == 0)
        return spread;
    spread.median = n % 2 == 1 ? samples[n / 2]
                               : 0.5 * (samples[n / 2 - 1] + samples[n / 2]);
    spread.low = samples[n / 10];
    spread.high = samples[n - 1 - n / 10];
    return spread;
}

static void read_task(void *arg, uint32_t task)
{
    probe_work *work = arg;
    const uint64_t *words = work->words[task];
    uint64_t sum = 0;
    for (size_t i = 0; i < READ_WORDS; i++)
        sum += words[i];
    work->sums[task] += sum;
}

/* Four generators, so that the latency of one is not measured. */
static void increment_task(void *arg, uint32_t task)
{
    probe_work *work = arg;
    int32_t *slice = work->slices[task];
    const uint64_t n = work->slice;
    uint64_t x[4] = {task + 1u, task + 1001u, task + 2003u, task + 3001u};
    for (uint32_t i = 0; i < INCREMENTS / 4; i++) {
        for (int k = 0; k < 4; k++) {
            x[k] = x[k] * UINT64_C(6364136223846793005) +
                   UINT64_C(1442695040888963407);
            slice[(x[k] >> 32) * n >> 32] += 3;
        }
    }
    work->sums[task] += (uint64_t)(uint32_t)slice[0];
}

static vly_status time_tasks(uint32_t n_threads, probe_work *work,
                             void (*task)(void *, uint32_t), double *seconds,
                             vly_error *error)
{
    double samples[REPEATS];
    for (int i = -1; i < REPEATS; i++) { /* one warm-up */
        uint64_t begin = vly_clock_ns();
        if (vly_thread_gang(n_threads, task, work) != VLY_OK)
            return vly_fail(error, VLY_E_NOMEM, "no threads for the probe");
        if (i >= 0)
            samples[i] = (double)(vly_clock_ns() - begin) * 1e-9;
    }
    *seconds = bench_spread_of(samples, REPEATS).median;
    return VLY_OK;
}

static vly_status make_work(uint32_t n_threads, probe_work *work,
                            vly_error *error)
{
    work->slice = ELEMENTS / n_threads;
    for (uint32_t t = 0; t < n_threads; t++) {
        work->words[t] = vly_malloc(READ_WORDS, sizeof(uint64_t));
        work->slices[t] = vly_calloc(work->slice + 16u, sizeof(int32_t));
        if (!work->words[t] || !work->slices[t])
            return vly_fail_nomem(error, READ_WORDS * sizeof(uint64_t),
                                  "the bandwidth probe");
        memset(work->words[t], (int)t + 1, READ_WORDS * sizeof(uint64_t));
    }
    return VLY_OK;
}

vly_status bench_probe(uint32_t n_threads, bench_probes *probes,
                       vly_error *error)
{
    static probe_work work; /* too large for a stack */
    double read_s = 0.0;
    double increment_s = 0.0;
    vly_status status = VLY_OK;
    n_threads = n_threads < THREADS_MAX ? n_threads : THREADS_MAX;
    memset(&work, 0, sizeof work);
    VLY_TRY(make_work(n_threads, &work, error));
    VLY_TRY(time_tasks(n_threads, &work, read_task, &read_s, error));
    VLY_TRY(time_tasks(n_threads, &work, increment_task, &increment_s, error));
    probes->threads = n_threads;
    probes->read_bytes_per_s =
        (double)n_threads * READ_WORDS * sizeof(uint64_t) / read_s;
    probes->increments_per_s = (double)n_threads * INCREMENTS / increment_s;
    probes->increment_elements = work.slice * n_threads;
out:
    for (uint32_t t = 0; t < n_threads; t++) {
        vly_free(work.words[t]);
        vly_free(work.slices[t]);
    }
    return status;
}
