/* SPDX-License-Identifier: Apache-2.0
 * Rules between parts of areas and pools of them: a rule counts and draws the
 * neurons of the pool, 0 to n - 1 in the order of its parts; then each pair of
 * parts gets the synapses between them, as rows of the whole source area.
 */
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "connectome/connectome_make.h"
#include "connectome/synapse_rules.h"
#include "genome/genome_end.h"

/* ---- neurons that both ends have ---------------------------------------- */

bool vly_pool_same(const vly_pool *pool)
{
    bool same = pool->from.n_parts == pool->to.n_parts;
    for (uint32_t i = 0; same && i < pool->from.n_parts; i++) {
        const vly_part *a = &pool->from.parts[i];
        const vly_part *b = &pool->to.parts[i];
        same = a->area == b->area && a->first == b->first && a->n == b->n;
    }
    return same;
}

/* The place in an end of neuron k of an area, or VLY_NO_NEURON. */
static uint32_t place_in(const vly_end *end, uint32_t area, uint32_t k)
{
    uint32_t at = 0;
    for (uint32_t i = 0; i < end->n_parts; i++) {
        const vly_part *part = &end->parts[i];
        if (part->area == area && k >= part->first && k - part->first < part->n)
            return at + (k - part->first);
        at += part->n;
    }
    return VLY_NO_NEURON;
}

vly_status vly_shared_init(vly_rule_job *job, vly_error *error)
{
    const vly_pool *pool = job->pair->pool;
    vly_shared *shared = &job->shared;
    uint64_t n_words = (uint64_t)job->n_from + job->n_to;
    uint32_t source = 0;
    shared->target = vly_malloc(job->n_from, sizeof(*shared->target));
    shared->source = vly_malloc(job->n_to, sizeof(*shared->source));
    shared->pairs = vly_malloc(job->n_from, sizeof(*shared->pairs));
    if (!shared->target || !shared->source || !shared->pairs)
        return vly_fail_nomem(error, n_words * 4 + job->n_from * UINT64_C(8),
                              "a rule");
    memset(shared->source, 0xff, job->n_to * sizeof(*shared->source));
    for (uint32_t i = 0; i < pool->from.n_parts; i++)
        for (uint32_t k = 0; k < pool->from.parts[i].n; k++, source++) {
            const vly_part *part = &pool->from.parts[i];
            uint32_t target = place_in(&pool->to, part->area, part->first + k);
            shared->target[source] = target;
            if (target == VLY_NO_NEURON)
                continue;
            shared->source[target] = source;
            shared->pairs[shared->n_pairs++] =
                (uint64_t)source * job->n_to + target;
        }
    return VLY_OK;
}

void vly_shared_deinit(vly_shared *shared)
{
    vly_free(shared->target);
    vly_free(shared->source);
    vly_free(shared->pairs);
    *shared = (vly_shared){0};
}

/* ---- rows of the pairs -------------------------------------------------- */

/* Synapses of one pair: targets [first, first + n) of the pool, from the rows
 * of its source part. targets of the pair NULL: only row is filled. */
typedef struct dealt {
    const uint64_t *pool_row; /* of the part's first neuron */
    const uint32_t *pool_targets;
    uint32_t first;
    uint32_t n;
    uint32_t n_sources;
    uint32_t own_first; /* of the part in its area */
    uint32_t shift;     /* from the pool's index to a global id */
} dealt;

static void deal_rows(const dealt *part, uint64_t *row, uint32_t *targets)
{
    for (uint32_t k = 0; k < part->n_sources; k++) {
        const uint64_t end = part->pool_row[k + (size_t)1];
        const uint64_t first = vly_targets_find(
            part->pool_targets, part->pool_row[k], end, part->first);
        uint64_t at = row[part->own_first + (size_t)k];
        uint64_t i = first;
        for (; i < end && part->pool_targets[i] - part->first < part->n; i++)
            if (targets)
                targets[at + (i - first)] = part->pool_targets[i] + part->shift;
        if (!targets)
            row[part->own_first + (size_t)k + 1] = at + (i - first);
    }
}

static vly_status deal_pair(const vly_genome *genome, const dealt *part,
                            vly_made_pair *made, vly_storage *storage,
                            vly_error *error)
{
    const vly_area *from = &genome->areas[made->pair->from];
    const size_t n_rows = (size_t)from->n_neurons + 1;
    uint64_t *row = vly_storage_alloc(storage, n_rows, sizeof(*row), true);
    if (!row)
        return vly_fail_nomem(error, n_rows * 8, "rows of a map");
    deal_rows(part, row, NULL);
    for (size_t k = (size_t)part->own_first + part->n_sources + 1; k < n_rows;
         k++)
        row[k] = row[k - 1];
    made->n_synapses = row[from->n_neurons];
    uint32_t *targets = vly_storage_alloc(storage, (size_t)made->n_synapses,
                                          sizeof(*targets), false);
    if (!targets)
        return vly_fail_nomem(error, made->n_synapses * sizeof(*targets),
                              "targets of a map");
    deal_rows(part, row, targets);
    made->row = row;
    made->target = targets;
    return VLY_OK;
}

vly_status vly_pool_deal(const vly_genome *genome, const uint64_t *row,
                         const uint32_t *targets, struct vly_made_pair *made,
                         uint32_t n, vly_storage *storage, vly_error *error)
{
    vly_status status = VLY_OK;
    for (uint32_t i = 0; i < n; i++) {
        const vly_pair *pair = made[i].pair;
        const vly_part *from = &pair->pool->from.parts[pair->from_part];
        const vly_part *to = &pair->pool->to.parts[pair->to_part];
        dealt part = {
            .pool_row = row + vly_end_place(&pair->pool->from, pair->from_part),
            .pool_targets = targets,
            .first = vly_end_place(&pair->pool->to, pair->to_part),
            .n = to->n,
            .n_sources = from->n,
            .own_first = from->first};
        part.shift = genome->areas[to->area].first + to->first - part.first;
        VLY_TRY(deal_pair(genome, &part, &made[i], storage, error));
    }
out:
    return status;
}
