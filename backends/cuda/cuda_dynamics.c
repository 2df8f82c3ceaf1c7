/* SPDX-License-Identifier: Apache-2.0
 * Areas on the device: state, coefficients, and the tiles in which they are
 * updated.
 */
#include "cuda_dynamics.h"

#include <string.h>

#include "cuda_error.h"
#include "cuda_linger.h"
#include "cuda_memory.h"
#include "cuda_net.h"
#include "cuda_program.h"

/* ---- coefficients ------------------------------------------------------ */

static bool has_program(const vly_cuda_shard *shard, uint32_t a)
{
    return vly_common_program(shard->net->desc, a) != NULL;
}

static void mark_uniform(vly_cuda_area *area)
{
    area->uniform = 1;
    for (uint32_t i = 0; i < VLY_CUDA_MAX_COEFS; i++)
        area->uniform &= area->coef_mask[i] == 0;
}

/* Where kernels read a coefficient, on the host. */
static const uint32_t *column_of(const vly_cuda_shard *shard, uint32_t a,
                                 uint32_t coef)
{
    return has_program(shard, a)
               ? shard->columns[shard->info[a].column_at + coef].words
               : shard->areas[a].coef[coef];
}

static void set_column(vly_cuda_shard *shard, uint32_t a, uint32_t coef,
                       const uint32_t *words, uint32_t uniform)
{
    const uint32_t mask = uniform ? 0 : UINT32_MAX;
    if (has_program(shard, a)) {
        shard->columns[shard->info[a].column_at + coef] =
            (vly_cuda_column){.words = words, .mask = mask};
        return;
    }
    shard->areas[a].coef[coef] = words;
    shard->areas[a].coef_mask[coef] = mask;
    mark_uniform(&shard->areas[a]);
}

/* ... and on the device. */
static vly_status upload_column(vly_cuda_shard *shard, uint32_t a,
                                uint32_t coef, vly_error *error)
{
    vly_cuda_area *areas = NULL;
    if (has_program(shard, a))
        return vly_cuda_program_column(shard, a, coef, error);
    memcpy(&areas, &shard->view.areas,
           sizeof areas); /* const for the kernels */
    return vly_cuda_upload(shard, areas + a, &shard->areas[a], sizeof *areas,
                           error);
}

static vly_status write_column(vly_cuda_shard *shard, uint32_t a, uint32_t coef,
                               const uint32_t *room, const vly_column *column,
                               vly_error *error)
{
    uint32_t n = column->uniform ? 1 : shard->areas[a].n;
    uint32_t *words = NULL;
    memcpy(&words, &room, sizeof words);
    vly_status status = VLY_OK;
    VLY_TRY(
        vly_cuda_upload(shard, words, column->words, n * sizeof *words, error));
    set_column(shard, a, coef, room, column->uniform);
out:
    return status;
}

/* Room for one value of each neuron, in place of that for a uniform column. */
static vly_status write_wide(vly_cuda_shard *shard, uint32_t a, uint32_t coef,
                             const vly_column *column, vly_error *error)
{
    uint32_t n = shard->areas[a].n;
    uint32_t *room = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(vly_cuda_device_alloc(shard, n, sizeof *room, &room, error));
    status = write_column(shard, a, coef, room, column, error);
    if (status == VLY_OK)
        shard->info[a].coef_room[coef] = n;
    else
        vly_cuda_device_release(shard, room);
out:
    return status;
}

static vly_status coef_write(vly_cuda_shard *shard, uint32_t a, uint32_t coef,
                             const vly_column *column, vly_error *error)
{
    uint32_t n = shard->areas[a].n;
    vly_cuda_settle(shard);
    vly_status status = VLY_OK;
    VLY_TRY(vly_cuda_enter(shard->device, error));
    if (!column->uniform && shard->info[a].coef_room[coef] < n)
        status = write_wide(shard, a, coef, column, error);
    else if (n > 0)
        status = write_column(shard, a, coef, column_of(shard, a, coef), column,
                              error);
    return status == VLY_OK ? upload_column(shard, a, coef, error) : status;
out:
    return status;
}

