/* SPDX-License-Identifier: Apache-2.0
 * What the tests of the engine share: genomes, and nets made of their text.
 */
#ifndef VOLLEY_ENGINE_FIXTURE_H
#define VOLLEY_ENGINE_FIXTURE_H

#include "volley_test.h"

#include <volley/volley.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/number.h"
#include "engine/engine.h"

/* Three neurons A, B, C: 20 mV to A in bursts 10, 30, 31; A -> B strong, B -> C
 * weak, both after 15 bursts. Spikes: A 10, B 25, A 31, B 46, C 61. */
extern const char *const genome_three;
/* All models, stimuli and several delays; dc of Z acts in [10, 30), that of
 * two neurons of X in [5, 25). Fires in nearly every burst. */
extern const char *const genome_mixed;

typedef struct fixture {
    vly_genome *genome;
    vly_connectome *connectome;
    vly_registry *registry;
    vly_error error;
} fixture;

void fixture_init(fixture *f, const char *text);
/* The same with one --set. */
void fixture_init_with(fixture *f, const char *text, const char *path,
                       const char *value);
void fixture_deinit(fixture *f);
vly_net *fixture_net(fixture *f, const char *backend);

/* Digest and state digest after n more bursts. */
typedef struct fingerprint {
    uint64_t burst;
    uint64_t digest;
    uint64_t state;
    uint64_t spikes;
} fingerprint;
fingerprint fixture_run(fixture *f, vly_net *net, uint64_t n_bursts);
void assert_same(const fingerprint *a, const fingerprint *b);

/* status is wanted and the message holds text. */
void assert_fails(vly_status status, vly_status wanted, const vly_error *error,
                  const char *text);

/* All spikes of a run, as (burst, id). */
typedef struct spike_log {
    uint64_t bursts[4096];
    uint32_t ids[4096];
    uint32_t n;
    uint64_t n_calls;
    uint64_t last_burst;
    uint64_t fail_at; /* burst at which it says no; UINT64_MAX never */
} spike_log;
vly_status spike_log_add(void *arg, uint64_t burst, const uint32_t *ids,
                         uint32_t n_ids, uint64_t digest);

#endif
