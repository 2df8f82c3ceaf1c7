/* SPDX-License-Identifier: Apache-2.0
 * Checks of calls that read and change weights.
 */
#include "backends/common/common_weights.h"

static uint64_t synapses_of(const vly_net_desc *desc, uint32_t projection)
{
    const vly_projection_desc *p = vly_common_projection_desc(desc, projection);
    return p->row[vly_common_area_desc(desc, p->source_area)->n_neurons];
}

uint64_t vly_common_trace_words(const vly_net_desc *desc, uint32_t projection)
{
    if (vly_common_short_term_of(desc, projection))
        return vly_common_learning_words(desc, projection);
    const vly_learning_desc *learning = vly_common_learning(desc, projection);
    if (!learning)
        return 0;
    const uint64_t n = synapses_of(desc, projection);
    return vly_common_learning_words(desc, projection) -
           (vly_common_modulated(learning) ? 2 * n : n);
}

uint64_t vly_common_trace_words_most(const vly_net_desc *desc)
{
    uint64_t most = 0;
    for (uint32_t p = 0; p < desc->n_projections; p++) {
        const uint64_t n = vly_common_trace_words(desc, p);
        most = n > most ? n : most;
    }
    return most;
}

static vly_status check_learns(const vly_net_desc *desc, uint32_t projection,
                               vly_error *error)
{
    if (projection < desc->n_projections &&
        vly_common_learning(desc, projection))
        return VLY_OK;
    return vly_support_fail(error, VLY_E_INVALID,
                            "projection %u does not learn", projection);
}

vly_status vly_common_check_range(const vly_net_desc *desc, uint32_t projection,
                                  uint64_t first, uint64_t count,
                                  vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(check_learns(desc, projection, error));
    const uint64_t n = synapses_of(desc, projection);
    if (first > n || count > n - first)
        status = vly_support_fail(
            error, VLY_E_INVALID,
            "map %s: %llu weights from %llu, but there are %llu",
            vly_common_projection_desc(desc, projection)->map,
            (unsigned long long)count, (unsigned long long)first,
            (unsigned long long)n);
out:
    return status;
}

vly_status vly_common_check_masters(const vly_net_desc *desc,
                                    uint32_t projection, uint64_t first,
                                    uint64_t count, const int32_t *masters,
                                    vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(vly_common_check_range(desc, projection, first, count, error));
    const uint32_t most = vly_common_learning(desc, projection)->most;
    for (uint64_t i = 0; i < count; i++)
        if (masters[i] < 0 || (uint32_t)masters[i] > most)
            return vly_support_fail(
                error, VLY_E_INVALID,
                "map %s: weight %d of synapse %llu, wanted 0 to %u",
                vly_common_projection_desc(desc, projection)->map, masters[i],
                (unsigned long long)(first + i), most);
out:
    return status;
}

vly_status vly_common_check_learning_set(const vly_net_desc *desc,
                                         uint32_t projection,
                                         const vly_learning_desc *learning,
                                         vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(check_learns(desc, projection, error));
    const vly_learning_desc *was = vly_common_learning(desc, projection);
    const char *map = vly_common_projection_desc(desc, projection)->map;
    if (learning->n_coefs != was->n_coefs)
        return vly_support_fail(error, VLY_E_INVALID,
                                "map %s: %u coefficients, wanted %u", map,
                                learning->n_coefs, was->n_coefs);
    if (!vly_common_rule_users(was->rule))
        return VLY_OK;
    /* the hash is that of the operations */
    if (learning->rule_hash != was->rule_hash)
        return vly_support_fail(error, VLY_E_INVALID,
                                "map %s: rule %s with other operations, wanted "
                                "other coefficients only",
                                map, learning->rule);
    status = vly_common_check_rule_words(map, learning, error);
out:
    return status;
}
