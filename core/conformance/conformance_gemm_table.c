/* SPDX-License-Identifier: Apache-2.0
 * The cases of volley.gemm/1: every row of the table of types in every shape,
 * with layouts, epilogues, pitches and alignments taken in turn, so that each
 * row meets each of them.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/random.h"
#include "conformance/conformance_element.h"
#include "conformance/conformance_gemm.h"

const char *const conformance_gemm_tensors[GEMM_N_TENSORS] = {
    "a", "b", "c", "d", "bias", "scale_a", "scale_b"};

typedef struct kind {
    uint32_t a;
    uint32_t b;
    uint32_t d;
    uint32_t scale_a;
    uint32_t scale_b;
    uint32_t flags; /* always set */
    bool any_layout;
    bool any_epilogue;
} kind;

#define E(name) VLY_ELEMENT_##name
#define FREE(ab, d, flags)                                                     \
    {                                                                          \
        E(ab), E(ab), E(d), 0, 0, flags, true, true                            \
    }
#define FP8(d, scale, flags)                                                   \
    {                                                                          \
        E(E4M3), E(E4M3), E(d), VLY_SCALE_##scale, VLY_SCALE_##scale,          \
            VLY_GEMM_TRANS_B | (flags), false, true                            \
    }
#define WEIGHTS(a, b, scale)                                                   \
    {                                                                          \
        E(a), E(b), E(a), 0, VLY_SCALE_##scale, VLY_GEMM_TRANS_B, false, true  \
    }

static const kind kinds[] = {
    FREE(F32, F32, 0),
    FREE(F32, F32, VLY_GEMM_TF32),
    FREE(F16, F16, 0),
    FREE(F16, F32, 0),
    FREE(BF16, BF16, 0),
    FREE(BF16, F32, 0),
    FP8(F16, SCALAR, 0),
    FP8(BF16, SCALAR, 0),
    FP8(F32, SCALAR, 0),
    FP8(BF16, SCALAR, VLY_GEMM_FAST),
    FP8(F16, ROW, 0),
    FP8(BF16, ROW, 0),
    FP8(F32, ROW, 0),
    FP8(F16, BLOCK, 0),
    FP8(BF16, BLOCK, 0),
    FP8(F32, BLOCK, 0),
    {E(I8), E(I8), E(I32), 0, 0, 0, true, false},
    {E(I8), E(I8), E(F16), VLY_SCALE_ROW, VLY_SCALE_ROW, 0, true, true},
    {E(I8), E(I8), E(BF16), VLY_SCALE_ROW, VLY_SCALE_ROW, 0, true, true},
    {E(I8), E(I8), E(F32), VLY_SCALE_ROW, VLY_SCALE_ROW, 0, true, true},
    WEIGHTS(F16, I8, ROW),
    WEIGHTS(BF16, I8, ROW),
    WEIGHTS(F16, I4, GROUP),
    WEIGHTS(BF16, I4, GROUP),
};
#define N_KINDS (sizeof kinds / sizeof kinds[0])

/* pad: extra elements of every row. shared: stride of B is 0. side: the
 * products of D are side by side in the same rows. */
typedef struct shape {
    uint32_t m;
    uint32_t n;
    uint32_t k;
    uint32_t pad;
    uint32_t batch;
    bool shared;
    bool side;
    uint32_t align;
} shape;

static const shape shapes[] = {
    {1, 1, 1, 0, 1, false, false, 1},
    {0, 5, 3, 0, 1, false, false, 256},
    {5, 0, 3, 0, 2, false, false, 256},
    {5, 3, 0, 0, 1, false, false, 256},
    {17, 63, 65, 0, 1, false, false, 256},
    {63, 65, 17, 3, 1, false, false, 16},
    {65, 17, 63, 1, 1, false, false, 1},
    {64, 64, 64, 0, 1, false, false, 256},
    {128, 128, 128, 0, 1, false, false, 16},
    {16, 256, 512, 0, 1, false, false, 256},
    {130, 200, 300, 8, 1, false, false, 16},
    {250, 200, 40, 0, 1, false, false, 256},
    {1, 64, 64, 0, 1, false, false, 256},
    {1, 65, 17, 5, 1, false, false, 1},
    {1, 1000, 1536, 0, 1, false, false, 16},
    {1, 129, 4096, 16, 1, false, false, 16},
    {33, 1, 100, 0, 1, false, false, 256},
    {2, 96, 256, 0, 1, false, false, 256},
    {8, 48, 128, 0, 3, false, false, 256},
    {16, 32, 144, 16, 4, true, false, 16},
    {12, 40, 96, 0, 3, false, true, 16},
    {1, 72, 384, 0, 3, true, false, 256},
    {7, 9, 1100, 0, 1, false, false, 256},
};
#define N_SHAPES (sizeof shapes / sizeof shapes[0])

