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

#include "tools/cli/json_writer.h"

enum {
    BENCH_ROWS_MAX = 32,
    BENCH_CASES_MAX = 32,
    BENCH_PEERS_MAX = 3,
    BENCH_SAMPLES_MAX = 64,
    BENCH_ID_BYTES = 48
};

typedef struct bench_machine {
    char cpu[128];
    uint32_t cores; /* of this process */
    uint64_t memory_bytes;
    char kernel[64];
    char governor[32]; /* "" if unknown */
    double load;       /* of the last minute when the bench began */
} bench_machine;

/* Limits of the machine, measured by simple loops. */
typedef struct bench_probes {
    uint32_t threads;
    double read_bytes_per_s;     /* 256 MB a thread, read in order */
    double increments_per_s;     /* int32, random places of a slice */
    uint32_t increment_elements; /* accumulators in all, cut into slices */
} bench_probes;

typedef struct bench_spread {
    double median;
    double low; /* 10% of the samples are below */
    double high;
    uint32_t n;
} bench_spread;

typedef enum bench_unit { BENCH_BURST, BENCH_BUILD, BENCH_STEP } bench_unit;

typedef struct bench_row {
    char id[BENCH_ID_BYTES]; /* "x100 1% d1" */
    bench_unit unit;
    bench_spread seconds; /* of a burst, a build, a step of a checkpoint */
    uint64_t neurons;
    uint64_t synapses;
    uint64_t bursts; /* timed in all */
    double share;    /* fired: spikes / (neurons * bursts) */
    double events_per_s;
    double of_bandwidth; /* synapse bytes read a second / probe; 0: none */
    double of_increments;
    double peer_s; /* published by other programs for the same case; 0: none */
    const char *peer;
    char note[256];   /* after the columns; "": none */
    char reason[400]; /* reason why it was skipped; "": it was measured */
} bench_row;

/* ---- suite cuda: a device beside the CPU backend of its machine --------- */

/* Kind of the figure of a case; lower is better in both. */
typedef enum bench_metric {
    BENCH_US, /* microseconds a burst */
    BENCH_RTF /* real-time factor: seconds of running a second of model time */
} bench_metric;

/* Figure of another program, in the unit of the case; value 0: name has the
 * whole text. */
typedef struct bench_peer {
    const char *name;
    double value;
} bench_peer;

typedef struct bench_limit {
    double required; /* 0: none */
    double aim;
} bench_limit;

/* Blocks of bursts of one net. */
typedef struct bench_blocks {
    char backend[64];     /* as resolved: "cuda:0"; "": not timed */
    bench_spread seconds; /* of a burst; n blocks */
    uint64_t block_bursts;
    double share;  /* fired: spikes / (neurons * bursts) */
    double events; /* synaptic, a burst */
} bench_blocks;

typedef struct bench_case {
    char id[BENCH_ID_BYTES]; /* "1M x1000 d1 1%" */
    bench_metric metric;
    bench_limit limit;       /* unit of the metric, for one H200 */
    bench_limit start_limit; /* seconds: load_s + build_s + setup_s */
    bench_peer peers[BENCH_PEERS_MAX];
    bool skipped; /* does not fit: reason, bytes; nothing below */
    char reason[1000];
    uint64_t bytes_requested;
    uint64_t bytes_available;
    double dt_ms;
    uint64_t neurons;
    uint64_t synapses;
    uint64_t checked_bursts; /* number of bursts whose digests equal those of
                              * the CPU backend */
    uint64_t checked_spikes; /* in these */
    bench_blocks device;
    bench_blocks cpu;
    bench_blocks beside; /* of --beside */
    double load_s;       /* genome file read */
    double build_s;      /* connectome */
    double setup_s;      /* net made, first burst done */
    uint64_t device_bytes;
    uint64_t host_bytes;
    uint64_t connectome_bytes;
    char plan[256];
} bench_case;

/* Energy by the board's own counter. */
typedef struct bench_energy {
    bool wanted;      /* the case of the measurement was run */
    char reason[256]; /* reason of a missing figure; "": it was measured */
    char matched[64]; /* how the board was found */
    char driver[80];
    double seconds; /* of running */
    double joules;
    uint64_t events; /* synaptic */
    double joules_per_event;
    double idle_w;     /* before the run, net on the device, nothing running */
    double idle_share; /* of joules, at that power */
    double step_s;     /* interval between changes of the counter */
    double step_j;     /* smallest change of the counter */
    bench_limit limit; /* joules an event */
} bench_energy;

typedef struct bench_device {
    char name[128];
    char capability[64];
    uint64_t memory_bytes;
    uint32_t index;
} bench_device;

typedef struct bench_options {
    const char *suite;
    const char *genomes; /* folder */
    const char *backend;
    const char *beside;  /* suite cuda: another one to time; NULL: none */
    const char *pattern; /* of --case: cases whose id has it; NULL: all */
    const char *sizes;   /* suites of accelerators: values of the options */
    const char *types;
    const char *set;
    const char *seq;
    const char *dims;
    const char *sweep;       /* suite attention: candidates; NULL: none */
    const char *log;         /* of a sweep; NULL: none */
    const char *compare;     /* a file of --save; NULL: none */
    bool compare_other;      /* also of another suite or device */
    const char *device_list; /* suite attention: of --devices; NULL: none */
    uint32_t devices;        /* suite scale: of a host, and hosts */
    uint32_t hosts;
    double net_latency_us; /* between hosts; 0: the default */
    double net_gbs;        /* of a device, between hosts; 0: the default */
    uint64_t seed;         /* of random data, suites of accelerators */
    uint32_t n_threads;
    bool markdown;
    bool quick;
    vly_registry *registry;
} bench_options;

