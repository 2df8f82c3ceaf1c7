/* SPDX-License-Identifier: Apache-2.0
 * kernels/models/program.h, exponential.h, model.h and philox.h as PTX: the
 * same operations in the same order (test_cuda_ptx compares the bits).
 */
#include "cuda_ptx_functions.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- text -------------------------------------------------------------- */

void vly_cuda_text_copy(vly_cuda_text *to, const char *from, size_t n)
{
    if (to->text && to->length + n < to->room) {
        memcpy(to->text + to->length, from, n);
        to->text[to->length + n] = 0;
    }
    to->length += n;
}

static void add_list(vly_cuda_text *to, const char *format, va_list list)
{
    char line[160];
    const int n = vsnprintf(line, sizeof line, format, list);
    vly_cuda_text_copy(to, line, n > 0 ? (size_t)n : 0);
}

void vly_cuda_text_add(vly_cuda_text *to, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    add_list(to, format, list);
    va_end(list);
}

void vly_cuda_ptx_line(vly_cuda_ptx *ptx, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    add_list(ptx->to, format, list);
    va_end(list);
    vly_cuda_text_copy(ptx->to, ";\n", 2);
}

/* ---- registers --------------------------------------------------------- */

uint32_t vly_cuda_ptx_register(vly_cuda_ptx *ptx)
{
    return ptx->n_words++;
}

uint32_t vly_cuda_ptx_predicate(vly_cuda_ptx *ptx)
{
    return ptx->n_truths++;
}

uint32_t vly_cuda_ptx_address(vly_cuda_ptx *ptx)
{
    return ptx->n_addresses++;
}

uint32_t vly_cuda_ptx_bits(vly_cuda_ptx *ptx, uint32_t word)
{
    for (uint32_t k = 0; k < ptx->n_numbers; k++)
        if (ptx->number[k] == word)
            return ptx->number_in[k];
    const uint32_t d = vly_cuda_ptx_register(ptx);
    vly_cuda_ptx_line(ptx, "mov.b32 %%vb%u, 0x%08X", d, word);
    if (ptx->n_numbers < VLY_CUDA_PTX_NUMBERS) {
        ptx->number[ptx->n_numbers] = word;
        ptx->number_in[ptx->n_numbers++] = d;
    }
    return d;
}

static uint32_t number(vly_cuda_ptx *ptx, float x)
{
    uint32_t word;
    memcpy(&word, &x, sizeof word);
    return vly_cuda_ptx_bits(ptx, word);
}

/* ---- instructions ------------------------------------------------------ */

uint32_t vly_cuda_ptx_two(vly_cuda_ptx *ptx, const char *name, uint32_t a,
                          uint32_t b)
{
    const uint32_t d = vly_cuda_ptx_register(ptx);
    vly_cuda_ptx_line(ptx, "%s %%vb%u, %%vb%u, %%vb%u", name, d, a, b);
    return d;
}

uint32_t vly_cuda_ptx_compare(vly_cuda_ptx *ptx, const char *name, uint32_t a,
                              uint32_t b)
{
    const uint32_t p = vly_cuda_ptx_predicate(ptx);
    vly_cuda_ptx_line(ptx, "%s %%vp%u, %%vb%u, %%vb%u", name, p, a, b);
    return p;
}

uint32_t vly_cuda_ptx_select(vly_cuda_ptx *ptx, uint32_t p, uint32_t a,
                             uint32_t b)
{
    const uint32_t d = vly_cuda_ptx_register(ptx);
    vly_cuda_ptx_line(ptx, "selp.b32 %%vb%u, %%vb%u, %%vb%u, %%vp%u", d, a, b,
                      p);
    return d;
}

uint32_t vly_cuda_ptx_word(vly_cuda_ptx *ptx, uint32_t p)
{
    const uint32_t one = vly_cuda_ptx_bits(ptx, 1);
    return vly_cuda_ptx_select(ptx, p, one, vly_cuda_ptx_bits(ptx, 0));
}

uint32_t vly_cuda_ptx_truth(vly_cuda_ptx *ptx, uint32_t a)
{
    return vly_cuda_ptx_compare(ptx, "setp.ne.u32", a,
                                vly_cuda_ptx_bits(ptx, 0));
}

