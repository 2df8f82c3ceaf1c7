/* SPDX-License-Identifier: Apache-2.0
 * The plasticity rules a backend is built with, read from their tables, and the
 * description of a projection that learns.
 */
#include "backend_common.h"
#include "common_window.h"

#include <string.h>

#include "kernels/models/table_hash.h"
#include "kernels/rules/eligibility.h"
#include "kernels/rules/rule_program.h"

enum {
#define VLY_EACH_PLASTICITY(id) RULE_##id,
#include "kernels/rules/plasticity.def"
    N_RULES
};

static const vly_common_rule rules[N_RULES] = {
#define VLY_PLASTICITY_READ "backends/common/common_rule_entry.h"
#include "kernels/rules/each_plasticity.h"
};

bool vly_common_rule_users(const char *id)
{
    return strncmp(id, VLY_RULE_PROGRAM, strlen(VLY_RULE_PROGRAM)) == 0;
}

const vly_common_rule *vly_common_rule_find(const char *id)
{
    /* its traces and coefficients are those of the description */
    static const vly_common_rule users = {
        .id = "synapse", .text = "", .index = N_RULES};
    if (vly_common_rule_users(id))
        return &users;
    for (uint32_t i = 0; i < N_RULES; i++)
        if (strcmp(rules[i].id, id) == 0)
            return &rules[i];
    return NULL;
}

const vly_learning_desc *vly_common_learning(const vly_net_desc *desc,
                                             uint32_t projection)
{
    const vly_projection_desc *p = vly_common_projection_desc(desc, projection);
    if (desc->projection_size < VLY_PROJECTION_BYTES_1_5 ||
        (p->flags & VLY_PROJECTION_PLASTIC) == 0)
        return NULL;
    return p->learning;
}

bool vly_common_modulated(const vly_learning_desc *learning)
{
    return learning->struct_size >= sizeof *learning &&
           learning->modulator.bursts != 0;
}

uint64_t vly_common_learning_words(const vly_net_desc *desc,
                                   uint32_t projection)
{
    const vly_learning_desc *learning = vly_common_learning(desc, projection);
    const vly_projection_desc *p = vly_common_projection_desc(desc, projection);
    uint64_t n_sources = vly_common_area_desc(desc, p->source_area)->n_neurons;
    if (vly_common_short_term_of(desc, projection))
        return 4 * n_sources;
    if (!learning)
        return 0;
    uint64_t n_targets = vly_common_area_desc(desc, p->target_area)->n_neurons;
    bool modulated = vly_common_modulated(learning);
    uint64_t words = (modulated ? 2 : 1) * p->row[n_sources];
    words += modulated ? 2 : 0;
    for (uint32_t i = 0; i < 2; i++) {
        words += learning->source[i].bursts != 0 ? 2 * n_sources : 0;
        words += learning->target[i].bursts != 0 ? 2 * n_targets : 0;
    }
    return words;
}

uint64_t vly_common_weight_words(const vly_net_desc *desc)
{
    uint64_t words = 0;
    for (uint32_t i = 0; i < desc->n_projections; i++)
        words += vly_common_learning_words(desc, i);
    return words;
}

/* ---- projections without any of it -------------------------------------- */

bool vly_common_apart(const vly_net_desc *desc, uint32_t projection)
{
    return vly_common_learning(desc, projection) ||
           vly_common_short_term_of(desc, projection);
}

static vly_net_desc copy_fixed(const vly_net_desc *desc, unsigned char *kept)
{
    vly_net_desc made = *desc;
    made.projections = (const vly_projection_desc *)(const void *)kept;
    made.n_projections = 0;
    made.n_synapses = 0;
    for (uint32_t p = 0; p < desc->n_projections; p++) {
        const vly_projection_desc *map = vly_common_projection_desc(desc, p);
        if (vly_common_apart(desc, p))
            continue;
        memcpy(kept + (size_t)made.n_projections * desc->projection_size, map,
               desc->projection_size);
        made.n_projections++;
        made.n_synapses +=
            map->row[vly_common_area_desc(desc, map->source_area)->n_neurons];
    }
    return made;
}

vly_status vly_common_fixed(vly_common_heap *heap, const vly_net_desc *desc,
                            const vly_net_desc **fixed, vly_error *error)
{
    vly_net_desc *made = NULL;
    unsigned char *kept = NULL;
    vly_status status = VLY_OK;
    uint32_t n = 0;
    for (uint32_t p = 0; p < desc->n_projections; p++)
        n += vly_common_apart(desc, p);
    *fixed = desc;
    if (n == 0)
        return VLY_OK;
    VLY_TRY(vly_common_alloc(heap, 1, sizeof *made, &made, error));
    VLY_TRY(vly_common_alloc(heap, desc->n_projections, desc->projection_size,
                             &kept, error));
    *made = copy_fixed(desc, kept);
    *fixed = made;
out:
    return status;
}

/* ---- checks -------------------------------------------------------------- */

