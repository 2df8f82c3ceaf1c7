/* SPDX-License-Identifier: Apache-2.0
 * Structures of a burst and a stimulus for update_neuron.glsl. In a separate
 * file, so that a shader can declare buffers of them before it defines how they
 * are read.
 */
#ifndef VOLLEY_VULKAN_NEURON_TYPES_GLSL
#define VOLLEY_VULKAN_NEURON_TYPES_GLSL

#include "contract.glsl"

struct vly_burst {
    uint64_t t;
    uint key_low; /* the input seed */
    uint key_high;
    uint feagi_q;
};

/* 56 bytes in a std430 buffer: two words of 64 bits, then ten of 32. */
struct vly_stimulus {
    uint64_t start; /* first burst */
    uint64_t stop;  /* first burst after */
    uint first;     /* global id */
    uint n;
    uint stream;
    uint thresholds; /* index of the first, for THRESHOLD */
    uint n_thresholds;
    int base;
    int step;
    uint port;
    uint always; /* 1: an event at every neuron in every burst */
    uint reserved;
};

#endif
