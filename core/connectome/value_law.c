/* SPDX-License-Identifier: Apache-2.0
 * Distributions over a finite interval and their tables over integers.
 *
 * Only functions of core/base/number.h are used, so that a table has the same
 * words everywhere. Shares are differences of the tail on the side of the
 * interval, so that an interval far from the mean keeps its precision.
 */
#include "connectome/value_law.h"

#include <string.h>

#include "base/memory.h"
#include "base/number.h"

#define DEVIATIONS 6.0
#define TWO_32 4294967296.0
#define GUIDE_BITS_MIN 8
#define GUIDE_BITS_MAX 14

static bool is_finite(double x)
{
    return x - x == 0.0;
}

static double larger(double a, double b)
{
    return a > b ? a : b;
}

static double smaller(double a, double b)
{
    return a < b ? a : b;
}

/* [lo, hi] of a normal variable for a clip in its own scale */
static void normal_interval(double mean, double sd, double clip_lo,
                            double clip_hi, double *lo, double *hi)
{
    *lo = larger(clip_lo, smaller(mean, clip_hi) - DEVIATIONS * sd);
    *hi = smaller(clip_hi, larger(mean, clip_lo) + DEVIATIONS * sd);
}

static void lognormal_interval(vly_law *law, double clip_lo, double clip_hi)
{
    double lo, hi;
    if (!(clip_hi > 0.0)) {
        law->lo = 1.0; /* nothing is left */
        law->hi = 0.0;
        return;
    }
    /* 1e300: an open side; its log need not be exact */
    double log_lo = clip_lo > 0.0 ? vly_log(clip_lo) : -1e300;
    double log_hi = clip_hi < 1e300 ? vly_log(clip_hi) : 1e300;
    normal_interval(law->a, law->b, log_lo, log_hi, &lo, &hi);
    law->lo = lo == log_lo ? clip_lo : vly_exp(lo);
    law->hi = hi == log_hi ? clip_hi : vly_exp(hi);
}

static void exponential_interval(vly_law *law, double clip_lo, double clip_hi)
{
    double end = law->a * (1.0 + DEVIATIONS);
    if (law->a >= 0.0) {
        law->lo = larger(clip_lo, 0.0);
        law->hi = smaller(clip_hi, law->lo + end);
    } else {
        law->hi = smaller(clip_hi, 0.0);
        law->lo = larger(clip_lo, law->hi + end);
    }
}

static bool law_interval(vly_law *law, const vly_value *value)
{
    double clip_lo = value->clipped ? value->clip_lo : -1e308;
    double clip_hi = value->clipped ? value->clip_hi : 1e308;
    law->mean = law->a;
    switch (value->kind) {
    case VLY_VALUE_NUMBER:
        law->lo = law->hi = law->a;
        break;
    case VLY_VALUE_UNIFORM:
        law->lo = larger(law->a, clip_lo);
        law->hi = smaller(law->b, clip_hi);
        law->mean = law->a + 0.5 * (law->b - law->a);
        break;
    case VLY_VALUE_NORMAL:
        normal_interval(law->a, law->b, clip_lo, clip_hi, &law->lo, &law->hi);
        break;
    case VLY_VALUE_LOGNORMAL:
        lognormal_interval(law, clip_lo, clip_hi);
        law->mean = vly_exp(law->a + 0.5 * law->b * law->b);
        break;
    case VLY_VALUE_EXPONENTIAL:
        exponential_interval(law, clip_lo, clip_hi);
        break;
    default:
        return false;
    }
    return true;
}

/* Share below x of the whole distribution (upper: above x). */
static double law_share(const vly_law *law, double x, bool upper)
{
    double z = 0.0;
    switch (law->kind) {
    case VLY_VALUE_NORMAL:
        z = (x - law->a) / law->b;
        break;
    case VLY_VALUE_LOGNORMAL:
        if (x <= 0.0)
            return upper ? 1.0 : 0.0;
        z = (vly_log(x) - law->a) / law->b;
        break;
    case VLY_VALUE_EXPONENTIAL:
        z = x / law->a; /* x and a have one sign */
        return (law->a < 0.0) == upper ? -vly_expm1(-z) : vly_exp(-z);
    default:
        z = (x - law->a) / (law->b - law->a);
        return upper ? 1.0 - z : z;
    }
    return vly_normal_cdf(upper ? -z : z);
}

