/* SPDX-License-Identifier: Apache-2.0
 * Whether a backend can run a net: models, tables, ports and the shape of the
 * description. Reads descriptions only.
 */
#include "backend_common.h"

#include <stdbool.h>
#include <string.h>

#define STRIDED(type, base, size, i)                                           \
    ((const type *)(const void *)((const char *)(base) + (size_t)(i) * (size)))

const vly_area_desc *vly_common_area_desc(const vly_net_desc *desc, uint32_t i)
{
    return STRIDED(vly_area_desc, desc->areas, desc->area_size, i);
}

const vly_projection_desc *vly_common_projection_desc(const vly_net_desc *desc,
                                                      uint32_t i)
{
    return STRIDED(vly_projection_desc, desc->projections,
                   desc->projection_size, i);
}

const vly_stimulus_desc *vly_common_stimulus_desc(const vly_net_desc *desc,
                                                  uint32_t i)
{
    return STRIDED(vly_stimulus_desc, desc->stimuli, desc->stimulus_size, i);
}

uint32_t vly_common_shift(const vly_net_desc *desc,
                          const vly_projection_desc *projection)
{
    return desc->projection_size >= VLY_PROJECTION_BYTES_1_4 ? projection->shift
                                                             : 0;
}

bool vly_common_has_shifts(const vly_net_desc *desc)
{
    for (uint32_t i = 0; i < desc->n_projections; i++)
        if (vly_common_shift(desc, vly_common_projection_desc(desc, i)) != 0)
            return true;
    return false;
}

uint32_t vly_common_shift_sets(const vly_net_desc *desc, uint32_t *step)
{
    uint32_t has[2] = {0, 0}; /* VLY_SHIFT_STEP, twice that */
    for (uint32_t i = 0; i < desc->n_projections; i++) {
        uint32_t shift =
            vly_common_shift(desc, vly_common_projection_desc(desc, i));
        if (shift != 0)
            has[shift > VLY_SHIFT_STEP] = 1;
    }
    *step = has[0] ? VLY_SHIFT_STEP : has[1] ? VLY_SHIFT_MAX : 0;
    return 1 + has[0] + has[1];
}