vly_status vly_cuda_coef_write(vly_backend_net *net, uint32_t area,
                               uint32_t coef, const vly_column *column,
                               vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(vly_common_check_coef(net->desc, area, coef, error));
    for (uint32_t i = 0; i < net->n_shards; i++)
        VLY_TRY(coef_write(&net->shards[i], area, coef, column, error));
out:
    return status;
}

/* Room for the numbers of all columns. */
static vly_status reserve_columns(vly_cuda_shard *shard, vly_error *error)
{
    uint32_t *room = NULL;
    uint64_t n = 0;
    uint64_t n_columns = 0;
    for (uint32_t a = 0; a < shard->view.n_areas; a++) {
        shard->info[a].column_at = n_columns;
        n += vly_cuda_area_desc(shard->net->desc, a)->n_coefs;
        if (has_program(shard, a))
            n_columns += vly_cuda_area_desc(shard->net->desc, a)->n_coefs;
    }
    vly_status status = VLY_OK;
    VLY_TRY(vly_cuda_alloc(shard, n, sizeof *room, &room, error));
    VLY_TRY(vly_cuda_alloc(shard, n_columns, sizeof *shard->columns,
                           &shard->columns, error));
    shard->n_columns = n_columns;
    for (uint32_t a = 0; a < shard->view.n_areas; a++) {
        shard->info[a].coef_room = room;
        room += vly_cuda_area_desc(shard->net->desc, a)->n_coefs;
    }
out:
    return status;
}

/* All columns in one allocation: a net of many areas has thousands of
 * columns. */
static vly_status create_coefs(vly_cuda_shard *shard, vly_error *error)
{
    uint64_t total = vly_common_coefs(shard->net->desc, NULL);
    uint32_t *all = NULL;
    uint32_t *host = NULL;
    vly_status status = reserve_columns(shard, error);
    if (status == VLY_OK)
        status = vly_cuda_device_alloc(shard, total, sizeof *all, &all, error);
    if (status == VLY_OK)
        status = vly_cuda_alloc(shard, total, sizeof *host, &host, error);
    if (status != VLY_OK)
        return status;
    (void)vly_common_coefs(shard->net->desc, host);
    uint64_t at = 0;
    for (uint32_t a = 0; a < shard->view.n_areas; a++) {
        const vly_area_desc *desc = vly_cuda_area_desc(shard->net->desc, a);
        mark_uniform(&shard->areas[a]);
        for (uint32_t i = 0; i < desc->n_coefs; i++) {
            uint32_t n = vly_common_coef_words(desc, i);
            set_column(shard, a, i, all + at, desc->coefs[i].uniform);
            shard->info[a].coef_room[i] = n;
            at += n;
        }
    }
    status = vly_cuda_upload(shard, all, host, total * sizeof *all, error);
    vly_cuda_release(shard, host);
    return status;
}

/* ---- areas ------------------------------------------------------------- */

bool vly_cuda_has_feagi(const vly_net_desc *desc)
{
    for (uint32_t a = 0; a < desc->n_areas; a++)
        if ((vly_cuda_area_desc(desc, a)->flags & VLY_AREA_FEAGI) != 0)
            return true;
    return false;
}

static void fill_area(vly_cuda_shard *shard, uint32_t a, uint64_t state_at)
{
    const vly_area_desc *desc = vly_cuda_area_desc(shard->net->desc, a);
    vly_cuda_area *area = &shard->areas[a];
    shard->info[a].state_at = state_at;
    area->first = desc->first;
    area->n = desc->n_neurons;
    area->model = has_program(shard, a)
                      ? (uint32_t)VLY_CUDA_N_MODELS /* none of them */
                      : vly_common_model_find(desc->model)->index;
    area->feagi = (desc->flags & VLY_AREA_FEAGI) != 0;
    area->scale[0] = desc->scale[0];
    area->scale[1] = desc->scale[1];
    if (has_program(shard, a))
        memcpy(area->coef_mask, desc->scale_more, sizeof desc->scale_more);
    uint32_t model = a == 0 ? area->model : shard->view.model;
    shard->view.model =
        model == area->model ? model : (uint32_t)VLY_CUDA_N_MODELS;
}

