/* SPDX-License-Identifier: Apache-2.0
 * A ring of samples of a running net: its counters and clocks. One thread
 * writes samples, any number of readers read them, each at its own pace. The
 * writer never waits: a reader that falls behind by more than the length of the
 * ring loses the oldest samples and gets their number.
 */
#ifndef VOLLEY_RECORD_TELEMETRY_H
#define VOLLEY_RECORD_TELEMETRY_H

#include <stdbool.h>
#include <stdint.h>

#include <volley/volley.h>

typedef struct vly_telemetry_ring vly_telemetry_ring;

/* Counters are sums since burst 0 of this net, but for run_ns and the phases,
 * which are of this process; two samples give rates. */
typedef struct vly_telemetry_sample {
    uint64_t at_ns;   /* vly_clock_ns */
    uint64_t unix_ns; /* of the wall clock */
    uint64_t bursts;  /* done */
    uint64_t run_ns;  /* inside the engine */
    uint64_t delivery_ns;
    uint64_t dynamics_ns;
    uint64_t exchange_ns;
    uint64_t drain_ns;
    uint64_t spikes;
    uint64_t events; /* synaptic */
    uint64_t candidates;
    uint64_t host_bytes;
    uint64_t device_bytes;
    uint64_t connectome_bytes;
    uint64_t waited_ns; /* burst loop's thread ready, but without a processor:
                           vly_thread_waited_ns and vly_steal_look */
    uint64_t engine_waited_ns;  /* of it inside the engine, at most: where the
                                   thread does not sleep in there, just that */
    uint64_t threads_waited_ns; /* of the exchange, what other threads of the
                                   net waited for a processor */
    uint64_t paused_ns;         /* paused on request */
    uint64_t squares;           /* of each burst's spikes */
    /* Sums too, of this process: the difference of two samples shows every
     * event between them, even a short one. */
    uint64_t wrong_bursts; /* on another backend than was asked for */
    uint64_t failures;     /* of devices, and the run went on */
    uint64_t moves;        /* to another backend, on request or by these */
    /* Bursts done when the first of each since the sample before began; of no
     * meaning where its sum did not grow. */
    uint64_t wrong_from;
    uint64_t failed_at;
    char backend[64]; /* that the net is on, as vly_stats has it */
} vly_telemetry_sample;

/* n_samples: how many samples a reader may be behind, a power of two; n_areas:
 * number of spike counts in each.
 * Errors  E_INVALID n_samples; E_NOMEM */
vly_status vly_telemetry_create(uint32_t n_samples, uint32_t n_areas,
                                vly_telemetry_ring **telemetry,
                                vly_error *error);
void vly_telemetry_destroy(vly_telemetry_ring *telemetry);
uint32_t vly_telemetry_areas(const vly_telemetry_ring *telemetry);
uint32_t vly_telemetry_length(const vly_telemetry_ring *telemetry);

/* area_spikes [n_areas]. By one thread only; does not wait.
 * Cost  30 + n_areas stores */
void vly_telemetry_put(vly_telemetry_ring *telemetry,
                       const vly_telemetry_sample *sample,
                       const uint64_t *area_spikes);

/* area_spikes here and below: [n_areas], or NULL.
 * The oldest sample that is not older than *next, which is then the number of
 * the following one. *lost grows by the samples that were overwritten before
 * they were read. false: there is none yet. Samples count from 0. [any-thread]
 */
bool vly_telemetry_take(const vly_telemetry_ring *telemetry, uint64_t *next,
                        uint64_t *lost, vly_telemetry_sample *sample,
                        uint64_t *area_spikes);
/* The newest. false: there is none yet. [any-thread] */
bool vly_telemetry_last(const vly_telemetry_ring *telemetry,
                        vly_telemetry_sample *sample, uint64_t *area_spikes);

#endif
