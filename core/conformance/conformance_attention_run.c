/* SPDX-License-Identifier: Apache-2.0
 * Runs the cases of volley.attention/1. A scenario is a type, forward or
 * backward; in each the case is run with aligned pointers (backward twice, with
 * VLY_ATTENTION_DETERMINISTIC, for the same bits), as a graph in a stream of
 * its own where the plugin has graphs, and with pointers that are aligned to
 * their elements only, which may be refused with E_UNSUPPORTED. Every byte that
 * is not a result must be unchanged.
 */
#include "base/error.h"
#include "conformance/conformance_attention_trial.h"
#include "conformance/conformance_element.h"

/* ---- a scenario ---------------------------------------------------------- */

/* Runs again into poisoned outputs and wants the same bits. */
static bool check_again(attention_trial *t)
{
    uint64_t first = 0, second = 0;
    if (!attention_trial_digest(t, &first) || !attention_trial_poison(t) ||
        !attention_trial_run(t) || !attention_trial_digest(t, &second))
        return false;
    if (first != second)
        accel_fail(t->accel, "a second run gave other bits");
    return first == second;
}

static bool run_variant(attention_trial *t, uint32_t unaligned, uint32_t graph)
{
    t->unaligned = unaligned;
    t->graph = graph;
    t->desc = t->data.desc;
    if (t->backward) {
        t->desc.flags &= ~(uint32_t)VLY_ATTENTION_LSE;
        t->desc.flags |= VLY_ATTENTION_BACKWARD;
        if (!unaligned && !graph)
            t->desc.flags |= VLY_ATTENTION_DETERMINISTIC;
    }
    t->desc.align = unaligned ? conformance_element_bits(t->desc.type) / 8 : 0;
    bool good = attention_trial_open(t) && attention_trial_refuses(t) &&
                attention_trial_run(t);
    if (good && t->desc.flags & VLY_ATTENTION_DETERMINISTIC)
        good = check_again(t);
    good = good && attention_trial_check(t);
    attention_trial_close(t);
    return good;
}

static uint32_t run_scenario(accel_trial *accel, uint32_t type,
                             uint32_t backward)
{
    const attention_case *entry = attention_case_get(accel->index);
    attention_trial t = {.accel = accel,
                         .accelerator = accel->accelerator,
                         .backward = backward,
                         .error = VLY_ERROR_INIT};
    if (attention_data_init(&t.data, entry, type, accel->seed, &t.error) !=
        VLY_OK) {
        attention_data_deinit(&t.data);
        return accel_fail(accel, "test data: %s", t.error.message);
    }
    bool good = run_variant(&t, 0, 0);
    const bool skipped = t.skipped != 0;
    if (good && t.accelerator->memory.graph_begin)
        good = run_variant(&t, 0, 1);
    if (good)
        good = run_variant(&t, 1, 0) || t.skipped != 0; /* refused by name */
    attention_data_deinit(&t.data);
    return good      ? VLY_CONFORMS
           : skipped ? VLY_CONFORMANCE_SKIPPED
                     : VLY_CONFORMANCE_FAILED;
}

static bool has_type(const accel_trial *accel, uint32_t type, uint32_t backward)
{
    const attention_case *entry = attention_case_get(accel->index);
    return entry->types & 1u << type && (!backward || entry->backward);
}

#define SCENARIO(name, type, backward)                                         \
    static uint32_t name(accel_trial *accel)                                   \
    {                                                                          \
        return run_scenario(accel, type, backward);                            \
    }                                                                          \
    static bool name##_fits(const accel_trial *accel)                          \
    {                                                                          \
        return has_type(accel, type, backward);                                \
    }
SCENARIO(forward_f32, VLY_ELEMENT_F32, 0)
SCENARIO(forward_f16, VLY_ELEMENT_F16, 0)
SCENARIO(forward_bf16, VLY_ELEMENT_BF16, 0)
SCENARIO(forward_fp8, VLY_ELEMENT_E4M3, 0)
SCENARIO(backward_f32, VLY_ELEMENT_F32, 1)
SCENARIO(backward_f16, VLY_ELEMENT_F16, 1)
SCENARIO(backward_bf16, VLY_ELEMENT_BF16, 1)
#undef SCENARIO

const accel_scenario attention_scenarios[] = {
    {"fp32", forward_f32, forward_f32_fits},
    {"fp16", forward_f16, forward_f16_fits},
    {"bf16", forward_bf16, forward_bf16_fits},
    {"fp8", forward_fp8, forward_fp8_fits},
    {"fp32_backward", backward_f32, backward_f32_fits},
    {"fp16_backward", backward_f16, backward_f16_fits},
    {"bf16_backward", backward_bf16, backward_bf16_fits},
    {NULL, NULL, NULL}};