static bool law_upper(const vly_law *law)
{
    if (law->kind == VLY_VALUE_NORMAL)
        return law->lo > law->a;
    if (law->kind == VLY_VALUE_LOGNORMAL)
        return law->lo > vly_exp(law->a);
    return law->kind == VLY_VALUE_EXPONENTIAL && law->a > 0.0;
}

/* at_lo: law_share(law, law->lo, upper) */
static double law_between(const vly_law *law, double x, bool upper,
                          double at_lo)
{
    if (x <= law->lo)
        return 0.0;
    if (x > law->hi)
        x = law->hi;
    double at_x = law_share(law, x, upper);
    return upper ? at_lo - at_x : at_x - at_lo;
}

double vly_law_below(const vly_law *law, double x)
{
    bool upper = law_upper(law);
    return law_between(law, x, upper, law_share(law, law->lo, upper));
}

bool vly_law_init(vly_law *law, const vly_value *value, const char **reason)
{
    *law = (vly_law){.kind = value->kind, .a = value->a, .b = value->b};
    if (value->kind == VLY_VALUE_ARRAY || value->kind == VLY_VALUE_DRAW) {
        *reason = "wanted a number or a distribution";
        return false;
    }
    bool spread =
        value->kind == VLY_VALUE_NORMAL || value->kind == VLY_VALUE_LOGNORMAL;
    if (!is_finite(law->a) || (spread && !(law->b >= 0.0)) ||
        !law_interval(law, value) || !is_finite(law->lo) ||
        !is_finite(law->hi) || !is_finite(law->mean)) {
        *reason = "has no finite values";
        return false;
    }
    if (law->lo > law->hi) {
        *reason = "its clip leaves nothing of it";
        return false;
    }
    if (law->lo == law->hi) {
        law->kind = VLY_VALUE_NUMBER;
        law->a = law->mean = law->lo;
        law->share = 1.0;
        return true;
    }
    law->share = vly_law_below(law, law->hi);
    if (!(law->share > 0.0)) {
        *reason = "its clip leaves nothing of it";
        return false;
    }
    return true;
}

double vly_law_value(const vly_law *law, double u)
{
    bool upper = law_upper(law);
    double at_lo = law_share(law, law->lo, upper);
    double share = upper ? at_lo - u * law->share : at_lo + u * law->share;
    double x = law->a;
    switch (law->kind) {
    case VLY_VALUE_NUMBER:
        return law->a;
    case VLY_VALUE_UNIFORM:
        x = law->lo + u * (law->hi - law->lo);
        break;
    case VLY_VALUE_EXPONENTIAL: /* the share is exp(-z) for both signs */
        x = -law->a * vly_log(share);
        break;
    default:
        x = vly_normal_inverse(share);
        x = law->a + law->b * (upper ? -x : x);
        if (law->kind == VLY_VALUE_LOGNORMAL)
            x = vly_exp(x);
    }
    return smaller(larger(x, law->lo), law->hi);
}

/* Density of the standard normal distribution, but for 1 / sqrt(2 pi) */
static double bell(double z)
{
    return vly_exp(-0.5 * z * z);
}

/* Share of a standard normal variable in [from, to], by the tail that is
 * smaller */
static double normal_between(double from, double to)
{
    if (from > 0.0)
        return vly_normal_cdf(-from) - vly_normal_cdf(-to);
    return vly_normal_cdf(to) - vly_normal_cdf(from);
}

double vly_law_mean(const vly_law *law)
{
    const double root_two_pi = 2.5066282746310002;
    double mean = law->a;
    double from, to;
    switch (law->kind) {
    case VLY_VALUE_UNIFORM:
        mean = law->lo + 0.5 * (law->hi - law->lo);
        break;
    case VLY_VALUE_NORMAL:
        from = (law->lo - law->a) / law->b;
        to = (law->hi - law->a) / law->b;
        mean = law->a +
               law->b * ((bell(from) - bell(to)) / root_two_pi) / law->share;
        break;
    case VLY_VALUE_LOGNORMAL:
        from = law->lo > 0.0 ? (vly_log(law->lo) - law->a) / law->b : -1e9;
        to = (vly_log(law->hi) - law->a) / law->b;
        mean = law->mean *
               (normal_between(from - law->b, to - law->b) / law->share);
        break;
    case VLY_VALUE_EXPONENTIAL: /* distances from 0 in means */
        from = (law->a > 0.0 ? law->lo : law->hi) / law->a;
        to = (law->a > 0.0 ? law->hi : law->lo) / law->a;
        to -= from;
        mean = law->a * (from + 1.0 - to / vly_expm1(to));
        break;
    default:
        break;
    }
    return smaller(larger(mean, law->lo), law->hi);
}

