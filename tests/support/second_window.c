/* SPDX-License-Identifier: Apache-2.0
 * FEAGI's rule of windows a second time. It keeps a list of who fired in each
 * of the last 2 D bursts, and counts in it whenever it needs to know.
 */
#include <stdlib.h>
#include <string.h>

#include "second_learning.h"
#include "second_simulator.h"

static uint32_t window_of(const second_learning *l)
{
    return l->bursts[0];
}

static uint32_t neurons_of(const second_learning *l, int side)
{
    return side == 0 ? l->n_sources : l->n_targets;
}

int second_window_begin(second_learning *l)
{
    for (int side = 0; side < 2; side++) {
        l->frames[side] = calloc(2 * (size_t)window_of(l) + 1,
                                 neurons_of(l, side) + (size_t)1);
        if (!l->frames[side])
            return -1;
    }
    return 0;
}

/* Whether neuron k fired in `burst`, of which 2 D at most may be past. */
static int did_fire(const second_learning *l, int side, uint32_t k,
                    uint64_t burst)
{
    size_t frame = (size_t)(burst % (2 * (uint64_t)window_of(l) + 1));
    return l->frames[side][frame * neurons_of(l, side) + k];
}

/* Spikes of neuron k in the D bursts that end with `burst`. */
static uint32_t spikes_of(const second_learning *l, int side, uint32_t k,
                          uint64_t burst)
{
    uint32_t n = 0;
    for (uint32_t ago = 0; ago < window_of(l) && ago <= burst; ago++)
        n += did_fire(l, side, k, burst - ago) ? 1 : 0;
    return n;
}

/* d+ and d- as whole numbers; coefficients are in 2^-16 */
static void change_of(const second_learning *l, uint64_t i, uint32_t sources,
                      uint32_t targets)
{
    const int32_t up = (int32_t)(l->coefs[0] / 65536);
    const int32_t down = (int32_t)(l->coefs[1] / 65536);
    const uint32_t all = window_of(l);
    int64_t m = l->m[i];
    if (sources == 0 && targets == 0)
        return;
    m += (int64_t)(sources == all && targets == all ? up : -down) * 65536;
    if (m < 0)
        m = 0;
    l->m[i] = (int32_t)(m < l->most ? m : l->most);
    l->exact[i] = l->m[i];
}

void second_window_step(second_learning *l, uint64_t burst,
                        const char *sources_fired, const char *targets_fired)
{
    const char *now[2] = {sources_fired, targets_fired};
    size_t frame = (size_t)(burst % (2 * (uint64_t)window_of(l) + 1));
    for (int side = 0; side < 2; side++)
        memcpy(l->frames[side] + frame * neurons_of(l, side), now[side],
               neurons_of(l, side));
    if ((l->flags & 8u) != 0 || burst + 1 < window_of(l))
        return;
    for (uint32_t k = 0; k < l->n_sources; k++)
        for (uint64_t i = l->row[k]; i < l->row[k + 1]; i++)
            change_of(l, i, spikes_of(l, 0, k, burst),
                      spikes_of(l, 1, l->target[i] - l->first, burst));
}

uint32_t second_window_run(const second_learning *l, int side, uint32_t k,
                           uint64_t burst, uint32_t *age)
{
    uint32_t run = 0;
    *age = 1;
    while (*age < window_of(l) && *age <= burst &&
           !did_fire(l, side, k, burst - *age))
        ++*age;
    if (*age >= window_of(l) || *age > burst)
        return 0;
    while (run < window_of(l) && *age + run <= burst &&
           did_fire(l, side, k, burst - *age - run))
        run++;
    return run;
}
