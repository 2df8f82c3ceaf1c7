/* SPDX-License-Identifier: Apache-2.0
 * One case of volley.gemm/1: its plan, its tensors, a run, the comparison.
 */
#include "conformance/conformance_gemm_trial.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "conformance/conformance_element.h"

uint32_t gemm_trial_failed(const gemm_trial *b, const char *what)
{
    return accel_fail(b->trial, "%s: %s", what, b->error.message);
}

/* A pointer is aligned to exactly this. */
static uint64_t offset_of(const vly_gemm_desc *desc, uint32_t type)
{
    const uint64_t element = (conformance_element_bits(type) + 7) / 8;
    if (desc->align == 256)
        return 0;
    return desc->align > element ? desc->align : element;
}

void gemm_trial_deinit(gemm_trial *b)
{
    const vly_gemm *gemm = &b->trial->accelerator->gemm;
    for (uint32_t i = 0; i < GEMM_N_TENSORS; i++)
        accel_buffer_deinit(&b->tensors[i]);
    accel_buffer_deinit(&b->workspace);
    gemm->plan_destroy(b->plan);
    b->plan = NULL;
}

/* Fresh data for all tensors; D is poisoned. */
void gemm_trial_fill(gemm_trial *b, uint64_t seed)
{
    for (uint32_t i = 0; i < GEMM_N_TENSORS; i++)
        if (i != GEMM_D)
            conformance_gemm_fill(&b->desc, i, seed,
                                  accel_buffer_host(&b->tensors[i]));
}

static vly_status make_tensors(gemm_trial *b)
{
    vly_status status = VLY_OK;
    const vly_accelerator *accelerator = b->trial->accelerator;
    for (uint32_t i = 0; i < GEMM_N_TENSORS; i++) {
        const gemm_tensor t = conformance_gemm_tensor(&b->desc, i);
        VLY_TRY(accel_buffer_init(&b->tensors[i], accelerator, t.bytes,
                                  offset_of(&b->desc, t.type), &b->error));
    }
    status = accel_buffer_init(&b->workspace, accelerator,
                               b->info.workspace_bytes, 0, &b->error);
out:
    return status;
}

void gemm_trial_point(gemm_trial *b)
{
    b->run = (vly_gemm_run){
        .struct_size = sizeof b->run,
        .alpha = 1.0f,
        .a = accel_buffer_device(&b->tensors[GEMM_A]),
        .b = accel_buffer_device(&b->tensors[GEMM_B]),
        .c = accel_buffer_device(&b->tensors[GEMM_C]),
        .d = accel_buffer_device(&b->tensors[GEMM_D]),
        .bias = accel_buffer_device(&b->tensors[GEMM_BIAS]),
        .scale_a = accel_buffer_device(&b->tensors[GEMM_SCALE_A]),
        .scale_b = accel_buffer_device(&b->tensors[GEMM_SCALE_B]),
        .workspace = accel_buffer_device(&b->workspace),
        .workspace_bytes = b->info.workspace_bytes};
}

/* 0 of an older plugin, which does not tell */
static vly_status get_way(const void *arg, uint32_t index,
                          vly_plan_candidate *candidate, uint32_t *n,
                          vly_error *error)
{
    const gemm_trial *b = arg;
    const vly_gemm *table = &b->trial->accelerator->gemm;
    *n = 0;
    return !table->plan_candidate
               ? VLY_OK
               : table->plan_candidate(b->plan, index, candidate, n, error);
}

