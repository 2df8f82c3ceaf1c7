/* SPDX-License-Identifier: Apache-2.0
 * The loops over plastic rows of one instruction set: built once with
 * VLY_CPU_ISA set to scalar, avx2 and avx512 each.
 */
#include "cpu_learning_kernels.h"

#include <stdbool.h>
#include <string.h>

#include "cpu_vectorise.h"

#define ISA_NAME3(isa) vly_cpu_learning_kernels_##isa
#define ISA_NAME2(isa) ISA_NAME3(isa)
#define PASTE2(a, b) a##b
#define PASTE(a, b) PASTE2(a, b)

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

/* x of every synapse of a block at the one spike of its target that it has not
 * seen; 0 if there is none, or several. */
static void source_trace(const vly_cpu_rows *rows,
                         const vly_cpu_learning_row *row,
                         const uint32_t *target, uint32_t n, uint32_t trace,
                         float *restrict out)
{
    const vly_cpu_decay decay = rows->source[trace];
    const vly_common_newest *restrict newest = rows->posts.newest;
    const uint32_t first = rows->first;
    const uint32_t burst = rows->burst;
    const uint32_t arrived = row->arrived;
    const int32_t youngest = row->youngest;
    const int32_t oldest = row->oldest;
    const float after = row->after[trace];
    const float at_once = row->before[trace];
    if (decay.n < decay.bursts) {
        for (uint32_t j = 0; j < n; j++) {
            const vly_common_newest *at = &newest[target[j] - first];
            int32_t age = (int32_t)(burst - at->last);
            uint32_t k = arrived - (uint32_t)age;
            bool one = age >= youngest && age <= oldest &&
                       (int32_t)(burst - at->prev) > oldest;
            float x = k == 0 ? at_once : after * vly_cpu_decayed(&decay, k);
            out[j] = one ? x : 0.0f;
        }
        return;
    }
    VECTORISE
    for (uint32_t j = 0; j < n; j++) {
        uint32_t i = target[j] - first;
        int32_t age = (int32_t)(burst - newest[i].last);
        int32_t older = (int32_t)(burst - newest[i].prev);
        uint32_t k = arrived - (uint32_t)age;
        uint32_t one = (uint32_t)(age >= youngest) & (uint32_t)(age <= oldest) &
                       (uint32_t)(older > oldest);
        /* factor[n] is 0 */
        uint32_t in = one != 0 ? k : decay.n;
        float x = after * decay.factor[in < decay.n ? in : decay.n];
        out[j] = in == 0 ? at_once : x;
    }
}

/* Synapses with several such spikes are listed; their number. */
static uint32_t source_traces(const vly_cpu_rows *rows,
                              const vly_cpu_learning_row *row,
                              const uint32_t *target, uint32_t n, float *x0,
                              float *x1, uint32_t *several)
{
    float *out[2] = {x0, x1};
    uint32_t n_several = 0;
    const vly_common_newest *newest = rows->posts.newest;
    for (uint32_t t = 0; t < 2; t++) {
        if (rows->source[t].bursts == 0)
            memset(out[t], 0, n * sizeof *out[t]);
        else
            source_trace(rows, row, target, n, t, out[t]);
    }
    for (uint32_t j = 0; j < n; j++) {
        const vly_common_newest *at = &newest[target[j] - rows->first];
        several[n_several] = j;
        n_several += (int32_t)(rows->burst - at->prev) <= row->oldest;
    }
    return n_several;
}

/* y before the newest spike of each target */
static void traces_before(const vly_cpu_rows *rows, const uint32_t *target,
                          uint32_t n, float *y0, float *y1)
{
    float *out[2] = {y0, y1};
    for (uint32_t t = 0; t < 2; t++) {
        const float *before = rows->posts.newest_before[t];
        for (uint32_t j = 0; j < n; j++)
            out[t][j] = before ? before[target[j] - rows->first] : 0.0f;
    }
}

/* The trace of each target after its newest spike, decayed: a factor of the
 * table, or 0. Nearly all traces have at most 2^16 bursts. */
static void traces_of(const vly_cpu_rows *rows, const uint32_t *target,
                      uint32_t n, uint32_t trace, float *restrict out)
{
    const vly_cpu_decay decay = rows->target_decay[trace];
    const vly_common_newest *restrict newest = rows->posts.newest;
    const uint32_t first = rows->first;
    const uint32_t burst = rows->burst;
    if (decay.n == decay.bursts) {
        VECTORISE
        for (uint32_t j = 0; j < n; j++) {
            uint32_t i = target[j] - first;
            uint32_t k = burst - newest[i].last;
            out[j] = newest[i].after[trace] *
                     decay.factor[k < decay.n ? k : decay.n];
        }
        return;
    }
    for (uint32_t j = 0; j < n; j++) {
        const vly_common_newest *at = &newest[target[j] - first];
        out[j] = at->after[trace] * vly_cpu_decayed(&decay, burst - at->last);
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
            (uint32_t)((rows->weight[j] + 0x8000) >> 16) * rows->sign;
        rows->input[rows->target[j] - rows->first] += value << rows->shift;
    }
}

#define VLY_PLASTICITY_READ "backends/cpu/cpu_learning_rule.h"
#include "kernels/rules/each_plasticity.h"

#include "cpu_learning_program.h"

#define FOLD(id) [VLY_CPU_RULE_##id] = fold_##id,
#define RECENT(id) [VLY_CPU_RULE_##id] = fold_recent_##id,
#define SWEEP(id) [VLY_CPU_RULE_##id] = sweep_##id,
#define ARRIVE(id) [VLY_CPU_RULE_##id] = arrive_##id,
#define WINDOW_ROW(id) [VLY_CPU_RULE_##id] = window_row_##id,
#define WINDOW_COLUMN(id) [VLY_CPU_RULE_##id] = window_column_##id,
const vly_cpu_learning_kernels ISA_NAME2(VLY_CPU_ISA) = {
    .fold =
        {
#define VLY_EACH_PLASTICITY FOLD
#include "kernels/rules/plasticity.def"
            FOLD(program)},
    .fold_recent =
        {
#define VLY_EACH_PLASTICITY RECENT
#include "kernels/rules/plasticity.def"
        },
    .arrive =
        {
#define VLY_EACH_PLASTICITY ARRIVE
#include "kernels/rules/plasticity.def"
            ARRIVE(program)},
    .window_row =
        {
#define VLY_EACH_PLASTICITY WINDOW_ROW
#include "kernels/rules/plasticity.def"
        },
    .window_column =
        {
#define VLY_EACH_PLASTICITY WINDOW_COLUMN
#include "kernels/rules/plasticity.def"
        },
    .sweep =
        {
#define VLY_EACH_PLASTICITY SWEEP
#include "kernels/rules/plasticity.def"
        },
    .deliver = deliver,
};
