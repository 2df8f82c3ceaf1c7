/* SPDX-License-Identifier: Apache-2.0
 * Numbers that are no telemetry as records. That Python makes the same of them
 * is in command_series.
 */
#include "monitor/series.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "monitor/extremes.h"
#include "volley_test.h"

static void test_levels(void **state)
{
    (void)state;
    static const double first[] = {1, 3, 1, 3}; /* mean 2, deviation 1 */
    vly_series series;
    vly_record record;
    vly_record_note note;
    uint8_t text[VLY_TOKENS_PER_RECORD];
    vly_series_init(&series, first, 4);
    assert_close(series.mean, 2, 0);
    assert_close(series.deviation, 1, 0);
    vly_series_make(&series, 2.5, &record, text, &note);
    assert_int_equal(note.level[VLY_METRIC_RATE], 2048);
    assert_int_equal(note.level[VLY_METRIC_PACE], 256);
    assert_int_equal(note.level[VLY_METRIC_BURST], -256);
    assert_int_equal(note.level[VLY_METRIC_DISPERSION], 0);
    assert_int_equal(record.burst, 1);
    assert_int_equal(record.bursts, 1);
    /* the first one is where the series is; the step from it is large */
    for (uint32_t m = 0; m < VLY_METRICS; m++) {
        assert_int_equal(vly_token_metric(text[m + 1]), m);
        assert_int_equal(vly_token_bin(text[m + 1]), 0);
    }
    vly_series_make(&series, 1, &record, text, &note);
    assert_int_equal(note.level[VLY_METRIC_RATE], -4096);
    assert_int_equal(note.level[VLY_METRIC_DISPERSION], -6144);
    assert_int_equal(note.z16[VLY_METRIC_RATE], -16 * 6144 / 64);
    assert_int_equal(vly_token_bin(text[VLY_METRIC_RATE + 1]), -8);
    assert_int_equal(vly_token_bin(text[VLY_METRIC_DISPERSION + 1]), -8);
    assert_int_equal(vly_token_bin(text[VLY_METRIC_PACE + 1]), 0);
    assert_int_equal(record.burst, 2);
}

/* The model is asked about the value and its step only. */
static void test_nats(void **state)
{
    (void)state;
    double nats[VLY_METRICS];
    double sum = 0;
    for (uint32_t m = 0; m < VLY_METRICS; m++)
        nats[m] = m + 1;
    vly_series_nats(nats);
    for (uint32_t m = 0; m < VLY_METRICS; m++)
        sum += nats[m];
    assert_close(nats[VLY_METRIC_RATE], VLY_METRIC_RATE + 1, 0);
    assert_close(sum, VLY_METRIC_RATE + VLY_METRIC_DISPERSION + 2, 0);
}

/* What is far too large is cut, what never moved is measured by a
 * hundredth of its size. */
static void test_limits(void **state)
{
    (void)state;
    static const double still[] = {50, 50};
    static const double nothing[] = {0};
    static const double huge[] = {1e308, 1e308};
    vly_series series;
    vly_record record;
    vly_record_note note;
    uint8_t text[VLY_TOKENS_PER_RECORD];
    vly_series_init(&series, still, 2);
    vly_series_make(&series, 100, &record, text, &note);
    assert_int_equal(note.level[VLY_METRIC_RATE], 409600);
    vly_series_make(&series, 1e300, &record, text, &note);
    assert_int_equal(note.level[VLY_METRIC_RATE], 1000000000);
    vly_series_make(&series, -1e300, &record, text, &note);
    assert_int_equal(note.level[VLY_METRIC_RATE], -1000000000);
    assert_int_equal(note.level[VLY_METRIC_DISPERSION], -2000000000);
    vly_series_init(&series, nothing, 1);
    vly_series_make(&series, 1e-9, &record, text, &note);
    assert_int_equal(note.level[VLY_METRIC_RATE], 4096);
    vly_series_init(&series, huge, 2); /* their sum is infinite */
    vly_series_make(&series, 1e308, &record, text, &note);
    assert_true(note.level[VLY_METRIC_RATE] <= 0);
}

