/* SPDX-License-Identifier: Apache-2.0
 * The rules: they decide which neuron of one area has a synapse to which neuron
 * of another. Every rule first counts, row by row, and then repeats its draws
 * to write into memory of that size. So only the needed memory is allocated,
 * and the result does not depend on the order of work.
 */
#ifndef VOLLEY_CONNECTOME_SYNAPSE_RULES_H
#define VOLLEY_CONNECTOME_SYNAPSE_RULES_H

#include <stdatomic.h>

#include "connectome/draw_words.h"
#include "genome/rule_info.h"

#define VLY_NO_NEURON UINT32_MAX

/* Where a neuron may not connect to itself and the ends have some neurons in
 * common, but not all of them at the same places. */
typedef struct vly_shared {
    uint32_t *target; /* [n_from] the source as a target, or VLY_NO_NEURON */
    uint32_t *source; /* [n_to] the other way round */
    uint64_t *pairs;  /* [n_pairs] source * n_to + target, ascending */
    uint64_t n_pairs;
} vly_shared;

/* A part of the rows: the synapses onto some targets, and the numbers of all.
 * Where a rule draws by target, all_counted is false if other ranks count the
 * synapses onto their targets: then `before` has none and `total` the own. */
typedef struct vly_clip {
    uint32_t lo; /* own targets are [lo, hi), as indices of the job */
    uint32_t hi;
    bool all_counted;
    uint32_t *before;        /* [n_from] synapses onto targets below lo */
    uint32_t *total;         /* [n_from] onto any target */
    _Atomic uint32_t *heads; /* [n_to] synapses onto each target; a rule that
                              * draws by target leaves them out */
} vly_clip;

/* One pair of areas, or the pairs of a pool, while synapses are made. Targets
 * are indices in the target area or pool until the rows are done. */
typedef struct vly_rule_job {
    const vly_pair *pair; /* the first one of a pool */
    const vly_area *from; /* the first one of a pool */
    const vly_area *to;
    const char *from_name; /* of the ends */
    const char *to_name;
    bool no_self; /* equal ends, and a neuron may not connect to itself */
    vly_shared shared;
    uint32_t n_from;
    uint32_t n_to;
    uint32_t first; /* added to the targets of rows: the area's; a pool: 0 */
    vly_draws source_draws;
    vly_draws target_draws;
    int32_t (*vectors)[3]; /* sorted, all different; owned */
    uint32_t n_vectors;
    vly_rule mapper;  /* composite: rule of its tiles; otherwise the rule */
    uint64_t *chosen; /* fixed_total_number of few pairs: a bit a pair; owned */
    uint32_t to_voxels[3];
    uint32_t from_voxels[3];
    uint32_t *degrees;     /* drawn ones, of each target or source; owned;
                            * NULL: the pair's */
    struct vly_near *near; /* distance; owned */
    uint64_t *edge_row;    /* file: where a source begins in its edges; owned */
    double log_miss;       /* pairwise_bernoulli: log(1 - p) */
    vly_clip *clip;        /* NULL: all rows, whole */
} vly_rule_job;

/* The target that source may not have, and the other way round. */
static inline uint32_t vly_own_target(const vly_rule_job *job, uint32_t source)
{
    return job->no_self         ? source
           : job->shared.target ? job->shared.target[source]
                                : VLY_NO_NEURON;
}
static inline uint32_t vly_own_source(const vly_rule_job *job, uint32_t target)
{
    return job->no_self         ? target
           : job->shared.source ? job->shared.source[target]
                                : VLY_NO_NEURON;
}

/* Functions that a rule's table names (VLY_RULE_INIT, VLY_RULE_ROW). */
typedef vly_status vly_rule_init_function(vly_rule_job *job,
                                          const vly_genome *genome,
                                          vly_error *error);
typedef uint32_t vly_rule_row_function(const vly_rule_job *job, uint32_t source,
                                       uint32_t *targets);

/* Checks that the rule can be satisfied. Errors E_PARSE, E_NOMEM. */
vly_status vly_rule_init(vly_rule_job *job, const vly_genome *genome,
                         const vly_pair *pair, vly_error *error);
void vly_rule_deinit(vly_rule_job *job);
/* Synapses at most (bernoulli: the mean and 8 standard deviations). */
double vly_rule_most(const vly_genome *genome, const vly_pair *pair);

/* rule_degree.c: draws the degrees of a job.
 * Errors  E_PARSE the distribution leaves nothing; E_NOMEM */
vly_status vly_degrees_init(vly_rule_job *job, const vly_genome *genome,
                            vly_error *error);
/* The degree of a target or source, of the rule's side. */
static inline uint32_t vly_degree_of(const vly_rule_job *job, uint32_t k)
{
    if (job->degrees)
        return job->degrees[k];
    return vly_rules[job->pair->rule].size == VLY_SIZE_IN_DEGREE
               ? job->pair->in_degree
               : job->pair->out_degree;
}
/* Its mean of a pair, and what n of them add up to at most (mean plus 8
 * standard deviations), as a share of n. */
double vly_degree_mean(const vly_pair *pair);
double vly_degree_most(const vly_pair *pair, double n);

