/* SPDX-License-Identifier: Apache-2.0
 * Measures a candidate: the median of rounds of as many runs as take about 2
 * ms, as a graph, so that the time of a product of 4 us is not that of its
 * launch on the host. Those within 4% of the fastest, and the library's first,
 * are measured again in turns, because clocks drift: on an H200 one product in
 * 40 was given to an algorithm that is 3% slower than the library's first. That
 * one stays unless another is faster in every turn but one.
 */
#include <stdlib.h>
#include <string.h>

#include "gemm_cuda_tune.h"

enum {
    ROUNDS = 3,
    FINAL_ROUNDS = 11,
    FINALISTS = 4, /* and the library's first */
    MOST_RUNS = 64,
    ROUND_US = 2000,
};

/* The timed work: n runs on sets in turn. */
typedef struct round_of {
    const vly_gemm_candidate *candidate;
    cudaGraphExec_t graph; /* NULL: launched one by one */
    uint32_t n;
} round_of;

static vly_status check(cudaError_t code, const char *what, vly_error *error)
{
    return vly_accel_cuda_check((int)code, what, error);
}

static vly_status launch(const tuning *t, const vly_gemm_lt lts[2],
                         const round_of *r, vly_error *error)
{
    vly_status status = VLY_OK;
    for (uint32_t i = 0; i < r->n; i++) {
        const vly_gemm_run run = vly_gemm_cuda_run_of(t, i % t->n_sets);
        VLY_TRY(vly_gemm_cuda_launch(t->problem, r->candidate,
                                     &lts[r->candidate->staged], &run, error));
    }
out:
    return status;
}

/* As a graph if the device can; if not, runs are launched one by one. */
static void record(const tuning *t, const vly_gemm_lt lts[2], round_of *r)
{
    vly_error why = {.struct_size = sizeof why};
    cudaGraph_t nodes = NULL;
    r->graph = NULL;
    if (cudaStreamBeginCapture(t->stream, cudaStreamCaptureModeThreadLocal) ==
        cudaSuccess) {
        const vly_status status = launch(t, lts, r, &why);
        if (cudaStreamEndCapture(t->stream, &nodes) == cudaSuccess &&
            status == VLY_OK &&
            cudaGraphInstantiate(&r->graph, nodes, 0) != cudaSuccess)
            r->graph = NULL;
    }
    if (nodes)
        (void)cudaGraphDestroy(nodes);
    (void)cudaGetLastError();
}

static void forget(round_of *r)
{
    if (r->graph)
        (void)cudaGraphExecDestroy(r->graph);
    r->graph = NULL;
}

/* Seconds of one run of a round. */
static vly_status clock_round(const tuning *t, const vly_gemm_lt lts[2],
                              const round_of *r, double *seconds,
                              vly_error *error)
{
    float ms = 0.0f;
    vly_status status =
        check(cudaEventRecord(t->begin, t->stream), "cudaEventRecord", error);
    if (status == VLY_OK && r->graph)
        status = check(cudaGraphLaunch(r->graph, t->stream), "cudaGraphLaunch",
                       error);
    else if (status == VLY_OK)
        status = launch(t, lts, r, error);
    if (status == VLY_OK)
        status =
            check(cudaEventRecord(t->end, t->stream), "cudaEventRecord", error);
    if (status == VLY_OK)
        status = check(cudaEventSynchronize(t->end), "measuring", error);
    if (status == VLY_OK)
        status = check(cudaEventElapsedTime(&ms, t->begin, t->end),
                       "cudaEventElapsedTime", error);
    *seconds = (double)ms * 1e-3 / r->n;
    return status;
}