/* The rule about times finds values above all before them, and below. */
static void test_both_ways(void **state)
{
    (void)state;
    for (int way = -1; way <= 1; way++) {
        static const double first[] = {-1, 1};
        vly_series series;
        vly_extremes extremes = {0};
        double far[2] = {0, 0};
        uint32_t metric[2];
        vly_series_init(&series, first, 2);
        for (int i = 0; i <= 100; i++) {
            vly_record record;
            vly_record_note note;
            uint8_t text[VLY_TOKENS_PER_RECORD];
            const double value = i % 7 - 3 + (i < 100 ? 0 : 10 * way);
            vly_series_make(&series, value, &record, text, &note);
            vly_extremes_judge(&extremes, note.level, UINT32_MAX, far, metric);
            if (i >= 30 && i < 100)
                assert_close(far[0], 0, 0);
        }
        /* the range is 6, a quarter of it 1.5; the last value is -1 */
        assert_close(far[0], way == 0 ? 0 : way > 0 ? 6 / 1.5 : 8 / 1.5, 1e-9);
    }
}

/* ---- what the default threshold tells ------------------------------------ */

enum { ROWS = 3000, FAULT = 2000 };
static const vly_tail shipped[VLY_CHANNELS] = {{0.661086, 0.00998545, 0.170535},
                                               {2.90704, 0.000998545, 0.664383},
                                               {0.344814, 0.0199994, 0.810951}};

/* Uniform in (0, 1): splitmix64 (Steele et al. 2014,
 * doi:10.1145/2660193.2660195). */
static double uniform(uint64_t *at)
{
    uint64_t x = *at += 0x9e3779b97f4a7c15;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    x ^= x >> 31;
    return ((double)(x >> 11) + 0.5) * 0x1p-53;
}

static double gauss(uint64_t *at)
{
    const double r = sqrt(-2 * log(uniform(at)));
    return r * cos(2 * 3.14159265358979 * uniform(at));
}

static double poisson(uint64_t *at, double mean)
{
    double n = 0;
    for (double left = uniform(at); left > exp(-mean); n++)
        left *= uniform(at);
    return n;
}

/* The alarms of a series at the command's default threshold; the row of the
 * first (from 0; n: none) and what is said of it. */
static unsigned alarms_of(const double *values, size_t n, size_t *first,
                          char *why, size_t capacity)
{
    static const double nats[VLY_METRICS] = {0}; /* the model says nothing */
    vly_tail tails[VLY_CHANNELS];
    vly_surprise *surprise = NULL;
    vly_series series;
    unsigned alarms = 0;
    memcpy(tails, shipped, sizeof tails);
    vly_series_tails(tails);
    assert_int_equal(
        vly_surprise_create(tails, 1, 3600.0 / 36000, &surprise, NULL), VLY_OK);
    vly_series_init(&series, values, n * 3 / 20 < 750 ? n * 3 / 20 : 750);
    *first = n;
    for (size_t i = 0; i < n; i++) {
        vly_record record;
        vly_record_note note;
        vly_verdict verdict;
        uint8_t text[VLY_TOKENS_PER_RECORD];
        vly_series_make(&series, values[i], &record, text, &note);
        vly_series_judge(&series, surprise, tails, &record, &note, text, nats,
                         &verdict);
        if (verdict.alarm && *first == n) {
            *first = i;
            vly_series_why(&series, &verdict, why, capacity);
        }
        alarms += verdict.alarm;
    }
    vly_surprise_destroy(surprise);
    return alarms;
}

typedef struct told {
    const char *name;
    double noise;  /* standard deviation */
    double wave;   /* amplitude of a sine */
    double centre; /* of all */
    size_t rows;   /* that the fault lasts */
    double shift;  /* in it */
    double factor; /* of the noise in it */
    bool hold;     /* it stays at the value where it begins */
    double set;    /* or, if not NaN, here */
    unsigned late; /* rows behind its begin at which it must be told */
    const char *why;
} told;

static const told faults[] = {
    {"spike", 1, 0, 0, 1, 100, 1, false, NAN, 0, "above all before it"},
    {"dip", 1, 0, 0, 1, -100, 1, false, NAN, 0, "below all before it"},
    {"small spike", 1, 0, 50, 1, 14, 1, false, NAN, 0, "above all before it"},
    {"shift", 1, 0, 0, ROWS, 20, 1, false, NAN, 0, "above all before it"},
    {"flat", 0, 1, 0, ROWS, 0, 1, true, NAN, 33, "the same for 32 rows"},
    {"stuck", 1, 0, 0, ROWS, 0, 1, true, NAN, 33, "the same for 32 rows"},
    {"to 0", 5, 0, 100, 200, 0, 1, false, 0, 0, "below all before it"},
    {"to a usual 4", 3, 0, 6, 200, 0, 1, false, 4, 33, "the same for 32 rows"},
    {"wild", 1, 0, 0, ROWS, 0, 10, false, NAN, 64, "varies more than before"},
    {"variance", 1, 0, 0, ROWS, 0, 3.2, false, NAN, 128,
     "varies more than before"},
    {"calm", 1, 0, 0, ROWS, 0, 0.1, false, NAN, 96, "varies less than before"},
    {"other value", 0, 0, 100, 1, 1, 1, false, NAN, 0, "above all before it"},
};

