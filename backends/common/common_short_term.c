/* SPDX-License-Identifier: Apache-2.0
 * Short-term plasticity of a projection: see common_short_term.h.
 */
#include "common_short_term.h"

#include <string.h>

#include "common_traces.h"
#include "kernels/models/table_hash.h"
#include "kernels/rules/short_term_rules.h"

/* 24 halvings of a time constant whose trace lasts at most 2^24 bursts */
#define BURSTS_MAX (UINT32_C(1) << 26)

/* ---- rules -------------------------------------------------------------- */

enum {
#define VLY_EACH_SHORT_TERM(id) RULE_##id,
#include "kernels/rules/short_term.def"
    N_RULES
};

#define VLY_PLASTICITY_READ "backends/common/common_short_entry.h"
#include "kernels/rules/each_short_term.h"

static const vly_common_short_rule rules[N_RULES] = {
#define SHORT_ENTRY 1
#define VLY_PLASTICITY_READ "backends/common/common_short_entry.h"
#include "kernels/rules/each_short_term.h"
#undef SHORT_ENTRY
};

const vly_common_short_rule *vly_common_short_rule_find(const char *id)
{
    for (uint32_t i = 0; i < N_RULES; i++)
        if (strcmp(rules[i].id, id) == 0)
            return &rules[i];
    return NULL;
}

const vly_short_term_desc *vly_common_short_term_of(const vly_net_desc *desc,
                                                    uint32_t projection)
{
    const vly_projection_desc *p = vly_common_projection_desc(desc, projection);
    if (desc->projection_size < VLY_PROJECTION_BYTES_1_6 ||
        (p->flags & VLY_PROJECTION_SHORT_TERM) == 0)
        return NULL;
    return p->short_term;
}

vly_status vly_common_check_short_term(const vly_net_desc *desc,
                                       uint32_t projection, vly_error *error)
{
    const vly_projection_desc *p = vly_common_projection_desc(desc, projection);
    const vly_short_term_desc *t = vly_common_short_term_of(desc, projection);
    if (!t || t->struct_size < sizeof *t || t->flags != 0)
        return vly_support_fail(error, VLY_E_INVALID,
                                "map %s: short-term plasticity without a rule",
                                p->map);
    if ((p->flags & (VLY_PROJECTION_GAIN | VLY_PROJECTION_PLASTIC)) != 0)
        return vly_support_fail(error, VLY_E_INVALID,
                                "map %s: short-term plasticity cannot be "
                                "combined with learning or gains",
                                p->map);
    if (t->bursts == 0 || t->bursts > BURSTS_MAX)
        return vly_support_fail(error, VLY_E_INVALID,
                                "map %s: short-term plasticity of %u bursts, "
                                "wanted 1 to %u",
                                p->map, t->bursts, BURSTS_MAX);
    const vly_common_short_rule *rule = vly_common_short_rule_find(t->rule);
    if (!rule)
        return vly_support_fail(error, VLY_E_UNSUPPORTED,
                                "map %s: the %s backend has no rule %s of "
                                "short-term plasticity",
                                p->map, vly_support_plugin, t->rule);
    uint64_t hash = vly_model_text_hash(rule->text);
    if (hash != t->rule_hash || rule->n_coefs != t->n_coefs)
        return vly_support_fail(
            error, VLY_E_UNSUPPORTED,
            "map %s: the table of rule %s has hash %016llx and %u "
            "coefficients, the %s backend was built with %016llx and %u",
            p->map, rule->id, (unsigned long long)t->rule_hash, t->n_coefs,
            vly_support_plugin, (unsigned long long)hash, rule->n_coefs);
    return VLY_OK;
}

vly_status vly_common_check_short_term_set(const vly_net_desc *desc,
                                           uint32_t projection,
                                           const vly_short_term_desc *to,
                                           vly_error *error)
{
    const vly_short_term_desc *was =
        projection < desc->n_projections
            ? vly_common_short_term_of(desc, projection)
            : NULL;
    if (!was)
        return vly_support_fail(error, VLY_E_INVALID,
                                "projection %u has no short-term plasticity",
                                projection);
    if (to->n_coefs != was->n_coefs)
        return vly_support_fail(
            error, VLY_E_INVALID, "map %s: %u coefficients, wanted %u",
            vly_common_projection_desc(desc, projection)->map, to->n_coefs,
            was->n_coefs);
    return VLY_OK;
}

/* ---- create ------------------------------------------------------------- */

vly_status vly_common_short_term_create(vly_common_heap *heap,
                                        const vly_net_desc *desc,
                                        uint32_t projection,
                                        vly_common_short_term *t,
                                        vly_error *error)
{
    vly_status status = VLY_OK;
    const vly_projection_desc *p = vly_common_projection_desc(desc, projection);
    *t = (vly_common_short_term){
        .desc = vly_common_short_term_of(desc, projection),
        .projection = p,
        .n_sources = vly_common_area_desc(desc, p->source_area)->n_neurons};
    t->rule = vly_common_short_rule_find(t->desc->rule);
    VLY_TRY(vly_common_alloc(heap, t->desc->n_coefs, sizeof(uint32_t),
                             &t->coefs, error));
    memcpy(t->coefs, t->desc->coefs, t->desc->n_coefs * sizeof *t->coefs);
out:
    return status;
}

