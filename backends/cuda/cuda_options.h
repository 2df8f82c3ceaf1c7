/* SPDX-License-Identifier: Apache-2.0
 * Options that may follow the device.
 */
#ifndef VOLLEY_CUDA_OPTIONS_H
#define VOLLEY_CUDA_OPTIONS_H

#include "cuda_base.h"

#define VLY_CUDA_AUTO UINT32_MAX

typedef struct vly_cuda_options {
    uint32_t plan;     /* its place in the list of plans plus 1; 0: auto */
    uint32_t n_blocks; /* 0: as many as fit */
    uint32_t lines;    /* of mail; 0: by the spikes */
    uint32_t threads;  /* of a resident block at least: 0 by the spikes, 1, 2, 3
                          for 512, 256, 128 */
    uint32_t split;    /* rows of delay 1 apart: 0, 1 or VLY_CUDA_AUTO */
    uint32_t quads;    /* of a segment without its rest; 0: by memory */
    uint32_t cluster;  /* blocks of a slice; 0: by size */
    uint32_t unit;     /* synapses read at once; 0: by size */
    uint32_t once;     /* percent of a slice that one block of a pair lacks at
                          least; 0: none, VLY_CUDA_AUTO: what does not fit */
    uint32_t post;     /* spikes of a block whose parts are posted at most */
    uint32_t narrow;   /* sums of 16 bits: 0 never, 1 wherever they are proved
                          to fit, VLY_CUDA_AUTO where a burst takes less too */
    uint32_t deal;     /* turns of a warp from which on they are dealt */
    uint32_t n_bursts; /* of a launch; 0: by time */
    uint32_t change;   /* 1: another plan after every launch, for tests */
    uint32_t fault;    /* 1: the next launch fails, for tests */
    uint32_t linger;   /* 0: no launch stays between runs; 2: for tests, their
                          numbers begin near the last one */
} vly_cuda_options;

/* Reads "a=1,b=word"; NULL and "" are none.
 * Errors  E_INVALID  an option that there is not; it names all there are */
vly_status vly_cuda_options_read(const char *text, vly_cuda_options *made,
                                 vly_error *error);

#endif
