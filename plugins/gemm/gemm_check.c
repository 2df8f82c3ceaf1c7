/* SPDX-License-Identifier: Apache-2.0
 * Descriptions of products.
 */
#include "gemm_check.h"

#include <stdio.h>
#include <string.h>

#include "accel_common.h"
#include "element.h"

static const uint32_t known_flags = VLY_GEMM_TRANS_A | VLY_GEMM_TRANS_B |
                                    VLY_GEMM_BIAS | VLY_GEMM_TF32 |
                                    VLY_GEMM_FAST;

static const char *const scale_names[] = {"none", "scalar", "row", "block",
                                          "group"};
static const char *const activation_names[] = {"identity", "relu", "relu2",
                                               "gelu"};

static const char *scale_name(uint32_t scale)
{
    return scale <= VLY_SCALE_GROUP ? scale_names[scale] : "?";
}

uint32_t vly_gemm_scale_type(const vly_gemm_desc *desc)
{
    const bool weight_only =
        desc->type_a == VLY_ELEMENT_F16 || desc->type_a == VLY_ELEMENT_BF16;
    return weight_only ? desc->type_a : VLY_ELEMENT_F32;
}

void vly_gemm_describe(const vly_gemm_desc *desc, char *text, size_t size)
{
    const uint32_t f = desc->flags;
    char batch[40] = "";
    if (desc->batch > 1)
        snprintf(batch, sizeof batch, ", %llu products",
                 (unsigned long long)desc->batch);
    snprintf(text, size, "%s x %s -> %s, %llu x %llu x %llu%s%s%s%s%s%s",
             vly_element_name(desc->type_a), vly_element_name(desc->type_b),
             vly_element_name(desc->type_d), (unsigned long long)desc->m,
             (unsigned long long)desc->n, (unsigned long long)desc->k, batch,
             f & VLY_GEMM_TRANS_A ? ", A transposed" : "",
             f & VLY_GEMM_TRANS_B ? ", B transposed" : "",
             f & VLY_GEMM_BIAS ? ", bias" : "",
             desc->activation != 0 ? ", " : "",
             desc->activation != 0 && desc->activation <= VLY_GEMM_GELU
                 ? activation_names[desc->activation]
                 : "");
}

/* ---- which row of the table ------------------------------------------- */

static bool is_half(uint32_t type)
{
    return type == VLY_ELEMENT_F16 || type == VLY_ELEMENT_BF16;
}

static bool is_float(uint32_t type)
{
    return is_half(type) || type == VLY_ELEMENT_F32;
}

/* false: types that cannot be combined */
static bool find_kind(const vly_gemm_desc *desc, vly_gemm_kind *kind)
{
    const uint32_t a = desc->type_a;
    const uint32_t b = desc->type_b;
    const uint32_t d = desc->type_d;
    if (a == b && is_float(a)) {
        *kind = VLY_GEMM_FLOAT;
        return d == a || d == VLY_ELEMENT_F32;
    }
    if (a == b && a == VLY_ELEMENT_E4M3) {
        *kind = VLY_GEMM_FP8;
        return is_float(d);
    }
    if (a == b && a == VLY_ELEMENT_I8) {
        *kind = d == VLY_ELEMENT_I32 ? VLY_GEMM_INT8 : VLY_GEMM_INT8_SCALED;
        return d == VLY_ELEMENT_I32 || is_float(d);
    }
    *kind = VLY_GEMM_WEIGHT_ONLY;
    return is_half(a) && (b == VLY_ELEMENT_I8 || b == VLY_ELEMENT_I4) && d == a;
}

