/* SPDX-License-Identifier: Apache-2.0
 * The networks and cases of suite cuda.
 */
#ifndef VOLLEY_BENCH_BENCH_PLAN_H
#define VOLLEY_BENCH_BENCH_PLAN_H

#include "tools/bench/bench.h"

enum { BENCH_NET_CASES = 2 };

typedef struct bench_case_plan {
    const char *id; /* NULL: none */
    double share; /* of the neurons, in every burst; 0: as the genome has it */
    bench_limit limit;
    bench_peer peers[BENCH_PEERS_MAX];
} bench_case_plan;

typedef struct bench_net_plan {
    const char *file;
    uint32_t neurons; /* 0: as the genome has it */
    uint32_t delay_max;
    uint32_t check_bursts; /* compared for each case */
    uint32_t check_quick;  /* the same with --quick; 0: not a case of it */
    uint32_t state_every;  /* the whole state is compared every so many */
    bool slow;             /* blocks of 10 s model time, real-time factor */
    bool energy;
    bench_limit start_limit;
    bench_case_plan cases[BENCH_NET_CASES];
} bench_net_plan;

extern const bench_net_plan bench_nets[];
extern const uint32_t bench_n_nets;

#endif
