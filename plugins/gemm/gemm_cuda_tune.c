/* SPDX-License-Identifier: Apache-2.0
 * Finds the correct candidates and the fastest of them.
 *
 * Correct: the first and the last rows of the first and the last product are
 * those of gemm_own.cu in fp32, within the error of one rounding. A heuristic
 * that gives wrong results or NaN is struck out, and one that rounds a sum to
 * 16 bits before it adds the bias (algorithms 16, 23 and 24 of cuBLASLt 13.1 on
 * an H200) or applies gelu (11, 16 and 24). gemm_cuda_time.c says which is the
 * fastest, on random data (zeros draw less power and so run faster) that is
 * taken in turns from sets of more than three times the L2 cache, or as many as
 * there is memory for.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <cuda_runtime_api.h>

#include "gemm_cuda_tune.h"

enum {
    MOST_SETS = 64,
};

static vly_status check(cudaError_t code, const char *what, vly_error *error)
{
    return vly_accel_cuda_check((int)code, what, error);
}

static uint64_t round_up(uint64_t bytes)
{
    return (bytes + 255) / 256 * 256;
}

/* ---- data
 * -------------------------------------------------------------------- */

static uint32_t element_bytes(uint32_t type)
{
    return type == VLY_ELEMENT_F32 || type == VLY_ELEMENT_I32    ? 4
           : type == VLY_ELEMENT_F16 || type == VLY_ELEMENT_BF16 ? 2
                                                                 : 1;
}

/* Offset of an array of a set from a multiple of 256 bytes: gives exactly the
 * alignment that a run guarantees. cuBLASLt 13.1 offers algorithms for int8
 * that need 4 bytes, whatever alignment was requested. */
static uint64_t offset_of(const vly_gemm_desc *d, uint32_t type)
{
    const uint32_t bytes = element_bytes(type);
    return (d->align > bytes ? d->align : bytes) % 256;
}

static void size_sets(tuning *t)
{
    const vly_gemm_problem *p = t->problem;
    const vly_gemm_desc *d = &p->desc;
    const bool bias = (d->flags & VLY_GEMM_BIAS) != 0;
    const uint32_t scale = vly_gemm_scale_type(d);
    const uint64_t bytes[N_ARRAYS] = {
        [A] = p->bytes_a,
        [B] = p->bytes_b,
        [D] = p->bytes_d > p->bytes_c ? p->bytes_d : p->bytes_c,
        [BIAS] = bias ? p->bytes_bias : 0,
        [SMALL_BIAS] =
            bias && d->activation == VLY_GEMM_GELU ? p->bytes_bias : 0,
        [SCALE_A] = p->bytes_scale_a,
        [SCALE_B] = p->bytes_scale_b};
    const uint32_t types[N_ARRAYS] = {
        [A] = d->type_a,    [B] = d->type_b,          [D] = d->type_d,
        [BIAS] = d->type_d, [SMALL_BIAS] = d->type_d, [SCALE_A] = scale,
        [SCALE_B] = scale};
    t->set_bytes = 0;
    for (int i = 0; i < N_ARRAYS; i++) {
        const uint64_t offset = bytes[i] > 0 ? offset_of(d, types[i]) : 0;
        t->at[i] = t->set_bytes + offset;
        t->set_bytes += round_up(offset + bytes[i]);
    }
}

double vly_gemm_cuda_typical(const vly_gemm_desc *d)
{
    const double uniform = 0.577, scale = 0.0234; /* gemm_check_device.cu */
    const double a = d->type_a == VLY_ELEMENT_I8 ? 73.9 : uniform;
    const double b = d->type_b == VLY_ELEMENT_I8   ? 73.9
                     : d->type_b == VLY_ELEMENT_I4 ? 4.6
                                                   : uniform;
    double size = a * b * sqrt((double)d->k);
    size *= d->scale_a != VLY_SCALE_NONE ? scale : 1.0;
    size *= d->scale_b != VLY_SCALE_NONE ? scale : 1.0;
    return size;
}

/* Bias and C are as large as the sums: if they almost cancel, an earlier
 * rounding of a sum becomes visible. The C of a set is in the D of another. */
static cudaError_t fill_set(const tuning *t, uint32_t set)
{
    const vly_gemm_problem *p = t->problem;
    const vly_gemm_desc *d = &p->desc;
    const uint32_t scale = vly_gemm_scale_type(d);
    const bool bias = (d->flags & VLY_GEMM_BIAS) != 0;
    const struct {
        uint64_t bytes;
        uint32_t array, type;
        float most; /* 0: a scale */
    } all[] = {
        {p->bytes_a, A, d->type_a, 1.0f},
        {p->bytes_b, B, d->type_b, 1.0f},
        {bias ? p->bytes_bias : 0, BIAS, d->type_d,
         2.0f * (float)vly_gemm_cuda_typical(d)},
        {p->bytes_c, D, d->type_d, 2.0f * (float)vly_gemm_cuda_typical(d)},
        {p->bytes_scale_a, SCALE_A, scale, 0.0f},
        {p->bytes_scale_b, SCALE_B, scale, 0.0f},
        {bias && d->activation == VLY_GEMM_GELU ? p->bytes_bias : 0, SMALL_BIAS,
         d->type_d, VLY_GEMM_NEAR_GELU}};
    cudaError_t code = cudaSuccess;
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        if (code == cudaSuccess && all[i].bytes > 0)
            code = vly_cuda_gemm_fill(
                t->sets + set * t->set_bytes + t->at[all[i].array],
                all[i].bytes / element_bytes(all[i].type), all[i].type,
                all[i].most, 1 + set * 16 + i, t->stream);
    }
    return code;
}

