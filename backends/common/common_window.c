/* SPDX-License-Identifier: Apache-2.0
 * Runs of bursts with a spike: see common_window.h.
 */
#include "common_window.h"

#include "common_traces.h"

#include "kernels/rules/rule.h"

vly_status vly_common_window_create(vly_common_heap *heap,
                                    const vly_learning_desc *desc,
                                    uint32_t n_sources, uint32_t n_targets,
                                    vly_common_window *window, vly_error *error)
{
    vly_status status = VLY_OK;
    *window = (vly_common_window){.bursts = desc->source[0].bursts,
                                  .n = {n_sources, n_targets}};
    for (int side = 0; side < 2; side++) {
        VLY_TRY(vly_common_alloc(heap, window->n[side], sizeof(uint32_t),
                                 &window->run[side], error));
        VLY_TRY(vly_common_alloc(heap, window->n[side], sizeof(uint32_t),
                                 &window->last[side], error));
    }
out:
    return status;
}

/* As vly_common_window_save writes them. */
static bool is_run(uint32_t word, uint32_t age, uint32_t bursts)
{
    float run = vly_float(word);
    if (age == UINT32_MAX)
        return word == 0;
    return age < bursts && run >= 1.0f && run <= (float)bursts &&
           run == (float)(uint32_t)run;
}

vly_status vly_common_window_check(const vly_net_desc *desc,
                                   uint32_t projection, const uint32_t *words,
                                   vly_error *error)
{
    const vly_projection_desc *p = vly_common_projection_desc(desc, projection);
    const uint32_t areas[2] = {p->source_area, p->target_area};
    uint32_t bursts = vly_common_learning(desc, projection)->source[0].bursts;
    for (int side = 0; side < 2; side++) {
        uint64_t n = vly_common_area_desc(desc, areas[side])->n_neurons;
        for (uint64_t i = 0; i < n; i++)
            if (!is_run(words[i], words[n + i], bursts))
                return vly_support_fail(
                    error, VLY_E_INVALID,
                    "snapshot: map %s: neuron %llu of its %s area fired in %g "
                    "bursts in a row, %u bursts ago; the window has %u",
                    p->map, (unsigned long long)i,
                    side == 0 ? "source" : "target",
                    (double)vly_float(words[i]), words[n + i], bursts);
        words += 2 * n;
    }
    return VLY_OK;
}

const uint32_t *vly_common_window_load(vly_common_window *window,
                                       const uint32_t *words, uint32_t burst)
{
    for (int side = 0; side < 2; side++) {
        uint64_t n = window->n[side];
        for (uint64_t i = 0; i < n; i++) {
            bool known = words[n + i] != UINT32_MAX;
            window->run[side][i] = known ? (uint32_t)vly_float(words[i]) : 0;
            window->last[side][i] = known ? burst - words[n + i] : 0;
        }
        words += 2 * n;
    }
    return words;
}

uint32_t *vly_common_window_save(const vly_common_window *window,
                                 uint32_t burst, uint32_t *words)
{
    for (int side = 0; side < 2; side++) {
        uint64_t n = window->n[side];
        for (uint64_t i = 0; i < n; i++) {
            uint32_t run = window->run[side][i];
            uint32_t age = burst - window->last[side][i];
            bool known = run != 0 && age < window->bursts;
            words[i] = known ? vly_bits((float)run) : 0;
            words[n + i] = known ? age : UINT32_MAX;
        }
        words += 2 * n;
    }
    return words;
}

uint32_t vly_common_window_pack(const vly_common_window *window, int side,
                                uint32_t burst, uint32_t *pairs)
{
    uint32_t youngest = VLY_COMMON_AGE_NEVER;
    for (uint64_t i = 0; i < window->n[side]; i++) {
        uint32_t run = window->run[side][i];
        uint32_t last = window->last[side][i];
        pairs[2 * i] = run;
        pairs[2 * i + 1] = last;
        if (run != 0 && burst - last < youngest)
            youngest = burst - last;
    }
    return burst - youngest;
}

void vly_common_window_unpack(vly_common_window *window, int side,
                              const uint32_t *pairs)
{
    for (uint64_t i = 0; i < window->n[side]; i++) {
        window->run[side][i] = pairs[2 * i];
        window->last[side][i] = pairs[2 * i + 1];
    }
}