static int ascending(const void *x, const void *y)
{
    const double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

static double median(double *seconds, uint32_t n)
{
    qsort(seconds, n, sizeof seconds[0], ascending);
    return seconds[n / 2];
}

/* The number of runs that takes about ROUND_US, every set at least once. */
static uint32_t runs_of(const tuning *t, double seconds)
{
    const double runs = seconds > 0.0 ? ROUND_US * 1e-6 / seconds : MOST_RUNS;
    const uint32_t n = runs > MOST_RUNS ? MOST_RUNS : (uint32_t)runs;
    return n < t->n_sets ? t->n_sets : n;
}

vly_status vly_gemm_cuda_time(const tuning *t, const vly_gemm_lt lts[2],
                              vly_gemm_candidate *c, double least,
                              vly_error *error)
{
    const double launches = 20e-6; /* time limit of two of them on the host */
    double seconds[ROUNDS];
    round_of r = {.candidate = c, .n = 2};
    vly_status status = clock_round(t, lts, &r, &c->seconds, error);
    if (status != VLY_OK ||
        (least > 0.0 && c->seconds > 3.0 * least + launches))
        return status;
    r.n = runs_of(t, c->seconds);
    record(t, lts, &r);
    status = clock_round(t, lts, &r, &seconds[0], error); /* to warm up */
    for (int i = 0; i < ROUNDS && status == VLY_OK; i++)
        status = clock_round(t, lts, &r, &seconds[i], error);
    forget(&r);
    if (status == VLY_OK)
        c->seconds = median(seconds, ROUNDS);
    return status;
}

/* The library's own choice: its first correct heuristic, or n. It is one of the
 * finalists unless it is slower than drift can explain. */
static uint32_t library_first(const vly_gemm_candidate *c, uint32_t n,
                              double least)
{
    for (uint32_t i = 0; i < n; i++)
        if (c[i].way == VLY_GEMM_WAY_LIBRARY)
            return c[i].seconds <= 1.5 * least ? i : n;
    return n;
}

/* Those within 4% of the least, the first of them first, and `first` (n: none)
 * before all. */
static uint32_t finalists(const vly_gemm_candidate *c, uint32_t n, double least,
                          uint32_t first, uint32_t picked[FINALISTS + 1])
{
    uint32_t count = 0, before = 0;
    double most = 1.04 * least;
    if (first < n)
        picked[before++] = first;
    do { /* a smaller circle until they are few */
        count = 0;
        for (uint32_t i = 0; i < n; i++)
            if (i != first && c[i].way != VLY_GEMM_WAY_NONE &&
                c[i].seconds <= most) {
                if (count < FINALISTS)
                    picked[before + count] = i;
                count++;
            }
        most = least + (most - least) / 2;
    } while (count > FINALISTS && most - least > least * 1e-4);
    return before + (count < FINALISTS ? count : FINALISTS);
}

/* Is it faster in every turn except one? For two equal candidates the chance of
 * that is one in 170. */
static bool surely_faster(const double *seconds, const double *than)
{
    int wins = 0;
    for (int k = 0; k < FINAL_ROUNDS; k++)
        wins += seconds[k] < than[k];
    return wins >= FINAL_ROUNDS - 1;
}

/* The finalist to take. has_first: picked[0] is the library's own choice. */
static uint32_t winner_of(vly_gemm_candidate *candidates,
                          const uint32_t *picked, uint32_t count,
                          bool has_first, double (*seconds)[FINAL_ROUNDS])
{
    uint32_t winner = 0;
    for (uint32_t i = 0; i < count; i++) {
        double sorted[FINAL_ROUNDS];
        vly_gemm_candidate *c = &candidates[picked[i]];
        memcpy(sorted, seconds[i], sizeof sorted);
        c->seconds = median(sorted, FINAL_ROUNDS);
        /* an equally fast earlier candidate stays */
        if (c->seconds < 0.998 * candidates[picked[winner]].seconds)
            winner = i;
    }
    return has_first && !surely_faster(seconds[winner], seconds[0]) ? 0
                                                                    : winner;
}

vly_status vly_gemm_cuda_finals(const tuning *t, const vly_gemm_lt lts[2],
                                vly_gemm_candidate *candidates, uint32_t n,
                                uint32_t *best, vly_error *error)
{
    uint32_t picked[FINALISTS + 1];
    double seconds[FINALISTS + 1][FINAL_ROUNDS];
    round_of rounds[FINALISTS + 1];
    vly_status status = VLY_OK;
    const double least = candidates[*best].seconds;
    const uint32_t first = library_first(candidates, n, least);
    const uint32_t count = finalists(candidates, n, least, first, picked);
    if (count < 2)
        return VLY_OK;
    for (uint32_t i = 0; i < count; i++) {
        rounds[i] = (round_of){.candidate = &candidates[picked[i]],
                               .n = runs_of(t, least)};
        record(t, lts, &rounds[i]);
    }
    for (uint32_t k = 0; k < FINAL_ROUNDS; k++)
        for (uint32_t i = 0; i < count; i++) {
            const uint32_t turn = k % 2 == 0 ? i : count - 1 - i;
            VLY_TRY(
                clock_round(t, lts, &rounds[turn], &seconds[turn][k], error));
        }
out:
    for (uint32_t i = 0; i < count; i++)
        forget(&rounds[i]);
    if (status == VLY_OK)
        *best =
            picked[winner_of(candidates, picked, count, first < n, seconds)];
    return status;
}
