/* SPDX-License-Identifier: Apache-2.0
 * One update of one neuron, and the input it draws from its stimuli. A shader
 * is built for one model (MODEL_<id> is defined), so that it uses only the
 * registers of that model and reads no model number; a net has a dispatch for
 * each model. Before the shader includes this file, it defines access to the
 * words:
 *
 *   STATE(k, name, i)  field k of neuron i of the area, a uint, also written
 *   COEF(k, name, i)   coefficient k of it: a uint to read
 *   THRESHOLD(at)      word `at` of the thresholds of all stimuli
 *   OUT_DEGREE(id)     of the neuron with that global id; feagi only
 *
 * They are used in functions of their own, so that no name here hides one of
 * theirs but id, at, i, k, loaded and stored. MODEL_PORTS is 1 or 2, with
 * MODEL_program, a user's model (program_step.glsl), up to 4; the second two
 * ports have variables of their own, so that shaders of one port or two have no
 * word for them. MODEL_CANDIDATES is defined for models whose areas update
 * candidates only.
 */
#ifndef VOLLEY_VULKAN_UPDATE_NEURON_GLSL
#define VOLLEY_VULKAN_UPDATE_NEURON_GLSL

#include "kernels/models/philox.h"
#include "neuron_types.glsl"

#if defined(MODEL_program)
#if MODEL_PORTS > 2
uint sum2; /* input of the neuron at hand */
uint sum3;
float scale2; /* of the area at hand */
float scale3;
#endif
#include "kernels/vulkan/program_step.glsl"
#else
#include "kernels/models/shader_step.glsl"

/* ---- the step ---------------------------------------------------------- */

#define VLY_LOAD_F32(word) VLY_FLOAT(word)
#define VLY_LOAD_U32(word) (word)
#define VLY_STORE_F32(x) VLY_BITS(x)
#define VLY_STORE_U32(x) (x)

MODEL_PART(_state) vly_load_state(uint i)
{
    MODEL_PART(_state) loaded;
    uint k = 0u;
#define VLY_FIELD(name, type, unit, lo, hi, init, text)                        \
    loaded.name = VLY_LOAD_##type(STATE(k, name, i));                          \
    k++;
#include "kernels/models/shader_table.glsl"
    return loaded;
}

void vly_store_state(uint i, MODEL_PART(_state) stored)
{
    uint k = 0u;
#define VLY_FIELD(name, type, unit, lo, hi, init, text)                        \
    STATE(k, name, i) = VLY_STORE_##type(stored.name);                         \
    k++;
#include "kernels/models/shader_table.glsl"
}

MODEL_PART(_coef) vly_load_coefs(uint i)
{
    MODEL_PART(_coef) loaded;
    uint k = 0u;
#define VLY_COEF(name, type, expression)                                       \
    loaded.name = VLY_LOAD_##type(COEF(k, name, i));                           \
    k++;
#include "kernels/models/shader_table.glsl"
    return loaded;
}

#if defined(MODEL_feagi)
uint vly_out_degree(uint id)
{
    return OUT_DEGREE(id);
}
#endif
#endif

/* One burst of neuron i of the area, whose global id is neuron: 1 if it fired;
 * gain is what its spike carries.
 *
 * sum0, sum1     input of the ports, stimuli included; sum1 is not read if
 *                the model has one port
 * scale0, scale1 of the area: units of a port in one of its integers
 * s, c           its state and coefficients, which have been read
 */
