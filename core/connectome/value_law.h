/* SPDX-License-Identifier: Apache-2.0
 * A distribution of the genome over a finite interval: cumulative share, its
 * inverse, and a table over integers from which one word draws one integer.
 */
#ifndef VOLLEY_CONNECTOME_VALUE_LAW_H
#define VOLLEY_CONNECTOME_VALUE_LAW_H

#include <stdbool.h>
#include <stdint.h>

#include "genome/genome.h"

/* Clipped to [lo, hi]; lo == hi: a constant. Normal and lognormal end, on a
 * side without a clip or with a clip further out, 6 standard deviations beyond
 * the mean (or beyond the other side's clip if that is past the mean); an
 * exponential at 6 standard deviations beyond its mean, 7 means from 0. */
typedef struct vly_law {
    vly_value_kind kind;
    double a;
    double b;
    double lo;
    double hi;
    double mean;  /* before clipping */
    double share; /* of the unclipped distribution inside [lo, hi] */
} vly_law;

/* False, with a reason: not a number or distribution, or the clip leaves
 * nothing. */
bool vly_law_init(vly_law *law, const vly_value *value, const char **reason);
/* Share of the distribution in [lo, x], not normalised: up to law->share. */
double vly_law_below(const vly_law *law, double x);
/* The value that a share u of (0, 1) of the clipped distribution is below. */
double vly_law_value(const vly_law *law, double u);

/* Mean of the clipped distribution. */
double vly_law_mean(const vly_law *law);

/* Integers [first, first + n_thresholds]; integer first + k is drawn where k is
 * the number of thresholds not above the word. guide[word >> shift] is k of the
 * smallest word with these top bits: a draw compares one or two thresholds. Two
 * more, 2^32 - 1, follow the last one, so that a draw needs no bounds check. */
typedef struct vly_discrete {
    int32_t first;
    uint32_t n_thresholds;
    uint32_t shift;
    uint32_t *thresholds;
    uint16_t *guide;
    int32_t *values; /* [n_thresholds + 1] what is drawn instead of first + k;
                        NULL: nothing */
} vly_discrete;

/* Integers j stand for j * unit. */
typedef enum vly_rounding {
    VLY_ROUND_INSIDE, /* lo <= j unit <= hi (the nearest to the middle if there
                         is none): weights */
    VLY_ROUND_VALUES  /* floor(x / unit + 0.5) for x in [lo, hi]: delays */
} vly_rounding;

typedef struct vly_integers {
    double first; /* whole numbers; double, as they may be huge */
    double last;
} vly_integers;

/* The integers that can come out, at least `least`; last < first if none. */
vly_integers vly_law_integers(const vly_law *law, double unit,
                              vly_rounding rounding, double least);
/* The table over these (at most 65536) integers. Integers without mass at the
 * ends are left out. E_NOMEM; E_INVALID if all have none. */
vly_status vly_discrete_init(vly_discrete *table, const vly_law *law,
                             double unit, vly_integers range);
/* The same over the integers of the wide grid inside [lo, hi]: 0, and
 * integers of 12 significant bits; from 2^15 on only multiples of 2^6, from
 * 2^21 on only of 2^12. So each is an int16 times 2^0, 2^6 or 2^12, and from
 * 2^15 on within 0.1% of the requested value. */
#define VLY_WIDE_MAX ((double)(INT32_C(32760) << 12))
vly_status vly_discrete_init_wide(vly_discrete *table, const vly_law *law,
                                  double unit);
/* Mean of the integers that come out. */
double vly_discrete_mean(const vly_discrete *table);
/* Share of the draws that give an integer of a magnitude in [from, to]. */
double vly_discrete_share(const vly_discrete *table, double from, double to);
void vly_discrete_deinit(vly_discrete *table);

/* k of a word, or n_thresholds + 1 instead of n_thresholds. The first threshold
 * is counted without a branch, since the branch could not be predicted; a
 * second one is rarely passed. */
static inline uint32_t vly_discrete_look(const vly_discrete *table, uint32_t u)
{
    const uint32_t *thresholds = table->thresholds;
    uint32_t k = table->guide[u >> table->shift];
    k += thresholds[k] <= u;
    while (thresholds[k] <= u && k < table->n_thresholds)
        k++;
    return k;
}

static inline int32_t vly_discrete_draw(const vly_discrete *table, uint32_t u)
{
    uint32_t k = vly_discrete_look(table, u);
    return table->first +
           (int32_t)(k < table->n_thresholds ? k : table->n_thresholds);
}

#endif