static void test_told(void **state)
{
    (void)state;
    static double values[ROWS];
    for (size_t f = 0; f < sizeof faults / sizeof *faults; f++) {
        for (uint64_t seed = 1; seed <= 3; seed++) {
            const told *of = &faults[f];
            uint64_t at = seed;
            size_t first = 0;
            char why[80] = "";
            for (size_t i = 0; i < ROWS; i++) {
                const bool in = i >= FAULT && i < FAULT + of->rows;
                const double x = of->noise * gauss(&at);
                values[i] = of->centre + of->wave * sin((double)i / 16) +
                            (in ? of->shift + of->factor * x : x);
                if (in && of->hold)
                    values[i] = values[FAULT];
                if (in && !isnan(of->set))
                    values[i] = of->set;
            }
            alarms_of(values, ROWS, &first, why, sizeof why);
            if (first < FAULT || first > FAULT + of->late)
                fail_msg("%s, seed %d: first told at row %zu", of->name,
                         (int)seed, first);
            if (strcmp(of->name, "wild") != 0) /* or by its first values */
                assert_string_equal(why, of->why);
        }
    }
}

/* ---- what is slow ---------------------------------------------------------
 */

typedef struct slow_fault {
    const char *name;
    double period; /* of a wave of 1; 0: none */
    double noise;
    size_t rows;  /* that the wave is lost for */
    size_t fades; /* rows in which it is lost, within these */
    double ramp;  /* that the mean rises in all rows from the fault on */
    size_t early;
    size_t late; /* rows behind its begin, between which it is told */
    const char *why;
} slow_fault;

static const slow_fault slow_faults[] = {
    {"a missing day", 24, 0.1, 24, 1, 0, 24, 72, "its cycle is lost"},
    {"a missing day of half an hour", 48, 0.3, 48, 1, 0, 24, 96,
     "its cycle is lost"},
    {"a wave that dies", 24, 0.1, ROWS, 500, 0, 200, 500, "its cycle is lost"},
    {"a long wave that dies", 120, 0.3, ROWS, 500, 0, 200, 620,
     "its cycle is lost"},
    {"up", 0, 1, 0, 1, 5, 150, 500, "its mean is far above the first rows'"},
    {"down", 0, 1, 0, 1, -5, 150, 500, "its mean is far below the first rows'"},
    {"up with a wave", 24, 0.2, 0, 1, 4, 100, 500,
     "its mean is far above the first rows'"},
};

static double slow_row(const slow_fault *of, size_t i, uint64_t *at)
{
    const double in = i < FAULT ? 0 : (double)(i - FAULT);
    double wave =
        of->period > 0 ? sin(2 * 3.14159265358979 * (double)i / of->period) : 0;
    if (i >= FAULT && i < FAULT + of->rows) {
        const double left = 1 - in / (double)of->fades;
        wave *= of->fades > 1 && left > 0 ? left : 0;
    }
    return wave + of->noise * gauss(at) + of->ramp * in / (ROWS - FAULT);
}

/* None of these leaves the range of before quickly, or at all. */
static void test_slow(void **state)
{
    (void)state;
    static double values[ROWS];
    for (size_t f = 0; f < sizeof slow_faults / sizeof *slow_faults; f++) {
        for (uint64_t seed = 1; seed <= 3; seed++) {
            const slow_fault *of = &slow_faults[f];
            uint64_t at = seed;
            size_t first = 0;
            char why[80] = "";
            for (size_t i = 0; i < ROWS; i++)
                values[i] = slow_row(of, i, &at);
            const unsigned n = alarms_of(values, ROWS, &first, why, sizeof why);
            if (first < FAULT + of->early || first > FAULT + of->late)
                fail_msg("%s, seed %d: first told at row %zu: %s", of->name,
                         (int)seed, first, why);
            assert_string_equal(why, of->why);
            assert_int_equal(n, 1); /* told once */
        }
    }
}

