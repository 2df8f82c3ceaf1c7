/* SPDX-License-Identifier: Apache-2.0
 * The next token from logits. Where only some of the tokens may be drawn they
 * come from a heap in the order of their logits, equals in that of their ids.
 * Sums run in the order of the ids, or in which tokens leave the heap: that
 * order is part of the result.
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
    uint32_t *counts; /* [vocabulary] tokens seen */
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
    made->counts = vly_calloc(vocabulary, sizeof *made->counts);
    made->logits = vly_malloc(vocabulary, sizeof *made->logits);
    made->weights = vly_malloc(vocabulary, sizeof *made->weights);
    made->heap = vly_malloc(vocabulary, sizeof *made->heap);
    if (!made->counts || !made->logits || !made->weights || !made->heap) {
        vly_sampler_destroy(made);
        return vly_fail_nomem(error, (uint64_t)vocabulary * 24, "a sampler");
    }
    *sampler = made;
out:
    return status;
}

void vly_sampler_destroy(vly_sampler *sampler)
{
    if (!sampler)
        return;
    vly_free(sampler->counts);
    vly_free(sampler->logits);
    vly_free(sampler->weights);
    vly_free(sampler->heap);
    vly_free(sampler);
}

vly_status vly_sampler_see(vly_sampler *sampler, uint32_t token,
                           vly_error *error)
{
    if (token >= sampler->vocabulary)
        return vly_fail(error, VLY_E_INVALID,
                        "token %u was seen, the vocabulary has %u", token,
                        sampler->vocabulary);
    if (sampler->counts[token] < UINT32_MAX)
        sampler->counts[token]++;
    return VLY_OK;
}

/* ---- logits ---------------------------------------------------------------
 */

/* Logits after penalties; *best is the first of the largest. */
static vly_status take_logits(vly_sampler *sampler, const float *logits,
                              uint32_t *best, vly_error *error)
{
    const vly_sampler_options *options = &sampler->options;
    bool any = false;
    for (uint32_t i = 0; i < sampler->vocabulary; i++) {
        const uint32_t bits = vly_float_bits(logits[i]);
        if ((bits & 0x7fffffffu) > 0x7f800000u || bits == 0x7f800000u)
            return vly_fail(error, VLY_E_INVALID,
                            "the logit of token %u is %s, wanted a number", i,
                            bits == 0x7f800000u ? "infinite" : "NaN");
        double x = (double)logits[i];
        const uint32_t n = sampler->counts[i];
        if (n > 0) {
            x = x > 0 ? x / options->repetition : x * options->repetition;
            x -= options->presence + (double)n * options->frequency;
        }
        sampler->logits[i] = x;
        if (bits != 0xff800000u && (!any || x > sampler->logits[*best])) {
            *best = i;
            any = true;
        }
    }
    return any ? VLY_OK
               : vly_fail(error, VLY_E_INVALID,
                          "the logits of all %u tokens are -inf, wanted one "
                          "that may be drawn",
                          sampler->vocabulary);
}

/* Its weight against the likeliest token's, which is 1. */
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

static void sift(vly_sampler *sampler, uint32_t n, uint32_t at)
{
    uint32_t *heap = sampler->heap;
    const uint32_t token = heap[at];
    for (;;) {
        uint64_t child = 2 * (uint64_t)at + 1;
        if (child >= n)
            break;
        if (child + 1 < n && is_before(sampler, heap[child + 1], heap[child]))
            child++;
        if (!is_before(sampler, heap[child], token))
            break;
        heap[at] = heap[child];
        at = (uint32_t)child;
    }
    heap[at] = token;
}

/* Takes the first out; it then is heap[n - 1], behind the others. */
static uint32_t pop(vly_sampler *sampler, uint32_t n)
{
    const uint32_t first = sampler->heap[0];
    sampler->heap[0] = sampler->heap[n - 1];
    sift(sampler, n - 1, 0);
    sampler->heap[n - 1] = first;
    return first;
}

/* Among the likeliest: weights[k] is that of the k-th from the heap, which ends
 * at the heap's end in turn. */
static uint32_t draw_likeliest(vly_sampler *sampler, double most)
{
    const uint32_t n = sampler->vocabulary;
    const vly_sampler_options *options = &sampler->options;
    const uint32_t k =
        options->top_k > 0 && options->top_k < n ? options->top_k : n;
    double total = 0;
    double sum = 0;
    uint32_t n_kept = 0;
    for (uint32_t i = 0; i < n; i++)
        sampler->heap[i] = i;
    for (uint32_t i = n / 2; i-- > 0;)
        sift(sampler, n, i);
    if (k == n) /* top_p alone: its share is of all, and few are taken out */
        for (uint32_t i = 0; i < n; i++)
            total += weigh(sampler, i, most);
    for (uint32_t i = 0; i < k && k < n; i++) {
        sampler->weights[i] = weigh(sampler, pop(sampler, n - i), most);
        total += sampler->weights[i];
    }
    while (n_kept < k && (n_kept == 0 || options->top_p >= 1 ||
                          sum < options->top_p * total)) {
        if (k == n)
            sampler->weights[n_kept] =
                weigh(sampler, pop(sampler, n - n_kept), most);
        sum += sampler->weights[n_kept++];
    }
    const uint32_t drawn = pick(sampler->weights, n_kept, sum, draw(sampler));
    return sampler->heap[n - 1 - drawn];
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
    vly_status status = take_logits(sampler, logits, &drawn, error);
    if (status != VLY_OK)
        return status;
    const double most = sampler->logits[drawn];
    const bool some =
        options->top_p < 1 ||
        (options->top_k > 0 && options->top_k < sampler->vocabulary);
    if (options->temperature > 0 && some)
        drawn = draw_likeliest(sampler, most);
    else if (options->temperature > 0)
        drawn = draw_any(sampler, most);
    if (sampler->counts[drawn] < UINT32_MAX)
        sampler->counts[drawn]++;
    *token = drawn;
    return VLY_OK;
}
