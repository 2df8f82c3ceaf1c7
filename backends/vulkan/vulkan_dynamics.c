/* SPDX-License-Identifier: Apache-2.0
 * Areas on the device: state, coefficients, and the tiles in which they are
 * updated, those of one model together.
 */
#include "vulkan_program.h"

#include <stddef.h>
#include <string.h>

/* ---- coefficients ------------------------------------------------------ */

static vly_status area_upload(vly_backend_net *net, uint32_t a,
                              vly_error *error)
{
    const vly_vulkan_area_info *info = &net->info[a];
    if (info->coefs)
        return vly_vulkan_upload(net, net->program_coefs, info->coefs_at,
                                 info->coefs, sizeof *info->coefs, error);
    return vly_vulkan_upload(net, net->areas, a * sizeof *net->area,
                             &net->area[a], sizeof *net->area, error);
}

/* The form that shaders read: the word itself if it is the same for all
 * neurons. */
static void set_coef(vly_backend_net *net, uint32_t a, uint32_t coef,
                     const vly_column *column)
{
    vly_vulkan_program_coefs *coefs = net->info[a].coefs;
    vly_vulkan_area *area = &net->area[a];
    uint32_t *word = coefs ? coefs->word : area->coef_word;
    uint32_t *vary = coefs ? &coefs->vary[coef / 32] : &area->coefs_vary;
    word[coef] = column->words[0];
    *vary &= ~(UINT32_C(1) << coef % 32);
    *vary |= (column->uniform ? 0u : 1u) << coef % 32;
}

static uint64_t *coef_address(vly_backend_net *net, uint32_t a, uint32_t coef)
{
    return net->info[a].coefs ? &net->info[a].coefs->column[coef]
                              : &net->area[a].coef[coef];
}

/* A column as long as the area, in place of one that holds a word. */
static vly_status grow_column(vly_backend_net *net, uint32_t a, uint32_t coef,
                              vly_error *error)
{
    vly_vulkan_column *column = &net->info[a].column[coef];
    vly_vulkan_buffer *more = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(vly_vulkan_buffer_create(net, VLY_VULKAN_ON_DEVICE, net->area[a].n,
                                     sizeof(uint32_t), &more, error));
    column->own = more;
    column->room = net->area[a].n;
    *coef_address(net, a, coef) = more->address;
out:
    return status;
}

static vly_vulkan_buffer *column_buffer(vly_backend_net *net, uint32_t a,
                                        uint32_t coef, uint64_t *offset)
{
    vly_vulkan_buffer *own = net->info[a].column[coef].own;
    vly_vulkan_buffer *of = own ? own : net->coefs;
    *offset = *coef_address(net, a, coef) - of->address;
    return of;
}

vly_status vly_vulkan_coef_write(vly_backend_net *net, uint32_t a,
                                 uint32_t coef, const vly_column *column,
                                 vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(vly_common_check_coef(net->desc, a, coef, error));
    VLY_TRY(vly_vulkan_enter(net->device, error));
    uint32_t n = column->uniform ? 1 : net->area[a].n;
    if (net->area[a].n == 0)
        return VLY_OK;
    if (net->info[a].column[coef].room < n)
        VLY_TRY(grow_column(net, a, coef, error));
    uint64_t offset;
    vly_vulkan_buffer *to = column_buffer(net, a, coef, &offset);
    VLY_TRY(vly_vulkan_upload(net, to, offset, column->words,
                              n * sizeof *column->words, error));
    set_coef(net, a, coef, column);
    VLY_TRY(area_upload(net, a, error));
out:
    return status;
}

/* All columns in one block: a net of many areas has thousands of them. */
static vly_status create_coefs(vly_backend_net *net, vly_error *error)
{
    const vly_net_desc *desc = net->desc;
    uint64_t total = vly_common_coefs(desc, NULL);
    uint32_t *host = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(vly_vulkan_buffer_create(net, VLY_VULKAN_ON_DEVICE, total,
                                     sizeof *host, &net->coefs, error));
    VLY_TRY(vly_common_alloc(&net->heap, total, sizeof *host, &host, error));
    (void)vly_common_coefs(desc, host);
    uint64_t at = 0;
    for (uint32_t a = 0; a < desc->n_areas; a++) {
        const vly_area_desc *area = vly_common_area_desc(desc, a);
        for (uint32_t i = 0; i < area->n_coefs; i++) {
            uint32_t n = vly_common_coef_words(area, i);
            *coef_address(net, a, i) = net->coefs->address + at * sizeof *host;
            if (n > 0)
                set_coef(net, a, i, &area->coefs[i]);
            net->info[a].column[i].room = n;
            at += n;
        }
    }
    status = vly_vulkan_upload(net, net->coefs, 0, host, total * sizeof *host,
                               error);
    vly_common_release(&net->heap, host);
    for (uint32_t a = 0; a < desc->n_areas && status == VLY_OK; a++) {
        if (!net->info[a].coefs)
            continue;
        status = area_upload(net, a, error);
        net->area[a].coef[0] =
            net->program_coefs->address + net->info[a].coefs_at;
    }
out:
    return status;
}