/* Sets of more than three times the L2 cache together, or fewer (most_sets, or
 * as memory allows), at least one.
 * Errors  E_NOMEM not even one */
static vly_status take_memory(tuning *t, uint32_t most_sets, vly_error *error)
{
    int l2 = 0;
    vly_status status = VLY_OK;
    VLY_TRY(check(
        cudaDeviceGetAttribute(&l2, cudaDevAttrL2CacheSize, (int)t->device),
        "cudaDeviceGetAttribute", error));
    const uint64_t wanted =
        3 * (uint64_t)(l2 > 0 ? l2 : 0) / (t->set_bytes + 1) + 2;
    const uint64_t rows =
        round_up(VLY_GEMM_CHECKED_ROWS * t->problem->desc.n * 4);
    void *memory = NULL;
    t->n_sets = wanted < most_sets ? (uint32_t)wanted : most_sets;
    for (; t->n_sets > 0 && !memory; t->n_sets -= !memory ? 1 : 0) {
        const uint64_t bytes = t->n_sets * t->set_bytes +
                               round_up(t->workspace_bytes) + rows + 256;
        /* best effort: fewer sets measure, too */
        vly_error said = {.struct_size = sizeof said};
        status = vly_accel_cuda_take(t->device, bytes, VLY_QOS_BEST_EFFORT,
                                     &memory, &said);
        if (status != VLY_OK && status != VLY_E_NOMEM)
            return vly_support_fail(error, status, "%s", said.message);
    }
    if (!memory)
        return vly_support_fail_memory(t->set_bytes + t->workspace_bytes + rows,
                                       0, " on the device", error);
    t->sets = memory;
    t->workspace = t->sets + t->n_sets * t->set_bytes;
    t->rows = t->workspace + round_up(t->workspace_bytes);
    t->worst = (uint32_t *)(t->rows + rows);
    t->votes = (vly_cuda_votes *)(t->rows + rows + 64);
out:
    return status;
}

static vly_status tuning_init(tuning *t, uint32_t most_sets, vly_error *error)
{
    size_sets(t);
    vly_status status = VLY_OK;
    VLY_TRY(take_memory(t, most_sets, error));
    VLY_TRY(check(cudaStreamCreateWithFlags(&t->stream, cudaStreamNonBlocking),
                  "cudaStreamCreate", error));
    VLY_TRY(check(cudaEventCreate(&t->begin), "cudaEventCreate", error));
    VLY_TRY(check(cudaEventCreate(&t->end), "cudaEventCreate", error));
    for (uint32_t i = 0; i < t->n_sets; i++)
        VLY_TRY(check(fill_set(t, i), "random factors", error));
out:
    return status;
}

static void tuning_deinit(tuning *t)
{
    if (t->stream) {
        (void)cudaStreamSynchronize(t->stream);
        (void)cudaStreamDestroy(t->stream);
    }
    if (t->begin)
        (void)cudaEventDestroy(t->begin);
    if (t->end)
        (void)cudaEventDestroy(t->end);
    if (t->sets)
        vly_accel_cuda_give(t->device, t->sets);
    (void)cudaGetLastError();
}

vly_gemm_run vly_gemm_cuda_run_of(const tuning *t, uint32_t set)
{
    char *at = t->sets + set * t->set_bytes;
    return (vly_gemm_run){.struct_size = sizeof(vly_gemm_run),
                          .alpha = 1.0f,
                          .a = at + t->at[A],
                          .b = at + t->at[B],
                          .c = at + t->at[D],
                          .d = at + t->at[D],
                          .bias = at + t->at[BIAS],
                          .scale_a = at + t->at[SCALE_A],
                          .scale_b = at + t->at[SCALE_B],
                          .workspace = t->workspace,
                          .workspace_bytes = t->workspace_bytes,
                          .stream = t->stream};
}

/* ---- all of them
 * --------------------------------------------------------------- */

/* Some algorithms of the library round once too often, and for some products
 * each plan has an offered algorithm that does not run. Both are in the plan's
 * list and are not logged for users; other failures are. */
