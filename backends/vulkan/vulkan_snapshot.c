/* SPDX-License-Identifier: Apache-2.0
 * State in and out: snapshots and fields. The host makes the state digest of
 * a snapshot.
 */
#include "vulkan_net.h"

/* The fields and the spikes of n_bursts bursts whose records these are. */
static vly_status read_all(vly_backend_net *net, vly_snapshot *snapshot,
                           const vly_vulkan_record *records, vly_error *error)
{
    uint32_t n_bursts = snapshot->n_fired_bursts;
    vly_status status =
        vly_vulkan_download(net, snapshot->state, net->state, 0,
                            net->n_state_words * sizeof(uint32_t), error);
    if (status == VLY_OK)
        status = vly_vulkan_history_read(net, net->burst - n_bursts, n_bursts,
                                         snapshot->n_fired, snapshot->fired,
                                         snapshot->fired_gain, error);
    if (status != VLY_OK)
        return status;
    uint64_t at = 0;
    for (uint32_t j = 0; j < n_bursts; j++) {
        snapshot->fired_row[j] = at;
        at += records[j].count;
    }
    snapshot->fired_row[n_bursts] = at;
    return VLY_OK;
}

vly_status vly_vulkan_snapshot_read(vly_backend_net *net,
                                    vly_snapshot *snapshot, vly_error *error)
{
    uint32_t n_bursts = vly_common_fired_bursts(net->desc, net->burst);
    uint64_t n_fired = 0;
    vly_vulkan_record *records = NULL;
    vly_status status = vly_vulkan_enter(net->device, error);
    if (status == VLY_OK)
        status = vly_common_alloc(&net->heap, n_bursts, sizeof *records,
                                  &records, error);
    if (status == VLY_OK)
        status = vly_vulkan_history_records(net, net->burst - n_bursts,
                                            n_bursts, records, error);
    for (uint32_t j = 0; j < n_bursts && status == VLY_OK; j++)
        n_fired += records[j].count;
    vly_snapshot made = *snapshot; /* untouched on failure */
    if (status == VLY_OK)
        status = vly_common_snapshot_counts(net->desc, net->burst, n_fired,
                                            &made, error);
    if (status == VLY_OK && made.state != NULL)
        status = read_all(net, &made, records, error);
    vly_common_release(&net->heap, records);
    if (status == VLY_OK)
        *snapshot = made;
    return status;
}

/* ---- fields ------------------------------------------------------------ */

static vly_status check_range(const vly_backend_net *net, uint32_t area,
                              uint32_t field, uint32_t first, uint32_t count,
                              uint64_t *offset, vly_error *error)
{
    vly_status status =
        vly_common_check_field(net->desc, area, field, first, count, error);
    if (status != VLY_OK)
        return status;
    *offset = net->area[area].field[field] - net->state->address +
              first * UINT64_C(4);
    return vly_vulkan_enter(net->device, error);
}

vly_status vly_vulkan_field_read(vly_backend_net *net, uint32_t area,
                                 uint32_t field, uint32_t first, uint32_t count,
                                 uint32_t *words, vly_error *error)
{
    uint64_t offset;
    vly_status status =
        check_range(net, area, field, first, count, &offset, error);
    return status == VLY_OK
               ? vly_vulkan_download(net, words, net->state, offset,
                                     count * sizeof *words, error)
               : status;
}

vly_status vly_vulkan_field_write(vly_backend_net *net, uint32_t area,
                                  uint32_t field, uint32_t first,
                                  uint32_t count, const uint32_t *words,
                                  vly_error *error)
{
    uint64_t offset;
    vly_status status =
        check_range(net, area, field, first, count, &offset, error);
    return status == VLY_OK ? vly_vulkan_upload(net, net->state, offset, words,
                                                count * sizeof *words, error)
                            : status;
}
