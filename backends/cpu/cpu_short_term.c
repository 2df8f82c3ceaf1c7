/* SPDX-License-Identifier: Apache-2.0
 * Projections with short-term plasticity: see cpu_short_term.h.
 */
#include "cpu_short_term.h"

#include <string.h>

/* ---- create ------------------------------------------------------------- */

static vly_status create_one(vly_backend_net *net, uint32_t projection,
                             vly_cpu_short_term *s, vly_error *error)
{
    vly_status status = VLY_OK;
    s->projection = &net->projections[projection];
    VLY_TRY(vly_common_short_term_create(&net->heap, net->desc, projection,
                                         &s->t, error));
    VLY_TRY(vly_common_sources_create(&net->heap, &s->t, &s->head, error));
    VLY_TRY(vly_common_sources_create(&net->heap, &s->t, &s->tail, error));
    for (int i = 0; i < 2; i++)
        VLY_TRY(vly_common_alloc(&net->heap, s->t.n_sources, sizeof **s->gain,
                                 &s->gain[i], error));
out:
    return status;
}

vly_status vly_cpu_short_term_create(vly_backend_net *net, vly_error *error)
{
    vly_status status = VLY_OK;
    uint32_t at = 0;
    for (uint32_t i = 0; i < net->n_projections; i++)
        net->n_short_term += vly_common_short_term_of(net->desc, i) != NULL;
    if (net->n_short_term == 0)
        return VLY_OK;
    VLY_TRY(vly_common_alloc(&net->heap, net->n_short_term,
                             sizeof *net->short_term, &net->short_term, error));
    for (uint32_t i = 0; i < net->n_projections; i++) {
        if (!vly_common_short_term_of(net->desc, i))
            continue;
        net->projections[i].short_term = &net->short_term[at++];
        VLY_TRY(create_one(net, i, net->projections[i].short_term, error));
    }
out:
    return status;
}

/* ---- spikes ------------------------------------------------------------- */

/* Spikes [part / n_parts] of the set of age bursts ago. gain: NULL or theirs.
 */
static void advance(const vly_backend_net *net, const vly_cpu_short_term *s,
                    vly_common_sources *sources, uint32_t age, uint32_t part,
                    uint32_t n_parts, uint32_t *gain)
{
    uint32_t a = s->t.projection->source_area;
    uint32_t first = net->areas[a].first;
    uint32_t burst = (uint32_t)net->burst - age;
    const uint32_t *ids;
    const uint32_t *gains;
    const uint32_t *row = vly_cpu_history_set(net, age, &ids, &gains);
    uint64_t n = row[a + 1] - row[a];
    uint64_t end = n * (part + UINT64_C(1)) / n_parts;
    for (uint64_t i = n * part / n_parts; i < end; i++) {
        uint32_t made = vly_common_sources_spike(
            &s->t, sources, ids[row[a] + i] - first, burst);
        if (gain)
            gain[i] = made;
    }
}

void vly_cpu_short_term_begin(vly_backend_net *net,
                              const vly_cpu_thread *thread)
{
    for (uint32_t n = 0; n < net->n_short_term; n++) {
        vly_cpu_short_term *s = &net->short_term[n];
        uint32_t reach = vly_common_short_term_reach(&s->t);
        if (reach <= net->burst)
            advance(net, s, &s->tail, reach, thread->index - net->first_own,
                    net->n_own, NULL);
        uint32_t age = s->t.projection->base_delay - 1;
        if (age > 0 && age <= net->burst)
            advance(net, s, &s->head, age, thread->index - net->first_own,
                    net->n_own, s->gain[(net->burst + 1) & 1]);
    }
}

/* All gains for burst net->burst. */
static void next_one(const vly_backend_net *net, vly_cpu_short_term *s)
{
    uint32_t age = s->t.projection->base_delay;
    if (age <= net->burst)
        advance(net, s, &s->head, age, 0, 1, s->gain[net->burst & 1]);
}

void vly_cpu_short_term_next(vly_backend_net *net)
{
    uint32_t burst = (uint32_t)net->burst;
    for (uint32_t n = 0; n < net->n_short_term; n++) {
        vly_cpu_short_term *s = &net->short_term[n];
        if ((burst & (VLY_COMMON_AGE_PERIOD - 1)) == 0) {
            vly_common_sources_renew(&s->t, &s->head, burst);
            vly_common_sources_renew(&s->t, &s->tail, burst);
        }
        if (s->t.projection->base_delay == 1)
            next_one(net, s);
    }
}

/* ---- events under way --------------------------------------------------- */

/* Brings the head from the tail to this burst, and delivers what is under way
 * for later ones, or takes it away. */
static void replay(vly_backend_net *net, vly_cpu_short_term *s, bool negate)
{
    const vly_projection_desc *desc = s->t.projection;
    size_t n = s->t.n_sources;
    if (n > 0) {
        memcpy(s->head.state, s->tail.state, n * sizeof *s->head.state);
        memcpy(s->head.last, s->tail.last, n * sizeof *s->head.last);
    }
    for (uint32_t ago = desc->delay_max; ago > 0; ago--) {
        uint32_t age = desc->base_delay + ago;
        if (age > net->burst)
            continue;
        advance(net, s, &s->head, age, 0, 1, s->gain[net->burst & 1]);
        for (uint32_t j = 0; j < net->n_threads; j++)
            vly_cpu_deliver_again(net, &net->threads[j], s->projection, ago,
                                  negate);
    }
}

const uint32_t *vly_cpu_short_term_load(vly_backend_net *net,
                                        vly_cpu_short_term *s,
                                        const uint32_t *words)
{
    words = vly_common_sources_load(&s->t, &s->tail, words, net->burst);
    replay(net, s, false);
    next_one(net, s);
    return words;
}

vly_status vly_cpu_short_term_set(vly_backend_net *net, uint32_t projection,
                                  const vly_short_term_desc *short_term,
                                  vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(vly_common_check_short_term_set(net->desc, projection, short_term,
                                            error));
    vly_cpu_short_term *s = net->projections[projection].short_term;
    replay(net, s, true);
    memcpy(s->t.coefs, short_term->coefs,
           short_term->n_coefs * sizeof *s->t.coefs);
    replay(net, s, false);
    next_one(net, s);
out:
    return status;
}
