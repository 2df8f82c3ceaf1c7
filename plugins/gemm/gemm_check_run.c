/* SPDX-License-Identifier: Apache-2.0
 * The pointers of a run.
 */
#include "gemm_check.h"

#include "accel_common.h"
#include "element.h"

/* The memory area of a pointer of the run. */
typedef struct region {
    const char *name;
    const void *pointer;
    uint64_t bytes;
    uint64_t pitch; /* bytes from row to row; 0: rows are not distinguished */
    uint64_t row;   /* bytes of a row */
    uint32_t align;
} region;

static vly_status check_pointer(const region *r, vly_error *error)
{
    if (r->bytes == 0)
        return VLY_OK;
    if (!r->pointer)
        return vly_support_fail(
            error, VLY_E_INVALID, "%s: %s is NULL, wanted %llu bytes",
            vly_support_plugin, r->name, (unsigned long long)r->bytes);
    if ((uintptr_t)r->pointer % r->align != 0)
        return vly_support_fail(
            error, VLY_E_INVALID, "%s: %s is %p, wanted a multiple of %u bytes",
            vly_support_plugin, r->name, r->pointer, r->align);
    return VLY_OK;
}

/* Parts of the same rows, as two groups of columns of one matrix. */
static bool side_by_side(const region *x, const region *y, uint64_t apart)
{
    if (x->pitch == 0 || x->pitch != y->pitch)
        return false;
    const uint64_t column = apart % x->pitch; /* position of y's rows within
                                               * x's */
    return column >= x->row && column + y->row <= x->pitch;
}

static bool overlap(const region *x, const region *y)
{
    if (x->bytes == 0 || y->bytes == 0)
        return false;
    const uintptr_t a = (uintptr_t)x->pointer;
    const uintptr_t b = (uintptr_t)y->pointer;
    if (a <= b)
        return b - a < x->bytes && !side_by_side(x, y, b - a);
    return a - b < y->bytes && !side_by_side(y, x, a - b);
}

static uint32_t align_of(const vly_gemm_desc *desc, uint32_t type)
{
    const uint32_t bytes = (vly_element_bits(type) + 7) / 8;
    return desc->align > bytes ? desc->align : bytes;
}

/* Rows can be distinguished only in a single product. */
static region matrix(const vly_gemm_desc *desc, const char *name,
                     const void *pointer, uint64_t bytes, uint32_t type,
                     uint64_t pitch, uint64_t cols)
{
    const uint32_t bits = vly_element_bits(type);
    region r = {.name = name,
                .pointer = pointer,
                .bytes = bytes,
                .align = align_of(desc, type)};
    if (desc->batch == 1) {
        r.pitch = pitch * bits / 8;
        r.row = (cols * bits + 7) / 8;
    }
    return r;
}

static region array(const vly_gemm_desc *desc, const char *name,
                    const void *pointer, uint64_t bytes, uint32_t type)
{
    return (region){.name = name,
                    .pointer = pointer,
                    .bytes = bytes,
                    .align = align_of(desc, type)};
}

enum { A, B, C, D, BIAS, SCALE_A, SCALE_B, WORKSPACE, N_REGIONS };