static bool scales_fit(const vly_gemm_desc *desc, vly_gemm_kind kind,
                       const char **wanted)
{
    const uint32_t a = desc->scale_a;
    const uint32_t b = desc->scale_b;
    switch (kind) {
    case VLY_GEMM_FP8:
        *wanted = "both scalar, both row or both block";
        return a == b && (a == VLY_SCALE_SCALAR || a == VLY_SCALE_ROW ||
                          a == VLY_SCALE_BLOCK);
    case VLY_GEMM_INT8_SCALED:
        *wanted = "both row";
        return a == b && a == VLY_SCALE_ROW;
    case VLY_GEMM_WEIGHT_ONLY:
        *wanted =
            desc->type_b == VLY_ELEMENT_I4 ? "none and group" : "none and row";
        return a == VLY_SCALE_NONE &&
               b == (desc->type_b == VLY_ELEMENT_I4 ? VLY_SCALE_GROUP
                                                    : VLY_SCALE_ROW);
    default:
        *wanted = "none";
        return a == VLY_SCALE_NONE && b == VLY_SCALE_NONE;
    }
}

static vly_status check_layout(const vly_gemm_desc *desc, vly_gemm_kind kind,
                               vly_error *error)
{
    const bool trans_a = (desc->flags & VLY_GEMM_TRANS_A) != 0;
    const bool trans_b = (desc->flags & VLY_GEMM_TRANS_B) != 0;
    const char *b = vly_element_name(desc->type_b);
    if (kind == VLY_GEMM_FP8 && (trans_a || !trans_b))
        return vly_support_fail(error, VLY_E_UNSUPPORTED,
                                "%s: fp8 products: A is %stransposed, B is "
                                "%stransposed; wanted A as it is, B transposed",
                                vly_support_plugin, trans_a ? "" : "not ",
                                trans_b ? "" : "not ");
    if (kind == VLY_GEMM_WEIGHT_ONLY && !trans_b)
        return vly_support_fail(
            error, VLY_E_UNSUPPORTED,
            "%s: %s weights that are not transposed; wanted "
            "VLY_GEMM_TRANS_B",
            vly_support_plugin, b);
    if (desc->type_b == VLY_ELEMENT_I4 &&
        (desc->k % 128 != 0 || desc->ldb % 2 != 0 || desc->stride_b % 2 != 0))
        return vly_support_fail(
            error, VLY_E_UNSUPPORTED,
            "%s: int4 weights with k %llu, ldb %llu, stride_b %llu; wanted a "
            "multiple of 128, and even ones",
            vly_support_plugin, (unsigned long long)desc->k,
            (unsigned long long)desc->ldb, (unsigned long long)desc->stride_b);
    return VLY_OK;
}

static vly_status check_flags(const vly_gemm_desc *desc, vly_gemm_kind kind,
                              vly_error *error)
{
    if ((desc->flags & ~known_flags) != 0)
        return vly_support_fail(error, VLY_E_UNSUPPORTED,
                                "%s: flags 0x%x, of which 0x%x are unknown",
                                vly_support_plugin, desc->flags,
                                desc->flags & ~known_flags);
    if (desc->activation > VLY_GEMM_GELU)
        return vly_support_fail(
            error, VLY_E_UNSUPPORTED, "%s: activation %u, wanted 0 to %u",
            vly_support_plugin, desc->activation, VLY_GEMM_GELU);
    if (kind == VLY_GEMM_INT8 &&
        (desc->activation != 0 || (desc->flags & VLY_GEMM_BIAS) != 0))
        return vly_support_fail(
            error, VLY_E_UNSUPPORTED,
            "%s: int8 to int32 with a bias or an activation",
            vly_support_plugin);
    if ((desc->flags & VLY_GEMM_TF32) != 0 && desc->type_a != VLY_ELEMENT_F32)
        return vly_support_fail(
            error, VLY_E_INVALID,
            "%s: VLY_GEMM_TF32 with %s factors, wanted fp32",
            vly_support_plugin, vly_element_name(desc->type_a));
    if ((desc->flags & VLY_GEMM_FAST) != 0 && kind != VLY_GEMM_FP8)
        return vly_support_fail(error, VLY_E_INVALID,
                                "%s: VLY_GEMM_FAST with %s factors, wanted fp8",
                                vly_support_plugin,
                                vly_element_name(desc->type_a));
    return VLY_OK;
}

