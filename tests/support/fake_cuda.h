/* SPDX-License-Identifier: Apache-2.0
 * The fake CUDA device (fake_cuda.c): how large it is.
 */
#ifndef VOLLEY_TEST_FAKE_CUDA_H
#define VOLLEY_TEST_FAKE_CUDA_H

#include <stdint.h>

#define FAKE_CUDA_SHARED (227u << 10) /* of a block at most, as on sm_90 */

#if defined(__cplusplus)
extern "C" {
#endif

/* Runs launches that have been enqueued; there may be none such (a weak symbol
 * in fake_cuda.c). */
void fake_cuda_flush(void);

#if defined(__cplusplus)
}
#endif

extern uint32_t fake_cuda_units; /* multiprocessors; clusters fit on all */

#endif
