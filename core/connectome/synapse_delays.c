/* SPDX-License-Identifier: Apache-2.0
 * Delays of the synapses of a pair, from its ":delay" sequence
 * (synapse_draws.h).
 */
#include <stdio.h>

#include "base/error.h"
#include "base/number.h"
#include "connectome/part_make.h"
#include "connectome/synapse_draws.h"
#include "connectome/synapse_rules.h"

bool vly_delays_vary(const vly_pair *pair)
{
    vly_law law;
    const char *reason;
    if (pair->edges ? pair->edges->delay != NULL
                    : pair->space.delay_slope_ms != 0.0)
        return true;
    return vly_law_init(&law, &pair->delay_ms, &reason) &&
           law.kind != VLY_VALUE_NUMBER;
}

static vly_status delay_constant(vly_maker *maker, vly_made_pair *made,
                                 double ms)
{
    uint64_t bursts = 0;
    char text[120];
    if (!vly_bursts_from_ms(ms, maker->genome->dt_ms, &bursts) || bursts < 1 ||
        bursts > VLY_DELAY_MAX) {
        snprintf(text, sizeof(text),
                 "%.9g ms, wanted 1 to %u bursts of %.9g ms", ms,
                 (unsigned)VLY_DELAY_MAX, maker->genome->dt_ms);
        return vly_synapses_refuse(maker, made, &made->pair->delay_ms, "delay",
                                   text);
    }
    made->base_delay = (uint32_t)bursts;
    return VLY_OK;
}

/* The table of a distribution of delays; base_delay is its smallest. */
static vly_status delay_table(vly_maker *maker, vly_made_pair *made,
                              const vly_law *law, vly_discrete *table)
{
    double dt = maker->genome->dt_ms;
    char text[160];
    vly_integers range = vly_law_integers(law, dt, VLY_ROUND_VALUES, 1.0);
    if (!(range.last <= VLY_DELAY_MAX)) {
        snprintf(text, sizeof(text), "up to %.9g bursts, wanted at most %u",
                 range.last, (unsigned)VLY_DELAY_MAX);
        return vly_synapses_refuse(maker, made, &made->pair->delay_ms, "delay",
                                   text);
    }
    if (range.last - range.first > UINT16_MAX) {
        snprintf(text, sizeof(text),
                 "spread over %.0f to %.0f bursts, wanted at most 65536 values "
                 "(give a clip)",
                 range.first, range.last);
        return vly_synapses_refuse(maker, made, &made->pair->delay_ms, "delay",
                                   text);
    }
    vly_status status = vly_discrete_init(table, law, dt, range);
    if (status == VLY_E_NOMEM)
        return vly_fail_nomem(maker->error, 65536 * 8, "a table of delays");
    if (status != VLY_OK)
        return vly_synapses_refuse(maker, made, &made->pair->delay_ms, "delay",
                                   "nothing of it is at least one burst");
    made->base_delay = (uint32_t)table->first;
    table->first = 0;
    return VLY_OK;
}

vly_status vly_delays_memory(vly_maker *maker, vly_made_pair *made,
                             uint32_t most)
{
    const uint64_t n = made->n_synapses;
    if (most > UINT8_MAX && maker->part)
        return vly_fail(maker->error, VLY_E_UNSUPPORTED,
                        "map %s has delays that differ by more than %d bursts: "
                        "every rank holds the whole network",
                        made->pair->map, UINT8_MAX);
    if (most > UINT8_MAX)
        made->far = vly_storage_alloc(maker->storage, (size_t)n,
                                      sizeof(*made->far), false);
    else
        made->delay = vly_storage_alloc(maker->storage, (size_t)n,
                                        sizeof(*made->delay), false);
    return made->far || made->delay
               ? VLY_OK
               : vly_fail_nomem(maker->error, 2 * n, "delays of a map");
}

static vly_status delay_prepare(vly_maker *maker, vly_draw_batch *batch,
                                vly_made_pair *made)
{
    vly_law law;
    const char *reason = "";
    vly_draw_work *work;
    vly_status status;
    if (vly_delays_given(made))
        return vly_given_delays(maker, made);
    if (!vly_law_init(&law, &made->pair->delay_ms, &reason))
        return vly_synapses_refuse(maker, made, &made->pair->delay_ms, "delay",
                                   reason);
    if (law.kind == VLY_VALUE_NUMBER)
        return delay_constant(maker, made, law.a);
    work = vly_batch_add(batch, made);
    VLY_TRY(delay_table(maker, made, &law, &work->table));
    if (work->table.n_thresholds == 0 || made->n_whole == 0) {
        vly_discrete_deinit(&work->table);
        batch->n--;
        goto out;
    }
    VLY_TRY(vly_delays_memory(maker, made, work->table.n_thresholds));
    work->delay = made->delay;
    work->far = made->far;
    VLY_TRY(vly_batch_stream(maker, made, "delay", &work->draws));
out:
    return status;
}

vly_status vly_delays_draw(vly_maker *maker, vly_made_pair *made, uint32_t n)
{
    vly_status status;
    vly_draw_batch batch;
    VLY_TRY(vly_batch_init(&batch, n, maker->error));
    for (uint32_t i = 0; i < n; i++)
        VLY_TRY(delay_prepare(maker, &batch, &made[i]));
    vly_batch_draw(maker, &batch);
    for (uint32_t i = 0; i < batch.n; i++) {
        vly_draw_work *work = &batch.works[i];
        work->made->delay_max =
            work->n ? (uint32_t)atomic_load(&work->most) : 0;
        if (maker->part)
            VLY_TRY(vly_part_largest(maker, work->made, &work->draws,
                                     &work->table, work->made->delay_max,
                                     &work->made->delay_max));
    }
out:
    vly_batch_deinit(&batch);
    return status;
}
