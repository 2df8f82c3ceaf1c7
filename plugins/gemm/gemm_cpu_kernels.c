/* SPDX-License-Identifier: Apache-2.0
 * The loops of gemm_cpu. Compiled once for each instruction set with VLY_ISA
 * set to its name; only `multiply` is written for each by hand, since compilers
 * do not keep a tile of sums in registers by themselves.
 *
 * Tiles of registers over packed panels are those of Goto and van de Geijn
 * 2008, doi:10.1145/1356052.1356053.
 */
#include "gemm_cpu_kernels.h"

#include <math.h>
#include <string.h>

#if defined(__SSE__)
#include <immintrin.h>
#endif

#include "element.h"

/* unrolled completely; otherwise the sums would be on the stack */
#if defined(__clang__)
#define VLY_UNROLL _Pragma("clang loop unroll(full)")
#else
#define VLY_UNROLL _Pragma("GCC unroll 16")
#endif

/* ---- to float --------------------------------------------------------- */

/* int4 from an even index on: two of a byte, one after the other. */
static void convert_i4(const uint8_t *bytes, float *to, uint64_t n)
{
    for (uint64_t i = 0; i < n / 2; i++) {
        const int32_t low = bytes[i] & 15;
        const int32_t high = bytes[i] >> 4;
        to[2 * i] = (float)((low ^ 8) - 8);
        to[2 * i + 1] = (float)((high ^ 8) - 8);
    }
    if (n % 2 != 0)
        to[n - 1] = (float)vly_i4_get(bytes, n - 1);
}

#define EACH(pointer_type, function)                                           \
    do {                                                                       \
        const pointer_type *source = (const pointer_type *)from + first;       \
        for (uint64_t i = 0; i < n; i++)                                       \
            to[i] = function(source[i]);                                       \
    } while (0)

/* first is even for int4 */
static void convert(uint32_t type, const void *from, uint64_t first, float *to,
                    uint64_t n)
{
    switch (type) {
    case VLY_ELEMENT_F32:
        memcpy(to, (const float *)from + first, (size_t)n * sizeof *to);
        break;
    case VLY_ELEMENT_F16:
        EACH(uint16_t, vly_f16_to_f32);
        break;
    case VLY_ELEMENT_BF16:
        EACH(uint16_t, vly_bf16_to_f32);
        break;
    case VLY_ELEMENT_E4M3:
        EACH(uint8_t, vly_e4m3_to_f32);
        break;
    case VLY_ELEMENT_I8:
        EACH(int8_t, (float));
        break;
    default:
        convert_i4((const uint8_t *)from + first / 2, to, n);
        break;
    }
}

/* ---- operands --------------------------------------------------------- */

static float scale_at(const vly_gemm_operand *operand, uint64_t row, uint64_t k)
{
    const uint64_t index =
        row / operand->scale_rows * operand->scale_pitch + k / 128;
    if (operand->scale_type == VLY_ELEMENT_F16)
        return vly_f16_to_f32(((const uint16_t *)operand->scale)[index]);
    if (operand->scale_type == VLY_ELEMENT_BF16)
        return vly_bf16_to_f32(((const uint16_t *)operand->scale)[index]);
    return ((const float *)operand->scale)[index];
}

static void load(const vly_gemm_operand *operand, uint64_t row, uint64_t k,
                 float *to, uint64_t n)
{
    convert(operand->type, operand->data, row * operand->pitch + k, to, n);
    if (!operand->scale)
        return;
    for (uint64_t i = 0; i < n;) {
        const uint64_t left = 128 - (k + i) % 128;
        const uint64_t end = n - i < left ? n : i + left;
        const float scale = scale_at(operand, row, k + i);
        for (; i < end; i++)
            to[i] *= scale;
    }
}

static void load_across(const vly_gemm_operand *operand, uint64_t k,
                        uint64_t row, float *to, uint64_t n)
{
    convert(operand->type, operand->data, k * operand->pitch + row, to, n);
}

