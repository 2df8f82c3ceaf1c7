/* SPDX-License-Identifier: Apache-2.0
 * The next token from logits. If only some of the tokens may be drawn, they
 * come from a heap ordered by logit, then id: of k tokens for top_k, otherwise
 * of those that top_p can reach. Sums run in the order of the ids, or of the
 * logits where some are left: that order is part of the result.
 */
#include "monitor/sampler.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/random.h"

struct vly_sampler {
    vly_sampler_options options;
    uint32_t vocabulary;
    uint32_t stream;
    uint64_t n_draws;
    uint32_t n_seen;
    uint32_t *seen;   /* [vocabulary] tokens that were seen, each once */
    uint32_t *counts; /* [vocabulary] how often */
    double *logits;   /* [vocabulary] after penalties */
    double *weights;  /* [vocabulary] of a token, or of the k-th kept */
    uint32_t *heap;   /* [vocabulary] */
};

/* ---- options --------------------------------------------------------------
 */

static vly_status check_range(const char *name, double value, double least,
                              double most, vly_error *error)
{
    if (value >= least && value <= most) /* not NaN */
        return VLY_OK;
    return vly_fail(error, VLY_E_INVALID, "%s is %g, wanted %g to %g", name,
                    value, least, most);
}

static vly_status check_options(const vly_sampler_options *options,
                                vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(check_range("repetition", options->repetition, 0.01, 100, error));
    VLY_TRY(check_range("presence", options->presence, -100, 100, error));
    VLY_TRY(check_range("frequency", options->frequency, -100, 100, error));
    if (options->temperature != 0)
        VLY_TRY(check_range("temperature", options->temperature, 0.001, 100,
                            error));
    VLY_TRY(check_range("top_p", options->top_p, 1e-9, 1, error));
out:
    return status;
}

vly_status vly_sampler_create(uint32_t vocabulary,
                              const vly_sampler_options *options,
                              vly_sampler **sampler, vly_error *error)
{
    vly_status status = VLY_OK;
    vly_sampler *made = NULL;
    VLY_TRY(check_options(options, error));
    if (vocabulary == 0)
        return vly_fail(error, VLY_E_INVALID,
                        "a vocabulary of no token, wanted one or more");
    made = vly_calloc(1, sizeof *made);
    if (!made)
        return vly_fail_nomem(error, sizeof *made, "a sampler");
    made->options = *options;
    made->vocabulary = vocabulary;
    made->stream = vly_stream_from_name("monitor.sampler");
    made->seen = vly_malloc(vocabulary, sizeof *made->seen);
    made->counts = vly_calloc(vocabulary, sizeof *made->counts);
    made->logits = vly_malloc(vocabulary, sizeof *made->logits);
    made->weights = vly_malloc(vocabulary, sizeof *made->weights);
    made->heap = vly_malloc(vocabulary, sizeof *made->heap);
    if (!made->seen || !made->counts || !made->logits || !made->weights ||
        !made->heap) {
        vly_sampler_destroy(made);
        return vly_fail_nomem(error, (uint64_t)vocabulary * 28, "a sampler");
    }
    *sampler = made;
out:
    return status;
}

void vly_sampler_destroy(vly_sampler *sampler)
{
    if (!sampler)
        return;
    vly_free(sampler->seen);
    vly_free(sampler->counts);
    vly_free(sampler->logits);
    vly_free(sampler->weights);
    vly_free(sampler->heap);
    vly_free(sampler);
}

static void count(vly_sampler *sampler, uint32_t token)
{
    if (sampler->counts[token] == 0)
        sampler->seen[sampler->n_seen++] = token;
    if (sampler->counts[token] < UINT32_MAX)
        sampler->counts[token]++;
}

vly_status vly_sampler_see(vly_sampler *sampler, uint32_t token,
                           vly_error *error)
{
    if (token >= sampler->vocabulary)
        return vly_fail(error, VLY_E_INVALID,
                        "token %u was seen, the vocabulary has %u", token,
                        sampler->vocabulary);
    count(sampler, token);
    return VLY_OK;
}

/* ---- logits ---------------------------------------------------------------
 */

/* A number, or -inf. */
static bool is_logit(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return (bits & 0x7fffffffu) < 0x7f800000u || bits == 0xff800000u;
}

