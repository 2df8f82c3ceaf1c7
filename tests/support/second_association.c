/* SPDX-License-Identifier: Apache-2.0
 * Associative memory in the second simulator: a table of all pairs.
 */
#include "second_memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int second_association_read(const second_file *file, const char *table,
                            second_association *to)
{
    uint32_t n = 0;
    static const char *const keys[2] = {"from", "to"};
    for (int s = 0; s < 2; s++) {
        uint32_t *areas = second_areas(file, second_line(table, keys[s]), &n);
        to->areas[s] = areas && n > 0 ? areas[0] : UINT32_MAX;
        free(areas);
        if (to->areas[s] == UINT32_MAX) {
            fprintf(stderr, "second simulator: an association's area\n");
            return -1;
        }
    }
    to->window = second_number(table, "plasticity_window");
    double constant = second_real(table, "plasticity_constant");
    double up = constant * second_real(table, "ltp_multiplier");
    double down = constant * second_real(table, "ltd_multiplier");
    to->up = (int)fmin(255.0, fmax(0.0, up));
    to->down = (int)fmin(255.0, fmax(0.0, down));
    const char *line = second_line(table, "inhibitory");
    to->sign = line && strncmp(strchr(line, '=') + 2, "true", 4) == 0 ? -1 : 1;
    size_t pairs =
        (size_t)file->areas[to->areas[0]].n * file->areas[to->areas[1]].n;
    to->weight = calloc(pairs + 1, sizeof *to->weight);
    to->fired = calloc((size_t)to->window * file->n_neurons + 1, 1);
    for (size_t i = 0; to->weight && i < pairs; i++)
        to->weight[i] = -1;
    return to->weight && to->fired ? 0 : -1;
}

static int *weight_at(const second_file *file, const second_association *of,
                      uint32_t i, uint32_t j)
{
    return &of->weight[(size_t)i * file->areas[of->areas[1]].n + j];
}

/* In how many of the bursts of the window it fired. */
static uint32_t fired_in(const second_file *file, const second_association *of,
                         uint32_t id)
{
    uint32_t n = 0;
    for (uint32_t f = 0; f < of->window; f++)
        n += of->fired[f * (uint64_t)file->n_neurons + id] != 0;
    return n;
}

static void change(const second_file *file, const second_association *of,
                   uint32_t i, uint32_t j)
{
    uint32_t a = fired_in(file, of, file->areas[of->areas[0]].first + i);
    uint32_t b = fired_in(file, of, file->areas[of->areas[1]].first + j);
    int *w = weight_at(file, of, i, j);
    int both = a == of->window && b == of->window;
    if (*w < 0)
        *w = both && of->up > 0 ? of->up : -1;
    else if (both)
        *w = *w + of->up > 255 ? 255 : *w + of->up;
    else if (a > 0 || b > 0)
        *w = *w - of->down < 0 ? 0 : *w - of->down;
}

static int add_events(const second_file *file, second_memories *to,
                      const second_association *of, const char *fired,
                      const uint32_t *gain, uint64_t burst)
{
    const second_area *from = &file->areas[of->areas[0]];
    const second_area *onto = &file->areas[of->areas[1]];
    for (uint32_t i = 0; i < from->n; i++)
        for (uint32_t j = 0; j < onto->n; j++) {
            uint32_t a = from->first + i, b = onto->first + j;
            int64_t w = *weight_at(file, of, i, j);
            if (w < 0)
                continue;
            if (fired[a] &&
                second_due_add(to, burst + 1, b, of->sign * w * gain[a]))
                return -1;
            if (fired[b] && from != onto &&
                second_due_add(to, burst + 1, a, of->sign * w * gain[b]))
                return -1;
        }
    return 0;
}

int second_associate(const second_file *file, second_memories *to,
                     second_association *of, const char *fired,
                     const uint32_t *gain, uint64_t burst)
{
    memcpy(of->fired + burst % of->window * (uint64_t)file->n_neurons, fired,
           file->n_neurons);
    for (uint32_t i = 0;
         burst + 1 >= of->window && i < file->areas[of->areas[0]].n; i++)
        for (uint32_t j = 0; j < file->areas[of->areas[1]].n; j++)
            change(file, of, i, j);
    return add_events(file, to, of, fired, gain, burst);
}

void second_association_leave(const second_file *file,
                              const second_memories *all, uint32_t area,
                              uint32_t neuron)
{
    for (uint32_t k = 0; k < all->n_associations; k++) {
        const second_association *of = &all->associations[k];
        const second_area *from = &file->areas[of->areas[0]];
        const second_area *onto = &file->areas[of->areas[1]];
        for (uint32_t i = 0; i < from->n; i++)
            for (uint32_t j = 0; j < onto->n; j++)
                if ((of->areas[0] == area && i == neuron) ||
                    (of->areas[1] == area && j == neuron))
                    *weight_at(file, of, i, j) = -1;
        for (uint32_t f = 0; f < of->window; f++)
            if (of->areas[0] == area || of->areas[1] == area)
                of->fired[f * (uint64_t)file->n_neurons +
                          file->areas[area].first + neuron] = 0;
    }
}

/* The bursts in a row up to the last one, or less the bursts since it fired; 0:
 * it did not within the window. */
static int32_t past_of(const second_file *file, const second_association *of,
                       uint32_t id, uint64_t bursts)
{
    int32_t run = 0, since = 0;
    for (uint32_t f = 0; f < of->window && f < bursts; f++) {
        int fires = of->fired[(bursts - 1 - f) % of->window *
                                  (uint64_t)file->n_neurons +
                              id];
        if (fires && since == 0)
            run++;
        else if (run > 0)
            return run;
        else if (fires)
            return -since;
        else
            since++;
    }
    return run;
}

void second_association_put(second_words *to, const second_file *file,
                            const second_association *of, uint64_t bursts)
{
    const second_area *from = &file->areas[of->areas[0]];
    const second_area *onto = &file->areas[of->areas[1]];
    uint64_t synapses = 0;
    second_put(to, bursts < of->window ? (uint32_t)bursts : of->window);
    for (int s = 0; s < 2; s++) {
        const second_area *side = s ? onto : from;
        uint32_t n = 0;
        for (uint32_t i = 0; i < side->n; i++)
            n += past_of(file, of, side->first + i, bursts) != 0;
        second_put(to, n);
        for (uint32_t i = 0; i < side->n; i++) {
            int32_t past = past_of(file, of, side->first + i, bursts);
            if (past == 0)
                continue;
            second_put(to, i);
            second_put(to, (uint32_t)past);
        }
    }
    for (uint32_t i = 0; i < from->n; i++)
        for (uint32_t j = 0; j < onto->n; j++)
            synapses += *weight_at(file, of, i, j) >= 0;
    second_put_both(to, synapses);
    for (uint32_t i = 0; i < from->n; i++)
        for (uint32_t j = 0; j < onto->n; j++) {
            int w = *weight_at(file, of, i, j);
            if (w < 0)
                continue;
            second_put(to, i);
            second_put(to, j);
            second_put(to, (uint32_t)w);
        }
}