/* ---- areas ------------------------------------------------------------- */

/* Memory for what the areas have: columns, and tables of programs. */
static vly_status create_infos(vly_backend_net *net, vly_error *error)
{
    const vly_net_desc *desc = net->desc;
    vly_vulkan_column *columns = NULL;
    vly_vulkan_program_coefs *coefs = NULL;
    uint64_t n_columns = 0;
    uint64_t n_programs = 0;
    for (uint32_t a = 0; a < desc->n_areas; a++) {
        n_columns += vly_common_area_desc(desc, a)->n_coefs;
        n_programs += vly_common_program(desc, a) != NULL;
    }
    vly_status status = VLY_OK;
    VLY_TRY(vly_common_alloc(&net->heap, desc->n_areas, sizeof *net->info,
                             &net->info, error));
    VLY_TRY(vly_common_alloc(&net->heap, n_columns, sizeof *columns, &columns,
                             error));
    if (n_programs > 0) {
        VLY_TRY(vly_common_alloc(&net->heap, n_programs, sizeof *coefs, &coefs,
                                 error));
        VLY_TRY(vly_vulkan_buffer_create(net, VLY_VULKAN_ON_DEVICE, n_programs,
                                         sizeof *coefs, &net->program_coefs,
                                         error));
    }
    uint64_t at = 0;
    for (uint32_t a = 0; a < desc->n_areas; a++) {
        const vly_area_desc *from = vly_common_area_desc(desc, a);
        net->info[a].column = columns;
        columns += from->n_coefs;
        if (vly_common_program(desc, a)) {
            net->info[a].coefs = &coefs[at];
            net->info[a].coefs_at = at++ * sizeof *coefs;
        } else {
            net->info[a].kind = vly_common_model_find(from->model)->index;
        }
    }
out:
    return status;
}

static vly_status create_areas(vly_backend_net *net, vly_error *error)
{
    const vly_net_desc *desc = net->desc;
    vly_status status = vly_common_alloc(&net->heap, desc->n_areas,
                                         sizeof *net->area, &net->area, error);
    if (status == VLY_OK)
        status = create_infos(net, error);
    if (status == VLY_OK)
        status = vly_vulkan_programs_count(net, error);
    net->n_state_words = vly_common_state_words(desc);
    if (status == VLY_OK)
        status = vly_vulkan_buffer_create(net, VLY_VULKAN_ON_DEVICE,
                                          net->n_state_words, sizeof(uint32_t),
                                          &net->state, error);
    if (status != VLY_OK)
        return status;
    uint64_t words = 0;
    for (uint32_t a = 0; a < desc->n_areas; a++) {
        const vly_area_desc *from = vly_common_area_desc(desc, a);
        vly_vulkan_area *area = &net->area[a];
        net->info[a].state_at = words;
        area->first = from->first;
        area->n = from->n_neurons;
        area->feagi = (from->flags & VLY_AREA_FEAGI) != 0;
        area->scale[0] = from->scale[0];
        area->scale[1] = from->scale[1];
        if (net->info[a].coefs)
            memcpy(area->coef_word, from->scale_more, sizeof from->scale_more);
        net->n_driven += area->feagi ? 0 : area->n;
        /* a program computes the places of its fields from the first */
        for (uint32_t i = 0; i < from->n_fields; i++, words += area->n)
            if (i == 0 || !net->info[a].coefs)
                area->field[i] = net->state->address + words * sizeof(uint32_t);
    }
    return VLY_OK;
}

/* work groups of tiles that a multiprocessor holds, about */
#define TILE_ROOM 4u

/* ---- tiles ------------------------------------------------------------- */

/* Writes the tiles of one kind, if tiles is not NULL; returns their number. */
static uint64_t kind_tiles(const vly_backend_net *net, uint32_t kind,
                           vly_vulkan_tile *tiles)
{
    uint64_t n = 0;
    for (uint32_t a = 0; a < net->desc->n_areas; a++) {
        if (net->info[a].kind != kind)
            continue;
        uint32_t left = net->area[a].n;
        while (left > 0) {
            uint32_t size = left < net->tile_size ? left : net->tile_size;
            if (tiles)
                tiles[n] = (vly_vulkan_tile){a, net->area[a].n - left, size};
            n++;
            left -= size;
        }
    }
    return n;
}

/* If there are more tiles than the device runs at once, an invocation takes
 * several neurons, so the area is read less often. */