static uint32_t convert(vly_cuda_ptx *ptx, const char *name, uint32_t a)
{
    const uint32_t d = vly_cuda_ptx_register(ptx);
    vly_cuda_ptx_line(ptx, "%s %%vb%u, %%vb%u", name, d, a);
    return d;
}

static uint32_t add(vly_cuda_ptx *ptx, uint32_t a, uint32_t b)
{
    return vly_cuda_ptx_two(ptx, "add.rn.f32", a, b);
}

static uint32_t subtract(vly_cuda_ptx *ptx, uint32_t a, uint32_t b)
{
    return vly_cuda_ptx_two(ptx, "sub.rn.f32", a, b);
}

static uint32_t multiply(vly_cuda_ptx *ptx, uint32_t a, uint32_t b)
{
    return vly_cuda_ptx_two(ptx, "mul.rn.f32", a, b);
}

static uint32_t shift(vly_cuda_ptx *ptx, const char *name, uint32_t a,
                      uint32_t by)
{
    return vly_cuda_ptx_two(ptx, name, a, vly_cuda_ptx_bits(ptx, by));
}

/* x > lo ? x : lo, then y < hi ? y : hi; NaN becomes lo */
static uint32_t clip(vly_cuda_ptx *ptx, uint32_t x, uint32_t lo, uint32_t hi)
{
    uint32_t p = vly_cuda_ptx_compare(ptx, "setp.gt.f32", x, lo);
    const uint32_t y = vly_cuda_ptx_select(ptx, p, x, lo);
    p = vly_cuda_ptx_compare(ptx, "setp.lt.f32", y, hi);
    return vly_cuda_ptx_select(ptx, p, y, hi);
}

/* ---- functions --------------------------------------------------------- */

uint32_t vly_cuda_ptx_inverse(vly_cuda_ptx *ptx, uint32_t x)
{
    const uint32_t bits = vly_cuda_ptx_two(ptx, "and.b32", x,
                                           vly_cuda_ptx_bits(ptx, 0x7fffffffu));
    const uint32_t is_nan = vly_cuda_ptx_compare(
        ptx, "setp.gt.u32", bits, vly_cuda_ptx_bits(ptx, 0x7f800000u));
    uint32_t sign = vly_cuda_ptx_two(ptx, "and.b32", x,
                                     vly_cuda_ptx_bits(ptx, 0x80000000u));
    sign = vly_cuda_ptx_select(ptx, is_nan, vly_cuda_ptx_bits(ptx, 0), sign);
    const uint32_t size = clip(ptx, bits, number(ptx, 9.09494702e-13f),
                               number(ptx, 1.20892582e24f));
    const uint32_t two = number(ptx, 2.0f);
    uint32_t y = vly_cuda_ptx_two(ptx, "sub.u32",
                                  vly_cuda_ptx_bits(ptx, 0x7ef311c3u), size);
    for (int k = 0; k < 3; k++)
        y = multiply(ptx, y, subtract(ptx, two, multiply(ptx, size, y)));
    return vly_cuda_ptx_two(ptx, "or.b32", y, sign);
}

uint32_t vly_cuda_ptx_root(vly_cuda_ptx *ptx, uint32_t x)
{
    const uint32_t least = number(ptx, 8.27180613e-25f);
    const uint32_t more = vly_cuda_ptx_compare(ptx, "setp.gt.f32", x, least);
    const uint32_t size = clip(ptx, x, least, number(ptx, 1.20892582e24f));
    const uint32_t half = multiply(ptx, number(ptx, 0.5f), size);
    const uint32_t most = number(ptx, 1.5f);
    uint32_t y =
        vly_cuda_ptx_two(ptx, "sub.u32", vly_cuda_ptx_bits(ptx, 0x5f3759dfu),
                         shift(ptx, "shr.u32", size, 1));
    for (int k = 0; k < 3; k++) {
        const uint32_t part = multiply(ptx, multiply(ptx, half, y), y);
        y = multiply(ptx, y, subtract(ptx, most, part));
    }
    return vly_cuda_ptx_select(ptx, more, multiply(ptx, size, y),
                               vly_cuda_ptx_bits(ptx, 0));
}

