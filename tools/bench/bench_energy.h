/* SPDX-License-Identifier: Apache-2.0
 * Joules a synaptic event, from the counter of the board.
 */
#ifndef VOLLEY_BENCH_BENCH_ENERGY_H
#define VOLLEY_BENCH_BENCH_ENERGY_H

#include "tools/bench/bench.h"

/* Runs net, which is on CUDA device `index`, for at least run_s seconds and
 * fills *energy; without the driver's library, counter or board, energy->reason
 * has the reason and VLY_OK is returned. burst_s: approximate time of a burst.
 * Errors  as vly_net_run */
vly_status bench_energy_measure(vly_net *net, uint32_t index, double burst_s,
                                double run_s, bench_energy *energy,
                                vly_error *error);

#endif