static vly_status check_trace(const char *map, const vly_learning_trace *trace,
                              uint32_t wanted, vly_error *error)
{
    bool good =
        wanted == 0
            ? trace->bursts == 0
            : trace->bursts >= 1 && trace->bursts <= VLY_COMMON_TRACE_BURSTS &&
                  trace->rate >= 0.0f && trace->rate - trace->rate == 0.0f &&
                  (double)trace->rate * (trace->bursts - 1.0) <= 10.5;
    if (good)
        return VLY_OK;
    return vly_support_fail(
        error, VLY_E_INVALID,
        "map %s: a trace of %u bursts with rate %g, wanted "
        "%s",
        map, trace->bursts, (double)trace->rate,
        wanted == 0 ? "none"
                    : "1 to 2^24 bursts, rate * (bursts - 1) at most "
                      "10.5");
}

static vly_status check_modulator(const char *map, const vly_common_rule *rule,
                                  const vly_learning_desc *learning,
                                  vly_error *error)
{
    static const vly_learning_trace none = {0.0f, 0};
    bool given = learning->struct_size >= sizeof *learning;
    vly_status status = VLY_OK;
    VLY_TRY(check_trace(map, given ? &learning->modulator : &none,
                        rule->modulated, error));
    if (rule->modulated && learning->interval == 0)
        status = vly_support_fail(error, VLY_E_INVALID,
                                  "map %s: an interval of 0 bursts, wanted at "
                                  "least 1",
                                  map);
out:
    return status;
}

static vly_status check_traces(const char *map,
                               const vly_learning_desc *learning,
                               uint32_t n_source, uint32_t n_target,
                               vly_error *error)
{
    vly_status status = VLY_OK;
    for (uint32_t i = 0; i < 2; i++) {
        VLY_TRY(check_trace(map, &learning->source[i], i < n_source, error));
        VLY_TRY(check_trace(map, &learning->target[i], i < n_target, error));
    }
out:
    return status;
}

vly_status vly_common_check_rule_words(const char *map,
                                       const vly_learning_desc *learning,
                                       vly_error *error)
{
    if (vly_rule_program_good(learning->coefs, learning->n_coefs) &&
        vly_rule_program_hash(learning->coefs, learning->n_coefs) ==
            learning->rule_hash &&
        learning->coefs[0] == learning->most)
        return VLY_OK;
    return vly_support_fail(error, VLY_E_UNSUPPORTED,
                            "map %s: the %u words of rule %s are not a program "
                            "that the %s backend runs",
                            map, learning->n_coefs, learning->rule,
                            vly_support_plugin);
}

/* A rule of a user: operations, and traces as the description has them. */
static vly_status check_users(const char *map,
                              const vly_learning_desc *learning,
                              vly_error *error)
{
    static const vly_learning_trace none = {0.0f, 0};
    const vly_learning_trace *x = learning->source;
    const vly_learning_trace *y = learning->target;
    vly_status status = VLY_OK;
    if ((learning->flags & VLY_LEARNING_WINDOW) != 0)
        return vly_support_fail(error, VLY_E_INVALID,
                                "map %s: flags %u do not fit %s", map,
                                learning->flags, learning->rule);
    VLY_TRY(check_trace(
        map, vly_common_modulated(learning) ? &learning->modulator : &none, 0,
        error));
    VLY_TRY(check_traces(map, learning, x[1].bursts ? 2 : 1,
                         y[1].bursts ? 2u : y[0].bursts != 0, error));
    status = vly_common_check_rule_words(map, learning, error);
out:
    return status;
}

static vly_status check_rule(const char *map, const vly_learning_desc *learning,
                             vly_error *error)
{
    vly_status status = VLY_OK;
    if (vly_common_rule_users(learning->rule))
        return check_users(map, learning, error);
    const vly_common_rule *rule = vly_common_rule_find(learning->rule);
    if (!rule)
        return vly_support_fail(error, VLY_E_UNSUPPORTED,
                                "map %s: the %s backend has no plasticity rule "
                                "%s",
                                map, vly_support_plugin, learning->rule);
    uint64_t hash = vly_model_text_hash(rule->text);
    if (hash != learning->rule_hash || rule->n_coefs != learning->n_coefs)
        return vly_support_fail(
            error, VLY_E_UNSUPPORTED,
            "map %s: the table of rule %s has hash %016llx and %u "
            "coefficients, the %s backend was built with %016llx and %u",
            map, rule->id, (unsigned long long)learning->rule_hash,
            learning->n_coefs, vly_support_plugin, (unsigned long long)hash,
            rule->n_coefs);
    VLY_TRY(check_modulator(map, rule, learning, error));
    bool window = (learning->flags & VLY_LEARNING_WINDOW) != 0;
    if (window != (rule->window != 0) ||
        (window && learning->source[0].bursts != learning->target[0].bursts))
        return vly_support_fail(error, VLY_E_INVALID,
                                "map %s: flags %u and windows of %u and %u "
                                "bursts do not fit rule %s",
                                map, learning->flags,
                                learning->source[0].bursts,
                                learning->target[0].bursts, rule->id);
    status = check_traces(map, learning, rule->n_source, rule->n_target, error);
out:
    return status;
}

