/* SPDX-License-Identifier: Apache-2.0
 * Rules that draw pairs: fixed_total_number and fixed_in_degree.
 *
 * fixed_total_number: synapse k has source below(word k of ":source", n_from)
 * and target below(word k of ":target", n_to). Where a neuron may not connect
 * to itself the target is drawn from one neuron less and skips the source, so
 * that every allowed pair has the same probability and nothing is drawn again.
 * fixed_in_degree: target t has a sequence of words of its own (c1 = t); the
 * same skip. Without multiple connections: Floyd's algorithm (Bentley and
 * Floyd 1987, doi:10.1145/30401.315746).
 */
#include "connectome/synapse_rules.h"

uint64_t vly_rule_elements(const vly_rule_job *job)
{
    return job->pair->rule == VLY_RULE_FIXED_IN_DEGREE ? job->n_to
                                                       : job->pair->count;
}

bool vly_rule_ascends(const vly_rule_job *job)
{
    return job->pair->rule == VLY_RULE_FIXED_IN_DEGREE;
}

static inline void emit(uint32_t source, uint32_t target, uint32_t *cursor,
                        const uint64_t *row, uint32_t *targets)
{
    uint32_t k = cursor[source]++;
    if (targets)
        targets[row[source] + k] = target;
}

/* Pass 1 needs no targets, and so draws none. */
static void count_total(const vly_rule_job *job, uint64_t first, uint64_t last,
                        uint32_t *cursor)
{
    uint32_t n_from = job->n_from;
    uint64_t k = first;
    for (; k + 4 <= last; k += 4) {
        vly_philox words = vly_draws_block(&job->source_draws, k >> 2);
        for (int i = 0; i < 4; i++)
            cursor[vly_below(words.w[i], n_from)]++;
    }
    for (; k < last; k++)
        cursor[vly_below(vly_draws_word(&job->source_draws, k), n_from)]++;
}

static void fill_total(const vly_rule_job *job, uint64_t first, uint64_t last,
                       uint32_t *cursor, const uint64_t *row, uint32_t *targets)
{
    uint32_t n_from = job->n_from;
    uint32_t n_to = job->n_to - (job->no_self ? 1 : 0);
    for (uint64_t k = first; k < last; k += 4) {
        vly_philox sources = vly_draws_block(&job->source_draws, k >> 2);
        vly_philox others = vly_draws_block(&job->target_draws, k >> 2);
        uint32_t n = last - k < 4 ? (uint32_t)(last - k) : 4;
        for (uint32_t i = 0; i < n; i++) {
            uint32_t source = vly_below(sources.w[i], n_from);
            uint32_t target = vly_below(others.w[i], n_to);
            if (job->no_self && target >= source)
                target++;
            emit(source, target, cursor, row, targets);
        }
    }
}

static void part_distinct(const vly_rule_job *job, uint64_t first,
                          uint64_t last, uint32_t *cursor, const uint64_t *row,
                          uint32_t *targets)
{
    uint64_t n_pairs = vly_rule_pairs(job);
    uint32_t n_to = job->n_to - (job->no_self ? 1 : 0);
    for (uint64_t k = first; k < last; k++) {
        uint64_t at = vly_distinct_pair(job, k, n_pairs);
        uint32_t source = (uint32_t)(at / n_to);
        uint32_t target = (uint32_t)(at % n_to);
        if (job->no_self && target >= source)
            target++;
        emit(source, target, cursor, row, targets);
    }
}

/* stamps[s] == target + 1: s is already a source of target. */
static void one_in_degree(const vly_rule_job *job, uint32_t target,
                          uint32_t *cursor, uint32_t *stamps,
                          const uint64_t *row, uint32_t *targets)
{
    vly_run_of_words words = {.draws = &job->source_draws, .index = target};
    uint32_t n = job->n_from - (job->no_self ? 1 : 0);
    uint32_t degree = job->pair->in_degree;
    for (uint32_t i = 0; i < degree; i++) {
        uint32_t word = vly_next_word(&words);
        uint32_t source;
        if (job->pair->multiple) {
            source = vly_below(word, n);
        } else {
            uint32_t newest = n - degree + i;
            source = vly_below(word, newest + 1);
            if (stamps[source] == target + 1)
                source = newest;
            stamps[source] = target + 1;
        }
        if (job->no_self && source >= target)
            source++;
        emit(source, target, cursor, row, targets);
    }
}

void vly_rule_part(const vly_rule_job *job, uint64_t first, uint64_t last,
                   uint32_t *cursor, uint32_t *stamps, const uint64_t *row,
                   uint32_t *targets)
{
    if (job->pair->rule == VLY_RULE_FIXED_IN_DEGREE) {
        for (uint64_t t = first; t < last; t++)
            one_in_degree(job, (uint32_t)t, cursor, stamps, row, targets);
    } else if (!job->pair->multiple) {
        part_distinct(job, first, last, cursor, row, targets);
    } else if (targets) {
        fill_total(job, first, last, cursor, row, targets);
    } else {
        count_total(job, first, last, cursor);
    }
}
