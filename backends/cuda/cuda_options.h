/* SPDX-License-Identifier: Apache-2.0
 * Options that may follow the device.
 */
#ifndef VOLLEY_CUDA_OPTIONS_H
#define VOLLEY_CUDA_OPTIONS_H

#include "cuda_base.h"

#define VLY_CUDA_AUTO UINT32_MAX

typedef struct vly_cuda_options {
    uint32_t plan;     /* index in the list of plans plus 1; 0: auto */
    uint32_t n_blocks; /* 0: as many as fit */
    uint32_t lines;    /* of mail; 0: chosen by the number of spikes */
    uint32_t threads;  /* minimum of a resident block: 0: chosen by the number
                        * of spikes, 1, 2, 3 for 512, 256, 128 */
    uint32_t split;    /* separate rows for delay 1: 0, 1 or VLY_CUDA_AUTO */
    uint32_t quads;    /* of a segment without its rest; 0: by memory */
    uint32_t cluster;  /* blocks of a slice; 0: by size */
    uint32_t unit;     /* synapses read at once; 0: by size */
    uint32_t once;     /* minimum percentage of a slice stored in only one block
                        * of a pair; 0: none, VLY_CUDA_AUTO: the part that does
                        * not fit twice */
    uint32_t post;     /* maximum number of spikes of a block whose parts are
                        * posted */
    uint32_t narrow;   /* sums of 16 bits: 0 never, 1 if they are proved to fit,
                        * VLY_CUDA_AUTO if a burst is also faster */
    uint32_t deal;     /* number of turns of a warp from which turns are taken
                        * from a counter */
    uint32_t n_bursts; /* bursts of a launch; 0: chosen by time */
    uint32_t change;   /* 1: another plan after every launch, for tests */
    uint32_t fault;    /* for tests: 1: the next launch fails; 2: it is left out
                        * on the last device of a span */
    uint32_t span;     /* virtual devices of one device, for tests; 0: none */
    uint32_t devices;  /* 1: all that are offered, 0: as many as are faster */
    uint32_t wait_ms;  /* limit of a wait for another device of a span */
    uint32_t jit;      /* 1: users' models are compiled by the driver; 2 and 3:
                        * and run neuron by neuron always, or by four where
                        * they can; 0: step by step */
    uint32_t cache;    /* of what the driver compiled: 0: code of quads is kept,
                        * 1: none, 2: all, for tests */
    uint32_t linger;   /* 0: no launch stays between runs; 2: for tests, numbers
                        * start near their maximum */
} vly_cuda_options;

/* Reads "a=1,b=word"; NULL and "" mean no option.
 * Errors  E_INVALID an unknown option; the message lists all options */
vly_status vly_cuda_options_read(const char *text, vly_cuda_options *made,
                                 vly_error *error);

#endif
