/* SPDX-License-Identifier: Apache-2.0
 * Which candidate is right, and which is fastest.
 *
 * Right: the first and the last rows of the first and the last product are
 * those of gemm_own.cu in fp32, within what one rounding explains. A heuristic
 * that gives garbage or NaN is struck out, and one that rounds a sum to 16 bits
 * before it adds the bias (algorithms 16, 23 and 24 of cuBLASLt 13.1 on an
 * H200). gemm_cuda_time.c says which is the fastest, on random data (zeros draw
 * less power and so run faster) that is taken in turns from sets of more than
 * three times the L2 cache, or as many as there is memory for.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <cuda_runtime_api.h>

#include "gemm_cuda_tune.h"

enum {
    CHECKED_ROWS = 64,
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

static void size_sets(tuning *t)
{
    const vly_gemm_problem *p = t->problem;
    const uint64_t bytes[N_ARRAYS] = {
        [A] = p->bytes_a,
        [B] = p->bytes_b,
        [D] = p->bytes_d > p->bytes_c ? p->bytes_d : p->bytes_c,
        [BIAS] = (p->desc.flags & VLY_GEMM_BIAS) != 0 ? p->bytes_bias : 0,
        [SCALE_A] = p->bytes_scale_a,
        [SCALE_B] = p->bytes_scale_b};
    t->set_bytes = 0;
    for (int i = 0; i < N_ARRAYS; i++) {
        t->at[i] = t->set_bytes;
        t->set_bytes += round_up(bytes[i]);
    }
}

/* About the size of a sum of such random factors before the activation: what a
 * difference is measured by where an element happens to be near 0. */
static double typical(const vly_gemm_desc *d)
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

/* Bias and C of the size of the sums: where they nearly cancel, a sum that was
 * rounded before shows. The C of a set is in the D of another. */
static cudaError_t fill_set(const tuning *t, uint32_t set)
{
    const vly_gemm_problem *p = t->problem;
    const vly_gemm_desc *d = &p->desc;
    const uint32_t scale = vly_gemm_scale_type(d);
    const uint64_t scale_bytes = scale == VLY_ELEMENT_F32 ? 4 : 2;
    const struct {
        uint64_t bytes;
        uint32_t array, type;
        float most; /* 0: a scale */
    } all[] = {{p->bytes_a, A, d->type_a, 1.0f},
               {p->bytes_b, B, d->type_b, 1.0f},
               {(d->flags & VLY_GEMM_BIAS) != 0 ? p->bytes_bias : 0, BIAS,
                d->type_d, 2.0f * (float)typical(d)},
               {p->bytes_c, D, d->type_d, 2.0f * (float)typical(d)},
               {p->bytes_scale_a, SCALE_A, scale, 0.0f},
               {p->bytes_scale_b, SCALE_B, scale, 0.0f}};
    cudaError_t code = cudaSuccess;
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        const uint64_t size =
            all[i].most == 0.0f ? scale_bytes
            : all[i].type == VLY_ELEMENT_F32 || all[i].type == VLY_ELEMENT_I32
                ? 4
            : all[i].type == VLY_ELEMENT_F16 || all[i].type == VLY_ELEMENT_BF16
                ? 2
                : 1;
        if (code == cudaSuccess && all[i].bytes > 0)
            code = vly_cuda_gemm_fill(t->sets + set * t->set_bytes +
                                          t->at[all[i].array],
                                      all[i].bytes / size, all[i].type,
                                      all[i].most, 1 + set * 16 + i, t->stream);
    }
    return code;
}

/* Sets that are more than three times the L2 cache, or fewer (most_sets, or
 * what there is memory for), down to one.
 * Errors E_NOMEM not even one */
