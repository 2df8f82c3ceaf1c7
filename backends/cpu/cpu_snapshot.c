/* SPDX-License-Identifier: Apache-2.0
 * State in and out: snapshots, fields, the state digest.
 */
#include "cpu_learning.h"
#include "cpu_net.h"
#include "cpu_ranks.h"

#include <string.h>

#include "kernels/models/digest.h"

/* ---- in ---------------------------------------------------------------- */

static vly_status load_fired(vly_backend_net *net, const vly_snapshot *snapshot,
                             vly_error *error)
{
    vly_status status = VLY_OK;
    for (uint32_t j = 0; j < snapshot->n_fired_bursts; j++) {
        uint64_t from = snapshot->fired_row[j];
        uint32_t n = (uint32_t)(snapshot->fired_row[j + 1] - from);
        uint32_t *ids;
        uint32_t *gains;
        uint32_t *row;
        VLY_TRY(vly_cpu_history_push(net, n, &ids, &gains, &row, error));
        if (n > 0) {
            memcpy(ids, snapshot->fired + from, n * sizeof *ids);
            memcpy(gains, snapshot->fired_gain + from, n * sizeof *gains);
        }
        uint32_t i = 0;
        for (uint32_t a = 0; a < net->n_areas; a++) {
            uint32_t end = net->areas[a].first + net->areas[a].n;
            while (i < n && ids[i] < end)
                i++;
            row[a + 1] = i;
        }
        row[0] = 0;
    }
out:
    return status;
}

static void copy_state(const vly_backend_net *net, uint32_t *words, bool out)
{
    for (uint32_t a = 0; a < net->n_areas; a++) {
        const vly_cpu_area *area = &net->areas[a];
        size_t bytes = area->n * sizeof(uint32_t);
        for (uint32_t f = 0; f < area->model->n_fields; f++) {
            if (bytes > 0 && out)
                memcpy(words, area->field[f], bytes);
            else if (bytes > 0)
                memcpy(area->field[f], words, bytes);
            words += area->n;
        }
    }
}

vly_status vly_cpu_snapshot_load(vly_backend_net *net,
                                 const vly_snapshot *snapshot, vly_error *error)
{
    if (snapshot->n_state_words > 0)
        copy_state(net, snapshot->state, false);
    vly_status status = VLY_OK;
    VLY_TRY(load_fired(net, snapshot, error));
    vly_cpu_learning_load(net, snapshot);
    for (uint32_t j = 0; j < net->n_threads; j++)
        vly_cpu_deliver_restore(net, &net->threads[j]);
out:
    return status;
}

/* ---- out --------------------------------------------------------------- */

static void read_fired(const vly_backend_net *net, vly_snapshot *snapshot)
{
    uint64_t at = 0;
    for (uint32_t j = 0; j < snapshot->n_fired_bursts; j++) {
        const uint32_t *ids;
        const uint32_t *gains;
        uint32_t age = snapshot->n_fired_bursts - j;
        uint32_t n = vly_cpu_history_set(net, age, &ids, &gains)[net->n_areas];
        snapshot->fired_row[j] = at;
        if (n > 0) {
            memcpy(snapshot->fired + at, ids, n * sizeof *ids);
            memcpy(snapshot->fired_gain + at, gains, n * sizeof *gains);
        }
        at += n;
    }
    snapshot->fired_row[snapshot->n_fired_bursts] = at;
}

vly_status vly_cpu_snapshot_read(vly_backend_net *net, vly_snapshot *snapshot,
                                 vly_error *error)
{
    uint32_t n_bursts = vly_common_fired_bursts(net->desc, net->burst);
    uint64_t n_fired = 0;
    for (uint32_t age = 1; age <= n_bursts; age++) {
        const uint32_t *ids;
        const uint32_t *gains;
        n_fired += vly_cpu_history_set(net, age, &ids, &gains)[net->n_areas];
    }
    vly_status status = vly_common_snapshot_counts(net->desc, net->burst,
                                                   n_fired, snapshot, error);
    if (status != VLY_OK || !snapshot->state)
        return status;
    VLY_TRY(vly_cpu_ranks_refresh(net, error));
    if (net->n_learning > 0 || net->n_short_term > 0)
        vly_cpu_learning_save(net, snapshot->weights);
    copy_state(net, snapshot->state, true);
    read_fired(net, snapshot);
out:
    return status;
}

vly_status vly_cpu_field_read(vly_backend_net *net, uint32_t area,
                              uint32_t field, uint32_t first, uint32_t count,
                              uint32_t *words, vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(
        vly_common_check_field(net->desc, area, field, first, count, error));
    VLY_TRY(vly_cpu_ranks_refresh(net, error));
    if (count > 0)
        memcpy(words, net->areas[area].field[field] + first,
               count * sizeof *words);
out:
    return status;
}

vly_status vly_cpu_field_write(vly_backend_net *net, uint32_t area,
                               uint32_t field, uint32_t first, uint32_t count,
                               const uint32_t *words, vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(
        vly_common_check_field(net->desc, area, field, first, count, error));
    if (count > 0)
        memcpy(net->areas[area].field[field] + first, words,
               count * sizeof *words);
out:
    return status;
}

vly_status vly_cpu_state_digest(vly_backend_net *net, uint64_t *digest,
                                vly_error *error)
{
    uint64_t sum = 0;
    vly_status status = VLY_OK;
    VLY_TRY(vly_cpu_ranks_refresh(net, error));
    for (uint32_t a = 0; a < net->n_areas; a++) {
        const vly_cpu_area *area = &net->areas[a];
        for (uint32_t f = 0; f < area->model->n_fields; f++) {
            uint64_t mixed = vly_digest_mix(f);
            for (uint32_t i = 0; i < area->n; i++)
                sum +=
                    vly_digest_pair(mixed, area->first + i, area->field[f][i]);
        }
    }
    if (net->n_learning > 0 || net->n_short_term > 0)
        VLY_TRY(vly_cpu_learning_digest(net, &sum, error));
    *digest = sum;
out:
    return status;
}
