/* SPDX-License-Identifier: Apache-2.0
 * OpenBLAS, opened at run time. Volley's own threads share the work, so that a
 * result does not depend on their number and the caller's n_threads holds;
 * therefore the library is told to use one thread. That setting is of the whole
 * process: another user of the same libopenblas.so.0 in it gets one thread too.
 *
 * It is entered from several threads at once, which its builds of Debian
 * (pthread) allow.
 */
#include <dlfcn.h>
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

static void open_library(void)
{
    static const char *const names[] = {"libopenblas.so.0", "libopenblas.so"};
    void (*set_threads)(int) = NULL;
    void *library = NULL;
    for (size_t i = 0; i < 2 && library == NULL; i++) {
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
        const char *why = library == NULL ? dlerror() : NULL;
        if (why != NULL && i == 0)
            snprintf(missing, sizeof missing, "%s", why);
    }
    if (library == NULL)
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
}

const char *vly_gemm_blas_missing(void)
{
    pthread_once(&opened, open_library);
    return sgemm == NULL ? missing : NULL;
}

const char *vly_gemm_blas_text(void)
{
    return vly_gemm_blas_missing() == NULL ? text : "";
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
