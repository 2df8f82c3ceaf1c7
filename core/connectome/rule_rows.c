/* SPDX-License-Identifier: Apache-2.0
 * Rules that give the row of a source at once, targets ascending: one_to_one,
 * all_to_all, pairwise_bernoulli, and the chosen pairs of rule_distinct.c.
 * Those between voxels are in rule_voxels.c.
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
                           job->pair->rule != VLY_RULE_FIXED_OUT_DEGREE &&
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
    case VLY_RULE_FILE:
        return vly_file_rule_row(job, source, targets);
    case VLY_RULE_FIXED_TOTAL_NUMBER:
        return row_chosen(job, source, targets);
    default:
        return vly_voxel_row(job, source, targets);
    }
}
