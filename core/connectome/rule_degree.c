/* SPDX-License-Identifier: Apache-2.0
 * Degrees from a distribution: neuron k has word k of the sequence ":degree",
 * which a table over whole numbers turns into a degree, as a delay is drawn.
 */
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/number.h"
#include "connectome/connectome_make.h"
#include "connectome/synapse_rules.h"
#include "connectome/value_law.h"

static vly_status refuse(const vly_rule_job *job, const vly_genome *genome,
                         const char *reason, vly_error *error)
{
    char place[VLY_PLACE_BYTES];
    vly_place_print(genome, &job->pair->degree.origin, place);
    return vly_fail(error, VLY_E_PARSE, "%smap %s (%s -> %s): degree: %s",
                    place, job->pair->map, job->from_name, job->to_name,
                    reason);
}

vly_status vly_degrees_init(vly_rule_job *job, const vly_genome *genome,
                            vly_error *error)
{
    const vly_pair *pair = job->pair;
    const char *stream = pair->pool ? pair->pool->stream : pair->stream;
    const bool inward = vly_rules[pair->rule].size == VLY_SIZE_IN_DEGREE;
    const uint32_t n = inward ? job->n_to : job->n_from;
    const uint32_t largest = inward ? pair->in_degree : pair->out_degree;
    const char *reason = "";
    vly_discrete table = {0};
    vly_draws draws;
    vly_law law;
    vly_status status;
    if (!vly_law_init(&law, &pair->degree, &reason))
        return refuse(job, genome, reason, error);
    vly_integers range = vly_law_integers(&law, 1.0, VLY_ROUND_VALUES, 0.0);
    if (!(range.last - range.first <= 65535.0))
        return refuse(job, genome, "more than 65536 values, wanted a clip",
                      error);
    job->degrees = vly_malloc(n, sizeof(*job->degrees));
    if (!job->degrees || vly_draws_init(&draws, genome->seed_network, "map:",
                                        stream, ":", "degree") != VLY_OK)
        return vly_fail_nomem(error, n * UINT64_C(4), "degrees");
    status = vly_discrete_init(&table, &law, 1.0, range);
    if (status == VLY_E_NOMEM)
        return vly_fail_nomem(error, 65536 * 8, "a table of degrees");
    if (status != VLY_OK)
        return refuse(job, genome, "its clip leaves nothing of it", error);
    for (uint32_t k = 0; k < n; k++) {
        int32_t degree = vly_discrete_draw(&table, vly_draws_word(&draws, k));
        job->degrees[k] = degree > 0 ? (uint32_t)degree : 0;
        if (job->degrees[k] > largest) /* of a genome made through the API */
            job->degrees[k] = largest;
    }
    vly_discrete_deinit(&table);
    return VLY_OK;
}

static double given(const vly_pair *pair)
{
    return vly_rules[pair->rule].size == VLY_SIZE_IN_DEGREE ? pair->in_degree
                                                            : pair->out_degree;
}

double vly_degree_mean(const vly_pair *pair)
{
    const char *reason;
    vly_law law;
    if (pair->degree.kind == VLY_VALUE_NUMBER ||
        !vly_law_init(&law, &pair->degree, &reason))
        return given(pair);
    return vly_law_mean(&law);
}

/* The deviation is at most half of the range. */
double vly_degree_most(const vly_pair *pair, double n)
{
    const char *reason;
    vly_law law;
    if (pair->degree.kind == VLY_VALUE_NUMBER ||
        !vly_law_init(&law, &pair->degree, &reason) || !(n >= 1.0))
        return given(pair);
    double most =
        vly_law_mean(&law) + 0.5 + 8.0 * 0.5 * (law.hi - law.lo) / vly_sqrt(n);
    return most < given(pair) ? most : given(pair);
}
