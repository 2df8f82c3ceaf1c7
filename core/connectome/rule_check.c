/* SPDX-License-Identifier: Apache-2.0
 * Preparation of a rule before its first draw: checks that it can be satisfied,
 * makes its sequences of words, sorts its vectors.
 */
#include "connectome/synapse_rules.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/number.h"
#include "connectome/near_neurons.h"
#include "genome/genome_end.h"
#include "genome/genome_space.h"
#include "genome/voxel_rule.h"

#define ROW_MEAN_MAX 2147483648.0 /* cursors have 32 bits */

static int vector_compare(const void *a, const void *b)
{
    const int32_t *left = a;
    const int32_t *right = b;
    for (int i = 0; i < 3; i++)
        if (left[i] != right[i])
            return left[i] < right[i] ? -1 : 1;
    return 0;
}

/* Sorted by x, y, z the targets of any voxel ascend; equal vectors would give
 * a pair twice. */
static vly_status vectors_sort(vly_rule_job *job, vly_error *error)
{
    uint32_t n = job->pair->n_vectors;
    int32_t(*vectors)[3] = vly_malloc(n, sizeof(*vectors));
    if (!vectors)
        return vly_fail_nomem(error, (uint64_t)n * sizeof(*vectors),
                              "a list of vectors");
    if (n)
        memcpy(vectors, job->pair->vectors, n * sizeof(*vectors));
    qsort(vectors, n, sizeof(*vectors), vector_compare);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < n; i++)
        if (i == 0 || vector_compare(vectors[i], vectors[kept - 1]) != 0)
            memmove(vectors[kept++], vectors[i], sizeof(*vectors));
    job->vectors = vectors;
    job->n_vectors = kept;
    return VLY_OK;
}

static void voxels_of(const vly_area *area, uint32_t voxels[3])
{
    for (int i = 0; i < 3; i++)
        voxels[i] = area->has_voxels ? area->voxels[i] : 1;
    if (!area->has_voxels)
        voxels[0] = area->n_neurons;
}

static vly_status refuse(const vly_rule_job *job, const vly_genome *genome,
                         vly_error *error, const char *what, uint64_t found,
                         uint64_t wanted)
{
    char place[VLY_PLACE_BYTES];
    vly_place_print(genome, &job->pair->origin, place);
    return vly_fail(error, VLY_E_PARSE,
                    "%smap %s (%s -> %s): %s is %" PRIu64
                    ", wanted at most %" PRIu64,
                    place, job->pair->map, job->from_name, job->to_name, what,
                    found, wanted);
}

static vly_status rule_possible(const vly_rule_job *job,
                                const vly_genome *genome, vly_error *error)
{
    const vly_pair *pair = job->pair;
    uint32_t less = job->no_self || job->shared.n_pairs ? 1 : 0;
    uint64_t n_pairs = vly_rule_pairs(job);
    if (vly_rule_is(pair->rule, VLY_TRAIT_EQUAL_SIZES) &&
        job->n_from != job->n_to) {
        char place[VLY_PLACE_BYTES];
        vly_place_print(genome, &pair->origin, place);
        return vly_fail(error, VLY_E_PARSE,
                        "%smap %s: %s from %s (%" PRIu32
                        " neurons) to %s (%" PRIu32 "), wanted the same number",
                        place, pair->map, vly_rules[pair->rule].name,
                        job->from_name, job->n_from, job->to_name, job->n_to);
    }
    double a_row = vly_rule_most(genome, pair) / job->n_from;
    if (a_row > ROW_MEAN_MAX)
        return refuse(job, genome, error, "mean number of synapses a source",
                      (uint64_t)a_row, (uint64_t)ROW_MEAN_MAX);
    vly_rule_size size = vly_rules[pair->rule].size;
    if (size == VLY_SIZE_IN_DEGREE) {
        uint64_t sources = job->n_from - less;
        if (pair->in_degree && (!sources || !pair->multiple) &&
            pair->in_degree > sources)
            return refuse(job, genome, error, "in_degree", pair->in_degree,
                          sources);
    }
    if (size == VLY_SIZE_OUT_DEGREE) {
        uint64_t targets = job->n_to - less;
        if (pair->out_degree && (!targets || !pair->multiple) &&
            pair->out_degree > targets)
            return refuse(job, genome, error, "out_degree", pair->out_degree,
                          targets);
    }
    if (size == VLY_SIZE_COUNT) {
        if (pair->count && (!n_pairs || !pair->multiple) &&
            pair->count > n_pairs)
            return refuse(job, genome, error, "count", pair->count, n_pairs);
    }
    return VLY_OK;
}

