/* SPDX-License-Identifier: Apache-2.0
 * Keys and terms of the connectome's digest, and the data that its files
 * exchange. FORMAT.md has the definition.
 */
#ifndef VOLLEY_CONNECTOME_DIGEST_TERMS_H
#define VOLLEY_CONNECTOME_DIGEST_TERMS_H

#include <stdatomic.h>
#include <string.h>

#include "connectome/connectome_work.h"

enum { LANES = 2, NTH_SHIFT = 40 };
/* of a task */
#define TASK_TERMS UINT64_C(65536)

/* The first word of a key: the kind of the term. */
enum {
    TERM_NET = 1,
    TERM_AREA,
    TERM_PARAM,
    TERM_FIELD,
    TERM_COEF,
    TERM_PROJECTION,
    TERM_SYNAPSE,
    TERM_STIMULUS,
    TERM_THRESHOLD,
    TERM_INPUT,
    TERM_LEARNING
};

/* Odd, and 2 apart mod 4; connectome_digest.c explains why. Multipliers of
 * Steele and Vigna 2021 (doi:10.1002/spe.3030) and of xxHash. */
#define MULTIPLIER_0 UINT64_C(0xD1342543DE82EF95)
#define MULTIPLIER_1 UINT64_C(0xC2B2AE3D27D4EB4F)

typedef struct key {
    uint64_t lane[LANES];
} key;

typedef struct digest_work {
    const vly_connectome *connectome;
    uint32_t first; /* neurons of the part */
    uint32_t last;
    uint64_t state_words; /* of the areas processed so far */
    _Atomic uint64_t sum[LANES];
} digest_work;

/* vly_mix64, to be inlined */
static inline uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
    return x ^ x >> 31;
}

static inline key key_add(key k, uint64_t word)
{
    return (key){{mix(k.lane[0] + word), mix(k.lane[1] + word)}};
}

static inline key key_of(uint64_t term, uint64_t index)
{
    /* digits of the golden ratio and of pi, as in vly_hash_bytes */
    key k = {{UINT64_C(0x9E3779B97F4A7C15), UINT64_C(0x243F6A8885A308D3)}};
    return key_add(key_add(k, term), index);
}

/* One term of a shared key. */
static inline void sum_add(key *sum, key k, uint64_t a, uint64_t b)
{
    sum->lane[0] += mix(k.lane[0] + a + b * MULTIPLIER_0);
    sum->lane[1] += mix(k.lane[1] + a + b * MULTIPLIER_1);
}

/* The term of a record is its key. */
static inline void sum_add_key(key *sum, key k)
{
    sum->lane[0] += k.lane[0];
    sum->lane[1] += k.lane[1];
}

static inline void work_add(digest_work *work, key sum)
{
    for (int l = 0; l < LANES; l++)
        atomic_fetch_add_explicit(&work->sum[l], sum.lane[l],
                                  memory_order_relaxed);
}

static inline bool holds(const digest_work *work, uint32_t neuron)
{
    return neuron >= work->first && neuron < work->last;
}

static inline uint64_t value_of(int64_t weight, uint64_t nth)
{
    return (uint64_t)weight + (nth << NTH_SHIFT);
}

typedef struct digest_item {
    digest_work *work;
    uint32_t index;      /* of the projection or area */
    uint64_t state_word; /* the area's first */
} digest_item;

/* digest_records.c: the columns of area made->index, as tasks; areas must be
 * asked for in ascending order. */
void vly_digest_columns(digest_work *work, digest_item *made, vly_item *item);
/* Net, areas, projections, stimuli, thresholds and inputs of the part. */
void vly_digest_records(digest_work *work);

#endif
