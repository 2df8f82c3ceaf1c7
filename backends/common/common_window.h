/* SPDX-License-Identifier: Apache-2.0
 * What a rule of windows (vly_learning_desc with WINDOW) remembers of the
 * neurons of both areas: the last spike of each, and the bursts in a row with a
 * spike that ended with it. Bursts are counted modulo 2^32; a run of 0 has no
 * last spike, so no age grows beyond the window.
 */
#ifndef VOLLEY_COMMON_WINDOW_H
#define VOLLEY_COMMON_WINDOW_H

#include "backend_common.h"

enum { VLY_COMMON_SOURCE, VLY_COMMON_TARGET };

typedef struct vly_common_window {
    uint32_t bursts;   /* D */
    uint32_t n[2];     /* neurons of each side */
    uint32_t *run[2];  /* [n] at most D; 0: no spike in the window */
    uint32_t *last[2]; /* [n] burst of the last spike */
} vly_common_window;

/* No neuron has fired. */
vly_status vly_common_window_create(vly_common_heap *heap,
                                    const vly_learning_desc *desc,
                                    uint32_t n_sources, uint32_t n_targets,
                                    vly_common_window *window,
                                    vly_error *error);
/* Whether the words of a snapshot that follow the projection's weights are runs
 * of its neurons. */
vly_status vly_common_window_check(const vly_net_desc *desc,
                                   uint32_t projection, const uint32_t *words,
                                   vly_error *error);
/* From the words of a snapshot at `burst` that follow the weights; returns
 * their end. */
const uint32_t *vly_common_window_load(vly_common_window *window,
                                       const uint32_t *words, uint32_t burst);
/* The words of a snapshot at `burst`; returns their end. */
uint32_t *vly_common_window_save(const vly_common_window *window,
                                 uint32_t burst, uint32_t *words);
/* A side as devices store it: run and last burst of each neuron, [2 n] words.
 * pack returns the burst of the side's newest spike; without one it is
 * VLY_COMMON_AGE_NEVER bursts before `burst`. */
uint32_t vly_common_window_pack(const vly_common_window *window, int side,
                                uint32_t burst, uint32_t *pairs);
void vly_common_window_unpack(vly_common_window *window, int side,
                              const uint32_t *pairs);

#endif
