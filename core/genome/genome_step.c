/* SPDX-License-Identifier: Apache-2.0
 * What single precision does to an area at a small dt_ms.
 *
 * A propagator exp(-dt / tau) is stored as a float. Floats below 1 lie 2^-24
 * apart, so it is wrong by up to 2^-25, and with it tau by a share of up to
 * 2^-25 tau / dt. A potential is a float too: what moves it by less than half
 * of the distance u of two floats there, is lost. Near its end V* it moves by
 * (V* - V) dt / tau a burst, so it stops up to (u / 2) tau / dt before V*. At
 * -65 mV u is 2^-17 mV: with dt = 0.1 ms and tau = 10 ms that is 0.4 uV, with
 * dt = 0.001 ms and tau = 20 ms 76 uV.
 *
 * The bound is 0.1%, of tau, and of the way from rest to threshold: less than
 * what parameters of neurons are known to, and than the other roundings that
 * are told.
 */
#include "genome/genome_step.h"

#include <string.h>

#include "base/number.h"
#include "genome/genome_value.h"

#define SHARE 0.001
#define PROPAGATOR_ERROR 0x1p-25

/* The farthest value of a parameter that is sure: of numbers and lists the
 * largest, of a distribution, whose tail may be long, the smallest. false: the
 * model has no such parameter. */
static bool value_of(const vly_area *area, const char *name, double *least,
                     double *most)
{
    for (uint32_t p = 0; p < area->model->n_params; p++) {
        if (strcmp(area->model->params[p].name, name) != 0)
            continue;
        const vly_value *value = &area->params[p];
        vly_value_bounds(value, least, most);
        if (value->kind != VLY_VALUE_NUMBER && value->kind != VLY_VALUE_ARRAY)
            *most = *least;
        return true;
    }
    return false;
}

/* ms; 0: the model has none */
static double membrane_time(const vly_area *area)
{
    double least = 0, tau = 0, c = 0, g = 0, most = 0;
    if (value_of(area, "tau_m_ms", &least, &tau))
        return tau;
    if (value_of(area, "c_m_pf", &least, &c) &&
        value_of(area, "g_l_ns", &g, &most) && g > 0)
        return c / g;
    return 0;
}

/* Half the distance of two floats at the larger of rest and threshold, and the
 * way between them. */
static bool potential_of(const vly_area *area, double *half, double *way)
{
    double least = 0, rest = 0, threshold = 0;
    if (!value_of(area, "e_l_mv", &least, &rest) ||
        (!value_of(area, "v_th_mv", &least, &threshold) &&
         !value_of(area, "v_t_mv", &least, &threshold)))
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
        "time constant is off by up to %.2g%% (volley doc step)",
        area->name, tau / dt_ms, half * tau / dt_ms,
        100 * PROPAGATOR_ERROR * tau / dt_ms);
}

vly_status vly_step_note(vly_reader *reader, const vly_toml_node *node,
                         const vly_area *area)
{
    double dt_ms = reader->genome->dt_ms;
    double slowest = 0;
    const char *name = NULL;
    vly_status status = note_potential(reader, node, area, membrane_time(area));
    for (uint32_t p = 0; p < area->model->n_params; p++) {
        const vly_param_info *param = &area->model->params[p];
        double least = 0, tau = 0;
        if (strncmp(param->name, "tau_", 4) != 0 ||
            !value_of(area, param->name, &least, &tau) || !(tau > slowest))
            continue;
        slowest = tau;
        name = param->name;
    }
    if (status != VLY_OK || !name || strcmp(name, "tau_m_ms") == 0 ||
        !(PROPAGATOR_ERROR * slowest / dt_ms > SHARE))
        return status;
    return vly_reader_note(reader, node,
                           "area %s: %s is %.4g bursts: in single precision "
                           "it is off by up to %.2g%% (volley doc step)",
                           area->name, name, slowest / dt_ms,
                           100 * PROPAGATOR_ERROR * slowest / dt_ms);
}