/* As double. The loop has no way out, so that it becomes vectors. */
static vly_status copy_logits(vly_sampler *sampler, const float *logits,
                              vly_error *error)
{
    bool all = true;
    uint32_t i = 0;
    for (uint32_t k = 0; k < sampler->vocabulary; k++) {
        sampler->logits[k] = (double)logits[k];
        all &= is_logit(logits[k]);
    }
    if (all)
        return VLY_OK;
    while (is_logit(logits[i]))
        i++;
    return vly_fail(
        error, VLY_E_INVALID, "the logit of token %u is %s, wanted a number", i,
        vly_float_bits(logits[i]) == 0x7f800000u ? "infinite" : "NaN");
}

/* Logits after penalties; *best is the first of the largest. */
static vly_status take_logits(vly_sampler *sampler, const float *logits,
                              uint32_t *best, vly_error *error)
{
    const vly_sampler_options *options = &sampler->options;
    const uint32_t n_tokens = sampler->vocabulary;
    uint32_t found = 0;
    vly_status status = VLY_OK;
    VLY_TRY(copy_logits(sampler, logits, error));
    for (uint32_t k = 0; k < sampler->n_seen; k++) {
        const uint32_t token = sampler->seen[k];
        double x = sampler->logits[token];
        x = x > 0 ? x / options->repetition : x * options->repetition;
        x -= options->presence +
             (double)sampler->counts[token] * options->frequency;
        sampler->logits[token] = x;
    }
    for (uint32_t i = 1; i < n_tokens; i++)
        if (sampler->logits[i] > sampler->logits[found])
            found = i;
    /* penalties are finite: only what came as -inf is that */
    if (vly_float_bits(logits[found]) == 0xff800000u)
        return vly_fail(error, VLY_E_INVALID,
                        "the logits of all %u tokens are -inf, wanted one "
                        "that may be drawn",
                        n_tokens);
    *best = found;
out:
    return status;
}

/* Its weight relative to the likeliest token's, which is 1. */
static double weigh(const vly_sampler *sampler, uint32_t token, double most)
{
    return vly_exp((sampler->logits[token] - most) /
                   sampler->options.temperature);
}

/* In [0, 1), a multiple of 2^-53; one a draw. */
static double draw(vly_sampler *sampler)
{
    const uint64_t t = sampler->n_draws++;
    const vly_philox block =
        vly_philox_block(sampler->options.seed, (uint32_t)t,
                         (uint32_t)(t >> 32), 0, sampler->stream);
    const uint64_t bits = (uint64_t)block.w[0] << 21 | block.w[1] >> 11;
    return (double)bits * 0x1p-53;
}

/* The first of weights[0, n) at which their sum passes u * total. total is that
 * sum in this order, and u * total rounds to less for every u below 1. */
static uint32_t pick(const double *weights, uint32_t n, double total, double u)
{
    const double target = u * total;
    double sum = 0;
    for (uint32_t i = 0; i < n; i++) {
        sum += weights[i];
        if (sum > target)
            return i;
    }
    return n - 1;
}

/* ---- the likeliest --------------------------------------------------------
 */

static bool is_before(const vly_sampler *sampler, uint32_t a, uint32_t b)
{
    const double x = sampler->logits[a];
    const double y = sampler->logits[b];
    return x > y || (!(x < y) && a < b);
}

/* The heap's first token is the likeliest, or the least likely. */
static bool is_above(const vly_sampler *sampler, bool least, uint32_t a,
                     uint32_t b)
{
    return least ? is_before(sampler, b, a) : is_before(sampler, a, b);
}

static void sift(vly_sampler *sampler, bool least, uint32_t n, uint32_t at)
{
    uint32_t *heap = sampler->heap;
    const uint32_t token = heap[at];
    for (;;) {
        uint64_t child = 2 * (uint64_t)at + 1;
        if (child >= n)
            break;
        if (child + 1 < n &&
            is_above(sampler, least, heap[child + 1], heap[child]))
            child++;
        if (!is_above(sampler, least, heap[child], token))
            break;
        heap[at] = heap[child];
        at = (uint32_t)child;
    }
    heap[at] = token;
}

