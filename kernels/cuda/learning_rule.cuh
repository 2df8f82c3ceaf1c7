/* SPDX-License-Identifier: Apache-2.0
 * One plasticity rule as a type. Not guarded: each_plasticity.h includes it for
 * every rule in learning_rows.cuh.
 */
#define RULE_PASTE2(a, b) a##b
#define RULE_PASTE(a, b) RULE_PASTE2(a, b)
#define RULE_SIDE_PRE 1
#define RULE_SIDE_POST 0
#define RULE_PART(part) RULE_PASTE(RULE_PASTE(vly_, VLY_PLASTICITY_ID), part)

template <> struct plastic_rule<RULE_PASTE(VLY_CUDA_RULE_, VLY_PLASTICITY_ID)> {
    enum { /* 1: it changes eligibilities */
           eligible = 0
#define VLY_MODULATOR(tau, interval) +1
#include VLY_PLASTICITY_TABLE
    };
    enum { /* 1: a rule of windows */
           window = 0
#define VLY_WINDOW() +1
#include VLY_PLASTICITY_TABLE
    };
    enum { /* traces of the source, at most 2 */
           n_source = 0
#define VLY_TRACE(side, index, param) +RULE_SIDE_##side
#include VLY_PLASTICITY_TABLE
    };
    RULE_PART(_coef) c;
    __device__ __forceinline__ explicit plastic_rule(const uint32_t *coefs)
    {
        memcpy(&c, coefs, sizeof c);
    }
    __device__ __forceinline__ int32_t pre(int32_t m, const float *x, float y0,
                                           float y1) const
    {
        return RULE_PART(_pre)(m, c, x[0], x[1], y0, y1);
    }
    __device__ __forceinline__ int32_t post(int32_t m, float x0, float x1,
                                            float y0, float y1) const
    {
        return RULE_PART(_post)(m, c, x0, x1, y0, y1);
    }
};

#undef RULE_SIDE_PRE
#undef RULE_SIDE_POST
#undef RULE_PART
#undef RULE_PASTE
#undef RULE_PASTE2
