/* SPDX-License-Identifier: Apache-2.0
 * Weights and traces in and out, between two bursts.
 */
#include "cpu_learning.h"

#include <string.h>

#include "kernels/models/digest.h"

/* ---- words of a snapshot ------------------------------------------------ */

/* [n] the trace after its last event, [n] its age; expired: 0, UINT32_MAX. */
static uint32_t *write_trace(const vly_cpu_decay *decay, uint32_t n,
                             const float *after, const uint32_t *ages,
                             uint32_t *words)
{
    for (uint32_t i = 0; i < n; i++) {
        bool known = ages[i] < decay->bursts;
        words[i] = known ? vly_bits(after[i]) : 0;
        words[n + i] = known ? ages[i] : UINT32_MAX;
    }
    return words + 2 * (uint64_t)n;
}

/* Arrays for one column: values of a trace, and ages. */
typedef struct columns {
    float *after;
    uint32_t *ages;
} columns;

static uint32_t *write_sources(const vly_backend_net *net,
                               const vly_cpu_learning *l, columns *c,
                               uint32_t *words)
{
    bool nearest = (l->flags & VLY_LEARNING_NEAREST) != 0;
    for (uint32_t t = 0; t < 2; t++) {
        if (l->source[t].bursts == 0)
            continue;
        for (uint32_t k = 0; k < l->n_sources; k++) {
            c->after[k] = nearest ? 1.0f : l->before[t][k] + 1.0f;
            c->ages[k] = (uint32_t)net->burst - l->arrived[k];
        }
        words =
            write_trace(&l->source[t], l->n_sources, c->after, c->ages, words);
    }
    return words;
}

/* The newest spike that the synapses have seen. */
static uint64_t seen(const vly_backend_net *net, const vly_cpu_learning *l,
                     uint32_t i)
{
    uint64_t ring = (uint64_t)i * (l->mask + 1);
    uint32_t at = l->count[i] - 1;
    while ((int32_t)((uint32_t)net->burst - l->post[ring + (at & l->mask)]) < 1)
        at--;
    return ring + (at & l->mask);
}

static uint32_t *write_targets(const vly_backend_net *net,
                               const vly_cpu_learning *l, columns *c,
                               uint32_t *words)
{
    bool nearest = (l->flags & VLY_LEARNING_NEAREST) != 0;
    for (uint32_t t = 0; t < 2; t++) {
        if (l->target[t].bursts == 0)
            continue;
        for (uint32_t i = 0; i < l->n_targets; i++) {
            uint64_t at = seen(net, l, i);
            c->after[i] = nearest ? 1.0f : l->post_before[t][at] + 1.0f;
            c->ages[i] = (uint32_t)net->burst - l->post[at];
        }
        words =
            write_trace(&l->target[t], l->n_targets, c->after, c->ages, words);
    }
    return words;
}

static vly_status columns_create(vly_common_heap *heap,
                                 const vly_backend_net *net, columns *c,
                                 vly_error *error)
{
    vly_status status = VLY_OK;
    uint32_t n = net->desc->n_neurons;
    VLY_TRY(vly_common_alloc(heap, n, sizeof(float), &c->after, error));
    VLY_TRY(vly_common_alloc(heap, n, sizeof(uint32_t), &c->ages, error));
out:
    return status;
}

