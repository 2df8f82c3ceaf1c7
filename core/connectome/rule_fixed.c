/* SPDX-License-Identifier: Apache-2.0
 * Rules that draw pairs: fixed_total_number, fixed_in_degree and
 * fixed_out_degree.
 *
 * fixed_total_number: synapse k has source below(word k of ":source", n_from)
 * and target below(word k of ":target", n_to). If a neuron may not connect to
 * itself, the target is drawn from one neuron less and skips the source: every
 * allowed pair has the same probability and no draw is repeated.
 * fixed_in_degree: target t has a sequence of words of its own (c1 = t); the
 * same skip. Without multiple connections: Floyd's algorithm (Bentley and Floyd
 * 1987, doi:10.1145/30401.315746). fixed_out_degree is the same from the other
 * side, with the words of ":target" and c1 = source.
 */
#include "connectome/synapse_rules.h"

static vly_rule_size size_of(const vly_rule_job *job)
{
    return vly_rules[job->pair->rule].size;
}

uint64_t vly_rule_elements(const vly_rule_job *job)
{
    switch (size_of(job)) {
    case VLY_SIZE_IN_DEGREE:
        return job->n_to;
    case VLY_SIZE_OUT_DEGREE:
        return job->n_from;
    default:
        return job->pair->count;
    }
}

uint64_t vly_rule_draws(const vly_rule_job *job)
{
    return size_of(job) == VLY_SIZE_IN_DEGREE
               ? (uint64_t)job->n_to * job->pair->in_degree
               : job->pair->count;
}

uint32_t vly_rule_stamps(const vly_rule_job *job)
{
    if (job->pair->multiple)
        return 0;
    if (size_of(job) == VLY_SIZE_OUT_DEGREE)
        return job->n_to;
    return size_of(job) == VLY_SIZE_IN_DEGREE ? job->n_from : 0;
}

bool vly_degrees_plain(const vly_rule_job *job)
{
    return size_of(job) == VLY_SIZE_IN_DEGREE && job->pair->multiple &&
           !job->degrees && job->pair->in_degree > 0 &&
           job->n_to <= UINT32_C(1) << 30; /* words: 2^64 */
}

bool vly_rule_ascends(const vly_rule_job *job)
{
    return size_of(job) == VLY_SIZE_IN_DEGREE;
}

/* Where only some sources are targets too, one pair out of all allowed ones,
 * by both words: so each has the same probability. */
static void draw_shared(const vly_rule_job *job, uint64_t first, uint32_t n,
                        uint32_t *sources, uint32_t *targets)
{
    const uint64_t n_pairs = vly_rule_pairs(job);
    uint32_t low[VLY_WORDS];
    vly_draws_fill(&job->source_draws, first, n, sources);
    vly_draws_fill(&job->target_draws, first, n, low);
    for (uint32_t i = 0; i < n; i++) {
        uint64_t number = vly_below_64(sources[i], low[i], n_pairs);
        uint64_t place = vly_pair_place(job, number);
        sources[i] = (uint32_t)(place / job->n_to);
        if (targets)
            targets[i] = (uint32_t)(place % job->n_to);
    }
}

static void draw_total(const vly_rule_job *job, uint64_t first, uint32_t n,
                       uint32_t *sources, uint32_t *targets)
{
    uint32_t n_from = job->n_from;
    uint32_t n_to = job->n_to - (job->no_self ? 1 : 0);
    vly_draws_fill(&job->source_draws, first, n, sources);
    for (uint32_t i = 0; i < n; i++)
        sources[i] = vly_below(sources[i], n_from);
    if (!targets)
        return;
    vly_draws_fill(&job->target_draws, first, n, targets);
    for (uint32_t i = 0; i < n; i++) {
        targets[i] = vly_below(targets[i], n_to);
        targets[i] += job->no_self && targets[i] >= sources[i];
    }
}

static void draw_distinct(const vly_rule_job *job, uint64_t first, uint32_t n,
                          uint32_t *sources, uint32_t *targets)
{
    uint64_t n_pairs = vly_rule_pairs(job);
    for (uint32_t i = 0; i < n; i++) {
        uint64_t number = vly_distinct_pair(job, first + i, n_pairs);
        uint64_t place = vly_pair_place(job, number);
        sources[i] = (uint32_t)(place / job->n_to);
        if (targets)
            targets[i] = (uint32_t)(place % job->n_to);
    }
}

/* One target after another; each begins its own sequence of words. */
static void draw_in_degree(const vly_rule_job *job, uint64_t first, uint32_t n,
                           uint32_t *sources, uint32_t *targets)
{
    uint32_t degree = job->pair->in_degree;
    uint32_t target = (uint32_t)(first / degree);
    uint32_t word = (uint32_t)(first % degree);
    uint32_t words[VLY_WORDS];
    for (uint32_t i = 0; i < n;) {
        uint32_t skip = word & 3; /* words come in blocks of four */
        uint32_t take = degree - word < n - i ? degree - word : n - i;
        if (take > VLY_WORDS - skip)
            take = VLY_WORDS - skip;
        vly_draws_fill(&job->source_draws,
                       ((uint64_t)target << 34) + word - skip, skip + take,
                       words);
        const uint32_t own = vly_own_source(job, target);
        const uint32_t n_from = job->n_from - (own != VLY_NO_NEURON ? 1 : 0);
        vly_words_below(words + skip, take, n_from, own, sources + i);
        for (uint32_t k = 0; targets && k < take; k++)
            targets[i + k] = target;
        i += take;
        word += take;
        if (word == degree) {
            word = 0;
            target++;
        }
    }
}

