/* SPDX-License-Identifier: Apache-2.0
 * What the parts of the generator of random genomes share.
 */
#ifndef VOLLEY_RANDOM_MAKER_H
#define VOLLEY_RANDOM_MAKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "random_genome.h"

enum { FEAGI, DELTA, EXP, ALPHA, IZHIKEVICH, COND, ADEX, EXP2, N_MODELS };
enum { MAX_AREAS = 6, MAX_ARRAY = 64 };

typedef struct area {
    int model;
    uint32_t n;
    bool has_voxels;
    uint32_t voxels[3];
    uint32_t per_voxel;
    bool is_round; /* numbers with which a threshold is met exactly */
} area;

typedef struct maker {
    uint64_t state; /* splitmix64 */
    char *text;
    size_t length;
    size_t capacity;
    bool failed;
    unsigned more; /* RANDOM_*: maps that are added */
    bool has[COVER_COUNT];
    double dt_ms;
    uint32_t later; /* bursts, added to every delay */
    uint32_t bursts;
    uint32_t n_areas;
    area areas[MAX_AREAS + 1]; /* one with positions */
} maker;

/* Arguments of a call are evaluated in no fixed order: at most one draw in a
 * call, or the text depends on the compiler. */
void put(maker *m, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
uint32_t whole(maker *m, uint32_t lo, uint32_t hi); /* in [lo, hi] */
double between(maker *m, double lo, double hi);     /* in [lo, hi) */
bool chance(maker *m, uint32_t percent);
void cover(maker *m, int what);

/* random_genome.c */
const char *suffix(int model); /* of weights */
double strong(int model); /* a weight that goes a good way to the threshold */
void put_weight(maker *m, int model, bool few);
void put_delay(maker *m);
void put_flags(maker *m, bool same_area, bool can_forbid_multiple);
void put_vectors(maker *m); /* without an end of line */
/* random_late.c: a whole text, which has room for so many bytes more */
void random_put_later(char *text, uint32_t later);
size_t random_later_bytes(const char *text);
/* random_voxels.c: maps of the rules that came later */
void put_more_maps(maker *m, uint32_t index);
/* random_space.c: with edges NULL no map of a file */
void put_space_and_file(maker *m, char **edges);
/* random_plasticity.c */
void put_plastic_maps(maker *m);
/* random_rule.c: a [synapse.sINDEX] for weights up to most */
void put_users_rule(maker *m, uint32_t index, double most);
/* random_short_term.c */
void put_short_term_maps(maker *m);
/* random_memory.c */
void put_memories(maker *m);
/* random_pool.c */
void put_pools(maker *m);
/* random_record.c */
void put_records(maker *m);
/* random_area.c */
void choose_areas(maker *m);
void put_area(maker *m, uint32_t index);

#endif