/* VLY_CONFORMS: the plan is made, the tensors are filled. */
uint32_t gemm_trial_init(gemm_trial *b, accel_trial *trial)
{
    const vly_accelerator *accelerator = trial->accelerator;
    const vly_gemm *gemm = &accelerator->gemm;
    memset(b, 0, sizeof *b);
    b->trial = trial;
    b->error.struct_size = sizeof b->error;
    b->desc = conformance_gemm_get(trial->index);
    b->info.struct_size = sizeof b->info;
    vly_status status = gemm->supports(&b->desc, &b->error);
    if (status == VLY_E_UNSUPPORTED && strlen(b->error.message) > 20)
        return accel_skip(trial, "%s", b->error.message);
    if (status != VLY_OK)
        return gemm_trial_failed(b, "supports");
    status =
        gemm->plan_create(&accelerator->device, &b->desc, &b->plan, &b->error);
    if (status == VLY_E_UNSUPPORTED && accelerator->device.options &&
        strlen(b->error.message) > 20)
        return accel_skip(trial, "%s", b->error.message);
    if (status != VLY_OK)
        return gemm_trial_failed(b, "plan_create");
    if (gemm->plan_info(b->plan, &b->info, &b->error) != VLY_OK)
        return gemm_trial_failed(b, "plan_info");
    if (b->info.choice[0] == 0 || b->info.n_candidates == 0 ||
        !memchr(b->info.choice, 0, sizeof b->info.choice))
        return accel_fail(trial, "plan_info: no choice in words");
    if (b->info.workspace_bytes > b->desc.workspace_most)
        return accel_fail(trial,
                          "the plan wants %llu bytes of workspace, more "
                          "than workspace_most",
                          (unsigned long long)b->info.workspace_bytes);
    if (!accel_ways_hold(trial, &b->info, get_way, b))
        return VLY_CONFORMANCE_FAILED;
    if (make_tensors(b) != VLY_OK)
        return gemm_trial_failed(b, "a buffer");
    gemm_trial_fill(b, trial->seed);
    gemm_trial_point(b);
    return VLY_CONFORMS;
}

vly_status gemm_trial_put(gemm_trial *b)
{
    vly_status status = VLY_OK;
    VLY_TRY(accel_buffer_put(&b->workspace, &b->error));
    for (uint32_t i = 0; i < GEMM_N_TENSORS; i++)
        VLY_TRY(accel_buffer_put(&b->tensors[i], &b->error));
out:
    return status;
}

vly_status gemm_trial_get(gemm_trial *b)
{
    vly_status status = VLY_OK;
    VLY_TRY(accel_buffer_get(&b->workspace, &b->error));
    for (uint32_t i = 0; i < GEMM_N_TENSORS; i++)
        VLY_TRY(accel_buffer_get(&b->tensors[i], &b->error));
out:
    return status;
}

/* ---- comparison ------------------------------------------------------- */

/* Both NaN, the same infinity, or within the bound. relu may make 0 of NaN. */
static bool is_right(const vly_gemm_desc *desc, double x, double value,
                     double bound)
{
    const bool relu =
        desc->activation == VLY_GEMM_RELU || desc->activation == VLY_GEMM_RELU2;
    if (isnan(value))
        return isnan(x) || (relu && x == 0);
    if (isinf(value))
        return x == value;
    return fabs(x - value) <= bound;
}

/* D of one product against the reference. */
static uint32_t compare(gemm_trial *b, uint64_t batch, const double *values,
                        const double *bounds)
{
    const vly_gemm_desc *desc = &b->desc;
    const void *d = accel_buffer_found(&b->tensors[GEMM_D]);
    for (uint64_t i = 0; i < desc->m; i++)
        for (uint64_t j = 0; j < desc->n; j++) {
            const double x = conformance_element_get(
                desc->type_d, d, batch * desc->stride_d + i * desc->ldd + j);
            const uint64_t at = i * desc->n + j;
            if (!is_right(desc, x, values[at], bounds[at]))
                return accel_fail(
                    b->trial,
                    "d[%llu][%llu] of product %llu is %.9g, wanted %.9g +- "
                    "%.3g (alpha %g, beta %g; %s)",
                    (unsigned long long)i, (unsigned long long)j,
                    (unsigned long long)batch, x, values[at], bounds[at],
                    (double)b->run.alpha, (double)b->run.beta, b->info.choice);
        }
    return VLY_CONFORMS;
}