static vly_rule_init_function *const inits[VLY_RULES] = {
#define VLY_RULE_INIT(id, function) [VLY_RULE_##id] = function,
#include "genome/rules/rules.def"
};

/* Sizes and names of the ends, and which neurons they have in common. */
static vly_status ends_init(vly_rule_job *job, const vly_genome *genome,
                            vly_error *error)
{
    const vly_pair *pair = job->pair;
    const vly_pool *pool = pair->pool;
    job->n_from = vly_pair_sources(genome, pair);
    job->n_to = vly_pair_targets(genome, pair);
    job->from_name = pool ? pool->from.name : job->from->name;
    job->to_name = pool ? pool->to.name : job->to->name;
    job->first = pool ? 0 : job->to->first;
    job->no_self =
        !pair->self && (pool ? vly_pool_same(pool) : pair->from == pair->to);
    if (pool && !pair->self && !job->no_self)
        return vly_shared_init(job, error);
    return VLY_OK;
}

vly_status vly_rule_init(vly_rule_job *job, const vly_genome *genome,
                         const vly_pair *pair, vly_error *error)
{
    vly_status status;
    const char *stream = pair->pool ? pair->pool->stream : pair->stream;
    *job = (vly_rule_job){.pair = pair,
                          .from = &genome->areas[pair->from],
                          .to = &genome->areas[pair->to]};
    job->mapper = vly_pair_mapper(pair);
    VLY_TRY(ends_init(job, genome, error));
    voxels_of(job->from, job->from_voxels);
    voxels_of(job->to, job->to_voxels);
    VLY_TRY(rule_possible(job, genome, error));
    if (vly_draws_init(&job->source_draws, genome->seed_network, "map:", stream,
                       ":", "source") != VLY_OK ||
        vly_draws_init(&job->target_draws, genome->seed_network, "map:", stream,
                       ":", "target") != VLY_OK)
        VLY_TRY(vly_fail_nomem(error, strlen(stream) + 16, "a name"));
    if (pair->degree.kind != VLY_VALUE_NUMBER)
        VLY_TRY(vly_degrees_init(job, genome, error));
    if (inits[pair->rule])
        VLY_TRY(inits[pair->rule](job, genome, error));
    if (job->mapper == VLY_RULE_VECTORS)
        VLY_TRY(vectors_sort(job, error));
    if (vly_rules[pair->rule].size == VLY_SIZE_COUNT && !pair->multiple)
        VLY_TRY(vly_distinct_init(job, vly_rule_pairs(job), error));
    return VLY_OK;
out:
    vly_rule_deinit(job);
    return status;
}

void vly_rule_deinit(vly_rule_job *job)
{
    vly_free(job->vectors);
    vly_free(job->chosen);
    vly_free(job->edge_row);
    vly_free(job->degrees);
    vly_shared_deinit(&job->shared);
    vly_near_destroy(job->near);
    job->near = NULL;
    job->edge_row = NULL;
    job->degrees = NULL;
    job->vectors = NULL;
    job->chosen = NULL;
}

/* For rules that draw each pair: the mean plus 8 standard deviations. */
static double likely_most(double pairs, double p)
{
    double mean = pairs * p;
    mean += 8.0 * vly_sqrt(mean * (1.0 - p));
    return mean < pairs ? mean : pairs;
}

double vly_rule_most(const vly_genome *genome, const vly_pair *pair)
{
    const vly_area *to = &genome->areas[pair->to];
    double n_from = vly_pair_sources(genome, pair);
    double n_to = vly_pair_targets(genome, pair);
    switch (pair->rule) {
#define N_FROM n_from
#define N_TO n_to
#define N_PAIRED n_from
#define N_PAIRS (n_from * n_to)
#define N_LIKELY likely_most(n_from *n_to, pair->p)
#define N_COUNT ((double)pair->count)
#define N_IN_DEGREE vly_degree_most(pair, n_to)
#define N_OUT_DEGREE vly_degree_most(pair, n_from)
#define N_OF_VECTORS                                                           \
    (n_from * pair->n_vectors * (to->has_voxels ? to->neurons_per_voxel : 1))
#define N_OF_VOXELS vly_voxel_synapses(genome, pair)
#define N_EDGES ((double)pair->edges->n)
#define N_IN_REACH vly_space_pair(genome, pair)
#define VLY_RULE_SYNAPSES(id, expression)                                      \
    case VLY_RULE_##id:                                                        \
        return expression;
#include "genome/rules/rules.def"
    case VLY_RULES:
        break;
    }
    return 0;
}
