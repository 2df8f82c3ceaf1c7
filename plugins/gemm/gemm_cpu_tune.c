/* SPDX-License-Identifier: Apache-2.0
 * Measures the time of a plan on random data. A run that would take long is
 * measured on a part of its shape: the faster of two ways is the same there.
 * Random factors take longer to make than to multiply, so they are kept for the
 * next way and the next plan, until other clients need their memory.
 */
#include <string.h>

#include "element.h"
#include "gemm_cpu.h"

enum { REPEATS = 3 };

/* 33 million products, some milliseconds; 4 million elements of a matrix */
#define MOST_PRODUCTS (UINT64_C(1) << 25)
#define MOST_ELEMENTS (UINT64_C(1) << 22)

/* Halves the largest dimension; int4 needs multiples of 128 of k. */
static void cut(vly_gemm_desc *desc)
{
    uint64_t *largest = &desc->k;
    if (desc->n > *largest)
        largest = &desc->n;
    if (desc->m > *largest)
        largest = &desc->m;
    *largest = (*largest + 1) / 2;
    if (largest == &desc->k && desc->k >= 128)
        desc->k = desc->k / 128 * 128;
}

/* A single compact product of the same kind; true: it has the full size. */
static bool part_of(const vly_gemm_desc *desc, vly_gemm_desc *part)
{
    *part = *desc;
    part->batch = 1;
    while (part->k > MOST_ELEMENTS || part->n > MOST_ELEMENTS ||
           part->m > MOST_ELEMENTS || part->n * part->k > MOST_ELEMENTS ||
           part->m * part->k > MOST_ELEMENTS ||
           part->m * part->n > MOST_ELEMENTS ||
           part->m * part->n * part->k > MOST_PRODUCTS)
        cut(part);
    part->lda = (part->flags & VLY_GEMM_TRANS_A) != 0 ? part->m : part->k;
    part->ldb = (part->flags & VLY_GEMM_TRANS_B) != 0 ? part->k : part->n;
    part->ldc = part->n;
    part->ldd = part->n;
    return desc->batch == 1 && part->m == desc->m && part->n == desc->n &&
           part->k == desc->k && part->lda == desc->lda &&
           part->ldb == desc->ldb && part->ldd == desc->ldd;
}

/* Numbers in [-1, 1), not all 0: speed may depend on the data. */
static void fill(uint32_t type, void *array, uint64_t bytes, uint64_t *state)
{
    const uint64_t n = bytes * 8 / vly_element_bits(type);
    float piece[64];
    for (uint64_t at = 0; at < n; at += 64) {
        const uint64_t m = n - at < 64 ? n - at : 64;
        for (uint64_t i = 0; i < m; i++) {
            *state = *state * UINT64_C(6364136223846793005) +
                     UINT64_C(1442695040888963407);
            const float x = (float)(*state >> 40) * 0x1p-23f - 1.0f;
            piece[i] = type == VLY_ELEMENT_I8   ? x * 127.0f
                       : type == VLY_ELEMENT_I4 ? x * 7.0f
                                                : x;
        }
        vly_element_from_f32(type, piece, array, at, m);
    }
}

/* [A, B][type] */
enum { N_TYPES = 8 };
static vly_accel_shared factors[2][N_TYPES];

typedef struct factor {
    uint32_t which; /* 0: A, 1: B */
    uint32_t type;
} factor;

static void make_factor(void *arg, void *memory, uint64_t bytes)
{
    const factor *f = arg;
    uint64_t state = f->which * N_TYPES + f->type;
    fill(f->type, memory, bytes, &state);
}

static vly_status hold_factor(uint32_t which, uint32_t type, uint64_t bytes,
                              const void **memory, vly_error *error)
{
    factor f = {which, type};
    return vly_accel_shared_hold(&factors[which][type], bytes, make_factor, &f,
                                 memory, error);
}

void vly_gemm_measure_forget(void)
{
    for (uint32_t type = 0; type < N_TYPES; type++) {
        vly_accel_shared_forget(&factors[0][type]);
        vly_accel_shared_forget(&factors[1][type]);
    }
}