static void make_heap(vly_sampler *sampler, bool least, uint32_t n)
{
    for (uint32_t i = n / 2; i-- > 0;)
        sift(sampler, least, n, i);
}

/* Removes the first one; it is then heap[n - 1], after the others. */
static uint32_t pop(vly_sampler *sampler, bool least, uint32_t n)
{
    const uint32_t first = sampler->heap[0];
    sampler->heap[0] = sampler->heap[n - 1];
    sift(sampler, least, n - 1, 0);
    sampler->heap[n - 1] = first;
    return first;
}

/* The k likeliest, the first first: those so far are a heap whose root goes
 * for a likelier one, and are taken out of it from the end. */
static double keep_k(vly_sampler *sampler, uint32_t k, double most)
{
    double total = 0;
    for (uint32_t i = 0; i < k; i++)
        sampler->heap[i] = i;
    make_heap(sampler, true, k);
    for (uint32_t i = k; i < sampler->vocabulary; i++) {
        if (!is_before(sampler, i, sampler->heap[0]))
            continue;
        sampler->heap[0] = i;
        sift(sampler, true, k, 0);
    }
    for (uint32_t n = k; n > 1; n--)
        pop(sampler, true, n);
    for (uint32_t i = 0; i < k; i++) {
        sampler->weights[i] = weigh(sampler, sampler->heap[i], most);
        total += sampler->weights[i];
    }
    return total;
}

/* Among the k likeliest, and of those the fewest that reach top_p. */
static uint32_t draw_k(vly_sampler *sampler, double most)
{
    const uint32_t k = sampler->options.top_k;
    const double top_p = sampler->options.top_p;
    const double total = keep_k(sampler, k, most);
    double sum = 0;
    uint32_t n = 0;
    while (n < k && (n == 0 || top_p >= 1 || sum < top_p * total))
        sum += sampler->weights[n++];
    return sampler->heap[pick(sampler->weights, n, sum, draw(sampler))];
}

/* Among the fewest likeliest that reach top_p of all. A token with less than
 * half of 1/N of the mass that top_p leaves out is not reached: all such tokens
 * together are at most half of that mass. */
static uint32_t draw_p(vly_sampler *sampler, double most)
{
    const double top_p = sampler->options.top_p;
    double *weights = sampler->weights;
    double total = 0;
    double sum = 0;
    uint32_t n_heap = 0;
    uint32_t n = 0;
    for (uint32_t i = 0; i < sampler->vocabulary; i++) {
        weights[i] = weigh(sampler, i, most);
        total += weights[i];
    }
    const double least =
        0.5 * (1 - top_p) * total / (double)sampler->vocabulary;
    for (uint32_t i = 0; i < sampler->vocabulary; i++)
        if (weights[i] >= least)
            sampler->heap[n_heap++] = i;
    make_heap(sampler, false, n_heap);
    while (n < n_heap && (n == 0 || sum < top_p * total)) {
        weights[n] = weigh(sampler, pop(sampler, false, n_heap - n), most);
        sum += weights[n++];
    }
    return sampler->heap[n_heap - 1 - pick(weights, n, sum, draw(sampler))];
}

static uint32_t draw_any(vly_sampler *sampler, double most)
{
    double total = 0;
    for (uint32_t i = 0; i < sampler->vocabulary; i++) {
        sampler->weights[i] = weigh(sampler, i, most);
        total += sampler->weights[i];
    }
    return pick(sampler->weights, sampler->vocabulary, total, draw(sampler));
}

vly_status vly_sampler_next(vly_sampler *sampler, const float *logits,
                            uint32_t *token, vly_error *error)
{
    const vly_sampler_options *options = &sampler->options;
    uint32_t drawn = 0;
    vly_status status = VLY_OK;
    VLY_TRY(take_logits(sampler, logits, &drawn, error));
    const double most = sampler->logits[drawn];
    if (options->temperature > 0 && options->top_k > 0 &&
        options->top_k < sampler->vocabulary)
        drawn = draw_k(sampler, most);
    else if (options->temperature > 0 && options->top_p < 1)
        drawn = draw_p(sampler, most);
    else if (options->temperature > 0)
        drawn = draw_any(sampler, most);
    count(sampler, drawn);
    *token = drawn;
out:
    return status;
}
