/* SPDX-License-Identifier: Apache-2.0
 * Parts of a pair, joined: a row at a time, the smallest target first.
 */
#include "second_joined.h"

#include <stdlib.h>

#define PARTS 24 /* three shifts, delays of up to 2,048 bursts */

typedef struct parts {
    const vly_projection_desc *desc[PARTS];
    uint32_t n;
} parts;

static parts parts_of(const vly_connectome *connectome, uint32_t pair)
{
    parts found = {.n = 0};
    for (uint32_t p = 0; p < connectome->desc.n_projections; p++)
        if (connectome->projections[p].pair == pair && found.n < PARTS)
            found.desc[found.n++] = &connectome->desc.projections[p];
    return found;
}

static void put(second_joined *joined, uint64_t at,
                const vly_projection_desc *desc, uint64_t i)
{
    joined->target[at] = desc->target[i];
    const int32_t weight = desc->weight ? desc->weight[i] : desc->one_weight;
    joined->weight[at] = weight * (INT64_C(1) << desc->shift);
    joined->shift[at] = desc->shift;
    joined->delay[at] = desc->base_delay + (desc->delay ? desc->delay[i] : 0);
}

static void join_row(second_joined *joined, const parts *from, uint32_t k)
{
    uint64_t at = joined->row[k];
    uint64_t next[PARTS];
    for (uint32_t p = 0; p < from->n; p++)
        next[p] = from->desc[p]->row[k];
    for (;;) {
        uint32_t least = PARTS;
        for (uint32_t p = 0; p < from->n; p++)
            if (next[p] < from->desc[p]->row[k + 1] &&
                (least == PARTS || from->desc[p]->target[next[p]] <
                                       from->desc[least]->target[next[least]]))
                least = p;
        if (least == PARTS)
            break;
        put(joined, at++, from->desc[least], next[least]++);
    }
    joined->row[k + 1] = at;
}

bool second_joined_make(const vly_connectome *connectome, uint32_t pair,
                        uint32_t n_sources, second_joined *joined)
{
    const parts from = parts_of(connectome, pair);
    uint64_t n = 1;
    for (uint32_t p = 0; p < from.n; p++)
        n += from.desc[p]->row[n_sources];
    *joined = (second_joined){
        .row = calloc(n_sources + (size_t)1, sizeof *joined->row),
        .target = calloc(n, sizeof *joined->target),
        .weight = calloc(n, sizeof *joined->weight),
        .shift = calloc(n, sizeof *joined->shift),
        .delay = calloc(n, sizeof *joined->delay),
        .port = from.n ? from.desc[0]->port : 0,
    };
    if (!joined->row || !joined->target || !joined->weight || !joined->shift ||
        !joined->delay)
        return false;
    for (uint32_t k = 0; k < n_sources; k++)
        join_row(joined, &from, k);
    return true;
}

void second_joined_free(second_joined *joined)
{
    free(joined->row);
    free(joined->target);
    free(joined->weight);
    free(joined->shift);
    free(joined->delay);
    *joined = (second_joined){0};
}
