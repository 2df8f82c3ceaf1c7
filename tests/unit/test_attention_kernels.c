/* SPDX-License-Identifier: Apache-2.0
 * The vector loops of attention_cpu, called directly, on every instruction set
 * that this processor has: against double, and against element.c.
 */
#include "volley_test.h"

#include <math.h>
#include <stdlib.h>

#include "attention_kernels.h"
#include "element.h"

const char vly_support_plugin[] = "test";

static const char *const isas[] = {"scalar", "avx2", "avx512"};
enum { N_ISAS = 3, ROWS = 13, INNER = 70, COLS = 80 };

static float random_float(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return (float)(*state >> 8) * 0x1p-23f - 1.0f;
}

/* Floats of both signs up to 100, every 997th of them. */
static void test_exp(void **state)
{
    (void)state;
    for (uint32_t k = 0; k < N_ISAS; k++) {
        const vly_attention_kernels *kernels =
            vly_attention_kernels_find(isas[k]);
        if (kernels == NULL) {
            print_message("skipped: no %s here\n", isas[k]);
            continue;
        }
        double worst = 0.0;
        for (uint32_t bits = 0x30000000u; bits < 0x42c80000u; bits += 997) {
            const float x[2] = {vly_f32_from_bits(bits),
                                vly_f32_from_bits(bits | 0x80000000u)};
            float y[2];
            kernels->exp(x, y, 2);
            for (uint32_t i = 0; i < 2; i++) {
                const double wanted = exp((double)x[i]);
                if (x[i] < -87.3f)
                    assert_true(y[i] == 0.0f);
                else if (x[i] > 88.3f)
                    assert_true(isinf(y[i]) && y[i] > 0.0f);
                else
                    worst = fmax(worst, fabs((double)y[i] / wanted - 1.0));
            }
        }
        print_message("%s: exp within 2^%.2f\n", isas[k], log2(worst));
        assert_true(worst > 0.0 && worst <= 0x1p-22);
    }
}

static void test_exp_special(void **state)
{
    (void)state;
    const float x[5] = {0.0f, -INFINITY, INFINITY, NAN, -0.0f};
    for (uint32_t k = 0; k < N_ISAS; k++) {
        const vly_attention_kernels *kernels =
            vly_attention_kernels_find(isas[k]);
        float y[5];
        if (kernels == NULL)
            continue;
        kernels->exp(x, y, 5);
        assert_true(y[0] == 1.0f && y[1] == 0.0f && y[4] == 1.0f);
        assert_true(isinf(y[2]) && y[2] > 0.0f && isnan(y[3]));
    }
}

/* Sums of up to 70 products in [-1, 1]: within (70 + 1) 2^-24 of their sizes,
 * which are 70 at the most. */
static void check_product(const vly_attention_kernels *kernels, uint32_t rows,
                          uint32_t inner, uint32_t cols, uint32_t adds)
{
    static float a[ROWS * INNER];
    static float b[INNER * COLS] __attribute__((aligned(64)));
    static float c[(ROWS + 1) * COLS] __attribute__((aligned(64)));
    static float before[(ROWS + 1) * COLS];
    uint32_t seed = rows * 100 + inner;
    for (uint32_t i = 0; i < ROWS * INNER; i++)
        a[i] = random_float(&seed);
    for (uint32_t i = 0; i < INNER * COLS; i++)
        b[i] = random_float(&seed);
    for (uint32_t i = 0; i < (ROWS + 1) * COLS; i++)
        before[i] = c[i] = adds ? random_float(&seed) : NAN;
    const vly_attention_product product = {.a = a,
                                           .b = b,
                                           .c = c,
                                           .n_rows = rows,
                                           .n_cols = cols,
                                           .n_inner = inner,
                                           .lda = INNER,
                                           .ldb = COLS,
                                           .ldc = COLS,
                                           .adds = adds};
    kernels->product(&product);
    for (uint32_t i = 0; i <= ROWS; i++)
        for (uint32_t j = 0; j < COLS; j++) {
            const uint32_t at = i * COLS + j;
            double wanted = adds ? (double)before[at] : 0.0;
            if (i >= rows || j >= cols) {
                assert_memory_equal(&c[at], &before[at], sizeof *c);
                continue;
            }
            for (uint32_t l = 0; l < inner; l++)
                wanted += (double)a[i * INNER + l] * (double)b[l * COLS + j];
            assert_close((double)c[at], wanted, (inner + 2) * 72 * 0x1p-24);
        }
}

static void test_product(void **state)
{
    (void)state;
    for (uint32_t k = 0; k < N_ISAS; k++) {
        const vly_attention_kernels *kernels =
            vly_attention_kernels_find(isas[k]);
        for (uint32_t rows = 0; rows <= ROWS && kernels != NULL; rows++)
            for (uint32_t cols = 16; cols <= COLS; cols += 16) {
                check_product(kernels, rows, 1, cols, 0);
                check_product(kernels, rows, INNER, cols, 0);
                check_product(kernels, rows, 17, cols, 1);
            }
    }
}