/* A cycle is found where it is plain, a mean watched where it stays. */
static void test_usual(void **state)
{
    (void)state;
    static double values[450];
    enum { N = 450 };
    static vly_series_slow slow;
    uint64_t at = 5;
    double x = 0;
    for (size_t i = 0; i < N; i++) /* four heights and noise */
        values[i] = (double)(i % 20 / 5) + 0.1 * gauss(&at);
    vly_series_slow_init(&slow, values, N);
    assert_int_equal(slow.period, 20);
    assert_int_equal(slow.mean_window, 40);
    assert_true(vly_series_slow_reach(&slow) == 84);
    for (size_t i = 0; i < N; i++)
        values[i] = gauss(&at);
    vly_series_slow_init(&slow, values, N);
    assert_int_equal(slow.period, 0);
    assert_int_equal(slow.mean_window, N / 16);
    for (size_t i = 0; i < N; i++)
        values[i] = x += gauss(&at);
    vly_series_slow_init(&slow, values, N);
    assert_int_equal(slow.period, 0);
    assert_int_equal(slow.mean_window, 0);
    assert_true(vly_series_slow_reach(&slow) == 0);
    for (size_t i = 0; i < N; i++) /* two periods are none */
        values[i] = sin((double)i / 36);
    vly_series_slow_init(&slow, values, N);
    assert_int_equal(slow.period, 0);
    vly_series_slow_init(&slow, values, 100); /* too few */
    assert_int_equal(slow.mean_window, 0);
    for (size_t i = 0; i < N; i++)
        values[i] = i % 2 ? 1e308 : -1e308; /* whose sums are not finite */
    vly_series_slow_init(&slow, values, N);
    assert_int_equal(slow.period + slow.mean_window, 0);
}

/* A cycle on a mean that went out of what is looked at: nothing is known. */
static void test_cut(void **state)
{
    (void)state;
    static double values[450];
    static vly_series_slow slow;
    uint32_t kind = VLY_SLOW_NONE;
    unsigned lost = 0;
    for (size_t i = 0; i < 450; i++)
        values[i] = sin((double)i / 4);
    vly_series_slow_init(&slow, values, 450);
    assert_int_equal(slow.period, 25);
    for (size_t i = 0; i < 1000; i++) {
        (void)vly_series_slow_next(
            &slow, sin((double)i / 4) + (i < 500 ? 0 : 10), &kind);
        lost += i > 600 && kind == VLY_SLOW_CYCLE;
    }
    assert_int_equal(lost, 0);
}

/* Plain noise; the last kind is of rare events. */
static double noise_of(int kind, size_t i, double before, uint64_t *at)
{
    switch (kind) {
    case 0:
        return gauss(at);
    case 1:
        return 0.9 * before + gauss(at);
    case 2:
        return before + gauss(at); /* a random walk */
    case 3:
        return sin((double)i / 16) + 0.1 * gauss(at);
    case 4:
        return poisson(at, 3);
    case 5:
        return 0.1; /* whose sum rounds */
    case 6:
        return sin((double)i / 46);
    case 7: /* a cycle that is plain */
        return sin((double)i / 4) + 0.3 * gauss(at);
    case 8:
        return sin((double)i / 20);
    case 9:
        return 0.5 * before + gauss(at);
    default:
        return poisson(at, 0.1);
    }
}

static void test_noise(void **state)
{
    (void)state;
    static double values[ROWS];
    enum { KINDS = 11, SEEDS = 4 };
    for (int kind = 0; kind < KINDS; kind++) {
        unsigned alarms = 0;
        for (uint64_t seed = 1; seed <= SEEDS; seed++) {
            uint64_t at = 1000 * seed;
            size_t first = 0;
            char why[80];
            double x = 0;
            for (size_t i = 0; i < ROWS; i++)
                values[i] = x = noise_of(kind, i, x, &at);
            alarms += alarms_of(values, ROWS, &first, why, sizeof why);
        }
        /* of rare counts each first two or three at once is beyond all before
         */
        if (alarms > (kind == KINDS - 1 ? 2 * SEEDS : 0))
            fail_msg("noise %d: %u alarms", kind, alarms);
    }
}

/* One alarm for all of a fault, however long it lasts. */
static void test_episode(void **state)
{
    (void)state;
    static double values[ROWS];
    uint64_t at = 7;
    size_t first = 0;
    char why[80];
    for (size_t i = 0; i < ROWS; i++)
        values[i] = i < FAULT ? gauss(&at) : values[FAULT - 1];
    assert_int_equal(alarms_of(values, ROWS, &first, why, sizeof why), 1);
    assert_true(first >= FAULT && first <= FAULT + 32);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_levels),  cmocka_unit_test(test_nats),
        cmocka_unit_test(test_limits),  cmocka_unit_test(test_both_ways),
        cmocka_unit_test(test_told),    cmocka_unit_test(test_noise),
        cmocka_unit_test(test_episode), cmocka_unit_test(test_slow),
        cmocka_unit_test(test_usual),   cmocka_unit_test(test_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