enum { PIECE = 64 }; /* elements of k that are transposed at once */

/* to[i][r] = rows[r][i] for n of i and `width` of r */
static void turn(float rows[][PIECE], uint64_t n, uint32_t width, float *to)
{
    uint32_t r = 0;
#if defined(__SSE__) /* four by four; compilers load one number at a time */
    for (; r + 4 <= width; r += 4) {
        uint64_t i = 0;
        for (; i + 4 <= n; i += 4) {
            __m128 x0 = _mm_loadu_ps(&rows[r][i]);
            __m128 x1 = _mm_loadu_ps(&rows[r + 1][i]);
            __m128 x2 = _mm_loadu_ps(&rows[r + 2][i]);
            __m128 x3 = _mm_loadu_ps(&rows[r + 3][i]);
            _MM_TRANSPOSE4_PS(x0, x1, x2, x3);
            _mm_storeu_ps(to + i * width + r, x0);
            _mm_storeu_ps(to + (i + 1) * width + r, x1);
            _mm_storeu_ps(to + (i + 2) * width + r, x2);
            _mm_storeu_ps(to + (i + 3) * width + r, x3);
        }
        for (; i < n; i++)
            for (uint32_t q = r; q < r + 4; q++)
                to[i * width + q] = rows[q][i];
    }
#endif
    for (; r < width; r++)
        for (uint64_t i = 0; i < n; i++)
            to[i * width + r] = rows[r][i];
}

/* One panel of an operand along k. */
static void pack_along(const vly_gemm_operand *operand, uint64_t row,
                       uint64_t n_rows, uint64_t k, uint64_t n_k,
                       uint32_t width, float *to)
{
    float rows[64][PIECE]; /* panels are at most 64 wide */
    for (uint64_t r = n_rows; r < width; r++)
        memset(rows[r], 0, sizeof rows[r]);
    for (uint64_t at = 0; at < n_k; at += PIECE) {
        const uint64_t n = n_k - at < PIECE ? n_k - at : PIECE;
        for (uint64_t r = 0; r < n_rows; r++)
            load(operand, row + r, k + at, rows[r], n);
        turn(rows, n, width, to + at * width);
    }
}

static void pack_across(const vly_gemm_operand *operand, uint64_t row,
                        uint64_t n_rows, uint64_t k, uint64_t n_k,
                        uint32_t width, float *to)
{
    for (uint64_t i = 0; i < n_k; i++) {
        load_across(operand, k + i, row, to + i * width, n_rows);
        for (uint64_t r = n_rows; r < width; r++)
            to[i * width + r] = 0.0f;
    }
}

static void pack(const vly_gemm_operand *operand, uint64_t row, uint64_t n_rows,
                 uint64_t k, uint64_t n_k, uint32_t width, float *to)
{
    for (uint64_t r = 0; r < n_rows; r += width) {
        const uint64_t n = n_rows - r < width ? n_rows - r : width;
        if (operand->along_k)
            pack_along(operand, row + r, n, k, n_k, width, to);
        else
            pack_across(operand, row + r, n, k, n_k, width, to);
        to += n_k * width;
    }
}

/* ---- sums ------------------------------------------------------------- */

#if defined(__AVX512F__)

enum { ROWS = 12, COLS = 32 };

