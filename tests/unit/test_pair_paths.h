/* SPDX-License-Identifier: Apache-2.0
 * A device, whichever PAIR_DEVICE names, that is lost.
 */
#ifndef VOLLEY_TEST_PAIR_PATHS_H
#define VOLLEY_TEST_PAIR_PATHS_H

#include "test_cuda_pair.h"

/* The last of a program: afterwards the device is lost to it. */
void pair_test_device_fails(void **state);

#endif
