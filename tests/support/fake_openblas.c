/* SPDX-License-Identifier: Apache-2.0
 * An OpenBLAS that computes what fake_openblas_does says.
 */
#include "fake_openblas.h"

#include <stdbool.h>
#include <stddef.h>

int fake_openblas_does = FAKE_OPENBLAS_RIGHT;

void openblas_set_num_threads(int n)
{
    (void)n;
}

void cblas_sgemm(int order, int trans_a, int trans_b, int m, int n, int k,
                 float alpha, const float *a, int lda, const float *b, int ldb,
                 float beta, float *c, int ldc)
{
    const bool turned_a = trans_a == 112;
    const bool turned_b =
        trans_b == 112 && fake_openblas_does != FAKE_OPENBLAS_NEVER_TURNS_B;
    (void)order;
    if (fake_openblas_does == FAKE_OPENBLAS_NOTHING)
        return;
    if (fake_openblas_does == FAKE_OPENBLAS_CUTS_K && k > 100)
        k--;
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            float sum = 0.0f;
            for (int l = 0; l < k; l++)
                sum += a[turned_a ? l * lda + i : i * lda + l] *
                       b[turned_b ? j * ldb + l : l * ldb + j];
            float *to = &c[(ptrdiff_t)i * ldc + j];
            if (beta == 0.0f && fake_openblas_does != FAKE_OPENBLAS_READS_C)
                *to = alpha * sum;
            else
                *to = alpha * sum + beta * *to;
        }
}
