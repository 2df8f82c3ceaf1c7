/* SPDX-License-Identifier: Apache-2.0
 * A gallery neuron in double: equations, arrivals, spike and reset written
 * plainly, integrated by the classical Runge-Kutta method in small steps,
 * beside the genome of that name run on cpu:1.
 */
#ifndef VOLLEY_NEURON_GALLERY_H
#define VOLLEY_NEURON_GALLERY_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GALLERY_VARIABLES = 8, GALLERY_EVENTS = 32 };

typedef struct gallery_event {
    double time_ms; /* the end of the burst in which it arrives */
    int variable;
    double amount;
} gallery_event;

typedef struct gallery_neuron {
    const char *name; /* genomes/neurons/NAME.toml */
    /* of compared variables, variable 0 always; NULL: not compared */
    const char *fields[GALLERY_VARIABLES];
    int n;
    double dt_ms;
    double ms; /* compared from 0 to here */
    double start[GALLERY_VARIABLES];
    /* f: derivatives, size: sums of the absolute values of their terms */
    void (*rates)(const double *x, double *f, double *size);
    gallery_event events[GALLERY_EVENTS]; /* up to one with amount 0 */
    /* Fires where this is not below 0. NULL: never, or not compared */
    double (*above)(const double *x);
    bool rises; /* and was below 0 a burst before */
    /* Instead of above: the probability of a spike in a burst */
    double (*chance)(const double *x, double dt_ms);
    /* where the order is not 0: a constant for variable 0, NULL: none */
    void (*reset)(double *x);
    double t_ref_ms;
    uint32_t held; /* bit i: variable i stands still while refractory */
    /* of the method in a burst; 0: exact */
    int order;
    bool upswing; /* the threshold is beyond where it goes to infinity */
} gallery_neuron;

/* f = sum of terms, size = sum of their absolute values */
#define TERMS(i, ...)                                                          \
    do {                                                                       \
        const double terms_[] = {__VA_ARGS__};                                 \
        f[i] = size[i] = 0;                                                    \
        for (size_t t_ = 0; t_ < sizeof terms_ / sizeof terms_[0]; t_++) {     \
            f[i] += terms_[t_];                                                \
            size[i] += fabs(terms_[t_]);                                       \
        }                                                                      \
    } while (0)

/* The compared variables and the spikes are those of the reference; the .c file
 * says what this means. Prints what is found. */
void gallery_check(const gallery_neuron *neuron);

/* Cases whose equations are not all linear (neuron_gallery_methods.c). */
void gallery_cond_alpha(void **state);
void gallery_cond_beta(void **state);
void gallery_hh(void **state);
void gallery_adex(void **state);
void gallery_qif(void **state);
void gallery_leaky(void **state);
void gallery_nmda(void **state);

#endif