static vly_status check_types(const vly_gemm_desc *desc, vly_gemm_kind *kind,
                              vly_error *error)
{
    const char *wanted = "";
    if (!find_kind(desc, kind))
        return vly_support_fail(
            error, VLY_E_UNSUPPORTED,
            "%s: types %s x %s -> %s do not go together (volley/gemm.h has "
            "the table)",
            vly_support_plugin, vly_element_name(desc->type_a),
            vly_element_name(desc->type_b), vly_element_name(desc->type_d));
    if (!scales_fit(desc, *kind, &wanted))
        return vly_support_fail(
            error, VLY_E_UNSUPPORTED,
            "%s: scales %s and %s for %s x %s -> %s, wanted %s",
            vly_support_plugin, scale_name(desc->scale_a),
            scale_name(desc->scale_b), vly_element_name(desc->type_a),
            vly_element_name(desc->type_b), vly_element_name(desc->type_d),
            wanted);
    vly_status status = VLY_OK;
    VLY_TRY(check_flags(desc, *kind, error));
    VLY_TRY(check_layout(desc, *kind, error));
out:
    return status;
}

/* ---- sizes ------------------------------------------------------------ */

static vly_status check_pitch(const char *name, uint64_t pitch, uint64_t cols,
                              vly_error *error)
{
    if (pitch >= cols)
        return VLY_OK;
    return vly_support_fail(error, VLY_E_INVALID,
                            "%s: %s is %llu, wanted at least the row's length, "
                            "%llu",
                            vly_support_plugin, name, (unsigned long long)pitch,
                            (unsigned long long)cols);
}

static uint64_t blocks_of(uint64_t n)
{
    return n / 128 + (n % 128 != 0);
}

static bool scale_extent(const vly_gemm_desc *desc, uint32_t scale,
                         uint64_t rows, bool is_b, uint64_t stride,
                         uint64_t *bytes)
{
    const uint32_t bits = vly_element_bits(vly_gemm_scale_type(desc));
    const uint64_t blocks = blocks_of(desc->k);
    switch (scale) {
    case VLY_SCALE_SCALAR:
        return vly_accel_extent(desc->batch, stride, 1, 1, 1, bits, bytes);
    case VLY_SCALE_ROW:
        return vly_accel_extent(desc->batch, stride, 1, 0, rows, bits, bytes);
    case VLY_SCALE_BLOCK:
        return vly_accel_extent(desc->batch, stride,
                                is_b ? blocks_of(rows) : rows, blocks, blocks,
                                bits, bytes);
    case VLY_SCALE_GROUP:
        return vly_accel_extent(desc->batch, stride, rows, blocks, blocks, bits,
                                bytes);
    default:
        *bytes = 0;
        return true;
    }
}

/* The products of D must not overlap: they follow each other, or are side by
 * side in the same rows. */
static bool products_apart(const vly_gemm_desc *desc)
{
    uint64_t rows = 0;
    uint64_t side = 0;
    if (desc->batch == 1 || desc->m == 0 || desc->n == 0)
        return true;
    if (!vly_support_mul(desc->m - 1, desc->ldd, &rows) ||
        !vly_support_add(rows, desc->n, &rows))
        return false;
    if (desc->stride_d >= rows)
        return true;
    return desc->stride_d >= desc->n &&
           vly_support_mul(desc->batch - 1, desc->stride_d, &side) &&
           vly_support_add(side, desc->n, &side) && side <= desc->ldd;
}