static uint32_t choose_tile(const vly_backend_net *net)
{
    const uint32_t size = net->shape.size;
    uint64_t room = (uint64_t)net->device->n_units * TILE_ROOM;
    uint64_t rounds = net->desc->n_neurons / (room * size) + 1;
    if (net->rounds != 0)
        return size * net->rounds;
    rounds = rounds < VLY_VULKAN_TILE_ROUNDS ? rounds : VLY_VULKAN_TILE_ROUNDS;
    return size * (rounds > 1 ? (uint32_t)rounds : 1);
}

static vly_status create_tiles(vly_backend_net *net, vly_error *error)
{
    net->tile_size = choose_tile(net);
    net->n_kinds = VLY_VULKAN_N_MODELS + net->n_programs;
    vly_vulkan_tile *host = NULL;
    vly_vulkan_buffer *tiles = NULL;
    uint64_t total = 0;
    for (uint32_t m = 0; m < net->n_kinds; m++)
        total += kind_tiles(net, m, NULL);
    if (total > UINT32_MAX)
        return vly_support_fail(
            error, VLY_E_UNSUPPORTED,
            "net: %llu tiles of neurons, the vulkan backend "
            "takes up to 2^32 - 1",
            (unsigned long long)total);
    vly_status status = VLY_OK;
    VLY_TRY(vly_common_alloc(&net->heap, total, sizeof *host, &host, error));
    VLY_TRY(vly_common_alloc(&net->heap, net->n_kinds, sizeof *net->tiles,
                             &net->tiles, error));
    VLY_TRY(vly_vulkan_buffer_create(net, VLY_VULKAN_ON_DEVICE, total,
                                     sizeof *host, &tiles, error));
    uint32_t at = 0;
    for (uint32_t m = 0; m < net->n_kinds; m++) {
        net->tiles[m].first = at;
        net->tiles[m].n = (uint32_t)kind_tiles(net, m, host + at);
        at += net->tiles[m].n;
    }
    status =
        vly_vulkan_upload(net, tiles, 0, host, total * sizeof *host, error);
    vly_common_release(&net->heap, host);
    net->view->tiles = tiles->address;
out:
    return status;
}

/* ---- all --------------------------------------------------------------- */

/* Accumulators, and marks where there are FEAGI areas. */
vly_status vly_vulkan_inputs_create(vly_backend_net *net, vly_error *error)
{
    vly_vulkan_view *view = net->view;
    vly_vulkan_buffer *made = NULL;
    bool has_feagi = net->n_driven < net->desc->n_neurons;
    uint64_t words = (uint64_t)view->n_neurons *
                     (net->is_sliced ? view->n_copies : view->ring);
    vly_status status = VLY_OK;
    VLY_TRY(vly_vulkan_buffer_create(net, VLY_VULKAN_ON_DEVICE, words * 4,
                                     view->n_ports, &made, error));
    view->inputs = made->address;
    if (has_feagi)
        VLY_TRY(vly_vulkan_buffer_create(net, VLY_VULKAN_ON_DEVICE, words,
                                         sizeof(uint32_t), &made, error));
    if (has_feagi)
        view->marks = made->address;
    if (net->shape.keeps)
        VLY_TRY(vly_vulkan_buffer_create(net, VLY_VULKAN_ON_DEVICE,
                                         view->n_neurons, sizeof(uint32_t),
                                         &made, error));
    if (net->shape.keeps)
        view->kept = made->address;
out:
    return status;
}

vly_status vly_vulkan_dynamics_create(vly_backend_net *net, vly_error *error)
{
    const vly_net_desc *desc = net->desc;
    vly_vulkan_buffer *degree = NULL;
    uint64_t n = desc->n_neurons;
    vly_status status = VLY_OK;
    VLY_TRY(create_areas(net, error));
    VLY_TRY(create_coefs(net, error));
    VLY_TRY(create_tiles(net, error));
    VLY_TRY(vly_vulkan_buffer_create(net, VLY_VULKAN_ON_DEVICE, n,
                                     sizeof(uint32_t), &degree, error));
    VLY_TRY(vly_vulkan_upload(net, degree, 0, desc->out_degree,
                              n * sizeof(uint32_t), error));
    VLY_TRY(vly_vulkan_buffer_create(net, VLY_VULKAN_ON_DEVICE, desc->n_areas,
                                     sizeof *net->area, &net->areas, error));
    VLY_TRY(vly_vulkan_buffer_create(net, VLY_VULKAN_ON_DEVICE, desc->n_areas,
                                     2 * sizeof(uint32_t), &net->area_spikes,
                                     error));
    net->view->out_degree = degree->address;
    net->view->areas = net->areas->address;
    net->view->area_spikes = net->area_spikes->address;
out:
    return status;
}
