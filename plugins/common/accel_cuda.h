/* SPDX-License-Identifier: Apache-2.0
 * Host code that the CUDA accelerators share: devices, errors of the runtime,
 * volley.memory/1.
 */
#ifndef VOLLEY_ACCEL_CUDA_H
#define VOLLEY_ACCEL_CUDA_H

#include <stdbool.h>

#include <volley/accelerator.h>

/* OK if there is a driver and a device; otherwise E_DEVICE: no driver, an old
 * driver (with its CUDA version), no device, or another message of the runtime.
 * [any-thread] */
vly_status vly_accel_cuda_detect(vly_error *error);

/* OK if code is cudaSuccess, otherwise E_DEVICE "what: why". An error that
 * persists after it was read has ended the context of the device that this
 * thread entered last: this and every later call for that device returns it
 * without a new attempt; other devices can still be used. [any-thread]
 */
vly_status vly_accel_cuda_check(int code, const char *what, vly_error *error);

/* Makes it this thread's current device. Errors E_INVALID no such device;
 * E_DEVICE. [any-thread] */
vly_status vly_accel_cuda_enter(uint32_t device, vly_error *error);

/* Memory of devices by the host's policy (cuda_account.c). For a plugin's init,
 * after vly_support_start and detect, and for its deinit, before
 * vly_support_stop. Without it, and on older hosts, memory comes directly from
 * the runtime. */
vly_status vly_accel_cuda_memory_start(vly_error *error);
void vly_accel_cuda_memory_stop(void);
/* qos: VLY_QOS_*. Errors E_NOMEM with bytes requested and available; E_INVALID
 * qos; as enter. [any-thread] */
vly_status vly_accel_cuda_take(uint32_t device, uint64_t bytes, uint32_t qos,
                               void **memory, vly_error *error);
/* Work that uses the memory must have ended: other clients may get it at once,
 * in other streams. NULL is legal. [any-thread] */
void vly_accel_cuda_give(uint32_t device, void *memory);

/* Is it memory of alloc_host, or other host memory known to the driver?
 * [any-thread] */
bool vly_accel_cuda_is_host(const void *memory);

/* volley.memory/1 on CUDA: cuda_memory_table.c. Its memory is burstable. */
extern const vly_memory vly_accel_cuda_memory;

#endif
