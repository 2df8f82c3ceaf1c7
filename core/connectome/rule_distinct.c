/* SPDX-License-Identifier: Apache-2.0
 * fixed_total_number without multiple connections: exactly `count` different
 * pairs out of n_pairs, the same for any order of work.
 *
 * Up to 2^20 pairs: Floyd's algorithm over the pairs (Bentley and Floyd 1987,
 * doi:10.1145/30401.315746), marked in a bitmap; exactly uniform. Above: pair
 * number k is that of a keyed permutation of [0, n_pairs), so all are different
 * and each k is computed independently. The permutation is a Feistel network of
 * 8 rounds (Luby and Rackoff 1988, doi:10.1137/0217022; mix64 as the round
 * function, keys drawn) on the next power of two, walked until it is below
 * n_pairs (Black and Rogaway 2002, doi:10.1007/3-540-45760-7_9).
 */
#include "connectome/synapse_rules.h"

#include "base/error.h"
#include "base/memory.h"

#define FLOYD_PAIRS (UINT64_C(1) << 20)
#define ROUNDS 8

uint64_t vly_rule_pairs(const vly_rule_job *job)
{
    return (uint64_t)job->n_from * (job->n_to - (job->no_self ? 1 : 0)) -
           job->shared.n_pairs;
}

/* Shared pairs before a place. */
static uint64_t shared_before(const vly_shared *shared, uint64_t place)
{
    uint64_t low = 0;
    uint64_t high = shared->n_pairs;
    while (low < high) {
        uint64_t middle = (low + high) / 2;
        if (shared->pairs[middle] < place)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

uint64_t vly_pair_number(const vly_rule_job *job, uint64_t place)
{
    if (!job->no_self)
        return place - shared_before(&job->shared, place);
    /* one pair less in each row */
    uint64_t source = place / job->n_to;
    return place - source - (place % job->n_to > source);
}

/* Shared pair k has k shared ones before it, so pairs[k] - k allowed ones. */
uint64_t vly_pair_place(const vly_rule_job *job, uint64_t number)
{
    const vly_shared *shared = &job->shared;
    uint64_t low = 0;
    uint64_t high = shared->n_pairs;
    if (job->no_self) {
        uint64_t source = number / (job->n_to - 1);
        uint64_t target = number % (job->n_to - 1);
        return source * job->n_to + target + (target >= source);
    }
    while (low < high) {
        uint64_t middle = (low + high) / 2;
        if (shared->pairs[middle] - middle <= number)
            low = middle + 1;
        else
            high = middle;
    }
    return number + low;
}

vly_status vly_distinct_init(vly_rule_job *job, uint64_t n_pairs,
                             vly_error *error)
{
    if (n_pairs > FLOYD_PAIRS)
        return VLY_OK;
    size_t n_words = (size_t)(n_pairs / 64 + 1);
    uint64_t *chosen = vly_calloc(n_words, sizeof(*chosen));
    if (!chosen)
        return vly_fail_nomem(error, n_words * sizeof(*chosen), "a rule");
    for (uint64_t i = 0; i < job->pair->count; i++) {
        uint64_t newest = n_pairs - job->pair->count + i;
        uint64_t at = vly_below(vly_draws_word(&job->source_draws, i),
                                (uint32_t)newest + 1);
        if (chosen[at / 64] >> (at % 64) & 1)
            at = newest;
        chosen[at / 64] |= UINT64_C(1) << (at % 64);
    }
    job->chosen = chosen;
    return VLY_OK;
}

uint64_t vly_distinct_pair(const vly_rule_job *job, uint64_t k,
                           uint64_t n_pairs)
{
    uint32_t bits = 2;
    while (bits < 64 && (n_pairs - 1) >> bits != 0)
        bits++;
    uint32_t low_bits = bits / 2;
    uint32_t high_bits = bits - low_bits;
    uint64_t key =
        (uint64_t)job->source_draws.name[1] << 32 | job->source_draws.name[0];
    key = vly_mix64(key ^ vly_mix64(job->source_draws.seed));
    do {
        uint64_t low = k & ((UINT64_C(1) << low_bits) - 1);
        uint64_t high = k >> low_bits;
        for (uint32_t round = 0; round < ROUNDS; round += 2) {
            high ^= vly_mix64(vly_mix64(key + round) ^ low) >> (64 - high_bits);
            low ^=
                vly_mix64(vly_mix64(key + round + 1) ^ high) >> (64 - low_bits);
        }
        k = high << low_bits | low;
    } while (k >= n_pairs);
    return k;
}