uint32_t conformance_gemm_count(void)
{
    return (uint32_t)(N_KINDS * N_SHAPES);
}

uint32_t conformance_gemm_turn(uint32_t index)
{
    return index / (uint32_t)N_KINDS + index % (uint32_t)N_KINDS;
}

/* Layout and epilogue in turn: 4 layouts and 8 epilogues over 23 shapes. */
static void vary(uint32_t index, const kind *t, vly_gemm_desc *desc)
{
    const uint32_t turn = conformance_gemm_turn(index);
    if (t->any_layout)
        desc->flags |= (turn & 1u ? VLY_GEMM_TRANS_B : 0u) |
                       (turn & 2u ? VLY_GEMM_TRANS_A : 0u);
    if (!t->any_epilogue)
        return;
    desc->activation = turn / 2 % 4;
    if (turn % 3 != 0)
        desc->flags |= VLY_GEMM_BIAS;
}

static void lay_out(const shape *s, vly_gemm_desc *desc)
{
    const bool trans_a = (desc->flags & VLY_GEMM_TRANS_A) != 0;
    const bool trans_b = (desc->flags & VLY_GEMM_TRANS_B) != 0;
    const uint64_t blocks = (desc->k + 127) / 128;
    const uint32_t even = desc->type_b == VLY_ELEMENT_I4 && s->pad % 2 != 0;
    desc->lda = (trans_a ? desc->m : desc->k) + s->pad;
    desc->ldb = (trans_b ? desc->k : desc->n) + s->pad + even;
    desc->ldc = desc->n + 2ull * s->pad;
    desc->ldd = desc->n * (s->side ? s->batch : 1) + s->pad;
    if (s->batch == 1)
        return;
    /* a gap between products; int4 begins at whole bytes */
    desc->stride_a = (trans_a ? desc->k : desc->m) * desc->lda + 2;
    desc->stride_b =
        s->shared ? 0 : (trans_b ? desc->n : desc->k) * desc->ldb + 2;
    desc->stride_c = desc->m * desc->ldc + 2;
    desc->stride_d = s->side ? desc->n : desc->m * desc->ldd + 2;
    desc->stride_bias = s->shared ? 0 : desc->n;
    if (desc->scale_a != VLY_SCALE_NONE)
        desc->stride_scale_a = desc->m * blocks + 1;
    if (desc->scale_b != VLY_SCALE_NONE)
        desc->stride_scale_b = s->shared ? 0 : desc->n * blocks + 1;
}

vly_gemm_desc conformance_gemm_get(uint32_t index)
{
    const kind *t = &kinds[index % N_KINDS];
    const shape *s = &shapes[index / N_KINDS];
    vly_gemm_desc desc = {
        .struct_size = sizeof desc,
        .flags = t->flags,
        .type_a = t->a,
        .type_b = t->b,
        .type_d = t->d,
        .scale_a = t->scale_a,
        .scale_b = t->scale_b,
        .m = s->m,
        .n = s->n,
        .k = s->k,
        .batch = s->batch,
        /* every third case gets none: a plan must do without */
        .workspace_most =
            conformance_gemm_turn(index) % 3 == 2 ? 0 : UINT64_C(64) << 20,
        .align = s->align,
    };
    if (t->b == VLY_ELEMENT_I4) /* whole groups */
        desc.k = (desc.k + 127) / 128 * 128;
    vary(index, t, &desc);
    lay_out(s, &desc);
    return desc;
}

void conformance_gemm_name(uint32_t index, char *name, size_t size)
{
    static const char *const scales[] = {"", ".scalar", ".row", ".block",
                                         ".group"};
    static const char *const activations[] = {"", ".relu", ".relu2", ".gelu"};
    const shape *s = &shapes[index / N_KINDS];
    const vly_gemm_desc d = conformance_gemm_get(index);
    char batch[40] = "";
    if (d.batch > 1)
        (void)snprintf(batch, sizeof batch, ".b%" PRIu64 "%s%s", d.batch,
                       s->shared ? "shared" : "", s->side ? "side" : "");
    (void)snprintf(
        name, size,
        "%s-%s-%s%s%s%s.%c%c.%" PRIu64 "x%" PRIu64 "x%" PRIu64 "%s%s%s%s%s",
        conformance_element_name(d.type_a), conformance_element_name(d.type_b),
        conformance_element_name(d.type_d), scales[d.scale_b],
        d.flags & VLY_GEMM_TF32 ? ".tf32" : "",
        d.flags & VLY_GEMM_FAST ? ".fast" : "",
        d.flags & VLY_GEMM_TRANS_A ? 't' : 'n',
        d.flags & VLY_GEMM_TRANS_B ? 't' : 'n', d.m, d.n, d.k, batch,
        s->pad > 0 ? ".pad" : "", d.align < 16 ? ".loose" : "",
        d.flags & VLY_GEMM_BIAS ? ".bias" : "", activations[d.activation]);
}

