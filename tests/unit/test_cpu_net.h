/* SPDX-License-Identifier: Apache-2.0
 * Nets for the tests of a backend plugin: descriptions built by hand, a host
 * table of the test's own, and the plugin as it is loaded, without the engine.
 */
#ifndef VOLLEY_TEST_CPU_NET_H
#define VOLLEY_TEST_CPU_NET_H

#include <stdbool.h>
#include <stdint.h>

#include <volley/plugin.h>

#include "volley_test.h"

enum { NET_AREAS = 8, NET_PROJECTIONS = 24, NET_STIMULI = 8, NET_COEFS = 16 };

/* A description and everything it points to. */
typedef struct test_net {
    vly_net_desc desc;
    vly_area_desc areas[NET_AREAS];
    vly_column columns[NET_AREAS][NET_COEFS];
    uint32_t *words[NET_AREAS][NET_COEFS];
    vly_projection_desc projections[NET_PROJECTIONS];
    vly_stimulus_desc stimuli[NET_STIMULI];
    uint32_t *out_degree;
    vly_snapshot start; /* burst 0 */
    uint64_t random;    /* state of the generator */
} test_net;

/* ---- plugin and host --------------------------------------------------- */

extern const vly_backend *test_backend; /* set by test_plugin_open */
void test_plugin_open(void);            /* fails the test if it cannot */
/* Allocation number n from now fails (1: the next; 0: none). */
void test_host_fail_at(uint64_t n);
bool test_host_fail_at_came(void); /* it has failed */
uint64_t test_host_live(void);     /* blocks not freed */
/* From now on the clock jumps by 0 to 4 ms a call, drawn from the seed; 0: it
 * is that of the machine. */
void test_host_clock(uint64_t seed);
/* true: from now on no thread can be started. */
void test_host_no_threads(bool wanted);
/* How many there were, and the text of the last one. */
uint64_t test_host_warnings(const char **last);

/* ---- building ---------------------------------------------------------- */

uint32_t test_float(float x); /* its word */
uint32_t test_random(test_net *net, uint32_t below);

void test_net_init(test_net *net, uint64_t seed);
/* After all parts are added: counts, out-degrees, start. */
void test_net_finish(test_net *net);
void test_net_deinit(test_net *net);

/* Adds an area whose coefficients are uniform; scale 2^-q. */
uint32_t test_area(test_net *net, const char *model, uint32_t n_neurons,
                   const uint32_t *coefs, int q);
/* Makes a coefficient per neuron: words[n] is copied. */
void test_area_column(test_net *net, uint32_t area, uint32_t coef,
                      const uint32_t *words);
/* Synapse lists in any order, ids within the areas; delay NULL: none. */
uint32_t test_projection(test_net *net, uint32_t source, uint32_t target,
                         uint32_t base_delay, uint64_t n, const uint32_t *from,
                         const uint32_t *to, const int16_t *weight,
                         const uint8_t *delay);
/* One synapse. */
void test_synapse(test_net *net, uint32_t source, uint32_t from,
                  uint32_t target, uint32_t to, int16_t weight,
                  uint32_t base_delay);
/* Each source has fan targets drawn at random, weights in [low, high]. */
void test_random_projection(test_net *net, uint32_t source, uint32_t target,
                            uint32_t fan, int32_t low, int32_t high,
                            uint32_t base_delay, uint32_t delay_max);
/* thresholds are not copied */
void test_stimulus(test_net *net, uint32_t area, const uint32_t *thresholds,
                   uint32_t n, int32_t base, int32_t step, uint32_t flags);

/* Coefficients that ask for little thought: lif_psc_delta of threshold 1,
 * resting and reset 0, leak p22; feagi of threshold 1 that always fires. */
void test_delta_coefs(uint32_t coefs[6], float p22, uint32_t t_ref);
enum { /* indices of feagi's coefficients */
       FEAGI_THRESHOLD = 0,
       FEAGI_LIMIT,
       FEAGI_KEEP,
       FEAGI_REFRACTORY,
       FEAGI_FIRE_LIMIT,
       FEAGI_SNOOZE,
       FEAGI_EXCITABILITY,
       FEAGI_ACCUMULATE,
       FEAGI_PSP,
       FEAGI_DRIVEN,
       FEAGI_UNIFORM,
       FEAGI_COEFS /* how many */
};
void test_feagi_coefs(uint32_t coefs[FEAGI_COEFS]);

/* All models, delays, base delays and both kinds of targets, drawn from the
 * seed; about 3,000 neurons, most of which fire. */
void test_random_net(test_net *net, uint64_t seed);

/* ---- running ----------------------------------------------------------- */

/* A run with memory for everything it can give. */
typedef struct test_run {
    vly_run run;
    uint64_t *digests;
    uint32_t *counts;
    uint32_t *spikes;
    uint32_t *gains;
} test_run;

/* Fails the test if the backend refuses. snapshot NULL: the start. */
vly_backend_net *test_create(const test_net *net, uint32_t n_threads,
                             const char *options, const vly_snapshot *snapshot);
/* Runs n bursts and records; the caller calls test_run_deinit. */
void test_run_bursts(const test_net *net, vly_backend_net *made, uint64_t n,
                     const vly_input *inputs, uint64_t n_inputs, test_run *run);
void test_run_deinit(test_run *run);
/* Takes a snapshot into memory of its own. */
void test_snapshot(vly_backend_net *made, vly_snapshot *snapshot);
void test_snapshot_deinit(vly_snapshot *snapshot);

#endif
