/* SPDX-License-Identifier: Apache-2.0
 * For how many bursts ranks may run before they exchange spikes: the window.
 * The host reserves room for the spikes of so many bursts, and the backend runs
 * so many.
 *
 * A spike is needed by another rank `base_delay` bursts later at the earliest,
 * so ranks that exchange every so many bursts deliver every event in its burst.
 * Until then a rank has its own spikes only, which is enough for projections
 * that stay inside one rank. Where a projection learns or has short-term
 * plasticity, every rank keeps what it remembers of its neurons.
 */
#ifndef VOLLEY_RULES_RANK_WINDOW_H
#define VOLLEY_RULES_RANK_WINDOW_H

#include <stdint.h>

/* At most: beyond some tens of bursts the cost of a message is small, and the
 * host needs room for all neurons in each of them. */
#define VLY_RANK_WINDOW 64u

typedef struct vly_rank_map {
    uint32_t base_delay;
    uint32_t of_windows; /* not 0: a rule of windows */
    uint32_t modulated;  /* not 0: by the spikes of an area */
    uint32_t learns;     /* not 0: any rule */
    uint32_t short_term; /* not 0: gains are computed before spikes arrive */
    uint32_t inside;     /* not 0: one rank has both areas */
} vly_rank_map;

/* Bursts after which the spikes of the projection's sources must be known on
 * every rank, and why; UINT32_MAX: any number. */
static inline uint32_t vly_rank_window(const vly_rank_map *map,
                                       const char **why)
{
    *why = "delay";
    if (map->of_windows) {
        *why = "rule";
        return 1;
    }
    if (map->modulated) {
        *why = "modulator";
        return 1;
    }
    if (map->learns)
        return map->base_delay;
    if (map->short_term)
        return map->base_delay > 1 ? map->base_delay - 1 : 1;
    return map->inside ? UINT32_MAX : map->base_delay;
}

/* The rank that has neurons [low, low + n); n_ranks: several have. first
 * [n_ranks + 1]: as in vly_ranks. */
static inline uint32_t vly_rank_of(const uint32_t *first, uint32_t n_ranks,
                                   uint32_t low, uint32_t n)
{
    uint32_t r = 0;
    while (r < n_ranks && (low < first[r] || low + n > first[r + 1]))
        r++;
    return r;
}

#endif