static void say_struck(const vly_gemm_problem *p, uint32_t index, float off,
                       const vly_error *error)
{
    const bool is_rounding = (double)off < VLY_GEMM_OFF_BY_ROUNDING;
    char what[200], text[500];
    vly_gemm_describe(&p->desc, what, sizeof what);
    const bool is_refused = error->message[0] != '\0';
    snprintf(text, sizeof text, "%s: %s: candidate %u is not used: %.200s",
             vly_support_plugin, what, index,
             is_refused    ? error->message
             : is_rounding ? "it rounds more than once"
                           : "its result is wrong");
    vly_support_host->log(vly_support_host->context,
                          is_refused    ? VLY_LOG_DEBUG
                          : is_rounding ? VLY_LOG_INFO
                                        : VLY_LOG_WARN,
                          text);
}

/* until_right: takes the first correct candidate and times nothing. */
static vly_status try_all(const tuning *t, const vly_gemm_lt lts[2],
                          vly_gemm_candidate *candidates, uint32_t n,
                          bool until_right, uint32_t *best, vly_error *error)
{
    double least = 0.0;
    for (uint32_t i = 0; i < n; i++) {
        float off = INFINITY;
        vly_error why = {.struct_size = sizeof why};
        vly_status status =
            vly_gemm_cuda_verify(t, &candidates[i], lts, &off, &why);
        const bool right = vly_gemm_cuda_is_right(off);
        if (status == VLY_OK && right && until_right) {
            *best = i;
            return VLY_OK;
        }
        if (status == VLY_OK && right)
            status = vly_gemm_cuda_time(t, lts, &candidates[i], least, &why);
        if (status != VLY_OK)
            return vly_support_fail(error, status, "%s", why.message);
        if (!right) {
            say_struck(t->problem, i, off, &why);
            candidates[i].way = VLY_GEMM_WAY_NONE;
            candidates[i].seconds = (double)off;
        } else if (least == 0.0 || candidates[i].seconds < least) {
            least = candidates[i].seconds;
            *best = i;
        }
    }
    if (least > 0.0)
        return vly_gemm_cuda_finals(t, lts, candidates, n, best, error);
    return vly_support_fail(error, VLY_E_UNSUPPORTED,
                            "%s: %u candidates, and none gave the right result",
                            vly_support_plugin, n);
}

vly_status vly_gemm_cuda_tune(const vly_gemm_problem *problem, uint32_t device,
                              const vly_gemm_lt lts[2],
                              vly_gemm_candidate *candidates, uint32_t n,
                              bool until_right, uint32_t *best,
                              vly_error *error)
{
    tuning t = {.problem = problem, .device = device};
    vly_error why = {.struct_size = sizeof why};
    for (uint32_t i = 0; i < n; i++) {
        const uint64_t bytes = vly_gemm_cuda_workspace(problem, &candidates[i]);
        t.workspace_bytes =
            bytes > t.workspace_bytes ? bytes : t.workspace_bytes;
    }
    const bool must = vly_gemm_cuda_must_verify(problem);
    vly_status status = tuning_init(&t, until_right ? 2 : MOST_SETS, &why);
    if (must && (status == VLY_E_NOMEM || (status == VLY_OK && t.n_sets < 2))) {
        status = vly_support_fail(&why, VLY_E_UNSUPPORTED, "%s",
                                  "no memory to compare a result");
    } else if (status == VLY_E_NOMEM) {
        vly_support_host->log(vly_support_host->context, VLY_LOG_WARN,
                              why.message);
        *best = 0; /* not measured */
        status = VLY_OK;
    } else if (status == VLY_OK) {
        status = try_all(&t, lts, candidates, n, until_right, best, &why);
    }
    tuning_deinit(&t);
    return status == VLY_OK
               ? VLY_OK
               : vly_support_fail(error, status, "%s", why.message);
}

vly_status vly_gemm_cuda_runs(const vly_gemm_problem *problem, uint32_t device,
                              const vly_gemm_lt lts[2],
                              const vly_gemm_candidate *candidate,
                              vly_error *error)
{
    tuning t = {.problem = problem,
                .device = device,
                .workspace_bytes = vly_gemm_cuda_workspace(problem, candidate)};
    vly_error why = {.struct_size = sizeof why};
    vly_status status = tuning_init(&t, 1, &why);
    if (status == VLY_OK) {
        const vly_gemm_run run = vly_gemm_cuda_run_of(&t, 0);
        if (vly_gemm_cuda_launch(problem, candidate, &lts[candidate->staged],
                                 &run, &why) != VLY_OK)
            status = VLY_E_UNSUPPORTED;
        else
            status = check(cudaStreamSynchronize(t.stream), "a trial", &why);
    } else if (status == VLY_E_NOMEM) {
        vly_support_host->log(vly_support_host->context, VLY_LOG_INFO,
                              why.message);
        status = VLY_OK;
    }
    tuning_deinit(&t);
    return status == VLY_OK
               ? VLY_OK
               : vly_support_fail(error, status, "%s", why.message);
}
