/* SPDX-License-Identifier: Apache-2.0
 * erf, the normal distribution, log gamma and the sine without libm: rules of
 * number.c. The tables are Chebyshev interpolants to 2^-57 relative, as powers
 * of the interval scaled to [-1, 1]; tests/golden/number_reference.py makes
 * them. In the tail erfc(x) = exp(-x^2) erfcx(x), with x^2 in two parts.
 */
#include "base/number.h"

#include <float.h>
#include <math.h> /* INFINITY and NAN only */

#include "base/number_series.h"

#define COUNT(table) ((int)(sizeof(table) / sizeof((table)[0])))

#define SQRT_HALF_HIGH 0x1.6a09e667f3bcdp-1
#define SQRT_HALF_LOW -0x1.bdd3413b26456p-55
#define SQRT_TWO_PI 0x1.40d931ff62706p+1
#define TWO_PI 0x1.921fb54442d18p+2
#define EXP_MINUS_64 0x1.969d47321e4ccp-93
#define HALF_LOG_TWO_PI 0x1.d67f1c864beb5p-1

/* erf(x) / x as a function of x^2 in [0, 1/4] */
static const double erf_near[11] = {
    0x1.15446b34ed348p+0,   -0x1.658407f4c04c0p-5,  0x1.a6db683de1276p-10,
    -0x1.8f7e682c96cd8p-15, 0x1.35219bf04bdf6p-20,  -0x1.93403af733005p-26,
    0x1.c5c5703cf6dd2p-32,  -0x1.c08f4c11bbea1p-38, 0x1.8b2b73c6a8ddap-44,
    -0x1.39fdacc3f61efp-50, 0x1.c60ae6747e9bcp-57,
};
/* erfcx(x) for x in [1/2, 1], [1, 2] and [2, 4] */
static const double erfcx_0[16] = {
    0x1.038d54ea3d834p-1,   -0x1.78cdd551ee51ap-4,  0x1.d90093ae10928p-7,
    -0x1.09e77d40e0239p-9,  0x1.1192f5bd686e0p-12,  -0x1.054d68295b1e7p-15,
    0x1.d43a7c7a8d2edp-19,  -0x1.8c97dd4ebbc8ap-22, 0x1.3f8189568e487p-25,
    -0x1.ec0cf4b59fcdap-29, 0x1.6b9854f9dee14p-32,  -0x1.02b1788882ce9p-35,
    0x1.635a1ca888cf3p-39,  -0x1.d89e5750955abp-43, 0x1.384edb1c811a0p-46,
    -0x1.870db7bbda793p-50,
};
static const double erfcx_1[19] = {
    0x1.494daffa2ad68p-2,   -0x1.4f1988444caf7p-4,  0x1.37ea271bc54bdp-6,
    -0x1.0dc51d2941e6bp-8,  0x1.b65944f34f7abp-11,  -0x1.513ed7600d679p-13,
    0x1.ee705e7364af4p-16,  -0x1.5b0abfe60eb7ep-18, 0x1.d4509d0cf712fp-21,
    -0x1.30c0ec9d0de4fp-23, 0x1.7f99794b93823p-26,  -0x1.d415579eabdaep-29,
    0x1.156c86a413bc6p-31,  -0x1.4009e6dbe4d91p-34, 0x1.67d4440338f94p-37,
    -0x1.89bb86efe1cd8p-40, 0x1.a65d02ec951dep-43,  -0x1.dfedf0fc63352p-46,
    0x1.ebbcb67e59cfep-49,
};
static const double erfcx_2[22] = {
    0x1.6e9827d229d2dp-3,   -0x1.bd6ae4d14b16fp-5,  0x1.043fe1a98c0cdp-6,
    -0x1.259061ba85692p-8,  0x1.409cc2ed3ff31p-10,  -0x1.53dec9d08957bp-12,
    0x1.5e73930481c7cp-14,  -0x1.6025103c17179p-16, 0x1.595f1b5f62556p-18,
    -0x1.4b1462877e572p-20, 0x1.3699043f265d5p-22,  -0x1.1d7913fabd320p-24,
    0x1.0150a4318885dp-26,  -0x1.c75227b0b98a0p-29, 0x1.8bba0e32339d5p-31,
    -0x1.522424a8e7909p-33, 0x1.1ca1848ccf70fp-35,  -0x1.d702714aa4fe0p-38,
    0x1.76b837ca50cd3p-40,  -0x1.2d603e8e53abdp-42, 0x1.2c8a181a21404p-44,
    -0x1.d30fc9b85e9f7p-47,
};
/* x erfcx(x) as a function of 1 / x^2 in [0, 1/16] */
static const double erfcx_far[17] = {
    0x1.1c8c55ad08099p-1,   -0x1.088ffc939734fp-7,  0x1.5dcd442df7058p-12,
    -0x1.6ec49a074dad4p-16, 0x1.00fd05d4dedd2p-19,  -0x1.bb483dfa7bb57p-23,
    0x1.c070df237fb63p-26,  -0x1.01d4ac8aeeca2p-28, 0x1.49a9b5cde52c2p-31,
    -0x1.cd23c8b4548dap-34, 0x1.5c89de8e6e209p-36,  -0x1.1a79f9c191ca7p-38,
    0x1.e58cc57971bcfp-41,  -0x1.a5371c0afa6e2p-43, 0x1.8d75105db00e7p-45,
    -0x1.1b45150226685p-46, 0x1.2bf2d962392f5p-48,
};