/* C is not read: beta is 0. */
typedef struct buffers {
    const void *a;
    const void *b;
    void *d;
    void *bias;
    void *scale_a;
    void *scale_b;
    void *workspace;
} buffers;

static void buffers_free(const vly_gemm_problem *p, buffers *all)
{
    vly_accel_shared_release(&factors[0][p->desc.type_a], all->a, p->bytes_a);
    vly_accel_shared_release(&factors[1][p->desc.type_b], all->b, p->bytes_b);
    vly_accel_give(all->d);
    vly_accel_give(all->bias);
    vly_accel_give(all->scale_a);
    vly_accel_give(all->scale_b);
    vly_accel_give(all->workspace);
}

static vly_status make(uint64_t bytes, uint32_t type, void **out,
                       vly_error *error)
{
    uint64_t state = type;
    vly_status status = VLY_OK;
    VLY_TRY(vly_accel_take(bytes, VLY_QOS_BEST_EFFORT, out, error));
    fill(type, *out, bytes, &state);
out:
    return status;
}

static vly_status buffers_make(const vly_gemm_plan *plan, buffers *all,
                               vly_error *error)
{
    const vly_gemm_problem *p = &plan->problem;
    const uint32_t scales = vly_gemm_scale_type(&p->desc);
    vly_status status = VLY_OK;
    VLY_TRY(hold_factor(0, p->desc.type_a, p->bytes_a, &all->a, error));
    VLY_TRY(hold_factor(1, p->desc.type_b, p->bytes_b, &all->b, error));
    VLY_TRY(vly_accel_take(p->bytes_d, VLY_QOS_BEST_EFFORT, &all->d, error));
    VLY_TRY(make(p->bytes_bias, p->desc.type_d, &all->bias, error));
    VLY_TRY(make(p->bytes_scale_a, scales, &all->scale_a, error));
    VLY_TRY(make(p->bytes_scale_b, scales, &all->scale_b, error));
    VLY_TRY(vly_accel_take(plan->workspace_bytes, VLY_QOS_BEST_EFFORT,
                           &all->workspace, error));
out:
    return status;
}

static double time_runs(const vly_gemm_plan *plan, const buffers *all)
{
    const vly_gemm_run run = {.struct_size = sizeof run,
                              .alpha = 1.0f,
                              .a = all->a,
                              .b = all->b,
                              .c = all->d,
                              .d = all->d,
                              .bias = all->bias,
                              .scale_a = all->scale_a,
                              .scale_b = all->scale_b,
                              .workspace = all->workspace,
                              .workspace_bytes = plan->workspace_bytes};
    const vly_host *host = vly_support_host;
    uint64_t best = UINT64_MAX;
    vly_gemm_cpu_execute(plan, &run); /* caches and threads are warm after */
    for (int i = 0; i < REPEATS; i++) {
        const uint64_t begin = host->clock_ns(host->context);
        vly_gemm_cpu_execute(plan, &run);
        const uint64_t spent = host->clock_ns(host->context) - begin;
        best = spent < best ? spent : best;
    }
    return (double)(best > 0 ? best : 1) * 1e-9;
}

vly_status vly_gemm_measure(const vly_gemm_plan *plan, double *seconds,
                            bool *is_whole, vly_error *error)
{
    buffers all;
    vly_gemm_desc desc;
    vly_gemm_plan part = *plan;
    memset(&all, 0, sizeof all);
    *is_whole = part_of(&plan->problem.desc, &desc);
    vly_status status = VLY_OK;
    VLY_TRY(vly_gemm_check_desc(&desc, &part.problem, error));
    if (part.way != VLY_GEMM_GEMV &&
        !vly_gemm_tile_fit(&part.problem, part.kernels, part.way,
                           part.n_threads, desc.workspace_most, &part.tile))
        return vly_support_fail(error, VLY_E_UNSUPPORTED, "%s: no tile fits",
                                vly_support_plugin);
    part.workspace_bytes = part.tile.thread_bytes * part.n_threads;
    status = buffers_make(&part, &all, error);
    if (status == VLY_OK)
        *seconds = time_runs(&part, &all);
    buffers_free(&part.problem, &all);
out:
    return status;
}
