/* SPDX-License-Identifier: Apache-2.0
 * What a synaptic current adds to a membrane potential in one burst: closed
 * forms, in double without libm.
 */
#ifndef VOLLEY_BASE_PROPAGATOR_H
#define VOLLEY_BASE_PROPAGATOR_H

/* Weight of a current that decays with tau_syn on a membrane with tau_m after
 * one burst, times the capacitance: dt e^(-dt/tau_syn) expm1(b) / b with
 * b = dt (1/tau_syn - 1/tau_m); exact where the two are equal or near.
 * Source  Rotter and Diesmann 1999, doi:10.1007/s004220050570 */
double vly_propagator(double dt_ms, double tau_m_ms, double tau_syn_ms);
/* The same for a current that rises from 0 with slope 1 and decays:
 * dt^2 e^(-dt/tau_m) (1 - (1 + b) e^-b) / b^2, accurate where b is near 0. */
double vly_propagator_rise(double dt_ms, double tau_m_ms, double tau_syn_ms);

#endif
