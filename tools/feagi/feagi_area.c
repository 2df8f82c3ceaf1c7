/* SPDX-License-Identifier: Apache-2.0
 * Sizes and parameters of FEAGI's areas as those of a genome.
 *
 * Two properties have changed their unit. neuron_excitability is a share in
 * feagi-core and a percentage in the older engine: percent if any area of a
 * genome of format 2 has more than 1, else a share. leak_coefficient is a share
 * of the potential in feagi-core and potential a burst in the older engine:
 * potential if more than 1. The model knows shares; a leak that is not less
 * than the threshold empties every neuron that did not fire, which is a share
 * of 1, and a smaller one is not taken over.
 */
#include <volley/host.h>

#include <string.h>

#include "base/error.h"
#include "base/number.h"
#include "tools/cli/tool.h"
#include "tools/feagi/feagi_genome.h"
#include "tools/feagi/feagi_memory.h"

#define REPORT(of, ...)                                                        \
    feagi_report_add(&genome->report, (of), area->name, error, __VA_ARGS__)

static double *param_of(feagi_genome *genome, feagi_area *area, uint32_t slot)
{
    for (uint32_t i = 0; i < genome->model->n_params; i++)
        if (strcmp(genome->model->params[i].name,
                   feagi_properties[slot].text) == 0)
            return &area->params[i];
    return NULL; /* cannot happen with a table that test_feagi has checked */
}

/* The value if it is given, otherwise init. */
static vly_status number_of(feagi_genome *genome, feagi_area *area,
                            uint32_t slot, double lo, double hi, double *number,
                            vly_error *error)
{
    const feagi_property *property = &feagi_properties[slot];
    const feagi_value *value = area->values[slot];
    char where[FEAGI_PATH_SIZE];
    *number = property->init;
    if (!value)
        return VLY_OK;
    if (value->kind == FEAGI_BOOL) {
        *number = value->number;
        return VLY_OK;
    }
    return feagi_number(genome, feagi_where(genome, area, slot, where), value,
                        property->form == FEAGI_IS_WHOLE, lo, hi, number,
                        error);
}

/* ---- size --------------------------------------------------------------- */

static vly_status read_size(feagi_genome *genome, feagi_area *area,
                            double *total, vly_error *error)
{
    double number = 0;
    double neurons = 1;
    char where[FEAGI_PATH_SIZE];
    vly_status status;
    for (uint32_t i = 0; i < 3; i++) {
        VLY_TRY(number_of(genome, area, FEAGI_BOUNDS_X + i, 1, VLY_NEURONS_MAX,
                          &number, error));
        area->voxels[i] = (uint32_t)number;
        neurons *= number;
        if (!area->values[FEAGI_BOUNDS_X + i])
            VLY_TRY(REPORT(FEAGI_ASSUMED, "no size along %c: 1, as feagi-core",
                           "xyz"[i]));
        VLY_TRY(number_of(genome, area, FEAGI_PLACE_X + i, -1e9, 1e9,
                          &area->at[i], error));
    }
    VLY_TRY(number_of(genome, area, FEAGI_PER_VOXEL, 0, VLY_NEURONS_MAX,
                      &number, error));
    if (area->memory && number > 0)
        number = feagi_memory_room(genome, neurons);
    area->per_voxel = (uint32_t)number;
    *total += neurons * number;
    if (*total > VLY_NEURONS_MAX) {
        feagi_where(genome, area, FEAGI_BOUNDS_X, where);
        VLY_TRY(vly_fail(error, VLY_E_PARSE,
                         "%.300s: %s: %u x %u x %u voxels of %u neurons make "
                         "%.0f neurons so far, wanted at most %u",
                         genome->path, where, area->voxels[0], area->voxels[1],
                         area->voxels[2], area->per_voxel, *total,
                         VLY_NEURONS_MAX));
    }
    area->left_out = area->per_voxel == 0;
    if (area->left_out)
        VLY_TRY(REPORT(FEAGI_LEFT_OUT, "an area without neurons "
                                       "(per_voxel_neuron_cnt is 0), which a "
                                       "genome cannot have"));
    if (area->memory)
        VLY_TRY(REPORT(FEAGI_ASSUMED,
                       "%u neurons a voxel: room for so many patterns, as "
                       "feagi-core has 50,000 for all memory areas",
                       area->per_voxel));
    else if (area->per_voxel > 1)
        VLY_TRY(REPORT(FEAGI_ASSUMED,
                       "several neurons a voxel: all of a voxel connect to all "
                       "of the target voxel, as in the older engine"));
out:
    return status;
}

