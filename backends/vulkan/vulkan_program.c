/* SPDX-License-Identifier: Apache-2.0
 * Pipelines of users' models.
 */
#include "vulkan_program.h"

#include <string.h>

#include "vulkan_splice.h"
#include "vulkan_spliced.h"

/* ---- which ones --------------------------------------------------------- */

static bool same_program(const vly_area_desc *x, const vly_area_desc *y)
{
    const vly_program *a = x->program;
    const vly_program *b = y->program;
    return x->n_ports == y->n_ports && a->n_ops == b->n_ops &&
           a->n_fields == b->n_fields && a->fired == b->fired &&
           memcmp(a->ops, b->ops, a->n_ops * sizeof *a->ops) == 0 &&
           memcmp(a->types, b->types, a->n_ops * sizeof *a->types) == 0 &&
           memcmp(a->out, b->out, a->n_fields * sizeof *a->out) == 0;
}

vly_status vly_vulkan_programs_count(vly_backend_net *net, vly_error *error)
{
    const vly_net_desc *desc = net->desc;
    uint32_t n_areas = 0;
    for (uint32_t a = 0; a < desc->n_areas; a++)
        n_areas += vly_common_program(desc, a) != NULL;
    vly_status status = VLY_OK;
    if (n_areas > 0)
        VLY_TRY(vly_common_alloc(&net->heap, n_areas, sizeof *net->programs,
                                 &net->programs, error));
    for (uint32_t a = 0; a < desc->n_areas; a++) {
        const vly_area_desc *area = vly_common_area_desc(desc, a);
        if (!vly_common_program(desc, a))
            continue;
        uint32_t k = 0;
        while (k < net->n_programs &&
               !same_program(net->programs[k].area, area))
            k++;
        if (k == net->n_programs)
            net->programs[net->n_programs++].area = area;
        net->info[a].kind = VLY_VULKAN_N_MODELS + k;
    }
out:
    return status;
}

/* ---- making ------------------------------------------------------------- */

static int write_shader(const void *program, const uint32_t *frame, size_t n,
                        uint32_t **out, size_t *n_out, char *message)
{
    return vly_vulkan_splice(frame, n, program, out, n_out, message);
}

/* All that a shader depends on but for the frame. */
static void put_program(vly_vulkan_key *key, const void *context)
{
    const vly_program *program = context;
    const uint32_t sizes[] = {program->n_ops, program->n_fields,
                              program->fired};
    vly_vulkan_key_put(key, sizes, sizeof sizes / sizeof sizes[0]);
    vly_vulkan_key_put(key, program->out, program->n_fields);
    vly_vulkan_key_put(key, program->types, program->n_ops);
    vly_vulkan_key_put(key, program->ops,
                       program->n_ops *
                           (sizeof *program->ops / sizeof(uint32_t)));
}

vly_status vly_vulkan_programs_create(vly_backend_net *net, vly_error *error)
{
    vly_status status = VLY_OK;
    const uint32_t shader =
        net->is_fused ? VLY_VULKAN_PROGRAM_FUSED : VLY_VULKAN_PROGRAM;
    for (uint32_t k = 0; k < net->n_programs; k++) {
        const vly_area_desc *area = net->programs[k].area;
        if (net->tiles[VLY_VULKAN_N_MODELS + k].n == 0)
            continue;
        const vly_vulkan_wanted wanted = {.shader = shader + area->n_ports - 1,
                                          .n_ops = area->program->n_ops,
                                          .context = area->program,
                                          .write = write_shader,
                                          .put = put_program,
                                          .place = "area",
                                          .name = area->name,
                                          .kind = "model",
                                          .id = area->model};
        VLY_TRY(vly_vulkan_spliced_get(net, &wanted, &net->programs[k].spliced,
                                       error));
    }
out:
    return status;
}

void vly_vulkan_programs_release(vly_backend_net *net)
{
    for (uint32_t k = 0; k < net->n_programs; k++)
        vly_vulkan_spliced_release(net->device, net->programs[k].spliced);
    net->n_programs = 0;
}

VkPipeline vly_vulkan_program_pipeline(const vly_backend_net *net,
                                       uint32_t kind)
{
    return vly_vulkan_spliced_pipeline(
        net->programs[kind - VLY_VULKAN_N_MODELS].spliced);
}
