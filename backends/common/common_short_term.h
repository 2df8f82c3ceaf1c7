/* SPDX-License-Identifier: Apache-2.0
 * Short-term plasticity of a projection: the states of its sources, and the
 * gains of their spikes, in the same way on every backend.
 *
 * Bursts are those in which a source fired, counted modulo 2^32; a backend
 * makes old ones younger in time (vly_common_sources_renew).
 */
#ifndef VOLLEY_COMMON_SHORT_TERM_H
#define VOLLEY_COMMON_SHORT_TERM_H

#include "backend_common.h"
#include "kernels/rules/short_term.h"

typedef struct vly_common_short_rule {
    const char *id;
    const char *text; /* of the table: what its hash is over */
    uint32_t index;   /* in kernels/rules/short_term.def */
    uint32_t n_coefs;
    vly_short_term (*spike)(vly_short_term state, const uint32_t *coefs,
                            uint32_t h);
} vly_common_short_rule;

/* NULL if there is no such rule */
const vly_common_short_rule *vly_common_short_rule_find(const char *id);

typedef struct vly_common_short_term {
    const vly_short_term_desc *desc;
    const vly_projection_desc *projection;
    const vly_common_short_rule *rule;
    uint32_t *coefs; /* in force */
    uint32_t n_sources;
} vly_common_short_term;

/* The sources after their spikes up to some burst. */
typedef struct vly_common_sources {
    vly_short_term *state; /* [n_sources] */
    uint32_t *last;        /* [n_sources] burst of the last spike */
} vly_common_sources;

vly_status vly_common_short_term_create(vly_common_heap *heap,
                                        const vly_net_desc *desc,
                                        uint32_t projection,
                                        vly_common_short_term *t,
                                        vly_error *error);
vly_status vly_common_sources_create(vly_common_heap *heap,
                                     const vly_common_short_term *t,
                                     vly_common_sources *sources,
                                     vly_error *error);
/* Bursts from the spike to its last event: until then it is under way. */
uint32_t vly_common_short_term_reach(const vly_common_short_term *t);
/* Source k fired in `burst`; returns the gain. */
uint32_t vly_common_sources_spike(const vly_common_short_term *t,
                                  vly_common_sources *sources, uint32_t k,
                                  uint32_t burst);
/* Every VLY_COMMON_AGE_PERIOD bursts. */
void vly_common_sources_renew(const vly_common_short_term *t,
                              vly_common_sources *sources, uint32_t burst);
/* From and to the words of a snapshot at `burst`; they return their end. The
 * states are those after the spikes that are not under way any more. */
const uint32_t *vly_common_sources_load(const vly_common_short_term *t,
                                        vly_common_sources *sources,
                                        const uint32_t *words, uint64_t burst);
uint32_t *vly_common_sources_save(const vly_common_short_term *t,
                                  const vly_common_sources *sources,
                                  uint64_t burst, uint32_t *words);
/* The states as devices store them: x, u, y and the burst of the last spike of
 * each source, [4 n_sources] words. */
void vly_common_sources_pack(const vly_common_short_term *t,
                             const vly_common_sources *sources,
                             uint32_t *words);
void vly_common_sources_unpack(const vly_common_short_term *t,
                               vly_common_sources *sources,
                               const uint32_t *words);
/* Whether other coefficients may take the place of those in force. */
vly_status vly_common_check_short_term_set(const vly_net_desc *desc,
                                           uint32_t projection,
                                           const vly_short_term_desc *to,
                                           vly_error *error);

#endif
