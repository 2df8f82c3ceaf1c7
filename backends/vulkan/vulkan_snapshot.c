/* SPDX-License-Identifier: Apache-2.0
 * State in and out: snapshots and fields. The host makes the state digest of
 * a snapshot.
 */
#include "vulkan_learning.h"
#include "vulkan_net.h"

static vly_status read_counts(vly_backend_net *net, uint64_t burst,
                              uint32_t n_bursts, uint32_t *counts,
                              vly_error *error)
{
    vly_vulkan_record *records = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(vly_common_alloc(&net->heap, n_bursts, sizeof *records, &records,
                             error));
    VLY_TRY(vly_vulkan_history_records(net, burst, n_bursts, records, error));
    for (uint32_t j = 0; j < n_bursts; j++)
        counts[j] = records[j].count;
out:
    vly_common_release(&net->heap, records);
    return status;
}

static vly_status read_state(vly_backend_net *net, uint32_t *words,
                             vly_error *error)
{
    return vly_vulkan_download(net, words, net->state, 0,
                               net->n_state_words * sizeof *words, error);
}

vly_status vly_vulkan_snapshot_read(vly_backend_net *net,
                                    vly_snapshot *snapshot, vly_error *error)
{
    static const vly_common_reader reader = {
        .counts = read_counts,
        .state = read_state,
        .weights = vly_vulkan_learning_save,
        .spikes = vly_vulkan_history_read,
    };
    vly_status status = VLY_OK;
    VLY_TRY(vly_vulkan_enter(net->device, error));
    VLY_TRY(vly_common_snapshot_read(net, net->desc, net->burst, &reader,
                                     snapshot, error));
out:
    return status;
}

/* ---- fields ------------------------------------------------------------ */

static vly_status check_range(const vly_backend_net *net, uint32_t area,
                              uint32_t field, uint32_t first, uint32_t count,
                              uint64_t *offset, vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(
        vly_common_check_field(net->desc, area, field, first, count, error));
    *offset = (net->info[area].state_at + (uint64_t)field * net->area[area].n +
               first) *
              sizeof(uint32_t);
    status = vly_vulkan_enter(net->device, error);
out:
    return status;
}

vly_status vly_vulkan_field_read(vly_backend_net *net, uint32_t area,
                                 uint32_t field, uint32_t first, uint32_t count,
                                 uint32_t *words, vly_error *error)
{
    uint64_t offset;
    vly_status status = VLY_OK;
    VLY_TRY(check_range(net, area, field, first, count, &offset, error));
    VLY_TRY(vly_vulkan_download(net, words, net->state, offset,
                                count * sizeof *words, error));
out:
    return status;
}

vly_status vly_vulkan_field_write(vly_backend_net *net, uint32_t area,
                                  uint32_t field, uint32_t first,
                                  uint32_t count, const uint32_t *words,
                                  vly_error *error)
{
    uint64_t offset;
    vly_status status = VLY_OK;
    VLY_TRY(check_range(net, area, field, first, count, &offset, error));
    VLY_TRY(vly_vulkan_upload(net, net->state, offset, words,
                              count * sizeof *words, error));
out:
    return status;
}
