/* SPDX-License-Identifier: Apache-2.0
 * Short-term plasticity, written a second time for the second simulator: the
 * gain of a spike when it is fired, and the state of a snapshot from all spikes
 * since the first burst. A copy in double precision runs beside it.
 */
#ifndef VOLLEY_SECOND_SHORT_TERM_H
#define VOLLEY_SECOND_SHORT_TERM_H

#include <stdint.h>

typedef struct second_source {
    float x, u, y;
    double exact_x, exact_u, exact_y;
    uint64_t last;    /* burst of the last spike */
    int known;        /* 0: no spike yet, or long ago */
    uint64_t *spikes; /* [n_spikes] bursts */
    uint32_t n_spikes;
    uint32_t capacity;
} second_source;

/* That of one projection, as the file has it. */
typedef struct second_short_term {
    char rule[32];
    uint32_t bursts;
    uint32_t n_coefs;
    const uint32_t *coefs;
    const double *params;
    uint32_t n_sources;
    second_source *sources;
    double distance; /* of a gain to the doubles */
} second_short_term;

int second_short_term_begin(second_short_term *s); /* 0, or -1: no memory */
void second_short_term_end(second_short_term *s);
/* Source k fires: its gain in 2^-16; -1 without memory. */
int64_t second_short_term_fire(second_short_term *s, uint32_t k,
                               uint64_t burst);
/* What an event of this weight adds. */
int64_t second_short_term_event(int16_t weight, int64_t gain, uint32_t shift);
/* Adds the words of the snapshot at `burst` to *digest; *at: of all words.
 * reach: bursts to the last event of a spike. */
void second_short_term_digest(second_short_term *s, uint64_t burst,
                              uint64_t reach, uint64_t *at, uint64_t *digest);

#endif
