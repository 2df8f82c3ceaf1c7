/* SPDX-License-Identifier: Apache-2.0
 * A snapshot of a net whose state and spike log are stored on a device.
 */
#include "backend_common.h"

/* State, spikes, and the index of each burst's first spike. */
static vly_status read_all(vly_backend_net *net,
                           const vly_common_reader *reader,
                           const uint32_t *counts, vly_snapshot *made,
                           vly_error *error)
{
    uint32_t n_bursts = made->n_fired_bursts;
    vly_status status = VLY_OK;
    VLY_TRY(reader->state(net, made->state, error));
    VLY_TRY(reader->spikes(net, made->burst - n_bursts, n_bursts, made->n_fired,
                           made->fired, made->fired_gain, error));
    if (made->n_weight_bytes > 0)
        VLY_TRY(reader->weights(net, made->weights, error));
    uint64_t at = 0;
    for (uint32_t j = 0; j < n_bursts; j++) {
        made->fired_row[j] = at;
        at += counts[j];
    }
    made->fired_row[n_bursts] = at;
out:
    return status;
}

vly_status vly_common_snapshot_read(vly_backend_net *net,
                                    const vly_net_desc *desc, uint64_t burst,
                                    const vly_common_reader *reader,
                                    vly_snapshot *snapshot, vly_error *error)
{
    uint32_t n_bursts = vly_common_fired_bursts(desc, burst);
    uint64_t n_fired = 0;
    vly_common_heap heap = {.bytes = 0};
    uint32_t *counts = NULL;
    vly_status status =
        vly_common_alloc(&heap, n_bursts, sizeof *counts, &counts, error);
    if (status == VLY_OK)
        status = reader->counts(net, burst - n_bursts, n_bursts, counts, error);
    for (uint32_t j = 0; j < n_bursts && status == VLY_OK; j++)
        n_fired += counts[j];
    vly_snapshot made = *snapshot; /* untouched on failure */
    if (status == VLY_OK)
        status = vly_common_snapshot_counts(desc, burst, n_fired, &made, error);
    if (status == VLY_OK && made.state)
        status = read_all(net, reader, counts, &made, error);
    vly_common_release_all(&heap);
    if (status == VLY_OK)
        *snapshot = made;
    return status;
}