static void multiply(uint64_t n_k, const float *a, const float *b, float *sums,
                     uint64_t pitch)
{
    __m512 s[ROWS][2];
    VLY_UNROLL
    for (int r = 0; r < ROWS; r++) {
        s[r][0] = _mm512_loadu_ps(sums + (uint64_t)r * pitch);
        s[r][1] = _mm512_loadu_ps(sums + (uint64_t)r * pitch + 16);
    }
    for (uint64_t k = 0; k < n_k; k++) {
        const __m512 b0 = _mm512_loadu_ps(b + k * COLS);
        const __m512 b1 = _mm512_loadu_ps(b + k * COLS + 16);
        VLY_UNROLL
        for (int r = 0; r < ROWS; r++) {
            const __m512 x = _mm512_set1_ps(a[k * ROWS + (uint64_t)r]);
            s[r][0] = _mm512_fmadd_ps(x, b0, s[r][0]);
            s[r][1] = _mm512_fmadd_ps(x, b1, s[r][1]);
        }
    }
    VLY_UNROLL
    for (int r = 0; r < ROWS; r++) {
        _mm512_storeu_ps(sums + (uint64_t)r * pitch, s[r][0]);
        _mm512_storeu_ps(sums + (uint64_t)r * pitch + 16, s[r][1]);
    }
}

#elif defined(__AVX2__)

enum { ROWS = 6, COLS = 16 };

static void multiply(uint64_t n_k, const float *a, const float *b, float *sums,
                     uint64_t pitch)
{
    __m256 s[ROWS][2];
    VLY_UNROLL
    for (int r = 0; r < ROWS; r++) {
        s[r][0] = _mm256_loadu_ps(sums + (uint64_t)r * pitch);
        s[r][1] = _mm256_loadu_ps(sums + (uint64_t)r * pitch + 8);
    }
    for (uint64_t k = 0; k < n_k; k++) {
        const __m256 b0 = _mm256_loadu_ps(b + k * COLS);
        const __m256 b1 = _mm256_loadu_ps(b + k * COLS + 8);
        VLY_UNROLL
        for (int r = 0; r < ROWS; r++) {
            const __m256 x = _mm256_set1_ps(a[k * ROWS + (uint64_t)r]);
            s[r][0] = _mm256_fmadd_ps(x, b0, s[r][0]);
            s[r][1] = _mm256_fmadd_ps(x, b1, s[r][1]);
        }
    }
    VLY_UNROLL
    for (int r = 0; r < ROWS; r++) {
        _mm256_storeu_ps(sums + (uint64_t)r * pitch, s[r][0]);
        _mm256_storeu_ps(sums + (uint64_t)r * pitch + 8, s[r][1]);
    }
}

#else

enum { ROWS = 4, COLS = 8 };

static void multiply(uint64_t n_k, const float *a, const float *b, float *sums,
                     uint64_t pitch)
{
    for (uint64_t k = 0; k < n_k; k++)
        for (uint64_t r = 0; r < ROWS; r++)
            for (uint64_t j = 0; j < COLS; j++)
                sums[r * pitch + j] =
                    fmaf(a[k * ROWS + r], b[k * COLS + j], sums[r * pitch + j]);
}

#endif

static void dot(const float *x, const float *y, uint64_t n,
                float lanes[VLY_GEMM_LANES])
{
    float s[VLY_GEMM_LANES];
    uint64_t i = 0;
    memcpy(s, lanes, sizeof s);
    for (; i + VLY_GEMM_LANES <= n; i += VLY_GEMM_LANES)
        for (uint64_t l = 0; l < VLY_GEMM_LANES; l++)
            s[l] = fmaf(x[i + l], y[i + l], s[l]);
    for (uint64_t l = 0; i + l < n; l++)
        s[l] = fmaf(x[i + l], y[i + l], s[l]);
    memcpy(lanes, s, sizeof s);
}

static void axpy(float x, const float *y, float *sums, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        sums[i] = fmaf(x, y[i], sums[i]);
}

#define TEXT_OF(isa) #isa
#define TEXT(isa) TEXT_OF(isa)
#define NAME_OF(isa) vly_gemm_kernels_##isa
#define NAME(isa) NAME_OF(isa)

const vly_gemm_kernels NAME(VLY_ISA) = {
    .isa = TEXT(VLY_ISA),
    .text = VLY_ISA_TEXT,
    .rows = ROWS,
    .cols = COLS,
    .load = load,
    .load_across = load_across,
    .pack = pack,
    .multiply = multiply,
    .dot = dot,
    .axpy = axpy,
};
