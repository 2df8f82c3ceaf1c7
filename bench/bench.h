/* SPDX-License-Identifier: Apache-2.0
 * What the suites of `volley bench` share. A figure without its machine, its
 * spread and what the machine could do says little: every result has all
 * three.
 */
#ifndef VOLLEY_BENCH_BENCH_H
#define VOLLEY_BENCH_BENCH_H

#include <stdbool.h>
#include <stdint.h>

#include <volley/volley.h>

#include "json_writer.h"

enum { BENCH_ROWS_MAX = 32, BENCH_SAMPLES_MAX = 64, BENCH_ID_BYTES = 48 };

typedef struct bench_machine {
    char cpu[128];
    uint32_t cores; /* of this process */
    uint64_t memory_bytes;
    char kernel[64];
    char governor[32]; /* "" if unknown */
    double load;       /* of the last minute when the bench began */
} bench_machine;

/* What the machine can do, by loops as simple as possible. */
typedef struct bench_probes {
    uint32_t threads;
    double read_bytes_per_s;     /* 256 MB a thread, read in order */
    double increments_per_s;     /* int32, random places of a slice */
    uint32_t increment_elements; /* accumulators in all, cut into slices */
} bench_probes;

typedef struct bench_spread {
    double median;
    double low; /* tenth part of the samples is below */
    double high;
    uint32_t n;
} bench_spread;

typedef enum bench_unit { BENCH_BURST, BENCH_BUILD } bench_unit;

typedef struct bench_row {
    char id[BENCH_ID_BYTES]; /* "x100 1% d1" */
    bench_unit unit;
    bench_spread seconds; /* of a burst, or of a build */
    uint64_t neurons;
    uint64_t synapses;
    uint64_t bursts; /* timed in all */
    double share;    /* fired: spikes / (neurons * bursts) */
    double events_per_s;
    double of_bandwidth; /* synapse bytes read a second / probe; 0: none */
    double of_increments;
    double peer_s; /* published by others for the same; 0: none */
    const char *peer;
} bench_row;

typedef struct bench_options {
    const char *genomes; /* folder */
    const char *backend;
    uint32_t n_threads;
    bool quick;
    vly_registry *registry;
} bench_options;

typedef struct bench_results {
    bench_machine machine;
    bench_probes probes;
    char backend[64];
    char device[128];
    bool quick;
    bench_row rows[BENCH_ROWS_MAX];
    uint32_t n_rows;
} bench_results;

void bench_machine_read(bench_machine *machine);
/* Errors  E_NOMEM */
vly_status bench_probe(uint32_t n_threads, bench_probes *probes,
                       vly_error *error);
bench_spread bench_spread_of(double *samples, uint32_t n); /* sorts them */

/* Both add rows. Errors  as run; E_STOPPED by a signal (rows so far stay);
 * E_DEVICE if one thread and many do not agree: then nothing was timed. */
vly_status bench_stress(const bench_options *options, bench_results *results,
                        vly_error *error);
vly_status bench_build(const bench_options *options, bench_results *results,
                       vly_error *error);

void bench_print(const bench_results *results, bool markdown);
void bench_json(const bench_results *results, json_writer *json);
/* Prints the rows that both have; *n_slower: those slower by more than the
 * threshold. Errors E_IO, E_PARSE */
vly_status bench_compare(const bench_results *results, const char *path,
                         double threshold, uint32_t *n_slower,
                         vly_error *error);

#endif
