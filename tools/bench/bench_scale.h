/* SPDX-License-Identifier: Apache-2.0
 * Suite scale: predictions for many devices and hosts, beside measurements,
 * and one rank of many replayed.
 */
#ifndef VOLLEY_BENCH_BENCH_SCALE_H
#define VOLLEY_BENCH_BENCH_SCALE_H

#include "tools/bench/bench.h"
#include "tools/bench/bench_scale_model.h"

/* The network between hosts, if nothing is given: assumed, not measured. A
 * message takes 2 to 3 us on fabrics of clusters; 400 Gbit/s a device, of which
 * 90% are used. */
#define SCALE_LATENCY_US 2.5
#define SCALE_NET_GBS 45.0

/* One rank of many on this machine's processors. */
typedef struct scale_replay {
    bool done;
    uint32_t rank;
    uint32_t n_ranks;
    uint32_t own_neurons;
    uint64_t neurons;
    uint64_t own_synapses;
    uint64_t bytes;       /* of the part */
    double message_bytes; /* of all ranks in a burst, mean */
    double build_s;       /* of the part */
    double delivery_s;    /* of a burst, as the backend counts it */
    double dynamics_s;
    double exchange_s; /* reading the spikes of all ranks */
} scale_replay;

typedef struct bench_scale {
    scale_params params;
    scale_machine machine; /* as asked for */
    scale_replay replay;
} bench_scale;

/* Adds a row for the part of one rank and one for its burst. The spikes of all
 * ranks are made by the same backend before.
 * Errors  as run; E_UNSUPPORTED the backend has no ranks */
vly_status scale_replay_run(const bench_options *options,
                            bench_results *results, vly_error *error);

#endif