static vly_status create_areas(vly_cuda_shard *shard, vly_error *error)
{
    uint32_t n_areas = shard->view.n_areas;
    vly_status status = VLY_OK;
    VLY_TRY(vly_cuda_alloc(shard, n_areas, sizeof *shard->areas, &shard->areas,
                           error));
    VLY_TRY(vly_cuda_alloc(shard, n_areas, sizeof *shard->info, &shard->info,
                           error));
    uint64_t words = 0;
    for (uint32_t a = 0; a < n_areas; a++) {
        const vly_area_desc *desc = vly_cuda_area_desc(shard->net->desc, a);
        fill_area(shard, a, words);
        words += (uint64_t)desc->n_fields * desc->n_neurons;
    }
    shard->n_state_words = words;
    VLY_TRY(vly_cuda_device_alloc(shard, words, sizeof(uint32_t), &shard->state,
                                  error));
    for (uint32_t a = 0; a < n_areas; a++)
        for (uint32_t i = 0;
             i < vly_cuda_area_desc(shard->net->desc, a)->n_fields &&
             i < VLY_CUDA_MAX_FIELDS;
             i++)
            shard->areas[a].field[i] = vly_cuda_field(shard, a, i);
out:
    return status;
}

/* ---- tiles ------------------------------------------------------------- */

static uint32_t count_tiles(const vly_cuda_shard *shard, uint32_t size)
{
    uint32_t n = 0;
    for (uint32_t a = 0; a < shard->view.n_areas; a++) {
        uint32_t low;
        uint32_t high;
        vly_common_own_part(shard->net->desc, a, &low, &high);
        n += (uint32_t)(((uint64_t)high - low + size - 1) / size);
    }
    return n;
}

/* Tiles as large as a block, smaller if some blocks would have none. */
static vly_status create_tiles(vly_cuda_shard *shard, vly_error *error)
{
    uint32_t size = VLY_CUDA_THREADS;
    while (size > 32 && count_tiles(shard, size) < shard->n_blocks)
        size /= 2;
    uint32_t n = count_tiles(shard, size);
    vly_cuda_tile *tiles = NULL;
    vly_cuda_tile *host = NULL;
    vly_status status =
        vly_cuda_device_alloc(shard, n, sizeof *tiles, &tiles, error);
    if (status == VLY_OK)
        status = vly_cuda_alloc(shard, n, sizeof *host, &host, error);
    if (status != VLY_OK)
        return status;
    uint32_t at = 0;
    for (uint32_t a = 0; a < shard->view.n_areas; a++) {
        uint32_t i;
        uint32_t high;
        for (vly_common_own_part(shard->net->desc, a, &i, &high); i < high;
             i += size) {
            uint32_t left = high - i;
            host[at++] = (vly_cuda_tile){a, i, left < size ? left : size};
            if (left <= size)
                break;
        }
    }
    status = vly_cuda_upload(shard, tiles, host, n * sizeof *tiles, error);
    vly_cuda_release(shard, host);
    shard->view.tiles = tiles;
    shard->view.n_tiles = n;
    if (n < shard->n_blocks)
        shard->n_blocks = n > 0 ? n : 1;
    return status;
}

vly_status vly_cuda_dynamics_create(vly_cuda_shard *shard, vly_error *error)
{
    vly_cuda_area *areas = NULL;
    uint32_t *degree = NULL;
    uint64_t n = shard->net->desc->n_neurons;
    vly_status status = VLY_OK;
    VLY_TRY(create_areas(shard, error));
    VLY_TRY(create_coefs(shard, error));
    VLY_TRY(create_tiles(shard, error));
    VLY_TRY(vly_cuda_program_create(shard, error));
    VLY_TRY(vly_cuda_device_alloc(shard, n, sizeof *degree, &degree, error));
    VLY_TRY(vly_cuda_upload(shard, degree, shard->net->desc->out_degree,
                            n * sizeof *degree, error));
    VLY_TRY(vly_cuda_device_alloc(shard, shard->view.n_areas, sizeof *areas,
                                  &areas, error));
out:
    shard->view.out_degree = degree;
    shard->view.areas = areas;
    return status;
}
