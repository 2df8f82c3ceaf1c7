/* SPDX-License-Identifier: Apache-2.0
 * Weights and traces in and out, between two bursts.
 */
#include "cpu_learning.h"
#include "cpu_ranks.h"
#include "cpu_short_term.h"

#include <string.h>

#include "backends/common/common_weights.h"
#include "kernels/models/digest.h"

/* ---- words of a snapshot ------------------------------------------------ */

/* Traces, and the modulator. */
static uint32_t *save_traces(const vly_backend_net *net,
                             const vly_cpu_learning *l, uint32_t *words)
{
    words = vly_common_traces_save(&l->t, (uint32_t)net->burst, words);
    if (!l->eligibility)
        return words;
    vly_common_modulator_save(&l->modulator, words);
    return words + VLY_COMMON_MODULATOR_WORDS;
}

void vly_cpu_learning_save(vly_backend_net *net, uint32_t *words)
{
    vly_cpu_learning_flush(net);
    for (uint32_t p = 0; p < net->n_projections; p++) {
        const vly_cpu_learning *l = net->projections[p].learning;
        const vly_cpu_short_term *s = net->projections[p].short_term;
        if (s)
            words = vly_common_sources_save(&s->t, &s->tail, net->burst, words);
        if (!l)
            continue;
        uint64_t n_synapses = l->t.projection->row[l->t.n_sources];
        if (n_synapses > 0)
            memcpy(words, l->master, n_synapses * sizeof *words);
        words += n_synapses;
        if (l->eligibility && n_synapses > 0)
            memcpy(words, l->eligibility, n_synapses * sizeof *words);
        words += l->eligibility ? n_synapses : 0;
        words = save_traces(net, l, words);
    }
}

/* ---- digest ------------------------------------------------------------- */

/* Of n words of the snapshot's weights, from word `at` on. */
static uint64_t digest_words(const void *words, uint64_t n, uint64_t at)
{
    const uint32_t *word = words;
    uint64_t sum = 0;
    for (uint64_t i = 0; i < n; i++)
        sum += vly_digest_weight(at + i, word[i]);
    return sum;
}

vly_status vly_cpu_learning_digest(vly_backend_net *net, uint64_t *digest,
                                   vly_error *error)
{
    vly_common_heap heap = {.bytes = 0};
    uint32_t *traces = NULL;
    uint64_t at = 0;
    vly_status status = VLY_OK;
    VLY_TRY(vly_common_alloc(&heap, vly_common_trace_words_most(net->desc),
                             sizeof *traces, &traces, error));
    vly_cpu_learning_flush(net);
    for (uint32_t p = 0; p < net->n_projections; p++) {
        const vly_cpu_learning *l = net->projections[p].learning;
        const vly_cpu_short_term *s = net->projections[p].short_term;
        if (s) {
            const uint32_t *end =
                vly_common_sources_save(&s->t, &s->tail, net->burst, traces);
            *digest += digest_words(traces, (uint64_t)(end - traces), at);
            at += (uint64_t)(end - traces);
        }
        if (!l)
            continue;
        uint64_t n_synapses = l->t.projection->row[l->t.n_sources];
        *digest += digest_words(l->master, n_synapses, at);
        at += n_synapses;
        if (l->eligibility) {
            *digest += digest_words(l->eligibility, n_synapses, at);
            at += n_synapses;
        }
        const uint32_t *end = save_traces(net, l, traces);
        *digest += digest_words(traces, (uint64_t)(end - traces), at);
        at += (uint64_t)(end - traces);
    }
out:
    vly_common_release_all(&heap);
    return status;
}

/* ---- weights ------------------------------------------------------------ */

vly_status vly_cpu_learning_read(vly_backend_net *net, uint32_t projection,
                                 uint64_t first, uint64_t count,
                                 int32_t *masters, vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(vly_common_check_range(net->desc, projection, first, count, error));
    const vly_cpu_learning *l = net->projections[projection].learning;
    vly_cpu_learning_flush(net);
    VLY_TRY(vly_cpu_ranks_refresh(net, error));
    if (count > 0)
        memcpy(masters, l->master + first, count * sizeof *masters);
out:
    return status;
}

vly_status vly_cpu_learning_write(vly_backend_net *net, uint32_t projection,
                                  uint64_t first, uint64_t count,
                                  const int32_t *masters, vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(vly_common_check_masters(net->desc, projection, first, count,
                                     masters, error));
    vly_cpu_learning *l = net->projections[projection].learning;
    vly_cpu_learning_flush(net);
    if (count > 0)
        memcpy(l->master + first, masters, count * sizeof *masters);
out:
    return status;
}

vly_status vly_cpu_learning_set(vly_backend_net *net, uint32_t projection,
                                const vly_learning_desc *learning,
                                vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(
        vly_common_check_learning_set(net->desc, projection, learning, error));
    vly_cpu_learning *l = net->projections[projection].learning;
    vly_cpu_learning_flush(net);
    memcpy(l->coefs, learning->coefs, learning->n_coefs * sizeof *l->coefs);
    const uint32_t frozen = VLY_LEARNING_FROZEN;
    l->t.flags = (l->t.flags & ~frozen) | (learning->flags & frozen);
out:
    return status;
}