static vly_status take_memory(tuning *t, uint32_t most_sets, vly_error *error)
{
    int l2 = 0;
    vly_status status = check(
        cudaDeviceGetAttribute(&l2, cudaDevAttrL2CacheSize, (int)t->device),
        "cudaDeviceGetAttribute", error);
    if (status != VLY_OK)
        return status;
    const uint64_t wanted =
        3 * (uint64_t)(l2 > 0 ? l2 : 0) / (t->set_bytes + 1) + 2;
    const uint64_t rows = round_up(CHECKED_ROWS * t->problem->desc.n * 4);
    void *memory = NULL;
    t->n_sets = wanted < most_sets ? (uint32_t)wanted : most_sets;
    for (; t->n_sets > 0 && memory == NULL;
         t->n_sets -= memory == NULL ? 1 : 0) {
        const uint64_t bytes = t->n_sets * t->set_bytes +
                               round_up(t->workspace_bytes) + rows + 256;
        /* best effort: fewer sets measure, too */
        vly_error said = {.struct_size = sizeof said};
        status = vly_accel_cuda_take(t->device, bytes, VLY_QOS_BEST_EFFORT,
                                     &memory, &said);
        if (status != VLY_OK && status != VLY_E_NOMEM)
            return vly_accel_fail(error, status, "%s", said.message);
    }
    if (memory == NULL)
        return vly_accel_fail_memory(t->set_bytes + t->workspace_bytes + rows,
                                     0, " on the device", error);
    t->sets = memory;
    t->workspace = t->sets + t->n_sets * t->set_bytes;
    t->rows = t->workspace + round_up(t->workspace_bytes);
    t->worst = (uint32_t *)(t->rows + rows);
    return VLY_OK;
}

static vly_status tuning_init(tuning *t, uint32_t most_sets, vly_error *error)
{
    size_sets(t);
    vly_status status = take_memory(t, most_sets, error);
    if (status == VLY_OK)
        status =
            check(cudaStreamCreateWithFlags(&t->stream, cudaStreamNonBlocking),
                  "cudaStreamCreate", error);
    if (status == VLY_OK)
        status = check(cudaEventCreate(&t->begin), "cudaEventCreate", error);
    if (status == VLY_OK)
        status = check(cudaEventCreate(&t->end), "cudaEventCreate", error);
    for (uint32_t i = 0; i < t->n_sets && status == VLY_OK; i++)
        status = check(fill_set(t, i), "random factors", error);
    return status;
}

