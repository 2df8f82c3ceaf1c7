/* SPDX-License-Identifier: Apache-2.0
 * The fake cuBLASLt: see fake_cublaslt.c.
 */
#ifndef VOLLEY_FAKE_CUBLASLT_H
#define VOLLEY_FAKE_CUBLASLT_H

#include <stdint.h>

/* Its behaviour, by number of an algorithm (0 to n_algorithms - 1), and counts
 * of its calls. A test finds it by name: "fake_cublaslt". */
typedef struct fake_cublaslt {
    uint32_t n_algorithms; /* that heuristics offer */
    uint32_t garbage;      /* mask: these write wrong results */
    uint32_t not_written;  /* mask: these write nothing */
    uint32_t refused;      /* mask: these fail when they are run */
    uint32_t slow;         /* mask: these take five times as long */
    uint32_t twice;        /* mask: these round before bias and activation */
    uint32_t twice_with_c; /* mask: these do so where C is added */
    uint32_t retired;      /* mask: AlgoCheck refuses these */
    uint32_t aligned;      /* mask: these do not run if a factor is not aligned
                            * to 4 bytes; heuristics offer them */
    int32_t fail_at;       /* the n-th creating call from now on fails; 0: none
                            */
    int32_t n_live;        /* descriptors that were not destroyed */
    uint32_t n_heuristics; /* calls */
    uint32_t n_runs;
} fake_cublaslt_state;

#endif
