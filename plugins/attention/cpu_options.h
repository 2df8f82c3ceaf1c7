/* SPDX-License-Identifier: Apache-2.0
 * Options of attention and wkv on the processor, from vly_device_spec.
 */
#ifndef VOLLEY_ATTENTION_CPU_OPTIONS_H
#define VOLLEY_ATTENTION_CPU_OPTIONS_H

#include "accel_common.h"
#include "attention_kernels.h"

typedef struct vly_cpu_options {
    vly_accel_options common;
    const vly_attention_kernels *kernels; /* isa=scalar, avx2 or avx512 */
    uint32_t n_threads;                   /* 1 to 1024 */
} vly_cpu_options;

/* Errors  E_INVALID an unknown option; E_UNSUPPORTED the processor does not
 * have that instruction set; E_DEVICE a device other than 0 */
vly_status vly_cpu_options_read(const vly_device_spec *device,
                                vly_cpu_options *options, vly_error *error);
/* Threads for so many units, if `worth` threads have enough work. At least
 * 1. */
uint32_t vly_cpu_threads(uint32_t wanted, uint64_t n_units, double worth);
/* Errors  E_INVALID the processor has no streams */
vly_status vly_cpu_check_stream(const void *stream, vly_error *error);

#endif