/* Bytes are 0 if nothing is read or written. */
static void find_regions(const vly_gemm_problem *p, uint64_t workspace_bytes,
                         const vly_gemm_run *run, region regions[N_REGIONS])
{
    const vly_gemm_desc *d = &p->desc;
    const bool reads = vly_gemm_reads(p, run);
    const bool has_bias = (d->flags & VLY_GEMM_BIAS) != 0;
    const uint32_t scales = vly_gemm_scale_type(d);
    regions[A] = matrix(d, "a", run->a, reads ? p->bytes_a : 0, d->type_a,
                        d->lda, d->flags & VLY_GEMM_TRANS_A ? d->m : d->k);
    regions[B] = matrix(d, "b", run->b, reads ? p->bytes_b : 0, d->type_b,
                        d->ldb, d->flags & VLY_GEMM_TRANS_B ? d->k : d->n);
    /* a NaN as beta makes D NaN, so C is read */
    regions[C] = matrix(d, "c", run->c, run->beta == 0.0f ? 0 : p->bytes_c,
                        d->type_d, d->ldc, d->n);
    regions[D] = matrix(d, "d", run->d, p->bytes_d, d->type_d, d->ldd, d->n);
    regions[BIAS] =
        array(d, "bias", run->bias, has_bias ? p->bytes_bias : 0, d->type_d);
    regions[SCALE_A] =
        array(d, "scale_a", run->scale_a, reads ? p->bytes_scale_a : 0, scales);
    regions[SCALE_B] =
        array(d, "scale_b", run->scale_b, reads ? p->bytes_scale_b : 0, scales);
    regions[WORKSPACE] = (region){.name = "workspace",
                                  .pointer = run->workspace,
                                  .bytes = workspace_bytes,
                                  .align = 256};
}

static vly_status check_overlaps(const vly_gemm_desc *desc,
                                 const region regions[N_REGIONS],
                                 vly_error *error)
{
    const bool in_place =
        regions[C].pointer == regions[D].pointer && desc->ldc == desc->ldd &&
        (desc->batch == 1 || desc->stride_c == desc->stride_d);
    for (int i = 0; i < N_REGIONS; i++) {
        if (i != D && !(i == C && in_place) &&
            overlap(&regions[i], &regions[D]))
            return vly_support_fail(
                error, VLY_E_INVALID, "%s: %s overlaps d%s", vly_support_plugin,
                regions[i].name, i == C ? " and is not laid out like it" : "");
        if (i != WORKSPACE && overlap(&regions[i], &regions[WORKSPACE]))
            return vly_support_fail(error, VLY_E_INVALID,
                                    "%s: %s overlaps the workspace",
                                    vly_support_plugin, regions[i].name);
    }
    return VLY_OK;
}

bool vly_gemm_reads(const vly_gemm_problem *problem, const vly_gemm_run *run)
{
    return !(run->alpha == 0.0f) && problem->desc.k > 0 && !problem->is_empty;
}

vly_status vly_gemm_check_run(const vly_gemm_problem *problem,
                              uint64_t workspace_bytes, const vly_gemm_run *run,
                              vly_error *error)
{
    vly_status status = VLY_OK;
    region regions[N_REGIONS];
    if (!run || run->struct_size < sizeof *run)
        return vly_support_fail(
            error, VLY_E_INVALID,
            "%s: run: struct_size is %u, wanted at least %u",
            vly_support_plugin, run ? run->struct_size : 0,
            (uint32_t)sizeof *run);
    if (vly_accel_check_reserved("run", run->reserved, error) != VLY_OK)
        return VLY_E_INVALID;
    if (problem->kind == VLY_GEMM_INT8 &&
        (run->alpha != 1.0f || !(run->beta == 0.0f || run->beta == 1.0f)))
        return vly_support_fail(error, VLY_E_INVALID,
                                "%s: int8 to int32: alpha is %g and beta %g, "
                                "wanted 1, and 0 or 1",
                                vly_support_plugin, (double)run->alpha,
                                (double)run->beta);
    if (problem->is_empty)
        return VLY_OK;
    if (run->workspace_bytes < workspace_bytes)
        return vly_support_fail(error, VLY_E_INVALID,
                                "%s: the workspace has %llu bytes, wanted %llu",
                                vly_support_plugin,
                                (unsigned long long)run->workspace_bytes,
                                (unsigned long long)workspace_bytes);
    find_regions(problem, workspace_bytes, run, regions);
    for (int i = 0; i < N_REGIONS; i++) {
        VLY_TRY(check_pointer(&regions[i], error));
    }
    status = check_overlaps(&problem->desc, regions, error);
out:
    return status;
}
