/* SPDX-License-Identifier: Apache-2.0
 * Propagators of synaptic currents: see propagator.h.
 */
#include "base/propagator.h"

#include "base/number.h"

double vly_propagator(double dt_ms, double tau_m_ms, double tau_syn_ms)
{
    double b = dt_ms * (1.0 / tau_syn_ms - 1.0 / tau_m_ms);
    /* expm1 of a negative number: neither form can overflow */
    if (b > 0)
        return dt_ms * vly_exp(-dt_ms / tau_m_ms) * (-vly_expm1(-b) / b);
    if (b < 0)
        return dt_ms * vly_exp(-dt_ms / tau_syn_ms) * (vly_expm1(b) / b);
    return dt_ms * vly_exp(-dt_ms / tau_m_ms);
}

double vly_propagator_rise(double dt_ms, double tau_m_ms, double tau_syn_ms)
{
    double b = dt_ms * (1.0 / tau_syn_ms - 1.0 / tau_m_ms);
    double scale = dt_ms * dt_ms * vly_exp(-dt_ms / tau_m_ms);
    if (b > 1.0)
        return scale * ((-vly_expm1(-b) - b * vly_exp(-b)) / (b * b));
    if (b < -1.0) /* e^-b taken out, so that it cannot overflow */
        return dt_ms * dt_ms * vly_exp(-dt_ms / tau_syn_ms) *
               ((vly_expm1(b) - b) / (b * b));
    /* the integral of x e^(-bx) from 0 to 1 as a series: 20 terms leave less
     * than 2^-64 of it */
    double term = 1.0;
    double sum = 0.0;
    for (int k = 0; k < 20; k++) {
        sum += term / (k + 2);
        term *= -b / (k + 1);
    }
    return scale * sum;
}