uint32_t vly_common_area_of(const vly_net_desc *desc, uint32_t neuron)
{
    uint32_t low = 0;
    uint32_t high = desc->n_areas;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (vly_common_area_desc(desc, middle)->first <= neuron)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static vly_status check_sizes(const vly_net_desc *desc, vly_error *error)
{
    if (desc->struct_size < VLY_NET_DESC_BYTES_1_0 ||
        (desc->n_areas > 0 && desc->area_size < VLY_AREA_BYTES_1_0) ||
        (desc->n_projections > 0 &&
         desc->projection_size < VLY_PROJECTION_BYTES_1_0) ||
        (desc->n_stimuli > 0 &&
         desc->stimulus_size < sizeof(vly_stimulus_desc)))
        return vly_support_fail(error, VLY_E_INVALID,
                                "net description: a struct is smaller than "
                                "version 1.0 of the interface has it");
    if (desc->max_delay == 0)
        return vly_support_fail(error, VLY_E_INVALID,
                                "net description: max_delay is 0, wanted at "
                                "least 1");
    if (desc->feagi_q > 16)
        return vly_support_fail(
            error, VLY_E_INVALID,
            "net description: feagi_q is %u, wanted 0 to 16", desc->feagi_q);
    return VLY_OK;
}

const vly_ranks *vly_common_ranks(const vly_net_desc *desc)
{
    return desc->struct_size >= sizeof(vly_net_desc) ? desc->ranks : NULL;
}

const vly_program *vly_common_program(const vly_net_desc *desc, uint32_t i)
{
    return desc->area_size >= VLY_AREA_BYTES_1_7
               ? vly_common_area_desc(desc, i)->program
               : NULL;
}

static vly_status check_first(const vly_area_desc *area, uint64_t first,
                              vly_error *error)
{
    if (area->first == first)
        return VLY_OK;
    return vly_support_fail(error, VLY_E_INVALID,
                            "area %s: first neuron is %u, wanted %llu",
                            area->name, area->first, (unsigned long long)first);
}

static vly_status check_area(const vly_area_desc *area, uint64_t first,
                             vly_error *error)
{
    const vly_common_model *model = vly_common_model_find(area->model);
    if (!model)
        return vly_support_fail(error, VLY_E_UNSUPPORTED,
                                "area %s: the %s backend has no model %s",
                                area->name, vly_support_plugin, area->model);
    uint64_t hash = vly_common_model_hash(model);
    if (hash != area->model_hash)
        return vly_support_fail(
            error, VLY_E_UNSUPPORTED,
            "area %s: the table of model %s has hash %016llx, "
            "the %s backend was built with %016llx",
            area->name, area->model, (unsigned long long)area->model_hash,
            vly_support_plugin, (unsigned long long)hash);
    if (area->n_ports != model->n_ports || area->n_fields != model->n_fields ||
        area->n_coefs != model->n_coefs || area->flags != model->flags)
        return vly_support_fail(
            error, VLY_E_UNSUPPORTED,
            "area %s: %u ports, %u fields, %u coefficients, flags %u; model "
            "%s of the %s backend has %u, %u, %u, %u",
            area->name, area->n_ports, area->n_fields, area->n_coefs,
            area->flags, model->id, vly_support_plugin, model->n_ports,
            model->n_fields, model->n_coefs, model->flags);
    return check_first(area, first, error);
}

static vly_status check_port(const vly_area_desc *area, uint32_t port,
                             const char *what, vly_error *error)
{
    if (port < area->n_ports ||
        (port == VLY_PORT_BY_SIGN && area->n_ports == 2))
        return VLY_OK;
    return vly_support_fail(error, VLY_E_UNSUPPORTED,
                            "%s: port %u of area %s, which has %u", what, port,
                            area->name, area->n_ports);
}

static vly_status check_projection(const vly_net_desc *desc, uint32_t index,
                                   vly_error *error)
{
    const vly_projection_desc *p = vly_common_projection_desc(desc, index);
    if (p->source_area >= desc->n_areas || p->target_area >= desc->n_areas)
        return vly_support_fail(
            error, VLY_E_INVALID, "map %s: area %u or %u, but there are %u",
            p->map, p->source_area, p->target_area, desc->n_areas);
    if (p->base_delay < 1 || p->delay_max > 255 ||
        (uint64_t)p->base_delay + p->delay_max > desc->max_delay)
        return vly_support_fail(
            error, VLY_E_INVALID,
            "map %s: delay %u + %u, wanted 1 to %u + 255 and "
            "at most max_delay",
            p->map, p->base_delay, p->delay_max, desc->max_delay);
    const vly_area_desc *target = vly_common_area_desc(desc, p->target_area);
    uint32_t gain = (target->flags & VLY_AREA_FEAGI) != 0;
    if (((p->flags & VLY_PROJECTION_GAIN) != 0) != gain)
        return vly_support_fail(error, VLY_E_INVALID,
                                "map %s: %s, but area %s is %s", p->map,
                                gain ? "without gains" : "with gains",
                                target->name, gain ? "FEAGI's" : "not FEAGI's");
    vly_status status = VLY_OK;
    VLY_TRY(check_port(target, p->port, p->map, error));
    if ((p->flags & VLY_PROJECTION_PLASTIC) != 0)
        VLY_TRY(vly_common_check_learning(desc, index, error));
    if ((p->flags & VLY_PROJECTION_SHORT_TERM) != 0)
        VLY_TRY(vly_common_check_short_term(desc, index, error));
out:
    return status;
}

static vly_status check_thresholds(const vly_stimulus_desc *stimulus,
                                   uint32_t index, vly_error *error)
{
    if (stimulus->n_thresholds > 256)
        return vly_support_fail(
            error, VLY_E_UNSUPPORTED,
            "stimulus %u: %u thresholds, wanted at most 256", index,
            stimulus->n_thresholds);
    for (uint32_t i = 1; i < stimulus->n_thresholds; i++)
        if (stimulus->thresholds[i] < stimulus->thresholds[i - 1])
            return vly_support_fail(error, VLY_E_INVALID,
                                    "stimulus %u: thresholds %u and %u do not "
                                    "ascend",
                                    index, i - 1, i);
    return VLY_OK;
}

vly_status vly_common_check_stimulus_write(const vly_net_desc *desc,
                                           uint32_t index,
                                           const vly_stimulus_desc *to,
                                           vly_error *error)
{
    if (index >= desc->n_stimuli)
        return vly_support_fail(error, VLY_E_INVALID,
                                "stimulus %u, but there are %u", index,
                                desc->n_stimuli);
    const vly_stimulus_desc *from = vly_common_stimulus_desc(desc, index);
    if (to->first != from->first || to->n_neurons != from->n_neurons ||
        to->port != from->port)
        return vly_support_fail(error, VLY_E_INVALID,
                                "stimulus %u: neurons and port cannot change",
                                index);
    return check_thresholds(to, index, error);
}

static vly_status check_stimulus(const vly_net_desc *desc,
                                 const vly_stimulus_desc *stimulus,
                                 uint32_t index, vly_error *error)
{
    uint64_t end = (uint64_t)stimulus->first + stimulus->n_neurons;
    if (end > desc->n_neurons)
        return vly_support_fail(
            error, VLY_E_INVALID,
            "stimulus %u: neurons %u to %llu, but there are "
            "%u",
            index, stimulus->first, (unsigned long long)end, desc->n_neurons);
    vly_status status = check_thresholds(stimulus, index, error);
    if (status != VLY_OK || stimulus->n_neurons == 0)
        return status;
    const vly_area_desc *area =
        vly_common_area_desc(desc, vly_common_area_of(desc, stimulus->first));
    if (end > (uint64_t)area->first + area->n_neurons)
        return vly_support_fail(
            error, VLY_E_UNSUPPORTED,
            "stimulus %u: neurons %u to %llu are in more than "
            "one area",
            index, stimulus->first, (unsigned long long)end);
    if (stimulus->port >= area->n_ports)
        return check_port(area, UINT32_MAX, "stimulus", error);
    return VLY_OK;
}

vly_status vly_common_supports(const vly_net_desc *desc, vly_error *error)
{
    if (!desc)
        return vly_support_fail(error, VLY_E_INVALID, "no net description");
    vly_status status = check_sizes(desc, error);
    uint64_t first = 0;
    for (uint32_t i = 0; i < desc->n_areas && status == VLY_OK; i++) {
        const vly_area_desc *area = vly_common_area_desc(desc, i);
        const vly_program *program = vly_common_program(desc, i);
        if (program)
            status = vly_common_check_program(area, program, error);
        else
            status = check_area(area, first, error);
        if (status == VLY_OK && program)
            status = check_first(area, first, error);
        first += area->n_neurons;
    }
    if (status == VLY_OK && first != desc->n_neurons)
        status = vly_support_fail(error, VLY_E_INVALID,
                                  "the areas have %llu neurons, the net %u",
                                  (unsigned long long)first, desc->n_neurons);
    for (uint32_t i = 0; i < desc->n_projections && status == VLY_OK; i++)
        status = check_projection(desc, i, error);
    for (uint32_t i = 0; i < desc->n_stimuli && status == VLY_OK; i++)
        status =
            check_stimulus(desc, vly_common_stimulus_desc(desc, i), i, error);
    return status;
}

float vly_common_scale(const vly_area_desc *area, uint32_t port)
{
    return port < 2 ? area->scale[port] : area->scale_more[port - 2];
}

bool vly_common_by_sign(const vly_net_desc *desc, const vly_projection_desc *p)
{
    return p->port == VLY_PORT_BY_SIGN &&
           vly_common_area_desc(desc, p->target_area)->n_ports == 2;
}

vly_common_port vly_common_port_of(const vly_net_desc *desc,
                                   const vly_projection_desc *p)
{
    if (vly_common_by_sign(desc, p))
        return (vly_common_port){.port = VLY_PORT_BY_SIGN};
    return (vly_common_port){.plane = p->port / 2 * 2 * desc->n_neurons,
                             .port = p->port & 1};
}

vly_status vly_common_supports_planes(const vly_net_desc *desc,
                                      vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(vly_common_supports(desc, error));
    /* the last target of port 2 or 3 */
    if (vly_common_most_ports(desc) > 2 && desc->n_neurons > UINT32_MAX / 3)
        return vly_support_fail(
            error, VLY_E_UNSUPPORTED,
            "net: %u neurons and a model with %u ports, the %s backend takes "
            "up to %u with more than 2 ports",
            desc->n_neurons, vly_common_most_ports(desc), vly_support_plugin,
            UINT32_MAX / 3);
out:
    return status;
}
