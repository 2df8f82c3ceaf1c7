/* SPDX-License-Identifier: Apache-2.0
 * Areas on the device: state, coefficients, and the tiles in which they are
 * updated.
 */
#include "cuda_net.h"

#include <string.h>

/* ---- coefficients ------------------------------------------------------ */

static void mark_uniform(vly_cuda_area *area)
{
    area->uniform = 1;
    for (uint32_t i = 0; i < VLY_CUDA_MAX_COEFS; i++)
        area->uniform &= area->coef_mask[i] == 0;
}

static vly_status area_upload(vly_backend_net *net, uint32_t a,
                              vly_error *error)
{
    vly_cuda_area *areas = NULL;
    memcpy(&areas, &net->view.areas, sizeof areas); /* const for the kernels */
    return vly_cuda_upload(net, areas + a, &net->areas[a], sizeof *areas,
                           error);
}

static vly_status write_column(vly_backend_net *net, uint32_t a, uint32_t coef,
                               const uint32_t *room, const vly_column *column,
                               vly_error *error)
{
    vly_cuda_area *area = &net->areas[a];
    uint32_t n = column->uniform ? 1 : area->n;
    uint32_t *words = NULL;
    memcpy(&words, &room, sizeof words);
    vly_status status =
        vly_cuda_upload(net, words, column->words, n * sizeof *words, error);
    if (status != VLY_OK)
        return status;
    area->coef[coef] = room;
    area->coef_mask[coef] = column->uniform ? 0 : UINT32_MAX;
    mark_uniform(area);
    return VLY_OK;
}

vly_status vly_cuda_coef_write(vly_backend_net *net, uint32_t a, uint32_t coef,
                               const vly_column *column, vly_error *error)
{
    vly_status status = vly_common_check_coef(net->desc, a, coef, error);
    if (status == VLY_OK) {
        vly_cuda_settle(net);
        status = vly_cuda_enter(net->device, error);
    }
    if (status != VLY_OK)
        return status;
    vly_cuda_area_info *info = &net->info[a];
    uint32_t n = net->areas[a].n;
    const uint32_t *room = net->areas[a].coef[coef];
    if (status == VLY_OK && !column->uniform && info->coef_room[coef] < n) {
        uint32_t *more = NULL;
        status = vly_cuda_device_alloc(net, n, sizeof(uint32_t), &more, error);
        if (status == VLY_OK)
            info->coef_room[coef] = n;
        room = more;
    }
    if (status == VLY_OK && n > 0)
        status = write_column(net, a, coef, room, column, error);
    return status == VLY_OK ? area_upload(net, a, error) : status;
}

/* All columns in one block: a net of many areas has thousands of them. */
static vly_status create_coefs(vly_backend_net *net, vly_error *error)
{
    uint64_t total = vly_common_coefs(net->desc, NULL);
    uint32_t *all = NULL;
    uint32_t *host = NULL;
    vly_status status =
        vly_cuda_device_alloc(net, total, sizeof *all, &all, error);
    if (status == VLY_OK)
        status = vly_cuda_alloc(net, total, sizeof *host, &host, error);
    if (status != VLY_OK)
        return status;
    (void)vly_common_coefs(net->desc, host);
    uint64_t at = 0;
    for (uint32_t a = 0; a < net->view.n_areas; a++) {
        const vly_area_desc *desc = vly_cuda_area_desc(net->desc, a);
        for (uint32_t i = 0; i < desc->n_coefs; i++) {
            uint32_t n = vly_common_coef_words(desc, i);
            net->areas[a].coef[i] = all + at;
            net->areas[a].coef_mask[i] =
                desc->coefs[i].uniform ? 0 : UINT32_MAX;
            net->info[a].coef_room[i] = n;
            at += n;
        }
        mark_uniform(&net->areas[a]);
    }
    status = vly_cuda_upload(net, all, host, total * sizeof *all, error);
    vly_cuda_release(net, host);
    return status;
}

/* ---- areas ------------------------------------------------------------- */