static vly_status check_extents(const vly_gemm_desc *desc, vly_gemm_problem *p,
                                vly_error *error)
{
    const bool trans_a = (desc->flags & VLY_GEMM_TRANS_A) != 0;
    const bool trans_b = (desc->flags & VLY_GEMM_TRANS_B) != 0;
    const uint64_t rows_a = trans_a ? desc->k : desc->m;
    const uint64_t cols_a = trans_a ? desc->m : desc->k;
    const uint64_t rows_b = trans_b ? desc->n : desc->k;
    const uint64_t cols_b = trans_b ? desc->k : desc->n;
    const uint32_t bits_d = vly_element_bits(desc->type_d);
    vly_status status = VLY_OK;
    VLY_TRY(check_pitch("lda", desc->lda, cols_a, error));
    VLY_TRY(check_pitch("ldb", desc->ldb, cols_b, error));
    VLY_TRY(check_pitch("ldc", desc->ldc, desc->n, error));
    VLY_TRY(check_pitch("ldd", desc->ldd, desc->n, error));
    if (!vly_accel_extent(desc->batch, desc->stride_a, rows_a, desc->lda,
                          cols_a, vly_element_bits(desc->type_a),
                          &p->bytes_a) ||
        !vly_accel_extent(desc->batch, desc->stride_b, rows_b, desc->ldb,
                          cols_b, vly_element_bits(desc->type_b),
                          &p->bytes_b) ||
        !vly_accel_extent(desc->batch, desc->stride_c, desc->m, desc->ldc,
                          desc->n, bits_d, &p->bytes_c) ||
        !vly_accel_extent(desc->batch, desc->stride_d, desc->m, desc->ldd,
                          desc->n, bits_d, &p->bytes_d) ||
        !vly_accel_extent(desc->batch, desc->stride_bias, 1, 0, desc->n, bits_d,
                          &p->bytes_bias) ||
        !scale_extent(desc, desc->scale_a, desc->m, false, desc->stride_scale_a,
                      &p->bytes_scale_a) ||
        !scale_extent(desc, desc->scale_b, desc->n, true, desc->stride_scale_b,
                      &p->bytes_scale_b))
        return vly_support_fail(error, VLY_E_INVALID,
                                "%s: a matrix is larger than 2^63 bytes",
                                vly_support_plugin);
out:
    return status;
}

vly_status vly_gemm_check_desc(const vly_gemm_desc *desc,
                               vly_gemm_problem *problem, vly_error *error)
{
    vly_gemm_problem made;
    memset(&made, 0, sizeof made);
    if (!desc || desc->struct_size < sizeof *desc)
        return vly_support_fail(error, VLY_E_INVALID,
                                "%s: description: struct_size is %u, wanted at "
                                "least %u",
                                vly_support_plugin,
                                desc ? desc->struct_size : 0,
                                (uint32_t)sizeof *desc);
    vly_status status = VLY_OK;
    VLY_TRY(vly_accel_check_reserved("description", desc->reserved, error));
    VLY_TRY(check_types(desc, &made.kind, error));
    const uint32_t align = desc->align != 0 ? desc->align : 256;
    if (align > 256 || (align & (align - 1)) != 0)
        return vly_support_fail(error, VLY_E_INVALID,
                                "%s: align is %u, wanted a power of two up to "
                                "256",
                                vly_support_plugin, align);
    if (desc->batch == 0)
        return vly_support_fail(error, VLY_E_INVALID,
                                "%s: batch is 0, wanted at least 1",
                                vly_support_plugin);
    VLY_TRY(check_extents(desc, &made, error));
    if (!products_apart(desc))
        return vly_support_fail(error, VLY_E_INVALID,
                                "%s: stride_d is %llu: the %llu products of D "
                                "overlap",
                                vly_support_plugin,
                                (unsigned long long)desc->stride_d,
                                (unsigned long long)desc->batch);
    made.desc = *desc;
    made.desc.struct_size = sizeof *desc;
    made.desc.align = align;
    made.is_empty = desc->m == 0 || desc->n == 0;
    *problem = made;
out:
    return status;
}
