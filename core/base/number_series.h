/* SPDX-License-Identifier: Apache-2.0
 * Steps that number.c and number_special.c share.
 */
#ifndef VOLLEY_BASE_NUMBER_SERIES_H
#define VOLLEY_BASE_NUMBER_SERIES_H

/* c[0] + c[1] x + ... + c[n - 1] x^(n - 1), from the last term down */
static inline double vly_horner(const double *c, int n, double x)
{
    double sum = c[n - 1];
    for (int i = n - 2; i >= 0; i--)
        sum = sum * x + c[i];
    return sum;
}

/* x rounded to its upper 26 bits, so that products of halves are exact
 * (Dekker 1971, doi:10.1007/BF01397083); |x| < 2^990 */
static inline double vly_upper_half(double x)
{
    double c = x * 134217729.0; /* 2^27 + 1 */
    return c - (c - x);
}

#endif
