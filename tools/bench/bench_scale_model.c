/* SPDX-License-Identifier: Apache-2.0
 * The model of suite scale: see bench_scale_model.h.
 */
#include "tools/bench/bench_scale_model.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

const scale_fact scale_facts[SCALE_N_FACTS] = {
#define SCALE_FACT(name, file, state, machine, id, variant, unit, value)       \
    {file, state, machine, id, variant, unit, value},
#include "tools/bench/scale_facts.def"
#undef SCALE_FACT
};

/* Of the plan that spans have (backends/cuda/cuda_fit.c). An H100 runs so many
 * clusters of 8, 4, 2 and 1 blocks at once; eight are for spans. */
static const struct {
    uint32_t blocks;
    uint32_t clusters;
} choices[] = {{8, 15}, {4, 30}, {2, 66}, {1, 132}};
enum { EIGHT, FOUR, TWO, N_CHOICES = sizeof choices / sizeof choices[0] };
#define SLICE_NEURONS 65536.0 /* on one device */
/* In a span: sums of 16 bits in the shared memory of a block. */
#define SPAN_NEURONS 113000.0
#define BLOCK_NEURONS 128.0 /* fewer are not worth an exchange */
#define INDEX_PARTS 12.0    /* of a word of the index, which has 16 bytes */
#define INDEX_BYTES 16.0
#define SYNAPSE_BYTES 4.0
#define MOST_SYNAPSE_BYTES 4.58 /* with padding and index */
#define MOST_UNITS 16e9         /* positions of 34 bits */
#define POST_SPIKES 128.0 /* of a block at 1%: one device posts its parts */
#define MOST_NEURONS 4294967295.0
#define ID_BYTES 4.0
/* A part of n synapses at any multiple of 4 bytes covers n * 4 + 28 bytes of
 * sectors of 32 bytes, in the mean. */
#define EDGE_BYTES 28.0
#define DEVICE_BYTES 80e9 /* of an H100 */
static const double million = 1e6;

static double value(int fact)
{
    return scale_facts[fact].value;
}

/* ---- parameters ---------------------------------------------------------- */

/* Bytes of parts, from a burst with more spikes of the same network: the
 * difference has neither update nor exchange. */
static double bytes_per_us(const scale_params *params)
{
    const double spikes = 1e6 * (0.1 - 0.01);
    const double parts = spikes * choices[FOUR].clusters;
    const double bytes = spikes * 1000.0 * SYNAPSE_BYTES + parts * EDGE_BYTES;
    return bytes / (value(SCALE_D1_1M_10) - value(SCALE_D1_1M) -
                    parts / million * params->lookup);
}

void scale_params_init(scale_params *params)
{
    /* the phases of a burst were measured on an H200 only */
    const double slower_1m = value(SCALE_H100_1M) / value(SCALE_H200_1M);
    const double slower_4m = value(SCALE_H100_4M) / value(SCALE_H200_4M);
    const double lookups = 4e6 * 0.01 * choices[TWO].clusters / million;
    *params = (scale_params){.single = 0.0};
    params->copy =
        slower_1m * (value(SCALE_UPDATE_4) - value(SCALE_UPDATE_2)) / 2.0;
    params->update = slower_1m * value(SCALE_UPDATE_2) - 2.0 * params->copy;
    params->lookup =
        slower_4m * (value(SCALE_NOT_POSTED) - value(SCALE_POSTED)) / lookups;
    params->bytes_per_us = bytes_per_us(params);
    /* 100,000 neurons, hardly a synapse */
    params->fixed =
        value(SCALE_EMPTY_1) - 0.1 * (params->update + 4.0 * params->copy);
    params->span = value(SCALE_EMPTY_2) - value(SCALE_EMPTY_1);
    params->span_more = (value(SCALE_EMPTY_4) - value(SCALE_EMPTY_2)) / 2.0;
    params->link_bytes_us = value(SCALE_PEER_COPY) * 1e3;
    params->hop = value(SCALE_LOOP_READ) - value(SCALE_LOOP_RUN);
    params->gather = value(SCALE_GATHER) - value(SCALE_ALLGATHER);
    /* No network on one device has units of one synapse and a time: what 16 M
     * neurons on two devices take longer than all other parts say. */
    const scale_net large = {16e6, 1000.0, 0.01};
    const scale_machine two = {.devices = 2, .hosts = 1};
    const scale_time rest = scale_predict(params, &large, &two);
    params->single = (value(SCALE_D2_16M) - rest.total) / rest.events;
}

