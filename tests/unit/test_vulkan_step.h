/* SPDX-License-Identifier: Apache-2.0
 * One update on words by the step in C of one model, for
 * test_vulkan_models.c. Not guarded: each_model.h includes it for every model.
 */
#if VLY_MODEL_CANDIDATES
#define STEP_MORE , u
#elif VLY_MODEL_PORTS == 2
#define STEP_MORE , in1
#else
#define STEP_MORE
#endif
#define PASTE2(a, b) a##b
#define PASTE(a, b) PASTE2(a, b)
#define MODEL_PART(part) PASTE(PASTE(vly_, VLY_MODEL_ID), part)

static MODEL_PART(_out)
    PASTE(step_, VLY_MODEL_ID)(uint32_t *fields, const uint32_t *coefs,
                               float in0, float in1, uint32_t u)
{
    MODEL_PART(_state) s;
    MODEL_PART(_coef) c;
    uint64_t k = 0;
    (void)in1;
    (void)u;
#define VLY_FIELD(name, type, unit, lo, hi, init, text)                        \
    s.name = LOAD_##type(fields[N * k++]);
#include VLY_MODEL_TABLE
    k = 0;
#define VLY_COEF(name, type, expression) c.name = LOAD_##type(coefs[N * k++]);
#include VLY_MODEL_TABLE
    MODEL_PART(_out) o = MODEL_PART(_step)(s, c, in0 STEP_MORE);
    k = 0;
#define VLY_FIELD(name, type, unit, lo, hi, init, text)                        \
    fields[N * k++] = STORE_##type(o.s.name);
#include VLY_MODEL_TABLE
    return o;
}

#undef PASTE2
#undef PASTE
#undef MODEL_PART
#undef STEP_MORE