/* B(2n) / (2n (2n - 1)) of Stirling's series */
static const double stirling[8] = {
    0x1.5555555555555p-4,   /* 1/12 */
    -0x1.6c16c16c16c17p-9,  /* -1/360 */
    0x1.a01a01a01a01ap-11,  /* 1/1260 */
    -0x1.3813813813814p-11, /* -1/1680 */
    0x1.b951e2b18ff23p-11,  /* 1/1188 */
    -0x1.f6ab0d9993c7dp-10, /* -691/360360 */
    0x1.a41a41a41a41ap-8,   /* 1/156 */
    -0x1.e4286cb0f5398p-6,  /* -3617/122400 */
};

/* (-1)^k / (2k + 1)! and (-1)^k / (2k)! of Taylor's series, to 2^-57 at pi/4 */
static const double sine[9] = {
    0x1.0000000000000p+0,   -0x1.5555555555555p-3,  0x1.1111111111111p-7,
    -0x1.a01a01a01a01ap-13, 0x1.71de3a556c734p-19,  -0x1.ae64567f544e4p-26,
    0x1.6124613a86d09p-33,  -0x1.ae7f3e733b81fp-41, 0x1.952c77030ad4ap-49,
};
static const double cosine[10] = {
    0x1.0000000000000p+0,   -0x1.0000000000000p-1,  0x1.5555555555555p-5,
    -0x1.6c16c16c16c17p-10, 0x1.a01a01a01a01ap-16,  -0x1.27e4fb7789f5cp-22,
    0x1.1eed8eff8d898p-29,  -0x1.93974a8c07c9dp-37, 0x1.ae7f3e733b81fp-45,
    -0x1.6827863b97d97p-53,
};

/* exp(x^2) erfc(x) for x >= 1/2 */
static double erfcx(double x)
{
    if (x < 1.0)
        return vly_horner(erfcx_0, COUNT(erfcx_0), 4.0 * x - 3.0);
    if (x < 2.0)
        return vly_horner(erfcx_1, COUNT(erfcx_1), 2.0 * x - 3.0);
    if (x < 4.0)
        return vly_horner(erfcx_2, COUNT(erfcx_2), x - 3.0);
    return vly_horner(erfcx_far, COUNT(erfcx_far), 32.0 / (x * x) - 1.0) / x;
}

/* erfc(x + low) for x >= 1/2, low below an ulp of x. exp(-(x + low)^2) is the
 * product of an exponential of a square that is exact and one near 1. */
static double erfc_tail(double x, double low)
{
    if (x > 28.0)
        return 0.0;
    double h = vly_upper_half(x);
    double rest = (x - h) * (x + h) + 2.0 * x * low;
    double near_one = 1.0 + vly_expm1(-rest);
    /* erfcx first: near 27 the exponential alone would be subnormal */
    if (x > 26.0)
        return vly_exp(-h * h + 64.0) * (erfcx(x) * near_one) * EXP_MINUS_64;
    return vly_exp(-h * h) * (erfcx(x) * near_one);
}

/* erf(x) for |x| <= 1/2 */
static double erf_near_zero(double x)
{
    return x * vly_horner(erf_near, COUNT(erf_near), 8.0 * (x * x) - 1.0);
}

double vly_erf(double x)
{
    if (x != x)
        return x;
    if (x < -0.5)
        return -vly_erf(-x);
    if (x <= 0.5)
        return erf_near_zero(x);
    return 1.0 - erfc_tail(x, 0.0);
}

