/* SPDX-License-Identifier: Apache-2.0
 * One network on a device and on the CPU backend, side by side, and on a second
 * device if one is asked for.
 */
#ifndef VOLLEY_BENCH_BENCH_PAIR_H
#define VOLLEY_BENCH_BENCH_PAIR_H

#include "tools/bench/bench.h"
#include "tools/cli/setup.h"

typedef struct bench_pair {
    tool_build build;
    vly_net *device;
    vly_net *cpu;    /* the reference, all threads */
    vly_net *beside; /* NULL: no second device was requested */
    double setup_s;
    uint64_t bursts; /* compared and equal */
    uint64_t spikes; /* in them */
} bench_pair;

/* Length of timing: 31 blocks, each of so many bursts or, if that is 0, of so
 * many seconds. If all would take longer than the budget, blocks become
 * shorter, then fewer. */
typedef struct bench_timing {
    uint64_t block_bursts;
    double block_s;
    double budget_s;
} bench_timing;

/* Compiles the genome and makes the nets; the first burst of each is done and
 * compared. The time of the device's net counts from its creation to the end of
 * that burst.
 * Errors  as genome, connectome and net; E_NOMEM with bytes also where the
 *         connectome would not fit, found before it is made; E_DEVICE the
 *         first burst differs */
vly_status bench_pair_open(const bench_options *options, const char *path,
                           const tool_overrides *overrides, bench_pair *pair,
                           vly_error *error);
void bench_pair_close(bench_pair *pair); /* zeroed or opened */

/* The next n_bursts of all: every digest, and the whole state every
 * state_every bursts (1 to 128). Errors  E_DEVICE they differ (where: stderr)
 */
vly_status bench_pair_check(bench_pair *pair, uint64_t n_bursts,
                            uint32_t state_every, vly_error *error);

/* No spikes are copied to the host: recording is off. */
vly_status bench_pair_time(vly_net *net, const bench_timing *timing,
                           bench_blocks *blocks, vly_error *error);

#endif
