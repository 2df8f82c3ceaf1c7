/* SPDX-License-Identifier: Apache-2.0
 * Messages about inconsistent parameters (VLY_CHECK of a model's table): the
 * parameters that the check names, with their values, and a note if the values
 * are the same float: steps compare in single precision.
 */
#include "connectome/connectome_make.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/number.h"
#include "genome/toml_tree.h"

/* Whether the text of a check names a parameter. */
static bool names_param(const char *text, const char *name)
{
    size_t n = strlen(name);
    while (*text) {
        size_t word = strcspn(text, " ,");
        if (word == n && memcmp(text, name, n) == 0)
            return true;
        text += word;
        text += strspn(text, " ,");
    }
    return false;
}

vly_status vly_unfit_fail(const vly_connectome_area *area, const double *values,
                          const vly_param_column *params, uint32_t neuron,
                          const char *text, vly_error *error)
{
    const vly_model_info *model = area->model;
    char found[400] = "";
    char where[40] = "";
    char number[VLY_NUMBER_SIZE];
    size_t used = 0;
    double first = 0;
    uint32_t n_named = 0, n_other = 0, n_same = 0;
    for (uint32_t p = 0; p < model->n_params; p++) {
        if (!names_param(text, model->params[p].name) || used >= sizeof(found))
            continue;
        used += (size_t)snprintf(found + used, sizeof(found) - used,
                                 "%s is %s, ", model->params[p].name,
                                 vly_toml_print_number(values[p], number));
        first = n_named++ ? first : values[p];
        n_other += values[p] < first || values[p] > first;
        n_same +=
            vly_float_bits((float)values[p]) == vly_float_bits((float)first);
        if (!params[p].uniform)
            snprintf(where, sizeof(where), ", neuron %" PRIu32, neuron);
    }
    return vly_fail(error, VLY_E_INVALID, "area %s%s: %s%swanted %s",
                    area->name, where, found,
                    n_other && n_same == n_named ? "equal in single precision, "
                                                 : "",
                    text);
}

vly_status vly_unfit_placed(const vly_maker *maker, const vly_area *area,
                            const char *unfit, const vly_error *why)
{
    const vly_origin *origin = &area->origin;
    for (uint32_t p = area->model->n_params; p-- > 0;)
        if (area->params[p].origin.line &&
            names_param(unfit, area->model->params[p].name))
            origin = &area->params[p].origin;
    char place[VLY_PLACE_BYTES];
    vly_place_print(maker->genome, origin, place);
    return vly_fail(maker->error, VLY_E_PARSE, "%s%s", place, why->message);
}
