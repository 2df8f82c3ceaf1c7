/* SPDX-License-Identifier: Apache-2.0
 * Effects of single precision on an area at a small dt_ms.
 *
 * A propagator exp(-dt / tau) is stored as a float. The spacing of floats below
 * 1 is 2^-24, so its error is up to 2^-25, which is a relative error of tau of
 * up to 2^-25 tau / dt. A potential is a float too: a change of less than half
 * the spacing u of floats there is lost. Near its end V* it moves by (V* - V)
 * dt / tau a burst, so it stops up to (u / 2) tau / dt before V*. At -65 mV u
 * is 2^-17 mV: with dt = 0.1 ms and tau = 10 ms that is 0.4 uV, with dt = 0.001
 * ms and tau = 20 ms 76 uV.
 *
 * The bound is 0.1%, of tau, and of the way from rest to threshold: less than
 * the accuracy of neuron parameters, and than other roundings that give notes.
 */
#include "genome/genome_step.h"

#include <string.h>

#include "base/number.h"
#include "genome/genome_value.h"

#define SHARE 0.001
#define PROPAGATOR_ERROR 0x1p-25

/* An extreme value of a parameter that surely occurs: the largest of numbers
 * and lists, the smallest of a distribution (whose tail may be long). false:
 * the model has no such parameter. */
static bool value_of(const vly_area *area, uint32_t param, double *least,
                     double *most)
{
    if (param >= area->model->n_params)
        return false;
    const vly_value *value = &area->params[param];
    vly_value_bounds(value, least, most);
    if (value->kind != VLY_VALUE_NUMBER && value->kind != VLY_VALUE_ARRAY)
        *most = *least;
    return true;
}

static bool role_of(const vly_area *area, vly_model_role role, double *least,
                    double *most)
{
    return value_of(area, vly_model_with(area->model, role), least, most);
}

/* ms; 0: the model has none */
static double membrane_time(const vly_area *area)
{
    double least = 0, tau = 0, c = 0, g = 0, most = 0;
    if (role_of(area, VLY_ROLE_MEMBRANE_TIME, &least, &tau))
        return tau;
    if (role_of(area, VLY_ROLE_CAPACITANCE, &least, &c) &&
        role_of(area, VLY_ROLE_LEAK, &g, &most) && g > 0)
        return c / g;
    return 0;
}

/* Half the spacing of floats at the larger of rest and threshold, and the
 * distance between rest and threshold. */
static bool potential_of(const vly_area *area, double *half, double *way)
{
    double least = 0, rest = 0, threshold = 0;
    if (!role_of(area, VLY_ROLE_REST, &least, &rest) ||
        !role_of(area, VLY_ROLE_THRESHOLD, &least, &threshold))
        return false;
    *way = threshold < rest ? rest - threshold : threshold - rest;
    rest = rest < 0 ? -rest : rest;
    double sizes[] = {rest, threshold < 0 ? -threshold : threshold};
    float largest = (float)(sizes[0] > sizes[1] ? sizes[0] : sizes[1]);
    float next = vly_float_from_bits(vly_float_bits(largest) + 1);
    *half = ((double)next - (double)largest) / 2;
    return true;
}

static vly_status note_potential(vly_reader *reader, const vly_toml_node *node,
                                 const vly_area *area, double tau)
{
    double dt_ms = reader->genome->dt_ms;
    double half = 0, way = 0;
    if (!(tau > 0) || !potential_of(area, &half, &way) ||
        !(half * tau / dt_ms > SHARE * way))
        return VLY_OK;
    return vly_reader_note(
        reader, node,
        "area %s: its membrane time constant is %.4g bursts: in single "
        "precision the potential stops up to %.2g mV before its end, and the "
        "time constant is off by up to %.2g%%; neurons/"
        "lif_psc_exp_compensated keeps both (volley doc step)",
        area->name, tau / dt_ms, half * tau / dt_ms,
        100 * PROPAGATOR_ERROR * tau / dt_ms);
}

vly_status vly_step_note(vly_reader *reader, const vly_toml_node *node,
                         const vly_area *area)
{
    double dt_ms = reader->genome->dt_ms;
    double slowest = 0;
    uint32_t found = UINT32_MAX;
    const vly_model_info *model = area->model;
    vly_status status = note_potential(reader, node, area, membrane_time(area));
    for (uint32_t p = 0; p < model->n_params; p++) {
        double least = 0, tau = 0;
        if (strcmp(model->params[p].unit, "ms") != 0 ||
            vly_model_is(model, VLY_ROLE_IN_BURSTS, p) ||
            !value_of(area, p, &least, &tau) || !(tau > slowest))
            continue;
        slowest = tau;
        found = p;
    }
    /* equations of a [neuron] advance by e^x - 1, which keeps its digits */
    if (status != VLY_OK || found == UINT32_MAX || model->user ||
        vly_model_is(model, VLY_ROLE_MEMBRANE_TIME, found) ||
        !(PROPAGATOR_ERROR * slowest / dt_ms > SHARE))
        return status;
    return vly_reader_note(reader, node,
                           "area %s: %s is %.4g bursts: in single precision "
                           "it is off by up to %.2g%% (volley doc step)",
                           area->name, model->params[found].name,
                           slowest / dt_ms,
                           100 * PROPAGATOR_ERROR * slowest / dt_ms);
}
