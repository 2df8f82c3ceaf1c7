/* SPDX-License-Identifier: Apache-2.0
 * Eligibility and modulator, written a second time for the second simulator:
 * STDP changes the eligibility c of a synapse at once, every interval all
 * synapses change by c and the modulator, and the modulator is a number that
 * spikes of its area, or the host, add to.
 */
#ifndef VOLLEY_SECOND_REWARD_H
#define VOLLEY_SECOND_REWARD_H

#include <stdint.h>

/* Of one projection. */
typedef struct second_reward {
    uint32_t interval; /* bursts */
    uint32_t area;     /* of the modulator; UINT32_MAX: none */
    float rate;        /* of the modulator, a burst */
    uint32_t bursts;
    float coefs[6];   /* a_plus, a_minus, interval, base, increment, fade */
    double params[3]; /* the first three, of the file's parameters */
    double w_max;     /* its size */

    int32_t *c;    /* [synapses] in 2^-16 of a unit of its own */
    double *exact; /* the same in doubles */
    float n;       /* the modulator after its last change ... */
    uint64_t last; /* ... in burst last - 1; 0: never */
    double smooth; /* as a double */
    /* set by a caller before a burst, for that burst alone */
    int is_given;
    int32_t given; /* 2^-16 / s */
} second_reward;

struct second_learning;

/* From the parameters of the file: those of the rule, w_max, the area. */
void second_reward_read(second_reward *r, const double *params, double dt_ms);
/* 0, or -1 without memory. */
int second_reward_begin(struct second_learning *l, uint64_t n);
void second_reward_end(second_reward *r);
/* A pair at synapse i, with the trace of the other side. */
void second_reward_pair(second_reward *r, int post, uint64_t i, float trace,
                        double smooth);
/* Changes all weights if the burst is one of the interval's. */
void second_reward_sweep(struct second_learning *l, uint64_t burst);
/* The end of a burst with so many spikes of the area. */
void second_reward_fire(second_reward *r, uint64_t burst, uint32_t n_spikes);
/* The two words of a snapshot at `burst`. */
void second_reward_words(const second_reward *r, uint64_t burst,
                         uint32_t words[2]);

#endif
