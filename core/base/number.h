/* SPDX-License-Identifier: Apache-2.0
 * Elementary functions in double without libm: the same bits from every
 * compiler, optimisation level and machine. They use + - * / and sqrt (all
 * correctly rounded by IEEE 754) and integer operations only.
 *
 * Accuracy, tested against references of 60 digits: exp, expm1, log, log1p, pow
 * and sin_turns 2 ulp; erf 4 ulp; erfc, normal_cdf and normal_inverse 8 ulp,
 * tails too (normal results; subnormal ones keep what bits they have);
 * log_gamma 4 ulp or 1e-14, whichever is more. NaN gives NaN; domain errors
 * give what C's libm gives (log(0) = -inf, log(-1) = NaN).
 */
#ifndef VOLLEY_BASE_NUMBER_H
#define VOLLEY_BASE_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

double vly_exp(double x);
double vly_expm1(double x); /* accurate near 0: propagators need it */
double vly_log(double x);
double vly_log1p(double x); /* accurate near 0: the pair formula needs it */
double vly_pow(double x, double y); /* x >= 0; small whole y by products */
double vly_sqrt(double x);          /* correctly rounded, never sets errno */
double vly_floor(double x);
double vly_erf(double x);
double vly_erfc(double x);
double vly_normal_cdf(double x);
double vly_normal_inverse(double p); /* 0 < p < 1; 0: -inf, 1: inf */
double vly_log_gamma(double x);      /* x > 0; for binomial and Poisson */
double vly_sin_turns(double x);      /* sin(2 pi x) */

uint32_t vly_float_bits(float x);
float vly_float_from_bits(uint32_t bits);
/* x as a stored float: |x| < 2^-40 becomes +0, clamped to [lo, hi] */
float vly_float_store(double x, float lo, float hi);

/* Milliseconds to bursts: floor(ms / dt + 0.5); false if it does not fit in
 * 2^53 or is negative or not finite. */
bool vly_bursts_from_ms(double ms, double dt_ms, uint64_t *bursts);

/* x as a count, without its fraction: NaN and what is below 0 become 0, what
 * does not fit the largest uint64_t. A cast of such an x has no defined value,
 * so unchecked values from a file or an option are converted here. */
uint64_t vly_count_of(double x);

#endif
