/* SPDX-License-Identifier: Apache-2.0
 * Synapses given by a file: they are sorted already.
 */
#include "connectome/synapse_rules.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"

/* A genome that was made through the API may hold any values. */
static bool edge_good(const vly_rule_job *job, const vly_edge_list *edges,
                      uint64_t i)
{
    if (edges->source[i] >= job->n_from || edges->target[i] >= job->n_to)
        return false;
    if (i == 0 || edges->source[i] > edges->source[i - 1])
        return true;
    return edges->source[i] == edges->source[i - 1] &&
           edges->target[i] >= edges->target[i - 1];
}

/* Errors  E_PARSE an id out of range, not in order; E_NOMEM */
vly_status vly_file_rule_init(vly_rule_job *job, const vly_genome *genome,
                              vly_error *error)
{
    (void)genome;
    const vly_edge_list *edges = job->pair->edges;
    uint64_t n_rows = (uint64_t)job->n_from + 1;
    uint64_t *row = vly_calloc((size_t)n_rows, sizeof(*row));
    if (!row)
        return vly_fail_nomem(error, n_rows * 8, "a rule");
    for (uint64_t i = 0; i < edges->n; i++) {
        if (!edge_good(job, edges, i)) {
            vly_free(row);
            return vly_fail(error, VLY_E_PARSE,
                            "map %s: edge %" PRIu64
                            " is out of range or out of order",
                            job->pair->map, i);
        }
        row[edges->source[i] + (size_t)1]++;
    }
    for (uint32_t k = 0; k < job->n_from; k++)
        row[k + (size_t)1] += row[k];
    job->edge_row = row;
    return VLY_OK;
}

uint32_t vly_file_rule_row(const vly_rule_job *job, uint32_t source,
                           uint32_t *targets)
{
    uint64_t first = job->edge_row[source];
    uint32_t n = (uint32_t)(job->edge_row[source + (size_t)1] - first);
    if (targets)
        memcpy(targets, job->pair->edges->target + first, n * sizeof(*targets));
    return n;
}