vly_status vly_common_check_learning(const vly_net_desc *desc,
                                     uint32_t projection, vly_error *error)
{
    const vly_projection_desc *p = vly_common_projection_desc(desc, projection);
    const vly_learning_desc *learning = vly_common_learning(desc, projection);
    if (!learning || learning->struct_size < VLY_LEARNING_BYTES_1_5)
        return vly_support_fail(error, VLY_E_INVALID,
                                "map %s: plastic, but without a rule", p->map);
    bool window = (learning->flags & VLY_LEARNING_WINDOW) != 0;
    if (p->delay || vly_common_by_sign(desc, p) ||
        (!window && (p->flags & VLY_PROJECTION_GAIN) != 0))
        return vly_support_fail(error, VLY_E_INVALID,
                                "map %s: plastic, but with several delays, a "
                                "port by sign or gains",
                                p->map);
    if (window && (learning->flags &
                   (VLY_LEARNING_DENDRITIC | VLY_LEARNING_NEAREST)) != 0)
        return vly_support_fail(error, VLY_E_INVALID,
                                "map %s: a rule of windows with flags %u, "
                                "wanted neither DENDRITIC nor NEAREST",
                                p->map, learning->flags);
    if (learning->most == 0 || learning->most > INT16_MAX * 65536u)
        return vly_support_fail(error, VLY_E_INVALID,
                                "map %s: largest weight %u, wanted 1 to %u",
                                p->map, learning->most, INT16_MAX * 65536u);
    if ((learning->flags & VLY_LEARNING_DENDRITIC) != 0 &&
        2 * (uint64_t)p->base_delay > desc->max_delay)
        return vly_support_fail(error, VLY_E_INVALID,
                                "map %s: max_delay is %u, wanted at least "
                                "twice the dendritic delay %u",
                                p->map, desc->max_delay, p->base_delay);
    if (vly_common_modulated(learning) &&
        learning->modulator_area >= desc->n_areas &&
        learning->modulator_area != UINT32_MAX)
        return vly_support_fail(error, VLY_E_INVALID,
                                "map %s: modulated by area %u of %u", p->map,
                                learning->modulator_area, desc->n_areas);
    return check_rule(p->map, learning, error);
}

/* ---- words of a snapshot ------------------------------------------------ */

static vly_status check_masters(const vly_net_desc *desc, uint32_t projection,
                                const uint32_t *words, vly_error *error)
{
    const vly_projection_desc *p = vly_common_projection_desc(desc, projection);
    const vly_learning_desc *learning = vly_common_learning(desc, projection);
    uint64_t n = p->row[vly_common_area_desc(desc, p->source_area)->n_neurons];
    for (uint64_t i = 0; i < n; i++)
        if (words[i] > learning->most)
            return vly_support_fail(error, VLY_E_INVALID,
                                    "snapshot: map %s: synapse %llu has weight "
                                    "%d, wanted 0 to %u",
                                    p->map, (unsigned long long)i,
                                    (int32_t)words[i], learning->most);
    for (uint64_t i = n; vly_common_modulated(learning) && i < 2 * n; i++)
        if (words[i] + VLY_ELIGIBILITY_MOST > 2u * VLY_ELIGIBILITY_MOST)
            return vly_support_fail(error, VLY_E_INVALID,
                                    "snapshot: map %s: synapse %llu has "
                                    "eligibility %d, wanted -%d to %d",
                                    p->map, (unsigned long long)(i - n),
                                    (int32_t)words[i], VLY_ELIGIBILITY_MOST,
                                    VLY_ELIGIBILITY_MOST);
    return (learning->flags & VLY_LEARNING_WINDOW) != 0
               ? vly_common_window_check(desc, projection, words + n, error)
               : VLY_OK;
}

vly_status vly_common_check_weights(const vly_net_desc *desc,
                                    const vly_snapshot *snapshot,
                                    vly_error *error)
{
    uint64_t bytes = vly_common_weight_words(desc) * sizeof(uint32_t);
    if (snapshot->n_weight_bytes != bytes || (bytes != 0 && !snapshot->weights))
        return vly_support_fail(error, VLY_E_INVALID,
                                "snapshot: %llu bytes of weights, the net has "
                                "%llu",
                                (unsigned long long)snapshot->n_weight_bytes,
                                (unsigned long long)bytes);
    const uint32_t *words = snapshot->weights;
    vly_status status = VLY_OK;
    if (bytes == 0)
        return VLY_OK;
    for (uint32_t i = 0; i < desc->n_projections && status == VLY_OK; i++) {
        uint64_t n = vly_common_learning_words(desc, i);
        if (n != 0)
            status = vly_common_short_term_of(desc, i)
                         ? vly_common_check_sources(desc, i, words, error)
                         : check_masters(desc, i, words, error);
        words += n;
    }
    return status;
}
