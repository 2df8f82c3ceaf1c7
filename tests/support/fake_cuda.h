/* SPDX-License-Identifier: Apache-2.0
 * The CUDA device that is none (fake_cuda.c): how large it is.
 */
#ifndef VOLLEY_TEST_FAKE_CUDA_H
#define VOLLEY_TEST_FAKE_CUDA_H

#include <stdint.h>

#define FAKE_CUDA_SHARED (227u << 10) /* of a block at most, as on sm_90 */

extern uint32_t fake_cuda_units; /* multiprocessors; clusters fit on all */

#endif
