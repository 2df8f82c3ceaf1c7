/* SPDX-License-Identifier: Apache-2.0
 * The loops over plastic rows of one instruction set: built once with
 * VLY_CPU_ISA set to scalar, avx2 and avx512 each.
 */
#include "cpu_learning_kernels.h"

#include <string.h>

#define ISA_NAME3(isa) vly_cpu_learning_kernels_##isa
#define ISA_NAME2(isa) ISA_NAME3(isa)
#define PASTE2(a, b) a##b
#define PASTE(a, b) PASTE2(a, b)

#if defined(__clang__)
#define VECTORISE _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__)
#define VECTORISE _Pragma("GCC ivdep")
#else
#define VECTORISE
#endif

#define BLOCK 256u /* synapses: traces and values of a block stay in L1 */

static inline float decayed(const vly_cpu_rows *rows, uint32_t trace, float x,
                            uint32_t k)
{
    return x * vly_cpu_decayed(&rows->source[trace], k);
}

static inline float before(const vly_cpu_posts *posts, uint32_t trace,
                           uint64_t at)
{
    return posts->before[trace] ? posts->before[trace][at] : 0.0f;
}

/* The trace of each target after its newest spike, decayed. A factor of the
 * table, or 0: nearly all traces have at most 2^16 bursts. */
static void traces_of(const vly_cpu_rows *rows, const uint32_t *target,
                      uint32_t n, uint32_t trace, float *restrict out)
{
    const vly_cpu_decay decay = rows->target_decay[trace];
    const uint32_t *restrict last = rows->posts.last;
    const float *restrict y = rows->posts.y[trace];
    const uint32_t first = rows->first;
    const uint32_t burst = rows->burst;
    if (decay.n == decay.bursts) {
        VECTORISE
        for (uint32_t j = 0; j < n; j++) {
            uint32_t i = target[j] - first;
            uint32_t k = burst - last[i];
            /* factor[n] is 0 */
            out[j] = y[i] * decay.factor[k < decay.n ? k : decay.n];
        }
        return;
    }
    for (uint32_t j = 0; j < n; j++) {
        uint32_t i = target[j] - first;
        out[j] = y[i] * vly_cpu_decayed(&decay, burst - last[i]);
    }
}

/* Spikes of the target that the synapse has not seen yet do not count. */
static void traces_dendritic(const vly_cpu_rows *rows, const uint32_t *target,
                             uint32_t n, uint32_t trace, float *restrict out)
{
    const vly_cpu_decay *decay = &rows->target_decay[trace];
    const vly_cpu_posts *posts = &rows->posts;
    for (uint32_t j = 0; j < n; j++) {
        uint32_t i = target[j] - rows->first;
        uint64_t ring = (uint64_t)i * (posts->mask + 1);
        uint32_t at = posts->count[i] - 1;
        while ((int32_t)(rows->burst -
                         posts->burst[ring + (at & posts->mask)]) < 1)
            at--;
        uint64_t slot = ring + (at & posts->mask);
        float after = rows->nearest ? 1.0f : posts->before[trace][slot] + 1.0f;
        out[j] =
            after * vly_cpu_decayed(decay, rows->burst - posts->burst[slot]);
    }
}

static void target_traces(const vly_cpu_rows *rows, const uint32_t *target,
                          uint32_t n, float *y0, float *y1)
{
    float *out[2] = {y0, y1};
    for (uint32_t t = 0; t < 2; t++) {
        if (rows->target_decay[t].bursts == 0)
            memset(out[t], 0, n * sizeof *out[t]);
        else if (rows->dendritic)
            traces_dendritic(rows, target, n, t, out[t]);
        else
            traces_of(rows, target, n, t, out[t]);
    }
}

static void deliver(const vly_cpu_rows *rows, const vly_cpu_learning_row *row)
{
    for (uint64_t j = row->begin; j < row->end; j++) {
        uint32_t value =
            (uint32_t)((rows->master[j] + 0x8000) >> 16) * rows->sign;
        rows->input[rows->target[j] - rows->first] += value << rows->shift;
    }
}

#define VLY_PLASTICITY_READ "backends/cpu/cpu_learning_rule.h"
#include "kernels/rules/each_plasticity.h"

#define FOLD(id) [VLY_CPU_RULE_##id] = fold_##id,
#define ARRIVE(id) [VLY_CPU_RULE_##id] = arrive_##id,
const vly_cpu_learning_kernels ISA_NAME2(VLY_CPU_ISA) = {
    .fold =
        {
#define VLY_EACH_PLASTICITY FOLD
#include "kernels/rules/plasticity.def"
        },
    .arrive =
        {
#define VLY_EACH_PLASTICITY ARRIVE
#include "kernels/rules/plasticity.def"
        },
    .deliver = deliver,
};
