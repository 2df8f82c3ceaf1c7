/* SPDX-License-Identifier: Apache-2.0
 * A second simulator, to check the engine against: slow, plain loops, own
 * reader of the saved connectome. What it knows it has from design.md,
 * core/connectome/FORMAT.md and the papers. It shares no header with the engine
 * but the steps of the models with two ports (second_ports.c), which the tests
 * test_science_* check against doubles.
 */
#ifndef VOLLEY_SECOND_SIMULATOR_H
#define VOLLEY_SECOND_SIMULATOR_H

#include <stdint.h>
#include <stdio.h>

/* ---- what second_reader.c makes of the file --------------------------- */

enum {
    SECOND_FEAGI,
    SECOND_DELTA,
    SECOND_EXP,
    SECOND_ALPHA,
    SECOND_IZHIKEVICH,
    SECOND_COND,
    SECOND_ADEX,
    SECOND_EXP2,
    SECOND_OWN, /* a user's: second_program.c */
    SECOND_N_MODELS
};
enum { SECOND_MAX_COLUMNS = 256, SECOND_MAX_FIELDS = 24 };

/* A column of the file; elements are u32 words or f64. */
typedef struct second_column {
    char name[48];
    int is_f64;
    int is_uniform;
    const void *elements;
} second_column;

typedef struct second_program second_program; /* second_program.c */

typedef struct second_area {
    char name[64];
    int model;
    int is_feagi;
    uint32_t first;
    uint32_t n;
    uint32_t n_ports;
    float scale[4];
    uint32_t n_params;
    uint32_t n_fields;
    uint32_t n_coefs;
    second_column columns[SECOND_MAX_COLUMNS]; /* params, fields, coefs */
    uint32_t *state[SECOND_MAX_FIELDS];        /* [n_fields][n], own copy */
    float *input;                              /* [n] constant input now */
    second_program *program;                   /* of a user's model */
    double *arrived; /* [n_ports][n] added up here; NULL: the model has no sums
                      */
} second_area;

typedef struct second_projection {
    uint32_t source_area;
    uint32_t target_area;
    uint32_t port;
    int uses_gain;
    uint32_t base_delay;
    uint32_t shift; /* of the weights */
    uint64_t n;
    const uint64_t *row;
    const uint32_t *target;
    const int16_t *weight;
    const uint8_t *delay;                 /* NULL: all 0 */
    struct second_learning *learning;     /* NULL: its weights stay */
    struct second_short_term *short_term; /* NULL: its spikes have no gains */
} second_projection;

typedef struct second_spike_input {
    uint64_t burst;
    uint32_t neuron;
    int32_t value;
    uint32_t port;
    uint32_t reserved;
} second_spike_input;

typedef struct second_stimulus {
    uint32_t kind; /* 0 poisson, 1 normal, 2 dc, 3 spike list,
                      4 bernoulli */
    uint32_t area;
    uint32_t first;
    uint32_t n;
    uint32_t port;
    uint32_t stream;
    double rate; /* 1/s */
    double mean;
    uint64_t start;
    uint64_t stop;
    int32_t base;
    int32_t step;
    int always;
    uint32_t n_thresholds;
    const uint32_t *thresholds;
    const second_spike_input *inputs;
    uint64_t n_inputs;
} second_stimulus;

typedef struct second_file {
    unsigned char *bytes;
    uint64_t n_bytes;
    uint64_t seed_input;
    double dt_ms;
    uint64_t n_bursts;
    uint32_t n_neurons;
    uint32_t n_areas;
    uint32_t n_projections;
    uint32_t n_stimuli;
    uint32_t max_delay;
    uint32_t feagi_q;
    const uint32_t *out_degree;
    const char *resolved; /* the genome's text */
    second_area *areas;
    second_projection *projections;
    second_stimulus *stimuli;
} second_file;

/* Word t & 3 of the Philox block of burst t, a neuron and a stream. */
uint32_t second_draw(uint64_t seed, uint64_t t, uint32_t neuron,
                     uint32_t stream);
/* 1 if neuron k fires. */
int second_step_program(const second_file *file, second_area *area, uint32_t k,
                        uint64_t burst, const float in[4]);

/* 0, or -1 with a sentence on stderr. */
int second_file_read(const char *path, second_file *file);
void second_file_free(second_file *file);
uint64_t second_mix64(uint64_t x);
/* The first lane of a checksum of the file. */
uint64_t second_checksum(const unsigned char *bytes, uint64_t n);
/* The connectome's digest, a sum (second_digest.c). */
void second_digest(const second_file *file, uint64_t digest[2]);

/* 0 if the coefficients of the file stand in the order of the steps. */
int second_check_columns(const second_area *area);

/* 0 if what arrived at the ports of the area, added up here, is what its model
 * has added up; -1 with a sentence on stderr. */
int second_check_sums(const second_area *area);

/* ---- models with two ports (second_ports.c) ---------------------------- */

/* Updates neuron k of the area with what arrived at the ports; 1 if it fires.
 */
/* NULL: no program that can be read */
second_program *second_program_read(const char *definition);
void second_program_free(second_program *program);
int second_step_ports(second_area *area, uint32_t k, float in0, float in1);
/* second_check_columns of them */
int second_check_ports(const second_area *area);
/* The coefficient that holds the constant input. */
uint32_t second_drive_index(const second_area *area);

/* ---- the simulation --------------------------------------------------- */

typedef struct second_result {
    uint64_t spikes;
    uint64_t events;
    uint64_t digest;
    uint64_t state_digest;
    uint32_t n_sums;  /* areas whose input was added up here, and compared */
    uint64_t *bursts; /* [n_bursts] burst digests; NULL: not wanted */
    double distance;  /* of weights that learn to doubles, share of w_max, and
                       * of gains of short-term plasticity */
    FILE *spike_log;  /* "burst neuron gain" a line; NULL: not wanted */
    /* called before each burst, to change the network; NULL: nothing does */
    void (*before)(second_file *file, uint64_t burst, void *arg);
    void *before_arg;
} second_result;

/* ---- projections that learn (second_learning.c) ------------------------- */

/* 1 for each neuron that fired, of the last max_delay bursts and this one. */
typedef struct second_history {
    char *fired;    /* [n_slots][n_neurons], of burst b in slot b % n_slots */
    char *none;     /* [n_neurons] 0 */
    uint32_t *gain; /* [n_slots][n_neurons] of the same spikes */
    uint32_t n_slots;
    uint32_t n_neurons;
} second_history;

/* Before the first burst. 0, or -1 without memory. */
int second_learnings_begin(second_file *file, second_history *history);
void second_learnings_end(second_file *file, second_history *history);
/* A projection that learns, before (0) and after (1) the neurons of this burst
 * are updated. */
void second_learnings_step(second_file *file, const second_history *history,
                           uint64_t burst, int after);
uint64_t second_learnings_digest(const second_file *file, uint64_t burst);

/* Runs the network from burst 0. result->bursts, spike_log and before are set
 * by the caller. The areas' state is afterwards that of the last burst. */
int second_run(second_file *file, uint64_t n_bursts, second_result *result);

#endif
