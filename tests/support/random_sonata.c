/* SPDX-License-Identifier: Apache-2.0
 * A random genome's comma-separated synapses as SONATA edges: see
 * random_sonata.h.
 */
#include "random_sonata.h"

#include <stdlib.h>
#include <string.h>

#include "sonata_writer.h"

typedef struct columns {
    bool weight;
    double ms; /* of one unit of the delay; 0: no such column */
    size_t n;
    int64_t *source;
    int64_t *target;
    int64_t *order;
    double *weights;
    double *delays;
} columns;

static bool columns_init(columns *c, const char *text, double dt_ms)
{
    const char *end = strchr(text, '\n');
    const char *ms = strstr(text, "delay_ms");
    const char *bursts = strstr(text, "delay_bursts");
    const char *weight = strstr(text, "weight");
    if (!end)
        return false;
    c->weight = weight && weight < end;
    c->ms = ms && ms < end ? 1.0 : bursts && bursts < end ? dt_ms : 0.0;
    for (const char *at = end + 1; (at = strchr(at, '\n')); at++)
        c->n++;
    c->source = calloc(c->n + 1, sizeof *c->source);
    c->target = calloc(c->n + 1, sizeof *c->target);
    c->order = calloc(c->n + 1, sizeof *c->order);
    c->weights = calloc(c->n + 1, sizeof *c->weights);
    c->delays = calloc(c->n + 1, sizeof *c->delays);
    return c->source && c->target && c->order && c->weights && c->delays;
}

static void columns_deinit(columns *c)
{
    free(c->source);
    free(c->target);
    free(c->order);
    free(c->weights);
    free(c->delays);
}

static bool columns_read(columns *c, const char *text)
{
    char *at;
    text = strchr(text, '\n') + 1;
    for (size_t i = 0; i < c->n; i++) {
        c->source[i] = strtoll(text, &at, 10);
        c->target[i] = strtoll(at + 1, &at, 10);
        c->order[i] = (int64_t)i;
        if (c->weight)
            c->weights[i] = strtod(at + 1, &at);
        if (c->ms > 0.0)
            c->delays[i] = strtod(at + 1, &at) * c->ms;
        if (*at != '\n')
            return false;
        text = at + 1;
    }
    return true;
}

bool random_sonata_write(const char *text, double dt_ms, const char *path)
{
    columns c = {0};
    bool good = columns_init(&c, text, dt_ms) && columns_read(&c, text);
    if (good) {
        const sonata_edges edges = {.population = "random",
                                    .source = c.source,
                                    .target = c.target,
                                    .order = c.order,
                                    .weight = c.weight ? c.weights : NULL,
                                    .delay = c.ms > 0.0 ? c.delays : NULL,
                                    .n = c.n,
                                    .n_source = c.n};
        good = sonata_write(path, &edges) == 1;
    }
    columns_deinit(&c);
    return good;
}

bool random_sonata_same(const vly_edge_list *text, const vly_edge_list *sonata)
{
    if (text->n != sonata->n || !text->weight != !sonata->weight ||
        !text->delay != !sonata->delay)
        return false;
    for (uint64_t i = 0; i < text->n; i++)
        if (text->source[i] != sonata->source[i] ||
            text->target[i] != sonata->target[i] ||
            (text->weight &&
             (double)(float)text->weight[i] != sonata->weight[i]) ||
            (text->delay && text->delay[i] != sonata->delay[i]))
            return false;
    return true;
}
