/* SPDX-License-Identifier: Apache-2.0
 * A kernel from its text: compiled by the driver, or from the cache of machine
 * code (plugins/common/tune_blob.h), which has an entry for each text, driver
 * and kind of device.
 */
#ifndef VOLLEY_CUDA_IMAGE_H
#define VOLLEY_CUDA_IMAGE_H

#include "cuda_base.h"

#define VLY_CUDA_IMAGE_WHY 300u

/* text [n], and a 0 after it; name: the kernel's. cached: 0 leaves the cache
 * alone. Sets library and kernel (cudaLibrary_t, cudaKernel_t) and returns 0,
 * or 1 if they came from the cache; or returns -1 with the reason in why. The
 * device is the current one.
 * A cache that cannot be read or written is logged, and nothing else. */
int vly_cuda_image_load(const char *text, size_t n, const char *name,
                        bool cached, void **library, const void **kernel,
                        char why[VLY_CUDA_IMAGE_WHY]);
void vly_cuda_image_unload(void *library);

#endif
