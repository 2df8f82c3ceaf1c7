/* SPDX-License-Identifier: Apache-2.0
 * exp, log, pow and conversions without libm.
 *
 * Every result is a fixed sequence of + - * / and sqrt in double, which IEEE
 * 754 rounds correctly, so the bits do not depend on compiler, optimisation or
 * machine. It holds with -ffp-contract=off and evaluation in double only.
 * Reductions are the classic ones (Cody and Waite 1980, Software Manual for the
 * Elementary Functions); the series are Taylor's, long enough for 2^-57.
 * Error-free products are Dekker's (1971, doi:10.1007/BF01397083): no fma.
 */
#include "base/number.h"

#include <float.h>
#include <math.h> /* INFINITY and NAN only */
#include <string.h>

#include "base/number_series.h"

#if FLT_EVAL_METHOD != 0
#error "double must be evaluated in double (no x87)"
#endif

/* ln 2 in two parts: the first has 32 bits, so that k * LN2_HIGH is exact */
#define LN2_HIGH 0x1.62e42fee00000p-1
#define LN2_LOW 0x1.a39ef35793c76p-33
#define LOG2_E 0x1.71547652b82fep+0
#define SQRT_HALF 0x1.6a09e667f3bcdp-1
#define TWO_THIRDS_HIGH 0x1.5555555555555p-1
#define TWO_THIRDS_LOW 0x1.5555555555555p-55

static const double exp_series[12] = {
    0x1.0000000000000p-1,  /* 1/2! */
    0x1.5555555555555p-3,  /* 1/3! */
    0x1.5555555555555p-5,  /* 1/4! */
    0x1.1111111111111p-7,  /* 1/5! */
    0x1.6c16c16c16c17p-10, /* 1/6! */
    0x1.a01a01a01a01ap-13, /* 1/7! */
    0x1.a01a01a01a01ap-16, /* 1/8! */
    0x1.71de3a556c734p-19, /* 1/9! */
    0x1.27e4fb7789f5cp-22, /* 1/10! */
    0x1.ae64567f544e4p-26, /* 1/11! */
    0x1.1eed8eff8d898p-29, /* 1/12! */
    0x1.6124613a86d09p-33, /* 1/13! */
};

static const double atanh_series[11] = {
    0x1.5555555555555p-1, /* 2/3 */
    0x1.999999999999ap-2, /* 2/5 */
    0x1.2492492492492p-2, /* 2/7 */
    0x1.c71c71c71c71cp-3, /* 2/9 */
    0x1.745d1745d1746p-3, /* 2/11 */
    0x1.3b13b13b13b14p-3, /* 2/13 */
    0x1.1111111111111p-3, /* 2/15 */
    0x1.e1e1e1e1e1e1ep-4, /* 2/17 */
    0x1.af286bca1af28p-4, /* 2/19 */
    0x1.8618618618618p-4, /* 2/21 */
    0x1.642c8590b2164p-4, /* 2/23 */
};

static uint64_t double_bits(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof(bits));
    return bits;
}

static double double_from_bits(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof(x));
    return x;
}

/* 2^k for a normal result */
static double power_of_two(int k)
{
    return double_from_bits((uint64_t)(k + 1023) << 52);
}

/* x * 2^k with one rounding; 0.5 <= |x| < 4 */
static double scale(double x, int k)
{
    if (k > 1000)
        return x * power_of_two(k - 1000) * power_of_two(1000);
    if (k < -1000)
        return x * power_of_two(k + 1000) * power_of_two(-1000);
    return x * power_of_two(k);
}

double vly_sqrt(double x)
{
    /* the NaN of the instruction has a sign on some machines */
    return x < 0.0 ? (double)NAN : __builtin_sqrt(x);
}

double vly_floor(double x)
{
    /* values from 2^52 on, and NaN, have no fraction */
    if (!(x > -0x1p52 && x < 0x1p52))
        return x;
    double whole = (double)(int64_t)x;
    if (whole == x)
        return x; /* keeps -0 */
    return whole > x ? whole - 1.0 : whole;
}

/* ---- exp ---- */

/* x = k ln 2 + r + low with |r| <= 0.35, low the rounding error of r */
static int exp_reduce(double x, double *r, double *low)
{
    double whole = vly_floor(x * LOG2_E + 0.5);
    double high = x - whole * LN2_HIGH;
    double rest = whole * LN2_LOW;
    *r = high - rest;
    *low = (high - *r) - rest;
    return (int)whole;
}

/* exp(r + low) - 1 for |r| <= 0.35 */
static double expm1_reduced(double r, double low)
{
    double tail = r * r * vly_horner(exp_series, 12, r);
    return r + (tail + low * (1.0 + (r + tail)));
}

