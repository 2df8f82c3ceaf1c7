/* SPDX-License-Identifier: Apache-2.0
 * Rows as a table that `rule = "file"` reads, or as SONATA edges. A network has
 * few different weights and delays, so their texts are kept.
 */
#include "tools/connections/connections.h"

#include <volley/record.h>

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/writer.h"
#include "tools/cli/setup.h"
#include "tools/cli/tool.h"

/* ---- a table ------------------------------------------------------------ */

enum { TEXTS = 4096, TEXT_SIZE = 32 };

/* Texts by a hash of the bits; the latest of those with the same hash. */
typedef struct kept_text {
    uint64_t bits;
    uint32_t n; /* 0: none yet */
    char text[TEXT_SIZE];
} kept_text;

typedef struct table {
    vly_writer *writer;
    kept_text *weights; /* [TEXTS] */
    kept_text *delays;  /* [TEXTS] */
    double dt_ms;
} table;

static const kept_text *weight_text(table *made, double weight)
{
    uint64_t bits = 0;
    memcpy(&bits, &weight, sizeof bits);
    kept_text *kept =
        &made->weights[(bits * UINT64_C(0x9e3779b97f4a7c15)) >> 52];
    if (kept->n == 0 || kept->bits != bits) {
        kept->n = (uint32_t)snprintf(kept->text, sizeof kept->text, ",%s",
                                     tool_number_text(weight));
        kept->bits = bits;
    }
    return kept;
}

/* Bursts times dt_ms without the error of the product: 0.3, not
 * 0.30000000000000004. */
static const kept_text *delay_text(table *made, uint32_t delay)
{
    kept_text *kept = &made->delays[delay % TEXTS];
    if (kept->n == 0 || kept->bits != delay) {
        kept->n = (uint32_t)snprintf(kept->text, sizeof kept->text,
                                     ",%.12g,%u\n", delay * made->dt_ms, delay);
        kept->bits = delay;
    }
    return kept;
}

static char *put_count(char *to, uint32_t value)
{
    char digits[10];
    uint32_t n = 0;
    do
        digits[n++] = (char)('0' + value % 10);
    while ((value /= 10) != 0);
    while (n > 0)
        *to++ = digits[--n];
    return to;
}

static char *put_text(char *to, const char *text, size_t n)
{
    memcpy(to, text, n);
    return to + n;
}

/* before and between: "MAP,FROM," and ",TO," */
static vly_status put_rows(table *made, const connections_rows *rows,
                           const char *before, const char *between,
                           vly_error *error)
{
    const size_t n_before = strlen(before);
    const size_t n_between = strlen(between);
    vly_status status = VLY_OK;
    char *line = vly_malloc(n_before + n_between + 2 * TEXT_SIZE + 32, 1);
    if (!line)
        return vly_fail_nomem(error, n_before + n_between, "a line");
    for (uint32_t i = 0; i < rows->n; i++) {
        const kept_text *weight = weight_text(made, rows->weights[i]);
        const kept_text *delay = delay_text(made, rows->delays[i]);
        char *to = put_text(line, before, n_before);
        to = put_count(to, rows->sources[i]);
        to = put_text(to, between, n_between);
        to = put_count(to, rows->targets[i]);
        to = put_text(to, weight->text, weight->n);
        to = put_text(to, delay->text, delay->n);
        VLY_TRY(
            vly_writer_bytes(made->writer, line, (size_t)(to - line), error));
    }
out:
    vly_free(line);
    return status;
}

static vly_status put_pair(connections_reader *reader, table *made,
                           const connections_pair *pair, uint64_t n,
                           vly_error *error)
{
    connections_rows rows = {0};
    vly_status status = VLY_OK;
    char *before = vly_format("%s,%s,", pair->map, pair->source);
    char *between = vly_format(",%s,", pair->target);
    if (!before || !between) {
        status = vly_fail_nomem(error, 4096, "names");
        goto out;
    }
    for (; n > 0; n -= rows.n) {
        VLY_TRY(connections_reader_next(reader, n, &rows, error));
        VLY_TRY(put_rows(made, &rows, before, between, error));
    }
out:
    vly_free(before);
    vly_free(between);
    return status;
}

/* The unit that all weights have; "" none, or several. */
static const char *common_suffix(const connections_pair *pairs,
                                 uint32_t n_pairs)
{
    const char *suffix = n_pairs > 0 ? pairs[0].suffix : "";
    for (uint32_t k = 1; k < n_pairs; k++)
        if (strcmp(pairs[k].suffix, suffix) != 0)
            return "";
    return suffix;
}

