/* SPDX-License-Identifier: Apache-2.0
 * See second_pools.h.
 */
#include "second_pools.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "second_joined.h"

typedef struct pool_check {
    const vly_genome *genome;
    const vly_pool *pool;
    const vly_pair *pair; /* the first */
    uint32_t *count;      /* [from.n_neurons][to.n_neurons] synapses */
    uint64_t n;
} pool_check;

typedef struct neuron {
    uint32_t area;
    uint32_t index;
    uint32_t part;
} neuron;

static neuron neuron_at(const vly_end *end, uint32_t place)
{
    neuron found = {0, 0, 0};
    while (place >= end->parts[found.part].n)
        place -= end->parts[found.part++].n;
    found.area = end->parts[found.part].area;
    found.index = end->parts[found.part].first + place;
    return found;
}

static uint32_t begin_of(const vly_end *end, uint32_t part)
{
    uint32_t at = 0;
    for (uint32_t i = 0; i < part; i++)
        at += end->parts[i].n;
    return at;
}

static uint32_t count_at(const pool_check *c, uint32_t f, uint32_t t)
{
    return c->count[(size_t)f * c->pool->to.n_neurons + t];
}

/* Adds the synapses of one pair; NULL or what is wrong with them. */
static const char *add_pair(pool_check *c, const vly_pair *pair,
                            const second_joined *joined)
{
    const vly_part *from = &c->pool->from.parts[pair->from_part];
    const vly_part *to = &c->pool->to.parts[pair->to_part];
    const uint32_t target_0 = c->genome->areas[to->area].first + to->first;
    const uint32_t n_sources = c->genome->areas[from->area].n_neurons;
    if (pair->from != from->area || pair->to != to->area)
        return "areas of a pair";
    for (uint32_t k = 0; k < n_sources; k++)
        for (uint64_t i = joined->row[k]; i < joined->row[k + 1]; i++) {
            uint32_t t = joined->target[i] - target_0;
            if (k < from->first || k - from->first >= from->n)
                return "source outside its part";
            if (joined->target[i] < target_0 || t >= to->n)
                return "target outside its part";
            if (i > joined->row[k] && joined->target[i] < joined->target[i - 1])
                return "order of targets";
            uint32_t f = begin_of(&c->pool->from, pair->from_part) + k;
            t += begin_of(&c->pool->to, pair->to_part);
            c->count[(size_t)(f - from->first) * c->pool->to.n_neurons + t]++;
            c->n++;
        }
    return NULL;
}

/* Whether a pair of neurons may have so many synapses. */
static bool cell_right(const pool_check *c, uint32_t f, uint32_t t)
{
    const vly_pair *pair = c->pair;
    neuron a = neuron_at(&c->pool->from, f);
    neuron b = neuron_at(&c->pool->to, t);
    bool own = a.area == b.area && a.index == b.index && !pair->self;
    uint32_t n = count_at(c, f, t);
    switch (pair->rule) {
    case VLY_RULE_ALL_TO_ALL:
        return n == !own;
    case VLY_RULE_ONE_TO_ONE:
        return n == (f == t && !own);
    case VLY_RULE_PAIRWISE_BERNOULLI:
        return n <= 1 && !(own && n);
    default:
        return !(own && n) && (pair->multiple || n <= 1);
    }
}

static uint64_t sum_of(const pool_check *c, bool of_target, uint32_t k)
{
    const uint32_t n =
        of_target ? c->pool->from.n_neurons : c->pool->to.n_neurons;
    uint64_t sum = 0;
    for (uint32_t i = 0; i < n; i++)
        sum += of_target ? count_at(c, i, k) : count_at(c, k, i);
    return sum;
}

bool second_degree_allowed(const vly_pair *pair, uint64_t n)
{
    const vly_value *degree = &pair->degree;
    double lo = degree->clipped ? degree->clip_lo : degree->a;
    double hi = degree->clipped ? degree->clip_hi : degree->b;
    if (degree->kind == VLY_VALUE_NUMBER)
        return n == (pair->rule == VLY_RULE_FIXED_IN_DEGREE ? pair->in_degree
                                                            : pair->out_degree);
    return (double)n >= floor(lo + 0.5) && (double)n <= floor(hi + 0.5);
}

/* Normal and uniform laws; 7 standard deviations, whose square is at most a
 * quarter of that of the range. A clip of a normal is even in the tests. */
