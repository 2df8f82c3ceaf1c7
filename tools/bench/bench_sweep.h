/* SPDX-License-Identifier: Apache-2.0
 * Sweeps: candidates of one product, each against the first one, and the log
 * that a second call continues.
 */
#ifndef VOLLEY_BENCH_BENCH_SWEEP_H
#define VOLLEY_BENCH_BENCH_SWEEP_H

#include "tools/bench/bench_product.h"

enum {
    BENCH_SWEEP_ROUNDS = 21, /* pairs of samples */
    BENCH_SWEEP_OPTIONS = 160,
    BENCH_SWEEP_MOST = 512, /* candidates in a log */
};

/* Outcome of a candidate. */
typedef enum bench_sweep_state {
    BENCH_SWEEP_BEGUN,   /* last line of a call whose process died in this
                          * candidate */
    BENCH_SWEEP_REFUSED, /* unknown candidate */
    BENCH_SWEEP_WRONG,   /* its results differ: not timed */
    BENCH_SWEEP_TIMED,
    BENCH_SWEEP_LEFT /* ended by a signal or an error: the next call tries
                      * again */
} bench_sweep_state;

typedef struct bench_sweep_row {
    char id[BENCH_PRODUCT_ID_BYTES]; /* the product */
    char options[BENCH_SWEEP_OPTIONS];
    char base[BENCH_SWEEP_OPTIONS]; /* options of the first candidate */
    char choice[256];               /* description of the plan */
    char reason[400];
    bench_sweep_state state;
    double error;    /* against float64 */
    double median_s; /* of the candidate */
    double base_s;   /* of the first one, in the same rounds */
    double ratio;    /* median of base / candidate of each round */
    double low;      /* its 95% interval, by resampling */
    double high;
    bool read; /* read from the log: not measured in this call */
} bench_sweep_row;

typedef struct bench_sweep {
    char path[1024]; /* of the log; "": no log */
    char device[128];
    bench_sweep_row rows[BENCH_SWEEP_MOST];
    uint32_t n_rows;
    uint32_t n_damaged; /* unreadable lines of the log */
} bench_sweep;

/* Median of base[i] / candidate[i] and the 2.5 and 97.5% points of the medians
 * of 2000 resamples of the pairs; the same for the same numbers. */
void bench_sweep_interval(const double *base, const double *candidate,
                          uint32_t n, bench_sweep_row *row);

/* Reads the rows of this device from the log; path NULL: no log.
 * Errors  E_IO it exists and cannot be read */
vly_status bench_sweep_open(bench_sweep *sweep, const char *path,
                            const char *device, vly_error *error);
/* The row of that candidate, of an earlier call or of this one, if it was not
 * left; NULL */
const bench_sweep_row *bench_sweep_find(const bench_sweep *sweep,
                                        const bench_sweep_row *like);
/* Stores the row and appends it to the log at once.
 * Errors  E_IO; E_INVALID too many rows */
vly_status bench_sweep_add(bench_sweep *sweep, const bench_sweep_row *row,
                           vly_error *error);
void bench_sweep_print(const bench_sweep *sweep, bool markdown);

#endif
