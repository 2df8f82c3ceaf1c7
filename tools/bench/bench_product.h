/* SPDX-License-Identifier: Apache-2.0
 * Suites of accelerators (gemm, gemv, ...): one row a product, timed on
 * rotated random data, beside what the machine was measured to do in the same
 * run.
 */
#ifndef VOLLEY_BENCH_BENCH_PRODUCT_H
#define VOLLEY_BENCH_BENCH_PRODUCT_H

#include "accelerator/accelerator.h"
#include "tools/bench/bench.h"

enum {
    BENCH_PRODUCTS_MAX = 256,
    BENCH_PRODUCT_ID_BYTES = 80,
    BENCH_PRODUCT_SAMPLES = 31,
    BENCH_PARTS_MAX = 4,
    BENCH_PART_BYTES = 56
};

typedef struct bench_product {
    char id[BENCH_PRODUCT_ID_BYTES]; /* "gemm bf16 4096x4096x4096 nt" */
    char group[24];                  /* rows with a common ceiling: "bf16" */
    char reason[1000];               /* reason why it was not measured; "": it
                                      * was measured */
    bench_spread seconds;            /* of one run */
    double min;
    double max;
    double flops;     /* of one run; 0: not counted */
    double bytes;     /* bytes read or written by one run, at least */
    double error;     /* sqrt(sum of squares of differences / of values) against
                         float64 on sampled elements; negative: not compared */
    double default_s; /* median of the first candidate; 0: not measured */
    uint32_t sets;    /* of buffers, used in turn */
    uint32_t runs;    /* between two events */
    bool graph;       /* runs were one graph */
    bool bandwidth;   /* limited by bytes: the ceiling is that of copies */
    bool own;         /* a part of it is the suite's own, in no list */
    uint32_t n_given; /* parts that lists gave: "--types bf16" */
    char given[BENCH_PARTS_MAX][BENCH_PART_BYTES];
    vly_plan_info plan;
    uint32_t devices; /* that it ran on, for a row of --devices; otherwise 0 */
    double speedup;   /* of them, over one */
    uint64_t digest;  /* of the results' bits, equal for all of them */
} bench_product;

typedef struct bench_products {
    char plugin[48];
    vly_device_info device;
    bool is_host;
    uint32_t n_threads;   /* of the host */
    const char *error_is; /* meaning of the column error; NULL: as for
                           * products */
    double bytes_per_s;   /* measured: copies on a device, reads on the host;
                           * 0: not measured */
    uint64_t seed;        /* of random data, below 2^53 */
    bench_product rows[BENCH_PRODUCTS_MAX];
    uint32_t n_rows;
} bench_products;

/* The accelerator of options->backend for an interface, and a device's ceiling
 * of bytes. results->products is set; bench_products_free frees it.
 * Errors  as vly_accelerator_find, E_NOMEM */
vly_status bench_products_open(const bench_options *options,
                               const char *interface_id,
                               vly_accelerator *accelerator,
                               bench_results *results, vly_error *error);
/* After the rows: measures the host's ceiling of bytes, which takes seconds, if
 * a row is compared with it. Errors  E_NOMEM */
vly_status bench_products_ceiling(bench_results *results, vly_error *error);
void bench_products_free(bench_results *results);
/* Is the row compared with the ceiling of bytes? Otherwise with that of
 * operations. */
bool bench_product_is_of_bytes(const bench_product *row);
/* Seed of tensor `which` of a suite: different in each bench, the same again
 * with --seed. [main-thread] */
uint64_t bench_product_seed(uint64_t which);
/* A new row, cleared except for id and group; NULL if there is no room. */
bench_product *bench_product_add(bench_products *products, const char *id,
                                 const char *group);

/* Prints the row that is measured now. From the first figure on, a signal ends
 * a bench here or after a sample, so that the results so far are reported.
 * Errors  E_STOPPED by a signal */