uint32_t vly_cuda_ptx_exp(vly_cuda_ptx *ptx, uint32_t x)
{
    static const float series[] = {1.38888889e-3f,
                                   8.33333333e-3f,
                                   4.16666667e-2f,
                                   1.66666667e-1f,
                                   0.5f,
                                   1.0f,
                                   1.0f};
    const uint32_t y = clip(ptx, x, number(ptx, -80.0f), number(ptx, 80.0f));
    const uint32_t t = add(ptx, multiply(ptx, y, number(ptx, 1.44269504f)),
                           number(ptx, 128.5f));
    const uint32_t k = convert(ptx, "cvt.rzi.s32.f32", t);
    const uint32_t n =
        convert(ptx, "cvt.rn.f32.s32", shift(ptx, "sub.u32", k, 128));
    uint32_t r = subtract(ptx, y, multiply(ptx, n, number(ptx, 0.693145752f)));
    r = subtract(ptx, r, multiply(ptx, n, number(ptx, 1.42860677e-6f)));
    uint32_t p = number(ptx, 1.98412698e-4f);
    for (size_t i = 0; i < sizeof series / sizeof series[0]; i++)
        p = add(ptx, multiply(ptx, p, r), number(ptx, series[i]));
    const uint32_t power =
        shift(ptx, "shl.b32", shift(ptx, "sub.u32", k, 1), 23);
    return multiply(ptx, p, power);
}

/* 2^-n, where x = 2^n z with z in [8, 16) */
static uint32_t find_scale(vly_cuda_ptx *ptx, uint32_t y)
{
    const uint32_t exponent = shift(ptx, "shr.u32", y, 23);
    const uint32_t more = vly_cuda_ptx_compare(ptx, "setp.gt.u32", exponent,
                                               vly_cuda_ptx_bits(ptx, 130));
    const uint32_t above = shift(ptx, "sub.u32", exponent, 130);
    const uint32_t n =
        vly_cuda_ptx_select(ptx, more, above, vly_cuda_ptx_bits(ptx, 0));
    const uint32_t left =
        vly_cuda_ptx_two(ptx, "sub.u32", vly_cuda_ptx_bits(ptx, 127), n);
    return shift(ptx, "shl.b32", left, 23);
}

uint32_t vly_cuda_ptx_decay_mean(vly_cuda_ptx *ptx, uint32_t x)
{
    static const float series[] = {1.98412698e-4f,
                                   1.38888889e-3f,
                                   8.33333333e-3f,
                                   4.16666667e-2f,
                                   1.66666667e-1f,
                                   0.5f,
                                   1.0f}; /* added, subtracted, added ... */
    const uint32_t zero = vly_cuda_ptx_bits(ptx, 0);
    const uint32_t half = number(ptx, 0.5f);
    const uint32_t above = vly_cuda_ptx_compare(ptx, "setp.gt.f32", x, zero);
    uint32_t y = vly_cuda_ptx_select(ptx, above, x, zero);
    const uint32_t scale = find_scale(ptx, y);
    y = multiply(ptx, multiply(ptx, y, scale), number(ptx, 0.03125f));
    uint32_t m = number(ptx, -2.48015873e-5f);
    for (size_t i = 0; i < sizeof series / sizeof series[0]; i++) {
        const uint32_t product = multiply(ptx, m, y);
        const uint32_t c = number(ptx, series[i]);
        m = i % 2 == 0 ? add(ptx, product, c) : subtract(ptx, product, c);
    }
    uint32_t e = subtract(ptx, number(ptx, 1.0f), multiply(ptx, y, m));
    for (int k = 0; k < 5; k++) {
        m = multiply(ptx, m, add(ptx, multiply(ptx, half, e), half));
        if (k < 4)
            e = multiply(ptx, e, e);
    }
    return multiply(ptx, m, scale);
}