/* ---- tensors ---------------------------------------------------------- */

static gemm_tensor scale_tensor(const vly_gemm_desc *desc, bool is_b)
{
    const uint64_t blocks = (desc->k + 127) / 128;
    const uint64_t n = is_b ? desc->n : desc->m;
    const bool is_half =
        desc->type_a == VLY_ELEMENT_F16 || desc->type_a == VLY_ELEMENT_BF16;
    gemm_tensor t = {.type = is_half ? desc->type_a : VLY_ELEMENT_F32,
                     .stride =
                         is_b ? desc->stride_scale_b : desc->stride_scale_a};
    switch (is_b ? desc->scale_b : desc->scale_a) {
    case VLY_SCALE_SCALAR:
        t.rows = 1;
        t.cols = 1;
        break;
    case VLY_SCALE_ROW:
        t.rows = 1;
        t.cols = n;
        break;
    case VLY_SCALE_BLOCK:
        t.rows = is_b ? (n + 127) / 128 : n;
        t.cols = blocks;
        break;
    case VLY_SCALE_GROUP:
        t.rows = n;
        t.cols = blocks;
        break;
    default:
        break;
    }
    t.pitch = t.cols;
    return t;
}

static gemm_tensor shape_of(const vly_gemm_desc *desc, uint32_t which)
{
    const bool trans_a = (desc->flags & VLY_GEMM_TRANS_A) != 0;
    const bool trans_b = (desc->flags & VLY_GEMM_TRANS_B) != 0;
    switch (which) {
    case GEMM_A:
        return (gemm_tensor){desc->type_a,
                             trans_a ? desc->k : desc->m,
                             trans_a ? desc->m : desc->k,
                             desc->lda,
                             desc->stride_a,
                             0};
    case GEMM_B:
        return (gemm_tensor){desc->type_b,
                             trans_b ? desc->n : desc->k,
                             trans_b ? desc->k : desc->n,
                             desc->ldb,
                             desc->stride_b,
                             0};
    case GEMM_C:
        return (gemm_tensor){desc->type_d, desc->m,        desc->n,
                             desc->ldc,    desc->stride_c, 0};
    case GEMM_D:
        return (gemm_tensor){desc->type_d, desc->m,        desc->n,
                             desc->ldd,    desc->stride_d, 0};
    case GEMM_BIAS:
        return (gemm_tensor){
            desc->type_d,      desc->flags & VLY_GEMM_BIAS ? 1 : 0,
            desc->n,           desc->n,
            desc->stride_bias, 0};
    default:
        return scale_tensor(desc, which == GEMM_SCALE_B);
    }
}

gemm_tensor conformance_gemm_tensor(const vly_gemm_desc *desc, uint32_t which)
{
    gemm_tensor t = shape_of(desc, which);
    if (t.rows > 0 && t.cols > 0)
        t.bytes =
            (((desc->batch - 1) * t.stride + (t.rows - 1) * t.pitch + t.cols) *
                 conformance_element_bits(t.type) +
             7) /
            8;
    return t;
}

/* A number in [-1, 1) as an element of the tensor: whole numbers use their
 * whole range; scales are positive and keep results near 1. */
static double fit(const vly_gemm_desc *desc, uint32_t which, uint32_t type,
                  double x)
{
    if (which == GEMM_SCALE_A || which == GEMM_SCALE_B) {
        const double base = desc->type_b == VLY_ELEMENT_I8   ? 0x1p-9
                            : desc->type_b == VLY_ELEMENT_I4 ? 0x1p-4
                                                             : 0x1p-4;
        return base * (1.5 + x);
    }
    if (type == VLY_ELEMENT_I32)
        return x * 2147483647.0;
    if (type == VLY_ELEMENT_I8)
        return x * 127.49;
    if (type == VLY_ELEMENT_I4)
        return x * 8.0;
    return type == VLY_ELEMENT_E4M3 ? x * 4.0 : x;
}

void conformance_gemm_fill(const vly_gemm_desc *desc, uint32_t which,
                           uint64_t seed, void *memory)
{
    const gemm_tensor t = conformance_gemm_tensor(desc, which);
    const uint64_t products = t.stride > 0 ? desc->batch : 1;
    uint64_t draw = 0;
    if (t.bytes == 0)
        return;
    for (uint64_t p = 0; p < products; p++)
        for (uint64_t i = 0; i < t.rows; i++)
            for (uint64_t j = 0; j < t.cols; j++, draw++)
                conformance_element_set(
                    t.type, memory, p * t.stride + i * t.pitch + j,
                    fit(desc, which, t.type, accel_random(seed, which, draw)));
}
