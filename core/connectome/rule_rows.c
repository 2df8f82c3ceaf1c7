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

uint32_t vly_one_row(const vly_rule_job *job, uint32_t source,
                     uint32_t *targets)
{
    if (vly_own_target(job, source) == source)
        return 0;
    if (targets)
        targets[0] = source;
    return 1;
}

uint32_t vly_all_row(const vly_rule_job *job, uint32_t source,
                     uint32_t *targets)
{
    const uint32_t own = vly_own_target(job, source);
    uint32_t n = 0;
    if (!targets)
        return job->n_to - (own != VLY_NO_NEURON ? 1 : 0);
    for (uint32_t target = 0; target < job->n_to; target++)
        if (target != own)
            targets[n++] = target;
    return n;
}

vly_status vly_bernoulli_init(vly_rule_job *job, const vly_genome *genome,
                              vly_error *error)
{
    (void)genome;
    (void)error;
    job->log_miss = vly_log1p(-job->pair->p);
    return VLY_OK;
}

static uint32_t jump_misses(const vly_rule_job *job, uint32_t source,
                            uint32_t *targets)
{
    vly_run_of_words words = {.draws = &job->source_draws, .index = source};
    const uint32_t own = vly_own_target(job, source);
    uint32_t n_to = job->n_to - (own != VLY_NO_NEURON ? 1 : 0);
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
            targets[n] = target >= own ? target + 1 : target;
        n++;
    }
}

uint32_t vly_bernoulli_row(const vly_rule_job *job, uint32_t source,
                           uint32_t *targets)
{
    return job->pair->p >= 1.0 ? vly_all_row(job, source, targets)
                               : jump_misses(job, source, targets);
}

uint32_t vly_chosen_row(const vly_rule_job *job, uint32_t source,
                        uint32_t *targets)
{
    const uint32_t own = vly_own_target(job, source);
    uint32_t n_to = job->n_to - (own != VLY_NO_NEURON ? 1 : 0);
    uint64_t first = vly_pair_number(job, (uint64_t)source * job->n_to);
    uint32_t n = 0;
    for (uint32_t target = 0; target < n_to; target++) {
        uint64_t at = first + target;
        if (!(job->chosen[at / 64] >> (at % 64) & 1))
            continue;
        if (targets)
            targets[n] = target >= own ? target + 1 : target;
        n++;
    }
    return n;
}

bool vly_rule_by_rows(const vly_rule_job *job)
{
    return job->chosen || !vly_rule_is(job->pair->rule, VLY_TRAIT_DRAWS_PAIRS);
}

static vly_rule_row_function *const rows[VLY_RULES] = {
#define VLY_RULE_ROW(id, function) [VLY_RULE_##id] = function,
#include "genome/rules/rules.def"
};

uint32_t vly_rule_row(const vly_rule_job *job, uint32_t source,
                      uint32_t *targets)
{
    return rows[job->pair->rule](job, source, targets);
}