/* exp(x + low), low far below an ulp of x or a few of them */
static double exp_pair(double x, double low)
{
    if (x != x)
        return x;
    if (x > 709.8)
        return (double)INFINITY;
    if (x < -745.2)
        return 0.0;
    double r;
    double rest;
    int k = exp_reduce(x, &r, &rest);
    return scale(1.0 + expm1_reduced(r, rest + low), k);
}

double vly_exp(double x)
{
    return exp_pair(x, 0.0);
}

double vly_expm1(double x)
{
    if (x != x)
        return x;
    if (x > 709.8)
        return (double)INFINITY;
    if (x < -40.0)
        return -1.0;
    if (x > -0x1p-54 && x < 0x1p-54)
        return x;
    if (x > -0.34 && x < 0.34)
        return expm1_reduced(x, 0.0);
    double r;
    double low;
    int k = exp_reduce(x, &r, &low);
    double part = expm1_reduced(r, low);
    if (k > 60)
        return scale(1.0 + part, k);
    /* 2^k (1 + part) - 1 = 2^k ((1 - 2^-k) + part); from 2^-k = 2^-53 on the
     * first bracket would round */
    double one = power_of_two(-k);
    if (k >= 53)
        return scale(1.0 + (part - one), k);
    return scale((1.0 - one) + part, k);
}

/* ---- log ---- */

/* x = 2^k * m with m in [sqrt(1/2), sqrt(2)); x finite and > 0 */
static int log_reduce(double x, double *m)
{
    int k = 0;
    if (x < 0x1p-1022) {
        x *= 0x1p54;
        k = -54;
    }
    uint64_t bits = double_bits(x);
    k += (int)(bits >> 52) - 1022;
    double half = double_from_bits((bits & ((UINT64_C(1) << 52) - 1)) |
                                   (UINT64_C(1022) << 52));
    if (half < SQRT_HALF) {
        half *= 2.0;
        k--;
    }
    *m = half;
    return k;
}

/* k ln 2 + log(1 + f) + low, 1 + f in about [0.7, 1.42]. With s = f / (2 + f)
 * the logarithm is 2 atanh(s) = f - s (f - R), R = 2/3 s^2 + 2/5 s^4 + ...,
 * and f - s f = f - f^2/2 + s f^2/2 keeps f itself out of the rounding. */
static double log_sum(int k, double f, double low)
{
    double s = f / (2.0 + f);
    double z = s * s;
    double series = z * vly_horner(atanh_series, 11, z);
    double half_square = 0.5 * f * f;
    double rest = s * (half_square + series) + (k * LN2_LOW + low);
    return k * LN2_HIGH - ((half_square - rest) - f);
}

double vly_log(double x)
{
    if (x != x)
        return x;
    if (x == 0.0)
        return -(double)INFINITY;
    if (x < 0.0)
        return (double)NAN;
    if (x > DBL_MAX)
        return x;
    double m;
    int k = log_reduce(x, &m);
    return log_sum(k, m - 1.0, 0.0);
}

double vly_log1p(double x)
{
    if (x != x)
        return x;
    if (x == -1.0)
        return -(double)INFINITY;
    if (x < -1.0)
        return (double)NAN;
    if (x > DBL_MAX)
        return x;
    if (x > -0x1p-54 && x < 0x1p-54)
        return x;
    if (x > -0.29 && x < 0.41)
        return log_sum(0, x, 0.0);
    /* log(u) and the first order of what the rounding of u = 1 + x lost */
    double u = 1.0 + x;
    double lost = x > 1.0 ? 1.0 - (u - x) : x - (u - 1.0);
    double m;
    int k = log_reduce(u, &m);
    return log_sum(k, m - 1.0, lost / u);
}

/* ---- pow ---- */

typedef struct pair {
    double high;
    double low; /* far below an ulp of high */
} pair;

static pair pair_make(double high, double low)
{
    pair p;
    p.high = high + low;
    p.low = low - (p.high - high);
    return p;
}

/* a + b with its rounding error (Knuth) */
static pair sum_exact(double a, double b)
{
    pair p;
    p.high = a + b;
    double part = p.high - a;
    p.low = (a - (p.high - part)) + (b - part);
    return p;
}

/* a * b with its rounding error; |a|, |b| < 2^990 */
static pair product_exact(double a, double b)
{
    double ah = vly_upper_half(a);
    double bh = vly_upper_half(b);
    double al = a - ah;
    double bl = b - bh;
    pair p;
    p.high = a * b;
    p.low = ((ah * bh - p.high) + ah * bl + al * bh) + al * bl;
    return p;
}

