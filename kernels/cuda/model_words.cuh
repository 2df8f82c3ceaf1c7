/* SPDX-License-Identifier: Apache-2.0
 * Load, step and store of one model on words, made from its table. Not
 * guarded: each_model.h includes it for every model. Models with two ports are
 * left out unless VLY_CUDA_TWO_PORT_MODELS is defined.
 */
#if VLY_MODEL_PORTS == 1 || defined(VLY_CUDA_TWO_PORT_MODELS)
#define PASTE2(a, b) a##b
#define PASTE(a, b) PASTE2(a, b)
#define OF_MODEL(name) PASTE(name##_, VLY_MODEL_ID)
#define MODEL_PART(part) PASTE(PASTE(vly_, VLY_MODEL_ID), part)

static constexpr uint32_t OF_MODEL(n_fields) = 0
#define VLY_FIELD(name, type, unit, lo, hi, init, text) +1
#include VLY_MODEL_TABLE
    ;

/* A bit for each field that counts: most of them stay as they are. */
static __host__ __device__ constexpr uint32_t OF_MODEL(make_counters)()
{
    uint32_t counters = 0;
    uint32_t k = 0;
#define VLY_FIELD(name, type, unit, lo, hi, init, text)                        \
    counters |= VLY_CUDA_COUNTS_##type << k;                                   \
    k++;
#include VLY_MODEL_TABLE
    return counters;
}
static constexpr uint32_t OF_MODEL(counters) = OF_MODEL(make_counters)();

static __device__ __forceinline__ void
OF_MODEL(load_coefs)(const vly_cuda_area *area, uint32_t i, vly_cuda_words *w)
{
    int k = 0;
#define VLY_COEF(name, type, expression)                                       \
    w->c[k] = area->coef[k][i & area->coef_mask[k]];                           \
    k++;
#include VLY_MODEL_TABLE
}

static __device__ __forceinline__ void
OF_MODEL(load_state)(const vly_cuda_area *area, uint32_t i, vly_cuda_words *w)
{
    int k = 0;
#define VLY_FIELD(name, type, unit, lo, hi, init, text)                        \
    w->s[k] = area->field[k][i];                                               \
    k++;
#include VLY_MODEL_TABLE
}

static __device__ __forceinline__ void
OF_MODEL(store_state)(const vly_cuda_area *area, uint32_t i,
                      const vly_cuda_words *w)
{
    int k = 0;
#define VLY_FIELD(name, type, unit, lo, hi, init, text)                        \
    area->field[k][i] = w->s[k];                                               \
    k++;
#include VLY_MODEL_TABLE
}

#if VLY_MODEL_CANDIDATES
#define SECOND_PARAMETER , uint32_t u
#define SECOND_ARGUMENT , u
#elif VLY_MODEL_PORTS == 2
#define SECOND_PARAMETER , float in1
#define SECOND_ARGUMENT , in1
#else
#define SECOND_PARAMETER
#define SECOND_ARGUMENT
#endif

static __device__ __forceinline__ MODEL_PART(_out)
    OF_MODEL(step_words)(vly_cuda_words *w, float in SECOND_PARAMETER)
{
    MODEL_PART(_state) s;
    MODEL_PART(_coef) c;
    int k = 0;
#define VLY_FIELD(name, type, unit, lo, hi, init, text)                        \
    s.name = VLY_CUDA_LOAD_##type(w->s[k]);                                    \
    k++;
#include VLY_MODEL_TABLE
    k = 0;
#define VLY_COEF(name, type, expression)                                       \
    c.name = VLY_CUDA_LOAD_##type(w->c[k]);                                    \
    k++;
#include VLY_MODEL_TABLE
    MODEL_PART(_out) o = MODEL_PART(_step)(s, c, in SECOND_ARGUMENT);
    k = 0;
#define VLY_FIELD(name, type, unit, lo, hi, init, text)                        \
    w->s[k] = VLY_CUDA_STORE_##type(o.s.name);                                 \
    k++;
#include VLY_MODEL_TABLE
    return o;
}

#undef PASTE2
#undef PASTE
#undef OF_MODEL
#undef MODEL_PART
#undef SECOND_PARAMETER
#undef SECOND_ARGUMENT
#endif