void vly_rule_draw(const vly_rule_job *job, uint64_t first, uint32_t n,
                   uint32_t sources[VLY_WORDS], uint32_t targets[VLY_WORDS])
{
    if (size_of(job) == VLY_SIZE_IN_DEGREE) {
        draw_in_degree(job, first, n, sources, targets);
        return;
    }
    if (!job->pair->multiple)
        draw_distinct(job, first, n, sources, targets);
    else if (job->shared.n_pairs)
        draw_shared(job, first, n, sources, targets);
    else
        draw_total(job, first, n, sources, targets);
}

/* The same with a clip. */
static void emit_part(const vly_rule_job *job, uint32_t source, uint32_t target,
                      uint32_t *cursor, const uint64_t *row, uint32_t *targets)
{
    const vly_clip *clip = job->clip;
    const size_t place = (target >= clip->lo ? 1u : 0u) + //
                         (target >= clip->hi ? 1u : 0u);
    if (!targets && clip->heads)
        atomic_fetch_add_explicit(&clip->heads[target], 1,
                                  memory_order_relaxed);
    if (targets && place != 1)
        return;
    uint32_t k = cursor[place * job->n_from + source]++;
    if (targets)
        targets[row[source] + k] = target;
}

static inline void emit(const vly_rule_job *job, uint32_t source,
                        uint32_t target, uint32_t *cursor, const uint64_t *row,
                        uint32_t *targets)
{
    if (job->clip) {
        emit_part(job, source, target, cursor, row, targets);
        return;
    }
    uint32_t k = cursor[source]++;
    if (targets)
        targets[row[source] + k] = target;
}

/* Draws [first, last) of vly_rule_draw; a count needs targets only to see which
 * part they are in. */
static void part_draws(const vly_rule_job *job, uint64_t first, uint64_t last,
                       uint32_t *cursor, const uint64_t *row, uint32_t *targets)
{
    uint32_t sources[VLY_WORDS];
    uint32_t others[VLY_WORDS];
    const bool both = targets || job->clip;
    for (uint64_t k = first; k < last; k += VLY_WORDS) {
        uint32_t n = last - k < VLY_WORDS ? (uint32_t)(last - k) : VLY_WORDS;
        vly_rule_draw(job, k, n, sources, both ? others : NULL);
        for (uint32_t i = 0; i < n; i++)
            emit(job, sources[i], both ? others[i] : 0, cursor, row, targets);
    }
}

/* The drawn end of synapse i of `degree`, among n neurons: chosen by the word,
 * or by Floyd's algorithm a neuron that does not yet carry `mark` (nonzero,
 * different for each fixed end). */
static inline uint32_t other_end(const vly_rule_job *job, uint32_t word,
                                 uint32_t i, uint32_t degree, uint32_t n,
                                 uint32_t mark, uint32_t *stamps)
{
    if (job->pair->multiple)
        return vly_below(word, n);
    uint32_t newest = n - degree + i;
    uint32_t end = vly_below(word, newest + 1);
    if (stamps[end] == mark)
        end = newest;
    stamps[end] = mark;
    return end;
}

static void one_in_degree(const vly_rule_job *job, uint32_t target,
                          uint32_t *cursor, uint32_t *stamps,
                          const uint64_t *row, uint32_t *targets)
{
    vly_run_of_words words = {.draws = &job->source_draws, .index = target};
    const uint32_t own = vly_own_source(job, target);
    uint32_t n = job->n_from - (own != VLY_NO_NEURON ? 1 : 0);
    uint32_t degree = vly_degree_of(job, target);
    for (uint32_t i = 0; i < degree; i++) {
        uint32_t source = other_end(job, vly_next_word(&words), i, degree, n,
                                    target + 1, stamps);
        source += source >= own;
        emit(job, source, target, cursor, row, targets);
    }
}

static void one_out_degree(const vly_rule_job *job, uint32_t source,
                           uint32_t *cursor, uint32_t *stamps,
                           const uint64_t *row, uint32_t *targets)
{
    vly_run_of_words words = {.draws = &job->target_draws, .index = source};
    const uint32_t own = vly_own_target(job, source);
    uint32_t n = job->n_to - (own != VLY_NO_NEURON ? 1 : 0);
    uint32_t degree = vly_degree_of(job, source);
    if (!targets && !job->clip) { /* counting needs no draw */
        cursor[source] += degree;
        return;
    }
    for (uint32_t i = 0; i < degree; i++) {
        uint32_t target = other_end(job, vly_next_word(&words), i, degree, n,
                                    source + 1, stamps);
        target += target >= own;
        emit(job, source, target, cursor, row, targets);
    }
}

void vly_rule_part(const vly_rule_job *job, uint64_t first, uint64_t last,
                   uint32_t *cursor, uint32_t *stamps, const uint64_t *row,
                   uint32_t *targets)
{
    vly_rule_size size = size_of(job);
    if (size == VLY_SIZE_COUNT) {
        part_draws(job, first, last, cursor, row, targets);
        return;
    }
    if (job->clip && vly_degrees_plain(job)) {
        const uint32_t degree = job->pair->in_degree;
        part_draws(job, first * degree, last * degree, cursor, row, targets);
        return;
    }
    for (uint64_t k = first; k < last; k++)
        if (size == VLY_SIZE_IN_DEGREE)
            one_in_degree(job, (uint32_t)k, cursor, stamps, row, targets);
        else
            one_out_degree(job, (uint32_t)k, cursor, stamps, row, targets);
}
