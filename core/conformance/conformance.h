/* SPDX-License-Identifier: Apache-2.0
 * Conformance of a backend: one table of nets, each run in every scenario and
 * compared with digests of the second simulator in tests/support, so every
 * backend is compared with the same numbers. `volley conformance` and the tests
 * of each backend run this table; README.md says how to add to it.
 */
#ifndef VOLLEY_CONFORMANCE_H
#define VOLLEY_CONFORMANCE_H

#include <stdint.h>

#include <volley/plugin.h>

/* ---- the table --------------------------------------------------------- */

enum { VLY_CHANGE_FIELD, VLY_CHANGE_COEF, VLY_CHANGE_STIMULUS };

/* A change that is written into the running net after `burst` bursts. */
typedef struct vly_conformance_change {
    uint32_t burst;
    uint32_t kind;  /* VLY_CHANGE_* */
    uint32_t index; /* area; VLY_CHANGE_STIMULUS: of the desc's stimuli */
    uint32_t slot;  /* field or coefficient, in the order of the table */
    uint32_t first; /* VLY_CHANGE_FIELD: neuron of the area */
    uint32_t count; /* FIELD: neurons. COEF: 0 one word for all, 1 one each.
                       STIMULUS: thresholds */
    uint32_t word;  /* word k is word + k % 16 * step */
    uint32_t step;
} vly_conformance_change;

/* changes are [n_changes], by burst; modulations [n_modulations], as in
 * vly_run. */
typedef struct vly_conformance_case {
    const char *name;
    const char *genome; /* TOML: nets/NAME.toml; its [run] has the bursts */
    const vly_conformance_change *changes;
    const vly_input *modulations;
    uint32_t n_changes;
    uint32_t n_modulations;
    uint32_t every_allocation; /* 1: also with every allocation failing once */
    char about[96];            /* first line of the genome */
} vly_conformance_case;

/* Results of the second simulator: conformance_golden.def. */
typedef struct vly_conformance_golden {
    const char *name;
    uint64_t spikes;
    uint64_t events;
    uint64_t digest; /* H of the last burst */
    uint64_t state_digest;
    const char *trace; /* last four hex digits of every burst's digest */
} vly_conformance_golden;

uint32_t vly_conformance_count(void);
vly_conformance_case vly_conformance_get(uint32_t index);
/* NULL if there is none. */
const vly_conformance_golden *vly_conformance_golden_of(const char *name);
/* Words [n] of a change. */
void vly_conformance_words(const vly_conformance_change *change,
                           uint32_t *words, uint32_t n);

/* ---- running it -------------------------------------------------------- */

enum { VLY_CONFORMS, VLY_CONFORMANCE_SKIPPED, VLY_CONFORMANCE_FAILED };

typedef struct vly_conformance_result {
    const char *net;
    const char *scenario; /* "*": all of them */
    uint32_t outcome;
    const char *text; /* why skipped, or what differs; "" */
} vly_conformance_result;

typedef struct vly_conformance {
    const vly_backend *backend; /* the one that is tested */
    const vly_backend *other;   /* to exchange snapshots with; NULL: none */
    vly_device_spec device;
    const char *pattern; /* of net, scenario or net/scenario, with * and ?;
                            NULL: everything */
    /* called before a case (so that a crash of the plugin can be attributed)
     * and after it; a result with scenario "*" comes without a begin; NULL is
     * legal */
    void (*on_begin)(void *arg, const char *net, const char *scenario);
    void (*on_result)(void *arg, const vly_conformance_result *result);
    void *arg;
} vly_conformance;

typedef struct vly_conformance_counts {
    uint32_t n[3]; /* by outcome */
} vly_conformance_counts;

/* Runs everything that matches. With device.options a net that net_create does
 * not support is skipped: an option may force a plan that does not support
 * every net. [main-thread] counts live blocks, so nothing else may allocate
 * meanwhile */
vly_conformance_counts vly_conformance_run(const vly_conformance *conformance);

/* Blocks of the host in use. Device memory that is kept for reuse is freed
 * first, so its blocks do not count. */
uint64_t vly_conformance_live(void);

/* Names of the scenarios; NULL after the last. */
const char *vly_conformance_scenario(uint32_t index);

#endif