vly_status vly_common_sources_create(vly_common_heap *heap,
                                     const vly_common_short_term *t,
                                     vly_common_sources *sources,
                                     vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(vly_common_alloc(heap, t->n_sources, sizeof *sources->state,
                             &sources->state, error));
    VLY_TRY(vly_common_alloc(heap, t->n_sources, sizeof *sources->last,
                             &sources->last, error));
out:
    return status;
}

uint32_t vly_common_short_term_reach(const vly_common_short_term *t)
{
    return t->projection->base_delay + t->projection->delay_max;
}

/* ---- spikes ------------------------------------------------------------- */

uint32_t vly_common_sources_spike(const vly_common_short_term *t,
                                  vly_common_sources *sources, uint32_t k,
                                  uint32_t burst)
{
    uint32_t h = burst - sources->last[k];
    vly_short_term state =
        vly_short_term_known(sources->state[k], h, t->desc->bursts);
    state = t->rule->spike(state, t->coefs, h);
    sources->state[k] = state;
    sources->last[k] = burst;
    return state.gain;
}

void vly_common_sources_renew(const vly_common_short_term *t,
                              vly_common_sources *sources, uint32_t burst)
{
    for (uint32_t k = 0; k < t->n_sources; k++)
        if (burst - sources->last[k] > VLY_COMMON_AGE_PERIOD)
            sources->last[k] = burst - VLY_COMMON_AGE_NEVER;
}

/* ---- snapshots ---------------------------------------------------------- */

/* The first burst whose spikes are still under way. */
static uint32_t under_way(const vly_common_short_term *t, uint64_t burst)
{
    uint32_t reach = vly_common_short_term_reach(t);
    return burst > reach ? (uint32_t)(burst - reach) : 0;
}

const uint32_t *vly_common_sources_load(const vly_common_short_term *t,
                                        vly_common_sources *sources,
                                        const uint32_t *words, uint64_t burst)
{
    uint32_t from = under_way(t, burst);
    size_t n = t->n_sources;
    for (uint32_t k = 0; k < n; k++) {
        uint32_t age = words[3 * n + k];
        sources->state[k] =
            (vly_short_term){vly_float(words[k]), vly_float(words[n + k]),
                             vly_float(words[2 * n + k]), 0};
        sources->last[k] =
            from - (age == UINT32_MAX ? VLY_COMMON_AGE_NEVER : age);
    }
    return words + 4 * n;
}

uint32_t *vly_common_sources_save(const vly_common_short_term *t,
                                  const vly_common_sources *sources,
                                  uint64_t burst, uint32_t *words)
{
    uint32_t from = under_way(t, burst);
    size_t n = t->n_sources;
    for (uint32_t k = 0; k < n; k++) {
        uint32_t age = from - sources->last[k];
        vly_short_term state =
            vly_short_term_known(sources->state[k], age, t->desc->bursts);
        words[k] = vly_bits(state.x);
        words[n + k] = vly_bits(state.u);
        words[2 * n + k] = vly_bits(state.y);
        words[3 * n + k] = state.y < 0.0f ? UINT32_MAX : age;
    }
    return words + 4 * n;
}

void vly_common_sources_pack(const vly_common_short_term *t,
                             const vly_common_sources *sources, uint32_t *words)
{
    for (uint32_t k = 0; k < t->n_sources; k++) {
        *words++ = vly_bits(sources->state[k].x);
        *words++ = vly_bits(sources->state[k].u);
        *words++ = vly_bits(sources->state[k].y);
        *words++ = sources->last[k];
    }
}

void vly_common_sources_unpack(const vly_common_short_term *t,
                               vly_common_sources *sources,
                               const uint32_t *words)
{
    for (uint32_t k = 0; k < t->n_sources; k++, words += 4) {
        sources->state[k] = (vly_short_term){
            vly_float(words[0]), vly_float(words[1]), vly_float(words[2]), 0};
        sources->last[k] = words[3];
    }
}

vly_status vly_common_check_sources(const vly_net_desc *desc,
                                    uint32_t projection, const uint32_t *words,
                                    vly_error *error)
{
    const vly_projection_desc *p = vly_common_projection_desc(desc, projection);
    const vly_short_term_desc *t = vly_common_short_term_of(desc, projection);
    size_t n = vly_common_area_desc(desc, p->source_area)->n_neurons;
    for (size_t k = 0; k < n; k++) {
        float x = vly_float(words[k]);
        float u = vly_float(words[n + k]);
        float y = vly_float(words[2 * n + k]);
        uint32_t age = words[3 * n + k];
        bool good = x >= 0.0f && x <= 1.0f && u >= -1.0f && u <= 1.0f &&
                    y >= -1.0f && y <= 1.0f;
        if (!good || (y < 0.0f) != (age == UINT32_MAX) ||
            (age != UINT32_MAX && (age >= t->bursts || u < 0.0f)))
            return vly_support_fail(error, VLY_E_INVALID,
                                    "snapshot: map %s: x, u, y of source %u "
                                    "are %g, %g, %g, %u bursts old",
                                    p->map, (uint32_t)k, (double)x, (double)u,
                                    (double)y, age);
    }
    return VLY_OK;
}