/* ---- parameters --------------------------------------------------------- */

static double highest_threshold(feagi_genome *genome, feagi_area *area)
{
    double threshold = *param_of(genome, area, FEAGI_THRESHOLD);
    for (uint32_t i = 0; i < 3; i++) {
        double step = *param_of(genome, area, FEAGI_INCREMENT_X + i);
        threshold += step > 0 ? step * (area->voxels[i] - 1) : 0;
    }
    return threshold;
}

static vly_status convert_leak(feagi_genome *genome, feagi_area *area,
                               vly_error *error)
{
    double leak = 0;
    const feagi_units *units = &genome->units;
    double *share = param_of(genome, area, FEAGI_LEAK);
    vly_status status =
        number_of(genome, area, FEAGI_LEAK, 0, 1e9, &leak, error);
    *share = leak;
    if (status != VLY_OK || !(leak > 0))
        return status;
    if (leak <= 1 && !units->potential)
        return REPORT(FEAGI_ASSUMED,
                      "leak_coefficient %s is the share of the potential that "
                      "is lost, as in feagi-core (%s)",
                      tool_number_text(leak), units->leak_why);
    bool all = leak >= highest_threshold(genome, area);
    *share = all ? 1 : 0;
    if (all)
        return REPORT(FEAGI_ASSUMED,
                      "leak_coefficient %s is potential a burst, as in the "
                      "older engine (%s), and not less than the threshold: all "
                      "of it is lost, leak_coefficient = 1",
                      tool_number_text(leak), units->leak_why);
    return REPORT(FEAGI_LEFT_OUT,
                  "leak_coefficient %s is potential a burst, as in the older "
                  "engine (%s), and less than the threshold; the model knows a "
                  "share only: 0 here",
                  tool_number_text(leak), units->leak_why);
}

static vly_status convert_excitability(feagi_genome *genome, feagi_area *area,
                                       vly_error *error)
{
    double value = 1;
    const feagi_units *units = &genome->units;
    double *share = param_of(genome, area, FEAGI_EXCITABILITY);
    vly_status status = VLY_OK;
    VLY_TRY(number_of(genome, area, FEAGI_EXCITABILITY, 0, 1e9, &value, error));
    if (!area->values[FEAGI_EXCITABILITY]) {
        *share = 1; /* in both units */
        return REPORT(FEAGI_ASSUMED,
                      "no neuron_excitability: 1, which always fires, as "
                      "feagi-core");
    }
    *share = units->percent ? value / 100 : value;
    *share = *share < 1 ? *share : 1;
    if (!units->percent && value > 1)
        return REPORT(FEAGI_ASSUMED,
                      "neuron_excitability %s is a share, as in feagi-core, "
                      "and not percent (%s): 1 and more always fires",
                      tool_number_text(value), units->excitability_why);
    return *share < 0.999
               ? REPORT(FEAGI_ASSUMED,
                        "neuron_excitability %s is taken as %s (%s): "
                        "excitability = %s",
                        tool_number_text(value),
                        units->percent ? "percent"
                                       : "a share, as in feagi-core",
                        units->excitability_why, tool_number_text(*share))
               : VLY_OK;
out:
    return status;
}

