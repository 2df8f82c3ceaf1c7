/* SPDX-License-Identifier: Apache-2.0
 * The loops over all neurons, compiled once for each instruction set. All
 * give the same bits: they hold integers and single IEEE operations only.
 */
#ifndef VOLLEY_CPU_KERNELS_H
#define VOLLEY_CPU_KERNELS_H

#include <stdint.h>

#include "cpu_learning_kernels.h"
#include "cpu_models.h"
#include "cpu_program.h"

/* Neurons of one call: state, inputs and flags of a chunk stay in L1. */
#define VLY_CPU_CHUNK 512u

typedef struct vly_cpu_chunk {
    uint32_t n;
    float scale[2];     /* a port */
    uint32_t *input[2]; /* a port, 2's complement; set to 0 */
    uint8_t *fired;     /* [n] 0 or 1 */
    uint32_t *field[VLY_CPU_MAX_FIELDS];
    const uint32_t *coef[VLY_CPU_MAX_COEFS];
} vly_cpu_chunk;

/* One burst of n neurons of a time-driven model. */
typedef void vly_cpu_step(const vly_cpu_chunk *chunk);

typedef struct vly_cpu_draw {
    uint64_t key;
    uint64_t block; /* burst >> 2 */
    uint32_t id;    /* of the first neuron */
    uint32_t stream;
    uint32_t n;
    uint32_t n_thresholds;
    const uint32_t *thresholds;
    uint16_t *counts[4]; /* [n] number of thresholds not above word w */
} vly_cpu_draw;

typedef struct vly_cpu_kernels {
    const char *isa;
    const vly_cpu_learning_kernels *learning;
    /* by model: coefficients all uniform (coef[j][0]), or one each */
    vly_cpu_step *step_uniform[VLY_CPU_N_MODELS];
    vly_cpu_step *step_each[VLY_CPU_N_MODELS];
    vly_cpu_run_program *program;
    void (*draw)(const vly_cpu_draw *draw);
    /* input += base + count * step; nothing where count is 0, unless always */
    void (*add)(uint32_t *input, const uint16_t *counts, uint32_t n,
                uint32_t base, uint32_t step, uint32_t always);
    /* sum of the spike hashes of a burst */
    uint64_t (*digest)(const uint32_t *ids, const uint32_t *gains, uint32_t n,
                       uint64_t burst);
} vly_cpu_kernels;

extern const vly_cpu_kernels vly_cpu_kernels_scalar;
#if defined(VLY_CPU_X86)
extern const vly_cpu_kernels vly_cpu_kernels_avx2;
extern const vly_cpu_kernels vly_cpu_kernels_avx512;
#endif

#endif