vly_integers vly_law_integers(const vly_law *law, double unit,
                              vly_rounding rounding, double least)
{
    double lo = law->lo / unit;
    double hi = law->hi / unit;
    vly_integers range;
    if (rounding == VLY_ROUND_VALUES || law->lo == law->hi) {
        range.first = vly_floor(lo + 0.5);
        range.last = vly_floor(hi + 0.5);
    } else {
        range.first = -vly_floor(-lo);
        range.last = vly_floor(hi);
        if (range.first > range.last)
            range.first = range.last = vly_floor(0.5 * (lo + hi) + 0.5);
    }
    range.first = larger(range.first, least);
    return range;
}

/* ---- the wide grid ----------------------------------------------------- */

/* Integers of 12 significant bits up to 32,760, and their number; the integers
 * of the other two steps begin at index 512. */
#define WIDE_BITS 2048
#define WIDE_STEP (2 * WIDE_BITS + 3 * WIDE_BITS)
#define WIDE_FIRST 512

static double wide_low(int32_t i)
{
    if (i < 2 * WIDE_BITS)
        return (double)i;
    int32_t octave = (i - 2 * WIDE_BITS) / WIDE_BITS + 1;
    return (double)((WIDE_BITS + i % WIDE_BITS) << octave);
}

/* Integer i of the grid, i from -WIDE_LAST to WIDE_LAST */
#define WIDE_LAST (3 * WIDE_STEP - 2 * WIDE_FIRST - 1)
static double wide_integer(int32_t i)
{
    if (i < 0)
        return -wide_integer(-i);
    if (i < WIDE_STEP)
        return wide_low(i);
    i += WIDE_FIRST;
    if (i < 2 * WIDE_STEP)
        return 64.0 * wide_low(i - WIDE_STEP);
    i += WIDE_FIRST;
    return 4096.0 * wide_low(i - 2 * WIDE_STEP);
}