/* ---- the plan ------------------------------------------------------------ */

/* Bytes of rows and index of a device, if parts are padded to units. */
static double row_bytes(const scale_time *t, double neurons, double degree,
                        uint32_t unit)
{
    const double filled = degree < t->slices ? degree : t->slices;
    const double index = ceil(t->slices / INDEX_PARTS) * INDEX_BYTES;
    return neurons *
           ((degree + filled * 0.5 * (unit - 1)) * SYNAPSE_BYTES + index);
}

/* NULL, or the reason why the network does not fit. degree: synapses that a
 * neuron has onto a device. */
static const char *fit(const scale_net *net, double own, double degree,
                       scale_time *t)
{
    const bool is_span = own < net->neurons;
    const double most = is_span ? SPAN_NEURONS : SLICE_NEURONS;
    if (net->neurons > MOST_NEURONS)
        return "over 2^32 neurons";
    for (uint32_t i = is_span ? EIGHT : FOUR; i < N_CHOICES && t->slices == 0;
         i++) {
        const double room = floor(own / (BLOCK_NEURONS * choices[i].blocks));
        const double n =
            room < choices[i].clusters ? room : choices[i].clusters;
        if (n < 1.0 || own / n > (choices[i].blocks > 1 ? most : SLICE_NEURONS))
            continue;
        t->slices = (uint32_t)n;
        t->blocks = choices[i].blocks;
    }
    if (t->slices == 0)
        return own < BLOCK_NEURONS ? "too few neurons" : "no room";
    t->unit = 4;
    while (t->unit > 1 && row_bytes(t, net->neurons, degree, t->unit) >
                              MOST_SYNAPSE_BYTES * net->neurons * degree)
        t->unit /= 2;
    t->bytes = row_bytes(t, net->neurons, degree, t->unit);
    if (t->bytes > DEVICE_BYTES || net->neurons * degree / t->unit > MOST_UNITS)
        return "no room";
    return NULL;
}

/* ---- the time ------------------------------------------------------------ */

double scale_network_us(const scale_params *params,
                        const scale_machine *machine, double n_bytes)
{
    if (machine->hosts < 2)
        return 0.0;
    return params->gather +
           machine->latency_us * ceil(log2((double)machine->hosts)) +
           n_bytes / (machine->net_bytes_us * machine->devices);
}

static void exchange_time(const scale_params *params, double spikes,
                          const scale_machine *machine, scale_time *t)
{
    const double devices = machine->devices;
    const double hosts = machine->hosts;
    const double ids = spikes * ID_BYTES;
    /* what a device gets by its links: all ids but its own, or its share of
     * those of other hosts, which came by its own network */
    const double by_link = ids * (devices - 1.0) / devices;
    if (machine->devices > 1)
        t->exchange = params->span + params->span_more * (devices - 2.0) +
                      by_link / params->link_bytes_us;
    if (machine->hosts > 1)
        t->network =
            params->hop +
            scale_network_us(params, machine, ids * (hosts - 1.0) / hosts);
}

scale_time scale_predict(const scale_params *params, const scale_net *net,
                         const scale_machine *machine)
{
    const double n = (double)machine->devices * machine->hosts;
    const double own = net->neurons / n;
    const double degree = net->degree / n;
    const double spikes = net->neurons * net->share;
    scale_time t = {.slices = 0};
    t.reason = fit(net, own, degree, &t);
    if (t.reason)
        return t;
    const double lookups = spikes * t.slices;
    const double filled = 1.0 - exp(-degree / t.slices);
    const bool posts =
        n < 1.5 && net->neurons * 0.01 >= POST_SPIKES * t.slices * t.blocks;
    t.events = spikes * degree / million;
    t.update = own / million * (params->update + params->copy * t.blocks);
    t.delivery =
        (t.events * million * SYNAPSE_BYTES + lookups * filled * EDGE_BYTES) /
            params->bytes_per_us +
        (posts ? 0.0 : lookups / million * params->lookup);
    t.single = t.unit == 1 ? t.events * params->single : 0.0;
    exchange_time(params, spikes, machine, &t);
    t.total = params->fixed + t.update + t.delivery + t.single + t.exchange +
              t.network;
    return t;
}
