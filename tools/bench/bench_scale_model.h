/* SPDX-License-Identifier: Apache-2.0
 * Time of a burst on many devices and hosts, from parts that were measured.
 * bench/METHOD.md has the formulas.
 */
#ifndef VOLLEY_BENCH_BENCH_SCALE_MODEL_H
#define VOLLEY_BENCH_BENCH_SCALE_MODEL_H

#include <stdint.h>

/* A row of bench/results. */
typedef struct scale_fact {
    const char *file;
    const char *state;
    const char *machine;
    const char *id; /* the case */
    const char *variant;
    const char *unit;
    double value;
} scale_fact;

enum {
#define SCALE_FACT(name, file, state, machine, id, variant, unit, value)       \
    SCALE_##name,
#include "tools/bench/scale_facts.def"
#undef SCALE_FACT
    SCALE_N_FACTS
};
extern const scale_fact scale_facts[SCALE_N_FACTS];

/* Of one H100; microseconds unless said otherwise. */
typedef struct scale_params {
    double fixed;         /* of a burst */
    double update;        /* of 1 M neurons */
    double copy;          /* more for each block of a slice */
    double lookup;        /* of 1 M pairs of spike and slice */
    double bytes_per_us;  /* of rows */
    double single;        /* more for 1 M synapses that are read singly */
    double span;          /* exchange of two devices */
    double span_more;     /* more for each further device */
    double link_bytes_us; /* between devices of a host */
    double hop;           /* device to host and back */
    double gather;        /* of a rank above the library's own */
} scale_params;

typedef struct scale_net {
    double neurons;
    double degree; /* synapses of a neuron */
    double share;  /* of neurons that fire in a burst */
} scale_net;

typedef struct scale_machine {
    uint32_t devices; /* of a host */
    uint32_t hosts;
    double latency_us;   /* of a message between hosts */
    double net_bytes_us; /* of a device's share of its host's network */
} scale_machine;

typedef struct scale_time {
    const char *reason; /* of no time; NULL: there is one */
    uint32_t slices;    /* of a device */
    uint32_t blocks;    /* of a slice */
    uint32_t unit;      /* synapses read at once */
    double bytes;       /* of rows and their index, a device */
    double update;
    double delivery;
    double single;
    double exchange; /* within the host */
    double network;
    double total;
    double events; /* millions, of a device */
} scale_time;

void scale_params_init(scale_params *params);
scale_time scale_predict(const scale_params *params, const scale_net *net,
                         const scale_machine *machine);
/* Between hosts; n_bytes is what a host gets. */
double scale_network_us(const scale_params *params,
                        const scale_machine *machine, double n_bytes);

#endif