uint32_t vly_cuda_ptx_store(vly_cuda_ptx *ptx, uint32_t x, uint32_t lo,
                            uint32_t hi)
{
    const uint32_t y =
        clip(ptx, x, vly_cuda_ptx_bits(ptx, lo), vly_cuda_ptx_bits(ptx, hi));
    const uint32_t size = vly_cuda_ptx_two(ptx, "and.b32", y,
                                           vly_cuda_ptx_bits(ptx, 0x7fffffffu));
    const uint32_t less = vly_cuda_ptx_compare(
        ptx, "setp.lt.u32", size, vly_cuda_ptx_bits(ptx, 0x2b800000u));
    return vly_cuda_ptx_select(ptx, less, vly_cuda_ptx_bits(ptx, 0), y);
}

uint32_t vly_cuda_ptx_count_down(vly_cuda_ptx *ptx, uint32_t a)
{
    const uint32_t zero = vly_cuda_ptx_bits(ptx, 0);
    const uint32_t is_zero = vly_cuda_ptx_compare(ptx, "setp.eq.u32", a, zero);
    return vly_cuda_ptx_select(ptx, is_zero, zero, shift(ptx, "sub.u32", a, 1));
}

/* ---- draws ------------------------------------------------------------- */

static void philox_round(vly_cuda_ptx *ptx, uint32_t c[4], uint32_t key_low,
                         uint32_t key_high)
{
    const uint32_t m0 = vly_cuda_ptx_bits(ptx, 0xD2511F53u);
    const uint32_t m1 = vly_cuda_ptx_bits(ptx, 0xCD9E8D57u);
    const uint32_t h0 = vly_cuda_ptx_two(ptx, "mul.hi.u32", m0, c[0]);
    const uint32_t l0 = vly_cuda_ptx_two(ptx, "mul.lo.u32", m0, c[0]);
    const uint32_t h1 = vly_cuda_ptx_two(ptx, "mul.hi.u32", m1, c[2]);
    const uint32_t l1 = vly_cuda_ptx_two(ptx, "mul.lo.u32", m1, c[2]);
    const uint32_t a = vly_cuda_ptx_two(ptx, "xor.b32", h1, c[1]);
    const uint32_t b = vly_cuda_ptx_two(ptx, "xor.b32", h0, c[3]);
    c[0] = vly_cuda_ptx_two(ptx, "xor.b32", a, key_low);
    c[1] = l1;
    c[2] = vly_cuda_ptx_two(ptx, "xor.b32", b, key_high);
    c[3] = l0;
}

/* The word of a burst among the four of its block. */
static uint32_t pick(vly_cuda_ptx *ptx, const uint32_t c[4], uint32_t burst)
{
    const uint32_t i =
        vly_cuda_ptx_two(ptx, "and.b32", burst, vly_cuda_ptx_bits(ptx, 3));
    uint32_t u = c[3];
    for (uint32_t k = 3; k-- > 0;) {
        const uint32_t p = vly_cuda_ptx_compare(ptx, "setp.eq.u32", i,
                                                vly_cuda_ptx_bits(ptx, k));
        u = vly_cuda_ptx_select(ptx, p, c[k], u);
    }
    return u;
}

uint32_t vly_cuda_ptx_uniform(vly_cuda_ptx *ptx, const uint32_t key[2],
                              const uint32_t burst[2], uint32_t neuron,
                              uint32_t stream)
{
    uint32_t low = key[0];
    uint32_t high = key[1];
    uint32_t c[4] = {vly_cuda_ptx_two(ptx, "or.b32",
                                      shift(ptx, "shr.u32", burst[0], 2),
                                      shift(ptx, "shl.b32", burst[1], 30)),
                     shift(ptx, "shr.u32", burst[1], 2), neuron,
                     vly_cuda_ptx_bits(ptx, stream)};
    for (int k = 0; k < 10; k++) {
        philox_round(ptx, c, low, high);
        low = vly_cuda_ptx_two(ptx, "add.u32", low,
                               vly_cuda_ptx_bits(ptx, 0x9E3779B9u));
        high = vly_cuda_ptx_two(ptx, "add.u32", high,
                                vly_cuda_ptx_bits(ptx, 0xBB67AE85u));
    }
    const uint32_t whole =
        convert(ptx, "cvt.rn.f32.s32",
                shift(ptx, "shr.u32", pick(ptx, c, burst[0]), 8));
    return multiply(ptx, whole, number(ptx, 5.9604644775390625e-8f));
}