/* erfc(x + low) */
static double erfc_pair(double x, double low)
{
    if (x != x)
        return x;
    if (x < -0.5)
        return 2.0 - erfc_tail(-x, -low);
    if (x <= 0.5)
        return 1.0 - erf_near_zero(x);
    return erfc_tail(x, low);
}

double vly_erfc(double x)
{
    return erfc_pair(x, 0.0);
}

double vly_normal_cdf(double x)
{
    if (x < -40.0)
        return 0.0;
    if (x > 40.0)
        return 1.0;
    /* z + low = -x / sqrt(2): erfc turns an error of z into z^2 as much */
    double z = -x * SQRT_HALF_HIGH;
    double xh = vly_upper_half(-x);
    double xl = -x - xh;
    double ch = vly_upper_half(SQRT_HALF_HIGH);
    double cl = SQRT_HALF_HIGH - ch;
    double low = ((xh * ch - z) + xh * cl + xl * ch) + xl * cl;
    return 0.5 * erfc_pair(z, low - x * SQRT_HALF_LOW);
}

/* x with normal_cdf(x) = p for p <= 0.3: Abramowitz and Stegun 26.2.23 (error
 * 4.5e-4), then three steps of Halley's method, each of which cubes the error.
 */
static double inverse_tail(double p)
{
    double t = vly_sqrt(-2.0 * vly_log(p));
    double above = 2.515517 + t * (0.802853 + t * 0.010328);
    double below = 1.0 + t * (1.432788 + t * (0.189269 + t * 0.001308));
    double x = above / below - t;
    for (int i = 0; i < 3; i++) {
        /* error over density; exp(x^2 / 2) alone may overflow */
        double root = vly_exp(0.25 * x * x);
        double error = (vly_normal_cdf(x) - p) * root;
        double step = error * SQRT_TWO_PI * root;
        x -= step / (1.0 + 0.5 * x * step);
    }
    return x;
}

/* x with normal_cdf(x) = 1/2 + q for |q| <= 0.2: two terms of the series, then
 * Halley's steps on erf, which is relatively accurate near 0. */
static double inverse_centre(double q)
{
    double y = q * SQRT_TWO_PI;
    double x = y + y * y * y * 0x1.5555555555555p-3; /* 1/6 */
    for (int i = 0; i < 3; i++) {
        double error = 0.5 * vly_erf(x * SQRT_HALF_HIGH) - q;
        double step = error * SQRT_TWO_PI * vly_exp(0.5 * x * x);
        x -= step / (1.0 + 0.5 * x * step);
    }
    return x;
}

double vly_normal_inverse(double p)
{
    if (p == 0.0)
        return -(double)INFINITY;
    if (p == 1.0)
        return (double)INFINITY;
    if (!(p > 0.0 && p < 1.0))
        return (double)NAN;
    if (p < 0.3)
        return inverse_tail(p);
    if (p > 0.7)
        return -inverse_tail(1.0 - p); /* exact */
    return inverse_centre(p - 0.5);    /* exact */
}

/* Stirling's series from 8 on; below, Gamma(x) = Gamma(x + n) / product. The
 * rounding error of x + n is corrected with the derivative, about log. */
double vly_log_gamma(double x)
{
    if (x != x || x > DBL_MAX)
        return x;
    if (!(x > 0.0))
        return (double)NAN;
    double product = 1.0;
    double n = 0.0;
    while (x + n < 8.0) {
        product *= x + n;
        n += 1.0;
    }
    double y = x + n;
    double lost = x >= n ? n - (y - x) : x - (y - n);
    double inverse = 1.0 / y;
    double series =
        inverse * vly_horner(stirling, COUNT(stirling), inverse * inverse);
    double log_y = vly_log(y);
    double rest = HALF_LOG_TWO_PI + series + lost * log_y;
    double value = (y - 0.5) * log_y - y + rest;
    return n == 0.0 ? value : value - vly_log(product);
}

/* In turns the reduction to [-1/8, 1/8] is exact. */
double vly_sin_turns(double x)
{
    if (!(x > -0x1p52 && x < 0x1p52))
        return x - x; /* a whole number of turns, or NaN */
    double quarter = vly_floor(4.0 * x);
    if (4.0 * x - quarter >= 0.5)
        quarter += 1.0;
    double y = TWO_PI * (x - 0.25 * quarter);
    double of_four = quarter - 4.0 * vly_floor(0.25 * quarter);
    double z = y * y;
    double value = of_four == 0.0 || of_four == 2.0
                       ? y * vly_horner(sine, COUNT(sine), z)
                       : vly_horner(cosine, COUNT(cosine), z);
    return of_four < 2.0 ? value : -value;
}