/* The content of C before the run, also if D is C. */
uint32_t gemm_trial_values(gemm_trial *b, const void *c)
{
    const vly_gemm_desc *desc = &b->desc;
    const uint64_t n = desc->m * desc->n;
    const uint64_t most = desc->m > desc->n ? desc->m : desc->n;
    gemm_host host = {.desc = desc,
                      .alpha = b->run.alpha,
                      .beta = b->run.beta,
                      .is_device = (b->trial->accelerator->memory.flags &
                                    VLY_MEMORY_HOST) == 0};
    uint64_t *order = vly_malloc(most, sizeof *order);
    double *values = vly_malloc(2 * n, sizeof *values);
    uint32_t outcome = VLY_CONFORMS;
    for (uint32_t i = 0; i < GEMM_N_TENSORS; i++)
        host.tensors[i] = accel_buffer_host(&b->tensors[i]);
    host.tensors[GEMM_C] = c;
    if (!order || !values)
        outcome = accel_fail(b->trial, "out of memory for the reference");
    for (uint64_t i = 0; order && i < most; i++)
        order[i] = i;
    for (uint64_t p = 0; p < desc->batch && outcome == VLY_CONFORMS; p++) {
        if (conformance_gemm_reference(&host, p, order, desc->m, order, desc->n,
                                       values, values + n, &b->error) != VLY_OK)
            outcome = gemm_trial_failed(b, "reference");
        else
            outcome = compare(b, p, values, values + n);
    }
    vly_free(order);
    vly_free(values);
    return outcome;
}

/* Between the rows and products of D nothing was written. */
static bool gaps_kept(const gemm_trial *b)
{
    const vly_gemm_desc *desc = &b->desc;
    const accel_buffer *d = &b->tensors[GEMM_D];
    const uint64_t size = conformance_element_bits(desc->type_d) / 8;
    uint8_t *is_d = vly_calloc(d->bytes, 1);
    bool good = is_d != NULL;
    for (uint64_t p = 0; good && p < desc->batch; p++)
        for (uint64_t i = 0; i < desc->m; i++)
            memset(is_d + (p * desc->stride_d + i * desc->ldd) * size, 1,
                   (size_t)(desc->n * size));
    for (uint64_t at = 0; good && at < d->bytes; at++)
        good = is_d[at] != 0 || accel_buffer_kept(d, at, at + 1);
    vly_free(is_d);
    return good;
}

uint32_t gemm_trial_untouched(gemm_trial *b, bool in_place)
{
    for (uint32_t i = 0; i < GEMM_N_TENSORS; i++) {
        const bool is_input = i != GEMM_D && !(in_place && i == GEMM_C);
        if (is_input && !accel_buffer_unchanged(&b->tensors[i]))
            return accel_fail(b->trial, "%s was written to",
                              conformance_gemm_tensors[i]);
        if (!accel_buffer_guarded(&b->tensors[i]))
            return accel_fail(b->trial, "something beside %s was written",
                              conformance_gemm_tensors[i]);
    }
    if (!accel_buffer_guarded(&b->workspace))
        return accel_fail(b->trial, "something beside the workspace was "
                                    "written");
    if (!gaps_kept(b))
        return accel_fail(b->trial, "something between the rows of d was "
                                    "written");
    return VLY_CONFORMS;
}

uint32_t gemm_trial_run(gemm_trial *b, float alpha, float beta, void *stream)
{
    const vly_accelerator *accelerator = b->trial->accelerator;
    const uint32_t device = accelerator->device.index;
    b->run.alpha = alpha;
    b->run.beta = beta;
    b->run.stream = stream;
    if (gemm_trial_put(b) != VLY_OK)
        return gemm_trial_failed(b, "copy to the device");
    if (accelerator->gemm.run(b->plan, &b->run, &b->error) != VLY_OK)
        return gemm_trial_failed(b, "run");
    if (accelerator->memory.stream_wait(device, stream, &b->error) != VLY_OK ||
        gemm_trial_get(b) != VLY_OK)
        return gemm_trial_failed(b, "after the run");
    uint32_t outcome = gemm_trial_untouched(b, false);
    return outcome == VLY_CONFORMS
               ? gemm_trial_values(b, accel_buffer_host(&b->tensors[GEMM_C]))
               : outcome;
}
