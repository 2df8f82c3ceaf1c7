/* SPDX-License-Identifier: Apache-2.0
 * A rule of a user as a type, beside those of learning_rule.cuh: an interpreter
 * of its steps. All threads of a warp have synapses of one map, so that they
 * take the same branches.
 */
#ifndef VOLLEY_CUDA_USERS_RULE_CUH
#define VOLLEY_CUDA_USERS_RULE_CUH

#include <stddef.h>

#include "kernels/rules/rule_operation.h"

static_assert(
    sizeof(vly_cuda_users_rule) == sizeof(uint32_t) * VLY_CUDA_RULE_COEFS &&
        offsetof(vly_cuda_learning, coefs) % alignof(vly_cuda_users_rule) == 0,
    "in place of coefficients");
static_assert(sizeof(vly_cuda_rule_step) == sizeof(uint2), "one read");

static __device__ __forceinline__ uint32_t
users_rule_word(const uint32_t *v, const uint32_t *number, uint32_t place)
{
    return (place & VLY_CUDA_RULE_NUMBER) != 0
               ? __ldg(number + (place & ~VLY_CUDA_RULE_NUMBER))
               : v[place];
}

/* The weight m after function `post`. Not inline: it is called at many places,
 * and what they keep meanwhile is not spilled inside of the loop. */
static __device__ __noinline__ int32_t
users_rule_step(const vly_cuda_users_rule &rule, uint32_t post, int32_t m,
                float x0, float x1, float y0, float y1)
{
    const uint32_t n = rule.n_steps[post];
    const uint32_t *number = rule.program->numbers[post];
    const vly_cuda_rule_step *steps = rule.program->steps[post];
    uint32_t v[VLY_CUDA_RULE_SLOTS];
    if (rule.result[post] == UINT32_MAX)
        return m;
    v[0] = vly_bits(vly_weight_f32(m));
    v[1] = vly_bits(x0);
    v[2] = vly_bits(x1);
    v[3] = vly_bits(y0);
    v[4] = vly_bits(y1);
    for (uint32_t k = 0; k < n; k++) {
        const uint2 step = __ldg((const uint2 *)(steps + k));
        const uint32_t code = step.x & 0xffu;
        const uint32_t a = users_rule_word(v, number, step.x >> 16);
        const uint32_t b = users_rule_word(v, number, step.y & 0xffffu);
        const uint32_t c = code == VLY_PROGRAM_SELECT
                               ? users_rule_word(v, number, step.y >> 16)
                               : 0u;
        v[step.x >> 8 & 0xffu] = vly_rule_operation(code, a, b, c);
    }
    return vly_rule_change(m, users_rule_word(v, number, rule.result[post]),
                           rule.most);
}

template <> struct plastic_rule<VLY_CUDA_RULE_USERS> {
    enum { eligible = 0, window = 0, n_source = 2 };
    const vly_cuda_users_rule &rule;
    __device__ __forceinline__ explicit plastic_rule(const uint32_t *coefs)
        : rule(*(const vly_cuda_users_rule *)coefs)
    {
    }
    __device__ __forceinline__ int32_t pre(int32_t m, const float *x, float y0,
                                           float y1) const
    {
        return users_rule_step(rule, 0, m, x[0], x[1], y0, y1);
    }
    /* once the traces of the source are 0, no backend looks at later spikes of
     * the target */
    __device__ __forceinline__ int32_t post(int32_t m, float x0, float x1,
                                            float y0, float y1) const
    {
        if (!(x0 > 0.0f) && !(x1 > 0.0f))
            return m;
        return users_rule_step(rule, 1, m, x0, x1, y0, y1);
    }
};

#endif
