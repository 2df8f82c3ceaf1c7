/* SPDX-License-Identifier: Apache-2.0
 * Plan sliced with a whole burst in one dispatch. A work group updates the
 * neurons of its slice, so tiles are cut at slices, and each slice belongs to
 * one work group.
 */
#include "vulkan_net.h"

const char *vly_vulkan_why_not_fused(const vly_backend_net *net)
{
    uint32_t n_models = 0;
    for (uint32_t m = 0; m < net->n_kinds; m++)
        n_models += net->tiles[m].n > 0;
    if (n_models != 1)
        return "its areas have more than one model";
    return NULL;
}

/* Writes the tiles of the neurons [first, end); returns their number. */
static uint32_t cut_slice(const vly_net_desc *desc, uint32_t first,
                          uint32_t end, vly_vulkan_tile *tiles)
{
    uint32_t n = 0;
    for (uint32_t a = vly_common_area_of(desc, first); first < end; a++) {
        const vly_area_desc *area = vly_common_area_desc(desc, a);
        uint32_t last = area->first + area->n_neurons;
        last = last < end ? last : end;
        if (first >= last)
            continue;
        tiles[n++] = (vly_vulkan_tile){a, first - area->first, last - first};
        first = last;
    }
    return n;
}

static vly_status upload_tiles(vly_backend_net *net,
                               const vly_vulkan_tile *tiles,
                               const uint32_t *rows, vly_error *error)
{
    const uint32_t n = net->view->n_slices;
    vly_vulkan_buffer *made[2] = {NULL, NULL};
    vly_status status = VLY_OK;
    VLY_TRY(vly_vulkan_buffer_create(net, VLY_VULKAN_ON_DEVICE, rows[n],
                                     sizeof *tiles, &made[0], error));
    VLY_TRY(vly_vulkan_buffer_create(net, VLY_VULKAN_ON_DEVICE, n + UINT64_C(1),
                                     sizeof *rows, &made[1], error));
    VLY_TRY(vly_vulkan_upload(net, made[0], 0, tiles, rows[n] * sizeof *tiles,
                              error));
    VLY_TRY(vly_vulkan_upload(net, made[1], 0, rows,
                              (n + UINT64_C(1)) * sizeof *rows, error));
    net->view->tiles = made[0]->address;
    net->view->slice_tiles = made[1]->address;
out:
    return status;
}

vly_status vly_vulkan_fused_create(vly_backend_net *net, vly_error *error)
{
    const vly_vulkan_view *view = net->view;
    vly_common_heap heap = {.bytes = 0};
    vly_vulkan_tile *tiles = NULL;
    uint32_t *rows = NULL;
    /* the end of an area adds one cut */
    vly_status status = VLY_OK;
    VLY_TRY(vly_common_alloc(&heap,
                             view->n_slices + (uint64_t)net->desc->n_areas,
                             sizeof *tiles, &tiles, error));
    VLY_TRY(vly_common_alloc(&heap, view->n_slices + UINT64_C(1), sizeof *rows,
                             &rows, error));
    for (uint32_t s = 0; s < view->n_slices; s++) {
        uint64_t end = (s + UINT64_C(1)) * view->slice_size;
        end = end < view->n_neurons ? end : view->n_neurons;
        rows[s + 1] = rows[s] + cut_slice(net->desc, s * view->slice_size,
                                          (uint32_t)end, tiles + rows[s]);
    }
    VLY_TRY(upload_tiles(net, tiles, rows, error));
out:
    vly_common_release_all(&heap);
    return status;
}
