/* SPDX-License-Identifier: Apache-2.0
 * The CUDA backend beside the reference: both plugins, one host table, and
 * comparisons of what they did. Nets come from test_cpu_net.h, whose
 * test_backend is whichever of the two a function is asked to use.
 */
#ifndef VOLLEY_TEST_CUDA_PAIR_H
#define VOLLEY_TEST_CUDA_PAIR_H

#include "test_cpu_net.h"

/* Both are set by pair_open, which skips the test if there is no device, and
 * fails it under VOLLEY_REQUIRE_GPU=1. */
extern const vly_backend *pair_cpu;
extern const vly_backend *pair_cuda;
void pair_open(void);

/* As test_create, on one of the two. */
vly_backend_net *pair_create(const vly_backend *backend, const test_net *net,
                             const char *options, const vly_snapshot *snapshot);
void pair_run(const vly_backend *backend, const test_net *net,
              vly_backend_net *made, uint64_t n, const vly_input *inputs,
              uint64_t n_inputs, test_run *run);
void pair_snapshot(const vly_backend *backend, vly_backend_net *made,
                   vly_snapshot *snapshot);

/* A random net of the three time-driven models with delays of at most 14
 * bursts: what every plan can run. */
void pair_plain_net(test_net *net, uint64_t seed);

/* The same, where weights of most maps are shifted, by 6 or 12 or, by the seed,
 * by one of them. */
void pair_shifted_net(test_net *net, uint64_t seed);
/* The same done to the maps of any net. */
void pair_shift_maps(test_net *net, uint64_t seed);

/* Counts, digests, spikes, gains, events and candidates. */
void pair_assert_run(const test_run *a, const test_run *b);
void pair_assert_snapshot(const vly_snapshot *a, const vly_snapshot *b);
/* Host input on some neurons of all areas, over n_bursts bursts. */
void pair_inputs(test_net *net, vly_input *inputs, uint64_t n,
                 uint64_t n_bursts);

#endif