static vly_status convert_current(feagi_genome *genome, feagi_area *area,
                                  vly_error *error)
{
    double value = 0;
    double *current = param_of(genome, area, FEAGI_CURRENT);
    vly_status status = VLY_OK;
    VLY_TRY(number_of(genome, area, FEAGI_CURRENT, -1e9, 1e9, &value, error));
    *current = value < 0 ? 0 : value < 255 ? vly_floor(value) : 255;
    if (!area->values[FEAGI_CURRENT])
        return REPORT(FEAGI_ASSUMED,
                      "no postsynaptic_current: %s, as feagi-core",
                      tool_number_text(value));
    if (*current < value || *current > value)
        return REPORT(FEAGI_ASSUMED,
                      "postsynaptic_current %s is %s, a whole number of 0 to "
                      "255 as in feagi-core",
                      tool_number_text(value), tool_number_text(*current));
out:
    return status;
}

/* Reports properties that the genome language cannot express, unless they have
 * no effect. */
static vly_status check_neutral(feagi_genome *genome, feagi_area *area,
                                uint32_t slot, vly_error *error)
{
    const feagi_property *property = &feagi_properties[slot];
    const feagi_value *value = area->values[slot];
    char found[FEAGI_FOUND_SIZE];
    bool neutral = !value;
    if (value && (value->kind == FEAGI_NUMBER || value->kind == FEAGI_BOOL))
        neutral =
            !(value->number < property->init || value->number > property->init);
    else if (value && value->kind == FEAGI_TEXT)
        neutral = !*value->text || strcmp(value->text, "sequential") == 0;
    return neutral ? VLY_OK
                   : REPORT(FEAGI_LEFT_OUT, "%s %s: %s", property->name,
                            feagi_json_found(value, found), property->text);
}

/* The engines measure it from different points. */
static vly_status check_limit(feagi_genome *genome, feagi_area *area,
                              vly_error *error)
{
    double limit = *param_of(genome, area, FEAGI_LIMIT);
    return limit > 0
               ? REPORT(FEAGI_ASSUMED,
                        "firing_threshold_limit %s is a potential, as in "
                        "feagi-core; the older engine adds the threshold to it",
                        tool_number_text(limit))
               : VLY_OK;
}

static vly_status convert(feagi_genome *genome, feagi_area *area,
                          vly_error *error)
{
    vly_status status = VLY_OK;
    const vly_model_info *model = genome->model;
    for (uint32_t i = 0; i < model->n_params; i++)
        area->params[i] = model->params[i].init;
    for (uint32_t slot = 0; slot < feagi_property_count(); slot++) {
        if (feagi_properties[slot].role == FEAGI_NEUTRAL)
            VLY_TRY(check_neutral(genome, area, slot, error));
        if (feagi_properties[slot].role != FEAGI_PARAM)
            continue;
        double *param = param_of(genome, area, slot);
        const vly_param_info *info = &model->params[param - area->params];
        VLY_TRY(
            number_of(genome, area, slot, info->lo, info->hi, param, error));
        /* 0 of the other properties means none */
        if (!area->values[slot] && (slot == FEAGI_THRESHOLD ||
                                    *param < info->init || *param > info->init))
            VLY_TRY(REPORT(FEAGI_ASSUMED, "no %s: %s, as feagi-core",
                           info->name, tool_number_text(*param)));
    }
    VLY_TRY(check_limit(genome, area, error));
    VLY_TRY(convert_excitability(genome, area, error));
    VLY_TRY(convert_leak(genome, area, error));
    VLY_TRY(convert_current(genome, area, error));
out:
    return status;
}

vly_status feagi_areas_convert(feagi_genome *genome, vly_error *error)
{
    double total = 0;
    vly_status status = VLY_OK;
    feagi_units_choose(genome);
    for (uint32_t i = 0; i < genome->n_areas; i++) {
        feagi_area *area = &genome->areas[i];
        const feagi_value *group = area->values[FEAGI_GROUP];
        area->output =
            (group && strcmp(group->text, "OPU") == 0) ||
            (!group && area->has_canonical && area->canonical[0] == 'o');
        VLY_TRY(read_size(genome, area, &total, error));
        if (!area->left_out)
            VLY_TRY(convert(genome, area, error));
    }
    if (genome->units.percent)
        VLY_TRY(feagi_report_add(
            &genome->report, FEAGI_ASSUMED, "neuron_excitability", error,
            "percent (%s): 100 always fires", genome->units.excitability_why));
out:
    return status;
}