uint vly_step_neuron(vly_burst burst, uint i, uint neuron, uint sum0,
                     uint sum1, float scale0, float scale1,
                     MODEL_PART(_state) s, MODEL_PART(_coef) c, out uint gain)
{
    float in0 = VLY_TO_F32(VLY_TO_I32(sum0)) * scale0;
    gain = 1u << burst.feagi_q;
#if defined(MODEL_program)
    float in1 = 0.0;
#if MODEL_PORTS > 1
    in1 = VLY_TO_F32(VLY_TO_I32(sum1)) * scale1;
#endif
    program_burst = burst;
#if MODEL_PORTS > 2
    return vly_program_step(i, neuron, in0, in1,
                            VLY_TO_F32(VLY_TO_I32(sum2)) * scale2,
                            VLY_TO_F32(VLY_TO_I32(sum3)) * scale3);
#else
    return vly_program_step(i, neuron, in0, in1);
#endif
#else
#if defined(MODEL_feagi)
    uint u = 0u;
    if (c.excitability != 0xffffffffu && s.refractory_countdown == 0u)
        u = vly_philox_burst(burst.key_low, burst.key_high, uint(burst.t),
                             uint(burst.t >> 32), neuron, VLY_FEAGI_STREAM);
    vly_feagi_out o = vly_feagi_step(s, c, in0, u);
    if (o.fired != 0u)
        gain = vly_feagi_gain(o.psp, c.uniform_psp, burst.feagi_q,
                              vly_out_degree(neuron));
#elif MODEL_PORTS == 2
    float in1 = VLY_TO_F32(VLY_TO_I32(sum1)) * scale1;
    MODEL_PART(_out) o = MODEL_PART(_step)(s, c, in0, in1);
#else
    MODEL_PART(_out) o = MODEL_PART(_step)(s, c, in0);
#endif
    vly_store_state(i, o.s);
    return o.fired;
#endif
}

/* The same, and reads them. */
uint vly_update_neuron(vly_burst burst, uint i, uint neuron, uint sum0,
                       uint sum1, float scale0, float scale1, out uint gain)
{
    MODEL_PART(_state) s = vly_load_state(i);
    MODEL_PART(_coef) c = vly_load_coefs(i);
    return vly_step_neuron(burst, i, neuron, sum0, sum1, scale0, scale1, s, c,
                           gain);
}

/* ---- stimuli ----------------------------------------------------------- */

uint vly_threshold(uint at)
{
    return THRESHOLD(at);
}

#define VLY_COUNT_ONE(i)                                                       \
    bool is_one##i = low + uint(i) < high;                                     \
    uint word##i = vly_threshold(at + (is_one##i ? low + uint(i) : 0u));
#define VLY_ADD_ONE(i) +(is_one##i && word##i <= u ? 1u : 0u)

/* The number of the n thresholds from `at` on that are not above u. The last
 * four are read at the same time: a search has to wait for each read before the
 * next. */
uint vly_count_thresholds(uint at, uint n, uint u)
{
    uint low = 0u;
    uint high = n;
    while (high - low > 4u) {
        uint middle = (low + high) >> 1;
        if (vly_threshold(at + middle) <= u)
            low = middle + 1u;
        else
            high = middle;
    }
    VLY_COUNT_ONE(0)
    VLY_COUNT_ONE(1)
    VLY_COUNT_ONE(2)
    VLY_COUNT_ONE(3)
    return low VLY_ADD_ONE(0) VLY_ADD_ONE(1) VLY_ADD_ONE(2) VLY_ADD_ONE(3);
}

bool vly_stimulus_acts(vly_burst burst, vly_stimulus s, uint neuron)
{
    return burst.t >= s.start && burst.t < s.stop && neuron - s.first < s.n;
}

uint vly_stimulus_draw(vly_burst burst, vly_stimulus s, uint neuron)
{
    return vly_philox_burst(burst.key_low, burst.key_high, uint(burst.t),
                            uint(burst.t >> 32), neuron, s.stream);
}

/* k events of a stimulus; 1 if there are any. */
uint vly_stimulus_add(vly_stimulus s, uint k, inout uint sum0, inout uint sum1)
{
    if ((k | s.always) == 0u)
        return 0u;
    uint value = uint(s.base) + k * uint(s.step);
    if (s.port == 0u)
        sum0 += value;
#if MODEL_PORTS > 2
    else if (s.port == 2u)
        sum2 += value;
    else if (s.port == 3u)
        sum3 += value;
#endif
    else
        sum1 += value;
    return 1u;
}

/* Adds the input of one stimulus in a burst to that of its port; 1 if it is an
 * event, which makes its target a candidate. */
uint vly_draw_stimulus(vly_burst burst, vly_stimulus s, uint neuron,
                       inout uint sum0, inout uint sum1)
{
    if (!vly_stimulus_acts(burst, s, neuron))
        return 0u;
    uint k = 0u;
    if (s.n_thresholds != 0u)
        k = vly_count_thresholds(s.thresholds, s.n_thresholds,
                                 vly_stimulus_draw(burst, s, neuron));
    return vly_stimulus_add(s, k, sum0, sum1);
}

#endif
