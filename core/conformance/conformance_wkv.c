/* SPDX-License-Identifier: Apache-2.0
 * The cases of volley.wkv/1, and their runs: a scenario is a type; in each the
 * case is run with aligned pointers, as a graph where the plugin has graphs,
 * and with pointers that are aligned to their elements only.
 */
#include <stdio.h>

#include "base/error.h"
#include "conformance/conformance_element.h"
#include "conformance/conformance_wkv_trial.h"

static const wkv_case cases[] = {
    {"step", 1, 1, 2, 1, 0, 0, 0},
    {"step_in_place", 3, 1, 4, 1, 1, 0, 0},
    {"step_first", 2, 1, 1, 0, 0, 0, 0},
    {"sequence", 1, 130, 2, 0, 0, 0, 0},
    {"sequence_state", 2, 65, 3, 1, 0, 0, 0},
    {"sequence_in_place", 1, 63, 2, 1, 1, 0, 0},
    {"sequence_17", 1, 17, 1, 1, 0, 0, 0},
    {"sequence_long", 1, 700, 1, 0, 0, 0, 0},
    {"lengths", 4, 90, 2, 1, 0, 1, 0},
    {"lengths_in_place", 4, 33, 2, 1, 1, 1, 0},
    {"strong_decay", 1, 120, 2, 1, 0, 0, 1},
    {"no_token", 2, 0, 2, 1, 0, 0, 0},
    {"no_token_no_state", 2, 0, 2, 0, 0, 0, 0},
    {"no_batch", 0, 5, 2, 1, 0, 0, 0},
};

/* ---- a scenario ---------------------------------------------------------- */

static bool run_variant(wkv_trial *t, uint32_t unaligned, uint32_t graph)
{
    t->unaligned = unaligned;
    t->graph = graph;
    t->desc.align = unaligned ? conformance_element_bits(t->desc.type) / 8 : 0;
    bool good = wkv_trial_open(t) && wkv_trial_refuses(t) && wkv_trial_run(t) &&
                wkv_trial_check(t);
    wkv_trial_close(t);
    return good;
}

static uint32_t run_scenario(accel_trial *accel, uint32_t type)
{
    const wkv_case *entry = &cases[accel->index];
    wkv_trial t = {.accel = accel,
                   .accelerator = accel->accelerator,
                   .desc = wkv_trial_desc(entry, type),
                   .error = VLY_ERROR_INIT};
    bool good = true;
    if (wkv_data_init(&t.data, entry, type, accel->seed, &t.error) != VLY_OK) {
        accel_fail(accel, "test data: %.400s", t.error.message);
        good = false;
    }
    good = good && run_variant(&t, 0, 0);
    const bool skipped = t.skipped != 0;
    /* run twice, a state in place would be that of two runs */
    if (good && t.accelerator->memory.graph_begin && !entry->in_place)
        good = run_variant(&t, 0, 1);
    if (good)
        good = run_variant(&t, 1, 0) || t.skipped != 0; /* refused by name */
    wkv_data_deinit(&t.data);
    return good      ? VLY_CONFORMS
           : skipped ? VLY_CONFORMANCE_SKIPPED
                     : VLY_CONFORMANCE_FAILED;
}

static uint32_t run_f32(accel_trial *accel)
{
    return run_scenario(accel, VLY_ELEMENT_F32);
}

static uint32_t run_f16(accel_trial *accel)
{
    return run_scenario(accel, VLY_ELEMENT_F16);
}

static uint32_t run_bf16(accel_trial *accel)
{
    return run_scenario(accel, VLY_ELEMENT_BF16);
}

static const accel_scenario scenarios[] = {{"fp32", run_f32, NULL},
                                           {"fp16", run_f16, NULL},
                                           {"bf16", run_bf16, NULL},
                                           {NULL, NULL, NULL}};

static void case_name(uint32_t index, char *name, size_t size)
{
    (void)snprintf(name, size, "wkv_%s", cases[index].name);
}

const accel_table vly_wkv_table = {
    .interface_id = VLY_WKV_INTERFACE,
    .n_cases = sizeof cases / sizeof *cases,
    .case_name = case_name,
    .scenarios = scenarios,
};
