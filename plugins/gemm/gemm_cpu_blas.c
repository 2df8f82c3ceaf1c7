/* SPDX-License-Identifier: Apache-2.0
 * OpenBLAS, opened at run time. Volley's own threads share the work, so that a
 * result does not depend on their number and the caller's n_threads holds;
 * therefore the library is set to one thread. That setting holds for the whole
 * process: another user of the same libopenblas.so.0 in it gets one thread too.
 *
 * It is entered from several threads at once, which its builds of Debian
 * (pthread) allow.
 *
 * Ways are chosen by their time, and a library that computes nothing is fast:
 * so it is held against plain loops before it is used.
 */
#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "gemm_cpu.h"

enum { ROW_MAJOR = 101, NO_TRANS = 111, TRANS = 112 };

typedef void sgemm_function(int order, int trans_a, int trans_b, int m, int n,
                            int k, float alpha, const float *a, int lda,
                            const float *b, int ldb, float beta, float *c,
                            int ldc);

static pthread_once_t opened = PTHREAD_ONCE_INIT;
static sgemm_function *sgemm;
static char missing[256];
static char text[160];

/* C has no cast from void * to a function. */
static bool symbol(void *library, const char *name, void *function)
{
    void *found = dlsym(library, name);
    memcpy(function, &found, sizeof found);
    return found != NULL;
}

static void describe(void *library)
{
    char *(*config)(void) = NULL;
    char *(*core)(void) = NULL;
    char version[48] = "OpenBLAS";
    if (symbol(library, "openblas_get_config", &config)) {
        const char *all = config(); /* "OpenBLAS 0.3.21 NO_LAPACKE ..." */
        const size_t name = strcspn(all, " ");
        const size_t n = name + (all[name] != 0) +
                         strcspn(all + name + (all[name] != 0), " ");
        snprintf(version, sizeof version, "%.*s", (int)(n < 47 ? n : 47), all);
    }
    const char *kernel = symbol(library, "openblas_get_corename", &core)
                             ? core()
                             : "unknown kernels";
    snprintf(text, sizeof text, "%s, %.60s", version, kernel);
}

/* ---- check of the library ------------------------------------------------ */

enum { MOST_M = 65, MOST_N = 127, MOST_K = 130 };

/* Used only by the check, which runs once: too large for the stack of a
 * thread. */
static float check_a[MOST_M * MOST_K];
static float check_b[MOST_K * MOST_N];
static float check_c[MOST_M * MOST_N];
static float check_d[MOST_M * MOST_N];

/* Random in [-1, 1) */
static void check_fill(float *to, size_t n, uint32_t state)
{
    for (size_t i = 0; i < n; i++) {
        state = state * 1664525u + 1013904223u;
        to[i] = (float)(state >> 8) * 0x1p-23f - 1.0f;
    }
}

/* Element (i, j) of the product, in double; *sum of its |terms|. */
static double check_element(bool trans_a, bool trans_b, size_t m, size_t n,
                            size_t k, size_t i, size_t j, double *sum)
{
    double x = 0.0;
    for (size_t l = 0; l < k; l++) {
        const double a = check_a[trans_a ? l * m + i : i * k + l];
        const double b = check_b[trans_b ? j * k + l : l * n + j];
        x += a * b;
        *sum += fabs(a * b);
    }
    return x;
}

/* D = 1.5 A B + beta D; with beta 0 D is NaN before, and is not to be read.
 * Sums in fp32, in any order, are off by k u of the sum of their |terms|. */
static bool check_product(bool trans_a, bool trans_b, float beta, size_t m,
                          size_t n, size_t k)
{
    check_fill(check_a, m * k, 1);
    check_fill(check_b, n * k, 2);
    check_fill(check_c, m * n, 3);
    for (size_t i = 0; i < m * n; i++)
        check_d[i] = beta == 0.0f ? NAN : check_c[i];
    vly_gemm_blas_multiply(trans_a, trans_b, m, n, k, 1.5f, check_a,
                           trans_a ? m : k, check_b, trans_b ? k : n, beta,
                           check_d, n);
    for (size_t i = 0; i < m * n; i++) {
        const double c = beta == 0.0f ? 0.0 : (double)(beta * check_c[i]);
        double terms = fabs(c);
        const double x = c + 1.5 * check_element(trans_a, trans_b, m, n, k,
                                                 i / n, i % n, &terms);
        if (fabs(check_d[i] - x) <= 1.5 * terms * (double)(k + 3) * 0x1p-24)
            continue;
        snprintf(missing, sizeof missing,
                 "%.100s is not used: element %zu, %zu of a product of %zu x "
                 "%zu x %zu is %g, wanted %g",
                 text, i / n, i % n, m, n, k, (double)check_d[i], x);
        return false;
    }
    return true;
}

/* A shape below and one above its limit for small products (10^6 terms). */
static bool is_right(void)
{
    for (uint32_t i = 0; i < 8; i++)
        if (!check_product(i & 1, i & 2, i & 4 ? 0.5f : 0.0f, 5, 9, 7))
            return false;
    return check_product(false, false, 0.0f, MOST_M, MOST_N, MOST_K) &&
           check_product(false, true, 0.5f, MOST_M, MOST_N, MOST_K);
}

static void open_library(void)
{
    static const char *const names[] = {"libopenblas.so.0", "libopenblas.so"};
    void (*set_threads)(int) = NULL;
    void *library = NULL;
    for (size_t i = 0; i < 2 && !library; i++) {
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
        const char *why = !library ? dlerror() : NULL;
        if (why && i == 0)
            snprintf(missing, sizeof missing, "%s", why);
    }
    if (!library)
        return;
    if (!symbol(library, "cblas_sgemm", &sgemm) ||
        !symbol(library, "openblas_set_num_threads", &set_threads)) {
        sgemm = NULL;
        snprintf(missing, sizeof missing,
                 "libopenblas has no cblas_sgemm or openblas_set_num_threads");
        return;
    }
    set_threads(1);
    describe(library);
    missing[0] = 0;
    if (!is_right())
        sgemm = NULL;
}

const char *vly_gemm_blas_missing(void)
{
    pthread_once(&opened, open_library);
    return !sgemm ? missing : NULL;
}

const char *vly_gemm_blas_text(void)
{
    return !vly_gemm_blas_missing() ? text : "";
}

void vly_gemm_blas_multiply(bool trans_a, bool trans_b, uint64_t m, uint64_t n,
                            uint64_t k, float alpha, const float *a,
                            uint64_t lda, const float *b, uint64_t ldb,
                            float beta, float *d, uint64_t ldd)
{
    sgemm(ROW_MAJOR, trans_a ? TRANS : NO_TRANS, trans_b ? TRANS : NO_TRANS,
          (int)m, (int)n, (int)k, alpha, a, (int)lda, b, (int)ldb, beta, d,
          (int)ldd);
}