bool second_degrees_likely(const vly_pair *pair, uint64_t sum,
                           uint64_t n_neurons)
{
    const vly_value *degree = &pair->degree;
    double lo = degree->clipped ? degree->clip_lo : degree->a;
    double hi = degree->clipped ? degree->clip_hi : degree->b;
    double n = (double)n_neurons;
    if (degree->kind != VLY_VALUE_NORMAL && degree->kind != VLY_VALUE_UNIFORM)
        return true;
    return fabs((double)sum - n * 0.5 * (lo + hi)) <=
           7 * sqrt(n) * 0.5 * (hi - lo) + 1;
}

static bool degrees_drawn(const pool_check *c, bool of_target)
{
    const uint32_t n =
        of_target ? c->pool->to.n_neurons : c->pool->from.n_neurons;
    for (uint32_t k = 0; k < n; k++)
        if (!second_degree_allowed(c->pair, sum_of(c, of_target, k)))
            return false;
    return second_degrees_likely(c->pair, c->n, n);
}

static bool degrees_are(const pool_check *c, bool of_target, uint32_t degree)
{
    const uint32_t n =
        of_target ? c->pool->to.n_neurons : c->pool->from.n_neurons;
    for (uint32_t k = 0; k < n; k++)
        if (sum_of(c, of_target, k) != degree)
            return false;
    return true;
}

/* Within 7 standard deviations: seeds are fixed, so it does not vary. */
static bool likely(const pool_check *c)
{
    double pairs =
        (double)c->pool->from.n_neurons * (double)c->pool->to.n_neurons;
    double own = 0;
    for (uint32_t f = 0; f < c->pool->from.n_neurons && !c->pair->self; f++)
        for (uint32_t t = 0; t < c->pool->to.n_neurons; t++) {
            neuron a = neuron_at(&c->pool->from, f);
            neuron b = neuron_at(&c->pool->to, t);
            own += a.area == b.area && a.index == b.index;
        }
    double mean = c->pair->p * (pairs - own);
    return fabs((double)c->n - mean) <= 7 * sqrt(mean * (1 - c->pair->p)) + 1;
}

static const char *numbers_wrong(const pool_check *c)
{
    const vly_pair *pair = c->pair;
    bool right = true;
    switch (pair->rule) {
    case VLY_RULE_FIXED_TOTAL_NUMBER:
        right = c->n == pair->count;
        break;
    case VLY_RULE_FIXED_IN_DEGREE:
        right = degrees_drawn(c, true);
        break;
    case VLY_RULE_FIXED_OUT_DEGREE:
        right = degrees_drawn(c, false);
        break;
    case VLY_RULE_PAIRWISE_BERNOULLI:
        right = likely(c);
        break;
    case VLY_RULE_DISTANCE:
        if (pair->space.draw == VLY_SPACE_IN_DEGREE)
            right = degrees_are(c, true, pair->space.degree);
        else if (pair->space.draw == VLY_SPACE_OUT_DEGREE)
            right = degrees_are(c, false, pair->space.degree);
        break;
    default:
        break;
    }
    return right ? NULL : "number of synapses";
}

static const char *pool_wrong(const pool_check *c)
{
    for (uint32_t f = 0; f < c->pool->from.n_neurons; f++)
        for (uint32_t t = 0; t < c->pool->to.n_neurons; t++)
            if (!cell_right(c, f, t))
                return "synapses of a pair of neurons";
    return numbers_wrong(c);
}

bool second_pool_check(const vly_genome *genome,
                       const vly_connectome *connectome, uint32_t index,
                       uint32_t *n)
{
    const vly_pair *pair = &genome->pairs[index];
    const vly_pool *pool = pair->pool;
    pool_check c = {.genome = genome, .pool = pool, .pair = pair};
    const char *why = NULL;
    *n = pool->from.n_parts * pool->to.n_parts;
    c.count = calloc((size_t)pool->from.n_neurons * pool->to.n_neurons,
                     sizeof *c.count);
    if (!c.count)
        return false;
    for (uint32_t i = 0; i < *n && !why; i++) {
        const vly_pair *part = &genome->pairs[index + i];
        second_joined joined;
        if (index + i >= genome->n_pairs || part->pool != pool ||
            part->from_part != i % pool->from.n_parts ||
            part->to_part != i / pool->from.n_parts)
            why = "pairs of parts";
        else if (!second_joined_make(connectome, index + i,
                                     genome->areas[part->from].n_neurons,
                                     &joined))
            why = "memory";
        else
            why = add_pair(&c, part, &joined);
        if (!why || strcmp(why, "pairs of parts") != 0)
            second_joined_free(&joined);
    }
    if (!why)
        why = pool_wrong(&c);
    free(c.count);
    if (why)
        fprintf(stderr, "second pools: map %s, %s -> %s: wrong %s\n", pair->map,
                pool->from.name, pool->to.name, why);
    return why == NULL;
}
