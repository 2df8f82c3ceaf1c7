/* SPDX-License-Identifier: Apache-2.0
 * izhikevich: one burst of the simple model, as in the published program: two
 * half steps for v, then u, then the spike with its reset, so that the events
 * of a spike arrive one burst later at the earliest. Source: Izhikevich 2003,
 * doi:10.1109/TNN.2003.820440
 */
#ifndef VOLLEY_MODELS_IZHIKEVICH_H
#define VOLLEY_MODELS_IZHIKEVICH_H

#include "model.h"

VLY_STRUCT(vly_izhikevich_state)
{
    VLY_F32 v;
    VLY_F32 u;
};

VLY_STRUCT(vly_izhikevich_coef)
{
    VLY_F32 half_dt;
    VLY_F32 a_dt;
    VLY_F32 b;
    VLY_F32 c;
    VLY_F32 d;
    VLY_F32 v_peak;
    VLY_F32 drive;
};

VLY_STRUCT(vly_izhikevich_out)
{
    vly_izhikevich_state s;
    VLY_U32 fired;
};

/* arrived: input of this burst, mV/ms, for the length of the burst */
VLY_FN vly_izhikevich_out vly_izhikevich_step(vly_izhikevich_state s,
                                              vly_izhikevich_coef c,
                                              VLY_F32 arrived)
{
    vly_izhikevich_out o;
    VLY_F32 i = arrived + c.drive;
    VLY_F32 v = s.v;
    VLY_F32 u = s.u;
    v = v + c.half_dt * ((((0.04f * v + 5.0f) * v + 140.0f) - u) + i);
    v = vly_store(v, -1048576.0f, 1048576.0f);
    v = v + c.half_dt * ((((0.04f * v + 5.0f) * v + 140.0f) - u) + i);
    v = vly_store(v, -1048576.0f, 1048576.0f);
    u = u + c.a_dt * (c.b * v - u);
    o.fired = v >= c.v_peak ? 1u : 0u;
    o.s.v = o.fired != 0u ? vly_store(c.c, -1048576.0f, 1048576.0f) : v;
    u = o.fired != 0u ? u + c.d : u;
    o.s.u = vly_store(u, -1048576.0f, 1048576.0f);
    return o;
}

#endif
