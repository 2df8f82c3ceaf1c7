/* SPDX-License-Identifier: Apache-2.0
 * Rows in order of source and target. The projections of a pair are each in
 * that order, so they are merged; of each a window is in memory.
 */
#include "tools/connections/connections.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"

/* Synapses of one projection, from `at` up to `end`. */
typedef struct cursor {
    uint32_t projection;
    uint64_t at; /* of the first row in the window that is not taken */
    uint64_t end;
    uint32_t in_window;
    uint32_t taken;
    uint32_t *sources; /* [CONNECTIONS_BLOCK] */
    uint32_t *targets;
    uint32_t *delays;
    double *weights;
} cursor;

struct connections_reader {
    const vly_connectome *connectome;
    vly_net *net;
    const connections_pick *pick;
    cursor cursors[CONNECTIONS_PARTS];
    uint32_t n_cursors;
    connections_rows rows;
};

static bool make_cursor(cursor *one)
{
    one->sources = vly_malloc(CONNECTIONS_BLOCK, sizeof *one->sources);
    one->targets = vly_malloc(CONNECTIONS_BLOCK, sizeof *one->targets);
    one->delays = vly_malloc(CONNECTIONS_BLOCK, sizeof *one->delays);
    one->weights = vly_malloc(CONNECTIONS_BLOCK, sizeof *one->weights);
    return one->sources && one->targets && one->delays && one->weights;
}

vly_status connections_reader_create(const vly_connectome *connectome,
                                     vly_net *net, connections_reader **reader,
                                     vly_error *error)
{
    connections_reader *made = vly_calloc(1, sizeof *made);
    bool good = made != NULL;
    for (uint32_t k = 0; good && k < CONNECTIONS_PARTS; k++)
        good = make_cursor(&made->cursors[k]);
    if (good) {
        connections_rows *rows = &made->rows;
        rows->sources = vly_malloc(CONNECTIONS_BLOCK, sizeof *rows->sources);
        rows->targets = vly_malloc(CONNECTIONS_BLOCK, sizeof *rows->targets);
        rows->weights = vly_malloc(CONNECTIONS_BLOCK, sizeof *rows->weights);
        rows->delays = vly_malloc(CONNECTIONS_BLOCK, sizeof *rows->delays);
        good = rows->sources && rows->targets && rows->weights && rows->delays;
    }
    if (!good) {
        connections_reader_destroy(made);
        return vly_fail_nomem(
            error, (CONNECTIONS_PARTS + 1) * 20 * CONNECTIONS_BLOCK, "rows");
    }
    made->connectome = connectome;
    made->net = net;
    *reader = made;
    return VLY_OK;
}

void connections_reader_destroy(connections_reader *reader)
{
    if (!reader)
        return;
    for (uint32_t k = 0; k < CONNECTIONS_PARTS; k++) {
        vly_free(reader->cursors[k].sources);
        vly_free(reader->cursors[k].targets);
        vly_free(reader->cursors[k].delays);
        vly_free(reader->cursors[k].weights);
    }
    vly_free(reader->rows.sources);
    vly_free(reader->rows.targets);
    vly_free(reader->rows.weights);
    vly_free(reader->rows.delays);
    vly_free(reader);
}

void connections_reader_begin(connections_reader *reader,
                              const connections_pick *pick,
                              const connections_pair *pair)
{
    reader->pick = pick;
    reader->n_cursors = pair->n_parts;
    for (uint32_t k = 0; k < pair->n_parts; k++) {
        cursor *one = &reader->cursors[k];
        one->projection = pair->parts[k];
        connections_span(reader->connectome, &pick->source, one->projection,
                         &one->at, &one->end);
        one->in_window = 0;
        one->taken = 0;
    }
}

/* The next window of a cursor whose window is used up. */
static vly_status fill(connections_reader *reader, cursor *one,
                       vly_error *error)
{
    const vly_connectome *connectome = reader->connectome;
    vly_net_projection_info info = {.struct_size = sizeof info};
    vly_status status = VLY_OK;
    if (reader->net)
        VLY_TRY(vly_net_projection(reader->net, NULL, one->projection, &info,
                                   error));
    one->at += one->in_window;
    one->taken = 0;
    const uint64_t left = one->end - one->at;
    one->in_window =
        left < CONNECTIONS_BLOCK ? (uint32_t)left : CONNECTIONS_BLOCK;
    if (one->in_window == 0)
        return VLY_OK;
    VLY_TRY(vly_connectome_synapses(connectome, one->projection, one->at,
                                    one->in_window, one->sources, one->targets,
                                    one->weights, one->delays, error));
    if (info.learns != 0)
        status = vly_net_weights_read(reader->net, NULL, one->projection,
                                      one->at, one->in_window, one->weights,
                                      NULL, NULL, error);
out:
    return status;
}

/* Leaves out what is not wanted; at the end the window is empty. */
static vly_status settle(connections_reader *reader, cursor *one,
                         vly_error *error)
{
    const connections_end *target = &reader->pick->target;
    vly_status status = VLY_OK;
    for (;;) {
        while (one->taken < one->in_window &&
               (one->targets[one->taken] < target->first ||
                one->targets[one->taken] >= target->end))
            one->taken++;
        if (one->taken < one->in_window)
            return VLY_OK;
        VLY_TRY(fill(reader, one, error));
        if (one->in_window == 0)
            return VLY_OK;
    }
out:
    return status;
}

static uint64_t key_of(const cursor *one)
{
    return (uint64_t)one->sources[one->taken] << 32 | one->targets[one->taken];
}

vly_status connections_reader_next(connections_reader *reader, uint64_t most,
                                   connections_rows *rows, vly_error *error)
{
    connections_rows *made = &reader->rows;
    vly_status status = VLY_OK;
    for (made->n = 0; made->n < CONNECTIONS_BLOCK && made->n < most;
         made->n++) {
        cursor *next = NULL;
        for (uint32_t k = 0; k < reader->n_cursors; k++) {
            cursor *one = &reader->cursors[k];
            VLY_TRY(settle(reader, one, error));
            if (one->in_window > 0 && (!next || key_of(one) < key_of(next)))
                next = one;
        }
        if (!next)
            break;
        made->sources[made->n] = next->sources[next->taken];
        made->targets[made->n] = next->targets[next->taken];
        made->weights[made->n] = next->weights[next->taken];
        made->delays[made->n] = next->delays[next->taken];
        next->taken++;
    }
    *rows = *made;
out:
    return status;
}