static vly_status save_table(connections_reader *reader,
                             const connections_pick *pick,
                             const connections_pair *pairs, uint32_t n_pairs,
                             double dt_ms, const char *path, vly_error *error)
{
    const char *suffix = common_suffix(pairs, n_pairs);
    table made = {.dt_ms = dt_ms};
    vly_status status = VLY_OK;
    made.weights = vly_calloc(TEXTS, sizeof *made.weights);
    made.delays = vly_calloc(TEXTS, sizeof *made.delays);
    if (!made.weights || !made.delays) {
        status =
            vly_fail_nomem(error, 2 * TEXTS * sizeof *made.weights, "texts");
        goto out;
    }
    VLY_TRY(vly_writer_open(path, true, &made.writer, error));
    VLY_TRY(vly_writer_print(made.writer, error,
                             "map,from,source,to,target,weight%s%s,delay_ms,"
                             "delay_bursts\n",
                             *suffix ? "_" : "", suffix));
    for (uint32_t k = 0; k < n_pairs; k++) {
        connections_reader_begin(reader, pick, &pairs[k]);
        VLY_TRY(put_pair(reader, &made, &pairs[k], pairs[k].n, error));
    }
    status = vly_writer_close(made.writer, error);
    made.writer = NULL;
out:
    vly_writer_abandon(made.writer);
    vly_free(made.weights);
    vly_free(made.delays);
    return status;
}

/* ---- SONATA ------------------------------------------------------------- */

static vly_status put_edges(connections_reader *reader,
                            const connections_pair *pair, double dt_ms,
                            double *delays_ms, vly_sonata_edges *edges,
                            vly_error *error)
{
    connections_rows rows = {0};
    vly_status status = VLY_OK;
    /* as volley run --weights names them */
    char *name = pair->only ? vly_strdup(pair->map)
                            : vly_format("%s.%s.%s", pair->map, pair->source,
                                         pair->target);
    if (!name)
        return vly_fail_nomem(error, 4096, "a name");
    VLY_TRY(vly_sonata_edges_begin(edges, name, pair->n, true, error));
    for (uint64_t left = pair->n; left > 0; left -= rows.n) {
        VLY_TRY(connections_reader_next(reader, left, &rows, error));
        for (uint32_t i = 0; i < rows.n; i++)
            delays_ms[i] = rows.delays[i] * dt_ms;
        VLY_TRY(vly_sonata_edges_add(edges, rows.sources, rows.targets,
                                     rows.weights, delays_ms, rows.n, error));
    }
    status = vly_sonata_edges_end(edges, error);
out:
    vly_free(name);
    return status;
}

static vly_status save_sonata(connections_reader *reader,
                              const connections_pick *pick,
                              const connections_pair *pairs, uint32_t n_pairs,
                              double dt_ms, const char *path, vly_error *error)
{
    vly_sonata_edges *edges = NULL;
    vly_status status = VLY_OK;
    double *delays_ms = vly_malloc(CONNECTIONS_BLOCK, sizeof *delays_ms);
    if (!delays_ms)
        return vly_fail_nomem(error, 8 * CONNECTIONS_BLOCK, "delays");
    VLY_TRY(vly_sonata_edges_open(path, &edges, error));
    for (uint32_t k = 0; k < n_pairs; k++) {
        if (pairs[k].n == 0)
            continue;
        connections_reader_begin(reader, pick, &pairs[k]);
        VLY_TRY(put_edges(reader, &pairs[k], dt_ms, delays_ms, edges, error));
    }
    status = vly_sonata_edges_close(edges, error);
    edges = NULL;
out:
    vly_sonata_edges_abandon(edges);
    vly_free(delays_ms);
    return status;
}

/* ------------------------------------------------------------------------- */

vly_status connections_save(connections_reader *reader,
                            const vly_connectome *connectome,
                            const connections_pick *pick,
                            const connections_pair *pairs, uint32_t n_pairs,
                            const char *path, uint64_t *n_rows,
                            vly_error *error)
{
    const double dt_ms = tool_connectome_info(connectome).dt_ms;
    vly_status status =
        vly_recording_format(path) == VLY_RECORDING_SONATA
            ? save_sonata(reader, pick, pairs, n_pairs, dt_ms, path, error)
            : save_table(reader, pick, pairs, n_pairs, dt_ms, path, error);
    *n_rows = 0;
    for (uint32_t k = 0; k < n_pairs; k++)
        *n_rows += pairs[k].n;
    return status;
}
