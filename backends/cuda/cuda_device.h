/* SPDX-License-Identifier: Apache-2.0
 * Which devices there are.
 */
#ifndef VOLLEY_CUDA_DEVICE_H
#define VOLLEY_CUDA_DEVICE_H

#include "cuda_base.h"

/* VLY_OK if there is a driver and a device */
vly_status vly_cuda_detect(vly_error *error);
uint32_t vly_cuda_device_count(void);
vly_status vly_cuda_device_info(uint32_t index, vly_device_info *info,
                                vly_error *error);
/* prepare of vly_backend (cuda_prepare.c) */
void vly_cuda_prepare(const vly_device_spec *devices, uint32_t n_devices,
                      const uint32_t *wanted);

#endif