/* True: rows come one by one from vly_rule_row; false: from vly_rule_part. */
bool vly_rule_by_rows(const vly_rule_job *job);
/* Targets of one source, ascending; targets NULL: only their number. */
uint32_t vly_rule_row(const vly_rule_job *job, uint32_t source,
                      uint32_t *targets);

/* Rules that draw pairs: elements [first, last) (synapses, or neurons of the
 * area whose degree is fixed), first a multiple of 4. A synapse is written to
 * targets[row[source] + cursor[source]] (targets NULL: not), then increments
 * cursor [n_from]. With a clip cursor is [3][n_from]: of synapses before, in
 * and after it; those in it are written. stamps [vly_rule_stamps] is scratch, 0
 * before the first call. */
uint64_t vly_rule_elements(const vly_rule_job *job);
/* Marks that a fixed degree without multiple connections needs; 0: none. */
uint32_t vly_rule_stamps(const vly_rule_job *job);
void vly_rule_part(const vly_rule_job *job, uint64_t first, uint64_t last,
                   uint32_t *cursor, uint32_t *stamps, const uint64_t *row,
                   uint32_t *targets);
/* fixed_total_number, and fixed_in_degree with multiple connections: gives
 * draws [first, first + n) of vly_rule_draws, in order, as neuron indices in
 * their areas; first a multiple of 4, n at most VLY_WORDS. targets NULL: only
 * sources. */
uint64_t vly_rule_draws(const vly_rule_job *job);
void vly_rule_draw(const vly_rule_job *job, uint64_t first, uint32_t n,
                   uint32_t sources[VLY_WORDS], uint32_t targets[VLY_WORDS]);
/* fixed_in_degree with multiple connections and one degree for all. */
bool vly_degrees_plain(const vly_rule_job *job);
/* Whether the rows of vly_rule_part come out ascending if parts do. */
bool vly_rule_ascends(const vly_rule_job *job);

/* The functions that the tables name, with the contract of vly_rule_row and of
 * the comment at each definition. */
#define VLY_RULE_INIT(id, function) vly_rule_init_function function;
#define VLY_RULE_ROW(id, function) vly_rule_row_function function;
#include "genome/rules/rules.def"

/* fixed_total_number without multiple connections (rule_distinct.c) */
vly_status vly_distinct_init(vly_rule_job *job, uint64_t n_pairs,
                             vly_error *error);
/* Pair number k of a shuffle of [0, n_pairs), n_pairs < 2^63 */
uint64_t vly_distinct_pair(const vly_rule_job *job, uint64_t k,
                           uint64_t n_pairs);
/* Pairs that a total number chooses from; 0 on overflow. */
uint64_t vly_rule_pairs(const vly_rule_job *job);
/* Allowed pair `number` as source * n_to + target, and the other way round. */
uint64_t vly_pair_place(const vly_rule_job *job, uint64_t number);
uint64_t vly_pair_number(const vly_rule_job *job, uint64_t place);

/* rule_pool.c: whether the ends of a pool are the same neurons in the same
 * order, and what they share otherwise.
 * Errors  E_NOMEM */
bool vly_pool_same(const vly_pool *pool);
vly_status vly_shared_init(vly_rule_job *job, vly_error *error);
void vly_shared_deinit(vly_shared *shared);
/* Rows of a pool, as of one pair of areas, become those of its pairs; made: of
 * them, [n].
 * Errors  E_NOMEM */
struct vly_made_pair;
struct vly_near;
vly_status vly_pool_deal(const vly_genome *genome, const uint64_t *row,
                         const uint32_t *targets, struct vly_made_pair *made,
                         uint32_t n, vly_storage *storage, vly_error *error);

/* The rows of one pair: row[n_from + 1] and targets (global ids, ascending in
 * a row), owned by the storage. */
typedef struct vly_rows {
    vly_rule_job job;
    uint64_t *row;
    uint32_t *targets;
} vly_rows;

/* Rows of n pairs whose jobs are ready, without a clip or with one; a pool and
 * rule distance have none. */
vly_status vly_rows_build(vly_rows *rows, uint32_t n, uint32_t n_threads,
                          vly_storage *storage, vly_error *error);

/* rule_distance.c: pairs drawn by distance; the row array is there.
 * Errors  E_PARSE a neuron has too few others in reach; E_NOMEM */
vly_status vly_distance_build(vly_rows *rows, uint32_t n_threads,
                              vly_storage *storage, vly_error *error);

/* row_buckets.c: the rules of vly_rule_draw by way of buckets, if the areas are
 * small enough for that. Builds those of the n pairs that suit; their row
 * arrays are there. */
bool vly_buckets_suit(const vly_rule_job *job);
vly_status vly_buckets_build(vly_rows *rows, uint32_t n, uint32_t n_threads,
                             vly_storage *storage, vly_error *error);
/* synapse_values.c, synapse_delays.c: whether weights and delays need an array,
 * for the prediction of memory. */
bool vly_weights_vary(const vly_pair *pair);
bool vly_delays_vary(const vly_pair *pair);

#endif