typedef struct bench_results {
    bench_machine machine;
    bench_probes probes;
    char suite[16];
    char backend[64];
    char device[128];
    bool quick;
    bench_row rows[BENCH_ROWS_MAX];
    uint32_t n_rows;
    bench_device gpu; /* name is "" except in suite cuda */
    bench_case cases[BENCH_CASES_MAX];
    uint32_t n_cases;
    bench_energy energy;
    uint64_t state_bytes;            /* of a checkpoint: in memory, ... */
    uint64_t checkpoint_bytes;       /* ... and its file; 0: none was written */
    struct bench_products *products; /* suites of accelerators; or NULL */
    struct bench_scale *scale;       /* suite scale; or NULL */
    char failure[1000];              /* reason of an early end; "": none */
} bench_results;

void bench_machine_read(bench_machine *machine);
/* Errors  E_NOMEM */
vly_status bench_probe(uint32_t n_threads, bench_probes *probes,
                       vly_error *error);
bench_spread bench_spread_of(double *samples, uint32_t n); /* sorts them */

/* Both add rows. Errors  as run; E_STOPPED by a signal (rows so far stay);
 * E_DEVICE if the digests of one thread and of many differ: then nothing was
 * timed. */
vly_status bench_stress(const bench_options *options, bench_results *results,
                        vly_error *error);
vly_status bench_build(const bench_options *options, bench_results *results,
                       vly_error *error);

/* Adds rows: the state of the microcircuit copied, saved, loaded.
 * Errors  as run; E_IO no file can be made in the working folder */
vly_status bench_checkpoint(const bench_options *options,
                            bench_results *results, vly_error *error);

/* Adds rows: networks that learn, a burst and a flush of all synapses.
 * Errors  as run; E_DEVICE if the backend and the CPU backend differ */
vly_status bench_plastic(const bench_options *options, bench_results *results,
                         vly_error *error);
/* Fails before anything is measured if no case matches the pattern.
 * Errors  E_INVALID lists the cases */
vly_status bench_plastic_check(const bench_options *options, vly_error *error);

/* Adds rows: a host that injects, runs one burst and reads, in every burst.
 * Errors  as run; E_DEVICE if the backend and the CPU backend differ */
vly_status bench_loop(const bench_options *options, bench_results *results,
                      vly_error *error);

/* Predicts bursts on many devices and hosts, and adds rows: one rank of as many
 * as there are hosts, alone. results->scale is set; bench_scale_free frees it.
 * Errors  as run; E_UNSUPPORTED the backend has no ranks */
vly_status bench_scale_run(const bench_options *options, bench_results *results,
                           vly_error *error);
void bench_scale_free(bench_results *results);
void bench_scale_print(const bench_results *results, bool markdown);
/* A member "scale"; nothing in another suite. */
void bench_scale_json(const bench_results *results, json_writer *json);

/* Fails before anything is measured if no case matches the pattern.
 * Errors  E_INVALID lists the cases */
vly_status bench_cuda_check(const bench_options *options, vly_error *error);
/* Adds cases. A case that does not fit into memory is added as skipped.
 * Errors  as run; E_DEVICE if device and CPU backend differ: then that case and
 * later ones were not timed. */
vly_status bench_cuda(const bench_options *options, bench_results *results,
                      vly_error *error);
/* Is the case requested? */
bool bench_case_wanted(const bench_options *options, const char *id);
/* A new case with this id, cleared; NULL if there is no room. */
bench_case *bench_case_add(bench_results *results, const char *id);
/* The figure: a time of a burst in the unit of the case. */
double bench_case_value(const bench_case *one, double seconds);

/* Checks that all rows requested by name were measured (bench_asked.c has the
 * rule).
 * Errors  E_UNSUPPORTED with the missing rows and reasons, or if nothing was
 * measured */
vly_status bench_asked(const bench_options *options,
                       const bench_results *results, vly_error *error);
/* Adds a row that was not measured. */
void bench_row_skip(bench_results *results, const char *id,
                    const vly_error *why);

void bench_print(const bench_results *results, bool markdown);
void bench_cases_print(const bench_results *results, bool markdown);
void bench_json(const bench_results *results, json_writer *json);
/* One object a case into the open array; then energy and device. */
void bench_cases_json(const bench_results *results, json_writer *json);
void bench_energy_json(const bench_results *results, json_writer *json);

/* ---- bench_compare.c: comparison with an earlier bench ------------------- */

/* Checks before measuring that options->compare is a file of --save and of this
 * suite; VLY_OK without one.
 * Errors  E_IO, E_PARSE; E_INVALID another suite, without compare_other */
vly_status bench_compare_check(const bench_options *options, vly_error *error);
/* Checks device and backend of this bench as soon as they are known.
 * Errors  E_INVALID options->compare is of another device or backend */
vly_status bench_device_set(const bench_options *options, const char *backend,
                            const char *device, bench_results *results,
                            vly_error *error);
/* Prints all rows of both; *n_worse: rows slower by more than the threshold,
 * and rows that were measured then and are skipped now.
 * Errors  E_IO; E_PARSE also if no row is in both */
vly_status bench_compare(const bench_options *options,
                         const bench_results *results, double threshold,
                         uint32_t *n_worse, vly_error *error);

#endif
