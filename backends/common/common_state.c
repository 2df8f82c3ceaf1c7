/* SPDX-License-Identifier: Apache-2.0
 * Snapshots, fields and coefficients as the host passes them: checked here,
 * copied by the backend.
 */
#include "backend_common.h"

uint64_t vly_common_state_words(const vly_net_desc *desc)
{
    uint64_t n = 0;
    for (uint32_t a = 0; a < desc->n_areas; a++) {
        const vly_area_desc *area = vly_common_area_desc(desc, a);
        n += (uint64_t)area->n_fields * area->n_neurons;
    }
    return n;
}

uint32_t vly_common_fired_bursts(const vly_net_desc *desc, uint64_t burst)
{
    return burst < desc->max_delay ? (uint32_t)burst : desc->max_delay;
}

static vly_status check_fired(const vly_net_desc *desc,
                              const vly_snapshot *snapshot, vly_error *error)
{
    uint32_t n = snapshot->n_fired_bursts;
    const uint64_t *row = snapshot->fired_row;
    uint64_t from = 0;
    for (uint32_t j = 0; j < n; j++) {
        if (row[j] != from || row[j + 1] < from ||
            row[j + 1] > snapshot->n_fired)
            return vly_support_fail(
                error, VLY_E_INVALID,
                "snapshot: rows of fired set %u are damaged", j);
        for (uint64_t i = from; i < row[j + 1]; i++)
            if (snapshot->fired[i] >= desc->n_neurons ||
                (i > from && snapshot->fired[i] <= snapshot->fired[i - 1]))
                return vly_support_fail(
                    error, VLY_E_INVALID,
                    "snapshot: fired set %u has neuron %u out of order or "
                    "above %u",
                    j, snapshot->fired[i], desc->n_neurons);
        from = row[j + 1];
    }
    if (from != snapshot->n_fired)
        return vly_support_fail(
            error, VLY_E_INVALID, "snapshot: %llu spikes, its rows have %llu",
            (unsigned long long)snapshot->n_fired, (unsigned long long)from);
    return VLY_OK;
}

vly_status vly_common_snapshot_check(const vly_net_desc *desc,
                                     const vly_snapshot *snapshot,
                                     vly_error *error)
{
    if (!snapshot || snapshot->struct_size < sizeof *snapshot)
        return vly_support_fail(error, VLY_E_INVALID,
                                "snapshot: missing, or struct_size too small");
    uint64_t words = vly_common_state_words(desc);
    if (snapshot->n_state_words != words)
        return vly_support_fail(
            error, VLY_E_INVALID,
            "snapshot: %llu words of state, the net has %llu",
            (unsigned long long)snapshot->n_state_words,
            (unsigned long long)words);
    uint32_t bursts = vly_common_fired_bursts(desc, snapshot->burst);
    if (snapshot->n_fired_bursts != bursts)
        return vly_support_fail(error, VLY_E_INVALID,
                                "snapshot: fired sets of %u bursts, wanted %u",
                                snapshot->n_fired_bursts, bursts);
    vly_status status = VLY_OK;
    VLY_TRY(vly_common_check_weights(desc, snapshot, error));
    VLY_TRY(check_fired(desc, snapshot, error));
out:
    return status;
}

vly_status vly_common_snapshot_counts(const vly_net_desc *desc, uint64_t burst,
                                      uint64_t n_fired, vly_snapshot *snapshot,
                                      vly_error *error)
{
    uint32_t n_bursts = vly_common_fired_bursts(desc, burst);
    uint64_t n_words = vly_common_state_words(desc);
    uint64_t n_bytes = vly_common_weight_words(desc) * sizeof(uint32_t);
    if (snapshot->struct_size < sizeof *snapshot)
        return vly_support_fail(
            error, VLY_E_INVALID, "snapshot: struct_size is %u, wanted %u",
            snapshot->struct_size, (uint32_t)sizeof *snapshot);
    if (snapshot->state &&
        (snapshot->n_fired_bursts != n_bursts ||
         snapshot->n_state_words != n_words || snapshot->n_fired != n_fired ||
         snapshot->n_weight_bytes != n_bytes))
        return vly_support_fail(error, VLY_E_INVALID,
                                "snapshot: memory for other counts than this "
                                "net has now; ask again with state NULL");
    snapshot->n_fired_bursts = n_bursts;
    snapshot->burst = burst;
    snapshot->n_state_words = n_words;
    snapshot->n_fired = n_fired;
    snapshot->n_weight_bytes = n_bytes;
    return VLY_OK;
}

static vly_status check_area(const vly_net_desc *desc, uint32_t area,
                             vly_error *error)
{
    if (area >= desc->n_areas)
        return vly_support_fail(error, VLY_E_INVALID,
                                "area %u, but there are %u", area,
                                desc->n_areas);
    return VLY_OK;
}

vly_status vly_common_check_field(const vly_net_desc *desc, uint32_t area,
                                  uint32_t field, uint32_t first,
                                  uint32_t count, vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(check_area(desc, area, error));
    const vly_area_desc *a = vly_common_area_desc(desc, area);
    if (field >= a->n_fields)
        return vly_support_fail(error, VLY_E_INVALID,
                                "area %s: field %u, but model %s has %u",
                                a->name, field, a->model, a->n_fields);
    if ((uint64_t)first + count > a->n_neurons)
        return vly_support_fail(
            error, VLY_E_INVALID, "area %s: neurons %u to %llu, but it has %u",
            a->name, first, (unsigned long long)first + count, a->n_neurons);
out:
    return status;
}

vly_status vly_common_check_coef(const vly_net_desc *desc, uint32_t area,
                                 uint32_t coef, vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(check_area(desc, area, error));
    const vly_area_desc *a = vly_common_area_desc(desc, area);
    if (coef >= a->n_coefs)
        return vly_support_fail(error, VLY_E_INVALID,
                                "area %s: coefficient %u, but model %s has %u",
                                a->name, coef, a->model, a->n_coefs);
out:
    return status;
}

vly_status vly_common_check_info(const vly_net_info *info, vly_error *error)
{
    if (info->struct_size < sizeof *info)
        return vly_support_fail(error, VLY_E_INVALID,
                                "net info: struct_size is %u, wanted %u",
                                info->struct_size, (uint32_t)sizeof *info);
    return VLY_OK;
}
