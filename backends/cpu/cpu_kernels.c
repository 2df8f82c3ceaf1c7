/* SPDX-License-Identifier: Apache-2.0
 * The vector loops of one instruction set: built once with VLY_CPU_ISA set to
 * scalar, avx2 and avx512 each, with the compiler options that belong to it.
 */
#include "cpu_kernels.h"

#include <string.h>

#include "cpu_vectorise.h"
#include "kernels/models/digest.h"
#include "kernels/models/model_steps.h"
#include "kernels/models/philox.h"

#define ISA_NAME3(isa) vly_cpu_kernels_##isa
#define ISA_NAME2(isa) ISA_NAME3(isa)
#define ISA_LEARNING3(isa) vly_cpu_learning_kernels_##isa
#define ISA_LEARNING2(isa) ISA_LEARNING3(isa)
#define ISA_PROGRAM3(isa) vly_cpu_run_program_##isa
#define ISA_PROGRAM2(isa) ISA_PROGRAM3(isa)
#define ISA_TEXT3(isa) #isa
#define ISA_TEXT2(isa) ISA_TEXT3(isa)

/* ---- words of state and coefficients ----------------------------------- */

static inline float load_float(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

#define LOAD_F32(word) load_float(word)
#define LOAD_U32(word) (word)
#define STORE_F32(x) vly_bits(x)
#define STORE_U32(x) (x)

/* ---- dynamics ---------------------------------------------------------- */

#define VLY_MODEL_READ "backends/cpu/cpu_model.h"
#include "kernels/models/each_model.h"

/* ---- stimuli ----------------------------------------------------------- */

static void add(uint32_t *restrict input, const uint16_t *restrict counts,
                uint32_t n, uint32_t base, uint32_t step, uint32_t always)
{
    VECTORISE
    for (uint32_t i = 0; i < n; i++) {
        uint32_t k = counts[i];
        uint32_t value = base + k * step;
        input[i] += (k | always) != 0u ? value : 0u;
    }
}

static uint16_t count_word(const uint32_t *thresholds, uint32_t n, uint32_t u)
{
    uint32_t low = 0;
    uint32_t high = n;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (thresholds[middle] <= u)
            low = middle + 1;
        else
            high = middle;
    }
    return (uint16_t)low;
}

/* Neurons [from, n) one by one: the definition. */
static void draw_each(const vly_cpu_draw *draw, uint32_t from)
{
    uint32_t key_low = (uint32_t)draw->key;
    uint32_t key_high = (uint32_t)(draw->key >> 32);
    for (uint32_t i = from; i < draw->n; i++) {
        vly_philox_words w = vly_philox_draw(
            key_low, key_high, (uint32_t)draw->block,
            (uint32_t)(draw->block >> 32), draw->id + i, draw->stream);
        const uint32_t *thresholds = draw->thresholds;
        uint32_t n = draw->n_thresholds;
        draw->counts[0][i] = count_word(thresholds, n, w.w0);
        draw->counts[1][i] = count_word(thresholds, n, w.w1);
        draw->counts[2][i] = count_word(thresholds, n, w.w2);
        draw->counts[3][i] = count_word(thresholds, n, w.w3);
    }
}

#if defined(__AVX512F__) || defined(__AVX2__)
#include "cpu_philox.h"
#else
static void draw_all(const vly_cpu_draw *draw)
{
    draw_each(draw, 0);
}
#endif

/* ---- digest ------------------------------------------------------------ */

static uint64_t digest(const uint32_t *restrict ids,
                       const uint32_t *restrict gains, uint32_t n,
                       uint64_t burst)
{
    uint64_t mixed = vly_digest_mix(burst);
    uint64_t sum = 0;
    for (uint32_t i = 0; i < n; i++)
        sum += vly_digest_pair(mixed, ids[i], gains[i]);
    return sum;
}

extern vly_cpu_run_program ISA_PROGRAM2(VLY_CPU_ISA);

/* ---- the table --------------------------------------------------------- */

#define UNIFORM(model) [VLY_CPU_MODEL_##model] = step_uniform_##model,
#define EACH(model) [VLY_CPU_MODEL_##model] = step_each_##model,

const vly_cpu_kernels ISA_NAME2(VLY_CPU_ISA) = {
    .isa = ISA_TEXT2(VLY_CPU_ISA),
    .learning = &ISA_LEARNING2(VLY_CPU_ISA),
    .step_uniform = {VLY_ONE_PORT_MODELS(UNIFORM) VLY_TWO_PORT_MODELS(UNIFORM)},
    .step_each = {VLY_ONE_PORT_MODELS(EACH) VLY_TWO_PORT_MODELS(EACH)},
    .program = ISA_PROGRAM2(VLY_CPU_ISA),
    .draw = draw_all,
    .add = add,
    .digest = digest,
};
