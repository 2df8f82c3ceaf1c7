/* SPDX-License-Identifier: Apache-2.0
 * The loop around one model's step, made from its table. Not guarded:
 * cpu_model.h includes it with VLY_CPU_STEP (name of the function) and
 * VLY_CPU_EACH (0: coefficients are uniform, 1: one each).
 */
#define MODEL_PART(part) PASTE(PASTE(vly_, VLY_MODEL_ID), part)

static void VLY_CPU_STEP(const vly_cpu_chunk *chunk)
{
    uint32_t *restrict input = chunk->input[0];
    uint8_t *restrict fired = chunk->fired;
    const float scale = chunk->scale[0];
#if VLY_MODEL_PORTS == 2
    uint32_t *restrict input1 = chunk->input[1];
    const float scale1 = chunk->scale[1];
#endif
    const uint32_t n = chunk->n;
    uint32_t index = 0;
#define VLY_FIELD(name, type, unit, lo, hi, init, text)                        \
    uint32_t *restrict field_##name = chunk->field[index++];
#include VLY_MODEL_TABLE
    index = 0;
#define VLY_COEF(name, type, expression)                                       \
    const uint32_t *restrict coef_##name = chunk->coef[index++];
#include VLY_MODEL_TABLE
    MODEL_PART(_coef) c;
#if !VLY_CPU_EACH
#define VLY_COEF(name, type, expression) c.name = LOAD_##type(coef_##name[0]);
#include VLY_MODEL_TABLE
#endif
    VECTORISE
    for (uint32_t i = 0; i < n; i++) {
        MODEL_PART(_state) s;
#define VLY_FIELD(name, type, unit, lo, hi, init, text)                        \
    s.name = LOAD_##type(field_##name[i]);
#include VLY_MODEL_TABLE
#if VLY_CPU_EACH
#define VLY_COEF(name, type, expression) c.name = LOAD_##type(coef_##name[i]);
#include VLY_MODEL_TABLE
#endif
        float in = (float)(int32_t)input[i] * scale;
        input[i] = 0;
#if VLY_MODEL_PORTS == 2
        float in1 = (float)(int32_t)input1[i] * scale1;
        input1[i] = 0;
        MODEL_PART(_out) o = MODEL_PART(_step)(s, c, in, in1);
#else
        MODEL_PART(_out) o = MODEL_PART(_step)(s, c, in);
#endif
#define VLY_FIELD(name, type, unit, lo, hi, init, text)                        \
    field_##name[i] = STORE_##type(o.s.name);
#include VLY_MODEL_TABLE
        fired[i] = (uint8_t)o.fired;
    }
}

#undef MODEL_PART
#undef VLY_CPU_STEP
#undef VLY_CPU_EACH