/* The largest i whose integer is at most x */
static int32_t wide_index(double x)
{
    int32_t low = -WIDE_LAST;
    int32_t high = WIDE_LAST;
    while (low < high) {
        int32_t middle = low + (high - low + 1) / 2;
        if (wide_integer(middle) <= x)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* ---- tables ------------------------------------------------------------ */

/* Integer k of a table, counted from the first one. */
typedef struct integer_list {
    double first;
    bool wide; /* first: its number in the wide grid */
} integer_list;

static double integer_at(integer_list list, double k)
{
    double at = list.first + k;
    return list.wide ? wide_integer((int32_t)at) : at;
}

/* Half way to the next integer. */
static double edge_after(integer_list list, double k)
{
    if (!list.wide)
        return list.first + k + 0.5;
    return 0.5 * (integer_at(list, k) + integer_at(list, k + 1.0));
}

/* The interval that is rounded to the integers of a list that ends at number n:
 * half a unit beyond its ends; the whole law if the steps are longer. */
static void list_ends(const vly_law *law, double unit, integer_list list,
                      size_t n, double *from, double *to)
{
    *from = law->lo;
    *to = law->hi;
    if (!list.wide) {
        *from = (list.first - 0.5) * unit;
        *to = (list.first + (double)n + 0.5) * unit;
    }
    *from = vly_law_below(law, *from);
    *to = vly_law_below(law, *to);
}

/* Thresholds between the n + 1 integers; as doubles up to 2^32. */
static void thresholds_fill(const vly_law *law, double unit, integer_list list,
                            double *edges, size_t n)
{
    bool upper = law_upper(law);
    double at_lo = law_share(law, law->lo, upper);
    double from, to;
    double last = 0.0;
    list_ends(law, unit, list, n, &from, &to);
    for (size_t k = 0; k < n; k++) {
        double x = edge_after(list, (double)k) * unit;
        double at = law_between(law, x, upper, at_lo);
        double edge = vly_floor(TWO_32 * ((at - from) / (to - from)));
        last = smaller(larger(edge, last), TWO_32);
        edges[k] = last;
    }
}

static vly_status guide_fill(vly_discrete *table)
{
    uint32_t bits = GUIDE_BITS_MIN;
    while (bits < GUIDE_BITS_MAX && (UINT32_C(1) << bits) < table->n_thresholds)
        bits++;
    size_t n = (size_t)1 << bits;
    table->shift = 32 - bits;
    table->guide = vly_malloc(n, sizeof(*table->guide));
    if (!table->guide)
        return VLY_E_NOMEM;
    uint32_t k = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t word = (uint32_t)(i << table->shift);
        while (k < table->n_thresholds && table->thresholds[k] <= word)
            k++;
        table->guide[i] = (uint16_t)k;
    }
    return VLY_OK;
}

static vly_status values_fill(vly_discrete *table, integer_list list)
{
    table->values =
        vly_malloc(table->n_thresholds + (size_t)1, sizeof(*table->values));
    if (!table->values)
        return VLY_E_NOMEM;
    for (uint32_t k = 0; k <= table->n_thresholds; k++)
        table->values[k] = (int32_t)integer_at(list, (double)k);
    return VLY_OK;
}

/* Over the integers of the list up to number n. */
static vly_status table_make(vly_discrete *table, const vly_law *law,
                             double unit, integer_list list, size_t n)
{
    vly_discrete made = {0};
    vly_status status = VLY_E_NOMEM;
    double from, to;
    list_ends(law, unit, list, n, &from, &to);
    if (!(to > from) && n > 0)
        return VLY_E_INVALID;
    double *edges = vly_malloc(n, sizeof(*edges));
    made.thresholds = vly_malloc(n + 2, sizeof(*made.thresholds));
    if (!edges || !made.thresholds)
        goto out;
    thresholds_fill(law, unit, list, edges, n);
    size_t skipped = 0;
    while (skipped < n && edges[skipped] == 0.0)
        skipped++;
    while (n > skipped && edges[n - 1] == TWO_32)
        n--;
    list.first += (double)skipped;
    made.first = (int32_t)integer_at(list, 0.0);
    made.n_thresholds = (uint32_t)(n - skipped);
    for (size_t k = skipped; k < n; k++)
        made.thresholds[k - skipped] = (uint32_t)edges[k];
    for (size_t k = n; k < n + 2; k++)
        made.thresholds[k - skipped] = UINT32_MAX;
    status = guide_fill(&made);
    if (status == VLY_OK && list.wide)
        status = values_fill(&made, list);
    if (status == VLY_OK) {
        *table = made;
        made = (vly_discrete){0};
    }
out:
    vly_free(edges);
    vly_discrete_deinit(&made);
    return status;
}

vly_status vly_discrete_init(vly_discrete *table, const vly_law *law,
                             double unit, vly_integers range)
{
    if (!(range.last >= range.first) || range.last - range.first > 65535.0 ||
        range.first < -2147483648.0 || range.last > 2147483647.0)
        return VLY_E_INVALID;
    return table_make(table, law, unit, (integer_list){.first = range.first},
                      (size_t)(range.last - range.first));
}

vly_status vly_discrete_init_wide(vly_discrete *table, const vly_law *law,
                                  double unit)
{
    double lo = law->lo / unit;
    double hi = law->hi / unit;
    if (!(lo >= -VLY_WIDE_MAX) || !(hi <= VLY_WIDE_MAX))
        return VLY_E_INVALID;
    int32_t first = -wide_index(-lo);
    int32_t last = wide_index(hi);
    if (first > last || last - first > 65535)
        return VLY_E_INVALID;
    return table_make(table, law, unit,
                      (integer_list){.first = (double)first, .wide = true},
                      (size_t)(last - first));
}

/* The integer that is drawn where k thresholds are not above the word. */
static double drawn_integer(const vly_discrete *table, uint32_t k)
{
    return table->values ? (double)table->values[k]
                         : (double)table->first + (double)k;
}

double vly_discrete_mean(const vly_discrete *table)
{
    /* the share of integer k + 1 and above, times the step from integer k */
    double sum = 0.0;
    for (uint32_t k = 0; k < table->n_thresholds; k++)
        sum += (drawn_integer(table, k + 1) - drawn_integer(table, k)) *
               (TWO_32 - (double)table->thresholds[k]);
    return (double)table->first + sum / TWO_32;
}

double vly_discrete_share(const vly_discrete *table, double from, double to)
{
    double sum = 0.0;
    double below = 0.0;
    for (uint32_t k = 0; k <= table->n_thresholds; k++) {
        double upto =
            k < table->n_thresholds ? (double)table->thresholds[k] : TWO_32;
        double size = drawn_integer(table, k);
        size = size < 0.0 ? -size : size;
        if (size >= from && size <= to)
            sum += upto - below;
        below = upto;
    }
    return sum / TWO_32;
}

void vly_discrete_deinit(vly_discrete *table)
{
    vly_free(table->thresholds);
    vly_free(table->guide);
    vly_free(table->values);
    memset(table, 0, sizeof(*table));
}