static pair pair_product(pair a, pair b)
{
    pair p = product_exact(a.high, b.high);
    return pair_make(p.high, p.low + (a.high * b.low + a.low * b.high));
}

static pair pair_sum(pair a, pair b)
{
    pair p = sum_exact(a.high, b.high);
    return pair_make(p.high, p.low + (a.low + b.low));
}

/* log(x), relative error about 2^-64: exp multiplies it by up to 745. In
 * 2 atanh(s) the s and s^3 terms are pairs; the rest is below 2^-11 of them. */
static pair log_pair(double x)
{
    double m;
    int k = log_reduce(x, &m);
    double f = m - 1.0; /* exact */
    pair below = sum_exact(2.0, f);
    double s = f / below.high;
    pair back = product_exact(s, below.high);
    double s_low = (((f - back.high) - back.low) - s * below.low) / below.high;
    pair sp = pair_make(s, s_low);
    pair z = pair_product(sp, sp);
    double tail = z.high * z.high * vly_horner(atanh_series + 1, 10, z.high);
    pair thirds = {TWO_THIRDS_HIGH, TWO_THIRDS_LOW};
    pair factor = pair_sum(pair_product(z, thirds), (pair){tail, 0.0});
    factor = pair_sum((pair){2.0, 0.0}, factor);
    pair log_m = pair_product(sp, factor);
    pair log_k = pair_make(k * LN2_HIGH, k * LN2_LOW);
    return pair_sum(log_k, log_m);
}

/* |n| <= 64 by squaring; the products are exact pairs */
static double power_whole(double x, int n)
{
    pair result = {1.0, 0.0};
    pair base = {x, 0.0};
    for (int left = n < 0 ? -n : n; left; left >>= 1) {
        if (left & 1)
            result = pair_product(result, base);
        if (left > 1)
            base = pair_product(base, base);
    }
    double power = result.high + result.low;
    return n < 0 ? 1.0 / power : power;
}

/* x = 0, inf or y = inf: only signs and sizes matter */
static double power_limit(double x, double y)
{
    if (x == 1.0)
        return 1.0;
    bool grows = (x > 1.0) == (y > 0.0);
    return grows ? (double)INFINITY : 0.0;
}

double vly_pow(double x, double y)
{
    if (y == 0.0 || x == 1.0)
        return 1.0;
    if (x != x || y != y)
        return x != x ? x : y; /* x + y could give either */
    if (x < 0.0)
        return (double)NAN;
    if (x == 0.0 || x > DBL_MAX || y > DBL_MAX || y < -DBL_MAX)
        return power_limit(x, y);
    if (y == 1.0)
        return x;
    pair log_x = log_pair(x);
    double size = y * log_x.high;
    if (size > 720.0)
        return (double)INFINITY;
    if (size < -760.0)
        return 0.0;
    /* inside this range no intermediate square overflows or loses its error
     * term */
    if (size > -300.0 && size < 300.0 && y >= -64.0 && y <= 64.0 &&
        y == (double)(int)y)
        return power_whole(x, (int)y);
    /* a huge y meets an x near 1, so that its product is still small; a tiny y
     * cannot overflow Dekker's splitting either */
    if (y > 0x1p900 || y < -0x1p900)
        return power_limit(x, y);
    pair p = product_exact(log_x.high, y);
    pair e = pair_make(p.high, p.low + log_x.low * y);
    return exp_pair(e.high, e.low);
}

/* ---- float and bursts ---- */

uint32_t vly_float_bits(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof(bits));
    return bits;
}

float vly_float_from_bits(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof(x));
    return x;
}

float vly_float_store(double x, float lo, float hi)
{
    /* clamped before it is narrowed: a float holds less; NaN becomes lo, as
     * in kernels/models/model.h */
    double clamped = x > (double)lo ? x : (double)lo;
    clamped = clamped < (double)hi ? clamped : (double)hi;
    float stored = (float)clamped;
    return (vly_float_bits(stored) & 0x7FFFFFFFu) < 0x2B800000u ? 0.0f : stored;
}

bool vly_bursts_from_ms(double ms, double dt_ms, uint64_t *bursts)
{
    if (!(ms >= 0.0 && ms <= DBL_MAX && dt_ms > 0.0 && dt_ms <= DBL_MAX))
        return false;
    double count = vly_floor(ms / dt_ms + 0.5);
    if (!(count <= 0x1p53))
        return false;
    *bursts = (uint64_t)count;
    return true;
}

uint64_t vly_count_of(double x)
{
    return x >= 0x1p64 ? UINT64_MAX : x > 0.0 ? (uint64_t)x : 0;
}