static void check_load(const vly_attention_kernels *kernels, uint32_t type,
                       const void *from, uint32_t n)
{
    float *found = aligned_alloc(64, n * sizeof *found);
    float *wanted = malloc(n * sizeof *wanted);
    assert_true(found != NULL && wanted != NULL);
    vly_element_to_f32(type, from, 0, wanted, n);
    kernels->load(type, from, n, 1.0f, found);
    for (uint32_t i = 0; i < n; i++)
        if (isnan(wanted[i]))
            assert_true(isnan(found[i]));
        else
            assert_memory_equal(&found[i], &wanted[i], sizeof *found);
    kernels->load(type, from, n, 0.5f, found);
    for (uint32_t i = 0; i < n; i++)
        assert_true(isnan(wanted[i]) || found[i] == 0.5f * wanted[i]);
    free(found);
    free(wanted);
}

static void test_load(void **state)
{
    (void)state;
    static uint16_t halves[65536];
    static uint8_t bytes[256];
    for (uint32_t i = 0; i < 65536; i++)
        halves[i] = (uint16_t)i;
    for (uint32_t i = 0; i < 256; i++)
        bytes[i] = (uint8_t)i;
    for (uint32_t k = 0; k < N_ISAS; k++) {
        const vly_attention_kernels *kernels =
            vly_attention_kernels_find(isas[k]);
        if (kernels == NULL)
            continue;
        check_load(kernels, VLY_ELEMENT_F16, halves, 65536);
        check_load(kernels, VLY_ELEMENT_BF16, halves, 65536);
        check_load(kernels, VLY_ELEMENT_E4M3, bytes, 256);
    }
}

static void test_load_columns(void **state)
{
    (void)state;
    enum { DIM = 72, MOST = 64 };
    static float rows[MOST][DIM];
    static float to[DIM * MOST] __attribute__((aligned(64)));
    const void *at[MOST];
    uint32_t seed = 5;
    for (uint32_t i = 0; i < MOST; i++) {
        at[i] = rows[i];
        for (uint32_t c = 0; c < DIM; c++)
            rows[i][c] = random_float(&seed);
    }
    for (uint32_t k = 0; k < N_ISAS; k++) {
        const vly_attention_kernels *kernels =
            vly_attention_kernels_find(isas[k]);
        for (uint32_t n = 1; n <= MOST && kernels != NULL; n += 7) {
            for (uint32_t i = 0; i < DIM * MOST; i++)
                to[i] = NAN;
            kernels->load_columns(VLY_ELEMENT_F32, at, n, DIM, to);
            for (uint32_t c = 0; c < DIM; c++)
                for (uint32_t i = 0; i < MOST; i++)
                    assert_true(i < n ? to[c * MOST + i] == rows[i][c]
                                      : isnan(to[c * MOST + i]));
        }
    }
}

/* Two blocks of one row against the sum in double; a row that sees nothing. */
static void test_softmax(void **state)
{
    (void)state;
    for (uint32_t k = 0; k < N_ISAS; k++) {
        const vly_attention_kernels *kernels =
            vly_attention_kernels_find(isas[k]);
        static float s[2][2][64] __attribute__((aligned(64)));
        float most[2] = {-INFINITY, -INFINITY};
        float sum[2] = {0.0f, 0.0f};
        float factor[2];
        double wanted = 0.0;
        double top = 0.0;
        uint32_t seed = 9;
        if (kernels == NULL)
            continue;
        for (uint32_t block = 0; block < 2; block++)
            for (uint32_t j = 0; j < 64; j++) {
                float x = 300.0f * random_float(&seed) + (float)block;
                s[block][0][j] = j % 3 == 0 ? -INFINITY : x;
                s[block][1][j] = -INFINITY;
                if (j % 3 != 0)
                    top = fmax(top, (double)x);
            }
        for (uint32_t i = 0; i < 128; i++)
            wanted += exp((double)s[i / 64][0][i % 64] - top);
        kernels->softmax(s[0][0], 2, most, sum, factor);
        assert_true(most[1] == -INFINITY && sum[1] == 0.0f &&
                    s[0][1][5] == 0.0f);
        kernels->softmax(s[1][0], 2, most, sum, factor);
        assert_true((double)most[0] == top);
        assert_close((double)sum[0], wanted, wanted * 1e-5);
        assert_true(most[1] == -INFINITY && sum[1] == 0.0f);
        s[0][0][7] = NAN; /* is never lost */
        kernels->softmax(s[0][0], 1, most, sum, factor);
        assert_true(isnan(sum[0]));
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_exp),          cmocka_unit_test(test_exp_special),
    cmocka_unit_test(test_product),      cmocka_unit_test(test_load),
    cmocka_unit_test(test_load_columns), cmocka_unit_test(test_softmax),
};

VLY_TEST_MAIN(tests)