vly_status bench_product_begin(const char *id, vly_error *error);
/* Adds a part of the row, as "bf16" of --types: from a list of the call, or
 * chosen by the suite (given false). */
void bench_product_part(bench_product *row, const char *option,
                        const char *value, bool given);

/* The timed work: one run on set `set` of buffers, enqueued into the stream. */
typedef struct bench_subject {
    const vly_accelerator *accelerator;
    vly_status (*run)(void *arg, uint32_t set, void *stream, vly_error *error);
    void *arg;
    uint32_t sets;
} bench_subject;

/* Number of sets of so many bytes so that together they exceed any cache (256
 * MB on a device, 96 MB on the host), at least 2 and at most 64. */
uint32_t bench_product_sets(const vly_accelerator *accelerator, uint64_t bytes);
/* Median of 31 samples, each of enough runs to be measurable, between two
 * events; as one graph if the plugin has graphs. Fills seconds, min, max, sets,
 * runs, graph.
 * Errors  as run; E_STOPPED by a signal */
vly_status bench_product_time(const bench_subject *subject, bench_product *row,
                              vly_error *error);

/* n samples of each in turn, a b b a a b ..., as many runs in one as above.
 * of_a, of_b [n] seconds of a run. Errors  as run; E_STOPPED by a signal */
vly_status bench_product_race(const bench_subject *a, const bench_subject *b,
                              uint32_t n, double *of_a, double *of_b,
                              vly_error *error);

void bench_products_print(const bench_products *products, bool markdown);
/* One object a row into the open array. */
void bench_products_json(const bench_products *products, json_writer *json);

/* ---- bench_gemm_shapes.c ---------------------------------------------- */

typedef struct bench_shape {
    uint64_t m;
    uint64_t n;
    uint64_t k;
} bench_shape;

/* Names of --types: which elements and scales go together. */
typedef struct bench_gemm_type {
    const char *name;
    uint32_t a;
    uint32_t b;
    uint32_t d;
    uint32_t scale_a;
    uint32_t scale_b;
    uint32_t flags;
} bench_gemm_type;

enum { BENCH_SHAPES_MAX = 64, BENCH_TYPES_MAX = 16 };

/* From --sizes, --types and --set, otherwise those of the suite.
 * Errors  E_INVALID with the part that cannot be read */
vly_status bench_gemm_shapes(const bench_options *options, bool is_gemv,
                             bool is_host, bench_shape *shapes, uint32_t *n,
                             vly_error *error);
vly_status bench_gemm_types(const bench_options *options, bool is_gemv,
                            bool is_host, const bench_gemm_type **types,
                            uint32_t *n, vly_error *error);

/* A product of the highest rate of this device: the ceiling of others. */
bench_shape bench_gemm_large(bool is_host, bool quick);
/* Is there one at least as large? */
bool bench_gemm_has(const bench_shape *shapes, uint32_t n, bench_shape large);
/* Checks that --sizes, --types and --set can be read. */
vly_status bench_gemm_check(const bench_options *options, bool is_gemv,
                            vly_error *error);

/* One product with compact rows, B transposed as weights are. */
vly_gemm_desc bench_gemm_desc(const bench_gemm_type *type, bench_shape shape);

/* ---- bench_gemm.c ----------------------------------------------------- */

/* Adds rows: products (suite gemm) or those with m = 1 (suite gemv).
 * Errors  E_INVALID --sizes, --types or --set; as run; E_DEVICE a result is
 *         wrong */
vly_status bench_gemm(const bench_options *options, bool is_gemv,
                      bench_results *results, vly_error *error);
/* Adds one row if other rows need it as a ceiling: the rate of products of this
 * type on the same device, 4096 x 4096 x 4096 (host: 512). Without such a
 * product the row has the reason.
 * Errors  as run; E_DEVICE the result is wrong */
vly_status bench_gemm_ceiling(const bench_options *options, const char *type,
                              bench_products *products, vly_error *error);

#endif
