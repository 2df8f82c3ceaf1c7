/* SPDX-License-Identifier: Apache-2.0
 * Rules that give the row of a source at once, targets ascending: one_to_one,
 * all_to_all, pairwise_bernoulli, vectors, and the chosen pairs of
 * rule_distinct.c.
 *
 * pairwise_bernoulli jumps over the misses: the number of them before the next
 * hit is floor(log(u) / log(1 - p)), u of 53 random bits from the source's own
 * sequence of words (c1 = source); Batagelj and Brandes 2005,
 * doi:10.1103/PhysRevE.71.036113.
 */
#include "connectome/synapse_rules.h"

#include "base/number.h"

#define TWO_53_INVERSE (1.0 / 9007199254740992.0)

static uint32_t row_one(const vly_rule_job *job, uint32_t source,
                        uint32_t *targets)
{
    if (job->no_self)
        return 0;
    if (targets)
        targets[0] = source;
    return 1;
}

static uint32_t row_all(const vly_rule_job *job, uint32_t source,
                        uint32_t *targets)
{
    uint32_t n = 0;
    if (!targets)
        return job->n_to - (job->no_self ? 1 : 0);
    for (uint32_t target = 0; target < job->n_to; target++)
        if (!job->no_self || target != source)
            targets[n++] = target;
    return n;
}

static uint32_t row_bernoulli(const vly_rule_job *job, uint32_t source,
                              uint32_t *targets)
{
    vly_run_of_words words = {.draws = &job->source_draws, .index = source};
    uint32_t n_to = job->n_to - (job->no_self ? 1 : 0);
    uint32_t n = 0;
    uint64_t at = 0;
    for (;; at++) {
        uint64_t bits = (uint64_t)vly_next_word(&words) << 32;
        bits = (bits | vly_next_word(&words)) >> 11;
        double u = ((double)bits + 0.5) * TWO_53_INVERSE;
        double misses = vly_log(u) / job->log_miss;
        if (!(misses < (double)(n_to - at)))
            return n;
        at += (uint64_t)misses;
        if (at >= n_to)
            return n;
        uint32_t target = (uint32_t)at;
        if (targets)
            targets[n] = job->no_self && target >= source ? target + 1 : target;
        n++;
    }
}

static uint32_t row_vectors(const vly_rule_job *job, uint32_t source,
                            uint32_t *targets)
{
    uint32_t per_source =
        job->from->has_voxels ? job->from->neurons_per_voxel : 1;
    uint32_t per_target = job->to->has_voxels ? job->to->neurons_per_voxel : 1;
    const uint32_t *size = job->to_voxels;
    uint32_t voxel = source / per_source;
    int64_t z = voxel % job->from_voxels[2];
    int64_t y = voxel / job->from_voxels[2] % job->from_voxels[1];
    int64_t x = voxel / job->from_voxels[2] / job->from_voxels[1];
    uint32_t n = 0;
    for (uint32_t i = 0; i < job->n_vectors; i++) {
        int64_t to[3] = {x + job->vectors[i][0], y + job->vectors[i][1],
                         z + job->vectors[i][2]};
        if (to[0] < 0 || to[0] >= size[0] || to[1] < 0 || to[1] >= size[1] ||
            to[2] < 0 || to[2] >= size[2])
            continue;
        uint32_t first =
            (((uint32_t)to[0] * size[1] + (uint32_t)to[1]) * size[2] +
             (uint32_t)to[2]) *
            per_target;
        for (uint32_t target = first; target < first + per_target; target++) {
            if (job->no_self && target == source)
                continue;
            if (targets)
                targets[n] = target;
            n++;
        }
    }
    return n;
}

static uint32_t row_chosen(const vly_rule_job *job, uint32_t source,
                           uint32_t *targets)
{
    uint32_t n_to = job->n_to - (job->no_self ? 1 : 0);
    uint64_t first = (uint64_t)source * n_to;
    uint32_t n = 0;
    for (uint32_t target = 0; target < n_to; target++) {
        uint64_t at = first + target;
        if (!(job->chosen[at / 64] >> (at % 64) & 1))
            continue;
        if (targets)
            targets[n] = job->no_self && target >= source ? target + 1 : target;
        n++;
    }
    return n;
}

bool vly_rule_by_rows(const vly_rule_job *job)
{
    return job->chosen || (job->pair->rule != VLY_RULE_FIXED_IN_DEGREE &&
                           job->pair->rule != VLY_RULE_FIXED_TOTAL_NUMBER);
}

uint32_t vly_rule_row(const vly_rule_job *job, uint32_t source,
                      uint32_t *targets)
{
    switch (job->pair->rule) {
    case VLY_RULE_ONE_TO_ONE:
        return row_one(job, source, targets);
    case VLY_RULE_ALL_TO_ALL:
        return row_all(job, source, targets);
    case VLY_RULE_PAIRWISE_BERNOULLI:
        return job->pair->p >= 1.0 ? row_all(job, source, targets)
                                   : row_bernoulli(job, source, targets);
    case VLY_RULE_VECTORS:
        return row_vectors(job, source, targets);
    default:
        return row_chosen(job, source, targets);
    }
}
