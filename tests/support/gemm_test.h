/* SPDX-License-Identifier: Apache-2.0
 * What tests of products share: a plain description, callers on threads.
 */
#ifndef VOLLEY_GEMM_TEST_H
#define VOLLEY_GEMM_TEST_H

#include <pthread.h>

#include "volley_test.h"

#include "accelerator/accelerator.h"

/* [m][k] times [n][k] with compact rows */
static inline vly_gemm_desc compact(uint32_t type_ab, uint32_t type_d,
                                    uint64_t m, uint64_t n, uint64_t k)
{
    return (vly_gemm_desc){.struct_size = sizeof(vly_gemm_desc),
                           .flags = VLY_GEMM_TRANS_B,
                           .type_a = type_ab,
                           .type_b = type_ab,
                           .type_d = type_d,
                           .m = m,
                           .n = n,
                           .k = k,
                           .lda = k,
                           .ldb = k,
                           .ldc = n,
                           .ldd = n,
                           .batch = 1,
                           .align = 4,
                           .workspace_most = UINT64_C(256) << 20};
}

/* call(callers[i]) of all of them at once, each on a thread of its own; `bytes`
 * is what one has. At most 16. */
static inline void call_together(void *(*call)(void *), void *callers,
                                 size_t bytes, uint32_t n)
{
    pthread_t threads[16];
    assert_true(n <= 16);
    for (uint32_t i = 0; i < n; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, call,
                                        (char *)callers + i * bytes),
                         0);
    for (uint32_t i = 0; i < n; i++)
        pthread_join(threads[i], NULL);
}

#endif