vly_status vly_cpu_learning_save(vly_backend_net *net, uint32_t *words,
                                 vly_error *error)
{
    vly_common_heap heap = {.bytes = 0};
    columns c = {0};
    vly_status status = VLY_OK;
    VLY_TRY(columns_create(&heap, net, &c, error));
    vly_cpu_learning_flush(net);
    for (uint32_t n = 0; n < net->n_learning; n++) {
        const vly_cpu_learning *l = &net->learning[n];
        uint64_t n_synapses = l->projection->row[l->n_sources];
        if (n_synapses > 0)
            memcpy(words, l->master, n_synapses * sizeof *words);
        words = write_sources(net, l, &c, words + n_synapses);
        words = write_targets(net, l, &c, words);
    }
out:
    vly_common_release_all(&heap);
    return status;
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
    columns c = {0};
    uint32_t *traces = NULL;
    uint64_t most = 0;
    uint64_t at = 0;
    vly_status status = VLY_OK;
    for (uint32_t n = 0; n < net->n_learning; n++) {
        const vly_cpu_learning *l = &net->learning[n];
        uint64_t words = 4 * ((uint64_t)l->n_sources + l->n_targets);
        most = words > most ? words : most;
    }
    VLY_TRY(columns_create(&heap, net, &c, error));
    VLY_TRY(vly_common_alloc(&heap, most, sizeof *traces, &traces, error));
    vly_cpu_learning_flush(net);
    for (uint32_t n = 0; n < net->n_learning; n++) {
        const vly_cpu_learning *l = &net->learning[n];
        uint64_t n_synapses = l->projection->row[l->n_sources];
        *digest += digest_words(l->master, n_synapses, at);
        at += n_synapses;
        uint32_t *end = write_sources(net, l, &c, traces);
        end = write_targets(net, l, &c, end);
        *digest += digest_words(traces, (uint64_t)(end - traces), at);
        at += (uint64_t)(end - traces);
    }
out:
    vly_common_release_all(&heap);
    return status;
}

/* ---- weights ------------------------------------------------------------ */

static vly_status find(const vly_backend_net *net, uint32_t projection,
                       vly_cpu_learning **l, vly_error *error)
{
    if (projection >= net->n_projections ||
        !net->projections[projection].learning)
        return vly_support_fail(error, VLY_E_INVALID,
                                "projection %u does not learn", projection);
    *l = net->projections[projection].learning;
    return VLY_OK;
}

static vly_status find_range(const vly_backend_net *net, uint32_t projection,
                             uint64_t first, uint64_t count,
                             vly_cpu_learning **l, vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(find(net, projection, l, error));
    uint64_t n = (*l)->projection->row[(*l)->n_sources];
    if (first > n || count > n - first)
        return vly_support_fail(
            error, VLY_E_INVALID,
            "map %s: %llu weights from %llu, but there are "
            "%llu",
            (*l)->projection->map, (unsigned long long)count,
            (unsigned long long)first, (unsigned long long)n);
out:
    return status;
}

vly_status vly_cpu_learning_read(vly_backend_net *net, uint32_t projection,
                                 uint64_t first, uint64_t count,
                                 int32_t *masters, vly_error *error)
{
    vly_cpu_learning *l = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(find_range(net, projection, first, count, &l, error));
    vly_cpu_learning_flush(net);
    if (count > 0)
        memcpy(masters, l->master + first, count * sizeof *masters);
out:
    return status;
}

vly_status vly_cpu_learning_write(vly_backend_net *net, uint32_t projection,
                                  uint64_t first, uint64_t count,
                                  const int32_t *masters, vly_error *error)
{
    vly_cpu_learning *l = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(find_range(net, projection, first, count, &l, error));
    for (uint64_t i = 0; i < count; i++)
        if (masters[i] < 0 || (uint32_t)masters[i] > l->desc->most)
            return vly_support_fail(error, VLY_E_INVALID,
                                    "map %s: weight %d of synapse %llu, wanted "
                                    "0 to %u",
                                    l->projection->map, masters[i],
                                    (unsigned long long)(first + i),
                                    l->desc->most);
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
    vly_cpu_learning *l = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(find(net, projection, &l, error));
    if (learning->n_coefs != l->desc->n_coefs)
        return vly_support_fail(
            error, VLY_E_INVALID, "map %s: %u coefficients, wanted %u",
            l->projection->map, learning->n_coefs, l->desc->n_coefs);
    vly_cpu_learning_flush(net);
    memcpy(l->coefs, learning->coefs, learning->n_coefs * sizeof *l->coefs);
    const uint32_t frozen = VLY_LEARNING_FROZEN;
    l->flags = (l->flags & ~frozen) | (learning->flags & frozen);
out:
    return status;
}
