/* SPDX-License-Identifier: Apache-2.0
 * The step that the fake driver "compiled", for kernels that run on the
 * processor.
 */
#ifndef VOLLEY_TEST_FAKE_JIT_H
#define VOLLEY_TEST_FAKE_JIT_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The operands of a mark (backends/cuda/cuda_ptx.h) after `fired`, which is
 * returned. */
uint32_t fake_jit_step(int row, uint32_t model, const void *state,
                       uint64_t stride, const void *coefs, const void *words,
                       uint32_t vary, uint32_t place, uint32_t neuron,
                       float in0, float in1, uint32_t key_low,
                       uint32_t key_high, uint32_t burst_low,
                       uint32_t burst_high);

/* Ends the test if the part of a kernel is one that was cut out of its text. */
void fake_jit_needs(uint32_t part);

#ifdef __cplusplus
}
#endif

#endif
