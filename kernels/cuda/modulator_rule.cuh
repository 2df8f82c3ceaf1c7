/* SPDX-License-Identifier: Apache-2.0
 * What a rule does with eligibilities and its modulator, as a type. Not
 * guarded: each_plasticity.h includes it for every rule in modulator.cu. A rule
 * without a modulator changes nothing.
 */
#define RULE_PASTE2(a, b) a##b
#define RULE_PASTE(a, b) RULE_PASTE2(a, b)
#define RULE_PART(part) RULE_PASTE(RULE_PASTE(vly_, VLY_PLASTICITY_ID), part)

template <>
struct modulated_rule<RULE_PASTE(VLY_CUDA_RULE_, VLY_PLASTICITY_ID)> {
    RULE_PART(_coef) c;
    __device__ __forceinline__ explicit modulated_rule(const uint32_t *coefs)
    {
        memcpy(&c, coefs, sizeof c);
    }
    __device__ __forceinline__ int32_t weight(int32_t m, int32_t e,
                                              float d) const
    {
#define VLY_MODULATOR(tau, interval) m = RULE_PART(_weight)(m, e, c, d);
#include VLY_PLASTICITY_TABLE
        return m;
    }
    __device__ __forceinline__ int32_t fade(int32_t e) const
    {
#define VLY_MODULATOR(tau, interval) e = RULE_PART(_fade)(e, c);
#include VLY_PLASTICITY_TABLE
        return e;
    }
    __device__ __forceinline__ float modulator(float d, uint32_t n_spikes,
                                               int32_t given) const
    {
#define VLY_MODULATOR(tau, interval)                                           \
    d = RULE_PART(_modulator)(d, c, n_spikes, given);
#include VLY_PLASTICITY_TABLE
        return d;
    }
};

#undef RULE_PART
#undef RULE_PASTE
#undef RULE_PASTE2
