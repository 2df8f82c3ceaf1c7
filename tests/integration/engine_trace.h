/* SPDX-License-Identifier: Apache-2.0
 * Runs of the engine and of the second simulator as traces that can be
 * compared burst by burst. For the integration tests.
 */
#ifndef VOLLEY_ENGINE_TRACE_H
#define VOLLEY_ENGINE_TRACE_H

#include <stdbool.h>
#include <stdint.h>

#include <volley/volley.h>

typedef struct trace {
    uint64_t n_bursts;
    uint64_t *bursts; /* [n_bursts] digests; owned */
    uint64_t spikes;
    uint64_t events;
    uint32_t n_sums;    /* of input, by the second simulator; else 0 */
    uint64_t exchanges; /* of spikes and state between ranks; else 0 */
    bool parted;        /* ranks had parts of the connectome */
    uint64_t digest;
    uint64_t state_digest;
} trace;

/* Runs a new net for n_bursts. "cpu:2@3" is three ranks as threads, which own
 * random neurons, each on cpu:2; with a genome (NULL: none) each builds its
 * part of the connectome, if that can be built in parts. With swap_to (NULL:
 * none) it moves there after swap_at bursts. 0, or -1 with the reason in
 * *error. */
int trace_engine(const vly_connectome *connectome, const vly_genome *genome,
                 vly_registry *registry, const char *backend, uint64_t n_bursts,
                 const char *swap_to, uint64_t swap_at, trace *out,
                 vly_error *error);
/* The second simulator on a saved connectome; -1: a sentence is on stderr. */
int trace_second(const char *path, uint64_t n_bursts, trace *out);
void trace_free(trace *t);

/* True if equal; otherwise prints the first difference to stderr. */
bool trace_equal(const trace *a, const char *a_name, const trace *b,
                 const char *b_name);

#endif