static vly_status create_areas(vly_backend_net *net, vly_error *error)
{
    uint32_t n_areas = net->view.n_areas;
    vly_status status =
        vly_cuda_alloc(net, n_areas, sizeof *net->areas, &net->areas, error);
    if (status == VLY_OK)
        status =
            vly_cuda_alloc(net, n_areas, sizeof *net->info, &net->info, error);
    if (status != VLY_OK)
        return status;
    uint64_t words = 0;
    for (uint32_t a = 0; a < n_areas; a++) {
        const vly_area_desc *desc = vly_cuda_area_desc(net->desc, a);
        vly_cuda_area *area = &net->areas[a];
        net->info[a].model = vly_common_model_find(desc->model);
        net->info[a].name = desc->name;
        net->info[a].state_at = words;
        area->first = desc->first;
        area->n = desc->n_neurons;
        area->model = net->info[a].model->index;
        area->feagi = (desc->flags & VLY_AREA_FEAGI) != 0;
        area->scale[0] = desc->scale[0];
        area->scale[1] = desc->scale[1];
        words += (uint64_t)desc->n_fields * desc->n_neurons;
        uint32_t model = a == 0 ? area->model : net->view.model;
        net->view.model =
            model == area->model ? model : (uint32_t)VLY_CUDA_N_MODELS;
    }
    net->n_state_words = words;
    status =
        vly_cuda_device_alloc(net, words, sizeof(uint32_t), &net->state, error);
    for (uint32_t a = 0; a < n_areas && status == VLY_OK; a++)
        for (uint32_t i = 0; i < net->info[a].model->n_fields; i++)
            net->areas[a].field[i] = net->state + net->info[a].state_at +
                                     (uint64_t)i * net->areas[a].n;
    return status;
}

/* ---- tiles ------------------------------------------------------------- */

static uint32_t count_tiles(const vly_backend_net *net, uint32_t size)
{
    uint32_t n = 0;
    for (uint32_t a = 0; a < net->view.n_areas; a++)
        n += (uint32_t)(((uint64_t)net->areas[a].n + size - 1) / size);
    return n;
}

/* As large as a block, smaller where blocks would have none. */
static vly_status create_tiles(vly_backend_net *net, vly_error *error)
{
    uint32_t size = VLY_CUDA_THREADS;
    while (size > 32 && count_tiles(net, size) < net->n_blocks)
        size /= 2;
    uint32_t n = count_tiles(net, size);
    vly_cuda_tile *tiles = NULL;
    vly_cuda_tile *host = NULL;
    vly_status status =
        vly_cuda_device_alloc(net, n, sizeof *tiles, &tiles, error);
    if (status == VLY_OK)
        status = vly_cuda_alloc(net, n, sizeof *host, &host, error);
    if (status != VLY_OK)
        return status;
    uint32_t at = 0;
    for (uint32_t a = 0; a < net->view.n_areas; a++)
        for (uint32_t i = 0; i < net->areas[a].n; i += size) {
            uint32_t left = net->areas[a].n - i;
            host[at++] = (vly_cuda_tile){a, i, left < size ? left : size};
            if (left <= size)
                break;
        }
    status = vly_cuda_upload(net, tiles, host, n * sizeof *tiles, error);
    vly_cuda_release(net, host);
    net->view.tiles = tiles;
    net->view.n_tiles = n;
    if (n < net->n_blocks)
        net->n_blocks = n > 0 ? n : 1;
    return status;
}

vly_status vly_cuda_dynamics_create(vly_backend_net *net, vly_error *error)
{
    vly_cuda_area *areas = NULL;
    uint32_t *degree = NULL;
    uint64_t n = net->desc->n_neurons;
    vly_status status = create_areas(net, error);
    if (status == VLY_OK)
        status = create_coefs(net, error);
    if (status == VLY_OK)
        status = create_tiles(net, error);
    if (status == VLY_OK)
        status = vly_cuda_device_alloc(net, n, sizeof *degree, &degree, error);
    if (status == VLY_OK)
        status = vly_cuda_upload(net, degree, net->desc->out_degree,
                                 n * sizeof *degree, error);
    if (status == VLY_OK)
        status = vly_cuda_device_alloc(net, net->view.n_areas, sizeof *areas,
                                       &areas, error);
    net->view.out_degree = degree;
    net->view.areas = areas;
    return status;
}