static void tuning_deinit(tuning *t)
{
    if (t->stream != NULL) {
        (void)cudaStreamSynchronize(t->stream);
        (void)cudaStreamDestroy(t->stream);
    }
    if (t->begin != NULL)
        (void)cudaEventDestroy(t->begin);
    if (t->end != NULL)
        (void)cudaEventDestroy(t->end);
    if (t->sets != NULL)
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

/* ---- right
 * ---------------------------------------------------------------------- */

bool vly_gemm_cuda_must_verify(const vly_gemm_problem *p)
{
    const vly_gemm_desc *d = &p->desc;
    const bool is_half =
        d->type_d == VLY_ELEMENT_F16 || d->type_d == VLY_ELEMENT_BF16;
    return d->scale_a == VLY_SCALE_BLOCK ||
           (is_half && ((d->flags & VLY_GEMM_BIAS) != 0 ||
                        d->activation != VLY_GEMM_IDENTITY));
}

/* What rounding explains: half a unit of D; sums in another order, of k / 16
 * steps that a tensor core truncates; factors of tf32; sums of about 14 bits
 * (fp8); tanh.approx, which is off by 2^-11. Garbage is off by about 1. */
static vly_cuda_allowance allowance(const vly_gemm_problem *p)
{
    const vly_gemm_desc *d = &p->desc;
    vly_cuda_allowance a = {0};
    if (p->kind == VLY_GEMM_INT8)
        return a;
    const double fine = 0x1p-15 + (double)d->k * 0x1p-26;
    double order = fine < 0x1p-13 ? fine : 0x1p-13;
    if ((d->flags & VLY_GEMM_TF32) != 0)
        order = 0x1p-7;
    if (p->kind == VLY_GEMM_FP8)
        order = 0x1p-5;
    const double size = typical(d);
    const double half = d->type_d == VLY_ELEMENT_BF16  ? 0x1p-8
                        : d->type_d == VLY_ELEMENT_F16 ? 0x1p-11
                                                       : 0;
    a.of_d = (float)(half + order);
    a.of_x = d->activation == VLY_GEMM_GELU ? 0x1p-11f : 0.0f;
    a.of_all =
        (float)(order *
                (d->activation == VLY_GEMM_RELU2 ? size + size * size : size));
    return a;
}

/* Rows [first, first + rows) of product z as a product of its own. */
static vly_cuda_gemm rows_of(const vly_gemm_problem *p, const vly_gemm_run *run,
                             uint64_t z, uint64_t first, uint64_t rows)
{
    vly_cuda_gemm g;
    vly_gemm_cuda_describe(p, run, &g);
    const vly_gemm_desc *d = &p->desc;
    const uint64_t size_a = d->type_a == VLY_ELEMENT_F32    ? 4
                            : d->type_a == VLY_ELEMENT_F16  ? 2
                            : d->type_a == VLY_ELEMENT_BF16 ? 2
                                                            : 1;
    const uint64_t size_d =
        d->type_d == VLY_ELEMENT_F16 || d->type_d == VLY_ELEMENT_BF16 ? 2 : 4;
    const uint64_t size_b =
        d->type_b == VLY_ELEMENT_F32                                    ? 8
        : d->type_b == VLY_ELEMENT_F16 || d->type_b == VLY_ELEMENT_BF16 ? 4
        : d->type_b == VLY_ELEMENT_I4                                   ? 1
                                      : 2; /* half bytes */
    const uint64_t blocks = (d->k + 127) / 128;
    const uint64_t scales = d->scale_a == VLY_SCALE_ROW     ? first
                            : d->scale_a == VLY_SCALE_BLOCK ? first * blocks
                                                            : 0;
    const uint64_t scale_size =
        vly_gemm_scale_type(d) == VLY_ELEMENT_F32 ? 4 : 2;
    g.a = (const char *)g.a +
          (z * d->stride_a + (g.trans_a ? first : first * d->lda)) * size_a;
    g.b = (const char *)g.b + z * d->stride_b * size_b / 2;
    g.d = (char *)g.d + (z * d->stride_d + first * d->ldd) * size_d;
    g.c = (const char *)g.c + (z * d->stride_c + first * d->ldc) * size_d;
    if (g.bias != NULL)
        g.bias = (const char *)g.bias + z * d->stride_bias * size_d;
    g.scale_a = (const char *)g.scale_a + (z * d->stride_scale_a + scales) * 4;
    g.scale_b = (const char *)g.scale_b + z * d->stride_scale_b * scale_size;
    g.m = rows;
    g.batch = 1;
    return g;
}

/* The largest difference of the rows, in *worst of the device. */
static cudaError_t compare_rows(const tuning *t, const vly_gemm_run *run,
                                uint64_t z, uint64_t first, uint64_t rows)
{
    const vly_gemm_desc *d = &t->problem->desc;
    const vly_cuda_gemm found = rows_of(t->problem, run, z, first, rows);
    vly_cuda_gemm g = found;
    g.d = t->rows;
    g.ldd = d->n;
    if (d->type_d != VLY_ELEMENT_I32) {
        g.type_d = VLY_CUDA_F32;
        g.beta = 0.0f;
    }
    g.bias = NULL;
    g.activation = VLY_CUDA_IDENTITY;
    cudaError_t code = vly_cuda_gemm_own(&g, t->stream);
    if (code == cudaSuccess)
        code = vly_cuda_gemm_compare(&found, t->rows, allowance(t->problem),
                                     t->worst, t->stream);
    return code;
}

/* Runs it once and looks at what came out: *off is how many times what is
 * allowed it is off by, infinity where it does not run. beta is 0, or there are
 * two sets. */
static vly_status verify_once(const tuning *t, const vly_gemm_candidate *c,
                              const vly_gemm_lt lts[2], float alpha, float beta,
                              float *off, vly_error *error)
{
    const vly_gemm_desc *d = &t->problem->desc;
    const uint64_t rows = d->m < CHECKED_ROWS ? d->m : CHECKED_ROWS;
    vly_gemm_run run = vly_gemm_cuda_run_of(t, 0);
    uint32_t bits = 0;
    run.alpha = alpha;
    run.beta = beta;
    run.c = vly_gemm_cuda_run_of(t, t->n_sets - 1).d;
    *off = INFINITY;
    /* what it does not write shows as NaN (integers: -1) */
    vly_status status = check(
        cudaMemsetAsync(run.d, 255, (size_t)t->problem->bytes_d, t->stream),
        "cudaMemset", error);
    if (status == VLY_OK)
        status = check(cudaMemsetAsync(t->worst, 0, sizeof bits, t->stream),
                       "cudaMemset", error);
    /* a library may refuse to run what its heuristics offered */
    if (status == VLY_OK && vly_gemm_cuda_launch(t->problem, c, &lts[c->staged],
                                                 &run, error) != VLY_OK)
        return VLY_OK;
    if (status == VLY_OK)
        status = check(compare_rows(t, &run, 0, 0, rows), "comparing", error);
    if (status == VLY_OK)
        status = check(compare_rows(t, &run, d->batch - 1, d->m - rows, rows),
                       "comparing", error);
    if (status == VLY_OK)
        status = check(cudaMemcpyAsync(&bits, t->worst, sizeof bits,
                                       cudaMemcpyDeviceToHost, t->stream),
                       "copy from the device", error);
    if (status == VLY_OK)
        status = check(cudaStreamSynchronize(t->stream), "comparing", error);
    if (status == VLY_OK)
        memcpy(off, &bits, sizeof *off);
    return status;
}

/* With C too where it matters: algorithm 24 of cuBLASLt 13.1 rounds a sum and
 * beta C before it adds the bias, and a sum alone not. */
static vly_status verify(const tuning *t, const vly_gemm_candidate *c,
                         const vly_gemm_lt lts[2], float *off, vly_error *error)
{
    float with_c = 0.0f;
    vly_status status = verify_once(t, c, lts, 1.0f, 0.0f, off, error);
    if (status != VLY_OK || !vly_gemm_cuda_must_verify(t->problem) ||
        !(*off <= 1.0f))
        return status;
    status = verify_once(t, c, lts, 0.5f, -1.5f, &with_c, error);
    if (!(with_c <= *off))
        *off = with_c;
    return status;
}

/* ---- all of them
 * --------------------------------------------------------------- */

/* One rounding too many is what some of the library's algorithms do and no news
 * for a user; anything else is. */
static void say_struck(const vly_gemm_problem *p, uint32_t index, float off,
                       const vly_error *error)
{
    const bool is_rounding = (double)off < VLY_GEMM_OFF_BY_ROUNDING;
    char what[200], text[500];
    vly_gemm_describe(&p->desc, what, sizeof what);
    snprintf(text, sizeof text, "%s: %s: candidate %u is not used: %.200s",
             vly_accel_plugin, what, index,
             error->message[0] != '\0' ? error->message
             : is_rounding             ? "it rounds more than once"
                                       : "its result is wrong");
    vly_accel_host->log(vly_accel_host->context,
                        is_rounding ? VLY_LOG_INFO : VLY_LOG_WARN, text);
}

/* until_right: the first that is right is taken and nothing is timed. */
static vly_status try_all(const tuning *t, const vly_gemm_lt lts[2],
                          vly_gemm_candidate *candidates, uint32_t n,
                          bool until_right, uint32_t *best, vly_error *error)
{
    double least = 0.0;
    for (uint32_t i = 0; i < n; i++) {
        float off = INFINITY;
        vly_error why = {.struct_size = sizeof why};
        vly_status status = verify(t, &candidates[i], lts, &off, &why);
        const bool right = off <= 1.0f;
        if (status == VLY_OK && right && until_right) {
            *best = i;
            return VLY_OK;
        }
        if (status == VLY_OK && right)
            status = vly_gemm_cuda_time(t, lts, &candidates[i], least, &why);
        if (status != VLY_OK)
            return vly_accel_fail(error, status, "%s", why.message);
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
    return vly_accel_fail(error, VLY_E_UNSUPPORTED,
                          "%s: %u candidates, and none gave the right result",
                          vly_accel_plugin, n);
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
        status = vly_accel_fail(&why, VLY_E_UNSUPPORTED, "%s",
                                "no memory to compare a result");
    } else if (status == VLY_E_NOMEM) {
        vly_accel_host->log(vly_accel_host->context, VLY_LOG_WARN, why.message);
        *best = 0; /* not measured */
        status = VLY_OK;
    } else if (status == VLY_OK) {
        status = try_all(&t, lts, candidates, n, until_right, best, &why);
    }
    tuning_deinit(&t);
    return status == VLY_OK ? VLY_OK
                            : vly_accel_fail(error, status, "%s", why.message);
}
