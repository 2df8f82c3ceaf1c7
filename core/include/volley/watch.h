/* SPDX-License-Identifier: Apache-2.0
 * Watching a net from other threads: the thread that runs the net puts samples
 * of its counters into a ring, any number of threads read them. Writing never
 * waits: a reader that falls behind by more than the ring loses the oldest
 * samples and gets their number.
 *
 *     vly_watch_create(net, 1024, &watch, &error);
 *     while (vly_net_run(net, 100, &error) == VLY_OK)
 *         vly_watch_put(watch, net, &error);
 *
 * Errors and threads are as in volley.h.
 */
#ifndef VOLLEY_WATCH_H
#define VOLLEY_WATCH_H

#include <volley/volley.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct vly_watch vly_watch;

/* Sums since burst 0 of the net, but run_ns and the phases, which are of this
 * process: the difference of two samples gives rates. */
typedef struct vly_watch_sample {
    uint32_t struct_size;
    uint32_t reserved;
    uint64_t at_ns;   /* of a clock that never jumps */
    uint64_t unix_ns; /* of the wall clock, at the same time */
    uint64_t bursts;  /* done */
    uint64_t spikes;
    uint64_t events; /* synaptic */
    uint64_t run_ns; /* inside vly_net_run */
    uint64_t delivery_ns;
    uint64_t dynamics_ns;
    uint64_t exchange_ns;
    uint64_t drain_ns;
    uint64_t host_bytes;
    uint64_t device_bytes;
    char backend[64]; /* that the net was on: "cuda:0" */
} vly_watch_sample;

/* n_samples  length of the ring, a power of two
 * Errors     E_INVALID n_samples; E_NOMEM */
VLY_API vly_status vly_watch_create(const vly_net *net, uint32_t n_samples,
                                    vly_watch **watch, vly_error *error);
/* No thread may be reading. NULL is legal. */
VLY_API void vly_watch_destroy(vly_watch *watch);
/* Adds a sample of the net it was made for (or of one with the same areas),
 * between two runs. Spikes by area grow only if vly_net_count_areas is on.
 * [burst-thread] one thread at a time; does not wait
 * Errors  those of vly_net_stats; E_INVALID a net with other areas */
VLY_API vly_status vly_watch_put(vly_watch *watch, vly_net *net,
                                 vly_error *error);

/* Number of areas, and so of spike counts in a sample. [any-thread] */
VLY_API uint32_t vly_watch_areas(const vly_watch *watch);
/* The newest sample. area_spikes [areas] or NULL. Returns 1, or 0 if there is
 * none yet, or struct_size is too small. [any-thread] */
VLY_API int vly_watch_last(const vly_watch *watch, vly_watch_sample *sample,
                           uint64_t *area_spikes);
/* The oldest sample from number *next on, which becomes the number of the one
 * after it. Samples count from 0; *lost grows by those that were overwritten
 * before they were read. Returns as above. [any-thread] */
VLY_API int vly_watch_take(const vly_watch *watch, uint64_t *next,
                           uint64_t *lost, vly_watch_sample *sample,
                           uint64_t *area_spikes);

#ifdef __cplusplus
}
#endif
#endif
